"""Goals that name cores, on machines of the gallery and of a seed."""

from __future__ import annotations

import pytest

from numalab.evidence.run_formats import Thread
from numalab.judging.thread_goals import _single_cores
from numalab.labs.goals import CORE_GOALS, goal_cores, places_text
from numalab.machines.gallery import find_machine
from numalab.machines.seeded import seeded_machine
from numalab.machines.structure import PuUnits, Structure, structure_of_machine


@pytest.fixture
def hydra(installation):
    """Four cores on each of two NUMA nodes, PUs in turn."""
    return structure_of_machine(find_machine(installation, "hydra").scaled(4))


@pytest.mark.parametrize(
    ("goal", "pus"),
    [
        ("but_first_cores", [2, 4, 6, 3, 5, 7]),
        ("second_halves", [4, 6, 5, 7]),
        ("first_cores", [0, 1]),
        ("last_cores", [6, 7]),
        ("last_numa_node", [1, 3, 5, 7]),
        ("farthest_numa_node", [1, 3, 5, 7]),
        ("odd_numa_nodes", [1, 3, 5, 7]),
        ("even_numa_nodes", [0, 2, 4, 6]),
        ("all_but_first_numa_node", [1, 3, 5, 7]),
        ("all_but_last_numa_node", [0, 2, 4, 6]),
        ("but_second_cores", [0, 4, 6, 1, 5, 7]),
        ("but_last_cores", [0, 2, 4, 1, 3, 5]),
        ("every_second_core", [2, 6, 3, 7]),
        ("first_halves", [0, 2, 1, 3]),
        ("second_cores", [2, 3]),
        ("last_but_one_cores", [4, 5]),
        ("first_cores_of_odd_nodes", [1]),
        ("last_cores_of_even_nodes", [6]),
    ],
)
def test_which_cores_are_wanted(hydra, goal, pus):
    assert [min(core) for core in goal_cores(goal, hydra)] == pus


@pytest.mark.parametrize(
    ("goal", "nodes"),
    [
        ("odd_numa_nodes", {1, 3, 5, 7}),
        ("even_numa_nodes", {0, 2, 4, 6}),
        ("first_cores_of_odd_nodes", {1, 3, 5, 7}),
        ("last_cores_of_even_nodes", {0, 2, 4, 6}),
        ("last_numa_node", {7}),
        ("all_but_first_numa_node", {1, 2, 3, 4, 5, 6, 7}),
        ("all_but_last_numa_node", {0, 1, 2, 3, 4, 5, 6}),
    ],
)
def test_which_of_eight_numa_nodes_are_wanted(installation, goal, nodes):
    nebula = structure_of_machine(find_machine(installation, "nebula").scaled(2))
    cores = goal_cores(goal, nebula)
    assert {nebula.pu(min(core)).numa_node for core in cores} == nodes
    alone = goal.startswith(("first_", "last_cores"))
    assert len(cores) == len(nodes) * (1 if alone else 2)


def of_cores(cores: int) -> Structure:
    """One NUMA node, whose cores have two PUs each, and another one without any, as near."""
    units = [frozenset({2 * core, 2 * core + 1}) for core in range(cores)]
    pus = [PuUnits(pu, core, frozenset(), frozenset(), 0) for core in units for pu in sorted(core)]
    return Structure(tuple(reversed(pus)), (0, 1), {(0, 0): 10, (0, 1): 10}, frozenset({0}))


@pytest.mark.parametrize(
    ("goal", "places"),
    [
        ("first_halves", "{0,1},{2,3}"),
        ("second_halves", "{6,7},{8,9}"),
        ("every_second_core", "{2,3},{6,7}"),
        ("but_first_cores", "{2,3},{4,5},{6,7},{8,9}"),
        ("but_second_cores", "{0,1},{4,5},{6,7},{8,9}"),
        ("but_last_cores", "{0,1},{2,3},{4,5},{6,7}"),
        ("last_but_one_cores", "{6,7}"),
        ("farthest_numa_node", "{0,1},{2,3},{4,5},{6,7},{8,9}"),
    ],
)
def test_places_of_five_cores(goal, places):
    """Of NUMA nodes at one distance the first is the farthest; the middle core is in no half."""
    assert places_text(goal, of_cores(5)) == places


def test_the_farthest_of_several_equal_ones_has_the_lowest_number():
    for seed in range(1, 60):
        machine = structure_of_machine(seeded_machine(seed))
        (node,) = {
            machine.pu(min(core)).numa_node for core in goal_cores("farthest_numa_node", machine)
        }
        from_0 = {n: machine.distances[0, n] for n in machine.numa_nodes}
        assert from_0[node] == max(from_0.values())
        assert node == min(n for n in from_0 if from_0[n] == from_0[node])


def test_every_goal_leaves_something_to_miss():
    for seed in range(1, 60):
        machine = structure_of_machine(seeded_machine(seed))
        for goal in CORE_GOALS:
            assert 0 < len(goal_cores(goal, machine)) < len(machine.cores)
    assert places_text("last_cores", structure_of_machine(seeded_machine(17))).count("{") == 2


def threads(*allowed: tuple[int, ...]) -> list[Thread]:
    return [Thread(number, pus, -1, -1, -1) for number, pus in enumerate(allowed)]


@pytest.mark.parametrize(
    ("allowed", "misplaced", "why"),
    [
        (((0,), (1, 5)), 0, "2 threads, one on each core that is asked for."),
        (((0,), (2,)), 1, "Thread 1 may run on none of the cores that are asked for."),
        (((0,), (4,)), 1, "Threads 0 and 1 sit on one core, while 1 core of those has none."),
        (((0,), (0, 1)), 1, "Thread 1 may run on more than one core that is asked for, while 1 core"
         " of those has none."),
    ],
)  # fmt: skip
def test_what_is_told(allowed, misplaced, why):
    reached = _single_cores(threads(*allowed), [frozenset({0, 4}), frozenset({1, 5})])
    assert (reached.misplaced, reached.why) == (misplaced, why)
