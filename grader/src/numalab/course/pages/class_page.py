"""The class's pages: a summary, with what needs an instructor and with every student and criterion,
and one page per lab. Pure functions from a standing to text."""

from __future__ import annotations

import base64
import functools
import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
)
from numalab.course.pages.days import picture, progress, progress_words
from numalab.course.pages.heat_map import heat_map, lab_cells, lab_link, student_lines, student_link
from numalab.course.pages.histogram import histogram, values_words
from numalab.course.pages.mistakes import Mistake, mistakes
from numalab.course.pages.part_tables import PartSum, added_up, part_sums
from numalab.course.pages.student_page import lab_title, moment
from numalab.course.records import Json
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


_GradeCell = tuple[str, str, str]  # in the grid: its style, its text, letters next to that


def _cell(row: StandingRow | None) -> _GradeCell:
    if row is None or (not row.is_handed_in and row.points is None):
        is_refused = row is not None and row.is_not_taken
        return ("error", "#", "") if is_refused else ("none", "-", "")
    letters = {
        "p": row.is_preliminary,
        "l": row.late_s > 0,
        "c": row.is_late_unknown,
        "s": row.override_reason,
    }
    marks = "".join(letter for letter, holds in letters.items() if holds)
    if row.points is None:
        return "error", "?", marks
    kind = "pass" if row.points >= row.max_points else "fail" if row.points <= 0 else "part"
    return kind, f"{row.points:g}", marks


def _nobody_passes(criteria: Iterable[CriterionFacts]) -> str:
    """Return the names of the criteria that nobody passes, in words; empty if there are none."""
    return words.listed([one.name for one in criteria if one.nobody_passes])


def _lab_line(lab: LabFacts, labs: Mapping[str, Lab]) -> Json:
    rows, shares = [seat.row for seat in lab.seats], lab.shares
    return {
        "title": lab_title(lab.name, labs),
        "link": lab_link(lab.name),
        "handed_in": sum(row.is_handed_in for row in rows),
        "graded": len(shares),
        "median": words.percent(statistics.median(shares)) if shares else "-",
        "preliminary": sum(row.is_preliminary for row in rows),
        "late": sum(row.late_s > 0 for row in rows),
        "nobody": _nobody_passes(lab.criteria) or "-",
    }


def _needs(facts: ClassFacts, standing: Standing) -> list[tuple[str, str]]:
    """Return what needs an instructor's attention: a sentence, and the anchor of the section on
    it."""
    count = words.count
    ungraded, undecided = len(facts.ungraded_rows), len(facts.undecided_rows)
    problems, mixed = len(standing.problems), len(facts.mixed)
    nobody = _nobody_passes(facts.criteria)
    noisy = words.listed([node.name or "a node without a name" for node in facts.noisy])
    quick = sum(row.is_quick and not row.is_part for row in facts.rows)
    every = (
        (ungraded, f"{count(ungraded, 'submission')} without a grade.", "waiting"),
        (undecided, f"{count(undecided, 'grade')} with points that are still open.", "open"),
        (problems, f"{count(problems, 'problem')} in what was delivered.", "problems"),
        (nobody, f"Nobody passes {nobody}.", "criteria"),
        (noisy, f"Times are noisy on {noisy}.", "nodes"),
        (mixed, f"{count(mixed, 'submission')} graded on different types of node.", "mixed"),
        (
            facts.unsandboxed,
            f"{count(facts.unsandboxed, 'grading')} ran without a sandbox.",
            "ended",
        ),
        (quick, f"{count(quick, 'grade')} with --quick: {QUICK_RISK}.", "grid"),
    )
    return [(sentence, anchor) for is_there, sentence, anchor in every if is_there]


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


def _grade_cells(rows: Iterable[StandingRow], labs: Sequence[str]) -> list[_GradeCell]:
    """Return the cells of the labs in the grid, by one student's rows."""
    by_lab = {row.lab: row for row in rows}
    return [_cell(by_lab.get(lab)) for lab in labs]


def _undecided_words(row: StandingRow) -> str:
    return f"{round(row.undecided_points, 2):g} of {row.max_points:g}"


def class_page(
    standing: Standing,
    facts: ClassFacts,
    labs: Mapping[str, Lab],
    alike: Sequence[EqualKernels] = (),
) -> str:
    """Return the class's page as HTML."""

    def line(row: StandingRow, *cells: str) -> tuple[StandingRow | str, ...]:
        return row, student_link(row), lab_title(row.lab, labs), *cells

    days = progress(standing)
    map_labs, map_lines = heat_map(facts, labs)
    most: dict[str, float] = {}  # a variant that is a part is in its lab's points
    for row in standing.rows:
        most[row.lab] = max(row.max_points, most.get(row.lab, 0.0))
    own = sorted(most)
    weighed = standing.rows if standing.parts else ()
    template = environment().get_template("class.html")
    return template.render(
        title=standing.title or "The class",
        made_at=moment(standing.made_at),
        needs=_needs(facts, standing),
        figures=_facts(standing, facts),
        labs=[_lab_line(lab, labs) for lab in facts.labs],
        map_labs=map_labs,
        map_lines=map_lines,
        words=STATUS_WORDS,
        mistakes=list(_mistakes(facts, labs)),
        nobody=_criteria((one for one in facts.criteria if one.nobody_passes), labs),
        undecided=_criteria((one for one in facts.criteria if not one.decided), labs),
        days=days,
        progress_words=progress_words(days) if days else "",
        days_picture=picture(days, "days") if days else "",
        part_names=standing.parts,
        parts=student_lines(weighed, lambda rows: part_sums(added_up(rows), standing.parts)),
        alike=list(_alike(standing, labs, alike)),
        nodes=facts.nodes,
        noisy=[node.name for node in facts.noisy],
        noise_rule=(
            f"A node is noisy where {LEAST_TIMED} or more criteria of time were looked at, "
            f"{words.percent(NOISY_SHARE)} or more of them stayed open, and that is "
            f"{NOISY_TIMES:g} times the share on the other nodes or more."
        ),
        types=facts.types,
        mixed=[line(row, words.listed(types)) for row, types in facts.mixed],
        ended=[
            (STATE_WORDS[state], many) for state, many in facts.ended.items() if state != "graded"
        ],
        unsandboxed=facts.unsandboxed,
        waiting=[line(row, " ".join(row.notes)) for row in facts.ungraded_rows],
        left_open=[
            line(row, criteria_text(row.undecided), _undecided_words(row))
            for row in facts.undecided_rows
        ],
        problems=standing.problems,
        heads_of_grid=[(lab_link(lab), lab_title(lab, labs), f"{most[lab]:g}") for lab in own],
        grid=student_lines(standing.rows, lambda rows: _grade_cells(rows, own)),
        percent=words.percent,
        state_words=STATE_WORDS,
        script=script(),
        script_digest=digest_of(script()),
    )


# ---- one lab -----------------------------------------------------------------------------


def _spread(
    values: Sequence[float], unit: str, bound: float | None, name: str, title: str
) -> tuple[str, Markup]:
    """Return the distribution of values in words, empty if there are none, and as a picture, empty
    also if they are all equal. The other arguments are those of values_words and histogram."""
    if not values:
        return "", Markup()
    is_drawn = min(values) < max(values)
    picture = histogram(values, bound, name, title) if is_drawn else Markup()
    return values_words(values, unit), picture


def _criterion_part(criterion: CriterionFacts, number: int) -> Json:
    """Return a criterion on a lab's page: among others each status with its number of students, in
    order, and the criterion's bound, empty if it has none."""
    bound, asked = criterion.lower_bound, ""
    if bound is not None:
        asked = f"Asked for: {bound:g} or more."
    elif criterion.upper_bound is not None:
        bound = criterion.upper_bound
        asked = f"Asked for: {bound:g} or less."
    spread, picture = _spread(
        criterion.values, criterion.unit, bound, f"values{number}", f"Values of {criterion.name}"
    )
    return {
        "name": criterion.name,
        "points": criterion.max_points,
        "counts": [(status, criterion.counts[status]) for status in STATUSES],
        "picture": picture,
        "spread": spread,
        "bound_text": asked,
    }


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
    spread, grades = _spread(shares, "", None, "grades", "Grades as shares of the lab's points")
    template = environment().get_template("class_lab.html")
    return template.render(
        title=f"{title}: {standing.title or 'the class'}",
        made_at=moment(standing.made_at),
        students=len(lab.seats),
        handed_in=sum(seat.row.is_handed_in for seat in lab.seats),
        most=f"{max((seat.row.max_points for seat in lab.seats), default=0.0):g}",
        graded=len(shares),
        shares=spread,
        grades=grades,
        criteria=[_criterion_part(one, number) for number, one in enumerate(lab.criteria)],
        words=STATUS_WORDS,
        part_names=part_names,
        lines=list(_cells(lab, part_names)),
        script=script(),
        script_digest=digest_of(script()),
    )
