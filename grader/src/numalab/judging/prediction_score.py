"""The score of a prediction, from 0 to 1. Pure functions.

What was measured is an interval, and a prediction inside it scores 1. Outside, its distance d from
the nearer end counts, if the quantity can have the predicted value; no score is below 0:

- for a time, rate or ratio d = |log(prediction / end)|, and the score is 1 - d / log 2, so that a
  factor of 2 scores 0, whether too much or too little;
- for a share (0 to 1) d = |prediction - end|, and the score is 1 - d / 0.25. A share may be 0, of
  which nothing is a multiple; and a prediction of local pages is one of remote pages, too, so both
  have to score alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NOTHING_LEFT_AT = 2.0  # the factor from which the score is 0
NOTHING_LEFT_OF_SHARE_AT = 0.25  # the difference from which the score of a share is 0


@dataclass(frozen=True)
class Interval:
    """A measured quantity, as an interval. Both ends may be equal.

    Attributes:
        is_share: the ends are shares, from 0 to 1; else they are above 0 and finite.

    Raises ValueError where they are not, or low is above high.
    """

    low: float
    high: float
    is_share: bool = False

    def __post_init__(self) -> None:
        if not (self.low <= self.high and self._may_be(self.low) and self._may_be(self.high)):
            raise ValueError(f"{self.low} to {self.high} is no interval of what can be measured")

    def _may_be(self, value: float) -> bool:
        return 0 <= value <= 1 if self.is_share else 0 < value < math.inf

    def score(self, predicted: float) -> float:
        """Return the score of a prediction (0 to 1); 0 for a value that the quantity can't have,
        such as NaN."""
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
        """Return whether a prediction is too much or too little, in words; empty where it is inside
        the interval. NaN is too little."""
        if self.low <= predicted <= self.high:
            return ""
        return "too much" if predicted > self.high else "too little"


def mean_score(scores: Sequence[float]) -> float | None:
    """Return the mean of the scores; None where there are none."""
    return sum(scores) / len(scores) if scores else None
