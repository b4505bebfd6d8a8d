"""Traffic: which core moves how much to and from the memory of which NUMA node. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalab.machines.machine import Machine

Bytes = Mapping[tuple[int, int], float]  # by core and by the NUMA node that the pages live on


@dataclass(frozen=True)
class Traffic:
    """Of one loop on one machine. bytes: in any unit; cores are counted over the machine
    (PuPlace.core). threads: that move them."""

    bytes: Bytes
    threads: int

    @cached_property
    def total(self) -> float:
        return sum(self.bytes.values())

    @property
    def cores(self) -> frozenset[int]:
        """Those that move anything."""
        return frozenset(core for (core, _), moved in self.bytes.items() if moved > 0)

    def per_gb(self) -> Traffic:
        """The same loop, as far as it moves 1 in all."""
        return Traffic({key: moved / self.total for key, moved in self.bytes.items()}, self.threads)


def summed(parts: Iterable[tuple[tuple[int, int], float]], threads: int) -> Traffic:
    """All parts that have one core and one home together."""
    total: dict[tuple[int, int], float] = {}
    for key, moved in parts:
        if moved > 0:
            total[key] = total.get(key, 0.0) + moved
    return Traffic(total, threads)


def cores_of(machine: Machine, pus: Collection[int]) -> dict[int, float]:
    """The share of its time that a thread spends on each core, which may run on these PUs: equally
    long on each PU. Raises KeyError for one that the machine has not, and for none."""
    table = machine.pu_table
    shares: dict[int, float] = {}
    for pu in pus:
        if not 0 <= pu < len(table):
            raise KeyError(pu)
        core = table[pu].core
        shares[core] = shares.get(core, 0.0) + 1 / len(pus)
    if not shares:
        raise KeyError("no PU")
    return shares


def node_of_core(machine: Machine) -> tuple[int, ...]:
    """The NUMA node of each core."""
    return tuple(node.number for node in machine.numa_nodes for _ in node.cores)


def of_own_pages(machine: Machine, threads: Sequence[Collection[int]]) -> Traffic:
    """Each thread moves as much as the others, to and from pages that it wrote first. threads: the
    PUs on which each may run. One that may run on several NUMA nodes wrote its pages on all of
    them, and uses them from all of them: neither depends on the other."""
    nodes = node_of_core(machine)
    parts = []
    for pus in threads:
        shares = cores_of(machine, pus)
        homes: dict[int, float] = {}
        for core, share in shares.items():
            homes[nodes[core]] = homes.get(nodes[core], 0.0) + share
        parts += [
            ((core, home), share * at_home)
            for core, share in shares.items()
            for home, at_home in homes.items()
        ]
    return summed(parts, len(threads))


def behind_first(machine: Machine, threads: Sequence[Collection[int]]) -> Traffic:
    """Each thread moves as much as the others, and all pages live where the first of them is: as
    where it alone has written them."""
    nodes = node_of_core(machine)
    homes = cores_of(machine, threads[0])
    parts = [
        ((core, nodes[first]), share * at_home)
        for pus in threads
        for core, share in cores_of(machine, pus).items()
        for first, at_home in homes.items()
    ]
    return summed(parts, len(threads))


def on_one_node(machine: Machine, threads: int) -> Traffic:
    """A team on the first NUMA node that has cores, a thread on each core as far as there are
    enough, with its pages there."""
    node = machine.nodes_with_cores[0]
    first = sum(len(before.cores) for before in machine.numa_nodes[: node.number])
    cores = [first + thread % len(node.cores) for thread in range(threads)]
    return summed((((core, node.number), 1.0) for core in cores), threads)
