"""A NUMA machine: its NUMA nodes, cores and PUs, and what was published about it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from numalab.errors import UserError
from numalab.machines.rates import PublishedRate

LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20  # Linux's where the firmware gives none

Matrix = tuple[tuple[int, ...], ...]

# Names of instruction sets by what `uname -m` prints.
ARCHITECTURES = {
    "x86_64": "x86", "aarch64": "Arm", "ppc64le": "POWER", "riscv64": "RISC-V",
}  # fmt: skip
NATIVE = "x86_64"  # that of virtual machines


class Span(NamedTuple):
    """The fewest and the most of something, such as the cores of NUMA nodes."""

    least: int
    most: int

    @classmethod
    def enclose(cls, numbers: Iterable[int]) -> Span:
        """Return the span of numbers, of which there is at least one."""
        values = list(numbers)
        return cls(min(values), max(values))

    @property
    def is_even(self) -> bool:
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.most) if self.is_even else f"{self.least}-{self.most}"


@dataclass(frozen=True)
class Core:
    """A core.

    Attributes:
        pus: Linux's numbers of its hardware threads, first thread first.
        kind: such as "performance"; empty: none is given.
        has_l3: whether it uses an L3.
        package: its package's number; None: that of its NUMA node.
    """

    pus: tuple[int, ...]
    kind: str = ""
    has_l3: bool = True
    package: int | None = field(default=None, repr=False)


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node and its cores; one without cores has memory only.

    Attributes:
        number, package: its number and its package's; where cores name packages of their own, the
            node may be in several.
        memory_mb: its memory in MiB, as `numactl -H` prints it; None: none is given; 0: it has
            none.
        core_groups: the cores by the L3 that they share; cores without an L3 are groups, too.
        memory_kind: such as "DDR5"; empty: none is given.
        memory_side_cache_mb: size of the cache in front of its memory, in MiB; None: none is given.
        peak_gb_s: bandwidth of this memory for the cores of its package, in 10^9 bytes per second,
            as firmware announces it (ACPI's HMAT); None: none is given.
    """

    number: int
    package: int
    memory_mb: int | None
    core_groups: tuple[tuple[Core, ...], ...]
    memory_kind: str = ""
    memory_side_cache_mb: int | None = None
    peak_gb_s: int | None = None

    @property
    def cores(self) -> tuple[Core, ...]:
        return tuple(core for group in self.core_groups for core in group)

    @property
    def packages(self) -> tuple[int, ...]:
        """The packages of its cores, ascending; without cores the one that it is attached to."""
        return tuple(sorted({self.package_of(core) for core in self.cores} or {self.package}))

    def package_of(self, core: Core) -> int:
        return self.package if core.package is None else core.package

    def part_in(self, package: int) -> NumaNode:
        """Return the NUMA node with only its cores in a package, as one of that package; itself
        where that is its one package. Parts in others than its first package lack the memory's
        size, kind and cache."""
        if self.packages == (package,):
            return self
        part = self
        if package != self.packages[0]:
            part = replace(self, memory_mb=None, memory_kind="", memory_side_cache_mb=None)
        kept = (
            tuple(core for core in group if self.package_of(core) == package)
            for group in self.core_groups
        )
        return replace(part, package=package, core_groups=tuple(group for group in kept if group))

    @property
    def pus(self) -> tuple[int, ...]:
        """Its PUs, ascending."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))


@dataclass(frozen=True)
class Figure:
    """A published size, bandwidth or latency.

    Attributes:
        what: what was measured, or several cases in the order of the values.
        values: one, or one for each case.
        topic: the name of a series; empty: it is none.
        sizes_bytes: for each value of a series the size of the messages; empty: it is none.
    """

    what: str
    values: tuple[float, ...]
    unit: str
    source: str
    topic: str = ""
    sizes_bytes: tuple[int, ...] = ()


class PuPlace(NamedTuple):
    """Where a PU is. core: counted over the machine, NUMA node by NUMA node; thread: of the core,
    from 0 on."""

    package: int
    numa_node: int
    core: int
    thread: int


@dataclass(frozen=True)
class Machine:
    """A machine as it is described, or scaled to fewer cores (scaled_from).

    Attributes:
        numa_nodes: each at the index that is its number.
        distances: ACPI's SLIT, row by row, as `numactl -H` prints it; None where the source gives
            none.
        caches, bandwidths, latencies, rates: of the real machine.
        processor: the machine's or one of its kind, whose topology by CPUID is on record
            (announced.py); None: none is.
        text: the content of the machine's file, or the seed.
        scaled_from: the described machine; None: this is it.
        seed: the one that it was made from (seeded.py); None: it was not.
        architecture: a key of ARCHITECTURES.
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
    rates: tuple[PublishedRate, ...] = ()
    scaled_from: Machine | None = field(default=None, repr=False)
    seed: int | None = None
    architecture: str = NATIVE

    @property
    def is_native(self) -> bool:
        """Whether virtual machines have its instruction set."""
        return self.architecture == NATIVE

    @property
    def lacks_distances(self) -> bool:
        """Whether there are several NUMA nodes and the source gives no distances."""
        return self.distances is None and len(self.numa_nodes) > 1

    @property
    def nodes_with_cores(self) -> tuple[NumaNode, ...]:
        return tuple(node for node in self.numa_nodes if node.core_groups)

    @property
    def packages(self) -> int:
        return len({package for node in self.nodes_with_cores for package in node.packages})

    @property
    def nodes_per_package(self) -> Span:
        """NUMA nodes of a package, without those with memory only."""
        return Span.enclose(Counter(part.package for part in self.parts).values())

    @property
    def parts(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes with cores; for one in several packages its part in each."""
        return tuple(node.part_in(p) for node in self.nodes_with_cores for p in node.packages)

    @property
    def groups_per_node(self) -> Span:
        return Span.enclose(len(node.core_groups) for node in self.nodes_with_cores)

    @property
    def cores_per_node(self) -> Span:
        return Span.enclose(len(node.cores) for node in self.nodes_with_cores)

    @property
    def threads_per_core(self) -> Span:
        return Span.enclose(len(core.pus) for node in self.numa_nodes for core in node.cores)

    @property
    def shape(self) -> str:
        """Packages x NUMA nodes x cores x threads: "2 x 4 x 8 x 1" or "1 x 4 x 16-18 x 4"."""
        cores = Span.enclose(len(part.cores) for part in self.parts)
        per = (self.nodes_per_package, cores, self.threads_per_core)
        return " x ".join(map(str, (self.packages, *per)))

    @property
    def core_kinds(self) -> dict[str, int]:
        """Number of cores of each kind, in the order of the NUMA nodes."""
        return dict(Counter(core.kind for node in self.numa_nodes for core in node.cores))

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """The kinds of memory in the order of the NUMA nodes; an empty text where none is given."""
        return tuple(dict.fromkeys(node.memory_kind for node in self.numa_nodes))

    @property
    def cores(self) -> int:
        return sum(len(node.cores) for node in self.numa_nodes)

    @cached_property
    def pus(self) -> int:
        return sum(len(core.pus) for node in self.numa_nodes for core in node.cores)

    @cached_property
    def pu_table(self) -> tuple[PuPlace, ...]:
        """The places of the PUs, in the order of their numbers."""
        places = {}
        core_index = 0
        for node in self.numa_nodes:
            for core in node.cores:
                package = node.package_of(core)
                for thread, pu in enumerate(core.pus):
                    places[pu] = PuPlace(package, node.number, core_index, thread)
                core_index += 1
        return tuple(places[pu] for pu in sorted(places))

    def nodes_of(self, package: int) -> tuple[NumaNode, ...]:
        """Return a package's NUMA nodes, also those with memory only; for one in several packages
        its part in this one."""
        return tuple(node.part_in(package) for node in self.numa_nodes if package in node.packages)

    def guest_distances(self) -> Matrix:
        """Return the distances that a virtual machine has: Linux's defaults where the source gives
        none."""
        if self.distances is not None:
            return self.distances
        numbers = range(len(self.numa_nodes))
        return tuple(
            tuple(LOCAL_DISTANCE if i == j else REMOTE_DISTANCE for j in numbers) for i in numbers
        )

    def guest_memory_mib(self, each_mib: int) -> tuple[int, ...]:
        """Return the memory of each NUMA node of a virtual machine, in MiB: 0 where the machine has
        none, its own size where it was made from a seed, else each_mib."""
        own = [each_mib if node.memory_mb is None else node.memory_mb for node in self.numa_nodes]
        return tuple(own if self.seed is not None else (each_mib if mib else 0 for mib in own))

    @property
    def spanned_distances(self) -> frozenset[int]:
        """The values of guest_distances(), that of a NUMA node to itself among them."""
        return frozenset(distance for row in self.guest_distances() for distance in row)

    def scaled(self, cores_per_node: int) -> Machine:
        """Return the machine with at most so many cores on each NUMA node, or one of each of its
        packages where these are more, and PUs renumbered by rank; itself where no NUMA node has
        more cores.

        The L3 groups that are kept of a package's part of a NUMA node keep the same number of
        cores, or all that they have, so that a NUMA node can keep fewer than cores_per_node. Of a
        group with several kinds of cores about the same share of each is kept. Raises UserError
        where the number is below 1.
        """
        if cores_per_node < 1:
            raise UserError(f"{self.name}: {cores_per_node} cores per NUMA node; ask for 1 or more")
        if cores_per_node >= self.cores_per_node.most:
            return self
        kept = tuple(_kept_of(node, cores_per_node) for node in self.numa_nodes)
        old = sorted(pu for node in kept for group in node for core in group for pu in core.pus)
        rank = {pu: number for number, pu in enumerate(old)}
        nodes = tuple(
            replace(
                node,
                core_groups=tuple(
                    tuple(replace(core, pus=tuple(rank[pu] for pu in core.pus)) for core in group)
                    for group in core_groups
                ),
            )
            for node, core_groups in zip(self.numa_nodes, kept, strict=True)
        )
        return replace(self, numa_nodes=nodes, scaled_from=self.scaled_from or self)

    def scaled_to_cores(self, cores: int) -> Machine:
        """Return the machine with the fewest cores per NUMA node that still has at least so many
        cores in all; the whole machine where it has fewer."""
        sizes = range(1, self.cores_per_node.most)
        too_few = bisect_left(sizes, cores, key=lambda each: self.scaled(each).cores)
        return self.scaled(too_few + 1)


_Groups = tuple[tuple[Core, ...], ...]


def _kept_of(node: NumaNode, cores: int) -> _Groups:
    """Return a NUMA node's groups with at most so many cores together, or one of each package."""
    each = max(1, cores // len(node.packages))
    parts = (node.part_in(package).core_groups for package in node.packages)
    kept = {core for groups in parts for group in _kept_groups(groups, each) for core in group}
    groups = (tuple(core for core in group if core in kept) for group in node.core_groups)
    return tuple(group for group in groups if group)


def _kept_groups(groups: _Groups, cores: int) -> _Groups:
    """Return groups with at most so many cores together."""
    kept = groups[:cores]
    each = next(n for n in range(cores, 0, -1) if sum(min(n, len(g)) for g in kept) <= cores)
    return tuple(_kept_cores(group, each) for group in kept)


def _kept_cores(group: tuple[Core, ...], cores: int) -> tuple[Core, ...]:
    """Return at most so many cores of a group: of each kind the first ones, about the same share of
    each."""
    sizes = Counter(core.kind for core in group)
    kept: Counter[str] = Counter()
    for _ in range(min(cores, len(group))):
        kept[min(sizes, key=lambda kind: kept[kind] / sizes[kind])] += 1
    chosen = []
    for core in group:
        if kept[core.kind]:
            kept[core.kind] -= 1
            chosen.append(core)
    return tuple(chosen)
