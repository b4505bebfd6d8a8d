"""Explain why a student has a grade, for `gradebook explain`, as lines of text. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from numalab import words
from numalab.course.gradebook.counting import (
    STATE_WORDS,
    GradeTrace,
    ScoredAttempt,
    format_duration,
    is_refused,
)
from numalab.course.gradebook.feedback import feedback_lines, grade_words, part_line
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.rules import Rules, signed
from numalab.course.gradebook.standing import StandingRow
from numalab.course.gradebook.undecided_points import criteria_text
from numalab.course.records import QUICK, Attempt
from numalab.labs import declaration
from numalab.labs.variants import lab_of_variant

_COUNTS = {
    "last": "the last grading of what was handed in last",
    "best": "the grading with most points, after what being late costs",
    "best_before_deadline": "the best of what came in time; where nothing did, of the rest",
}


def _moment(moment: datetime, trace: GradeTrace) -> str:
    """Return a time in the deadline's zone, without a deadline in this machine's."""
    zone = None if trace.deadline is None else trace.deadline.tzinfo
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _outcome(attempt: Attempt, scored: ScoredAttempt | None, row: StandingRow, rules: Rules) -> str:
    """Return in words what an attempt came to, and what it earned."""
    name = attempt.node.get("name")
    kind = node_type(attempt.node)
    where = f" on {name}" if name else ""
    where += f", {kind}" if kind else ""
    if attempt.state != "graded":
        why = f": {attempt.why.rstrip('.')}" if attempt.why else ""
        return f"not graded, {STATE_WORDS[attempt.state]}{why}"
    if is_refused(attempt, rules):
        return f"graded with --quick{where}, which does not count (allow_quick = false)"
    if scored is None:
        return f"graded{where}, in no language that counts here"
    quick = " with --quick" if attempt.target.effort == QUICK else ""
    line = (
        f"graded{quick}{where}: {scored.earned:g} of "
        f"{words.count(int(scored.gradable), 'gradable point')} in "
        f"{declaration.LANGUAGE_NAMES[scored.language]}"
    )
    if scored.undecided:
        line += f", open: {criteria_text(scored.undecided)}"
    if scored.unpenalized_points is None or scored.points is None:
        return line
    worth = rules.lab(row.lab).points
    if row.parts or row.is_part:
        return f"{line}{_share_words(scored.unpenalized_points, scored.penalty, worth)}"
    if scored.gradable != worth:
        share = words.short(scored.unpenalized_points, 4)
        line += f"{';' if scored.undecided else ','} which is {share} of {worth:g}"
    if scored.penalty:
        line += f", less {words.percent(scored.penalty)}: {scored.points:g}"
    return line


def _share_words(unpenalized_points: float, penalty: float, worth: float) -> str:
    """Return a part's share, in words after a comma: its points follow only from all parts of the
    lab together. worth: the lab's points; 0: the text is empty."""
    if not worth:
        return ""
    share = unpenalized_points / worth
    words_of = f", a share of {words.short(share, 4)}"
    if penalty:
        words_of += f", less {words.percent(penalty)}: {words.short(share * (1 - penalty), 4)}"
    return words_of


def _attempt_line(
    attempt: Attempt, trace: GradeTrace, scored: ScoredAttempt | None, rules: Rules
) -> str:
    """Return a line on an attempt: what it earned and what it was made from, or that another one
    replaces it."""
    when = _moment(datetime.fromisoformat(attempt.ended_at), trace)
    if attempt in trace.replaced:
        return f"{when}  graded; judged again or graded on since, which counts in its place"
    line = f"{when}  {_outcome(attempt, scored, trace.row, rules)}"
    earlier = sum(
        session["generations"]
        for result in attempt.results
        for session in result.get("earlier_times", ())
    )
    if earlier:
        line += f"; {words.count(earlier, 'generation')} of earlier gradings of the same program"
    if attempt.rejudged_at:
        at = _moment(datetime.fromisoformat(attempt.rejudged_at), trace)
        line += f"; judged again {at}, from what was measured then"
    return line


def _parts_lines(row: StandingRow) -> Iterator[str]:
    """Yield lines that show how the points of the parts add up."""
    weights = ", ".join(f"{part.name} {part.weight:g}" for part in row.parts)
    yield (
        f"Parts: the {row.max_points:g} points are shared out by weight ({weights}), without what "
        "a node can't show; each part gives its share of them."
    )
    for part in row.parts:
        yield f"  {part_line(part)}"
    total = sum(part.points for part in row.parts)
    hand = ", and the points were set by hand" if row.override_reason else ""
    waits = "" if row.points is not None else ", once all is graded"
    yield f"  together {total:g} of {row.max_points:g}{waits}{hand}"


def _hand_in_lines(trace: GradeTrace, rules: Rules) -> Iterator[str]:
    """Yield lines on the hand-ins of a lab or a variant, and on each grading of them."""
    row = trace.row
    if trace.deadline is not None:
        labs = (row.lab, lab_of_variant(row.lab))
        own = any(
            (one.student_id, one.deadline) == (row.student.id, trace.deadline)
            for one in rules.extensions
            if one.lab in labs
        )
        named = f"{trace.deadline.tzname()}{', an extension' if own else ''}"
        yield f"Deadline: {_moment(trace.deadline, trace)} ({named})."
    if row.is_late_unknown:
        yield (
            "Late by Canvas, hours unknown, nothing taken off. A column handed_in_at in --students "
            "FILE of batch grade tells when it was."
        )
    of = {id(weighed.attempt): weighed for weighed in trace.scored}
    attempts = [*row.attempts, *trace.replaced]
    for hand_in in trace.hand_ins:
        at = hand_in.first_at
        when = "at a time that is not known" if at is None else _moment(at, trace)
        late = ""
        if at is not None and trace.deadline is not None and at > trace.deadline:
            late = f", {format_duration((at - trace.deadline).total_seconds())} late"
        yield f"Handed in {when}{late} (files {hand_in.digest[:12]}):"
        own_attempts = [a for a in attempts if a.target.digest == hand_in.digest]
        for attempt in sorted(own_attempts, key=lambda a: (a.ended_at, a.number)):
            mark = "counts  " if attempt is row.attempt and not row.override_reason else ""
            yield f"  {mark}{_attempt_line(attempt, trace, of.get(id(attempt)), rules)}"
        if not own_attempts:
            yield "  not graded yet"


def explanation(trace: GradeTrace, rules: Rules) -> Iterator[str]:
    """Yield paragraphs on why a student has this grade. One that begins with two spaces belongs to
    the one before."""
    row = trace.row
    yield f"{row.student.name} ({row.student.id}), {row.lab}: {grade_words(row)}"
    override = rules.override(row.student.id, row.lab)
    if override is not None:
        yield f"Set by hand{signed(override)}: {override.reason}"
    if row.parts and row.is_handed_in:
        yield from _parts_lines(row)
    yield f"What counts: {_COUNTS[rules.counts]} (counts = \"{rules.counts}\")."  # fmt: skip
    yield from _hand_in_lines(trace, rules)
    if trace.variant is not None:
        yield f"{trace.variant.row.lab}:"
        yield from _hand_in_lines(trace.variant, rules)
        if not trace.variant.hand_ins:
            yield "  not handed in"
    yield "What the student is told:"
    yield from (f"  {line}" for line in feedback_lines(row))
