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
    held_up,
    is_sound,
    not_looked_at,
    outcomes,
    timed_out,
    unusable,
)
from numalab.judging.verdict import NOT_DECIDED, Cause, CriterionVerdict, Status, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion

# The handout must take at least this many times the solution's time, or the node does
# not show the effect.
LEAST_HANDOUT_RATIO = 1.15

# An efficiency above this is told to be noise, unless its interval says that it is not.
MERIT_RATIO = 1.1

AGAIN_WHEN_QUIET = "Grade again when the node is quiet: the new generations are added to these."

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
    """How far the generations have decided a timing criterion.

    margins: of each generation, by which factor the submission was faster than is asked for;
    cut: whether it was at most that much, since the submission was stopped; signs: whether it
    was faster at all, None where it was stopped too early to know; looks: what was known after
    each, up to the decision; gradable: whether the node shows the effect at all; control: the
    same claim about a second process of the kit's, in the generations that have one;
    worse_than_control: whether, where only one of the two meets the claim, it is the control.
    Were they alike, either would be as likely.
    """

    margins: tuple[float, ...]
    cut: tuple[bool, ...]
    signs: tuple[bool | None, ...]
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


def is_cut(generation: Generation) -> bool:
    """Whether the submission's best repetition is one that was stopped: it took at least that
    long, and nobody knows how long."""
    times_s = generation.elapsed_s[SUBMISSION]
    return SUBMISSION in generation.cut and times_s[-1] == min(times_s)


def _margin(criterion: Criterion, generation: Generation) -> float:
    allowed_s = TIMING_RULES[criterion.rule](criterion, generation)
    return allowed_s / best_s(generation, SUBMISSION)


def _sign(criterion: Criterion, generation: Generation) -> bool | None:
    """Whether the submission took less than is allowed; None where it was stopped before that.
    As long as nothing changes it is stopped long after it."""
    is_faster = _margin(criterion, generation) > 1
    return None if is_faster and is_cut(generation) else is_faster


def _known(criterion: Criterion, generations: Sequence[Generation]) -> Sequence[Generation]:
    """Those after the last that was stopped too early."""
    unknown = [i for i, g in enumerate(generations, start=1) if _sign(criterion, g) is None]
    return generations[unknown[-1] :] if unknown else generations


def timing_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    """evidence: with the generations that were taken for the criterion."""
    allowed_s = TIMING_RULES[criterion.rule]
    levels = thresholds(evidence)
    generations = complete(evidence, needed_roles(criterion))
    signs = tuple(_sign(criterion, g) for g in generations)
    gradable = None
    if criterion.rule == "speedup":
        shows = [
            best_s(g, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(g, SOLUTION) for g in generations
        ]
        gradable = decide(shows, levels)
    meets = [
        (_margin(criterion, g) > 1, best_s(g, CONTROL) < allowed_s(criterion, g))
        for g in _known(criterion, generations)
        if g.elapsed_s.get(CONTROL)
    ]
    return TimingState(
        margins=tuple(_margin(criterion, g) for g in generations),
        cut=tuple(map(is_cut, generations)),
        signs=signs,
        thresholds=levels,
        looks=tuple(looks(signs, levels)),
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
        generations = _known(criterion, complete(evidence, needed_roles(criterion)))
        if not generations:
            return None
        for generation in generations:
            allowed_s = CUT_RATIO * TIMING_RULES[criterion.rule](criterion, generation)
            if best_s(generation, SUBMISSION) < allowed_s and not is_cut(generation):
                return None
            longest = max(longest, allowed_s)
    return longest or None


def judge_timing(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """generations of the evidence: those that were taken for the criterion."""
    untimed = _not_timed(criterion, evidence)
    if untimed is not None:
        return untimed
    generations = complete(evidence, needed_roles(criterion))
    if not generations:
        return not_looked_at(criterion, evidence)
    times = _times(criterion, evidence, generations)
    verdicts = (rule(times) for rule in _RULES_IN_ORDER)
    verdict = next(verdict for verdict in verdicts if verdict is not None)
    if verdict.cause in ("too_noisy", "not_decided") and evidence.is_held_up:
        return held_up(criterion, evidence)
    return verdict


def _not_timed(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """The verdict where times mean nothing, or taking them came to a bad end; None else."""
    bad = first_bad(outcomes(evidence))
    if bad is not None and bad.status in ("kit_error", "cancelled"):
        return unusable(criterion, bad, evidence)
    if not is_sound(evidence) and criterion.slow is None:
        why = "Not timed, since the kernel does not yet give the right results."
        return verdict_on(criterion, "fail", "not_right_yet", why)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_DECIDED)
    if evidence.timing_error is not None:
        return verdict_on(criterion, "error", "kit", evidence.timing_error)
    for generation in evidence.of(GENERATION):
        if timed_out(generation):
            return verdict_on(criterion, "fail", "too_slow", _too_slow(generation))
        for role, part in generation.roles.items():
            if not part.outcome.ok:
                why = f"While timing the {role}: {explain.outcome(part.outcome, evidence.language)}"
                return verdict_on(criterion, "error", "kit", why)
    return None


@dataclass(frozen=True)
class _Times:
    """What the rules for times look at. value: the median ratio of speeds; asked: the ratio that
    is asked for; whose: whose speed both are over; measured: a clause that tells them."""

    criterion: Criterion
    evidence: Evidence
    state: TimingState
    value: float
    interval: tuple[float | None, float | None]
    asked: float
    whose: str
    measured: str

    def verdict(self, status: Status, cause: Cause, why: str) -> CriterionVerdict:
        return verdict_on(
            self.criterion,
            status,
            cause,
            why,
            value=self.value,
            unit="ratio",
            interval=self.interval,
        )

    def open(self, decision: Decision) -> CriterionVerdict:
        """Why there is no decision: no effect to measure by, generations that disagree, or too
        few of them."""
        if is_effect_lost(self.criterion, self.asked):
            return self.verdict(
                "inconclusive",
                "too_noisy",
                f"The node is too noisy now to grade a speedup: {self.whose} took "
                f"{self.asked**2:.2f} times the solution's time (median), and "
                f"{LEAST_HANDOUT_RATIO:g} times are needed. {AGAIN_WHEN_QUIET}",
            )
        chance = f"{self.measured}; that could be chance. {AGAIN_WHEN_QUIET}"
        if decision.all_agree:
            why = f"Too few generations in the time allowed: {chance}"
            return self.verdict("inconclusive", "not_decided", why)
        why = f"The node is too noisy to tell: {chance}"
        return self.verdict("inconclusive", "too_noisy", why)


def _slow_name(criterion: Criterion) -> str:
    """What a speedup is over."""
    return "the handout" if criterion.slow is None else criterion.slow.split("/")[-1]


def _times(criterion: Criterion, evidence: Evidence, generations: Sequence[Generation]) -> _Times:
    state = timing_state(criterion, evidence)
    against, whose = SOLUTION, "the solution"
    if criterion.rule == "speedup":
        against, whose = HANDOUT, _slow_name(criterion)
    asked = asked_ratio(criterion, generations)
    ratios = [best_s(g, against) / best_s(g, SUBMISSION) for g in generations]
    value = statistics.median(ratios)
    is_mostly_cut = sum(state.cut) > len(generations) / 2
    bounds = interval(ratios, state.thresholds, state.cut)
    lowest = bounds[0]
    measured = (
        f"{_speed_words(value, whose, is_mostly_cut)}; "
        f"{asked:.2f}{' times its speed' if is_mostly_cut else ''} "
        f"is asked for, and reached in {state.claim.wins} of "
        f"{words.count(state.claim.signs, 'generation')}"
    )
    if criterion.rule == "efficiency" and value > MERIT_RATIO and (lowest is None or lowest <= 1):
        measured += " (what is above 1 may well be noise)"
    return _Times(criterion, evidence, state, value, bounds, asked, whose, measured)


def _no_effect(times: _Times) -> CriterionVerdict | None:
    """Where the handout is as fast as the solution, a speedup can't be seen."""
    gradable = times.state.gradable
    if gradable is None or gradable.status == "pass":
        return None
    if gradable.status == "undecided":
        return times.open(gradable)
    slow = times.criterion.slow
    subject = "The handout" if slow is None else f"The kit's {_slow_name(times.criterion)}"
    return times.verdict(
        "not_gradable",
        "no_effect_here",
        f"{subject} is not {LEAST_HANDOUT_RATIO:g} times slower than the solution on this node, "
        "so there is no speedup to earn here.",
    )


def _fast_enough(times: _Times) -> CriterionVerdict | None:
    if times.state.claim.status != "pass":
        return None
    return times.verdict("pass", "reached", f"{words.first_upper(times.measured)}.")


def _still_handout(times: _Times) -> CriterionVerdict | None:
    """Nothing has been done yet, so that there is nothing to explain. How fast the handout is
    beside itself tells of the node only."""
    state, files = times.state, times.evidence.unchanged_files
    is_missed = state.claim.status == "fail" or state.is_unstable
    if times.criterion.rule != "speedup" or not is_missed or not files:
        return None
    if files == {KERNEL_FILES[times.evidence.language]}:
        why = f"This is still the handout; {times.asked:.2f} times its speed is asked for."
    else:
        why = f"This is still the handout's {words.listed(sorted(files))}: {times.measured}."
    return times.verdict("fail", "too_slow", why)


def _slower(times: _Times) -> CriterionVerdict | None:
    if times.state.claim.status != "fail":
        return None
    return times.verdict("fail", "too_slow", f"{words.first_upper(times.measured)}.")


def _unstable(times: _Times) -> CriterionVerdict | None:
    if not times.state.is_unstable:
        return None
    return times.verdict(
        "fail",
        "unstable",
        f"Unstable, or just at the limit: {times.measured}, while the kit's own solution was "
        "steady on this node.",
    )


def _cut_too_early(times: _Times) -> CriterionVerdict | None:
    """What was cut off when less was waited for tells only that it took at least so long."""
    unknown = times.state.signs.count(None)
    if not unknown or not times.state.claim.all_agree:
        return None
    return times.verdict(
        "inconclusive",
        "cut_too_early",
        f"In {words.count(unknown, 'generation')} the repetitions were cut off before they took "
        f"as long as is allowed now, {times.asked:.2f} times the speed of {times.whose}: what was "
        "asked for has changed since. Only what comes after them counts. Grade again: new "
        "generations are taken.",
    )


def _not_decided(times: _Times) -> CriterionVerdict:
    return times.open(times.state.claim)


# The first that applies is the verdict.
_RULES_IN_ORDER: tuple[Callable[[_Times], CriterionVerdict | None], ...] = (
    _no_effect,
    _fast_enough,
    _still_handout,
    _slower,
    _unstable,
    _cut_too_early,
    _not_decided,
)


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
    size = explain.problem_size(detail["n"], detail.get("n_unit", ""))
    return (
        f"Far too slow: {explain.one_of(detail['doing'])} took more than "
        f"{explain.time_limit(detail)} ({size}){beside}; it was stopped."
    )
