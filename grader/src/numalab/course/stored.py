"""The records of a batch as JSON, as attempt.json and the kept deliveries hold them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numalab.course.records import Attempt, Intake, Item, Json, Problem, Student, Submission


class BadRecord(Exception):
    """It is not what was written; says what of it."""


def intake_json(intake: Intake) -> Json:
    return asdict(intake)


def attempt_json(attempt: Attempt) -> Json:
    return asdict(attempt)


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
            item=Item(**data["item"]),
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
