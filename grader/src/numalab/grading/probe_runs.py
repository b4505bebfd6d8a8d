"""Runs of the probe that a student's model is compared with: rounds of fresh processes, until the
judge has decided, or time or rounds are used up.

No code of the student runs in them, so rounds can serve gradings that share `controls`.
"""

from __future__ import annotations

import copy
import json
import math
import random
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from numalab.errors import Interrupted, NumalabError
from numalab.evidence.kinds import REFERENCE_LOOPS, SATURATION
from numalab.evidence.mixes import rates_gb_s
from numalab.evidence.record import SUBMISSION, Json, Kind
from numalab.evidence.run_formats import (
    Mix,
    Outcome,
    ProbedProcess,
    ReferenceRatesRun,
    SaturationRound,
    SaturationRun,
)
from numalab.files import MIB
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import build_targets
from numalab.harness.monitor import THIS_MACHINE
from numalab.judging import planner
from numalab.labs import loop_times, saturation
from numalab.processes import shell_variables
from numalab.words import CountedStep

# Of each process, after one to warm up. They are many and short, and the best one counts.
REPETITIONS = 20
LEAST_BUDGET_S = 30.0  # for rounds of two or three seconds each; five to eight decide
# The probe goes through a pool of arrays in turns (common/probe/mixes.h). The pool is so many times
# as large as the last-level caches, within a share of the memory.
POOL_TO_CACHE_RATIO = 4
LEAST_POOL_BYTES = 512 * MIB
MEMORY_SHARE = 1 / 8
# Arrays are so small that a repetition takes milliseconds, and so large that starting and ending a
# parallel loop does not count.
LEAST_ARRAY_BYTES = 32 * MIB
ARRAY_BYTES_PER_CORE = 2 * MIB
LEAST_ARRAYS, MOST_ARRAYS = 16, 1024
_PAGE_BYTES = 4096
TRIAD = Mix(2, 1, 0)

INTERRUPTED = -2  # as a process ends by SIGINT
_WHY_NOT = {
    3: "there is too little memory for its arrays; end what else takes some",
    -9: "the probe was killed, most likely for lack of memory",
}


Run = TypeVar("Run", ReferenceRatesRun, SaturationRun)


class _Failed(NumalabError):
    """The probe did not come to its end, or gave no usable record."""


def pool_of(node: Json) -> tuple[int, int]:
    """Return the number of arrays of the pool, and the bytes of each, a multiple of _PAGE_BYTES.
    node: the machine's description."""
    memory = int(node["memory_bytes"])
    limit = node.get("cgroup_memory_max_bytes")
    most = MEMORY_SHARE * (memory if limit is None else min(memory, int(limit)))
    pool_bytes = max(
        LEAST_POOL_BYTES, POOL_TO_CACHE_RATIO * int(node["last_level_cache_bytes"] or 0)
    )
    each = max(LEAST_ARRAY_BYTES, ARRAY_BYTES_PER_CORE * int(node["cores"]))
    each = int(min(each, most / LEAST_ARRAYS)) // _PAGE_BYTES * _PAGE_BYTES
    arrays = math.ceil(min(pool_bytes, most) / each)
    return min(max(arrays, LEAST_ARRAYS), MOST_ARRAYS), each


def measure_rates(grading: Grading) -> None:
    """Measure what models of the lab's parts are compared with. Raises Interrupted; what was
    measured until then is on record."""
    for part in grading.lab.parts:
        for runs in (_UnseenLoops, _ThreadRates):
            if planner.needs_rates(runs.kind, grading.lab, grading.evidence, part):
                grading.wait_for_node()
                with grading.spending("timing"):
                    _measure(grading, part, runs(grading))


class _Rates(Protocol[Run]):
    """What a kind of run measures with the probe."""

    kind: ClassVar[Kind[Any]]
    what: ClassVar[str]  # a phrase on it, for the progress

    def __init__(self, grading: Grading) -> None: ...

    def begin(self, common: Mapping[str, Any]) -> Run:
        """Return the run's record before anything is measured. common: fields of all kinds."""

    def prepare(self, run: Run) -> None:
        """Draw or measure what comes before the rounds. A _Failed that it raises goes on record."""

    def add_round(self, run: Run) -> None:
        """Measure a round, and add it to the run. Raises as prepare."""


def _measure(grading: Grading, part: str | None, rates: _Rates[Any]) -> None:
    grading.progress("building what measures rates")
    build_targets(grading.installation, [grading.installation.probe.name])
    name = f"{grading.lab.name} {rates.kind.name} {grading.effort.quick}"
    earlier = grading.controls.get(name)
    arrays, array_bytes = pool_of(grading.node)
    if earlier is None:
        run = rates.begin({
            "lab": grading.lab.name, "part": part, "team": grading.threads, "role": SUBMISSION,
            "seed": secrets.token_hex(8), "array_bytes": array_bytes, "arrays": arrays,
            "outcome": Outcome.fine(), "generations": [],
        })  # fmt: skip
    else:
        run = copy.deepcopy(earlier[0])
    grading.record.runs.append(run)
    try:
        if earlier is None:
            grading.progress(rates.what)
            rates.prepare(run)
        _take_rounds(grading, part, rates, run)
    except _Failed as error:
        run.outcome = Outcome(status="kit_error", error=str(error), printed_bytes=0)
        grading.read_again(run)
    else:
        grading.keep_for_others(name, [copy.deepcopy(run)])


def _take_rounds(
    grading: Grading, part: str | None, rates: _Rates[Any], run: ReferenceRatesRun | SaturationRun
) -> None:
    effort, began = grading.effort, time.monotonic()
    while planner.needs_rates(rates.kind, grading.lab, grading.evidence, part):
        taken, spent_s = len(run.generations), time.monotonic() - began
        budget_s = max(effort.budget_s, LEAST_BUDGET_S)
        if taken >= effort.max_replicates or spent_s > budget_s:
            return
        grading.progress(CountedStep(rates.what, f"generation {taken + 1}"))
        rates.add_round(run)
        grading.read_again(run)


def _probed(
    grading: Grading,
    run: ReferenceRatesRun | SaturationRun,
    loops: Sequence[Mix],
    places: str,
    threads: int,
) -> ProbedProcess:
    """Run one process of the probe. loops: those that it times, in their order; places: value of
    OMP_PLACES."""
    environment = shell_variables.observer_environment() | {
        "OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false",
        "OMP_PLACES": places, "OMP_PROC_BIND": "spread",
    }  # fmt: skip
    command = [
        str(grading.installation.probe),
        "mixes",
        f"loops={','.join(mix.argument for mix in loops)}",
        f"bytes={run.array_bytes}",
        f"arrays={run.arrays}",
        f"repetitions={REPETITIONS}",
    ]
    done = THIS_MACHINE.execute(command, environment)
    said = done.complaint.strip()
    if done.code == INTERRUPTED:
        raise Interrupted
    if done.code != 0:
        raise _Failed(
            _WHY_NOT.get(done.code, f"the probe ended with {done.code}")
            + (f" ({said})" if said else "")
        )
    try:
        record: Json = json.loads(done.output)
        process = msgspec.convert(
            {name: record[name] for name in ProbedProcess.__struct_fields__}, ProbedProcess
        )
    except (json.JSONDecodeError, msgspec.ValidationError) as error:
        raise _Failed(f"the probe gave no record, but {done.output[:200]!r}") from error
    if process.threads != threads:
        raise _Failed(f"the probe ran with {process.threads} threads and not {threads}")
    return process


class _UnseenLoops(_Rates[ReferenceRatesRun]):
    """Times of loops from which rates follow, and of loops that are predicted, in one process."""

    kind = REFERENCE_LOOPS
    what = "timing loops that are to be predicted"

    def __init__(self, grading: Grading) -> None:
        self.grading = grading

    def begin(self, common: Mapping[str, Any]) -> ReferenceRatesRun:
        return ReferenceRatesRun(**common, unseen=[])

    def prepare(self, run: ReferenceRatesRun) -> None:
        run.unseen = list(loop_times.draw_unseen(run.seed))

    def add_round(self, run: ReferenceRatesRun) -> None:
        loops = [*loop_times.MEASURED, *run.unseen]
        random.SystemRandom().shuffle(loops)
        threads = self.grading.threads
        run.generations.append(_probed(self.grading, run, loops, "cores", threads))


class _ThreadRates(_Rates[SaturationRun]):
    kind = SATURATION
    what = "timing threads of one NUMA node"

    def __init__(self, grading: Grading) -> None:
        self.grading = grading
        self.pus = saturation.cores_of_a_numa_node(grading.node)
        self.places = ",".join(f"{{{pu}}}" for pu in self.pus)

    def begin(self, common: Mapping[str, Any]) -> SaturationRun:
        return SaturationRun(**common, pus=list(self.pus), curve=[], drawn=[])

    def prepare(self, run: SaturationRun) -> None:
        run.curve = self._rates_of(run, saturation.curve_counts(len(self.pus)))
        run.drawn = list(saturation.draw_counts(rates_gb_s(run, run.curve), run.seed))

    def add_round(self, run: SaturationRun) -> None:
        counts = sorted({1, *run.drawn, len(self.pus)})
        run.generations.append(SaturationRound(processes=self._rates_of(run, counts)))

    def _rates_of(self, run: SaturationRun, counts: Sequence[int]) -> list[ProbedProcess]:
        shuffled = random.SystemRandom().sample(counts, len(counts))
        return [_probed(self.grading, run, (TRIAD,), self.places, count) for count in shuffled]
