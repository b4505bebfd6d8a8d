"""Records that the parts of a batch pass on: hand-ins, targets of gradings, and attempts.

A *target* is one student's files of one lab as they were handed in, under one version of numalab
and one effort: what is graded at once. An *attempt* is one grading of a target; all are kept. In
attempt.json and run.json a target's key is "item", and numalab_digest is "kit_digest". Times are
ISO 8601 with their zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = dict[str, Any]
QUICK = "quick"  # the effort of an item that is graded with --quick

# How an attempt ended. Only "graded" says something about the student; of the others each is
# the infrastructure's fault and graded again, up to a limit.
AttemptState = Literal[
    "graded", "kit_error", "node_failed", "preempted", "time_limit", "cancelled", "lost"
]
# A note of Canvas's hand-ins.
LATE_BY_CANVAS = "Canvas marks it as late."

# From how the student's code was kept apart to not at all.
SandboxLevel = Literal["bubblewrap", "none"]


@dataclass(frozen=True)
class Student:
    """A student of a course.

    Attributes:
        id: ASCII letters, digits, '.', '_' and '-'; unique, and fit for a file name.
        name: as the course's system gives it.
        external: keys of that system (Moodle's "email" and "identifier", Canvas's "id" and "login",
        GitHub's "login"), as far as the collection has them.
    """

    id: str
    name: str
    external: Mapping[str, str]


@dataclass(frozen=True)
class Submission:
    """What a student has handed in for one lab.

    Attributes:
        languages: in which there are kernels.
        digest: SHA-256 of names and contents of the files that were taken.
        handed_in_at: None where the collection does not tell.
        source: its name in the collection, for people.
        notes: what was left out and why, a sentence each.
        is_zone_taken: the time had no zone, and was given one.
    """

    student: Student
    lab: str
    languages: tuple[str, ...]
    digest: str
    files: tuple[str, ...]
    handed_in_at: str | None
    source: str
    notes: tuple[str, ...] = ()
    is_zone_taken: bool = False


@dataclass(frozen=True)
class Problem:
    """Something in a collection that can't be graded.

    Attributes:
        student: None where it belongs to no student.
        is_missing: the problem is that nothing was handed in.
    """

    source: str
    why: str
    student: Student | None = None
    is_missing: bool = False

    @property
    def lab(self) -> str:
        """The lab with which the sentence begins; empty where it is about none."""
        found = re.match(r"(\d\d_\w+): ", self.why)
        return found[1] if found else ""


@dataclass(frozen=True)
class Intake:
    """A collection of hand-ins as it was read: each of its entries is among the submissions or the
    problems.

    Attributes:
        remarks: how it was read, for the instructor, a sentence each.
    """

    layout: str
    submissions: tuple[Submission, ...]
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class GradingTarget:
    """What is graded at once, and everything that its evidence depends on.

    Attributes:
        digest: of the student's files.
        numalab_digest: of the parts of numalab that measure the lab.
        effort: "quick" or "default".
    """

    student_id: str
    lab: str
    digest: str
    numalab_digest: str
    effort: str

    @property
    def files(self) -> tuple[str, str, str]:
        """Return student, lab and digest: what was handed in, whatever it is graded with."""
        return self.student_id, self.lab, self.digest

    @property
    def key(self) -> str:
        """The target's place among attempts: STUDENT/LAB/DIGESTS-EFFORT."""
        digests = f"{self.digest[:12]}-{self.numalab_digest[:12]}"
        return f"{self.student_id}/{self.lab}/{digests}-{self.effort}"


@dataclass(frozen=True)
class Attempt:
    """One grading of a target, as attempt.json has it.

    Attributes:
        number: counts from 1 for each target.
        results: of `grade --json`, one for each language; empty unless graded.
        node: as `grade --json` has it.
        why: what went wrong, for people; empty if graded.
        job: the scheduler's id, if there is one.
        judged_by: digest of the rules that judged it.
        replaces: number of the attempt that this one was judged from, or went on with, and that
            does
        not count any more; 0: none.
        rejudged_at: when it was judged from the other's records; empty if it was measured. Its
            other
        times are those of the measurement.
        reopened: what changed rules have made undecided, as "language criterion"; it is to be
            graded
        on.
    """

    target: GradingTarget
    number: int
    state: AttemptState
    started_at: str
    ended_at: str
    results: tuple[Json, ...]
    node: Json
    sandbox: SandboxLevel
    why: str = ""
    job: str = ""
    judged_by: str = ""
    replaces: int = 0
    rejudged_at: str = ""
    reopened: tuple[str, ...] = ()


# ---- as JSON and back ----------------------------------------------------------------

_Record = TypeVar("_Record", bound="DataclassInstance")


class BadRecord(Exception):
    """A file does not have what was written; the message says what is wrong."""


def intake_json(intake: Intake) -> Json:
    """Return a collection as its stored record has it."""
    return asdict(intake)


def target_json(target: GradingTarget) -> Json:
    """Return a target under the keys by which attempt.json and run.json have it."""
    return {
        "student_id": target.student_id, "lab": target.lab, "digest": target.digest,
        "kit_digest": target.numalab_digest, "effort": target.effort,
    }  # fmt: skip


def attempt_json(attempt: Attempt) -> Json:
    """Return an attempt as attempt.json has it."""
    data = asdict(attempt)
    del data["target"]
    return {"item": target_json(attempt.target), **data}


def parse_record(kind: type[_Record], data: Mapping[str, Any], **parsed: Any) -> _Record:
    """Make a record of what JSON has of it.

    Args:
        kind: a dataclass; keys of the data that it does not have are passed over.
        data: lists become tuples.
        parsed: fields that need more than that.

    Raises:
        TypeError: a field that has no default is missing, or the data is not an object.
    """
    known = {field.name for field in fields(kind)}
    plain = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in dict(data).items()
        if key in known
    }
    return kind(**(plain | parsed))


def parse_target(data: Mapping[str, Any]) -> GradingTarget:
    """Read what target_json has written. Raises KeyError and TypeError."""
    return parse_record(GradingTarget, data, numalab_digest=data["kit_digest"])


def _parse_student_record(kind: type[_Record], data: Mapping[str, Any]) -> _Record:
    student = data["student"]
    return parse_record(
        kind, data, student=None if student is None else parse_record(Student, student)
    )


def parse_intake(data: Any) -> Intake:
    """Read what intake_json has written. Raises BadRecord."""
    try:
        return parse_record(
            Intake,
            data,
            submissions=tuple(
                _parse_student_record(Submission, one) for one in data["submissions"]
            ),
            problems=tuple(_parse_student_record(Problem, one) for one in data["problems"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def parse_attempt(data: Any) -> Attempt:
    """Read what attempt_json has written. Raises BadRecord."""
    try:
        return parse_record(Attempt, data, target=parse_target(data["item"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error
