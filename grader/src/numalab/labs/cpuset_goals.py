"""Which NUMA node a job is to have for itself, by the goal of the file that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numalab.machines.topology import Topology

# Of the NUMA nodes with PUs, in order.
JOB_NODES: Mapping[str, Callable[[Sequence[int]], int]] = {
    "job_on_last_node": lambda nodes: nodes[-1],
    "job_on_first_node": lambda nodes: nodes[0],
}


def nodes_with_pus(topology: Topology) -> tuple[int, ...]:
    """In order."""
    return tuple(sorted(set(topology.numa_node.values())))


def node_of_job(goal: str, topology: Topology) -> int:
    return JOB_NODES[goal](nodes_with_pus(topology))


def pus_of_node(node: int, topology: Topology) -> frozenset[int]:
    return frozenset(pu for pu, of in topology.numa_node.items() if of == node)
