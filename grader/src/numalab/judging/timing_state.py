"""What the generations of a session have shown of a claim about times. Pure functions;
timing_rules.py makes verdicts of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numalab.evidence.kinds import GENERATION
from numalab.evidence.record import (
    CONTROL,
    HANDOUT,
    PROBE,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Generation,
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

# A submission whose best repetition took this many times what every claim allows, in all
# generations so far, is stopped there in the next: its sign is the same, and comes sooner.
CUT_RATIO = 8.0

# Of a submission that is neither clearly fast enough nor clearly too slow: how many times as far
# from the limit as the solution is from itself counts as unsteady.
UNSTEADY_RATIO = 2.0


def _shows_effect(replicate: Generation) -> bool:
    return best_s(replicate, HANDOUT) >= LEAST_HANDOUT_RATIO * best_s(replicate, SOLUTION)


@dataclass(frozen=True)
class RequiredSpeed:
    """For how many times the speed of the solution (efficiency) or the handout (speedup) the
    generations ask: least, median and most of them; effect: of a speedup, how many times the
    solution's time the handout took (median), None else."""

    least: float
    median: float
    most: float
    effect: float | None

    @property
    def is_lost(self) -> bool:
        """Whether handout and solution take so nearly the same time that what lies between them
        says nothing; where the node shows the effect on a quiet day, that is noise."""
        return self.effect is not None and self.effect < LEAST_HANDOUT_RATIO


def required_speed(criterion: Criterion, replicates: Sequence[Generation]) -> RequiredSpeed:
    """generations: one or more, with the roles that are needed."""
    claim = claim_of(criterion)
    role = claim.compared_with(criterion)
    ratios = [best_s(g, role) / claim.passes_below_s(criterion, g) for g in replicates]
    effect = None
    if claim.needs_effect:
        effect = statistics.median(best_s(g, HANDOUT) / best_s(g, SOLUTION) for g in replicates)
    return RequiredSpeed(min(ratios), statistics.median(ratios), max(ratios), effect)


def thresholds(evidence: Evidence) -> Thresholds:
    return QUICK if evidence.quick else CAREFUL


@dataclass(frozen=True)
class Floor:
    """The other side of a claim that has two: that the submission takes longer than it may at
    least. margins: of each generation, by which factor it did; signs: whether that speaks for it,
    None where it was stopped too early to know; missed: against it; looks: as of a TimingState."""

    margins: tuple[float, ...]
    signs: tuple[bool | None, ...]
    missed: tuple[bool, ...]
    decisions: tuple[Decision, ...]

    @property
    def claim(self) -> Decision:
        return self.decisions[-1] if self.decisions else UNDECIDED


@dataclass(frozen=True)
class TimingState:
    """How far the generations have decided a timing criterion.

    margins: of each generation, by which factor the submission was faster than a pass asks for;
    cut: whether it was at most that much, since the submission was stopped; signs: whether it
    speaks for the claim, None where it was stopped too early to know; missed: whether it speaks
    against it; looks: what was known of the claim after each, up to its decision; effect:
    whether the node shows one, None where nothing asks; control: the same claim about a second
    process of the kit's, in the generations that have one; unsteady: whether the submission was
    further from the limit there than UNSTEADY_RATIO times what the control was from the
    solution. outcome: what is decided, None: nothing yet; needed: how many of the generations
    decided it. floor: None where the claim has no second side.
    """

    margins: tuple[float, ...]
    cut: tuple[bool, ...]
    signs: tuple[bool | None, ...]
    missed: tuple[bool, ...]
    thresholds: Thresholds
    decisions: tuple[Decision, ...]
    effect: Decision | None
    control: Decision
    unsteady: Decision
    outcome: Literal["pass", "fail", "not_gradable"] | None
    needed: int
    floor: Floor | None = None

    @property
    def claim(self) -> Decision:
        return self.decisions[-1] if self.decisions else UNDECIDED

    @property
    def claims(self) -> tuple[Decision, ...]:
        """Of all sides."""
        return (self.claim,) if self.floor is None else (self.claim, self.floor.claim)

    @property
    def is_too_fast(self) -> bool:
        """Whether that is what is shown against the claim."""
        return self.floor is not None and self.floor.claim.reached == "below"

    @property
    def shows_effect(self) -> bool:
        return self.effect is None or self.effect.reached == "above"

    @property
    def is_unstable(self) -> bool:
        """Neither fast enough nor too slow, and the submission's fault: the control was decided
        in the same generations, and is steadier. It means something once a session is over."""
        return (
            self.outcome is None
            and any(claim.reached is None for claim in self.claims)
            and self.shows_effect
            and self.control.reached == "above"
            and self.unsteady.reached == "above"
        )

    @property
    def decided(self) -> bool:
        """Whether further generations change nothing."""
        return self.outcome is not None


def complete(evidence: Evidence, roles: Sequence[str]) -> list[Generation]:
    return [
        replicate
        for replicate in evidence.of(GENERATION)
        if replicate.ok and all(replicate.elapsed_s.get(role) for role in roles)
    ]


# A submission that takes so many times as long as the solution, to start and for all that it is
# asked for, and in so many generations or more, may use up a session's time: no other load does so.
HOGGING_RATIO = 8.0
LEAST_HOGGING = 2

# Of what a session may spend on timing: this many times until it has its least generations.
PATIENCE = 3


@dataclass(frozen=True)
class TimeBudgetUse:
    """What generations have waited for, in seconds, all of them together; hogging: in how many of
    them the submission took HOGGING_RATIO times as long as the solution, or as the probe where
    there is none; kits_s: what that took; least: generations that are asked for; allowed_s: that
    the submission may take longer until then."""

    replicates: int
    hogging: int
    submission_s: float
    reference_s: float
    least: int
    allowed_s: float

    @property
    def excess_s(self) -> float:
        """The submission's account: what it took longer than the solution."""
        return max(0.0, self.submission_s - self.reference_s)

    @property
    def is_overspent(self) -> bool:
        return (
            self.replicates < self.least
            and self.hogging >= LEAST_HOGGING
            and self.excess_s > self.allowed_s
        )


def control_role(replicate: Generation) -> str:
    """Whose second process the control is: the solution, or the probe where nothing asks for a
    solution."""
    return PROBE if PROBE in replicate.roles and SOLUTION not in replicate.roles else SOLUTION


def time_budget_use(evidence: Evidence) -> TimeBudgetUse:
    """evidence: with the generations that were taken for one criterion."""
    effort = effort_for(evidence.size, evidence.quick)
    both = [
        (replicate.taken_s[SUBMISSION], replicate.taken_s[control_role(replicate)])
        for replicate in complete(evidence, (SUBMISSION,))
        if replicate.taken_s  # of older records nothing is known
        and replicate.elapsed_s.get(control_role(replicate))
    ]
    return TimeBudgetUse(
        replicates=len(both),
        hogging=sum(own_s >= HOGGING_RATIO * reference_s for own_s, reference_s in both),
        submission_s=sum(own_s for own_s, _ in both),
        reference_s=sum(reference_s for _, reference_s in both),
        least=effort.min_replicates,
        allowed_s=PATIENCE * effort.budget_s,
    )


def is_cut(replicate: Generation, role: str = SUBMISSION) -> bool:
    """Tell whether a role's best repetition was stopped, so that its time is a lower bound."""
    times_s = replicate.elapsed_s[role]
    return role in replicate.cut and times_s[-1] == min(times_s)


def _margin(criterion: Criterion, replicate: Generation) -> float:
    limit_s = claim_of(criterion).passes_below_s(criterion, replicate)
    return limit_s / best_s(replicate, SUBMISSION)


def _is_missed(criterion: Criterion, replicate: Generation) -> bool:
    return best_s(replicate, SUBMISSION) >= claim_of(criterion).limit_s(criterion, replicate)


def _sign(criterion: Criterion, replicate: Generation) -> bool | None:
    """Whether the submission took less than is allowed; None where it was stopped before it is
    clear that it did not. As long as nothing changes it is stopped long after it. A second try
    is never won: else who spoils the first when it loses would have two draws."""
    if is_cut(replicate) and not _is_missed(criterion, replicate):
        return None
    if replicate.is_second_try:
        return False
    return _margin(criterion, replicate) > 1


def _limits_s(criterion: Criterion, replicate: Generation) -> tuple[float, ...]:
    claim = claim_of(criterion)
    most_s = claim.limit_s(criterion, replicate)
    return (most_s,) if claim.least_s is None else (claim.least_s(criterion, replicate), most_s)


def _is_unsteady(criterion: Criterion, replicate: Generation) -> bool:
    """Further from the limit, the nearer one of two, on whichever side, than the kit's two
    processes of one program from each other."""
    own_s = best_s(replicate, SUBMISSION)
    own = min(abs(math.log(own_s / limit_s)) for limit_s in _limits_s(criterion, replicate))
    kits = abs(math.log(best_s(replicate, CONTROL) / best_s(replicate, control_role(replicate))))
    return own > UNSTEADY_RATIO * kits


def _known(criterion: Criterion, replicates: Sequence[Generation]) -> Sequence[Generation]:
    """Those after the last that was stopped too early."""
    unknown = [i for i, g in enumerate(replicates, start=1) if _sign(criterion, g) is None]
    return replicates[unknown[-1] :] if unknown else replicates


def _outcome(
    claim: Sequence[Decision], effect: Sequence[Decision] | None
) -> tuple[Literal["pass", "fail", "not_gradable"] | None, int]:
    """What was decided first, and by how many generations. A pass stands alone; a fail asks
    for an effect to be there, too. effect: None where nothing asks for one."""
    for_claim = claim[-1].reached if claim else None
    shown = "above" if effect is None else effect[-1].reached if effect else None
    shown_at = 0 if effect is None else len(effect)
    if for_claim == "above" and not (shown == "below" and shown_at < len(claim)):
        return "pass", len(claim)
    if shown == "below":
        return "not_gradable", shown_at
    if for_claim == "below" and shown == "above":
        return "fail", max(len(claim), shown_at)
    return None, 0


def _outcome_of_sides(
    ceiling: Sequence[Decision], floor: Sequence[Decision]
) -> tuple[Literal["pass", "fail"] | None, int]:
    """As _outcome, of two sides: both have to be shown, and either may be shown not."""
    sides = [(seen[-1].reached if seen else None, len(seen)) for seen in (ceiling, floor)]
    for reached, count in sides:
        if reached == "below":
            return "fail", count
    if all(reached == "above" for reached, _ in sides):
        return "pass", max(count for _, count in sides)
    return None, 0


def _floor(
    criterion: Criterion, replicates: Sequence[Generation], levels: Thresholds
) -> Floor | None:
    """What is too fast by the rule, in the same generations."""
    floor_s = claim_of(criterion).least_s
    if floor_s is None:
        return None
    margins: list[float] = []
    signs: list[bool | None] = []
    for replicate in replicates:
        least_s = floor_s(criterion, replicate)
        margins.append(best_s(replicate, SUBMISSION) / least_s)
        # Of one that was stopped it is known only where it had taken long enough by then.
        is_unknown = is_cut(replicate) and margins[-1] <= 1
        signs.append(None if is_unknown else margins[-1] > 1 and not replicate.is_second_try)
    missed = tuple(margin <= 1 for margin in margins)
    return Floor(
        tuple(margins), tuple(signs), missed, tuple(decide_stepwise(signs, levels, missed))
    )


def _meets(criterion: Criterion, replicate: Generation, role: str) -> bool:
    """Whether a process of the kit's, the control, is within what is asked for."""
    claim, own_s = claim_of(criterion), best_s(replicate, role)
    is_long_enough = claim.least_s is None or own_s > claim.least_s(criterion, replicate)
    return is_long_enough and own_s < claim.limit_s(criterion, replicate)


def levels_of(criterion: Criterion, evidence: Evidence) -> Thresholds:
    """Of each side of the claim. Two that may fail it share the risk; to pass by mistake the side
    that does not hold has to be shown, whatever the other one is, so a pass is no likelier."""
    levels = thresholds(evidence)
    sides = 1 if claim_of(criterion).least_s is None else 2
    return replace(levels, e_to_fail=sides * levels.e_to_fail)


def timing_state(criterion: Criterion, evidence: Evidence) -> TimingState:
    """evidence: with the generations that were taken for the criterion."""
    levels = levels_of(criterion, evidence)
    replicates = complete(evidence, claim_of(criterion).roles(criterion))
    signs = tuple(_sign(criterion, g) for g in replicates)
    missed = tuple(_is_missed(criterion, g) for g in replicates)
    claim = decide_stepwise(signs, levels, missed)
    effect = None
    if claim_of(criterion).needs_effect:
        effect = decide_stepwise([_shows_effect(g) for g in replicates], levels)
    floor = _floor(criterion, replicates, levels) if replicates else None
    outcome, needed = (
        _outcome(claim, effect) if floor is None else _outcome_of_sides(claim, floor.decisions)
    )
    with_control = [g for g in _known(criterion, replicates) if g.elapsed_s.get(CONTROL)]
    return TimingState(
        margins=tuple(_margin(criterion, g) for g in replicates),
        cut=tuple(map(is_cut, replicates)),
        signs=signs,
        missed=missed,
        thresholds=levels,
        decisions=tuple(claim),
        effect=None if effect is None else (effect or [UNDECIDED])[-1],
        control=decide([_meets(criterion, g, CONTROL) for g in with_control], levels),
        unsteady=decide(
            [_is_unsteady(criterion, g) for g in with_control],
            # Who is unsteady fails.
            Thresholds(levels.e_to_fail, math.inf, levels.interval),
        ),
        outcome=outcome,
        needed=needed,
        floor=floor,
    )


def cut_s(criteria: Sequence[Criterion], evidence: Evidence) -> float | None:
    """Seconds after which a repetition of the submission need not be waited for, or None.
    criteria: all those about the same generations."""
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
