"""The grades of a class: for each student and lab the attempt that counts, and what it is worth.

They are derived from the gradebook under the course's rules. Points here are final: penalties are
taken off, and points set by hand are in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
    """One student's grade in one lab.

    Attributes:
        attempt: the attempt that counts; None if none does (yet).
        others: the other attempts except replaced ones, failures of the infrastructure included,
            in the order of their hand-ins, then oldest first.
        points: the grade, on the scale of max_points; None if there is none.
        max_points: what the lab is worth in the course.
        gradable_points: how many of max_points are gradable on the machine of the attempt; None
            without an attempt. If grades have parts: of all parts; None without is_handed_in.
        is_preliminary: the grade may change, and is shown as provisional: points are undecided, too
            few are gradable on the machine, or a mark may still be set.
        late_s: seconds after the deadline; 0 if in time or within the grace period, or if there is
            no deadline or the time is not known.
        penalty: share taken off the points of the row's own code for being late, 0 to 1; 0 if those
            are set by hand.
        override_reason: why points were set by hand; empty if they were not.
        notes: sentences for the student.
        language: the one of the attempt's languages that counts; empty without an attempt.
        is_handed_in: there is something to grade, or with parts something that was marked by hand.
        is_not_taken: there is nothing to grade since what was handed in can't be taken.
        is_late_unknown: Canvas marks the hand-in as late, and by how much is not known.
        parts: parts of the grade, if the course weighs some; points are then their sum, unless set
            by hand, while attempt, language and lateness are the kernel's.
        variant: the row of the lab's variant, whose points and max_points are those of the part;
            None if the variant is no part of the grade.
        is_part: this is the row of such a variant, whose points are included in its lab's.
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

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempt that counts, if there is one, followed by the others."""
        return self.others if self.attempt is None else (self.attempt, *self.others)

    @property
    def row_and_variant(self) -> tuple[StandingRow, ...]:
        """The row, followed by that of its variant if that is part of its grade."""
        return (self,) if self.variant is None else (self, self.variant)

    def part(self, name: PartName) -> GradePart | None:
        """Return a part of the grade; None if it has no such part."""
        return next((part for part in self.parts if part.name == name), None)

    @property
    def kernel_points(self) -> float:
        """How many of max_points the kernel's criteria can give together."""
        kernel = self.part("kernel")
        if kernel is not None:
            return kernel.max_points
        return 0.0 if self.parts else self.max_points

    @property
    def result(self) -> Json | None:
        """The attempt's result in the language that counts; without a language, its best one. None
        if there is no such result."""
        found = self.attempt.results if self.attempt is not None else ()
        if self.language:
            found = tuple(result for result in found if result["language"] == self.language)
        return max(found, key=points_share, default=None)

    @property
    def undecided(self) -> tuple[UndecidedPoints, ...]:
        """The undecided criteria, those of the variant with the prefix "variant:"; none if points
        were set by hand, nor of code that can give none."""
        if self.override_reason:
            return ()
        own = () if self.result is None or not self.kernel_points else undecided_points(self.result)
        of_variant = self.variant.undecided if self.variant is not None else ()
        return (*own, *(replace(one, criterion=f"variant:{one.criterion}") for one in of_variant))

    @property
    def undecided_points(self) -> float:
        """How many of max_points are undecided, those of the variant included."""
        if self.override_reason:
            return 0.0
        result, own = self.result, 0.0
        if result is not None and (left := total_points(undecided_points(result))):
            own = self.kernel_points * left / earnable_points(result)
        return own + (self.variant.undecided_points if self.variant is not None else 0.0)

    @property
    def is_quick(self) -> bool:
        """Whether the grade is based on times that were decided with --quick, at its larger
        risk."""
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


def points_share(result: Json) -> float:
    """Return the points over those that can be earned, 0 to 1; -1 if none can."""
    earnable = earnable_points(result)
    return result["points"] / earnable if earnable else -1.0


def rows_by_student(rows: Iterable[StandingRow]) -> dict[str, list[StandingRow]]:
    """Return the rows of each student, by id, in the order in which they come."""
    found: dict[str, list[StandingRow]] = {}
    for row in rows:
        found.setdefault(row.student.id, []).append(row)
    return found


@dataclass(frozen=True)
class Standing:
    """The grades of a class.

    Attributes:
        rows: one for each student and lab, by the student's name, then the lab's.
        problems: those of the last collection, and those that check_rules finds in course.toml.
        title: the course's title; may be empty.
        made_at: when the standing was derived, in ISO 8601 with a zone.
        handed_in: when all hand-ins of the course were first handed in, as far as is known, as
            HandIn has it; by student, lab and digest.
        parts: the parts of a grade that have a weight in the course.
    """

    rows: tuple[StandingRow, ...]
    problems: tuple[Problem, ...]
    title: str
    made_at: str
    handed_in: Mapping[tuple[str, str, str], datetime] = field(default_factory=dict)
    parts: tuple[PartName, ...] = ()

    @property
    def rows_with_variants(self) -> Iterator[StandingRow]:
        """Each row, followed by that of its variant if that is part of its grade."""
        return (each for row in self.rows for each in row.row_and_variant)
