"""How far replicates have decided a claim about times. Pure functions; timing_rules.py derives
verdicts.

Four quantities of each replicate decide it, by the limits of the claim (timing_claims.py):

| quantity | definition | what it decides |
|-|-|-|
| margin | passes_below_s / submission's best repetition | *won* above 1, if not taken again: it \
speaks for the claim |
| missed | best repetition >= limit_s | *lost*: it speaks against the claim |
| effect | starting code >= LEAST_HANDOUT_RATIO x solution | the machine shows a speedup at all |
| unsteady | distance from the limit > UNSTEADY_RATIO x distance of control and solution | the \
submission's times scatter more than the reference solution's |

Each gives a sign per replicate; sequential.py accumulates signs to decisions.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import (
    CONTROL,
    HANDOUT,
    PROBE,
    SOLUTION,
    SUBMISSION,
    Evidence,
    TimedRound,
)
from numalab.judging.effort import effort_for
from numalab.judging.sequential import (
    CAREFUL,
    QUICK,
    UNDECIDED,
    Decision,
    Thresholds,
    decide,
    decide_stepwise,
)
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO, best_s, claim_of
from numalab.labs.declaration import Criterion

# Once a submission's best repetition took this many times the limit of every claim in all
# replicates so far, the next replicate stops it there: the sign is the same, and comes sooner.
CUT_RATIO = 8.0

# A submission that is neither clearly fast enough nor clearly too slow is unsteady if it is more
# than this many times as far from the limit as the solution's two processes are from each other.
UNSTEADY_RATIO = 2.0

# A submission whose process takes this many times as long as the solution's, in this many
# replicates or more, may use up the time budget: no other load on the machine does so.
HOGGING_RATIO = 8.0
MIN_HOGGING = 2

# The replicates of a grading may take this many times the budget until there are min_replicates.
PATIENCE = 3


def complete(evidence: Evidence, roles: Sequence[str]) -> list[TimedRound]:
    """Return the replicates in which each process came to its end and each of these roles was
    timed."""
    return [
        replicate
        for replicate in evidence.runs_of(TIMED_ROUND)
        if replicate.ok and all(replicate.elapsed_s.get(role) for role in roles)
    ]


# ---- what is required --------------------------------------------------------------------


@dataclass(frozen=True)
class RequiredSpeed:
    """The speed that replicates require, as a multiple of the starting code's (speedup), else of
    the solution's or the probe's.

    Attributes:
        least, median, most: over the replicates.
        effect: of a speedup the median of the starting code's time over the solution's; else None.
    """

    least: float
    median: float
    most: float
    effect: float | None

    @property
    def is_lost(self) -> bool:
        """Whether starting code and solution take so nearly the same time that a speedup can't be
        measured."""
        return self.effect is not None and self.effect < LEAST_HANDOUT_RATIO


def required_speed(criterion: Criterion, replicates: Sequence[TimedRound]) -> RequiredSpeed:
    """Return the speed that one or more replicates require, which have all roles of the claim."""
    claim = claim_of(criterion)
    role = claim.compared_with(criterion)
    ratios = [best_s(g, role) / claim.passes_below_s(criterion, g) for g in replicates]
    effect = None
    if claim.needs_effect:
        effect = statistics.median(best_s(g, HANDOUT) / best_s(g, SOLUTION) for g in replicates)
    return RequiredSpeed(min(ratios), statistics.median(ratios), max(ratios), effect)


def thresholds(evidence: Evidence) -> Thresholds:
    """Return the e-values that decide: QUICK for a quick grading, else CAREFUL."""
    return QUICK if evidence.quick else CAREFUL


def claim_thresholds(criterion: Criterion, evidence: Evidence) -> Thresholds:
    """Return the e-values that decide each side of a claim.

    Where either of two sides may fail a submission, they share the risk, so each has to be shown
    false at twice the e-value. A pass has to show both sides, so a second one makes a wrong pass no
    likelier.
    """
    levels = thresholds(evidence)
    sides = 1 if claim_of(criterion).least_s is None else 2
    return replace(levels, e_to_fail=sides * levels.e_to_fail)


# ---- the state of a claim ----------------------------------------------------------------


@dataclass(frozen=True)
class ClaimSide:
    """One side of a claim over replicates; each tuple but the last has an entry per replicate.

    Attributes:
        margins: the factor by which the submission meets the limit; it does above 1.
        signs: whether the replicate speaks for this side; None where the submission was stopped
            too early to know.
        missed: whether the replicate speaks against it.
        decisions: the decision after each replicate, up to the one that decided.
    """

    margins: tuple[float, ...]
    signs: tuple[bool | None, ...]
    missed: tuple[bool, ...]
    decisions: tuple[Decision, ...]

    @property
    def claim(self) -> Decision:
        """The decision by all replicates so far."""
        return self.decisions[-1] if self.decisions else UNDECIDED


@dataclass(frozen=True)
class TimingState(ClaimSide):
    """The state of a timing criterion by its replicates: the side on which a submission is too
    slow, and what else decides.

    Attributes:
        cut: per replicate, whether the margin is an upper bound since the submission was stopped.
        thresholds: the e-values that decide.
        effect: whether the machine shows the effect; None where the claim needs none.
        control: whether the control, a second process of the reference, meets the claim, by the
            replicates that have one.
        unsteady: whether the submission is unsteady (UNSTEADY_RATIO), by the same replicates.
        outcome: what is decided; None: nothing yet.
        needed: the number of replicates that decided the outcome; 0: nothing is decided yet.
        floor: the side on which a submission is too fast; None: there is none.
    """

    cut: tuple[bool, ...]
    thresholds: Thresholds
    effect: Decision | None
    control: Decision
    unsteady: Decision
    outcome: Literal["pass", "fail", "not_gradable"] | None
    needed: int
    floor: ClaimSide | None = None

    @property
    def claims(self) -> tuple[Decision, ...]:
        """The decision on each side by all replicates so far."""
        return (self.claim,) if self.floor is None else (self.claim, self.floor.claim)

    @property
    def is_too_fast(self) -> bool:
        """Whether the submission is shown to be too fast."""
        return self.floor is not None and self.floor.claim.reached == "below"

    @property
    def is_unstable(self) -> bool:
        """Whether the claim is undecided since the submission is unsteady: the machine shows the
        effect, the control is shown to meet the claim, and to be steadier."""
        return (
            self.outcome is None
            and any(claim.reached is None for claim in self.claims)
            and (self.effect is None or self.effect.reached == "above")
            and self.control.reached == "above"
            and self.unsteady.reached == "above"
        )

    @property
    def decided(self) -> bool:
        """Whether an outcome is decided."""
        return self.outcome is not None


def timing_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    """Return how far the evidence decides a timing criterion. evidence: has the replicates that
    were taken for it, and no others."""
    claim = claim_of(criterion)
    levels = claim_thresholds(criterion, evidence)
    replicates = complete(evidence, claim.roles(criterion))
    signs = tuple(_sign(criterion, g) for g in replicates)
    missed = tuple(_is_missed(criterion, g) for g in replicates)
    decisions = decide_stepwise(signs, levels, missed)
    effect = None
    if claim.needs_effect:
        effect = decide_stepwise([_shows_effect(g) for g in replicates], levels)
    floor = _floor(criterion, replicates, levels) if replicates else None
    sides = [decisions] if floor is None else [decisions, floor.decisions]
    outcome, needed = _outcome(sides, effect)
    controlled = [g for g in _known(criterion, replicates) if g.elapsed_s.get(CONTROL)]
    return TimingState(
        margins=tuple(_margin(criterion, g) for g in replicates),
        signs=signs,
        missed=missed,
        decisions=tuple(decisions),
        cut=tuple(map(is_cut, replicates)),
        thresholds=levels,
        effect=None if effect is None else (effect or [UNDECIDED])[-1],
        control=decide([_meets_limits(criterion, g) for g in controlled], levels),
        unsteady=decide(
            [_is_unsteady(criterion, g) for g in controlled],
            # An unsteady submission fails, so it takes the e-value of a fail.
            Thresholds(levels.e_to_fail, math.inf, levels.interval),
        ),
        outcome=outcome,
        needed=needed,
        floor=floor,
    )


def is_cut(replicate: TimedRound, role: str = SUBMISSION) -> bool:
    """Tell whether a role's best repetition was stopped, so that its time is a lower bound."""
    times_s = replicate.elapsed_s[role]
    return role in replicate.cut and times_s[-1] == min(times_s)


def _margin(criterion: Criterion, replicate: TimedRound) -> float:
    limit_s = claim_of(criterion).passes_below_s(criterion, replicate)
    return limit_s / best_s(replicate, SUBMISSION)


def _is_missed(criterion: Criterion, replicate: TimedRound) -> bool:
    return best_s(replicate, SUBMISSION) >= claim_of(criterion).limit_s(criterion, replicate)


def _sign(criterion: Criterion, replicate: TimedRound) -> bool | None:
    """Return whether the submission took less than passes_below_s; None where it was stopped before
    that is known.

    A replicate that was taken again is not won: otherwise a submission could spoil a replicate
    that it is about to lose, and have a second chance.
    """
    if is_cut(replicate) and not _is_missed(criterion, replicate):
        return None
    if replicate.is_retry:
        return False
    return _margin(criterion, replicate) > 1


def _shows_effect(replicate: TimedRound) -> bool:
    return best_s(replicate, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(replicate, SOLUTION)


def _floor(
    criterion: Criterion, replicates: Sequence[TimedRound], levels: Thresholds
) -> ClaimSide | None:
    """Return the side on which a submission is too fast; None where the claim has none."""
    floor_s = claim_of(criterion).least_s
    if floor_s is None:
        return None
    margins: list[float] = []
    signs: list[bool | None] = []
    for replicate in replicates:
        least_s = floor_s(criterion, replicate)
        margins.append(best_s(replicate, SUBMISSION) / least_s)
        # One that was stopped is known to be slow enough only if it had taken long enough by then.
        is_unknown = is_cut(replicate) and margins[-1] <= 1
        signs.append(None if is_unknown else margins[-1] > 1 and not replicate.is_retry)
    missed = tuple(margin <= 1 for margin in margins)
    decisions = tuple(decide_stepwise(signs, levels, missed))
    return ClaimSide(tuple(margins), tuple(signs), missed, decisions)


def _limits_s(criterion: Criterion, replicate: TimedRound) -> tuple[float, ...]:
    claim = claim_of(criterion)
    most_s = claim.limit_s(criterion, replicate)
    return (most_s,) if claim.least_s is None else (claim.least_s(criterion, replicate), most_s)


def _is_unsteady(criterion: Criterion, replicate: TimedRound) -> bool:
    """Tell whether the submission's time is farther from the nearest limit, on either side of it,
    than UNSTEADY_RATIO times the distance of control and reference; distances are |log ratio|."""
    own_s = best_s(replicate, SUBMISSION)
    distance = min(abs(math.log(own_s / limit_s)) for limit_s in _limits_s(criterion, replicate))
    reference_s = best_s(replicate, control_role(replicate))
    control_distance = abs(math.log(best_s(replicate, CONTROL) / reference_s))
    return distance > UNSTEADY_RATIO * control_distance


def _known(criterion: Criterion, replicates: Sequence[TimedRound]) -> Sequence[TimedRound]:
    """Return the replicates after the last one that was stopped too early to have a sign."""
    unknown = [i for i, g in enumerate(replicates, start=1) if _sign(criterion, g) is None]
    return replicates[unknown[-1] :] if unknown else replicates


def _outcome(
    sides: Sequence[Sequence[Decision]], effect: Sequence[Decision] | None
) -> tuple[Literal["pass", "fail", "not_gradable"] | None, int]:
    """Return the outcome, and the number of replicates that decided it; None, 0: nothing yet.

    A pass needs all sides of the claim, unless the machine was shown before to have no effect; a
    fail needs one of them, and a machine that shows the effect. effect: None where the claim needs
    none.
    """
    reached = [(side[-1].reached if side else None, len(side)) for side in sides]
    shown = "above" if effect is None else effect[-1].reached if effect else None
    shown_at = 0 if effect is None else len(effect)
    needed = max(count for _, count in reached)
    is_met = all(side == "above" for side, _ in reached)
    if is_met and not (shown == "below" and shown_at < needed):
        return "pass", needed
    if shown == "below":
        return "not_gradable", shown_at
    for side, count in reached:
        if side == "below" and shown == "above":
            return "fail", max(count, shown_at)
    return None, 0


def _meets_limits(criterion: Criterion, replicate: TimedRound) -> bool:
    """Tell whether the control is within the limits."""
    claim, own_s = claim_of(criterion), best_s(replicate, CONTROL)
    is_long_enough = claim.least_s is None or own_s > claim.least_s(criterion, replicate)
    return is_long_enough and own_s < claim.limit_s(criterion, replicate)


# ---- what replicates cost ----------------------------------------------------------------


@dataclass(frozen=True)
class TimeBudgetUse:
    """The time that the submission's processes took beyond the reference's, over replicates. The
    reference is the solution, or the probe where no solution is timed.

    Such a time covers the start of a process and its requests.

    Attributes:
        replicates: the number of replicates.
        hogging: the number of those in which the submission took HOGGING_RATIO times as long as
            the reference, or longer.
        submission_s, reference_s: what the processes took in all replicates together.
        least: the number of replicates from which on the budget does not count.
        allowed_s: how much longer the submission may take until there are so many.
    """

    replicates: int
    hogging: int
    submission_s: float
    reference_s: float
    least: int
    allowed_s: float

    @property
    def excess_s(self) -> float:
        """How much longer the submission took than the reference, in all replicates together."""
        return max(0.0, self.submission_s - self.reference_s)

    @property
    def is_overspent(self) -> bool:
        return (
            self.replicates < self.least
            and self.hogging >= MIN_HOGGING
            and self.excess_s > self.allowed_s
        )


def control_role(replicate: TimedRound) -> str:
    """Return the role whose second process the control is: the solution, or the probe where no
    solution is timed."""
    return PROBE if PROBE in replicate.roles and SOLUTION not in replicate.roles else SOLUTION


def time_budget_use(evidence: Evidence) -> TimeBudgetUse:
    """Return what replicates took of the time budget. evidence: has those that were taken for one
    criterion; those without such times, or that are not complete, are left out."""
    effort = effort_for(evidence.size, evidence.quick)
    both = [
        (replicate.taken_s[SUBMISSION], replicate.taken_s[control_role(replicate)])
        for replicate in complete(evidence, (SUBMISSION,))
        if replicate.taken_s and replicate.elapsed_s.get(control_role(replicate))
    ]
    return TimeBudgetUse(
        replicates=len(both),
        hogging=sum(own_s >= HOGGING_RATIO * reference_s for own_s, reference_s in both),
        submission_s=sum(own_s for own_s, _ in both),
        reference_s=sum(reference_s for _, reference_s in both),
        least=effort.min_replicates,
        allowed_s=PATIENCE * effort.budget_s,
    )


def cut_s(criteria: Sequence[Criterion], evidence: Evidence) -> float | None:
    """Return the seconds after which a repetition of the submission need not be waited for; None
    where no replicate shows it, or it was not far too slow for each criterion in all of them.
    criteria: all that are decided by these replicates."""
    longest = 0.0
    for criterion in criteria:
        replicates = _known(criterion, complete(evidence, claim_of(criterion).roles(criterion)))
        if not replicates:
            return None
        for replicate in replicates:
            allowed_s = CUT_RATIO * claim_of(criterion).limit_s(criterion, replicate)
            if best_s(replicate, SUBMISSION) < allowed_s and not is_cut(replicate):
                return None
            longest = max(longest, allowed_s)
    return longest or None
