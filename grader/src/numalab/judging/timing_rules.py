"""The rules for times: what the generations of a session have decided. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numalab import words
from numalab.evidence.kinds import GENERATION
from numalab.evidence.record import PROBE, SOLUTION, SUBMISSION, Evidence, Generation
from numalab.evidence.results import Outcome
from numalab.judging import chain_words, explain, tampering
from numalab.judging.registry import Rule
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

# An efficiency above this is told to be noise, unless its interval says that it is not.
MERIT_RATIO = 1.1

AGAIN_WHEN_QUIET = "Grade again when the node is quiet: the new generations are added to these."

QUICK_RISK = "Quick: of kernels just at the limit up to 1 in 20 is judged wrongly."


def judge_timing(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """generations of the evidence: those that were taken for the criterion.

    The whole rule, in its order; the first line that applies is the verdict. A generation is
    *won* where the submission's best repetition took less than the solution's / at_least
    (efficiency), or less than both the middle sqrt(handout x solution) and
    handout / sqrt(1.15) (speedup). It is *lost* where it took as long as the solution's /
    at_least, or as the middle, or longer. It *shows the effect* where the handout took 1.15
    times the solution's time or more; an efficiency needs none. "Shown" means an e-value of
    to_pass (careful 100, quick 20), "shown not" one of to_fail (1000, 20): sequential.py.

    | | what was seen | verdict | cause | wrong at most |
    |-|---|---|---|---|
    | 1 | a run failed by the kit's fault, or was interrupted | error, open | | |
    | 2 | a wrong result or a crash anywhere | fail | not_right_yet | |
    | 3 | a repetition met its time limit, and so did one in another try | fail | too_slow | |
    | 4 | the kit's own program did not come to its end | error | kit | |
    | 5a | as 5, and its speed is more than plausible_up_to times the solution's, by the interval \
| open | implausible | |
    | 5 | shown: more generations won than not | pass | reached | 1/to_pass |
    | 6 | shown not: the effect, and not after 5 | not_gradable | no_effect_here | 1/to_fail |
    | 7 | shown: more lost than not, and the effect | fail | too_slow | 1/to_fail |
    | 7a | chain: shown: more too short than not, or more too long | fail | too_fast, too_slow \
| 1/to_fail |
    | 8 | fewer generations than are asked for, since the session spent its time on what the \
submission does beside its repetitions | fail | too_slow | |
    | 9 | more lost than not, the effect open | open | too_noisy, not_decided | |
    | 10 | the session is over without 5 to 9, the effect is shown, the control meets the claim, \
and shown not: that the submission is as steady | fail | unstable | 1/to_fail |
    | 11 | signs cut off too early to be known | open | cut_too_early | |
    | 12 | else | open | too_noisy, not_decided | |

    Where `at_least_of_lightspeed` is asked for, all this is said of the probe in the place of the
    solution: the same signs, the same e-values, the same risk.

    *Wrong* is, of 5: with a chance of at most 1/2 to win each generation; of 7: with one of at
    most 1/2 to lose it; of 6: with one of at least 1/2 that it shows the effect.

    *Two sides* (chain) make two claims of one set of generations: that the submission takes less
    than at_most times the solution's time, and that it takes more than at_least times that. Line 5
    asks for both; 7a is shown against either. Each claim has signs and e-values of its own. Wrong
    is, of 5: that at least one of the two does not hold, in each generation with a chance of at
    most 1/2; whichever it is, it has to be shown, so that comes up with at most 1/to_pass. Of 7a:
    that both hold, with a chance of at most 1/2 to be lost each; either may be shown not, so that
    each asks for 2 to_fail, and both together come up with at most 1/to_fail. A generation outside
    the band is not one loss of one claim: where noise throws a kernel as slow as the solution out
    on both sides, neither claim is lost, and it stays open.

    *Plausible* (5a) is what the work allows on any node, by how many bytes or operations it takes:
    labs/declaration.py and each lab.toml say why. Results, messages and memory were looked at with
    the times, and all was right; yet what is faster than that is not paid before an instructor has
    looked at how it is done, and sets the points by hand. Grading it again decides nothing.

    *The session's time* (8) is for processes that take as long as the solution's. What the
    submission's take beyond that, to start and for all that they are asked for, goes on an account
    of its own (timing_state.Spending), and ends the session where the account is used up and
    generations are missing. A busy node does not bring that about: they have to take eight times as
    long as the solution's beside them, in two generations or more.

    *Steady* (10) is asked of a submission beside speed: in the generations that have a control,
    a second process of the solution, its distance |log(time / limit)| from the limit is at most
    twice the distance |log(control / solution)|, in half of them or more. Who is as near to
    the limit as the solution is to itself fails with at most 1/to_fail, and else stays open.
    """
    untimed = _not_timed(criterion, evidence)
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
    Rule(_claim.name, kind="timing", runs=(GENERATION,), keys=_claim.keys, check=_claim.check)(
        judge_timing
    )


def _not_timed(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """The verdict where times mean nothing, or taking them came to a bad end; None else."""
    bad = first_bad(outcomes(evidence))
    if bad is not None and (bad.is_kits_fault or bad.status == "cancelled"):
        return unusable(criterion, bad, evidence)
    if not is_sound(evidence) and criterion.slow is None:
        why = "Not timed, since the kernel does not yet give the right results."
        return verdict_on(criterion, "fail", "not_right_yet", why)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_DECIDED)
    if evidence.timing_error is not None:
        return verdict_on(criterion, "error", "kit", evidence.timing_error)
    for replicate in evidence.of(GENERATION):
        if timed_out(replicate):
            return verdict_on(criterion, "fail", "too_slow", _too_slow(replicate))
        probe = replicate.roles.get(PROBE)
        if reference_of(criterion) == PROBE and probe is not None and has_mistake(probe.results):
            why = "The kit's probe gave a wrong result, so its times are no measure."
            return verdict_on(criterion, "error", "kit", why)
        for role, part in replicate.roles.items():
            if part.outcome.blames:
                return _spoilt(criterion, evidence, role, part.outcome)
            if not part.outcome.ok:
                why = f"While timing the {role}: {explain.outcome(part.outcome, evidence.language)}"
                return verdict_on(criterion, "error", "kit", why)
    return None


def _spoilt(
    criterion: Criterion, evidence: Evidence, role: str, outcome: Outcome
) -> CriterionVerdict:
    """Whoever's process did not come to its end, it does without what the student handed in."""
    said = explain.outcome(outcome, evidence.language) or ""
    if criterion.slow is not None:
        return verdict_on(criterion, "fail", "bad_file", tampering.launch_failed(said))
    why = tampering.other_process_failed(role, said)
    return verdict_on(criterion, "fail", "disturbed_monitor", why)


@dataclass(frozen=True)
class _Times:
    """What the rules for times look at. value: the median ratio of speeds; whose: whose speed
    value and asked are multiples of; speed, count: clauses that tell what was measured;
    over_kits: how many times the speed of the solution, or of the probe where that is what it is
    held against, it has at least, the interval's lower end."""

    criterion: Criterion
    evidence: Evidence
    state: TimingState
    value: float
    interval: tuple[float | None, float | None]
    asked: RequiredSpeed
    reference: str
    speed: str
    count: str
    reference_ratio: float

    @property
    def measured(self) -> str:
        return f"{self.speed}; {self.count}"

    def verdict(
        self, status: Status, cause: Cause, why: str, rests_on_signs: bool = True
    ) -> CriterionVerdict:
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

    @property
    def effect_words(self) -> str:
        """How often the node showed the effect."""
        effect = self.state.effect
        assert effect is not None
        return (
            f"{self.reference} took {LEAST_HANDOUT_RATIO:g} times the solution's time or more in "
            f"{effect.wins} of {words.count(effect.signs, 'generation')}"
        )


def reference_name(criterion: Criterion) -> str:
    """What an efficiency is held against, in words."""
    return "the probe" if reference_of(criterion) == PROBE else "the solution"


def _slow_name(criterion: Criterion) -> str:
    """What a speedup is over."""
    return criterion.over if criterion.slow is None else criterion.slow.split("/")[-1]


def _times(criterion: Criterion, evidence: Evidence, replicates: Sequence[Generation]) -> _Times:
    state = timing_state(criterion, evidence)
    reference = _slow_name(criterion) if SPEEDUP.judges(criterion) else reference_name(criterion)
    role = claim_of(criterion).compared_with(criterion)
    ratios = [best_s(g, role) / best_s(g, SUBMISSION) for g in replicates]
    value = statistics.median(ratios)
    is_mostly_cut = sum(state.cut) > len(replicates) / 2
    bounds = interval(ratios, state.thresholds, state.cut)
    asked = required_speed(criterion, replicates)
    if CHAIN.judges(criterion):
        value, bounds = 1 / value, chain_words.turned(bounds)
        held = _interval_words(bounds, state)
        taken, count = chain_words.measured(value, held, criterion, state, replicates)
        return _Times(
            criterion, evidence, state, value, bounds, asked, reference, taken, count, 0.0
        )
    speed = _speed_words(value, reference, is_mostly_cut, _interval_words(bounds, state))
    count = f"{required_text(asked)}{' times its speed' if is_mostly_cut else ''} is asked for, "
    count += f"and reached in {_wins_words(state)}"
    if EFFICIENCY.judges(criterion) and value > MERIT_RATIO and (bounds[0] or 0) <= 1:
        count += " (what is above 1 may well be noise)"
    kits = reference_of(criterion)
    reference_ratio = [best_s(g, kits) / best_s(g, SUBMISSION) for g in replicates]
    low, _ = interval(reference_ratio, state.thresholds, state.cut)
    over = min(reference_ratio) if low is None else low
    return _Times(criterion, evidence, state, value, bounds, asked, reference, speed, count, over)


def required_text(asked: RequiredSpeed) -> str:
    """Each generation asks for its own, where it is the middle between two times."""
    least, most = f"{asked.least:.2f}", f"{asked.most:.2f}"
    return least if least == most else f"{least} to {most}, by generation,"


def _wins_words(state: TimingState) -> str:
    claim = state.claim
    reached = f"{claim.wins} of {words.count(claim.signs, 'generation')}"
    if claim.reached is not None and len(state.decisions) < len(state.margins):
        return f"{reached}, which decided ({len(state.margins)} were taken)"
    return reached


def _interval_words(bounds: tuple[float | None, float | None], state: TimingState) -> str:
    """To be put behind "median"; may be empty."""
    low, high = (None if end is None else words.ratio(end) for end in bounds)
    if low == high:
        return ""  # no interval, or none that can be seen
    held = f", {100 * state.thresholds.confidence:.0f} %: "
    if low is None or high is None:
        return f"{held}above {low}" if high is None else f"{held}below {high}"
    return f"{held}{low} to {high}"


def _implausible(times: _Times) -> CriterionVerdict | None:
    """Nobody is accused: it may be a discovery."""
    most = times.criterion.plausible_up_to
    if times.state.outcome != "pass" or times.reference_ratio <= most:
        return None
    return times.verdict(
        "inconclusive",
        "implausible",
        f"{words.ratio(times.reference_ratio)} times {reference_name(times.criterion)}'s speed "
        "or more: "
        f"above {most:g} "
        "times is more than the work allows by what is known. An instructor has to look at how it "
        "is done, and sets the points by hand; nothing is lost, and grading again changes nothing.",
    )


def _fast_enough(times: _Times) -> CriterionVerdict | None:
    if times.state.outcome != "pass":
        return None
    why = f"{words.first_upper(times.measured)}.{_chain_text(times)}"
    return times.verdict("pass", "reached", why)


def _no_effect(times: _Times) -> CriterionVerdict | None:
    """Where the handout is as fast as the solution, a speedup can't be seen."""
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
    """Nothing has been done yet, so that there is nothing to explain. How fast the handout is
    beside itself tells of the node only."""
    state, files = times.state, times.evidence.unchanged_files
    is_missed = state.outcome == "fail" or state.is_unstable
    if not SPEEDUP.judges(times.criterion) or not is_missed or not files:
        return None
    if files == {KERNEL_FILES[times.evidence.language]}:
        why = f"This is still the handout; {times.asked.median:.2f} times its speed is asked for."
    else:
        why = f"This is still the handout's {words.listed(sorted(files))}: {times.measured}."
    return times.verdict("fail", "too_slow", why)


def _slower(times: _Times) -> CriterionVerdict | None:
    if times.state.outcome != "fail":
        return None
    cause: Cause = "too_fast" if times.state.is_too_fast else "too_slow"
    return times.verdict("fail", cause, f"{words.first_upper(times.measured)}.{_chain_text(times)}")


def _chain_text(times: _Times) -> str:
    """What there is to say of times that have two sides; else empty."""
    if not CHAIN.judges(times.criterion):
        return ""
    replicates = complete(times.evidence, claim_of(times.criterion).roles(times.criterion))
    said = chain_words.why_failed(times.state) if times.state.outcome == "fail" else ""
    return said + chain_words.caches(times.evidence.node, replicates)


def _overspent(times: _Times) -> CriterionVerdict | None:
    """Nothing is decided since the submission used up the time in which it would be."""
    spending = time_budget_use(times.evidence)
    if not spending.is_overspent:
        return None
    return times.verdict(
        "fail",
        "too_slow",
        f"Far too slow beside what is timed: in {words.count(spending.replicates, 'generation')} "
        f"the kernel's process took {words.short(spending.submission_s)} s in all to start and for "
        f"each of its functions, where {reference_name(times.criterion)}'s took "
        f"{words.short(spending.reference_s, 2)} s. The {spending.allowed_s:.0f} s that a grading "
        "has for that are used up.",
        rests_on_signs=False,
    )


def _effect_lost(times: _Times) -> CriterionVerdict | None:
    """No effect to measure by just now, whatever the node shows on a quiet day."""
    if not times.asked.is_lost:
        return None
    return times.verdict(
        "inconclusive",
        "too_noisy",
        f"The node is too noisy now to grade a speedup: {times.reference} took "
        f"{times.asked.effect:.2f} times the solution's time (median), and "
        f"{LEAST_HANDOUT_RATIO:g} times are needed. {AGAIN_WHEN_QUIET}",
    )


def _effect_undecided(times: _Times) -> CriterionVerdict | None:
    """Too slow for a speedup, but whether this node has one to earn is not known."""
    effect = times.state.effect
    if effect is None or effect.reached is not None or times.state.claim.reached != "below":
        return None
    return times.verdict(
        "inconclusive",
        "not_decided" if effect.all_agree else "too_noisy",
        f"{words.first_upper(times.speed)}, which is too slow. But whether this node shows the "
        f"effect at all is open: {times.effect_words}, and that could be chance. "
        f"{AGAIN_WHEN_QUIET}",
    )


def _unstable(times: _Times) -> CriterionVerdict | None:
    if not times.state.is_unstable:
        return None
    return times.verdict(
        "fail",
        "unstable",
        f"Unstable: {times.measured}. Beside it the solution was steady on this node, and the "
        "lab asks for a kernel that is fast enough and as steady.",
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
        f"as long as is allowed now, {times.asked.median:.2f} times the speed of "
        f"{times.reference}: "
        "what was asked for has changed since. Only what comes after them counts. Grade again: "
        "new generations are taken.",
    )


def _not_decided(times: _Times) -> CriterionVerdict:
    """Too few generations, or such as disagree."""
    chance = f"{times.measured}; that could be chance. {AGAIN_WHEN_QUIET}"
    if all(claim.all_agree for claim in times.state.claims):
        why = f"Too few generations in the time allowed: {chance}"
        return times.verdict("inconclusive", "not_decided", why)
    if times.state.control.reached == "above":
        why = f"Too near to the limit to tell on this node: {chance}"
        return times.verdict("inconclusive", "too_noisy", why)
    return times.verdict("inconclusive", "too_noisy", f"The node is too noisy to tell: {chance}")


# As the table of judge_timing has them.
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
    """value: times as fast as whose, at most that where it was cut; held: by what interval."""
    if not is_cut:
        return f"{words.ratio(value)} times {reference}'s speed (median{held})"
    if value > 0.5:
        return f"at most {words.ratio(value)} times {reference}'s speed (median)"
    times = math.floor(1 / value)
    return f"more than {times} times slower than {reference} (median), and stopped there"


def _too_slow(replicate: Generation) -> str:
    detail = replicate.roles[SUBMISSION].outcome.detail
    found = [name for name in (SOLUTION, PROBE) if replicate.elapsed_s.get(name)]
    beside = (
        f", where the {found[0]} takes {words.short(best_s(replicate, found[0]), 2)} s"
        if found
        else ""
    )
    size = explain.problem_size(detail["n"], detail.get("n_unit", ""))
    return (
        f"Far too slow: {explain.name_call(detail['doing'])} took more than "
        f"{explain.time_limit(detail)} ({size}){beside}; it was stopped."
    )
