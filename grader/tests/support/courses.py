"""Invented classes: what a delivery and gradings of it are, without grading anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.course.records import (
    Attempt,
    AttemptState,
    GradingTarget,
    Intake,
    Problem,
    Student,
    Submission,
)

Json = dict[str, Any]
LAB = "01_first_touch"
OTHER_LAB = "02_affinity"
VARIANT = f"{LAB}_variant"
ONE_NUMA_NODE: Json = {
    "name": "n1", "cpu_model": "Laptop", "packages": 1, "numa_nodes": 1, "cores": 4, "pus": 8,
    "load_1min": 0.3,
}  # fmt: skip
TWO_NUMA_NODES = ONE_NUMA_NODE | {
    "name": "n2", "cpu_model": "Server", "packages": 2, "numa_nodes": 2, "cores": 32,
}  # fmt: skip

ADA = Student(
    "ada", "Ada Lovelace", {"email": "Ada@Example.org", "identifier": "Participant 101", "id": "1"}
)
BOB = Student("bob", "Bob <b>Bold</b>", {"email": "bob@example.org", "id": "2", "login": "bob9"})
ZOE = Student("zoe", "Zoë Ångström", {"email": "zoe@example.org", "id": "3"})


def submission(
    student: Student, digest: str = "d1", at: str | None = None, lab: str = LAB, notes: str = ""
) -> Submission:
    return Submission(
        student=student, lab=lab, languages=("c",), digest=digest.ljust(64, "0"),
        files=("kernel.c",), handed_in_at=at, source=f"{student.id}.zip",
        notes=(notes,) if notes else (),
    )  # fmt: skip


def intake(*submissions: Submission, problems: Sequence[Problem] = ()) -> Intake:
    return Intake("folders", submissions, tuple(problems))


def criterion(
    name: str, status: str, points: int, why: str = "", kind: str = "evidence", **more: Any
) -> Json:
    return {
        "name": name, "kind": kind, "status": status, "value": 0.5, "unit": "share",
        "points": points if status == "pass" else 0, "max_points": points, "where": "here",
        "why": why or f"{name} is {status}.", "at_least": 0.95,
    } | more  # fmt: skip


def result(
    passed: int, failed: int = 0, ungraded: int = 0, language: str = "c", why: str = "",
    lab: str = LAB, still_open: int = 0, spoilt: int = 0,
) -> Json:  # fmt: skip
    """passed, failed, ungraded, still_open, spoilt: points of criteria of that kind; ungraded: not
    gradable, spoilt: by the kit."""
    found = [
        criterion("correct", "pass", passed, kind="correctness"),
        criterion("local_pages", "fail", failed, why or "50 % of the pages live elsewhere."),
        criterion("speedup", "not_gradable", ungraded, "This machine has 1 NUMA node.", "timing",
                  timing={"margins": [1.0] * 9}),
        criterion("efficiency", "inconclusive", still_open, "That could be chance.", "timing"),
        criterion("balanced", "error", spoilt, "The monitor broke."),
    ]  # fmt: skip
    criteria = [one for one in found if one["max_points"]]
    return {
        "lab": lab, "language": language, "variant": "submission",
        "status": "fail" if failed else "pass", "points": passed,
        "max_points": passed + failed + ungraded + still_open + spoilt,
        "ungraded_points": ungraded + still_open + spoilt,
        "criteria": criteria, "spent_s": {"timing": 1.0},
    }  # fmt: skip


def attempt(
    student: Student,
    *results: Json,
    digest: str = "d1",
    number: int = 1,
    state: AttemptState = "graded",
    at: str = "2027-05-04T10:00:00+00:00",
    lab: str = LAB,
    node: Json = ONE_NUMA_NODE,
    why: str = "",
    installation: str = "k1",
    effort: str = "default",
) -> Attempt:
    return Attempt(
        target=GradingTarget(student.id, lab, digest.ljust(64, "0"), installation.ljust(64, "0"),
        effort), number=number, state=state, started_at=at, ended_at=at, results=results,
        node=node if state == "graded" else {}, sandbox="none", why=why, job="7_1",
    )  # fmt: skip
