"""PUs in hwloc's order, the units that they are part of, and which of these are even or crossed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.structures import differences

from numalab.evidence.record import Json
from numalab.machines.machine_file import parse_machine
from numalab.machines.structure import (
    PuUnits,
    structure_of_machine,
    structure_of_node,
)
from numalab.machines.topology import (
    Pu,
    Topology,
    count_unmatched,
    topology_of_machine,
    topology_of_node,
    units_of,
)

# Its PUs, cores, L3s, NUMA nodes and packages are in another order in the file than by number.
HEAD = 'name = "odd"\ntitle = "Odd"\nsource = "me"\n'
ODD = parse_machine(
    HEAD
    + """
[[numa_node]]
package = 0
memory_mb = 512
pus = ["0,9,2,10", "11,8,7,6"]
l3_groups = 2

[[numa_node]]
package = 1
memory_mb = 1024

[[numa_node.cores]]
pus = ["12,14"]

[[numa_node.cores]]
pus = ["15,5"]
l3_groups = 0

[[numa_node]]
package = 2
pus = ["4,13,3"]

[[numa_node]]
package = 1
memory_mb = 1024
pus = ["16,1"]
""",
    Path("odd.toml"),
)
IN_ORDER = [0, 11, 8, 9, 2, 7, 6, 10, 1, 16, 5, 12, 14, 15, 3, 4, 13]


def test_pus_come_in_the_order_of_hwloc() -> None:
    """At each level the unit with the lowest PU first; a core without an L3 is a unit by itself."""
    found = topology_of_machine(ODD)
    assert [pu.number for pu in found.pus] == IN_ORDER
    assert found.pus[:4] == (Pu(0, 0, 0, 0), Pu(11, 0, 0, 0), Pu(8, 1, 0, 0), Pu(9, 1, 0, 0))
    assert found.pus[8:11] == (Pu(1, 12, 1, 3), Pu(16, 11, 1, 3), Pu(5, 7, 1, 1))
    assert [pu.core for pu in found.pus[10:]] == [7, 4, 5, 6, 10, 8, 9]
    assert not found.is_even
    assert units_of(found, "machine") == [tuple(IN_ORDER)]
    assert units_of(found, "pu") == [(pu,) for pu in IN_ORDER]
    assert units_of(found, "core")[:5] == [(0, 11), (8, 9), (2, 7), (6, 10), (1,)]
    assert [len(pus) for pus in units_of(found, "package")] == [8, 6, 3]
    assert units_of(found, "numa_node")[1:] == [(1, 16), (5, 12, 14, 15), (3, 4, 13)]
    assert found.cores_in(found.package) == {0: 4, 1: 6, 2: 3}
    assert found.cores_in(found.numa_node) == {0: 4, 3: 2, 1: 4, 2: 3}


def test_a_structure_is_asked_by_linuxs_and_by_hwlocs_numbers() -> None:
    found = structure_of_machine(ODD)
    assert [pu.number for pu in found.pus] == IN_ORDER
    assert found.numa_nodes == (0, 3, 1, 2)
    l3 = frozenset({0, 11, 8, 9})
    package = l3 | {2, 7, 6, 10}
    assert found.pu(8) == PuUnits(8, frozenset({8, 9}), l3, package, 0)
    assert found.pu(15) == PuUnits(
        15, frozenset({15}), frozenset(), frozenset({1, 16, 5, 12, 14, 15}), 1
    )
    assert found.l3s == {
        l3, frozenset({2, 7, 6, 10}), frozenset({12, 14}), frozenset({3, 4, 13}),
        frozenset({1, 16}),
    }  # fmt: skip
    assert len(found.cores) == 13 and frozenset({6, 10}) in found.cores
    assert sorted(map(len, found.packages)) == [3, 6, 8]
    assert found.pus_of(1) == {5, 12, 14, 15}
    assert found.logical_pus([0, 11, 1, 13]) == {0, 1, 8, 16}
    assert found.logical_nodes([3, 2]) == {1, 3}
    assert found.distances[0, 0] == 10 and found.distances[0, 3] == 20
    assert len(found.distances) == 16
    assert found.largest == {1, 3}


def entry(pu: int, core: int, package: int, numa_node: int, **more: int) -> Json:
    return {"pu": pu, "core": core, "package": package, "numa_node": numa_node, **more}


def even_node(**more: object) -> Json:
    """Two packages of a NUMA node each, with two cores of two threads."""
    pus = [entry(pu, pu // 2, pu // 4, pu // 4) for pu in range(8)]
    return {"pu_list": pus, "pus_online": 8, "numa_nodes": 2, **more}


def placed(*places: tuple[int, int, int]) -> list[Json]:
    """PUs from 0 on, by core, package and NUMA node."""
    return [entry(pu, *place) for pu, place in enumerate(places)]


@pytest.mark.parametrize(
    ("pus", "numa_nodes", "is_even"),
    [
        (placed((0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1)), 2, True),
        (placed((0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)), 1, True),  # packages of one node
        (placed((0, 0, 0), (1, 0, 1), (2, 0, 2), (3, 0, 3)), 4, True),
        (placed((0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)), 3, False),  # one of memory only
        (placed((0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)), 1, False),
        (placed((0, 0, 0), (1, 0, 0), (2, 1, 0)), 1, False),  # unlike packages
        (placed((0, 0, 0), (1, 0, 0), (2, 0, 1)), 2, False),  # unlike NUMA nodes
        (placed((0, 0, 0), (0, 0, 0), (1, 0, 0)), 1, False),  # unlike cores
        (placed((0, -1, 0), (1, -1, 0)), 1, False),
        (placed((0, 0, 0), (1, -1, 1)), 2, False),
        (placed((0, 0, 0), (1, 0, 0), (2, 1, -1), (3, 1, -1)), 2, False),
        (placed((0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)), 2, False),  # crossed
        (placed((0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 2),
                (4, 1, 1), (5, 1, 2), (6, 1, 3), (7, 1, 3)), 4, False),  # some of them
    ],
)  # fmt: skip
def test_a_node_is_even_where_units_are_of_one_size(
    pus: list[Json], numa_nodes: int, is_even: bool
) -> None:
    node = {"pu_list": pus, "pus_online": len(pus), "numa_nodes": numa_nodes}
    found = topology_of_node(node)
    assert found.is_even is is_even
    assert found.core == {each["pu"]: each["core"] for each in pus}


def test_a_part_of_a_node_is_not_even() -> None:
    assert topology_of_node(even_node()).is_even
    assert not topology_of_node(even_node(pus_online=9)).is_even
    untold = {key: value for key, value in even_node().items() if key != "pus_online"}
    assert not topology_of_node(untold).is_even


def test_a_hidden_core_makes_each_pu_one() -> None:
    pus = placed((0, 0, 0), (0, 0, 0), (-1, 0, 0))
    found = topology_of_node({"pu_list": pus, "pus_online": 3, "numa_nodes": 1})
    assert found == Topology((Pu(0, 0, 0, 0), Pu(1, 1, 0, 0), Pu(2, 2, 0, 0)), False)


@pytest.mark.parametrize(
    ("second", "more", "is_even"),
    [
        ("", "", True),
        ("memory_mb = 4\n", "", True),
        ("memory_mb = 0\n", "", False),
        ("", "[[numa_node]]\npackage = 0\npus = []\n", False),
    ],
)
def test_a_described_machine_is_even(second: str, more: str, is_even: bool) -> None:
    text = f'{HEAD}[[numa_node]]\npackage = 0\npus = ["0-1"]\n'
    text += f'[[numa_node]]\npackage = 1\n{second}pus = ["2-3"]\n{more}'
    assert topology_of_machine(parse_machine(text, Path("odd.toml"))).is_even is is_even


@pytest.mark.parametrize(
    ("choices", "left_over"),
    [
        ([], 0),
        ([[0]], 0),
        ([[]], 1),
        ([[0], [0]], 1),
        ([[0], [0], [0]], 2),
        ([[0, 1], [0]], 0),  # the first gives way
        ([[0, 1], [1, 2], [0], [2]], 1),
        ([[0, 1], [1, 2], [2, 3], [0]], 0),  # all of them do
        ([[0, 1], [0, 1], [0, 1], [5]], 1),
    ],
)
def test_how_many_get_no_unit_of_their_own(
    choices: Sequence[Sequence[int]], left_over: int
) -> None:
    assert count_unmatched(choices) == left_over


# ---- what hwloc saw ----------------------------------------------------------------------


def seen_node() -> Json:
    """Two NUMA nodes, the second one first; PU 0 is in no L3, and all are in one package."""
    return {
        "pu_list": [
            entry(2, 0, 0, 1, l3=0), entry(3, 1, 0, 1, l3=0),
            entry(0, 2, 0, 0, l3=-1), entry(1, 2, 0, 0),
        ],
        "numa_node_list": [
            {"numa_node": 1, "memory_bytes": 5}, {"numa_node": 0, "memory_bytes": 5},
        ],
        "distances": [[10, 21], [22, 10]],
    }  # fmt: skip


def test_a_structure_is_read_from_what_hwloc_saw() -> None:
    found = structure_of_node(seen_node())
    every, l3 = frozenset(range(4)), frozenset({2, 3})
    assert found.pus == (
        PuUnits(2, frozenset({2}), l3, every, 1), PuUnits(3, frozenset({3}), l3, every, 1),
        PuUnits(0, frozenset({0, 1}), frozenset(), every, 0),
        PuUnits(1, frozenset({0, 1}), frozenset(), every, 0),
    )  # fmt: skip
    assert found.numa_nodes == (1, 0)
    assert found.distances == {(1, 1): 10, (1, 0): 21, (0, 1): 22, (0, 0): 10}
    assert found.largest == {0, 1}
    assert found.l3s == {l3}
    with pytest.raises(LookupError, match="distances"):
        structure_of_node(seen_node() | {"distances": [[10, 21]]})


TWO = parse_machine(
    f'{HEAD}distances = [[10, 22], [21, 10]]\n[[numa_node]]\npackage = 0\npus = ["0", "1"]\n'
    '[[numa_node]]\npackage = 0\npus = ["2,3"]\n',
    Path("odd.toml"),
)


def test_differences_name_the_pus_of_units() -> None:
    assert differences(TWO, seen_node()) == (
        "PUs in hwloc's order: [2, 3, 0, 1], described as [0, 1, 2, 3]",
        "L3s: (2,3), described as (0,1) (2,3)",
    )
    pus = sorted(seen_node()["pu_list"], key=lambda each: each["pu"])
    pus = [each | {"l3": each["numa_node"]} for each in pus]
    alike = seen_node() | {"pu_list": pus}
    assert differences(TWO, alike) == ()
    apart = [each | {"core": each["pu"], "package": each["pu"] // 2} for each in pus]
    assert differences(TWO, alike | {"pu_list": apart}) == (
        "packages: (0,1) (2,3), described as (0-3)",
        "cores: (0) (1) (2) (3), described as (0,1) (2) (3)",
    )
    other = [{"numa_node": 0, "memory_bytes": 1}, {"numa_node": 5, "memory_bytes": 1}]
    said = differences(TWO, alike | {"numa_node_list": other})
    assert "NUMA nodes: [0, 5], described as [0, 1]" in said


def test_linux_tells_no_distance_of_a_single_numa_node() -> None:
    one = parse_machine(f'{HEAD}[[numa_node]]\npackage = 0\npus = ["0"]\n', Path("odd.toml"))
    seen: Json = {
        "pu_list": [entry(0, 0, 0, 0, l3=0)],
        "numa_node_list": [{"numa_node": 0, "memory_bytes": 1}],
        "distances": None,
    }
    assert differences(one, seen) == ()
    assert differences(one, seen | {"distances": [[10]]}) == ()
    (said,) = differences(one, seen | {"distances": [[11]]})
    assert said.startswith("distances: ")
    with pytest.raises(LookupError):
        differences(TWO, seen)
