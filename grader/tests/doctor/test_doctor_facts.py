"""Facts of a node from invented /proc and /sys: control groups, lists of PUs, the load."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from support.node_trees import JOB, MOUNT_V2, stat_text, write_process, write_tree

from numalab.doctor import current_load
from numalab.doctor.current_load import measure_load
from numalab.doctor.node_facts import read_facts
from numalab.processes.limits import Limit, read_control_groups
from numalab.pu_lists import BadList, format_pus, kernel_pus


@pytest.mark.parametrize(
    ("text", "pus", "again"),
    [
        ("0-3,8\n", {0, 1, 2, 3, 8}, "0-3,8"),
        ("5", {5}, "5"),
        ("3,1,2", {1, 2, 3}, "1-3"),
        ("", set(), ""),
        ("(null)\n", set(), ""),
    ],
)
def test_lists_of_pus(text: str, pus: set[int], again: str) -> None:
    assert kernel_pus(text) == pus
    assert format_pus(sorted(pus)) == again


@pytest.mark.parametrize("text", ["x", "1-", "0-3;5"])
def test_what_is_no_list_of_pus(text: str) -> None:
    with pytest.raises(BadList):
        kernel_pus(text)


def test_facts_of_the_quiet_node(tmp_path: Path) -> None:
    facts = read_facts(write_tree(tmp_path))
    assert facts.turbo is not None
    assert not facts.turbo.is_on
    assert facts.defrag == "madvise"
    assert facts.smt is False
    assert facts.allowed == {0, 1, 2, 3}
    assert facts.isolated == facts.nohz_full == frozenset()
    assert facts.clock_sources == ("tsc", "hpet", "acpi_pm")
    assert facts.is_virtual is False
    assert facts.product == "Dell Inc. PowerEdge R640"


def test_an_empty_root_makes_everything_unknown(tmp_path: Path) -> None:
    told = read_facts(tmp_path).json_data()
    assert {key for key, value in told.items() if value is not None} == {
        "clock_sources", "cgroup_levels_above_hidden"
    }  # fmt: skip
    assert told["clock_sources"] == []
    assert measure_load(tmp_path, lambda: None) is None


# ---- control groups ----------------------------------------------------------------


def test_the_smallest_limit_of_all_levels_counts(tmp_path: Path) -> None:
    files = {
        f"{JOB}/cpu.max": "300000 100000\n",
        "sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",
        f"{JOB}/memory.max": "1073741824\n",
    }
    groups = read_control_groups(write_tree(tmp_path, **files))
    above = Limit("/sys/fs/cgroup/system.slice/cpu.max", 1.5)
    assert groups.core_limits == (Limit(f"/{JOB}/cpu.max", 3.0), above)
    assert groups.core_limit == above
    assert groups.memory_limits == (Limit(f"/{JOB}/memory.max", 2**30),)
    assert not groups.is_cut_off


V1 = {
    "proc/self/cgroup": "4:memory:/job/step\n3:cpuset:/\n2:cpu,cpuacct:/job/step\n0::/\n",
    "proc/self/mountinfo": (
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    ),
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4096\n",
    "sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-1\n",
}


def test_version_1_is_read_too(tmp_path: Path) -> None:
    groups = read_control_groups(write_tree(tmp_path, **V1))
    assert groups.core_limits == (Limit("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", 2.0),)
    assert groups.memory_limits == (Limit("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", 4096),)
    assert groups.narrowing_cpuset is not None
    assert groups.narrowing_cpuset.pus == {0, 1}


def test_a_container_sees_its_own_levels_only(tmp_path: Path) -> None:
    """Its root has limits, as no true root has; or is mounted from a level below the root."""
    own_root = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": MOUNT_V2,
        "sys/fs/cgroup/cpu.max": "100000 100000\n",
    }
    groups = read_control_groups(write_tree(tmp_path / "a", **own_root))
    assert groups.core_limits == (Limit("/sys/fs/cgroup/cpu.max", 1.0),)
    assert groups.is_cut_off
    bind_mounted = {
        "proc/self/cgroup": "2:cpu:/docker/abc/inner\n",
        "proc/self/mountinfo": "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cg rw,cpu\n",
        "sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu/inner/cpu.cfs_period_us": "100000\n",
    }
    groups = read_control_groups(write_tree(tmp_path / "b", **bind_mounted))
    assert groups.core_limits == (Limit("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", 0.5),)
    assert groups.is_cut_off


def test_the_highest_level_that_narrows_the_cpu_set_is_named(tmp_path: Path) -> None:
    files = {
        f"{JOB}/cpuset.cpus.effective": "0-1\n",
        "sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-1\n",
    }
    level = read_control_groups(write_tree(tmp_path, **files)).narrowing_cpuset
    assert level is not None
    assert level.file == "/sys/fs/cgroup/system.slice/cpuset.cpus.effective"


# ---- the load -------------------------------------------------------------------------


def test_who_works_right_now(tmp_path: Path) -> None:
    """30 ticks pass on each of 4 PUs: 60 of them worked, 12 stolen."""
    names = {7: "idle", 11: "cc1 (plus)", 12: "make", os.getpid(): "python3"}

    def write(busy: int, idle: int, stolen: int, ticks: dict[int, int]) -> None:
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc/stat").write_text(stat_text(4, busy, idle, stolen))
        for pid, count in ticks.items():
            write_process(tmp_path, pid, names.get(pid, "new"), count)

    def later() -> None:
        write(1060, 1048, 112, {7: 100, 11: 230, 12: 306, 13: 15, os.getpid(): 30})

    write(1000, 1000, 100, {7: 100, 11: 200, 12: 300, os.getpid(): 10})
    sample = measure_load(tmp_path, later)
    assert sample is not None
    assert sample.pus == 4
    assert sample.busy == pytest.approx(2.0)
    assert sample.stolen == pytest.approx(0.1)
    assert sample.stolen_since_start == pytest.approx(112 / 2220)
    assert [(one.pid, one.name) for one in sample.processes] == [
        (11, "cc1 (plus)"), (13, "new"), (12, "make")
    ]  # fmt: skip
    assert [one.busy for one in sample.processes] == pytest.approx([1.0, 0.5, 0.2])
    owner = pwd.getpwuid(os.getuid()).pw_name
    assert all(one.owner == owner for one in sample.processes)
    assert all(one.is_ours == (os.getuid() != 0) for one in sample.processes)


@pytest.mark.parametrize(
    ("owner", "user", "is_ours"), [(1234, 1234, True), (1234, 1235, False), (0, 0, False)]
)
def test_a_process_is_ours_if_it_is_this_users_and_not_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, user: int, is_ours: bool
) -> None:
    """Of root's none: the services of the system are root's, too."""
    monkeypatch.setattr(os, "getuid", lambda: user)
    (tmp_path / "proc").mkdir()
    ticks = iter((0, 20))

    def write() -> None:
        busy = next(ticks)
        (tmp_path / "proc/stat").write_text(stat_text(2, 1000 + busy, 1000 + 20, 0))
        write_process(tmp_path, 7, "cc1", 100 + busy)

    monkeypatch.setattr(
        current_load,
        "_processes",
        lambda root, read=current_load._processes: {
            pid: (name, used, owner) for pid, (name, used, _) in read(root).items()
        },
    )
    write()
    sample = measure_load(tmp_path, write)
    assert sample is not None
    (one,) = sample.processes
    assert one.is_ours is is_ours
    assert one.owner == ("root" if owner == 0 else "user 1234")


def test_a_load_that_can_not_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    for text in ("", "cpu  1 2 3\n", "cpu  a b c d e f g h\n", stat_text(2, 5, 5, 0)):
        (tmp_path / "proc/stat").write_text(text)
        assert measure_load(tmp_path, lambda: None) is None, text
