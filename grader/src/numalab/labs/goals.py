"""Goals of files that are handed in, and of kernels that place memory. Pure functions.

CORE_GOALS are cores of one machine that get a thread each. JOB_NODES are the NUMA nodes that a
job's control group has to have for itself. NODES, OWNERS and POLICY_NODES say where memory has to
be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalab.machines.structure import Pus, Structure
from numalab.machines.topology import Topology


def _cores(structure: Structure, numa_node: int) -> list[Pus]:
    return sorted({pu.core for pu in structure.pus if pu.numa_node == numa_node}, key=min)


def _choose_in_each(part: Callable[[list[Pus]], list[Pus]]) -> Callable[[Structure], list[Pus]]:
    def chosen(structure: Structure) -> list[Pus]:
        return [
            core for node in sorted(structure.numa_nodes) for core in part(_cores(structure, node))
        ]

    return chosen


def _farthest(structure: Structure) -> list[Pus]:
    first = min(structure.numa_nodes)

    def distance(node: int) -> tuple[int, int]:
        return structure.distances[first, node], -node

    return _cores(structure, max(structure.numa_nodes, key=distance))


def _choose_nodes(
    is_chosen: Callable[[int, Structure], bool], part: slice = slice(None)
) -> Callable[[Structure], list[Pus]]:
    def chosen(structure: Structure) -> list[Pus]:
        nodes = [node for node in sorted(structure.numa_nodes) if is_chosen(node, structure)]
        return [core for node in nodes for core in _cores(structure, node)[part]]

    return chosen


def _is_odd(node: int, _: Structure) -> bool:
    return node % 2 == 1


def _is_even(node: int, _: Structure) -> bool:
    return node % 2 == 0


CORE_GOALS: Mapping[str, Callable[[Structure], list[Pus]]] = {
    "but_first_cores": _choose_in_each(lambda cores: cores[1:]),
    "but_second_cores": _choose_in_each(lambda cores: cores[:1] + cores[2:]),
    "but_last_cores": _choose_in_each(lambda cores: cores[:-1]),
    "every_second_core": _choose_in_each(lambda cores: cores[1::2]),
    "first_halves": _choose_in_each(lambda cores: cores[: len(cores) // 2]),
    "second_halves": _choose_in_each(lambda cores: cores[(len(cores) + 1) // 2 :]),
    "first_cores": _choose_in_each(lambda cores: cores[:1]),
    "second_cores": _choose_in_each(lambda cores: cores[1:2]),
    "last_but_one_cores": _choose_in_each(lambda cores: cores[-2:-1]),
    "last_cores": _choose_in_each(lambda cores: cores[-1:]),
    "first_cores_of_odd_nodes": _choose_nodes(_is_odd, slice(1)),
    "last_cores_of_even_nodes": _choose_nodes(_is_even, slice(-1, None)),
    "last_numa_node": lambda structure: _cores(structure, max(structure.numa_nodes)),
    "farthest_numa_node": _farthest,
    "odd_numa_nodes": _choose_nodes(_is_odd),
    "even_numa_nodes": _choose_nodes(_is_even),
    "all_but_first_numa_node": _choose_nodes(lambda node, of: node != min(of.numa_nodes)),
    "all_but_last_numa_node": _choose_nodes(lambda node, of: node != max(of.numa_nodes)),
}


def goal_cores(goal: str, structure: Structure) -> list[Pus]:
    """Return the PUs of each core that gets a thread. goal: a key of CORE_GOALS."""
    return CORE_GOALS[goal](structure)


def places_text(goal: str, structure: Structure) -> str:
    """Return a value of OMP_PLACES with a place for each core of goal_cores, which holds the core's
    PUs. goal: a key of CORE_GOALS."""
    lists = (",".join(map(str, sorted(core))) for core in goal_cores(goal, structure))
    return ",".join(f"{{{pus}}}" for pus in lists)


# ---- control groups ------------------------------------------------------------------------------


# Returns a job's NUMA nodes, by the goal; takes the NUMA nodes that have PUs, in order. Each goal
# leaves at least one to other programs where there are two or more.
JOB_NODES: Mapping[str, Callable[[Sequence[int]], Sequence[int]]] = {
    "job_on_last_node": lambda nodes: nodes[-1:],
    "job_on_first_node": lambda nodes: nodes[:1],
    "job_on_second_node": lambda nodes: nodes[1:2],
    "job_on_all_but_first_node": lambda nodes: nodes[1:],
    "job_on_all_but_last_node": lambda nodes: nodes[:-1],
}


def nodes_with_pus(topology: Topology) -> tuple[int, ...]:
    """Return the numbers of the NUMA nodes that have PUs, in order."""
    return tuple(sorted(set(topology.numa_node.values())))


def nodes_of_job(goal: str, topology: Topology) -> frozenset[int]:
    """Return the NUMA nodes that a job has to have for itself. goal: a key of JOB_NODES."""
    return frozenset(JOB_NODES[goal](nodes_with_pus(topology)))


def pus_of_nodes(nodes: Iterable[int], topology: Topology) -> frozenset[int]:
    chosen = frozenset(nodes)
    return frozenset(pu for pu, node in topology.numa_node.items() if node in chosen)


# ---- memory --------------------------------------------------------------------------------------


# Returns the NUMA nodes of the table; takes those on which threads run, in order.
NODES: Mapping[str, Callable[[Sequence[int]], Sequence[int]]] = {
    "all": lambda nodes: nodes,
    "upper_half": lambda nodes: nodes[len(nodes) - len(nodes) // 2 :],
    "but_lowest": lambda nodes: nodes[1:],
    "every_second": lambda nodes: nodes[1::2],
}

# Returns the thread that owns a part of an array; takes the numbers of the part and of parts, which
# is that of threads, too.
OWNERS: Mapping[str, Callable[[int, int], int]] = {
    "same": lambda part, parts: part,
    "reversed": lambda part, parts: parts - 1 - part,
    "next": lambda part, parts: (part + 1) % parts,
    "previous": lambda part, parts: (part - 1) % parts,
    "half_on": lambda part, parts: (part + parts // 2) % parts,
}

# NUMA nodes over which a table alternates under a policy file, by its goal; None: all that have
# PUs, and of the others those that the file names.
POLICY_NODES: Mapping[str, tuple[int, ...] | None] = {
    "interleaved": None,
    "interleaved_on_0_and_1": (0, 1),
    "on_node_1": (1,),
}


@dataclass(frozen=True)
class PlacingGoal:
    """Where a kernel has to place memory: pages of a table, and blocks of threads."""

    nodes: str = "all"  # a key of NODES: the table's NUMA nodes
    run_pages: int = 1  # adjacent pages of the table that are on the same NUMA node
    owner: str = "same"  # a key of OWNERS: the thread with each part of the blocks on its NUMA node

    def nodes_of(self, team: Sequence[int]) -> tuple[int, ...]:
        """Return the table's NUMA nodes. team: the NUMA nodes on which threads run, in order."""
        return tuple(NODES[self.nodes](team))


LAB_PLACING = PlacingGoal()
