"""Records that the parts of a batch pass on: hand-ins, targets of gradings, and attempts.

A *target* is what one grading is about: one student's files of one lab as they were handed in, one
version of numalab and one effort. An *attempt* is one grading of a target. In attempt.json and
run.json a target has the key "item", and its numalab_digest the key "kit_digest". Times are in ISO
8601 with a zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = dict[str, Any]
QUICK = "quick"  # the effort of a target that is graded with --quick

# How an attempt ended. Only "graded" says something about the student; any other state is not the
# student's fault, and the target is graded again, up to a limit.
AttemptState = Literal[
    "graded", "kit_error", "node_failed", "preempted", "time_limit", "cancelled", "lost"
]
# A note on hand-ins from Canvas.
LATE_BY_CANVAS = "Canvas marks it as late."

# How the student's code was isolated from the rest of the machine.
SandboxLevel = Literal["bubblewrap", "none"]


@dataclass(frozen=True)
class Student:
    """A student of a course.

    Attributes:
        id: ASCII letters, digits, '.', '_' and '-'; unique, and fit for a file name.
        name: the name in the course's system.
        external: the student's keys in that system, as far as they are known, such as "email" and
            "identifier" (Moodle), "id" and "login" (Canvas), or "login" (GitHub).
    """

    id: str
    name: str
    external: Mapping[str, str]


@dataclass(frozen=True)
class Submission:
    """What a student has handed in for one lab.

    Attributes:
        languages: those of the kernels; without a kernel, the lab's first language.
        digest: SHA-256 of the names and contents of the files that were taken.
        files: names of those files, sorted.
        handed_in_at: None if neither the collection nor the list of the class says.
        source: its name in the collection, fit to be shown.
        notes: sentences for the student, such as on what was left out or changed, and why.
        is_zone_taken: the list's time had no zone, and one was assumed.
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
    """Something that can't be graded, or that an instructor should know.

    Attributes:
        source: where it is, such as an entry's name in a collection, or course.toml.
        why: sentences; if they begin with "NN_name: ", they count as about that lab.
        student: None if it belongs to no student, or it is not clear to which.
        is_missing: the collection has no entry of a student who is named in a list, or credited in
            Classroom 50.
    """

    source: str
    why: str
    student: Student | None = None
    is_missing: bool = False

    @property
    def lab(self) -> str:
        """The name of the lab that `why` begins with; empty if it begins with none."""
        found = re.match(r"(\d\d_\w+): ", self.why)
        return found[1] if found else ""


@dataclass(frozen=True)
class Intake:
    """A collection of hand-ins as it was read.

    Attributes:
        layout: the name of the layout that it was read by, as --layout takes it.
        remarks: how it was read, for the instructor, a sentence each.
    """

    layout: str
    submissions: tuple[Submission, ...]
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class GradingTarget:
    """What one grading is about.

    Attributes:
        digest: digest of the student's files.
        numalab_digest: digest of the parts of numalab that measure the lab.
        effort: "quick" or "default".
    """

    student_id: str
    lab: str
    digest: str
    numalab_digest: str
    effort: str

    @property
    def files(self) -> tuple[str, str, str]:
        """Student, lab and digest: what was handed in, regardless of version and effort."""
        return self.student_id, self.lab, self.digest

    @property
    def key(self) -> str:
        """The target's path below attempts/: STUDENT/LAB/DIGEST-NUMALAB_DIGEST-EFFORT, with 12
        digits of each digest."""
        digests = f"{self.digest[:12]}-{self.numalab_digest[:12]}"
        return f"{self.student_id}/{self.lab}/{digests}-{self.effort}"


@dataclass(frozen=True)
class Attempt:
    """One grading of a target, as attempt.json has it; from the gradebook, `results` and `node` are
    shorter.

    Attributes:
        number: counts from 1 for each target.
        results: those of `grade --json`, one for each language; empty unless graded.
        node: facts of the machine that graded it, as `grade --json` has them; its name alone if
            there is no such result, and empty if even that is unknown.
        why: what went wrong, for people; empty if graded.
        job: Slurm's id of the job, or what else it was noted as; may be empty.
        judged_by: digest of the rules that a job had, or that judged it again; empty if no job
            graded it.
        replaces: number of the attempt of the same target that this one was judged from or went on
            from, and that no longer counts; 0: none.
        rejudged_at: when it was judged from the other attempt's records; empty if it was measured.
            Its other times are those of the measurement.
        reopened: what a change of rules has made undecided, as "LANGUAGE CRITERION"; to decide it,
            the target is graded again.
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

    @property
    def took_s(self) -> float:
        """Seconds from the start to the end of the grading."""
        began, ended = (datetime.fromisoformat(at) for at in (self.started_at, self.ended_at))
        return (ended - began).total_seconds()


# ---- as JSON and back ----------------------------------------------------------------

_Record = TypeVar("_Record", bound="DataclassInstance")


class BadRecord(Exception):
    """A record is not as numalab writes it; the message says what is wrong."""


def intake_json(intake: Intake) -> Json:
    """Return a collection as intake.json and a collection record have it."""
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
    """Make a record from its JSON.

    Args:
        kind: a dataclass; keys of the data that are no fields of it are ignored.
        data: the JSON object; its lists become tuples.
        parsed: values of fields that need more than that.
    """
    known = {field.name for field in fields(kind)}
    plain = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in dict(data).items()
        if key in known
    }
    return kind(**(plain | parsed))


def parse_target(data: Mapping[str, Any]) -> GradingTarget:
    """Make a target from what target_json returned."""
    return parse_record(GradingTarget, data, numalab_digest=data["kit_digest"])


def _parse_student_record(kind: type[_Record], data: Mapping[str, Any]) -> _Record:
    student = data["student"]
    return parse_record(
        kind, data, student=None if student is None else parse_record(Student, student)
    )


def parse_intake(data: Any) -> Intake:
    """Make a collection from what intake_json returned. Raises BadRecord for other data."""
    try:
        submissions = [_parse_student_record(Submission, one) for one in data["submissions"]]
        problems = [_parse_student_record(Problem, one) for one in data["problems"]]
        return parse_record(Intake, data, submissions=tuple(submissions), problems=tuple(problems))
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def parse_attempt(data: Any) -> Attempt:
    """Make an attempt from what attempt_json returned. Raises BadRecord, also for a time that is
    none or has no zone."""
    try:
        attempt = parse_record(Attempt, data, target=parse_target(data["item"]))
        judged_again = () if attempt.rejudged_at == "" else (attempt.rejudged_at,)
        for time in (attempt.started_at, attempt.ended_at, *judged_again):
            if datetime.fromisoformat(time).tzinfo is None:
                raise ValueError(f"{time!r} has no zone")
        return attempt
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error
