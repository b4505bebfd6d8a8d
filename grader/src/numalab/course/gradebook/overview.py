"""The gradebook as a table of 80 columns, for `gradebook show`, as lines of text. Pure
functions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from numalab import words
from numalab.course.gradebook.feedback import QUICK_RISK
from numalab.course.gradebook.parts import NOTHING_OF_IT, PartName
from numalab.course.gradebook.standing import Standing, StandingRow, rows_by_student
from numalab.course.gradebook.undecided_points import criteria_text
from numalab.errors import WIDTH, wrapped
from numalab.labs.variants import is_variant_name
from numalab.untrusted.visible import visible

CELL = 7  # characters for a lab
MOST_NAME = 36  # characters for a name
PART_CELL = 9  # characters for a part
VARIANT = "v"  # follows the number of a lab in the title of its variant's column
MARKS = {
    "*": "provisional",
    "!": "set by hand",
    "-": "late",
    "~": "late by Canvas, hours unknown, nothing taken off",
    "?": "handed in, no grade yet",
    "#": "handed in, can't be taken",
    ".": "not handed in",
}

PART_MARKS = {
    "?": "not graded or marked yet, 0 until then",
    "#": "handed in, can't be taken",
    ".": "not handed in",
    "x": "not gradable",
}
_PART_HEADS: Mapping[PartName, str] = {"prediction": "predict."}


def _cell(row: StandingRow | None) -> tuple[str, str]:
    """Return the points and the marks (MARKS) in a cell; either may be empty."""
    if row is None or (row.points is None and not row.is_handed_in):
        return "", "#" if row is not None and row.is_not_taken else "."
    if row.points is None:
        return "", "?"
    if row.override_reason:
        return f"{row.points:g}", "!"
    return f"{row.points:g}", ("*" if row.is_preliminary else "") + (
        "-" if row.late_s else "~" if row.is_late_unknown else ""
    )


def _blocks(labs: Sequence[str], name_width: int) -> Iterator[Sequence[str]]:
    """Yield the labs in groups that fit next to the names."""
    size = max(1, (WIDTH - name_width) // CELL)
    for start in range(0, len(labs), size):
        yield labs[start : start + size]


def table_lines(standing: Standing) -> Iterator[str]:
    """Yield the lines of the overview.

    They are: the course's title; a table with a line per student and a column per lab, or several
    tables if there are more labs than fit; sums and a legend; a table of points by part if grades
    have parts; and lists of grades with undecided points, of hand-ins that can't be taken or whose
    lateness is unknown, and of how many grades are based on --quick.
    """
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
    if standing.parts:
        yield from _parts_lines(standing, label_of)
    yield from _undecided_lines(standing.rows)
    yield from _named_lines(
        [row for row in standing.rows if row.is_not_taken],
        "hand-in",
        "that can't be taken; why is told below or by gradebook explain:",
    )
    yield from _named_lines(
        [row for row in standing.rows if row.is_late_unknown],
        "hand-in",
        "late by Canvas, hours unknown, nothing taken off. A column handed_in_at in --students "
        "FILE tells when it was:",
    )
    quick = sum(row.is_quick for row in standing.rows)
    if quick:
        yield ""
        yield from wrapped(
            f"{words.count(quick, 'grade')} with --quick: {QUICK_RISK}."
        ).splitlines()


def _parts_lines(standing: Standing, label_of: Mapping[str, str]) -> Iterator[str]:
    """Yield a table with a line per student, which has the points of each part over all labs."""
    room = WIDTH - PART_CELL * len(standing.parts)
    width = min(room, MOST_NAME + 1, max(map(cell_len, label_of.values()), default=7) + 1)
    labs = {row.lab for row in standing.rows}
    yield ""
    yield f"Points by part{'' if len(labs) == 1 else ', over all labs'}:"
    heads = (f"{_PART_HEADS.get(name, name):>{PART_CELL}}" for name in standing.parts)
    yield f"{'student':<{width}}{''.join(heads)}"
    rows_of = rows_by_student(standing.rows)
    used: set[str] = set()
    for id_, label in label_of.items():
        shown = [_part_cell(rows_of[id_], name) for name in standing.parts]
        used.update(mark for _, mark in shown)
        line = "".join(f"{points + mark:>{PART_CELL}}" for points, mark in shown)
        yield set_cell_size(visible(label), width) + line
    legend = [f"{mark} {PART_MARKS[mark]}" for mark in PART_MARKS if mark in used]
    if legend:
        yield "; ".join(legend)


def _part_cell(rows: Iterable[StandingRow], name: PartName) -> tuple[str, str]:
    """Return the points of a part over some labs, and a mark (PART_MARKS); either may be empty."""
    parts = [
        part
        for row in rows
        if (row.is_handed_in or row.is_not_taken) and (part := row.part(name)) is not None
    ]
    states = {part.state for part in parts}
    if not states - NOTHING_OF_IT:
        return "", "#" if "not taken" in states else "."
    if states == {"left out"}:
        return "", "x"
    points = f"{round(sum(part.points for part in parts), 2):g}"
    return points, "?" if states & {"waiting", "open"} else ""


def _head(lab: str) -> str:
    mark = VARIANT if is_variant_name(lab) else ""
    return f"{lab.partition('_')[0][: CELL - 1 - len(mark)]}{mark}"


def _named_lines(rows: Sequence[StandingRow], what: str, text: str) -> Iterator[str]:
    """Yield a sentence with the number of rows, and a line with student and lab for each; nothing
    if there are none."""
    if not rows:
        return
    yield ""
    yield from wrapped(f"{words.count(len(rows), what)} {text}").splitlines()
    for row in rows:
        yield f"  {visible(row.student.name)} ({row.student.id}) {row.lab.partition('_')[0]}"


def _undecided_lines(rows: Sequence[StandingRow]) -> Iterator[str]:
    """Yield a list of the grades with undecided points, and their criteria; nothing if there are
    none."""
    left = [row for row in rows if row.undecided]
    if not left:
        return
    yield ""
    yield from wrapped(
        f"{words.count(len(left), 'grade')} with open points, which count as not earned until "
        "they are decided; batch grade goes on with them:"
    ).splitlines()
    for row in left:
        who = f"{visible(row.student.name)} ({row.student.id})"
        told = f"{who} {row.lab.partition('_')[0]}: {criteria_text(row.undecided)}"
        yield from textwrap.wrap(
            told, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )
