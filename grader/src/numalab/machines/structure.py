"""The PUs of a machine and the units that they are part of, by Linux's numbers: as describe_node
reports them, and as a machine is described. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.machines.machine import Machine
from numalab.machines.topology import topology_of_machine

Pus = frozenset[int]


@dataclass(frozen=True)
class PuUnits:
    """A PU and its units. core, l3, package: the PUs of the unit that it is in, itself among them;
    empty where it is in none."""

    number: int
    core: Pus
    l3: Pus
    package: Pus
    numa_node: int


@dataclass(frozen=True)
class Structure:
    """The units of a machine.

    Attributes:
        pus, numa_nodes: by Linux's numbers (P#), in the order of hwloc's logical numbers (L#).
        distances: by the numbers of two NUMA nodes.
        largest: the NUMA nodes with the most memory.
    """

    pus: tuple[PuUnits, ...]
    numa_nodes: tuple[int, ...]
    distances: Mapping[tuple[int, int], int]
    largest: frozenset[int]

    @property
    def cores(self) -> frozenset[Pus]:
        return frozenset(pu.core for pu in self.pus)

    @property
    def l3s(self) -> frozenset[Pus]:
        return frozenset(pu.l3 for pu in self.pus) - {frozenset()}

    @property
    def packages(self) -> frozenset[Pus]:
        return frozenset(pu.package for pu in self.pus)

    def pu(self, number: int) -> PuUnits:
        """Return a PU by its number. Raises LookupError where there is none."""
        found = next((pu for pu in self.pus if pu.number == number), None)
        if found is None:
            raise LookupError(f"there is no PU {number}")
        return found

    def pus_of(self, numa_node: int) -> Pus:
        return frozenset(pu.number for pu in self.pus if pu.numa_node == numa_node)

    def logical_pus(self, numbers: Iterable[int]) -> Pus:
        """Return hwloc's logical numbers of these PUs; a PU that is not there has none."""
        chosen = set(numbers)
        return frozenset(index for index, pu in enumerate(self.pus) if pu.number in chosen)

    def logical_nodes(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return hwloc's logical numbers of these NUMA nodes, their positions in numa_nodes. Raises
        ValueError where one is not there."""
        return frozenset(self.numa_nodes.index(number) for number in numbers)


def _together(pus: Iterable[Json], unit: str) -> Callable[[Json], Pus]:
    """Return a function from an entry of pu_list to the PUs of its unit, none where it is in
    none."""
    members: dict[int, set[int]] = {}
    for entry in pus:
        members.setdefault(entry.get(unit, -1), set()).add(entry["pu"])

    def members_of(entry: Json) -> Pus:
        number = entry.get(unit, -1)
        return frozenset() if number < 0 else frozenset(members[number])

    return members_of


def structure_of_node(node: Json) -> Structure:
    """Return the structure that describe_node reports. Raises LookupError where a part is
    missing."""
    core, l3, package = (_together(node["pu_list"], unit) for unit in ("core", "l3", "package"))
    memory = {entry["numa_node"]: entry["memory_bytes"] for entry in node["numa_node_list"]}
    numbers = tuple(memory)
    rows = node["distances"] or ()
    if len(rows) != len(numbers):
        raise LookupError("distances")
    return Structure(
        pus=tuple(
            PuUnits(entry["pu"], core(entry), l3(entry), package(entry), entry["numa_node"])
            for entry in node["pu_list"]
        ),
        numa_nodes=numbers,
        distances={
            (numbers[i], numbers[j]): value
            for i, row in enumerate(rows)
            for j, value in enumerate(row)
        },
        largest=_largest(memory),
    )


def structure_of_machine(machine: Machine) -> Structure:
    """Return the structure of a described machine. Its numa_nodes are those with cores; distances
    and largest are of all."""
    nodes = {pu: node for node in machine.numa_nodes for pu in node.pus}
    core: dict[int, Pus] = {}
    l3: dict[int, Pus] = {}
    for part in machine.parts:
        for group in part.core_groups:
            shared = frozenset(pu for each in group for pu in each.pus)
            l3.update(dict.fromkeys(shared, shared if group[0].has_l3 else frozenset()))
            core.update({pu: frozenset(each.pus) for each in group for pu in each.pus})
    members = {
        package: frozenset(pu for node in machine.nodes_of(package) for pu in node.pus)
        for package in range(machine.packages)
    }
    package = {pu: pus for pus in members.values() for pu in pus}
    in_order = topology_of_machine(machine).pus
    distances = machine.guest_distances()
    return Structure(
        pus=tuple(
            PuUnits(n, core[n], l3[n], package[n], nodes[n].number)
            for n in (pu.number for pu in in_order)
        ),
        numa_nodes=tuple(dict.fromkeys(pu.numa_node for pu in in_order)),
        distances={(i, j): value for i, row in enumerate(distances) for j, value in enumerate(row)},
        largest=_largest({node.number: node.memory_mb or 0 for node in machine.numa_nodes}),
    )


def _largest(sizes: Mapping[int, int]) -> frozenset[int]:
    most = max(sizes.values())
    return frozenset(number for number, size in sizes.items() if size == most)
