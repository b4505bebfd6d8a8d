"""The goals of launch files, judged by where the ranks of numalab's program may run. Pure
functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from numalab import words
from numalab.evidence.record import Json
from numalab.evidence.run_formats import Rank
from numalab.judging.thread_goals import Reached, unit_numbers
from numalab.machines.topology import Topology, count_unmatched, topology_of_node


def _units(rank: Rank, team: int, unit_of: Mapping[int, int]) -> set[int]:
    return {unit_of[pu] for thread in rank.threads[:team] for pu in thread.allowed_pus}


def _loose(ranks: Sequence[int], many: str) -> Reached:
    why = f"{words.first_upper(words.ranks(ranks))} may run on several {many}."
    return Reached(len(ranks), why)


def _pair(
    ranks: Sequence[Rank], team: int, unit_of: Mapping[int, int], many: str
) -> list[set[int]] | Reached:
    """Return the unit of each of two ranks, or how far they are from having one each. many: what
    several units are called."""
    if len(ranks) != 2:
        why = f"It starts {words.count(len(ranks), 'rank')}; a message goes between two."
        return Reached(max(1, abs(len(ranks) - 2)), why)
    held = [_units(rank, team, unit_of) for rank in ranks]
    loose = [rank.number for rank, units in zip(ranks, held, strict=True) if len(units) != 1]
    return _loose(loose, many) if loose else held


def _share_numa_node(ranks: Sequence[Rank], team: int, topology: Topology) -> Reached:
    """Judge a goal of two ranks on one NUMA node, with a core for each."""
    nodes = _pair(ranks, team, topology.numa_node, "NUMA nodes")
    if isinstance(nodes, Reached):
        return nodes
    if nodes[0] != nodes[1]:
        return Reached(1, f"Rank 0 sits on NUMA node {min(nodes[0])}, rank 1 on {min(nodes[1])}.")
    if count_unmatched([_units(rank, team, topology.core) for rank in ranks]):
        return Reached(1, "Both ranks are on one core, where they take turns.")
    return Reached(0, f"Both ranks on NUMA node {min(nodes[0])}, with a core for each.")


def _use_two_packages(ranks: Sequence[Rank], team: int, topology: Topology) -> Reached:
    """Judge a goal of two ranks, each on a package of its own."""
    packages = _pair(ranks, team, topology.package, "packages")
    if isinstance(packages, Reached):
        return packages
    if packages[0] == packages[1]:
        return Reached(1, f"Both ranks are on package {min(packages[0])}.")
    return Reached(0, f"Ranks on the packages {min(packages[0])} and {min(packages[1])}.")


def _rank_in_each(
    ranks: Sequence[Rank], team: int, topology: Topology, place: str, part: str
) -> Reached:
    """Judge a goal of one rank in each place, with one thread on each part of that place. Misplaced
    are ranks that are missing or too many, or that are wrong, whichever are more."""
    place_of, part_of = unit_numbers(place, topology), unit_numbers(part, topology)
    parts = Counter(unit for _, unit in {(part_of[pu], place_of[pu]) for pu in place_of})
    wrong: dict[int, str] = {}  # by rank, what is wrong with it, as a sentence
    taken: dict[int, int] = {}
    by_cores = 0
    loose = [rank.number for rank in ranks if len(_units(rank, team, place_of)) != 1]
    for rank in ranks:
        units = _units(rank, team, place_of)
        if len(units) != 1:
            wrong[rank.number] = _loose(loose, f"{place}s").why
            continue
        unit = units.pop()
        if unit in taken:
            wrong[rank.number] = (
                f"Ranks {taken[unit]} and {rank.number} are both on {place} {unit}."
            )
            continue
        taken[unit] = rank.number
        threads = rank.threads[:team]
        if len(threads) != parts[unit]:
            wrong[rank.number] = (
                f"Rank {rank.number} has {words.count(len(threads), 'thread')}, and its "
                f"{place} {unit} has {words.count(parts[unit], part)}."
            )
        elif count_unmatched([{part_of[pu] for pu in thread.allowed_pus} for thread in threads]):
            wrong[rank.number] = f"Threads of rank {rank.number} share a {part}."
            by_cores += part == "core"
    misplaced = max(len(wrong), abs(len(ranks) - len(parts)))
    if len(ranks) != len(parts):
        why = f"It starts {words.count(len(ranks), 'rank')} on {words.count(len(parts), place)}."
        if wrong:
            why += f" {next(iter(wrong.values()))}"
        return Reached(misplaced, why)
    if wrong:
        return Reached(misplaced, next(iter(wrong.values())), by_cores == len(wrong))
    return Reached(
        0,
        f"{words.count(len(ranks), 'rank')}, each on a {place} of its own, a thread per {part}.",
    )


GOALS: dict[str, Callable[[Sequence[Rank], int, Topology], Reached]] = {
    "near": _share_numa_node,
    "far": _use_two_packages,
    "rank_a_numa_node": partial(_rank_in_each, place="NUMA node", part="core"),
    "rank_a_numa_node_by_pus": partial(_rank_in_each, place="NUMA node", part="PU"),
    "rank_a_package": partial(_rank_in_each, place="package", part="core"),
    "rank_a_package_by_pus": partial(_rank_in_each, place="package", part="PU"),
    "rank_a_core_by_pus": partial(_rank_in_each, place="core", part="PU"),
}


def reach_of_ranks(goal: str, ranks: Sequence[Rank], team: int, node: Json) -> Reached:
    """Return how far ranks with a team of threads each are from a goal, one of GOALS. Threads
    beyond the team don't count. node: the machine's record."""
    return GOALS[goal](ranks, team, topology_of_node(node))


def is_out_of_reach(goal: str, ranks: Sequence[Rank], node: Json) -> bool:
    """Tell whether two ranks can't reach a goal of two packages, since the PUs that processes may
    use are on one, or their packages are not known. False for other numbers of ranks and other
    goals."""
    packages = {pu.package for pu in topology_of_node(node).pus}
    return goal == "far" and len(ranks) == 2 and len(packages) == 1
