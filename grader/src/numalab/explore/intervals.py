"""Intervals that assume nothing of how times are distributed: order statistics, and the
ratio of two things that were measured in the same round. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def coverage(samples: int, rank: int) -> float:
    """Of the interval from the rank-th smallest of the samples to the rank-th largest: the
    true median lies outside when fewer than rank samples fall on one side of it."""
    outside = sum(math.comb(samples, k) for k in range(rank))
    share_outside: float = 2 * outside / (1 << samples)
    return max(0.0, 1.0 - share_outside)


def median_interval(values: Sequence[float], wanted: float = WANTED_COVERAGE) -> Interval:
    """The narrowest symmetric interval that covers as asked; from the smallest to the
    largest sample where none does. values: one or more."""
    ordered = sorted(values)
    samples = len(ordered)
    fitting = [
        rank for rank in range(1, (samples + 1) // 2 + 1) if coverage(samples, rank) >= wanted
    ]
    rank = max(fitting, default=1)
    return Interval(
        median(ordered), ordered[rank - 1], ordered[samples - rank], coverage(samples, rank)
    )


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
