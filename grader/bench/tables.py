"""Tables of a replay, in at most 100 columns, and the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from bounds import upper_bound
from other_rules import ASKED_RATIO, OTHER_RULES
from series import CANDIDATE, REFERENCE, Cell, Generation
from trials import (
    Judging,
    Outcomes,
    Statistic,
    in_equal_time,
    judge_trials,
    rule_trials,
)

from numalab.evidence.record import Json

TUNED_REPETITIONS = (1, 2, 3, 5, 7, 10)


@dataclass(frozen=True)
class Row:
    """Shares are 0 to 1 of the trials drawn; most_wrong_share: the one-sided 95 % upper
    bound. separate: how many trials that share no generation the record holds."""

    rule: str
    wrong_share: float
    most_wrong_share: float
    undecided_share: float
    median_s: float
    percentile_95_s: float
    separate: int

    def to_json(self) -> Json:
        return asdict(self)


def row_of(name: str, outcomes: Outcomes, cell: Cell, recorded: int) -> Row:
    """recorded: generations of the cell."""
    trials = outcomes.verdicts.size
    wrong = outcomes.wrong(cell.ratio)
    return Row(
        rule=name,
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

    def to_json(self) -> Json:
        return asdict(self)

    def random(self) -> np.random.Generator:
        """The same for every rule, so that a row does not depend on those above it."""
        return np.random.default_rng(self.seed)


def compare(cell: Cell, generations: Sequence[Generation], replay: Replay) -> list[Row]:
    """The judge, then the other rules as they are used elsewhere, then in the judge's time.
    Raises UserError where too few generations were recorded."""
    judged = judge_trials(
        generations, replay.judging, replay.trials, replay.random(), in_order=replay.in_order
    )
    rows = [row_of("judge", judged, cell, len(generations))]
    in_time = [in_equal_time(rule, generations, judged.median_s) for rule in OTHER_RULES]
    for rules, how in ((OTHER_RULES, ""), (in_time, ", equal time")):
        for rule in rules:
            found = rule_trials(rule, generations, replay.trials, replay.random())
            what = "pairs" if rule.is_paired else "each"
            name = f"{rule.name}, {rule.repetitions} {what}{how}"
            rows.append(row_of(name, found, cell, len(generations)))
    return rows


def heading(cell: Cell, generations: Sequence[Generation]) -> list[str]:
    """What a cell's tables are about."""
    took_ms = 1e3 * float(np.median([t for g in generations for t in g.elapsed_s[CANDIDATE][1:]]))
    wrong = "passes" if cell.ratio < ASKED_RATIO else "fails"
    return [
        f"{cell.name}: {len(generations)} generations of {cell.repetitions} repetitions, "
        f"{took_ms:.1f} ms each (median);",
        f"measured ratio {measured_ratio(generations):.3f} (best times, median); "
        f"wrong is what {wrong}",
    ]


def measured_ratio(generations: Sequence[Generation]) -> float:
    """Of the best times of reference and candidate in a generation, the median."""
    return float(
        np.median(
            [min(g.elapsed_s[REFERENCE][1:]) / min(g.elapsed_s[CANDIDATE][1:]) for g in generations]
        )
    )


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
    """One way to take a sign, with the control's process and without."""

    judging: Judging
    with_control: Row
    without_control: Row

    def to_json(self) -> Json:
        """Whether there is a control is in the keys."""
        data = asdict(self)
        del data["judging"]["has_control"]
        return data


def tune(cell: Cell, generations: Sequence[Generation], replay: Replay) -> list[TunedRow]:
    """The judge with each number of repetitions, statistic and warm-up."""

    def judged(judging: Judging) -> Row:
        found = judge_trials(
            generations, judging, replay.trials, replay.random(), in_order=replay.in_order
        )
        return row_of("judge", found, cell, len(generations))

    return [
        TunedRow(
            judging,
            judged(replace(judging, has_control=True)),
            judged(replace(judging, has_control=False)),
        )
        for judging in tuned(replay, cell.repetitions)
    ]


def tuning_lines(rows: Sequence[TunedRow]) -> list[str]:
    """A table of 89 columns."""
    columns = f"{'wrong':>9}{'undecided':>11}{'median s':>10}"
    lines = [
        f"{'':29}{'with control':>30}{'without control':>30}",
        f"{'warm-up':>7}{'repetitions':>13}  {'statistic':7}{columns}{columns}",
    ]
    for row in rows:
        how = row.judging
        lines.append(
            f"{how.warm_up:7}{how.repetitions:13}  {how.statistic:7}"
            + "".join(
                f"{found.wrong_share:11.2%}{found.undecided_share:11.2%}{found.median_s:8.2f}"
                for found in (row.with_control, row.without_control)
            )
        )
    return lines


def cell_json(cell: Cell, generations: Sequence[Generation]) -> Json:
    """What the tables of a cell are about, for programs."""
    return {
        **asdict(cell),
        "generations": len(generations),
        "measured_ratio": measured_ratio(generations),
    }
