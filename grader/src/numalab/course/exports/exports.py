"""What several exports have in common, and a plain table for any other system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.csv_files import escape_formula, format_table
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import criterion_label, notices
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.parts import GradePart, PartName
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.gradebook.undecided_points import criteria_text
from numalab.course.records import Json
from numalab.errors import UserError
from numalab.judging.verdict import read_verdict
from numalab.reports.verdict_words import CriterionRow, criterion_rows

MOST_LISTED = 10  # names in a remark


@dataclass(frozen=True)
class ExportedFile:
    """A file for another system. text: its content; remarks: what the instructor should know of
    it."""

    text: str
    remarks: tuple[str, ...] = ()


def format_points(points: float | None) -> str:
    """Return points with at most two decimals, without zeros at their end; empty for None."""
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def list_remark(what: str, names: Sequence[str], separator: str = ", ") -> tuple[str, ...]:
    """Return one sentence that lists names, at most MOST_LISTED, or none if there are no names."""
    if not names:
        return ()
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return (f"{what}: {separator.join(names[:MOST_LISTED])}{more}.",)


def student_label(row: StandingRow) -> str:
    return f"{row.student.name} ({row.student.id})"


def grade_remarks(rows: Sequence[StandingRow], written: Iterable[StandingRow]) -> Iterator[str]:
    """Yield a sentence on grades with undecided points, one on hand-ins that Canvas marks as late,
    by an unknown time, and one on those that can't be taken; each only if there are any. written:
    those of the rows whose undecided points are told."""
    yield from list_remark(
        "Provisional, since points are open, which count as not earned until batch grade has "
        "decided them",
        [f"{_label_in_lab(r)}: {criteria_text(r.undecided)}" for r in written if r.undecided],
        separator="; ",
    )
    yield from list_remark(
        "Late by Canvas, hours unknown, nothing taken off; a column handed_in_at in --students "
        "FILE tells when it was handed in",
        [_label_in_lab(row) for row in rows if row.is_late_unknown],
    )
    not_taken = [_label_in_lab(row) for row in rows if row.is_not_taken]
    yield from list_remark("Handed in, and can't be taken", not_taken)


def _label_in_lab(row: StandingRow) -> str:
    return f"{student_label(row)} in {row.lab}"


def check_worth(cell: str, column: str, lab: str, worth: float, where: str) -> None:
    """Raise UserError if a cell has a number for the points of an assignment, and that is not what
    its lab is worth. column: the assignment's name in messages; where: the table's."""
    try:
        points = float(cell.replace(",", "."))
    except ValueError:
        return  # none are known, or it is a scale
    if points != worth:
        raise UserError(
            f"{where}: {column} has {points:g} points, and {lab} is worth {worth:g} in this "
            f"course. Make both alike, here in course.toml: [labs.{lab}] points = {points:g}"
        )


# ---- tests of a submission ---------------------------------------------------------------------


def submission_tests(
    row: StandingRow,
    prefix: str,
    criterion_test: Callable[[str, CriterionRow, float], Json | None],
    part_test: Callable[[str, GradePart], Json],
) -> Iterator[Json]:
    """Yield tests of the criteria, the kernel's and then the variant's, and one for each part that
    can give points and whose code has no result. If nothing is handed in, there are none of the
    variant or of parts.

    Args:
        prefix: for the tests' names.
        criterion_test: makes a test of its name, the row, and the points of the course for each
            point that can be earned, 0 if there are none; None: no test.
        part_test: makes a test of its name and the part.
    """
    variant = row.variant if row.is_handed_in else None
    for of, begin in ((row, prefix), (variant, f"{prefix}variant: ")):
        if of is None or of.result is None:
            continue
        verdict = read_verdict(of.result)
        earnable = verdict.earnable_points
        scale = of.kernel_points / earnable if earnable else 0.0
        for shown in criterion_rows(verdict.criteria):
            test = criterion_test(f"{begin}{criterion_label(shown.criterion)}", shown, scale)
            if test is not None:
                yield test
    codes = {"kernel": row, "variant": row.variant}
    told = {name for name, of in codes.items() if of is not None and of.result is not None}
    for part in row.parts if row.is_handed_in else ():
        if part.max_points and part.name not in told:
            yield part_test(f"{prefix}{part.name}", part)


# ---- a plain table -----------------------------------------------------------------------------


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
    found = [row.part(name) if row.is_handed_in else None for name in parts]
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
        *(format_points(part.points) if part and part.max_points else "" for part in found),
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
    told = tuple(grade_remarks(standing.rows, standing.rows))
    return ExportedFile(format_table(header, rows, has_bom=True), told)


def export_pseudonymous(standing: Standing, pseudonyms: Mapping[str, str]) -> ExportedFile:
    """Return the same table without ids, names, addresses, times of grading and free text, and not
    in the order of names. pseudonyms: those of all students, by id."""
    rows = sorted(
        (pseudonyms[row.student.id], *_grade(row, standing.parts)) for row in standing.rows
    )
    return ExportedFile(format_table(("pseudonym", *_header(standing)), rows, has_bom=True))
