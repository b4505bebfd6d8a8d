"""The rules for times: what the generations of a session have decided. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numalab import words
from numalab.evidence.kinds import GENERATION
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Evidence, Generation
from numalab.judging import explain
from numalab.judging.sequential import (
    CAREFUL,
    QUICK,
    UNDECIDED,
    Decision,
    Thresholds,
    decide,
    interval,
    looks,
)
from numalab.judging.soundness import (
    first_bad,
    is_sound,
    not_looked_at,
    outcomes,
    timed_out,
    unusable,
)
from numalab.judging.verdict import NOT_DECIDED, CriterionVerdict, Status, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion

# The handout must take at least this many times the solution's time, or the node does
# not show the effect.
LEAST_HANDOUT_RATIO = 1.15

# An efficiency above this is told to be noise, unless its interval says that it is not.
MERIT_RATIO = 1.1

AGAIN_WHEN_QUIET = "Grade again when the node is quiet: the new generations are added to these."

CUT_TOO_EARLY = (
    "Its repetitions were cut off when less was allowed, so nobody knows whether they meet what is "
    "asked for now. Graded again, they are waited for."
)

# A submission whose best repetition took this many times what every claim allows, in all
# generations so far, is stopped there in the next: its sign is the same, and comes sooner.
CUT_RATIO = 8.0


def best_s(generation: Generation, role: str) -> float:
    """The minimum of a role's repetitions: what a repetition takes undisturbed. Of one that
    was cut, what it took at least."""
    return min(generation.elapsed_s[role])


def _efficiency_allows_s(criterion: Criterion, generation: Generation) -> float:
    assert criterion.at_least is not None
    return best_s(generation, SOLUTION) / criterion.at_least


def _speedup_allows_s(criterion: Criterion, generation: Generation) -> float:
    """The geometric middle: as far below the handout as above the solution."""
    return math.sqrt(best_s(generation, HANDOUT) * best_s(generation, SOLUTION))


# What a claim allows the best repetition to take.
TIMING_RULES: dict[str, Callable[[Criterion, Generation], float]] = {
    "efficiency": _efficiency_allows_s,
    "speedup": _speedup_allows_s,
}


def asked_ratio(criterion: Criterion, generations: Sequence[Generation]) -> float:
    """The ratio of speeds that is asked for, against the solution (efficiency) or the handout
    (speedup). generations: one or more, with the roles that are needed."""
    if criterion.rule == "speedup":
        return math.sqrt(
            statistics.median(best_s(g, HANDOUT) / best_s(g, SOLUTION) for g in generations)
        )
    assert criterion.at_least is not None
    return criterion.at_least


def is_effect_lost(criterion: Criterion, asked: float) -> bool:
    """Whether handout and solution take so nearly the same time that what lies between them
    says nothing; where the node shows the effect on a quiet day, that is noise."""
    return criterion.rule == "speedup" and asked**2 < LEAST_HANDOUT_RATIO


def needed_roles(criterion: Criterion) -> tuple[str, ...]:
    """The processes whose times a claim is about."""
    roles = (SOLUTION, SUBMISSION)
    return (HANDOUT, *roles) if criterion.rule == "speedup" else roles


def thresholds(evidence: Evidence) -> Thresholds:
    return QUICK if evidence.quick else CAREFUL


@dataclass(frozen=True)
class TimingState:
    """How far the generations have decided a timing criterion. margins: of each generation,
    by which factor the submission was faster than is asked for; cut: whether it was at most
    that much, since the submission was stopped; looks: what was known after each, up to the
    decision; gradable: whether the node shows the effect at all; control: the
    same claim about a second process of the kit's, in the generations that have one;
    worse_than_control: whether, where only one of the two meets the claim, it is the control.
    Were they alike, either would be as likely."""

    margins: tuple[float, ...]
    cut: tuple[bool, ...]
    thresholds: Thresholds
    looks: tuple[Decision, ...]
    gradable: Decision | None
    control: Decision
    worse_than_control: Decision

    @property
    def claim(self) -> Decision:
        return self.looks[-1] if self.looks else UNDECIDED

    @property
    def is_unstable(self) -> bool:
        """No decision, and the submission's fault: the control was decided in the same
        generations, and differs."""
        return self.control.status == "pass" and self.worse_than_control.status == "pass"

    @property
    def decided(self) -> bool:
        if self.gradable is not None and self.gradable.status != "pass":
            return self.gradable.status == "fail"
        return self.claim.status != "undecided"


def complete(evidence: Evidence, roles: Sequence[str]) -> list[Generation]:
    return [
        generation
        for generation in evidence.of(GENERATION)
        if generation.ok and all(generation.elapsed_s.get(role) for role in roles)
    ]


def _telling(criterion: Criterion, evidence: Evidence) -> list[Generation]:
    """The complete ones whose sign is known: one that was cut off before it took what is allowed,
    since less was allowed then, may have met it or not."""
    allowed_s = TIMING_RULES[criterion.rule]
    return [
        generation
        for generation in complete(evidence, needed_roles(criterion))
        if SUBMISSION not in generation.cut
        or best_s(generation, SUBMISSION) >= allowed_s(criterion, generation)
    ]


def timing_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    """evidence: with the generations that were taken for the criterion."""
    allowed_s = TIMING_RULES[criterion.rule]
    levels = thresholds(evidence)
    generations = _telling(criterion, evidence)
    margins = [allowed_s(criterion, g) / best_s(g, SUBMISSION) for g in generations]
    gradable = None
    if criterion.rule == "speedup":
        shows = [
            best_s(g, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(g, SOLUTION) for g in generations
        ]
        gradable = decide(shows, levels)
    meets = [
        (margin > 1, best_s(g, CONTROL) < allowed_s(criterion, g))
        for margin, g in zip(margins, generations, strict=True)
        if g.elapsed_s.get(CONTROL)
    ]
    return TimingState(
        margins=tuple(margins),
        cut=tuple(SUBMISSION in g.cut for g in generations),
        thresholds=levels,
        looks=tuple(looks([margin > 1 for margin in margins], levels)),
        gradable=gradable,
        control=decide([control for _, control in meets], levels),
        worse_than_control=decide(
            [control for submission, control in meets if submission != control],
            Thresholds(levels.to_fail, math.inf, levels.interval),
        ),
    )


def cut_s(criteria: Sequence[Criterion], evidence: Evidence) -> float | None:
    """Seconds after which a repetition of the submission need not be waited for, or None.
    criteria: all those about the same generations."""
    longest = 0.0
    for criterion in criteria:
        generations = complete(evidence, needed_roles(criterion))
        if not generations:
            return None
        for generation in generations:
            allowed_s = CUT_RATIO * TIMING_RULES[criterion.rule](criterion, generation)
            if best_s(generation, SUBMISSION) < allowed_s and SUBMISSION not in generation.cut:
                return None
            longest = max(longest, allowed_s)
    return longest or None


def judge_timing(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """generations of the evidence: those that were taken for the criterion."""
    bad = first_bad(outcomes(evidence))
    if bad is not None and bad.status in ("kit_error", "cancelled"):
        return unusable(criterion, bad, evidence)
    if not is_sound(evidence) and criterion.slow is None:
        return verdict_on(
            criterion, "fail", "Not timed, since the kernel does not yet give the right results."
        )
    if evidence.timing_error is not None:
        status: Status = "inconclusive" if evidence.timing_error == NOT_DECIDED else "error"
        return verdict_on(criterion, status, evidence.timing_error)
    for generation in evidence.of(GENERATION):
        if timed_out(generation):
            return verdict_on(criterion, "fail", _too_slow(generation))
        for role, part in generation.roles.items():
            if not part.outcome.ok:
                why = explain.outcome(part.outcome, evidence.language)
                return verdict_on(criterion, "error", f"While timing the {role}: {why}")

    state = timing_state(criterion, evidence)
    slow = "the handout" if criterion.slow is None else criterion.slow.split("/")[-1]
    subject = "The handout" if criterion.slow is None else f"The kit's {slow}"
    generations = _telling(criterion, evidence)
    if not generations:
        is_cut_early = bool(complete(evidence, needed_roles(criterion)))
        return (
            verdict_on(criterion, "inconclusive", CUT_TOO_EARLY)
            if is_cut_early
            else not_looked_at(criterion)
        )
    against, whose = SOLUTION, "the solution"
    if criterion.rule == "speedup":
        against, whose = HANDOUT, slow
    asked = asked_ratio(criterion, generations)
    ratios = [best_s(g, against) / best_s(g, SUBMISSION) for g in generations]
    value = statistics.median(ratios)
    is_cut = sum(state.cut) > len(generations) / 2
    bounds = interval(ratios, state.thresholds, state.cut)
    facts = {"value": value, "unit": "ratio", "interval": bounds}
    claim = state.claim
    lowest = bounds[0]
    measured = (
        f"{_speed_words(value, whose, is_cut)}; {asked:.2f}{' times its speed' if is_cut else ''} "
        f"is asked for, and reached in {claim.wins} of "
        f"{words.count(claim.signs, 'generation')}"
    )
    if criterion.rule == "efficiency" and value > MERIT_RATIO and (lowest is None or lowest <= 1):
        measured += " (what is above 1 may well be noise)"
    lost = (
        f"The node is too noisy now to grade a speedup: {whose} took {asked**2:.2f} times the "
        f"solution's time (median), and {LEAST_HANDOUT_RATIO:g} times are needed. "
        f"{AGAIN_WHEN_QUIET}"
    )
    is_lost = is_effect_lost(criterion, asked)

    if state.gradable is not None and state.gradable.status != "pass":
        if state.gradable.status == "fail":
            return verdict_on(
                criterion,
                "not_gradable",
                f"{subject} is not {LEAST_HANDOUT_RATIO:g} times slower than the "
                "solution on this node, so there is no speedup to earn here.",
                **facts,
            )
        why = lost if is_lost else _open(measured, state.gradable)
        return verdict_on(criterion, "inconclusive", why, **facts)
    if state.claim.status == "pass":
        return verdict_on(criterion, "pass", f"{words.first_upper(measured)}.", **facts)
    if criterion.rule == "speedup" and (state.claim.status == "fail" or state.is_unstable):
        handout = _of_handout(evidence, asked, measured)
        if handout is not None:
            return verdict_on(criterion, "fail", handout, **facts)
    if state.claim.status == "fail":
        return verdict_on(criterion, "fail", f"{words.first_upper(measured)}.", **facts)
    if state.is_unstable:
        return verdict_on(
            criterion,
            "fail",
            f"Unstable, or just at the limit: {measured}, while the kit's own solution was steady "
            "on this node.",
            **facts,
        )
    why = lost if is_lost else _open(measured, state.claim)
    return verdict_on(criterion, "inconclusive", why, **facts)


def _of_handout(evidence: Evidence, asked: float, measured: str) -> str | None:
    """What is said where nothing has been done yet, so that there is nothing to explain; None
    where there is. How fast the handout is beside itself tells of the node only."""
    if not evidence.unchanged_files:
        return None
    if evidence.unchanged_files == {KERNEL_FILES[evidence.language]}:
        return f"This is still the handout; {asked:.2f} times its speed is asked for."
    files = words.listed(sorted(evidence.unchanged_files))
    return f"This is still the handout's {files}: {measured}."


def _speed_words(value: float, whose: str, is_cut: bool) -> str:
    """value: times as fast as whose, at most that where it was cut."""
    if not is_cut:
        return f"{words.ratio(value)} times {whose}'s speed (median)"
    if value > 0.5:
        return f"at most {words.ratio(value)} times {whose}'s speed (median)"
    times = math.floor(1 / value)
    return f"more than {times} times slower than {whose} (median), and stopped there"


def _too_slow(generation: Generation) -> str:
    detail = generation.roles[SUBMISSION].outcome.detail
    solution = generation.elapsed_s.get(SOLUTION)
    beside = f", where the solution takes {min(solution):.2g} s" if solution else ""
    return (
        f"Far too slow: {explain.one_of(detail['doing'])} took more than {detail['limit_s']:g} s "
        f"({explain.size_words(detail['n'], detail.get('n_unit', ''))}){beside}; it was stopped."
    )


def _open(measured: str, decision: Decision) -> str:
    """Why there is no decision: generations that disagree, or too few of them."""
    if decision.wins in (0, decision.signs):
        reason = "Too few generations in the time allowed"
    else:
        reason = "The node is too noisy to tell"
    return f"{reason}: {measured}; that could be chance. {AGAIN_WHEN_QUIET}"
