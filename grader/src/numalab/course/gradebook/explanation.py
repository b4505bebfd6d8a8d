"""Why a student has this grade, for `gradebook explain`: lines of text, pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from numalab import words
from numalab.course.gradebook.counting import (
    STATE_WORDS,
    Account,
    Weighed,
    duration_words,
    is_refused,
)
from numalab.course.gradebook.feedback import feedback_lines, grade_words
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.open_points import names_words
from numalab.course.gradebook.rules import Rules
from numalab.course.records import QUICK, Attempt
from numalab.labs import declaration

_COUNTS = {
    "last": "the last grading of what was handed in last",
    "best": "the grading with most points, after what being late costs",
    "best_before_deadline": "the best of what came in time; where nothing did, of the rest",
}


def _moment(at: datetime, zone: tzinfo | None) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _attempt_line(
    attempt: Attempt, weighed: Weighed | None, worth: float, rules: Rules, zone: tzinfo | None
) -> str:
    when = _moment(datetime.fromisoformat(attempt.ended_at), zone)
    name = attempt.node.get("name")
    kind = node_type(attempt.node)
    where = f" on {name}" if name else ""
    where += f", {kind}" if kind else ""
    if attempt.state != "graded":
        why = f": {attempt.why.rstrip('.')}" if attempt.why else ""
        return f"{when}  not graded, {STATE_WORDS[attempt.state]}{why}"
    if is_refused(attempt, rules):
        return f"{when}  graded with --quick{where}, which does not count (allow_quick = false)"
    if weighed is None:
        return f"{when}  graded{where}, in no language that counts here"
    quick = " with --quick" if attempt.item.effort == QUICK else ""
    line = (
        f"{when}  graded{quick}{where}: {weighed.earned:g} of "
        f"{words.count(int(weighed.gradable), 'gradable point')} in "
        f"{declaration.LANGUAGE_NAMES[weighed.language]}"
    )
    if weighed.open:
        line += f", open: {names_words(weighed.open)}"
    if weighed.before is None or weighed.points is None:
        return line
    if weighed.gradable != worth:
        line += f"{';' if weighed.open else ','} which is {weighed.before:.4g} of {worth:g}"
    if weighed.penalty:
        line += f", less {words.percent(weighed.penalty)}: {weighed.points:g}"
    return line


def _line_of(
    attempt: Attempt,
    account: Account,
    weighed: Weighed | None,
    rules: Rules,
    zone: tzinfo | None,
) -> str:
    """With what became of it, or what it was made from."""
    if attempt in account.replaced:
        when = _moment(datetime.fromisoformat(attempt.ended_at), zone)
        return f"{when}  graded; judged again or graded on since, which counts in its place"
    line = _attempt_line(attempt, weighed, account.row.max_points, rules, zone)
    earlier = sum(
        session["generations"]
        for result in attempt.results
        for session in result.get("earlier_times", ())
    )
    if earlier:
        line += f"; {words.count(earlier, 'generation')} of earlier gradings of the same program"
    if attempt.rejudged_at:
        at = _moment(datetime.fromisoformat(attempt.rejudged_at), zone)
        line += f"; judged again {at}, from what was measured then"
    return line


def explanation(account: Account, rules: Rules) -> Iterator[str]:
    """Paragraphs; one that begins with two spaces belongs to the one before."""
    row = account.row
    yield f"{row.student.name} ({row.student.id}), {row.lab}: {grade_words(row)}"
    override = rules.override(row.student.id, row.lab)
    if override is not None:
        by = f" by {override.by}" if override.by else ""
        on = f", {override.at}" if override.at else ""
        yield f"Set by hand{by}{on}: {override.reason}"
    yield f"What counts: {_COUNTS[rules.counts]} (counts = \"{rules.counts}\")."  # fmt: skip
    zone = None if account.deadline is None else account.deadline.tzinfo
    if account.deadline is not None:
        own = account.deadline != rules.lab(row.lab).deadline
        named = f"{account.deadline.tzname()}{', an extension' if own else ''}"
        yield f"Deadline: {_moment(account.deadline, zone)} ({named})."
    of = {id(weighed.attempt): weighed for weighed in account.weighed}
    attempts = [*row.others, *([row.attempt] if row.attempt else []), *account.replaced]
    for hand_in in account.hand_ins:
        at = hand_in.first_at
        when = "at a time that is not known" if at is None else _moment(at, zone)
        late = ""
        if at is not None and account.deadline is not None and at > account.deadline:
            late = f", {duration_words((at - account.deadline).total_seconds())} late"
        yield f"Handed in {when}{late} (files {hand_in.digest[:12]}):"
        own_attempts = [a for a in attempts if a.item.digest == hand_in.digest]
        for attempt in sorted(own_attempts, key=lambda a: (a.ended_at, a.number)):
            mark = "counts  " if attempt is row.attempt and override is None else ""
            yield f"  {mark}{_line_of(attempt, account, of.get(id(attempt)), rules, zone)}"
        if not own_attempts:
            yield "  not graded yet"
    yield "What the student is told:"
    yield from (f"  {line}" for line in feedback_lines(row))
