"""Tables of a replay, in at most 100 columns, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from bounds import upper_bound
from other_rules import ASKED_RATIO, DUET_RULE, OTHER_RULES, OtherRule
from series import CANDIDATE, REFERENCE, Cell, TimedRound
from trials import (
    Judging,
    Outcomes,
    Statistic,
    in_equal_time,
    judge_trials,
    rule_trials,
)

from numalab.evidence.record import HANDOUT, SOLUTION, Json

TUNED_REPETITIONS = (1, 2, 3, 5, 7, 10)


@dataclass(frozen=True)
class Row:
    """Shares are 0 to 1 of the trials drawn; most_wrong_share: the one-sided 95 % upper
    bound. unstable_share: part of the failed. separate: how many trials that share no generation
    the record holds."""

    rule: str
    passed_share: float
    failed_share: float
    unstable_share: float
    wrong_share: float
    most_wrong_share: float
    undecided_share: float
    median_s: float
    percentile_95_s: float
    separate: int

    def json_data(self) -> Json:
        return asdict(self)


def row_of(name: str, outcomes: Outcomes, cell: Cell, recorded: int) -> Row:
    """recorded: generations of the cell."""
    trials = outcomes.verdicts.size
    wrong = outcomes.wrong(cell.ratio)
    return Row(
        rule=name,
        passed_share=outcomes.passed / trials,
        failed_share=outcomes.failed / trials,
        unstable_share=outcomes.unstable / trials,
        wrong_share=wrong / trials,
        most_wrong_share=upper_bound(wrong, trials),
        undecided_share=outcomes.undecided / trials,
        median_s=outcomes.median_s,
        percentile_95_s=float(np.percentile(outcomes.spent_s, 95)),
        separate=int(recorded // outcomes.generations),
    )


@dataclass(frozen=True)
class Replay:
    """How trials are drawn. in_order: of the judge, too, as recorded."""

    judging: Judging
    trials: int
    seed: int
    in_order: bool

    def json_data(self) -> Json:
        return asdict(self)

    def random(self) -> np.random.Generator:
        """The same for every rule, so that a row does not depend on those above it."""
        return np.random.default_rng(self.seed)


def compare(cell: Cell, generations: Sequence[TimedRound], replay: Replay) -> list[Row]:
    """The judge, then the other rules as they are used elsewhere, then in the judge's time.
    Of a duet only its own rule. Raises UserError where too few generations were recorded."""
    if cell.rule == "duet":
        return [_row_of_rule(DUET_RULE, "", cell, generations, replay)]
    judged = judge_trials(
        generations, replay.judging, replay.trials, replay.random(), rule=cell.rule,
        in_order=replay.in_order,
    )  # fmt: skip
    rows = [row_of(f"judge, {replay.judging.mode}", judged, cell, len(generations))]
    if cell.rule == "speedup":
        return rows  # a claim about three programs, which the other rules don't know
    in_time = [in_equal_time(rule, generations, judged.median_s) for rule in OTHER_RULES]
    for rules, how in ((OTHER_RULES, ""), (in_time, ", equal time")):
        rows += [_row_of_rule(rule, how, cell, generations, replay) for rule in rules]
    return rows


def _row_of_rule(
    rule: OtherRule, how: str, cell: Cell, generations: Sequence[TimedRound], replay: Replay
) -> Row:
    found = rule_trials(rule, generations, replay.trials, replay.random())
    what = "pairs" if rule.is_paired else "each"
    name = f"{rule.name}, {rule.repetitions} {what}{how}"
    return row_of(name, found, cell, len(generations))


def heading(cell: Cell, generations: Sequence[TimedRound]) -> list[str]:
    """What a cell's tables are about."""
    took_ms = 1e3 * float(np.median([t for g in generations for t in g.elapsed_s[CANDIDATE][1:]]))
    return [
        f"{cell.name}: {len(generations)} generations of {cell.repetitions} repetitions, "
        f"{took_ms:.1f} ms each (median);",
        f"measured ratio {measured_ratio(generations, cell.rule):.3f} (best times, median); "
        f"wrong is what {wrong_is(cell)}",
    ]


def wrong_is(cell: Cell) -> str:
    if cell.ratio == ASKED_RATIO:
        return "passes or fails"
    return "passes" if cell.ratio < ASKED_RATIO else "fails"


def measured_ratio(generations: Sequence[TimedRound], rule: str) -> float:
    """As a cell's ratio, of the best times of a generation, the median."""

    def best_s(generation: TimedRound, role: str) -> float:
        return min(generation.elapsed_s[role][1:])

    def allowed_s(generation: TimedRound) -> float:
        if rule != "speedup":
            return best_s(generation, REFERENCE)
        handout_s, solution_s = (best_s(generation, role) for role in (HANDOUT, SOLUTION))
        return ASKED_RATIO * float(np.sqrt(handout_s * solution_s))

    return float(np.median([allowed_s(g) / best_s(g, CANDIDATE) for g in generations]))


def comparison_lines(rows: Sequence[Row]) -> list[str]:
    """A table of 98 columns."""
    shares = f"{'wrong':>9}{'at most':>9}{'undecided':>11}"
    lines = [f"{'rule':40}{shares}{'median s':>10}{'95 % s':>9}{'separate':>10}"]
    lines += [
        f"{row.rule:40}{row.wrong_share:9.2%}{row.most_wrong_share:9.2%}"
        f"{row.undecided_share:11.2%}{row.median_s:10.2f}{row.percentile_95_s:9.2f}"
        f"{row.separate:10}"
        for row in rows
    ]
    lines += [
        f"{row.rule}: passed {row.passed_share:.3%}, failed {row.failed_share:.3%}, of them as "
        f"unstable {row.unstable_share:.3%}"
        for row in rows
        if row.rule.startswith("judge")
    ]
    return lines


def tuned(replay: Replay, recorded: int) -> list[Judging]:
    """All ways to take a sign that the record can show."""
    ways: list[tuple[int, Statistic]] = [(1, "first")]
    ways += [(k, s) for k in TUNED_REPETITIONS[1:] if k <= recorded for s in ("min", "median")]
    return [
        replace(replay.judging, repetitions=k, statistic=statistic, warm_up=warm_up)
        for warm_up in (1, 0)
        for k, statistic in ways
    ]


@dataclass(frozen=True)
class TunedRow:
    """One way to take a sign."""

    judging: Judging
    row: Row

    def json_data(self) -> Json:
        return asdict(self)


def tune(cell: Cell, generations: Sequence[TimedRound], replay: Replay) -> list[TunedRow]:
    """The judge with each number of repetitions, statistic and warm-up."""

    def judged(judging: Judging) -> Row:
        found = judge_trials(
            generations, judging, replay.trials, replay.random(), rule=cell.rule,
            in_order=replay.in_order,
        )  # fmt: skip
        return row_of("judge", found, cell, len(generations))

    return [TunedRow(judging, judged(judging)) for judging in tuned(replay, cell.repetitions)]


def tuning_lines(rows: Sequence[TunedRow]) -> list[str]:
    """A table of 58 columns."""
    lines = [
        f"{'warm-up':>7}{'repetitions':>13}  {'statistic':7}"
        f"{'wrong':>9}{'undecided':>11}{'median s':>9}"
    ]
    for tuned_row in rows:
        how, row = tuned_row.judging, tuned_row.row
        lines.append(
            f"{how.warm_up:7}{how.repetitions:13}  {how.statistic:9}"
            f"{row.wrong_share:9.2%}{row.undecided_share:11.2%}{row.median_s:9.2f}"
        )
    return lines


def cell_json(cell: Cell, generations: Sequence[TimedRound]) -> Json:
    """What the tables of a cell are about, for programs."""
    return {
        **asdict(cell),
        "generations": len(generations),
        "measured_ratio": measured_ratio(generations, cell.rule),
    }
