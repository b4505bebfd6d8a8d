"""What the sandbox costs: how many times longer the solutions take in it, and how many milliseconds
more a worker or an MPI job takes to start and end.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import SOLUTION
from numalab.evidence.run_formats import TimingRun
from numalab.explore.intervals import compare, median_interval
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.harness.sandbox import NoSandbox, Sandbox, find_sandbox
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab, choose_labs, load_labs

RANKS = 2  # of a job
REPETITIONS = 5
LIMIT_S = 60.0


@dataclass(frozen=True)
class Taken:
    """Of one process or job: its best repetition; and the monitor's whole run beside what the
    phases took."""

    best_s: float
    other_s: float


def take(
    installation: Installation, lab: Lab, language: str, threads: int, options: Sequence[str]
) -> Taken:
    """A fresh process or job of the solution. Raises NumalabError."""
    program = installation.worker(lab.name, language, "solution")
    command = [
        *options,
        *monitor.worker_option(SOLUTION, program),
        *(["--ranks", f"{SOLUTION}:{RANKS}"] if lab.mpi else []),
        *monitor.common_options(lab.kernel_parts[-1], threads, "quick", LIMIT_S),
        "--least-repetitions", str(REPETITIONS), "--most-repetitions", str(REPETITIONS),
        "--budget-s", "60",
    ]  # fmt: skip
    environment = monitor.worker_environment(lab, threads)
    start = time.monotonic()
    record = monitor.run_monitor(
        installation, lab, monitor.MonitorRun("generation", command, environment)
    )
    spent_s = time.monotonic() - start
    assert isinstance(record, TimingRun)
    (role,) = record.roles
    if role.outcome.status != "ok":
        raise NumalabError(f"{program.name} did not end well: {role.outcome}")
    times = [sample.elapsed_s for sample in record.samples]
    return Taken(min(times), spent_s - sum(times))


def measure_lab(
    installation: Installation, lab: Lab, language: str, sandbox: Sandbox, rounds: int
) -> str:
    """One line of the result. Each round has one of each, in random order."""
    build_targets(
        installation,
        [
            installation.monitor(lab.name).name,
            installation.worker(lab.name, language, "solution").name,
        ],
    )
    cores = int(monitor.describe_node(installation)["cores"])
    threads = max(1, cores // RANKS) if lab.mpi else cores
    ways = {"inside": sandbox.monitor_options(), "outside": []}
    found: dict[str, dict[int, Taken]] = {way: {} for way in ways}
    for number in range(rounds):
        for way in random.sample(list(ways), len(ways)):
            found[way][number] = take(installation, lab, language, threads, ways[way])
    best = {way: {n: one.best_s for n, one in of.items()} for way, of in found.items()}
    comparison = compare(best["inside"], best["outside"])
    assert comparison is not None
    ratio = comparison.ratio
    more = median_interval(
        [1e3 * (found["inside"][n].other_s - found["outside"][n].other_s) for n in range(rounds)]
    )
    return (
        f"{lab.name:<20} {language:<8} {ratio.median:6.3f} ({ratio.low:.3f} to {ratio.high:.3f}) "
        f"{more.median:7.1f} ({more.low:.1f} to {more.high:.1f}) ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="all, if left out")
    parser.add_argument("--lang", choices=["c", "fortran"], default="c")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    try:
        installation = find_installation("gnu")
        sandbox = find_sandbox(installation)
        if isinstance(sandbox, NoSandbox):
            raise NumalabError(f"{sandbox.why}; {sandbox.remedy}")
        with installation.lock():
            build_targets(installation, ["describe_node", sandbox.confine.name])
            print("lab                  language inside / outside         more to start and end")
            for lab in choose_labs(load_labs(installation.root), arguments.labs):
                if any(c.kind == "timing" for c in lab.criteria):
                    line = measure_lab(installation, lab, arguments.lang, sandbox, arguments.rounds)
                    print(line, flush=True)
    except (UserError, NumalabError) as error:
        print(f"sandbox_cost: {error}", file=sys.stderr)
        return 3
    except (KeyboardInterrupt, Interrupted):
        print("sandbox_cost: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
