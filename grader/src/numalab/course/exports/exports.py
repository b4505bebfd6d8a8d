"""Remarks that several exports have, and a plain table for any other system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.csv_files import escape_formula, format_table
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import notices
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.parts import PartName
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.gradebook.undecided_points import criteria_text


@dataclass(frozen=True)
class ExportedFile:
    """A file for another system. text: its content; remarks: what the instructor should know of
    it."""

    text: str
    remarks: tuple[str, ...] = ()


def format_points(points: float | None) -> str:
    """Return points with at most two decimals, without zeros at their end; empty for None."""
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def list_remark(
    what: str, names: Sequence[str], most: int = 10, separator: str = ", "
) -> tuple[str, ...]:
    """Return one sentence that lists names, or none if there are no names. most: how many names it
    lists at most."""
    if not names:
        return ()
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (f"{what}: {separator.join(names[:most])}{more}.",)


def student_labels(rows: Iterable[StandingRow]) -> list[str]:
    return [f"{row.student.name} ({row.student.id})" for row in rows]


def undecided_remark(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """Return one sentence on grades with undecided points, if there are any."""
    return list_remark(
        "Provisional, since points are open, which count as not earned until batch grade has "
        "decided them",
        [
            f"{row.student.name} ({row.student.id}) in {row.lab}: {criteria_text(row.undecided)}"
            for row in rows
            if row.undecided
        ],
        separator="; ",
    )


def late_remark(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """Return one sentence on hand-ins that Canvas marks as late, by an unknown time, if there are
    any."""
    return list_remark(
        "Late by Canvas, hours unknown, nothing taken off; a column handed_in_at in --students "
        "FILE tells when it was handed in",
        [
            f"{row.student.name} ({row.student.id}) in {row.lab}"
            for row in rows
            if row.is_late_unknown
        ],
    )


def not_taken_remark(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """Return one sentence on hand-ins that can't be taken, if there are any."""
    return list_remark(
        "Handed in, and can't be taken",
        [f"{row.student.name} ({row.student.id}) in {row.lab}" for row in rows if row.is_not_taken],
    )


def _state(row: StandingRow) -> str:
    if row.points is not None:
        return "set by hand" if row.override_reason else "graded"
    if not row.is_handed_in:
        return "handed in, can't be taken" if row.is_not_taken else "not handed in"
    failed = [other for other in row.others if other.state != "graded"]
    return f"not graded: {STATE_WORDS[failed[-1].state]}" if failed else "not graded"


_GRADE = (
    "lab", "points", "max_points", "gradable_points", "open_points", "open_criteria", "provisional",
    "late_s", "penalty", "state", "effort", "language", "node_type",
)  # fmt: skip


def _header(standing: Standing) -> tuple[str, ...]:
    """Return the titles of a grade's columns, with one for each part that the course weighs."""
    return (*_GRADE, *(f"{part}_points" for part in standing.parts))


def _grade(row: StandingRow, parts: Sequence[PartName]) -> list[str]:
    """Return a grade's cells. That of a part is empty if it can give no points, the lab does not
    have it, or nothing is handed in."""
    found = [row.part(name) for name in parts]
    return [
        row.lab,
        format_points(row.points),
        format_points(row.max_points),
        format_points(row.gradable_points),
        format_points(row.undecided_points),
        " ".join(each.criterion for each in row.undecided),
        "yes" if row.is_preliminary else "no",
        f"{row.late_s:.0f}",
        format_points(row.penalty),
        _state(row),
        row.attempt.target.effort if row.attempt else "",
        row.language,
        escape_formula(node_type(row.attempt.node)) if row.attempt else "",
        *(
            format_points(part.points)
            if row.is_handed_in and part is not None and part.max_points
            else ""
            for part in found
        ),
    ]


def export_csv(standing: Standing) -> ExportedFile:
    """Return a table with a row for each student and lab. It has a byte order mark, without which
    some spreadsheets take UTF-8 for another encoding."""
    header = ("student", "name", "email", *_header(standing), "graded_at", "reason", "notes")
    rows = (
        [
            row.student.id,
            escape_formula(row.student.name),
            escape_formula(row.student.external.get("email", "")),
            *_grade(row, standing.parts),
            row.attempt.ended_at if row.attempt else "",
            escape_formula(row.override_reason),
            escape_formula(" ".join(notices(row))),
        ]
        for row in standing.rows
    )
    told = (
        *undecided_remark(standing.rows), *late_remark(standing.rows),
    *not_taken_remark(standing.rows) )  # fmt: skip
    return ExportedFile(format_table(header, rows, has_bom=True), told)


def export_pseudonymous(standing: Standing, pseudonyms: Mapping[str, str]) -> ExportedFile:
    """Return the same table without ids, names, addresses, times of grading and free text, and not
    in the order of names. pseudonyms: those of all students, by id."""
    rows = sorted(
        (pseudonyms[row.student.id], *_grade(row, standing.parts)) for row in standing.rows
    )
    return ExportedFile(format_table(("pseudonym", *_header(standing)), rows, has_bom=True))
