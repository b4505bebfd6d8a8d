"""The cores and NUMA nodes that an export has, what is told of them in notes, and how the program's
JSON is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.export_records import export, node, part

from numalab.errors import UserError
from numalab.machines.export_parts import (
    ExportedCore,
    kind_of,
    kinds_of_pus,
    listed,
    read_cores,
    read_numa_nodes,
)
from numalab.machines.hwloc_export import (
    Announced,
    Distances,
    HwlocCoreKind,
    HwlocExport,
    HwlocNumaNode,
    HwlocPart,
    read_export,
)
from numalab.machines.hwloc_import import machine_text
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine

SINGLES = [[0], [1], [2], [3]]
HALVES = ([0, 1], [2, 3])


def imported(one: HwlocExport) -> Machine:
    return parse_machine(machine_text(one, "node", "here", "node.xml"), Path("node.toml"))


def pus_of_nodes(one: HwlocExport) -> dict[int, list[int]]:
    found = read_numa_nodes(one, read_cores(one, "x"), "x")
    return {each.number: [pu for core in each.cores for pu in core.pus] for each in found}


def refused(one: HwlocExport) -> str:
    with pytest.raises(UserError) as caught:
        imported(one)
    return str(caught.value)


# ---- cores -------------------------------------------------------------------------------


def test_cores_come_in_hwlocs_order_of_their_first_pus() -> None:
    """Of core 0 one PU comes first and one last; 7 is in no core, and 9 of one is not there."""
    one = export(
        [[0, 5], [1, 2]], [], pus=(7, 5, 1, 2, 0),
        cores=(part([1, 2]), part([0, 5, 9]), part([9])),
        l3s=(part([1, 2]), part([0, 5])), packages=(part([1, 2]), part([]), part([0, 5])),
        core_kinds=(
            HwlocCoreKind(frozenset({0, 5}), 1, {}), HwlocCoreKind(frozenset({1, 2}), 0, {}),
        ),
    )  # fmt: skip
    # The package of PU 0 is package 0, and what is in none is one more.
    assert read_cores(one, "x") == [
        ExportedCore((7,), -1, "", 2),
        ExportedCore((0, 5), 1, "performance", 0),
        ExportedCore((1, 2), 0, "efficiency", 1),
    ]


def test_pus_of_no_package_are_one_package() -> None:
    assert {core.package for core in read_cores(export(SINGLES, []), "x")} == {0}
    rest_first = export(SINGLES, [], packages=(part([2, 3]),))
    assert [core.package for core in read_cores(rest_first, "x")] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (export([], []), "x: no PU is in it; export it anew"),
        (export([[0], [1], [0]], []), "x: PU 0 appears twice; export it anew"),
        (export([[0], [1], [1], [0]], []), "x: PU 1 appears twice"),
    ],
)
def test_exports_without_cores(one: HwlocExport, words: str) -> None:
    with pytest.raises(UserError) as caught:
        read_cores(one, "x")
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("mhz", "names"),
    [
        # A quarter apart: 1250 of 1000 is, 1249 is not; of three neighbours each with the next one.
        ((1000, 1249), ["", ""]),
        ((1000, 1250), ["efficiency", "performance"]),
        ((1000, 1200, 1440), ["", "", ""]),
        ((1000, 1200, 1500), ["efficiency", "efficiency", "performance"]),
        ((3000, 1000, 2000), ["performance", "efficiency", "middle"]),
        ((0, 1), ["efficiency", "performance"]),
        ((999_999_999, 1), ["performance", "efficiency"]),
        ((1_000_000_000, 1), ["", ""]),
    ],
)
def test_frequencies_a_quarter_apart_are_of_unlike_cores(
    mhz: Sequence[int], names: Sequence[str]
) -> None:
    kinds = [
        HwlocCoreKind(frozenset({pu}), -1, {"FrequencyMaxMHz": str(value)})
        for pu, value in enumerate(mhz)
    ]
    found = kinds_of_pus(kinds)
    assert [found.get(pu, "") for pu in range(len(mhz))] == names


@pytest.mark.parametrize(
    ("infos", "ranks", "names"),
    [
        ([{"CoreType": "IntelAtom"}, {"CoreType": "IntelCore"}], [0, 0],
         ["efficiency", "performance"]),
        ([{"CoreType": "IntelAtom"}, {}], [0, 1], ["efficiency", ""]),
        # One name for all says nothing, and the next fact is looked at.
        ([{"CoreType": "A", "LinuxCapacity": "1"}, {"CoreType": "A", "LinuxCapacity": "2"}], [1, 0],
         ["efficiency", "performance"]),
        # Not all have a capacity, or one that is a number: the frequencies decide.
        ([{"LinuxCapacity": "1", "FrequencyMaxMHz": "2"}, {"FrequencyMaxMHz": "1"}], [0, 1],
         ["performance", "efficiency"]),
        ([{"LinuxCapacity": "x", "FrequencyMaxMHz": "2"},
          {"LinuxCapacity": "1", "FrequencyMaxMHz": "1"}], [0, 1], ["performance", "efficiency"]),
        ([{"LinuxCapacity": "1", "FrequencyMaxMHz": "9"},
          {"LinuxCapacity": "2", "FrequencyMaxMHz": "1"}], [0, 0], ["efficiency", "performance"]),
        ([{}, {}], [4, 2], ["performance", "efficiency"]),
        ([{}, {}, {}], [0, 0, 3], ["efficiency", "efficiency", "performance"]),
        ([{}, {}], [3, 3], ["", ""]),
        ([{}, {}], [-1, 0], ["", ""]),
        ([{}], [0], [""]),
    ],
)  # fmt: skip
def test_what_tells_most_of_cores_comes_first(
    infos: Sequence[dict[str, str]], ranks: Sequence[int], names: Sequence[str]
) -> None:
    pairs = zip(infos, ranks, strict=True)
    found = kinds_of_pus([HwlocCoreKind(frozenset({pu}), r, i) for pu, (i, r) in enumerate(pairs)])
    assert [found.get(pu, "") for pu in range(len(infos))] == names


# ---- NUMA nodes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node(1, range(4)), node(0, range(4))], {0: [0, 1, 2, 3], 1: []}),
        ([node(0, range(4)), node(1, [2, 3])], {0: [0, 1], 1: [2, 3]}),
        ([node(1, range(4)), node(0, [2, 3])], {0: [2, 3], 1: [0, 1]}),
        ([node(0, [2, 3], kind="HBM"), node(1, range(4))], {0: [], 1: [0, 1, 2, 3]}),
        ([node(0, range(4), kind="HBM"), node(1, range(4), kind="DDR")], {0: [], 1: [0, 1, 2, 3]}),
        ([node(0, range(4), kind="HBM")], {0: [0, 1, 2, 3]}),
        ([node(0, range(4), infos={"DAXType": "NVM"}), node(3, range(4))],
         {0: [], 3: [0, 1, 2, 3]}),
        ([node(0, range(4), infos={"CXLDevice": "x"}), node(3, range(4))],
         {0: [], 3: [0, 1, 2, 3]}),
        # One whose PUs were kept from who made the export is left out.
        ([node(0, [], complete=frozenset({8})), node(1, range(4))], {1: [0, 1, 2, 3]}),
        ([node(0, [], complete=frozenset()), node(1, range(4))], {0: [], 1: [0, 1, 2, 3]}),
    ],
)  # fmt: skip
def test_cores_are_counted_as_linux_does(
    nodes: Sequence[HwlocNumaNode], expected: dict[int, list[int]]
) -> None:
    """To ordinary memory, to that of a part rather than of the whole, to the first of several."""
    assert pus_of_nodes(export(SINGLES, nodes)) == expected


@pytest.mark.parametrize(
    ("memory", "kind"),
    [
        (node(0, [], kind="HBM"), "HBM"),
        (node(0, [], kind="HBM", infos={"DAXType": "NVM", "CXLDevice": "x"}), "HBM"),
        (node(0, [], infos={"DAXType": "NVM", "CXLDevice": "x"}), "NVM"),
        (node(0, [], infos={"CXLDevice": ""}), "CXL"),
        (node(0, []), ""),
        (node(0, [], kind="x" * 30), "x" * 24),
        (node(0, [], kind="\x1b"), "\\x1b"),
    ],
)
def test_what_memory_is_made_of(memory: HwlocNumaNode, kind: str) -> None:
    assert kind_of(memory) == kind


def test_what_is_in_no_numa_node_is_one_for_each_package() -> None:
    cores = [[pu] for pu in range(8)]
    packages = tuple(part(pus) for pus in ([0, 1], [2, 3], [4, 5, 6, 7]))
    one = export(cores, [node(3, [2, 3]), node(1, [4, 5])], packages=packages)
    found = read_numa_nodes(one, read_cores(one, "x"), "x")
    told = [(n.number, [c.pus[0] for c in n.cores], n.is_added, set(n.memory.pus)) for n in found]
    assert told == [
        (1, [4, 5], False, {4, 5}), (3, [2, 3], False, {2, 3}), (4, [0, 1], True, {0, 1}),
        (5, [6, 7], True, {6, 7}),
    ]  # fmt: skip
    assert found[2].memory == node(4, [0, 1], 0)
    machine = imported(one)
    assert [each.memory_mb for each in machine.numa_nodes] == [1000, 1000, 0, 0]
    numbers = [note.split("NUMA node ")[-1][0] for note in machine.notes if "hold" in note]
    assert numbers == ["4", "5"]
    lacking = export(
        cores, [node(3, [2, 3])], packages=packages, complete_numa_nodes=frozenset({3, 6})
    )
    assert "no NUMA node holds the PUs 0,1,4-7," in refused(lacking)
    not_allowed = replace(node(0, [], 1000), complete=frozenset({0}))
    assert "no NUMA node holds the PUs 0-7," in refused(export(cores, [not_allowed]))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "no NUMA node is in it"),
        ([node(None, range(4))], "a NUMA node has no number"),
        ([node(2, range(4)), node(2, [0])], "NUMA node 2 appears twice"),
        ([node(1, range(4)), node(4, range(4))], "NUMA nodes 1,4 all have the PUs 0-3, of several"),
        ([node(4, range(4)), node(1, range(4)), node(0, range(4), kind="HBM")],
         "NUMA nodes 1,4 all have"),
    ],
)  # fmt: skip
def test_numa_nodes_that_are_refused(nodes: Sequence[HwlocNumaNode], words: str) -> None:
    packages = tuple(map(part, HALVES))
    assert words in refused(export(SINGLES, nodes, packages=packages))


@pytest.mark.parametrize(
    ("nodes", "packages"),
    [
        ([node(0, range(4)), node(1, range(4))], [range(4)]),  # of one package
        ([node(0, range(4)), node(1, range(4), kind="HBM")], HALVES),
        ([node(0, range(4)), node(1, [2, 3])], HALVES),
        ([node(0, range(4)), node(1, [])], HALVES),
        ([node(0, range(4))], HALVES),
        # Two of memory only beside those that have the cores.
        ([node(0, [0, 1]), node(1, [2, 3]), node(2, range(4)), node(3, range(4))], HALVES),
    ],
)
def test_numa_nodes_that_cross_no_packages(
    nodes: Sequence[HwlocNumaNode], packages: Sequence[Sequence[int]]
) -> None:
    machine = imported(export(SINGLES, nodes, packages=tuple(map(part, packages))))
    assert machine.pus == 4


def test_many_numbers_are_not_listed_without_end() -> None:
    assert listed([0, 1, 2, 5]) == "0-2,5"
    assert len(listed([n * n for n in range(200)])) <= 200 < len(str(list(range(200))))


# ---- packages of memory only -------------------------------------------------------------

FAR = Distances((0, 1, 2), ((10, 20, 40), (20, 10, 30), (15, 25, 10)))
TWO = (node(0, [0, 1]), node(1, [2, 3]))


@pytest.mark.parametrize(
    ("pus", "distances", "package", "is_noted"),
    [
        ([2, 3], None, 1, False),
        ([3], FAR, 1, False),
        # 40 and 30 to it from the two nodes; what it has to them does not count.
        ([], FAR, 1, True),
        (range(4), FAR, 1, True),
        ([], Distances((0, 1, 2), ((10, 20, 30), (20, 10, 30), (15, 12, 10))), 0, True),
        ([], None, 0, True),
        (range(4), None, 0, True),
    ],
)
def test_memory_only_is_given_to_a_package(
    pus: Sequence[int], distances: Distances | None, package: int, is_noted: bool
) -> None:
    one = export(
        SINGLES, [*TWO, node(2, pus, kind="HBM")], packages=tuple(map(part, HALVES)),
        distances=distances,
    )  # fmt: skip
    machine = imported(one)
    assert [each.package for each in machine.numa_nodes] == [0, 1, package]
    assert any("which package NUMA nodes 2 belong" in note for note in machine.notes) == is_noted


def test_memory_only_is_beside_the_one_package_that_there_is() -> None:
    machine = imported(export(SINGLES, [*TWO, node(2, [], kind="HBM")]))
    assert [each.package for each in machine.numa_nodes] == [0, 0, 0]
    assert not any("which package" in note for note in machine.notes)
    # Near to packages 1 and 2 it is given to the first of them.
    cores = [*SINGLES, [4], [5]]
    packages = tuple(part(pus) for pus in ([0, 1], [2, 3], [4, 5]))
    nodes = [*TWO, node(2, [4, 5]), node(3, range(2, 6), kind="HBM")]
    assert imported(export(cores, nodes, packages=packages)).numa_nodes[3].package == 1


def test_memory_only_beside_a_node_in_two_packages_is_given_to_the_first() -> None:
    one = export(
        SINGLES, [node(0, range(4)), node(1, [], kind="HBM")],
        packages=(part([0, 2]), part([1, 3])), distances=Distances((0, 1), ((10, 20), (20, 10))),
    )  # fmt: skip
    assert imported(one).numa_nodes[1].package == 0


# ---- notes -------------------------------------------------------------------------------


def starts(one: HwlocExport) -> list[str]:
    """The first words of the notes but for that on distances, to a verb."""
    notes = [note for note in imported(one).notes if "distances" not in note]
    return [note.split(" are ")[0].split(" were ")[0].split(" is ")[0] for note in notes]


WHOLE = [node(0, range(4))]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (export(SINGLES, WHOLE), []),
        (export([[0], [2]], [node(0, [0, 2])]), ["The machine's PUs 0,2"]),
        (export([[1], [2]], [node(0, [1, 2])]), ["The machine's PUs 1,2"]),
        (export([[1], [0]], [node(0, [0, 1])]), []),
        (export(SINGLES, [node(0, [0, 1]), node(2, [2, 3])]), ["The machine's NUMA nodes 0,2"]),
        (export(SINGLES, [node(1, range(4))]), ["The machine's NUMA nodes 1"]),
        (export(SINGLES, WHOLE, complete=frozenset(range(6))), ["PUs 4,5"]),
        (export(SINGLES, WHOLE, allowed=frozenset({0, 3})), ["PUs 1,2"]),
        (export(SINGLES, WHOLE, allowed=frozenset()), []),
        (export(SINGLES, WHOLE, dies=(part([0]),)), []),
        (export(SINGLES, WHOLE, dies=tuple(map(part, HALVES))),
         ["The export has 2 dies, which"]),
        (export(SINGLES, WHOLE, dies=tuple(map(part, HALVES)), packages=(part(range(4)), part([]))),
         ["The export has 2 dies, which"]),
        (export(SINGLES, TWO, dies=tuple(map(part, HALVES)), packages=tuple(map(part, HALVES))),
         []),
        (export(SINGLES, TWO, dies=tuple(map(part, SINGLES)), packages=tuple(map(part, HALVES))),
         ["The export has 4 dies, which"]),
        (export(SINGLES, TWO, l3s=(part(range(4)),)),
         ["NUMA nodes 0,1 share an L3 in the export; here each has one of its own."]),
        (export(SINGLES, TWO, l3s=tuple(map(part, HALVES))), []),
        (export(SINGLES, TWO), []),
        (export([[pu] for pu in range(8)], [node(n, [2 * n, 2 * n + 1]) for n in range(4)],
                l3s=(part(range(4)), part(range(4, 8)))),
         ["NUMA nodes 0,1 and 2,3 share an L3 in the export; here each has one of its own."]),
        (export(SINGLES, [*WHOLE, node(2, [], complete=frozenset({7})),
                          node(None, [], complete=frozenset({8}))]), ["NUMA nodes 2"]),
        (export(SINGLES, [*WHOLE, node(1, [])]), ["NUMA node 1"]),
        (export(SINGLES, WHOLE, infos={"Architecture": "ia64"}), ["Its instruction set"]),
    ],
)  # fmt: skip
def test_what_an_import_changes_is_noted(one: HwlocExport, expected: Sequence[str]) -> None:
    assert starts(one) == expected


@pytest.mark.parametrize(
    ("pus", "words"),
    [
        (range(4), "NUMA node 2 (HBM) is memory only, beside NUMA nodes 0,1 with the PUs."),
        ([0, 1], "NUMA node 2 (HBM) is memory only, beside NUMA node 0 with the PUs."),
        ([2], "NUMA node 2 (HBM) is memory only, beside NUMA node 1 with the PUs; that it is "
              "nearest to PUs 2 alone is not described."),
        ([], "NUMA node 2 (HBM) is memory only."),
    ],
)  # fmt: skip
def test_beside_what_memory_is_is_noted(pus: Sequence[int], words: str) -> None:
    assert words in imported(export(SINGLES, [*TWO, node(2, pus, kind="HBM")])).notes


@pytest.mark.parametrize(("count", "noted", "more"), [(8, 8, None), (9, 7, 2), (20, 7, 13)])
def test_no_more_than_eight_notes_are_of_memory_only(
    count: int, noted: int, more: int | None
) -> None:
    nodes = [*WHOLE, *(node(n, []) for n in range(1, count + 1))]
    notes = [note for note in imported(export(SINGLES, nodes)).notes if "memory only" in note]
    assert notes[:noted] == [f"NUMA node {n} is memory only." for n in range(1, noted + 1)]
    assert notes[noted:] == (
        [] if more is None else [f"{more} more NUMA nodes are memory only, too."]
    )


# ---- the program's JSON ------------------------------------------------------------------


def told(**more: Any) -> dict[str, Any]:
    """What the program prints of one PU."""
    one = {"pus": [0], "infos": {"a": "b"}}
    return {
        "infos": {"CPUModel": " "}, "pus": [{"number": 0}], "complete": [0, 1], "allowed": None,
        "packages": [{"pus": [0], "infos": {"CPUModel": " x "}}], "dies": [one],
        "l3s": [one | {"bytes": 7}], "cores": [one | {"pus": None}],
        "core_kinds": [one | {"efficiency": -1}],
        "numa_nodes": [
            one | {"number": 3, "memory_bytes": 9, "kind": None, "memory_side_caches": [1, 2],
                   "complete": [0, 5]},
            one | {"number": None, "memory_bytes": 0, "kind": "HBM", "memory_side_caches": [],
                   "complete": None},
        ],
        "memory_attributes": [
            {"name": "Latency", "values": [{"numa_node": 3, "value": 4},
                                           {"numa_node": None, "value": 5}]},
        ],
        "distances": {"numa_nodes": [3, None], "values": [[10, 20], [20, 10]]},
        "complete_numa_nodes": [3, 4],
    } | more  # fmt: skip


def test_the_programs_words_are_read() -> None:
    pu, infos = frozenset({0}), {"a": "b"}
    found = read_export(told())
    assert found == HwlocExport(
        infos={"CPUModel": " "},
        pus=(0,),
        complete=frozenset({0, 1}),
        allowed=frozenset(),
        packages=(HwlocPart(pu, 0, {"CPUModel": " x "}),),
        dies=(HwlocPart(pu, 0, infos),),
        l3s=(HwlocPart(pu, 7, infos),),
        cores=(HwlocPart(frozenset(), 0, infos),),
        core_kinds=(HwlocCoreKind(pu, -1, infos),),
        numa_nodes=(
            HwlocNumaNode(3, pu, 9, "", infos, 3, frozenset({0, 5})),
            HwlocNumaNode(None, pu, 0, "HBM", infos, 0, frozenset()),
        ),
        announced=(Announced("Latency", {3: 4}),),
        distances=Distances((3, None), ((10, 20), (20, 10))),
        complete_numa_nodes=frozenset({3, 4}),
    )
    assert [found.info("CPUModel"), found.info("Architecture")] == ["x", ""]
    assert read_export(told(infos={"CPUModel": "own"})).info("CPUModel") == "own"
    assert read_export(told(distances=None)).distances is None
    with pytest.raises(ValueError, match="a PU has no number"):
        read_export(told(pus=[{"number": 0}, {"number": None}]))
