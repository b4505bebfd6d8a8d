"""Parts of a lab's grade: what each is worth, and what it gives. Pure functions.

A student reaches a share, 0 to 1, of each part. The points that the parts of a lab can give add up
to the lab's points, unless all parts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

PartName = Literal["kernel", "variant", "prediction", "diagnose", "viva"]
PART_NAMES: tuple[PartName, ...] = get_args(PartName)
VARIANT_PARTS: tuple[PartName, ...] = ("variant", "prediction")  # those of labs with variants

# graded: the share is known. missing: nothing was handed in; the share is 0. not taken: what was
# handed in can't be taken; the share is 0. open: a mark may still be set; the share is 0 until
# then. waiting: handed in, and no grading counts yet. left out: nothing of it is gradable there.
PartState = Literal["graded", "missing", "not taken", "open", "waiting", "left out"]
NOTHING_OF_IT: frozenset[PartState] = frozenset({"missing", "not taken"})


@dataclass(frozen=True)
class PartScore:
    """What a student has reached in a part.

    Attributes:
        share: what is reached of what the part requires, 0 to 1.
        why: what that follows from, as words that may follow a colon; may be empty.
    """

    name: PartName
    state: PartState
    share: float = 0.0
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class GradePart(PartScore):
    """A part of one student's grade in a lab.

    Attributes:
        weight: the part's weight in course.toml.
        max_points: the points that it can give; 0 if it is left out.
        points: the points that it gives.
    """

    weight: float
    max_points: float
    points: float


def round_points(points: float) -> float:
    """Round points to hundredths; a half is rounded up."""
    return round(points + 1e-9, 2)


def _most(weights: Sequence[float], worth: float) -> list[float]:
    """Return the points that each part can give, rounded to hundredths; what rounding leaves of the
    lab's points goes to the heaviest part."""
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
        scores: those without a weight are ignored.
        weights: for the parts that the lab has, numbers above 0.
        worth: the lab's points.
    """
    every = [one for one in scores if one.name in weights]
    counted = [0.0 if one.state == "left out" else weights[one.name] for one in every]
    return tuple(
        GradePart(
            **vars(one),
            weight=weights[one.name],
            max_points=most,
            points=min(most, round_points(most * one.share)),
        )
        for one, most in zip(every, _most(counted, worth), strict=True)
    )


def sum_points(parts: Iterable[GradePart]) -> float | None:
    """Return the points that a lab's parts give together; None if one is waiting to be graded, or
    if none can give any."""
    found = list(parts)
    if any(part.state == "waiting" for part in found) or not any(part.max_points for part in found):
        return None
    return round(sum(part.points for part in found), 6)
