"""Parts of a lab's grade: what each is worth, and what it gives. Pure functions.

A part has a share, 0 to 1, of what it requires. What the parts of a lab can give, in hundredths of
a point, adds up to the lab's points, and what they give adds up to the student's: every sum that is
shown can be done again by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

PartName = Literal["kernel", "variant", "prediction", "diagnose", "viva"]
PART_NAMES: tuple[PartName, ...] = get_args(PartName)
VARIANT_PARTS: tuple[PartName, ...] = ("variant", "prediction")  # where a lab has variants

# graded: there is a share, by whatever was handed in; missing: nothing was, a share of 0; not
# taken: what was can't be, a share of 0; open: a mark that may still be set, 0 until it is;
# waiting: handed in and not graded yet; left out: nothing of it can be graded on that node.
PartState = Literal["graded", "missing", "not taken", "open", "waiting", "left out"]
_COUNTED: tuple[PartState, ...] = ("graded", "missing", "not taken", "open", "waiting")
NOTHING_OF_IT: frozenset[PartState] = frozenset({"missing", "not taken"})


@dataclass(frozen=True)
class PartScore:
    """What a student has reached in a part.

    Attributes:
        share: 0 to 1.
        why: what it follows from, in words that go on after a colon; may be empty.
    """

    name: PartName
    state: PartState
    share: float = 0.0
    why: str = ""


@dataclass(frozen=True)
class GradePart:
    """Attributes:
    weight: of the part, from course.toml.
    max_points: that it can give; 0 if it is left out.
    points: that it gives.
    """

    score: PartScore
    weight: float
    max_points: float
    points: float

    @property
    def name(self) -> PartName:
        return self.score.name

    @property
    def state(self) -> PartState:
        return self.score.state


def round_points(points: float) -> float:
    """Round to two digits, which is what the systems that grades are exported to keep."""
    return round(points + 1e-9, 2)


def _most(weights: Sequence[float], worth: float) -> list[float]:
    """Return what each part can give, in hundredths; what rounding leaves goes to the heaviest."""
    whole = sum(weights)
    most = [round_points(worth * weight / whole) if whole else 0.0 for weight in weights]
    if whole:
        heaviest = max(range(len(weights)), key=weights.__getitem__)
        most[heaviest] = round(most[heaviest] + worth - sum(most), 6)
    return most


def score_parts(
    scores: Iterable[PartScore], weights: Mapping[PartName, float], worth: float
) -> tuple[GradePart, ...]:
    """Return the parts with their points, in the order of the scores.

    Args:
        weights: above 0, of the parts that the lab has.
        worth: points of the lab.
    """
    every = [one for one in scores if one.name in weights]
    counted = [weights[one.name] if one.state in _COUNTED else 0.0 for one in every]
    return tuple(
        GradePart(one, weights[one.name], most, min(most, round_points(most * one.share)))
        for one, most in zip(every, _most(counted, worth), strict=True)
    )


def sum_points(parts: Iterable[GradePart]) -> float | None:
    """Return what a lab's parts give together; None if one is waiting to be graded, or none can
    be."""
    found = list(parts)
    if any(part.state == "waiting" for part in found) or not any(part.max_points for part in found):
        return None
    return round(sum(part.points for part in found), 6)
