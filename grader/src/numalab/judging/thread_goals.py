"""The goals of placement files.

A placement file has lines KEY=VALUE, environment variables of the OpenMP runtime. It is judged by
where the threads of numalab's own program may run. `node` is a machine's record. Pure functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab import words
from numalab.evidence.record import Json
from numalab.evidence.run_formats import Thread
from numalab.labs.goals import CORE_GOALS, goal_cores
from numalab.machines.structure import structure_of_node
from numalab.machines.topology import Pus, Topology, count_unmatched, topology_of_node, units_of

CLOSE_THREADS = 4
# Goals of one thread per unit.
_UNITS = {"spread": "NUMA node", "spread_over_packages": "package", "full": "core"}


# ---- goals ---------------------------------------------------------------------------


def team_of(goal: str, node: Json) -> int:
    """Return the number of threads that a goal is for: one per NUMA node, package, core or required
    core; of threads that are to be close CLOSE_THREADS, but no more than any package has cores."""
    topology = topology_of_node(node)
    if goal in _UNITS:
        return len(set(unit_numbers(_UNITS[goal], topology).values()))
    if goal in CORE_GOALS:
        return len(goal_cores(goal, structure_of_node(node)))
    return min(CLOSE_THREADS, *topology.cores_in(topology.package).values())


def unit_numbers(unit: str, topology: Topology) -> Mapping[int, int]:
    """Return the number of the unit of each PU. unit: "PU", "core", "NUMA node" or "package"."""
    return {
        "PU": {pu.number: pu.number for pu in topology.pus},
        "core": topology.core,
        "NUMA node": topology.numa_node,
        "package": topology.package,
    }[unit]


def _unit(goal: str, team: int, topology: Topology) -> str:
    """Return the unit that a goal counts. For `close` it is a NUMA node if one has cores for the
    whole team, else a package."""
    room = max(topology.cores_in(topology.numa_node).values())
    is_in_node = goal == "close" and room >= team
    return _UNITS.get(goal, "NUMA node" if is_in_node else "package")


def only_unit(goal: str, node: Json) -> str | None:
    """Return the name of a goal's unit where the machine has only one of it, so that any placement
    reaches the goal; else None."""
    if goal in CORE_GOALS:
        return None
    topology = topology_of_node(node)
    unit = _unit(goal, team_of(goal, node), topology)
    return unit if len(set(unit_numbers(unit, topology).values())) == 1 else None


@dataclass(frozen=True)
class Reached:
    """The distance of threads or ranks from a goal.

    Attributes:
        misplaced: the number of threads or ranks that are not where the goal requires them.
        why: the reason, as a sentence.
        is_by_cores: all that is misplaced is so only by the cores that the OpenMP runtime chose
            among those that it was given.
    """

    misplaced: int
    why: str
    is_by_cores: bool = False


def _unbound(threads: Sequence[Thread], loose: Sequence[int], unit_of: Mapping[int, int]) -> str:
    """Return a clause that nothing binds the loose threads, where some thread may run on all PUs;
    else empty."""
    if not any(set(thread.allowed_pus) == set(unit_of) for thread in threads):
        return ""
    return ": nothing binds " + ("it" if len(loose) == 1 else "them")


def _own_units(threads: Sequence[Thread], topology: Topology, unit: str) -> Reached:
    """Judge a goal of threads that have a unit each, which they may not leave."""
    unit_of = unit_numbers(unit, topology)
    loose: list[int] = []
    holders: dict[int, list[int]] = {}
    for thread in threads:
        held = {unit_of[pu] for pu in thread.allowed_pus}
        if len(held) == 1:
            holders.setdefault(held.pop(), []).append(thread.number)
        else:
            loose.append(thread.number)
    crowded = {number: numbers for number, numbers in holders.items() if len(numbers) > 1}
    misplaced = len(loose) + sum(len(numbers) - 1 for numbers in crowded.values())
    if crowded:
        number, numbers = next(iter(crowded.items()))
        empty = len(set(unit_of.values())) - len(holders)
        why = f"{words.threads(numbers)} sit on one {unit}"
        if unit != "core":
            why += f" ({number})"
        if empty:
            why += f", while {words.count(empty, unit)} {'has' if empty == 1 else 'have'} none"
    elif loose:
        why = f"{words.threads(loose)} may run on several {unit}s"
        why += _unbound(threads, loose, unit_of)
    else:
        why = f"{words.count(len(threads), 'thread')}, each on a {unit} of its own"
    return Reached(misplaced, f"{words.first_upper(why)}.")


def _close(threads: Sequence[Thread], topology: Topology, unit: str) -> Reached:
    """Judge a goal of all threads in one unit, with a PU for each."""
    unit_of = unit_numbers(unit, topology)
    held = [{unit_of[pu] for pu in thread.allowed_pus} for thread in threads]
    inside = Counter(one for of_thread in held for one in of_thread if len(of_thread) == 1)
    loose = [thread.number for thread, of in zip(threads, held, strict=True) if len(of) > 1]
    most = max(inside.values(), default=0)
    crowded = count_unmatched([thread.allowed_pus for thread in threads])
    misplaced = max(len(threads) - most, crowded)
    if loose:
        why = f"{words.threads(loose)} may run on several {unit}s"
        why += _unbound(threads, loose, unit_of)
    elif len(inside) > 1:
        why = f"the threads sit on {len(inside)} {unit}s, where one has room for all"
    elif crowded:
        why = f"{len(threads)} threads share {words.count(len(threads) - crowded, 'PU')}"
    else:
        why = words.count(len(threads), "thread")
        if len(threads) < CLOSE_THREADS:  # what holds for so few may not for more
            fewest = words.count(min(topology.cores_in(topology.package).values()), "core")
            why += f" (a package has {fewest} here)"
        why += f" on one {unit}"
    return Reached(misplaced, f"{words.first_upper(why)}.")


def _single_cores(threads: Sequence[Thread], required: Sequence[frozenset[int]]) -> Reached:
    """Judge a goal of one thread on each of the required cores. required: the PUs of each."""
    holders: dict[frozenset[int], list[int]] = {}
    loose, outside = [], []
    for thread in threads:
        allowed = set(thread.allowed_pus)
        core = next((core for core in required if allowed <= core), None)
        if core is not None:
            holders.setdefault(core, []).append(thread.number)
        elif any(allowed & core for core in required):
            loose.append(thread.number)
        else:
            outside.append(thread.number)
    crowded = [numbers for numbers in holders.values() if len(numbers) > 1]
    misplaced = len(loose) + len(outside) + sum(len(numbers) - 1 for numbers in crowded)
    empty = len(required) - len(holders)
    if outside:
        why = f"{words.threads(outside)} may run on none of the cores that are asked for"
    elif loose:
        why = f"{words.threads(loose)} may run on more than one core that is asked for"
    elif crowded:
        why = f"{words.threads(crowded[0])} sit on one core"
    else:
        why = f"{words.count(len(threads), 'thread')}, one on each core that is asked for"
    if empty and not outside:
        why += (
            f", while {words.count(empty, 'core')} of those {'has' if empty == 1 else 'have'} none"
        )
    return Reached(misplaced, f"{words.first_upper(why)}.")


GOALS: dict[str, Callable[[Sequence[Thread], Topology, str], Reached]] = {
    "spread": _own_units,
    "spread_over_packages": _own_units,
    "full": _own_units,
    "close": _close,
    "close_in_package": _close,
}


def reach_of_threads(goal: str, threads: Sequence[Thread], team: int, node: Json) -> Reached:
    """Return how far the threads of a team are from a goal. threads: those of numalab's program; if
    there are more than the team has, the first ones count."""
    if len(threads) < team:
        missing = team - len(threads)
        return Reached(missing, f"The program runs with {len(threads)} threads instead of {team}.")
    if goal in CORE_GOALS:
        return _single_cores(threads[:team], goal_cores(goal, structure_of_node(node)))
    topology = topology_of_node(node)
    return GOALS[goal](threads[:team], topology, _unit(goal, team, topology))


# ---- placements that are timed -------------------------------------------------------------


@dataclass(frozen=True)
class TimedTeam:
    """Two placements of a team, each thread on a core of its own.

    Attributes:
        single_node: the PUs of each thread, all on one NUMA node.
        all_nodes: the same, dealt out over the NUMA nodes in turn, as far as there are threads.
    """

    single_node: tuple[Pus, ...]
    all_nodes: tuple[Pus, ...]

    @property
    def threads(self) -> int:
        return len(self.single_node)


def timed_team(node: Json) -> TimedTeam:
    """Return numalab's two placements on a machine, with as many threads as the NUMA node with the
    fewest cores has, of those with cores. They name PUs, since a runtime may take other units for
    cores (machines/announced.py)."""
    topology = topology_of_node(node)
    by_node: dict[int, list[Pus]] = {}
    for core in units_of(topology, "core"):
        by_node.setdefault(topology.numa_node[core[0]], []).append(core)
    fewest = min(map(len, by_node.values()))
    in_turn = [cores[i] for i in range(fewest) for cores in by_node.values()]
    return TimedTeam(tuple(next(iter(by_node.values()))[:fewest]), tuple(in_turn[:fewest]))


def environment_of(places: Sequence[Pus]) -> dict[str, str]:
    """Return the environment variables that put a thread on each place, in order. places: the PUs
    of each."""
    lists = ("{" + ",".join(map(str, pus)) + "}" for pus in places)
    return {"OMP_PLACES": ",".join(lists), "OMP_PROC_BIND": "close"}
