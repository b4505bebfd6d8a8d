"""A grade in words, as a comment in a gradebook has it, in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalab import words
from numalab.course.gradebook.counting import format_duration
from numalab.course.gradebook.parts import GradePart, PartState
from numalab.course.gradebook.standing import StandingRow
from numalab.course.gradebook.undecided_points import earnable_points, student_sentences
from numalab.course.records import Json
from numalab.judging.verdict import CriterionVerdict, Verdict, read_verdict
from numalab.labs import declaration
from numalab.reports import verdict_words

# The risk of a grade that is based on times of a --quick grading (numalab/judging/sequential.py).
QUICK_RISK = "of kernels that are just at a limit of time up to 1 in 20 is decided wrongly"


def grade_words(row: StandingRow) -> str:
    if row.points is None:
        return "No grade"
    provisional = ", provisional" if row.is_preliminary else ""
    return f"{row.points:g} of {row.max_points:g} points{provisional}"


STATE_WORDS: Mapping[PartState, str] = {
    "graded": "",
    "missing": "not handed in",
    "not taken": "handed in, and can't be taken",
    "open": "no mark yet",
    "waiting": "not graded yet",
    "left out": "left out, as that node can show nothing of it",
}


def part_words(part: GradePart) -> str:
    """Return a part's points, such as "kernel 3.2 of 4", and its state unless it is graded; of one
    that is left out its name and the state."""
    why = STATE_WORDS[part.state]
    if part.state == "left out":
        return f"{part.name} {why}"
    return f"{part.name} {part.points:g} of {part.max_points:g}" + (f" ({why})" if why else "")


def part_line(part: GradePart) -> str:
    """Return part_words, and what the part's points follow from."""
    return part_words(part) + (f": {part.why}" if part.why else "")


def share_words(result: Json) -> str:
    """Return the sum of a result's criteria in words, and in parentheses its points_notes."""
    gradable = earnable_points(result)
    notes = verdict_words.points_notes(read_verdict(result), is_untimed=False)
    language = declaration.LANGUAGE_NAMES[result["language"]]
    of = f"{result['points']} of {words.count(gradable, 'point')} in {language}"
    return of + (f" ({notes})" if notes else "")


def notices(row: StandingRow) -> Iterator[str]:
    """Yield remarks on a grade, each of one or more sentences."""
    if row.override_reason:
        yield f"Set by hand: {row.override_reason.rstrip('.')}."
    elif row.result is not None and row.result.get("unchanged") and not row.points:
        yield "This is still the starting code, which earns no points."
    yield from student_sentences(row.undecided)
    waits_for_mark = any(part.state == "open" for part in row.parts)
    if row.is_preliminary and waits_for_mark:
        yield "Provisional: the viva has no mark yet, and counts as 0 until it has one."
    elif row.is_preliminary and not row.undecided and row.gradable_points is not None:
        yield (
            f"Provisional: the node could show {row.gradable_points:g} of the {row.max_points:g} "
            "points."
        )
    if row.is_quick:
        yield f"Graded with --quick: {QUICK_RISK}."
    if row.late_s > 0:
        yield _late_words("Handed in", row)
    if row.variant is not None and row.variant.late_s > 0:
        yield _late_words("The variant was handed in", row.variant)
    yield from row.notes


def _late_words(what: str, row: StandingRow) -> str:
    took = words.percent(row.penalty) if row.penalty else "nothing"
    return f"{what} {format_duration(row.late_s)} after the deadline: {took} taken off."


def criterion_label(criterion: CriterionVerdict) -> str:
    """Return a criterion's name, with the VM if it was judged on one."""
    return criterion.name + ("" if criterion.where == "here" else f" on {criterion.where}")


def explain_criterion(row: verdict_words.CriterionRow) -> str:
    """Return a criterion's bound, if it has one, and why it has its status."""
    bound = verdict_words.bound_words(row.criterion)
    return f"{bound}{'. ' if bound else ''}{row.criterion.why}{row.where_too}"


def criterion_lines(verdict: Verdict) -> Iterator[str]:
    """Yield a line per row of a criterion: status, name, points unless another row has them, and
    the reason unless it has passed with all its points."""
    for row in verdict_words.criterion_rows(verdict.criteria):
        criterion = row.criterion
        points = f" {row.points}" if row.points else ""
        line = f"{verdict_words.STATUS_STYLE[criterion.status][0]}: {criterion.name}{points}"
        if criterion.status == "pass" and not criterion.is_partial:
            yield line
            continue
        place = "" if criterion.where == "here" else f"on {criterion.where}: "
        yield f"{line}. {place}{explain_criterion(row)}"


def summary_lines(row: StandingRow) -> list[str]:
    """Return lines on the grade and what it depends on, without the criteria."""
    result = row.result
    follows, shares = "", []
    if row.parts:
        if row.is_handed_in:
            follows = f": {', '.join(map(part_words, row.parts))}"
        of_variant = row.variant.result if row.variant is not None else None
        codes = {"Kernel": result, "Variant": of_variant}
        shares = [f"{name}: {share_words(of)}." for name, of in codes.items() if of is not None]
    elif result is not None and not row.override_reason:
        follows = f": {share_words(result)}"
    return [f"{grade_words(row)}{follows}.", *shares, *notices(row)]


def feedback_lines(row: StandingRow) -> list[str]:
    """Return the lines of a gradebook's comment on a grade: the summary, then the criteria."""
    result = row.result
    lines = summary_lines(row)
    lines += criterion_lines(read_verdict(result)) if result is not None else ()
    of_variant = row.variant.result if row.variant is not None else None
    if of_variant is not None:
        lines += (f"Variant, {line}" for line in criterion_lines(read_verdict(of_variant)))
    return lines
