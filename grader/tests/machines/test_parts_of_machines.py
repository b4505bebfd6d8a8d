"""Nodes in several packages, what machines are scaled to, and what their files may hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from numalab.errors import UserError
from numalab.installation import find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Core, Figure, Machine, NumaNode, PuPlace, Span
from numalab.machines.machine_file import load_machine, parse_machine
from numalab.machines.seeded import seeded_machine

FILES = Path(__file__).parent / "files"
GALLERY = load_gallery(gallery_folder(find_installation("gnu")))
HEAD = 'name = "made"\ntitle = "Made"\nsource = "me"\n'


def read(text: str) -> Machine:
    return parse_machine(text, Path("made.toml"))


def made(*nodes: str, head: str = "") -> Machine:
    """nodes: what stands in each [[numa_node]]."""
    return read(HEAD + head + "".join(f"[[numa_node]]\n{node}\n" for node in nodes))


# ---- parts -------------------------------------------------------------------------------

CROSSING = made(
    'package = 0\nmemory_mb = 9\nmemory_kind = "DDR5"\nmemory_side_cache_mb = 2\n'
    '[[numa_node.cores]]\npackage = 1\npus = ["4,5"]\n'
    '[[numa_node.cores]]\npus = ["0", "1"]\nl3_groups = 1\n'
    '[[numa_node.cores]]\npackage = 1\npus = ["2,3"]\nl3_groups = 2\n',
    "package = 1\nmemory_mb = 7\npus = []",
)


def test_a_node_in_two_packages_has_a_part_in_each() -> None:
    node, only = CROSSING.numa_nodes
    assert [node.packages, only.packages] == [(0, 1), (1,)]
    first, second = CROSSING.parts
    assert first == NumaNode(0, 0, 9, ((Core((0, 1)),),), "DDR5", 2)
    assert second.core_groups == (
        (Core((4,), package=1), Core((5,), package=1)),
        (Core((2,), package=1),),
        (Core((3,), package=1),),
    )
    assert (second.number, second.package, second.memory_mb) == (0, 1, None)
    assert (second.memory_kind, second.memory_side_cache_mb) == ("", None)
    assert CROSSING.nodes_of(0) == (first,) and CROSSING.nodes_of(1) == (second, only)
    assert only.part_in(1) is only
    assert CROSSING.nodes_with_cores == (node,)
    assert (CROSSING.packages, CROSSING.shape) == (2, "2 x 1 x 1-4 x 1-2")
    assert (CROSSING.cores, CROSSING.pus) == (5, 6)
    assert CROSSING.cores_per_node == (5, 5) and CROSSING.groups_per_node == (4, 4)
    assert CROSSING.memory_kinds == ("DDR5", "")


def test_a_pu_is_found_by_its_number() -> None:
    assert CROSSING.pu_table == (
        PuPlace(0, 0, 2, 0), PuPlace(0, 0, 2, 1), PuPlace(1, 0, 3, 0), PuPlace(1, 0, 4, 0),
        PuPlace(1, 0, 0, 0), PuPlace(1, 0, 1, 0),
    )  # fmt: skip


def test_spans() -> None:
    assert Span.enclose([4, 2, 3]) == (2, 4) and str(Span.enclose([4, 2, 3])) == "2-4"
    assert str(Span.enclose(iter([5, 5]))) == "5"
    assert Span(1, 1).is_even and not Span(1, 2).is_even


def test_distances_that_a_source_lacks_are_linuxs() -> None:
    assert CROSSING.lacks_distances
    assert CROSSING.guest_distances() == ((10, 20), (20, 10))
    assert CROSSING.spanned_distances == {10, 20}
    alone = made('package = 0\npus = ["0"]')
    assert not alone.lacks_distances and alone.guest_distances() == ((10,),)
    known = load_machine(FILES / "memoryless.toml")
    assert not known.lacks_distances and known.guest_distances() is known.distances
    assert known.spanned_distances == {10, 16, 32}


def test_memory_of_a_virtual_node() -> None:
    """Of a machine from a seed its own, of others as much for each that has some."""
    three = made(
        'package = 0\npus = ["0"]', 'package = 0\nmemory_mb = 0\npus = ["1"]',
        "package = 0\nmemory_mb = 9000\npus = []",
    )  # fmt: skip
    assert three.guest_memory_mib(256) == (256, 0, 256)
    seeded = seeded_machine(7)
    assert seeded.guest_memory_mib(99) == tuple(node.memory_mb for node in seeded.numa_nodes)


def test_a_machine_is_written_without_its_text_and_origin() -> None:
    written = repr(CROSSING.scaled(2))
    assert "name='made'" in written and "title = " not in written
    assert (
        "text=" not in written and "scaled_from=" not in written and "package=None" not in written
    )


# ---- scaling -----------------------------------------------------------------------------


def groups_of(machine: Machine) -> list[list[list[int]]]:
    """The first PU of each core, by L3 and NUMA node."""
    return [
        [[core.pus[0] for core in group] for group in node.core_groups]
        for node in machine.numa_nodes
    ]


@pytest.mark.parametrize(
    ("cores", "sizes"),
    [
        (1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (4, [1, 1, 1]), (5, [1, 2, 2]), (6, [1, 2, 2]),
        (7, [1, 3, 3]), (8, [1, 3, 4]), (9, [1, 3, 5]), (10, [1, 3, 6]), (11, [1, 3, 7]),
    ],
)  # fmt: skip
def test_l3s_of_unlike_sizes_keep_equally_many_cores(cores: int, sizes: list[int]) -> None:
    """As far as they have them: here one, three and seven of eleven."""
    whole = made(
        "package = 0\n"
        + "".join(
            f'[[numa_node.cores]]\npus = ["{first}-{last}"]\nl3_groups = 1\n'
            for first, last in ((0, 0), (1, 3), (4, 10))
        )
    )
    (found,) = groups_of(whole.scaled(cores))
    assert [len(group) for group in found] == sizes
    assert (whole.scaled(cores) is whole) == (cores == 11)
    assert sorted(pu for group in found for pu in group) == list(range(sum(map(len, found))))


@pytest.mark.parametrize(
    ("cores", "kinds"),
    [
        (1, "a"), (2, "ab"), (3, "abc"), (4, "abcc"), (5, "abbcc"), (6, "abbccc"),
        (7, "aabbccc"), (8, "aabbbccc"), (9, "aabbbcccc"),
    ],
)  # fmt: skip
def test_of_each_kind_about_the_same_part_is_kept(cores: int, kinds: str) -> None:
    """Of two, four and six cores: first one of each, then of that of which the least is there."""
    whole = made(
        "package = 0\n"
        + "".join(
            f'[[numa_node.cores]]\nkind = "{kind}"\npus = ["{first}-{last}"]\n'
            for kind, first, last in (("a", 0, 1), ("b", 2, 5), ("c", 6, 11))
        )
    )
    (node,) = whole.scaled(cores).numa_nodes
    assert "".join(core.kind for core in node.cores) == kinds
    assert [core.pus for core in node.cores] == [(pu,) for pu in range(cores)]


@pytest.mark.parametrize(("cores", "of_each"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)])
def test_a_scaled_node_in_several_packages_stays_in_each(cores: int, of_each: int) -> None:
    """Also where the cores of all share an L3, and the first ones are in another package."""
    crossing = (
        'package = 0\n[[numa_node.cores]]\npackage = 1\npus = ["4-7"]\n'
        '[[numa_node.cores]]\npus = ["0-3"]\n'
    )
    found = made(crossing, 'package = 2\npus = ["8-15"]\n').scaled(cores)
    assert found.packages == 3
    assert [len(part.cores) for part in found.parts] == [of_each, of_each, cores]
    assert found.numa_nodes[0].part_in(0).cores[0].pus == (0,)


def test_pus_of_a_scaled_machine_are_ranked() -> None:
    whole = made('package = 0\npus = ["0-2", "6-8"]', 'package = 1\npus = ["3-5", "9-11"]')
    small = whole.scaled(2)
    assert [[core.pus for core in node.cores] for node in small.numa_nodes] == [
        [(0, 4), (1, 5)], [(2, 6), (3, 7)],
    ]  # fmt: skip
    assert small.scaled_from is whole and small.scaled(1).scaled_from is whole
    assert small.scaled(2) is small and small.scaled(3) is small
    for cores in (0, -1):
        with pytest.raises(UserError, match=f"made: {cores} cores per NUMA node; ask for 1 or"):
            whole.scaled(cores)


@pytest.mark.parametrize("name", GALLERY)
def test_a_machine_is_scaled_to_the_least_that_has_the_cores(name: str) -> None:
    whole = GALLERY[name]
    most = whole.cores_per_node.most
    sizes = sorted({whole.scaled(cores).cores for cores in (1, 2, 3, 5, most)})
    for fewer, cores in pairwise(sizes):
        assert whole.scaled_to_cores(cores).cores == cores
        assert whole.scaled_to_cores(fewer + 1).cores > fewer
    assert whole.scaled_to_cores(1) == whole.scaled(1)
    assert whole.scaled_to_cores(whole.cores) is whole.scaled_to_cores(10**6) is whole


# ---- files -------------------------------------------------------------------------------


def test_all_keys_of_a_numa_node_are_read() -> None:
    (node,) = made(
        "package = 0\nmemory_mb = 5\nmemory_side_cache_mb = 1\npeak_gb_s = 1\n"
        f'memory_kind = "{"k" * 24}"\npus = ["0,1", "2,3"]\nl3_groups = 2'
    ).numa_nodes
    assert node == NumaNode(0, 0, 5, ((Core((0, 2)),), (Core((1, 3)),)), "k" * 24, 1, 1)
    (bare,) = made('package = 0\npus = ["0,1"]').numa_nodes
    assert bare == NumaNode(0, 0, None, ((Core((0,)), Core((1,))),), "", None, None)
    (without,) = made('package = 0\npus = ["0,1"]\nl3_groups = 0').numa_nodes
    assert without.core_groups == ((Core((0,), has_l3=False), Core((1,), has_l3=False)),)


def test_cores_that_share_an_l3_stand_where_the_first_of_them_does() -> None:
    (node,) = made(
        'package = 0\n[[numa_node.cores]]\npus = ["0,1"]\nl3_groups = 2\n'
        '[[numa_node.cores]]\nkind = "a"\npus = ["2"]\n'
        '[[numa_node.cores]]\npus = ["3"]\nl3_groups = 0\n'
        '[[numa_node.cores]]\nkind = "b"\npus = ["4"]\n'
    ).numa_nodes
    assert node.core_groups == (
        (Core((0,)),), (Core((1,)),), (Core((2,), "a"), Core((4,), "b")),
        (Core((3,), has_l3=False),),
    )  # fmt: skip


def test_all_keys_of_a_machine_are_read() -> None:
    head = (
        'notes = ["one", "two"]\nprocessor = "EPYC 7451"\ndistances = [[10, 254], [11, 10]]\n'
        'architecture = "x86_64"\n'
    )
    found = made('package = 0\npus = ["0"]', 'package = 1\npus = ["1"]', head=head)
    assert (found.name, found.title, found.source) == ("made", "Made", "me")
    assert (found.notes, found.processor) == (("one", "two"), "EPYC 7451")
    assert found.distances == ((10, 254), (11, 10))
    assert (found.seed, found.scaled_from, found.rates) == (None, None, ())
    assert found.is_native
    plain = made('package = 0\npus = ["0"]')
    assert (plain.notes, plain.processor, plain.distances) == ((), None, None)
    assert plain.architecture == "x86_64"
    arm = made('package = 0\npus = ["0"]', head='architecture = "aarch64"\n')
    assert (arm.architecture, arm.is_native, arm.processor) == ("aarch64", False, None)


def test_figures_are_read() -> None:
    text = HEAD + '[[numa_node]]\npackage = 0\npus = ["0"]\n'
    rest = 'unit = "u"\nsource = "s"\n'
    text += f'[[cache]]\nwhat = "c"\nvalue = 1\n{rest}'
    text += f'[[bandwidth]]\nwhat = "b"\nvalue = [0.5, 2]\n{rest}'
    text += f'about = "sizes"\nsizes_bytes = [1, 8]\n[[latency]]\nwhat = "l"\nvalue = 2\n{rest}'
    found = read(text)
    assert found.caches == (Figure("c", (1,), "u", "s"),)
    assert found.bandwidths == (Figure("b", (0.5, 2), "u", "s", "sizes", (1, 8)),)
    assert found.latencies == (Figure("l", (2,), "u", "s"),)


NODES = ('package = 0\npus = ["0"]', 'package = 1\npus = ["1"]')
SERIES = '[[latency]]\nwhat = "x"\nunit = "ns"\nsource = "me"\nvalue = [1, 2]\n'
REFUSED = {
    "neither cores nor memory": (
        [*NODES, "package = 1\nmemory_mb = 0\npus = []"], 12,
        "NUMA node 2 has neither cores nor memory"),
    "no memory at all": (
        ['package = 0\nmemory_mb = 0\npus = ["0"]', 'package = 0\nmemory_mb = 0\npus = ["1"]'], 6,
        "no NUMA node has memory"),
    "memory of a package without cores": (
        [*NODES, "package = 2\npus = []"], 11, "package 2 has no cores"),
    "a gap of packages": (
        [NODES[0], 'package = 2\npus = ["1"]', 'package = 3\npus = ["2"]'], 8,
        "package 2, but there is no package 1"),
    "a gap of packages of cores": (
        ['package = 0\n[[numa_node.cores]]\npus = ["0"]\n[[numa_node.cores]]\npackage = 2\n'
         'pus = ["1"]'], 5, "package 2, but there is no package 1"),
    "no package 0": (
        ['package = 1\npus = ["0"]', 'package = 2\npus = ["1"]'], 5,
        "package 1, but there is no package 0"),
    "a package of none of its cores": (
        [NODES[0], 'package = 0\n[[numa_node.cores]]\npackage = 1\npus = ["1"]'], 8,
        "NUMA node 1 is in package 0, and all its cores are in others"),
    "a gap of PUs": (
        [NODES[0], 'package = 1\n[[numa_node.cores]]\npus = ["1"]\n[[numa_node.cores]]\n'
         'pus = ["4,2"]'], 12, "PU 4 is listed here but PU 3 nowhere"),
    "PU 0 missing": ([NODES[1].replace("1\n", "0\n", 1)], 6, "but PU 0 nowhere"),
    "a PU of one node twice": (
        ['package = 0\npus = ["0,1,0"]'], 6, "PU 0 is listed twice, in NUMA node 0;"),
    "the first package 0 in a later node": (
        ['package = 1\npus = ["0"]', 'package = 0\npus = ["1"]'], 9,
        "the first PU of package 0's first NUMA node is 1"),
    "a part without peak": (
        ['package = 0\npeak_gb_s = 4\npus = ["0"]', NODES[1]], 8,
        "NUMA node 1 has no 'peak_gb_s', and others have one"),
    "peak of nothing": (['package = 0\npeak_gb_s = 0\npus = ["0"]'], 6, "1 or more"),
    "L3s below nothing": (['package = 0\npus = ["0"]\nl3_groups = -1'], 7, "0 or more"),
    "a kind that is too long": (
        [f'package = 0\nmemory_kind = "{"k" * 25}"\npus = ["0"]'], 6, "24 characters"),
    "a kind that can't be printed": (
        ['package = 0\nmemory_kind = "a\\nb"\npus = ["0"]'], 6, "24 characters"),
    "sizes of one value less": (
        [*NODES, f'package = 1\npus = []\n{SERIES}about = "x"\nsizes_bytes = [1]'], 19,
        "a list of 2 sizes, one for each"),
    "a size of nothing": (
        [*NODES, f'package = 1\npus = []\n{SERIES}about = "x"\nsizes_bytes = [1, 0]'], 19,
        "1 or more"),
    "a series about nothing": (
        [*NODES, f"package = 1\npus = []\n{SERIES}sizes_bytes = [1, 2]"], 18,
        "about and sizes_bytes, or neither"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_machine_is_refused_with_its_line(case: str) -> None:
    nodes, line, words = REFUSED[case]
    with pytest.raises(UserError) as caught:
        made(*nodes)
    said = str(caught.value)
    assert words in said
    assert said.startswith(f"made.toml:{line}: "), said


@pytest.mark.parametrize("value", ["3", '"x"', "[10, 20]", "[[10], 20]", "[20, [10]]", "{ a = 1 }"])
def test_distances_that_are_no_list_of_rows(value: str) -> None:
    with pytest.raises(UserError, match=r"made\.toml:4: 'distances' is a list of rows"):
        made(*NODES, head=f"distances = {value}\n")


@pytest.mark.parametrize("name", ["-a", ".a", "_a", "A", "", "a b", "here", "ä"])
def test_names_that_no_machine_has(name: str) -> None:
    text = f'name = "{name}"\ntitle = "x"\nsource = "x"\n[[numa_node]]\npackage = 0\npus = ["0"]\n'
    with pytest.raises(UserError, match=r"the name '.*' can't be used|more than nothing"):
        parse_machine(text, Path(f"{name}.toml"))


@pytest.mark.parametrize("name", ["a", "0", "a.b_c-9", "heres", "seeded"])
def test_names_that_machines_have(name: str) -> None:
    text = f'name = "{name}"\ntitle = "x"\nsource = "x"\n[[numa_node]]\npackage = 0\npus = ["0"]\n'
    assert parse_machine(text, Path(f"{name}.toml")).name == name
