"""Runs of programs, such as binutils and compilers, on untrusted input, with limits.

A line table or a symbol can cost such a program hours, or all memory.
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

# A shell sets the limits: Python code between fork and exec may wait for a lock that another thread
# held. Where the system's own limits are lower, those hold. -f is in units of 512 bytes, -v in KiB.
_LIMITED = (
    'ulimit -c 0; ulimit -t "$1" 2>/dev/null; ulimit -v "$2" 2>/dev/null; '
    'ulimit -f "$3" 2>/dev/null; shift 3; exec "$@"'
)


@dataclass(frozen=True)
class ToolLimits:
    """Limits of a program."""

    computing_s: int  # CPU time of each process
    memory_bytes: int  # address space of each process
    file_bytes: int  # size of each file that is written
    output_bytes: int  # how much of the output is read; the rest is dropped
    wall_s: float  # how long all of its processes may take together, by the clock


# A worker's program has 100 kB, and addr2line finds its lines within 50 ms.
TOOL_LIMITS = ToolLimits(
    computing_s=3, memory_bytes=1 << 30, file_bytes=64 << 20, output_bytes=1 << 20, wall_s=120.0
)


class TookTooLong(Exception):
    """A program did not end within wall_s, and was killed."""


def code_of(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """Wait for a process and return its exit code, negative for a signal; None where it has not
    ended within limit_s. (Popen.wait with a limit polls, a delay that shows in timings.)"""
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
    cwd: str | None = None, *, takes_stderr: bool = True,
) -> tuple[int, str]:  # fmt: skip
    """Run a program within limits, and kill the rest of its process group when it ends. Returns the
    exit code, negative for a signal, and the output. Raises OSError where it can't be started, and
    TookTooLong.

    Args:
        environment: None: observer_environment() of shell_variables.py.
        cwd: the working directory; None: this process's.
        takes_stderr: standard error is part of the output.
    """
    sizes = (limits.computing_s, limits.memory_bytes >> 10, limits.file_bytes >> 9)
    full = ["/bin/sh", "-c", _LIMITED, "sh", *map(str, sizes), *command]
    if environment is None:
        environment = shell_variables.observer_environment()
    with tempfile.TemporaryFile() as output:
        process = starting.start(
            full, environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT if takes_stderr else subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = code_of(process, limits.wall_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code is None:
            raise TookTooLong
        output.seek(0)
        return code, output.read(limits.output_bytes).decode(errors="replace")


def output_of(command: Sequence[str], limits: ToolLimits = TOOL_LIMITS) -> str:
    """Return what a program prints on standard output; empty where its exit code is not 0, it took
    too long or can't be started."""
    try:
        code, output = run_limited(command, limits, takes_stderr=False)
    except (OSError, TookTooLong):
        return ""
    return output if code == 0 else ""
