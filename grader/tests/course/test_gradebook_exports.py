"""Grades for other systems: the rules of each, field by field."""

from __future__ import annotations

import csv
import io
import json
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from support.classroom50 import RESULT, RUNNER, check
from support.commands import Done
from support.courses import (
    ADA,
    BOB,
    LAB,
    OTHER_LAB,
    ZOE,
    attempt,
    criterion,
    intake,
    result,
    submission,
)
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import CsvTable, escape_formula, read_table
from numalab.course.exports import canvas, classroom50, exports, junit, moodle
from numalab.course.exports.gradescope import results
from numalab.course.exports.pseudonyms import assign
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import parse_rules
from numalab.course.gradebook.standing import Standing
from numalab.course.intake.moodle_columns import LANGUAGES
from numalab.course.records import Problem, Student
from numalab.errors import NumalabError, UserError

AT = datetime(2026, 10, 7, 8, 0, tzinfo=UTC)
EVIL = Student("evil", '=HYPERLINK("http://x","y")', {"email": "-2+3@example.org", "id": "4"})
WHY = 'kernel.c:3: error: <script>alert("x")</script> & more'


def fill(folder: Path) -> None:
    """Ada 7.5, Bob lost to the node, Zoë 4 in the first lab; Ada 10 in the second."""
    with use_gradebook(CourseFolder(folder)) as book:
        book.add_submissions(
            intake(
                submission(ADA), submission(BOB), submission(ZOE), submission(EVIL),
                submission(ADA, lab=OTHER_LAB),
            )
        )  # fmt: skip
        book.add_attempts(
            [
                attempt(ADA, result(6, 2, 2)),
                attempt(BOB, state="node_failed", why="n3 went away"),
                attempt(ZOE, result(4, 6, why=WHY)),
                attempt(EVIL, result(5, 5)),
                attempt(ADA, result(10), lab=OTHER_LAB),
            ]
        )


@pytest.fixture
def standing(tmp_path: Path) -> Standing:
    fill(tmp_path)
    with use_gradebook(CourseFolder(tmp_path), read_only=True) as book:
        return book.standing(parse_rules("", "course.toml"))


def of_lab(standing: Standing, lab: str = LAB) -> list[Any]:
    return [row for row in standing.rows if row.lab == lab]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


# ---- tables --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'        =1"), ("\uff1d1", "'\uff1d1"),
        (" =1", "' =1"), ("\n=1", "'\n=1"), ("a=1", "a=1"), ("", ""),
        ("Zoë", "Zoë"), ("a\0b", "a\\x00b"), ("\u202e=1", "<U+202E>=1"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    assert escape_formula(text) == cell


def test_the_plain_table(standing: Standing) -> None:
    text = exports.export_csv(standing).text
    assert text.startswith("\ufeffstudent,name,email,lab,points,")
    assert text.count("\r\n") == len(standing.rows) + 1
    found = {(row["student"], row["lab"]): row for row in csv.DictReader(io.StringIO(text[1:]))}
    assert len(found) == 8
    ada, bob, evil = found["ada", LAB], found["bob", LAB], found["evil", LAB]
    assert (ada["points"], ada["max_points"], ada["gradable_points"]) == ("7.5", "10", "8")
    assert (ada["provisional"], ada["state"], ada["language"]) == ("no", "graded", "c")
    assert bob["points"] == ""
    check_text(bob["state"])
    check_text(found["bob", OTHER_LAB]["state"])
    assert evil["name"] == '\'=HYPERLINK("http://x","y")'
    assert evil["email"] == "'-2+3@example.org"


def test_pseudonyms_tell_nothing_and_stay(standing: Standing, tmp_path: Path) -> None:
    path = tmp_path / "whose.csv"
    students = [row.student for row in standing.rows]
    names = assign(path, students[:2])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    again = assign(path, students)
    assert {id_: again[id_] for id_ in names} == names
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(set(again.values())) == 4
    text = exports.export_pseudonymous(standing, again).text
    for word in (",ada,", "zoe", "Zoë", "example.org", "Lovelace", "2027-05"):
        assert word not in text
    assert text[0] == "\ufeff", "spreadsheets tell UTF-8 by it"
    shown = [line[0] for line in cells(text[1:])[1:]]
    assert shown == sorted(shown)
    assert set(shown) == set(again.values())


@pytest.mark.parametrize("content", ["name,pseudonym\n", "student,name,pseudonym\na,b\n"])
def test_what_is_no_list_of_pseudonyms_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(content)
    with raises_text(UserError):
        assign(path, [ADA])
    assert path.read_text() == content


# ---- Moodle ----------------------------------------------------------------------------

# As a Moodle 4 site writes it, with and without a byte order mark.
WORKSHEET = (
    "Identifier,\"Full name\",\"Email address\",Status,Grade,\"Maximum grade\","
    "\"Grade can be changed\",\"Last modified (submission)\",\"Online text\","
    "\"Last modified (grade)\",\"Feedback comments\"\n"
    "\"Participant 101\",\"Lovelace Ada\",changed@example.org,\"Submitted for grading\",,10.00,Yes,"
    "\"Monday, 3 May 2027, 8:00 PM\",\"see, \"\"file\"\"\nsecond line\",-,\n"
    "\"Participant 102\",\"Bob <b>Bold</b>\",bob@example.org,-,6.00,10.00,Yes,-,,-,by hand\n"
    "\"Participant 103\",\"Z. Å.\",ZOE@example.org,Submitted,,10.00,Yes,-,,-,\n"
    "\"Participant 104\",Nobody,nobody@example.org,-,3.00,10.00,Yes,-,,-,kept\n"
    "\"Participant 105\",other,-2+3@example.org,Submitted,,10.00,No,-,,-,\n"
)  # fmt: skip


def worksheet(folder: Path, text: str = WORKSHEET) -> Path:
    path = folder / "worksheet.csv"
    path.write_bytes(text.encode())
    return path


def moodle_filled(folder: Path, standing: Standing, text: str = WORKSHEET) -> exports.ExportedFile:
    path = worksheet(folder, text)
    return moodle.fill_worksheet(read_table(path), of_lab(standing), str(path))


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_moodles_worksheet_keeps_all_but_grade_and_feedback(
    standing: Standing, tmp_path: Path, bom: str
) -> None:
    made = moodle_filled(tmp_path, standing, bom + WORKSHEET)
    assert made.text.startswith(bom + "Identifier,")
    assert "\r" not in made.text
    before, after = cells(WORKSHEET), cells(made.text.removeprefix("\ufeff"))
    grade, feedback = before[0].index("Grade"), before[0].index("Feedback comments")
    assert [len(line) for line in after] == [len(line) for line in before]
    for old, new in zip(before, after, strict=True):
        for column, cell in enumerate(old):
            if column not in (grade, feedback):
                assert new[column] == cell
    assert after[1][grade] == "7.5"
    check_text(after[1][feedback])
    # No grade: both stay, since feedback alone may delete what is there.
    assert after[2][grade] == "6.00"
    check_text(after[2][feedback])
    # An address is compared with case, as Moodle does.
    assert after[3] == before[3]
    assert after[4] == before[4]
    assert after[5] == before[5]
    told = " ".join(made.remarks)
    check_text(told)


@pytest.mark.parametrize(
    ("number", "email", "name", "grade"),
    [
        ("101", "zoe@example.org", "Zoë Ångström", "7.5"),
        ("101", "", "Zoë Ångström", "7.5"),
        ("999", "zoe@example.org", "Ada Lovelace", "4"),
        ("999", "", "Ada Lovelace", "7.5"),
    ],
)
def test_moodles_participant_is_told_by_number_then_address_then_name(
    standing: Standing, tmp_path: Path, number: str, email: str, name: str, grade: str
) -> None:
    """Somebody of the same name does not get the grade."""
    header = WORKSHEET[: WORKSHEET.index("\n") + 1]
    line = f'"Participant {number}","{name}",{email},Submitted,,10.00,Yes,-,,-,\n'
    made = moodle_filled(tmp_path, standing, header + line)
    filled_in = dict(zip(*cells(made.text), strict=True))
    assert filled_in["Grade"] == grade


def test_moodles_rows_have_grade_and_feedback_or_neither(
    standing: Standing, tmp_path: Path
) -> None:
    for text in (moodle_filled(tmp_path, standing).text, moodle.worksheet(of_lab(standing)).text):
        for row in csv.DictReader(io.StringIO(text)):
            if 'class="numalab"' in row["Feedback comments"]:
                assert float(row["Grade"]) >= 0
            if row["Grade"]:
                assert row["Feedback comments"] or row["Identifier"] == "Participant 104"


def test_moodles_feedback_is_html_without_the_students_markup(standing: Standing) -> None:
    (zoe,) = (row for row in of_lab(standing) if row.student.id == "zoe")
    said = moodle.comment(zoe)
    assert "<script>" not in said
    assert "&lt;script&gt;" in said
    check_text(said)


def test_a_second_export_takes_the_place_of_the_first(standing: Standing, tmp_path: Path) -> None:
    text = WORKSHEET.replace('second line",-,\n', 'second line",-,"Well explained!"\n')
    once = moodle_filled(tmp_path, standing, text).text
    twice = moodle_filled(tmp_path, standing, once).text
    assert once == twice
    assert once.count("Well explained!") == 1
    assert cells(once)[1][-1].count('<div class="numalab">') == 1


def test_moodles_maximum_has_to_be_the_labs(standing: Standing, tmp_path: Path) -> None:
    with raises_text(UserError):
        moodle_filled(tmp_path, standing, WORKSHEET.replace("10.00", "100,00").replace(
            "100,00", "\"100,00\""))  # fmt: skip


def test_a_worksheet_in_another_language(standing: Standing, tmp_path: Path) -> None:
    text = WORKSHEET.replace(",Grade,", ",Známka,").replace("Feedback comments", "Komentář")
    text = text.replace("Maximum grade", "Maximum").replace("Last modified (grade)", "Hodnoceno")
    with raises_text(UserError):
        moodle_filled(tmp_path, standing, text)
    path = worksheet(tmp_path, text)
    made = moodle.fill_worksheet(
        read_table(path), of_lab(standing), str(path), "Známka", "Komentář"
    )
    assert cells(made.text)[1][4] == "7.5"


@pytest.mark.parametrize("language", LANGUAGES)
def test_worksheets_in_moodles_languages(standing: Standing, tmp_path: Path, language: str) -> None:
    """Filled without options, as Moodle calls columns there; whom it forbids a grade keeps it."""
    words = LANGUAGES[language]
    titles = {
        english: words.columns[column][0]
        for column, (english, *_) in LANGUAGES["en"].columns.items()
        if column in words.columns
    }
    header, *rows = cells(WORKSHEET)
    answers = {"No": words.no, "Yes": "1"}
    text = CsvTable(
        [[titles.get(title, title) for title in header],
         *([answers.get(cell, cell) for cell in row] for row in rows)]
    ).text()  # fmt: skip
    made, plain = (moodle_filled(tmp_path, standing, one) for one in (text, WORKSHEET))
    assert made.remarks == plain.remarks
    changed = [[line[4], line[-1]] for line in cells(made.text)[1:]]
    assert changed == [[line[4], line[-1]] for line in cells(plain.text)[1:]]


def test_moodles_worksheet_made_here(standing: Standing) -> None:
    made = moodle.worksheet(of_lab(standing))
    header, *rows = cells(made.text)
    check_text(header)
    assert [row[1] for row in rows] == [
        '\'=HYPERLINK("http://x","y")', "Ada Lovelace", "Zoë Ångström",
    ]  # fmt: skip
    assert rows[1][:9] == [
        "Participant 101", "Ada Lovelace", "Ada@Example.org", "", "7.5", "10", "Yes", "-", "-",
    ]  # fmt: skip
    check_text(made.remarks[0])


# ---- Canvas ----------------------------------------------------------------------------

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Lab 1: First touch (4711),Essay (4712),"
    "Assignments Current Score,Unposted Final Score\r\n"
    ",,,,,,Manual Posting,,,\r\n"
    "    Points Possible,,,,,,10.00,5.00,(read only),(read only)\r\n"
    "\"Lovelace, Ada\",1,,ada1,\"A, B\",,,4.50,90.0,90.0\r\n"
    "\"Bold, Bob\",,,BOB9,A,,6.00,,,\r\n"
    "\"Ångström, Zoë\",3,,zoe1,A,note,EX,,,\r\n"
    "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\",4,,,A,,N/A,,,\r\n"
    "\"Else, Somebody\",77,,else1,A,,8.00,,,\r\n"
    "\"Student, Test\",99,,,A,,,,,\r\n"
)  # fmt: skip


def canvas_filled(folder: Path, standing: Standing, text: str = CANVAS, **named: str) -> Any:
    path = folder / "canvas.csv"
    path.write_bytes(text.encode())
    by_lab = {LAB: named["first"]} if named else {}
    return canvas.fill_table(read_table(path), standing.rows, by_lab, str(path))


def test_canvas_gets_its_table_back_with_scores(standing: Standing, tmp_path: Path) -> None:
    made = canvas_filled(tmp_path, standing)
    before, after = cells(CANVAS), cells(made.text)
    before[3][6] = "7.5"  # the one score that there is, that fits, and that is not excused
    assert after == before
    assert made.text.count("\r\n") == CANVAS.count("\r\n")
    told = " ".join(made.remarks)
    check_text(told)


def test_canvas_with_semicolons_and_commas_in_numbers(standing: Standing, tmp_path: Path) -> None:
    """As it exports where a comma is the decimal sign."""
    rows = cells(CANVAS.replace("10.00", '"10,00"').replace("4.50", '"4,50"'))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=";").writerows(rows)
    made = canvas_filled(tmp_path, standing, "\ufeff" + file.getvalue())
    rows[3][6] = "7.5"
    assert made.text.startswith("\ufeffStudent;ID;")
    assert list(csv.reader(io.StringIO(made.text[1:], newline=""), delimiter=";")) == rows


def test_canvas_finds_students_by_id_and_then_by_login(tmp_path: Path) -> None:
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submission(BOB)))
        book.add_attempts([attempt(BOB, result(9, 1))])
        standing = book.standing(parse_rules("", "course.toml"))
    assert cells(canvas_filled(tmp_path, standing).text)[4][6] == "9"


def test_who_is_not_in_canvas_is_told(standing: Standing, tmp_path: Path) -> None:
    text = "".join(line for line in CANVAS.splitlines(True) if "Lovelace" not in line)
    told = canvas_filled(tmp_path, standing, text).remarks
    check_text(told)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10.00", "100"),
        ("10.00", "(read only)"),
        ("First touch", "Warm-up"),
        ("Essay", "First touch again"),
        ("Student,ID,", "Name,ID,"),
        (",77,,else1,A,", ",77,,else1,A"),
    ],
)
def test_what_canvas_would_not_take_is_refused(
    standing: Standing, tmp_path: Path, old: str, new: str
) -> None:
    with raises_text(UserError):
        canvas_filled(tmp_path, standing, CANVAS.replace(old, new))


def test_a_column_that_is_named_is_taken(standing: Standing, tmp_path: Path) -> None:
    text = CANVAS.replace("First touch", "Warm-up")
    for name in ("Lab 1: Warm-up", "Lab 1: Warm-up (4711)"):
        assert cells(canvas_filled(tmp_path, standing, text, first=name).text)[3][6] == "7.5"


# ---- Gradescope --------------------------------------------------------------------------

# https://gradescope-autograders.readthedocs.io/en/latest/specs/, "Output format", as a schema:
# each key that is named there with its type, and no other.
_VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
_TEST = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "max_score": {"type": "number"},
        "status": {"enum": ["passed", "failed"]},
        "name": {"type": "string"},
        "name_format": _FORMAT,
        "number": {"type": "string"},
        "output": {"type": "string"},
        "output_format": _FORMAT,
        "tags": {"type": "array", "items": {"type": "string"}},
        "visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
    },
}
RESULTS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": _FORMAT,
        "test_output_format": _FORMAT,
        "test_name_format": _FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": _TEST},
        "leaderboard": {"type": "array"},
    },
}
# "optional, but required if not on each test case below"
SCORED = RESULTS | {
    "anyOf": [
        {"required": ["score"]},
        {"required": ["tests"],
         "properties": {"tests": {"minItems": 1, "items": {"required": ["score"]}}}},
    ]
}  # fmt: skip


def of_student(standing: Standing, student: str, lab: str | None = None) -> list[Any]:
    return [r for r in standing.rows if r.student.id == student and lab in (None, r.lab)]


def test_gradescope_gets_what_it_documents(standing: Standing) -> None:
    for student in ("ada", "zoe"):
        data = json.loads(json.dumps(results(of_student(standing, student, LAB))))
        jsonschema.validate(data, SCORED)
    data = results(of_student(standing, "ada", LAB))
    assert data["score"] == 7.5
    keys = ("name", "status", "score", "max_score")
    assert [tuple(test.get(key) for key in keys) for test in data["tests"]] == [
        ("correct", "passed", 7.5, 7.5), ("local_pages", "failed", 0, 2.5),
        ("speedup", None, None, None),
    ]  # fmt: skip
    check_text(data["tests"][2]["output"])
    assert "7.5 of 10 points" in data["output"]
    assert data["extra_data"][LAB]["gradable_points"] == 8


def test_a_failure_of_the_infrastructure_is_no_score_in_gradescope(standing: Standing) -> None:
    data = results(of_student(standing, "bob", LAB))
    jsonschema.validate(data, RESULTS)
    assert "score" not in data
    assert not any("score" in test for test in data["tests"])
    check_text(data["output"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCORED)


def test_classroom_50_gets_what_it_takes(standing: Standing) -> None:
    """In hundredths of points; what the node can't show is no test."""
    run = classroom50.read_runner_context(RUNNER)
    for student, score in (("ada", 750), ("zoe", 400)):
        data = classroom50.result(of_student(standing, student, LAB), [], run, AT)
        jsonschema.validate(data, RESULT)
        check(data)
        assert (data["score"], data["max-score"]) == (score, 1000)
        assert data["review"] == RUNNER["COMMIT_URL"]
    data = classroom50.result(of_student(standing, "ada", LAB), [], run, AT)
    assert [(t["test-name"], t["passed"], t["score"], t["max-score"]) for t in data["tests"]] == [
        ("correct", True, 750, 750), ("local_pages", False, 0, 250),
    ]  # fmt: skip
    data = classroom50.result(of_student(standing, "zoe"), [], run, AT)
    assert (data["score"], data["max-score"]) == (400, 2000)
    check_text(data["tests"][-1]["output"])


def test_a_failure_of_the_infrastructure_is_no_result_in_classroom_50(standing: Standing) -> None:
    run = classroom50.read_runner_context(RUNNER)
    with raises_text(NumalabError):
        classroom50.result(of_student(standing, "bob", LAB), [], run, AT)
    with raises_text(NumalabError):
        classroom50.result([], [], run, AT)


def test_classroom_50_outside_its_runner() -> None:
    with raises_text(UserError):
        classroom50.read_runner_context({name: value for name, value in RUNNER.items()
                            if name not in ("CLASSROOM", "OWNER")})  # fmt: skip


def test_a_junit_report_tells_failures_from_what_was_not_graded(standing: Standing) -> None:
    problem = Problem("x\x1b[2J.txt", "is no \x00 kernel")
    text = junit.report(of_lab(standing), [problem])
    suites = {
        suite.attrib["name"]: suite for suite in ElementTree.fromstring(text).iter("testsuite")
    }
    ada = suites[f"ada {LAB}"]
    assert {case.attrib["name"]: [kind.tag for kind in case] for case in ada.iter("testcase")} == {
        "correct": [], "local_pages": ["failure"], "speedup": ["skipped"]
    }  # fmt: skip
    assert (ada.attrib["tests"], ada.attrib["failures"], ada.attrib["skipped"]) == ("3", "1", "1")
    (error,) = suites[f"bob {LAB}"].iter("error")
    check_text(str(error.text))
    assert suites["hand-in"].attrib["failures"] == "1"
    assert not {"\x1b", "\x00"} & set(text)


def test_several_labs_in_one_gradescope_assignment(standing: Standing) -> None:
    data = results(of_student(standing, "ada"))
    jsonschema.validate(data, SCORED)
    assert data["score"] == 17.5
    assert data["tests"][0]["name"] == f"{LAB}: correct"
    # Nothing handed in for one of them is nobody's failure but the student's.
    data = results(of_student(standing, "zoe"))
    assert data["score"] == 4
    check_text(data["output"])


def test_a_criterion_that_fails_somewhere_counts_once(tmp_path: Path) -> None:
    there = result(5)
    there["criteria"] += [
        criterion("spread", "pass", 5, where="here"),
        criterion("spread", "fail", 5, where="nebula"),
    ]
    there |= {"max_points": 10, "points": 5}
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submission(ADA)))
        book.add_attempts([attempt(ADA, there)])
        rows = book.standing(parse_rules("", "course.toml")).rows
    data = results(rows)
    assert sum(t.get("max_score", 0) for t in data["tests"]) == 10
    assert sum(t.get("score", 0) for t in data["tests"]) == data["score"] == 5


# ---- the commands ------------------------------------------------------------------------


def gradebook(*arguments: str | Path) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "numalab", "gradebook", *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr).no_traceback()


def fits(text: str) -> bool:
    from rich.cells import cell_len

    return all(cell_len(line) <= 80 for line in text.splitlines())


def test_show_and_explain(tmp_path: Path) -> None:
    fill(tmp_path)
    assert gradebook("init", tmp_path).code == 0
    assert gradebook("init", tmp_path).code == 2
    toml = tmp_path / "course.toml"
    toml.write_text(
        toml.read_text().replace('title = ""', 'title = "PP"')
        + f'[[override]]\nstudent = "zoe"\nlab = "{LAB}"\npoints = 9\nreason = "oral"\nby = "me"\n'
        f'[[override]]\nstudent = "zeo"\nlab = "{LAB}"\npoints = 9\nreason = "oral"\n'
    )
    done = gradebook("show", tmp_path)
    assert done.code == 0
    assert fits(done.out)
    lines = done.out.splitlines()
    assert lines[0] == "PP"
    (ada,) = (line for line in lines if line.startswith("Ada"))
    assert ada.split()[-2:] == ["7.5", "10"]
    (bob,) = (line for line in lines if line.startswith("Bob"))
    assert bob.split()[-2:] == ["?", "."]
    (zoe,) = (line for line in lines if line.startswith("Zoë"))
    assert zoe.split()[-2:] == ["9!", "."]
    check_text(lines[-1])
    assert "* provisional" not in lines[-1]
    assert "'zeo'" in done.said
    done = gradebook("explain", tmp_path, "zoe", "01")
    assert fits(done.out)
    said = " ".join(done.out.split())
    check_text(said)
    assert "FAIL: local_pages 0/6" in said
    said = " ".join(gradebook("explain", tmp_path, "ada", "01").out.split())
    assert "counts 2027-05-04" in said
    check_text(said)


def test_export_says_what_it_left_out_and_writes_whole(tmp_path: Path) -> None:
    fill(tmp_path)
    out = tmp_path / "out.csv"
    done = gradebook("export", tmp_path, "--format", "moodle", "--out", out)
    assert done.code == 2
    check_text(done.said)
    assert not out.exists()
    done = gradebook(
        "export", tmp_path, "--format", "moodle", "--lab", "1", "--out", out,
        "--template", worksheet(tmp_path),
    )  # fmt: skip
    assert done.code == 0
    check_text(done.said)
    assert cells(out.read_text())[1][4] == "7.5"
    done = gradebook("export", tmp_path, "--format", "canvas", "--out", out)
    assert done.code == 2
    assert "needs --template" in done.said
    done = gradebook("export", tmp_path, "--format", "moodle", "--pseudonyms", "x", "--out", out)
    check_text(done.said)
    done = gradebook("export", tmp_path, "--format", "gradescope", "--out", out)
    check_text(done.said)
    done = gradebook(
        "export", tmp_path, "--format", "gradescope", "--student", "ada", "--lab", "01",
        "--out", out,
    )  # fmt: skip
    assert json.loads(out.read_text())["score"] == 7.5


def test_a_large_class_is_complete(tmp_path: Path) -> None:
    """The tables of a class whose attempts are read in several pieces."""
    students = [Student(f"s{n}", f"Name {n}", {"id": str(n)}) for n in range(700)]
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(*(submission(one) for one in students)))
        book.add_attempts(
            attempt(one, result(n % 11, 10 - n % 11)) for n, one in enumerate(students)
        )
        found = book.standing(parse_rules("", "course.toml"))
    points = {row.student.id: row.points for row in found.rows}
    assert points == {f"s{n}": n % 11 for n in range(700)}
    table = cells(exports.export_csv(found).text)
    assert len(table) == 701


# ---- what is open ----------------------------------------------------------------------


def test_open_points_are_in_every_export_and_told(tmp_path: Path) -> None:
    """As earned points they are in none."""
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submission(ADA)))
        book.add_attempts([attempt(ADA, result(7, still_open=1, spoilt=2))])
        made = book.standing(parse_rules("", "course.toml"))
    told = "Ada Lovelace (ada) in 01_first_touch: efficiency (1 point) and balanced (2 points)"
    plain = exports.export_csv(made)
    (row,) = csv.DictReader(io.StringIO(plain.text[1:]))
    assert (row["points"], row["gradable_points"], row["provisional"]) == ("7", "10", "yes")
    assert (row["open_points"], row["open_criteria"]) == ("3", "efficiency balanced")
    assert (row["effort"], "still open: efficiency" in row["notes"]) == ("default", True)
    anonymous = exports.export_pseudonymous(made, {"ada": "p-1"}).text
    check_text(anonymous.splitlines())
    worksheet = moodle.worksheet(made.rows)
    check_text(worksheet.text.splitlines())
    for export in (plain, worksheet, canvas_filled(tmp_path, made)):
        assert told in " ".join(export.remarks)
    tests = {
        test["test-name"]: (test["passed"], test["score"], test["max-score"])
        for test in classroom50.result(made.rows, [], classroom50.read_runner_context(RUNNER), AT)[
            "tests"
        ]
    }
    assert tests == {
        "correct": (True, 700, 700),
        "efficiency (open, not decided yet)": (False, 0, 100),
        "balanced (open, not decided yet)": (False, 0, 200),
    }
    suite = ElementTree.fromstring(junit.report(made.rows, []))
    assert [kind.tag for case in suite.iter("testcase") for kind in case] == ["skipped", "error"]
    data = results(made.rows)
    assert data["score"] == 7
    assert data["extra_data"][LAB]["open_points"] == 3
    scored = {test["name"]: "score" in test for test in data["tests"]}
    assert scored == {"correct": True, "efficiency": False, "balanced": False}
    assert sum(test.get("max_score", 0) for test in data["tests"]) == 7
