"""What this node can show, what disturbs timing here, and which evidence is available."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Any, Literal

from numalab.explain import amount, count
from numalab.lab import Lab
from numalab.record import Json

DENIED = "Permission denied"
MPI_REMEDY = (
    "load an MPICH module, or install MPICH (./numalab setup does; Debian: apt-get install mpich "
    "libmpich-dev), remove the folder build/ and run ./numalab setup"
)
Level = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """means: what it means for the labs; remedy: what changes it, or nothing."""

    topic: str
    level: Level
    found: str
    means: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "level": self.level,
            "found": self.found,
            "means": self.means,
            "remedy": self.remedy,
        }


_EVIDENCE = {
    "userfaultfd": (
        "the touch map is made outside the student's process",
        "the touch map is made inside the student's process instead, and marked so",
        "in a container allow the system call userfaultfd in the seccomp profile",
    ),
    "process_vm_readv": (
        "results are read from outside",
        "nothing can be graded",
        "set kernel.yama.ptrace_scope to 1 (sysctl), or allow the call in the container",
    ),
    "move_pages": (
        "the NUMA node of every page is known",
        "local_pages is not gradable",
        "allow the system call move_pages in the container's seccomp profile",
    ),
    "schedstat": (
        "the CPU time of every thread is known",
        "how evenly work is shared is not gradable",
        "the kernel needs CONFIG_SCHED_INFO",
    ),
}


def _topology(node: Json) -> list[Finding]:
    nodes, cores, pus = node["numa_nodes"], node["cores"], node["pus"]
    findings = [
        Finding(
            "NUMA nodes",
            "good" if nodes > 1 else "note",
            str(nodes),
            "placement shows in residency and in time"
            if nodes > 1
            else "first touch shows in the touch map; local_pages and speedup are not gradable",
        ),
        Finding(
            "cores",
            "good" if cores > 1 else "bad",
            f"{cores} ({count(pus, 'PU')})",
            "one thread a core"
            if cores > 1
            else "with one core there is nothing to share out: most criteria are not gradable",
        ),
    ]
    total = os.cpu_count() or pus
    if pus < total:
        findings.append(
            Finding(
                "CPU set",
                "note",
                f"{pus} of {total} PUs may be used",
                "the kit uses only these",
                "a job or a container has set this; ask for whole nodes",
            )
        )
    return findings


def _timing(node: Json, cores: int) -> list[Finding]:
    findings = []
    load = node["load_1min"]
    if load is not None:
        busy = load > 0.3 * cores
        findings.append(
            Finding(
                "other load",
                "note" if busy else "good",
                f"{load:.2f} over the last minute",
                "times will be noisy, verdicts take longer or stay open" if busy else "quiet",
                "end what else runs here (see: top)" if busy else "",
            )
        )
    governor = node["governor"]
    if governor is not None:
        steady = governor == "performance"
        findings.append(
            Finding(
                "frequency governor",
                "good" if steady else "note",
                governor,
                "steady" if steady else "the first runs may be slower than the later ones",
                "" if steady else "sudo cpupower frequency-set -g performance",
            )
        )
    if node["numa_balancing"]:
        findings.append(
            Finding(
                "automatic NUMA balancing",
                "note",
                "on",
                "the kernel moves pages towards their users and hides a wrong first touch",
                "sudo sysctl kernel.numa_balancing=0",
            )
        )
    if node["cgroup_cpu_max"] and not node["cgroup_cpu_max"].startswith("max"):
        findings.append(
            Finding(
                "CPU quota",
                "bad",
                node["cgroup_cpu_max"],
                "the process is stopped in every period: no time can be trusted",
                "run without a CPU limit (container or systemd slice)",
            )
        )
    if node["clock_source"] not in (None, "tsc", "arch_sys_counter", "kvm-clock"):
        findings.append(
            Finding(
                "clock source",
                "note",
                node["clock_source"],
                "reading the time is slow",
                "see /sys/devices/system/clocksource",
            )
        )
    return findings


def mpi(version: str) -> Finding:
    """version: of the MPI library that the kit was built with, or nothing."""
    if version:
        return Finding("MPI", "good", version, "the labs on MPI can be graded")
    return Finding("MPI", "note", "none", "the labs on MPI are not gradable", MPI_REMEDY)


def examine(node: Json) -> list[Finding]:
    """All findings about a node description, worst topics not sorted: by theme."""
    findings = _topology(node)
    findings += _timing(node, node["cores"])
    mode = node["huge_page_mode"]
    findings.append(
        Finding(
            "transparent huge pages",
            "note" if mode in (None, "never") else "good",
            mode or "not supported",
            "switched off for the labs that place 4 KiB pages",
        )
    )
    findings.append(
        Finding(
            "memory",
            "good" if node["memory_bytes"] >= 4 * 2**30 else "note",
            f"{amount(node['memory_bytes'])}, last level cache "
            f"{amount(node['last_level_cache_bytes'])}",
            "arrays take at most an eighth of it",
        )
    )
    for name, (good, bad, remedy) in _EVIDENCE.items():
        probe = node["evidence"][name]
        findings.append(
            Finding(
                name,
                "good" if probe["available"] else "bad",
                "available" if probe["available"] else f"refused: {probe['error']}",
                good if probe["available"] else bad,
                "" if probe["available"] else remedy,
            )
        )
    if not shutil.which("addr2line"):
        findings.append(
            Finding("addr2line", "note", "missing", "crashes are reported without a line",
                    "install the package binutils")
        )  # fmt: skip
    return findings


def virtual_nodes(unable: str | None, kvm: str | None) -> Finding:
    """unable: why none can be had; kvm: what was seen of KVM, None where it is used."""
    if unable is not None:
        return Finding(
            "virtual nodes", "note", "none", f"placement is graded on this node only; {unable}"
        )
    return Finding(
        "virtual nodes",
        "good",
        "QEMU, emulated" if kvm else "QEMU with KVM",
        "placement is graded on the machines of ./numalab machine list too"
        + (f" (not with KVM: {kvm})" if kvm else "")
        + ("; to use KVM, have yourself added to the group kvm" if kvm and DENIED in kvm else ""),
    )


def gradable_virtually(node: Json, lab: Lab, has_mpi: bool = True) -> list[str]:
    """Names of the lab's criteria that a virtual node can show and this one can't."""
    if lab.mpi and not has_mpi:
        return []
    kinds = {criterion.name: criterion.kind for criterion in lab.criteria}
    return [name for name in gradable(node, lab)[1] if kinds[name] == "evidence"]


def gradable(node: Json, lab: Lab, has_mpi: bool = True) -> tuple[list[str], list[str]]:
    """Names of the lab's criteria that this node can and can't show."""
    if lab.mpi and not has_mpi:
        return [], [criterion.name for criterion in lab.criteria]
    can: list[str] = []
    cannot: list[str] = []
    for criterion in lab.criteria:
        enough = node["numa_nodes"] >= criterion.needs_numa_nodes
        needs_team = criterion.kind == "evidence" and criterion.rule != "thread_level"
        needs_ranks = criterion.kind == "timing" and lab.launch is not None
        if node["cores"] < 2 and (needs_team or needs_ranks):
            enough = False
        (can if enough else cannot).append(criterion.name)
    return can, cannot
