"""Intervals that assume nothing of how times are distributed: order statistics, and the
ratio of two things that were measured in the same round. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Literal

REQUIRED_COVERAGE = 0.95


@dataclass(frozen=True)
class MedianInterval:
    """A median, and an interval that holds the true median with the probability `coverage` (0 to
    1), whatever the distribution, if the samples are independent."""

    median: float
    low: float
    high: float
    coverage: float

    @property
    def is_wide_enough(self) -> bool:
        """Whether there were samples enough for REQUIRED_COVERAGE."""
        return self.coverage >= REQUIRED_COVERAGE


def _log_share(count: int, smaller: int) -> float:
    """Logarithm of the probability that exactly `smaller` of `count` values lie below the
    median."""
    ways = math.lgamma(count + 1) - math.lgamma(smaller + 1) - math.lgamma(count - smaller + 1)
    return ways - count * math.log(2)


def coverage(count: int, rank: int) -> float:
    """Return the probability that the interval from the rank-th smallest of the samples to the
    rank-th largest holds the true median: it does not where fewer than rank samples fall on one
    side of it."""
    outside = math.fsum(math.exp(_log_share(count, smaller)) for smaller in range(rank))
    return max(0.0, 1.0 - 2 * outside)


@cache
def _rank(count: int, required: float) -> tuple[int, float]:
    """Return the largest rank whose interval covers as required, and its coverage; rank 1 where
    none does. The probabilities are added up once, from the outermost rank inwards."""
    rank, outside = 1, 2 * math.exp(_log_share(count, 0))
    covers = max(0.0, 1.0 - outside)
    while True:
        outside += 2 * math.exp(_log_share(count, rank))
        if 1.0 - outside < required:
            return rank, covers
        rank, covers = rank + 1, 1.0 - outside


def median_interval(values: Sequence[float], required: float = REQUIRED_COVERAGE) -> MedianInterval:
    """Return the narrowest symmetric interval that covers as required; from the smallest to the
    largest sample where none does. values: one or more."""
    ordered = sorted(values)
    count = len(ordered)
    rank, covers = _rank(count, required)
    return MedianInterval(median(ordered), ordered[rank - 1], ordered[count - rank], covers)


Survives = Literal["yes", "no", "too_few_rounds"]


@dataclass(frozen=True)
class PairedComparison:
    """How many times longer the first takes than the second, compared round by round."""

    ratio: MedianInterval
    rounds: int

    @property
    def survives(self) -> Survives:
        """Whether repetition leaves a difference: 1 is outside the interval."""
        if not self.ratio.is_wide_enough:
            return "too_few_rounds"
        return "no" if self.ratio.low <= 1 <= self.ratio.high else "yes"


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> PairedComparison | None:
    """Compare times by round, in the rounds that have both; None where there is no such round."""
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    return PairedComparison(median_interval([first[r] / second[r] for r in common]), len(common))
