"""Which NUMA nodes a job is to have for itself, by the goal of the file that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from numalab.machines.topology import Topology

# Of the NUMA nodes with PUs, in order. Each leaves one or more to other programs, where there are
# two or more.
JOB_NODES: Mapping[str, Callable[[Sequence[int]], Sequence[int]]] = {
    "job_on_last_node": lambda nodes: nodes[-1:],
    "job_on_first_node": lambda nodes: nodes[:1],
    "job_on_second_node": lambda nodes: nodes[1:2],
    "job_on_all_but_first_node": lambda nodes: nodes[1:],
    "job_on_all_but_last_node": lambda nodes: nodes[:-1],
}


def nodes_with_pus(topology: Topology) -> tuple[int, ...]:
    """In order."""
    return tuple(sorted(set(topology.numa_node.values())))


def nodes_of_job(goal: str, topology: Topology) -> frozenset[int]:
    return frozenset(JOB_NODES[goal](nodes_with_pus(topology)))


def pus_of_nodes(nodes: Iterable[int], topology: Topology) -> frozenset[int]:
    wanted = frozenset(nodes)
    return frozenset(pu for pu, of in topology.numa_node.items() if of in wanted)
