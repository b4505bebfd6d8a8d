"""The verdict on a criterion of time. Pure functions.

A replicate speaks for the claim (it is *won*), against it (*lost*), or does neither;
timing_state.py defines both, and what the *effect* and *steadiness* are. A claim is *shown* where
its e-value reaches e_to_pass (100, with --quick 20), and *shown not* where that of its losses
reaches e_to_fail (1000, with --quick 20): sequential.py proves the risks. The probe takes the
solution's place where `at_least_of_lightspeed` is required.

**Without times** (`_verdict_without_times`). In this order: the first run of the kernel that ended
early leaves the criterion undecided if it was interrupted, and is an error if numalab made it fail;
a kernel that is not sound fails it, unless launches are compared; an interrupted grading leaves it
undecided; what kept numalab from timing is an error; then, by replicate, a submission that met its
time limit fails it as too slow; wrong results of a probe that is the reference are an error; a
process that did not come to its end fails it where the submission is to blame, else it is an error.

**With times** the first rule of `_RULES_IN_ORDER` that has a verdict gives it:

| rule | what replicates show | status, cause | at a risk of |
|-|-|-|-|
| `_implausible` | the claim, and a speed above plausible_up_to times the solution's | \
inconclusive implausible | |
| `_fast_enough` | the claim | pass reached | 1/e_to_pass |
| `_no_effect` | that the machine has no effect, before they showed the claim | not_gradable \
no_effect_here | 1/e_to_fail |
| `_still_handout` | what `_slower` or `_unstable` fails, for a speedup of starting code | fail \
too_slow | 1/e_to_fail |
| `_slower` | that the claim is false, and the effect if the claim needs one | fail too_slow, \
too_fast | 1/e_to_fail |
| `_overspent` | too little: the submission's processes took the time of further replicates | fail \
too_slow | |
| `_effect_lost` | starting code about as fast as the solution just now | inconclusive too_noisy | |
| `_effect_undecided` | that the claim is false, but not the effect | inconclusive too_noisy, \
not_decided | |
| `_unstable` | the effect, that the control meets the claim, and that the submission is less \
steady | fail unstable | 1/e_to_fail |
| `_cut_too_early` | too little: repetitions were stopped before their sign was known | \
inconclusive cut_too_early | |
| `_not_decided` | too little | inconclusive too_noisy, not_decided | |

Where the machine paused again and again, a verdict too_noisy or not_decided becomes node_paused.

*The risk* of a wrong pass holds where each replicate is won with a chance of at most 1/2, whatever
came before; that of a wrong fail where it is lost with a chance of at most 1/2; that of a wrong
no_effect_here where it shows the effect with a chance of at least 1/2.

*Two sides* (chain): the submission takes less than at_most, and more than at_least, times the
solution's time. These are two claims with signs of their own. A pass has to show both, so a wrong
one shows a side that does not hold: at most 1/e_to_pass. A fail may come from either side, so each
takes twice e_to_fail: at most 1/e_to_fail together.

*Plausible* is a speed that the work allows on any machine by the bytes or operations that it takes
(plausible_up_to in lab.toml). What is faster stays undecided.

*The time budget* is for processes that take as long as the solution's. What the submission's take
beyond that, to start and for all requests beside repetitions, is accounted for separately
(timing_state.TimeBudgetUse). It counts as used up only if the processes took eight times as long
as the solution's in the same replicate, in two replicates or more.

*Steady*: in the replicates that have a control, a second process of the solution, the distance
|log(time / limit)| is at most twice |log(control / solution)| in half of them or more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numalab import words
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import PROBE, SOLUTION, SUBMISSION, Evidence, Json, TimedRound
from numalab.evidence.run_formats import Outcome
from numalab.judging import explain
from numalab.judging.rates import last_cache
from numalab.judging.sequential import interval
from numalab.judging.soundness import (
    first_bad,
    has_mistake,
    held_up,
    is_sound,
    not_measured,
    outcomes,
    timed_out,
    unusable,
)
from numalab.judging.timing_claims import (
    CHAIN,
    CLAIMS,
    EFFICIENCY,
    LEAST_HANDOUT_RATIO,
    SPEEDUP,
    best_s,
    claim_of,
    reference_of,
)
from numalab.judging.timing_state import (
    RequiredSpeed,
    TimingState,
    complete,
    required_speed,
    time_budget_use,
    timing_state,
)
from numalab.judging.verdict import NOT_DECIDED, Cause, CriterionVerdict, Status, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion

# An efficiency above this is called noise unless its interval is above 1.
MERIT_RATIO = 1.1

ELEMENT_BYTES = 8  # of a chain's element, the index that the next load needs

WHY_TOO_FAST = (
    "Where each load waits for the one before it, memory sets the pace, and no kernel is faster: "
    "here loads don't wait for one another, or not all steps are taken."
)
WHY_TOO_SLOW = (
    "More is done for each step than to load where it leads, or before the first: what comes "
    "between one load and the next?"
)

AGAIN_WHEN_QUIET = "Grade again when the node is quiet: the new generations are added to these."

QUICK_RISK = "Quick: of kernels just at the limit up to 1 in 20 is judged wrongly."


def judge_timing(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Return the verdict on a criterion of time; the module's docstring has its rules and risks.

    Args:
        evidence: has the replicates that were taken for the criterion, and no others.
    """
    untimed = _verdict_without_times(criterion, evidence)
    if untimed is not None:
        return untimed
    replicates = complete(evidence, claim_of(criterion).roles(criterion))
    if not replicates:
        return not_measured(criterion, evidence)
    times = _times(criterion, evidence, replicates)
    verdicts = (rule(times) for rule in _RULES_IN_ORDER)
    verdict = next(verdict for verdict in verdicts if verdict is not None)
    if verdict.cause in ("too_noisy", "not_decided") and evidence.is_held_up:
        return held_up(criterion, evidence)
    return verdict


for _claim in CLAIMS.values():
    _claim(judge_timing)


def _verdict_without_times(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict where times mean nothing or could not be taken; else None."""
    bad = first_bad(outcomes(evidence))
    if bad is not None and (bad.is_numalab_fault or bad.status == "cancelled"):
        return unusable(criterion, bad, evidence)
    if not is_sound(evidence) and criterion.slow is None:
        why = "Not timed, since the kernel does not yet give the right results."
        return verdict_on(criterion, "fail", "not_right_yet", why)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_DECIDED)
    if evidence.timing_error is not None:
        return verdict_on(criterion, "error", "kit", evidence.timing_error)
    for replicate in evidence.runs_of(TIMED_ROUND):
        if timed_out(replicate):
            return verdict_on(criterion, "fail", "too_slow", _too_slow(replicate))
        probe = replicate.roles.get(PROBE)
        if reference_of(criterion) == PROBE and probe is not None and has_mistake(probe.results):
            why = "The kit's probe gave a wrong result, so its times are no measure."
            return verdict_on(criterion, "error", "kit", why)
        for role, part in replicate.roles.items():
            # Under a launch of the kit's own a process is not the student's business.
            if part.outcome.blames and (criterion.slow is None or role == SUBMISSION):
                return _disturbed(criterion, evidence, role, part.outcome)
            if not part.outcome.ok:
                why = f"While timing the {role}: {explain.outcome(part.outcome, evidence.language)}"
                return verdict_on(criterion, "error", "kit", why)
    return None


def _disturbed(
    criterion: Criterion, evidence: Evidence, role: str, outcome: Outcome
) -> CriterionVerdict:
    """Return the failure where a process of numalab's ended badly, and the student's work is to
    blame."""
    ending = explain.outcome(outcome, evidence.language)
    if criterion.slow is not None:
        why = (
            "Under your launch the kit's program does not come to its end, and under the kit's own "
            f"it does: {ending}"
        )
        return verdict_on(criterion, "fail", "bad_file", why)
    why = (
        f"While it was timed, the kit's own {role} did not come to its end: {ending} With another "
        "kernel of the kit's in the place of yours it does. Whatever yours does to other "
        "processes, to shared memory, or to the memory of the whole node, it must not."
    )
    return verdict_on(criterion, "fail", "disturbed_monitor", why)


@dataclass(frozen=True)
class _Times:
    """The data that rules for times judge by.

    Attributes:
        value: the median over replicates of the reported ratio: the submission's speed over the
            reference's, or of a chain its time over the solution's.
        interval: that of the value; an end is None where the replicates do not bound it.
        required: the speed that a pass requires.
        reference: what the value and the required speed are multiples of, in words.
        measured_text: the value, as a clause.
        required_text: what is required and how often it was reached, as a clause.
        reference_ratio: how many times as fast as the solution or the probe the submission is at
            least: the interval's lower end, or the least ratio where it has none; 0 for a chain.
    """

    criterion: Criterion
    evidence: Evidence
    state: TimingState
    value: float
    interval: tuple[float | None, float | None]
    required: RequiredSpeed
    reference: str
    measured_text: str
    required_text: str
    reference_ratio: float

    @property
    def text(self) -> str:
        """Return measured_text and required_text, with a semicolon between them."""
        return f"{self.measured_text}; {self.required_text}"

    def verdict(
        self, status: Status, cause: Cause, why: str, rests_on_signs: bool = True
    ) -> CriterionVerdict:
        """Return a verdict with the measured value. rests_on_signs: whether a verdict that decides
        the criterion has the risks of the module's table, which a quick grading mentions."""
        is_by_signs = rests_on_signs and status in ("pass", "fail", "not_gradable")
        return verdict_on(
            self.criterion,
            status,
            cause,
            f"{why} {QUICK_RISK}" if is_by_signs and self.evidence.quick else why,
            value=self.value,
            unit="ratio",
            interval=self.interval,
            confidence=self.state.thresholds.confidence,
        )


def reference_name(criterion: Criterion) -> str:
    """Return the name of what an efficiency is held against."""
    return "the probe" if reference_of(criterion) == PROBE else "the solution"


def _slow_name(criterion: Criterion) -> str:
    """Return the name of what a speedup is over."""
    return criterion.baseline_text if criterion.slow is None else criterion.slow.split("/")[-1]


def _times(criterion: Criterion, evidence: Evidence, replicates: Sequence[TimedRound]) -> _Times:
    state = timing_state(criterion, evidence)
    name = _slow_name(criterion) if SPEEDUP.judges(criterion) else reference_name(criterion)
    ratios = _speed_ratios(replicates, claim_of(criterion).compared_with(criterion))
    value = statistics.median(ratios)
    bounds = interval(ratios, state.thresholds, state.cut)
    required = required_speed(criterion, replicates)
    is_mostly_cut = sum(state.cut) > len(replicates) / 2
    if CHAIN.judges(criterion):
        low, high = bounds
        value = 1 / value
        bounds = (None if high is None else 1 / high, None if low is None else 1 / low)
        clauses = _chain_clauses(criterion, state, replicates, value, bounds, is_mostly_cut)
        return _Times(criterion, evidence, state, value, bounds, required, name, *clauses, 0.0)
    measured = _speed_words(value, name, is_mostly_cut, _interval_words(bounds, state))
    count = f"{required_text(required)}{' times its speed' if is_mostly_cut else ''} is asked for, "
    count += f"and reached in {_wins_words(state)}"
    if EFFICIENCY.judges(criterion) and value > MERIT_RATIO and (bounds[0] or 0) <= 1:
        count += " (what is above 1 may well be noise)"
    ratios = _speed_ratios(replicates, reference_of(criterion))
    least, _ = interval(ratios, state.thresholds, state.cut)
    least = min(ratios) if least is None else least
    return _Times(criterion, evidence, state, value, bounds, required, name, measured, count, least)


def _speed_ratios(replicates: Sequence[TimedRound], role: str) -> list[float]:
    """Return the submission's speed over a role's, by replicate."""
    return [best_s(g, role) / best_s(g, SUBMISSION) for g in replicates]


def required_text(required: RequiredSpeed) -> str:
    """Return the required speed in words. That of a speedup may differ by replicate, since it
    follows from two measured times."""
    least, most = f"{required.least:.2f}", f"{required.most:.2f}"
    return least if least == most else f"{least} to {most}, by generation,"


def _wins_words(state: TimingState) -> str:
    claim = state.claim
    reached = f"{claim.wins} of {words.count(claim.signs, 'generation')}"
    if claim.reached is not None and len(state.decisions) < len(state.margins):
        return f"{reached}, which decided ({len(state.margins)} were taken)"
    return reached


def _interval_words(bounds: tuple[float | None, float | None], state: TimingState) -> str:
    """Return an interval in words, to be put behind "median"; empty: it is not bounded, or both
    ends read alike."""
    low, high = (None if end is None else words.ratio(end) for end in bounds)
    if low == high:
        return ""  # there is no interval, or its ends read alike
    held = f", {100 * state.thresholds.confidence:.0f} %: "
    if low is None or high is None:
        return f"{held}above {low}" if high is None else f"{held}below {high}"
    return f"{held}{low} to {high}"


def _implausible(times: _Times) -> CriterionVerdict | None:
    """Leave undecided what is faster than the work allows."""
    most = times.criterion.plausible_up_to
    if times.state.outcome != "pass" or times.reference_ratio <= most:
        return None
    return times.verdict(
        "inconclusive",
        "implausible",
        f"{words.ratio(times.reference_ratio)} times {reference_name(times.criterion)}'s speed or "
        f"more: above {most:g} times is more than the work allows by what is known. An instructor "
        "has to look at how it is done, and sets the points by hand; nothing is lost, and grading "
        "again changes nothing.",
    )


def _fast_enough(times: _Times) -> CriterionVerdict | None:
    if times.state.outcome != "pass":
        return None
    why = f"{words.first_upper(times.text)}.{_chain_text(times)}"
    return times.verdict("pass", "reached", why)


def _no_effect(times: _Times) -> CriterionVerdict | None:
    """Call a speedup not gradable where starting code is about as fast as the solution."""
    if times.state.outcome != "not_gradable":
        return None
    slow = times.criterion.slow
    name = _slow_name(times.criterion)
    subject = words.first_upper(name) if slow is None else f"The kit's {name}"
    return times.verdict(
        "not_gradable",
        "no_effect_here",
        f"{subject} is not {LEAST_HANDOUT_RATIO:g} times slower than the solution on this node, "
        "so there is no speedup to earn here.",
    )


def _still_handout(times: _Times) -> CriterionVerdict | None:
    """Fail a speedup of starting code that is missed or unstable with a reason of its own."""
    state, files = times.state, times.evidence.unchanged_files
    is_missed = state.outcome == "fail" or state.is_unstable
    if not SPEEDUP.judges(times.criterion) or not is_missed or not files:
        return None
    if files == {KERNEL_FILES[times.evidence.language]}:
        why = (
            f"This is still the handout; {times.required.median:.2f} times its speed is asked for."
        )
    else:
        why = f"This is still the handout's {words.listed(sorted(files))}: {times.text}."
    return times.verdict("fail", "too_slow", why)


def _slower(times: _Times) -> CriterionVerdict | None:
    if times.state.outcome != "fail":
        return None
    cause: Cause = "too_fast" if times.state.is_too_fast else "too_slow"
    return times.verdict("fail", cause, f"{words.first_upper(times.text)}.{_chain_text(times)}")


def _overspent(times: _Times) -> CriterionVerdict | None:
    """Fail a submission whose processes used up the time that further replicates would take."""
    use = time_budget_use(times.evidence)
    if not use.is_overspent:
        return None
    return times.verdict(
        "fail",
        "too_slow",
        f"Far too slow beside what is timed: in {words.count(use.replicates, 'generation')} "
        f"the kernel's process took {words.short(use.submission_s)} s in all to start and for "
        f"each of its functions, where {reference_name(times.criterion)}'s took "
        f"{words.short(use.reference_s, 2)} s. The {use.allowed_s:.0f} s that a grading "
        "has for that are used up.",
        rests_on_signs=False,
    )


def _effect_lost(times: _Times) -> CriterionVerdict | None:
    """Leave undecided a speedup where starting code and solution take about the same time."""
    if not times.required.is_lost:
        return None
    return times.verdict(
        "inconclusive",
        "too_noisy",
        f"The node is too noisy now to grade a speedup: {times.reference} took "
        f"{times.required.effect:.2f} times the solution's time (median), and "
        f"{LEAST_HANDOUT_RATIO:g} times are needed. {AGAIN_WHEN_QUIET}",
    )


def _effect_undecided(times: _Times) -> CriterionVerdict | None:
    """Leave undecided what is too slow on a machine that may not show the effect."""
    effect = times.state.effect
    if effect is None or effect.reached is not None or times.state.claim.reached != "below":
        return None
    return times.verdict(
        "inconclusive",
        "not_decided" if effect.all_agree else "too_noisy",
        f"{words.first_upper(times.measured_text)}, which is too slow. But whether this node shows "
        f"the effect at all is open: {times.reference} took {LEAST_HANDOUT_RATIO:g} times the "
        f"solution's time or more in {effect.wins} of {words.count(effect.signs, 'generation')}, "
        f"and that could be chance. {AGAIN_WHEN_QUIET}",
    )


def _unstable(times: _Times) -> CriterionVerdict | None:
    if not times.state.is_unstable:
        return None
    return times.verdict(
        "fail",
        "unstable",
        f"Unstable: {times.text}. Beside it the solution was steady on this node, and the "
        "lab asks for a kernel that is fast enough and as steady.",
    )


def _cut_too_early(times: _Times) -> CriterionVerdict | None:
    """Leave undecided what depends on repetitions that were stopped when another limit held."""
    unknown = times.state.signs.count(None)
    if not unknown or not times.state.claim.all_agree:
        return None
    return times.verdict(
        "inconclusive",
        "cut_too_early",
        f"In {words.count(unknown, 'generation')} the repetitions were cut off before they took "
        f"as long as is allowed now, {times.required.median:.2f} times the speed of "
        f"{times.reference}: what was asked for has changed since. Only what comes after them "
        "counts. Grade again: new generations are taken.",
    )


def _not_decided(times: _Times) -> CriterionVerdict:
    """Leave undecided the rest: too few replicates, or replicates that disagree."""
    chance = f"{times.text}; that could be chance. {AGAIN_WHEN_QUIET}"
    if all(claim.all_agree for claim in times.state.claims):
        why = f"Too few generations in the time allowed: {chance}"
        return times.verdict("inconclusive", "not_decided", why)
    if times.state.control.reached == "above":
        why = f"Too near to the limit to tell on this node: {chance}"
        return times.verdict("inconclusive", "too_noisy", why)
    return times.verdict("inconclusive", "too_noisy", f"The node is too noisy to tell: {chance}")


# The module's docstring has them as a table.
_RULES_IN_ORDER: tuple[Callable[[_Times], CriterionVerdict | None], ...] = (
    _implausible,
    _fast_enough,
    _no_effect,
    _still_handout,
    _slower,
    _overspent,
    _effect_lost,
    _effect_undecided,
    _unstable,
    _cut_too_early,
    _not_decided,
)


def _speed_words(value: float, reference: str, is_cut: bool, held: str) -> str:
    """Return the median speed as a clause. value: it, as a multiple of the reference's; is_cut:
    whether that is an upper bound; held: its interval in words."""
    if not is_cut:
        return f"{words.ratio(value)} times {reference}'s speed (median{held})"
    if value > 0.5:
        return f"at most {words.ratio(value)} times {reference}'s speed (median)"
    times = math.floor(1 / value)
    return f"more than {times} times slower than {reference} (median), and stopped there"


def _too_slow(replicate: TimedRound) -> str:
    """Return the reason of a failure where the submission met the time limit."""
    ended = replicate.roles[SUBMISSION].outcome
    references = [name for name in (SOLUTION, PROBE) if replicate.elapsed_s.get(name)]
    reference = (
        f", where the {references[0]} takes {words.short(best_s(replicate, references[0]), 2)} s"
        if references
        else ""
    )
    size = explain.problem_size(ended.n or 0, ended.n_unit or "")
    return (
        f"Far too slow: {explain.name_call(ended.doing or '')} took more than "
        f"{explain.time_limit(ended)} ({size}){reference}; it was stopped."
    )


# ---- chains of loads ---------------------------------------------------------------------


def band(criterion: Criterion) -> str:
    """Return the bounds of a chain's ratio of times in words."""
    return f"{criterion.at_least:g} to {criterion.at_most:g}"


def _chain_clauses(
    criterion: Criterion,
    state: TimingState,
    replicates: Sequence[TimedRound],
    value: float,
    bounds: tuple[float | None, float | None],
    is_mostly_cut: bool,
) -> tuple[str, str]:
    """Return what was measured of a chain and what is required, as two clauses. value, bounds: the
    median ratio of times and its interval."""
    assert state.floor is not None
    steps, least = ("", "at least ") if is_mostly_cut else (_steps(replicates), "")
    held = _interval_words(bounds, state)
    inside = sum(
        not slow and not fast for slow, fast in zip(state.missed, state.floor.missed, strict=True)
    )
    return (
        f"{steps}{least}{words.ratio(value)} times the kit's time (median{held})",
        f"{band(criterion)} times is asked for, and reached in {inside} of "
        f"{words.count(len(state.missed), 'generation')}",
    )


def _steps(replicates: Sequence[TimedRound]) -> str:
    """Return the median time of a step in the submission and in the solution, as a clause; empty
    where the driver counts no steps."""
    medians = []
    for role in (SUBMISSION, SOLUTION):
        counted = [(best_s(g, role), g.loads_in_chain) for g in replicates]
        steps_ns = [time_s / steps * 1e9 for time_s, steps in counted if steps]
        if not steps_ns:
            return ""
        medians.append(f"{words.short(statistics.median(steps_ns))} ns")
    return f"{medians[0]} per step, the kit's {medians[1]}: "


def _chain_text(times: _Times) -> str:
    """Return what a chain's times come from, in sentences with a space before each; empty: nothing
    is known, or the criterion is about no chain."""
    if not CHAIN.judges(times.criterion):
        return ""
    replicates = complete(times.evidence, claim_of(times.criterion).roles(times.criterion))
    why = ""
    if times.state.outcome == "fail":
        why = f" {WHY_TOO_FAST if times.state.is_too_fast else WHY_TOO_SLOW}"
    return why + _caches_text(times.evidence.node, replicates)


def _caches_text(node: Json, replicates: Sequence[TimedRound]) -> str:
    """Return a sentence that one of the machine's last-level caches can hold the whole chain, with
    a space before it; else empty."""
    last = last_cache(node)
    if last is None:
        return ""
    each = int(last["bytes_each"])
    walked = replicates[-1].n * ELEMENT_BYTES
    if walked > each:
        return ""
    return (
        f" One of this node's last-level caches, of {words.amount(each)}, can hold the "
        f"whole chain, {words.amount(walked)}: then these are its times, and not the memory's."
    )
