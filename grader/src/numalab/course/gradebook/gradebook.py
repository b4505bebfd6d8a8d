"""The gradebook: what was handed in and graded, in one SQLite file.

It is an index, and can be made again from files (rebuild): each collection of hand-ins in
deliveries/, each attempt in its folder.

Who adds to it holds a lock next to it, which keeps out others that would add, since SQLite's own
locks can't be relied on if files are shared over a network (https://www.sqlite.org/faq.html#q5),
and may be missing there (database.py). The journal is a rollback journal: write-ahead logging needs
memory that all readers share with the writer, and so works on a single machine only
(https://www.sqlite.org/wal.html).
"""

from __future__ import annotations

import contextlib
import difflib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numalab.course import records
from numalab.course.attempts import all_attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import tables
from numalab.course.gradebook.counting import GradeTrace, HandIn, derive_grade
from numalab.course.gradebook.database import (
    connect,
    connect_to_read,
    explain_errors,
    journal_files,
    lock,
)
from numalab.course.gradebook.lab_grade import combine_parts
from numalab.course.gradebook.parts import VARIANT_PARTS
from numalab.course.gradebook.rule_warnings import check_rules
from numalab.course.gradebook.rules import Rules
from numalab.course.gradebook.standing import Standing
from numalab.course.gradebook.undecided_points import is_worth_regrading
from numalab.course.records import Attempt, AttemptState, GradingTarget, Intake, Problem, Student
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import partial_path, read_json, write_json
from numalab.labs.variants import is_variant_name, lab_of_variant, variant_name
from numalab.words import CountedStep, StepReport

# What each student has handed in last for each lab.
_NEWEST = (
    "submissions AS s WHERE s.digest = (SELECT digest FROM submissions AS n WHERE "
    "n.student = s.student AND n.lab = s.lab ORDER BY taken_in_at DESC, last_at DESC LIMIT 1)"
)


@dataclass(frozen=True)
class _Contents:
    """What standings are derived from besides rules. Keys are ids of students, or student and lab.

    Attributes:
        external_of: a student's keys as they came with a lab's last hand-in.
        hand_ins: in the order in which they were last taken in.
        problems: those of the last collection.
        not_taken: why what was handed in was not taken; an empty lab stands for every lab.
    """

    students: dict[str, Student]
    external_of: dict[tuple[str, str], dict[str, str]]
    hand_ins: dict[tuple[str, str], list[HandIn]]
    attempts: dict[tuple[str, str], list[Attempt]]
    problems: tuple[Problem, ...]
    not_taken: dict[tuple[str, str], str]

    def pairs(self, rules: Rules) -> list[tuple[Student, str]]:
        """Return every student with every lab that [labs] of course.toml, a hand-in or an attempt
        names, by the student's name and the lab's. If grades have parts, variants are not among
        them."""
        labs = set(rules.labs)
        labs |= {lab for _, lab in self.hand_ins} | {lab for _, lab in self.attempts}
        if rules.parts:
            labs = {lab_of_variant(lab) if is_variant_name(lab) else lab for lab in labs}
        ordered = sorted(self.students.values(), key=lambda s: (s.name.casefold(), s.id))
        return [(student, lab) for student in ordered for lab in sorted(labs)]

    def derive_grade(self, student: Student, lab: str, rules: Rules) -> GradeTrace:
        """Derive a student's grade in a lab, by its parts if the course weighs parts."""
        if not rules.parts:
            return self._derive_single(student, lab, rules)
        # What was set by hand for a lab is its points, and not its kernel's.
        by_hand = tuple(o for o in rules.overrides if is_variant_name(o.lab))
        kernel = self._derive_single(student, lab, replace(rules, overrides=by_hand))
        variant = None
        if any(name in VARIANT_PARTS for name in rules.weights(lab)):
            variant = self._derive_single(student, variant_name(lab), rules)
        return combine_parts(kernel, variant, rules)

    def _derive_single(self, student: Student, lab: str, rules: Rules) -> GradeTrace:
        key = (student.id, lab)
        external = {k: v for k, v in student.external.items() if k not in tables.ASSIGNMENT_KEYS}
        return derive_grade(
            replace(student, external=external | self.external_of.get(key, {})),
            lab,
            self.hand_ins.get(key, ()),
            self.attempts.get(key, ()),
            self.not_taken.get(key) or self.not_taken.get((student.id, ""), ""),
            rules,
        )


class Gradebook:
    """An open gradebook. Methods may raise sqlite3.Error."""

    def __init__(self, course: CourseFolder, database: sqlite3.Connection) -> None:
        self._course, self._database = course, database

    # ---- writing ------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def add_submissions(self, intake: Intake) -> None:
        """Add a collection, and write its record to deliveries/, unless it is the last one once
        more. Its problems replace those of the last one. Raises NumalabError if a collection's
        record is damaged."""
        files = _collection_files(self._course)
        number, last = files[-1] if files else (0, None)
        if last is None or _read_collection(last)[0] != intake:
            path = self._course.collection_record(number + 1)
            path.parent.mkdir(exist_ok=True)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            data = {"schema": 1, "taken_in_at": at} | records.intake_json(intake)
            write_json(path, data, indent=None)
        self._catch_up()

    def _catch_up(self) -> None:
        """Add the collections whose records are not in the database yet."""
        ((here,),) = self._database.execute("SELECT coalesce(max(number), 0) FROM deliveries")
        for number, path in _collection_files(self._course):
            if number > here:
                intake, taken_in_at = _read_collection(path)
                with self._transaction() as database:
                    tables.insert_collection(database, number, intake, taken_in_at)

    def add_attempts(self, attempts: Iterable[Attempt]) -> int:
        """Add attempts that are not there yet; return how many those were."""
        with self._transaction() as database:
            return sum(tables.insert_attempt(database, attempt) for attempt in attempts)

    # ---- reading ------------------------------------------------------------------

    def _contents(self) -> _Contents:
        database = self._database
        students = {
            id_: Student(id_, name, json.loads(external))
            for id_, name, external in database.execute("SELECT id, name, external FROM students")
        }
        hand_ins: dict[tuple[str, str], list[HandIn]] = defaultdict(list)
        external_of: dict[tuple[str, str], dict[str, str]] = {}
        for student, lab, digest, first_at, last_at, external, notes in database.execute(
            "SELECT student, lab, digest, first_at, coalesce(last_at, taken_in_at), external, "
            "notes FROM submissions ORDER BY taken_in_at, last_at"
        ):
            external_of[student, lab] = json.loads(external)
            hand_ins[student, lab].append(
                HandIn(
                    digest,
                    datetime.fromisoformat(first_at) if first_at else None,
                    datetime.fromisoformat(last_at),
                    tuple(json.loads(notes)),
                )
            )
        attempts: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
        for attempt in tables.read_attempts(database):
            attempts[attempt.target.student_id, attempt.target.lab].append(attempt)
        problems = tuple(
            Problem(source, why, students.get(student))
            for source, why, student in database.execute(
                "SELECT source, why, student FROM problems ORDER BY rowid"
            )
        )
        not_taken = tables.read_not_taken(database)
        return _Contents(students, external_of, hand_ins, attempts, problems, not_taken)

    def states(self) -> dict[tuple[GradingTarget, int], AttemptState]:
        """Return how each attempt ended, by its target and number."""
        return dict(self._select_attempts("state FROM attempts"))

    def undecided_attempts(self) -> set[tuple[GradingTarget, int]]:
        """Return the attempts with undecided points that another grading could decide."""
        maybe = self._select_attempts(
            "results FROM attempts WHERE state = 'graded' AND "
            "(results LIKE '%\"inconclusive\"%' OR results LIKE '%\"error\"%')"
        )
        return {key for key, results in maybe if any(map(is_worth_regrading, json.loads(results)))}

    def _select_attempts(self, select: str) -> Iterator[tuple[tuple[GradingTarget, int], Any]]:
        """Yield the target and number of attempts, and a value of each. select: the value, and the
        rest of a SELECT."""
        keys = "SELECT student, lab, digest, kit_digest, effort, number"
        for *target, number, value in self._database.execute(f"{keys}, {select}"):
            yield (GradingTarget(*target), number), value

    def undecided_hand_ins(self) -> list[Attempt]:
        """Return the last grading of each student's last hand-in of each lab, if it has undecided
        points that another grading could decide."""
        last = set(self._database.execute(f"SELECT student, lab, digest FROM {_NEWEST}"))
        maybe = {target.files for target, _ in self.undecided_attempts()} & last
        found: dict[tuple[str, str, str], Attempt] = {}
        for attempt in tables.read_attempts(self._database) if maybe else ():
            files = attempt.target.files
            if attempt.state == "graded" and files in maybe:
                found[files] = max(
                    found.get(files, attempt), attempt, key=lambda a: (a.ended_at, a.number)
                )
        return [
            attempt for attempt in found.values() if any(map(is_worth_regrading, attempt.results))
        ]

    def handed_in(self) -> dict[tuple[str, str], list[HandIn]]:
        """Return hand-ins by student and lab, in the order in which they were last taken in."""
        return self._contents().hand_ins

    def attempts(self) -> Iterator[Attempt]:
        """Yield all attempts, without the timing of their results (drop_timing)."""
        return tables.read_attempts(self._database)

    def hand_ins_graded(self) -> tuple[int, int]:
        """Return how many of the students' last hand-ins of each lab are graded, and how many there
        are."""
        graded, known = self._database.execute(
            "SELECT coalesce(sum(EXISTS (SELECT * FROM attempts AS a WHERE a.student = s.student "
            "AND a.lab = s.lab AND a.digest = s.digest AND a.state = 'graded')), 0), count(*) "
            f"FROM {_NEWEST}"
        ).fetchone()
        return graded, known

    def standing(self, rules: Rules) -> Standing:
        """Return the class's grades under the course's rules."""
        contents = self._contents()
        rows = tuple(
            contents.derive_grade(student, lab, rules).row for student, lab in contents.pairs(rules)
        )
        return Standing(
            rows=rows,
            problems=(*contents.problems, *check_rules(rules, contents.students, rows)),
            title=rules.title,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            handed_in={
                (*key, one.digest): one.first_at or one.last_at
                for key, hand_ins in contents.hand_ins.items()
                for one in hand_ins
            },
            parts=tuple(name for name, weight in rules.parts.items() if weight),
        )

    def grade_traces(self, rules: Rules, student_id: str) -> list[GradeTrace]:
        """Return what one student's grades follow from, by lab. Raises UserError if there is no
        such student."""
        contents = self._contents()
        if student_id not in contents.students:
            raise UserError(
                f"there is no student '{student_id}'{_suggest_ids(student_id, contents)}"
            )
        return [
            contents.derive_grade(student, lab, rules)
            for student, lab in contents.pairs(rules)
            if student.id == student_id
        ]


def _suggest_ids(student_id: str, contents: _Contents) -> str:
    """Return the end of a sentence that names ids like this one, and those of students whose names
    contain it, or says how to list all."""
    ids = difflib.get_close_matches(student_id, contents.students, n=3)
    ids += [
        s.id
        for s in contents.students.values()
        if student_id.casefold() in s.name.casefold() and s.id not in ids
    ][:3]
    if ids:
        return f". Did you mean {', '.join(ids)}?"
    return "; ./numalab gradebook show lists all."


# ---- files ------------------------------------------------------------------------------


def _collection_files(course: CourseFolder) -> list[tuple[int, Path]]:
    found = course.collection_records.glob("*.json")
    return sorted((int(path.stem), path) for path in found if path.stem.isdigit())


def _read_collection(path: Path) -> tuple[Intake, str]:
    data = read_json(path)
    try:
        return records.parse_intake(data), data["taken_in_at"]
    except (records.BadRecord, KeyError, TypeError) as error:
        raise NumalabError(f"{path} is not a delivery as it was kept ({error})") from error


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _fill(book: Gradebook, course: CourseFolder, progress: StepReport) -> None:
    progress("reading deliveries")
    book._catch_up()
    some: list[Attempt] = []
    done = 0
    for attempt in all_attempts(course):
        some.append(attempt)
        if len(some) == tables.CHUNK:
            done += len(some)
            book.add_attempts(some)
            some.clear()
            progress(CountedStep("reading attempts", f"{done:,} so far"))
    book.add_attempts(some)


@contextmanager
def use_gradebook(course: CourseFolder, read_only: bool = False) -> Iterator[Gradebook]:
    """Yield the course's gradebook, open until the context ends.

    Args:
        read_only: make no gradebook, and keep no writer out, except to roll back what a killed one
            has left. Otherwise the gradebook is made if there is none, and collections that it
            lacks are added.

    Raises:
        LockedError: another process writes the gradebook (not with read_only).
        UserError: there is none (with read_only), its folder or lock can't be made (without), or it
            is damaged or of another version.
        NumalabError: the file can't be used, or the record of a collection is damaged.
    """
    if not read_only:
        try:
            course.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"can't make {course.root}: {reason_of(error)}") from error
        with (
            lock(course),
            explain_errors(course),
            contextlib.closing(connect(course, course.gradebook)) as database,
        ):
            book = Gradebook(course, database)
            book._catch_up()
            yield book
        return
    if not course.gradebook.is_file():
        raise UserError(
            f"{course.root} has no gradebook. `./numalab batch grade SUBMISSIONS --out "
            f"{course.root}` makes one, and `./numalab gradebook rebuild {course.root}` makes it "
            "again from what was graded."
        )
    with explain_errors(course), contextlib.closing(connect_to_read(course)) as database:
        yield Gradebook(course, database)


def rebuild(course: CourseFolder, progress: StepReport) -> None:
    """Make a course's gradebook again, whatever state its file is in. It is made next to its place
    and then renamed; if that fails, the old one stays.

    Raises:
        LockedError: another process writes it.
        UserError: the course has no folder, or the lock can't be written.
        NumalabError: the file can't be used, or a record is damaged.
    """
    if not course.root.is_dir():
        raise UserError(f"there is no folder {course.root}")
    path = partial_path(course.gradebook)
    with lock(course), explain_errors(course):
        _remove(path, *journal_files(path))
        try:
            with contextlib.closing(connect(course, path)) as database:
                _fill(Gradebook(course, database), course, progress)
            _remove(*journal_files(course.gradebook))
            path.replace(course.gradebook)
        except BaseException:
            _remove(path, *journal_files(path))
            raise
