"""How often `balanced` is wrong: looks at kernels of lab 03 whose verdict is known, quiet and under
load, and verdicts drawn from them.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import msgspec
from judge_rates import Progress
from loads import LOADS, other_load
from series import Appender, lines_of
from work_share_kernels import KERNELS, WRONG, BenchKernel, text_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.read_record import run_of
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence, Json, Placement
from numalab.evidence.work import inflation_of, work_share
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.installation import Installation, find_installation
from numalab.judging import planner
from numalab.judging.effort import effort_for
from numalab.judging.judge import judge
from numalab.labs.declaration import KERNEL_FILES, Lab, choose_labs, load_labs

LAB, PART = "03_scheduling", "pair_energy"


def the_lab(installation: Installation) -> Lab:
    """With `balanced` alone."""
    (lab,) = choose_labs(load_labs(installation.root), ["03"])
    return replace(lab, criteria=tuple(c for c in lab.criteria if c.rule == "balanced"))


def build(installation: Installation, node: Json, kernel: BenchKernel, folder: Path) -> Path:
    """The worker of a kernel, in a folder; not again where it is there. Raises NumalabError."""
    worker = folder / f"{kernel.name}-{kernel.language}"
    if worker.exists():
        return worker
    with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
        (Path(scratch) / KERNEL_FILES[kernel.language]).write_text(text_of(kernel, installation))
        session = Grading(
            installation, the_lab(installation), kernel.language, SUBMISSION, Path(scratch),
            effort_for("quick", True), node, lambda step: None,
        )  # fmt: skip
        with installation.lock():
            if not session.build():
                raise NumalabError(f"{worker.name} does not build: {session.record.build.kernel}")
            shutil.copy2(session.program(SUBMISSION), worker)
    return worker


def look(installation: Installation, lab: Lab, worker: Path, threads: int) -> Json:
    """One run of the monitor, as a grading has it. Raises NumalabError."""
    options = [
        *monitor.worker_option(SUBMISSION, worker),
        *monitor.common_options(PART, threads, "default", 30.0),
        "--with-one-thread",
    ]
    environment = monitor.worker_environment(lab, threads)
    run: Json = msgspec.to_builtins(
        monitor.run_monitor(
            installation, lab, monitor.MonitorRun("placement", options, environment)
        )
    )
    return run


def record(installation: Installation, options: argparse.Namespace) -> None:
    """Rounds: a look at each kernel, one after another, beside a load."""
    node = monitor.describe_node(installation)
    lab = the_lab(installation)
    folder = options.out.parent / "work_share"
    folder.mkdir(parents=True, exist_ok=True)
    kernels = [k for k in KERNELS if not options.kernel or k.name in ("solution", *options.kernel)]
    file = Appender(options.out)
    try:
        workers = [build(installation, node, kernel, folder) for kernel in kernels]
        with other_load(options.load):
            progress = Progress("rounds", 0, options.rounds)
            for number in range(options.rounds):
                for kernel, worker in zip(kernels, workers, strict=True):
                    found = look(installation, lab, worker, int(node["cores"]))
                    file.append({
                        "load": options.load, "round": number, "kernel": kernel.name,
                        "language": kernel.language, "node": node, "record": found,
                        "at_s": time.time(),
                    })  # fmt: skip
                progress.step(number + 1)
    finally:
        file.close()


# ---- verdicts drawn from looks ---------------------------------------------------------


Looked = dict[tuple[str, str, str], list[Placement]]  # by load, kernel and language, in order


def read_looks(path: Path) -> tuple[Looked, Json]:
    """And the node."""
    looked: Looked = defaultdict(list)
    node: Json = {}
    for line in lines_of(path):
        node = line["node"]
        if line["record"]["outcome"]["status"] != "ok":
            raise NumalabError(f"{line['kernel']} ended badly: {line['record']['outcome']}")
        run = PLACEMENT.parse(run_of(line["record"]))
        looked[line["load"], line["kernel"], line["language"]].append(run)
    return looked, node


def grade(
    lab: Lab, empty: Evidence, looks: Sequence[Placement], controls: Sequence[Placement], start: int
) -> tuple[str, int]:
    """The status that a grading ends with which begins at a look, and how many it takes; the
    solution's look of the round after comes after each that speaks against the kernel."""
    own: list[Placement] = []
    of_solution: list[Placement] = []
    evidence = empty
    for step in range(PLACEMENT.max_runs):
        own.append(looks[(start + step) % len(looks)])
        evidence = empty.having(PLACEMENT, own).having(PLACEMENT, of_solution, SOLUTION)
        if planner.last_objection(lab, evidence, PART):
            of_solution.append(controls[(start + step + 1) % len(controls)])
            evidence = evidence.having(PLACEMENT, of_solution, SOLUTION)
        if not planner.needs_another_run(PLACEMENT, lab, evidence, PART):
            break
    (verdict,) = judge(lab, evidence).criteria
    return verdict.status, len(own) + len(of_solution)


def replay(installation: Installation, options: argparse.Namespace) -> None:
    """Prints a row for each load and kernel."""
    lab = the_lab(installation)
    looked, node = read_looks(options.out)
    empty = Grading(
        installation,
        lab,
        "c",
        SUBMISSION,
        installation.root,
        effort_for("quick", True),
        node,
        lambda step: None,
    ).evidence
    generator = random.Random(1)
    print(
        f"{'load':<11}{'kernel':<15}{'':<8}{'truth':<8}{'looks':>6}{'even':>6}"
        f"{'CPU time/one':>20}{'pass':>7}{'fail':>6}{'n/a':>6}{'open':>6}{'wrong':>6}{'taken':>6}"
    )
    wrong_in_all = 0
    for load in LOADS:
        for kernel in KERNELS:
            looks = looked.get((load, kernel.name, kernel.language), [])
            if not looks:
                continue
            controls = looked[load, "solution", kernel.language]
            even = sum(work_share(run).share >= 0.9 for run in looks)
            over = sorted(inflation_of(run) or math.nan for run in looks)
            found: Counter[str] = Counter()
            taken = []
            starts = range(len(looks))
            for draw in range(len(looks) + options.draws):
                own, beside = looks, controls
                if draw >= len(looks):  # rounds in random order: more courses of the same looks
                    rounds = generator.choices(starts, k=PLACEMENT.max_runs + 1)
                    own, beside = [looks[r] for r in rounds], [controls[r] for r in rounds]
                status, count = grade(lab, empty, own, beside, draw if draw < len(looks) else 0)
                found[status] += 1
                taken.append(count)
            wrong = found[WRONG[kernel.truth] or ""]
            wrong_in_all += wrong
            print(
                f"{load:<11}{kernel.name:<15}{kernel.language:<8}{kernel.truth:<8}{len(looks):>6}"
                f"{even:>6}{over[0]:>8.3f}{over[len(over) // 2]:>6.2f}{over[-1]:>6.2f}"
                f"{found['pass']:>7}{found['fail']:>6}{found['not_gradable']:>6}"
                f"{found['inconclusive']:>6}{wrong:>6}{sum(taken) / len(taken):>6.1f}"
            )
    print(f"wrong verdicts in all: {wrong_in_all}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("record", "replay"))
    parser.add_argument("--out", type=Path, required=True, help="a line for each look; goes on")
    parser.add_argument("--load", choices=tuple(LOADS), default="quiet", help="record: beside it")
    parser.add_argument("--rounds", type=int, default=10, help="record: looks at each kernel (10)")
    parser.add_argument("--kernel", action="append", help="record: beside the solution (all)")
    parser.add_argument("--draws", type=int, default=200, help="replay: more, by lot (200)")
    options = parser.parse_args(arguments)
    installation = find_installation("gnu")
    try:
        {"record": record, "replay": replay}[options.command](installation, options)
    except (KeyboardInterrupt, Interrupted):
        print("interrupted; what was seen is kept", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NumalabError, UserError) as error:
        sys.exit(f"work_share: {error}")
