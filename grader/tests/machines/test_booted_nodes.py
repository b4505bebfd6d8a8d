"""Virtual machines whose NUMA nodes are no part of a package, or have no memory: what numalab says
of them is what Linux says there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.structures import differences

from numalab.evidence.numa_nodes import not_counted, usable_numa_nodes
from numalab.evidence.record import Json
from numalab.installation import Installation
from numalab.labs.launch import parse_policy, plan
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine
from numalab.machines.topology import topology_of_machine, topology_of_node
from numalab.pu_lists import kernel_pus

pytestmark = pytest.mark.boots

FILES = Path(__file__).parent / "files"
PER_NODE = parse_policy('ranks = { one_per = "numa_node" }\nbind_to = "numa_node"\n', "launch.toml")

# What Linux says: of each NUMA node its number, PUs, row of the SLIT and memory in KiB. Then what
# describe_node says, in halves of the machine, too: by binding, by a control group, and by one that
# gives the memory of one NUMA node alone.
LOOK = """
exec 2>/dev/null
cd /sys/devices/system/node
for node in node[0-9]*; do
    echo "linux ${node#node};$(cat $node/cpulist);$(cat $node/distance);$(awk '/MemTotal/ {print $4}' $node/meminfo)"
done
describe() { echo "$1 $($describe_node | tr -d '\\n')"; }
describe whole
mount -t cgroup2 none /sys/fs/cgroup
cd /sys/fs/cgroup
echo +cpuset >cgroup.subtree_control
mkdir half
echo $half >half/cpuset.cpus
echo $$ >half/cgroup.procs
describe group
echo 0 >half/cpuset.mems
describe memory
echo $$ >cgroup.procs
echo "binding $(taskset -c $half $describe_node | tr -d '\\n')"
"""  # noqa: E501


def path_of(name: str) -> str:
    return str(FILES / f"{name}.toml")


def machine_of(name: str) -> Machine:
    path = Path(path_of(name))
    return parse_machine(path.read_text(encoding="utf-8"), path)


def looked_at(
    installation: Installation, name: str, half: str
) -> tuple[list[list[str]], dict[str, Json], str]:
    """What Linux says, what describe_node says by how, and what the command says beside."""
    script = f"describe_node={installation.describe_node}\nhalf={half}\n{LOOK}"
    done = numalab_command(installation, "machine", "run", path_of(name), "--", "sh", "-c", script)
    assert done.code == 0, done.err
    linux, described = [], {}
    for line in done.out.splitlines():
        what, _, rest = line.partition(" ")
        if what == "linux":
            linux.append(rest.split(";"))
        else:
            described[what] = json.loads(rest)
    return linux, described, done.err


def agree(name: str, linux: list[list[str]], node: Json) -> None:
    machine = machine_of(name)
    of_linux = {pu: int(number) for number, pus, _, _ in linux for pu in kernel_pus(pus)}
    assert {pu["pu"]: pu["numa_node"] for pu in node["pu_list"]} == of_linux
    memory = {one["numa_node"]: one["memory_bytes"] for one in node["numa_node_list"]}
    assert memory == {int(number): 1024 * int(kib) for number, _, _, kib in linux}
    listed = list(memory)
    rows = {int(number): list(map(int, row.split())) for number, _, row, _ in linux}
    assert node["distances"] == [[rows[a][sorted(rows).index(b)] for b in listed] for a in listed]
    assert differences(machine, node) == ()
    ranks = plan(PER_NODE, topology_of_node(node)).ranks
    assert ranks == plan(PER_NODE, topology_of_machine(machine)).ranks
    assert {frozenset(pus) for pus in ranks} == {kernel_pus(pus) for _, pus, _, _ in linux}


def test_nodes_that_cross_packages_are_as_linux_says(installation: Installation) -> None:
    linux, described, _ = looked_at(installation, "crossing", "0-1,4-5")
    node = described["whole"]
    agree("crossing", linux, node)
    assert usable_numa_nodes(node) == node["packages"] == 2 and not_counted(node) == ()
    # Where no PU of NUMA node 1 may be used it is neither memory only nor one to be graded on.
    for how in ("binding", "group", "memory"):
        half = described[how]
        assert [one["not_allowed"] for one in half["numa_node_list"]] == [False, True], how
        assert usable_numa_nodes(half) == 1, how
        assert not_counted(half) == ("NUMA node 1 is not allowed here",)
        assert [pu["pu"] for pu in half["pu_list"]] == [0, 1, 4, 5]
    memory = [one["memory_bytes"] > 0 for one in described["memory"]["numa_node_list"]]
    assert memory == [True, False]


@pytest.mark.slow
def test_nodes_without_memory_are_as_linux_says(installation: Installation) -> None:
    linux, described, said = looked_at(installation, "memoryless", "2-3")
    node = described["whole"]
    agree("memoryless", linux, node)
    assert [int(kib) > 0 for *_, kib in linux] == [True, False, True]
    assert "NUMA node 1 without memory" in said
    assert usable_numa_nodes(node) == 1
    assert not_counted(node) == ("NUMA node 1 (PUs 2,3) has no memory that may be used",)
    shown = numalab_command(installation, "machine", "show", path_of("memoryless"))
    assert "1 NUMA node without memory" in " ".join(shown.out.split())


@pytest.mark.slow
@pytest.mark.parametrize(("whose", "local"), [("--solutions", "pass"), ("--handouts", "fail")])
def test_criteria_go_by_the_nodes_of_linux(
    installation: Installation, tmp_path: Path, whose: str, local: str
) -> None:
    result = tmp_path / "result.json"
    places = [word for name in ("crossing", "memoryless") for word in ("--on", path_of(name))]
    done = numalab_command(
        installation, "grade", "01", "--quick", "--lang", "c", whose, *places, "--json", str(result)
    )
    (graded,) = json.loads(result.read_text())["results"]
    found = {(c["name"], c["where"]): c for c in graded["criteria"]}
    assert found["local_pages", "crossing"]["status"] == local
    assert found["touched_where_used", "crossing"]["status"] == local
    assert found["touched_where_used", "memoryless"]["status"] == local
    assert found["local_pages", "memoryless"]["status"] == "not_gradable"
    assert "NUMA node 1 (PUs 2,3) has no memory that may be used" in " ".join(done.out.split())
