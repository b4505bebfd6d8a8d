"""Goals that name cores of one machine: which cores get a thread each, and no others. Words such as
`spread` don't reach them, a list of PUs does. Pure functions.

The first core of a NUMA node is that with the lowest PU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numalab.machines.structure import Pus, Structure


def _cores(structure: Structure, numa_node: int) -> list[Pus]:
    """From the first on."""
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
    """The PUs of each core that gets a thread."""
    return CORE_GOALS[goal](structure)


def places_text(goal: str, structure: Structure) -> str:
    """What OMP_PLACES may be, with OMP_PROC_BIND=close: a place on each."""
    lists = (",".join(map(str, sorted(core))) for core in goal_cores(goal, structure))
    return ",".join(f"{{{pus}}}" for pus in lists)
