"""Trials drawn from a record: the judge and the rules in use elsewhere on the same series."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from other_rules import ASKED_RATIO, OtherRule
from series import CANDIDATE, REFERENCE, Generation

from numalab.errors import UserError
from numalab.evidence.record import CONTROL
from numalab.judging.sequential import CAREFUL, Thresholds, e_value

Statistic = Literal["min", "median", "first"]
_STATISTICS: dict[Statistic, Callable[[Sequence[float]], float]] = {
    "min": min,
    "median": statistics.median,
    "first": lambda times: times[0],
}

# Seconds after which the judge begins no further generation and leaves the claim undecided.
BUDGET_S = 20.0

PASS, FAIL, UNDECIDED = 1, -1, 0
_CODES = {"pass": PASS, "fail": FAIL, "undecided": UNDECIDED}


@dataclass(frozen=True)
class Judging:
    """How the judge takes a generation's sign. repetitions: of each process, after so many
    for warming up (0 or 1); has_control: whether the reference runs a second time beside it,
    which takes time and changes no sign."""

    repetitions: int = 3
    statistic: Statistic = "min"
    warm_up: int = 1
    has_control: bool = False
    budget_s: float = BUDGET_S

    @property
    def roles(self) -> tuple[str, ...]:
        return (REFERENCE, CANDIDATE, CONTROL) if self.has_control else (REFERENCE, CANDIDATE)


@dataclass(frozen=True)
class Outcomes:
    """verdicts: PASS, FAIL or UNDECIDED of each trial; spent_s: its measuring time;
    generations: how many of the record one takes, in the median."""

    verdicts: NDArray[np.int8]
    spent_s: NDArray[np.float64]
    generations: float

    def wrong(self, true_ratio: float) -> int:
        """False passes where the candidate is slower than asked for, else false failures."""
        return int((self.verdicts == (PASS if true_ratio < ASKED_RATIO else FAIL)).sum())

    @property
    def undecided(self) -> int:
        return int((self.verdicts == UNDECIDED).sum())

    @property
    def median_s(self) -> float:
        return float(np.median(self.spent_s))


# ---- the judge -------------------------------------------------------------------


def sign_of(generation: Generation, judging: Judging) -> bool:
    """Whether a generation speaks for the claim, as the rule `efficiency` takes it. Raises
    UserError where fewer repetitions were recorded."""
    last = judging.warm_up + judging.repetitions
    if last > generation.repetitions + 1:
        raise UserError(
            f"{judging.repetitions} repetitions are asked for, and {generation.repetitions} were "
            "recorded beside the warm-up"
        )
    statistic = _STATISTICS[judging.statistic]
    reference_s, candidate_s = (
        statistic(generation.elapsed_s[role][judging.warm_up : last])
        for role in (REFERENCE, CANDIDATE)
    )
    return bool(candidate_s < reference_s / ASKED_RATIO)


def cost_s(generation: Generation, judging: Judging) -> float:
    """What a generation takes with these processes and repetitions."""
    repetitions = judging.warm_up + judging.repetitions
    return generation.own_s + generation.took_s(judging.roles, repetitions)


@cache
def boundary(count: int, e_asked: float) -> int:
    """The least number of wins among count signs whose e-value is e_asked or more; count + 1
    where there is none. It never falls as count grows."""
    wins = boundary(count - 1, e_asked) if count > 1 else 1
    while wins <= count and e_value(wins, count) < e_asked:
        wins += 1
    return wins


def judge_trials(
    generations: Sequence[Generation],
    judging: Judging,
    trials: int,
    random: np.random.Generator,
    *,
    in_order: bool = False,
    thresholds: Thresholds = CAREFUL,
) -> Outcomes:
    """What the judge says, looking after each generation, as `sequential.decide` does. Each
    trial draws whole generations with replacement; in_order: it begins with a random one and
    goes on as they were recorded, with the first after the last."""
    signs = np.array([sign_of(generation, judging) for generation in generations])
    costs_s = np.array([cost_s(generation, judging) for generation in generations])
    verdicts = np.zeros(trials, dtype=np.int8)
    spent_s = np.zeros(trials)
    wins = np.zeros(trials, dtype=np.int64)
    starts = random.integers(len(signs), size=trials)
    running = np.arange(trials)
    counts = np.zeros(trials, dtype=np.int64)
    count = 0
    while running.size:
        drawn = (
            (starts[running] + count) % len(signs)
            if in_order
            else random.integers(len(signs), size=running.size)
        )
        count += 1
        counts[running] = count
        wins[running] += signs[drawn]
        spent_s[running] += costs_s[drawn]
        verdicts[running[wins[running] >= boundary(count, thresholds.to_pass)]] = PASS
        losses = count - wins[running]
        verdicts[running[losses >= boundary(count, thresholds.to_fail)]] = FAIL
        goes_on = (verdicts[running] == UNDECIDED) & (spent_s[running] < judging.budget_s)
        running = running[goes_on]
    return Outcomes(verdicts, spent_s, float(np.median(counts)))


# ---- rules in use elsewhere ------------------------------------------------------


def generations_needed(rule: OtherRule, recorded: int) -> int:
    """How many consecutive generations a trial takes, of recorded repetitions each."""
    blocks = 1 if rule.is_paired else 2
    return blocks * -(-rule.repetitions // recorded)


def _block(
    generations: Sequence[Generation], roles: Sequence[str], repetitions: int
) -> tuple[list[list[float]], float]:
    """The first so many repetitions of each role, warm-ups left out, and what they took."""
    times: list[list[float]] = [[] for _ in roles]
    spent_s = 0.0
    for generation in generations:
        taken = min(repetitions - len(times[0]), generation.repetitions)
        for of_role, role in zip(times, roles, strict=True):
            of_role += generation.elapsed_s[role][1 : 1 + taken]
        spent_s += generation.took_s(roles, 1 + taken)
    return times, spent_s


def apply_rule(rule: OtherRule, generations: Sequence[Generation]) -> tuple[int, float]:
    """The verdict on the first generations, and the measuring time: processes that start,
    warm up and repeat. The candidate's block comes first and the reference's from the
    generations after those, so from other processes and seconds later; pairs come from the
    same generations. Of the monitor's own time nothing is counted."""
    recorded = generations[0].repetitions
    needed = generations_needed(rule, recorded)
    if rule.is_paired:
        times, spent_s = _block(generations[:needed], (REFERENCE, CANDIDATE), rule.repetitions)
        return _CODES[rule.judge(*times)], spent_s
    half = needed // 2
    (candidate_s,), first_s = _block(generations[:half], (CANDIDATE,), rule.repetitions)
    (reference_s,), then_s = _block(generations[half:needed], (REFERENCE,), rule.repetitions)
    return _CODES[rule.judge(reference_s, candidate_s)], first_s + then_s


def rule_everywhere(rule: OtherRule, generations: Sequence[Generation]) -> Outcomes:
    """A trial from each recorded generation on that has enough after it. Raises UserError
    where none has."""
    needed = generations_needed(rule, generations[0].repetitions)
    if needed > len(generations):
        raise UserError(
            f"{rule.name} of {rule.repetitions} takes {needed} generations, and "
            f"{len(generations)} were recorded"
        )
    found = [
        apply_rule(rule, generations[start : start + needed])
        for start in range(len(generations) - needed + 1)
    ]
    return Outcomes(
        np.array([verdict for verdict, _ in found], dtype=np.int8),
        np.array([spent_s for _, spent_s in found]),
        needed,
    )


def rule_trials(
    rule: OtherRule, generations: Sequence[Generation], trials: int, random: np.random.Generator
) -> Outcomes:
    """Trials that begin at random places of the record. Raises UserError."""
    found = rule_everywhere(rule, generations)
    drawn = random.integers(found.verdicts.size, size=trials)
    return Outcomes(found.verdicts[drawn], found.spent_s[drawn], found.generations)


def in_equal_time(
    rule: OtherRule, generations: Sequence[Generation], allowed_s: float
) -> OtherRule:
    """The rule with as many repetitions as take allowed_s in the median; at least one, and
    so few that half of the record is left to begin a trial in."""
    recorded = generations[0].repetitions
    most = max(1, len(generations) // (2 if rule.is_paired else 4)) * recorded
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        longer = replace(rule, repetitions=middle)
        if _median_time_s(longer, generations) <= allowed_s:
            low = middle
        else:
            high = middle - 1
    return replace(rule, repetitions=low)


def _median_time_s(rule: OtherRule, generations: Sequence[Generation]) -> float:
    timeless = replace(rule, judge=lambda reference_s, candidate_s: "undecided")
    return rule_everywhere(timeless, generations).median_s
