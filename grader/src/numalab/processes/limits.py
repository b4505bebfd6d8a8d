"""Limits on memory, address space and processor time that this process has, and hands down to all
that it starts. A process that meets one often ends without a word of it."""

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

# Kernels of version 1 write "no limit" as a number of bytes near 2^63.
NO_LIMIT_BYTES = 2**60


@dataclass(frozen=True)
class Limit:
    """file: where it is set, as this node names it; value: cores, or bytes."""

    file: str
    value: float


@dataclass(frozen=True)
class CpuSet:
    """The PUs that a level allows in the end. file: where that is read."""

    file: str
    pus: frozenset[int]


@dataclass(frozen=True)
class Groups:
    """From this process's own level upwards; none: no level has a limit. None: control groups
    can't be read here. is_cut_off: the levels of a container's host are not seen."""

    cpu: tuple[Limit, ...] | None
    memory: tuple[Limit, ...] | None
    cpusets: tuple[CpuSet, ...] | None
    is_cut_off: bool

    @property
    def cpu_limit(self) -> Limit | None:
        return min(self.cpu or (), key=lambda limit: limit.value, default=None)

    @property
    def narrowing_cpuset(self) -> CpuSet | None:
        """The highest level that allows no more than this process's own does."""
        own = self.cpusets[0].pus if self.cpusets else frozenset()
        return next((level for level in reversed(self.cpusets or ()) if level.pus == own), None)


@dataclass(frozen=True)
class _Tree:
    """One mounted hierarchy. levels: folders below the root folder, this process's first."""

    version: int
    levels: tuple[Path, ...]
    is_part: bool  # only what belongs to a container is mounted


def _own_groups(root: Path) -> dict[str, str]:
    """The path of this process's group by controller; "" is version 2."""
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
    if ".." in names:  # the group lies outside of what this process may see
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


def _cpu_limit(root: Path, version: int, folder: Path) -> Limit | None:
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


def _cpuset(root: Path, version: int, folder: Path) -> CpuSet | None:
    file = folder / ("cpuset.cpus.effective" if version == 2 else "cpuset.effective_cpus")
    text = read_text(file)
    if not text:
        return None
    try:
        return CpuSet(_named(root, file), kernel_pus(text))
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


def read_groups(root: Path = Path("/")) -> Groups:
    """root: the folder that holds proc and sys."""
    return Groups(
        cpu=_read(root, "cpu", _cpu_limit),
        memory=_read(root, "memory", _memory_limit),
        cpusets=_read(root, "cpuset", _cpuset),
        is_cut_off=any(tree.is_part for name in ("cpu", "memory") for tree in _trees(root, name)),
    )


# ---- limits of this process ----------------------------------------------------------


# Of a shell's: what is limited, by which option of ulimit.
_BYTES = (
    (resource.RLIMIT_AS, "address space", "-v"),
    (resource.RLIMIT_DATA, "data", "-d"),
    (resource.RLIMIT_FSIZE, "size of a file", "-f"),
)
# With which the system ends what has met a limit.
ENDING = frozenset({"SIGKILL", "SIGXCPU", "SIGXFSZ"})


def limits_in_force(root: Path = Path("/")) -> list[str]:
    """Each with its amount and where it is set. root: the folder that holds proc and sys."""
    found = [f"memory {amount(int(limit.value))} ({limit.file})" for limit in _smallest(root)]
    for which, what, option in _BYTES:
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            found.append(f"{what} {amount(soft)} (ulimit {option})")
    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if seconds != resource.RLIM_INFINITY:
        found.append(f"processor time {seconds} s (ulimit -t)")
    return found


def _smallest(root: Path) -> list[Limit]:
    memory = read_groups(root).memory or ()
    return [min(memory, key=lambda limit: limit.value)] if memory else []


def limits_sentence(limits: Sequence[str]) -> str:
    """With a blank before it, or nothing where there are none."""
    return f" Limits are in force here: {'; '.join(limits)}." if limits else ""


def signal_name(code: int) -> str:
    """Of a process's exit code, which is negative for a signal."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
