"""Limits on memory, address space and processor time that this process has, and hands down to all
that it starts. A process that meets one often ends without a word of it."""

from __future__ import annotations

import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from numalab.processes.cgroups import Limit, read_groups
from numalab.words import amount

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
