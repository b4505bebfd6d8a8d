"""The rules for times: what the generations of a session have decided. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from numalab import explain
from numalab.lab import Criterion
from numalab.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Evidence, Generation
from numalab.sequential import CAREFUL, QUICK, Decision, Thresholds, decide, e_value
from numalab.soundness import first_bad, is_sound, not_looked_at, outcomes, timed_out, unusable
from numalab.verdict import CriterionVerdict, verdict_on

# The handout must take at least this many times the solution's time, or the node does
# not show the effect.
LEAST_HANDOUT_RATIO = 1.15

# A kernel whose best repetition takes this many times as long as the claim allows, in so
# many generations, has failed it; to collect the e-process's signs would only take long.
# A busy node stretches single repetitions by such a factor, not the best of them twice.
HOPELESS_RATIO = 8.0
HOPELESS_GENERATIONS = 2

# e-value at which each end of an interval excludes a ratio: 95 % in all.
INTERVAL_E_VALUE = 40.0


def best_s(generation: Generation, role: str) -> float:
    """The minimum of a role's repetitions: what a repetition takes undisturbed."""
    return min(generation.elapsed_s[role])


def _ratios(
    generations: Sequence[Generation], slow: Callable[[Generation], float], fast: str
) -> list[float]:
    return [slow(generation) / best_s(generation, fast) for generation in generations]


def interval(ratios: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % interval for the median ratio of a generation, valid when one stops at will:
    the ratios that the e-process rejects on neither side. None: not bounded yet."""
    ordered = sorted(ratios)
    size = len(ordered)
    low = high = None
    for i, ratio in enumerate(ordered):
        if e_value(size - i, size) >= INTERVAL_E_VALUE:
            low = ratio
        if high is None and e_value(i + 1, size) >= INTERVAL_E_VALUE:
            high = ratio
    return low, high


@dataclass(frozen=True)
class TimingState:
    """How far the generations have decided a timing criterion. gradable: whether the node
    shows the effect at all; control: the same claim about the kit's own second process;
    worse_than_control: whether, where only one of the two meets the claim, it is the
    control. Were they alike, either would be as likely."""

    claim: Decision
    gradable: Decision | None
    control: Decision
    worse_than_control: Decision

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


def _complete(evidence: Evidence, roles: Sequence[str]) -> list[Generation]:
    return [
        generation
        for generation in evidence.generations
        if generation.ok and all(generation.elapsed_s.get(role) for role in roles)
    ]


def thresholds(evidence: Evidence) -> Thresholds:
    return QUICK if evidence.quick else CAREFUL


def _timing_state(
    generations: Sequence[Generation],
    allowed: Sequence[float],
    levels: Thresholds,
    gradable: Decision | None,
) -> TimingState:
    submission = [best_s(g, SUBMISSION) for g in generations]
    control = [best_s(g, CONTROL) for g in generations]
    meets = [(s < t, c < t) for s, c, t in zip(submission, control, allowed, strict=True)]
    return TimingState(
        claim=_claim(submission, allowed, levels),
        gradable=gradable,
        control=_claim(control, allowed, levels),
        worse_than_control=decide(
            [c for s, c in meets if s != c], Thresholds(levels.to_fail, math.inf)
        ),
    )


def _claim(best: Sequence[float], allowed: Sequence[float], levels: Thresholds) -> Decision:
    """The claim that best times are below what is allowed, a generation each."""
    decision = decide([t < limit for t, limit in zip(best, allowed, strict=True)], levels)
    hopeless = [t > HOPELESS_RATIO * limit for t, limit in zip(best, allowed, strict=True)]
    if len(hopeless) >= HOPELESS_GENERATIONS and all(hopeless[:HOPELESS_GENERATIONS]):
        return replace(decision, status="fail")
    return decision


def _efficiency_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    assert criterion.at_least is not None
    limit = 1 / criterion.at_least
    generations = _complete(evidence, (SOLUTION, SUBMISSION, CONTROL))
    allowed = [limit * best_s(g, SOLUTION) for g in generations]
    return _timing_state(generations, allowed, thresholds(evidence), None)


def _speedup_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    generations = _complete(evidence, (HANDOUT, SOLUTION, SUBMISSION, CONTROL))
    levels = thresholds(evidence)

    middle = [math.sqrt(best_s(g, HANDOUT) * best_s(g, SOLUTION)) for g in generations]
    shows = [best_s(g, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(g, SOLUTION) for g in generations]
    return _timing_state(generations, middle, levels, decide(shows, levels))


TIMING_STATES: dict[str, Callable[[Criterion, Evidence], TimingState]] = {
    "efficiency": _efficiency_state,
    "speedup": _speedup_state,
}


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
        return verdict_on(criterion, "error", evidence.timing_error)
    for generation in evidence.generations:
        if timed_out(generation):
            return verdict_on(criterion, "fail", _too_slow(generation))
        for role, part in generation.roles.items():
            if not part.outcome.ok:
                why = explain.outcome(part.outcome, evidence.language)
                return verdict_on(criterion, "error", f"While timing the {role}: {why}")

    state = TIMING_STATES[criterion.rule](criterion, evidence)
    roles: tuple[str, ...] = (SOLUTION, SUBMISSION, CONTROL)
    slow = "the handout" if criterion.slow is None else criterion.slow.split("/")[-1]
    subject = "The handout" if criterion.slow is None else f"The kit's {slow}"
    if criterion.rule == "speedup":
        roles = (HANDOUT, *roles)
    generations = _complete(evidence, roles)
    if not generations:
        return not_looked_at(criterion)
    if criterion.rule == "speedup":
        ratios = _ratios(generations, lambda g: best_s(g, HANDOUT), SUBMISSION)
        middle = math.sqrt(
            statistics.median(_ratios(generations, lambda g: best_s(g, HANDOUT), SOLUTION))
        )
        named = f"{explain.ratio(statistics.median(ratios))} times {slow}'s speed"
    else:
        ratios = _ratios(generations, lambda g: best_s(g, SOLUTION), SUBMISSION)
        assert criterion.at_least is not None
        middle = criterion.at_least
        named = f"{explain.ratio(statistics.median(ratios))} times the solution's speed"
    facts = {"value": statistics.median(ratios), "unit": "ratio", "interval": interval(ratios)}
    claim = state.claim
    measured = (
        f"{named} (median); {middle:.2f} is asked for, and reached in {claim.wins} of "
        f"{explain.count(claim.signs, 'generation')}"
    )

    if state.gradable is not None and state.gradable.status != "pass":
        if state.gradable.status == "fail":
            return verdict_on(
                criterion,
                "not_gradable",
                f"{subject} is not {LEAST_HANDOUT_RATIO:g} times slower than the "
                "solution on this node, so there is no speedup to earn here.",
                **facts,
            )
        return verdict_on(criterion, "inconclusive", _open(measured, state.gradable), **facts)
    if state.claim.status == "pass":
        return verdict_on(criterion, "pass", f"{_first_upper(measured)}.", **facts)
    if state.claim.status == "fail":
        return verdict_on(criterion, "fail", f"{_first_upper(measured)}.", **facts)
    if state.is_unstable:
        return verdict_on(
            criterion,
            "fail",
            f"Unstable: {measured}, while the kit's own solution was steady on this node.",
            **facts,
        )
    return verdict_on(criterion, "inconclusive", _open(measured, state.claim), **facts)


def _too_slow(generation: Generation) -> str:
    detail = generation.roles[SUBMISSION].outcome.detail
    solution = generation.elapsed_s.get(SOLUTION)
    beside = f", where the solution takes {min(solution):.2g} s" if solution else ""
    return (
        f"Far too slow: one call of {detail['doing']} took more than {detail['limit_s']:g} s "
        f"(n = {detail['n']:,}){beside}; it was stopped."
    )


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _open(measured: str, decision: Decision) -> str:
    """Why there is no decision: generations that disagree, or too few of them."""
    if decision.wins in (0, decision.signs):
        reason = "Too few generations in the time allowed"
    else:
        reason = "The node is too noisy to tell"
    return (
        f"{reason}: {measured}; that could be chance. Grade again when the node is quiet: the "
        "new generations are added to these."
    )
