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
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
from bounds import lower_bound, upper_bound
from progress import Progress
from sessions import Grading, Judged, generation_of_times, judge_course, timing_criterion
from worlds import About, Chances, Times, World, chances, draw, signs_of

from numalab.errors import UserError
from numalab.evidence.record import HANDOUT, SOLUTION, SUBMISSION, Generation, Json
from numalab.files import write_json
from numalab.judging.sequential import CAREFUL, QUICK, Thresholds
from numalab.judging.timing_state import cut_s, timing_state
from numalab.labs.declaration import Criterion

EFFICIENCY = timing_criterion("efficiency", 0.8)
SPEEDUP = timing_criterion("speedup")
CRITERIA = {criterion.rule: criterion for criterion in (EFFICIENCY, SPEEDUP)}

NOISES = (0.03, 0.05, 0.1, 0.25)
BATCH = 2000  # trials that a process draws at once
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


# ---- a trial --------------------------------------------------------------------------


def columns_of(grading: Grading, times: Times, trial: int, count: int) -> list[dict[str, float]]:
    """Of the first so many generations what each process took."""
    of_roles = {role: of_role[trial, :count].tolist() for role, of_role in times.items()}
    return [
        {role: of_role[place] for role, of_role in of_roles.items() if grading.takes(role, place)}
        for place in range(count)
    ]


def taken(grading: Grading, columns: Iterable[dict[str, float]], cuts: bool) -> list[Generation]:
    """As a grading takes them: how long a repetition of the submission may take is known from those
    before, if at all, and cuts it off. Once one was fast enough nothing is cut off any more. Ends
    early where all were cut off and that has decided."""
    generations: list[Generation] = []
    for column in columns:
        evidence = grading.evidence(generations)
        most_s = cut_s([grading.criterion], evidence) if cuts else None
        if generations and most_s is None:
            cuts = False
        cut: frozenset[str] = frozenset()
        if most_s is not None:
            if timing_state(grading.criterion, evidence).decided:
                break
            if column[SUBMISSION] > most_s:
                column = column | {SUBMISSION: most_s}
                cut = frozenset({SUBMISSION})
        times = {role: (time_s,) for role, time_s in column.items()}
        generations.append(generation_of_times(times, cut))
    return generations


def _judge(cell: Cell, times: Times, trial: int) -> Judged:
    grading = cell.grading
    columns = columns_of(grading, times, trial, grading.longest)
    ends = [grading.most * session for session in range(1, grading.sessions + 1)]
    return judge_course(grading, taken(grading, columns, cell.world.cuts), ends)


def judge_batch(cell: Cell, seed: Sequence[int], trials: int) -> list[Judged]:
    """So many gradings, drawn anew. Those that begin with the same signs, and were decided by them,
    are judged once."""
    grading = cell.grading
    times = draw(cell.world, cell.criterion, np.random.default_rng(seed), trials, grading.longest)
    short = min(2 * grading.least, grading.most)
    codes = signs_of(cell.criterion, times).codes()[:, :short]
    by_signs: dict[bytes, Judged] = {}
    judged = []
    for trial in range(trials):
        signs = codes[trial].tobytes()
        found = by_signs.get(signs) or _judge(cell, times, trial)
        judged.append(found)
        if not cell.world.cuts and found.generations < short:
            by_signs[signs] = found
    return judged


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

    def to_json(self) -> Json:
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
        Rate(cause, 1 / (levels.to_pass if cause == "reached" else levels.to_fail),
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


def trials_of(cell: Cell, trials: int) -> int:
    """Fewer where a trial is several sessions, each of which judges all that there is."""
    return max(1, trials // cell.sessions)


def simulate(cells: Sequence[Cell], trials: int, seed: int, jobs: int) -> Iterator[Row]:
    """Cell after cell, each by several processes that let others go first. A cell's draws do not
    depend on which others there are."""
    progress = Progress("trials", 0, sum(trials_of(cell, trials) for cell in cells))
    done = 0
    with ProcessPoolExecutor(jobs, initializer=os.nice, initargs=(10,)) as pool:
        for cell in cells:
            own, size = trials_of(cell, trials), max(1, BATCH // cell.sessions)
            sizes = [min(size, own - start) for start in range(0, own, size)]
            seeds = [(seed, zlib.crc32(cell.title.encode()), batch) for batch in range(len(sizes))]
            judged: list[Judged] = []
            for batch in pool.map(judge_batch, [cell] * len(sizes), seeds, sizes):
                judged += batch
                done += len(batch)
                progress.step(done)
            yield row_of(cell, chances(cell.world, cell.criterion), judged)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="risk.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--trials",
        type=int,
        default=100_000,
        help="of a cell (100000); a sixth where it is taken up again",
    )
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
        done.append(row.to_json())
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
