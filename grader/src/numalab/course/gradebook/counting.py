"""Which grading of a student's lab counts, and what it is worth. Pure functions: the gradebook
keeps what happened, course.toml says how it counts, and this module puts the two together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from numalab import words
from numalab.course.gradebook.node_types import node_types
from numalab.course.gradebook.parts import round_points
from numalab.course.gradebook.rules import DAY_S, Rules
from numalab.course.gradebook.standing import StandingRow
from numalab.course.gradebook.undecided_points import (
    UndecidedPoints,
    earnable_points,
    total_points,
    undecided_points,
)
from numalab.course.records import (
    LATE_BY_CANVAS,
    QUICK,
    Attempt,
    AttemptState,
    GradingTarget,
    Json,
    Student,
)

# Why a student has no grade, by the state of an attempt that came to nothing.
STATE_WORDS: Mapping[AttemptState, str] = {
    "kit_error": "the grader itself failed",
    "node_failed": "the node failed",
    "preempted": "the job had to make room for another",
    "time_limit": "the job reached its time limit",
    "cancelled": "the job was cancelled",
    "lost": "the job left no result",
}


LATE_UNKNOWN = (
    "Canvas marks it as late; by how much is not known, so nothing is taken off for that."
)


@dataclass(frozen=True)
class HandIn:
    """The same files of a lab, however often a student handed them in.

    Attributes:
        digest: digest of the files.
        first_at: the earliest known time of handing them in; None if none is known.
        last_at: the latest known time; if none is known, when they were last taken in, or when
            their first grading began if no collection has them.
        notes: those of the submission that had them last.
    """

    digest: str
    first_at: datetime | None
    last_at: datetime
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoredAttempt:
    """A graded attempt under the course's rules.

    Attributes:
        language: the best one of those that count.
        earned, gradable, max_points: sums over its criteria; gradable includes what is undecided.
        undecided: its undecided criteria, and those that ended as an error.
        late_s: seconds after the deadline; 0 if it is in time or within the grace period.
        penalty: share of the points taken off for being late, 0 to 1.
        unpenalized_points: earned over gradable, on the scale of the lab's points in the course;
            None if nothing was gradable.
        points: the same less the penalty, rounded.
    """

    attempt: Attempt
    language: str
    earned: float
    gradable: float
    max_points: float
    undecided: tuple[UndecidedPoints, ...]
    late_s: float
    penalty: float
    unpenalized_points: float | None
    points: float | None

    @property
    def gradable_share(self) -> float:
        """Share of the criteria's points that were gradable, 0 to 1."""
        return self.gradable / self.max_points if self.max_points else 0.0


@dataclass(frozen=True)
class GradeTrace:
    """A row of the standing, and what it follows from.

    Attributes:
        hand_ins: oldest first.
        scored: the attempts that may count, in the order of their hand-ins, then oldest first.
        deadline: the student's deadline; None if there is none.
        replaced: attempts that another one replaces and that no longer count.
        variant: the same for the lab's variant; None if that is no part of the grade.
    """

    row: StandingRow
    hand_ins: tuple[HandIn, ...]
    scored: tuple[ScoredAttempt, ...]
    deadline: datetime | None
    replaced: tuple[Attempt, ...] = ()
    variant: GradeTrace | None = None


def lateness_s(first_at: datetime | None, deadline: datetime | None, rules: Rules) -> float:
    """Return the seconds after the deadline; 0 if in time or within the grace period, or if the
    time is not known or there is no deadline."""
    if first_at is None or deadline is None:
        return 0.0
    late_s = (first_at - deadline).total_seconds()
    return late_s if late_s > rules.late.grace_s else 0.0


def format_duration(late_s: float) -> str:
    """Return a duration in minutes (at least 1), hours (from an hour) or days (from two days)."""
    if late_s < 60 * 60:
        return words.count(max(1, round(late_s / 60)), "minute")
    if late_s < 2 * DAY_S:
        return words.count(round(late_s / 3600), "hour")
    return words.count(round(late_s / DAY_S), "day")


def replaced_attempts(attempts: Iterable[Attempt]) -> set[tuple[GradingTarget, int]]:
    """Return targets and numbers of the attempts that a graded attempt replaces."""
    return {(a.target, a.replaces) for a in attempts if a.replaces and a.state == "graded"}


def is_refused(attempt: Attempt, rules: Rules) -> bool:
    """Tell whether an attempt was graded with --quick in a course where that does not count."""
    return attempt.state == "graded" and attempt.target.effort == QUICK and not rules.allow_quick


def earned_points(result: Json, rules: Rules) -> float:
    """Return the points of a result's criteria under the course's rules, before anything is taken
    off."""
    earned: float = result["points"]
    if rules.starting_code_counts:
        earned = result.get("points_if_changed", earned)
    return earned


def score_attempt(attempt: Attempt, late_s: float, lab: str, rules: Rules) -> ScoredAttempt | None:
    """Score an attempt under the course's rules.

    Args:
        late_s: seconds after the deadline.
        lab: the lab that says how many points it is worth.

    Returns:
        None if the attempt was not graded, or in no language that counts, or with --quick in a
        course in which that does not count.
    """
    if attempt.state != "graded" or is_refused(attempt, rules):
        return None
    penalty = rules.late.penalty(late_s)
    worth = rules.lab(lab).points
    found = []
    for result in attempt.results:
        if result["language"] not in rules.languages:
            continue
        gradable = earnable_points(result)
        earned = earned_points(result, rules)
        before = worth * earned / gradable if gradable else None
        found.append(
            ScoredAttempt(
                attempt=attempt,
                language=result["language"],
                earned=earned,
                gradable=gradable,
                max_points=result["max_points"],
                undecided=undecided_points(result),
                late_s=late_s,
                penalty=penalty,
                unpenalized_points=before,
                points=None if before is None else round_points(before * (1 - penalty)),
            )
        )
    return max(found, key=_ranking) if found else None


def _ranking(scored: ScoredAttempt) -> tuple[float, ...]:
    """Return the sort key of gradings; the best one has the largest. Points before the penalty come
    second, so that of two that earn nothing the better one is shown, then fewer undecided points,
    then more gradable ones."""
    points = -1.0 if scored.points is None else scored.points
    before = -1.0 if scored.unpenalized_points is None else scored.unpenalized_points
    return points, before, -total_points(scored.undecided), scored.gradable


def _choose(
    scored: Sequence[ScoredAttempt],
    hand_ins: Sequence[HandIn],
    late: Mapping[str, float],
    rules: Rules,
) -> tuple[ScoredAttempt | None, HandIn | None]:
    """Choose the grading that counts, and return it with its hand-in.

    Args:
        scored, hand_ins: oldest first.
        late: seconds after the deadline, by digest.

    Returns:
        If no grading counts: None, and the hand-in that waits for one. None twice if there is no
        hand-in.
    """
    accepted = [w for w in scored if w.penalty < 1]
    if rules.counts == "last":
        if not hand_ins:
            return None, None
        # What is too late to earn anything does not take the place of what came before it.
        earning = [hand_in for hand_in in hand_ins if rules.late.penalty(late[hand_in.digest]) < 1]
        last = (earning or hand_ins)[-1]
        of_last = [w for w in scored if w.attempt.target.digest == last.digest]
        return (of_last[-1] if of_last else None), last
    if rules.counts == "best_before_deadline":
        accepted = [w for w in scored if w.late_s == 0] or accepted
    candidates = accepted or list(scored)
    if not candidates:
        return None, (hand_ins[-1] if hand_ins else None)
    best = max(enumerate(candidates), key=lambda pair: (*_ranking(pair[1]), pair[0]))[1]
    digest = best.attempt.target.digest
    return best, next((hand_in for hand_in in hand_ins if hand_in.digest == digest), None)


def _why_not(attempts: Sequence[Attempt], hand_in: HandIn | None, rules: Rules) -> str:
    """Return sentences on why a lab has no grade. hand_in: the one that waits for a grading; None:
    there is none."""
    if hand_in is None:
        return "Nothing was handed in."
    of_it = [a for a in attempts if a.target.digest == hand_in.digest]
    if not of_it:
        return "Handed in, and not graded yet."
    last = of_it[-1]
    if is_refused(last, rules):
        return (
            "Graded with --quick, which does not count in this course, and not yet with the care "
            "that does."
        )
    if last.state == "graded":
        listed = words.listed(sorted({r["language"] for r in last.results}) or ["no language"])
        counted = words.listed(rules.languages)
        return f"Graded in {listed}, and in this course {counted} counts."
    why = f" ({last.why.rstrip('.')})" if last.why else ""
    return (
        f"Not graded: {STATE_WORDS[last.state]}{why}. That says nothing about your code; it is "
        "to be graded again."
    )


def _oldest_first(
    attempts: Iterable[Attempt], hand_ins: Sequence[HandIn]
) -> tuple[list[HandIn], list[Attempt]]:
    """Return hand-ins, oldest first, and attempts in the order of these, then oldest first. A
    hand-in is added for files that have an attempt and that no collection has."""
    known = {hand_in.digest for hand_in in hand_ins}
    every, found = list(hand_ins), sorted(attempts, key=lambda a: (a.started_at, a.number))
    for attempt in found:
        if attempt.target.digest not in known:
            known.add(attempt.target.digest)
            at = datetime.fromisoformat(attempt.started_at).astimezone()
            every.append(HandIn(attempt.target.digest, None, at))
    every.sort(key=lambda one: one.last_at)
    order = {one.digest: number for number, one in enumerate(every)}
    found.sort(key=lambda a: (order[a.target.digest], a.ended_at, a.number))
    return every, found


def derive_grade(
    student: Student,
    lab: str,
    hand_ins: Sequence[HandIn],
    attempts: Sequence[Attempt],
    not_taken: str,
    rules: Rules,
) -> GradeTrace:
    """Derive a student's grade in a lab from all hand-ins and attempts, in any order.

    Args:
        not_taken: why what was handed in for the lab could not be taken; empty if nothing was
            refused.
    """
    ordered, all_kept = _oldest_first(attempts, hand_ins)
    gone = replaced_attempts(all_kept)
    found = [a for a in all_kept if (a.target, a.number) not in gone]
    deadline, worth = rules.deadline(student.id, lab), rules.lab(lab).points
    late = {hand_in.digest: lateness_s(hand_in.first_at, deadline, rules) for hand_in in ordered}
    weighed = [
        w for a in found if (w := score_attempt(a, late[a.target.digest], lab, rules)) is not None
    ]
    counted, hand_in = _choose(weighed, ordered, late, rules)
    override = rules.override(student.id, lab)
    is_late_unknown = (
        hand_in is not None and hand_in.first_at is None and LATE_BY_CANVAS in hand_in.notes
    )
    notes = list(hand_in.notes) if hand_in is not None else []
    if is_late_unknown:
        notes[notes.index(LATE_BY_CANVAS)] = LATE_UNKNOWN
    if counted is None:
        if hand_in is None and not_taken:
            notes += ["Nothing was handed in that can be graded.", not_taken]
        else:
            notes.append(_why_not(found, hand_in, rules))
        earlier = [w for w in weighed if w.points is not None]
        if earlier:
            shown = f"{earlier[-1].points:g} of {worth:g}"
            notes.append(f"What was handed in before it was graded with {shown} points.")
    elif counted.points is None:
        notes.append("None of the criteria could be graded on that node.")
    types = node_types(found)
    if len(types) > 1:
        notes.append(
            f"The gradings ran on different types of node, {words.listed(types)}; what can be "
            "graded differs between them."
        )
    points = counted.points if counted else None
    late_s = counted.late_s if counted else (late[hand_in.digest] if hand_in else 0.0)
    penalty = counted.penalty if counted else rules.late.penalty(late_s)
    if override is not None:
        points, penalty = override.points, 0.0
    is_open = counted is not None and (
        bool(counted.undecided) or counted.gradable_share < rules.min_gradable_share
    )
    row = StandingRow(
        student=student,
        lab=lab,
        attempt=counted.attempt if counted else None,
        others=tuple(a for a in found if counted is None or a is not counted.attempt),
        points=points,
        max_points=worth,
        gradable_points=round_points(worth * counted.gradable_share) if counted else None,
        is_preliminary=override is None and is_open,
        late_s=late_s,
        penalty=penalty,
        override_reason=override.reason if override else "",
        notes=tuple(notes),
        language=counted.language if counted else "",
        is_handed_in=hand_in is not None,
        is_not_taken=hand_in is None and bool(not_taken),
        is_late_unknown=is_late_unknown,
    )
    replaced = tuple(a for a in all_kept if (a.target, a.number) in gone)
    return GradeTrace(row, tuple(ordered), tuple(weighed), deadline, replaced)
