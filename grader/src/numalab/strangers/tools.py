"""Programs of the system that look at what strangers' bytes were made into: binutils, compilers.

They come to their end, or are ended: a line table or a symbol can cost them any time and all
memory. What they could not tell is not told.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from numalab.processes import shell_variables, starting

# By a shell, since limits that Python sets between fork and exec may meet a lock of another thread.
# Where the system's own limits are lower, those hold. The unit of -f is 512 bytes, of -v KiB.
_LIMITED = (
    'ulimit -c 0; ulimit -t "$1" 2>/dev/null; ulimit -v "$2" 2>/dev/null; '
    'ulimit -f "$3" 2>/dev/null; shift 3; exec "$@"'
)


@dataclass(frozen=True)
class ToolLimits:
    """Of each process: processor time, address space, the size of a file. said_bytes: of its output
    that is read; wall_s: of all together."""

    cpu_s: int
    memory_bytes: int
    file_bytes: int
    said_bytes: int
    wall_s: float


# A worker's program has 100 kB and lines that are told within 50 ms.
LOOK = ToolLimits(
    cpu_s=3, memory_bytes=1 << 30, file_bytes=64 << 20, said_bytes=1 << 20, wall_s=120.0
)


class TookTooLong(Exception):
    """It did not end within its wall time, and was ended."""


def code_of(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """Once it has ended; None where it does not in time. Popen.wait with a limit looks twenty
    times per second, which delays what comes next and is seen in a timing."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3
        with suppress(subprocess.TimeoutExpired):
            return process.wait(limit_s)
        return None
    try:
        is_over, _, _ = select.select([descriptor], [], [], limit_s)
        return process.wait() if is_over else None
    finally:
        os.close(descriptor)


def run_limited(
    command: Sequence[str], limits: ToolLimits, environment: Mapping[str, str] | None = None,
    cwd: str | None = None, *, with_errors: bool = True,
) -> tuple[int, str]:  # fmt: skip
    """The exit code, negative for a signal, and what it said, with_errors on both streams. What it
    has started ends with it. environment: None: that of
    observers. Raises OSError where there is no
    shell, and TookTooLong."""
    sizes = (limits.cpu_s, limits.memory_bytes >> 10, limits.file_bytes >> 9)
    full = ["/bin/sh", "-c", _LIMITED, "sh", *map(str, sizes), *command]
    if environment is None:
        environment = shell_variables.for_observers()
    with tempfile.TemporaryFile() as said:
        process = starting.start(
            full, environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT if with_errors else subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = code_of(process, limits.wall_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code is None:
            raise TookTooLong
        said.seek(0)
        return code, said.read(limits.said_bytes).decode(errors="replace")


def told_by(command: Sequence[str], limits: ToolLimits = LOOK) -> str:
    """What a program says; nothing where it could not come to its end or complained."""
    try:
        code, said = run_limited(command, limits, with_errors=False)
    except (OSError, TookTooLong):
        return ""
    return said if code == 0 else ""
