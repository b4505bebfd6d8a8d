"""Locks on files (flock(2)), also where a file system has none.

NFS without its lock daemon and Lustre mounted without `flock` refuse every lock, which is not the
same as a lock that another process holds. LockFile then locks a file on this machine, if it can,
which excludes this user's processes on this machine; its warning says which are not excluded.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO

# Folders that machines don't share.
_NODES_OWN = (Path("/dev/shm"), Path("/tmp"))


class NoLocks(OSError):
    """A file can't be locked, mostly since its file system has no locks."""


def lock_file(file: int | IO[str], how: int) -> bool:
    """Lock an open file. how: LOCK_EX or LOCK_SH, with LOCK_NB not to wait, as for flock(2).
    Return False where the lock is held elsewhere and LOCK_NB is given. Raises NoLocks where
    flock(2) fails otherwise, as on a file system without locks."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocks(error.errno, error.strerror) from error
    return True


def has_record_locks(path: Path) -> bool:
    """Tell whether parts of a file can be locked (fcntl(2)), as SQLite does; True where the file
    can't be opened. A record lock that this process holds on it would be released."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):  # another process holds a lock
                return True
            except OSError:
                return False
    except OSError:
        pass
    return True


def stand_in(path: Path) -> Path:
    """Return the file on this machine that is locked in place of `path`, the same for all symbolic
    links to that, and make its folder. The file need not exist; only this user can write to the
    folder. Raises OSError where there can be no such folder."""
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    complaint = OSError(0, "no folder for a lock")
    for above in _NODES_OWN:
        folder = above / f"numalab-locks-{os.geteuid()}"
        try:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            facts = folder.lstat()
        except OSError as error:
            complaint = error
            continue
        is_own = facts.st_uid == os.geteuid() and not stat.S_IMODE(facts.st_mode) & 0o022
        if stat.S_ISDIR(facts.st_mode) and is_own:
            return folder / name
    raise complaint


class LockFile(AbstractContextManager["LockFile"]):
    """An open file that can be locked until it is closed; for a `with` statement.

    Attributes:
        path: the file.
        lacks: why its file system refused a lock; empty: it refused none so far.
        is_held_locally: this user's processes on this machine can exclude each other: by the file,
            or by its stand-in where `lacks` is not empty.

    Raises:
        OSError: it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lacks = ""
        self.is_held_locally = True
        self._file = path.open("a", encoding="utf-8")

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def try_lock(self) -> bool:
        """Lock without waiting. Return False where the lock is held elsewhere; True also where
        nothing can be locked (is_held_locally)."""
        return self._do(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def lock(self, how: int = fcntl.LOCK_EX) -> None:
        """Lock, waiting for other processes; where nothing can be locked, return at once."""
        self._do(how)

    def _do(self, how: int) -> bool:
        while self.is_held_locally:
            try:
                return lock_file(self._file, how)
            except NoLocks as error:
                self._use_stand_in(error)
        return True

    def say(self, text: str) -> None:
        """Replace the content of the file, or of its stand-in, by a text. Raises OSError."""
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()

    def _use_stand_in(self, error: NoLocks) -> None:
        """Lock the stand-in from now on, or nothing where that can't be locked either."""
        if self.lacks:
            self.is_held_locally = False
            return
        self.lacks = error.strerror or str(error)
        try:
            other = stand_in(self.path).open("a", encoding="utf-8")
        except OSError:
            self.is_held_locally = False
            return
        self._file.close()
        self._file = other

    @property
    def warning(self) -> str:
        """Return a sentence on processes that are not excluded; empty as long as the file system
        refused no lock."""
        if not self.lacks:
            return ""
        whom = "commands on other nodes are" if self.is_held_locally else "a second command is"
        return (
            f"the file system of {self.path.parent} has no file locks ({self.lacks}): {whom} not "
            "kept out; don't start two at once there."
        )
