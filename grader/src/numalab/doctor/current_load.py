"""The load of the PUs right now, and the processes that cause it, from two readings of /proc."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from numalab.evidence.record import Json

INTERVAL_S = 0.3
SHOWN = 3
MIN_ACTIVE_PUS = 0.05  # of a process that is shown; Linux counts in steps of 10 ms


@dataclass(frozen=True)
class ActiveProcess:
    """A process that used PUs.

    Attributes:
        busy: the PUs that it used on average; 1.5 is the time of one and a half PUs.
        owner: its user's name, or number in words where there is none.
        is_ours: its user is the one who runs numalab, and is not root, whose processes are also the
            services of the system.
    """

    pid: int
    name: str
    busy: float
    owner: str
    is_ours: bool


@dataclass(frozen=True)
class CurrentLoad:
    """The load of all PUs.

    Attributes:
        pus: that are online.
        busy: how many of them worked on average.
        stolen, stolen_since_start: share [0..1] of their time that is steal time, now and since
            this machine was started.
        processes: the most active that are visible, without this one, from MIN_ACTIVE_PUS on; at
            most SHOWN.
    """

    pus: int
    busy: float
    stolen: float
    stolen_since_start: float
    processes: tuple[ActiveProcess, ...]

    def json_data(self) -> Json:
        return asdict(self)


@dataclass(frozen=True)
class _Ticks:
    """The time of all PUs together since this machine was started, in Linux's ticks. pus: their
    number."""

    pus: int
    total: int
    idle: int
    stolen: int


def _ticks(root: Path) -> _Ticks | None:
    """Read the line `cpu` of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; the
    rest is part of the first two (proc(5)). Return None where it can't be read or lacks some."""
    try:
        lines = (root / "proc/stat").read_text(encoding="ascii").splitlines()
        first = next(line for line in lines if line.startswith("cpu "))
        counts = [int(word) for word in first.split()[1:9]]
        pus = sum(line.startswith("cpu") for line in lines) - 1
    except (OSError, ValueError, StopIteration):
        return None
    if len(counts) < 8 or pus < 1:
        return None
    return _Ticks(pus, sum(counts), counts[3] + counts[4], counts[7])


def _processes(root: Path) -> dict[int, tuple[str, int, int]]:
    """Return name, ticks used and user's number of processes in /proc, by pid."""
    found = {}
    try:
        folders = [entry for entry in (root / "proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return {}
    for folder in folders:
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            owner = folder.stat().st_uid
        except OSError:
            continue  # it has ended
        before, _, after = text.rpartition(")")  # a name may hold blanks and brackets
        words = after.split()
        if len(words) > 12:
            name = before.partition("(")[2]
            found[int(folder.name)] = (name, int(words[11]) + int(words[12]), owner)
    return found


def _user_name(uid: int) -> str:
    """Return a user's name, or a text with the number where there is none, as for a process of
    another container."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def measure_load(
    root: Path = Path("/"), wait: Callable[[], None] = lambda: time.sleep(INTERVAL_S)
) -> CurrentLoad | None:
    """Return the load while wait() runs; None where /proc/stat can't be read or counts no time
    meanwhile. root: the folder that holds proc."""
    earlier = _processes(root)
    start = _ticks(root)
    wait()
    end = _ticks(root)
    later = _processes(root)
    if start is None or end is None or end.total <= start.total:
        return None
    total = end.total - start.total
    idle, stolen = max(0, end.idle - start.idle), max(0, end.stolen - start.stolen)
    of_a_pu = total / end.pus
    used = [
        ActiveProcess(
            pid,
            name,
            (ticks - (earlier[pid][1] if pid in earlier else 0)) / of_a_pu,
            _user_name(owner),
            owner == os.getuid() != 0,
        )
        for pid, (name, ticks, owner) in later.items()
        if pid != os.getpid()
    ]
    busiest = sorted(used, key=lambda process: -process.busy)[:SHOWN]
    return CurrentLoad(
        pus=end.pus,
        busy=max(0.0, (total - idle - stolen) / of_a_pu),
        stolen=stolen / total,
        stolen_since_start=end.stolen / end.total if end.total else 0.0,
        processes=tuple(process for process in busiest if process.busy >= MIN_ACTIVE_PUS),
    )
