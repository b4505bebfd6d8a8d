"""Lock files that one process at a time may hold, on whatever file system they lie."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from numalab.errors import LockedError, UserError, reason_of
from numalab.file_systems.locks import LockFile, NoLocks, lock_file
from numalab.files import read_text

_PROBE_S = 0.05


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


@contextmanager
def hold_lock(path: Path, refusal: Callable[[str], str]) -> Iterator[None]:
    """Hold a lock until the context ends; meanwhile its file names the holder.

    If the file system has no locks, a second file next to it, which only one process can create,
    does that instead, and excludes processes of other machines.

    Args:
        path: the lock's file, which is created if it is missing.
        refusal: returns the message for a lock that another process holds, given that process's
            name.

    Raises:
        LockedError: another process holds the lock, or has left the second file and may still run.
        UserError: a file can't be opened or written.
    """
    try:
        file = LockFile(path)
    except OSError as error:
        raise UserError(f"can't write to {path.parent}: {reason_of(error)}") from error
    with file:
        if not _try_lock(file):
            raise LockedError(refusal(read_text(path) or "another process"))
        if file.lacks:
            with _hold_mark(_mark(path), refusal):
                yield
            return
        try:
            file.say(f"{_own_name()}\n")
        except OSError as error:  # such as a full disk
            raise UserError(f"can't write to {path}: {reason_of(error)}") from error
        yield


def _try_lock(file: LockFile) -> bool:
    """Take a lock, a second time if it fails: is_held() holds it for a moment."""
    if file.try_lock():
        return True
    time.sleep(_PROBE_S)
    return file.try_lock()


def is_held(path: Path) -> bool:
    """Tell whether a process holds the lock at the moment, or without file locks may hold it; False
    if its file can't be opened. For that moment it takes the lock itself, shared."""
    try:
        with path.open(encoding="utf-8") as file:
            return not lock_file(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except NoLocks:
        holder = read_text(_mark(path))
        return holder is not None and not _is_gone(holder)
    except OSError:
        return False


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.held")


@contextmanager
def _hold_mark(mark: Path, refusal: Callable[[str], str]) -> Iterator[None]:
    """Keep a file that only one process can create (O_EXCL, which NFS supports since version 3)
    until the context ends. One that a dead process of this machine has left is taken over."""
    try:
        try:
            file = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            holder = read_text(mark) or "a process that has not said its name"
            if not _is_gone(holder):
                raise LockedError(
                    f"{refusal(holder)} The file system has no file locks: if that process was "
                    f"killed, remove {mark}, then try again."
                ) from None
            file = os.open(mark, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        with os.fdopen(file, "w", encoding="utf-8") as text:
            text.write(f"{_own_name()}\n")
    except OSError as error:
        raise UserError(f"can't write to {mark.parent}: {reason_of(error)}") from error
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _is_gone(holder: str) -> bool:
    """Tell whether the process that a file names ran on this machine and has ended; False if that
    is not known."""
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if not found or found[2] != socket.gethostname():
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
