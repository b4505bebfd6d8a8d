"""What is kept of a class, as files and in the gradebook's tables, and read back."""

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

from numalab.course import attempts, rejudging, stored
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import gradebook
from numalab.course.gradebook.gradebook import open_gradebook, rebuild
from numalab.course.gradebook.rules import Rules, parse_rules
from numalab.course.gradebook.tables import (
    LATER_TABLES,
    SCHEMA,
    compact,
    insert_attempt,
    insert_delivery,
    insert_student,
    read_attempts,
    read_not_taken,
    slim,
    utc,
)
from numalab.course.records import Attempt, Intake, Item, Problem, Student, Submission
from numalab.course.rejudging import Change, Digests, Rejudged, changes, judge_all, pending
from numalab.course.secret import course_secret, seed_of
from numalab.errors import KitError, UserError
from numalab.files import write_json
from numalab.labs.seeds import DRAWS

Json = dict[str, Any]
OPEN = result(8, still_open=2)
ITEM = Item("ada", LAB, "0123456789abcdef", "fedcba9876543210", "default")


# ---- files ---------------------------------------------------------------------------


def test_where_a_course_keeps_what() -> None:
    course = CourseFolder(Path("/c"))
    assert ITEM.key == f"ada/{LAB}/0123456789ab-fedcba987654-default"
    places = {
        course.rules: "course.toml", course.secret: "secret", course.gradebook: "gradebook.sqlite",
        course.gradebook_lock: "gradebook.lock", course.delivery(7): "deliveries/0007.json",
        course.lock: "lock", course.intake: "intake.json", course.students: "students.json",
        course.submission("ada", LAB, "0123456789abcdef"): f"submissions/ada/{LAB}-0123456789ab",
        course.attempt(ITEM, 3): f"attempts/{ITEM.key}/3", course.run("r1"): "runs/r1",
        course.report: "report", course.lab_report(LAB): f"report/labs/{LAB}.html",
        course.student_report("ada"): "report/students/ada",
        course.pages_made: "report/.pages.json",
    }  # fmt: skip
    assert {str(path.relative_to("/c")): name for path, name in places.items()} == {
        name: name for name in places.values()
    }


def test_attempts_alike_are_of_one_kit_and_effort(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    others = [
        replace(ITEM, digest="f" * 16), replace(ITEM, kit_digest="f" * 16),
        replace(ITEM, effort="quick"), replace(ITEM, lab=OTHER_LAB),
    ]  # fmt: skip
    for item in (ITEM, *others):
        for name in ("1", ".partial-2-x"):
            (course.attempts(item) / name).mkdir(parents=True)
    assert set(course.attempts_alike(ITEM)) == {
        course.attempt(ITEM, 1), course.attempt(others[0], 1)
    }  # fmt: skip


def test_records_are_read_back_as_they_were() -> None:
    whole = replace(
        attempt(ADA, result(5, 5), why="w"), judged_by="j", replaces=2, rejudged_at="r",
        reopened=("c a",),
    )  # fmt: skip
    text = json.dumps(stored.attempt_json(whole))
    assert stored.parse_attempt(json.loads(text)) == whole
    one = replace(submitted(ADA, notes="n"), is_zone_taken=True, handed_in_at="t")
    problems = (Problem("s", "w", ADA, True), Problem("s", "w"))
    found = Intake("folders", (one, submitted(BOB)), problems, ("r",))
    assert stored.parse_intake(json.loads(json.dumps(stored.intake_json(found)))) == found


def test_records_of_earlier_versions_lack_what_came_later() -> None:
    whole = attempt(ADA, result(5, 5))
    data = stored.attempt_json(replace(whole, job=""))
    for key in ("why", "job", "judged_by", "replaces", "rejudged_at", "reopened"):
        del data[key]
    assert stored.parse_attempt(data) == replace(whole, job="")
    kept = stored.intake_json(intake(submitted(ADA), problems=[Problem("s", "w")]))
    del kept["remarks"], kept["submissions"][0]["is_zone_taken"], kept["problems"][0]["is_missing"]
    assert stored.parse_intake(kept) == intake(submitted(ADA), problems=[Problem("s", "w")])


@pytest.mark.parametrize("key", ["item", "number", "state", "results", "node", "sandbox"])
def test_a_record_without_what_it_needs_is_told(key: str) -> None:
    data = stored.attempt_json(attempt(ADA, result(5, 5)))
    del data[key]
    with pytest.raises(stored.BadRecord, match=f"KeyError: '{key}'"):
        stored.parse_attempt(data)


def test_a_problem_is_of_the_lab_that_it_begins_with() -> None:
    assert Problem("s", f"{LAB}: it is broken.").lab == LAB
    assert Problem("s", f"In {LAB}: it is broken.").lab == ""
    assert Problem("s", "It is broken: 01_x").lab == ""


def test_attempts_are_numbered_and_partial_ones_are_none(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    assert attempts.numbers(course, ITEM) == []
    assert attempts.partials(course, ITEM, 1, "r") == []
    for name in ("10", "2", ".partial-1-r-n1", ".partial-1-r-n2", ".partial-11-r-n", "x"):
        (course.attempts(ITEM) / name).mkdir(parents=True)
    assert attempts.numbers(course, ITEM) == [2, 10]
    assert attempts.partial_folder(course, ITEM, 1, "r", "n1").is_dir()
    assert [path.name for path in attempts.partials(course, ITEM, 1, "r")] == [
        ".partial-1-r-n1", ".partial-1-r-n2"
    ]  # fmt: skip
    attempts.remove_partials(course, ITEM, 1, "r")
    assert sorted(path.name for path in course.attempts(ITEM).iterdir()) == [
        ".partial-11-r-n", "10", "2", "x"
    ]  # fmt: skip


def test_who_comes_second_leaves_the_first_attempt(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    one = attempt(ADA, result(5, 5))
    for points, is_first in ((5, True), (6, False)):
        partial = attempts.partial_folder(course, one.item, 1, "r", "n")
        partial.mkdir(parents=True)
        (partial / "output.txt").write_text(str(points))
        assert attempts.publish(course, partial, one) is is_first
        assert not partial.exists()
    folder = course.attempt(one.item, 1)
    assert (folder / "output.txt").read_text() == "5"
    assert attempts.read_attempt(folder) == one
    assert list(attempts.attempts_of(course, one.item)) == [one]
    assert list(attempts.kept_attempts(course)) == [one]
    assert attempts.is_over(course, one.item, 1) and not attempts.is_over(course, one.item, 2)
    assert attempts.read_attempt(course.attempt(one.item, 2)) is None


@pytest.mark.parametrize("draws", range(1, DRAWS + 1))
def test_a_secret_of_each_edition_is_read(tmp_path: Path, draws: int) -> None:
    course = CourseFolder(tmp_path)
    course.secret.write_text(f"{'ab' * 32}\ndraws {draws}\n")
    assert (course_secret(course), seed_of(course, "ada").draws) == (b"\xab" * 32, draws)


@pytest.mark.parametrize("ending", ["draws 0", f"draws {DRAWS + 1}", "draw 1", "draws x"])
def test_a_secret_of_an_edition_that_is_not_known_is_told(tmp_path: Path, ending: str) -> None:
    course = CourseFolder(tmp_path)
    course.secret.write_text(f"{'ab' * 32}\n{ending}\n")
    with pytest.raises(UserError, match=f"says '{ending}'"):
        course_secret(course)


@pytest.mark.parametrize("text", ["ab" * 31, "ab" * 33, "xy" * 32])
def test_a_secret_has_32_bytes(tmp_path: Path, text: str) -> None:
    course = CourseFolder(tmp_path)
    course.secret.write_text(text)
    with pytest.raises(UserError, match="a secret of 32 bytes"):
        course_secret(course)


# ---- tables --------------------------------------------------------------------------


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.executescript(SCHEMA)
        for table in LATER_TABLES:
            made.execute(table)
        yield made


def test_a_moment_has_one_text() -> None:
    assert utc("2027-05-04T01:30:00.75+02:00") == "2027-05-03T23:30:00+00:00"
    assert compact({"b": "ä", "a": [1, None]}) == '{"a":[1,null],"b":"ä"}'


def test_results_are_kept_without_what_takes_room() -> None:
    one = result(5) | {"criteria": [criterion("a", "pass", 5, timing={"x": 1})]}
    kept = result(5) | {"criteria": [criterion("a", "pass", 5)]}
    del kept["spent_s"]
    assert slim([one, {"points": 1}]) == [kept, {"points": 1, "criteria": []}]


def test_a_student_has_the_newest_name_and_all_keys(database: sqlite3.Connection) -> None:
    insert_student(database, Student("ada", "A", {"email": "a", "id": "1"}))
    insert_student(database, Student("ada", "B", {"email": "b"}))
    assert database.execute("SELECT * FROM students").fetchall() == [
        ("ada", "B", '{"email":"b","id":"1"}')
    ]


def test_an_attempt_is_inserted_once(database: sqlite3.Connection) -> None:
    one = replace(
        attempt(ADA, slim([result(5, 5)])[0], at="2027-05-04T12:00:00+02:00", why="w"),
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
        insert_delivery(database, number, intake(handed(ADA, "d1", at)), taken)
    insert_delivery(database, 9, intake(handed(ADA, "d2", None)), "2027-06-01T00:00:00+00:00")
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
        insert_delivery(database, number, intake(one), "2027-05-20T00:00:00+00:00")
    assert times(database) == [("ada", "d1", "03T08", "03T08", "20T00")]
    for number, zone in enumerate(("+05:00", "+09:00"), start=3):
        one = handed(BOB, "d1", f"{local}{zone}")
        insert_delivery(database, number, intake(one), "2027-05-20T00:00:00+00:00")
    assert times(database)[1] == ("bob", "d1", "03T01", "03T05", "20T00")


def test_why_something_was_not_taken_is_kept_by_lab(database: sqlite3.Connection) -> None:
    def take(number: int, *some: Submission, problems: list[Problem]) -> None:
        insert_delivery(database, number, intake(*some, problems=problems), "2027-05-20")

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
    with open_gradebook(course) as book:
        for one in (first, first, second, first):
            book.add_submissions(one)
    (course.deliveries / "notes.json").write_text("{}")
    assert sorted(path.name for path in course.deliveries.glob("0*")) == [
        "0001.json", "0002.json", "0003.json"
    ]  # fmt: skip
    kept = json.loads(course.delivery(1).read_text())
    assert (kept["schema"], kept["taken_in_at"][-6:]) == (1, "+00:00")
    with open_gradebook(course) as book:
        assert set(book.handed_in()) == {("ada", LAB), ("bob", LAB)}
    for text in ("{}", "[]", '{"taken_in_at": "x"}'):
        course.delivery(4).write_text(text)
        with pytest.raises(KitError, match=r"0004\.json is not a delivery"), open_gradebook(course):
            pass


def test_what_has_been_graded_is_counted_by_the_newest_hand_ins(tmp_path: Path) -> None:
    with open_gradebook(CourseFolder(tmp_path)) as book:
        assert book.hand_ins_graded() == (0, 0)
        for digest, at in (("d1", "2027-05-01T10:00:00Z"), ("d2", "2027-05-02T10:00:00Z")):
            book.add_submissions(intake(submitted(ADA, digest, at), submitted(BOB, digest, at)))
        graded = attempt(ADA, result(10), digest="d2")
        lost = attempt(BOB, state="lost", digest="d2")
        assert book.add_attempts([graded, lost, attempt(BOB, result(10))]) == 3
        assert book.hand_ins_graded() == (1, 2)
        assert book.states() == {
            (graded.item, 1): "graded", (lost.item, 1): "lost",
            (attempt(BOB, result(10)).item, 1): "graded",
        }  # fmt: skip


def test_of_what_is_open_the_last_grading_is_gone_on_with(tmp_path: Path) -> None:
    with open_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ADA), submitted(BOB)))
        twice = [attempt(ADA, OPEN, number=number) for number in (1, 2)]
        decided = [attempt(BOB, OPEN, number=1), attempt(BOB, result(8, 2), number=2)]
        book.add_attempts([*twice, *decided, attempt(ZOE, OPEN)])
        book.add_attempts([replace(attempt(ADA, OPEN, number=3), state="lost")])
        assert [(one.item.student_id, one.number) for one in book.open_hand_ins()] == [("ada", 2)]
        assert {(item.student_id, number) for item, number in book.left_open()} == {
            ("ada", 1), ("ada", 2), ("bob", 1), ("zoe", 1)
        }  # fmt: skip


def test_of_two_kits_the_grading_that_ended_last_is_gone_on_with(tmp_path: Path) -> None:
    both = OPEN, result(10, language="fortran")
    with open_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ADA)))
        newer = attempt(ADA, *both, kit="k2", at="2027-05-09T10:00:00+00:00")
        older = attempt(ADA, *both, number=2)
        book.add_attempts([newer, older])
        assert [one.item for one in book.open_hand_ins()] == [newer.item]
        assert book.left_open() == {(newer.item, 1), (older.item, 2)}


def test_rows_are_by_name_and_then_by_lab(tmp_path: Path) -> None:
    names = {"z": "ada", "a": "Bob", "m": "bob", "b": "Cy"}
    with open_gradebook(CourseFolder(tmp_path)) as book:
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


def test_keys_of_one_assignment_are_its_labs_alone(tmp_path: Path) -> None:
    ada = Student("ada", "Ada", {"identifier": "7", "email": "e"})
    other = Student("ada", "Ada", {"identifier": "8"})
    with open_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submitted(ada)))
        book.add_submissions(intake(submitted(other, lab=OTHER_LAB)))
        rows = book.standing(parse_rules("[labs.03_x]", "course.toml")).rows
    assert [dict(row.student.external) for row in rows] == [
        {"email": "e", "identifier": "7"}, {"email": "e", "identifier": "8"}, {"email": "e"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("adaa", "'adaa'. Did you mean ada?"), ("LOVE", "'LOVE'. Did you mean ada?"),
        ("q", "'q'; ./numalab gradebook show lists all."), ("name", "Did you mean s1, s2, s3?"),
    ],
)  # fmt: skip
def test_who_may_be_meant_is_named(tmp_path: Path, asked: str, said: str) -> None:
    class_ = [ADA, *(Student(f"s{k}", f"Name {k}", {}) for k in range(1, 6))]
    with open_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(*map(submitted, class_)))
        with pytest.raises(UserError) as raised:
            book.accounts(Rules(), asked)
    assert said in str(raised.value)


def test_a_rebuild_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = CourseFolder(tmp_path)
    with open_gradebook(course) as book:
        book.add_submissions(intake(submitted(ADA)))
    for number in range(1, 6):
        one = attempt(ADA, result(number, 10 - number), number=number)
        write_json_to(course.attempt(one.item, number), stored.attempt_json(one))
    monkeypatch.setattr(gradebook, "CHUNK", 2)
    told: list[str] = []
    rebuild(course, told.append)
    assert told == [
        "reading deliveries", "reading attempts, 2 so far", "reading attempts, 4 so far"
    ]  # fmt: skip
    with open_gradebook(course, read_only=True) as book:
        assert len(list(book.attempts())) == 5
    with pytest.raises(UserError, match="no folder"):
        rebuild(CourseFolder(tmp_path / "x"), told.append)


def write_json_to(folder: Path, data: Json) -> None:
    folder.mkdir(parents=True)
    write_json(folder / "attempt.json", data)


def test_a_gradebook_of_another_version_is_told(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    with open_gradebook(course):
        pass
    with closing(sqlite3.connect(course.gradebook)) as database:
        database.execute("PRAGMA user_version = 1")
    for read_only in (True, False):
        with (
            pytest.raises(UserError, match="another version of the kit"),
            open_gradebook(course, read_only),
        ):
            pass


# ---- judging again -------------------------------------------------------------------


def test_what_is_to_be_judged_again() -> None:
    digests = Digests({LAB: "k1".ljust(64, "0")}, {LAB: "new"})
    old = replace(attempt(ADA, result(5, 5)), judged_by="old")
    again = replace(old, number=2, replaces=1)
    lost = replace(old, number=3, state="lost")
    new = replace(attempt(BOB, result(5, 5)), judged_by="new")
    elsewhere = [attempt(one, result(5, 5), kit="k2") for one in (ADA, ZOE)]
    gone = attempt(ZOE, result(5, 5), lab="99_gone")
    found = pending([old, again, lost, new, *elsewhere, gone], digests)
    assert found.attempts == (again,)
    assert found.measured_otherwise == 2  # Zoë's two; Ada's was measured as now, too
    assert pending([new], digests).attempts == ()


def test_what_a_change_of_rules_does_to_criteria() -> None:
    before = result(0) | {
        "criteria": [
            criterion("a", "pass", 2), criterion("b", "fail", 3), criterion("c", "pass", 1)
        ]
    }  # fmt: skip
    after = result(0) | {
        "criteria": [
            criterion("d", "pass", 1), criterion("b", "pass", 3), criterion("c", "pass", 1)
        ]
    }  # fmt: skip
    assert list(changes(before, after)) == [
        Change("c", "d", None, "pass", 0, 1), Change("c", "b", "fail", "pass", 0, 3),
        Change("c", "a", "pass", None, 2, 0),
    ]  # fmt: skip
    assert list(changes(before, before)) == []


def test_what_is_judged_again_gets_numbers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(course: CourseFolder, kit: Any, labs: Any, one: Attempt, *more: str) -> Rejudged:
        if one.item.student_id == "zoe":
            raise UserError("damaged")
        return Rejudged(one, replace(one, number=4, judged_by=more[0]), (), (), True)

    monkeypatch.setattr(rejudging, "judge_attempt", judged)
    digests = Digests({}, {LAB: "new"})
    some = [attempt(ADA, number=1), attempt(ADA, number=3), attempt(ZOE), attempt(BOB)]
    told: list[str] = []
    kit: Any = None
    found = judge_all(
        CourseFolder(tmp_path), kit, {}, [*some, *some[3:] * 22], digests, told.append
    )
    assert told == ["judging, 0 of 26", "judging, 25 of 26"]
    assert [(one.old.item.student_id, one.new.number) for one in found.rejudged[:4]] == [
        ("ada", 4), ("ada", 5), ("bob", 4), ("bob", 5)
    ]  # fmt: skip
    assert {one.new.judged_by for one in found.rejudged} == {"new"}
    assert found.failed == ((some[2], "damaged"),)


def test_what_a_change_of_rules_opens_stays_to_be_graded_on() -> None:
    still = result(0) | {
        "criteria": [criterion(name, "inconclusive", 1) for name in "abcd"]
        + [criterion("e", "fail", 1)]
    }
    changed = [
        Change("c", "a", "pass", "inconclusive", 1, 0), Change("c", "e", "pass", "fail", 1, 0),
        Change("fortran", "c", "pass", "inconclusive", 1, 0),
        Change("c", "d", "inconclusive", "inconclusive", 1, 0),
    ]  # fmt: skip
    old = replace(attempt(ADA, still), reopened=("c b", "c e"))
    assert list(rejudging._reopened(old, [still], changed)) == ["c a", "c b"]
