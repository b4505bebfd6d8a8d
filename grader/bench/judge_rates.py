"""How often the judge's verdicts on speed are wrong, and those of rules in use elsewhere.

A benchmark, run by hand; README.md beside it says what is measured and how to read it.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
from bounds import upper_bound
from load import competing_load
from other_rules import ASKED_RATIO
from progress import Progress
from series import (
    CANDIDATE,
    REFERENCE,
    ROLES_OF_RULE,
    Appender,
    Cell,
    cell_of,
    generation_of,
    lines_of,
    read_cells,
)
from sessions import GoingOn, Judged, generation_of_times
from tables import (
    Replay,
    cell_json,
    compare,
    comparison_lines,
    heading,
    measured_ratio,
    tune,
    tuning_lines,
)
from trials import BUDGET_S, FAIL, PASS, UNDECIDED, Judging, Outcomes, times_of
from workload import Workload, bench_kit, passes_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import HANDOUT, Json
from numalab.files import write_json

# Of which 1.1 is the limit, exactly.
RATIOS = (1.0, 1.08, 1.1, 1.12, 1.2, 1.5)
# How far a quiet record's ratio may be from the true one, as a share of it.
RATIO_TOLERANCE = 0.03


def _earlier(path: Path, cell: Cell) -> list[Json]:
    """What the file has of a cell, where there is a file."""
    if not path.exists():
        return []
    found = []
    for line in lines_of(path):
        try:
            own = (line["cell"], line.get("rule", "efficiency"), line["ratio"])
            is_of_cell = own == (cell.load, cell.rule, cell.ratio)
            if is_of_cell and line["kind"] == "generation" and cell_of(line) != cell:
                raise UserError(
                    f"{path} has generations of {cell.name} with other repetitions (--rep-ms "
                    f"{line['rep_ms']:g} --repetitions {line['repetitions']}); take another file"
                )
        except KeyError as error:
            raise UserError(f"{path} is no file of this benchmark: no {error}") from error
        if is_of_cell:
            found.append(line)
    return found


def _scale(workload: Workload, cell: Cell, earlier: Sequence[Json]) -> int:
    """As in the earlier generations of the cell, or by a measurement."""
    for line in earlier:
        if line["kind"] == "generation":
            return int(line["passes"][CANDIDATE]) // passes_of(cell, 1)[CANDIDATE]
    return workload.scale(cell)


def _cell(options: argparse.Namespace) -> Cell:
    return Cell(options.cell, options.ratio, options.rep_ms, options.repetitions, options.rule)


def record(options: argparse.Namespace) -> None:
    """Appends generations until the file has as many of the cell as asked for."""
    cell = _cell(options)
    earlier = [line for line in _earlier(options.out, cell) if line["kind"] == "generation"]
    installation = bench_kit()
    with installation.lock():
        workload = Workload.built(installation)
        scale = _scale(workload, cell, earlier)
        generations = [generation_of(line) for line in earlier]
        progress = Progress("generations", len(generations), options.generations)
        file = Appender(options.out)
        try:
            with competing_load(cell.load):
                while len(generations) < options.generations:
                    line = workload.generation(cell, scale)
                    file.append(line)
                    generations.append(generation_of(line))
                    progress.step(len(generations))
        finally:
            file.close()
    print("\n".join(heading(cell, generations)))
    found = measured_ratio(generations, cell.rule)
    true = true_ratio(cell, scale)
    if cell.load == "quiet" and cell.rule != "duet" and abs(found / true - 1) > RATIO_TOLERANCE:
        print(f"The measured ratio is more than {RATIO_TOLERANCE:.0%} off: was the node quiet?")


def true_ratio(cell: Cell, scale: int) -> float:
    """By the passes that are made, which are whole numbers."""
    passes = passes_of(cell, scale)
    if cell.rule == "speedup":
        middle = math.sqrt(passes[HANDOUT] * passes[REFERENCE])
        return ASKED_RATIO * middle / passes[CANDIDATE]
    return passes[REFERENCE] / passes[CANDIDATE]


def live(options: argparse.Namespace) -> None:
    """Runs trials until the file has as many of the cell as asked for: generations until the
    judge decides or its time is over."""
    cell = _cell(options)
    if cell.rule == "duet":
        raise UserError("the judge takes no duets; record them, and replay them")
    judging = Judging(repetitions=cell.repetitions, quick=options.quick)
    earlier = _earlier(options.out, cell)
    trials = [
        line for line in earlier if line["kind"] == "trial" and line.get("mode") == judging.mode
    ]
    number = max((line["trial"] for line in earlier if line["trial"] is not None), default=-1) + 1
    installation = bench_kit()
    with installation.lock():
        workload = Workload.built(installation)
        scale = _scale(workload, cell, earlier)
        progress = Progress("trials", len(trials), options.trials)
        file = Appender(options.out)
        try:
            with competing_load(cell.load):
                while len(trials) < options.trials:
                    trial = _live_trial(workload, cell, scale, number, judging, file)
                    file.append(trial)
                    trials.append(trial)
                    number += 1
                    found = outcomes_of(trials)
                    wrong = found.wrong(cell.ratio)
                    progress.step(len(trials), f", {wrong} wrong, {found.undecided} undecided")
        finally:
            file.close()
    found = outcomes_of(trials)
    wrong = found.wrong(cell.ratio)
    print(
        f"{cell.name}, {judging.mode}: {len(trials)} trials, {wrong} wrong (95 %: at most "
        f"{upper_bound(wrong, len(trials)):.2%}), {found.undecided} undecided;\n"
        f"{found.passed} passed, {found.failed} failed, {found.unstable} of them as unstable;\n"
        f"{found.median_s:.2f} s per verdict (median), "
        f"{sorted(found.spent_s)[int(0.95 * (len(trials) - 1))]:.2f} s (95 %)"
    )


def _live_trial(
    workload: Workload, cell: Cell, scale: int, number: int, judging: Judging, file: Appender
) -> Json:
    """One verdict from nothing, as the line that ends a trial."""
    going_on = GoingOn(judging.grading(cell.rule))
    start_s = time.monotonic()
    judged: Judged | None = None
    while judged is None:
        roles = going_on.roles(ROLES_OF_RULE[cell.rule])
        line = workload.generation(cell, scale, number, roles)
        file.append(line)
        times = times_of(generation_of(line), judging)
        taken = generation_of_times({role: (time_s,) for role, time_s in times.items()})
        spent_s = time.monotonic() - start_s
        judged = going_on.take(taken, is_over=spent_s >= judging.budget_s)
    return {
        "kind": "trial",
        "cell": cell.load,
        "rule": cell.rule,
        "ratio": cell.ratio,
        "mode": judging.mode,
        "trial": number,
        "status": judged.status,
        "cause": judged.cause,
        "generations": judged.generations,
        "spent_s": time.monotonic() - start_s,
    }


def outcomes_of(trials: Sequence[Json]) -> Outcomes:
    """Of lines that end a trial; one or more."""
    codes = {"pass": PASS, "fail": FAIL}
    return Outcomes(
        np.array([codes.get(trial["status"], UNDECIDED) for trial in trials], dtype=np.int8),
        np.array([trial["spent_s"] for trial in trials]),
        float(np.median([trial["generations"] for trial in trials])),
        sum(trial.get("cause") == "unstable" for trial in trials),
    )


def replay(options: argparse.Namespace) -> None:
    """Prints the tables of all cells in the files."""
    judging = Judging(
        repetitions=options.repetitions,
        statistic=options.statistic,
        warm_up=options.warm_up,
        quick=options.quick,
        budget_s=options.budget_s,
    )
    asked = Replay(judging, options.trials, options.seed, options.in_order)
    cells: list[Json] = []
    for cell, generations in read_cells(options.files).items():
        about = cell_json(cell, generations)
        if options.tune and cell.rule != "duet":
            tuned = tune(cell, generations, asked)
            lines = tuning_lines(tuned)
            about["tuning"] = [row.json_data() for row in tuned]
        else:
            rows = compare(cell, generations, asked)
            lines = comparison_lines(rows)
            about["rules"] = [row.json_data() for row in rows]
        print("\n".join([*heading(cell, generations), *lines, ""]), flush=True)
        cells.append(about)
    if options.json:
        _write(options.json, {"schema": 1, **asked.json_data(), "cells": cells})


def _write(path: Path, data: Json) -> None:
    try:
        write_json(path, data)
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}") from error


# ---- the command line --------------------------------------------------------------


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("it must be above 0")
    return seconds


def _add_measured(parser: argparse.ArgumentParser, repetitions: int) -> None:
    """What `record` and `live` have in common."""
    parser.add_argument("--cell", choices=("quiet", "loaded"), required=True)
    parser.add_argument("--rule", choices=tuple(ROLES_OF_RULE), default="efficiency",
                        help="how it is judged (efficiency); duet: both sides at once")  # fmt: skip
    parser.add_argument("--ratio", type=float, choices=RATIOS, required=True)
    parser.add_argument("--rep-ms", type=_seconds, default=5.0, help="of a repetition (5)")
    parser.add_argument(
        "--repetitions", type=_at_least_one, default=repetitions,
        help=f"of each process, beside the warm-up ({repetitions})",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, help="file to append to")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="judge_rates.py", description=__doc__.split("\n")[0])
    commands = top.add_subparsers(required=True, metavar="record | live | replay")

    one = commands.add_parser("record", help="record whole generations")
    one.set_defaults(run=record)
    one.add_argument("--generations", type=_at_least_one, default=300, help="in the file (300)")
    _add_measured(one, 10)

    one = commands.add_parser("live", help="fresh trials of the judge")
    one.set_defaults(run=live)
    one.add_argument("--trials", type=_at_least_one, default=300, help="in the file (300)")
    _add_measured(one, 3)
    one.add_argument("--quick", action="store_true", help="as grade --quick decides")

    one = commands.add_parser("replay", help="draw trials from recorded files")
    one.set_defaults(run=replay)
    one.add_argument("files", type=Path, nargs="+", metavar="FILE")
    one.add_argument("--trials", type=_at_least_one, default=10_000, help="of each rule (10000)")
    one.add_argument("--seed", type=int, default=1, help="of the draws (1)")
    one.add_argument(
        "--in-order", action="store_true", help="the judge's generations as recorded, too"
    )
    one.add_argument("--tune", action="store_true", help="the judge's options, one table per cell")
    one.add_argument("--json", type=Path, metavar="FILE", help="the tables for programs")
    one.add_argument("--repetitions", type=_at_least_one, default=3, help="the judge takes (3)")
    one.add_argument("--statistic", choices=("min", "median", "first"), default="min")
    one.add_argument("--warm-up", type=int, choices=(0, 1), default=1)
    one.add_argument("--quick", action="store_true", help="as grade --quick decides")
    one.add_argument("--budget-s", type=_seconds, default=BUDGET_S, help="of a verdict (20)")
    return top


def _complain(message: str) -> None:
    """Lines of 80 columns; those of a tool's own output stay as they are."""
    first, *rest = f"judge_rates: {message}".split("\n")
    print("\n".join([textwrap.fill(first, 80), *rest]), file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes as ./numalab's: 2 on wrong use, 3 where the programs could not be run."""
    options = parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except UserError as error:
        _complain(str(error))
        return 2
    except NumalabError as error:
        _complain(str(error))
        return 3
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Interrupted, KeyboardInterrupt):
        _complain("interrupted; the same command goes on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
