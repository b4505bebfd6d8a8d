"""Exports of hwloc as they come from machines (exports/): the import says what describe_node reads
in them, and tells what was left out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.exports import cores, group, imported, machine, memory, thing

from numalab.commands.machine_import import import_command
from numalab.errors import UserError
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.record import Json
from numalab.installation import Installation
from numalab.machines.export_parts import read_cores, read_numa_nodes
from numalab.machines.hwloc_export import HwlocExport, HwlocNumaNode
from numalab.machines.machine import Machine
from numalab.machines.machine_file import MAX_NODES, MAX_PUS
from numalab.machines.topology import topology_of_machine

EXPORTS = Path(__file__).parent / "exports"


def described(installation: Installation, path: Path) -> Json:
    command = [str(installation.describe_node), "--xml", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Json = json.loads(done.stdout)
    return found


def nodes_with_memory(machine: Machine) -> int:
    return sum(node.memory_mb != 0 for node in machine.numa_nodes)


@pytest.mark.parametrize(
    ("name", "shape", "numa_nodes", "usable", "note"),
    [
        # NUMA node 1 of the machine has no memory, and hwloc leaves it out.
        ("half_without_node", "2 x 2 x 4 x 2", [0, 4, 2, 3], 1, "hold"),
        ("node_with_cpus_without_memory", "2 x 1 x 4 x 1", [0, 1], 1, ""),
        ("smt", "2 x 2 x 4 x 2", [0, 1, 2, 3], 4, ""),
        ("two_nodes_one_pu_each", "1 x 2 x 1 x 1", [0, 1], 2, ""),
    ],
)
def test_an_export_is_imported_as_describe_node_reads_it(
    installation: Installation,
    name: str,
    shape: str,
    numa_nodes: Sequence[int],
    usable: int,
    note: str,
) -> None:
    path = EXPORTS / f"{name}.xml"
    found, node = imported(installation, path), described(installation, path)
    assert found.shape == shape
    assert usable_numa_nodes(node) == usable
    assert node["numa_nodes"] == nodes_with_memory(found)
    own = topology_of_machine(found)
    # -1: the export has no packages
    assert own.package == {pu["pu"]: max(pu["package"], 0) for pu in node["pu_list"]}
    number = {n: index for index, n in enumerate(sorted(numa_nodes))}
    seen = {pu["pu"]: number.get(pu["numa_node"]) for pu in node["pu_list"]}
    without = [one.number for one in found.numa_nodes if one.memory_mb == 0]
    for pu, numa_node in own.numa_node.items():
        assert seen[pu] == numa_node or (seen[pu] is None and numa_node in without)
    assert any(note in line for line in found.notes) or not note


def test_an_export_of_nodes_that_cross_packages_is_refused(installation: Installation) -> None:
    path = EXPORTS / "nodes_across_packages.xml"
    with pytest.raises(UserError, match=r"NUMA nodes 0,1 all have the PUs 0-7") as error:
        imported(installation, path)
    assert "numactl -H" in str(error.value)
    node = described(installation, path)
    assert {pu["numa_node"] for pu in node["pu_list"]} == {-1}
    assert usable_numa_nodes(node) == 1


def test_memory_beside_that_of_all_packages_is_no_crossing(
    installation: Installation, tmp_path: Path
) -> None:
    near = memory(0, range(4)) + memory(1, range(4), more='subtype="HBM"')
    packages = [thing("Package", pus, cores(pus, (0, 1)), (0, 1)) for pus in ([0, 1], [2, 3])]
    path = tmp_path / "node.xml"
    path.write_text(machine(range(4), near + "".join(packages), (0, 1)), encoding="utf-8")
    found = imported(installation, path)
    assert [len(node.pus) for node in found.numa_nodes] == [4, 0]
    assert {pu["numa_node"] for pu in described(installation, path)["pu_list"]} == {0}


def test_import_says_what_was_kept_from_the_export(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMALAB_MACHINES", str(tmp_path / "machines"))
    inside = thing("Package", range(4), memory(0, range(4)) + cores(range(4)))
    path = tmp_path / "node.xml"
    path.write_text(machine(range(4), inside, allowed=[0, 1]), encoding="utf-8")
    done = CliRunner().invoke(import_command, [str(path)], obj=installation)
    assert done.exit_code == 0, done.output
    assert "Note: PUs 2,3 were kept from who made the export, and are described" in done.output


def test_numa_nodes_whose_pus_are_not_allowed_are_not_memory_only(
    installation: Installation, tmp_path: Path
) -> None:
    pairs = ([0, 1], [2, 3])
    inside = "".join(
        thing("Package", pus, memory(n, pus) + cores(pus, [n]), [n]) for n, pus in enumerate(pairs)
    )
    path = tmp_path / "node.xml"
    path.write_text(machine(range(4), inside, (0, 1), allowed=[0, 1]), encoding="utf-8")
    node = described(installation, path)
    assert [one["not_allowed"] for one in node["numa_node_list"]] == [False, True]
    assert [pu["pu"] for pu in node["pu_list"]] == [0, 1]
    assert [one.pus for one in imported(installation, path).numa_nodes] == [(0, 1), (2, 3)]


def test_memory_of_dies_is_beside_that_of_their_package(
    installation: Installation, tmp_path: Path
) -> None:
    dies = "".join(
        group(pus, memory(n, pus, 500, 'subtype="HBM"') + cores(pus, (0, n)), (0, n))
        for n, pus in ((1, [0, 1]), (2, [2, 3]))
    )
    inside = thing("Package", range(4), memory(0, range(4)) + dies, (0, 1, 2))
    path = tmp_path / "node.xml"
    path.write_text(machine(range(4), inside, (0, 1, 2)), encoding="utf-8")
    found = imported(installation, path)
    assert [(node.pus, node.memory_kind) for node in found.numa_nodes] == [
        ((0, 1, 2, 3), ""), ((), "HBM"), ((), "HBM"),
    ]  # fmt: skip
    assert (
        "NUMA node 2 (HBM) is memory only, beside NUMA node 0 with the PUs; that it is nearest to "
        "PUs 2,3 alone is not described."
    ) in found.notes
    assert {pu["numa_node"] for pu in described(installation, path)["pu_list"]} == {0}


def invented_export(pus: int, numa_nodes: int) -> HwlocExport:
    """Cores of one PU, in NUMA nodes of as many."""
    share = pus // numa_nodes
    of_node = [frozenset(range(n * share, (n + 1) * share)) for n in range(numa_nodes)]
    nodes = tuple(HwlocNumaNode(n, held, 2**30, "", {}, 0) for n, held in enumerate(of_node))
    every = frozenset(range(pus))
    return HwlocExport({}, tuple(range(pus)), every, every, (), (), (), (), (), nodes, (), None)


@pytest.mark.parametrize("pus", [MAX_PUS, MAX_PUS + 1])
def test_a_machine_has_no_more_pus_than_linux_counts(pus: int) -> None:
    export = invented_export(pus, 1)
    if pus <= MAX_PUS:
        assert len(read_cores(export, "x")) == pus
        return
    with pytest.raises(UserError, match="x: the machine has 8,193 PUs, and at most 8,192 can"):
        read_cores(export, "x")


@pytest.mark.parametrize("numa_nodes", [MAX_NODES, MAX_NODES + 1])
def test_a_machine_has_no_more_numa_nodes_than_linux_counts(numa_nodes: int) -> None:
    export = invented_export(numa_nodes, numa_nodes)
    cores = read_cores(export, "x")
    if numa_nodes <= MAX_NODES:
        found = read_numa_nodes(export, cores, "x")
        assert [[core.pus for core in node.cores] for node in found] == [
            [(number,)] for number in range(numa_nodes)
        ]
        return
    with pytest.raises(UserError, match="has 1,025 NUMA nodes, and at most 1,024 can"):
        read_numa_nodes(export, cores, "x")
