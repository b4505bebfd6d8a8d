"""Grades in the table that Canvas exported (Gradebook, Export), for its import.

What is done here follows Canvas's own code (lib/gradebook_exporter.rb and gradebook_importer.rb):

- the first line names the columns, Student first (or LastName, FirstName), then ID, the SIS columns
  and Section; an assignment's column is called `Title (id)`;
- a line with `Points Possible` in its first cell says what each assignment is worth, or
  `(read only)`; a line before it may say `Manual Posting`;
- a student is found by ID, and if that is empty by SIS User ID and SIS Login ID;
- an empty cell deletes a score, `EX` means excused, and `N/A` not assigned.

So only the scores of students who have a grade are filled in; all other cells, and the columns,
stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.csv_files import CsvTable
from numalab.course.exports.exports import (
    ExportedFile,
    check_worth,
    format_points,
    grade_remarks,
    list_remark,
    student_label,
)
from numalab.course.gradebook.standing import StandingRow
from numalab.course.intake.trees import letters
from numalab.errors import UserError

POINTS_POSSIBLE = "Points Possible"
READ_ONLY = "(read only)"
NOT_TO_CHANGE = {"EX": "excused", "N/A": "not assigned"}
# Columns that identify a student, each with the keys of students that its cells may have.
KEYS = {"ID": ("id",), "SIS User ID": ("idnumber",), "SIS Login ID": ("login", "email")}
_ASSIGNMENT = re.compile(r"(?P<title>.*) \((?P<id>\d+)\)$", re.DOTALL)


@dataclass(frozen=True)
class _Layout:
    """Where things are in the table, as indices.

    Attributes:
        keys: columns that identify a student, by title, those of KEYS that there are.
        assignments: columns of assignments, by title.
        points: the line that says what each assignment is worth; None: there is none.
        students: the students' lines.
    """

    keys: Mapping[str, int]
    assignments: Mapping[str, int]
    points: int | None
    students: Sequence[int]


def _layout(template: CsvTable, where: str) -> _Layout:
    header = template.rows[0]
    if header[:1] not in (["Student"], ["LastName"]) or "ID" not in header:
        raise UserError(
            f"{where} is not what Canvas exports: its first line has to begin with Student or "
            "LastName and to have a column ID. Export it in Canvas: Gradebook, Export."
        )
    for line, cells in enumerate(template.rows, start=1):
        if any(cells) and len(cells) != len(header):
            raise UserError(
                f"{where}, line {line}: {len(cells)} cells and not {len(header)}. Export it "
                "again, and don't save it with a spreadsheet in between."
            )
    points = next(
        (i for i, cells in enumerate(template.rows) if cells and POINTS_POSSIBLE in cells[0]), None
    )
    keys = {column: header.index(column) for column in KEYS if column in header}
    return _Layout(
        keys=keys,
        assignments={cell: i for i, cell in enumerate(header) if _ASSIGNMENT.match(cell)},
        points=points,
        students=[
            line
            for line, cells in enumerate(template.rows)
            if line not in (0, points) and cells and any(cells[at] for at in keys.values())
        ],
    )


def _match(
    labs: Sequence[str], layout: _Layout, named: Mapping[str, str], where: str
) -> Iterator[tuple[str, int]]:
    """Yield each lab that has a column, with the column's index. named: titles of columns, with or
    without `(id)`, by lab."""
    titles = {header: _ASSIGNMENT.sub(r"\g<title>", header) for header in layout.assignments}
    for lab in labs:
        if lab in named:
            fitting = [h for h, title in titles.items() if named[lab] in (h, title)]
        else:
            words = letters(lab.partition("_")[2] or lab)
            fitting = [h for h, title in titles.items() if words in letters(title)]
            same = (letters(lab), words)
            fitting = [h for h in fitting if letters(titles[h]) in same] or fitting
        if len(fitting) == 1:
            yield lab, layout.assignments[fitting[0]]
        elif fitting or lab in named:
            number_of = "no column" if not fitting else f"{len(fitting)} columns"
            raise UserError(
                f"{where}: {number_of} for {lab}. Say which with --column, such as --column "
                f'"{lab}={next(iter(fitting or titles), "Title (123)")}"; the assignments are: '
                f"{', '.join(titles) or 'none'}"
            )


def _ids(rows: Iterable[StandingRow]) -> dict[tuple[str, str], str]:
    """Return student ids by column and cell, without case, as Canvas compares logins. Of keys that
    a column's cells may have, the first in KEYS that fits a cell counts; if it fits several
    students, the cell identifies none."""
    students = {row.student.id: row.student.external for row in rows}
    ids: dict[tuple[str, str], str] = {}
    for column, keys in KEYS.items():
        for key in reversed(keys):
            owners: dict[str, list[str]] = {}
            for student, external in students.items():
                if external.get(key):
                    owners.setdefault(external[key].casefold(), []).append(student)
            for cell, fitting in owners.items():
                ids.pop((column, cell), None)
                if len(fitting) == 1:
                    ids[column, cell] = fitting[0]
    return ids


def fill_table(
    template: CsvTable, rows: Sequence[StandingRow], named: Mapping[str, str], where: str
) -> ExportedFile:
    """Fill the instructor's table with the scores of all labs that it has a column for.

    Args:
        rows: one for each student and lab.
        named: titles of assignments, by lab, as options name them.
        where: the table's name in messages.

    Raises:
        UserError: the table is not Canvas's, a line has another number of cells, no column is a
            lab's, or a lab's column is missing, not clear or read only, or has other points.
    """
    layout = _layout(template, where)
    labs = sorted({row.lab for row in rows})
    column_of = dict(_match(labs, layout, named, where))
    if not column_of:
        raise UserError(
            f"{where} has no assignment whose title names a lab. Say which is which with "
            f'--column, such as --column "{labs[0] if labs else "01_first_touch"}=Title"; the '
            f"assignments are: {', '.join(layout.assignments) or 'none'}"
        )
    by_student = {(row.student.id, row.lab): row for row in rows}
    for lab, column in column_of.items():
        worth = next(row.max_points for row in rows if row.lab == lab)
        _check_column(template, layout, lab, column, worth, where)
    ids = _ids(rows)
    done = [list(cells) for cells in template.rows]
    found: set[str] = set()
    strangers, left = [], []
    for line in layout.students:
        cells = done[line]
        tried = ((column, cells[at].casefold()) for column, at in layout.keys.items())
        student_id = next((ids[key] for key in tried if key in ids), None)
        if student_id is None:
            strangers.append(cells[0])
            continue
        found.add(student_id)
        for lab, column in column_of.items():
            row = by_student[student_id, lab]
            if row.points is None:
                continue
            why = NOT_TO_CHANGE.get(cells[column].strip().upper())
            if why:
                left.append(f"{cells[0]} in {lab} ({why})")
            else:
                cells[column] = format_points(row.points)
    graded = [row for row in rows if row.points is not None]
    lost = {row.student.id: row for row in graded if row.student.id not in found}
    filled = [row for row in rows if row.lab in column_of]
    ungraded = [row for row in filled if row.points is None and row.student.id in found]
    return ExportedFile(
        template.replace_rows(done).text(),
        (
            *list_remark(
                "No grade, left as it was", [f"{r.student.name} in {r.lab}" for r in ungraded]
            ),
            *grade_remarks(filled, filled),
            *list_remark("Left as it was", left),
            *list_remark("Graded, and not in the table", [*map(student_label, lost.values())]),
            *list_remark("In the table, and not in the gradebook", strangers),
            *list_remark("Labs without a column", [lab for lab in labs if lab not in column_of]),
        ),
    )


def _check_column(
    template: CsvTable, layout: _Layout, lab: str, column: int, worth: float, where: str
) -> None:
    if layout.points is None:
        return
    cell = template.rows[layout.points][column].strip()
    title = template.rows[0][column]
    if cell == READ_ONLY:
        raise UserError(f"{where}: the column {title} is read only")
    check_worth(cell, title, lab, worth, where)
