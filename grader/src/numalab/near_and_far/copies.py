"""memcpy between two arrays, each on a NUMA node of its own, by a thread of the first node with
cores: a matrix of sources and destinations (S. Pachghare's, SVP-BLOG). Physical quantity: bytes
copied per second. What could fake it: arrays that a cache holds (40 MB each, as there; larger than
what one core keeps), and pages elsewhere (each process tells, and is refused then)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from numalab.errors import Interrupted
from numalab.evidence.record import Json
from numalab.explore.explore import run_program
from numalab.harness.monitor import HERE, Place
from numalab.machines.topology import topology_of_node
from numalab.portrait.plan import core_pus, memory_nodes, thread_nodes
from numalab.processes import shell_variables

BYTES, VIRTUAL_BYTES = 40_000_000, 2 << 20  # ten million integers; there each page takes its time
REPETITIONS = 5
LEAST_PLACED = 0.95


@dataclass(frozen=True)
class Copy:
    """source, destination: NUMA nodes; gb_s: bytes copied, of each process that had its pages where
    they were to be; share: of pages that were there, of the worse array, None: nobody tells."""

    source: int
    destination: int
    gb_s: tuple[float, ...]
    share: float | None

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True)
class Copies:
    """thread_on: NUMA node of the thread that copies."""

    thread_on: int
    copies: tuple[Copy, ...]

    def to_json(self) -> Json:
        return {"thread_on": self.thread_on, "copies": [copy.to_json() for copy in self.copies]}


def copy_memory(
    program: Path, node: Json, rounds: int, progress: Callable[[str], None], place: Place = HERE
) -> Copies:
    """On a virtual node no time is kept. Raises KitError, UserError and Interrupted."""
    topology = topology_of_node(node)
    thread_on = thread_nodes(topology)[0]
    pu = core_pus(topology, thread_on)[0]
    nodes = memory_nodes(node)
    is_here = place is HERE
    taken: dict[tuple[int, int], list[Json]] = {(a, b): [] for a in nodes for b in nodes}
    for number in range(rounds):
        progress(f"memcpy, round {number + 1} of {rounds}")
        for source, destination in random.sample(list(taken), len(taken)):
            arguments = [
                f"pu={pu}", f"source={source}", f"destination={destination}",
                f"bytes={BYTES if is_here else VIRTUAL_BYTES}", f"repetitions={REPETITIONS}",
            ]  # fmt: skip
            environment = shell_variables.for_observers()
            try:
                said = run_program(program, arguments, environment, place)
            except KeyboardInterrupt as error:
                raise Interrupted from error
            taken[source, destination].append(json.loads(said))
    copies = [_copy(records, is_here and len(nodes) > 1, is_here) for records in taken.values()]
    return Copies(thread_on, tuple(copies))


def _copy(records: list[Json], asks_place: bool, is_timed: bool) -> Copy:
    shares = [_share(record) for record in records]
    kept = [
        record
        for record, share in zip(records, shares, strict=True)
        if is_timed and (not asks_place or (share is not None and share >= LEAST_PLACED))
    ]
    known = [share for share in shares if share is not None]
    return Copy(
        records[0]["source"], records[0]["destination"],
        tuple(1e-9 * float(one["bytes"]) / median(one["elapsed_s"][1:]) for one in kept),
        min(known) if known else None,
    )  # fmt: skip


def _share(record: Json) -> float | None:
    shares = (record["source_share"], record["destination_share"])
    return None if None in shares else min(shares)
