"""How good a prediction is: a share of full marks, without a cliff. Pure functions.

What was measured is an interval. A prediction inside it has 1. Outside its distance to the nearer
end counts: of a quantity (a time, a rate, a ratio) that is a factor, and a factor of 2 earns
nothing; on the way there each factor costs alike, whether it is too much or too little. A share
(0 to 1) may be 0, of which nothing is a multiple, and who predicts local pages predicts remote
ones by the same answer: of shares the difference counts, and a quarter of the whole earns nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NOTHING_LEFT_AT = 2.0  # as a factor
NOTHING_LEFT_OF_SHARE_AT = 0.25  # as a difference


@dataclass(frozen=True)
class Interval:
    """What was measured; of what has no noise both ends are the same. is_share: a part of a whole,
    0 to 1; else above 0. Raises ValueError where it is none."""

    low: float
    high: float
    is_share: bool = False

    def __post_init__(self) -> None:
        if not (self.low <= self.high and self._may_be(self.low) and self._may_be(self.high)):
            raise ValueError(f"{self.low} to {self.high} is no interval of what can be measured")

    def _may_be(self, value: float) -> bool:
        return 0 <= value <= 1 if self.is_share else 0 < value < math.inf

    def score(self, predicted: float) -> float:
        """0 to 1; 0 for what the quantity can't be: NaN, infinite, and what is no share, or not
        above 0."""
        if not self._may_be(predicted):
            return 0.0
        nearest = min(max(predicted, self.low), self.high)
        if predicted == nearest:
            return 1.0
        if self.is_share:
            lost = abs(predicted - nearest) / NOTHING_LEFT_OF_SHARE_AT
        else:
            lost = abs(math.log(predicted) - math.log(nearest)) / math.log(NOTHING_LEFT_AT)
        return max(0.0, 1.0 - lost)

    def misses(self, predicted: float) -> str:
        """In words: whether it is too much or too little; empty inside."""
        if self.low <= predicted <= self.high:
            return ""
        return "too much" if predicted > self.high else "too little"


def mean_score(scores: Sequence[float]) -> float | None:
    """Over all quantities that were measured; None where none was."""
    return sum(scores) / len(scores) if scores else None
