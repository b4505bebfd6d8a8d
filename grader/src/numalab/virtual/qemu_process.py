"""QEMU's process and its control line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, BinaryIO

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.processes import shell_variables, starting
from numalab.virtual import qemu

STEP_LIMIT_S = 60.0
_CONFINED = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


class GuestFailed(Exception):
    """The guest did not come up or has gone; the message has what is known."""


class GuestEnded(GuestFailed):
    """It has gone by its own doing: it switched itself off or began to boot again, or what it did
    ended QEMU."""


# With which QEMU ends by a fault of its own; any other one comes from outside.
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def is_own_end(code: int | None) -> bool:
    """Whether QEMU's exit code, or None where it runs, says that the guest brought it about."""
    return code is not None and (code == 0 or -code in _FAULTS)


def find_qemu() -> str:
    program = shutil.which(qemu.PROGRAM)
    if program is None:
        raise UserError(qemu.NO_QEMU)
    if shutil.which("setpriv") is None:
        raise UserError("virtual nodes need setpriv (the package util-linux)")
    return program


def memory_file(name: str, content: bytes = b"") -> BinaryIO:
    file = os.fdopen(os.memfd_create(name), "w+b")
    file.write(content)
    file.flush()
    file.seek(0)
    return file


@lru_cache
def confining_words(program: str) -> tuple[str, ...]:
    """By which QEMU gives up system calls that it needs for nothing here (seccomp): other
    programs, other users, other priorities. None of a QEMU that was built without."""
    words = ("-sandbox", _CONFINED)
    try:
        asked = [program, *words, "-version"]
        done = starting.run(asked, shell_variables.for_observers(), limit_s=STEP_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if done.returncode == 0 else ()


def start_qemu(
    command: list[str], console: BinaryIO, pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    """QEMU, in a session of its own so that the terminal's Ctrl-C passes it by, and told
    to die with this process; the shell looks whether that is too late already."""
    guard = f'test "$PPID" = {os.getpid()} && exec "$@"'
    program, *options = command
    words = [program, *confining_words(program), *options]
    return starting.start(
        ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", guard, "sh", *words],
        shell_variables.for_observers(), stdin=subprocess.DEVNULL, stdout=console, stderr=console,
        pass_fds=pass_fds, start_new_session=True, cwd="/",
    )  # fmt: skip


class QemuMonitor:
    """QEMU's own control line (QMP)."""

    def __init__(self, own: socket.socket) -> None:
        own.settimeout(STEP_LIMIT_S)
        self._socket = own
        self._answers = own.makefile("r")
        self._read()  # its greeting
        self.ask("qmp_capabilities")

    def _read(self) -> Json:
        try:
            answer: Json = json.loads(self._answers.readline() or "{}")
        except (OSError, json.JSONDecodeError) as error:
            raise GuestFailed(f"QEMU's monitor is gone: {error}.") from error
        if not answer:
            raise GuestFailed("QEMU has ended.")
        return answer

    def ask(self, command: str, arguments: Json | None = None, files: Sequence[int] = ()) -> Any:
        """files: descriptors to hand over with the command."""
        text = json.dumps({"execute": command, "arguments": arguments or {}})
        try:
            socket.send_fds(self._socket, [text.encode()], files)
        except OSError as error:
            raise GuestFailed("QEMU has ended.") from error
        while True:
            answer = self._read()
            if "error" in answer:
                raise GuestFailed(f"QEMU refuses {command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]
