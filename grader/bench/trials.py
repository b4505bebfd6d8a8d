"""Trials drawn from a record: the judge and the rules in use elsewhere on the same series."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from other_rules import ASKED_RATIO, OtherRule
from series import CANDIDATE, REFERENCE, ROLES_OF_RULE, TimedRound
from sessions import Grading, Judged, generation_of_times, judge_course, timing_criterion
from worlds import signs_of

from numalab.errors import UserError
from numalab.evidence.record import CONTROL

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

# What is claimed of the reference's and the candidate's times, as a lab's criterion.
CRITERIA = {
    "efficiency": timing_criterion("efficiency", ASKED_RATIO),
    "speedup": timing_criterion("speedup"),
}


@dataclass(frozen=True)
class Judging:
    """How the judge takes a generation's times. repetitions: of each process, after so many for
    warming up (0 or 1); quick: with the thresholds and generations of --quick."""

    repetitions: int = 3
    statistic: Statistic = "min"
    warm_up: int = 1
    quick: bool = False
    budget_s: float = BUDGET_S

    @property
    def mode(self) -> str:
        return "quick" if self.quick else "careful"

    def grading(self, rule: str) -> Grading:
        return Grading.of(CRITERIA[rule], self.quick)


@dataclass(frozen=True)
class Outcomes:
    """verdicts: PASS, FAIL or UNDECIDED of each trial; spent_s: its measuring time;
    generations: how many of the record one takes, in the median; unstable: how many of the
    failures are of a kernel that is not steady."""

    verdicts: NDArray[np.int8]
    spent_s: NDArray[np.float64]
    generations: float
    unstable: int = 0

    @property
    def passed(self) -> int:
        return int((self.verdicts == PASS).sum())

    @property
    def failed(self) -> int:
        return int((self.verdicts == FAIL).sum())

    def wrong(self, true_ratio: float) -> int:
        """Passes where the candidate is slower than asked for, failures where it is faster. At
        the limit neither is deserved."""
        if true_ratio == ASKED_RATIO:
            return self.passed + self.failed
        return self.passed if true_ratio < ASKED_RATIO else self.failed

    @property
    def undecided(self) -> int:
        return int((self.verdicts == UNDECIDED).sum())

    @property
    def median_s(self) -> float:
        return float(np.median(self.spent_s))


# ---- the judge -------------------------------------------------------------------


def times_of(generation: TimedRound, judging: Judging) -> dict[str, float]:
    """By role the seconds that the judge takes. Raises UserError where fewer repetitions were
    recorded."""
    last = judging.warm_up + judging.repetitions
    if last > generation.repetitions + 1:
        raise UserError(
            f"{judging.repetitions} repetitions are asked for, and {generation.repetitions} were "
            "recorded beside the warm-up"
        )
    statistic = _STATISTICS[judging.statistic]
    return {
        role: statistic(times[judging.warm_up : last])
        for role, times in generation.elapsed_s.items()
    }


def cost_s(generation: TimedRound, judging: Judging, roles: Sequence[str]) -> float:
    """What a generation takes with these processes and repetitions."""
    repetitions = judging.warm_up + judging.repetitions
    return generation.own_s + generation.took_s(roles, repetitions)


class RecordedGenerations:
    """What a trial draws from: each generation as the judge takes it, without the control and with
    it, and what either takes."""

    def __init__(self, generations: Sequence[TimedRound], judging: Judging, rule: str) -> None:
        self.grading = judging.grading(rule)
        roles = ROLES_OF_RULE[rule]
        times = [times_of(generation, judging) for generation in generations]
        series = {
            role: np.array([[of_generation.get(role, of_generation[REFERENCE])]
                            for of_generation in times])
            for role in roles
        }  # fmt: skip
        self._codes = signs_of(self.grading.criterion, series).codes()[:, 0]
        self._taken = [
            [
                (
                    generation_of_times(
                        {role: (of_generation[role],) for role in own if role in of_generation}
                    ),
                    cost_s(generation, judging, own),
                )
                for generation, of_generation in zip(generations, times, strict=True)
            ]
            for own in ([role for role in roles if role != CONTROL], [*roles])
        ]
        self._budget_s = judging.budget_s
        self._by_signs: dict[tuple[bytes, int], Judged] = {}

    def judge(self, drawn: NDArray[np.int64]) -> tuple[Judged, float]:
        """The verdict of a session on these generations, in order, and the seconds that it took.
        drawn: as many as a session may have. Sessions with the same signs are judged once."""
        grading = self.grading
        taken = [
            self._taken[grading.takes(CONTROL, place)][index]
            for place, index in enumerate(drawn.tolist())
        ]
        spent_s = list(itertools.accumulate(cost_s for _, cost_s in taken))
        end = next(
            (
                count
                for count, so_far_s in enumerate(spent_s, start=1)
                if so_far_s >= self._budget_s * (1 if count >= grading.least else 3)
            ),
            grading.most,
        )
        signs = (self._codes[drawn[:end]].tobytes(), end)
        judged = self._by_signs.get(signs)
        if judged is None:
            judged = judge_course(grading, [generation for generation, _ in taken[:end]], [end])
            self._by_signs[signs] = judged
        return judged, spent_s[judged.generations - 1]


def code_of(judged: Judged) -> int:
    return _CODES.get(judged.status, UNDECIDED)


def judge_trials(
    generations: Sequence[TimedRound],
    judging: Judging,
    trials: int,
    random: np.random.Generator,
    *,
    rule: str = "efficiency",
    in_order: bool = False,
) -> Outcomes:
    """What the judge says, looking after each generation, as in a grading. Each trial draws whole
    generations with replacement; in_order: it begins with a random one and goes on as they were
    recorded, with the first after the last."""
    record = RecordedGenerations(generations, judging, rule)
    most = record.grading.most
    if in_order:
        starts = random.integers(len(generations), size=(trials, 1))
        drawn = (starts + np.arange(most)) % len(generations)
    else:
        drawn = random.integers(len(generations), size=(trials, most))
    found = [record.judge(of_trial) for of_trial in drawn]
    return Outcomes(
        np.array([code_of(judged) for judged, _ in found], dtype=np.int8),
        np.array([spent_s for _, spent_s in found]),
        float(np.median([judged.generations for judged, _ in found])),
        sum(judged.cause == "unstable" for judged, _ in found),
    )


# ---- rules in use elsewhere ------------------------------------------------------


def generations_needed(rule: OtherRule, recorded: int) -> int:
    """How many consecutive generations a trial takes, of recorded repetitions each."""
    blocks = 1 if rule.is_paired else 2
    return blocks * -(-rule.repetitions // recorded)


def _block(
    generations: Sequence[TimedRound], roles: Sequence[str], repetitions: int
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


def apply_rule(rule: OtherRule, generations: Sequence[TimedRound]) -> tuple[int, float]:
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


def rule_everywhere(rule: OtherRule, generations: Sequence[TimedRound]) -> Outcomes:
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
    rule: OtherRule, generations: Sequence[TimedRound], trials: int, random: np.random.Generator
) -> Outcomes:
    """Trials that begin at random places of the record. Raises UserError."""
    found = rule_everywhere(rule, generations)
    drawn = random.integers(found.verdicts.size, size=trials)
    return Outcomes(found.verdicts[drawn], found.spent_s[drawn], found.generations)


def in_equal_time(
    rule: OtherRule, generations: Sequence[TimedRound], allowed_s: float
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


def _median_time_s(rule: OtherRule, generations: Sequence[TimedRound]) -> float:
    timeless = replace(rule, judge=lambda reference_s, candidate_s: "undecided")
    return rule_everywhere(timeless, generations).median_s
