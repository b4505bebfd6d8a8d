"""Traffic: how many bytes each core moves to and from the memory of each NUMA node.

Cores are counted over the whole machine. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalab.errors import NumalabError
from numalab.machines.machine import Machine

Bytes = Mapping[tuple[int, int], float]  # by core, and by the NUMA node of the memory


@dataclass(frozen=True)
class MemoryTraffic:
    """The traffic of one loop on one machine.

    Attributes:
        bytes: by core and NUMA node, in any unit.
        threads: the number of threads that move them.
    """

    bytes: Bytes
    threads: int

    @cached_property
    def total(self) -> float:
        return sum(self.bytes.values())

    @property
    def cores(self) -> frozenset[int]:
        """The cores that move anything."""
        return frozenset(core for (core, _), moved in self.bytes.items() if moved > 0)

    def normalized(self) -> MemoryTraffic:
        """Return the same traffic, scaled to a total of 1; the total has to be above 0."""
        shares = {key: moved / self.total for key, moved in self.bytes.items()}
        return MemoryTraffic(shares, self.threads)


def summed(parts: Iterable[tuple[tuple[int, int], float]], threads: int) -> MemoryTraffic:
    """Return the traffic of parts, each of a pair (core, NUMA node) and its bytes. Equal pairs are
    added, parts without bytes left out."""
    total: dict[tuple[int, int], float] = {}
    for key, moved in parts:
        if moved > 0:
            total[key] = total.get(key, 0.0) + moved
    return MemoryTraffic(total, threads)


def seats(machine: Machine, threads: Sequence[Collection[int]]) -> tuple[int, ...]:
    """Return the core on which each thread is taken to run, in the order of the threads.

    Args:
        threads: the PUs on which each thread may run.

    Threads that may run on few cores come first. Each gets the core with the fewest threads so far,
    of those one whose NUMA node has the fewest. Raises NumalabError for a PU that the
    machine does not have, and for a thread without any.
    """
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
    """Return the share (0 to 1) of a thread's own pages on each NUMA node, in proportion to the PUs
    there on which it may run."""
    count: dict[int, float] = {}
    for pu in pus:
        node = machine.pu_table[pu].numa_node
        count[node] = count.get(node, 0.0) + 1 / len(pus)
    return count


def node_of_core(machine: Machine) -> tuple[int, ...]:
    """Return the NUMA node of each core, by the core's number."""
    return tuple(node.number for node in machine.numa_nodes for _ in node.cores)


def own_pages_traffic(machine: Machine, threads: Sequence[Collection[int]]) -> MemoryTraffic:
    """Return the traffic of threads that move equally much, each to and from pages that it wrote
    first.

    Args:
        threads: the PUs on which each may run. The pages of a thread that may run on several NUMA
            nodes are taken to be on all of them, wherever the thread is.

    Raises NumalabError as seats does.
    """
    parts = [
        ((core, home), share)
        for core, pus in zip(seats(machine, threads), threads, strict=True)
        for home, share in homes_of(machine, pus).items()
    ]
    return summed(parts, len(threads))


def serial_touch_traffic(machine: Machine, threads: Sequence[Collection[int]]) -> MemoryTraffic:
    """Return the traffic of threads that move equally much, where the first one wrote all pages.
    Arguments and errors as of seats."""
    seated = seats(machine, threads)
    home = node_of_core(machine)[seated[0]]
    return summed((((core, home), 1.0) for core in seated), len(threads))


def single_node_traffic(machine: Machine, threads: int) -> MemoryTraffic:
    """Return the traffic of a team on the first NUMA node that has cores, with its pages there: a
    thread on each core, then a second one on each, and so on."""
    node = machine.nodes_with_cores[0]
    first = sum(len(before.cores) for before in machine.numa_nodes[: node.number])
    cores = [first + thread % len(node.cores) for thread in range(threads)]
    return summed((((core, node.number), 1.0) for core in cores), threads)
