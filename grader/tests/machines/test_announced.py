"""What processors announce by CPUID, as it was recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from numalab.installation import find_installation
from numalab.machines.announced import (
    RECORDED,
    Recorded,
    TopologyShape,
    Widths,
    announces_cores,
    libomp_shape,
    other_processors,
    own_and_other,
)
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine
from numalab.machines.seeded import seeded_machine

FOLDER = gallery_folder(find_installation("gnu"))
GALLERY = load_gallery(FOLDER)
MACHINES = [pytest.param(machine, id=name) for name, machine in GALLERY.items()]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Xeon X5550", TopologyShape(2, 4, 2)),
        ("Xeon X5650", TopologyShape(2, 6, 2)),
        ("EPYC 9654", TopologyShape(2, 96, 2)),
        ("Xeon Max 9460", TopologyShape(2, 40, 2)),
        # Neither leaf 0xB nor leaf 4: the room that leaf 1 announces is one core.
        ("Opteron 6164 HE", TopologyShape(2, 1, 12)),
        ("EPYC 7451", TopologyShape(2, 1, 48)),
    ],
)
def test_what_libomp_finds(name: str, found: TopologyShape) -> None:
    assert libomp_shape(RECORDED[name]) == found


def recorded_rows() -> dict[str, list[str]]:
    """The rows of the table in common/machines/README.md, by the recorded processor's name."""
    text = (FOLDER / "README.md").read_text("utf-8")
    lines = text[text.index("| recorded | machines |") :].split("\n\n")[0].splitlines()[2:]
    rows = (re.split(r" *\| *", line.strip("| ")) for line in lines)
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED)
def test_records_are_those_of_the_readme(recorded: Recorded) -> None:
    shape, widths = recorded.shape, recorded.leaf_b
    machines, told, leaf_b, leaf_4, found = recorded_rows()[recorded.name]
    assert told == f"{' x '.join(map(str, shape))}, {recorded.l3_caches}"
    if widths is None:
        assert leaf_b in ("none", "empty")
    else:
        assert leaf_b == f"bits {widths.core}, {widths.package}"
        assert 1 << widths.core == shape.threads
        assert shape.cores * shape.threads <= 1 << widths.package
    assert leaf_4 == ("yes" if recorded.has_leaf_4 else "empty")
    assert (found == "packages, cores, threads") == (libomp_shape(recorded) == shape)
    named = {name for name, one in GALLERY.items() if one.processor == recorded.name}
    assert named == set(re.sub(r"\(.*?\)", "", machines).replace(",", " ").split())


def test_all_records_are_in_the_readme() -> None:
    rows = recorded_rows()
    assert list(rows) == [*RECORDED, "none"]
    none = {name for name, one in GALLERY.items() if one.is_native and one.processor is None}
    assert none == set(rows["none"][0].split(", "))


@pytest.mark.parametrize(
    ("leaf_b", "has_leaf_4", "found"),
    [
        (Widths(1, 4), True, TopologyShape(2, 6, 2)),
        (Widths(1, 4), False, TopologyShape(2, 6, 2)),
        (None, True, TopologyShape(2, 6, 2)),
        (None, False, TopologyShape(2, 1, 12)),
    ],
)
def test_one_leaf_is_enough_to_find_cores(
    leaf_b: Widths | None, has_leaf_4: bool, found: TopologyShape
) -> None:
    assert libomp_shape(Recorded("x", "x", TopologyShape(2, 6, 2), 1, leaf_b, has_leaf_4)) == found


UNSHOWN = ("Its cores are all of one kind", "Cores without an L3 share one", "Memory is of one")
HEAD = 'name = "x"\ntitle = "x"\nsource = "x"\n[[numa_node]]\npackage = 0\n'


@pytest.mark.parametrize(
    ("node", "which"),
    [
        ('pus = ["0-3"]', []),
        ('[[numa_node.cores]]\nkind = "fast"\npus = ["0-3"]', []),
        ('[[numa_node.cores]]\nkind = "fast"\npus = ["0"]\n[[numa_node.cores]]\npus = ["1"]', [0]),
        ('pus = ["0-3"]\nl3_groups = 0', [1]),
        ('[[numa_node.cores]]\npus = ["0"]\n[[numa_node.cores]]\npus = ["1"]\nl3_groups = 0', [1]),
        ('pus = ["0"]\n[[numa_node]]\npackage = 0\nmemory_kind = "HBM"\npus = []', [2]),
        ('memory_kind = "DDR5"\npus = ["0-3"]', [2]),
        ('memory_side_cache_mb = 1\npus = ["0-3"]', [2]),
        ('pus = ["0"]\n[[numa_node]]\npackage = 0\nmemory_side_cache_mb = 1\npus = []', [2]),
    ],
)
def test_what_a_virtual_node_does_not_show_is_told(node: str, which: list[int]) -> None:
    _, *unshown, _ = own_and_other(parse_machine(HEAD + node, Path("x.toml")))
    assert [line[: len(UNSHOWN[at])] for line, at in zip(unshown, which, strict=True)] == [
        UNSHOWN[at] for at in which
    ]


def test_a_machine_from_a_seed_is_shown_whole() -> None:
    (said,) = own_and_other(seeded_machine(7))
    assert "but times, sizes of caches, and the processor" in said


@pytest.mark.parametrize("machine", MACHINES)
def test_a_recording_is_named_where_there_is_one(machine: Machine) -> None:
    *_, cpuid = own_and_other(machine)
    named = [name for name in RECORDED if name in cpuid]
    if machine.processor is None:
        assert named == []
    elif announces_cores(machine):
        assert named == [machine.processor]
        assert f"the {machine.processor} announces them, too." in cpuid
    else:
        # Its cores are announced as a later processor of the same maker does.
        assert sorted(named) == sorted([machine.processor, "EPYC 9654"])
        threads = {"nebula": 48, "magny-cours": 12}[machine.name]
        assert f"a single core of {threads} hardware threads" in cpuid
    assert ("is Arm" in cpuid or "own are Arm" in cpuid) == (not machine.is_native)


@pytest.mark.parametrize(
    ("architecture", "words"),
    [("aarch64", "(Arm)"), ("ppc64le", "(POWER)"), ("riscv64", "(RISC-V)"), ("s390x", "(s390x)")],
)
def test_processors_of_another_instruction_set_are_named(architecture: str, words: str) -> None:
    said = other_processors(architecture)
    assert said.startswith("; with x86 processors") and said.endswith(words)


def test_nothing_is_said_of_processors_that_are_the_machines_own() -> None:
    assert other_processors("x86_64") == ""


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_is_built_as_its_processor_is(machine: Machine) -> None:
    """As far as they are of one kind: NUMA nodes and L3 caches of a package; nebula's and aurora's
    processors have more cores than the recorded ones."""
    if machine.processor is None:
        words = "inferred" if machine.is_native else "is not judged"
        assert words in own_and_other(machine)[-1]
        return
    recorded = RECORDED[machine.processor]
    assert machine.groups_per_node.most * machine.nodes_per_package.most == recorded.l3_caches
    assert machine.threads_per_core.most <= recorded.shape.threads
    cores = machine.cores // machine.packages
    assert cores == recorded.shape.cores or machine.name in ("aurora", "nebula")


@pytest.mark.parametrize("machine", MACHINES)
def test_it_is_said_what_is_the_machines_own(machine: Machine) -> None:
    own, *unshown, cpuid = own_and_other(machine)
    assert "PU numbers" in own and "Times" in own
    assert all("Memory" in line or "cores" in line.lower() for line in unshown)
    assert ("no dies" in cpuid) == machine.is_native
    is_less = machine.name in ("nebula", "magny-cours")
    assert ("takes one there for a single core" in cpuid) == is_less
    assert announces_cores(machine) == (machine.is_native and not is_less)
    assert ("inferred" in cpuid) == (machine.processor is None and machine.is_native)
