"""Tables of Canvas and Moodle, filled for a small class and held as wholes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.courses import ADA, LAB, OTHER_LAB, ZOE
from support.exported_rows import BY_HAND, FAILED, GRADED, MISSING, NOT_TAKEN
from support.golden_texts import check_text, raises_text

from numalab.course.csv_files import CsvTable
from numalab.course.exports import canvas, moodle
from numalab.course.records import Student
from numalab.errors import UserError

# ---- Canvas --------------------------------------------------------------------------

CANVAS = [
    ["Student", "ID", "SIS Login ID", "01 first touch (1)", "Affinity (2)", "Essay (3)"],
    ["    Points Possible", "", "", "10", "10,0", "5"],
    ["Ada", "1", "x", "", "1", ""],
    ["Bob", "", "BOB9", "3", " ex ", ""],
    ["Zoë", "3", "", "", "", ""],
    ["", "", "", "", "", ""],
    [],
    ["Nobody", "", "", "7", "", ""],
]


def test_canvas_table_as_a_whole() -> None:
    rows = [GRADED, FAILED, MISSING, replace(NOT_TAKEN, points=4.0, is_handed_in=True),
            BY_HAND, replace(MISSING, student=ADA, lab=OTHER_LAB)]  # fmt: skip
    made = canvas.fill_table(CsvTable(CANVAS), rows, {}, "c.csv")
    after = [list(line) for line in CANVAS]
    after[2][3], after[4][4] = "6.25", "3.46"
    assert made.text == CsvTable(after).text()
    check_text([line for line in made.remarks if not line.startswith(("Prov", "Late", "Handed"))])
    assert len(made.remarks) == 5


def test_a_login_in_canvas_is_no_other_students_address() -> None:
    ada = replace(GRADED, student=Student("ada", "Ada", {"login": "Bob@example.org"}))
    bob = replace(GRADED, student=Student("bob", "Bob", {"email": "bob@example.org"}), points=1.0)
    template = CsvTable([["Student", "ID", "SIS Login ID", "First touch (1)"],
                         ["A", "", "bob@EXAMPLE.org", ""]])  # fmt: skip
    for rows in ([ada, bob], [bob, ada]):
        assert canvas.fill_table(template, rows, {}, "c.csv").text.endswith("org,6.25\r\n")
    twin = replace(bob, student=Student("ada2", "Ada", ada.student.external))
    assert canvas.fill_table(template, [ada, twin], {}, "c.csv").text.endswith("org,\r\n")


def test_canvas_without_a_line_of_points_and_with_names_apart() -> None:
    template = CsvTable([["LastName", "FirstName", "ID", "Warm-up (1)"], ["L", "A", "1", ""]])
    made = canvas.fill_table(template, [GRADED, BY_HAND], {LAB: "Warm-up"}, "c.csv")
    assert made.text.splitlines()[1] == "L,A,1,6.25"
    check_text(made.remarks[-2:])


def test_canvas_has_blank_lines_and_labs_without_numbers() -> None:
    template = CsvTable([["Student", "ID", "Affinity (1)", "Essay (2)"], [], ["A", "1", "", ""]])
    lab = replace(GRADED, lab="affinity")
    assert canvas.fill_table(template, [lab], {}, "c.csv").text.splitlines()[2] == "A,1,6.25,"


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
    template = CsvTable([["Student", "ID", *titles], ["Ada", "1", "", ""]])
    cells = canvas.fill_table(template, [GRADED], {}, "c.csv").text.splitlines()[1].split(",")[2:]
    assert cells[taken] == "6.25" and cells[1 - taken] == ""


def test_what_canvas_has_not_is_refused_by_name() -> None:
    template = CsvTable([["Student", "ID", "Essay (3)"], ["Points Possible", "", "(read only)"]])
    with raises_text(UserError):
        canvas.fill_table(template, [GRADED], {LAB: "Exam"}, "c.csv")
    with raises_text(UserError):
        canvas.fill_table(template, [GRADED], {}, "c.csv")
    with raises_text(UserError):
        canvas.fill_table(template, [GRADED], {LAB: "Essay"}, "c.csv")
    with raises_text(UserError):
        canvas.fill_table(CsvTable([template.rows[0], ["Ada", ""]]), [GRADED], {}, "c.csv")
    for header in (["Student", "SIS Login ID"], ["ID", "Student"]):
        with raises_text(UserError):
            canvas.fill_table(CsvTable([header]), [GRADED], {}, "c.csv")


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
    assert [line.partition(":")[0][:20] for line in made.remarks] == [
        "No grade, so not in ", "Provisional, since p", "Late by Canvas, hour",
        "Not in the file, sin", "Moodle leaves out wh",
    ]  # fmt: skip
    assert "X (x)" in made.remarks[3]


WORKSHEET = [
    ["Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Grade can be changed",
     "Last modified (grade)", "Feedback comments"],
    ["Participant 101", "A", "", "", "10,00", "Yes", "-", "mine"],
    ["Participant 9", "Bob", "bob@example.org", "2", "10", "Yes", "-", ""],
    ["Participant 8", "Zoë Ångström", "", "", "", "no", "-", ""],
    [""] * 8,
    ["Participant 7", "", "", "1", "10", "Yes", "-", ""],
]  # fmt: skip


def test_in_moodles_comment_only_markup_is_escaped() -> None:
    said = moodle.comment(replace(FAILED, notes=('Say "x" & <b>it\'s</b>',)))
    check_text(said)


def test_moodles_own_worksheet_as_a_whole() -> None:
    zoe = replace(BY_HAND, lab=LAB)
    lost = replace(GRADED, student=Student("x", "X", {}))
    made = moodle.fill_worksheet(
        CsvTable(WORKSHEET, line_end="\n"), [GRADED, FAILED, zoe, lost], "w.csv"
    )
    after = [list(line) for line in WORKSHEET]
    after[1][3], after[1][7] = "6.25", f"mine{moodle.comment(GRADED)}"
    assert made.text == CsvTable(after, line_end="\n").text()
    told = [line for line in made.remarks if not line.startswith(("Prov", "Late"))]
    check_text(told)
    assert "X (x)" not in made.remarks[1]


def test_moodles_worksheet_may_have_three_columns() -> None:
    template = CsvTable(
        [["Identifier", "Grade", "Feedback comments"], ["Participant 101", "", ""], []]
    )
    ungraded = replace(MISSING, student=Student("x", "X", {}))
    made = moodle.fill_worksheet(template, [GRADED, ungraded], "w.csv")
    assert made.text.splitlines()[1].startswith("Participant 101,6.25,")
    assert not [line for line in made.remarks if "X (x)" in line]


def test_digits_in_another_column_are_no_number_of_a_participant() -> None:
    header = ["Full name", "Identifier", "Grade", "Feedback comments"]
    lines = [["Group 101", "Participant 7", "", ""], ["B", "Participant 101", "", ""]]
    made = moodle.fill_worksheet(CsvTable([header, *lines]), [GRADED], "w.csv").text
    first, second = made.splitlines()[1:3]
    assert (first, second[:24]) == ("Group 101,Participant 7,,", 'B,Participant 101,6.25,"')
    without = moodle.fill_worksheet(
        CsvTable([["Full name", "Grade", "Feedback comments"], ["Group 101", "", ""]]), [GRADED], ""
    )
    assert without.text.splitlines()[1] == "Group 101,,"


def test_a_name_that_two_have_finds_nobody_in_moodle() -> None:
    line = ["Participant 8", "Zoë Ångström", "", "", "10", "Yes", "-", ""]
    template = CsvTable([WORKSHEET[0], line, ["Participant 9", *line[1:]]])
    zoe = replace(BY_HAND, lab=LAB)
    made = moodle.fill_worksheet(template, [zoe], "w.csv")
    unknown = "In the worksheet, and not in the gradebook"
    assert made.remarks[-1] == f"{unknown}: Zoë Ångström, Zoë Ångström."
    twin = replace(zoe, student=Student("zoe2", ZOE.name, {}))
    made = moodle.fill_worksheet(CsvTable([WORKSHEET[0], line]), [zoe, twin], "w.csv")
    assert made.remarks[-1] == f"{unknown}: Zoë Ångström."


@pytest.mark.parametrize(
    "header",
    [
        ["Identifier", "Grade"],
        ["Identifier", "Feedback comments"],
    ],
)
def test_a_column_that_moodles_worksheet_lacks_is_named(header: list[str]) -> None:
    with raises_text(UserError) as raised:
        moodle.fill_worksheet(CsvTable([header]), [GRADED], "w.csv")
    assert ("switch on feedback" in str(raised.value)) is ("Grade" in header)
    with raises_text(UserError):
        moodle.fill_worksheet(CsvTable([header]), [GRADED], "w.csv", grade_column="Points")
    with raises_text(UserError):
        moodle.fill_worksheet(CsvTable([WORKSHEET[0], ["x"]]), [GRADED], "w.csv")
