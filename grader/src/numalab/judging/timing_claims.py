"""The claims of the timing rules about a submission's times, by replicate.

A *replicate* is one run of every program that is compared (a round). A claim turns the best
repetitions of a replicate into limits in seconds:

- `limit_s`: a submission that takes as long or longer speaks against the claim;
- `passes_below_s`, at most `limit_s`: one that takes less speaks for it (in between it does
  neither);
- `least_s`, where a claim has a lower side: one that takes as long or less speaks against it.

Replicates have to have times of all roles that a claim needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, TimedRound
from numalab.evidence.record import Kind as RunKind
from numalab.judging.registry import Rule
from numalab.labs.declaration import Criterion, Kind, Lab
from numalab.toml_files.tables import Table

# A machine shows the effect if the starting code takes at least this many times the reference
# solution's time.
LEAST_HANDOUT_RATIO = 1.15

Limit = Callable[[Criterion, TimedRound], float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Claim(Rule):
    """A rule about the best repetition of a submission; limits are in seconds.

    Attributes:
        limit_s, passes_below_s, least_s: as above; least_s is None where a claim has one side.
        compared_with: returns the role whose speed reported ratios are multiples of.
        roles: returns the roles that a replicate needs.
        needs_effect: the machine has to show that starting code is slower than the solution.
    """

    kind: Kind = "timing"
    runs: tuple[RunKind[Any], ...] = (TIMED_ROUND,)
    limit_s: Limit
    passes_below_s: Limit
    compared_with: Callable[[Criterion], str]
    roles: Callable[[Criterion], tuple[str, ...]]
    least_s: Limit | None = None
    needs_effect: bool = False


def best_s(replicate: TimedRound, role: str) -> float:
    """Return the least time of a role's repetitions, in s. Where that repetition was stopped it is
    a lower bound."""
    return min(replicate.elapsed_s[role])


def reference_of(criterion: Criterion) -> str:
    """Return the role that an efficiency is held against."""
    return SOLUTION if criterion.at_least_of_lightspeed is None else PROBE


def _reference_and_submission(criterion: Criterion) -> tuple[str, ...]:
    return reference_of(criterion), SUBMISSION


def _efficiency_limit_s(criterion: Criterion, replicate: TimedRound) -> float:
    assert criterion.required_share is not None
    return best_s(replicate, reference_of(criterion)) / criterion.required_share


def _chain_limit_s(criterion: Criterion, replicate: TimedRound) -> float:
    return best_s(replicate, SOLUTION) * criterion.most


def speedup_passes_below_s(handout_s: float, solution_s: float) -> float:
    """Return the time in s below which a replicate speaks for a speedup: the geometric mean of both
    times, at most handout_s over the square root of LEAST_HANDOUT_RATIO."""
    return min(math.sqrt(handout_s * solution_s), handout_s / math.sqrt(LEAST_HANDOUT_RATIO))


REFERENCE_KEY = "at_least_of_lightspeed"


def _check_efficiency(lab: Lab, criterion: Criterion, table: Table) -> None:
    """Raise the table's error unless an efficiency is held against either the solution or the
    probe."""
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
    keys=(REFERENCE_KEY,),
    check=_check_efficiency,
    limit_s=_efficiency_limit_s,
    passes_below_s=_efficiency_limit_s,
    compared_with=reference_of,
    roles=_reference_and_submission,
)
SPEEDUP = Claim(
    "speedup",
    keys=("slow",),
    # The geometric mean of both times: by the same factor below the one and above the other.
    limit_s=lambda _, g: math.sqrt(best_s(g, HANDOUT) * best_s(g, SOLUTION)),
    passes_below_s=lambda _, g: speedup_passes_below_s(best_s(g, HANDOUT), best_s(g, SOLUTION)),
    compared_with=lambda criterion: HANDOUT,
    roles=lambda criterion: (HANDOUT, SOLUTION, SUBMISSION),
    needs_effect=True,
)
CHAIN = Claim(
    "chain",
    limit_s=_chain_limit_s,
    passes_below_s=_chain_limit_s,
    compared_with=reference_of,
    roles=_reference_and_submission,
    least_s=lambda criterion, replicate: best_s(replicate, SOLUTION) * criterion.least,
)
CLAIMS = {claim.name: claim for claim in (EFFICIENCY, SPEEDUP, CHAIN)}


def claim_of(criterion: Criterion) -> Claim:
    """Return the claim of a criterion. Raises KeyError where its rule is not one of CLAIMS."""
    return CLAIMS[criterion.rule]
