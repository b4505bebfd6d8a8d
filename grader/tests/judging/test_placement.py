"""Placement files, their goals, and the drawing of threads, on machines of the gallery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.golden_texts import check_text

from numalab.evidence.run_formats import Thread
from numalab.judging.thread_goals import (
    environment_of,
    only_unit,
    reach_of_threads,
    team_of,
    timed_team,
)
from numalab.labs.placement import BadPlacement, read_placement
from numalab.reports.thread_map import thread_map
from numalab.reports.touch_map import symbol

Json = dict[str, Any]
OMP = ("OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY")


def node_of(packages: int, nodes: int, cores: int, smt: int, in_turn: bool) -> Json:
    """cores: of each NUMA node; in_turn: PUs numbered over the NUMA nodes in turn, siblings
    after all cores."""
    total = nodes * cores
    entries = []
    for pu in range(total * smt):
        first = pu % total
        numa_node = first % nodes if in_turn else first // cores
        if in_turn and packages < nodes:  # the packages take turns, too
            numa_node = numa_node % packages * (nodes // packages) + numa_node // packages
        entries.append(
            {"pu": pu, "core": first, "package": numa_node * packages // nodes,
             "numa_node": numa_node}
        )  # fmt: skip
    return {"pu_list": entries}


HYDRA = node_of(2, 2, 4, 1, True)
NEBULA = node_of(2, 8, 2, 1, True)
WESTMERE_EX = node_of(4, 4, 2, 2, True)
WESTMERE_EP = node_of(2, 2, 2, 2, False)
TRENTO = node_of(1, 4, 16, 2, False)
TRENTO_OF_FEW = node_of(1, 4, 2, 2, False)


def team(*allowed: Sequence[int]) -> list[Thread]:
    return [Thread(i, tuple(pus), -1, -1, -1) for i, pus in enumerate(allowed)]


def on(*pus: int) -> list[Thread]:
    return team(*([pu] for pu in pus))


@pytest.mark.parametrize(
    ("node", "packages", "spread", "close", "full"),
    [
        (HYDRA, 2, 2, 4, 8),
        (NEBULA, 2, 8, 4, 16),
        (WESTMERE_EX, 4, 4, 2, 8),
        (WESTMERE_EP, 2, 2, 2, 4),
    ],
)
def test_the_team_follows_from_goal_and_node(
    node: Json, packages: int, spread: int, close: int, full: int
) -> None:
    assert team_of("spread_over_packages", node) == packages
    assert team_of("spread", node) == spread
    assert team_of("close", node) == team_of("close_in_package", node) == close
    assert team_of("full", node) == full


@pytest.mark.parametrize(
    ("node", "reached_by_any"),
    [
        (HYDRA, set()),
        (NEBULA, set()),
        (TRENTO, {"spread_over_packages", "close_in_package"}),
        # No NUMA node has room for four threads that are to be near.
        (TRENTO_OF_FEW, {"spread_over_packages", "close_in_package", "close"}),
    ],
)
def test_a_goal_that_any_placement_reaches(node: Json, reached_by_any: set[str]) -> None:
    goals = ("spread", "spread_over_packages", "full", "close", "close_in_package")
    assert {goal for goal in goals if only_unit(goal, node) is not None} == reached_by_any


# Where the runtimes put threads was seen on virtual nodes; the policy is in the comment.
@pytest.mark.parametrize(
    ("goal", "node", "threads", "misplaced"),
    [
        ("spread", HYDRA, on(0, 1), 0),
        # libgomp, cores and spread
        ("spread", HYDRA, on(0, 4), 1),
        ("spread", NEBULA, on(0, 2, 4, 6, 8, 10, 12, 14), 4),
        # a list that fits alternating numbers
        ("spread", WESTMERE_EP, on(0, 1), 1),
        # sockets
        ("spread", NEBULA, team(*[[0, 2, 4, 6, 8, 10, 12, 14]] * 8), 8),
        ("spread", HYDRA, team([0], range(8)), 1),
        ("spread_over_packages", NEBULA, on(0, 1), 0),
        # compact: two NUMA nodes would not do
        ("spread_over_packages", NEBULA, on(0, 2), 1),
        ("spread_over_packages", HYDRA, team(range(8), [1]), 1),
        # a package that libomp takes for a core
        ("spread_over_packages", HYDRA, team([0, 2, 4, 6], [1, 3, 5, 7]), 0),
        ("full", HYDRA, on(*range(8)), 0),
        # compact
        ("full", WESTMERE_EX, on(0, 8, 4, 12, 1, 9, 5, 13), 4),
        ("full", WESTMERE_EX, team(*([c, c + 8] for c in range(8))), 0),
        ("full", WESTMERE_EP, team(*[range(4)] * 4), 4),
        ("close", HYDRA, on(0, 2, 4, 6), 0),
        ("close", HYDRA, on(0, 1, 2, 3), 2),
        ("close", NEBULA, on(0, 8, 2, 10), 0),
        ("close", WESTMERE_EX, on(0, 8), 0),
        ("close", HYDRA, team(*[[0]] * 4), 3),
        ("close", HYDRA, team(*[range(0, 8, 2)] * 4), 0),
        ("close", HYDRA, team(*[range(8)] * 4), 4),
        ("close_in_package", NEBULA, team(*[range(0, 16, 2)] * 4), 0),
        ("close_in_package", NEBULA, team(*[[0, 8]] * 4), 2),
        ("close_in_package", HYDRA, on(0, 2, 4), 1),
        ("close_in_package", HYDRA, team(*[range(8)] * 4), 4),
        ("close", NEBULA, team(*[range(0, 16, 2)] * 4), 0),
    ],
)  # fmt: skip
def test_goals(goal: str, node: Json, threads: list[Thread], misplaced: int) -> None:
    found = reach_of_threads(goal, threads, team_of(goal, node), node)
    assert found.misplaced == misplaced, found.why
    check_text(found.why)


@pytest.mark.parametrize(
    ("node", "one", "all_nodes"),
    [
        (HYDRA, [(0,), (2,), (4,), (6,)], [(0,), (1,), (2,), (3,)]),
        (NEBULA, [(0,), (8,)], [(0,), (2,)]),  # fewer cores than NUMA nodes
        (WESTMERE_EX, [(0, 8), (4, 12)], [(0, 8), (1, 9)]),  # a place is a core, with siblings
        (node_of(1, 1, 4, 1, False), [(0,), (1,), (2,), (3,)], [(0,), (1,), (2,), (3,)]),
    ],
)
def test_what_is_timed_is_the_same_team_on_one_numa_node_and_on_all(
    node: Json, one: list[tuple[int, ...]], all_nodes: list[tuple[int, ...]]
) -> None:
    of_node = {entry["pu"]: entry["numa_node"] for entry in node["pu_list"]}
    by_node = sorted(node["pu_list"], key=lambda entry: (entry["numa_node"], entry["pu"]))
    found = timed_team(node | {"numa_nodes": len(set(of_node.values())), "pu_list": by_node})
    assert list(found.single_node) == one
    assert [of_node[pus[0]] for pus in found.all_nodes] == [of_node[p[0]] for p in all_nodes]
    assert found.threads == len(found.all_nodes) == len(set(found.all_nodes))


def test_places_are_written_as_runtimes_read_them() -> None:
    assert environment_of([(0, 8), (4,)]) == {
        "OMP_PLACES": "{0,8},{4}", "OMP_PROC_BIND": "close"
    }  # fmt: skip


def test_own_pus_are_dealt_out_as_well_as_they_can() -> None:
    # Taken greedily, thread 0 would get PU 0 and thread 1 none.
    threads = team([0, 2], [0], [2, 4], [4, 6])
    assert reach_of_threads("close", threads, 4, HYDRA).misplaced == 0


def test_a_placement_file_is_read() -> None:
    text = '# spread\n\n OMP_PLACES = "numa_domains"\nOMP_PROC_BIND=spread\n'
    assert read_placement(text, OMP) == {"OMP_PLACES": "numa_domains", "OMP_PROC_BIND": "spread"}
    assert read_placement("", OMP) == {}
    assert read_placement("OMP_PLACES={0},{2}:4", OMP) == {"OMP_PLACES": "{0},{2}:4"}


@pytest.mark.parametrize(
    "text",
    [
        "OMP_NUM_THREADS=4",
        "OMP_PROC_BINDING=close",
        "omp_places=cores",
        "LD_PRELOAD=/tmp/x.so",
        "KMP_AFFINITY=compact",
        "export OMP_PLACES=cores",
        "OMP_PLACES cores",
        "# fine\nOMP_PLACES=cores\nOMP_PLACES=threads",
        "OMP_PLACES=cores\x07",
        "OMP_PLACES=cores OMP_PROC_BIND=spread",
        "OMP_PLACES=cores; OMP_PROC_BIND = spread",
    ],
)
def test_what_a_placement_file_can_not_have(text: str) -> None:
    with pytest.raises(BadPlacement) as error:
        read_placement(text, OMP)
    check_text(str(error.value))


def drawn(node: Json, threads: list[Thread], columns: int = 76) -> list[str]:
    return [line.plain for line in thread_map(node, threads, columns, symbol)]


def test_threads_are_drawn_where_they_sit() -> None:
    assert drawn(HYDRA, on(0, 1)) == [
        "package 0  node 0  [0][.][.][.]",
        "package 1  node 1  [1][.][.][.]",
    ]
    assert drawn(WESTMERE_EP, [*on(0, 4), *team([1, 5])[:0]]) == [
        "package 0  node 0  [01][..]",
        "package 1  node 1  [..][..]",
    ]


def test_threads_that_may_move_or_share_are_told() -> None:
    check_text(drawn(WESTMERE_EP, team([0, 4], [1], [1], [0, 1])))
    check_text(drawn(NEBULA, team(range(0, 16, 2), range(16))))


def test_of_many_that_share_the_first_are_told() -> None:
    pairs = [pus for core in ([0, 8], [4, 12], [1, 9], [5, 13]) for pus in (core, core)]
    check_text(drawn(WESTMERE_EX, team(*pairs))[-1])
    assert drawn(WESTMERE_EX, team(*pairs))[0].endswith("[+-][+-]")


def test_wide_nodes_are_wrapped() -> None:
    lines = drawn(node_of(1, 1, 60, 1, False), on(0))
    assert len(lines) > 1 and all(len(line) <= 76 for line in lines)
    assert sum(line.count("[") for line in lines) == 60
