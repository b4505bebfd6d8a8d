"""What other systems are told of one small class, each file as a whole."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from xml.etree import ElementTree

import pytest
from support.classroom50 import RUNNER
from support.courses import ADA, BOB, LAB, OTHER_LAB, ZOE, attempt, criterion, result
from support.exported_rows import BY_HAND, FAILED, GRADED, IN_PARTS, MISSING, NOT_TAKEN, part
from support.golden_texts import check_text, raises_text
from support.invented_class import row, standing

from numalab.course.exports import classroom50, exports, gradescope, junit
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Problem, Student
from numalab.errors import NumalabError

Json = dict[str, Any]
AT = datetime(2026, 10, 7, 8, 0, tzinfo=UTC)


# ---- the plain table -----------------------------------------------------------------

HEADER = (
    "lab,points,max_points,gradable_points,open_points,open_criteria,provisional,late_s,penalty,"
    "state,effort,language,node_type"
)


def test_the_plain_table_as_a_whole() -> None:
    made = exports.export_csv(standing([GRADED, FAILED, MISSING, NOT_TAKEN, BY_HAND]))
    header, ada, *rest = made.text.removesuffix("\r\n").split("\r\n")
    assert header == f"\ufeffstudent,name,email,{HEADER},graded_at,reason,notes"
    check_text(ada)
    check_text(rest)
    check_text([re.sub("[,;].*: ", ": ", line) for line in made.remarks])


def test_parts_have_columns_at_the_end_of_a_grade() -> None:
    names: Any = ("kernel", "prediction", "viva")
    waits = replace(IN_PARTS, student=ZOE, is_handed_in=False)
    made = replace(standing([waits, IN_PARTS, row(BOB, LAB, None)]), parts=names)
    text = exports.export_pseudonymous(made, {"ada": "p-b", "zoe": "p-c", "bob": "p-d"}).text
    check_text(text.splitlines())


def test_who_has_no_address_has_an_empty_cell() -> None:
    text = exports.export_csv(standing([replace(MISSING, student=Student("x", "X", {}))])).text
    assert text.splitlines()[1].startswith(f"x,X,,{LAB},,")


def test_nobody_is_told_of_by_order() -> None:
    text = exports.export_pseudonymous(
        standing([MISSING, FAILED]), {"zoe": "p-1", "bob": "p-2"}
    ).text
    assert [line[:3] for line in text.splitlines()[1:]] == ["p-1", "p-2"]
    text = exports.export_pseudonymous(
        standing([MISSING, FAILED]), {"zoe": "p-2", "bob": "p-1"}
    ).text
    assert [line[:3] for line in text.splitlines()[1:]] == ["p-1", "p-2"]


@pytest.mark.parametrize(
    ("points", "shown"),
    [(None, ""), (0.0, "0"), (10.0, "10"), (7.5, "7.5"), (1 / 3, "0.33"), (100.0, "100")],
)
def test_numbers_have_no_zeros_at_their_end(points: float | None, shown: str) -> None:
    assert exports.format_points(points) == shown


def test_of_many_the_first_are_named() -> None:
    names = [f"n{k}" for k in range(12)]
    assert exports.list_remark("Left", []) == ()
    assert exports.list_remark("Left", names[:10]) == (f"Left: {', '.join(names[:10])}.",)
    check_text(exports.list_remark("Left", names[:11]))
    check_text(exports.list_remark("Left", names, separator="; "))


# ---- Gradescope ----------------------------------------------------------------------


def test_gradescopes_file_as_a_whole() -> None:
    found = replace(GRADED, notes=(), late_s=0.0, penalty=0.0, is_late_unknown=False, points=8.33)
    found = replace(found, max_points=16.0, gradable_points=12.8, is_preliminary=False)
    data = gradescope.results([found], [Problem("x.txt", "No kernel.")])
    output = data.pop("output").split("\n")
    check_text(output[0])
    assert output[-2:] == ["", "No kernel."]
    assert data == {
        "execution_time": 90.0,
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "score": 8.33,
        "tests": [
            {"name": "correct", "output": "correct is pass.", "visibility": "visible",
             "status": "passed", "score": 10.0, "max_score": 10.0},
            {"name": "local_pages", "visibility": "visible", "status": "failed",
             "output": "0.50, asked for: 0.95 or more. 50 % of the pages live elsewhere.",
             "score": 0.0, "max_score": 2.0},
            {"name": "speedup", "visibility": "visible",
             "output": "Not graded (n/a): This machine has 1 NUMA node."},
            {"name": "efficiency", "visibility": "visible",
             "output": "Not graded (open): That could be chance."},
        ],
        "extra_data": {
            LAB: {
                "points": 8.33, "max_points": 16.0, "gradable_points": 12.8, "open_points": 4.0,
                "provisional": False, "late_s": 0.0, "late_unknown": False, "not_taken": False,
                "penalty": 0.0,
            }
        },
    }  # fmt: skip


def test_gradescope_is_told_of_parts_and_places() -> None:
    data = gradescope.results([IN_PARTS, NOT_TAKEN])
    assert data["execution_time"] == 2.3
    assert data["score"] == 5.5
    assert [
        (one["name"], one.get("status"), one.get("score"), one.get("max_score"))
        for one in data["tests"]
    ] == [
        (f"{LAB}: correct", "passed", 1.6, 1.6), (f"{LAB}: local_pages", "failed", 0, 2.4),
        (f"{LAB}: variant: correct", "passed", 1.5, 1.5),
        (f"{LAB}: variant: local_pages", "failed", 0, 1.5),
        (f"{LAB}: diagnose", "failed", 0, 1.5), (f"{LAB}: viva", None, None, None),
    ]  # fmt: skip
    parts = data["extra_data"][LAB]["parts"]
    assert list(parts) == ["kernel", "variant", "prediction", "diagnose", "viva"]
    assert parts["kernel"] == {
        "state": "graded", "weight": 1.0, "share": 0.4, "points": 1.6, "max_points": 4
    }  # fmt: skip
    assert (parts["prediction"]["share"], parts["diagnose"]["share"]) == (None, 0)
    assert data["extra_data"][OTHER_LAB]["not_taken"] is True
    assert "parts" not in data["extra_data"][OTHER_LAB]
    assert data["output"].startswith(f"{LAB}\n5.5 of 10 points")
    check_text(data["output"])


def test_a_part_that_gives_all_has_passed_in_gradescope() -> None:
    whole = replace(IN_PARTS, parts=(part("viva", "graded", 2, 2, "a mark"),), variant=None)
    assert "score" not in gradescope.results([whole])["tests"][0]  # the kernel is no part
    assert gradescope.results([whole])["tests"][-1] == {
        "name": "viva", "output": "viva 2 of 2: a mark", "visibility": "visible",
        "status": "passed", "score": 2, "max_score": 2,
    }  # fmt: skip


def test_a_clock_that_was_put_back_takes_no_time_away() -> None:
    assert GRADED.attempt is not None
    put_back = replace(GRADED.attempt, ended_at="2027-05-04T09:00:00+00:00")
    assert gradescope.results([replace(GRADED, attempt=put_back)])["execution_time"] == 0


def test_what_waits_has_no_score_in_gradescope() -> None:
    data = gradescope.results([GRADED, replace(FAILED, student=ADA, lab=OTHER_LAB)])
    assert "score" not in data
    assert not [one for one in data["tests"] if "score" in one or "max_score" in one]
    assert data["tests"][0]["status"] == "passed"
    assert gradescope.results([replace(MISSING, points=None)])["score"] == 0


# ---- Classroom 50 --------------------------------------------------------------------


def c50(*rows: StandingRow, problems: Any = (), **more: str) -> Json:
    return classroom50.result(rows, problems, classroom50.read_runner_context(RUNNER | more), AT)


def test_classroom_50s_file_as_a_whole() -> None:
    there = result(5, 1, 2, still_open=2)
    there["criteria"][1]["where"] = "hydra"
    found = replace(GRADED, attempt=attempt(ADA, there), max_points=16.0, points=10.0)
    at = AT.astimezone(timezone(timedelta(hours=2)))
    review = "https://example.org/pull/1"
    run = classroom50.read_runner_context(RUNNER | {"REVIEW_URL": review})
    assert classroom50.result([found], [], run, at) == {
        "schema": "classroom50/result/v1",
        "classroom": "pp",
        "assignment": "first-touch",
        "assignment_type": "individual",
        "owner": "made-up-ada",
        "submission": RUNNER["SUBMISSION_TAG"],
        "commit": RUNNER["COMMIT_URL"],
        "release": RUNNER["RELEASE_URL"],
        "review": review,
        "datetime": "2026-10-07T08:00:00Z",
        "graded_at": "2026-10-07T08:00:00Z",
        "score": 1000,
        "max-score": 1600,
        "tests": [
            {"test-name": "correct", "passed": True, "score": 1000, "max-score": 1000,
             "output": "correct is pass."},
            {"test-name": "local_pages on hydra", "passed": False, "score": 0, "max-score": 200,
             "output": "0.50, asked for: 0.95 or more. 50 % of the pages live elsewhere."},
            {"test-name": "efficiency (open, not decided yet)", "passed": False, "score": 0,
             "max-score": 400, "output": "That could be chance."},
        ],
    }  # fmt: skip


def test_classroom_50_is_told_of_parts() -> None:
    data = c50(IN_PARTS, replace(MISSING, lab=OTHER_LAB))
    assert (data["score"], data["max-score"]) == (550, 2000)
    assert [
        (one["test-name"], one["passed"], one["score"], one["max-score"]) for one in data["tests"]
    ] == [
        (f"{LAB}: correct", True, 160, 160), (f"{LAB}: local_pages", False, 0, 240),
        (f"{LAB}: variant: correct", True, 150, 150),
        (f"{LAB}: variant: local_pages", False, 0, 150), (f"{LAB}: diagnose", False, 0, 150),
        (f"{LAB}: viva (open, no mark yet)", False, 0, 150),
        (f"{OTHER_LAB}: handed in", False, 0, 1000),
    ]  # fmt: skip
    whole = replace(IN_PARTS, parts=(part("viva", "graded", 2, 2, "a mark"),), variant=None)
    assert c50(whole)["tests"][-1] == {
        "test-name": "viva", "passed": True, "score": 200, "max-score": 200,
        "output": "viva 2 of 2: a mark",
    }  # fmt: skip


def test_a_variant_that_was_not_graded_has_no_criteria() -> None:
    assert IN_PARTS.variant is not None
    found = replace(IN_PARTS, variant=replace(IN_PARTS.variant, attempt=None))
    names = ["correct", "local_pages", "variant", "diagnose"]
    assert [one["test-name"] for one in c50(found)["tests"]][:4] == names
    assert [one["name"] for one in gradescope.results([found])["tests"]][:4] == names


def test_classroom_50s_runner_may_say_nothing_of_a_review() -> None:
    said = {name: value for name, value in RUNNER.items() if name != "REVIEW_URL"}
    assert classroom50.read_runner_context(said)["REVIEW_URL"] == ""


def test_classroom_50_is_told_why_there_is_nothing() -> None:
    problem = Problem("x.txt", "No kernel.")
    assert c50(problems=[problem, problem])["tests"] == [
        {"test-name": "handed in", "passed": False, "score": 0, "max-score": 0,
         "output": "No kernel. No kernel."}
    ]  # fmt: skip
    (test,) = c50(NOT_TAKEN, problems=[problem])["tests"]
    assert test == {
        "test-name": f"{OTHER_LAB}: handed in", "passed": False, "score": 0, "max-score": 1000,
        "output": "Broken. No kernel.",
    }  # fmt: skip
    (test,) = c50(replace(MISSING, notes=()))["tests"]
    check_text(test["output"])
    by_hand = replace(MISSING, points=4.0, override_reason="oral")
    assert (c50(by_hand)["tests"], c50(by_hand)["score"]) == ([], 400)
    assert c50(replace(by_hand, points=12.0))["score"] == 1000
    absent = replace(IN_PARTS, is_handed_in=False, variant=None, attempt=None, points=None)
    assert [one["test-name"] for one in c50(absent)["tests"]] == [f"{LAB}: handed in"]
    failed = row(ADA, LAB, attempt(ADA, result(0, 10)))
    assert [one["test-name"] for one in c50(failed)["tests"]] == ["local_pages"]
    with raises_text(NumalabError):
        c50(FAILED, GRADED)


# ---- JUnit ---------------------------------------------------------------------------


def suites(*rows: StandingRow, problems: Any = ()) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(junit.report(rows, problems))
    return {suite.attrib["name"]: suite for suite in root}


def shape(suite: ElementTree.Element) -> list[tuple[str, list[str]]]:
    return [(case.attrib["name"], [kind.tag for kind in case]) for case in suite.iter("testcase")]


def test_junits_report_as_a_whole() -> None:
    one = attempt(ADA, {
        "lab": LAB, "language": "c", "variant": "submission", "status": "fail", "points": 2,
        "max_points": 6, "ungraded_points": 1,
        "criteria": [
            criterion("correct", "pass", 2),
            criterion("spread", "fail", 3, "Far.\nOff.", where="x"),
            criterion("still", "not_gradable", 1, "No nodes."),
        ],
    })  # fmt: skip
    text = junit.report([row(ADA, LAB, one, points=4.0, max_points=10.0)], [])
    check_text(ElementTree.fromstring(text).findtext(".//system-out") or "")


def test_junit_tells_of_parts_and_of_nothing() -> None:
    found = suites(IN_PARTS, FAILED, MISSING, NOT_TAKEN, problems=[Problem("x", "No.\nNone.")])
    ada = found[f"ada {LAB}"]
    assert [(one.attrib["name"], one.attrib["value"]) for one in ada.iter("property")] == [
        ("kernel", "1.6 of 4"), ("variant", "1.5 of 3"), ("prediction", "left out"),
        ("diagnose", "0 of 1.5"), ("viva", "0 of 1.5"),
    ]  # fmt: skip
    assert shape(ada) == [
        ("diagnose", ["failure"]), ("correct", []), ("local_pages", ["failure"]),
        ("variant: correct", []), ("variant: local_pages", ["failure"]),
    ]  # fmt: skip
    assert ada.find("system-out") is not None
    assert shape(found[f"bob {LAB}"]) == [("graded", ["error"])]
    assert shape(found[f"zoe {LAB}"]) == [("graded", ["failure"])]
    assert found[f"zoe {LAB}"].find("system-out") is None
    assert found[f"zoe {LAB}"].find("properties") is None
    (said,) = found["hand-in"].iter("failure")
    assert (said.attrib["message"], said.text) == ("No.", "No.\nNone.")
    assert "hand-in" not in suites(MISSING)


def test_junit_tells_what_was_spoilt_beside_its_criteria() -> None:
    spoilt = replace(IN_PARTS, points=None)
    assert shape(suites(spoilt)[f"ada {LAB}"])[0] == ("graded", ["error"])
    assert shape(suites(replace(spoilt, parts=()))[f"ada {LAB}"])[0] == ("correct", [])
    alone = suites(replace(IN_PARTS, attempt=None))[f"ada {LAB}"]
    assert [name for name, _ in shape(alone)] == [
        "diagnose", "variant: correct", "variant: local_pages"
    ]  # fmt: skip
    assert alone.find("system-out") is not None
    by_hand = replace(MISSING, points=5.0, override_reason="oral")
    assert shape(suites(by_hand)[f"zoe {LAB}"]) == [("graded", [])]
    absent = replace(IN_PARTS, is_handed_in=False, variant=None, attempt=None, points=None)
    assert shape(suites(absent)[f"ada {LAB}"]) == [("graded", ["failure"])]
