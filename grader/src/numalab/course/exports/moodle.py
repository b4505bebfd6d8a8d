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
from collections.abc import Callable, Sequence

from numalab.course.csv_files import CsvTable, escape_formula, format_table
from numalab.course.exports.exports import (
    ExportedFile,
    check_worth,
    format_points,
    grade_remarks,
    list_remark,
    student_label,
)
from numalab.course.gradebook.feedback import feedback_lines
from numalab.course.gradebook.standing import StandingRow
from numalab.course.intake.moodle_columns import LANGUAGES, Column, participant, read_header
from numalab.errors import UserError

HEADER = (
    "Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade",
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
    "Feedback comments",
)  # fmt: skip
PARTICIPANT = "Participant "
_MAX_INSPECTED_ROWS = 200  # rows by which columns are recognized
# numalab's part of a comment, which the next export replaces, leaving the rest.
_OURS = re.compile(r'<div class="numalab">.*?</div>', re.DOTALL)


def comment(row: StandingRow) -> str:
    """Return a grade's feedback as HTML, with its lines escaped."""
    lines = (html.escape(line, quote=False) for line in feedback_lines(row))
    return f'<div class="numalab">{"<br>".join(lines)}</div>'


def _insert_comment(existing: str, ours: str) -> str:
    """Return a comment with numalab's part replaced or added; the rest stays."""
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
    ungraded = [student_label(row) for row in rows if row.points is None]
    return ExportedFile(
        format_table(HEADER, cells, has_bom=False),
        (
            *list_remark("No grade, so not in the file", ungraded),
            *grade_remarks(rows, known),
            *list_remark(
                "Not in the file, since neither Moodle's identifier nor an e-mail address is known",
                [student_label(row) for row in graded if row not in known],
            ),
            'Moodle leaves out who was graded there before, unless you tick "Allow updating '
            'records that have been modified more recently". With --template that is not needed.',
        ),
    )


def _identifier(row: StandingRow) -> str:
    found = participant(row.student.external.get("identifier", ""))
    return f"{PARTICIPANT}{found}" if found else ""


def _named(header: Sequence[str], title: str, where: str) -> int:
    """Return the index of the column that an option names, in whatever case."""
    titles = [cell.casefold() for cell in header]
    if title.casefold() not in titles:
        raise UserError(f"{where} has no column '{title}'; there are: {', '.join(header)}.")
    return titles.index(title.casefold())


def _places(
    table: CsvTable, grade: str | None, feedback: str | None, where: str
) -> tuple[dict[Column, int], str]:
    """Return where the columns are: as moodle_columns.py recognizes them, or as options name them;
    and the table's word for "no", without case, empty if it is not known."""
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
    if 0 not in places.values():
        # Moodle's worksheets begin with it, by whatever title.
        places.setdefault("identifier", 0)
    return places, known.words.no.casefold() if known.words is not None else ""


# What a worksheet may say of a student: the number, the e-mail address, the name.
_KEYS: Sequence[Callable[[StandingRow], str]] = (
    lambda row: participant(_identifier(row)),
    lambda row: row.student.external.get("email", ""),
    lambda row: row.student.name,
)


def _unique(
    rows: Sequence[StandingRow], key: Callable[[StandingRow], str]
) -> dict[str, StandingRow]:
    """Return rows by a key, without empty keys and those that several students have."""
    counts = Counter(key(row) for row in rows)
    return {key(row): row for row in rows if key(row) and counts[key(row)] == 1}


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
        UserError: the column of grades or of feedback, or a named one, is missing, a line has
            another number of cells, or the assignment has other points than the lab.
    """
    header = template.rows[0]
    places, no = _places(template, grade_column, feedback_column, where)
    grade, feedback = places["grade"], places["feedback"]
    by_key = [_unique(rows, key) for key in _KEYS]
    # A name that several lines have identifies no student.
    names = Counter(_cell(line, places.get("name")) for line in template.rows[1:])
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
        name = _cell(cells, places.get("name"))
        keys = (
            participant(_cell(cells, places.get("identifier"))),
            _cell(cells, places.get("email")),
            name if names[name] == 1 else "",
        )
        fitting = (of[key] for of, key in zip(by_key, keys, strict=True) if key in of)
        row = next(fitting, None)
        if row is None:
            strangers.append(name or cells[0])
            continue
        found.add(row.student.id)
        if row.points is None:
            ungraded.append(row)
        elif _cell(cells, places.get("changeable")).casefold() == no != "":
            locked.append(row)
        else:
            # Moodle silently leaves out grades above the assignment's maximum.
            maximum = _cell(cells, places.get("maximum"))
            check_worth(maximum, "the assignment", row.lab, row.max_points, where)
            cells[grade] = format_points(row.points)
            cells[feedback] = _insert_comment(cells[feedback], comment(row))
    lost = [row for row in rows if row.points is not None and row.student.id not in found]
    return ExportedFile(
        template.replace_rows(done).text(),
        (
            *list_remark("No grade, left as it was", [*map(student_label, ungraded)]),
            *grade_remarks(rows, [row for row in rows if row.student.id in found]),
            *list_remark(
                "Moodle does not let this grade be changed, left as it was",
                [*map(student_label, locked)],
            ),
            *list_remark("Graded, and not in the worksheet", [*map(student_label, lost)]),
            *list_remark("In the worksheet, and not in the gradebook", strangers),
        ),
    )
