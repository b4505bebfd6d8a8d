"""The tables of the gradebook: their schema, and how records become rows and back. Functions that
change the database leave the transaction to the caller."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from numalab.course.gradebook.node_types import stored_facts
from numalab.course.records import Attempt, GradingTarget, Intake, Json, Student, Submission

SCHEMA_VERSION = 2
CHUNK = 500  # attempts parsed together
# Keys that identify a student in one assignment of the course's system only.
ASSIGNMENT_KEYS = ("identifier",)
# Tables that gradebooks of earlier versions lack and that are added to them: why hand-ins of any
# collection could not be taken (lab empty: of an unknown lab), and the moments that were assumed
# for times without a zone.
LATER_TABLES = (
    "CREATE TABLE IF NOT EXISTS not_taken (student TEXT NOT NULL, lab TEXT NOT NULL, "
    "why TEXT NOT NULL, PRIMARY KEY (student, lab)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS taken_times (student TEXT NOT NULL, lab TEXT NOT NULL, "
    "digest TEXT NOT NULL, local TEXT NOT NULL, at TEXT NOT NULL, "
    "PRIMARY KEY (student, lab, digest, local)) WITHOUT ROWID",
)
# Columns of attempts that have the values of an attempt's fields of the same names.
_PLAIN_COLUMNS = (
    "number", "state", "started_at", "ended_at", "sandbox", "why", "job", "judged_by", "replaces",
    "rejudged_at",
)  # fmt: skip
_TIMING = "timing"  # the key of what a criterion's time is based on, which the evidence has, too

SCHEMA = """
CREATE TABLE students (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, external TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY, layout TEXT NOT NULL, taken_in_at TEXT NOT NULL
);
CREATE TABLE submissions (
    student TEXT NOT NULL, lab TEXT NOT NULL, digest TEXT NOT NULL,
    first_at TEXT, last_at TEXT, taken_in_at TEXT NOT NULL,
    external TEXT NOT NULL, notes TEXT NOT NULL, PRIMARY KEY (student, lab, digest)
) WITHOUT ROWID;
CREATE TABLE problems (source TEXT NOT NULL, why TEXT NOT NULL, student TEXT);
CREATE TABLE nodes (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE attempts (
    student TEXT NOT NULL, lab TEXT NOT NULL, digest TEXT NOT NULL, kit_digest TEXT NOT NULL,
    effort TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT NOT NULL, sandbox TEXT NOT NULL,
    why TEXT NOT NULL, job TEXT NOT NULL, judged_by TEXT NOT NULL, replaces INTEGER NOT NULL,
    rejudged_at TEXT NOT NULL, reopened TEXT NOT NULL, node INTEGER NOT NULL, results TEXT NOT NULL,
    PRIMARY KEY (student, lab, digest, kit_digest, effort, number)
);
"""


def compact_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def normalize_time(time: str) -> str:
    """Return a time of ISO 8601 in UTC and to the second, so that texts compare as times do; one
    without a zone is taken to be in this machine's."""
    return datetime.fromisoformat(time).astimezone(UTC).isoformat(timespec="seconds")


def drop_timing(results: Iterable[Json]) -> list[Json]:
    """Return results without the times that were spent and what criteria's times are based on,
    which takes room."""
    return [
        {key: value for key, value in result.items() if key not in ("spent_s", "criteria")}
        | {
            "criteria": [
                {key: value for key, value in criterion.items() if key != _TIMING}
                for criterion in result.get("criteria", ())
            ]
        }
        for result in results
    ]


def read_attempts(database: sqlite3.Connection) -> Iterator[Attempt]:
    """Yield all attempts of the database, in no particular order. They are read in chunks."""
    nodes = {
        number: json.loads(facts)
        for number, facts in database.execute("SELECT id, facts FROM nodes")
    }
    cursor = database.execute(
        f"SELECT student, lab, digest, kit_digest, effort, {', '.join(_PLAIN_COLUMNS)}, "
        "reopened, node, results FROM attempts"
    )
    same: dict[str, str] = {}  # one text for all that are equal: a class has few different ones
    while rows := cursor.fetchmany(CHUNK):
        # One call for many: the parser then shares the keys between them.
        results = json.loads(f"[{','.join(row[-1] for row in rows)}]")
        for row, found in zip(rows, results, strict=True):
            for result in found:
                for criterion in result["criteria"]:
                    for key, value in criterion.items():
                        if isinstance(value, str):
                            criterion[key] = same.setdefault(value, value)
            plain = dict(zip(_PLAIN_COLUMNS, row[5:-3], strict=True))
            for key in ("state", "sandbox", "why", "judged_by"):
                plain[key] = same.setdefault(plain[key], plain[key])
            reopened, node, _ = row[-3:]
            yield Attempt(
                target=GradingTarget(*(same.setdefault(s, s) for s in row[:5])),
                results=tuple(found),
                node=nodes[node],
                reopened=tuple(json.loads(reopened)),
                **plain,
            )


def insert_student(database: sqlite3.Connection, student: Student) -> None:
    """Insert or update a student: the name is replaced, and keys of the course's system are added
    to the known ones."""
    known = database.execute("SELECT external FROM students WHERE id = ?", (student.id,)).fetchone()
    external = (json.loads(known[0]) if known else {}) | dict(student.external)
    database.execute(
        "INSERT OR REPLACE INTO students VALUES (?, ?, ?)",
        (student.id, student.name, compact_json(external)),
    )


def insert_collection(
    database: sqlite3.Connection, number: int, intake: Intake, taken_in_at: str
) -> None:
    """Insert a collection, whose problems replace all earlier ones. number: that of its record."""
    database.execute(
        "INSERT INTO deliveries VALUES (?, ?, ?)", (number, intake.layout, taken_in_at)
    )
    for submission in intake.submissions:
        insert_student(database, submission.student)
        at = None if submission.handed_in_at is None else normalize_time(submission.handed_in_at)
        if at is not None and submission.is_zone_taken:
            _forget_other_zone(database, submission, at)
        # min() and max() of two values are NULL where one is.
        database.execute(
            "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (student, lab, digest) DO UPDATE SET "
            "first_at = coalesce(min(first_at, excluded.first_at), first_at, excluded.first_at), "
            "last_at = coalesce(max(last_at, excluded.last_at), last_at, excluded.last_at), "
            "taken_in_at = excluded.taken_in_at, external = excluded.external, "
            "notes = excluded.notes",
            (
                submission.student.id, submission.lab, submission.digest, at, at, taken_in_at,
                compact_json(dict(submission.student.external)), compact_json(submission.notes),
            ),
        )  # fmt: skip
    _keep_not_taken(database, intake)
    database.execute("DELETE FROM problems")
    for problem in intake.problems:
        if problem.student is not None:
            insert_student(database, problem.student)
        database.execute(
            "INSERT INTO problems VALUES (?, ?, ?)",
            (problem.source, problem.why, problem.student.id if problem.student else None),
        )


def _forget_other_zone(database: sqlite3.Connection, submission: Submission, time: str) -> None:
    """Replace the moment that was assumed earlier for the same time without a zone, if another zone
    was assumed: it is no other time of handing in. time: the moment that is assumed now."""
    assert submission.handed_in_at is not None
    local = submission.handed_in_at[: len("2026-01-31T18:00:00")]
    key = (submission.student.id, submission.lab, submission.digest)
    where = "student = ? AND lab = ? AND digest = ?"
    before = database.execute(
        f"SELECT at FROM taken_times WHERE {where} AND local = ?", (*key, local)
    ).fetchone()
    for column in ("first_at", "last_at") if before else ():
        database.execute(
            f"UPDATE submissions SET {column} = ? WHERE {where} AND {column} = ?",
            (time, *key, before[0]),
        )
    database.execute(
        "INSERT OR REPLACE INTO taken_times VALUES (?, ?, ?, ?, ?)", (*key, local, time)
    )


def _keep_not_taken(database: sqlite3.Connection, intake: Intake) -> None:
    """Keep why hand-ins could not be taken. If it is not known which lab a student's files are of,
    the reason holds for each lab of the collection; if none of these is known, for every lab."""
    labs = {submission.lab for submission in intake.submissions}
    labs |= {problem.lab for problem in intake.problems if problem.lab}
    found: dict[tuple[str, str], list[str]] = {}
    for problem in intake.problems:
        if problem.student is not None and not problem.is_missing:
            for lab in [problem.lab] if problem.lab else sorted(labs) or [""]:
                found.setdefault((problem.student.id, lab), []).append(problem.why)
    database.executemany(
        "INSERT OR REPLACE INTO not_taken VALUES (?, ?, ?)",
        ((student, lab, " ".join(why)) for (student, lab), why in found.items()),
    )


def read_not_taken(database: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return why hand-ins could not be taken, by student and lab; an empty lab stands for every
    lab. Empty if the database has no such table."""
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'not_taken'").fetchone()
    if known is None:
        return {}
    return {
        (student, lab): why
        for student, lab, why in database.execute("SELECT student, lab, why FROM not_taken")
    }


def insert_attempt(database: sqlite3.Connection, attempt: Attempt) -> bool:
    """Insert an attempt, and its student if unknown; return False if the attempt was there."""
    facts = compact_json(stored_facts(attempt.node))
    database.execute("INSERT OR IGNORE INTO nodes (facts) VALUES (?)", (facts,))
    item = attempt.target
    done = database.execute(
        "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "(SELECT id FROM nodes WHERE facts = ?), ?)",
        (
            item.student_id, item.lab, item.digest, item.numalab_digest, item.effort,
            attempt.number, attempt.state, normalize_time(attempt.started_at),
            normalize_time(attempt.ended_at), attempt.sandbox, attempt.why, attempt.job,
            attempt.judged_by, attempt.replaces, attempt.rejudged_at,
        compact_json(attempt.reopened), facts, compact_json(drop_timing(attempt.results)), ),
    )  # fmt: skip
    database.execute(
        "INSERT OR IGNORE INTO students VALUES (?, ?, '{}')", (item.student_id, item.student_id)
    )
    return done.rowcount == 1
