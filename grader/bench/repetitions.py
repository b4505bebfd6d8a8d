"""What a generation of each lab's own programs takes, how many repetitions it has, and how far its
margin scatters with the first three of them and with all.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import msgspec
from kits_own import generations_of
from progress import Progress
from series import Appender, lines_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, Evidence, Json
from numalab.evidence.run_formats import TimingRun
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import solution_grading
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging import planner
from numalab.judging.effort import effort_for
from numalab.labs.declaration import Lab, choose_labs, load_labs

FEW = 3  # repetitions, whatever starting takes


@dataclass
class Timed:
    """What a lab times together, and its generations: the control stands for a submission, which
    is the solution, too."""

    name: str
    session: Grading
    generations: Iterator[Evidence]

    def take(self, size: str) -> Json:
        """One more generation, as a line of the file. Raises NumalabError and Interrupted."""
        start_s = time.monotonic()
        if next(self.generations, None) is None:
            raise NumalabError(f"{self.name} has no launch on this node")
        spent_s = time.monotonic() - start_s
        record = self.session.record.runs[-1]
        assert isinstance(record, TimingRun)
        for entry in record.roles:
            if entry.outcome.status != "ok" or entry.results.mismatches:
                raise NumalabError(f"{self.name}: the {entry.role} did not end well: {entry}")
        return {
            "timed": self.name,
            "size": size,
            "spent_s": spent_s,
            "record": msgspec.to_builtins(record),
        }


def timed_of(installation: Installation, lab: Lab, size: str, node: Json) -> Iterator[Timed]:
    """All that can be timed of a lab on this node; its programs are built."""
    effort = effort_for(size, quick=size == "quick")
    for timed in planner.timings(lab):
        session = solution_grading(installation, lab, "c", effort, node, lambda step: None)
        if planner.timing_roles(lab, session.evidence, timed):
            name = " ".join(filter(None, (lab.name[:2], timed.part)))
            yield Timed(name, session, generations_of(session, timed))


@dataclass(frozen=True)
class Course:
    """Of one generation. start_s: until the warm-up; repetition_s: of all roles, with all that is
    done between; outside_s: all but the timed repetitions. The last two: the log of how many times
    as fast as its limit the second process of the solution was, by the first repetitions and by
    all."""

    start_s: float
    warm_up_s: float
    repetition_s: float
    outside_s: float
    repetitions: int
    by_few: float
    by_all: float


def log_margin(times_s: dict[str, list[float]], first: int) -> float:
    """By the best of so many first repetitions."""
    best = {role: math.log(min(times[:first])) for role, times in times_s.items()}
    middle = (best.get(HANDOUT, best[SOLUTION]) + best[SOLUTION]) / 2
    return middle - best[CONTROL]


def course_of(line: Json) -> Course:
    samples = line["record"]["samples"]
    timed = [sample for sample in samples if not sample["warm_up"]]
    warm_up_s = min(sample["started_s"] for sample in samples)
    start_s = min(sample["started_s"] for sample in timed)
    end_s = max(sample["started_s"] + sample["elapsed_s"] for sample in timed)
    times_s: dict[str, list[float]] = {}
    for sample in timed:
        times_s.setdefault(sample["role"], []).append(sample["elapsed_s"])
    repetitions = len(times_s[SOLUTION])
    return Course(
        start_s=warm_up_s,
        warm_up_s=start_s - warm_up_s,
        repetition_s=(end_s - start_s) / repetitions,
        outside_s=line["spent_s"] - sum(sample["elapsed_s"] for sample in timed),
        repetitions=repetitions,
        by_few=log_margin(times_s, FEW),
        by_all=log_margin(times_s, repetitions),
    )


def table(lines: Sequence[Json]) -> list[str]:
    """A row for what is timed together, in each size: medians, and standard deviations."""
    rows = [
        "| timed | size | generations | start, s | warm-up, s | repetition, s | repetitions "
        "| outside, s | sd with 3 | sd with all |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, size in sorted({(line["timed"], line["size"]) for line in lines}):
        mine = [line for line in lines if (line["timed"], line["size"]) == (name, size)]
        courses = [course_of(line) for line in mine]
        if len(courses) < 2:
            continue
        medians = [
            statistics.median(getattr(course, field) for course in courses)
            for field in ("start_s", "warm_up_s", "repetition_s", "repetitions", "outside_s")
        ]
        start_s, warm_up_s, repetition_s, repetitions, outside_s = medians
        few, most = (
            statistics.stdev(getattr(course, field) for course in courses)
            for field in ("by_few", "by_all")
        )
        rows.append(
            f"| {name} | {size} | {len(courses)} | {start_s:.2f} | {warm_up_s:.3f} "
            f"| {repetition_s:.4f} | {repetitions:.0f} | {outside_s:.2f} | {few:.3f} "
            f"| {most:.3f} |"
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="such as 03 (all that are timed)")
    parser.add_argument("--size", choices=("quick", "default", "published"), default="quick")
    parser.add_argument("--generations", type=int, default=30, help="more of each (30)")
    parser.add_argument("--out", type=Path, required=True, help="a line for each; goes on")
    options = parser.parse_args(arguments)
    installation = find_installation("gnu")
    file = Appender(options.out)
    try:
        with installation.lock():
            build_targets(installation, ["describe_node"])
            node = describe_node(installation)
            labs = choose_labs(load_labs(installation.root), options.labs)
            timed = [one for lab in labs for one in timed_of(installation, lab, options.size, node)]
            wanted = options.generations * len(timed)
            progress = Progress("generations", 0, wanted)
            for number in range(wanted):
                file.append(timed[number % len(timed)].take(options.size))
                progress.step(number + 1)
    except (KeyboardInterrupt, Interrupted):
        print("interrupted", file=sys.stderr)
    finally:
        file.close()
    print("\n".join(table(list(lines_of(options.out)))))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NumalabError, UserError) as error:
        sys.exit(f"repetitions: {error}")
