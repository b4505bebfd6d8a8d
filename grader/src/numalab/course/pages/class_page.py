"""The class's pages: a summary, with what needs an instructor and with every student and criterion,
and one page per lab. Pure functions from a standing to text."""

from __future__ import annotations

import base64
import functools
import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from numalab import words
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import QUICK_RISK
from numalab.course.gradebook.parts import PartName
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.gradebook.undecided_points import criteria_text
from numalab.course.pages.class_facts import (
    LEAST_TIMED,
    NOISY_SHARE,
    NOISY_TIMES,
    ClassFacts,
    CriterionFacts,
    LabFacts,
    rows_by_student,
)
from numalab.course.pages.days import picture, progress, progress_words
from numalab.course.pages.heat_map import (
    heat_map,
    lab_cells,
    lab_link,
    points_words,
    student_link,
)
from numalab.course.pages.histogram import histogram, values_words
from numalab.course.pages.mistakes import Mistake, mistakes
from numalab.course.pages.part_tables import PartSum, added_up, part_sums
from numalab.course.pages.student_page import lab_title, moment
from numalab.course.similarity import EqualKernels
from numalab.judging.verdict import Status
from numalab.labs.declaration import LANGUAGE_NAMES, Lab
from numalab.reports.html_page import STATUS_WORDS, TEMPLATES, environment


@functools.cache
def script() -> Markup:
    return Markup((TEMPLATES / "sort.js").read_text())


def digest_of(text: str) -> str:
    """Return a text's digest in the form of a Content-Security-Policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


STATUSES: tuple[Status, ...] = ("pass", "fail", "not_gradable", "inconclusive", "error")


# ---- the class ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _GradeCell:
    """A grade in the grid. kind: the cell's style; marks: letters next to the grade."""

    kind: str
    text: str
    marks: str


def _cell(row: StandingRow | None) -> _GradeCell:
    if row is None or (not row.is_handed_in and row.points is None):
        return (
            _GradeCell("error", "#", "")
            if row and row.is_not_taken
            else _GradeCell("none", "-", "")
        )
    marks = "".join(
        letter
        for letter, holds in (
            ("p", row.is_preliminary),
            ("l", row.late_s > 0),
            ("c", row.is_late_unknown),
            ("s", row.override_reason),
        )
        if holds
    )
    if row.points is None:
        return _GradeCell("error", "?", marks)
    kind = "pass" if row.points >= row.max_points else "fail" if row.points <= 0 else "part"
    return _GradeCell(kind, f"{row.points:g}", marks)


@dataclass(frozen=True)
class _LabLine:
    title: str
    link: str
    handed_in: int
    graded: int
    median: str
    preliminary: int
    late: int
    nobody: str


def _lab_line(lab: LabFacts, labs: Mapping[str, Lab]) -> _LabLine:
    rows, shares = [seat.row for seat in lab.seats], lab.shares
    nobody = [criterion.name for criterion in lab.criteria if criterion.nobody_passes]
    return _LabLine(
        lab_title(lab.name, labs),
        lab_link(lab.name),
        sum(row.is_handed_in for row in rows),
        len(shares),
        words.percent(statistics.median(shares)) if shares else "-",
        sum(row.is_preliminary for row in rows),
        sum(row.late_s > 0 for row in rows),
        words.listed(nobody) if nobody else "-",
    )


def _needs(facts: ClassFacts, standing: Standing) -> Iterator[tuple[str, str]]:
    """Yield what needs an instructor's attention: a sentence, and the anchor of the section on
    it."""
    if facts.ungraded_rows:
        yield (
            f"{words.count(len(facts.ungraded_rows), 'submission')} without a grade.",
            "waiting",
        )
    if facts.undecided_rows:
        grades = words.count(len(facts.undecided_rows), "grade")
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
    rows = standing.rows
    return [
        ("Students", f"{len({row.student.id for row in rows}):,}"),
        ("Labs", f"{len({row.lab for row in rows}):,}"),
        ("Handed in", f"{sum(row.is_handed_in for row in rows):,} of {len(rows):,}"),
        ("Handed in, and can't be taken", f"{sum(row.is_not_taken for row in rows):,}"),
        ("Graded", f"{sum(row.points is not None for row in rows):,}"),
        ("Without a grade", f"{len(facts.ungraded_rows):,}"),
        ("Provisional grades", f"{sum(row.is_preliminary for row in rows):,}"),
        ("Grades with open points", f"{len(facts.undecided_rows):,}"),
        ("Late hand-ins", f"{sum(row.late_s > 0 for row in facts.rows):,}"),
        ("Late by Canvas, hours unknown", f"{sum(row.is_late_unknown for row in facts.rows):,}"),
        ("Set by hand", f"{sum(bool(row.override_reason) for row in rows):,}"),
        ("Gradings, with repeated ones", f"{facts.ended['graded']:,}"),
    ]


def _criteria(
    criteria: Iterable[CriterionFacts], labs: Mapping[str, Lab]
) -> list[tuple[CriterionFacts, str, str]]:
    return [(one, lab_title(one.lab, labs), lab_link(one.lab)) for one in criteria]


def _mistakes(
    facts: ClassFacts, labs: Mapping[str, Lab]
) -> Iterator[tuple[Mistake, str, str, str]]:
    """Yield mistakes, each with the lab's title, a link to its page, and how many of those decided
    fail by it."""
    for one in mistakes(facts.criteria):
        lab = one.criterion.lab
        told = f"{one.failed} of {one.criterion.decided}"
        yield one, lab_title(lab, labs), lab_link(lab), told


def _parts(
    standing: Standing,
) -> Iterator[tuple[StandingRow, str, str, list[PartSum | None]]]:
    """Yield for each student one row, a link to the student's page, the sum of points, and what
    each part gives over all labs. Nothing if grades have no parts."""
    for of in rows_by_student(standing.rows) if standing.parts else ():
        rows = list(of.values())
        cells = part_sums(added_up(rows), standing.parts)
        yield rows[0], student_link(rows[0]), points_words(rows), cells


def _alike(
    standing: Standing, labs: Mapping[str, Lab], alike: Iterable[EqualKernels]
) -> Iterator[tuple[list[tuple[str, str]], str, list[str]]]:
    """Yield groups of students with equal kernels, those in most labs and languages first: the
    students' names and links (the id and an empty link if the standing does not have one), what
    their kernels are equal to, and the labs and languages."""
    by_id = {row.student.id: row for row in standing.rows}
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for one in alike:
        place = f"{lab_title(one.lab, labs)} in {LANGUAGE_NAMES[one.language]} ({one.changed})"
        found.setdefault((one.students, one.description), []).append(place)
    for (ids, how), places in sorted(found.items(), key=lambda of: (-len(of[1]), of[0])):
        students = [
            (by_id[id_].student.name, student_link(by_id[id_])) if id_ in by_id else (id_, "")
            for id_ in ids
        ]
        yield students, words.first_upper(how), places


def _grid(
    standing: Standing, labs: Sequence[str]
) -> Iterator[tuple[StandingRow, list[_GradeCell], str]]:
    """Yield for each student one row, the cells of the labs, and the sum of points."""
    for of in rows_by_student(standing.rows):
        rows = list(of.values())
        yield rows[0], [_cell(of.get(lab)) for lab in labs], points_words(rows)


def class_page(
    standing: Standing,
    facts: ClassFacts,
    labs: Mapping[str, Lab],
    alike: Sequence[EqualKernels] = (),
) -> str:
    """Return the class's page as HTML. Whatever comes from a student is text in it, never
    markup."""
    days = progress(standing)
    most: dict[str, float] = {}  # a variant that is a part is in its lab's points
    for row in standing.rows:
        most[row.lab] = max(row.max_points, most.get(row.lab, 0.0))
    own = sorted(most)
    return (
        environment()
        .get_template("class.html")
        .render(
            title=standing.title or "The class",
            made_at=moment(standing.made_at),
            needs=list(_needs(facts, standing)),
            figures=_facts(standing, facts),
            labs=[_lab_line(lab, labs) for lab in facts.labs],
            map=heat_map(facts, labs),
            words=STATUS_WORDS,
            mistakes=list(_mistakes(facts, labs)),
            nobody=_criteria((one for one in facts.criteria if one.nobody_passes), labs),
            undecided=_criteria((one for one in facts.criteria if not one.decided), labs),
            days=days,
            progress_words=progress_words(days) if days else "",
            days_picture=picture(days, "days") if days else "",
            part_names=standing.parts,
            parts=list(_parts(standing)),
            alike=list(_alike(standing, labs, alike)),
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
                for row in facts.ungraded_rows
            ],
            left_open=[
                (
                    row,
                    student_link(row),
                    lab_title(row.lab, labs),
                    criteria_text(row.undecided),
                    f"{round(row.undecided_points, 2):g} of {row.max_points:g}",
                )
                for row in facts.undecided_rows
            ],
            problems=standing.problems,
            heads_of_grid=[(lab_link(lab), lab_title(lab, labs), f"{most[lab]:g}") for lab in own],
            grid=[
                (row, student_link(row), cells, total) for row, cells, total in _grid(standing, own)
            ],
            percent=words.percent,
            state_words=STATE_WORDS,
            script=script(),
            script_digest=digest_of(script()),
        )
    )


# ---- one lab -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _CriterionPart:
    """A criterion on a lab's page.

    Attributes:
        points: the points that it can give.
        counts: each status with its number of students, in order.
        picture: the distribution of the values; empty if they are all equal, or there are none.
        values: the distribution in words; empty if there are no values.
        bound_text: the criterion's bound; empty if it has none.
    """

    name: str
    points: int
    counts: Sequence[tuple[Status, int]]
    picture: Markup
    values: str
    bound_text: str


def _criterion_part(criterion: CriterionFacts, number: int) -> _CriterionPart:
    bound = criterion.lower_bound if criterion.lower_bound is not None else criterion.upper_bound
    asked = ""
    if criterion.lower_bound is not None:
        asked = f"Asked for: {criterion.lower_bound:g} or more."
    elif criterion.upper_bound is not None:
        asked = f"Asked for: {criterion.upper_bound:g} or less."
    picture, words = Markup(), ""
    if criterion.values:
        words = values_words(criterion.values, criterion.unit)
        if min(criterion.values) < max(criterion.values):  # of one value there is nothing to draw
            picture = histogram(
                criterion.values, bound, f"values{number}", f"Values of {criterion.name}"
            )
    counts = [(status, criterion.counts[status]) for status in STATUSES]
    return _CriterionPart(criterion.name, criterion.max_points, counts, picture, words, asked)


def _cells(
    lab: LabFacts, part_names: Sequence[PartName]
) -> Iterator[tuple[StandingRow, str, str, list[PartSum | None], Markup]]:
    """Yield for each student the row, a link to the student's page, the points, the parts, and the
    criteria's cells."""
    names = [criterion.name for criterion in lab.criteria]
    for seat in lab.seats:
        link = student_link(seat.row, "../")
        cells = lab_cells(lab.name, seat.statuses, names, link)
        points = "-" if seat.row.points is None else f"{seat.row.points:g}"
        parts = part_sums([seat.row] if seat.row.is_handed_in else [], part_names)
        yield seat.row, link, points, parts, Markup("").join(cells)


def lab_page(standing: Standing, lab: LabFacts, labs: Mapping[str, Lab]) -> str:
    """Return the class's page of a lab as HTML, with every student and criterion."""
    title, shares = lab_title(lab.name, labs), lab.shares
    has = {part.name for seat in lab.seats for part in seat.row.parts}
    part_names = [name for name in standing.parts if name in has]
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
            part_names=part_names,
            lines=list(_cells(lab, part_names)),
            script=script(),
            script_digest=digest_of(script()),
        )
    )
