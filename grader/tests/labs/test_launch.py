"""./numalab launch: policies, what they mean on a node, and where MPICH then puts ranks.

Command lines for Slurm, Open MPI and Intel MPI are compared as text only; grader/README.md says
which of them have been run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import SOON_LIMIT_S, Done, environment, numalab_command
from support.guests import start, text

from numalab.files import read_text
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.labs.launch import (
    BINDINGS,
    UNITS,
    BadPolicy,
    Policy,
    RankPlan,
    UnitCount,
    parse_policy,
    plan,
    summary,
)
from numalab.labs.launch_commands import (
    Command,
    intel_mpi_command,
    mpiexec_command,
    ompi_command,
    srun_command,
)
from numalab.machines.gallery import find_machine
from numalab.machines.topology import Pu, Topology, topology_of_machine, topology_of_node, units_of
from numalab.pu_lists import format_pus, kernel_pus
from numalab.virtual.guest import Guest
from numalab.virtual.guest_plan import Share

Json = dict[str, Any]
PER_NUMA_NODE = """
ranks = { one_per = "numa_node" }
threads = { one_per = "core" }
bind_to = "numa_node"
map_by = "numa_node"
"""

needs_mpiexec = pytest.mark.skipif(shutil.which("mpiexec") is None, reason="no mpiexec")


def on(installation: Installation, machine: str, policy: str) -> RankPlan:
    return plan(
        parse_policy(policy, "p.toml"), topology_of_machine(find_machine(installation, machine))
    )


# ---- reading a policy ----------------------------------------------------------------


def test_a_whole_policy() -> None:
    found = parse_policy(PER_NUMA_NODE, "p.toml")
    assert found == Policy(UnitCount("numa_node"), UnitCount("core"), "numa_node", "numa_node")


@pytest.mark.parametrize(
    ("text", "bind_to", "map_by"),
    [
        ("ranks = 2", "none", "machine"),
        ('ranks = { one_per = "machine" }', "none", "machine"),
        ('ranks = { one_per = "package" }', "package", "package"),
        ('ranks = { one_per = "pu" }', "pu", "pu"),
        ('ranks = 2\nbind_to = "core"', "core", "core"),
        ('ranks = 2\nbind_to = "core"\nmap_by = "package"', "core", "package"),
        ('ranks = { one_per = "core" }\nbind_to = "none"', "none", "machine"),
    ],
)
def test_what_is_left_out(text: str, bind_to: str, map_by: str) -> None:
    found = parse_policy(text, "p.toml")
    assert (found.threads, found.bind_to, found.map_by) == (1, bind_to, map_by)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it does not say how many ranks there are; write ranks ="),
        ("threads = 2", "how many ranks"),
        ("\nranks = two", "p.toml:2: this is not TOML"),
        ("ranks = 2\nranks = 3", "p.toml:2: this is not TOML"),
        ("ranks = 0", "'ranks' is 0; it must be 1 or more"),
        ("ranks = 2\nthreads = -4", "p.toml:2: 'threads' is -4; it must be 1 or more"),
        ("ranks = 1000000000", "can't be above 100000"),
        ("ranks = 2.5", "'ranks' is 2.5; write a whole number, or ranks = {"),
        ("ranks = true", "p.toml:1: 'ranks' is true; write a whole number"),
        ('ranks = "4"', "write the number without quotes: ranks = 4"),
        ('ranks = "numa_node"', "is the text 'numa_node'; write ranks = { one_per ="),
        ('ranks = "0-3"', "'ranks' is a list of PUs; they hold on one machine only"),
        ("ranks = [0, 8]", "'ranks' is a list of PUs; they hold on one machine only"),
        ('ranks = 2\nthreads = "0,2,4"', "'threads' is a list of PUs"),
        ("ranks = {}", "'ranks' is empty"),
        ('ranks = { per = "core" }', "'ranks' has a key 'per'; write ranks = { one_per"),
        ('\nranks = { one_per = "core", count = 2 }', "p.toml:2: 'ranks' has a key 'count'"),
        ('ranks = { one_per = "numanode" }', "Did you mean numa_node?"),
        ('ranks = { one_per = "NUMA node" }', "Did you mean numa_node?"),
        ('ranks = { one_per = "socket" }', "Did you mean package?"),
        ('ranks = { one_per = "sockets" }', "Did you mean package?"),
        ('ranks = { one_per = "packages" }', "Did you mean package?"),
        ('ranks = { one_per = "hwthread" }', "Did you mean pu?"),
        ('ranks = { one_per = "node" }', "a NUMA node is numa_node here, and the whole computer"),
        ('ranks = { one_per = "galaxy" }', "there is no such unit. It can be: machine, package"),
        ("ranks = { one_per = 2 }", "'ranks.one_per' has PU numbers"),
        ("ranks = { one_per = true }", "'ranks.one_per' is true; write one of these in quotes"),
        ('ranks = 2\nthreads = { one_per = "package" }', "only a core or a PU"),
        ('ranks = 2\nbind_to = "machine"', 'is not bound: write "none"'),
        ("ranks = 2\nbind_to = 3", "'bind_to' has PU numbers"),
        ('ranks = 2\nbind_to = "0-3,8"', "'bind_to' has PU numbers"),
        ('ranks = 2\nbind_to = "user:0,1"', "'bind_to' has PU numbers"),
        ("ranks = 2\nbind_to = [[0, 1], [2, 3]]", "name a unit of the topology instead"),
        ('ranks = 2\nbind_to = "cores"', "Did you mean core?"),
        ('ranks = 2\nbind_to = "no"', "Did you mean none?"),
        ('ranks = 2\nbind_to = "core"\nmap_by = "sokcet"', "there is no such unit"),
        ('ranks = 2\nbind_to = "core"\nmap_by = "none"', "map_by = 'none'"),
        ('ranks = 2\nmap_by = "core"', "no rank is bound here"),
        ('ranks = 2\nbind_to = "none"\nmap_by = "core"', "no rank is bound here"),
        ('ranks = 2\nbind-to = "core"', "unknown key 'bind-to'. Did you mean 'bind_to'?"),
        ("rank = 2", "unknown key 'rank'. Did you mean 'ranks'?"),
        ('ranks = 2\npus = "0-3"', "'pus' has PU numbers"),
        ("ranks = 2\ncolour = 1", "The keys are: ranks, threads, bind_to, map_by"),
    ],
)  # fmt: skip
def test_what_a_policy_can_not_say(text: str, says: str) -> None:
    with pytest.raises(BadPolicy) as told:
        parse_policy(text, "p.toml")
    assert says in str(told.value)
    assert re.match(r"p\.toml:[1-3]: ", str(told.value))


# ---- topologies ----------------------------------------------------------------------


def test_pus_come_in_hwlocs_order(installation: Installation) -> None:
    """By L3 inside a NUMA node, siblings together, packages by their lowest PU."""

    def pus(machine: str) -> list[int]:
        return [pu.number for pu in topology_of_machine(find_machine(installation, machine)).pus]

    assert pus("nebula")[:10] == [0, 16, 32, 48, 8, 24, 40, 56, 2, 18]
    assert pus("westmere-ep")[:4] == [0, 12, 1, 13]
    assert pus("westmere-ex")[:4] == [0, 32, 4, 36]
    assert pus("westmere-ex")[20] == 1


def test_a_part_of_a_node_is_told_from_a_whole_one() -> None:
    pus = [{"pu": n, "core": n, "package": 0, "numa_node": n // 2} for n in range(4)]
    assert topology_of_node({"pu_list": pus, "numa_nodes": 2, "pus_online": 4}).is_even
    assert not topology_of_node({"pu_list": pus, "numa_nodes": 2, "pus_online": 8}).is_even
    assert not topology_of_node({"pu_list": pus, "numa_nodes": 3, "pus_online": 4}).is_even
    assert not topology_of_node({"pu_list": pus[:3], "numa_nodes": 2, "pus_online": 3}).is_even
    hidden = [pu | {"core": -1} for pu in pus]
    found = topology_of_node({"pu_list": hidden, "numa_nodes": 2, "pus_online": 4})
    assert not found.is_even and len({pu.core for pu in found.pus}) == 4


# ---- plans ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "ranks", "threads", "second"),
    [
        ("hydra", 2, 16, range(1, 32, 2)),
        ("nebula", 8, 8, range(2, 64, 8)),
        ("westmere-ex", 4, 10, range(1, 80, 4)),
        ("westmere-ep", 2, 6, (*range(6, 12), *range(18, 24))),
    ],
)
def test_one_rank_for_each_numa_node(
    installation: Installation,
    machine: str,
    ranks: int,
    threads: int,
    second: range | tuple[int, ...],
) -> None:
    found = on(installation, machine, PER_NUMA_NODE)
    described = find_machine(installation, machine)
    assert (len(found.ranks), found.threads) == (ranks, threads)
    assert sorted(found.ranks[1]) == list(second)
    assert {tuple(sorted(r)) for r in found.ranks} == {node.pus for node in described.numa_nodes}
    assert found.environment == {
        "OMP_NUM_THREADS": str(threads), "OMP_PLACES": "cores", "OMP_PROC_BIND": "spread",
    }  # fmt: skip
    assert found.notes == ()


@pytest.mark.parametrize(
    ("machine", "policy", "ranks", "threads"),
    [
        ("hydra", 'ranks = 2\nbind_to = "core"\nmap_by = "core"', [[0], [2]], 1),
        ("hydra", 'ranks = 2\nbind_to = "core"\nmap_by = "package"', [[0], [1]], 1),
        ("hydra", 'ranks = 3\nbind_to = "core"\nmap_by = "numa_node"', [[0], [1], [2]], 1),
        ("nebula", 'ranks = 2\nbind_to = "core"\nmap_by = "numa_node"', [[0], [2]], 1),
        ("nebula", 'ranks = 3\nbind_to = "numa_node"\nmap_by = "package"',
         [range(0, 64, 8), range(1, 64, 8), range(2, 64, 8)], 1),
        ("westmere-ep", 'ranks = 2\nbind_to = "core"', [[0, 12], [1, 13]], 1),
        ("westmere-ep", 'ranks = 2\nbind_to = "pu"', [[0], [12]], 1),
        ("westmere-ep", 'ranks = 2\nbind_to = "pu"\nmap_by = "core"', [[0], [1]], 1),
        ("westmere-ep", 'ranks = 2\nbind_to = "core"\nthreads = { one_per = "pu" }',
         [[0, 12], [1, 13]], 2),
        ("westmere-ex", 'ranks = 2\nbind_to = "package"\nthreads = { one_per = "pu" }',
         [range(0, 80, 4), range(1, 80, 4)], 20),
        ("hydra", 'ranks = { one_per = "machine" }\nthreads = { one_per = "core" }',
         [range(32)], 32),
        ("hydra", 'ranks = 2\nbind_to = "numa_node"\nmap_by = "core"\nthreads = 8',
         [range(0, 32, 2), range(0, 32, 2)], 8),
    ],
)  # fmt: skip
def test_where_ranks_go(
    installation: Installation, machine: str, policy: str, ranks: list[Any], threads: int
) -> None:
    found = on(installation, machine, policy)
    assert [sorted(rank) for rank in found.ranks] == [list(rank) for rank in ranks]
    assert found.threads == threads


def test_a_rank_for_each_unit_is_as_many_as_there_are(installation: Installation) -> None:
    counts = {"machine": 1, "package": 4, "numa_node": 4, "core": 40, "pu": 80}
    for unit in UNITS:
        found = on(installation, "westmere-ex", f'ranks = {{ one_per = "{unit}" }}')
        assert len(found.ranks) == counts[unit]
        assert len(set(found.ranks)) == counts[unit]


def test_ranks_that_share_a_unit_share_its_cores(installation: Installation) -> None:
    """And their threads are not pinned: each rank would count the same places."""
    found = on(
        installation, "nebula",
        'ranks = { one_per = "numa_node" }\nthreads = { one_per = "core" }\nbind_to = "package"',
    )  # fmt: skip
    assert found.threads == 8
    assert found.environment == {"OMP_NUM_THREADS": "8", "OMP_PROC_BIND": "false"}
    assert "share a package" in found.notes[0]
    none = on(installation, "hydra", 'ranks = 4\nthreads = { one_per = "pu" }')
    assert none.threads == 8 and none.places is None and none.notes == ()


def test_threads_that_fill_a_core_get_a_pu_each(installation: Installation) -> None:
    policy = 'ranks = {{ one_per = "numa_node" }}\nthreads = {}'
    assert on(installation, "westmere-ep", policy.format(6)).places == "cores"
    assert on(installation, "westmere-ep", policy.format(7)).places == "threads"
    assert on(installation, "westmere-ep", policy.format('{ one_per = "pu" }')).places == "threads"


@pytest.mark.parametrize(
    ("machine", "policy", "ranks", "threads", "first", "last"),
    [
        ("eiger", PER_NUMA_NODE, 8, 16, "0-15,128-143", "112-127,240-255"),
        ("genoa", PER_NUMA_NODE, 2, 96, "0-95,192-287", "96-191,288-383"),
        ("turin", 'ranks = { one_per = "core" }\nthreads = { one_per = "pu" }', 256, 2, "0,256",
         "255,511"),
        ("cxl", PER_NUMA_NODE, 2, 52, "0-51,104-155", "52-103,156-207"),
        ("knl", 'ranks = { one_per = "numa_node" }\nthreads = 16', 4, 16,
         "0-17,68-85,136-153,204-221", "52-67,120-135,188-203,256-271"),
        ("elitebook", 'ranks = { one_per = "core" }', 14, 1, "0,1", "19"),
    ],
)  # fmt: skip
def test_machines_of_today(
    installation: Installation,
    machine: str,
    policy: str,
    ranks: int,
    threads: int,
    first: str,
    last: str,
) -> None:
    """With several hundred PUs, memory without cores, unlike NUMA nodes, unlike cores."""
    made = on(installation, machine, policy)
    assert (len(made.ranks), made.threads) == (ranks, threads)
    pus = [format_pus(sorted(made.ranks[index])) for index in (0, -1)]
    assert pus == [first, last]
    words = mpiexec_command(made, ["a.out"]).arguments
    is_even = machine in ("eiger", "genoa", "turin")
    assert ("user:" in " ".join(words)) != is_even, "hydra counts units of one size"
    masks = srun_command(made, ["a.out"]).arguments
    assert sum(word.count("0x") for word in masks) == ranks
    if not is_even:
        with pytest.raises(BadPolicy, match="units differ in size"):
            ompi_command(made, ["a.out"])


@pytest.mark.parametrize(
    ("machine", "policy", "says"),
    [
        ("knl", PER_NUMA_NODE, "2 with 16 and 2 with 18"),
        ("elitebook", 'ranks = { one_per = "core" }\nthreads = { one_per = "pu" }',
         "8 with 1 and 6 with 2"),
        ("elitebook", 'ranks = { one_per = "core" }\nthreads = "default"', "unequal numbers"),
        ("elitebook", 'ranks = { one_per = "core" }\nthreads = 2', "a core of 1 PU"),
    ],
)  # fmt: skip
def test_what_unlike_units_can_not_share_equally(
    installation: Installation, machine: str, policy: str, says: str
) -> None:
    with pytest.raises(BadPolicy, match=says):
        on(installation, machine, policy)


def test_taking_turns_is_told(installation: Installation) -> None:
    (note,) = on(installation, "laptop", "ranks = 64\nthreads = 2").notes
    assert note.startswith("64 ranks of 2 threads take turns on")


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ('ranks = 33\nbind_to = "core"', "33 ranks can't be bound to a core of their own: this "
         'machine has 32 cores. Take at most 32 ranks, or bind_to = "none"'),
        ('ranks = 33\nbind_to = "pu"', "this machine has 32 PUs"),
        ('ranks = 2\nbind_to = "core"\nthreads = 2', "1 rank of 2 threads can't be bound to a core "
         "of 1 PU. Take fewer threads or fewer ranks"),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = 17', "NUMA node of 16 PUs"),
        ('ranks = 40\nbind_to = "numa_node"', "20 ranks of 1 thread can't be bound"),
        ('ranks = 3\nbind_to = "numa_node"\nthreads = { one_per = "core" }',
         "unequal numbers of threads (2 with 8 and 1 with 16)"),
        ('ranks = 6\nbind_to = "numa_node"\nthreads = { one_per = "core" }',
         "3 ranks share a NUMA node of 16 cores, and 16 cores can't be shared out equally. Take "
         "2 or 4 or 8 or 16 of them for each"),
        ('ranks = 3\nthreads = { one_per = "pu" }', "3 ranks share the machine of 32 PUs"),
        ('ranks = 64\nthreads = { one_per = "core" }', "64 ranks share the machine"),
    ],
)  # fmt: skip
def test_what_can_not_be_meant_on_hydra(installation: Installation, policy: str, says: str) -> None:
    with pytest.raises(BadPolicy) as told:
        on(installation, "hydra", policy)
    assert says in str(told.value)


def test_siblings_as_steps_put_two_ranks_on_a_core(installation: Installation) -> None:
    with pytest.raises(BadPolicy, match='map_by = "pu" puts several of 2 ranks on one core'):
        on(installation, "westmere-ep", 'ranks = 2\nbind_to = "core"\nmap_by = "pu"')


def test_a_summary_is_short(installation: Installation) -> None:
    lines = summary(on(installation, "hydra", PER_NUMA_NODE))
    assert lines == [
        "2 ranks, each with 16 threads",
        "rank 0: package 0, NUMA node 0, PUs 0-30:2",
        "rank 1: package 1, NUMA node 1, PUs 1-31:2",
    ]
    assert (
        summary(on(installation, "hydra", 'ranks = { one_per = "core" }'))[-1]
        == "... and 24 ranks more"
    )
    assert summary(on(installation, "hydra", "ranks = 1")) == ["1 rank, with 1 thread, not bound"]


# ---- command lines ---------------------------------------------------------------------


def test_mpiexecs_command_line(installation: Installation) -> None:
    command = mpiexec_command(on(installation, "hydra", PER_NUMA_NODE), ["./jacobi", "a b"])
    assert command.arguments == (
        "mpiexec", "-n", "2", "-bind-to", "numa", "-map-by", "numa", "./jacobi", "a b",
    )  # fmt: skip
    line = command.shell_line()
    assert line == (
        "OMP_NUM_THREADS=16 OMP_PLACES=cores OMP_PROC_BIND=spread mpiexec -n 2 \\\n"
        "    -bind-to numa -map-by numa ./jacobi 'a b'"
    )
    assert tuple(shlex.split(line.replace("\\\n", "")))[3:] == command.arguments
    assert command.shell_line(["KMP_AFFINITY"]).startswith("env -u KMP_AFFINITY OMP_NUM_THREADS")
    none = mpiexec_command(on(installation, "hydra", "ranks = 4"), ["a.out"])
    assert none.arguments == ("mpiexec", "-n", "4", "-bind-to", "none", "a.out")


def test_on_a_part_of_a_node_mpiexec_gets_pu_lists() -> None:
    pus = tuple(Pu(n, n, 0, n % 2) for n in (4, 6, 5, 7))
    found = plan(parse_policy(PER_NUMA_NODE, "p.toml"), Topology(pus, is_even=False))
    assert mpiexec_command(found, ["a"]).arguments[3:5] == ("-bind-to", "user:4+6,5+7")


@pytest.mark.parametrize(
    ("machine", "policy", "options"),
    [
        ("hydra", PER_NUMA_NODE,
         "--nodes=1 --ntasks=2 --cpus-per-task=16 --distribution=block "
         "--cpu-bind=mask_cpu:0x55555555,0xaaaaaaaa"),
        ("westmere-ep", PER_NUMA_NODE,
         "--nodes=1 --ntasks=2 --cpus-per-task=12 --distribution=block "
         "--cpu-bind=mask_cpu:0x3f03f,0xfc0fc0"),
        ("hydra", 'ranks = 2\nbind_to = "core"\nmap_by = "package"',
         "--nodes=1 --ntasks=2 --cpus-per-task=16 --distribution=block "
         "--cpu-bind=mask_cpu:0x1,0x2"),
        ("hydra", 'ranks = 3\nbind_to = "core"',
         "--nodes=1 --ntasks=3 --distribution=block --cpu-bind=mask_cpu:0x1,0x4,0x10"),
        ("hydra", "ranks = 40",
         "--nodes=1 --ntasks=40 --overcommit --distribution=block --cpu-bind=none"),
    ],
)  # fmt: skip
def test_sruns_command_line(
    installation: Installation, machine: str, policy: str, options: str
) -> None:
    command = srun_command(on(installation, machine, policy), ["./a.out"])
    assert command.arguments == ("srun", *options.split(), "./a.out")


@pytest.mark.parametrize(
    ("machine", "policy", "options"),
    [
        ("nebula", PER_NUMA_NODE, "-n 8 --map-by numa --bind-to numa"),
        ("hydra", 'ranks = 2\nbind_to = "core"\nmap_by = "package"',
         "-n 2 --map-by socket --bind-to core"),
        ("hydra", "ranks = 2", "-n 2 --bind-to none"),
        ("hydra", "ranks = 40", "-n 40 --oversubscribe --bind-to none"),
        ("westmere-ep", 'ranks = 2\nbind_to = "pu"',
         "-n 2 --use-hwthread-cpus --map-by hwthread --bind-to hwthread"),
        ("westmere-ep", 'ranks = 24\nbind_to = "package"',
         "-n 24 --use-hwthread-cpus --map-by socket --bind-to socket"),
    ],
)  # fmt: skip
def test_open_mpis_command_line(
    installation: Installation, machine: str, policy: str, options: str
) -> None:
    command = ompi_command(on(installation, machine, policy), ["./a.out"])
    assert command.arguments == ("mpirun", *options.split(), "./a.out")


def test_open_mpi_has_no_words_for_a_part_of_a_node() -> None:
    pus = tuple(Pu(n, n, 0, n % 2) for n in (4, 6, 5, 7))
    found = plan(parse_policy(PER_NUMA_NODE, "p.toml"), Topology(pus, is_even=False))
    with pytest.raises(BadPolicy, match="a part of a node, or its units differ"):
        ompi_command(found, ["a"])


def test_intel_mpi_gets_a_mask_for_each_rank(installation: Installation) -> None:
    command = intel_mpi_command(on(installation, "hydra", PER_NUMA_NODE), ["./a.out"])
    assert command.arguments == ("mpiexec", "-n", "2", "./a.out")
    assert command.environment["I_MPI_PIN_DOMAIN"] == "[55555555,aaaaaaaa]"
    assert command.environment["OMP_NUM_THREADS"] == "16"
    assert "'[55555555,aaaaaaaa]'" in command.shell_line()
    with pytest.raises(BadPolicy, match="several ranks share a unit"):
        intel_mpi_command(on(installation, "hydra", 'ranks = 4\nbind_to = "package"'), ["./a.out"])
    unbound = intel_mpi_command(on(installation, "hydra", "ranks = 2"), ["./a.out"])
    assert unbound.environment["I_MPI_PIN"] == "off" and "I_MPI_PIN_DOMAIN" not in (
        unbound.environment
    )


# ---- as a user calls it -----------------------------------------------------------------


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "launch.toml"
    file.write_text(PER_NUMA_NODE)
    return file


def launch(installation: Installation, *arguments: str | Path, **env: str) -> Done:
    return numalab_command(installation, "launch", *map(str, arguments), **env)


def test_a_machines_command_line_is_printed(installation: Installation, policy: Path) -> None:
    done = launch(
        installation, policy, "--machine", "nebula", "--", "./no-such-program", "--with", "x"
    )
    assert done.code == 0, done.err
    assert shlex.split(done.out.replace("\\\n", "")) == [
        "OMP_NUM_THREADS=8", "OMP_PLACES=cores", "OMP_PROC_BIND=spread", "mpiexec", "-n", "8",
        "-bind-to", "numa", "-map-by", "numa", "./no-such-program", "--with", "x",
    ]  # fmt: skip
    assert "rank 7: package 1, NUMA node 7" in done.err
    assert all(len(line) <= 80 for line in (done.out + done.err).splitlines())


def test_mistakes_are_told(installation: Installation, policy: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("ranks = [0, 1]")
    for arguments, says in (
        ((tmp_path / "none.toml", "--", "true"), "none.toml: can't read it: No such file"),
        ((wrong, "--", "true"), "wrong.toml:1: 'ranks' is a list of PUs"),
        ((policy, "--machine", "hidra", "--", "true"), "Did you mean hydra?"),
        ((policy, "--print"), "Missing argument"),
        ((policy, "--with", "mpirun", "--", "true"), "'mpirun' is not one of"),
    ):
        done = launch(installation, *arguments)
        assert done.code == 2 and says in done.said, done.err


def test_what_can_not_be_run_is_told_before(
    installation: Installation, policy: Path, tmp_path: Path
) -> None:
    for program, says in (
        ("./no-such-program", "there is no program ./no-such-program; build it first"),
        (str(policy), "it may not be executed: chmod +x"),
    ):
        done = launch(installation, policy, "--", program)
        assert done.code == 2 and says in done.said, done.err
    for name in ("sh", "dirname", "date"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    pretender = tmp_path / "mpirun"
    pretender.write_text("#!/bin/sh\necho HYDRA build details:\n")
    pretender.chmod(0o755)
    done = launch(
        installation, policy, "--with", "openmpi", "--", "true", PATH=f"{tmp_path}:/usr/bin:/bin"
    )
    assert done.code == 2 and "the mpirun that is found first here is not Open MPI's" in done.said
    done = launch(
        installation, policy, "--with", "srun", "--", "true", PATH=f"{tmp_path}:/usr/bin:/bin"
    )
    if shutil.which("srun") is None:
        assert done.code == 2 and "there is no srun here; it is Slurm's" in done.said


@needs_mpiexec
def test_two_ranks_run_here_as_planned(installation: Installation, tmp_path: Path) -> None:
    node = describe_node(installation)
    unit = "core" if node["cores"] > 1 else "numa_node"
    file = tmp_path / "two.toml"
    file.write_text(f'ranks = 2\nbind_to = "{unit}"\n')
    script = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status) $OMP_NUM_THREADS; exit 7"
    done = launch(installation, file, "--", "sh", "-c", script)
    assert done.code == 7, done.err
    found = {}
    for line in done.out.splitlines():
        rank, _, pus, threads = line.split()
        found[int(rank)] = sorted(kernel_pus(pus))
        assert threads == "1"
    topology = topology_of_node(node)
    planned = plan(parse_policy(file.read_text(), "two.toml"), topology)
    assert found == {rank: sorted(pus) for rank, pus in enumerate(planned.ranks)}
    assert f"-bind-to {unit.split('_')[0]}" in done.err


@needs_mpiexec
def test_a_part_of_this_node_is_not_left(installation: Installation, policy: Path) -> None:
    last = max(os.sched_getaffinity(0))
    script = "grep Cpus_allowed_list /proc/self/status"
    done = subprocess.run(
        [
            "taskset",
            "-c",
            str(last),
            installation.root / "numalab",
            "launch",
            policy,
            "--",
            "sh",
            "-c",
            script,
        ],
        capture_output=True,
        text=True,
        check=True,
        env=environment(installation),
    )
    assert done.stdout.split()[1] == str(last)


@needs_mpiexec
def test_what_steers_openmp_otherwise_is_taken_out(
    installation: Installation, policy: Path
) -> None:
    variables = {"KMP_AFFINITY": "none", "GOMP_CPU_AFFINITY": "0", "OMP_NUM_THREADS": "99"}
    done = launch(installation, policy, "--", "env", **variables)
    seen = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    assert not {"KMP_AFFINITY", "GOMP_CPU_AFFINITY"} & seen.keys()
    assert seen["OMP_NUM_THREADS"] != "99" and seen["OMP_PROC_BIND"] == "spread"
    assert "env -u KMP_AFFINITY -u GOMP_CPU_AFFINITY" in done.err


@needs_mpiexec
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_ranks(
    installation: Installation, policy: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [
            installation.root / "numalab",
            "launch",
            policy,
            "--",
            "sh",
            "-c",
            "echo $$; exec sleep 600",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(installation),
    )
    assert process.stdout is not None
    rank = int(process.stdout.readline())
    process.send_signal(number)
    # MPICH's exit code is 0 or not, from run to run.
    process.communicate(timeout=SOON_LIMIT_S)
    deadline = time.monotonic() + SOON_LIMIT_S
    while (left := read_text(Path(f"/proc/{rank}/stat"))) and left.split()[2] != "Z":
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


# ---- on virtual nodes ---------------------------------------------------------------------

SHOW_THREADS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <omp.h>
int main(void)
{
#pragma omp parallel
    {
        char line[4096];
        int used = snprintf(line, sizeof line, "%s %d", getenv("PMI_RANK"), omp_get_thread_num());
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        for (int pu = 0; pu < 256; pu++)
            if (CPU_ISSET(pu, &allowed))
                used += snprintf(line + used, sizeof line - (size_t)used, " %d", pu);
#pragma omp critical
        puts(line);
    }
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("launch")
    (folder / "show.c").write_text(SHOW_THREADS)
    subprocess.run(["gcc", "-fopenmp", "show.c", "-o", "show"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module", params=["hydra", "nebula", "westmere-ex"])
def node(
    installation: Installation, request: pytest.FixtureRequest, programs: Path
) -> Iterator[Guest]:
    with start(
        installation, request.param, Share(programs), Share(installation.build, cached=False)
    ) as found:
        yield found


@pytest.fixture(scope="module")
def described(installation: Installation, node: Guest) -> Json:
    found: Json = json.loads(text(node, str(installation.describe_node)))
    return found


def run_there(node: Guest, command: Command) -> str:
    return text(node, *command.arguments, **dict(command.environment))


@pytest.mark.boots
def test_a_machines_topology_is_what_hwloc_sees_there(node: Guest, described: Json) -> None:
    """So the command line for a machine's name is the one that is right on it."""
    machine = node.plan.machine
    seen = topology_of_node(described)
    expected = topology_of_machine(machine)
    assert seen.is_even and expected.is_even
    assert [pu.number for pu in seen.pus] == [pu.number for pu in expected.pus]
    for one, other in zip(seen.pus, expected.pus, strict=True):
        assert one.numa_node == other.numa_node


@pytest.mark.boots
@needs_mpiexec
def test_ranks_and_their_threads_sit_in_a_numa_node_of_their_own(
    node: Guest, described: Json, programs: Path
) -> None:
    topology = topology_of_node(described)
    planned = plan(parse_policy(PER_NUMA_NODE, "p.toml"), topology)
    shown = run_there(node, mpiexec_command(planned, [str(programs / "show")]))
    of_pu = {pu.number: pu for pu in topology.pus}
    nodes: dict[int, set[int]] = {}
    cores = []
    for line in shown.splitlines():
        rank, _, *pus = map(int, line.split())
        nodes.setdefault(rank, set()).update(of_pu[pu].numa_node for pu in pus)
        cores.append({of_pu[pu].core for pu in pus})
    assert len(nodes) == described["numa_nodes"] == len(node.plan.machine.numa_nodes)
    assert sorted(map(sorted, nodes.values())) == [[n] for n in range(len(nodes))]
    assert all(len(core) == 1 for core in cores)
    assert len(set(map(min, cores))) == len(cores) == described["cores"]


@pytest.mark.boots
@needs_mpiexec
@pytest.mark.parametrize(
    ("node", "bind_to"),
    [
        ("nebula", "package"),
        *(
            pytest.param("nebula", unit, marks=pytest.mark.slow)
            for unit in BINDINGS
            if unit not in ("none", "package")
        ),
        ("westmere-ex", "core"), ("westmere-ex", "pu"),  # which are two things there
    ],
    indirect=["node"],
)  # fmt: skip
def test_mpiexecs_units_mean_what_the_policys_do(
    node: Guest, described: Json, bind_to: str
) -> None:
    """Every pair of bind_to and map_by, most with ranks enough to wrap round."""
    topology = topology_of_node(described)
    script = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)"
    for map_by in UNITS:
        most = len(topology.pus)
        if bind_to == "core":  # which takes one rank, also where the next PU is a sibling
            most = described["cores"] if map_by != "pu" or most == described["cores"] else 1
        ranks = min(len(units_of(topology, map_by)) + 2, 10, most)
        planned = plan(Policy(ranks, 1, bind_to, map_by), topology)
        command = mpiexec_command(planned, ["sh", "-c", script])
        found = {}
        for line in run_there(node, command).splitlines():
            rank, _, pus = line.split()
            found[int(rank)] = sorted(kernel_pus(pus))
        assert found == {r: sorted(pus) for r, pus in enumerate(planned.ranks)}, command.arguments


@pytest.mark.boots
@needs_mpiexec
def test_pu_lists_are_obeyed(node: Guest, described: Json) -> None:
    """What is used on a part of a node."""
    whole = topology_of_node(described)
    planned = plan(parse_policy(PER_NUMA_NODE, "p.toml"), Topology(whole.pus, is_even=False))
    script = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)"
    command = mpiexec_command(planned, ["sh", "-c", script])
    assert command.arguments[4].startswith("user:")
    found = {}
    for line in run_there(node, command).splitlines():
        rank, _, pus = line.split()
        found[int(rank)] = sorted(kernel_pus(pus))
    assert found == {r: sorted(pus) for r, pus in enumerate(planned.ranks)}
