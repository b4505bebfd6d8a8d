"""The account of a timing criterion: its replicates, what decided it, and why no more were taken.
Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import Evidence, LeftOut
from numalab.judging.judge import evidence_for
from numalab.judging.rates import TimedRates, rates_of
from numalab.judging.sequential import UNDECIDED, Decision, interval
from numalab.judging.soundness import is_sound, timed_out
from numalab.judging.timing_claims import CLAIMS, claim_of
from numalab.judging.timing_state import (
    ClaimSide,
    RequiredSpeed,
    TimingState,
    complete,
    required_speed,
    timing_state,
)
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Criterion, Lab

Stopped = Literal[
    "decided",
    "not_gradable",
    "unstable",
    "undecided",
    "too_slow",
    "interrupted",
    "error",
    "cut_too_early",
    "implausible",
]


@dataclass(frozen=True)
class Side:
    """The side of a claim that a report shows.

    Attributes:
        margins: the factor by which each replicate met the limit.
        cut: per replicate, whether the margin is an upper bound.
        decisions: the decision after each replicate, up to the one that decided.
        good, bad: words for a margin above 1, and for one below.
        holds, fails: words for a submission if the claim is true, and if it is not.
        is_floor: it is the side on which a submission is too fast.
    """

    margins: tuple[float, ...]
    cut: tuple[bool, ...]
    decisions: tuple[Decision, ...]
    good: str
    bad: str
    holds: str
    fails: str
    is_floor: bool

    @property
    def claim(self) -> Decision:
        return self.decisions[-1] if self.decisions else UNDECIDED


def side_shown(state: TimingState) -> Side:
    """Return the side to show: of two one that failed, else one that is undecided; of sides that
    are alike the one with the smaller median margin. Without replicates it is the upper limit's."""
    ceiling = Side(
        state.margins, state.cut, state.decisions, "fast enough", "too slow",
        "as fast as is asked for", "not as fast as is asked for", is_floor=False,
    )  # fmt: skip
    if state.floor is None or not state.margins:
        return ceiling
    margins = state.floor.margins
    floor = Side(
        margins, (False,) * len(margins), state.floor.decisions, "slow enough", "too fast",
        "no faster than a chain of loads", "faster than a chain of loads", is_floor=True,
    )  # fmt: skip
    order = {"below": 0, None: 1, "above": 2}
    return min((ceiling, floor), key=lambda side: (order[side.claim.reached], median(side.margins)))


@dataclass(frozen=True)
class TimingAccount:
    """The account of a criterion that was timed.

    Attributes:
        verdict: that on this machine.
        required: the speed that a pass requires; None where no replicate is complete.
        stopped_because: why no further replicate was taken.
        left_out: replicates that do not count.
        rates: times and memory rates of the roles that are compared; None where no replicate is
            complete.
    """

    criterion: Criterion
    verdict: CriterionVerdict
    state: TimingState
    required: RequiredSpeed | None
    stopped_because: Stopped
    left_out: tuple[LeftOut, ...] = ()
    rates: TimedRates | None = None

    @property
    def is_effect_lost(self) -> bool:
        """Whether the criterion is undecided since noise hides the effect that a speedup needs."""
        is_open = self.verdict.status == "inconclusive"
        return is_open and self.required is not None and self.required.is_lost

    @property
    def side(self) -> Side:
        """The side of the claim to show."""
        return side_shown(self.state)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The interval of the median margin of `side`; an end that the replicates do not bound is
        None."""
        return interval(self.side.margins, self.state.thresholds, self.side.cut)

    def json_data(self) -> dict[str, Any]:
        """Return the JSON of a result. margins and cut have an entry per replicate; signs, missed
        and the e-values end with the decision. A sign is null where the submission was stopped too
        early to know it."""
        state = self.state
        return {
            "margins": list(state.margins),
            "cut": list(state.cut),
            "asked": None if self.required is None else asdict(self.required),
            **_signs_json(state),
            "threshold": {
                "to_pass": state.thresholds.e_to_pass,
                "to_fail": state.thresholds.e_to_fail,
            },
            "margin_interval": list(interval(state.margins, state.thresholds, state.cut)),
            "floor": None
            if state.floor is None
            else {"margins": list(state.floor.margins), **_signs_json(state.floor)},
            "confidence": state.thresholds.confidence,
            "outcome": state.outcome,
            "decided_after": state.needed or None,
            "effect": None if state.effect is None else _decision_json(state.effect),
            "control": _decision_json(state.control),
            "unsteady": _decision_json(state.unsteady),
            "stopped_because": self.stopped_because,
            "rates": None if self.rates is None else self.rates.json_data(),
            "left_out": [{"why": run.why, "paused_s": run.paused_s} for run in self.left_out],
        }


def _signs_json(side: ClaimSide) -> dict[str, Any]:
    """Return the lists of json_data that end with the decision."""
    decisions = side.decisions
    return {
        "signs": list(side.signs[: len(decisions)]),
        "missed": list(side.missed[: len(decisions)]),
        "e_for": [decision.e_for for decision in decisions],
        "e_against": [decision.e_against for decision in decisions],
    }


def _decision_json(decision: Decision) -> dict[str, Any]:
    return asdict(decision) | {"e_for": decision.e_for, "e_against": decision.e_against}


def _stopped(verdict: CriterionVerdict, state: TimingState, evidence: Evidence) -> Stopped:
    if verdict.cause == "interrupted":
        return "interrupted"
    if verdict.status == "error":
        return "error"
    if verdict.cause in ("cut_too_early", "implausible"):
        return verdict.cause
    if any(map(timed_out, evidence.runs_of(TIMED_ROUND))):
        return "too_slow"
    if verdict.status == "not_gradable":
        return "not_gradable"
    if verdict.status == "inconclusive":
        return "undecided"
    if verdict.cause == "too_slow" and state.outcome is None:
        return "too_slow"
    return "unstable" if state.outcome is None else "decided"


def timing_accounts(lab: Lab, verdict: Verdict, evidence: Evidence) -> list[TimingAccount]:
    """Return an account of each criterion that was timed, in the lab's order.

    Args:
        evidence: that of the machine on which times are taken.

    Left out are criteria without a replicate that is complete or met the time limit, and those that
    failed of a kernel that is not sound, unless launches are compared.
    """
    verdicts = {
        verdict_here.name: verdict_here
        for verdict_here in verdict.criteria
        if verdict_here.where == "here"
    }
    accounts = []
    for criterion in lab.criteria:
        if criterion.rule not in CLAIMS or criterion.name not in verdicts:
            continue
        verdict_here = verdicts[criterion.name]
        own = evidence_for(lab, criterion, evidence)
        has_mistake = criterion.slow is None and verdict_here.status == "fail" and not is_sound(own)
        if not own.runs_of(TIMED_ROUND) or has_mistake:
            continue
        state = timing_state(criterion, own)
        if not state.margins and not any(map(timed_out, own.runs_of(TIMED_ROUND))):
            continue
        replicates = complete(own, claim_of(criterion).roles(criterion))
        required = required_speed(criterion, replicates) if replicates else None
        stopped = _stopped(verdict_here, state, own)
        left_out = tuple(run for run in own.left_out if run.kind == TIMED_ROUND.name)
        rates = rates_of(own, claim_of(criterion).roles(criterion))
        accounts.append(
            TimingAccount(criterion, verdict_here, state, required, stopped, left_out, rates)
        )
    return accounts


def add_timing(result: dict[str, Any], accounts: Sequence[TimingAccount]) -> dict[str, Any]:
    """Return a verdict's JSON with the account of each timed criterion under its key "timing"."""
    timings = {account.criterion.name: account.json_data() for account in accounts}
    return result | {
        "criteria": [
            entry | {"timing": timings[entry["name"]]}
            if entry["name"] in timings and entry["where"] == "here"
            else entry
            for entry in result["criteria"]
        ]
    }
