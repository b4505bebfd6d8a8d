"""What is said of a grade in a gradebook's comment, on a line each. Plain text; each target makes
of it what it takes."""

from __future__ import annotations

from collections.abc import Iterator

from numalab import words
from numalab.course.gradebook.counting import duration_words
from numalab.course.gradebook.open_points import earnable_points, student_words
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Json
from numalab.judging.verdict import Verdict, read_verdict
from numalab.labs import declaration
from numalab.reports import verdict_words

# Of a grade that rests on times of a --quick grading; in numalab/judging/sequential.py is why.
QUICK_RISK = "of kernels that are just at a limit of time up to 1 in 20 is decided wrongly"
PLAIN_WORDS = {status: word for status, (word, _) in verdict_words.STATUS_STYLE.items()}


def grade_words(row: StandingRow) -> str:
    if row.points is None:
        return "No grade"
    provisional = ", provisional" if row.is_provisional else ""
    return f"{row.points:g} of {row.max_points:g} points{provisional}"


def share_words(result: Json) -> str:
    """What the points follow from: as the criteria add up."""
    gradable = earnable_points(result)
    notes = verdict_words.points_notes(read_verdict(result), is_untimed=False)
    language = declaration.LANGUAGE_NAMES[result["language"]]
    of = f"{result['points']} of {words.count(gradable, 'point')} in {language}"
    return of + (f" ({notes})" if notes else "")


def notices(row: StandingRow) -> Iterator[str]:
    """What the grade rests on beside the criteria, a sentence each."""
    if row.override_reason:
        yield f"Set by hand: {row.override_reason.rstrip('.')}."
    yield from student_words(row.open)
    if row.is_provisional and not row.open and row.gradable_points is not None:
        yield (
            f"Provisional: the node could show {row.gradable_points:g} of the {row.max_points:g} "
            "points."
        )
    if row.is_quick:
        yield f"Graded with --quick: {QUICK_RISK}."
    if row.late_s > 0:
        took = words.percent(row.penalty) if row.penalty else "nothing"
        yield f"Handed in {duration_words(row.late_s)} after the deadline: {took} taken off."
    yield from row.notes


def criterion_lines(verdict: Verdict) -> Iterator[str]:
    """As the report has them: status, name, points, and why unless it earned all of them."""
    for row in verdict_words.criterion_rows(verdict.criteria):
        criterion = row.criterion
        points = f" {row.points}" if row.points else ""
        line = f"{PLAIN_WORDS[criterion.status]}: {criterion.name}{points}"
        if criterion.status == "pass" and not criterion.is_partial:
            yield line
            continue
        place = "" if criterion.where == "here" else f"on {criterion.where}: "
        bound = verdict_words.bound_words(criterion)
        yield f"{line}. {place}{bound}{'. ' if bound else ''}{criterion.why}{row.where_too}"


def summary_lines(row: StandingRow) -> list[str]:
    """The grade and what it rests on, without the criteria."""
    result = row.result
    follows = f": {share_words(result)}" if result is not None and not row.override_reason else ""
    return [f"{grade_words(row)}{follows}.", *notices(row)]


def feedback_lines(row: StandingRow) -> list[str]:
    result = row.result
    criteria = criterion_lines(read_verdict(result)) if result is not None else ()
    return [*summary_lines(row), *criteria]
