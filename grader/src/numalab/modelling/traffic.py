"""Traffic: which core moves how much to and from the memory of which NUMA node. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalab.errors import NumalabError
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

    def normalized(self) -> Traffic:
        """The same loop, as far as it moves 1 in all."""
        return Traffic({key: moved / self.total for key, moved in self.bytes.items()}, self.threads)


def summed(parts: Iterable[tuple[tuple[int, int], float]], threads: int) -> Traffic:
    """All parts that have one core and one home together."""
    total: dict[tuple[int, int], float] = {}
    for key, moved in parts:
        if moved > 0:
            total[key] = total.get(key, 0.0) + moved
    return Traffic(total, threads)


def seats(machine: Machine, threads: Sequence[Collection[int]]) -> tuple[int, ...]:
    """The core of each thread, by the PUs that it may run on. One that may run on several cores is
    on one at a time: it sits where the fewest others do, first on its NUMA nodes and then on their
    cores, as a scheduler balances them. Raises NumalabError for a PU that the machine has not, and
    for a thread without any."""
    table, nodes = machine.pu_table, node_of_core(machine)
    choices = []
    for pus in threads:
        unknown = next((pu for pu in pus if not 0 <= pu < len(table)), None)
        if unknown is not None or not pus:
            what = "a thread without a PU" if unknown is None else f"PU {unknown}"
            raise NumalabError(
                f"the evidence names {what}, and {machine.name} has PUs 0 to {machine.pus - 1}, as "
                "it was booted; grade again"
            )
        choices.append(sorted({table[pu].core for pu in pus}))
    on_core, on_node = [0] * machine.cores, [0] * len(machine.numa_nodes)
    seat = [-1] * len(threads)
    for thread in sorted(range(len(threads)), key=lambda t: len(choices[t])):
        core = min(choices[thread], key=lambda c: (on_core[c], on_node[nodes[c]], c))
        seat[thread] = core
        on_core[core] += 1
        on_node[nodes[core]] += 1
    return tuple(seat)


def homes_of(machine: Machine, pus: Collection[int]) -> dict[int, float]:
    """The shares of a thread's own pages by NUMA node: it was anywhere it may be when it wrote
    them."""
    count: dict[int, float] = {}
    for pu in pus:
        node = machine.pu_table[pu].numa_node
        count[node] = count.get(node, 0.0) + 1 / len(pus)
    return count


def node_of_core(machine: Machine) -> tuple[int, ...]:
    """The NUMA node of each core."""
    return tuple(node.number for node in machine.numa_nodes for _ in node.cores)


def own_pages_traffic(machine: Machine, threads: Sequence[Collection[int]]) -> Traffic:
    """Each thread moves as much as the others, to and from pages that it wrote first. threads: the
    PUs on which each may run. One that may run on several NUMA nodes has its pages on all of
    them, wherever it is now."""
    parts = [
        ((core, home), share)
        for core, pus in zip(seats(machine, threads), threads, strict=True)
        for home, share in homes_of(machine, pus).items()
    ]
    return summed(parts, len(threads))


def serial_touch_traffic(machine: Machine, threads: Sequence[Collection[int]]) -> Traffic:
    """Each thread moves as much as the others, and all pages live where the first of them is: as
    where it alone has written them."""
    seated = seats(machine, threads)
    home = node_of_core(machine)[seated[0]]
    return summed((((core, home), 1.0) for core in seated), len(threads))


def single_node_traffic(machine: Machine, threads: int) -> Traffic:
    """A team on the first NUMA node that has cores, a thread on each core as far as there are
    enough, with its pages there."""
    node = machine.nodes_with_cores[0]
    first = sum(len(before.cores) for before in machine.numa_nodes[: node.number])
    cores = [first + thread % len(node.cores) for thread in range(threads)]
    return summed((((core, node.number), 1.0) for core in cores), threads)
