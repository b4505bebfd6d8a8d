"""The grades of a class: for each student and lab the attempt that counts, and what it is worth.

Derived from the gradebook under the course's rules; reports and exports are made from it. Points
here are final: late penalty taken off, overrides applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from numalab.course.gradebook.parts import GradePart, PartName
from numalab.course.gradebook.undecided_points import (
    UndecidedPoints,
    earnable_points,
    total_points,
    undecided_points,
)
from numalab.course.records import QUICK, Attempt, Json, Problem, Student


@dataclass(frozen=True)
class StandingRow:
    """One student in one lab.

    Attributes:
        attempt: the one that counts; None where nothing was graded (yet): handed in and not
            graded, or failures of the infrastructure only, as the notes say.
        others: every other attempt, oldest first, failures of the infrastructure too.
        points: on the scale of max_points; None where there is no grade.
        max_points: what the lab is worth in the course.
        gradable_points: how many of max_points the node of this attempt can show; None without it.
        is_preliminary: that is below the course's share, or some points are undecided; shown as
            provisional.
        late_s: seconds after the deadline; 0 in time or without a deadline.
        penalty: share of the points taken off for it, 0 to 1.
        override_reason: why points were set by hand; empty where they were not.
        notes: for the student, a sentence each.
        language: the one that counts of those that the attempt graded; empty: the best of them by
            its share of the points.
        is_handed_in: False where there is nothing to grade.
        is_not_taken: that is so since what was handed in can't be taken.
        is_late_unknown: Canvas marks it as late, and by how much is not known.
        parts: those of the grade, where the course weighs some; points are then theirs together,
            while attempt, language and lateness are the kernel's.
        variant: the row of the lab's variant, whose points and max_points are those of the part.
        is_part: whether this is such a row, whose points count in another.
    """

    student: Student
    lab: str
    attempt: Attempt | None
    others: tuple[Attempt, ...]
    points: float | None
    max_points: float
    gradable_points: float | None
    is_preliminary: bool
    late_s: float
    penalty: float
    override_reason: str
    notes: tuple[str, ...]
    language: str = ""
    is_handed_in: bool = True
    is_not_taken: bool = False
    is_late_unknown: bool = False
    parts: tuple[GradePart, ...] = ()
    variant: StandingRow | None = None
    is_part: bool = False

    def part(self, name: PartName) -> GradePart | None:
        return next((part for part in self.parts if part.name == name), None)

    @property
    def kernel_points(self) -> float:
        """How many of max_points the kernel's criteria have together."""
        kernel = self.part("kernel")
        if kernel is not None:
            return kernel.max_points
        return 0.0 if self.parts else self.max_points

    @property
    def result(self) -> Json | None:
        """The result that counts: of the attempt, in its language."""
        found = self.attempt.results if self.attempt is not None else ()
        if self.language:
            found = tuple(result for result in found if result["language"] == self.language)
        return max(found, key=_share, default=None)

    @property
    def undecided(self) -> tuple[UndecidedPoints, ...]:
        """What of the grade is undecided; nothing if it was set by hand."""
        if self.override_reason:
            return ()
        own = () if self.result is None or not self.kernel_points else undecided_points(self.result)
        of_variant = self.variant.undecided if self.variant is not None else ()
        return (*own, *(replace(one, criterion=f"variant:{one.criterion}") for one in of_variant))

    @property
    def undecided_points(self) -> float:
        """How many of max_points are undecided."""
        if self.override_reason:
            return 0.0
        result, own = self.result, 0.0
        if result is not None and (left := total_points(undecided_points(result))):
            own = self.kernel_points * left / earnable_points(result)
        return own + (self.variant.undecided_points if self.variant is not None else 0.0)

    @property
    def is_quick(self) -> bool:
        """Whether times of it were decided with --quick, at its larger risk."""
        if self.variant is not None and self.variant.is_quick and not self.override_reason:
            return True
        result = self.result
        if result is None or self.override_reason:
            return False
        assert self.attempt is not None
        return self.attempt.target.effort == QUICK and any(
            criterion["kind"] == "timing" and criterion["status"] in ("pass", "fail")
            for criterion in result["criteria"]
        )


def _share(result: Json) -> float:
    """Return the points over those that can be earned, 0 to 1; -1 if none can."""
    earnable = earnable_points(result)
    return result["points"] / earnable if earnable else -1.0


@dataclass(frozen=True)
class HandInTime:
    """When a student has handed in these files of a lab for the first time that is known."""

    student_id: str
    lab: str
    digest: str
    handed_in_at: datetime


@dataclass(frozen=True)
class Standing:
    """Attributes:
    rows: by student, then lab, one for each that a collection or the course names.
    problems: of the last collection.
    title: of the course.
    made_at: ISO 8601 with zone.
    handed_in: all hand-ins that ever were.
    parts: those that the course weighs.
    """

    rows: tuple[StandingRow, ...]
    problems: tuple[Problem, ...]
    title: str
    made_at: str
    handed_in: tuple[HandInTime, ...] = ()
    parts: tuple[PartName, ...] = ()

    @property
    def rows_with_variants(self) -> Iterator[StandingRow]:
        """Yield each row, and behind it that of its variant if that is part of its grade."""
        for row in self.rows:
            yield row
            if row.variant is not None:
                yield row.variant
