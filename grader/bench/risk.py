"""How often verdicts on times are wrong, of kernels and nodes whose truth is known since they are
invented: whole gradings, judged by the function that judges them in `numalab grade`.

Prints a line for each cell: the chance that a generation is won, shares of the verdicts, the mean
number of generations, and which of the stated error rates the cell puts to the test. A rate is
broken where the counted share can't be it by chance (Clopper and Pearson, one-sided 99.9 %); the
exit code is then 1. README.md beside it says more.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
from alike import alike
from bounds import lower_bound, upper_bound
from numpy.typing import NDArray
from progress import Progress
from sessions import (
    Grading,
    Judged,
    generation_of_times,
    is_decided,
    judge_course,
    timing_criterion,
)
from worlds import About, Chances, Times, World, chances, draw

from numalab.errors import UserError
from numalab.evidence.record import HANDOUT, SOLUTION, SUBMISSION, Json, TimedRound
from numalab.files import write_json
from numalab.judging.sequential import CAREFUL, QUICK, Thresholds
from numalab.judging.timing_state import cut_s, timing_state
from numalab.labs.declaration import Criterion

EFFICIENCY = timing_criterion("efficiency", 0.8)
SPEEDUP = timing_criterion("speedup")
CRITERIA = {criterion.rule: criterion for criterion in (EFFICIENCY, SPEEDUP)}

NOISES = (0.03, 0.05, 0.1, 0.25)
BATCH = 2000  # trials that are drawn at once, fewer where they are long
TASK = 10  # batches that a process is given at once: what it has judged it needn't judge again
CHECK_EVERY = 200  # of so many trials one is judged on its own, whatever it is alike to
SURE = 0.001  # of a rate that is called broken, the chance that it is not


@dataclass(frozen=True)
class Cell:
    """is_covered: whether the stated rates are meant to hold: not where a state of the node lasts,
    so that a generation's chance depends on those before it."""

    name: str
    rule: str
    world: World
    quick: bool
    sessions: int = 1
    is_covered: bool = True

    @property
    def criterion(self) -> Criterion:
        return CRITERIA[self.rule]

    @property
    def grading(self) -> Grading:
        return Grading.of(self.criterion, self.quick, self.sessions)

    @property
    def thresholds(self) -> Thresholds:
        return QUICK if self.quick else CAREFUL

    @property
    def title(self) -> str:
        return f"{'quick' if self.quick else 'careful'}, {self.rule}: {self.name}"


def _worlds() -> Iterator[tuple[str, str, World, int, bool]]:
    """Name, rule, world, sessions, whether the rates are to hold."""
    for rule in CRITERIA:
        abouts: tuple[About, ...] = ("win", "loss") if rule == "speedup" else ("win",)
        for about in abouts:
            for noise in NOISES:
                name = f"exactly at the limit ({about}), noise {noise:g}"
                yield name, rule, World(noise, about=about), 1, True
        for speed in (0.9, 1.025, 1.1, 1.5):
            for noise in NOISES:
                yield f"speed {speed:g}, noise {noise:g}", rule, World(noise, speed=speed), 1, True
        for noise in (*NOISES, 0.15):
            world = World(noise, twin_of=SOLUTION)
            yield f"twin of the solution, noise {noise:g}", rule, world, 1, True
        for spread in (0.1, 0.3, 1.0):
            world = World(0.03, about="win", shape="two points", spread=spread)
            yield f"at the limit, two points +-{spread:g}", rule, world, 1, True
        for spread in (0.05, 0.3):
            world = World(0.05, about="win", shape="heavy tails", spread=spread)
            yield f"at the limit, heavy tails {spread:g}", rule, world, 1, True
        world = World(0.03, shape="two points", spread=0.5, speed=1.4)
        yield "fast at times, two points +-0.5, 1.4", rule, world, 1, True
        world = World(0.1, about="win")
        yield "at the limit, taken up again 5 times", rule, world, 6, True
        world = World(0.05, about="win", shape="two points", spread=1.0)
        yield "two points +-1, taken up again 5 times", rule, world, 6, True
        world = World(0.1, about="win", shape="two points", spread=3.0, spells=20.0, cuts=True)
        yield "cut off, at the limit, spells of 20 times", rule, world, 1, True
        world = World(0.1, speed=0.1, shape="two points", spread=2.0, spells=20.0, cuts=True)
        yield "cut off, speed 0.1, spells of 20 times", rule, world, 1, True
        for run in (5.0, 10.0, 20.0):
            world = World(0.1, about="win", run=run)
            yield f"at the limit, states of {run:g} generations", rule, world, 1, False
    for noise in (0.03, 0.1, 0.25):
        world = World(noise, handout=1.0, twin_of=HANDOUT)
        yield f"no effect, unchanged, noise {noise:g}", "speedup", world, 1, True
        world = World(noise, handout=0.9, twin_of=HANDOUT)
        yield f"slower solution, unchanged, noise {noise:g}", "speedup", world, 1, True
        for twin in (HANDOUT, SOLUTION):
            world = World(noise, handout=1.15, twin_of=twin, is_effect_exact=True)
            name = f"effect exactly 1.15, the {twin}'s twin, noise {noise:g}"
            yield name, "speedup", world, 1, True


def all_cells() -> list[Cell]:
    return [
        Cell(name, rule, world, quick, sessions, is_covered)
        for quick in (True, False)
        for name, rule, world, sessions, is_covered in _worlds()
    ]


# ---- gradings ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """Many gradings as they would be taken if nothing decided them. cut: which repetitions of the
    submission were ended; gradings x generations."""

    grading: Grading
    times: Times
    cut: NDArray[np.bool_]

    def generations(self, trial: int, count: int) -> list[TimedRound]:
        """The first so many of one grading."""
        of_roles = {role: of_role[trial, :count].tolist() for role, of_role in self.times.items()}
        return [
            generation_of_times(
                {
                    role: (of_role[place],)
                    for role, of_role in of_roles.items()
                    if self.grading.takes(role, place)
                },
                frozenset({SUBMISSION} if self.cut[trial, place] else ()),
            )
            for place in range(count)
        ]

    def until(self, end: int, trials: NDArray[np.int64]) -> tuple[Times, NDArray[np.bool_]]:
        """Of these gradings times and cut of the first so many generations."""
        times = {role: of_role[trials, :end] for role, of_role in self.times.items()}
        return times, self.cut[trials, :end]


def take(cell: Cell, seed: Sequence[int], trials: int) -> Taken:
    """So many gradings, drawn anew."""
    grading = cell.grading
    times = draw(cell.world, cell.criterion, np.random.default_rng(seed), trials, grading.longest)
    cut = np.zeros((trials, grading.longest), dtype=np.bool_)
    taken = Taken(grading, times, cut)
    if cell.world.cuts:
        for trial in range(trials):
            _cut_off(taken, trial)
    return taken


def _cut_off(taken: Taken, trial: int) -> None:
    """Ends repetitions of the submission as a grading does: how long one may take is known from
    those before, if at all. Once one was fast enough nothing is cut off any more, and what comes
    after the decision doesn't matter."""
    criterion, own_s = taken.grading.criterion, taken.times[SUBMISSION][trial]
    for place in range(1, taken.grading.longest):
        evidence = taken.grading.evidence(taken.generations(trial, place))
        most_s = cut_s([criterion], evidence)
        if most_s is None or timing_state(criterion, evidence).decided:
            break
        if own_s[place] > most_s:
            own_s[place] = most_s
            taken.cut[trial, place] = True


class Judge:
    """Of a cell's gradings, judges one of those that are alike to the judge, for all of them."""

    def __init__(self, grading: Grading) -> None:
        self._grading = grading
        self._found: dict[tuple[int, bytes], Judged] = {}

    def judge(self, taken: Taken) -> list[Judged]:
        """Session after session, as long as a grading is open. Raises RuntimeError where gradings
        that should be alike are not."""
        grading = self._grading
        judged: dict[int, Judged] = {}
        going_on = np.arange(len(taken.cut))
        for end in grading.ends:
            numbers = alike(grading, *taken.until(end, going_on))
            for trial, row in zip(going_on.tolist(), numbers, strict=True):
                judged[trial] = self._judged(taken, trial, end, row.tobytes())
            is_open = [not is_decided(judged[trial]) for trial in going_on.tolist()]
            going_on = going_on[is_open]
        self._check(taken, judged)
        return [judged[trial] for trial in range(len(judged))]

    def _judged(self, taken: Taken, trial: int, end: int, numbers: bytes) -> Judged:
        found = self._found.get((end, numbers))
        if found is None:
            generations = taken.generations(trial, end)
            found = self._found[end, numbers] = judge_course(self._grading, generations, [end])
        return found

    def _check(self, taken: Taken, judged: dict[int, Judged]) -> None:
        """Judges a few on their own."""
        grading = self._grading
        for trial in range(CHECK_EVERY - 1, len(judged), CHECK_EVERY):
            own = judge_course(grading, taken.generations(trial, grading.longest), grading.ends)
            if own != judged[trial]:
                raise RuntimeError(
                    f"grading {trial} is {own}, and taken to be alike to one that is "
                    f"{judged[trial]}: alike.py leaves out something that the judge looks at"
                )


def judge_batches(cell: Cell, seeds: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[Judged]:
    """As many gradings as sizes say, each batch drawn with its own seed."""
    judge = Judge(cell.grading)
    return [
        judged
        for seed, trials in zip(seeds, sizes, strict=True)
        for judged in judge.judge(take(cell, seed, trials))
    ]


# ---- what came out ----------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """A stated error rate, and what was counted. cause: of the verdict that is wrong."""

    cause: str
    stated: float
    wrong: int
    trials: int

    @property
    def share(self) -> float:
        return self.wrong / self.trials

    @property
    def at_most(self) -> float:
        """One-sided, 95 %."""
        return upper_bound(self.wrong, self.trials)

    @property
    def is_broken(self) -> bool:
        return lower_bound(self.wrong, self.trials, SURE) > self.stated


@dataclass(frozen=True)
class Row:
    """shares: of the trials, by cause, for all that came to a decision; rates: those that the
    cell's truth puts to the test."""

    cell: Cell
    chances: Chances
    trials: int
    shares: dict[str, float]
    generations: float
    rates: tuple[Rate, ...]

    @property
    def is_broken(self) -> bool:
        return self.cell.is_covered and any(rate.is_broken for rate in self.rates)

    def json_data(self) -> Json:
        return {
            "cell": self.cell.title,
            "is_covered": self.cell.is_covered,
            "is_broken": self.is_broken,
            "trials": self.trials,
            "chances": asdict(self.chances),
            "shares": self.shares,
            "generations": self.generations,
            "rates": [asdict(rate) | {"at_most": rate.at_most} for rate in self.rates],
        }


DECIDED = ("reached", "too_slow", "unstable", "no_effect_here")


def wrong_causes(rule: str, truth: Chances) -> list[str]:
    """Which decisions a kernel with these chances does not deserve, as the judge states it."""
    found = []
    if truth.win <= 0.5:
        found.append("reached")
    if truth.loss <= 0.5:
        found.append("too_slow")
    if truth.unsteady <= 0.5:
        found.append("unstable")
    if rule == "speedup" and truth.shows >= 0.5:
        found.append("no_effect_here")
    return found


def row_of(cell: Cell, truth: Chances, judged: Sequence[Judged]) -> Row:
    trials = len(judged)
    causes = Counter(one.cause for one in judged)
    levels = cell.thresholds
    rates = tuple(
        Rate(cause, 1 / (levels.e_to_pass if cause == "reached" else levels.e_to_fail),
             causes[cause], trials)
        for cause in wrong_causes(cell.rule, truth)
    )  # fmt: skip
    return Row(
        cell,
        truth,
        trials,
        {cause: causes[cause] / trials for cause in DECIDED},
        sum(one.generations for one in judged) / trials,
        rates,
    )


def heading() -> str:
    names = "".join(f"{name:>10}" for name in ("pass", "too slow", "unstable", "no effect"))
    return f"{'':62}{'P(win)':>7}{names}{'generations':>12}  stated rates"


def line_of(row: Row) -> str:
    shares = "".join(f"{100 * row.shares[cause]:>9.3f}%" for cause in DECIDED)
    rates = ", ".join(
        f"{rate.cause} at most {100 * rate.at_most:.3g} of {100 * rate.stated:g} %"
        f"{' BROKEN' if rate.is_broken and row.cell.is_covered else ''}"
        for rate in row.rates
    )
    about = rates if row.cell.is_covered else f"(not covered) {rates}"
    return (
        f"{row.cell.title:62}{row.chances.win:7.3f}{shares}{row.generations:>12.1f}"
        f"  {about or 'none'}"
    )


# ---- the command line -------------------------------------------------------------------


def _tasks(cell: Cell, trials: int, seed: int) -> Iterator[tuple[list[Sequence[int]], list[int]]]:
    """Seeds and sizes of batches."""
    size = max(1, BATCH // cell.sessions)
    sizes = [min(size, trials - start) for start in range(0, trials, size)]
    title = zlib.crc32(cell.title.encode())
    for first in range(0, len(sizes), TASK):
        own = sizes[first : first + TASK]
        yield [(seed, title, batch) for batch in range(first, first + len(own))], own


def simulate(cells: Sequence[Cell], trials: int, seed: int, jobs: int) -> Iterator[Row]:
    """Cell after cell, each by several processes that let others go first. A cell's draws do not
    depend on which others there are."""
    progress = Progress("trials", 0, trials * len(cells))
    done = 0
    with ProcessPoolExecutor(jobs, initializer=os.nice, initargs=(10,)) as pool:
        for cell in cells:
            seeds, sizes = zip(*_tasks(cell, trials, seed), strict=True)
            judged: list[Judged] = []
            for of_task in pool.map(judge_batches, [cell] * len(seeds), seeds, sizes):
                judged += of_task
                done += len(of_task)
                progress.step(done)
            yield row_of(cell, chances(cell.world, cell.criterion), judged)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="risk.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100_000, help="of a cell (100000)")
    parser.add_argument("--only", default="", metavar="WORDS", help="cells whose title has them")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (cores)")
    parser.add_argument("--list", action="store_true", help="the cells' titles, and no more")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="the table for programs; what it has is not done again",
    )
    return parser


def _earlier(path: Path | None, about: Json) -> list[Json]:
    """The cells that a file has of the same trials and seed. Raises UserError."""
    if path is None or not path.exists():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if {key: data[key] for key in about} == about:
            return list(data["cells"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no table of this benchmark: {error}") from error
    raise UserError(f"{path} is of other trials or another seed; take another file, or remove it")


def _write(path: Path, data: Json) -> None:
    try:
        write_json(path, data)
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where a stated rate is broken, 2 on wrong use."""
    options = _parser().parse_args(arguments)
    cells = [cell for cell in all_cells() if options.only in cell.title]
    if options.list:
        print("\n".join(cell.title for cell in cells))
        return 0
    if not cells:
        raise UserError(f"no cell's title has {options.only!r}; --list shows them")
    if min(options.trials, options.jobs) < 1:
        raise UserError("--trials and --jobs must be 1 or more")
    about = {"schema": 1, "trials": options.trials, "seed": options.seed}
    done = _earlier(options.json, about)
    titles = {entry["cell"] for entry in done}
    missing = [cell for cell in cells if cell.title not in titles]
    start_s = time.monotonic()
    print(heading(), flush=True)
    for row in simulate(missing, options.trials, options.seed, options.jobs):
        print(line_of(row), flush=True)
        done.append(row.json_data())
        if options.json:
            _write(options.json, {**about, "cells": done})
    spent_s = time.monotonic() - start_s
    print(f"{len(missing)} cells of {options.trials} trials in {spent_s:.0f} s; {len(done)} in all")
    broken = [entry["cell"] for entry in done if entry["is_broken"]]
    print(f"broken: {'; '.join(broken)}" if broken else "no stated rate is broken")
    return 1 if broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"risk: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("risk: interrupted; with --json the same command goes on", file=sys.stderr)
        sys.exit(130)
