"""Described machines: what is published, what is refused, scaling, pictures, imports."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.gallery import drawing_marks

from numalab.errors import UserError
from numalab.installation import Installation, find_installation
from numalab.machines import picture
from numalab.machines.gallery import find_machine, gallery_folder, load_gallery
from numalab.machines.machine import Core, Machine
from numalab.machines.machine_file import load_machine, parse_machine
from numalab.pu_lists import format_pus, parse_pus
from numalab.reports.figures import topology_figure
from numalab.reports.inline_svg import svg_file

FOLDER = gallery_folder(find_installation("gnu"))
NAMES = [
    "a64fx", "aurora", "cxl", "eiger", "elitebook", "genoa", "gh200", "gh200x4", "grace", "hawk",
    "hydra", "janus", "knl", "kunpeng", "laptop", "magny-cours", "nebula", "nehalem-ep", "nhm",
    "noctua", "noctua2", "spr", "tioga", "turin", "ulna", "ulysses", "uv1000", "westmere-ep",
    "westmere-ex", "xeon-max",
]  # fmt: skip


@pytest.fixture(scope="module")
def gallery() -> dict[str, Machine]:
    return load_gallery(FOLDER)


def node_pus(machine: Machine) -> list[str]:
    return [format_pus(node.pus) for node in machine.numa_nodes]


# ---- what is published ---------------------------------------------------------


def test_gallery_is_complete(gallery: dict[str, Machine]) -> None:
    assert list(gallery) == NAMES
    for name, machine in gallery.items():
        assert machine.name == name
        assert len(machine.title) <= 39, name  # fits a line of `list`


def test_who_is_who_has_every_machine_with_its_source(gallery: dict[str, Machine]) -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    part = text[text.index("## Who is who") :].split("\n## ")[0]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in part.splitlines() if "|" in line]
    machines = {row[0]: row[2:4] for row in rows if len(row) == 5 and row[0] in gallery}
    assert sorted(machines) == NAMES
    sources = {row[0] for row in rows if len(row) == 2}
    for name, machine in gallery.items():
        assert machines[name] == [machine.source.split(":")[0], machine.shape]
        assert machine.source in sources or name == "laptop"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("nehalem-ep", (2, 1, 4, 1)), ("nhm", (2, 1, 4, 2)), ("westmere-ep", (2, 1, 6, 2)),
        ("janus", (2, 1, 6, 1)), ("westmere-ex", (4, 1, 10, 2)), ("magny-cours", (4, 2, 6, 1)),
        ("hydra", (2, 1, 16, 1)), ("nebula", (2, 4, 8, 1)), ("uv1000", (16, 1, 8, 1)),
        ("laptop", (1, 1, 4, 1)), ("hawk", (2, 4, 16, 1)), ("noctua", (2, 1, 20, 1)),
        ("noctua2", (2, 4, 16, 1)), ("ulysses", (2, 1, 10, 1)),
        ("kunpeng", (2, 2, 24, 1)), ("eiger", (2, 4, 16, 2)), ("tioga", (1, 4, 16, 2)),
        ("genoa", (2, 1, 96, 2)), ("turin", (2, 1, 128, 2)), ("spr", (2, 4, 14, 2)),
        ("xeon-max", (2, 4, 12, 2)), ("aurora", (2, 1, 52, 2)), ("cxl", (2, 1, 52, 2)),
        ("a64fx", (4, 1, 12, 1)), ("grace", (2, 1, 72, 1)), ("gh200", (1, 1, 72, 1)),
        ("gh200x4", (4, 1, 72, 1)),
        ("ulna", (2, 1, 32, 4)),
    ],
)  # fmt: skip
def test_shapes(gallery: dict[str, Machine], name: str, shape: tuple[int, ...]) -> None:
    machine = gallery[name]
    counts = (machine.packages, machine.nodes_per_package.most, machine.cores_per_node.most)
    assert (*counts, machine.threads_per_core.most) == shape
    packages, nodes, cores, threads = shape
    assert machine.cores == packages * nodes * cores
    assert machine.pus == machine.cores * threads == len(machine.pu_table)


def test_knl_has_unlike_numa_nodes(gallery: dict[str, Machine]) -> None:
    knl = gallery["knl"]
    assert [len(node.cores) for node in knl.numa_nodes] == [18, 18, 16, 16, 0, 0, 0, 0]
    assert knl.shape == "1 x 4 x 16-18 x 4" and knl.pus == len(knl.pu_table) == 272
    # The four threads of a core are as far apart as there are cores.
    assert all(
        core.pus == tuple(range(core.pus[0], 272, 68))
        for node in knl.numa_nodes
        for core in node.cores
    )


def test_elitebook_has_unlike_cores(gallery: dict[str, Machine]) -> None:
    (node,) = gallery["elitebook"].numa_nodes
    (group,) = node.core_groups
    performance, efficiency = group[:6], group[6:]
    assert [core.pus for core in performance] == [(pu, pu + 1) for pu in range(0, 12, 2)]
    assert [core.pus for core in efficiency] == [(pu,) for pu in range(12, 20)]
    assert {core.kind for core in performance} == {"performance"}
    assert {core.kind for core in efficiency} == {"efficiency"}


@pytest.mark.parametrize(
    ("name", "kind", "attached"),
    [
        ("aurora", "HBM2e", [0, 1]), ("xeon-max", "HBM2e", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("cxl", "CXL", [0, 1]), ("gh200", "GPU", [0]), ("knl", "MCDRAM", [0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_memory_without_cores(
    gallery: dict[str, Machine], name: str, kind: str, attached: list[int]
) -> None:
    """It comes last, is of a kind of its own, and nearest to the package that it is attached to."""
    machine = gallery[name]
    others = machine.numa_nodes[len(machine.nodes_with_cores) :]
    assert [node.package for node in others] == attached
    assert all(not node.cores and node.memory_kind == kind for node in others)
    assert all(node.memory_kind != kind for node in machine.nodes_with_cores)
    if machine.distances is None:
        return
    for node in others:
        nearest = min(
            machine.nodes_with_cores, key=lambda n: machine.distances[n.number][node.number]
        )
        assert nearest.package == node.package


def test_machines_that_are_not_x86(gallery: dict[str, Machine]) -> None:
    arm = [name for name, machine in gallery.items() if not machine.is_native]
    assert arm == ["a64fx", "gh200", "gh200x4", "grace", "kunpeng", "ulna"]
    assert {gallery[name].architecture for name in arm} == {"aarch64"}
    assert all("no CPUID" in gallery[name].notes[0] for name in arm)


def test_hydra_has_even_and_odd_pus(gallery: dict[str, Machine]) -> None:
    hydra = gallery["hydra"]
    assert node_pus(hydra) == ["0-30:2", "1-31:2"]
    assert [node.memory_mb for node in hydra.numa_nodes] == [46803, 48360]
    assert hydra.distances == ((10, 21), (21, 10))
    assert all(place.numa_node == pu % 2 for pu, place in enumerate(hydra.pu_table))


def test_nebula(gallery: dict[str, Machine]) -> None:
    nebula = gallery["nebula"]
    first = [0, 2, 4, 6, 1, 3, 5, 7]
    assert node_pus(nebula) == [f"{pu}-{pu + 56}:8" for pu in first]
    assert [node.package for node in nebula.numa_nodes] == [0] * 4 + [1] * 4
    groups = nebula.numa_nodes[0].core_groups
    assert [[core.pus for core in group] for group in groups] == [
        [(0,), (16,), (32,), (48,)],
        [(8,), (24,), (40,), (56,)],
    ]
    assert nebula.distances is not None
    assert nebula.distances[0] == (10, 16, 16, 16, 28, 28, 22, 28)
    assert nebula.distances[3] == (16, 16, 16, 10, 28, 22, 28, 28)
    for i, row in enumerate(nebula.distances):
        for j, distance in enumerate(row):
            assert distance == nebula.distances[j][i]
            assert (distance in (10, 16)) == (i // 4 == j // 4)
        assert row.count(22) == 1  # the directly linked die
    assert any("reconstruction" in note for note in nebula.notes)


def test_westmere_ex_siblings_and_swapped_nodes(gallery: dict[str, Machine]) -> None:
    machine = gallery["westmere-ex"]
    node_of_remainder = {0: 0, 1: 2, 2: 1, 3: 3}
    assert all(
        place.numa_node == node_of_remainder[pu % 4] == place.package
        for pu, place in enumerate(machine.pu_table)
    )
    cores = [core.pus for core in machine.numa_nodes[0].cores]
    assert cores[:2] == [(0, 32), (4, 36)]
    assert cores[7:] == [(28, 60), (64, 72), (68, 76)]
    for node in machine.numa_nodes:
        shift = node.pus[0]
        assert [tuple(pu - shift for pu in core.pus) for core in node.cores] == cores


def test_nhm_siblings(gallery: dict[str, Machine]) -> None:
    cores = [core.pus for core in gallery["nhm"].numa_nodes[0].cores]
    assert cores == [(0, 8), (2, 10), (4, 12), (6, 14)]


def test_uv1000_distances(gallery: dict[str, Machine]) -> None:
    distances = gallery["uv1000"].distances
    assert distances is not None
    assert distances[0] == (10, 13, 40, 40, 62, 62, 55, 55, 62, 62, 55, 55, 62, 62, 55, 55)
    assert distances[15] == (55, 55, 48, 48, 55, 55, 48, 48, 55, 55, 48, 48, 40, 40, 13, 10)
    assert distances[6][:8] == (55, 55, 48, 48, 40, 40, 10, 13)
    assert all(distances[i][j] == distances[j][i] for i in range(16) for j in range(16))


def test_magny_cours_pairs(gallery: dict[str, Machine]) -> None:
    machine = gallery["magny-cours"]
    pairs = [[node.number for node in machine.nodes_of(package)] for package in range(4)]
    assert pairs == [[0, 1], [4, 5], [2, 3], [6, 7]]
    assert node_pus(machine) == [f"{6 * k}-{6 * k + 5}" for k in range(8)]
    assert machine.distances is None
    assert machine.guest_distances()[2] == (20, 20, 10, 20, 20, 20, 20, 20)


def test_figures(gallery: dict[str, Machine]) -> None:
    assert gallery["westmere-ep"].latencies[0].values == (90, 140)
    near, far = gallery["hydra"].latencies
    assert (near.values[4], near.values[5], far.values[4], far.values[5]) == (
        0.41, 0.56, 0.65, 1.01,
    )  # fmt: skip
    assert [figure.values[0] for figure in gallery["janus"].bandwidths] == [
        24510, 13868, 4109.7, 11122,
    ]  # fmt: skip


# ---- lists of PUs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3", [0, 1, 2, 3]),
        ("5", [5]),
        ("0-8:4, 64 ,68", [0, 4, 8, 64, 68]),
        ("7-8", [7, 8]),
        ("0-7:3", [0, 3, 6]),
    ],
)
def test_pu_lists(text: str, numbers: list[int]) -> None:
    assert list(parse_pus(text)) == numbers
    assert list(parse_pus(format_pus(numbers))) == numbers


@pytest.mark.parametrize(
    "text",
    ["", "a", "3-1", "0-4:0", "0,,1", "-1", "0-999999999", "٣", "0" * 5_000, "1-" + "9" * 30],
)
def test_bad_pu_lists(text: str) -> None:
    with pytest.raises(ValueError, match=r"PU"):
        parse_pus(text)


# ---- what is refused ----------------------------------------------------------------

GOOD = """\
name = "mine"
title = "Mine"
source = "me"
notes = ["one",
    "[[numa_node]]"]
distances = [
    [10, 20],  # a comment with [ and "
    [20, 10],
]

[[numa_node]]
package = 0
memory_mb = 1000
pus = ["0-3", "8-11"]
l3_groups = 2

[[numa_node]]
package = 1
memory_mb = 1000
pus = ["4-7", "12-15"]
l3_groups = 2

[[latency]]
what = "memory"
value = 90
unit = "ns"
source = "me"
"""

BAD = {
    "not TOML": ("package = 1", "package 1", 18, "not TOML"),
    "unknown key of the machine": ('title = "Mine"', 'titel = "Mine"', 2, "Did you mean 'title'"),
    "unknown key of a node": ("memory_mb = 1000\npus = [\"4", "memory = 1\npus = [\"4", 19,
                              "Did you mean 'memory_mb'"),
    "distances below a table": ('unit = "ns"', 'unit = "ns"\ndistances = [[10]]', 27, "move it"),
    "no source": ('source = "me"\nnotes', "notes", 1, "no key 'source'"),
    "no package": ("package = 1\n", "", 17, "[[numa_node]] has no key 'package'"),
    "no nodes": ("numa_node", "cache", 1, "no key 'numa_node'"),
    "type of a text": ('title = "Mine"', "title = 3", 2, "text in quotes"),
    "type of a number": ("package = 1", 'package = "1"', 18, "whole number"),
    "a truth value": ("package = 1", "package = true", 18, "whole number"),
    "type of pus": ('pus = ["4-7", "12-15"]', 'pus = "4-7"', 20, "list of texts"),
    "type of notes": ('notes = ["one",', "notes = [1,", 4, "text in quotes"),
    "type of a value": ("value = 90", 'value = "90"', 25, "above 0"),
    "a value without end": ("value = 90", "value = inf", 25, "above 0"),
    "no value": ("value = 90", "value = []", 25, "empty list"),
    "half a series": ('unit = "ns"', 'unit = "ns"\nsizes_bytes = [8]', 27, "or neither"),
    "sizes of a series": ('unit = "ns"', 'unit = "ns"\nabout = "x"\nsizes_bytes = [1, 2]', 28,
                          "list of 1 size, one"),
    "type of a size": ('unit = "ns"', 'unit = "ns"\nabout = "x"\nsizes_bytes = ["1"]', 28,
                       "whole number"),
    "memory": ("memory_mb = 1000\npus = [\"4", "memory_mb = -1\npus = [\"4", 19, "0 or more"),
    "PU list": ('"12-15"', '"12-15:"', 20, "PU list"),
    "PU list in a line of its own": ('"12-15"', '\n"15-12"', 21, "upwards"),
    "PU twice": ('"12-15"', '"11-14"', 20, "PU 11 is listed twice, in NUMA nodes 0 and 1"),
    "PU gap": ('"12-15"', '"13-16"', 20, "PU 12 nowhere"),
    "too many PUs": ('"12-15"', '"8189-8192"', 20, "at most 8192"),
    "threads unlike": ('"12-15"', '"12-14"', 20, "4 first threads but 3"),
    "L3 groups": ("l3_groups = 2\n\n[[lat", "l3_groups = 3\n\n[[lat", 21, "can't be split"),
    "package gap": ("package = 1", "package = 2", 18, "there is no package 1"),
    "package below 0": ("package = 1", "package = -1", 18, "0 or more"),
    "PU 0 elsewhere": ('pus = ["0-3", "8-11"]', 'pus = ["8-11", "0-3"]', 14, "must be PU 0"),
    "too few rows": ("    [20, 10],\n", "", 6, "1 rows for 2"),
    "row too long": ("[20, 10]", "[20, 10, 20]", 8, "row 1"),
    "distances of text": ("[20, 10]", '["20", 10]', 8, "whole number"),
    "distances no matrix": ("[20, 10]", "20", 6, "list of rows"),
    "diagonal": ("[20, 10]", "[20, 11]", 8, "itself, is 11; it must be 10"),
    "remote as near as local": ("[20, 10]", "[10, 10]", 8, "above 10"),
    "distance too small": ("[10, 20]", "[10, 9]", 7, "10 or more"),
    "distance too large": ("[20, 10]", "[255, 10]", 8, "254 or less"),
    "another name": ('name = "mine"', 'name = "yours"', 1, "both the same"),
    "name for no file": ('name = "mine"', 'name = "My Own"', 1, "can't be used"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_refused_with_their_line(case: str, tmp_path: Path) -> None:
    old, new, line, words = BAD[case]
    text = GOOD.replace(old, new)
    assert text != GOOD
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_machine(path)
    assert str(caught.value).startswith(f"{path}:{line}: "), caught.value
    assert words in str(caught.value)


def test_the_good_file_is_good() -> None:
    machine = parse_machine(GOOD, Path("mine.toml"))
    assert machine.numa_nodes[1].core_groups[1] == (Core((6, 14)), Core((7, 15)))
    assert machine.text == GOOD


def test_packages_with_unlike_numbers_of_nodes() -> None:
    text = GOOD[: GOOD.index("distances")] + "".join(
        f'[[numa_node]]\npackage = {package}\npus = ["{pu}"]\n'
        for package, pu in ((0, 0), (1, 1), (0, 2))
    )
    machine = parse_machine(text, Path("mine.toml"))
    assert machine.nodes_per_package == (1, 2)
    assert machine.shape == "2 x 1-2 x 1 x 1"


MEMORY_NODE = "[[numa_node]]\npackage = 1\nmemory_mb = 9\npus = []\n\n"
MEMORY_ONLY = (
    GOOD.replace("[[latency]]", f"{MEMORY_NODE}[[latency]]")
    .replace("[10, 20],", "[10, 20, 30],")
    .replace("[20, 10],", "[20, 10, 30], [30, 30, 10],")
)


def test_nodes_of_memory_only() -> None:
    machine = parse_machine(MEMORY_ONLY, Path("mine.toml"))
    assert len(machine.numa_nodes) == 3
    assert machine.numa_nodes[2].pus == ()
    assert (machine.packages, machine.nodes_per_package.most, machine.pus) == (2, 1, 16)
    assert len(machine.scaled(2).numa_nodes) == 3
    assert any("memory only" in line.plain for line in picture.terminal(machine, 80))
    assert "memory only" in picture.description(machine)
    assert "memory only" in svg(machine)
    with pytest.raises(UserError, match=r"package 2 has no cores"):
        parse_machine(MEMORY_ONLY.replace("1\nmemory_mb = 9", "2\nmemory_mb = 9"),
                      Path("mine.toml"))  # fmt: skip
    with pytest.raises(UserError, match=r"no NUMA node has cores"):
        parse_machine(re.sub(r"pus = .*", "pus = []", GOOD), Path("mine.toml"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_machine(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(UserError, match="UTF-8"):
        load_machine(tmp_path / "bytes.toml")
    with pytest.raises(UserError, match="it is a folder"):
        load_machine(tmp_path)


def test_machines_are_found(installation: Installation, tmp_path: Path) -> None:
    assert find_machine(installation, "hydra").name == "hydra"
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert find_machine(installation, str(path)).name == "mine"
    with pytest.raises(UserError) as caught:
        find_machine(installation, "Nebla")
    assert "Did you mean nebula" in str(caught.value)
    assert all(name in str(caught.value) for name in NAMES)


# ---- scaling -------------------------------------------------------------------------


def test_hydra_scaled(gallery: dict[str, Machine]) -> None:
    small = gallery["hydra"].scaled(4)
    assert node_pus(small) == ["0-6:2", "1-7:2"]
    assert small.scaled_from is gallery["hydra"]
    assert small.scaled(1).scaled_from is gallery["hydra"]
    assert gallery["hydra"].scaled(16) is gallery["hydra"]
    assert gallery["hydra"].scaled(99) is gallery["hydra"]


def test_nebula_scaled_keeps_both_l3s(gallery: dict[str, Machine]) -> None:
    nebula = gallery["nebula"]
    small = nebula.scaled(2)
    assert node_pus(small) == ["0,8", "2,10", "4,12", "6,14", "1,9", "3,11", "5,13", "7,15"]
    assert [len(node.core_groups) for node in small.numa_nodes] == [2] * 8
    assert nebula.scaled(3) == small  # three can't be two equal groups
    assert nebula.scaled(1).numa_nodes[4].core_groups == ((Core((1,)),),)
    four = nebula.scaled(5).numa_nodes[0].core_groups
    assert [[core.pus[0] for core in group] for group in four] == [[0, 16], [8, 24]]


def test_westmere_ex_scaled_keeps_siblings(gallery: dict[str, Machine]) -> None:
    small = gallery["westmere-ex"].scaled(2)
    assert [core.pus for core in small.numa_nodes[0].cores] == [(0, 8), (4, 12)]
    assert [core.pus for core in small.numa_nodes[2].cores] == [(1, 9), (5, 13)]
    assert small.threads_per_core.most == 2


@pytest.mark.parametrize("name", [name for name in NAMES if name != "elitebook"])
@pytest.mark.parametrize("cores", [1, 2, 3, 7])
def test_scaling_keeps_the_shape(gallery: dict[str, Machine], name: str, cores: int) -> None:
    whole = gallery[name]
    small = whole.scaled(cores)
    assert 1 <= small.cores_per_node.most <= cores
    for attribute in ("packages", "nodes_per_package", "threads_per_core", "distances", "text"):
        assert getattr(small, attribute) == getattr(whole, attribute)
    numbers = [pu for node in small.numa_nodes for pu in node.pus]
    assert sorted(numbers) == list(range(small.pus))
    assert len({len(group) for node in small.numa_nodes for group in node.core_groups}) == 1
    # The kept PUs in the order of the whole machine's numbers are those of the small one.
    kept = []
    for node, before in zip(small.numa_nodes, whole.numa_nodes, strict=True):
        assert (node.package, node.memory_mb) == (before.package, before.memory_mb)
        for group, group_before in zip(node.core_groups, before.core_groups, strict=False):
            for core, core_before in zip(group, group_before, strict=False):
                kept += zip(core_before.pus, core.pus, strict=True)
    assert [new for _, new in sorted(kept)] == list(range(small.pus))
    assert small.pu_table[0] == (0, 0, 0, 0)


def test_scaling_to_nothing_is_refused(gallery: dict[str, Machine]) -> None:
    with pytest.raises(UserError, match="1 or more"):
        gallery["hydra"].scaled(0)


# ---- pictures -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [80, 60, 40])
def test_terminal_picture(gallery: dict[str, Machine], name: str, width: int) -> None:
    machine = gallery[name]
    lines = [line.plain for line in picture.terminal(machine, width)]
    assert all(len(line) <= width for line in lines)
    for node in machine.numa_nodes:
        assert any(re.search(rf"node {node.number}\b", line) for line in lines), node.number
    for package in range(machine.packages):
        assert any(re.search(rf"Package {package}\b", line) for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_terminal_picture_shows_each_pu_once(gallery: dict[str, Machine], name: str) -> None:
    machine = gallery[name]
    text = "\n".join(line.plain for line in picture.terminal(machine, 80)[:-1])  # no legend
    kinds = "|".join(filter(None, machine.memory_kinds)) or "no kind"
    text = re.sub(rf"(Package|node) \d+|\d+ MiB|L3|{kinds}", "", text)
    shown = [pu for part in re.findall(r"[\d:-]*\d", text) for pu in parse_pus(part)]
    assert sorted(shown) == list(range(machine.pus))


def many_cores() -> Machine:
    """Two nodes of 63 cores with two threads each."""
    text = 'name = "big"\ntitle = "Big"\nsource = "me"\n' + "".join(
        f'[[numa_node]]\npackage = {n}\npus = ["{63 * n}-{63 * n + 62}", '
        f'"{63 * n + 126}-{63 * n + 188}"]\nl3_groups = 1\n'
        for n in range(2)
    )
    return parse_machine(text, Path("big.toml"))


def test_many_pus_collapse_into_ranges() -> None:
    lines = [line.plain for line in picture.terminal(many_cores(), 80)]
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) < 12
    assert any("│ 0-62 + 126-188 " in line for line in lines)


def test_distance_table(gallery: dict[str, Machine]) -> None:
    assert picture.distance_table(gallery["hydra"]) == [
        "node distances:", "node   0   1", "  0:  10  21", "  1:  21  10",
    ]  # fmt: skip
    assert all(len(line) <= 80 for line in picture.distance_table(gallery["uv1000"]))
    uv = gallery["uv1000"]
    nodes = tuple(replace(uv.numa_nodes[0], number=number) for number in range(40))
    blocks = picture.distance_table(replace(uv, numa_nodes=nodes, distances=None))
    assert all(len(line) <= 80 for line in blocks)
    assert sum(line.count(" 10") for line in blocks if not line.startswith("node")) >= 40


def svg(machine: Machine) -> str:
    figure = topology_figure(machine)
    return svg_file(figure, picture.heading(machine), picture.description(machine))


@pytest.mark.parametrize("name", [pytest.param(name, marks=drawing_marks(name)) for name in NAMES])
def test_svg_is_self_contained(gallery: dict[str, Machine], name: str) -> None:
    machine = gallery[name]
    text = svg(machine)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert {element.tag.removeprefix(space) for element in root.iter()} <= {
        "svg", "title", "desc", "defs", "clipPath", "g", "rect", "text", "path",
    }  # fmt: skip
    ids = {f"#{element.get('id')}" for element in root.iter()}
    assert set(re.findall(r"url\((.*?)\)", text)) <= ids
    assert not re.search(r"href|@import|https?:(?!//www\.w3\.org/2000/svg\")", text)
    assert root.findtext(f"{space}title") == machine.title
    description = root.findtext(f"{space}desc") or ""
    named = (root.get("aria-labelledby") or "").split()
    assert [root[0].get("id"), root[1].get("id")] == named and root.get("role") == "img"
    words = [element.text or "" for element in root.iter(f"{space}text")]
    for node in machine.numa_nodes:
        assert f"NUMA node {node.number}," in description
        assert any(re.match(rf"NUMA node {node.number}\b", word) for word in words)
    before_matrix = words[: next((i for i, word in enumerate(words) if "Distances" in word), None)]
    pus = [int(word) for word in before_matrix if word.isdecimal()]
    assert sorted(pus) == list(range(machine.pus))
    sizes = [float(size) for size in (root.get("viewBox") or "").split()[2:]]
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert sizes[0] > 0 and width / sizes[0] == pytest.approx(height / sizes[1])


def test_svg_escapes_what_a_title_holds(gallery: dict[str, Machine]) -> None:
    title = "<script>'&\"</script>"
    root = ElementTree.fromstring(svg(replace(gallery["hydra"], title=title)))
    assert root.findtext("{http://www.w3.org/2000/svg}title") == title


# ---- the command line -------------------------------------------------------------------


def test_list(installation: Installation) -> None:
    done = numalab_command(installation, "machine", "list")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[1 : len(NAMES) + 1]] == NAMES


def test_show(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    done = numalab_command(installation, "machine", "show", "nebula", "--svg", str(path))
    assert done.code == 0, done.err
    assert all(len(line) <= 80 for line in done.out.splitlines() if str(path) not in line)
    for words in ("TUW-NUMA", "L3: 8 24 40 56", "reconstruction", "node distances:"):
        assert words in done.out, words
    assert "20735.7" not in done.out, "it is to be predicted"
    assert "Published bandwidths" in done.out and "for afterwards: --published" in done.out
    published = numalab_command(installation, "machine", "show", "nebula", "--published").out
    assert "20735.7" in published and "for afterwards" not in published
    assert ElementTree.parse(path).getroot().get("role") == "img"
    small = numalab_command(installation, "machine", "show", "magny-cours", "--cores", "2")
    assert small.code == 0, small.err
    assert "Scaled down from 6 cores" in small.out
    assert "not given in the source; virtual nodes use 10 and 20" in small.out
    of_one_node = numalab_command(installation, "machine", "show", "elitebook").out
    assert "1 NUMA node " in of_one_node and "Distances" not in of_one_node


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "nebla"), "Did you mean nebula"),
        (("show", "./none.toml"), "No such file"),
        (("show", "hydra", "--cores", "0"), "0"),
        (("show", "hydra", "--svg", "/none/x.svg"), "make it first"),
        (("show", "hydra", "--svg", "/tmp"), "that is a folder"),
        (("import", "/none.xml"), "No such file"),
        (("import", "/none.xml", "--output", "x.xml"), "ends in .toml"),
        (("import", "/none.xml", "--output", "x.toml", "--name", "y"), "don't fit"),
    ],
)
def test_wrong_use(installation: Installation, arguments: tuple[str, ...], words: str) -> None:
    done = numalab_command(installation, "machine", *arguments)
    assert done.code == 2, done.out
    assert words in done.said
