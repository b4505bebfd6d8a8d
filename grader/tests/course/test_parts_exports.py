"""What other systems are told of the parts of a grade."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.classroom50 import RUNNER, check
from support.courses import ADA, BOB, LAB, VARIANT, ZOE, attempt, intake, result, submission
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import CsvTable
from numalab.course.exports import canvas, classroom50, exports, junit, moodle
from numalab.course.exports.gradescope import results
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import parse_rules
from numalab.course.gradebook.standing import Standing, StandingRow

TEXT = """
[parts]
kernel = 40
variant = 30
prediction = 10
diagnose = 10
viva = 10
[[viva]]
student = "ada"
points = 9
"""
AT = datetime(2026, 10, 7, 8, 0, tzinfo=UTC)


@pytest.fixture
def standing(tmp_path: Path) -> Standing:
    """Ada has 6.7 of all parts, Bob waits for a node, Zoë handed in a variant alone."""
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(
            intake(
                submission(ADA), submission(ADA, "d2", lab=VARIANT),
                submission(BOB), submission(BOB, "d2", lab=VARIANT),
                submission(ZOE, "d2", lab=VARIANT),
            )
        )  # fmt: skip
        of_variant: Any = {"lab": VARIANT, "digest": "d2"}
        book.add_attempts(
            [
                attempt(ADA, result(6, 2, 2) | {"diagnosis": {"score": 0.5}}),
                attempt(ADA, result(5, 5) | {"prediction": {"score": 0.8}}, **of_variant),
                attempt(BOB, result(10)),
                attempt(BOB, state="node_failed", why="n3 went away", **of_variant),
                attempt(ZOE, result(10), **of_variant),
            ]
        )
        return book.standing(parse_rules(TEXT, "course.toml", (LAB, VARIANT)))


def row_of(standing: Standing, student: str) -> StandingRow:
    (row,) = (row for row in standing.rows if row.student.id == student)
    return row


def test_the_plain_table_has_a_column_for_each_part(standing: Standing) -> None:
    text = exports.export_csv(standing).text
    found = {row["student"]: row for row in csv.DictReader(io.StringIO(text[1:]))}
    assert len(found) == 3
    ada, zoe = found["ada"], found["zoe"]
    names = ("points", "kernel_points", "variant_points", "prediction_points", "diagnose_points")
    assert [ada[name] for name in names] == ["6.7", "3", "1.5", "0.8", "0.5"]
    assert ada["viva_points"] == "0.9"
    assert (zoe["points"], zoe["kernel_points"], zoe["variant_points"]) == ("3", "0", "3")
    assert found["bob"]["points"] == ""
    pseudonyms = {"ada": "p-a", "bob": "p-b", "zoe": "p-z"}
    assert (
        "viva_points" in exports.export_pseudonymous(standing, pseudonyms).text.partition("\r\n")[0]
    )


def test_without_parts_tables_are_as_before(tmp_path: Path, standing: Standing) -> None:
    with use_gradebook(CourseFolder(tmp_path), read_only=True) as book:
        made = book.standing(parse_rules("", "course.toml"))
    text = exports.export_csv(made).text
    assert "kernel_points" not in text
    assert len(made.rows) == 6  # a variant is a lab of its own


def test_moodle_and_canvas_have_one_grade_for_a_lab(standing: Standing) -> None:
    text = moodle.worksheet(standing.rows).text
    (ada,) = (row for row in csv.reader(io.StringIO(text)) if "Ada Lovelace" in row)
    assert ada[4] == "6.7"
    for words in ("kernel 3 of 4, variant 1.5 of 3, prediction 0.8 of 1", "viva 0.9 of 1",
                  "Variant, FAIL: local_pages"):  # fmt: skip
        assert words in ada[-1]
    assert "Bob" not in text
    template = CsvTable(
        [
            ["Student", "ID", "First touch (11)"],
            ["    Points Possible", "", "10"],
            ["Ada", "1", "3"],
            ["Bob", "2", "3"],
        ]
    )
    filled = canvas.fill_table(template, standing.rows, {}, "gradebook.csv").text.splitlines()
    assert filled[2:] == ["Ada,1,6.7", "Bob,2,3"]


def test_gradescope_has_a_test_for_each_part(standing: Standing) -> None:
    data = results([row_of(standing, "ada")])
    assert data["score"] == 6.7
    tests = {test["name"]: test for test in data["tests"]}
    assert tests["correct"]["score"] == 3.0
    assert tests["variant: correct"]["score"] == 1.5
    assert (tests["prediction"]["score"], tests["prediction"]["max_score"]) == (0.8, 1.0)
    assert (tests["viva"]["score"], tests["viva"]["status"]) == (0.9, "failed")
    assert sum(test.get("score", 0) for test in data["tests"]) == pytest.approx(6.7)
    parts = data["extra_data"][LAB]["parts"]
    assert parts["diagnose"] == {
        "state": "graded", "weight": 10.0, "share": 0.5, "points": 0.5, "max_points": 1.0
    }  # fmt: skip
    assert "score" not in results([row_of(standing, "bob")])
    zoe = {test["name"]: test for test in results([row_of(standing, "zoe")])["tests"]}
    assert (zoe["kernel"]["score"], zoe["kernel"]["max_score"]) == (0, 4.0)
    assert "score" not in zoe["viva"]  # no mark yet


def test_classroom_50_has_a_test_for_each_part(standing: Standing) -> None:
    run = classroom50.read_runner_context(RUNNER)
    data = classroom50.result([row_of(standing, "ada")], [], run, AT)
    check(data)
    assert (data["score"], data["max-score"]) == (670, 1000)
    tests = {test["test-name"]: test for test in data["tests"]}
    assert sum(test["score"] for test in data["tests"]) == 670
    assert sum(test["max-score"] for test in data["tests"]) == 1000
    assert tests["diagnose"]["score"] == 50
    zoe = classroom50.result([row_of(standing, "zoe")], [], run, AT)
    check(zoe)
    assert {test["test-name"]: test["score"] for test in zoe["tests"]} == {
        "variant: correct": 300, "kernel": 0, "prediction": 0, "diagnose": 0,
        "viva (open, no mark yet)": 0,
    }  # fmt: skip


def test_junit_has_the_parts_as_properties(standing: Standing) -> None:
    suites = {
        suite.attrib["name"]: suite
        for suite in ElementTree.fromstring(junit.report(standing.rows, []))
    }
    ada = suites[f"ada {LAB}"]
    assert {p.attrib["name"]: p.attrib["value"] for p in ada.iter("property")} == {
        "kernel": "3 of 4", "variant": "1.5 of 3", "prediction": "0.8 of 1",
        "diagnose": "0.5 of 1", "viva": "0.9 of 1",
    }  # fmt: skip
    names = [case.attrib["name"] for case in ada.iter("testcase")]
    check_text(names)
    assert suites[f"bob {LAB}"].attrib["errors"] == "1"
    failed = [
        case.attrib["name"]
        for case in suites[f"zoe {LAB}"].iter("testcase")
        if case.find("failure") is not None
    ]
    assert failed == ["kernel", "prediction", "diagnose"]
