"""What share of lightspeed a process reached: its speed over that of the kit's own loop with the
same reads and writes, the probe, in the same generations. Pure functions.

*What is measured*: of each generation the probe's best repetition over the process's, a ratio of
speeds, since both move the same bytes by the driver's count; of all generations the median, with
the interval that all medians here have. What passes for more than it is: a process that moves fewer
bytes than are counted (stores past the caches, loops that are merged) is faster than the probe's
loop can be. What passes for less: a probe that is no good loop; so it is held to the first.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from numalab.evidence.record import PROBE, Generation
from numalab.judging.sequential import Thresholds, interval
from numalab.judging.timing_claims import best_s

# A median above this is no share: then the probe's loop is not what the process could do at best,
# and what is possible is not known. What lies between is noise.
MOST_SHARE = 1.05


@dataclass(frozen=True)
class OfLightspeed:
    """median: the share, None: not known, since it is above MOST_SHARE; low, high: ends between
    which that of endlessly many generations lies with the interval's confidence, None: not bounded,
    or above MOST_SHARE; generations: that had a probe."""

    median: float | None
    low: float | None
    high: float | None
    generations: int

    @property
    def is_known(self) -> bool:
        return self.median is not None


def is_cut(generation: Generation, role: str) -> bool:
    """Whether a role's best repetition is one that was ended: it took at least that long."""
    times_s = generation.elapsed_s[role]
    return role in generation.cut and math.isclose(times_s[-1], best_s(generation, role))


def of_lightspeed(
    role: str, generations: Sequence[Generation], levels: Thresholds
) -> OfLightspeed | None:
    """generations: of one n; those in which the probe did not come to its end say nothing. None:
    no other does, or the role is the probe."""
    beside = [g for g in generations if g.elapsed_s.get(PROBE)]
    if not beside or role == PROBE:
        return None
    shares = [best_s(g, PROBE) / best_s(g, role) for g in beside]
    median = statistics.median(shares)
    if median > MOST_SHARE:
        return OfLightspeed(None, None, None, len(beside))
    low, high = interval(shares, levels, [is_cut(g, role) for g in beside])
    is_above = high is not None and high > MOST_SHARE
    return OfLightspeed(median, low, None if is_above else high, len(beside))
