"""What launch files are to reach, judged by where the ranks of the kit's program may run.
Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numalab import words
from numalab.evidence.record import Json, Rank
from numalab.judging.thread_goals import Reached
from numalab.machines.topology import Topology, topology_of_node, without_own


def _units(rank: Rank, team: int, unit_of: Mapping[int, int]) -> set[int]:
    return {unit_of[pu] for thread in rank.threads[:team] for pu in thread.allowed_pus}


def _two(ranks: Sequence[Rank]) -> Reached | None:
    if len(ranks) == 2:
        return None
    return Reached(
        max(1, abs(len(ranks) - 2)),
        f"It starts {words.count(len(ranks), 'rank')}; a message goes between two.",
    )


def _loose(ranks: Sequence[int], many: str) -> Reached:
    why = f"{words.ranks(ranks)} may run on several {many}."
    return Reached(len(ranks), why[:1].upper() + why[1:])


def _near(ranks: Sequence[Rank], team: int, topology: Topology) -> Reached:
    """Both in one NUMA node, with a core for each."""
    wrong = _two(ranks)
    if wrong:
        return wrong
    nodes = [_units(rank, team, topology.numa_node) for rank in ranks]
    loose = [rank.number for rank, of in zip(ranks, nodes, strict=True) if len(of) != 1]
    if loose:
        return _loose(loose, "NUMA nodes")
    if nodes[0] != nodes[1]:
        return Reached(1, f"Rank 0 sits on NUMA node {min(nodes[0])}, rank 1 on {min(nodes[1])}.")
    if without_own([_units(rank, team, topology.core) for rank in ranks]):
        return Reached(1, "Both ranks are on one core, where they take turns.")
    return Reached(0, f"Both ranks on NUMA node {min(nodes[0])}, with a core for each.")


def _far(ranks: Sequence[Rank], team: int, topology: Topology) -> Reached:
    """Each in a package of its own."""
    wrong = _two(ranks)
    if wrong:
        return wrong
    packages = [_units(rank, team, topology.package) for rank in ranks]
    loose = [rank.number for rank, of in zip(ranks, packages, strict=True) if len(of) != 1]
    if loose:
        return _loose(loose, "packages")
    if packages[0] == packages[1]:
        return Reached(1, f"Both ranks are on package {min(packages[0])}.")
    return Reached(0, f"Ranks on the packages {min(packages[0])} and {min(packages[1])}.")


def _rank_a_numa_node(ranks: Sequence[Rank], team: int, topology: Topology) -> Reached:
    """A rank in each NUMA node with cores, a thread on each of its cores. Misplaced are the
    ranks that are too many or missing, and those that miss something themselves."""
    cores = topology.cores_in(topology.numa_node)
    wrong: dict[int, str] = {}  # ranks, with what is said of the first of each kind
    taken: dict[int, int] = {}
    by_cores = 0
    loose = [rank.number for rank in ranks if len(_units(rank, team, topology.numa_node)) != 1]
    for rank in ranks:
        units = _units(rank, team, topology.numa_node)
        if len(units) != 1:
            wrong[rank.number] = _loose(loose, "NUMA nodes").why
            continue
        node = units.pop()
        if node in taken:
            wrong[rank.number] = (
                f"Ranks {taken[node]} and {rank.number} are both on NUMA node {node}."
            )
            continue
        taken[node] = rank.number
        threads = rank.threads[:team]
        if len(threads) != cores[node]:
            wrong[rank.number] = (
                f"Rank {rank.number} has {words.count(len(threads), 'thread')}, and its NUMA "
                f"node {node} has {words.count(cores[node], 'core')}."
            )
        elif without_own([{topology.core[pu] for pu in thread.allowed_pus} for thread in threads]):
            wrong[rank.number] = f"Threads of rank {rank.number} share a core."
            by_cores += 1
    misplaced = max(len(wrong), abs(len(ranks) - len(cores)))
    if len(ranks) != len(cores):
        why = (
            f"It starts {words.count(len(ranks), 'rank')} on "
            f"{words.count(len(cores), 'NUMA node')}."
        )
        if wrong:
            why += f" {next(iter(wrong.values()))}"
        return Reached(misplaced, why)
    if wrong:
        return Reached(misplaced, next(iter(wrong.values())), by_cores == len(wrong))
    return Reached(
        0, f"{words.count(len(ranks), 'rank')}, each on a NUMA node of its own, a thread per core."
    )


GOALS: dict[str, Callable[[Sequence[Rank], int, Topology], Reached]] = {
    "near": _near,
    "far": _far,
    "rank_a_numa_node": _rank_a_numa_node,
}


def reach_of_ranks(goal: str, ranks: Sequence[Rank], team: int, node: Json) -> Reached:
    """How far ranks with a team of threads each are from a goal. Threads beyond the team are
    the MPI library's."""
    return GOALS[goal](ranks, team, topology_of_node(node))


def is_out_of_reach(goal: str, ranks: Sequence[Rank], node: Json) -> bool:
    """Whether no launch of so many ranks could reach the goal there: two packages are no use of a
    node that has one, whatever its NUMA nodes."""
    packages = {pu.package for pu in topology_of_node(node).pus}
    return goal == "far" and len(ranks) == 2 and len(packages) == 1
