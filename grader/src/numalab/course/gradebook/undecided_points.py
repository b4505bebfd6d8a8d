"""Find what of a result is undecided. Pure functions of the results of `grade --json`.

Points that are undecided, or that an internal error has left ungraded, count as not earned until
they are decided, and stay among those that can be earned. Otherwise undecided points would be worth
more than failed ones, and a student who makes a kernel noisy would gain by it. Points that are not
gradable on a machine are another matter: grading on it again does not decide them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numalab import words
from numalab.course.records import Json
from numalab.judging.verdict import Status, status_over


@dataclass(frozen=True)
class UndecidedPoints:
    """The points of a criterion that is undecided, or that ended as an error (is_internal_error).
    points: those that it can give."""

    criterion: str
    points: int
    is_internal_error: bool


def _status_and_points(result: Json) -> Mapping[str, tuple[Status, int]]:
    """Return by name the status that each criterion's points go by, over all machines, and the
    points that it can give."""
    statuses: dict[str, list[Status]] = {}
    points: dict[str, int] = {}
    for criterion in result["criteria"]:
        status = criterion.get("withheld_status") or criterion["status"]
        statuses.setdefault(criterion["name"], []).append(status)
        points.setdefault(criterion["name"], criterion["max_points"])
    return {name: (status_over(of), points[name]) for name, of in statuses.items()}


def earnable_points(result: Json) -> int:
    """Return the points that could be earned on the machine: all but those that are not gradable
    there."""
    most: int = result["max_points"]
    not_shown = (p for status, p in _status_and_points(result).values() if status == "not_gradable")
    return most - sum(not_shown)


def undecided_points(result: Json) -> tuple[UndecidedPoints, ...]:
    """Return the criteria of a result that are undecided or ended as an error, in its order."""
    return tuple(
        UndecidedPoints(name, points, status == "error")
        for name, (status, points) in _status_and_points(result).items()
        if status in ("inconclusive", "error")
    )


def is_worth_regrading(result: Json) -> bool:
    """Tell whether grading again could decide something: a criterion is undecided or ended as an
    error, for another cause than an implausibly short time."""
    names = {each.criterion for each in undecided_points(result)}
    return any(
        criterion["name"] in names
        and criterion["status"] in ("inconclusive", "error")
        and criterion.get("cause") != "implausible"
        for criterion in result["criteria"]
    )


def total_points(some: Iterable[UndecidedPoints]) -> int:
    return sum(each.points for each in some)


def criteria_text(some: Iterable[UndecidedPoints]) -> str:
    """List criteria with their points, such as "speedup (2 points) and efficiency (1 point)"."""
    return words.listed([f"{each.criterion} ({_points(each.points)})" for each in some])


def _points(number: int) -> str:
    return words.count(number, "point")


def student_sentences(some: Iterable[UndecidedPoints]) -> list[str]:
    """Return a text on what is undecided, and one on what an internal error has left ungraded; each
    only if there is some."""
    every = list(some)
    told = []
    left = [each for each in every if not each.is_internal_error]
    if left:
        verb = "is" if total_points(left) == 1 else "are"
        told.append(
            f"{_points(total_points(left))} {verb} still open: {_names(left)}. What was measured "
            "decides "
            "it neither way, so that is not earned yet, and not lost: it is decided by grading "
            "again."
        )
    spoilt = [each for each in every if each.is_internal_error]
    if spoilt:
        told.append(
            f"{_points(total_points(spoilt))} could not be graded by a fault of the kit, not "
            "yours: "
            f"{_names(spoilt)}. Not earned yet, and not lost: it is decided by grading again."
        )
    return told


def _names(some: Iterable[UndecidedPoints]) -> str:
    return words.listed([each.criterion for each in some])
