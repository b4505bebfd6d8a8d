"""Control groups: what they allow this process, at its own level and at every level above.

A limit may be set on a job and not on its steps, on a container and not on what runs in it;
the smallest one counts. Both versions of control groups are read, and both at once, as some
systems mount them. Source: the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from numalab.files import read_text
from numalab.pu_lists import BadList, kernel_pus

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
