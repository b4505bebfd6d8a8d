"""The runs of the kit's probe that a student's model is held against: generations of fresh
processes, until the judge has decided or time is up.

Nothing in them is the student's, so those of one call serve all its kernels and files."""

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
from numalab.evidence.kinds import LIGHTSPEED, SATURATION
from numalab.evidence.mixes import read_thread_rates
from numalab.evidence.record import SUBMISSION, Json, Kind
from numalab.evidence.run_formats import (
    Mix,
    OutcomeRecord,
    ProbedProcess,
    ReferenceRatesRun,
    SaturationRound,
    SaturationRun,
)
from numalab.files import MIB
from numalab.grading.session import Session
from numalab.harness.build import build_targets
from numalab.harness.monitor import THIS_MACHINE
from numalab.judging import planner
from numalab.labs import loop_times, saturation
from numalab.processes import shell_variables
from numalab.words import CountedStep

# Of each process, after one that warms up: many short ones, of which the best counts.
REPETITIONS = 20
LEAST_BUDGET_S = 30.0  # for generations, each of two or three seconds; five to eight decide
# The probe goes through a pool of arrays in turns (common/probe/mixes.h). Its bytes: as many times
# the last-level caches, within a share of the memory.
OVER_CACHES = 4
LEAST_POOL_BYTES = 512 * MIB
MEMORY_SHARE = 1 / 8
# Of an array: so small that a repetition takes milliseconds, and so large that starting and
# ending a parallel loop does not count.
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
    """The probe did not come to its end."""


def pool_of(node: Json) -> tuple[int, int]:
    """How many arrays, and bytes of each, whole pages."""
    memory = int(node["memory_bytes"])
    limit = node.get("cgroup_memory_max_bytes")
    most = MEMORY_SHARE * (memory if limit is None else min(memory, int(limit)))
    wanted = max(LEAST_POOL_BYTES, OVER_CACHES * int(node["last_level_cache_bytes"] or 0))
    each = max(LEAST_ARRAY_BYTES, ARRAY_BYTES_PER_CORE * int(node["cores"]))
    each = int(min(each, most / LEAST_ARRAYS)) // _PAGE_BYTES * _PAGE_BYTES
    arrays = math.ceil(min(wanted, most) / each)
    return min(max(arrays, LEAST_ARRAYS), MOST_ARRAYS), each


def measure_rates(session: Session) -> None:
    """All that models of the lab's parts are held against. Raises Interrupted; what was measured
    until then is in the session. Raises NumalabError where the probe can't be built."""
    for part in session.lab.parts:
        for runs in (_UnseenLoops, _ThreadRates):
            if planner.needs_rates(runs.kind, session.lab, session.evidence, part):
                session.waits_its_turn()
                with session.spending("timing"):
                    _measure(session, part, runs(session))


class _Rates(Protocol[Run]):
    """One kind of run. what: it measures, as a step is told."""

    kind: ClassVar[Kind[Any]]
    what: ClassVar[str]

    def __init__(self, session: Session) -> None: ...

    def begin(self, common: Mapping[str, Any]) -> Run:
        """Return the run's record before anything is measured. common: what all have."""

    def prepare(self, run: Run) -> None:
        """Measure what comes before the rounds. Raises Interrupted and _Failed."""

    def add_round(self, run: Run) -> None:
        """Measure a round. Raises as prepare."""


def _measure(session: Session, part: str | None, rates: _Rates[Any]) -> None:
    """Goes on where an earlier kernel or file of the call stopped."""
    session.progress("building what measures rates")
    build_targets(session.installation, [session.installation.probe.name])
    name = f"{session.lab.name} {rates.kind.name} {session.effort.quick}"
    earlier = session.controls.get(name)
    arrays, array_bytes = pool_of(session.node)
    if earlier is None:
        run = rates.begin({
            "lab": session.lab.name, "part": part, "team": session.threads, "role": SUBMISSION,
            "seed": secrets.token_hex(8), "array_bytes": array_bytes, "arrays": arrays,
            "outcome": OutcomeRecord.fine(), "generations": [],
        })  # fmt: skip
    else:
        run = copy.deepcopy(earlier[0])
    session.record.runs.append(run)
    try:
        if earlier is None:
            session.progress(rates.what)
            rates.prepare(run)
        _take_generations(session, part, rates, run)
    except _Failed as error:
        run.outcome = OutcomeRecord(status="kit_error", error=str(error), printed_bytes=0)
        session.read_again(run)
    else:
        session.keep_for_others(name, [copy.deepcopy(run)])


def _take_generations(
    session: Session, part: str | None, rates: _Rates[Any], run: ReferenceRatesRun | SaturationRun
) -> None:
    """Until the judge has decided, or the session's time is over."""
    effort, began = session.effort, time.monotonic()
    while planner.needs_rates(rates.kind, session.lab, session.evidence, part):
        taken, spent_s = len(run.generations), time.monotonic() - began
        budget_s = max(effort.budget_s, LEAST_BUDGET_S)
        if taken >= effort.max_replicates or spent_s > budget_s:
            return
        session.progress(CountedStep(rates.what, f"generation {taken + 1}"))
        rates.add_round(run)
        session.read_again(run)


def _probed(
    session: Session,
    run: ReferenceRatesRun | SaturationRun,
    loops: Sequence[Mix],
    places: str,
    threads: int,
) -> ProbedProcess:
    """One process. places: as OMP_PLACES has them. Raises Interrupted and _Failed."""
    environment = shell_variables.observer_environment() | {
        "OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false",
        "OMP_PLACES": places, "OMP_PROC_BIND": "spread",
    }  # fmt: skip
    command = [
        str(session.installation.probe),
        "mixes",
        f"loops={','.join(mix.as_argument for mix in loops)}",
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
    """Loops that rates are worked out of, and loops that are predicted, in one process."""

    kind = LIGHTSPEED
    what = "timing loops that are to be predicted"

    def __init__(self, session: Session) -> None:
        self.session = session

    def begin(self, common: Mapping[str, Any]) -> ReferenceRatesRun:
        return ReferenceRatesRun(**common, unseen=[])

    def prepare(self, run: ReferenceRatesRun) -> None:
        run.unseen = list(loop_times.draw_unseen(run.seed))

    def add_round(self, run: ReferenceRatesRun) -> None:
        loops = [*loop_times.MEASURED, *run.unseen]
        random.SystemRandom().shuffle(loops)
        threads = self.session.threads
        run.generations.append(_probed(self.session, run, loops, "cores", threads))


class _ThreadRates(_Rates[SaturationRun]):
    """The rate of a triad over threads of one NUMA node."""

    kind = SATURATION
    what = "timing threads of one NUMA node"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.pus = saturation.cores_of_a_numa_node(session.node)
        self.places = ",".join(f"{{{pu}}}" for pu in self.pus)

    def begin(self, common: Mapping[str, Any]) -> SaturationRun:
        return SaturationRun(**common, pus=list(self.pus), curve=[], drawn=[])

    def prepare(self, run: SaturationRun) -> None:
        run.curve = self._rates_of(run, saturation.curve_counts(len(self.pus)))
        run.drawn = list(saturation.draw_counts(read_thread_rates(run).curve, run.seed))

    def add_round(self, run: SaturationRun) -> None:
        counts = sorted({1, *run.drawn, len(self.pus)})
        run.generations.append(SaturationRound(processes=self._rates_of(run, counts)))

    def _rates_of(self, run: SaturationRun, counts: Sequence[int]) -> list[ProbedProcess]:
        """A process for each number of threads, in random order."""
        shuffled = random.SystemRandom().sample(counts, len(counts))
        return [_probed(self.session, run, (TRIAD,), self.places, count) for count in shuffled]
