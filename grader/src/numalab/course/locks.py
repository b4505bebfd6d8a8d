"""Files that one process at a time may hold, wherever the file system lies."""

from __future__ import annotations

import fcntl
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from numalab.errors import LockedError, UserError, reason_of
from numalab.file_systems.locks import LockFile, NoLocks, lock_file
from numalab.files import read_text


def _own_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


@contextmanager
def hold_lock(path: Path, refusal: Callable[[str], str]) -> Iterator[None]:
    """Keep other processes out until the context ends; the file says who holds it.

    Where the file system has no locks, a second file next to it, which only one process can create,
    keeps out processes of other nodes.

    Args:
        path: of the lock's file, which is made.
        refusal: makes the message if another process holds it, from that process's name.

    Raises:
        LockedError: another process holds it.
        UserError: the file can't be written.
    """
    try:
        file = LockFile(path)
    except OSError as error:
        raise UserError(f"can't write to {path.parent}: {reason_of(error)}") from error
    with file:
        if not file.try_lock():
            raise LockedError(refusal(read_text(path) or "another process"))
        if file.lacks:
            with _hold_mark(_mark(path), refusal):
                yield
            return
        file.say(f"{_own_name()}\n")
        yield


def is_held(path: Path) -> bool:
    """Tell whether a process holds the lock just now."""
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
    """Keep a file that only one process can create (O_EXCL, which NFS knows from version 3 on).
    One that a process of this node left behind is taken over. Raises as hold_lock does."""
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
    """Tell whether the process that a file names ran on this node and has ended."""
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if not found or found[2] != socket.gethostname():
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
