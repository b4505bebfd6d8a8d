"""What each timing rule claims about the times of a submission. timing_state.py says how far the
measured replicates have decided a claim, timing_rules.py what verdict follows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Generation
from numalab.labs.declaration import CheckCriterion, Criterion, Lab
from numalab.toml_files.tables import Table

# The handout must take at least this many times the solution's time, or the node does
# not show the effect.
LEAST_HANDOUT_RATIO = 1.15

Limit = Callable[[Criterion, Generation], float]


@dataclass(frozen=True)
class Claim:
    """What a rule claims of the best repetition of a submission, in seconds, by replicate.

    Attributes:
        name: the rule's name.
        limit_s: the longest that it may take: as long or longer speaks against the claim.
        passes_below_s: what it has to stay below to speak for the claim; at most limit_s.
        least_s: what it has to take more than, where the claim has two sides; None: one side.
        compared_with: returns the role whose speed the shown ratios are multiples of.
        roles: returns the roles whose times the claim is about.
        needs_effect: the machine has to show that the handout is slower.
        keys, check: as of a Rule.
    """

    name: str
    limit_s: Limit
    passes_below_s: Limit
    compared_with: Callable[[Criterion], str]
    roles: Callable[[Criterion], tuple[str, ...]]
    least_s: Limit | None = None
    needs_effect: bool = False
    keys: tuple[str, ...] = ()
    check: CheckCriterion | None = None

    def judges(self, criterion: Criterion) -> bool:
        """Tell whether a criterion makes this claim."""
        return criterion.rule == self.name


def best_s(replicate: Generation, role: str) -> float:
    """The minimum of a role's repetitions: what a repetition takes undisturbed. Of one that
    was cut, what it took at least."""
    return min(replicate.elapsed_s[role])


def reference_of(criterion: Criterion) -> str:
    """The role that an efficiency is held against."""
    return SOLUTION if criterion.at_least_of_lightspeed is None else PROBE


def _reference_and_submission(criterion: Criterion) -> tuple[str, ...]:
    return reference_of(criterion), SUBMISSION


def _efficiency_limit_s(criterion: Criterion, replicate: Generation) -> float:
    assert criterion.asked_share is not None
    return best_s(replicate, reference_of(criterion)) / criterion.asked_share


def _chain_limit_s(criterion: Criterion, replicate: Generation) -> float:
    assert criterion.at_most is not None
    return best_s(replicate, SOLUTION) * criterion.at_most


def _chain_least_s(criterion: Criterion, replicate: Generation) -> float:
    assert criterion.at_least is not None
    return best_s(replicate, SOLUTION) * criterion.at_least


def _speedup_limit_s(criterion: Criterion, replicate: Generation) -> float:
    """Return the geometric mean: as far below the handout as above the solution."""
    return math.sqrt(best_s(replicate, HANDOUT) * best_s(replicate, SOLUTION))


def speedup_passes_below_s(handout_s: float, solution_s: float) -> float:
    """Return the time below which a replicate supports a speedup: the geometric mean of both times,
    capped so that a pass implies an effect that the machine shows."""
    return min(math.sqrt(handout_s * solution_s), handout_s / math.sqrt(LEAST_HANDOUT_RATIO))


def _speedup_passes_below_s(criterion: Criterion, replicate: Generation) -> float:
    return speedup_passes_below_s(best_s(replicate, HANDOUT), best_s(replicate, SOLUTION))


REFERENCE_KEY = "at_least_of_lightspeed"


def _check_efficiency(lab: Lab, criterion: Criterion, table: Table) -> None:
    """Fail unless it is held against either the solution or the probe."""
    if criterion.at_least_of_lightspeed is None:
        if criterion.at_least is None:
            table.fail(f"efficiency needs either 'at_least' or '{REFERENCE_KEY}'; add one")
        return
    if criterion.at_least is not None or criterion.at_most is not None:
        table.fail(
            f"'{REFERENCE_KEY}' takes the place of 'at_least'; keep one of them", REFERENCE_KEY
        )
    if not criterion.at_least_of_lightspeed > 0:
        table.refuse(REFERENCE_KEY, "it must be above 0")
    if not lab.has_probe(criterion.part):
        of = f' with part = "{criterion.part}"' if criterion.part else ""
        table.fail(
            f"'{REFERENCE_KEY}' needs a probe: add a [[lightspeed]]{of} and flops_per_element, and "
            f"solutions/{lab.name}/probe.c",
            REFERENCE_KEY,
        )


EFFICIENCY = Claim(
    "efficiency",
    _efficiency_limit_s,
    _efficiency_limit_s,
    reference_of,
    _reference_and_submission,
    keys=(REFERENCE_KEY,),
    check=_check_efficiency,
)
SPEEDUP = Claim(
    "speedup",
    _speedup_limit_s,
    _speedup_passes_below_s,
    lambda criterion: HANDOUT,
    lambda criterion: (HANDOUT, SOLUTION, SUBMISSION),
    needs_effect=True,
    keys=("slow",),
)
CHAIN = Claim(
    "chain", _chain_limit_s, _chain_limit_s, reference_of, _reference_and_submission,
    least_s=_chain_least_s,
)  # fmt: skip
CLAIMS = {claim.name: claim for claim in (EFFICIENCY, SPEEDUP, CHAIN)}


def claim_of(criterion: Criterion) -> Claim:
    """Return what a criterion claims; its rule has to be one of CLAIMS."""
    return CLAIMS[criterion.rule]
