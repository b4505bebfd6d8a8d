"""Invented /proc and /sys for doctor's tests: a quiet node of 4 PUs, changed file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import invented

Json = dict[str, Any]
CPU = "sys/devices/system/cpu"

# As describe_node gives it.
NODE: Json = invented.ONE_NODE.describe() | {
    "cores": 4, "pus": 4, "pus_online": 4, "load_1min": 0.0, "governor": "performance",
    "numa_balancing": False, "cgroup_memory_max_bytes": None, "clock_source": "tsc",
    "huge_page_mode": "madvise", "core_kinds": [{"pus": [0, 1, 2, 3], "name": None}],
    "evidence": {name: {"available": True, "error": None}
                 for name in ("userfaultfd", "process_vm_readv", "worker_memory", "pidfd_open",
                              "sched_setaffinity", "move_pages", "get_mempolicy",
                              "fixed_addresses", "schedstat")},
}  # fmt: skip

MOUNT_V2 = "30 23 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
JOB = "sys/fs/cgroup/system.slice/job.service"

QUIET: dict[str, str] = {
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/isolated": "\n",
    f"{CPU}/nohz_full": "(null)\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/class/dmi/id/sys_vendor": "Dell Inc.\n",
    "sys/class/dmi/id/product_name": "PowerEdge R640\n",
    "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme avx2\n",
    "proc/self/status": "Name:\tpython3\nCpus_allowed_list:\t0-3\n",
    "proc/self/cgroup": "0::/system.slice/job.service\n",
    "proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + MOUNT_V2,
    f"{JOB}/cpu.max": "max 100000\n",
    f"{JOB}/memory.max": "max\n",
    f"{JOB}/cpuset.cpus.effective": "0-3\n",
    "sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
    "sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-3\n",
    "sys/fs/cgroup/cpuset.cpus.effective": "0-3\n",
}  # fmt: skip


def write_tree(root: Path, **changes: str | None) -> Path:
    """The quiet node with some files changed; None: without that file. Paths are keys."""
    for name, text in (QUIET | changes).items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    return root


def stat_text(pus: int, busy: int, idle: int, stolen: int) -> str:
    """/proc/stat with these ticks of all PUs together."""
    total = f"cpu  {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n"
    return total + "".join(f"cpu{pu} 0 0 0 0 0 0 0 0 0 0\n" for pu in range(pus)) + "intr 1 2\n"


def write_process(root: Path, pid: int, name: str, ticks: int) -> None:
    """A process that has used so many ticks, some of them in the kernel."""
    folder = root / f"proc/{pid}"
    folder.mkdir(parents=True, exist_ok=True)
    fields = f"S 1 1 1 0 -1 4194560 10 0 0 0 {ticks - ticks // 4} {ticks // 4} 0 0 20 0 1 0"
    (folder / "stat").write_text(f"{pid} ({name}) {fields}\n", encoding="utf-8")
