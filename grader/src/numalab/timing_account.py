"""The account of a timing criterion: its generations, the evidence, and why it stopped."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Any, Literal

from numalab.lab import Criterion, Lab
from numalab.record import HANDOUT, SOLUTION, Evidence
from numalab.sequential import Decision, interval
from numalab.soundness import is_sound, timed_out
from numalab.timing_rules import TIMING_RULES, TimingState, best_s, timing_state
from numalab.verdict import CriterionVerdict, Verdict

Stopped = Literal[
    "decided", "not_gradable", "unstable", "undecided", "too_slow", "interrupted", "error"
]


@dataclass(frozen=True)
class TimingAccount:
    """What there is to say of a criterion that was timed. asked: the ratio of speeds that is
    asked for, against the solution (efficiency) or the handout (speedup), None where no
    generation came to its end."""

    criterion: Criterion
    verdict: CriterionVerdict
    state: TimingState
    asked: float | None
    stopped_because: Stopped

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """For the median margin. A margin that is only bounded from above bounds nothing
        from below."""
        levels = self.state.thresholds
        at_least = [
            0.0 if cut else margin
            for margin, cut in zip(self.state.margins, self.state.cut, strict=True)
        ]
        return interval(at_least, levels)[0] or None, interval(self.state.margins, levels)[1]

    def to_json(self) -> dict[str, Any]:
        """Lists have an entry for each generation; those of signs end with the decision."""
        state = self.state
        looks = state.looks
        return {
            "margins": list(state.margins),
            "cut": list(state.cut),
            "asked": self.asked,
            "signs": [margin > 1 for margin in state.margins[: len(looks)]],
            "e_for": [look.e_for for look in looks],
            "e_against": [look.e_against for look in looks],
            "threshold": {"to_pass": state.thresholds.to_pass, "to_fail": state.thresholds.to_fail},
            "margin_interval": list(self.interval),
            "confidence": state.thresholds.confidence,
            "gradable": None if state.gradable is None else _decision_json(state.gradable),
            "control": _decision_json(state.control),
            "stopped_because": self.stopped_because,
        }


def _decision_json(decision: Decision) -> dict[str, Any]:
    return {
        "status": decision.status,
        "signs": decision.signs,
        "wins": decision.wins,
        "e_for": decision.e_for,
        "e_against": decision.e_against,
    }


def _own_generations(lab: Lab, criterion: Criterion, whole: Evidence) -> Evidence:
    """The evidence with the generations that were taken for a criterion."""
    parts = lab.kernel_parts if criterion.part is None else (criterion.part,)
    own = whole.of_parts(*parts)
    taken = tuple(run for run in own.generations if run.slow == criterion.slow)
    return replace(own, generations=taken)


def _asked(criterion: Criterion, evidence: Evidence) -> float | None:
    if criterion.rule == "efficiency":
        return criterion.at_least
    ratios = [
        best_s(run, HANDOUT) / best_s(run, SOLUTION)
        for run in evidence.generations
        if run.ok and run.elapsed_s.get(HANDOUT) and run.elapsed_s.get(SOLUTION)
    ]
    return math.sqrt(statistics.median(ratios)) if ratios else None


def _stopped(found: CriterionVerdict, state: TimingState, evidence: Evidence) -> Stopped:
    if found.status == "error":
        return "interrupted" if evidence.timing_error is not None else "error"
    if any(map(timed_out, evidence.generations)):
        return "too_slow"
    if found.status == "not_gradable":
        return "not_gradable"
    if found.status == "inconclusive":
        return "undecided"
    return "unstable" if state.claim.status == "undecided" else "decided"


def timing_accounts(lab: Lab, verdict: Verdict, evidence: Evidence) -> list[TimingAccount]:
    """Of the criteria that are decided by generations and were timed; evidence: of the place
    where times are taken. A kernel with wrong results has no times that mean anything."""
    verdicts = {found.name: found for found in verdict.criteria if found.where == "here"}
    accounts = []
    for criterion in lab.criteria:
        if criterion.rule not in TIMING_RULES or criterion.name not in verdicts:
            continue
        found = verdicts[criterion.name]
        own = _own_generations(lab, criterion, evidence)
        is_wrong = criterion.slow is None and found.status == "fail" and not is_sound(own)
        if not own.generations or is_wrong:
            continue
        state = timing_state(criterion, own)
        if not state.margins and not any(map(timed_out, own.generations)):
            continue
        accounts.append(
            TimingAccount(
                criterion, found, state, _asked(criterion, own), _stopped(found, state, own)
            )
        )
    return accounts


def with_timing(result: dict[str, Any], accounts: list[TimingAccount]) -> dict[str, Any]:
    """A verdict's JSON with what each timed criterion's decision rests on."""
    timings = {account.criterion.name: account.to_json() for account in accounts}
    return result | {
        "criteria": [
            entry | {"timing": timings[entry["name"]]}
            if entry["name"] in timings and entry["where"] == "here"
            else entry
            for entry in result["criteria"]
        ]
    }
