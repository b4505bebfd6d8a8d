"""What the timed repetitions of a kernel took, and at what rate they moved memory: in seconds and
GB/s, beside the ratios that verdicts rest on. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from numalab.evidence.record import (
    HANDOUT,
    PROBE,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Generation,
    Json,
)
from numalab.judging.lightspeed import OfLightspeed, is_cut, of_lightspeed
from numalab.judging.sequential import Thresholds, interval
from numalab.judging.timing_claims import best_s
from numalab.judging.timing_state import complete, thresholds

GB = 1e9
_ORDER = (SUBMISSION, SOLUTION, HANDOUT, PROBE)  # in which they are told


@dataclass(frozen=True)
class Middle:
    """Of all generations: the median, and ends between which that of endlessly many lies with the
    confidence of the interval; None: not bounded yet."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Rate:
    """One role. elapsed_s: the best repetition of a generation; gb_per_s: of the bytes that cross
    between cores and memory, None where the driver has none or the record is older;
    of_lightspeed: its share of the probe's speed, None where no probe was timed beside it."""

    role: str
    elapsed_s: Middle
    gb_per_s: Middle | None
    of_lightspeed: OfLightspeed | None = None


@dataclass(frozen=True)
class Rates:
    """Of the generations of one kernel (part) and, where launches are compared, one slow launch.

    bytes_moved, bytes_allocated: as the record has them, of one repetition; fits_caches: what the
    loop reads and writes is less than the node's last-level caches hold, so that a rate may be one
    of caches; None: the record does not tell."""

    part: str | None
    slow: str | None
    n: int
    generations: int
    confidence: float
    bytes_moved: int
    bytes_allocated: int
    fits_caches: bool | None
    roles: tuple[Rate, ...]

    @property
    def has_rates(self) -> bool:
        return any(rate.gb_per_s for rate in self.roles)

    @property
    def has_lightspeed(self) -> bool:
        return any(rate.of_lightspeed for rate in self.roles)

    def of_role(self, role: str) -> Rate | None:
        return next((rate for rate in self.roles if rate.role == role), None)

    @property
    def counted_share(self) -> float:
        """Of the bytes that are moved, those that STREAM counts."""
        return 1 - self.bytes_allocated / self.bytes_moved

    def to_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "slow": self.slow,
            "n": self.n,
            "generations": self.generations,
            "confidence": self.confidence,
            "bytes_moved": self.bytes_moved,
            "bytes_allocated": self.bytes_allocated,
            "fits_caches": self.fits_caches,
            "roles": [asdict(rate) for rate in self.roles],
        }


def _middle(values: Sequence[float], levels: Thresholds, cut: Sequence[bool]) -> Middle:
    """cut: which values are known from above only."""
    low, high = interval(values, levels, cut)
    return Middle(statistics.median(values), low, high)


def _turned(middle: Middle, numerator: float) -> Middle:
    """numerator over the values: ends change places."""
    low, high = middle.low, middle.high
    return Middle(
        numerator / middle.median,
        None if high is None else numerator / high,
        None if low is None else numerator / low,
    )


def _rate(role: str, generations: Sequence[Generation], levels: Thresholds) -> Rate:
    # As speeds, since a repetition that was cut off bounds those from above.
    speeds = [1 / best_s(generation, role) for generation in generations]
    cut = [is_cut(generation, role) for generation in generations]
    speed = _middle(speeds, levels, cut)
    first = generations[0]
    is_told = first.bytes_allocated is not None and first.bytes_moved > 0
    scale = first.bytes_moved / GB
    return Rate(
        role,
        _turned(speed, 1.0),
        Middle(
            speed.median * scale,
            None if speed.low is None else speed.low * scale,
            None if speed.high is None else speed.high * scale,
        )
        if is_told
        else None,
        of_lightspeed(role, generations, levels),
    )


def rates_of(evidence: Evidence, roles: Sequence[str]) -> Rates | None:
    """evidence: with the generations that were taken for one criterion; roles: of the processes
    that it compares; the probe is told, too, of the generations that had one. None where no
    generation came to its end."""
    generations = complete(evidence, roles)
    if not generations:
        return None
    last = generations[-1]
    alike = [g for g in generations if (g.n, g.bytes_moved) == (last.n, last.bytes_moved)]
    levels = thresholds(evidence)
    beside = [g for g in alike if g.elapsed_s.get(PROBE)]
    of_roles = [_rate(role, alike, levels) for role in _ORDER if role in roles and role != PROBE]
    allocated = last.bytes_allocated or 0
    return Rates(
        part=last.part,
        slow=last.slow,
        n=last.n,
        generations=len(alike),
        confidence=levels.confidence,
        bytes_moved=last.bytes_moved,
        bytes_allocated=allocated,
        fits_caches=_fits(evidence.node, last.bytes_moved - allocated),
        roles=(*of_roles, *([_rate(PROBE, beside, levels)] if beside else [])),
    )


def _fits(node: Json, used_bytes: int) -> bool | None:
    """Whether so much, read or written, is less than all last-level caches of the node hold."""
    caches = [cache for cache in node.get("caches", []) if "i" not in str(cache["level"])]
    if not caches:
        return None
    last = max(caches, key=lambda cache: str(cache["level"]))
    return used_bytes < int(last["count"]) * int(last["bytes_each"])
