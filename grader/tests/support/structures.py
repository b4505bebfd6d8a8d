"""Compare a virtual machine with the description that it was booted from."""

from __future__ import annotations

from numalab.evidence.record import Json
from numalab.machines.machine import LOCAL_DISTANCE, Machine
from numalab.machines.structure import structure_of_machine, structure_of_node
from numalab.pu_lists import format_pus


def differences(machine: Machine, node: Json) -> tuple[str, ...]:
    """Return a text for each difference in PUs, units of theirs, NUMA nodes or distances between
    what describe_node reports on a virtual machine and the machine's description; none where they
    agree. L3s that QEMU gives to cores without one are no difference. Raises LookupError with what
    is not reported."""
    if len(machine.numa_nodes) == 1 and not node["distances"]:
        node = {**node, "distances": [[LOCAL_DISTANCE]]}  # Linux reports none for a single one
    described, actual = structure_of_machine(machine), structure_of_node(node)
    l3s = frozenset(
        frozenset(pu for core in group for pu in core.pus)
        for part in machine.parts
        for group in part.core_groups
    )
    compared: tuple[tuple[str, object, object], ...] = (
        ("PUs in hwloc's order", [p.number for p in described.pus], [p.number for p in actual.pus]),
        ("packages", described.packages, actual.packages),
        ("cores", described.cores, actual.cores),
        ("L3s", l3s, actual.l3s),
        (
            "NUMA nodes of PUs",
            {pu.number: pu.numa_node for pu in described.pus},
            {pu.number: pu.numa_node for pu in actual.pus},
        ),
        ("NUMA nodes", [n.number for n in machine.numa_nodes], sorted(actual.numa_nodes)),
        ("distances", dict(described.distances), dict(actual.distances)),
    )
    return tuple(
        f"{what}: {_unit_text(theirs)}, described as {_unit_text(own)}"
        for what, own, theirs in compared
        if own != theirs
    )


def _unit_text(value: object) -> str:
    """Format a set of units as lists of their PUs, in order; other values as str does."""
    if isinstance(value, frozenset):
        return " ".join(f"({format_pus(unit)})" for unit in sorted(map(sorted, value)))
    return str(value)
