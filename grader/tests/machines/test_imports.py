"""Describing machines by what hwloc reads: in exports of its versions 1 and 2, and in synthetic
descriptions."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.commands import numalab_command
from support.exports import (
    core,
    core_kind,
    cores,
    distances,
    group,
    hwloc_export,
    imported,
    imported_text,
    machine,
    memory,
    thing,
)

from numalab.errors import UserError
from numalab.harness.topology_reader import export_of_synthetic, is_probably_synthetic
from numalab.installation import Installation
from numalab.labs.launch import parse_policy, plan
from numalab.machines.export_parts import kinds_of_pus
from numalab.machines.hwloc_export import HwlocCoreKind
from numalab.machines.hwloc_import import machine_text
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine, parse_machine
from numalab.machines.topology import topology_of_machine


def from_synthetic(installation: Installation, text: str) -> Machine:
    described = machine_text(
        export_of_synthetic(installation, text), "node", "synthetic", f"'{text}'"
    )
    return parse_machine(described, Path("node.toml"))


def written(folder: Path, text: str) -> Path:
    path = folder / "node.xml"
    path.write_text(text, encoding="utf-8")
    return path


# ---- exports that hwloc wrote --------------------------------------------------------------


@pytest.mark.parametrize(
    ("synthetic", "shape", "pus"),
    [
        ("pack:2 numa:2 l3:1 core:4 pu:2", "2 x 2 x 4 x 2",
         [range(8 * n, 8 * n + 8) for n in range(4)]),
        ("pack:2 [numa(memory=1073741824)] l3:2 core:3 pu:1", "2 x 1 x 6 x 1",
         [range(6), range(6, 12)]),
        ("pack:2 [numa(memory=1073741824)] l3:2 core:2 pu:2(indexes=pack:core)", "2 x 1 x 4 x 2",
         [range(0, 16, 2), range(1, 16, 2)]),
        ("pack:4 [numa(memory=1073741824)] core:2 pu:1(indexes=3,7,1,5,0,4,2,6)", "4 x 1 x 2 x 1",
         [(3, 7), (1, 5), (0, 4), (2, 6)]),
        ("numa:2 core:2 pu:1", "1 x 2 x 2 x 1", [(0, 1), (2, 3)]),
        ("pack:1 l3:2 [numa(memory=1073741824)] core:2 pu:1(indexes=1,0,2,3)", "1 x 2 x 2 x 1",
         [(0, 1), (2, 3)]),
        ("pack:70 [numa(memory=1073741824)] l3:1 core:1 pu:1", "70 x 1 x 1 x 1",
         [(pu,) for pu in range(70)]),
    ],
)  # fmt: skip
def test_exports_of_synthetic_machines(
    installation: Installation,
    synthetic: str,
    shape: str,
    pus: list[tuple[int, ...]],
    tmp_path: Path,
) -> None:
    path = hwloc_export(tmp_path, "--if", "synthetic", "-i", synthetic)
    found = imported(installation, path)
    assert found.shape == shape
    assert [node.pus for node in found.numa_nodes] == [tuple(numbers) for numbers in pus]
    assert found.pu_table[0][0] == 0  # package 0 holds PU 0
    assert found.numa_nodes[0].memory_mb == 1024
    assert from_synthetic(installation, synthetic).numa_nodes == found.numa_nodes
    # Each PU as the XML nests it: same package, same core, same L3 or none.
    root = ElementTree.parse(path).getroot()
    for kind, key in (("Package", 0), ("Core", 2)):
        together = _pus_below(root, kind)
        by_place: dict[int, set[int]] = {}
        for pu, place in enumerate(found.pu_table):
            by_place.setdefault(place[key], set()).add(pu)
        if together:
            assert {frozenset(group) for group in by_place.values()} == together, kind
    sharing = {
        frozenset(pu for core in group for pu in core.pus)
        for node in found.numa_nodes
        for group in node.core_groups
        if group[0].has_l3
    }
    assert sharing == _pus_below(root, "L3Cache")


def _pus_below(root: ElementTree.Element, kind: str) -> set[frozenset[int]]:
    return {
        frozenset(
            int(pu.get("os_index", "")) for pu in element.iter("object") if pu.get("type") == "PU"
        )
        for element in root.iter("object")
        if element.get("type") == kind
    }


def test_this_machine(installation: Installation, tmp_path: Path) -> None:
    path = hwloc_export(tmp_path)
    pus = [e for e in ElementTree.parse(path).getroot().iter("object") if e.get("type") == "PU"]
    assert imported(installation, path).pus == len(pus)


@pytest.mark.parametrize(
    ("synthetic", "pus"),
    [
        ("pack:2 numa:4 l3:2 core:8 pu:2", 256),
        ("pack:2 numa:4 l3:3 core:8 pu:2", 384),
        ("pack:2 numa:1 l3:8 core:16 pu:2", 512),
    ],
)
def test_more_pus_than_a_virtual_node_has(
    installation: Installation, synthetic: str, pus: int
) -> None:
    found = from_synthetic(installation, synthetic)
    assert found.pus == pus
    policy = (
        'ranks = { one_per = "numa_node" }\nthreads = { one_per = "core" }\nbind_to = "numa_node"'
    )
    planned = plan(parse_policy(policy, "p.toml"), topology_of_machine(found))
    assert {pu for rank in planned.ranks for pu in rank} == set(range(pus))


# ---- exports by hand -----------------------------------------------------------------------

TWO = group([0, 1], memory(0, [0, 1]) + cores([0, 1]), [0]) + group(
    [4, 5], memory(4, [4, 5]) + cores([4, 5], [4]), [4]
)


def test_distances_and_gaps_in_numbers(installation: Installation, tmp_path: Path) -> None:
    far = distances([4, 0], [[10, 21], [31, 10]])  # not in the order of the numbers
    found = imported(installation, written(tmp_path, machine([0, 1, 4, 5], TWO, [0, 4], far)))
    assert found.distances == ((10, 31), (21, 10))
    assert [node.pus for node in found.numa_nodes] == [(0, 1), (2, 3)]
    assert [node.memory_mb for node in found.numa_nodes] == [1000, 1000]
    assert any("NUMA nodes 0,4 are" in note for note in found.notes)
    assert any("PUs 0,1,4,5 are" in note for note in found.notes)
    text = machine([0, 1, 4, 5], TWO, [0, 4], far.replace("31 10", "10 10"))
    wrong = imported(installation, written(tmp_path, text))
    assert wrong.distances is None  # as in Linux
    assert any("no distances" in note for note in wrong.notes)


@pytest.mark.parametrize("far", [254, 255])
def test_distances_of_what_can_not_be_reached_are_left_out(
    installation: Installation, tmp_path: Path, far: int
) -> None:
    """255 is ACPI's "unreachable", which Linux takes for no distance."""
    told = distances([0, 4], [[10, far], [21, 10]])
    found = imported(installation, written(tmp_path, machine([0, 1, 4, 5], TWO, [0, 4], told)))
    assert found.distances == (((10, far), (21, 10)) if far == 254 else None)


def test_an_export_of_hwloc_1(installation: Installation, tmp_path: Path) -> None:
    """There NUMA nodes are around their cores, and packages are sockets."""
    nodes = "".join(
        thing(
            "NUMANode",
            pus,
            thing("Socket", pus, cores(pus, [number]), [number], f'os_index="{number}"'),
            [number],
            f'os_index="{number}" local_memory="{1000 << 20}"',
        )
        for number, pus in enumerate(([0, 1], [2, 3]))
    )
    found = imported(installation, written(tmp_path, machine(range(4), nodes, [0, 1], version="")))
    assert found.shape == "2 x 1 x 2 x 1"
    assert [node.pus for node in found.numa_nodes] == [(0, 1), (2, 3)]
    assert [node.memory_mb for node in found.numa_nodes] == [1000, 1000]
    # Other systems than Linux tell of no NUMA nodes at all.
    alone = machine([1, 3, 64 % 32, 30], cores([1, 3, 0, 30]), [], version="")
    found = imported(installation, written(tmp_path, alone))
    assert found.shape == "1 x 1 x 4 x 1"
    assert found.numa_nodes[0].memory_mb is None


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_memory_of_a_second_kind(
    installation: Installation, tmp_path: Path, first: int, second: int
) -> None:
    """Whatever its number, Linux counts the cores to ordinary memory."""
    inside = memory(first, range(4)) + memory(second, range(4), 500, 'subtype="HBM"')
    found = imported(
        installation, written(tmp_path, machine(range(4), inside + cores(range(4)), [0, 1]))
    )
    assert found.numa_nodes[first].pus == (0, 1, 2, 3)
    assert found.numa_nodes[second].pus == ()
    assert found.numa_nodes[second].memory_kind == "HBM"
    assert found.numa_nodes[first].memory_kind == ""


def test_memory_beside_no_cores_belongs_to_the_nearest_package(
    installation: Installation, tmp_path: Path
) -> None:
    sockets = "".join(
        thing("Package", pus, memory(n, pus) + cores(pus, [n]), [n], f'os_index="{n}"')
        for n, pus in enumerate(([0, 1], [2, 3]))
    )
    text = machine(
        range(4), memory(2, []) + sockets, [0, 1, 2],
        distances([0, 1, 2], [[10, 20, 30], [20, 10, 15], [30, 15, 10]]),
    )  # fmt: skip
    found = imported(installation, written(tmp_path, text))
    assert [node.package for node in found.numa_nodes] == [0, 1, 1]
    assert any("which package NUMA nodes 2 belong" in note for note in found.notes)


def test_a_memory_side_cache(installation: Installation, tmp_path: Path) -> None:
    side = 'cache_size="268435456" depth="1" cache_linesize="64" cache_associativity="1" '
    side += 'cache_type="0"'
    inside = thing("MemCache", range(4), memory(0, range(4)), more=side) + cores(range(4))
    (node,) = imported(installation, written(tmp_path, machine(range(4), inside))).numa_nodes
    assert node.memory_side_cache_mb == 256
    assert node.memory_mb == 1000
    assert not any(core.has_l3 for core in node.cores)


def l3(pus: range, inside: str, nodes: tuple[int, ...] = (0,)) -> str:
    size = 'cache_size="33554432" depth="3" cache_linesize="64" cache_associativity="16" '
    return thing("L3Cache", pus, inside, nodes, size + 'cache_type="0"')


def test_a_hybrid_laptop(installation: Installation, tmp_path: Path) -> None:
    """Two of its efficient cores have no part in the L3."""
    inside = memory(0, range(8))
    inside += l3(range(6), core(0, 1) + core(2, 3) + cores([4, 5])) + cores([6, 7])
    kinds = core_kind(range(4), -1, CoreType="IntelCore", FrequencyMaxMHz="5000")
    kinds += core_kind(range(4, 8), -1, CoreType="IntelAtom", FrequencyMaxMHz="3800")
    found = imported(installation, written(tmp_path, machine(range(8), inside, after=kinds)))
    told = [(core.pus, core.kind, core.has_l3) for core in found.numa_nodes[0].cores]
    assert told == [
        ((0, 1), "performance", True), ((2, 3), "performance", True), ((4,), "efficiency", True),
        ((5,), "efficiency", True), ((6,), "efficiency", False), ((7,), "efficiency", False),
    ]  # fmt: skip
    assert [len(group) for group in found.numa_nodes[0].core_groups] == [4, 2]


def kinds_of(*told: tuple[int, dict[str, str]]) -> list[str]:
    """The names of kinds of one PU each."""
    kinds = [
        HwlocCoreKind(frozenset({pu}), efficiency, infos)
        for pu, (efficiency, infos) in enumerate(told)
    ]
    names = kinds_of_pus(kinds)
    return [names.get(pu, "") for pu in range(len(kinds))]


def mhz(*values: int) -> list[tuple[int, dict[str, str]]]:
    return [(rank, {"FrequencyMaxMHz": str(value)}) for rank, value in enumerate(values)]


def test_kinds_of_cores() -> None:
    assert kinds_of(*mhz(4800, 5000, 5200)) == ["", "", ""]  # favoured ones
    assert kinds_of(*mhz(1800, 2400)) == ["efficiency", "performance"]
    assert kinds_of(*mhz(1800, 2400, 3000)) == ["efficiency", "middle", "performance"]
    assert kinds_of(*mhz(1000, 2000, 4000, 8000)) == [f"kind {n}" for n in range(4)]
    capacities = [
        (0, {"LinuxCapacity": "250", "FrequencyMaxMHz": "9"}),
        (1, {"LinuxCapacity": "1024"}),
    ]
    assert kinds_of(*capacities) == ["efficiency", "performance"]
    # As on systems that tell of ranks alone, or of nothing.
    assert kinds_of((1, {}), (0, {})) == ["performance", "efficiency"]
    assert kinds_of((-1, {}), (-1, {})) == ["", ""]
    assert kinds_of((-1, {"FrequencyMaxMHz": "9" * 5_000}), (-1, {"FrequencyMaxMHz": "1"})) == [
        "",
        "",
    ]
    odd = kinds_of((0, {"CoreType": "A\x1b[2J" + "x" * 90}), (1, {"CoreType": "IntelCore"}))
    assert odd[1] == "performance"
    assert odd[0].startswith("A\\x1b") and len(odd[0]) <= 24
    assert kinds_of() == []


def test_unlike_numbers_of_cores_and_threads(installation: Installation, tmp_path: Path) -> None:
    """Of NUMA nodes, as KNL has them, and of L3s."""
    first = l3(range(3), cores([0, 1, 2])) + l3(range(3, 4), core(3))
    inside = group(range(4), memory(0, range(4)) + first, [0])
    inside += group([4, 5], memory(1, [4, 5]) + l3(range(4, 6), core(4, 5, nodes=[1]), (1,)), [1])
    found = imported(installation, written(tmp_path, machine(range(6), inside, [0, 1])))
    assert found.shape == "1 x 2 x 1-4 x 1-2"
    assert [[len(g) for g in node.core_groups] for node in found.numa_nodes] == [[3, 1], [1]]


def test_what_was_kept_from_the_exporter(installation: Installation, tmp_path: Path) -> None:
    """A control group's PUs are told of where the export has them; so are those that it lacks."""
    inside = memory(0, range(4)) + cores(range(4))
    found = imported(installation, written(tmp_path, machine(range(4), inside, allowed=[0, 1])))
    assert found.pus == 4
    assert any("PUs 2,3 were kept from" in note for note in found.notes)
    text = machine(range(4), inside)
    lacking = text.replace('complete_cpuset="0x0000000f"', 'complete_cpuset="0x000000ff"')
    found = imported(installation, written(tmp_path, lacking))
    assert any("PUs 4-7 were offline" in note for note in found.notes)
    assert imported(installation, written(tmp_path, text)).notes == ()


def test_what_the_format_changes_is_noted(installation: Installation, tmp_path: Path) -> None:
    packages = "".join(thing("Package", [pu], core(pu), more=f'os_index="{pu}"') for pu in range(4))
    text = machine(range(4), memory(0, range(4)) + packages)
    found = imported(
        installation, written(tmp_path, text)
    )  # as of a virtual machine with four sockets
    assert found.shape == "4 x 1 x 1 x 1"
    assert found.notes == ()
    halves = "".join(
        group(pus, memory(n, pus) + cores(pus, [n]), [n]) for n, pus in enumerate(([0, 1], [2, 3]))
    )
    text = machine(range(4), l3(range(4), halves, (0, 1)), [0, 1])
    found = imported(installation, written(tmp_path, text))
    assert found.shape == "1 x 2 x 2 x 1"
    assert any("NUMA nodes 0,1 share an L3" in note for note in found.notes)


def test_what_the_system_announces_of_memory(installation: Installation, tmp_path: Path) -> None:
    told = (
        '<memattr name="Bandwidth" flags="5"><memattr_value target_obj_gp_index="104" '
        'target_obj_type="NUMANode" value="81920" initiator_cpuset="0x00000030"/></memattr>'
    )
    (figure,) = imported(
        installation, written(tmp_path, machine([0, 1, 4, 5], TWO, [0, 4], told))
    ).bandwidths
    assert figure.values == (81920,)
    assert figure.unit == "MiB/s"
    assert "NUMA node 1 " in figure.what  # the export's 4


@pytest.mark.parametrize(
    ("told", "architecture"),
    [("aarch64", "aarch64"), ("arm64", "aarch64"), ("ppc64le", "ppc64le"), ("x86_64", "x86_64"),
     ("", "x86_64"), ("ia64", "x86_64")],
)  # fmt: skip
def test_architectures(
    installation: Installation, tmp_path: Path, told: str, architecture: str
) -> None:
    info = f'<info name="Architecture" value="{told}"/>' if told else ""
    path = written(tmp_path, machine([0], info + memory(0, [0]) + core(0)))
    found = imported(installation, path)
    assert found.architecture == architecture
    assert any("ia64" in note for note in found.notes) is (told == "ia64")


def test_odd_words_in_an_export_survive(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / 'a "b" \\.xml'
    info = '<info name="CPUModel" value="&quot;A\\B&quot; &lt;&amp;&#233;&#127;"/>'
    path.write_text(machine([0], info + memory(0, [0]) + core(0)), encoding="utf-8")
    found = imported(installation, path)
    assert found.title == '"A\\B" <&é\\x7f'
    assert found.source == 'hwloc export a "b" \\.xml'


def test_a_kind_of_memory_is_no_longer_than_pictures_have_room_for(
    installation: Installation, tmp_path: Path
) -> None:
    inside = memory(0, range(4)) + memory(1, range(4), 500, f'subtype="HBM {"x" * 60}"')
    text = machine(range(4), inside + cores(range(4)), [0, 1])
    found = imported(installation, written(tmp_path, text))
    assert sorted(node.memory_kind for node in found.numa_nodes) == ["", f"HBM {'x' * 20}"]


def test_the_title_is_the_processors_name(installation: Installation, tmp_path: Path) -> None:
    info = '<info name="CPUModel" value="Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz  "/>'
    path = written(tmp_path, machine([0], info + memory(0, [0]) + core(0)))
    assert imported(installation, path).title == "Intel Xeon Platinum 8259CL"


def test_an_export_that_another_tool_has_written_anew(
    installation: Installation, tmp_path: Path
) -> None:
    """Indented, with comments, in another encoding, attributes in single quotes."""
    text = machine(range(4), memory(0, range(4)) + cores(range(4)))
    same = imported(installation, written(tmp_path, text)).numa_nodes
    root = ElementTree.fromstring(text)
    ElementTree.indent(root, "\t")
    other = "<!-- ours -->" + ElementTree.tostring(root, "unicode").replace('"', "'")
    path = tmp_path / "other.xml"
    path.write_bytes(
        '<?xml version="1.0" encoding="UTF-16"?>\n'.encode("utf-16") + other.encode("utf-16-le")
    )
    assert imported(installation, path).numa_nodes == same


# ---- what is refused -----------------------------------------------------------------------

TWO_OF_THREE = group([0, 1], memory(0, [0, 1]) + cores([0, 1]), [0]) + core(2, nodes=[])
REFUSED = {
    "not XML": ("<topology", ":1: this is not XML"),
    "empty": ("", "it is empty"),
    "blank": (" \n", "it is empty"),
    "another XML": ("<html/>", "not hwloc's"),
    "a synthetic text": ("Package:2 NUMANode:1 Core:4 PU:2\n", "give its text instead of the file"),
    "console": ("Machine (1GB total)\n  PU L#0\n", "this is not XML"),
    "hwloc 9": (machine([0], memory(0, [0]) + core(0), version=' version="9.0"'),
                "export of hwloc 9, and the library here is of hwloc 2; export it on the machine "
                "in the form of hwloc 2: lstopo --of v2xml node.xml"),
    "nothing in it": ('<topology version="2.0"/>', "hwloc can make no machine of it"),
    "no sets": ('<topology version="2.0"><object type="Machine"/></topology>', "without cpuset"),
    "no PU": (machine([0], memory(0, [0])), "no PU is in it"),
    "no NUMA node": (machine([0], core(0)), "hwloc can make no machine of it"),
    "PU twice": (machine([0, 1], memory(0, [0, 1]) + core(0) + core(0)), "PU 0 appears twice"),
    "node twice": (machine([0], memory(0, [0]) * 2 + core(0)), "NUMA node 0 appears twice"),
    "core nowhere": (machine(range(3), TWO_OF_THREE).replace(
                         'complete_nodeset="0x00000001"', 'complete_nodeset="0x00000003"', 1),
                     "no NUMA node holds the PUs 2, as where a control group keeps"),
    "PU 0 in a later node": (
        machine(range(4), group([2, 3], memory(0, [2, 3]) + cores([2, 3]), [0])
                + group([0, 1], memory(1, [0, 1]) + cores([0, 1], [1]), [1]), [0, 1]),
        "PU 0 is in NUMA node 1, but its package's first node with cores is 0",
    ),
    "unlike cores share two L3s": (
        machine(range(6), memory(0, range(6)) + l3(range(3), core(0, 1) + core(2))
                + l3(range(3, 6), core(3, 4) + core(5))),
        "has 2 L3s that unlike cores share",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_exports_that_are_refused(installation: Installation, case: str, tmp_path: Path) -> None:
    text, words = REFUSED[case]
    path = written(tmp_path, text)
    with pytest.raises(UserError) as caught:
        imported_text(installation, path)
    said = str(caught.value)
    assert str(path) in said
    assert words in said
    assert "lstopo" in said or "by hand" in said or "in quotes" in said, "what helps"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pack:2 foo:3", "unknown object type"),
        ("pack:2", "last level"),
        ("pack:0 pu:2", "0 number"),
        ("core:2 pu:99999999", "limits on time and memory"),
        ("pu:" + "9" * 5_000, "4,096 characters"),
        ("pu:2\x1b[2J", "characters"),
    ],
)
def test_synthetic_descriptions_that_are_refused(
    installation: Installation, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numalab.harness import topology_reader

    limits = topology_reader.LIMITS
    monkeypatch.setattr(
        topology_reader, "LIMITS", type(limits)(**{**vars(limits), "computing_s": 1})
    )
    with pytest.raises(UserError, match=words) as caught:
        from_synthetic(installation, text)
    assert "man 7 hwloc" in str(caught.value)


def test_more_pus_than_can_be_described(installation: Installation) -> None:
    large = replace(export_of_synthetic(installation, "pu:2"), pus=tuple(range(8193)))
    with pytest.raises(UserError, match=r"8,193 PUs, and at most 8,192 .*--restrict"):
        machine_text(large, "node", "synthetic", "'pu:8193'")


@pytest.mark.parametrize("name", ["My Node", "here", "seeded-7", ""])
def test_names_that_are_refused(installation: Installation, name: str) -> None:
    with pytest.raises(UserError, match="--name"):
        machine_text(export_of_synthetic(installation, "pu:2"), name, "synthetic", "'pu:2'")


def test_files_that_are_none(installation: Installation, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't read it.*lstopo node\.xml.*pack:2"):
        imported_text(installation, tmp_path / "none.xml")
    with pytest.raises(UserError, match="it is a folder"):
        imported_text(installation, tmp_path)
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(UserError, match="it is no plain file"):
        imported_text(installation, tmp_path / "pipe.xml")
    with (tmp_path / "huge.xml").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(UserError, match="it is larger than 16 MiB"):
        imported_text(installation, tmp_path / "huge.xml")


def test_a_file_whose_name_is_no_text(installation: Installation, tmp_path: Path) -> None:
    """Its name stands in the description as what can be shown of it."""
    export = hwloc_export(tmp_path, "--if", "synthetic", "-i", "core:2 pu:1")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff\x1b.xml"))
    export.rename(odd)
    target = tmp_path / "odd.toml"
    done = numalab_command(installation, "machine", "import", str(odd), "--output", str(target))
    assert done.code == 0, done.err
    assert load_machine(target).source == r"hwloc export n\xff\x1b.xml"


def test_what_looks_synthetic() -> None:
    for text in ("pack:2 numa:4 l3:2 core:8 pu:2", "pu:4", "[numa] pu:2", "(pu:2)",
                 "Package:2 [NUMANode(memory=1GB)] PU:2", "numa:2(indexes=1,0) pu:2"):  # fmt: skip
        assert is_probably_synthetic(text), text
    for text in ("node.xml", "./pack:2.xml", "/tmp/a:1", "node", "2:3", "C:/node.xml", ""):
        assert not is_probably_synthetic(text), text
