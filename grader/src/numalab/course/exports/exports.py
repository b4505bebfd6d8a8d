"""The gradebook for other systems: what each export tells of what it left out, and the plain
table, which is for whatever else there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.csv_files import defused, table_text
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import notices
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.open_points import names_words
from numalab.course.gradebook.parts import PartName
from numalab.course.gradebook.standing import Standing, StandingRow


@dataclass(frozen=True)
class Export:
    """text: of the file; told: what the file does not show, a sentence each."""

    text: str
    told: tuple[str, ...] = ()


def number(points: float | None) -> str:
    """With a point, without zeros at its end; empty where there is no grade."""
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def told_of(
    what: str, names: Sequence[str], most: int = 10, separator: str = ", "
) -> tuple[str, ...]:
    """A sentence on students; nothing where there are none."""
    if not names:
        return ()
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (f"{what}: {separator.join(names[:most])}{more}.",)


def who(rows: Iterable[StandingRow]) -> list[str]:
    return [f"{row.student.name} ({row.student.id})" for row in rows]


def open_told(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """A sentence on grades of which points are open; nothing where there are none."""
    return told_of(
        "Provisional, since points are open, which count as not earned until batch grade has "
        "decided them",
        [
            f"{row.student.name} ({row.student.id}) in {row.lab}: {names_words(row.open)}"
            for row in rows
            if row.open
        ],
        separator="; ",
    )


def late_told(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """A sentence on those who are late by Canvas alone; nothing where there are none."""
    return told_of(
        "Late by Canvas, hours unknown, nothing taken off; a column handed_in_at in --students "
        "FILE tells when it was handed in",
        [
            f"{row.student.name} ({row.student.id}) in {row.lab}"
            for row in rows
            if row.is_late_unknown
        ],
    )


def not_taken_told(rows: Iterable[StandingRow]) -> tuple[str, ...]:
    """A sentence on those whose hand-ins can't be taken; nothing where there are none."""
    return told_of(
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
    """Of a grade, with a column for each part that the course weighs."""
    return (*_GRADE, *(f"{part}_points" for part in standing.parts))


def _grade(row: StandingRow, parts: Sequence[PartName]) -> list[str]:
    """A part that was left out, or that the lab has not, is an empty cell."""
    found = [row.part(name) for name in parts]
    return [
        row.lab,
        number(row.points),
        number(row.max_points),
        number(row.gradable_points),
        number(row.open_points),
        " ".join(each.criterion for each in row.open),
        "yes" if row.is_provisional else "no",
        f"{row.late_s:.0f}",
        number(row.penalty),
        _state(row),
        row.attempt.item.effort if row.attempt else "",
        row.language,
        defused(node_type(row.attempt.node)) if row.attempt else "",
        *(
            number(part.points) if row.is_handed_in and part is not None and part.most else ""
            for part in found
        ),
    ]


def plain(standing: Standing) -> Export:
    """A row for each student and lab. With a byte order mark, without which spreadsheets take
    UTF-8 for something else."""
    header = ("student", "name", "email", *_header(standing), "graded_at", "reason", "notes")
    rows = (
        [
            row.student.id,
            defused(row.student.name),
            defused(row.student.external.get("email", "")),
            *_grade(row, standing.parts),
            row.attempt.ended_at if row.attempt else "",
            defused(row.override_reason),
            defused(" ".join(notices(row))),
        ]
        for row in standing.rows
    )
    told = (
        *open_told(standing.rows), *late_told(standing.rows), *not_taken_told(standing.rows)
    )  # fmt: skip
    return Export(table_text(header, rows, has_bom=True), told)


def pseudonymous(standing: Standing, pseudonyms: Mapping[str, str]) -> Export:
    """The same without what tells who somebody is: names, addresses, free text, and the order,
    which else is that of names. pseudonyms: by student id."""
    rows = sorted(
        (pseudonyms[row.student.id], *_grade(row, standing.parts)) for row in standing.rows
    )
    return Export(table_text(("pseudonym", *_header(standing)), rows, has_bom=True))
