"""Several serial jobs at once, and a team of as many threads: as the kernel and first touch place
them, and with all memory on one NUMA node. Physical quantity: bytes per second that each job moves
while the others run. What could fake it: jobs that drift out of step, so that who is late has the
controller to itself (all start at once, the repetitions at both ends are left out), and memory that
came from elsewhere (each process tells, and a round in which it did is refused)."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from numalab.errors import Interrupted, KitError
from numalab.evidence.record import Json
from numalab.machines.topology import topology_of_node
from numalab.portrait.plan import core_pus, thread_nodes
from numalab.processes import shell_variables, starting

REPETITIONS, LEFT_OUT = 12, 3  # at each end
LEAST_PLACED = 0.95
KERNEL = "triad"


@dataclass(frozen=True)
class Kind:
    """What runs at once. processes, threads: of each; node: NUMA node of all cores and memory, of
    memory alone where is_memory_only; None: nobody says."""

    what: str
    processes: int
    threads: int
    node: int | None = None
    is_memory_only: bool = False


@dataclass(frozen=True)
class Rates:
    """gb_s: of one job or team, median over jobs, in each round; refused: rounds with memory
    elsewhere. Each byte that crosses counts, write-allocate too."""

    kind: Kind
    gb_s: tuple[float, ...]
    refused: int

    def to_json(self) -> Json:
        return asdict(self)


def kinds_of(node: Json) -> list[Kind]:
    """As many jobs, or threads, as the first NUMA node has cores."""
    topology = topology_of_node(node)
    first = thread_nodes(topology)[0]
    cores = len(core_pus(topology, first))
    return [
        Kind("one job alone", 1, 1),
        Kind(f"{cores} jobs, placed by the kernel", cores, 1),
        Kind(f"{cores} jobs, cores and memory of node {first}", cores, 1, first),
        Kind(f"one team of {cores}, by default", 1, cores),
        Kind(f"one team of {cores}, memory of node {first}", 1, cores, first, is_memory_only=True),
    ]


def _arguments(kind: Kind, pus: Sequence[int], number: int, array_bytes: int) -> list[str]:
    words = [
        KERNEL, "pages=small", f"bytes={array_bytes}", "first_touch=all",
        f"repetitions={REPETITIONS}",
    ]  # fmt: skip
    if kind.node is not None:
        words.append(f"memory_node={kind.node}")
        if not kind.is_memory_only:
            words.append(f"pus={pus[number % len(pus)]}")
    return words


def _one_round(probe: Path, kind: Kind, pus: Sequence[int], array_bytes: int) -> tuple[float, bool]:
    """GB/s of a job, and whether memory was where it was to be. Raises KitError."""
    environment = shell_variables.for_observers() | {"OMP_NUM_THREADS": str(kind.threads)}
    running = [
        starting.start_with_text(
            [probe, *_arguments(kind, pus, number, array_bytes)], environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for number in range(kind.processes)
    ]  # fmt: skip
    try:
        ended = [(process.communicate(), process.returncode) for process in running]
    except KeyboardInterrupt as error:
        for process in running:
            process.kill()
        raise Interrupted from error
    if any(code for _, code in ended):
        said = next(complaint.strip() for (_, complaint), code in ended if code)
        raise KitError(f"{kind.what}: the probe failed: {said or 'it said nothing'}")
    records = [json.loads(output) for (output, _), _ in ended]
    shares = [record["memory_node_share"] for record in records]
    is_placed = kind.node is None or all(
        share is not None and share >= LEAST_PLACED for share in shares
    )
    return median(_gb_s(record) for record in records), is_placed


def _gb_s(record: Json) -> float:
    """Of the repetitions in the middle."""
    (times,) = record["times"]
    middle = times["elapsed_s"][LEFT_OUT:-LEFT_OUT]
    return 1e-9 * float(times["bytes_moved"]) / median(map(float, middle))


def run_jobs(
    probe: Path, node: Json, array_bytes: int, rounds: int, progress: Callable[[str], None]
) -> list[Rates]:
    """array_bytes: of each of three, of one job; a team's have as much for each thread. Raises
    KitError and Interrupted."""
    kinds = kinds_of(node)
    topology = topology_of_node(node)
    pus = core_pus(topology, thread_nodes(topology)[0])
    taken: list[list[float]] = [[] for _ in kinds]
    refused = [0 for _ in kinds]
    for number in range(rounds):
        progress(f"jobs at once, round {number + 1} of {rounds}")
        for which in random.sample(range(len(kinds)), len(kinds)):
            kind = kinds[which]
            is_alone = node["numa_nodes"] == 1  # then there is one place
            gb_s, is_placed = _one_round(probe, kind, pus, array_bytes * kind.threads)
            if is_placed or is_alone:
                taken[which].append(gb_s)
            else:
                refused[which] += 1
    return [
        Rates(kind, tuple(rates), out)
        for kind, rates, out in zip(kinds, taken, refused, strict=True)
    ]
