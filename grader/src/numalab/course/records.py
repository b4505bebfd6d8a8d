"""What the parts of a batch tell each other: submissions, what is to be graded, and attempts.

An *item* is one student's files of one lab, as they were handed in: what is graded at once. An
*attempt* is one grading of an item; all are kept. Times are ISO 8601 with their zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

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
    """id: ASCII letters, digits, '.', '_' and '-', unlike any other's, fit for a file name;
    name: as the course's system gives it; external: keys of that system (Moodle's "email" and
    "identifier", Canvas's "id" and "login", GitHub's "login"), as far as the delivery shows."""

    id: str
    name: str
    external: Mapping[str, str]


@dataclass(frozen=True)
class Submission:
    """What a student has handed in for one lab. digest: SHA-256 of the allow-listed files' names
    and contents; handed_in_at: None where the delivery does not show it; source: of the
    delivery, for people; notes: what was left out and why, one sentence each; is_zone_taken: the
    time had no zone, and was given one."""

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
    """Something in a delivery that can't be graded. student: None where it is nobody's;
    is_missing: it is that nothing was handed in."""

    source: str
    why: str
    student: Student | None = None
    is_missing: bool = False

    @property
    def lab(self) -> str:
        """That it begins with, empty: it is of none."""
        found = re.match(r"(\d\d_\w+): ", self.why)
        return found[1] if found else ""


@dataclass(frozen=True)
class Intake:
    """A delivery, read: every entry of it is among the submissions or the problems. remarks: how
    it was read, for whoever grades, a sentence each."""

    layout: str
    submissions: tuple[Submission, ...]
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class GradingTarget:
    """What is graded at once, and everything that its evidence depends on. numalab_digest: what of
    the kit it is measured by; effort: "quick" or "default"."""

    student_id: str
    lab: str
    digest: str
    numalab_digest: str
    effort: str

    @property
    def key(self) -> str:
        digests = f"{self.digest[:12]}-{self.numalab_digest[:12]}"
        return f"{self.student_id}/{self.lab}/{digests}-{self.effort}"


@dataclass(frozen=True)
class Attempt:
    """One grading of an item, as its attempt.json tells. number: counts from 1 for each item;
    results: of `grade --json`, one for each language, empty unless graded; node: as
    `grade --json` has it; why: for people, unless graded; job: the scheduler's id, if any.
    judged_by: the digest of the rules that judged it; replaces: the number of an attempt that this
    one was judged from, or went on with, 0: none; it does not count beside this one. rejudged_at:
    when this one was judged from the other's records, empty where it was measured; its other times
    are those of the measuring. reopened: what the rules that changed have left open in it, as
    "language criterion": it is to be graded on."""

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


class BadRecord(Exception):
    """It is not what was written; says what of it."""


def intake_json(intake: Intake) -> Json:
    return asdict(intake)


def target_json(target: GradingTarget) -> Json:
    """Return a target under the keys by which attempt.json and run.json have it."""
    return {
        "student_id": target.student_id, "lab": target.lab, "digest": target.digest,
        "kit_digest": target.numalab_digest, "effort": target.effort,
    }  # fmt: skip


def parse_target(data: Mapping[str, Any]) -> GradingTarget:
    """Read what target_json has written. Raises KeyError and TypeError."""
    rest = dict(data)
    return GradingTarget(numalab_digest=rest.pop("kit_digest"), **rest)


def attempt_json(attempt: Attempt) -> Json:
    data = asdict(attempt)
    del data["target"]
    return {"item": target_json(attempt.target), **data}


def _student(data: Mapping[str, Any]) -> Student:
    return Student(data["id"], data["name"], dict(data["external"]))


def _submission(data: Mapping[str, Any]) -> Submission:
    return Submission(
        student=_student(data["student"]),
        lab=data["lab"],
        languages=tuple(data["languages"]),
        digest=data["digest"],
        files=tuple(data["files"]),
        handed_in_at=data["handed_in_at"],
        source=data["source"],
        notes=tuple(data["notes"]),
        is_zone_taken=bool(data.get("is_zone_taken", False)),
    )


def _problem(data: Mapping[str, Any]) -> Problem:
    student = data["student"]
    of = None if student is None else _student(student)
    return Problem(data["source"], data["why"], of, bool(data.get("is_missing", False)))


def parse_intake(data: Any) -> Intake:
    """Raises BadRecord."""
    try:
        return Intake(
            layout=data["layout"],
            submissions=tuple(_submission(submission) for submission in data["submissions"]),
            problems=tuple(_problem(problem) for problem in data["problems"]),
            remarks=tuple(data.get("remarks", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


def parse_attempt(data: Any) -> Attempt:
    """Raises BadRecord."""
    try:
        return Attempt(
            target=parse_target(data["item"]),
            number=int(data["number"]),
            state=data["state"],
            started_at=data["started_at"],
            ended_at=data["ended_at"],
            results=tuple(data["results"]),
            node=dict(data["node"]),
            sandbox=data["sandbox"],
            why=data.get("why", ""),
            job=data.get("job", ""),
            judged_by=data.get("judged_by", ""),
            replaces=int(data.get("replaces", 0)),
            rejudged_at=data.get("rejudged_at", ""),
            reopened=tuple(data.get("reopened", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error
