"""Limits on cores, PUs, memory, file sizes and processor time that hold for this process. A process
that exceeds one on bytes or time often ends without a message."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from numalab.files import read_text
from numalab.pu_lists import BadList, kernel_pus
from numalab.words import amount

# ---- control groups ------------------------------------------------------------------


T = TypeVar("T")

# Control groups of version 1 have a number of bytes near 2^63 for "no limit".
NO_LIMIT_BYTES = 2**60


@dataclass(frozen=True)
class Limit:
    """A limit of a control group."""

    file: str  # the file that sets it, such as /sys/fs/cgroup/job/cpu.max
    value: float  # cores (a quota of 1.5 periods is 1.5), or bytes


@dataclass(frozen=True)
class AllowedPus:
    """The PUs that a control group may use in effect, and the file that lists them."""

    file: str
    pus: frozenset[int]


@dataclass(frozen=True)
class ControlGroups:
    """Limits of this process's control groups, and of those above them."""

    # core_limits, memory_limits: of the levels that have a limit; empty where none has one, None
    # where control groups can't be read.
    core_limits: tuple[Limit, ...] | None
    memory_limits: tuple[Limit, ...] | None
    cpusets: tuple[AllowedPus, ...] | None  # of the levels that list PUs; None as above
    is_cut_off: bool  # levels above are known to be hidden, as in a container

    @property
    def core_limit(self) -> Limit | None:
        """Return the smallest limit in cores, which is the one in force; None where there is none,
        or control groups can't be read."""
        return min(self.core_limits or (), key=lambda limit: limit.value, default=None)

    @property
    def narrowing_cpuset(self) -> AllowedPus | None:
        """Return the last of the levels, from the own group upwards, that allows just the PUs of
        the first; None where no level lists PUs."""
        own = self.cpusets[0].pus if self.cpusets else frozenset()
        return next((level for level in reversed(self.cpusets or ()) if level.pus == own), None)


@dataclass(frozen=True)
class _Tree:
    version: int
    levels: tuple[Path, ...]  # folders, of this process's own group first
    is_part: bool  # levels above those that are mounted are known to be hidden


def _own_groups(root: Path) -> dict[str, str]:
    """Return the path of this process's group by controller; "" is the key for version 2."""
    found: dict[str, str] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, separator, path = rest.partition(":")
        if separator:
            found |= dict.fromkeys(controllers.split(","), path)
    return found


def _levels(root: Path, mounted_at: str, mount_root: str, group: str) -> tuple[Path, ...]:
    below = "" if mount_root == "/" else mount_root
    inside = group[len(below) :] if f"{group}/".startswith(f"{below}/") else ""
    names = [name for name in inside.split("/") if name]
    if ".." in names:  # the group is outside of what is mounted
        names = []
    top = root / mounted_at.lstrip("/")
    return tuple(top.joinpath(*names[:depth]) for depth in range(len(names), -1, -1))


def _trees(root: Path, controller: str) -> Iterator[_Tree]:
    groups = _own_groups(root)
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        left, separator, right = line.partition(" - ")
        where, kind = left.split(), right.split()
        if not separator or len(where) < 5 or len(kind) < 3:
            continue
        mount_root, mounted_at = where[3], where[4]
        if kind[0] == "cgroup" and controller in kind[2].split(",") and controller in groups:
            own, version = groups[controller], 1
        elif kind[0] == "cgroup2" and "" in groups:
            own, version = groups[""], 2
        else:
            continue
        levels = _levels(root, mounted_at, mount_root, own)
        # The true root of version 2 has no limits, so a root that has some is a container's.
        is_part = mount_root != "/" or (version == 2 and (levels[-1] / "cpu.max").exists())
        yield _Tree(version, levels, is_part)


def _named(root: Path, file: Path) -> str:
    return f"/{file.relative_to(root)}"


def _core_limit(root: Path, version: int, folder: Path) -> Limit | None:
    file = folder / ("cpu.max" if version == 2 else "cpu.cfs_quota_us")
    words = (read_text(file) or "").split()
    if version == 1:
        words += (read_text(folder / "cpu.cfs_period_us") or "").split()
    try:
        quota_us, period_us = map(int, words)
    except ValueError:  # no such file, or "max"
        return None
    return Limit(_named(root, file), quota_us / period_us) if min(quota_us, period_us) > 0 else None


def _memory_limit(root: Path, version: int, folder: Path) -> Limit | None:
    file = folder / ("memory.max" if version == 2 else "memory.limit_in_bytes")
    text = read_text(file) or ""
    if not text.isdigit() or int(text) >= NO_LIMIT_BYTES:
        return None
    return Limit(_named(root, file), int(text))


def _cpuset(root: Path, version: int, folder: Path) -> AllowedPus | None:
    file = folder / ("cpuset.cpus.effective" if version == 2 else "cpuset.effective_cpus")
    text = read_text(file)
    if not text:
        return None
    try:
        return AllowedPus(_named(root, file), kernel_pus(text))
    except BadList:
        return None


def _read(
    root: Path, controller: str, read: Callable[[Path, int, Path], T | None]
) -> tuple[T, ...] | None:
    trees = list(_trees(root, controller))
    if not any(level.is_dir() for tree in trees for level in tree.levels):
        return None
    values = (read(root, tree.version, level) for tree in trees for level in tree.levels)
    return tuple(value for value in values if value is not None)


def read_control_groups(root: Path = Path("/")) -> ControlGroups:
    """Return the limits of this process's control groups. root: the folder that holds proc and
    sys."""
    return ControlGroups(
        core_limits=_read(root, "cpu", _core_limit),
        memory_limits=_read(root, "memory", _memory_limit),
        cpusets=_read(root, "cpuset", _cpuset),
        is_cut_off=any(tree.is_part for name in ("cpu", "memory") for tree in _trees(root, name)),
    )


# ---- limits of this process ----------------------------------------------------------


# Limits in bytes: the resource, its name in messages, and the shell's option of ulimit for it.
_BYTES = (
    (resource.RLIMIT_AS, "address space", "-v"),
    (resource.RLIMIT_DATA, "data", "-d"),
    (resource.RLIMIT_FSIZE, "size of a file", "-f"),
)
# Names of the signals by which Linux ends a process that exceeds a limit.
ENDING = frozenset({"SIGKILL", "SIGXCPU", "SIGXFSZ"})


def limits_in_force(root: Path = Path("/")) -> list[str]:
    """Return phrases for limits in force on memory, file sizes and processor time, with amounts and
    where they are set, such as "address space 4.0 GiB (ulimit -v)". root: the folder that holds
    proc and sys, for control groups."""
    memory = read_control_groups(root).memory_limits or ()
    smallest = min(memory, key=lambda limit: limit.value, default=None)
    found = [] if smallest is None else [f"memory {amount(int(smallest.value))} ({smallest.file})"]
    for which, what, option in _BYTES:
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            found.append(f"{what} {amount(soft)} (ulimit {option})")
    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if seconds != resource.RLIM_INFINITY:
        found.append(f"processor time {seconds} s (ulimit -t)")
    return found


def limits_sentence(limits: Sequence[str]) -> str:
    """Return a sentence on limits with a blank before it; empty where there are none."""
    return f" Limits are in force here: {'; '.join(limits)}." if limits else ""


def signal_name(code: int) -> str:
    """Return the name of the signal that ended a process, or "signal" and its number if it has
    none. code: the process's exit code, which is negative for a signal."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
