"""What doctor finds: on invented nodes each fact in good, bad and unknown form."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from support.node_trees import CPU, JOB, NODE, write_tree
from support.published_labs import published

from numalab.doctor import doctor
from numalab.doctor.current_load import ActiveProcess, CurrentLoad
from numalab.doctor.doctor import data_races, gradable, gradable_virtually
from numalab.doctor.doctor_report import command_lines, doctor_json, show_findings
from numalab.doctor.findings import Finding, concern_words, timing_concerns
from numalab.doctor.node_facts import read_facts
from numalab.installation import find_installation
from numalab.labs.declaration import Lab, load_labs

QUIET_SAMPLE = CurrentLoad(4, 0.02, 0.0, 0.0, ())
THP = "sys/kernel/mm/transparent_hugepage"


def examine(
    root: Path,
    labs: dict[str, Lab],
    node: dict[str, object] | None = None,
    sample: CurrentLoad | None = QUIET_SAMPLE,
    **files: str | None,
) -> dict[str, Finding]:
    """Findings by topic on the quiet node with something changed."""
    facts = read_facts(write_tree(root, **files))
    found = doctor.examine(NODE | (node or {}), facts, sample, list(labs.values()))
    by_topic = {finding.topic: finding for finding in found}
    assert len(by_topic) == len(found)
    return by_topic


def test_a_quiet_node_has_nothing_to_change(tmp_path: Path, labs: dict[str, Lab]) -> None:
    found = examine(tmp_path, labs, {"numa_nodes": 2})
    assert {f.topic: f.observed for f in found.values() if f.level != "good"} == {}
    assert all(f.command == "" for f in found.values())


FROM_RECORD = [
    ({}, "NUMA nodes", "note", ""),
    ({"numa_nodes": 2}, "NUMA nodes", "good", ""),
    ({"cores": 1}, "cores", "bad", ""),
    ({"governor": "powersave"}, "frequency governor", "note",
     "sudo cpupower frequency-set -g performance"),
    ({"governor": None}, "frequency governor", "unknown", ""),
    ({"numa_balancing": True}, "automatic NUMA balancing", "note",
     "sudo sysctl kernel.numa_balancing=0"),
    ({"numa_balancing": None}, "automatic NUMA balancing", "unknown", ""),
    ({"clock_source": "hpet"}, "clock source", "note",
     "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ({"clock_source": "kvm-clock"}, "clock source", "good", ""),
    ({"clock_source": None}, "clock source", "unknown", ""),
    ({"huge_page_mode": "never"}, "transparent huge pages", "note",
     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
    ({"huge_page_mode": "always"}, "transparent huge pages", "note",
     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
    ({"huge_page_mode": "always", "worker_huge_page_mode": "madvise"}, "transparent huge pages",
     "good", ""),
    ({"huge_page_mode": "always", "worker_huge_page_mode": "always"}, "transparent huge pages",
     "note", "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
    ({"huge_page_mode": None}, "transparent huge pages", "unknown", ""),
    ({"cgroup_memory_max_bytes": 2**30}, "memory limit", "note", ""),
    ({"cgroup_memory_max_bytes": 2**35}, "memory limit", "good", ""),
    ({"memory_bytes": 2**30}, "memory", "note", ""),
    ({"pus": 2}, "CPU set", "note", ""),
    ({"core_kinds": None}, "kinds of cores", "unknown", ""),
    ({"core_kinds": [{"pus": [3], "name": "IntelAtom"},
                     {"pus": [0, 1, 2], "name": "IntelCore"}]}, "kinds of cores", "note",
     "taskset -c 0-2 ./numalab grade"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "topic", "level", "command"), FROM_RECORD)
def test_doctor_finds_in_the_record(
    tmp_path: Path,
    labs: dict[str, Lab],
    changes: dict[str, object],
    topic: str,
    level: str,
    command: str,
) -> None:
    finding = examine(tmp_path, labs, changes)[topic]
    assert finding.level == level
    assert finding.command == command
    assert finding.means


UNREADABLE = {"proc/self/cgroup": None, "proc/self/mountinfo": None}
FROM_FILES = [
    ({f"{CPU}/intel_pstate/no_turbo": "0\n"}, "turbo", "note",
     "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
    ({f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1\n"}, "turbo", "note",
     "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"),
    ({f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "0\n"}, "turbo", "good", ""),
    ({f"{CPU}/intel_pstate/no_turbo": None}, "turbo", "unknown", ""),
    ({f"{CPU}/intel_pstate/no_turbo": "?\n"}, "turbo", "unknown", ""),
    ({f"{THP}/defrag": "always defer [never]\n"}, "huge page defrag", "note",
     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag"),
    ({f"{THP}/defrag": "always [defer] never\n"}, "huge page defrag", "note",
     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag"),
    ({f"{THP}/defrag": "always [defer+madvise] never\n"}, "huge page defrag", "good", ""),
    ({f"{THP}/defrag": None}, "huge page defrag", "unknown", ""),
    ({f"{CPU}/smt/active": "1\n"}, "SMT", "good", ""),
    ({f"{CPU}/smt/active": None}, "SMT", "unknown", ""),
    ({f"{CPU}/isolated": "2-3\n", "proc/self/status": "Cpus_allowed_list:\t0-1\n"},
     "isolated PUs", "note", "taskset -c 2,3 ./numalab grade"),
    ({f"{CPU}/nohz_full": "2-3\n"}, "isolated PUs", "good", ""),
    ({f"{CPU}/isolated": None}, "isolated PUs", "unknown", ""),
    ({f"{CPU}/isolated": "x\n"}, "isolated PUs", "unknown", ""),
    ({"proc/cpuinfo": "flags : fpu hypervisor avx2\n"}, "virtualisation", "note", ""),
    ({"proc/cpuinfo": "CPU part : 0xd0c\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
     "virtualisation", "note", ""),
    ({"proc/cpuinfo": "CPU part : 0xd0c\n"}, "virtualisation", "unknown", ""),
    ({f"{JOB}/cpu.max": "250000 100000\n"}, "CPU quota", "bad",
     f"echo max | sudo tee /{JOB}/cpu.max"),
    ({"sys/fs/cgroup/system.slice/cpu.max": "50000 100000\n"}, "CPU quota", "bad",
     "echo max | sudo tee /sys/fs/cgroup/system.slice/cpu.max"),
    ({f"{JOB}/cpu.max": "400000 100000\n"}, "CPU quota", "good", ""),
    (UNREADABLE, "CPU quota", "unknown", ""),
    (UNREADABLE, "memory limit", "unknown", ""),
]  # fmt: skip


@pytest.mark.parametrize(("files", "topic", "level", "command"), FROM_FILES)
def test_doctor_finds_in_proc_and_sys(
    tmp_path: Path,
    labs: dict[str, Lab],
    files: dict[str, str | None],
    topic: str,
    level: str,
    command: str,
) -> None:
    finding = examine(tmp_path, labs, None, **files)[topic]
    assert finding.level == level
    assert finding.command == command
    assert finding.means


def test_who_narrows_the_cpu_set(tmp_path: Path, labs: dict[str, Lab]) -> None:
    """The job's control group, or the shell's own affinity."""
    two = {"pus": 2}
    job = {f"{JOB}/cpuset.cpus.effective": "0-1\n", "proc/self/status": "Cpus_allowed_list:\t0-1\n"}
    by_job = examine(tmp_path / "job", labs, two, **job)["CPU set"]
    assert f"/{JOB}/cpuset.cpus.effective" in by_job.remedy
    assert by_job.observed == "2 of 4 PUs may be used (0,1)"
    affinity = {"proc/self/status": "Cpus_allowed_list:\t0,2\n"}
    by_shell = examine(tmp_path / "shell", labs, two, **affinity)["CPU set"]
    assert "taskset" in by_shell.remedy
    assert by_shell.command == "taskset -c 0-3 ./numalab doctor"
    unread = UNREADABLE | {"proc/self/status": None}
    assert examine(tmp_path / "none", labs, two, **unread)["CPU set"].level == "unknown"


def test_the_file_that_sets_a_limit_is_named(tmp_path: Path, labs: dict[str, Lab]) -> None:
    above = "sys/fs/cgroup/system.slice/memory.max"
    limits = {above: f"{2**30}\n", f"{JOB}/memory.max": f"{2**31}\n"}
    of_memory = examine(tmp_path, labs, {"cgroup_memory_max_bytes": 2**30}, **limits)
    assert f"/{above}" in of_memory["memory limit"].remedy
    quota = "sys/fs/cgroup/cpu/cpu.cfs_quota_us"
    version_1 = {
        "proc/self/cgroup": "2:cpu:/\n",
        "proc/self/mountinfo": "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        quota: "150000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    of_time = examine(tmp_path / "v1", labs, None, **version_1)["CPU quota"]
    assert of_time.observed == "the time of 1.5 of 4 PUs"
    assert of_time.command == f"echo -1 | sudo tee /{quota}"


def test_a_container_is_told_that_its_host_may_limit_it(
    tmp_path: Path, labs: dict[str, Lab]
) -> None:
    root_of_its_own = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}
    found = examine(tmp_path, labs, None, **root_of_its_own)["CPU quota"]
    assert found.level == "good"
    assert "above this container can't be seen" in found.means
    assert "container" not in examine(tmp_path / "b", labs)["CPU quota"].means


@pytest.mark.parametrize(
    ("sample", "load", "level"),
    [
        (QUIET_SAMPLE, 0.1, "good"),
        (QUIET_SAMPLE, 3.0, "note"),
        (CurrentLoad(4, 1.5, 0.0, 0.0, (ActiveProcess(42, "cc1", 0.9, "ada", True),)), 0.1, "note"),
        (None, 0.1, "good"),
        (None, 3.0, "note"),
        (None, None, "unknown"),
    ],
)
def test_doctor_tells_of_other_load(
    tmp_path: Path, labs: dict[str, Lab], sample: CurrentLoad | None, load: float, level: str
) -> None:
    finding = examine(tmp_path, labs, {"load_1min": load}, sample)["other load"]
    assert finding.level == level
    if sample is not None and sample.processes:
        assert "cc1 (42, yours) 0.90" in finding.means
        assert "not visible from here" in finding.means  # 0.6 of a PU are somebody else's
        assert finding.command == "kill 42"
        assert "its owner" not in finding.remedy


def test_doctor_ends_nobody_elses_process(tmp_path: Path, labs: dict[str, Lab]) -> None:
    bobs, own = (
        ActiveProcess(7, "make", 1.2, "bob", False),
        ActiveProcess(42, "cc1", 0.9, "ada", True),
    )
    both = CurrentLoad(4, 2.1, 0.0, 0.0, (bobs, own))
    finding = examine(tmp_path, labs, {"load_1min": 2.0}, both)["other load"]
    assert "make (7, bob) 1.20, cc1 (42, yours) 0.90" in finding.means
    assert "what is not yours, ask its owner about" in finding.remedy
    assert finding.command == "kill 42"
    alone = CurrentLoad(4, 1.2, 0.0, 0.0, (bobs,))
    finding = examine(tmp_path, labs, {"load_1min": 2.0}, alone)["other load"]
    assert finding.command == "" and "ask its owner" in finding.remedy


@pytest.mark.parametrize(
    ("sample", "level"),
    [
        (CurrentLoad(4, 0.0, 0.0, 0.001, ()), "good"),
        (CurrentLoad(4, 0.0, 0.05, 0.001, ()), "note"),
        (CurrentLoad(4, 0.0, 0.0, 0.1, ()), "note"),
        (None, "unknown"),
    ],
)
def test_doctor_tells_of_stolen_time(
    tmp_path: Path, labs: dict[str, Lab], sample: CurrentLoad | None, level: str
) -> None:
    assert examine(tmp_path, labs, None, sample)["steal time"].level == level


COSTS_NOTHING = {"process_vm_readv", "get_mempolicy"}
# What has another way, or is needed on some hosts only.
IS_A_NOTE = COSTS_NOTHING | {"userfaultfd", "fixed_addresses"}


@pytest.mark.parametrize("name", sorted(NODE["evidence"]))
def test_doctor_tells_what_a_refusal_costs(tmp_path: Path, labs: dict[str, Lab], name: str) -> None:
    refused = NODE["evidence"] | {name: {"available": False, "error": "Operation not permitted"}}
    finding = examine(tmp_path, labs, {"evidence": refused})[name]
    assert finding.level == ("note" if name in IS_A_NOTE else "bad")
    assert "not permitted" in finding.observed
    assert finding.remedy
    assert bool(finding.concerns) == (name not in COSTS_NOTHING)


@pytest.mark.parametrize(
    ("name", "lab", "lost"),
    [
        ("move_pages", "01_first_touch", {"local_pages"}),
        ("schedstat", "03_scheduling", {"balanced"}),
        ("sched_setaffinity", "06_message_latency", {"efficiency", "near", "far", "predicted"}),
        ("process_vm_readv", "01_first_touch", set()),
        ("userfaultfd", "01_first_touch", set()),
    ],
)
def test_what_is_refused_is_not_gradable(
    labs: dict[str, Lab], name: str, lab: str, lost: set[str]
) -> None:
    node = NODE | {"numa_nodes": 2}
    usual = gradable(node, labs[lab])[1]
    refused = NODE["evidence"] | {name: {"available": False, "error": "Operation not permitted"}}
    assert set(gradable(node | {"evidence": refused}, labs[lab])[1]) == lost | set(usual)


def test_a_virtual_node_shows_nothing_where_results_can_not_be_read(labs: dict[str, Lab]) -> None:
    lab = labs["01_first_touch"]
    refused = NODE["evidence"] | {"worker_memory": {"available": False, "error": "no"}}
    assert gradable_virtually(NODE, lab) == ["local_pages"]
    assert gradable_virtually(NODE | {"evidence": refused}, lab) == []


def test_a_link_takes_two_nodes(labs: dict[str, Lab]) -> None:
    lab = labs["09_interconnect"]
    assert gradable(NODE | {"numa_nodes": 8}, lab)[1] == ["on_link"]
    assert gradable_virtually(NODE, lab) == ["on_link"]
    assert gradable_virtually(NODE, lab, has_mpi=False) == []


def test_a_finding_names_the_criteria_that_lab_toml_has(
    tmp_path: Path, labs: dict[str, Lab]
) -> None:
    labs = published(labs)
    found = examine(tmp_path, labs, {"huge_page_mode": "always", "numa_balancing": True})
    assert found["transparent huge pages"].concerns == {"04_huge_pages": ("huge_pages",)}
    assert found["automatic NUMA balancing"].concerns == {
        "01_first_touch": ("local_pages", "speedup"),
        "02_affinity": ("bandwidth",),
        "05_memory_policy": (
            "table_interleaved",
            "blocks_local",
            "handed_over",
            "contained",
            "fast_memory",
            "over_default",
        ),
        "07_hybrid": ("local_pages", "over_flat", "over_one_process"),
    }
    assert found["schedstat"].concerns == {"03_scheduling": ("balanced",)}
    assert found["turbo"].concerns == timing_concerns(labs.values())
    # Lab 06 binds ranks, and has no OMP_PLACES.
    assert "06_message_latency" in found["turbo"].concerns
    assert "06_message_latency" not in found["SMT"].concerns


def test_criteria_in_words(labs: dict[str, Lab]) -> None:
    assert concern_words({}, labs.values()) == ""
    assert (
        concern_words(timing_concerns(labs.values()), labs.values()) == "all that is graded by time"
    )
    some = {"01_first_touch": ("speedup", "efficiency"), "04_huge_pages": ("speedup",)}
    assert concern_words(some, labs.values()) == "01 speedup, efficiency; 04 speedup"


def test_a_long_command_can_still_be_copied() -> None:
    command = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current"
    lines = command_lines(command, 50)
    assert len(lines) == 2
    assert max(map(len, lines)) <= 56  # a path is not broken
    joined = "\n".join(lines).replace(" \\\n", " ")
    assert joined.split() == command.split()
    assert command_lines("sudo sysctl x=0", 50) == ["sudo sysctl x=0"]


def test_what_is_printed_and_what_is_written(tmp_path: Path, labs: dict[str, Lab]) -> None:
    node = NODE | {"cpu_model": "Invented CPU", "governor": "powersave", "numa_balancing": None}
    facts = read_facts(write_tree(tmp_path, **{f"{CPU}/intel_pstate/no_turbo": "0\n"}))
    all_labs = list(labs.values())
    findings = doctor.examine(node, facts, QUIET_SAMPLE, all_labs)
    stream = io.StringIO()
    show_findings(Console(file=stream, width=80), node, findings, all_labs)
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert "  note frequency governor: powersave." in shown
    assert "  ?    automatic NUMA balancing: unknown." in shown
    assert "\n           sudo cpupower frequency-set -g performance\n" in shown
    assert "Concerns: all that is graded by time." in shown

    data = json.loads(json.dumps(doctor_json(node, facts, QUIET_SAMPLE, findings, all_labs, True)))
    assert data["schema"] == 1
    assert data["facts"]["turbo"] is True
    assert data["load_sample"]["pus"] == 4
    written = {finding["topic"]: finding for finding in data["findings"]}
    assert set(written["turbo"]) == {
        "topic", "level", "found", "means", "remedy", "command", "concerns"
    }  # fmt: skip
    assert written["turbo"]["concerns"]["01_first_touch"] == ["speedup", "efficiency"]
    assert data["labs"]["01_first_touch"]["not_gradable"] == ["local_pages", "speedup"]


def test_what_a_node_can_show(first_touch: Lab) -> None:
    can, cannot = gradable(NODE, first_touch)
    assert cannot == ["local_pages", "speedup"]
    assert gradable(NODE | {"cores": 1}, first_touch)[0] == ["correct", "efficiency"]
    assert gradable(NODE | {"numa_nodes": 2}, first_touch)[1] == []
    assert can == ["correct", "shared_out", "touched_where_used", "efficiency"]


def test_without_thread_sanitizer_the_loss_and_the_way_out_are_told() -> None:
    labs = list(load_labs(find_installation("gnu").root).values())
    lost = data_races("", labs)
    assert lost.level == "note" and lost.concerns == {
        "03_scheduling": ("race_free",),
        "10_false_sharing": ("race_free", "no_shared_lines", "slots_true", "no_waste"),
    }
    assert "not looked at for data races" in lost.means
    assert "clang" in lost.remedy and "./numalab setup" in lost.remedy
    assert data_races("/usr/bin/clang", labs).level == "good"
