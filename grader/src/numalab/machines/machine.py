"""A NUMA machine: its nodes, cores and PUs, and what was published about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from numalab.errors import UserError
from numalab.machines.rates import Rate

LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20  # Linux's where the firmware gives none

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Core:
    """pus: Linux's numbers of its hardware threads, first thread first."""

    pus: tuple[int, ...]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node and the cores that are near to it; one without cores is memory only.

    number, package: Linux's numbers. memory_mb: its memory as `numactl -H` prints it,
    which is in units of 2^20 bytes though printed as MB; None where the source gives none.
    core_groups: the cores by the L3 that they share, all groups of a machine equally long.
    """

    number: int
    package: int
    memory_mb: int | None
    core_groups: tuple[tuple[Core, ...], ...]

    @property
    def cores(self) -> tuple[Core, ...]:
        return tuple(core for group in self.core_groups for core in group)

    @property
    def pus(self) -> tuple[int, ...]:
        """In ascending order."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))


@dataclass(frozen=True)
class Figure:
    """A published size, bandwidth or latency. values: one, or one for each of several
    cases that `what` names in the same order. sizes_bytes: of the messages that the values
    belong to, none for other figures; about: what such a series is called beside others."""

    what: str
    values: tuple[float, ...]
    unit: str
    source: str
    about: str = ""
    sizes_bytes: tuple[int, ...] = ()


class PuPlace(NamedTuple):
    """Where a PU is. core: counted over the machine, by NUMA node and then in its order."""

    package: int
    numa_node: int
    core: int
    thread: int


@dataclass(frozen=True)
class Machine:
    """A machine, or with scaled_from one that has fewer cores than the described one.

    numa_nodes: index and number agree. distances: ACPI's SLIT, row by row, as `numactl -H`
    prints it; None where the source gives none. caches, bandwidths, latencies, rates: of the real
    machine, never of a scaled or virtual one. processor: whose topology by CPUID is on record
    (machines/announced.py), the machine's or one of its kind; None: none is. text: the file's.
    seed: what it was made from (machines/seeded.py), else None; virtual nodes show such a machine
    whole, with the memory of each NUMA node.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    numa_nodes: tuple[NumaNode, ...]
    distances: Matrix | None
    caches: tuple[Figure, ...]
    bandwidths: tuple[Figure, ...]
    latencies: tuple[Figure, ...]
    processor: str | None
    text: str = field(repr=False)
    rates: tuple[Rate, ...] = ()
    scaled_from: Machine | None = field(default=None, repr=False)
    seed: int | None = None

    @property
    def nodes_with_cores(self) -> tuple[NumaNode, ...]:
        return tuple(node for node in self.numa_nodes if node.core_groups)

    @property
    def packages(self) -> int:
        return len({node.package for node in self.nodes_with_cores})

    @property
    def nodes_per_package(self) -> int:
        """Without those of memory only."""
        return len(self.nodes_with_cores) // self.packages

    @property
    def groups_per_node(self) -> int:
        return len(self.nodes_with_cores[0].core_groups)

    @property
    def cores_per_node(self) -> int:
        return len(self.nodes_with_cores[0].cores)

    @property
    def threads_per_core(self) -> int:
        return len(self.nodes_with_cores[0].cores[0].pus)

    @property
    def cores(self) -> int:
        return sum(len(node.cores) for node in self.numa_nodes)

    @property
    def pus(self) -> int:
        return self.cores * self.threads_per_core

    @cached_property
    def pu_table(self) -> tuple[PuPlace, ...]:
        """Where each PU is; the index is the PU's number."""
        places = {}
        core_index = 0
        for node in self.numa_nodes:
            for core in node.cores:
                for thread, pu in enumerate(core.pus):
                    places[pu] = PuPlace(node.package, node.number, core_index, thread)
                core_index += 1
        return tuple(places[pu] for pu in sorted(places))

    def nodes_of(self, package: int) -> tuple[NumaNode, ...]:
        """Those of memory only too."""
        return tuple(node for node in self.numa_nodes if node.package == package)

    def guest_distances(self) -> Matrix:
        """The distances, or Linux's defaults where the source gives none."""
        if self.distances is not None:
            return self.distances
        numbers = range(len(self.numa_nodes))
        return tuple(
            tuple(LOCAL_DISTANCE if i == j else REMOTE_DISTANCE for j in numbers) for i in numbers
        )

    def guest_memory_mib(self, each_mib: int) -> tuple[int, ...]:
        """Of each NUMA node of a virtual node. each_mib: where the machine's own does not count."""
        if self.seed is None:
            return (each_mib,) * len(self.numa_nodes)
        return tuple(node.memory_mb or each_mib for node in self.numa_nodes)

    @property
    def spanned_distances(self) -> frozenset[int]:
        """All that there are, a NUMA node's to itself too."""
        return frozenset(distance for row in self.guest_distances() for distance in row)

    def scaled(self, cores_per_node: int) -> Machine:
        """The machine with at most so many cores per NUMA node, its PUs renumbered by rank.

        The kept cores are spread over the node's L3 groups, equally many each: all groups
        stay where there are cores enough, else as many of one core. So the number can be
        smaller than asked for.
        """
        if cores_per_node < 1:
            raise UserError(f"{self.name}: {cores_per_node} cores per NUMA node; ask for 1 or more")
        if cores_per_node >= self.cores_per_node:
            return self
        groups = min(self.groups_per_node, cores_per_node)
        each = cores_per_node // groups
        kept = tuple(
            tuple(group[:each] for group in node.core_groups[:groups]) for node in self.numa_nodes
        )
        old = sorted(pu for node in kept for group in node for core in group for pu in core.pus)
        rank = {pu: number for number, pu in enumerate(old)}
        nodes = tuple(
            replace(
                node,
                core_groups=tuple(
                    tuple(Core(tuple(rank[pu] for pu in core.pus)) for core in group)
                    for group in core_groups
                ),
            )
            for node, core_groups in zip(self.numa_nodes, kept, strict=True)
        )
        return replace(self, numa_nodes=nodes, scaled_from=self.scaled_from or self)
