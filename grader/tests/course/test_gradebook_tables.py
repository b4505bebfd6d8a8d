"""What the gradebook keeps in its tables, and what it answers from them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.courses import ADA, BOB, LAB, OTHER_LAB, ZOE, attempt, criterion, intake, result
from support.courses import submission as submitted
from support.golden_texts import check_text, raises_text

from numalab.course import records
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import tables
from numalab.course.gradebook.gradebook import rebuild, use_gradebook
from numalab.course.gradebook.rules import Rules, parse_rules
from numalab.course.gradebook.tables import (
    LATER_TABLES,
    SCHEMA,
    compact_json,
    drop_timing,
    insert_attempt,
    insert_collection,
    insert_student,
    normalize_time,
    read_attempts,
    read_not_taken,
)
from numalab.course.records import Problem, Student, Submission
from numalab.errors import NumalabError, UserError
from numalab.files import write_json

Json = dict[str, Any]
OPEN = result(8, still_open=2)


# ---- tables --------------------------------------------------------------------------


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.executescript(SCHEMA)
        for table in LATER_TABLES:
            made.execute(table)
        yield made


def test_a_moment_has_one_text() -> None:
    assert normalize_time("2027-05-04T01:30:00.75+02:00") == "2027-05-03T23:30:00+00:00"
    assert compact_json({"b": "ä", "a": [1, None]}) == '{"a":[1,null],"b":"ä"}'


def test_results_are_kept_without_what_takes_room() -> None:
    one = result(5) | {"criteria": [criterion("a", "pass", 5, timing={"x": 1})]}
    kept = result(5) | {"criteria": [criterion("a", "pass", 5)]}
    del kept["spent_s"]
    assert drop_timing([one, {"points": 1}]) == [kept, {"points": 1, "criteria": []}]


def test_a_student_has_the_newest_name_and_all_keys(database: sqlite3.Connection) -> None:
    insert_student(database, Student("ada", "A", {"email": "a", "id": "1"}))
    insert_student(database, Student("ada", "B", {"email": "b"}))
    assert database.execute("SELECT * FROM students").fetchall() == [
        ("ada", "B", '{"email":"b","id":"1"}')
    ]


def test_an_attempt_is_inserted_once(database: sqlite3.Connection) -> None:
    one = replace(
        attempt(ADA, drop_timing([result(5, 5)])[0], at="2027-05-04T12:00:00+02:00", why="w"),
        judged_by="j", replaces=2, rejudged_at="r", reopened=("c a",),
    )  # fmt: skip
    assert insert_attempt(database, one)
    assert not insert_attempt(database, one)
    assert insert_attempt(database, replace(one, number=2))
    at = "2027-05-04T10:00:00+00:00"
    kept = replace(one, started_at=at, ended_at=at, node={k: v for k, v in one.node.items()
                                                        if k != "load_1min"})  # fmt: skip
    assert list(read_attempts(database)) == [kept, replace(kept, number=2)]
    assert database.execute("SELECT * FROM students").fetchall() == [("ada", "ada", "{}")]
    assert database.execute("SELECT count(*) FROM nodes").fetchone() == (1,)


def handed(student: Student, digest: str, at: str | None, **more: Any) -> Submission:
    return replace(submitted(student, digest, at), **more)


def times(database: sqlite3.Connection) -> list[tuple[Any, ...]]:
    found = database.execute(
        "SELECT student, substr(digest, 1, 2), first_at, last_at, taken_in_at FROM submissions"
    )
    return [tuple(at[8:13] if at and "T" in at else at for at in line) for line in found]


def test_of_the_same_files_first_and_last_time_are_kept(database: sqlite3.Connection) -> None:
    days = (None, "2027-05-03T10:00:00Z", "2027-05-05T10:00:00Z", "2027-05-01T10:00:00Z", None)
    for number, at in enumerate(days, start=1):
        taken = f"2027-05-{20 + number}T00:00:00+00:00"
        insert_collection(database, number, intake(handed(ADA, "d1", at)), taken)
    insert_collection(database, 9, intake(handed(ADA, "d2", None)), "2027-06-01T00:00:00+00:00")
    assert times(database) == [
        ("ada", "d1", "01T10", "05T10", "25T00"), ("ada", "d2", None, None, "01T00")
    ]  # fmt: skip


def test_a_time_without_a_zone_is_one_time_whatever_zone_it_was_taken_in(
    database: sqlite3.Connection,
) -> None:
    """A time that has a zone stays."""
    local = "2027-05-03T10:00:00"
    for number, (zone, taken) in enumerate((("+05:00", True), ("+02:00", True)), start=1):
        one = handed(ADA, "d1", f"{local}{zone}", is_zone_taken=taken)
        insert_collection(database, number, intake(one), "2027-05-20T00:00:00+00:00")
    assert times(database) == [("ada", "d1", "03T08", "03T08", "20T00")]
    for number, zone in enumerate(("+05:00", "+09:00"), start=3):
        one = handed(BOB, "d1", f"{local}{zone}")
        insert_collection(database, number, intake(one), "2027-05-20T00:00:00+00:00")
    assert times(database)[1] == ("bob", "d1", "03T01", "03T05", "20T00")


def test_why_something_was_not_taken_is_kept_by_lab(database: sqlite3.Connection) -> None:
    def take(number: int, *some: Submission, problems: list[Problem]) -> None:
        insert_collection(database, number, intake(*some, problems=problems), "2027-05-20")

    take(1, problems=[Problem("a", "Broken.", BOB), Problem("b", "Empty.", BOB)])
    assert read_not_taken(database) == {("bob", ""): "Broken. Empty."}
    take(
        2, submitted(ADA), submitted(ADA, lab=OTHER_LAB),
        problems=[
            Problem("a", "Torn.", ZOE), Problem("b", f"{LAB}: odd.", ZOE), Problem("c", "x"),
            Problem("d", "Nothing was handed in.", ADA, is_missing=True),
        ],
    )  # fmt: skip
    assert read_not_taken(database) == {
        ("bob", ""): "Broken. Empty.", ("zoe", LAB): f"Torn. {LAB}: odd.",
        ("zoe", OTHER_LAB): "Torn.",
    }  # fmt: skip
    assert database.execute("SELECT source, student FROM problems").fetchall() == [
        ("a", "zoe"), ("b", "zoe"), ("c", None), ("d", "ada")
    ]  # fmt: skip
    database.execute("DROP TABLE not_taken")
    assert read_not_taken(database) == {}


# ---- the gradebook -------------------------------------------------------------------


def test_a_delivery_that_comes_again_is_kept_once(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    first, second = intake(submitted(ADA)), intake(submitted(BOB))
    with use_gradebook(course) as book:
        for one in (first, first, second, first):
            book.add_submissions(one)
    (course.collection_records / "notes.json").write_text("{}")
    assert sorted(path.name for path in course.collection_records.glob("0*")) == [
        "0001.json", "0002.json", "0003.json"
    ]  # fmt: skip
    kept = json.loads(course.collection_record(1).read_text())
    assert (kept["schema"], kept["taken_in_at"][-6:]) == (1, "+00:00")
    with use_gradebook(course) as book:
        assert set(book.handed_in()) == {("ada", LAB), ("bob", LAB)}
    for text in ("{}", "[]", '{"taken_in_at": "x"}'):
        course.collection_record(4).write_text(text)
        with (
            raises_text(NumalabError),
            use_gradebook(course),
        ):
            pass


def test_what_has_been_graded_is_counted_by_the_newest_hand_ins(tmp_path: Path) -> None:
    with use_gradebook(CourseFolder(tmp_path)) as book:
        assert book.hand_ins_graded() == (0, 0)
        for digest, at in (("d1", "2027-05-01T10:00:00Z"), ("d2", "2027-05-02T10:00:00Z")):
            book.add_submissions(intake(submitted(ADA, digest, at), submitted(BOB, digest, at)))
        graded = attempt(ADA, result(10), digest="d2")
        lost = attempt(BOB, state="lost", digest="d2")
        assert book.add_attempts([graded, lost, attempt(BOB, result(10))]) == 3
        assert book.hand_ins_graded() == (1, 2)
        assert book.states() == {
            (graded.target, 1): "graded", (lost.target, 1): "lost",
            (attempt(BOB, result(10)).target, 1): "graded",
        }  # fmt: skip


def test_of_what_is_open_the_last_grading_is_gone_on_with(tmp_path: Path) -> None:
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ADA), submitted(BOB)))
        twice = [attempt(ADA, OPEN, number=number) for number in (1, 2)]
        decided = [attempt(BOB, OPEN, number=1), attempt(BOB, result(8, 2), number=2)]
        book.add_attempts([*twice, *decided, attempt(ZOE, OPEN)])
        book.add_attempts([replace(attempt(ADA, OPEN, number=3), state="lost")])
        assert [(one.target.student_id, one.number) for one in book.undecided_hand_ins()] == [
            ("ada", 2)
        ]
        assert {(item.student_id, number) for item, number in book.undecided_attempts()} == {
            ("ada", 1), ("ada", 2), ("bob", 1), ("zoe", 1)
        }  # fmt: skip


def test_of_two_kits_the_grading_that_ended_last_is_gone_on_with(tmp_path: Path) -> None:
    both = OPEN, result(10, language="fortran")
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ADA)))
        newer = attempt(ADA, *both, installation="k2", at="2027-05-09T10:00:00+00:00")
        older = attempt(ADA, *both, number=2)
        book.add_attempts([newer, older])
        assert [one.target for one in book.undecided_hand_ins()] == [newer.target]
        assert book.undecided_attempts() == {(newer.target, 1), (older.target, 2)}


def test_rows_are_by_name_and_then_by_lab(tmp_path: Path) -> None:
    names = {"z": "ada", "a": "Bob", "m": "bob", "b": "Cy"}
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(
            intake(*(submitted(Student(id_, name, {})) for id_, name in names.items()))
        )
        found = book.standing(parse_rules(f'title = "T"\n[labs.{OTHER_LAB}]', "course.toml"))
        assert [(row.student.id, row.lab) for row in found.rows] == [
            (id_, lab) for id_ in ("z", "a", "m", "b") for lab in (LAB, OTHER_LAB)
        ]
        assert (found.title, found.parts) == ("T", ())
        weighed = book.standing(Rules(parts={"kernel": 1.0, "viva": 0.0}))
        assert weighed.parts == ("kernel",)


def test_a_hand_in_was_first_handed_in_when_a_delivery_first_shows_it(tmp_path: Path) -> None:
    days = "2027-05-01T10:00:00+00:00", "2027-05-05T10:00:00+00:00"
    with use_gradebook(CourseFolder(tmp_path)) as book:
        for at in days:
            book.add_submissions(intake(submitted(ADA, at=at), submitted(BOB)))
        (_, bob_at), (ada, ada_at) = book.standing(Rules()).handed_in.items()
        assert (*ada[:2], ada_at.isoformat()) == ("ada", LAB, days[0])
        ((one,),) = (some for (student, _), some in book.handed_in().items() if student == "ada")
        assert one.first_at is not None
        assert (one.first_at.isoformat(), one.last_at.isoformat()) == days
        assert bob_at.year > 2025  # when it was taken in


def test_keys_of_one_assignment_are_its_labs_alone(tmp_path: Path) -> None:
    ada = Student("ada", "Ada", {"identifier": "7", "email": "e"})
    other = Student("ada", "Ada", {"identifier": "8"})
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ada)))
        book.add_submissions(intake(submitted(other, lab=OTHER_LAB)))
        rows = book.standing(parse_rules("[labs.03_x]", "course.toml")).rows
    assert [dict(row.student.external) for row in rows] == [
        {"email": "e", "identifier": "7"}, {"email": "e", "identifier": "8"}, {"email": "e"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    "asked",
    [
        "adaa", "LOVE",
        "ada l",
        "q",
        "name",
    ],
)  # fmt: skip
def test_who_may_be_meant_is_named(tmp_path: Path, asked: str) -> None:
    class_ = [ADA, *(Student(f"s{k}", f"Name {k}", {}) for k in range(1, 6))]
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(*map(submitted, class_)))
        with pytest.raises(UserError) as raised:
            book.grade_traces(Rules(), asked)
    check_text(str(raised.value))


def test_three_are_named_at_most(tmp_path: Path) -> None:
    class_ = [Student(f"s1{k}", f"Name {k}", {}) for k in range(6)]
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(*map(submitted, class_)))
        with pytest.raises(UserError) as raised:
            book.grade_traces(Rules(), "s19")
    assert str(raised.value).count("s1") == 1 + 3


def test_a_rebuild_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = CourseFolder(tmp_path)
    with use_gradebook(course) as book:
        book.add_submissions(intake(submitted(ADA)))
    for number in range(1, 6):
        one = attempt(ADA, result(number, 10 - number), number=number)
        write_json_to(course.attempt(one.target, number), records.attempt_json(one))
    monkeypatch.setattr(tables, "CHUNK", 2)
    told: list[str] = []
    rebuild(course, told.append)
    check_text(told)
    with use_gradebook(course, read_only=True) as book:
        assert len(list(book.attempts())) == 5
    with raises_text(UserError):
        rebuild(CourseFolder(tmp_path / "x"), told.append)


def write_json_to(folder: Path, data: Json) -> None:
    folder.mkdir(parents=True)
    write_json(folder / "attempt.json", data)


def test_a_gradebook_of_another_version_is_told(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    with use_gradebook(course):
        pass
    with closing(sqlite3.connect(course.gradebook)) as database:
        database.execute("PRAGMA user_version = 1")
    for read_only in (True, False):
        with (
            raises_text(UserError),
            use_gradebook(course, read_only),
        ):
            pass
