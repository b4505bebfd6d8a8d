"""Where ranks and threads go on nodes small enough to see, and what launchers are told of them."""

from __future__ import annotations

import re

import pytest

from numalab.installation import Installation
from numalab.labs.launch import (
    LARGEST_NUMBER,
    BadPolicy,
    Policy,
    RankPlan,
    RuntimeDefault,
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
from numalab.machines.topology import Pu, Topology, topology_of_machine


def laid_out(policy: str, cores: int = 4, nodes: int = 2, smt: int = 1) -> RankPlan:
    """On a node of one package, whose PUs are numbered one after the other."""
    pus = tuple(
        Pu(core * smt + sibling, core, 0, core * nodes // cores)
        for core in range(cores)
        for sibling in range(smt)
    )
    return plan(parse_policy(policy, "p.toml"), Topology(pus, is_even=True))


def on(installation: Installation, machine: str, policy: str) -> RankPlan:
    return plan(
        parse_policy(policy, "p.toml"), topology_of_machine(find_machine(installation, machine))
    )


# ---- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threads", "read"),
    [
        ("", 1),
        ("threads = 1", 1),
        ('threads = "default"', RuntimeDefault()),
        ('threads = { one_per = "pu" }', UnitCount("pu")),
        (f"threads = {LARGEST_NUMBER}", 100_000),
    ],
)
def test_threads_of_a_policy(threads: str, read: object) -> None:
    assert parse_policy(f"ranks = 1\n{threads}", "p.toml") == Policy(1, read, "none", "machine")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ranks = 100001", "'ranks' is 100001; it can't be above 100000"),
        ("ranks = 1\nthreads = []", "'threads' is a list of PUs"),
        ('ranks = "0x1f"', "'ranks' is a list of PUs"),
        ('ranks = "0, 8"', "'ranks' is a list of PUs"),
        ('ranks = "four"', "'ranks' is the text 'four'; write ranks = { one_per = \"numa_node\" }"),
        ('ranks = 1\nthreads = "four"', 'write threads = { one_per = "core" }'),
        ('ranks = 1\nthreads = "4"', "write the number without quotes: threads = 4"),
        ('ranks = 1\nthreads = { one_per = "host" }', "machine can't stand here, only a core or"),
        ('ranks = 1\nthreads = { one_per = "sockets" }', "package can't stand here"),
        ('ranks = 1\nthreads = { one_per = "CPUs" }', "Did you mean pu? It can be: core, pu"),
        ('ranks = 1\nthreads = { one_per = "gpu" }', "Did you mean pu?"),
        ('ranks = 1\nbind_to = "Cores"', "bind_to = 'Cores': Did you mean core? It can be: none"),
        ('ranks = 1\nbind_to = "board"', 'is not bound: write "none"'),
        ('ranks = 1\nbind_to = "galaxy"', "there is no such unit. It can be: none, package"),
        ('ranks = 1\nbind_to = "core"\nmap_by = "hosts"', "Did you mean machine?"),
        ("ranks = 1\nbind_to = true", "'bind_to' is true; write one of these in quotes: none"),
        ("ranks = 1\nbind_to = 1.5", "'bind_to' is 1.5; write one of these"),
        ('ranks = 1\nplaces = "0-3"', "'places' has PU numbers"),
        ("ranks = 1\nplaces = 3", "unknown key 'places'"),
    ],
)
def test_slips_of_a_policy(text: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=re.escape(says)):
        parse_policy(text, "p.toml")


# ---- plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "ranks"),
    [
        ("ranks = 2", [(0, 1, 2, 3)] * 2),
        ('ranks = 4\nbind_to = "core"', [(0,), (1,), (2,), (3,)]),
        ('ranks = 4\nbind_to = "core"\nmap_by = "numa_node"', [(0,), (2,), (1,), (3,)]),
        ('ranks = 3\nbind_to = "numa_node"', [(0, 1), (2, 3), (0, 1)]),
        ('ranks = 3\nbind_to = "numa_node"\nmap_by = "pu"', [(0, 1), (0, 1), (2, 3)]),
        ('ranks = 3\nbind_to = "package"\nmap_by = "core"', [(0, 1, 2, 3)] * 3),
        ('ranks = 2\nbind_to = "pu"\nmap_by = "machine"', [(0,), (1,)]),
    ],
)
def test_ranks_of_a_small_node(policy: str, ranks: list[tuple[int, ...]]) -> None:
    assert laid_out(policy).ranks == tuple(ranks)


@pytest.mark.parametrize(
    ("policy", "threads", "places"),
    [
        # Not bound: threads go where they like.
        ("ranks = 1", 1, None),
        ("ranks = 1\nthreads = 2", 2, None),
        ('ranks = 2\nthreads = { one_per = "core" }', 2, None),
        ('ranks = 1\nthreads = "default"', 8, None),
        # A unit of its own, of two cores and four PUs.
        ('ranks = 2\nbind_to = "numa_node"', 1, "cores"),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = 2', 2, "cores"),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = 3', 3, "threads"),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = 4', 4, "threads"),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = "default"', 4, "threads"),
        ('ranks = 2\nbind_to = "core"\nthreads = { one_per = "pu" }', 2, "threads"),
        ('ranks = 8\nbind_to = "pu"\nthreads = { one_per = "pu" }', 1, "threads"),
        # Shared.
        ('ranks = 3\nbind_to = "numa_node"\nthreads = 2', 2, None),
        ('ranks = 4\nbind_to = "numa_node"\nthreads = { one_per = "pu" }', 2, None),
        ('ranks = 4\nbind_to = "numa_node"\nthreads = { one_per = "core" }', 1, None),
    ],
)
def test_threads_and_their_places(policy: str, threads: int, places: str | None) -> None:
    found = laid_out(policy, smt=2)
    assert (found.threads, found.places) == (threads, places)
    pinned = {"OMP_PROC_BIND": "false"}
    if places is not None:
        pinned = {"OMP_PLACES": places, "OMP_PROC_BIND": "spread"}
    assert found.environment == {"OMP_NUM_THREADS": str(threads)} | pinned


def test_the_least_of_unlike_ranks_has_cores_enough_or_gets_pus(installation: Installation) -> None:
    """NUMA nodes of 16 and of 18 cores."""
    policy = 'ranks = {{ one_per = "numa_node" }}\nthreads = {}'
    assert on(installation, "knl", policy.format(16)).places == "cores"
    assert on(installation, "knl", policy.format(17)).places == "threads"


@pytest.mark.parametrize(
    ("policy", "notes"),
    [
        ("ranks = 4", []),
        ("ranks = 2\nthreads = 2", []),
        ("ranks = 5", ["5 ranks of 1 thread take turns on 4 PUs"]),
        ("ranks = 2\nthreads = 3", ["2 ranks of 3 threads take turns on 4 PUs"]),
        ('ranks = 3\nbind_to = "numa_node"', []),
        ('ranks = 2\nbind_to = "numa_node"\nthreads = 2', []),
        ('ranks = 2\nbind_to = "package"\nthreads = 2', ["Several ranks share a package"]),
    ],
)
def test_what_is_told_of_a_plan(policy: str, notes: list[str]) -> None:
    found = laid_out(policy).notes
    assert len(found) == len(notes)
    assert all(note.startswith(begin) for note, begin in zip(found, notes, strict=True))


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (
            'ranks = 4\nbind_to = "core"\nmap_by = "pu"',
            'map_by = "pu" puts several of 4 ranks on one core, though this machine has 4',
        ),
        (
            'ranks = 5\nbind_to = "core"',
            "can't be bound to a core of their own: this machine has 4",
        ),
        (
            'ranks = 4\nbind_to = "numa_node"\nthreads = 3',
            "2 ranks of 3 threads can't be bound to a NUMA node of 4 PUs",
        ),
        ('ranks = 2\nbind_to = "core"\nthreads = 3', "1 rank of 3 threads can't be bound"),
        (
            'ranks = 3\nthreads = { one_per = "core" }',
            "3 ranks share the machine of 4 cores, and 4 cores can't be shared out equally. "
            "Take 1 or 2 or 4 of them for each, or",
        ),
        (
            'ranks = 6\nbind_to = "numa_node"\nthreads = { one_per = "core" }',
            "3 ranks share a NUMA node of 2 cores, and 2 cores can't be shared out equally. "
            "Take 1 or 2 of them for each, or",
        ),
        (
            'ranks = 3\nbind_to = "numa_node"\nthreads = { one_per = "core" }',
            "unequal numbers of threads (2 with 1 and 1 with 2)",
        ),
    ],
)
def test_what_a_small_node_can_not_give(policy: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=re.escape(says)):
        laid_out(policy, smt=2)


def test_a_single_core_is_not_shared_out() -> None:
    with pytest.raises(BadPolicy, match=r"1 core can't be shared out equally\. Take 1, or write"):
        laid_out('ranks = 2\nthreads = { one_per = "core" }', cores=1, nodes=1)
    with pytest.raises(BadPolicy, match=r"this machine has 1 core\. Take at most 1 rank, or"):
        laid_out('ranks = 2\nbind_to = "core"', cores=1, nodes=1)


@pytest.mark.parametrize(
    ("ranks", "lines", "last"),
    [
        (1, 2, "rank 0: package 0, NUMA node 0, PU 0"),
        (8, 9, "rank 7: package 0, NUMA node 1, PU 7"),
        (9, 10, "... and 1 rank more"),
        (10, 10, "... and 2 ranks more"),
    ],
)
def test_eight_ranks_are_listed(ranks: int, lines: int, last: str) -> None:
    found = summary(laid_out(f'ranks = {ranks}\nbind_to = "core"', cores=12, nodes=3))
    assert len(found) == lines and found[-1] == last


def test_units_that_a_rank_spans_are_listed() -> None:
    plan_of_one = laid_out('ranks = 1\nbind_to = "package"\nthreads = 2')
    assert summary(plan_of_one) == [
        "1 rank, with 2 threads", "rank 0: package 0, NUMA nodes 0, 1, PUs 0-3",
    ]  # fmt: skip
    assert summary(laid_out("ranks = 5")) == [
        "5 ranks, each with 1 thread, not bound",
        "5 ranks of 1 thread take turns on 4 PUs; waiting ranks will slow the others down.",
    ]


# ---- command lines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        (40, 37, "{a} {b}"),
        (40, 38, "{a} \\\n    {b}"),
        (90, 1, "{a} \\\n    {b}"),
    ],
)
def test_lines_of_a_shell_have_80_columns(first: int, second: int, line: str) -> None:
    """The last two are for what continues it. What is longer alone stands alone."""
    a, b = "a" * first, "b" * second
    assert Command(((a,), (b,)), {}).shell_line() == line.format(a=a, b=b)


def test_settings_come_first_and_what_is_unset_before_them() -> None:
    command = Command((("run", "a b"), ("c",)), {"X": "1", "Y": "2 3"})
    assert command.shell_line() == "X=1 Y='2 3' run 'a b' c"
    assert command.shell_line(["P", "Q"]) == "env -u P -u Q X=1 Y='2 3' run 'a b' c"


def test_a_rank_for_each_pu_overcommits_nothing() -> None:
    unbound, bound = laid_out("ranks = 4"), laid_out('ranks = 4\nbind_to = "core"')
    assert srun_command(unbound, ["a"]).arguments == (
        "srun", "--nodes=1", "--ntasks=4", "--cpus-per-task=1", "--distribution=block",
        "--cpu-bind=none", "a",
    )  # fmt: skip
    assert srun_command(bound, ["a"]).arguments[4:6] == (
        "--distribution=block", "--cpu-bind=mask_cpu:0x1,0x2,0x4,0x8",
    )  # fmt: skip
    assert ompi_command(unbound, ["a"]).arguments == (
        "mpirun", "-n", "4", "--bind-to", "none", "a",
    )  # fmt: skip
    assert ompi_command(bound, ["a"]).arguments == (
        "mpirun", "-n", "4", "--map-by", "core", "--bind-to", "core", "a",
    )  # fmt: skip
    assert mpiexec_command(bound, ["a"]).arguments == (
        "mpiexec", "-n", "4", "-bind-to", "core", "-map-by", "core", "a",
    )  # fmt: skip
    assert intel_mpi_command(bound, ["a"]).environment == {
        "I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": "[1,2,4,8]", "OMP_NUM_THREADS": "1",
        "OMP_PLACES": "cores", "OMP_PROC_BIND": "spread",
    }  # fmt: skip
    assert intel_mpi_command(unbound, ["a"]).environment == {
        "I_MPI_PIN": "off", "OMP_NUM_THREADS": "1", "OMP_PROC_BIND": "false",
    }  # fmt: skip
