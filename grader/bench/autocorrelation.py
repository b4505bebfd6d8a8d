"""Whether generations know of each other: the autocorrelation of margins and of their signs, over
many generations of the kit's own programs in a row, as a grading takes them.

The judge's guarantee asks that a generation's chance to be won does not depend on those before. A
node whose state lasts for generations breaks that; here is how one finds out. The solution's second
process stands for the submission. A sign is that of the margin about the median of all, as it
would be for a kernel exactly at the limit. Independent values have autocorrelations of 0 with the
standard error that is printed; those of more than three times as much are marked *.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from grade_often import How, only_timed
from kits_own import generations_of
from load import competing_load
from progress import Progress
from series import Appender, lines_of
from sessions import generation_of_times, timing_criterion

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import CONTROL, Json
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import solution_grading
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging import planner
from numalab.judging.planner import Timed
from numalab.judging.timing_claims import claim_of
from numalab.labs.declaration import Criterion, Lab, choose_labs, load_labs

LAGS = (1, 2, 3, 4, 5)
MARKED_FROM = 3.0  # standard errors


# ---- pure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Correlation:
    """At one lag; pairs: of values so far apart in the same run."""

    lag: int
    value: float
    pairs: int

    @property
    def standard_error(self) -> float:
        """Of independent values (M. S. Bartlett, J. R. Stat. Soc. Suppl. 8 (1946) 27)."""
        return 1 / math.sqrt(self.pairs)

    def __str__(self) -> str:
        is_marked = abs(self.value) > MARKED_FROM * self.standard_error
        return f"{self.value:+.2f}{'*' if is_marked else ' '}"


def autocorrelations(
    runs: Sequence[Sequence[float]], lags: Sequence[int] = LAGS
) -> list[Correlation]:
    """runs: values in order, without gaps within each. Only lags with pairs; none where all values
    are the same."""
    values = [value for run in runs for value in run]
    if len(values) < 2:
        return []
    mean, variance = statistics.fmean(values), statistics.pvariance(values)
    if variance <= 0:
        return []
    found = []
    for lag in lags:
        products = [
            (first - mean) * (then - mean)
            for run in runs
            for first, then in zip(run, run[lag:], strict=False)
        ]
        if products:
            found.append(Correlation(lag, statistics.fmean(products) / variance, len(products)))
    return found


def signs_about_median(runs: Sequence[Sequence[float]]) -> list[list[float]]:
    """1 above the median of all, else 0."""
    middle = statistics.median(value for run in runs for value in run)
    return [[float(value > middle) for value in run] for run in runs]


def log_margins(lines: Sequence[Json], rule: str, at_least: float | None) -> list[list[float]]:
    """Of the control in the submission's place, by run, in the file's order."""
    criterion = timing_criterion(rule, at_least)
    runs = []
    for _, of_run in itertools.groupby(lines, key=lambda line: line["run"]):
        margins = []
        for line in of_run:
            generation = generation_of_times(line["elapsed_s"])
            own_s = min(generation.elapsed_s[CONTROL])
            margins.append(
                math.log(claim_of(criterion).passes_below_s(criterion, generation) / own_s)
            )
        runs.append(margins)
    return runs


def table(name: str, runs: Sequence[Sequence[float]]) -> list[str]:
    """Two lines, of margins and of signs."""
    count = sum(map(len, runs))
    rows = []
    for what, values in (("margins", runs), ("signs", signs_about_median(runs))):
        found = autocorrelations(values)
        error = f"{found[0].standard_error:6.2f}" if found else f"{'':6}"
        shown = "".join(f"{correlation!s:>8}" for correlation in found) or "  all the same"
        rows.append(f"{name:<42}{count:>6}  {what:<9}{error}{shown}")
        name, count = "", ""  # type: ignore[assignment]
    return rows


def heading() -> str:
    return f"{'':<42}{'n':>6}  {'':<9}{'error':>6}" + "".join(f"{f'lag {lag}':>8}" for lag in LAGS)


# ---- measured --------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """What is timed together, of a lab, and what is known of it in a file."""

    lab: Lab
    timed: Timed
    how: How
    criteria: tuple[Criterion, ...]

    @property
    def key(self) -> Json:
        return {
            "lab": self.lab.name,
            "part": self.timed.part,
            "slow": self.timed.slow,
            "size": self.how.size,
            "language": self.how.language,
            "cell": self.how.cell,
        }

    @property
    def name(self) -> str:
        words = (self.lab.name, self.timed.part, self.timed.slow and Path(self.timed.slow).stem)
        return " ".join(word for word in words if word)

    def lines(self, lines: Sequence[Json]) -> list[Json]:
        return [line for line in lines if all(line[k] == v for k, v in self.key.items())]


def _solution_session(installation: Installation, lab: Lab, how: How, node: Json) -> Grading:
    return solution_grading(installation, lab, how.language, how.effort, node, lambda step: None)


def _generations(session: Grading, timed: Timed) -> Iterator[dict[str, list[float]]]:
    """Times by role, generation after generation. Raises NumalabError."""
    for evidence in generations_of(session, timed):
        generation = evidence.runs_of(TIMED_ROUND)[-1]
        bad = [role for role, part in generation.roles.items() if not part.outcome.ok]
        if bad:
            raise NumalabError(f"{session.lab.name}: the kit's {bad[0]} did not come to its end")
        yield {role: list(times) for role, times in generation.elapsed_s.items()}
    raise NumalabError(f"{session.lab.name}: this node can't time it")


def record(
    installation: Installation, recorded: Sequence[Recorded], count: int, path: Path
) -> list[Json]:
    """All lines of the file, once it has count generations of each. Raises Interrupted."""
    lines = list(lines_of(path)) if path.is_file() else []
    node = describe_node(installation)
    missing = {r.name: max(0, count - len(r.lines(lines))) for r in recorded}
    progress = Progress("generations", 0, sum(missing.values()))
    done, run = 0, time.time()
    file = Appender(path)
    try:
        for each in recorded:
            if not missing[each.name]:
                continue
            session = _solution_session(installation, each.lab, each.how, node)
            taken = _generations(session, each.timed)
            for elapsed_s in itertools.islice(taken, missing[each.name]):
                line = each.key | {"run": run, "at_s": time.time(), "elapsed_s": elapsed_s}
                file.append(line)
                lines.append(line)
                done += 1
                progress.step(done, f", {each.name}")
    except (KeyboardInterrupt, Interrupted):
        print("interrupted; the same command goes on", file=sys.stderr)
    finally:
        file.close()
    return lines


def _chosen(installation: Installation, words: Sequence[str], how: How) -> list[Recorded]:
    node = describe_node(installation)
    found = []
    for lab in map(only_timed, choose_labs(load_labs(installation.root), words)):
        if lab.criteria:
            evidence = _solution_session(installation, lab, how, node).evidence
            found += [
                Recorded(lab, timed, how, tuple(planner.gradable_timing(lab, evidence, timed)))
                for timed in planner.timings(lab)
                if planner.timing_roles(lab, evidence, timed)
            ]
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autocorrelation.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("labs", nargs="*", metavar="LAB", help="such as 03 (all that are timed)")
    parser.add_argument("--generations", type=int, default=300, help="of each (300)")
    parser.add_argument("--size", choices=("quick", "default"), default="default",
                        help="of the arrays")  # fmt: skip
    parser.add_argument("--cell", choices=("quiet", "loaded"), default="quiet",
                        help="loaded: one core is 60 %% busy, in bursts")  # fmt: skip
    parser.add_argument("--lang", choices=("c", "fortran"), default="c")
    parser.add_argument("--out", type=Path, required=True, help="a line each generation; goes on")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.generations < 1:
        raise UserError("--generations must be 1 or more")
    installation = find_installation("gnu")
    how = How(options.size, options.lang, options.cell)
    recorded = _chosen(installation, options.labs, how)
    if not recorded:
        raise UserError("none of these labs is graded by time on this node")
    with installation.lock(), competing_load(options.cell):
        lines = record(installation, recorded, options.generations, options.out)
    print(heading())
    for each in recorded:
        own = each.lines(lines)
        for criterion in each.criteria if own else ():
            runs = log_margins(own, criterion.rule, criterion.at_least)
            print("\n".join(table(f"{each.name} {criterion.name}", runs)))
            middle = statistics.median(value for of_run in runs for value in of_run)
            print(f"{'':<50}margin {math.exp(middle):.2f} (median)")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NumalabError, UserError) as error:
        sys.exit(f"autocorrelation: {error}")
