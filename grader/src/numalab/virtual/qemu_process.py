"""QEMU's process and its monitor."""

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
    """A failure of a guest or of a cluster's relay; the message has what is known."""


class GuestEnded(GuestFailed):
    """An end that the guest itself brought about (is_own_end), or programs that are too large for
    its memory."""


# Signals by which QEMU crashes; any other is taken for another process's.
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def is_own_end(code: int | None) -> bool:
    """Tell whether QEMU's exit code means that the guest itself brought its end about: 0, or a
    crash of QEMU. code: as Popen's returncode; None: QEMU still runs."""
    return code is not None and (code == 0 or -code in _FAULTS)


def find_qemu() -> str:
    """Return QEMU's path. Raises UserError where QEMU or setpriv is not installed."""
    program = shutil.which(qemu.PROGRAM)
    if program is None:
        raise UserError(qemu.NO_QEMU)
    if shutil.which("setpriv") is None:
        raise UserError("virtual nodes need setpriv (the package util-linux)")
    return program


def memory_file(name: str, content: bytes = b"") -> BinaryIO:
    """Return a file in memory with a content, at its beginning, which the caller closes."""
    file = os.fdopen(os.memfd_create(name), "w+b")
    file.write(content)
    file.flush()
    file.seek(0)
    return file


@lru_cache
def confining_words(program: str) -> tuple[str, ...]:
    """Return options by which QEMU gives up system calls (seccomp) for starting programs, other
    users' rights and priorities. Empty where QEMU refuses them, as when built without seccomp, or
    can't be run. program: QEMU's path."""
    words = ("-sandbox", _CONFINED)
    try:
        trial = [program, *words, "-version"]
        done = starting.run(trial, shell_variables.observer_environment(), limit_s=STEP_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if done.returncode == 0 else ()


def start_qemu(
    command: list[str], console: BinaryIO, pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start QEMU in a session of its own, so that the terminal's Ctrl-C does not reach it.

    It is killed when the thread that starts it ends (PR_SET_PDEATHSIG); a shell checks first that
    this process still runs. console: gets what QEMU prints and the guest's console. That QEMU
    itself fails shows in the exit code and on the console.
    """
    guard = f'test "$PPID" = {os.getpid()} && exec "$@"'
    program, *options = command
    words = [program, *confining_words(program), *options]
    return starting.start(
        ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", guard, "sh", *words],
        shell_variables.observer_environment(), stdin=subprocess.DEVNULL, stdout=console,
        stderr=console, pass_fds=pass_fds, start_new_session=True, cwd="/",
    )  # fmt: skip


class QemuMonitor:
    """QEMU's monitor, which is sent commands over a socket (QMP). The caller closes the socket.
    Raises GuestFailed where QEMU has ended, or does not answer within STEP_LIMIT_S."""

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
        """Send a command and return what it returns. files: descriptors that are passed with it.
        Raises GuestFailed where QEMU refuses it or has ended."""
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
