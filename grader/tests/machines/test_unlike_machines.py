"""Machines of today: large ones, unlike cores and NUMA nodes, memory without cores and of several
kinds, other instruction sets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.structures import differences

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.machines import picture
from numalab.machines.announced import announces_cores, other_processors, own_and_other
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine
from numalab.machines.rates import known_rate, rate_name, unknown_rates
from numalab.machines.topology import topology_of_machine
from numalab.modelling.times import modelled, why_not
from numalab.modelling.traffic import single_node_traffic, summed
from numalab.pu_lists import parse_pus

# Two packages of unlike NUMA nodes, one of them of memory only in the midst; L3s of two cores, of
# one and of none; three kinds of cores, of which one has two threads.
UNLIKE = """\
name = "unlike"
title = "Unlike"
source = "me"
distances = [[10, 20, 30, 25], [20, 10, 20, 40], [30, 20, 10, 33], [25, 40, 33, 10]]

[[numa_node]]
package = 0
memory_mb = 4096
memory_kind = "DDR5"

[[numa_node.cores]]
kind = "performance"
pus = ["0,2", "1,3"]

[[numa_node.cores]]
kind = "efficiency"
pus = ["4-6"]

[[numa_node.cores]]
kind = "low power"
pus = ["7,8"]
l3_groups = 0

[[numa_node]]
package = 1
memory_mb = 65536
memory_kind = "CXL"
pus = []

[[numa_node]]
package = 0
memory_mb = 4096
memory_kind = "DDR5"
memory_side_cache_mb = 512

[[numa_node.cores]]
pus = ["9-12"]
l3_groups = 2

[[numa_node.cores]]
pus = ["13"]
l3_groups = 1

[[numa_node]]
package = 1
memory_kind = "DDR5"
pus = ["14-16"]
"""


@pytest.fixture(scope="module")
def unlike() -> Machine:
    return parse_machine(UNLIKE, Path("unlike.toml"))


def even(packages: int, nodes: int, cores: int, threads: int, groups: int = 1) -> Machine:
    """Siblings last; made up."""
    total = packages * nodes * cores
    text = 'name = "even"\ntitle = "Even"\nsource = "me"\n'
    for number in range(packages * nodes):
        first = number * cores
        lists = ", ".join(
            f'"{first + thread * total}-{first + thread * total + cores - 1}"'
            for thread in range(threads)
        )
        text += f"[[numa_node]]\npackage = {number // nodes}\npus = [{lists}]\n"
        text += f"l3_groups = {groups}\n"
    return parse_machine(text, Path("even.toml"))


LARGE = {256: (2, 4, 16, 2, 2), 384: (2, 4, 24, 2, 3), 512: (2, 4, 32, 2, 4)}


# ---- reading ------------------------------------------------------------------------------------


def test_unlike_units_are_read(unlike: Machine) -> None:
    first, memory, groups, last = unlike.numa_nodes
    assert [[core.pus for core in group] for group in first.core_groups] == [
        [(0, 1), (2, 3), (4,), (5,), (6,)], [(7,), (8,)]
    ]  # fmt: skip
    assert [core.has_l3 for core in first.cores] == [True] * 5 + [False] * 2
    assert [len(group) for group in groups.core_groups] == [2, 2, 1]
    assert (memory.cores, memory.memory_kind, groups.memory_side_cache_mb) == ((), "CXL", 512)
    assert unlike.core_kinds == {"performance": 2, "efficiency": 3, "low power": 2, "": 8}
    assert unlike.memory_kinds == ("DDR5", "CXL")
    assert unlike.shape == "2 x 1-2 x 3-7 x 1-2"
    assert unlike.pus == 17 == len(unlike.pu_table)
    assert last.pus == (14, 15, 16)


CORES = UNLIKE[UNLIKE.index("[[numa_node.cores]]") : UNLIKE.index("[[numa_node]]\npackage = 1")]
BAD = {
    "both notations": ('memory_kind = "DDR5"\n\n', 'pus = ["0"]\n', 9, "in each"),
    "a node's L3s": ('memory_kind = "DDR5"\n\n', "l3_groups = 2\n", 9, "in each"),
    "no table": (CORES, "cores = []\n", 11, "empty list; a node of memory only has pus = []"),
    "no PUs": ('pus = ["4-6"]', "", 15, "[[numa_node.cores]] has no key 'pus'"),
    "empty": ('pus = ["4-6"]', "pus = []", 17, "empty"),
    "kind of cores": ('kind = "efficiency"', f'kind = "{"e" * 25}"', 16, "24 characters"),
    "another key": ('kind = "efficiency"', 'sort = "efficiency"', 16, "The keys are: kind"),
    "unequal threads": ('"0,2", "1,3"', '"0,2", "1"', 13, "cores with fewer threads a [[numa"),
    "unequal L3s": ('["9-12"]', '["9-11"]', 38, "3 cores can't be split in 2"),
    "PU twice in a node": ('["4-6"]', '["4-6,0"]', 17, "PU 0 is listed twice, in NUMA node 0;"),
    "PU twice": ('["13"]', '["4"]', 41, "PU 4 is listed twice, in NUMA nodes 0 and 2"),
    "PU 0 elsewhere": ('"0,2", "1,3"', '"2,0", "1,3"', 13, "must be PU 0"),
    "kind of memory": ('memory_kind = "CXL"', 'memory_kind = ""', 27, "more than nothing"),
    "memory's cache": ("cache_mb = 512", "cache_mb = 0", 34, "1 or more"),
    "architecture": ('source = "me"', 'source = "me"\narchitecture = "arm64"', 4, "aarch64"),
    "CPUID of others": (
        'source = "me"', 'source = "me"\narchitecture = "aarch64"\nprocessor = "EPYC 9654"', 5,
        "take it out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_refused_with_their_line(case: str) -> None:
    old, new, line, words = BAD[case]
    text = UNLIKE.replace(old, new)
    assert text != UNLIKE
    with pytest.raises(UserError) as caught:
        parse_machine(text, Path("unlike.toml"))
    assert str(caught.value).startswith(f"unlike.toml:{line}: "), caught.value
    assert words in str(caught.value)


def test_no_more_numa_nodes_than_linux_knows() -> None:
    node = "[[numa_node]]\npackage = 0\npus = []\n"
    head = 'name = "many"\ntitle = "Many"\nsource = "me"\n[[numa_node]]\npackage = 0\npus = ["0"]\n'
    assert len(parse_machine(head + 1023 * node, Path("many.toml")).numa_nodes) == 1024
    with pytest.raises(UserError, match=r"many\.toml:3076: 1025 NUMA nodes"):
        parse_machine(head + 1024 * node, Path("many.toml"))


# ---- scaling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 5, 6, 7])
def test_scaled_machines_are_numbered_without_gaps_and_again_the_same(
    unlike: Machine, cores: int
) -> None:
    small = unlike.scaled(cores)
    assert small.cores_per_node.most <= cores
    numbers = [pu for node in small.numa_nodes for pu in node.pus]
    assert sorted(numbers) == list(range(small.pus))
    assert small.pu_table[0] == (0, 0, 0, 0)
    assert [bool(node.cores) for node in small.numa_nodes] == [True, False, True, True]
    # What a record tells of a virtual node is enough to make it again.
    assert unlike.scaled(small.cores_per_node.most) == small
    assert unlike.scaled_to_cores(small.cores).pus == small.pus


def test_scaled_machines_keep_some_cores_of_each_kind(unlike: Machine) -> None:
    first = unlike.scaled(4).numa_nodes[0]
    assert [[core.kind for core in group] for group in first.core_groups] == [
        ["performance", "efficiency"], ["low power", "low power"]
    ]  # fmt: skip
    assert [core.kind for core in unlike.scaled(6).numa_nodes[0].cores].count("efficiency") == 2


# ---- pictures -----------------------------------------------------------------------------------


def shown_pus(lines: list[str]) -> list[int]:
    text = re.sub(r"(Package|node|cache) \d+|\d+ MiB|L3", "", "\n".join(lines))
    lists = re.findall(r"[\d:-]*\d", text.replace("DDR5", ""))
    return sorted(pu for part in lists for pu in parse_pus(part))


@pytest.mark.parametrize("width", [80, 60])
def test_unlike_units_are_pictured(unlike: Machine, width: int) -> None:
    lines = [line.plain for line in picture.terminal(unlike, width)]
    assert all(len(line) <= width for line in lines)
    legend = next(number for number, line in enumerate(lines) if line.startswith("Numbers"))
    assert shown_pus(lines[:legend]) == list(range(17))
    text = "\n".join(lines)
    for words in ("performance: 0", "efficiency: 4", "no L3: low power: 7", "CXL", "memory only",
                  "cache 512 MiB"):  # fmt: skip
        assert words in text, words
    words = picture.description(unlike)
    assert "without L3: 7 8" in words
    assert "2 performance cores: PUs 0-3; 3 efficiency cores: PUs 4-6" in words
    assert "4096 MiB DDR5, behind 512 MiB of memory-side cache" in words
    assert picture.summary(unlike) == (
        "2 packages x 1-2 NUMA nodes x 3-7 cores x 1-2 threads = 17 PUs, and 1 NUMA node of memory "
        "only"
    )


@pytest.mark.parametrize("pus", LARGE)
def test_large_machines_are_pictured(pus: int) -> None:
    machine = even(*LARGE[pus])
    assert machine.pus == pus
    lines = [line.plain for line in picture.terminal(machine, 80)]
    assert all(len(line) <= 80 for line in lines)
    assert shown_pus(lines[:-1]) == list(range(pus))


# ---- what a virtual node shows ------------------------------------------------------------------


def test_what_a_virtual_node_can_not_show_is_said(unlike: Machine) -> None:
    said = " ".join(own_and_other(unlike))
    for words in ("cores are all of one kind", "without an L3 share one", "Memory is of one kind"):
        assert words in said
    assert "all of one kind" not in " ".join(own_and_other(even(1, 1, 2, 1)))


def test_another_instruction_set_is_said(unlike: Machine) -> None:
    text = UNLIKE.replace('source = "me"', 'source = "me"\narchitecture = "aarch64"')
    arm = parse_machine(text, Path("unlike.toml"))
    assert not arm.is_native and unlike.is_native
    assert "own are Arm" in own_and_other(arm)[-1] and "Arm" in other_processors("aarch64")
    assert other_processors(unlike.architecture) == ""
    # libomp looks elsewhere there.
    assert announces_cores(unlike) and not announces_cores(arm)


def seen_of(machine: Machine) -> Json:
    """As describe_node tells of a virtual node that is as described; made up."""
    l3s: dict[int, int] = {}
    groups = [group for node in machine.numa_nodes for group in node.core_groups]
    for number, group in enumerate(groups):
        l3s.update({pu: number for core in group for pu in core.pus})
    order = [0, 2, 1, 3]  # hwloc puts memory beside the cores that are near
    distances = machine.guest_distances()
    return {
        "pu_list": [
            {"pu": pu.number, "core": pu.core, "l3": l3s[pu.number], "package": pu.package,
             "numa_node": pu.numa_node}
            for pu in topology_of_machine(machine).pus
        ],
        "numa_node_list": [{"numa_node": number, "memory_bytes": 1} for number in order],
        "distances": [[distances[i][j] for j in order] for i in order],
    }  # fmt: skip


def test_what_is_seen_is_compared(unlike: Machine) -> None:
    seen = seen_of(unlike)
    assert differences(unlike, seen) == ()
    for key, pu, value, what in (
        ("core", 5, 2, "cores"), ("l3", 13, 2, "L3s"), ("package", 16, 0, "packages"),
        ("numa_node", 16, 2, "NUMA nodes of PUs"),
    ):  # fmt: skip
        entries = [e | {key: value} if e["pu"] == pu else e for e in seen["pu_list"]]
        told = differences(unlike, seen | {"pu_list": entries})
        assert len(told) == 1 and told[0].startswith(f"{what}: "), told
    swapped = [seen["pu_list"][0], *reversed(seen["pu_list"][1:])]
    assert any("order" in line for line in differences(unlike, seen | {"pu_list": swapped}))
    farther = [*seen["distances"][:-1], [99, 99, 99, 10]]
    assert differences(unlike, seen | {"distances": farther})[0].startswith("distances: ")


# ---- rates by kind of memory --------------------------------------------------------------------


def controller(gb_s: int, kind: str = "", of: str = "controller") -> str:
    named = f'memory_kind = "{kind}"\n' if kind else ""
    return f'[[rate]]\nof = "{of}"\n{named}gb_s = {gb_s}\nsource = "me"\nhow = "made up"\n'


def test_memory_of_several_kinds_has_several_rates() -> None:
    text = UNLIKE + controller(40, "DDR5") + controller(10, "CXL")
    machine = parse_machine(text, Path("unlike.toml"))
    assert known_rate(machine.rates, "controller", memory_kind="CXL") == 10
    assert [rate_name(rate) for rate in machine.rates] == [
        "a controller of DDR5", "a controller of CXL"
    ]  # fmt: skip
    assert why_not(machine) is None
    near = modelled(machine, single_node_traffic(machine, 2))
    assert near is not None and near.gb_s == pytest.approx(40)
    far = modelled(machine, summed([((0, 1), 1.0)], 1))
    assert far is not None and far.gb_s == pytest.approx(10)
    without = parse_machine(UNLIKE + controller(40, "DDR5"), Path("unlike.toml"))
    spans, kinds = without.spanned_distances, without.memory_kinds
    assert "a controller of CXL" in unknown_rates(without.rates, spans, kinds, True)
    assert why_not(without) is None, "of memory that cores have themselves a rate is known"
    for near, far in ((1.0, 1.0), (0.0, 1.0)):
        traffic = summed([((0, 0), near), ((0, 1), far)], 1)
        assert modelled(without, traffic) is None
        assert "pages live on NUMA node 1 (CXL), and" in str(why_not(without, traffic))
    other = parse_machine(UNLIKE + controller(10, "CXL"), Path("unlike.toml"))
    assert why_not(other) is not None, "of memory that cores have themselves no rate is known"


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (controller(9, "HBM"), "that the NUMA nodes have: DDR5, CXL"),
        (controller(9, "CXL", of="core"), "belongs to controller"),
        (controller(9, "CXL") * 2, "a controller of CXL is given twice"),
    ],
)
def test_rates_of_kinds_that_can_not_be_meant(rates: str, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        parse_machine(UNLIKE + rates, Path("unlike.toml"))
