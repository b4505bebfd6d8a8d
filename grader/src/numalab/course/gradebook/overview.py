"""The gradebook as a table in 80 columns, for `gradebook show`: lines of text, pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from numalab import words
from numalab.course.gradebook.feedback import QUICK_RISK
from numalab.course.gradebook.open_points import names_words
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.errors import WIDTH, wrapped
from numalab.labs.variants import is_variant_name
from numalab.strangers.visible import visible

CELL = 7  # columns of a lab
MOST_NAME = 36
VARIANT = "v"  # behind the number of a lab
MARKS = {
    "*": "provisional",
    "!": "set by hand",
    "-": "late",
    "?": "handed in, no grade yet",
    ".": "not handed in",
}


def _cell(row: StandingRow | None) -> tuple[str, str]:
    """Points, and marks."""
    if row is None or (row.points is None and not row.is_handed_in):
        return "", "."
    if row.points is None:
        return "", "?"
    if row.override_reason:
        return f"{row.points:g}", "!"
    return f"{row.points:g}", ("*" if row.is_provisional else "") + ("-" if row.late_s else "")


def _blocks(labs: Sequence[str], name_width: int) -> Iterator[Sequence[str]]:
    """As many labs as fit beside the names."""
    size = max(1, (WIDTH - name_width) // CELL)
    for start in range(0, len(labs), size):
        yield labs[start : start + size]


def table_lines(standing: Standing) -> Iterator[str]:
    """A line for each student, with a column for each lab; several tables where there are more
    labs than fit."""
    students = {row.student.id: row.student for row in standing.rows}
    labs = sorted({row.lab for row in standing.rows})
    cells = {(row.student.id, row.lab): row for row in standing.rows}
    label_of = {id_: f"{student.name} ({id_})" for id_, student in students.items()}
    width = min(MOST_NAME, max((cell_len(label) for label in label_of.values()), default=7)) + 1
    if standing.title:
        yield standing.title
        yield ""
    used: set[str] = set()
    for number, some in enumerate(_blocks(labs, width)):
        if number:
            yield ""
        heads = (f"{_head(lab):>{CELL}}" for lab in some)
        yield f"{'student':<{width}}{''.join(heads)}"
        for id_, label in label_of.items():
            shown = [_cell(cells.get((id_, lab))) for lab in some]
            used.update(mark for _, marks in shown for mark in marks)
            line = "".join(f"{points + marks:>{CELL}}" for points, marks in shown)
            yield set_cell_size(visible(label), width) + line
    graded = [row for row in standing.rows if row.points is not None]
    yield ""
    yield (
        f"{words.count(len(students), 'student')}, {words.count(len(labs), 'lab')}, "
        f"{words.count(len(graded), 'grade')}."
    )
    legend = [f"{mark} {MARKS[mark]}" for mark in MARKS if mark in used]
    if legend:
        yield "; ".join(legend)
    if any(map(is_variant_name, labs)):
        yield f"{VARIANT}: of a lab, the variant that a student was given"
    yield from _open_lines(standing.rows)
    quick = sum(row.is_quick for row in standing.rows)
    if quick:
        yield ""
        yield from wrapped(
            f"{words.count(quick, 'grade')} with --quick: {QUICK_RISK}."
        ).splitlines()


def _head(lab: str) -> str:
    """Of a column."""
    mark = VARIANT if is_variant_name(lab) else ""
    return f"{lab.partition('_')[0][: CELL - 1 - len(mark)]}{mark}"


def _open_lines(rows: Sequence[StandingRow]) -> Iterator[str]:
    """Who has open points, and of which criteria."""
    left = [row for row in rows if row.open]
    if not left:
        return
    yield ""
    yield from wrapped(
        f"{words.count(len(left), 'grade')} with open points, which count as not earned until "
        "they are decided; batch grade goes on with them:"
    ).splitlines()
    for row in left:
        who = f"{visible(row.student.name)} ({row.student.id})"
        told = f"{who} {row.lab.partition('_')[0]}: {names_words(row.open)}"
        yield from textwrap.wrap(
            told, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )
