"""Grades of one lab as Moodle's offline grading worksheet.

A worksheet is downloaded from an assignment (Grading action: Download grading worksheet), filled,
and uploaded there again. What is done here follows Moodle's importer
(mod/assign/feedback/offline/importgradeslib.php and locallib.php, and grade/import/csv):

- it finds the student by the number in the column Identifier, and needs the columns Grade and
  Last modified (grade), in the language of the user who uploads it (moodle_columns.py);
- a grade above the assignment's maximum is left out without a message;
- feedback is HTML, and is taken even if the grade is not;
- the course's own import (Grades, Import, CSV file) finds students by an e-mail address that is
  compared with case; an empty grade deletes the one that is there, and so does feedback whose
  grade column is not mapped (https://docs.moodle.org/en/Grade_import).

So a row is given both grade and feedback, or stays as it is, such as that of a student without a
grade.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.csv_files import CsvTable, escape_formula, format_table
from numalab.course.exports.exports import (
    ExportedFile,
    format_points,
    late_remark,
    list_remark,
    not_taken_remark,
    student_labels,
    undecided_remark,
)
from numalab.course.gradebook.feedback import feedback_lines
from numalab.course.gradebook.standing import StandingRow
from numalab.course.intake.moodle_columns import LANGUAGES, Column, participant, read_header
from numalab.errors import UserError

IDENTIFIER, FULL_NAME, EMAIL = "Identifier", "Full name", "Email address"
GRADE, MAXIMUM, FEEDBACK = "Grade", "Maximum grade", "Feedback comments"
CHANGEABLE, MODIFIED = "Grade can be changed", "Last modified (grade)"
HEADER = (
    IDENTIFIER, FULL_NAME, EMAIL, "Status", GRADE, MAXIMUM, CHANGEABLE,
    "Last modified (submission)", MODIFIED, FEEDBACK,
)  # fmt: skip
PARTICIPANT = "Participant "
_MAX_INSPECTED_ROWS = 200  # rows by which columns are recognized
# numalab's part of a comment, which the next export replaces, leaving the rest.
_OURS = re.compile(r'<div class="numalab">.*?</div>', re.DOTALL)


def comment(row: StandingRow) -> str:
    """Return a grade's feedback as HTML in which nothing that a student wrote is markup."""
    lines = (html.escape(line, quote=False) for line in feedback_lines(row))
    return f'<div class="numalab">{"<br>".join(lines)}</div>'


def _insert_comment(existing: str, ours: str) -> str:
    """Return a comment with numalab's part replaced or added; what is written by hand stays."""
    if _OURS.search(existing):
        return _OURS.sub(lambda found: ours, existing, count=1)
    return existing + ours


def worksheet(rows: Sequence[StandingRow]) -> ExportedFile:
    """Make a worksheet of one lab without a template. Students without a grade, or with neither
    Moodle's identifier nor an e-mail address, have no row."""
    graded = [row for row in rows if row.points is not None]
    known = [row for row in graded if _identifier(row) or row.student.external.get("email")]
    cells = (
        [
            _identifier(row),
            escape_formula(row.student.name),
            escape_formula(row.student.external.get("email", "")),
            "",
            format_points(row.points),
            format_points(row.max_points),
            "Yes",
            "-",
            "-",
            comment(row),
        ]
        for row in known
    )
    lost = [row for row in graded if row not in known]
    return ExportedFile(
        format_table(HEADER, cells, has_bom=False),
        (
            *list_remark("No grade, so not in the file", student_labels(r for r in rows if r.points
            is None)),
            *undecided_remark(known),
            *late_remark(rows),
            *not_taken_remark(rows),
            *list_remark(
                "Not in the file, since neither Moodle's identifier nor an e-mail address is known",
                student_labels(lost),
            ),
            "Moodle leaves out who was graded there before, unless you tick \"Allow updating "
            "records that have been modified more recently\". With --template that is not needed.",
        ),
    )  # fmt: skip


def _identifier(row: StandingRow) -> str:
    found = participant(row.student.external.get("identifier", ""))
    return f"{PARTICIPANT}{found}" if found else ""


@dataclass(frozen=True)
class _Columns:
    grade: int
    feedback: int
    identifier: int | None
    email: int | None
    name: int | None
    maximum: int | None
    changeable: int | None
    no: str


def _named(header: Sequence[str], title: str, where: str) -> int:
    """Return the index of the column that an option names. Raises UserError."""
    titles = [cell.casefold() for cell in header]
    if title.casefold() not in titles:
        raise UserError(f"{where} has no column '{title}'; there are: {', '.join(header)}.")
    return titles.index(title.casefold())


def _columns(table: CsvTable, grade: str | None, feedback: str | None, where: str) -> _Columns:
    """Return where the columns are: as moodle_columns.py recognizes them, or as options name them.
    Raises UserError if that of grades or of feedback is missing."""
    header = table.rows[0]
    known = read_header(header, table.rows[1:_MAX_INSPECTED_ROWS])
    places = dict(known.places)
    asked: Sequence[tuple[Column, str | None, str]] = (
        ("grade", grade, "--grade-column"), ("feedback", feedback, "--feedback-column")
    )  # fmt: skip
    for needed, title, option in asked:
        if title is not None:
            places[needed] = _named(header, title, where)
        elif needed not in places:
            hint = (
                " In Moodle's settings of the assignment switch on feedback comments, and download "
                "it again."
                if needed == "feedback"
                else ""
            )
            raise UserError(
                f"{where} has no column '{LANGUAGES['en'].columns[needed][0]}', by no name "
                f"that is known. If another column is it, name it with {option}; there are: "
                f"{', '.join(header)}.{hint}"
            )
    return _Columns(
        grade=places["grade"],
        feedback=places["feedback"],
        # Moodle's worksheets begin with it, by whatever title.
        identifier=places.get("identifier", None if 0 in places.values() else 0),
        email=places.get("email"),
        name=places.get("name"),
        maximum=places.get("maximum"),
        changeable=places.get("changeable"),
        no=known.words.no.casefold() if known.words is not None else "",
    )


_Key = Callable[[StandingRow], str]


def _unique(rows: Sequence[StandingRow], key: _Key) -> dict[str, StandingRow]:
    """Return rows by a key, without empty keys and those that several students have."""
    counts = Counter(key(row) for row in rows)
    return {key(row): row for row in rows if key(row) and counts[key(row)] == 1}


@dataclass(frozen=True)
class _Students:
    """Rows of one lab, by what a worksheet may say of a student."""

    numbers: Mapping[str, StandingRow]
    emails: Mapping[str, StandingRow]
    names: Mapping[str, StandingRow]

    def find(self, number_: str, email: str, name: str) -> StandingRow | None:
        return self.numbers.get(number_) or self.emails.get(email) or self.names.get(name)


def _students(rows: Sequence[StandingRow]) -> _Students:
    return _Students(
        numbers=_unique(rows, lambda row: participant(_identifier(row))),
        emails=_unique(rows, lambda row: row.student.external.get("email", "")),
        names=_unique(rows, lambda row: row.student.name),
    )


def _cell(cells: Sequence[str], column: int | None) -> str:
    return cells[column] if column is not None and column < len(cells) else ""


def fill_worksheet(
    template: CsvTable,
    rows: Sequence[StandingRow],
    where: str,
    grade_column: str | None = None,
    feedback_column: str | None = None,
) -> ExportedFile:
    """Fill the instructor's worksheet with grades and feedback of one lab; other cells stay as they
    are.

    Args:
        rows: those of one lab.
        where: the worksheet's name in messages.
        grade_column, feedback_column: titles of these columns; None: Moodle's.

    Raises:
        UserError: the column of grades or of feedback is missing, a line has another number of
            cells, or the assignment has other points than the lab.
    """
    header = template.rows[0]
    columns = _columns(template, grade_column, feedback_column, where)
    students = _students(rows)
    # A name that several lines have identifies no student.
    names = Counter(_cell(line, columns.name) for line in template.rows[1:])
    done: list[list[str]] = [list(header)]
    found: set[str] = set()
    ungraded, locked, strangers = [], [], []
    for number_, line in enumerate(template.rows[1:], start=2):
        cells = list(line)
        done.append(cells)
        if not any(cells):
            continue
        if len(cells) != len(header):
            raise UserError(
                f"{where}, line {number_}: {len(cells)} cells and not {len(header)}. Download the "
                "worksheet again, and don't save it with a spreadsheet in between."
            )
        name = _cell(cells, columns.name)
        row = students.find(
            participant(_cell(cells, columns.identifier)),
            _cell(cells, columns.email),
            name if names[name] == 1 else "",
        )
        if row is None:
            strangers.append(name or cells[0])
            continue
        found.add(row.student.id)
        if row.points is None:
            ungraded.append(row)
        elif _cell(cells, columns.changeable).casefold() == columns.no != "":
            locked.append(row)
        else:
            _check_maximum(_cell(cells, columns.maximum), row, where)
            cells[columns.grade] = format_points(row.points)
            cells[columns.feedback] = _insert_comment(cells[columns.feedback], comment(row))
    lost = [row for row in rows if row.points is not None and row.student.id not in found]
    return ExportedFile(
        template.replace_rows(done).text(),
        (
            *list_remark("No grade, left as it was", student_labels(ungraded)),
            *undecided_remark(row for row in rows if row.student.id in found),
            *late_remark(rows),
            *not_taken_remark(rows),
            *list_remark(
                "Moodle does not let this grade be changed, left as it was", student_labels(locked)
            ),
            *list_remark("Graded, and not in the worksheet", student_labels(lost)),
            *list_remark("In the worksheet, and not in the gradebook", strangers),
        ),
    )


def _check_maximum(cell: str, row: StandingRow, where: str) -> None:
    """Check that the assignment's maximum, if it is a number, is the lab's points, since Moodle
    silently leaves out grades above it. Raises UserError."""
    try:
        maximum = float(cell.replace(",", "."))
    except ValueError:
        return  # none is known, or it is a scale
    if maximum != row.max_points:
        raise UserError(
            f"{where}: the assignment has {maximum:g} points, and {row.lab} is worth "
            f"{row.max_points:g} in this course. Make both alike, here in course.toml: "
            f"[labs.{row.lab}] points = {maximum:g}"
        )
