"""Pairs of NUMA nodes on a virtual machine: where memory came to be that was asked for, and what
its rate would be, modelled from published ones. No time is taken there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from numalab.errors import KitError
from numalab.evidence.record import Json
from numalab.explore.explore import run_program
from numalab.kit import Kit
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_node
from numalab.modelling.times import modelled, why_not
from numalab.modelling.traffic import summed
from numalab.portrait.plan import core_pus, thread_nodes
from numalab.processes import shell_variables
from numalab.virtual.place import VirtualPlace

ARRAY_BYTES = 2 * 2**20  # on a virtual node, where each page takes its time


@dataclass(frozen=True)
class VirtualPair:
    """Threads of one NUMA node, memory of another or the same. share: of its pages that were there,
    None: the system does not tell; gb_s: modelled, of all cores of the whole machine's node; None:
    a rate is not known; is_at_most: that of a link is not, so that it may be less."""

    threads_on: int
    memory_on: int
    share: float | None
    gb_s: float | None
    is_at_most: bool


@dataclass(frozen=True)
class VirtualPairs:
    machine: Machine
    pairs: tuple[VirtualPair, ...]
    not_modelled: str  # why, as a sentence; empty: it is

    def to_json(self) -> Json:
        return {
            "machine": self.machine.name,
            "pairs": [vars(pair) for pair in self.pairs],
            "not_modelled": self.not_modelled,
        }


def modelled_gb_s(machine: Machine, threads_on: int, memory_on: int) -> tuple[float, bool] | None:
    """Of a thread on each core of a NUMA node, with memory of one; and whether the rate of a part
    is missing. None where it can't be modelled."""
    before = sum(len(node.cores) for node in machine.numa_nodes[:threads_on])
    cores = range(before, before + len(machine.numa_nodes[threads_on].cores))
    traffic = summed((((core, memory_on), 1.0) for core in cores), len(cores))
    found = modelled(machine, traffic)
    return None if found is None else (1 / found.s_per_gb, bool(found.without))


def look_at_pairs(
    kit: Kit, machine: Machine, place: VirtualPlace, progress: Callable[[str], None]
) -> VirtualPairs:
    """Raises KitError, UserError and Interrupted."""
    topology = topology_of_node(place.node)
    listed = place.node["numa_node_list"]
    memory = [one["numa_node"] for one in listed if one["memory_bytes"]]
    pairs = []
    for threads_on in thread_nodes(topology):
        pus = ",".join(map(str, core_pus(topology, threads_on)))
        for memory_on in memory:
            progress(f"threads on NUMA node {threads_on}, memory on {memory_on}")
            arguments = (
                "load", "pages=small", f"bytes={ARRAY_BYTES}", "first_touch=all", f"pus={pus}",
                f"memory_node={memory_on}", "repetitions=1",
            )  # fmt: skip
            said = run_program(kit.probe, arguments, shell_variables.for_observers(), place)
            share = _record(said)["memory_node_share"]
            rate = modelled_gb_s(machine, threads_on, memory_on)
            gb_s, is_at_most = rate if rate is not None else (None, False)
            pairs.append(VirtualPair(threads_on, memory_on, share, gb_s, is_at_most))
    told = any(pair.gb_s is not None for pair in pairs)
    return VirtualPairs(machine, tuple(pairs), "" if told else why_not(machine) or "")


def _record(said: str) -> Json:
    """Raises KitError."""
    try:
        record: Json = json.loads(said)
    except json.JSONDecodeError as error:
        raise KitError(f"a program of the kit says nothing readable: {said[:200]!r}") from error
    return record
