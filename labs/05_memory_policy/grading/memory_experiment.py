"""Experiments on local and remote memory, for ./numalab explore 05.

They measure copies, jobs, teams and matrix products with memory on one NUMA node or another, where
a virtual machine puts memory that was requested, and what automatic NUMA balancing moves.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from numalab.errors import NumalabError, reason_of
from numalab.evidence.record import Json
from numalab.explore.explore import VirtualNode, run_program
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.harness.monitor import THIS_MACHINE, Place
from numalab.machines.machine import Machine
from numalab.machines.topology import core_pus, memory_nodes, thread_nodes, topology_of_node
from numalab.modelling.times import modelled, why_not
from numalab.modelling.traffic import summed
from numalab.processes import shell_variables, starting

T = TypeVar("T")
Progress = Callable[[str], None]
MIN_PLACED = 0.95  # the share of an array's pages on the requested NUMA node, at least
VIRTUAL_BYTES = (
    2 << 20
)  # of an array on a virtual machine, where each page fault takes milliseconds


def _record(program: Path, arguments: Iterable[str], place: Place = THIS_MACHINE) -> Json:
    """Run a program of numalab's and return the record that it writes."""
    output = run_program(program, list(arguments), shell_variables.observer_environment(), place)
    try:
        record: Json = json.loads(output)
    except json.JSONDecodeError as error:
        raise NumalabError(f"{program.name} says nothing readable: {output[:200]!r}") from error
    return record


def _measure_rounds(
    what: str, runs: Sequence[Callable[[], T]], rounds: int, progress: Progress
) -> list[list[T]]:
    """Call each of `runs` once per round, in a new random order. Return for each its results, by
    round.

    what: the experiment's name, for progress.
    """
    taken: list[list[T]] = [[] for _ in runs]
    for number in range(rounds):
        progress(f"{what}, round {number + 1} of {rounds}")
        for which in random.sample(range(len(runs)), len(runs)):
            taken[which].append(runs[which]())
    return taken


# ---- memcpy between NUMA nodes ------------------------------------------------------------


COPY_BYTES = 40_000_000  # ten million integers
COPY_REPETITIONS = 5


@dataclass(frozen=True)
class Copy:
    """The results of memcpy from an array on one NUMA node to one on the same or another.

    Attributes:
        source, destination: the numbers of the NUMA nodes.
        gb_s: 10^9 bytes copied per second, for each process that counts.
        share: the least share (0 to 1) of pages placed as requested, over both arrays and the
            processes; None where the system does not report it.
    """

    source: int
    destination: int
    gb_s: tuple[float, ...]
    share: float | None


@dataclass(frozen=True)
class Copies:
    """Copies between pairs of NUMA nodes. thread_on: the NUMA node of the thread that copies."""

    thread_on: int
    copies: tuple[Copy, ...]


def copy_memory(
    program: Path, node: Json, rounds: int, progress: Progress, place: Place = THIS_MACHINE
) -> Copies:
    """Measure memcpy between two arrays, each on one NUMA node, by a thread of the first NUMA node
    with cores: for all pairs of memory_nodes, as S. Pachghare did (SVP-BLOG).

    The quantity is bytes copied per second, by the median of a process's repetitions but the first.
    What could falsify it: arrays that fit a cache (timed ones have COPY_BYTES each), and pages on
    another NUMA node (with several, a process that does not report MIN_PLACED of its pages as
    requested is left out). Elsewhere than on this machine no time is kept.
    """
    topology = topology_of_node(node)
    thread_on = thread_nodes(topology)[0]
    nodes = memory_nodes(node)
    is_timed = place is THIS_MACHINE
    more = (f"bytes={COPY_BYTES if is_timed else VIRTUAL_BYTES}", f"repetitions={COPY_REPETITIONS}")

    def run(source: int, destination: int) -> Callable[[], Json]:
        pu = core_pus(topology, thread_on)[0]
        words = (f"pu={pu}", f"source={source}", f"destination={destination}", *more)
        return lambda: _record(program, words, place)

    runs = [run(source, destination) for source in nodes for destination in nodes]
    taken = _measure_rounds("memcpy", runs, rounds, progress)
    least = MIN_PLACED if len(nodes) > 1 else None
    return Copies(thread_on, tuple(_copy(records, least, is_timed) for records in taken))


def _copy(records: Sequence[Json], least: float | None, is_timed: bool) -> Copy:
    """Return the results of the processes of one pair. least: the share of pages placed as
    requested from which on a time counts; None: each counts."""
    both = [(record["source_share"], record["destination_share"]) for record in records]
    shares = [None if None in pair else min(pair) for pair in both]
    known = [share for share in shares if share is not None]
    gb_s = tuple(
        1e-9 * float(record["bytes"]) / median(record["elapsed_s"][1:])
        for record, share in zip(records, shares, strict=True)
        if is_timed and (least is None or (share is not None and share >= least))
    )
    return Copy(
        records[0]["source"], records[0]["destination"], gb_s, min(known) if known else None
    )


# ---- several jobs, and a team, at once ---------------------------------------------------


JOB_REPETITIONS, LEFT_OUT = 12, 3  # LEFT_OUT of them at either end
JOB_KERNEL = "triad"


@dataclass(frozen=True)
class Jobs:
    """Processes that run at the same time.

    Attributes:
        what: their description, for reports.
        processes: the number of processes.
        threads: the number of threads of each process.
        node: the NUMA node to which cores and memory are bound, only memory if is_memory_only;
            None: neither is bound.
    """

    what: str
    processes: int
    threads: int
    node: int | None = None
    is_memory_only: bool = False


@dataclass(frozen=True)
class JobRates:
    """Bandwidth of jobs that run at the same time.

    Attributes:
        gb_s: 10^9 bytes per second of one job or team, write-allocate included: the median over
            jobs, for each round that counts.
        refused: the number of rounds left out because memory was not reported to be where it was
            requested.
    """

    kind: Jobs
    gb_s: tuple[float, ...]
    refused: int


def run_jobs(
    probe: Path, node: Json, array_bytes: int, rounds: int, progress: Progress
) -> list[JobRates]:
    """Measure a serial job alone; as many at the same time as the first NUMA node with cores has
    cores, placed by the Linux kernel and first touch, and bound to its cores and its memory; and a
    team of as many threads, placed by default, and with all memory on that NUMA node.

    The quantity is bytes per second that each job moves while the others run. What could falsify
    it: jobs that drift apart, so that a late one has the controller for itself (so they are started
    one right after the other, and repetitions at either end are left out), and memory on another
    NUMA node than was requested (a round of a kind whose processes don't report MIN_PLACED of their
    pages there is left out, unless there is one NUMA node only). Raises NumalabError where a job
    fails or can't be started.

    Args:
        array_bytes: the bytes of each of a job's three arrays; a team has as many per thread.
    """
    topology = topology_of_node(node)
    first = thread_nodes(topology)[0]
    pus = core_pus(topology, first)
    cores = len(pus)
    kinds = [
        Jobs("one job alone", 1, 1),
        Jobs(f"{cores} jobs, placed by the kernel", cores, 1),
        Jobs(f"{cores} jobs, cores and memory of node {first}", cores, 1, first),
        Jobs(f"one team of {cores}, by default", 1, cores),
        Jobs(f"one team of {cores}, memory of node {first}", 1, cores, first, is_memory_only=True),
    ]

    def run(kind: Jobs) -> Callable[[], float | None]:
        return lambda: _run_at_once(probe, kind, pus, array_bytes, node["numa_nodes"] == 1)

    taken = _measure_rounds("jobs at once", [run(kind) for kind in kinds], rounds, progress)
    return [
        JobRates(kind, tuple(gb_s for gb_s in rates if gb_s is not None), rates.count(None))
        for kind, rates in zip(kinds, taken, strict=True)
    ]


def _run_at_once(
    probe: Path, kind: Jobs, pus: Sequence[int], array_bytes: int, has_single_node: bool
) -> float | None:
    """Run jobs at the same time. Return the median of their GB/s; None where memory was not
    reported to be placed as requested, unless has_single_node."""
    environment = shell_variables.observer_environment() | {"OMP_NUM_THREADS": str(kind.threads)}
    words = [
        JOB_KERNEL, "pages=small", f"bytes={array_bytes * kind.threads}", "first_touch=all",
        f"repetitions={JOB_REPETITIONS}",
        *([] if kind.node is None else [f"memory_node={kind.node}"]),
    ]  # fmt: skip
    is_bound = kind.node is not None and not kind.is_memory_only
    running: list[subprocess.Popen[str]] = []
    try:
        for number in range(kind.processes):
            bound = [f"pus={pus[number % len(pus)]}"] if is_bound else []
            running.append(
                starting.start_with_text(
                    [probe, *words, *bound], environment, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )  # fmt: skip
        ended = [(process.communicate(), process.returncode) for process in running]
    except BaseException as error:
        for process in running:
            process.kill()
        if isinstance(error, OSError):
            raise NumalabError(f"can't run {probe}: {reason_of(error)}") from error
        raise
    if any(code for _, code in ended):
        complaint = next(errors.strip() for (_, errors), code in ended if code)
        raise NumalabError(f"{kind.what}: the probe failed: {complaint or 'it said nothing'}")
    try:
        records = [json.loads(output) for (output, _), _ in ended]
    except ValueError as error:
        raise NumalabError(f"{kind.what}: the probe printed no JSON: {error}") from error
    shares = [record["memory_node_share"] for record in records]
    is_placed = kind.node is None or all(s is not None and s >= MIN_PLACED for s in shares)
    return median(map(_gb_s, records)) if is_placed or has_single_node else None


def _gb_s(record: Json) -> float:
    """Return the median GB/s of a job's repetitions, without LEFT_OUT of them at either end."""
    (times,) = record["times"]
    middle = times["elapsed_s"][LEFT_OUT:-LEFT_OUT]
    return 1e-9 * float(times["bytes_moved"]) / median(map(float, middle))


# ---- a matrix product --------------------------------------------------------------------


DEFAULT, INTERLEAVE = "default", "interleave"
POLICIES = (DEFAULT, INTERLEAVE)
# By the program's exit code.
WHY_NO_PRODUCT = {
    4: "The matrix product is left out: this system refuses set_mempolicy, as containers may.",
    5: "The matrix product is left out: OpenBLAS (libopenblas.so.0) is not there. On Debian and "
    "Ubuntu: sudo apt install libopenblas0-pthread",
}


@dataclass(frozen=True)
class Products:
    """The results of matrix products with n rows and columns.

    Attributes:
        gflops: by memory policy, 10^9 floating-point operations per second in the best repetition
            of each process, in the order of the rounds.
    """

    n: int
    threads: int
    gflops: dict[str, tuple[float, ...]]

    @property
    def rounds(self) -> int:
        return min(map(len, self.gflops.values()))

    @property
    def ratio(self) -> MedianInterval:
        """The interleaved product's speed over the default's: its median over rounds, with
        interval."""
        pairs = zip(self.gflops[INTERLEAVE], self.gflops[DEFAULT], strict=False)
        return median_interval([interleaved / default for interleaved, default in pairs])

    def json_data(self) -> Json:
        return {**asdict(self), "ratio": asdict(self.ratio)}


def multiply(program: Path, n: int, rounds: int, progress: Progress) -> Products | str:
    """Measure a matrix product of OpenBLAS under the default memory policy and an interleaved one.
    Return its results, or in sentences why there are none. Raises UserError where memory is short,
    and NumalabError where the program fails."""
    trial = [str(program), f"policy={INTERLEAVE}", "n=1", "repetitions=1"]
    done = THIS_MACHINE.execute(trial, shell_variables.observer_environment())
    if done.code in WHY_NO_PRODUCT:
        return WHY_NO_PRODUCT[done.code]

    def run(policy: str) -> Callable[[], Json]:
        return lambda: _record(program, (f"policy={policy}", f"n={n}", "repetitions=3"))

    taken = _measure_rounds(
        "matrix product", [run(policy) for policy in POLICIES], rounds, progress
    )
    gflops = {
        policy: tuple(2e-9 * n**3 / min(record["elapsed_s"]) for record in records)
        for policy, records in zip(POLICIES, taken, strict=True)
    }
    return Products(n, taken[0][0]["threads"], gflops)


# ---- automatic NUMA balancing ------------------------------------------------------------


BALANCED_BYTES = 48 * 2**20
BALANCED_S = 6.0
# Linux's defaults are 1,000, 60,000 and 1,000 ms; with these it takes seconds.
SCAN_MS = {"scan_min_ms": 100, "scan_max_ms": 200, "scan_delay_ms": 100}
# The share of local pages from which a program is healed, and a growth that is none.
HEALED, FLAT = 0.95, 0.02


@dataclass(frozen=True)
class BalancingRun:
    """Where pages were over time.

    Attributes:
        is_on: whether Linux balanced.
        scan_ms: Linux's scan periods and delay in ms, by name.
        seconds: the times of the observations.
        local: by observation, the share (0 to 1) of pages on the NUMA node of the thread that uses
            them.
    """

    is_on: bool
    scan_ms: dict[str, int]
    seconds: tuple[float, ...]
    local: tuple[float, ...]

    @property
    def is_healed(self) -> bool:
        return self.local[-1] >= HEALED

    @property
    def is_flat(self) -> bool:
        return max(self.local) - self.local[0] <= FLAT

    @property
    def healed_after_s(self) -> float | None:
        """The seconds until the share of local pages first reached HEALED; None: it never did."""
        pairs = zip(self.seconds, self.local, strict=True)
        return next((at for at, share in pairs if share >= HEALED), None)


@dataclass(frozen=True)
class Healing:
    """The runs of a program with and without automatic NUMA balancing."""

    machine: str
    balanced: BalancingRun
    unbalanced: BalancingRun

    @property
    def is_as_expected(self) -> bool:
        return self.balanced.is_healed and self.unbalanced.is_flat

    def json_data(self) -> Json:
        return {
            "machine": self.machine,
            "with_balancing": asdict(self.balanced),
            "without": asdict(self.unbalanced),
        }


def read_run(record: Json) -> BalancingRun:
    """Return the run in a record of the program `balancing`.

    Half of the pages are taken to be used on each of two NUMA nodes. Pages that no sample has on
    either count as remote: numa_maps reports nothing of pages that are just being moved.
    """
    half = record["pages"] / 2
    return BalancingRun(
        is_on=record["is_on"],
        scan_ms={name: record[name] for name in SCAN_MS},
        seconds=tuple(at for at, _, _ in record["samples"]),
        local=tuple(
            (min(first, half) + min(second, half)) / record["pages"]
            for _, first, second in record["samples"]
        ),
    )


def heal(program: Path, place: Place, progress: Progress) -> Healing:
    """Observe automatic NUMA balancing on a virtual machine, on pages that one thread has written,
    and half of which a thread of another NUMA node uses.

    The quantity is the share of pages on the NUMA node of their user, by numa_maps, over seconds.
    What could falsify it: pages that are there anyway (they begin on the writer's NUMA node), other
    causes of moves (the same run without balancing has to stay as it is), and the way of observing
    (so not by move_pages, which does not report pages that balancing has unmapped for a moment).
    """
    periods = [f"{name}={value}" for name, value in SCAN_MS.items()]
    runs = []
    for word in ("on", "off"):
        progress(f"{BALANCED_S:g} s with balancing {word}")
        arguments = [word, f"seconds={BALANCED_S:g}", f"bytes={BALANCED_BYTES}", *periods]
        runs.append(read_run(_record(program, arguments, place)))
    return Healing(place.name, *runs)


# ---- pairs of NUMA nodes of a virtual machine --------------------------------------------


@dataclass(frozen=True)
class VirtualPair:
    """Threads on one NUMA node of a virtual machine, and memory on the same or another one.

    Attributes:
        threads_on, memory_on: the numbers of the NUMA nodes.
        share: the share of the pages on the requested NUMA node (0 to 1); None where the system
            does not report it.
        gb_s: the modelled bandwidth of all cores of the whole machine's NUMA node, in GB/s; None
            where it can't be modelled.
        is_at_most: some part's rate is not known, so that gb_s is an upper bound.
    """

    threads_on: int
    memory_on: int
    share: float | None
    gb_s: float | None
    is_at_most: bool


@dataclass(frozen=True)
class VirtualPairs:
    """Pairs of NUMA nodes of a virtual machine. not_modelled: why no bandwidth is modelled, as a
    sentence; empty where one is, or the reason is not known."""

    machine: str
    pairs: tuple[VirtualPair, ...]
    not_modelled: str


def modelled_gb_s(machine: Machine, threads_on: int, memory_on: int) -> tuple[float, bool] | None:
    """Return the modelled GB/s of threads on all cores of a NUMA node that use the memory of one,
    and whether a part's rate is missing; None where it can't be modelled. machine: the whole one,
    which is not scaled down."""
    before = sum(len(node.cores) for node in machine.numa_nodes[:threads_on])
    cores = range(before, before + len(machine.numa_nodes[threads_on].cores))
    traffic = summed((((core, memory_on), 1.0) for core in cores), len(cores))
    time = modelled(machine, traffic)
    return None if time is None else (1 / time.s_per_gb, bool(time.missing))


def observe_pairs(
    probe: Path, machine: Machine, place: VirtualNode, progress: Progress
) -> VirtualPairs:
    """Observe where a virtual machine puts memory that is requested on each NUMA node, and model
    its bandwidth from published rates. No time is kept. Raises UserError where memory is short, and
    NumalabError where the program fails.

    Args:
        machine: the whole machine, which is not scaled down.
        place: the virtual machine.
    """
    topology = topology_of_node(place.node)
    nodes = place.node["numa_node_list"]
    pairs = []
    for threads_on in thread_nodes(topology):
        pus = ",".join(map(str, core_pus(topology, threads_on)))
        for memory_on in (node["numa_node"] for node in nodes if node["memory_bytes"]):
            progress(f"threads on NUMA node {threads_on}, memory on {memory_on}")
            arguments = (
                "load", "pages=small", f"bytes={VIRTUAL_BYTES}", "first_touch=all", f"pus={pus}",
                f"memory_node={memory_on}", "repetitions=1",
            )  # fmt: skip
            share = _record(probe, arguments, place)["memory_node_share"]
            gb_s, is_at_most = modelled_gb_s(machine, threads_on, memory_on) or (None, False)
            pairs.append(VirtualPair(threads_on, memory_on, share, gb_s, is_at_most))
    is_modelled = any(pair.gb_s is not None for pair in pairs)
    return VirtualPairs(machine.name, tuple(pairs), "" if is_modelled else why_not(machine) or "")
