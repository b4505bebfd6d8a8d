"""Hand-ins that can't be taken and hand-ins that are late by Canvas alone have marks of their
own, wherever grades are shown."""

from __future__ import annotations

import csv
import io
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.courses import (
    ADA,
    BOB,
    LAB,
    OTHER_LAB,
    ZOE,
    attempt,
    intake,
    result,
    submission,
)
from support.deliveries import RAR, put
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.exports import exports, junit, moodle
from numalab.course.exports.gradescope import results
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.gradebook import rebuild, use_gradebook
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.rules import parse_rules
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.intake.intake import import_submissions
from numalab.course.records import LATE_BY_CANVAS, Intake, Problem
from numalab.labs.declaration import Lab

BROKEN = Problem("zoe.rar", "zoe.rar is a RAR archive, which is not read here.", ZOE)
NOTHING = Problem("list.csv", "Nothing was handed in.", BOB, is_missing=True)


def fill(folder: Path, *intakes: Intake) -> CourseFolder:
    course = CourseFolder(folder)
    with use_gradebook(course) as book:
        for one in intakes:
            book.add_submissions(one)
        book.add_attempts([attempt(ADA, result(10))])
    return course


def standing(course: CourseFolder, text: str = "") -> Standing:
    with use_gradebook(course, read_only=True) as book:
        return book.standing(parse_rules(text, "course.toml"))


def row_of(made: Standing, student: str, lab: str = LAB) -> StandingRow:
    return next(row for row in made.rows if (row.student.id, row.lab) == (student, lab))


def shown(made: Standing) -> str:
    return "\n".join(table_lines(made))


def test_what_can_not_be_taken_is_not_what_was_not_handed_in(tmp_path: Path) -> None:
    course = fill(tmp_path, intake(submission(ADA), problems=[BROKEN, NOTHING]))
    made = standing(course)
    zoe, bob = row_of(made, "zoe"), row_of(made, "bob")
    assert (zoe.is_not_taken, zoe.is_handed_in, zoe.points) == (True, False, None)
    assert (bob.is_not_taken, bob.notes) == (False, ("Nothing was handed in.",))
    table = shown(made)
    check_text(table)
    assert "  Zoë Ångström (zoe) 01" in table
    lines = {
        row["student"]: row
        for row in csv.DictReader(io.StringIO(exports.export_csv(made).text[1:]))
    }
    check_text(lines["zoe"]["state"])
    check_text(lines["bob"]["state"])
    check_text(exports.export_csv(made).remarks[-1])
    check_text(" ".join(moodle.worksheet(made.rows).remarks))
    assert results([zoe])["extra_data"][LAB]["not_taken"] is True
    assert "RAR archive" in junit.report([zoe], [])


def test_the_mark_stays_until_something_is_handed_in(tmp_path: Path) -> None:
    """Another lab's delivery changes nothing, a rebuild neither, and a hand-in of the lab does."""
    other = intake(submission(ADA, "e1", lab=OTHER_LAB), submission(ZOE, "e2", lab=OTHER_LAB))
    course = fill(tmp_path, intake(submission(ADA), problems=[BROKEN]), other)
    assert row_of(standing(course), "zoe").is_not_taken
    assert not row_of(standing(course), "zoe", OTHER_LAB).is_not_taken
    rebuild(course, lambda _: None)
    assert row_of(standing(course), "zoe").is_not_taken
    with use_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA), submission(ZOE, "e3")))
    made = row_of(standing(course), "zoe")
    assert (made.is_not_taken, made.is_handed_in) == (False, True)


def test_parts_of_what_can_not_be_taken(tmp_path: Path) -> None:
    course = fill(tmp_path, intake(submission(ADA), problems=[BROKEN, NOTHING]))
    made = standing(course, "[parts]\nkernel = 1\nviva = 1\n")
    assert row_of(made, "zoe").is_not_taken
    assert {part.state for part in row_of(made, "zoe").parts} == {"not taken", "open"}
    assert {part.state for part in row_of(made, "bob").parts} == {"missing", "open"}


def test_a_gradebook_of_before_is_read_and_goes_on(tmp_path: Path) -> None:
    course = fill(tmp_path, intake(submission(ADA)))
    with sqlite3.connect(course.gradebook) as database:
        database.execute("DROP TABLE not_taken")
        database.execute("DROP TABLE taken_times")
    assert len(standing(course).rows) == 1
    with use_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA), problems=[BROKEN]))
    assert row_of(standing(course), "zoe").is_not_taken


def test_late_by_canvas_is_shown_and_named(tmp_path: Path) -> None:
    deadline = f"[late]\nper_day = 0.1\n[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00+02:00\n"
    course = fill(tmp_path, intake(submission(ADA, notes=LATE_BY_CANVAS), submission(BOB)))
    made = standing(course, deadline)
    ada = row_of(made, "ada")
    assert (ada.is_late_unknown, ada.points, ada.late_s) == (True, 10, 0)
    assert not row_of(made, "bob").is_late_unknown
    said = " ".join(ada.notes)
    check_text(said)
    assert "10~" in shown(made)
    check_text(shown(made))
    assert "handed_in_at" in shown(made)
    check_text(exports.export_csv(made).remarks[0])
    with use_gradebook(course, read_only=True) as book:
        (account,) = book.grade_traces(parse_rules(deadline, "x"), "ada")
    told = "\n".join(explanation(account, parse_rules(deadline, "x")))
    check_text(told)


def test_with_a_time_canvas_is_not_asked(tmp_path: Path) -> None:
    deadline = f"[late]\nper_day = 0.1\n[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00+02:00\n"
    late = submission(ADA, at="2027-05-04T10:00:00+02:00", notes=LATE_BY_CANVAS)
    ada = row_of(standing(fill(tmp_path, intake(late)), deadline), "ada")
    assert (ada.is_late_unknown, ada.points) == (False, 9)


@pytest.mark.parametrize(
    ("name", "content"),
    [("ada.rar", RAR), ("ada/kernel.cpp", b"int a;\n"), ("ada/abgabe.ipynb", b"{}"),
     ("ada/kernel.c", b"%PDF-1.7\n"), ("ada.zip", b"no archive")],
)  # fmt: skip
def test_intake_marks_them(tmp_path: Path, first_touch: Lab, name: str, content: bytes) -> None:
    delivery = put(tmp_path / "delivery", {name: content, "bob/kernel.c": b"int a;\n"})
    course = CourseFolder(tmp_path / "course")
    taken = import_submissions(delivery, course, {first_touch.name: first_touch}, lambda _: None)
    with use_gradebook(course) as book:
        book.add_submissions(taken)
    assert row_of(standing(course), "ada").is_not_taken


def test_names_that_differ_in_case_or_blanks(tmp_path: Path, first_touch: Lab) -> None:
    """Two people, and the id is first theirs whose name it is."""
    names = ["..ada", "ADA", "ada", "ada ", "Zoe"]
    files = {f"{name}/kernel.c": f"int a{n};\n".encode() for n, name in enumerate(names)}
    delivery = put(tmp_path / "delivery", files)
    labs = {first_touch.name: first_touch}
    course = CourseFolder(tmp_path / "course")
    first = import_submissions(delivery, course, labs, lambda _: None)
    assert not first.problems
    ids = {one.source: one.student.id for one in first.submissions}
    assert len(set(ids.values())) == 5
    assert (ids["ada"], ids["ADA"], ids["Zoe"]) == ("ada", "ada-2", "zoe")
    again = import_submissions(delivery, course, labs, lambda _: None)
    assert {one.source: one.student.id for one in again.submissions} == ids
    # Alone in a delivery, each is still who it was; and who writes it otherwise is the same again.
    alone = put(tmp_path / "alone", {"ADA/kernel.c": b"int b;\n", "zoe/kernel.c": b"int b;\n"})
    later = import_submissions(alone, course, labs, lambda _: None)
    assert sorted(one.student.id for one in later.submissions) == ["ada-2", "zoe"]


@pytest.mark.parametrize("name", ["..ada", "ada;", "(ada)", "王ada", "..ada lovelace", ". ada"])
def test_no_name_takes_an_id_that_leaves_out_its_ends(
    tmp_path: Path, first_touch: Lab, name: str
) -> None:
    """Alone in the first delivery, before anybody whose name that is has come."""
    course, labs = CourseFolder(tmp_path / "course"), {first_touch.name: first_touch}
    clear = "ada-lovelace" if "lovelace" in name else "ada"
    ids = []
    for delivered in (name, clear.replace("-", " ")):
        files = {f"{delivered}/kernel.c": f"int {clear[:3]}{len(ids)};\n".encode()}
        intake = import_submissions(
            put(tmp_path / str(len(ids)), files), course, labs, lambda _: None
        )
        ids.append(intake.submissions[0].student.id)
    assert ids == [f"{clear}-2", clear]


@pytest.mark.parametrize(
    ("name", "id_"),
    [("\u2019t Hooft", "t-hooft"), ("King Jr.", "king-jr"), ("Zoë Łukasz", "zoe-lukasz"),
     ("Ada (she)", "ada-she"), ("o'brien", "o-brien"), ("ADA", "ada")],
)  # fmt: skip
def test_ids_of_usual_names(tmp_path: Path, first_touch: Lab, name: str, id_: str) -> None:
    delivery = put(tmp_path / "delivery", {f"{name}/kernel.c": b"int a;\n"})
    course = CourseFolder(tmp_path / "course")
    intake = import_submissions(delivery, course, {first_touch.name: first_touch}, lambda _: None)
    assert [one.student.id for one in intake.submissions] == [id_]


def test_a_zone_that_is_corrected(tmp_path: Path) -> None:
    """The same time, read again in another zone, replaces what it was taken for; another time
    of the same files does not, nor a time that had its zone."""
    deadline = f"[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00-05:00\n"
    taken = partial(replace, is_zone_taken=True)
    utc = taken(submission(ADA, at="2027-05-04T00:30:00+00:00"))
    right = taken(submission(ADA, at="2027-05-04T00:30:00-05:00"))
    course = fill(tmp_path / "a", intake(utc))
    assert row_of(standing(course, deadline), "ada").late_s == 0
    with use_gradebook(course) as book:
        book.add_submissions(intake(right))
    assert row_of(standing(course, deadline), "ada").late_s == 31 * 60
    rebuild(course, lambda _: None)
    assert row_of(standing(course, deadline), "ada").late_s == 31 * 60
    earlier = submission(ADA, at="2027-05-03T20:00:00-05:00")
    kept = fill(tmp_path / "b", intake(earlier), intake(right))
    assert row_of(standing(kept, deadline), "ada").late_s == 0
