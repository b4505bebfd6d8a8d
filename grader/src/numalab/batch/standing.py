"""Where a class stands: for each student and lab the attempt that counts, and what it is worth.

Made from the gradebook under the course's rules; what reports and exports are made from. Points
here are final: late penalty taken off, override put in.
"""

from __future__ import annotations

from dataclasses import dataclass

from numalab.batch.records import Attempt, Problem, Student


@dataclass(frozen=True)
class StandingRow:
    """One student in one lab. attempt: the one that counts, None where nothing was graded (yet):
    handed in but not graded, or only infrastructure failures, as notes say; others: every other
    attempt, oldest first, infrastructure failures too. points: None where there is no grade;
    gradable_points: max_points less what could not be graded in this attempt, None without one;
    is_provisional: gradable_points are below the course's share of max_points. late_s: seconds
    after the deadline, 0 in time or without deadline; penalty: share of the points taken off for
    it, 0 to 1. override_reason: empty unless points were set by hand. notes: for the student,
    one sentence each."""

    student: Student
    lab: str
    attempt: Attempt | None
    others: tuple[Attempt, ...]
    points: float | None
    max_points: float
    gradable_points: float | None
    is_provisional: bool
    late_s: float
    penalty: float
    override_reason: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """rows: by student, then lab, one for each that the delivery or the course names. problems:
    of the last delivery; title: of the course; made_at: ISO 8601 with zone."""

    rows: tuple[StandingRow, ...]
    problems: tuple[Problem, ...]
    title: str
    made_at: str
