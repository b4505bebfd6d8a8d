"""The class's pages: a summary with all that needs somebody, and one page per lab with every
student and criterion. Pure: a standing in, text out."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from numalab import words
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import QUICK_RISK
from numalab.course.gradebook.open_points import names_words
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.pages.class_facts import (
    LEAST_TIMED,
    NOISY_SHARE,
    NOISY_TIMES,
    ClassFacts,
    CriterionFacts,
    LabFacts,
)
from numalab.course.pages.histogram import histogram, values_words
from numalab.course.pages.student_page import lab_title, moment
from numalab.judging.verdict import Status
from numalab.labs.declaration import Lab
from numalab.reports.html_page import STATUS_WORDS, environment

STATUSES: tuple[Status, ...] = ("pass", "fail", "not_gradable", "inconclusive", "error")
# What a status is in a grid: told apart without colour.
LETTERS: dict[Status, str] = {
    "pass": "P", "fail": "F", "not_gradable": "N", "inconclusive": "O", "error": "E",
}  # fmt: skip
MOST_FAILED = 10  # criteria that are listed

_CELLS = {
    status: Markup('<td class="{}">{}</td>').format(status, letter)
    for status, letter in LETTERS.items()
}
_NO_CELL = Markup('<td class="none">-</td>')


def student_link(row: StandingRow, up: str = "") -> str:
    """up: from the page to the folder of the reports."""
    return f"{up}students/{quote(row.student.id)}/index.html"


def _lab_link(lab: str) -> str:
    return f"labs/{quote(lab)}.html"


# ---- the class ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cell:
    """A grade in the grid. kind: a style; marks: letters beside it."""

    kind: str
    text: str
    marks: str


def _cell(row: StandingRow | None) -> _Cell:
    if row is None or (not row.is_handed_in and row.points is None):
        return _Cell("none", "-", "")
    marks = "".join(
        letter
        for letter, holds in (
            ("p", row.is_provisional),
            ("l", row.late_s > 0),
            ("s", row.override_reason),
        )
        if holds
    )
    if row.points is None:
        return _Cell("error", "?", marks)
    kind = "pass" if row.points >= row.max_points else "fail" if row.points <= 0 else "part"
    return _Cell(kind, f"{row.points:g}", marks)


@dataclass(frozen=True)
class _LabLine:
    title: str
    link: str
    handed_in: int
    graded: int
    median: str
    provisional: int
    late: int
    nobody: str


def _lab_line(lab: LabFacts, labs: Mapping[str, Lab]) -> _LabLine:
    rows, shares = [seat.row for seat in lab.seats], lab.shares
    nobody = [criterion.name for criterion in lab.criteria if criterion.nobody_passes]
    return _LabLine(
        lab_title(lab.name, labs),
        _lab_link(lab.name),
        sum(row.is_handed_in for row in rows),
        len(shares),
        words.percent(statistics.median(shares)) if shares else "-",
        sum(row.is_provisional for row in rows),
        sum(row.late_s > 0 for row in rows),
        words.listed(nobody) if nobody else "-",
    )


def _needs(facts: ClassFacts, standing: Standing) -> Iterator[tuple[str, str]]:
    """What somebody should look at: a sentence and where on the page it is told."""
    if facts.waiting:
        yield (
            f"{words.count(len(facts.waiting), 'submission')} without a grade.",
            "waiting",
        )
    if facts.left_open:
        grades = words.count(len(facts.left_open), "grade")
        yield f"{grades} with points that are still open.", "open"
    if standing.problems:
        yield (
            f"{words.count(len(standing.problems), 'problem')} in what was delivered.",
            "problems",
        )
    nobody = [criterion.name for criterion in facts.criteria if criterion.nobody_passes]
    if nobody:
        yield f"Nobody passes {words.listed(nobody)}.", "criteria"
    if facts.noisy:
        told = words.listed([node.name or "a node without a name" for node in facts.noisy])
        yield f"Times are noisy on {told}.", "nodes"
    if facts.mixed:
        gradings = words.count(len(facts.mixed), "submission")
        yield f"{gradings} graded on different types of node.", "mixed"
    if facts.unsandboxed:
        gradings = words.count(facts.unsandboxed, "grading")
        yield f"{gradings} ran without a sandbox.", "ended"
    quick = sum(row.is_quick and not row.is_part for row in facts.rows)
    if quick:
        yield f"{words.count(quick, 'grade')} with --quick: {QUICK_RISK}.", "grid"


def _facts(standing: Standing, facts: ClassFacts) -> list[tuple[str, str]]:
    rows = list(facts.rows)
    students = len({row.student.id for row in rows})
    return [
        ("Students", f"{students:,}"),
        ("Labs", f"{len(facts.labs):,}"),
        ("Handed in", f"{sum(row.is_handed_in for row in rows):,} of {len(rows):,}"),
        ("Graded", f"{sum(row.points is not None for row in rows):,}"),
        ("Without a grade", f"{len(facts.waiting):,}"),
        ("Provisional grades", f"{sum(row.is_provisional for row in rows):,}"),
        ("Grades with open points", f"{len(facts.left_open):,}"),
        ("Late", f"{sum(row.late_s > 0 for row in rows):,}"),
        ("Set by hand", f"{sum(bool(row.override_reason) for row in rows):,}"),
        ("Gradings, with repeated ones", f"{facts.ended['graded']:,}"),
    ]


def _most_failed(facts: ClassFacts) -> list[CriterionFacts]:
    found = [criterion for criterion in facts.criteria if criterion.counts["fail"]]
    return sorted(found, key=lambda one: (-one.failed_share, -one.counts["fail"]))[:MOST_FAILED]


def _grid(facts: ClassFacts) -> Iterator[tuple[StandingRow, list[_Cell], str]]:
    """A line for each student: one of the rows, cells by lab, and the sum."""
    by_student: dict[str, dict[str, StandingRow]] = {}
    for row in facts.rows:
        by_student.setdefault(row.student.id, {})[row.lab] = row
    lines = sorted(
        by_student.values(),
        key=lambda of: (lambda s: (s.name.casefold(), s.id))(next(iter(of.values())).student),
    )
    for of in lines:
        points = [row.points for row in of.values() if row.points is not None and not row.is_part]
        cells = [_cell(of.get(lab.name)) for lab in facts.labs]
        yield next(iter(of.values())), cells, f"{round(sum(points), 2):g}" if points else "-"


def class_page(standing: Standing, facts: ClassFacts, labs: Mapping[str, Lab]) -> str:
    """Whatever comes from a student is text in it, never markup."""
    most = [max((seat.row.max_points for seat in lab.seats), default=0.0) for lab in facts.labs]
    return (
        environment()
        .get_template("class.html")
        .render(
            title=standing.title or "The class",
            made_at=moment(standing.made_at),
            needs=list(_needs(facts, standing)),
            figures=_facts(standing, facts),
            labs=[_lab_line(lab, labs) for lab in facts.labs],
            most_failed=[
                (criterion, lab_title(criterion.lab, labs), _lab_link(criterion.lab))
                for criterion in _most_failed(facts)
            ],
            nobody=[
                (criterion, lab_title(criterion.lab, labs), _lab_link(criterion.lab))
                for criterion in facts.criteria
                if criterion.nobody_passes
            ],
            undecided=[
                (criterion, lab_title(criterion.lab, labs), _lab_link(criterion.lab))
                for criterion in facts.criteria
                if not criterion.decided
            ],
            nodes=facts.nodes,
            noisy=[node.name for node in facts.noisy],
            noise_rule=(
                f"A node is noisy where {LEAST_TIMED} or more criteria of time were looked at, "
                f"{words.percent(NOISY_SHARE)} or more of them stayed open, and that is "
                f"{NOISY_TIMES:g} times the share on the other nodes or more."
            ),
            types=facts.types,
            mixed=[
                (row, student_link(row), lab_title(row.lab, labs), words.listed(types))
                for row, types in facts.mixed
            ],
            ended=[
                (STATE_WORDS[state], many)
                for state, many in facts.ended.items()
                if state != "graded"
            ],
            unsandboxed=facts.unsandboxed,
            waiting=[
                (row, student_link(row), lab_title(row.lab, labs), " ".join(row.notes))
                for row in facts.waiting
            ],
            left_open=[
                (
                    row,
                    student_link(row),
                    lab_title(row.lab, labs),
                    names_words(row.open),
                    f"{round(row.open_points, 2):g} of {row.max_points:g}",
                )
                for row in facts.left_open
            ],
            problems=standing.problems,
            heads_of_grid=[
                (_lab_link(lab.name), lab_title(lab.name, labs), f"{points:g}")
                for lab, points in zip(facts.labs, most, strict=True)
            ],
            grid=[(row, student_link(row), cells, total) for row, cells, total in _grid(facts)],
            percent=words.percent,
            state_words=STATE_WORDS,
        )
    )


# ---- one lab -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _CriterionPart:
    """counts: by status in order; widths: the same in percent of all; values: what is measured
    and how it is spread, empty where nothing is."""

    name: str
    points: int
    counts: Sequence[tuple[Status, int]]
    picture: Markup
    values: str
    asked: str


def _criterion_part(one: CriterionFacts, number: int) -> _CriterionPart:
    bound = one.at_least if one.at_least is not None else one.at_most
    asked = ""
    if one.at_least is not None:
        asked = f"Asked for: {one.at_least:g} or more."
    elif one.at_most is not None:
        asked = f"Asked for: {one.at_most:g} or less."
    picture, words = Markup(), ""
    if one.values:
        words = values_words(one.values, one.unit)
        if min(one.values) < max(one.values):  # of one value there is nothing to draw
            picture = histogram(one.values, bound, f"values{number}", f"Values of {one.name}")
    counts = [(status, one.counts[status]) for status in STATUSES]
    return _CriterionPart(one.name, one.max_points, counts, picture, words, asked)


def _cells(lab: LabFacts) -> Iterator[tuple[StandingRow, str, str, Markup]]:
    """A line for each student, its link, points and cells."""
    names = [criterion.name for criterion in lab.criteria]
    for seat in lab.seats:
        found = seat.statuses
        cells = [_CELLS[found[name]] if name in found else _NO_CELL for name in names]
        points = "-" if seat.row.points is None else f"{seat.row.points:g}"
        yield seat.row, student_link(seat.row, "../"), points, Markup("").join(cells)


def lab_page(standing: Standing, lab: LabFacts, labs: Mapping[str, Lab]) -> str:
    """Every student and criterion of a lab."""
    title, shares = lab_title(lab.name, labs), lab.shares
    return (
        environment()
        .get_template("class_lab.html")
        .render(
            title=f"{title}: {standing.title or 'the class'}",
            made_at=moment(standing.made_at),
            students=len(lab.seats),
            handed_in=sum(seat.row.is_handed_in for seat in lab.seats),
            most=f"{max((seat.row.max_points for seat in lab.seats), default=0.0):g}",
            graded=len(shares),
            shares=values_words(shares, "") if shares else "",
            grades=histogram(shares, None, "grades", "Grades as shares of the lab's points")
            if shares and min(shares) < max(shares)
            else Markup(),
            criteria=[_criterion_part(one, number) for number, one in enumerate(lab.criteria)],
            words=STATUS_WORDS,
            letters=LETTERS,
            lines=list(_cells(lab)),
        )
    )
