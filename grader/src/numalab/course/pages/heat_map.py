"""A class at a glance: a table of students by criteria, those of a lab next to each other. Cells
have words, so that neither a colour nor a sign is needed to read them; a cell with a status links
to the student's page. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from markupsafe import Markup

from numalab.course.gradebook.standing import StandingRow
from numalab.course.pages.class_facts import ClassFacts, LabFacts, ordered_by_name
from numalab.course.pages.student_page import criterion_anchor, lab_title
from numalab.judging.verdict import Status
from numalab.labs.declaration import Lab
from numalab.labs.variants import is_variant_name, lab_of_variant
from numalab.reports.html_page import STATUS_WORDS

_Cells = TypeVar("_Cells")
_CELL = Markup('<td class="{}"><a href="{}#{}">{}</a></td>')
_NO_CELL = Markup('<td class="{}">-</td>')


def student_link(row: StandingRow, up: str = "") -> str:
    """Return a link to a student's page. up: the path from the page with the link to report/."""
    return f"{up}students/{quote(row.student.id)}/index.html"


def lab_link(lab: str) -> str:
    return f"labs/{quote(lab)}.html"


def points_words(rows: Sequence[StandingRow]) -> str:
    """Return the sum of the points of rows that have a grade, or "-" if none has. Variants that are
    parts of grades are left out, since their labs' points include theirs."""
    points = [row.points for row in rows if row.points is not None and not row.is_part]
    return f"{round(sum(points), 2):g}" if points else "-"


def student_lines(
    rows: Iterable[StandingRow], cells_of: Callable[[Sequence[StandingRow]], _Cells]
) -> list[tuple[StandingRow, str, str, _Cells]]:
    """Return for each student, ordered by name, one of the rows, a link to the student's page, the
    sum of points, and the cells that cells_of returns for the student's rows."""
    return [
        (own[0], student_link(own[0]), points_words(own), cells_of(own))
        for own in ordered_by_name(rows)
    ]


def lab_cells(
    lab: str, statuses: Mapping[str, Status], criteria: Sequence[str], link: str
) -> Iterator[Markup]:
    """Yield a cell for each criterion, "-" for one without a status. link: to the student's
    page."""
    for number, name in enumerate(criteria):
        first = " first" if number == 0 else ""
        status = statuses.get(name)
        if status is None:
            yield _NO_CELL.format(f"none{first}")
        else:
            anchor = quote(criterion_anchor(lab, name))
            yield _CELL.format(f"{status}{first}", link, anchor, STATUS_WORDS[status])


def _title(lab: LabFacts, labs: Mapping[str, Lab]) -> str:
    """Return a lab's title; a variant's is short, since it is next to its lab and may have few
    columns."""
    of = labs.get(lab_of_variant(lab.name)) if is_variant_name(lab.name) else None
    return f"{of.number} variant" if of is not None else lab_title(lab.name, labs)


def heat_map(
    facts: ClassFacts, labs: Mapping[str, Lab]
) -> tuple[list[tuple[str, str, list[str]]], list[tuple[StandingRow, str, str, Markup]]]:
    """Return the map of all students and of the labs in which some student has a result: for each
    of these labs the title, a link to its page and the names of its criteria; and the students'
    lines, with cells as HTML."""
    shown = [(lab, [one.name for one in lab.criteria]) for lab in facts.labs if lab.criteria]
    statuses = {
        (seat.row.student.id, lab.name): seat.statuses for lab in facts.labs for seat in lab.seats
    }

    def cells_of(rows: Sequence[StandingRow]) -> Markup:
        link, id_ = student_link(rows[0]), rows[0].student.id
        cells = (
            cell
            for lab, names in shown
            for cell in lab_cells(lab.name, statuses.get((id_, lab.name), {}), names, link)
        )
        return Markup("").join(cells)

    heads = [(_title(lab, labs), lab_link(lab.name), names) for lab, names in shown]
    return heads, student_lines(facts.rows, cells_of)
