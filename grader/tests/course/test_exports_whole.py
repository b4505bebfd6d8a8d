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
from support.invented_class import row, standing

from numalab.course.csv_files import Table
from numalab.course.exports import canvas, classroom50, exports, gradescope, junit, moodle
from numalab.course.gradebook.parts import Part, Shown
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Problem, Student
from numalab.errors import KitError, UserError

Json = dict[str, Any]
AT = datetime(2026, 10, 7, 8, 0, tzinfo=UTC)
VARIANT = f"{LAB}_variant"


def part(name: Any, state: Any, most: float, points: float, why: str = "") -> Part:
    return Part(Shown(name, state, points / most if most else 0.0, why), 1.0, most, points)


GRADED = row(
    ADA, LAB, replace(attempt(ADA, result(5, 1, 2, still_open=2)), ended_at="2027-05-04T10:01:30Z"),
    points=6.25, gradable_points=8.0, is_provisional=True, late_s=5400.4, penalty=0.25,
    language="c", notes=("A note.",), is_late_unknown=True,
)  # fmt: skip
FAILED = row(
    BOB, LAB, None, notes=("Not graded.",),
    others=(attempt(BOB, state="lost"), attempt(BOB, state="preempted", number=2),
            attempt(BOB, result(10), effort="quick", number=3)),
)  # fmt: skip
MISSING = row(ZOE, LAB, None, is_handed_in=False, notes=("Nothing was handed in.",))
NOT_TAKEN = replace(MISSING, student=BOB, lab=OTHER_LAB, is_not_taken=True, notes=("Broken.",))
BY_HAND = row(
    ZOE, OTHER_LAB, attempt(ZOE, result(10), lab=OTHER_LAB), points=3.456, override_reason="=oral"
)
IN_PARTS = replace(
    row(ADA, LAB, attempt(ADA, result(4, 6)), points=5.5),
    parts=(
        part("kernel", "graded", 4, 1.6), part("variant", "graded", 3, 1.5),
        part("prediction", "left out", 0, 0), part("diagnose", "missing", 1.5, 0),
        part("viva", "open", 1.5, 0),
    ),
    variant=row(
        ADA, VARIANT, replace(attempt(ADA, result(5, 5), lab=VARIANT),
                              started_at="2027-05-04T09:59:57.7+00:00"),
        points=1.5, max_points=3.0, is_part=True,
    ),
)  # fmt: skip


# ---- the plain table -----------------------------------------------------------------

HEADER = (
    "lab,points,max_points,gradable_points,open_points,open_criteria,provisional,late_s,penalty,"
    "state,effort,language,node_type"
)


def test_the_plain_table_as_a_whole() -> None:
    made = exports.plain(standing([GRADED, FAILED, MISSING, NOT_TAKEN, BY_HAND]))
    node = '"1 package, 1 NUMA node, 4 cores (Laptop)"'
    header, ada, *rest = made.text.removesuffix("\r\n").split("\r\n")
    assert header == f"\ufeffstudent,name,email,{HEADER},graded_at,reason,notes"
    assert ada.startswith(
        f"ada,Ada Lovelace,Ada@Example.org,{LAB},6.25,10,8,2.5,efficiency,yes,5400,0.25,graded,"
        f"default,c,{node},2027-05-04T10:01:30Z,,"
    )
    assert ada.endswith('after the deadline: 25 % taken off. A note."')
    assert rest == [
        f"bob,Bob <b>Bold</b>,bob@example.org,{LAB},,10,,0,,no,0,0,"
        "not graded: the job had to make room for another,,,,,,Not graded.",
        f"zoe,Zoë Ångström,zoe@example.org,{LAB},,10,,0,,no,0,0,not handed in,,,,,,"
        "Nothing was handed in.",
        f"bob,Bob <b>Bold</b>,bob@example.org,{OTHER_LAB},,10,,0,,no,0,0,\"handed in, can't be "
        'taken",,,,,,Broken.',
        f"zoe,Zoë Ångström,zoe@example.org,{OTHER_LAB},3.46,10,10,0,,no,0,0,set by hand,default,,"
        f"{node},2027-05-04T10:00:00+00:00,'=oral,Set by hand: =oral.",
    ]
    assert [re.sub("[,;].*: ", ": ", line) for line in made.told] == [
        "Provisional: efficiency (2 points).",
        "Late by Canvas: Ada Lovelace (ada) in 01_first_touch.",
        "Handed in: Bob <b>Bold</b> (bob) in 02_affinity.",
    ]


def test_parts_have_columns_at_the_end_of_a_grade() -> None:
    names: Any = ("kernel", "prediction", "viva")
    waits = replace(IN_PARTS, student=ZOE, is_handed_in=False)
    made = replace(standing([waits, IN_PARTS]), parts=names)
    text = exports.pseudonymous(made, {"ada": "p-b", "zoe": "p-c"}).text
    node = '"1 package, 1 NUMA node, 4 cores (Laptop)"'
    grade = f"{LAB},5.5,10,10,0,,no,0,0,graded,default,,{node}"
    assert text == (
        f"\ufeffpseudonym,{HEADER},kernel_points,prediction_points,viva_points\r\n"
        f"p-b,{grade},1.6,,0\r\np-c,{grade},,,\r\n"
    )


def test_nobody_is_told_of_by_order() -> None:
    text = exports.pseudonymous(standing([MISSING, FAILED]), {"zoe": "p-1", "bob": "p-2"}).text
    assert [line[:3] for line in text.splitlines()[1:]] == ["p-1", "p-2"]
    text = exports.pseudonymous(standing([MISSING, FAILED]), {"zoe": "p-2", "bob": "p-1"}).text
    assert [line[:3] for line in text.splitlines()[1:]] == ["p-1", "p-2"]


@pytest.mark.parametrize(
    ("points", "shown"),
    [(None, ""), (0.0, "0"), (10.0, "10"), (7.5, "7.5"), (1 / 3, "0.33"), (100.0, "100")],
)
def test_numbers_have_no_zeros_at_their_end(points: float | None, shown: str) -> None:
    assert exports.number(points) == shown


def test_of_many_the_first_are_named() -> None:
    names = [f"n{k}" for k in range(12)]
    assert exports.told_of("Left", []) == ()
    assert exports.told_of("Left", names[:10]) == (f"Left: {', '.join(names[:10])}.",)
    assert exports.told_of("Left", names[:11]) == (f"Left: {', '.join(names[:10])} and 1 more.",)
    assert exports.told_of("Left", names, most=2, separator="; ") == ("Left: n0; n1 and 10 more.",)


# ---- Gradescope ----------------------------------------------------------------------


def test_gradescopes_file_as_a_whole() -> None:
    found = replace(GRADED, notes=(), late_s=0.0, penalty=0.0, is_late_unknown=False, points=8.33)
    found = replace(found, max_points=16.0, gradable_points=12.8, is_provisional=False)
    data = gradescope.results([found], [Problem("x.txt", "No kernel.")])
    output = data.pop("output").split("\n")
    assert output[0].startswith("8.33 of 16 points: 5 of 8 points in C (2 open")
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
    assert f"\n\n{OTHER_LAB}\nNo grade.\nBroken." in data["output"]


def test_what_waits_has_no_score_in_gradescope() -> None:
    data = gradescope.results([GRADED, replace(FAILED, student=ADA, lab=OTHER_LAB)])
    assert "score" not in data
    assert not [one for one in data["tests"] if "score" in one or "max_score" in one]
    assert data["tests"][0]["status"] == "passed"
    assert gradescope.results([replace(MISSING, points=None)])["score"] == 0


# ---- Classroom 50 --------------------------------------------------------------------


def c50(*rows: StandingRow, problems: Any = (), **more: str) -> Json:
    return classroom50.result(rows, problems, classroom50.run_of(RUNNER | more), AT)


def test_classroom_50s_file_as_a_whole() -> None:
    there = result(5, 1, 2, still_open=2)
    there["criteria"][1]["where"] = "hydra"
    found = replace(GRADED, attempt=attempt(ADA, there), max_points=16.0, points=10.0)
    at = AT.astimezone(timezone(timedelta(hours=2)))
    review = "https://example.org/pull/1"
    run = classroom50.run_of(RUNNER | {"REVIEW_URL": review})
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
    assert test["output"] == "Nothing was handed in."
    by_hand = replace(MISSING, points=4.0, override_reason="oral")
    assert (c50(by_hand)["tests"], c50(by_hand)["score"]) == ([], 400)
    assert c50(replace(by_hand, points=12.0))["score"] == 1000
    with pytest.raises(KitError, match=rf"\({LAB}: Not graded\.\)"):
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
    words = ElementTree.fromstring(text).findtext(".//system-out")
    name = f"ada {LAB}"
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="numalab">\n'
        f'  <testsuite name="{name}" tests="3" failures="1" errors="0" skipped="1">\n'
        f'    <testcase classname="{name}" name="correct" time="0" />\n'
        f'    <testcase classname="{name}" name="spread on x" time="0">\n'
        '      <failure message="Far.">Far.\nOff.</failure>\n    </testcase>\n'
        f'    <testcase classname="{name}" name="still" time="0">\n'
        '      <skipped message="Not graded (n/a): No nodes.">Not graded (n/a): No nodes.'
        f"</skipped>\n    </testcase>\n    <system-out>{words}</system-out>\n"
        "  </testsuite>\n</testsuites>\n"
    )


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
    by_hand = replace(MISSING, points=5.0, override_reason="oral")
    assert shape(suites(by_hand)[f"zoe {LAB}"]) == [("graded", [])]
    absent = replace(IN_PARTS, is_handed_in=False, variant=None, attempt=None, points=None)
    assert shape(suites(absent)[f"ada {LAB}"]) == [("graded", ["failure"])]


# ---- Canvas --------------------------------------------------------------------------

CANVAS = [
    ["Student", "ID", "SIS Login ID", "01 first touch (1)", "Affinity (2)", "Essay (3)"],
    ["    Points Possible", "", "", "10", "10,0", "5"],
    ["Ada", "1", "x", "", "1", ""],
    ["Bob", "", "BOB9", "3", " ex ", ""],
    ["Zoë", "3", "", "", "", ""],
    ["", "", "", "", "", ""],
    ["Nobody", "", "", "7", "", ""],
]


def test_canvas_table_as_a_whole() -> None:
    rows = [GRADED, FAILED, MISSING, replace(NOT_TAKEN, points=4.0, is_handed_in=True),
            BY_HAND, replace(MISSING, student=ADA, lab=OTHER_LAB)]  # fmt: skip
    made = canvas.filled(Table(CANVAS), rows, {}, "c.csv")
    after = [list(line) for line in CANVAS]
    after[2][3], after[4][4] = "6.25", "3.46"
    assert made.text == Table(after).text()
    assert [line for line in made.told if not line.startswith(("Prov", "Late", "Handed"))] == [
        f"No grade, left as it was: Bob <b>Bold</b> in {LAB}, Zoë Ångström in {LAB}, "
        f"Ada Lovelace in {OTHER_LAB}.",
        f"Left as it was: Bob in {OTHER_LAB} (excused).",
    ]
    assert len(made.told) == 5


def test_canvas_without_a_line_of_points_and_with_names_apart() -> None:
    template = Table([["LastName", "FirstName", "ID", "Warm-up (1)"], ["L", "A", "1", ""]])
    made = canvas.filled(template, [GRADED, BY_HAND], {LAB: "Warm-up"}, "c.csv")
    assert made.text.splitlines()[1] == "L,A,1,6.25"
    assert made.told[-2:] == (
        "Graded, and not in the table: Zoë Ångström (zoe).",
        f"Labs without a column: {OTHER_LAB}.",
    )


@pytest.mark.parametrize(
    ("titles", "taken"),
    [
        (["First touch (1)", "First touch again (2)"], 0),
        (["First touch bonus (1)", "01_First-Touch (2)"], 1),
        (["Touch (1)", "My first touch! (2)"], 1),
        (["First touch", "The first touch (2)"], 1),  # without a number it is no assignment
    ],
)
def test_a_labs_column_in_canvas_is_the_one_that_is_called_so(
    titles: list[str], taken: int
) -> None:
    template = Table([["Student", "ID", *titles], ["Ada", "1", "", ""]])
    cells = canvas.filled(template, [GRADED], {}, "c.csv").text.splitlines()[1].split(",")[2:]
    assert cells[taken] == "6.25" and cells[1 - taken] == ""


def test_what_canvas_has_not_is_refused_by_name() -> None:
    template = Table([["Student", "ID", "Essay (3)"], ["Points Possible", "", "(read only)"]])
    with pytest.raises(UserError, match=r"no column for 01_first_touch.*01_first_touch=Essay"):
        canvas.filled(template, [GRADED], {LAB: "Exam"}, "c.csv")
    with pytest.raises(UserError, match=r'"01_first_touch=Title"; the assignments are: Essay'):
        canvas.filled(template, [GRADED], {}, "c.csv")
    with pytest.raises(UserError, match=r"Essay \(3\) is read only"):
        canvas.filled(template, [GRADED], {LAB: "Essay"}, "c.csv")
    for header in (["Student", "SIS Login ID"], ["ID", "Student"]):
        with pytest.raises(UserError, match="not what Canvas exports"):
            canvas.filled(Table([header]), [GRADED], {}, "c.csv")


# ---- Moodle --------------------------------------------------------------------------


def test_moodles_worksheet_that_is_made_here_tells_whom_it_leaves_out() -> None:
    stranger = replace(GRADED, student=Student("x", "X", {"id": "7"}))
    by_number = replace(GRADED, student=Student("y", "-Y", {"identifier": "Participant 55"}))
    made = moodle.worksheet([GRADED, FAILED, stranger, by_number])
    header, ada, last = made.text.splitlines()
    assert header == ",".join(f'"{title}"' if "," in title else title for title in moodle.HEADER)
    comment = moodle.comment(GRADED)
    assert comment.startswith('<div class="numalab">6.25 of 10 points, provisional') and (
        comment.endswith("</div>") and comment.count("<br>") >= 5
    )
    assert ada.startswith("Participant 101,Ada Lovelace,Ada@Example.org,,6.25,10,Yes,-,-,")
    assert last.startswith("Participant 55,'-Y,,,6.25,10,Yes,-,-,")
    assert [line.partition(":")[0][:20] for line in made.told] == [
        "No grade, so not in ", "Provisional, since p", "Late by Canvas, hour",
        "Not in the file, sin", "Moodle leaves out wh",
    ]  # fmt: skip
    assert "X (x)" in made.told[3]


WORKSHEET = [
    ["Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Grade can be changed",
     "Last modified (grade)", "Feedback comments"],
    ["Participant 101", "A", "", "", "10,00", "Yes", "-", "mine"],
    ["Participant 9", "Bob", "bob@example.org", "2", "10", "Yes", "-", ""],
    ["Participant 8", "Zoë Ångström", "", "", "", "no", "-", ""],
    [""] * 8,
    ["Participant 7", "", "", "1", "10", "Yes", "-", ""],
]  # fmt: skip


def test_moodles_own_worksheet_as_a_whole() -> None:
    zoe = replace(BY_HAND, lab=LAB)
    lost = replace(GRADED, student=Student("x", "X", {}))
    made = moodle.filled(Table(WORKSHEET, line_end="\n"), [GRADED, FAILED, zoe, lost], "w.csv")
    after = [list(line) for line in WORKSHEET]
    after[1][3], after[1][7] = "6.25", f"mine{moodle.comment(GRADED)}"
    assert made.text == Table(after, line_end="\n").text()
    told = [line for line in made.told if not line.startswith(("Prov", "Late"))]
    assert told == [
        "No grade, left as it was: Bob <b>Bold</b> (bob).",
        "Moodle does not let this grade be changed, left as it was: Zoë Ångström (zoe).",
        "Graded, and not in the worksheet: X (x).",
        "In the worksheet, and not in the gradebook: Participant 7.",
    ]
    assert "X (x)" not in made.told[1]


def test_a_name_that_two_have_finds_nobody_in_moodle() -> None:
    line = ["Participant 8", "Zoë Ångström", "", "", "10", "Yes", "-", ""]
    template = Table([WORKSHEET[0], line, ["Participant 9", *line[1:]]])
    zoe = replace(BY_HAND, lab=LAB)
    made = moodle.filled(template, [zoe], "w.csv")
    unknown = "In the worksheet, and not in the gradebook"
    assert made.told[-1] == f"{unknown}: Zoë Ångström, Zoë Ångström."
    twin = replace(zoe, student=Student("zoe2", ZOE.name, {}))
    made = moodle.filled(Table([WORKSHEET[0], line]), [zoe, twin], "w.csv")
    assert made.told[-1] == f"{unknown}: Zoë Ångström."


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (["Identifier", "Grade"], r"'Feedback comments'.*--feedback-column.*switch on feedback"),
        (["Identifier", "Feedback comments"], r"'Grade'.*--grade-column; there are: Identifier"),
    ],
)
def test_a_column_that_moodles_worksheet_lacks_is_named(header: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said) as raised:
        moodle.filled(Table([header]), [GRADED], "w.csv")
    assert ("switch on feedback" in str(raised.value)) is ("Grade" in header)
    with pytest.raises(UserError, match="no column 'Points'; there are: Identifier"):
        moodle.filled(Table([header]), [GRADED], "w.csv", grade_column="Points")
    with pytest.raises(UserError, match=r"w\.csv, line 2: 1 cells and not 8"):
        moodle.filled(Table([WORKSHEET[0], ["x"]]), [GRADED], "w.csv")
