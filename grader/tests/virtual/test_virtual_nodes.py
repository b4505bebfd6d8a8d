"""Virtual nodes, booted: that programs see the machine that its file describes."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S
from support.exports import imported
from support.guests import GALLERY, pu_list, run, start, text
from support.structures import differences

from numalab.errors import UserError
from numalab.harness.topology_reader import export_in
from numalab.installation import Installation
from numalab.judging.thread_goals import environment_of, timed_team
from numalab.machines.announced import RECORDED
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.machines.seeded import seeded_machine
from numalab.pu_lists import kernel_pus
from numalab.virtual import booting, guest, local_machine, plan, snapshots
from numalab.virtual.guest import Guest
from numalab.virtual.guest_plan import GuestPlan, Share
from numalab.virtual.guest_sandbox import system_links
from numalab.virtual.kernel import find_kernel
from numalab.virtual.node_cache import described_node
from numalab.virtual.qemu import has_hmat
from numalab.virtual.qemu_process import find_qemu

pytestmark = pytest.mark.boots

# ---- programs that tell where their threads are ------------------------------------------------

C_PROGRAM = r"""
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void)
{
#pragma omp parallel
#pragma omp critical
    printf("%d %d\n", omp_get_thread_num(), sched_getcpu());
}
"""
FORTRAN_PROGRAM = """
program where
   use, intrinsic :: iso_c_binding, only: c_int
   use omp_lib, only: omp_get_thread_num
   implicit none
   interface
      integer(c_int) function sched_getcpu() bind(c)
         import :: c_int
      end function
   end interface
   !$omp parallel
   !$omp critical
   print '(i0, 1x, i0)', omp_get_thread_num(), sched_getcpu()
   !$omp end critical
   !$omp end parallel
end program
"""
PROGRAMS = ("gcc-libomp", "clang-libomp", "gfortran-libomp", "gcc-libgomp", "gfortran-libgomp")


def llvm_folder() -> Path:
    return sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so"))[-1].parent


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "where.c").write_text(C_PROGRAM)
    (folder / "where.f90").write_text(FORTRAN_PROGRAM)
    llvm = llvm_folder()
    clang = sorted((llvm.parent / "bin").glob("clang"))
    link = [f"-L{llvm}", f"-Wl,-rpath,{llvm}"]
    for name, command in {
        "gcc-libomp": ["gcc", "-fopenmp", "where.c", *link],
        "clang-libomp": [str(clang[0]) if clang else "clang", "-fopenmp", "where.c", *link],
        "gfortran-libomp": ["gfortran", "-fopenmp", "where.f90", *link, "-lomp"],
        "gcc-libgomp": ["gcc", "-fopenmp", "where.c"],
        "gfortran-libgomp": ["gfortran", "-fopenmp", "where.f90"],
    }.items():
        subprocess.run([*command, "-o", name], cwd=folder, check=True)
    return folder


# ---- the machine that programs see ----------------------------------------------------------


# Six NUMA nodes, numbered over two packages in turn, with siblings last.
SEEDED = "seeded-489"
# Booted whenever the suite runs; all others are slow.
EACH_TIME = ("hydra", "kunpeng", "magny-cours", "nebula", "westmere-ep", SEEDED)
WHOLE = plan.GuestOptions(full=True, use_snapshot=False)


@pytest.fixture(
    scope="module",
    params=[
        *(
            pytest.param(
                (name, plan.GuestOptions()),
                id=name,
                marks=() if name in EACH_TIME else pytest.mark.slow,
            )
            for name in (*GALLERY, SEEDED)
        ),
        *(
            pytest.param((name, WHOLE), id=f"whole-{name}", marks=pytest.mark.slow)
            for name in GALLERY
        ),
    ],
)
def node(
    installation: Installation, request: pytest.FixtureRequest, programs: Path
) -> Iterator[Guest]:
    """As much of each machine as this host is used for, and all of it."""
    name, options = request.param
    try:
        booted = start(installation, name, Share(programs), options=options)
    except UserError as error:
        if not options.full:
            raise
        pytest.skip(str(error))  # it has too little memory for the whole machine
    with booted:
        yield booted


def seen_by_hwloc(installation: Installation, node: Guest, folder: Path) -> Machine:
    exported = folder / "node.xml"
    exported.write_text(text(node, "lstopo-no-graphics", "--of", "xml"))
    return imported(installation, exported)


def test_lstopo_shows_the_machine(installation: Installation, node: Guest, tmp_path: Path) -> None:
    described, seen = node.plan.machine, seen_by_hwloc(installation, node, tmp_path)
    assert seen.pus == described.pus
    packages = dict(zip(
        [place.package for place in seen.pu_table],
        [place.package for place in described.pu_table], strict=True,
    ))  # fmt: skip
    assert len(packages) == len(set(packages.values())) == described.packages
    for own, other in zip(described.pu_table, seen.pu_table, strict=True):
        assert own.package == packages[other.package]
        assert own.numa_node == other.numa_node
    siblings = {core.pus for one in described.numa_nodes for core in one.cores}
    assert {core.pus for one in seen.numa_nodes for core in one.cores} == siblings
    if has_hmat(described):
        assert_memory_is_near_its_cores(described, seen_near(installation, tmp_path))


def seen_near(installation: Installation, folder: Path) -> dict[int | None, frozenset[int]]:
    """By NUMA node, in seen_by_hwloc's export: the PUs that hwloc finds it local to."""
    return {
        node.number: node.pus for node in export_in(installation, folder / "node.xml").numa_nodes
    }


def assert_memory_is_near_its_cores(
    machine: Machine, near: dict[int | None, frozenset[int]]
) -> None:
    """Where the firmware tells how fast memory is: to a node's own cores, and without any, to
    those of one node of its package."""
    for node in machine.numa_nodes:
        beside = [node] if node.cores else machine.nodes_of(node.package)
        assert near[node.number] in [{*one.pus} for one in beside if one.cores], node.number


def test_memory_without_cores_is_near_its_package(
    installation: Installation, tmp_path: Path
) -> None:
    with start(installation, "aurora") as node:
        assert has_hmat(node.plan.machine)
        seen_by_hwloc(installation, node, tmp_path)
    near = seen_near(installation, tmp_path)
    assert_memory_is_near_its_cores(node.plan.machine, near)
    assert [near[0], near[1]] == [near[2], near[3]]


# Cores with one thread and with two, L3s of two sizes, packages with one NUMA node and with two;
# between them one of memory only.
UNLIKE = """\
name = "unlike"
title = "Unlike"
source = "made up"
distances = [[10, 20, 30, 25], [20, 10, 20, 40], [30, 20, 10, 33], [25, 40, 33, 10]]
[[numa_node]]
package = 0
[[numa_node.cores]]
pus = ["0,2", "1,3"]
[[numa_node.cores]]
pus = ["4-6"]
l3_groups = 1
[[numa_node]]
package = 1
pus = []
[[numa_node]]
package = 0
pus = ["7-8"]
[[numa_node]]
package = 1
pus = ["9-11"]
"""


def test_unlike_units_are_seen_as_described(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "unlike.toml"
    path.write_text(UNLIKE)
    machine = find_machine(installation, str(path))
    progress: list[str] = []
    seen = described_node(installation, machine, progress.append)
    assert differences(machine, seen) == ()


def test_numactl_shows_nodes_and_distances(node: Guest) -> None:
    shown = text(node, "numactl", "-H")
    machine = node.plan.machine
    assert f"available: {len(machine.numa_nodes)} nodes" in shown
    for one in machine.numa_nodes:
        found = re.search(rf"^node {one.number} cpus: ?([\d ]*)$", shown, re.MULTILINE)
        assert found, shown
        assert tuple(map(int, found[1].split())) == one.pus
    rows = re.findall(r"^ +\d+: +([\d ]+)$", shown, re.MULTILINE)
    assert tuple(tuple(map(int, row.split())) for row in rows) == machine.guest_distances()


def test_lscpu_shows_packages_and_siblings(node: Guest) -> None:
    machine = node.plan.machine
    rows = [
        tuple(map(int, row.split(",")))
        for row in text(node, "lscpu", "-p=CPU,SOCKET,NODE,CORE").splitlines()
        if not row.startswith("#")
    ]
    assert [row[0] for row in rows] == list(range(machine.pus))
    assert len({row[1] for row in rows}) == machine.packages
    assert [row[2] for row in rows] == [place.numa_node for place in machine.pu_table]
    assert len({row[3] for row in rows}) == machine.cores


def test_caches_are_shared_as_described(node: Guest) -> None:
    """L3 by group, L2 by core, whatever the machine is scaled to."""
    machine = node.plan.machine
    groups = [group for one in machine.numa_nodes for group in one.core_groups]
    wanted = {
        3: {frozenset(pu for core in group for pu in core.pus) for group in groups},
        2: {frozenset(core.pus) for group in groups for core in group},
    }
    for level, shared in wanted.items():
        lists = f"/sys/devices/system/cpu/cpu*/cache/index{level}/shared_cpu_list"
        shown = text(node, "sh", "-c", f"cat {lists}").splitlines()
        assert len(shown) == machine.pus
        assert {kernel_pus(line) for line in shown} == shared, level
    if machine.processor is not None:
        whole = machine.scaled_from or machine
        groups = [group for one in whole.numa_nodes for group in one.core_groups]
        assert len(groups) == whole.packages * RECORDED[machine.processor].l3_caches


def test_numa_nodes_have_the_memory_of_the_plan(node: Guest) -> None:
    """Less what Linux takes of it; one made from a seed is whole, with memory of its own."""
    machine = node.plan.machine
    planned = machine.guest_memory_mib(node.plan.node_memory_mib)
    total = re.findall(r"^node \d+ size: (\d+) MB$", text(node, "numactl", "-H"), re.MULTILINE)
    taken_mib = [mib - int(left) for mib, left in zip(planned, total, strict=True)]
    assert all(0 <= mib < 96 for mib in taken_mib), taken_mib
    if machine.seed is not None:
        assert machine == seeded_machine(machine.seed)
        assert planned == tuple(one.memory_mb for one in machine.numa_nodes)


def test_linux_finds_no_dies(node: Guest) -> None:
    """No processor of the gallery announces any, and libomp would take them for more than it knows
    of on the real one."""
    machine = node.plan.machine
    shown = text(node, "sh", "-c", "cat /sys/devices/system/cpu/cpu*/topology/die_cpus_list")
    packages = {
        frozenset(pu for one in machine.nodes_of(package) for pu in one.pus)
        for package in range(machine.packages)
    }
    assert {kernel_pus(line) for line in shown.splitlines()} == packages
    levels = re.findall(
        r"^cpuid level\s*: (\d+)$", text(node, "cat", "/proc/cpuinfo"), re.MULTILINE
    )
    assert levels == ["13"] * machine.pus


# ---- placement, as programs get it -------------------------------------------------------------


@pytest.fixture(scope="module", params=["hydra", "westmere-ep"])
def two_packages(
    installation: Installation, request: pytest.FixtureRequest, programs: Path
) -> Iterator[tuple[Guest, Path]]:
    """Interleaved numbering, and consecutive with SMT."""
    with start(installation, request.param, Share(programs)) as found:
        yield found, programs


def pus_of_threads(node: Guest, program: Path, threads: int, **environment: str) -> list[int]:
    """The PU that each thread runs on."""
    shown = text(node, str(program), OMP_NUM_THREADS=str(threads), **environment)
    where = dict(map(int, line.split()) for line in shown.splitlines())
    assert sorted(where) == list(range(threads)), shown
    return [where[thread] for thread in range(threads)]


def packages_of_threads(node: Guest, program: Path, threads: int, **environment: str) -> list[int]:
    """The package that each thread runs on, by its number."""
    table = node.plan.machine.pu_table
    return [table[pu].package for pu in pus_of_threads(node, program, threads, **environment)]


LIBOMP = [name for name in PROGRAMS if name.endswith("libomp")]


@pytest.mark.parametrize("program", LIBOMP)
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}, id="close"),
        pytest.param({"KMP_AFFINITY": "granularity=fine,compact"}, id="compact"),
    ],
)
def test_libomp_keeps_half_a_team_on_one_package(
    two_packages: tuple[Guest, Path], program: str, environment: dict[str, str]
) -> None:
    node, folder = two_packages
    threads = node.plan.machine.cores // 2
    found = packages_of_threads(node, folder / program, threads, **environment)
    assert len(set(found)) == 1, found


@pytest.mark.parametrize("program", LIBOMP)
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"}, id="spread"),
        pytest.param({"KMP_AFFINITY": "granularity=fine,scatter"}, id="scatter"),
    ],
)
def test_libomp_spreads_half_a_team_over_both_packages(
    two_packages: tuple[Guest, Path], program: str, environment: dict[str, str]
) -> None:
    node, folder = two_packages
    threads = node.plan.machine.cores // 2
    found = packages_of_threads(node, folder / program, threads, **environment)
    assert found.count(0) == found.count(1) == threads // 2, found


@pytest.mark.parametrize("program", ["gcc-libgomp", "gfortran-libgomp"])
def test_libgomp_orders_cores_by_pu_number(two_packages: tuple[Guest, Path], program: str) -> None:
    """So `close` alternates between packages where the numbering does."""
    node, folder = two_packages
    threads = node.plan.machine.cores // 2
    found = packages_of_threads(
        node, folder / program, threads, OMP_PLACES="cores", OMP_PROC_BIND="close"
    )
    wanted = [place.package for place in node.plan.machine.pu_table[:threads]]
    assert found == wanted
    assert len(set(found)) == (2 if node.name == "hydra" else 1)


def test_libgomp_spreads_over_sockets(two_packages: tuple[Guest, Path]) -> None:
    node, folder = two_packages
    found = packages_of_threads(
        node, folder / "gcc-libgomp", 2, OMP_PLACES="sockets", OMP_PROC_BIND="spread"
    )
    assert found == [0, 1]


# ---- what libomp finds by CPUID ------------------------------------------------------------------


def test_libomp_finds_packages_cores_and_siblings(node: Guest, programs: Path) -> None:
    """And nothing between a package and a core: no dies, and of NUMA nodes it does not know."""
    machine = node.plan.machine
    program = programs / "gcc-libomp"
    shown = run(node, str(program), OMP_NUM_THREADS="1", KMP_AFFINITY="verbose,compact")
    (said,) = [line for line in shown.err.splitlines() if " total cores)" in line]
    form = r": (\d+) sockets? x (\d+) cores?/socket(?: x (\d+) threads?/core)? \("
    found = re.search(form, said)
    assert found, shown.err
    counts = [int(count or 1) for count in found.groups()]
    assert counts == [
        machine.packages, machine.cores // machine.packages, machine.threads_per_core.most
    ]  # fmt: skip


@pytest.fixture(scope="module")
def nebula(installation: Installation, programs: Path) -> Iterator[Guest]:
    with start(
        installation, "nebula", Share(programs), options=plan.GuestOptions(cores_per_node=2)
    ) as node:
        yield node


def test_scatter_knows_nothing_of_numa_nodes(nebula: Guest, programs: Path) -> None:
    """A package each, then the next core: as on an EPYC or a Xeon with several NUMA nodes per
    package. The PUs stand in the solution of lab 02."""
    found = pus_of_threads(
        nebula, programs / "gcc-libomp", 8, KMP_AFFINITY="granularity=core,scatter"
    )
    assert found == [0, 1, 8, 9, 2, 3, 10, 11]
    table = nebula.plan.machine.pu_table
    assert [table[pu].numa_node for pu in found] == [0, 4, 0, 4, 1, 5, 1, 5]


def test_numa_domains_reach_every_numa_node(nebula: Guest, programs: Path) -> None:
    """Under libgomp, which knows them, and under libomp, which takes cores in their place."""
    table = nebula.plan.machine.pu_table
    for program in ("gcc-libomp", "gcc-libgomp"):
        found = pus_of_threads(
            nebula, programs / program, 8, OMP_PLACES="numa_domains", OMP_PROC_BIND="spread"
        )
        assert sorted(table[pu].numa_node for pu in found) == list(range(8)), program


# ---- placements that are timed -------------------------------------------------------------------


@pytest.mark.parametrize("program", ["gcc-libomp", "gcc-libgomp"])
def test_what_is_timed_differs_in_numa_nodes_alone(
    node: Guest, programs: Path, program: str
) -> None:
    """As many threads, each on a core of its own, on one NUMA node and on all."""
    machine = node.plan.machine
    team = timed_team({"numa_nodes": len(machine.numa_nodes), "pu_list": pu_list(machine)})
    table = machine.pu_table
    seen = [
        pus_of_threads(node, programs / program, team.threads, **environment_of(places))
        for places in (team.single_node, team.all_nodes)
    ]
    assert len(seen[0]) == len(seen[1]) == machine.cores_per_node.most
    for pus in seen:
        assert len({table[pu].core for pu in pus}) == team.threads
    nodes = [Counter(table[pu].numa_node for pu in pus) for pus in seen]
    assert len(nodes[0]) == 1
    assert len(nodes[1]) == min(team.threads, len(machine.nodes_with_cores))
    assert max(nodes[1].values()) - min(nodes[1].values()) <= 1


def test_mpiexec_binds_ranks_to_packages(two_packages: tuple[Guest, Path]) -> None:
    node, _ = two_packages
    shown = text(
        node, "mpiexec", "-bind-to", "socket", "-n", "2",
        "grep", "Cpus_allowed_list", "/proc/self/status",
    )  # fmt: skip
    masks = [kernel_pus(line.split()[1]) for line in shown.splitlines()]
    table = node.plan.machine.pu_table
    packages = [{table[pu].package for pu in mask} for mask in masks]
    assert sorted(map(sorted, packages)) == [[0], [1]], shown
    assert all(len(mask) == node.plan.machine.pus // 2 for mask in masks)


def test_memory_goes_where_numactl_binds_it(two_packages: tuple[Guest, Path]) -> None:
    node, _ = two_packages
    for number in (0, 1):
        shown = text(
            node, "numactl", f"--membind={number}", "--cpunodebind=0",
            "sh", "-c", "numactl -s; grep -c . /proc/self/numa_maps",
        )  # fmt: skip
        assert re.search(rf"^membind: {number} *$", shown, re.MULTILINE), shown


# ---- a guest's manners --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def laptop(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Guest, Path]]:
    folder = tmp_path_factory.mktemp("seen")
    (folder / "text").write_text("as it was")
    (folder / "out").mkdir()
    shares = [Share(folder, cached=False), Share(folder / "out", writable=True)]
    with start(installation, "laptop", *shares) as found:
        yield found, folder


def test_folders_are_seen_and_only_one_can_be_written(laptop: tuple[Guest, Path]) -> None:
    node, folder = laptop
    assert text(node, "cat", f"{folder}/text") == "as it was"
    done = run(node, "sh", "-c", f"echo x >{folder}/text; echo y >{folder}/out/new; id -u")
    assert "Read-only file system" in done.err
    assert (folder / "text").read_text() == "as it was"
    assert (folder / "out" / "new").read_text() == "y\n"
    assert run(node, "sh", "-c", "echo x >/usr/x").code != 0


def test_the_guest_sees_a_changed_file_at_once(laptop: tuple[Guest, Path]) -> None:
    node, folder = laptop
    for content in ("first", "and a longer second"):
        fresh = folder / "fresh"
        fresh.unlink(missing_ok=True)
        fresh.write_text(content)
        assert text(node, "cat", str(fresh)) == content


def test_home_and_secrets_are_not_seen(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    assert text(node, "ls", "-A", "/root").strip() == ""
    assert run(node, "ls", "/home").code != 0
    assert run(node, "cat", "/etc/shadow").code != 0


def test_exit_codes_signals_and_both_outputs_come_back(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    done = run(node, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n")
    out = bytearray()
    ended = node.run(["sh", "-c", "kill -9 $$"], "/", {"PATH": "/usr/bin"}, out.extend, out.extend)
    assert ended == guest.Ended(0, signal=9)


def test_much_output_comes_whole(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    assert text(node, "head", "-c", "5000000", "/dev/zero") == "\0" * 5_000_000


def test_what_a_command_leaves_behind_is_ended(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    assert text(node, "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo done") == "done\n"
    # On a busy host they take a moment to be gone; and so may what was just listed be.
    list_all = "cat /proc/[0-9]*/comm 2>/dev/null || true"
    deadline = time.monotonic() + SOON_LIMIT_S
    while "sleep" in (running := text(node, "sh", "-c", list_all)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "sleep" not in running and "sh" in running.split()


def test_a_command_beyond_its_limit_is_ended(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    nothing = bytearray()
    command = ["sh", "-c", "trap '' INT TERM; sleep 1000"]
    ended = node.run(command, "/", {"PATH": "/usr/bin"}, nothing.extend, nothing.extend, limit_s=1)
    assert ended is None
    assert text(node, "echo", "alive") == "alive\n"


def test_a_program_that_is_not_there_is_refused(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    nothing = bytearray()
    ended = node.run(["/no/such"], "/", {}, nothing.extend, nothing.extend)
    assert ended is not None and ended.refused == 2


def test_the_clock_is_right(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    before_s = time.time()
    found_s = int(text(node, "date", "+%s"))
    assert before_s - 5 < found_s < time.time() + 5


# ---- apart from the node itself ------------------------------------------------------------------

APART = [
    "/init", "--user", "4321:4321", "--ro-bind", "/usr", "/usr",
    *(word for target, path in system_links() for word in ("--symlink", target, path)),
    "--tmpfs", "65536", "/tmp", "--cover", "/usr/include", "--cover", "/none",
]  # fmt: skip


TRIED = {
    "another_user": ("id -u; id -g; id -G", "4321\n4321\n4321\n"),
    "few_devices_and_a_cover": (
        "echo /usr/include/* /dev/*",
        "/usr/include/* /dev/fd /dev/full /dev/null /dev/random /dev/stderr /dev/stdin "
        "/dev/stdout /dev/urandom /dev/zero\n",
    ),
    "no_other_process": (
        "test $(ls -d /proc/[0-9]* | wc -l) -le 5 && echo few; kill -0 1 || echo no; "
        "cat /proc/1/environ; ls /proc/1/root",
        "few\nno\n",
    ),
    "only_memory_is_written": (
        "for at in / /usr /usr/include /dev /proc/self/comm /sys/kernel/profiling; do "
        "echo x > $at/new; echo x > $at; done; touch /tmp/x && ls /tmp",
        "x\n",
    ),
    "no_privilege": (
        "exec </dev/null; mount -t tmpfs none /tmp; unshare -Ur id -u; mknod /tmp/p c 1 1; "
        "chroot /usr true; echo o > /proc/sysrq-trigger; reboot -f; su -c id; "
        "nsenter -t 1 -a true; echo still here",
        "still here\n",
    ),
    "little_memory": ("head -c 100000 /dev/zero > /tmp/x; wc -c < /tmp/x", "65536\n"),
}


@pytest.mark.parametrize(("tried", "said"), TRIED.values(), ids=TRIED)
def test_who_is_kept_apart_has_little(laptop: tuple[Guest, Path], tried: str, said: str) -> None:
    node, _ = laptop
    done = run(node, *APART, "--", "sh", "-c", tried)
    assert done.out == said, done.err


def test_who_is_kept_apart_has_a_root_folder_of_its_own(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    *names, folder = text(node, *APART, "--", "sh", "-c", "ls -A /; pwd").split()
    links = {path[1:] for _, path in system_links()}
    assert set(names) == links | {"dev", "proc", "sys", "tmp", "usr"} and folder == "/tmp"


def test_how_who_is_kept_apart_ends_is_told(laptop: tuple[Guest, Path]) -> None:
    node, _ = laptop
    assert run(node, *APART, "--", "sh", "-c", "exit 7").code == 7
    assert run(node, *APART, "--", "sh", "-c", "kill -9 $$").code == 137
    assert run(node, *APART, "--", "/no/such").code == 127
    assert run(node, *APART, "--", "sh", "-c", "sleep 1000 & exec true").code in (0, 128)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--unknown", "x", "--", "true"], 2, "can't take --unknown"),
        (["--ro-bind", "/none", "/none", "--", "true"], 125, "showing /none: No such file"),
        (["--ro-bind", "/usr"], 2, "can't take --ro-bind"),
        (["--symlink", "usr", "relative", "--", "true"], 2, "can't take relative"),
        ([], 2, "can't take a command"),
    ],
)
def test_a_sandbox_that_can_t_be_made_runs_nothing(
    laptop: tuple[Guest, Path], words: list[str], code: int, said: str
) -> None:
    done = run(laptop[0], *APART, *words)
    assert done.code == code and said in done.err, done
    assert run(laptop[0], "/init", "--user", "0:0", *APART[3:], "--", "true").code == 2


# ---- coming up, or not -----------------------------------------------------------------------


def test_a_snapshot_that_does_not_work_is_dropped_and_the_machine_boots(
    installation: Installation, tmp_path: Path
) -> None:
    options = plan.GuestOptions(cores_per_node=1)
    ready, _ = plan.make_plan(installation, find_machine(installation, "hydra"), [], options, print)
    store = snapshots.Store(tmp_path)
    said: list[str] = []
    with booting.boot(ready, store, said.append) as node:
        assert not node.from_snapshot
    (kept,) = tmp_path.iterdir()
    with booting.boot(ready, store, said.append) as node:
        assert node.from_snapshot
        assert text(node, "nproc") == "2\n"
    kept.write_bytes(kept.read_bytes()[:100_000])
    with booting.boot(ready, store, said.append) as node:
        assert not node.from_snapshot
        assert text(node, "nproc") == "2\n"
    assert said == ["booting hydra", "waking hydra", "waking hydra", "booting hydra"]


@pytest.mark.slow
@pytest.mark.parametrize("use_snapshot", [True, False], ids=["waking", "booting"])
def test_fifty_times_in_a_row(
    installation: Installation, tmp_path: Path, use_snapshot: bool
) -> None:
    """No state hangs when it is woken. Of boots an emulated one may, and is begun once more."""
    options = plan.GuestOptions(cores_per_node=1)
    ready, _ = plan.make_plan(installation, find_machine(installation, "hydra"), [], options, print)
    store = snapshots.Store(tmp_path) if use_snapshot else None
    said: list[str] = []
    if store:
        booting.boot(ready, store, said.append).close()
    said.clear()
    for _ in range(50):
        with booting.boot(ready, store, said.append) as node:
            assert text(node, "nproc") == "2\n"
    hung = [step for step in said if "hangs" in step]
    assert len(hung) <= (0 if use_snapshot else 2), hung
    assert len(said) - len(hung) == said.count("waking hydra" if use_snapshot else "booting hydra")


def test_snapshots_of_all_machines_differ(installation: Installation) -> None:
    kernel = find_kernel(local_machine.cache_folder() / "kernels", None, print)
    keys = set()
    for name in GALLERY:
        for cores in (1, 2):
            machine = find_machine(installation, name).scaled(cores)
            for memory in (256, 512):
                made = GuestPlan(machine, memory, "tcg", kernel, b"init", 0, (), 1.0)
                keys.add(made.key(find_qemu(), made.initrd()))
    assert len(keys) == 4 * len(GALLERY)


def test_what_snapshots_go_by_names_no_folder_that_it_was_built_in(
    installation: Installation,
) -> None:
    """Else each build folder and each copy of the kit would boot its own."""
    plan.build_programs(installation)
    assert str(installation.root).encode() not in installation.guest_init.read_bytes()
