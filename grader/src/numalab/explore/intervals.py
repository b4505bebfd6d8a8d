"""Intervals that assume nothing of how times are distributed: order statistics, and the
ratio of two things that were measured in the same round. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Literal

WANTED_COVERAGE = 0.95


@dataclass(frozen=True)
class Interval:
    """A median, and ends that hold the true median between them with the probability
    coverage (0 to 1), whatever the distribution, if the samples are independent."""

    median: float
    low: float
    high: float
    coverage: float

    @property
    def is_wide_enough(self) -> bool:
        """False where there were too few samples for the coverage that was asked for."""
        return self.coverage >= WANTED_COVERAGE


def _log_share(samples: int, below: int) -> float:
    """Logarithm of the probability that exactly so many samples lie below the median."""
    ways = math.lgamma(samples + 1) - math.lgamma(below + 1) - math.lgamma(samples - below + 1)
    return ways - samples * math.log(2)


def coverage(samples: int, rank: int) -> float:
    """Return the probability that the interval from the rank-th smallest of the samples to the
    rank-th largest holds the true median: it does not where fewer than rank samples fall on one
    side of it."""
    outside = math.fsum(math.exp(_log_share(samples, below)) for below in range(rank))
    return max(0.0, 1.0 - 2 * outside)


@cache
def _rank(samples: int, wanted: float) -> tuple[int, float]:
    """Return the largest rank whose interval covers as wanted, and its coverage; rank 1 where
    none does. The probabilities are added up once, from the outermost rank inwards."""
    rank, outside = 1, 2 * math.exp(_log_share(samples, 0))
    covers = max(0.0, 1.0 - outside)
    while True:
        outside += 2 * math.exp(_log_share(samples, rank))
        if 1.0 - outside < wanted:
            return rank, covers
        rank, covers = rank + 1, 1.0 - outside


def median_interval(values: Sequence[float], wanted: float = WANTED_COVERAGE) -> Interval:
    """Return the narrowest symmetric interval that covers as wanted; from the smallest to the
    largest sample where none does. values: one or more."""
    ordered = sorted(values)
    samples = len(ordered)
    rank, covers = _rank(samples, wanted)
    return Interval(median(ordered), ordered[rank - 1], ordered[samples - rank], covers)


Survives = Literal["yes", "no", "too_few_rounds"]


@dataclass(frozen=True)
class Comparison:
    """How many times longer the first takes than the second, round by round."""

    ratio: Interval
    rounds: int

    @property
    def survives(self) -> Survives:
        """Whether repetition leaves a difference: 1 is outside the interval."""
        if not self.ratio.is_wide_enough:
            return "too_few_rounds"
        return "no" if self.ratio.low <= 1 <= self.ratio.high else "yes"


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison | None:
    """Times by round; only rounds that have both count. None: there is no such round."""
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    return Comparison(median_interval([first[r] / second[r] for r in common]), len(common))
