"""Time, memory rate and share of the reference loop of each role that was timed. Pure functions.

The share of one replicate is the time of the probe's best repetition over that of the role's: a
ratio of speeds, since both move the same bytes by the driver's count. Over all replicates it is the
median with its interval. A role that moves fewer bytes than are counted (stores past the caches,
merged loops) can be faster than the probe's loop; if its share is above MAX_SHARE, it counts as
unknown. A slow probe makes shares too large in the same way.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numalab.evidence.record import (
    HANDOUT,
    PROBE,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Json,
    TimedRound,
)
from numalab.judging.sequential import Thresholds, interval
from numalab.judging.timing_claims import best_s
from numalab.judging.timing_state import complete, is_cut, thresholds

GB = 1e9
_ORDER = (SUBMISSION, SOLUTION, HANDOUT, PROBE)  # the order in which roles are shown

# A median share above this means that the probe's loop is no upper bound of the role's speed; what
# is above 1 and not above this is noise.
MAX_SHARE = 1.05


@dataclass(frozen=True)
class ReferenceShare:
    """A role's speed as a share of the reference loop's, over replicates.

    Attributes:
        median: the share (about 0 to 1); None where it would be above MAX_SHARE: it is not known.
        low, high: the ends of the interval that holds the median of endlessly many replicates with
            TimedRates.confidence; an end is None where it is not bounded or above MAX_SHARE, both
            are where the median is.
        replicates: the number of replicates in which the probe ran.
    """

    median: float | None
    low: float | None
    high: float | None
    replicates: int

    @property
    def is_known(self) -> bool:
        return self.median is not None


def reference_share(
    role: str, replicates: Sequence[TimedRound], levels: Thresholds
) -> ReferenceShare | None:
    """Return a role's share of the reference loop's speed over replicates of one n.

    Replicates without a time of the probe are left out. None where none is left, or the role is
    the probe.
    """
    compared = [g for g in replicates if g.elapsed_s.get(PROBE)]
    if not compared or role == PROBE:
        return None
    shares = [best_s(g, PROBE) / best_s(g, role) for g in compared]
    median = statistics.median(shares)
    if median > MAX_SHARE:
        return ReferenceShare(None, None, None, len(compared))
    low, high = interval(shares, levels, [is_cut(g, role) for g in compared])
    is_above = high is not None and high > MAX_SHARE
    return ReferenceShare(median, low, None if is_above else high, len(compared))


@dataclass(frozen=True)
class Middle:
    """A median over replicates, and the ends of its interval; an end is None where the replicates
    do not bound it yet."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RoleRate:
    """Times and rates of one role.

    Attributes:
        role: the name of the process that is compared.
        elapsed_s: the time of a replicate's best repetition.
        gb_per_s: bytes moved between cores and memory over elapsed_s, in GB/s; None where the
            driver counts none, or the record is older than the count.
        reference_share: the share of the reference loop's speed; None: no probe ran, or it is that.
    """

    role: str
    elapsed_s: Middle
    gb_per_s: Middle | None
    reference_share: ReferenceShare | None = None


@dataclass(frozen=True)
class TimedRates:
    """Times and rates of the roles that one criterion compares, and of the probe if it ran.

    Attributes:
        part: the kernel; None in a lab of one kernel.
        slow: the slow launch; None where no launches are compared.
        n: the problem size, that of the last replicate.
        replicates: the number of replicates with that size, which the rates are taken from.
        confidence: that of each interval (0 to 1).
        bytes_moved: the bytes that one repetition moves, by the driver's count.
        bytes_allocated: those of them that are read since a store fetches its line first; 0 where
            the record does not say.
        fits_caches: whether the last-level caches hold what the loop reads and writes, so that the
            rate may be theirs; None where the record has no caches.
        roles: the rates of the roles, in the order in which they are shown.
    """

    part: str | None
    slow: str | None
    n: int
    replicates: int
    confidence: float
    bytes_moved: int
    bytes_allocated: int
    fits_caches: bool | None
    roles: tuple[RoleRate, ...]

    @property
    def has_rates(self) -> bool:
        return any(rate.gb_per_s for rate in self.roles)

    @property
    def has_reference_shares(self) -> bool:
        return any(rate.reference_share for rate in self.roles)

    def rate_of(self, role: str) -> RoleRate | None:
        """Return the rate of a role; None where it was not timed."""
        return next((rate for rate in self.roles if rate.role == role), None)

    @property
    def counted_share(self) -> float:
        """The share of the moved bytes that STREAM counts (0 to 1). bytes_moved has to be above
        0."""
        return 1 - self.bytes_allocated / self.bytes_moved

    def json_data(self) -> dict[str, Any]:
        """Return the JSON of a result."""
        data = asdict(self, dict_factory=_json_object)
        return data | {"roles": list(data["roles"])}


def _json_object(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    names = {"replicates": "generations", "reference_share": "of_lightspeed"}  # in JSON
    return {names.get(name, name): value for name, value in fields}


def _inverted(middle: Middle) -> Middle:
    """Return the median and interval of 1 / value; the interval's ends change places."""
    low, high = middle.low, middle.high
    return Middle(
        1 / middle.median,
        None if high is None else 1 / high,
        None if low is None else 1 / low,
    )


def _scaled(middle: Middle, scale: float) -> Middle:
    low, high = middle.low, middle.high
    return Middle(
        middle.median * scale,
        None if low is None else low * scale,
        None if high is None else high * scale,
    )


def _role_rate(role: str, replicates: Sequence[TimedRound], levels: Thresholds) -> RoleRate:
    # As speeds, since a repetition that was cut off bounds its speed from above.
    speeds = [1 / best_s(replicate, role) for replicate in replicates]
    low, high = interval(speeds, levels, [is_cut(replicate, role) for replicate in replicates])
    speed = Middle(statistics.median(speeds), low, high)
    first = replicates[0]
    is_counted = first.bytes_allocated is not None and first.bytes_moved > 0
    return RoleRate(
        role,
        _inverted(speed),
        _scaled(speed, first.bytes_moved / GB) if is_counted else None,
        reference_share(role, replicates, levels),
    )


def rates_of(evidence: Evidence, roles: Sequence[str]) -> TimedRates | None:
    """Return the rates of the roles that a criterion compares, and of the probe where it ran.

    Args:
        evidence: has the replicates that were taken for the criterion. Those of another size than
            the last one are left out.
        roles: the roles that each replicate needs.

    None where no replicate is complete.
    """
    replicates = complete(evidence, roles)
    if not replicates:
        return None
    last = replicates[-1]
    alike = [g for g in replicates if (g.n, g.bytes_moved) == (last.n, last.bytes_moved)]
    levels = thresholds(evidence)
    probed = [g for g in alike if g.elapsed_s.get(PROBE)]
    rates = [_role_rate(role, alike, levels) for role in _ORDER if role in roles and role != PROBE]
    allocated = last.bytes_allocated or 0
    return TimedRates(
        part=last.part,
        slow=last.slow,
        n=last.n,
        replicates=len(alike),
        confidence=levels.confidence,
        bytes_moved=last.bytes_moved,
        bytes_allocated=allocated,
        fits_caches=_fits(evidence.node, last.bytes_moved - allocated),
        roles=(*rates, *([_role_rate(PROBE, probed, levels)] if probed else [])),
    )


def last_cache(node: Json) -> Json | None:
    """Return the last level of a node's caches for data; None: not known."""
    caches = [cache for cache in node.get("caches", []) if "i" not in str(cache["level"])]
    return max(caches, key=lambda cache: str(cache["level"]), default=None)


def _fits(node: Json, used_bytes: int) -> bool | None:
    """Tell whether so many bytes are less than the last-level caches hold together; None: not
    known."""
    last = last_cache(node)
    return None if last is None else used_bytes < int(last["count"]) * int(last["bytes_each"])
