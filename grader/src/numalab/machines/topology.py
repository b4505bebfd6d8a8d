"""The PUs of a machine and the units that they are part of, and whether threads or ranks can each
have a unit of their own. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from numalab.evidence.record import Json
from numalab.machines.machine import Machine, NumaNode

MIN_MEMORY_BYTES = 1 << 30  # of a NUMA node with room for the arrays of a measurement


class Pu(NamedTuple):
    """A PU by Linux's number, and the numbers of the units that it is part of."""

    number: int
    core: int
    package: int
    numa_node: int


Pus = tuple[int, ...]


@dataclass(frozen=True)
class Topology:
    """The PUs of a machine.

    Attributes:
        pus: in hwloc's order.
        is_even: whether they are known to be all PUs of the machine, and the units of each level
            have the same number of PUs (_is_even).
    """

    pus: tuple[Pu, ...]
    is_even: bool

    @cached_property
    def core(self) -> dict[int, int]:
        """The number of each PU's core, by the PU's number."""
        return {pu.number: pu.core for pu in self.pus}

    @cached_property
    def package(self) -> dict[int, int]:
        return {pu.number: pu.package for pu in self.pus}

    @cached_property
    def numa_node(self) -> dict[int, int]:
        return {pu.number: pu.numa_node for pu in self.pus}

    def cores_in(self, units: Mapping[int, int]) -> dict[int, int]:
        """Return the number of cores of each unit. units: the unit of each PU."""
        return dict(Counter(unit for _, unit in {(self.core[pu], units[pu]) for pu in units}))


def topology_of_node(node: Json) -> Topology:
    """Return the PUs that a process may use, from what describe_node reports. Where a PU has no
    core, as in some virtual machines, each PU counts as one. is_even is False then, and where the
    number of online PUs is not reported."""
    pus = tuple(
        Pu(entry["pu"], entry["core"], entry["package"], entry["numa_node"])
        for entry in node["pu_list"]
    )
    if any(pu.core < 0 for pu in pus):  # some virtual machines hide their cores
        return Topology(tuple(pu._replace(core=pu.number) for pu in pus), False)
    is_whole = len(pus) == node.get("pus_online") and all(pu.package >= 0 for pu in pus)
    return Topology(pus, is_whole and _is_even(pus, node["numa_nodes"]))


def memory_nodes(node: Json) -> list[int]:
    """Return the NUMA nodes with MIN_MEMORY_BYTES or more, also those without PUs; where there are
    none, all."""
    nodes = node["numa_node_list"]
    large = [entry for entry in nodes if entry["memory_bytes"] >= MIN_MEMORY_BYTES]
    return [entry["numa_node"] for entry in large or nodes]


def core_pus(topology: Topology, numa_node: int | None = None) -> list[int]:
    """Return the first PU of each core, in the topology's order. numa_node: None: of all NUMA
    nodes."""
    first: dict[int, int] = {}
    for pu in topology.pus:
        if numa_node in (None, pu.numa_node):
            first.setdefault(pu.core, pu.number)
    return list(first.values())


def thread_nodes(topology: Topology) -> list[int]:
    """Return the NUMA nodes of the PUs, in the topology's order."""
    return list(dict.fromkeys(pu.numa_node for pu in topology.pus))


def topology_of_machine(machine: Machine) -> Topology:
    """Return the PUs of a described machine in hwloc's order: the units of each level by their
    lowest PU."""

    def lowest(part: NumaNode) -> tuple[int, int]:
        package = min(min(other.pus) for other in machine.nodes_of(part.package) if other.pus)
        return package, min(part.pus)

    pus = []
    table = machine.pu_table
    for part in sorted(machine.parts, key=lowest):
        groups = [
            sorted(cores, key=lambda core: min(core.pus))
            for group in part.core_groups
            # Without an L3 each core is sorted by itself.
            for cores in ((group,) if group[0].has_l3 else ((core,) for core in group))
        ]
        for group in sorted(groups, key=lambda group: min(group[0].pus)):
            for core in group:
                for pu in sorted(core.pus):
                    pus.append(Pu(pu, table[pu].core, part.package, part.number))
    with_memory = sum(node.memory_mb != 0 for node in machine.numa_nodes)
    return Topology(tuple(pus), _is_even(pus, with_memory))


def _is_even(pus: Sequence[Pu], numa_nodes: int) -> bool:
    """Tell whether all packages have the same number of PUs, all NUMA nodes and all cores, too, and
    no NUMA node is crossed (_are_crossed). numa_nodes: how many have to have PUs."""
    if any(pu.numa_node < 0 for pu in pus) or _are_crossed(pus):
        return False
    for unit in ("package", "numa_node", "core"):
        sizes = Counter(getattr(pu, unit) for pu in pus)
        if len(set(sizes.values())) != 1 or (unit == "numa_node" and len(sizes) != numa_nodes):
            return False
    return True


def _are_crossed(pus: Sequence[Pu]) -> bool:
    """Tell whether a NUMA node has a part of a package and PUs of another one: it is no unit of
    hwloc's tree then, to which launchers bind."""
    packages: dict[int, set[int]] = {}
    nodes: dict[int, set[int]] = {}
    for pu in pus:
        packages.setdefault(pu.package, set()).add(pu.number)
        nodes.setdefault(pu.numa_node, set()).add(pu.number)
    return any(
        not (packages[package] <= nodes[node] or nodes[node] <= packages[package])
        for package, node in {(pu.package, pu.numa_node) for pu in pus}
    )


def units_of(topology: Topology, unit: str) -> list[Pus]:
    """Return the PUs of each unit of a level, in the topology's order. unit: the level: "machine",
    "package", "numa_node", "core" or "pu"."""
    groups: dict[int, list[int]] = {}
    for pu in topology.pus:
        key = 0 if unit == "machine" else pu.number if unit == "pu" else getattr(pu, unit)
        groups.setdefault(key, []).append(pu.number)
    return [tuple(group) for group in groups.values()]


def count_unmatched(choices: Sequence[Collection[int]]) -> int:
    """Return how many are left over when as many as possible get one of their choices for
    themselves: a maximum bipartite matching (augmenting paths). choices: the units that suit
    each."""
    holder: dict[int, int] = {}

    def settle(number: int, seen: set[int]) -> bool:
        for unit in choices[number]:
            if unit not in seen:
                seen.add(unit)
                if unit not in holder or settle(holder[unit], seen):
                    holder[unit] = number
                    return True
        return False

    return sum(not settle(number, set()) for number in range(len(choices)))
