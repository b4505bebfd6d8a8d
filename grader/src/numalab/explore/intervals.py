"""Confidence intervals of medians and of ratios, by order statistics. Pure functions.
They assume no distribution of values. Ratios are of values from the same round."""

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
    """A median, and an interval (low to high) for the true median.
    It holds that with the probability `coverage` (0 to 1) or more, whatever the distribution is, if
    the values are independent."""

    median: float
    low: float
    high: float
    coverage: float

    @property
    def is_wide_enough(self) -> bool:
        """Whether it has REQUIRED_COVERAGE, which takes 6 values or more."""
        return self.coverage >= REQUIRED_COVERAGE


def _log_share(count: int, smaller: int) -> float:
    """Return ln of the probability that just `smaller` of `count` values are below the true
    median."""
    ways = math.lgamma(count + 1) - math.lgamma(smaller + 1) - math.lgamma(count - smaller + 1)
    return ways - count * math.log(2)


def coverage(count: int, rank: int) -> float:
    """Return the probability (0 to 1) that an interval between ranks holds the true median.
    It is from the rank-th smallest to the rank-th largest of `count` values, and does not hold the
    median where fewer than `rank` values fall on one side of that."""
    outside = math.fsum(math.exp(_log_share(count, smaller)) for smaller in range(rank))
    return max(0.0, 1.0 - 2 * outside)


@cache
def _rank(count: int, required: float) -> tuple[int, float]:
    """Return the largest rank whose interval has the required coverage, and its coverage.
    Rank 1 where none has it."""
    rank, outside = 1, 2 * math.exp(_log_share(count, 0))
    covers = max(0.0, 1.0 - outside)
    while True:
        outside += 2 * math.exp(_log_share(count, rank))
        if 1.0 - outside < required:
            return rank, covers
        rank, covers = rank + 1, 1.0 - outside


def median_interval(values: Sequence[float], required: float = REQUIRED_COVERAGE) -> MedianInterval:
    """Return the median of one value or more, with an interval whose ends have the same rank from
    both sides. It has the largest rank with the required coverage (0 to 1); where none has that,
    the ends are the smallest and the largest value."""
    ordered = sorted(values)
    count = len(ordered)
    rank, covers = _rank(count, required)
    return MedianInterval(median(ordered), ordered[rank - 1], ordered[count - rank], covers)


Survives = Literal["yes", "no", "too_few_rounds"]


@dataclass(frozen=True)
class PairedComparison:
    """The ratio of first over second, taken round by round: of times, or of rates."""

    ratio: MedianInterval
    rounds: int  # the number of rounds that have both

    @property
    def survives(self) -> Survives:
        """Whether a difference survives repetition: "yes" where 1 is outside the interval;
        "too_few_rounds" where the interval lacks REQUIRED_COVERAGE."""
        if not self.ratio.is_wide_enough:
            return "too_few_rounds"
        return "no" if self.ratio.low <= 1 <= self.ratio.high else "yes"


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> PairedComparison | None:
    """Compare values by round, first over second; None where no round has both."""
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    return PairedComparison(median_interval([first[r] / second[r] for r in common]), len(common))
