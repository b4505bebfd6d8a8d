"""PUs belong to the NUMA nodes that Linux says: describe_node on recorded trees, and exports of
machines whose NUMA nodes are no part of a package."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.exports import cores, imported, machine, memory, thing

from numalab.errors import NumalabError
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.record import Json
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.labs.launch import parse_policy, plan
from numalab.machines.machine_file import parse_machine
from numalab.machines.picture import summary, terminal
from numalab.machines.topology import topology_of_machine, topology_of_node
from numalab.reports.figures.boxes import shape_of
from numalab.virtual.qemu import positions

SYSTEM = "sys/devices/system"


def recorded(
    root: Path, packages: Sequence[Sequence[int]], nodes: Mapping[int, tuple[str, int]] | None
) -> Path:
    """A tree of cores of one thread. nodes: by number their PUs and memory in KiB; None: no folder
    of NUMA nodes."""
    pus = sorted(pu for package in packages for pu in package)
    files = {f"{SYSTEM}/cpu/{name}": f"0-{pus[-1]}\n" for name in ("online", "possible", "present")}
    for number, package in enumerate(packages):
        mask = sum(1 << pu for pu in package)
        for pu in package:
            topology = f"{SYSTEM}/cpu/cpu{pu}/topology"
            files[f"{topology}/physical_package_id"] = f"{number}\n"
            files[f"{topology}/core_id"] = f"{pu}\n"
            files[f"{topology}/package_cpus"] = files[f"{topology}/core_siblings"] = f"{mask:x}\n"
            files[f"{topology}/core_cpus"] = files[f"{topology}/thread_siblings"] = f"{1 << pu:x}\n"
            files[f"{SYSTEM}/cpu/cpu{pu}/online"] = "1\n"
    for number, (text, kib) in (nodes or {}).items():
        folder = f"{SYSTEM}/node/node{number}"
        own: set[int] = set()
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            own |= set(range(int(first), int(last or first) + 1))
        files[f"{folder}/cpulist"] = f"{text}\n"
        files[f"{folder}/cpumap"] = f"{sum(1 << pu for pu in own):x}\n"
        files[f"{folder}/meminfo"] = f"Node {number} MemTotal: {kib:8d} kB\n"
        files[f"{folder}/distance"] = " ".join("10" if n == number else "20" for n in nodes or {})
    if nodes is not None:
        (root / SYSTEM / "node").mkdir(parents=True)
        if nodes:  # an empty one has nothing at all in it
            files[f"{SYSTEM}/node/online"] = ",".join(map(str, nodes)) + "\n"
    files["proc/cpuinfo"] = ""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def described(installation: Installation, *options: str) -> Json:
    command = [str(installation.describe_node), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Json = json.loads(done.stdout)
    return found


def nodes_of_pus(node: Json) -> dict[int, int]:
    return {pu["pu"]: pu["numa_node"] for pu in node["pu_list"]}


TWO = ([0, 1, 2, 3], [4, 5, 6, 7])
CROSSING = {0: "0-1,4-5", 1: "2-3,6-7"}


@pytest.mark.parametrize(
    ("nodes", "expected", "usable"),
    [
        pytest.param({n: (pus, 4096) for n, pus in CROSSING.items()},
                     [0, 0, 1, 1, 0, 0, 1, 1], 2, id="across packages"),
        pytest.param({0: ("0-3", 4096), 1: ("4-7", 0)}, [0] * 4 + [1] * 4, 1, id="no memory"),
        pytest.param({0: ("0-3", 4096)}, [0] * 4 + [-1] * 4, 1, id="PUs of none"),
        pytest.param({0: ("0-7", 4096)}, [0] * 8, 1, id="two packages in one"),
        pytest.param({0: ("0-7", 4096), 1: ("", 4096)}, [0] * 8, 1, id="memory only"),
        pytest.param({}, [0] * 8, 1, id="empty folder"),
        pytest.param(None, [0] * 8, 1, id="no folder"),
    ],
)  # fmt: skip
def test_describe_node_says_what_linux_says(
    installation: Installation, tmp_path: Path, nodes: Mapping[int, tuple[str, int]] | None,
    expected: Sequence[int], usable: int,
) -> None:  # fmt: skip
    node = described(installation, "--root", str(recorded(tmp_path, TWO, nodes)))
    assert nodes_of_pus(node) == dict(enumerate(expected))
    assert usable_numa_nodes(node) == usable
    assert node["packages"] == 2


def test_a_node_that_crosses_packages_is_bound_by_pus(
    installation: Installation, tmp_path: Path
) -> None:
    nodes = {n: (pus, 4096) for n, pus in CROSSING.items()}
    topology = topology_of_node(
        described(installation, "--root", str(recorded(tmp_path, TWO, nodes)))
    )
    assert not topology.is_even  # so that a launcher gets lists of PUs
    policy = parse_policy(
        '[ranks]\none_per = "numa_node"\n'
        if False
        else 'ranks = { one_per = "numa_node" }\nbind_to = "numa_node"\n',
        "launch.toml",
    )
    assert [sorted(pus) for pus in plan(policy, topology).ranks] == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_packages_of_one_numa_node_stay_packages(
    installation: Installation, tmp_path: Path
) -> None:
    inside = memory(0, range(8)) + "".join(thing("Package", pus, cores(pus)) for pus in TWO)
    path = tmp_path / "node.xml"
    path.write_text(machine(range(8), inside), encoding="utf-8")
    found = imported(installation, path)
    assert found.packages == 2 and len(found.numa_nodes) == 1
    assert found.shape == "2 x 1 x 4 x 1"
    assert "2 packages and 1 NUMA node that crosses them" in summary(found)
    topology = topology_of_machine(found)
    assert topology.package == {pu: pu // 4 for pu in range(8)} and topology.is_even
    assert positions(found)[4].package == 1


CROSSING_FILE = """
name = "crossing"
title = "two packages, two NUMA nodes that cross them"
source = "made up"
[[numa_node]]
package = 0
memory_mb = 512
[[numa_node.cores]]
pus = ["0-1"]
[[numa_node.cores]]
package = 1
pus = ["4-5"]
[[numa_node]]
package = 0
memory_mb = 0
[[numa_node.cores]]
pus = ["2-3"]
[[numa_node.cores]]
package = 1
pus = ["6-7"]
"""


def test_a_described_machine_agrees_with_the_recorded_one(
    installation: Installation, tmp_path: Path
) -> None:
    nodes = {n: (pus, 4096) for n, pus in CROSSING.items()}
    seen = topology_of_node(described(installation, "--root", str(recorded(tmp_path, TWO, nodes))))
    one = parse_machine(CROSSING_FILE, Path("crossing.toml"))
    topology = topology_of_machine(one)
    assert (topology.package, topology.numa_node) == (seen.package, seen.numa_node)
    assert one.guest_memory_mib(256) == (256, 0)
    assert "1 NUMA node without memory" in summary(one)


def test_pus_of_no_numa_node_are_one_without_memory(
    installation: Installation, tmp_path: Path
) -> None:
    inside = thing("Package", TWO[0], memory(0, TWO[0]) + cores(TWO[0]))
    inside += thing("Package", TWO[1], cores(TWO[1], ()), ())
    path = tmp_path / "node.xml"
    path.write_text(machine(range(8), inside), encoding="utf-8")
    found = imported(installation, path)
    assert [node.memory_mb for node in found.numa_nodes] == [1000, 0]
    assert found.numa_nodes[1].pus == (4, 5, 6, 7)
    assert any("without memory" in note for note in found.notes)


def test_memory_of_a_node_in_several_packages_is_told_once() -> None:
    one = parse_machine(CROSSING_FILE, Path("crossing.toml"))
    text = "\n".join(line.plain for line in terminal(one, 100))
    assert text.count("512 MiB") == text.count(" 0 MiB") == 1
    assert text.count("NUMA node 0") == text.count("NUMA node 1") == 2
    shape = shape_of(one)
    drawn = [(node.package, node.number, node.memory_mb, node.pus) for node in shape.nodes]
    assert drawn == [
        (0, 0, 512, (0, 1)), (0, 1, 0, (2, 3)), (1, 0, None, (4, 5)), (1, 1, None, (6, 7)),
    ]  # fmt: skip


def test_where_hwloc_gives_up_a_sentence_says_so(
    installation: Installation, tmp_path: Path
) -> None:
    source = tmp_path / "gives_up.c"
    source.write_text(
        "#include <stdlib.h>\nint hwloc_topology_load(void *t) { (void)t; abort(); }\n"
    )
    library = tmp_path / "gives_up.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    done = subprocess.run(
        [str(installation.describe_node)], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "LD_PRELOAD": str(library)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "hwloc gave up on what the system tells of its PUs and NUMA nodes" in done.stderr


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'hwloc gave up' >&2; exit 1", "can't be described: hwloc gave up"),
        ("kill -ABRT $$", "ended by signal 6 and said nothing"),
        ("exit 3", "ended with exit code 3 and said nothing"),
    ],
)
def test_a_node_that_can_t_be_described_is_told(tmp_path: Path, script: str, says: str) -> None:
    dies = Installation(tmp_path, "gnu", builds=tmp_path)
    dies.describe_node.parent.mkdir(parents=True, exist_ok=True)
    dies.describe_node.write_text(f"#!/bin/sh\n{script}\n")
    dies.describe_node.chmod(0o755)
    with pytest.raises(NumalabError) as told:
        describe_node(dies)
    assert says in str(told.value)
