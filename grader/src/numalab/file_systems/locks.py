"""Locks on files (flock(2)) where a file system may have none.

NFS without its lock daemon and Lustre mounted without `flock` refuse every lock. That is no other
process that holds one: then a file of this node stands in, which keeps apart what runs on this
node, and what can't be kept apart is said.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

# In memory of the node, and a folder that nodes have for themselves.
_NODES_OWN = (Path("/dev/shm"), Path("/tmp"))


class NoLocks(OSError):
    """A file system has no locks."""


def lock_file(file: int | IO[str], how: int) -> bool:
    """Lock an open file. how: as of flock(2). Returns False where it is not to wait and another one
    holds it. Raises NoLocks."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocks(error.errno, error.strerror) from error
    return True


def has_record_locks(path: Path) -> bool:
    """Whether parts of a file can be locked (fcntl(2)), as SQLite does. True where it can't be
    opened. This process must hold no record lock on it, which would be given up."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):  # another one holds one
                return True
            except OSError:
                return False
    except OSError:
        pass
    return True


def stand_in(path: Path) -> Path:
    """Return the file of this node that is locked in the place of `path`: the same by whatever link
    it is reached, and in a folder that nobody but this user can write to. Raises OSError where
    there can be none."""
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


class LockFile:
    """An open file that is locked until it is closed; for a `with` statement. Raises OSError where
    it can't be opened.

    lacks: why its file system has no locks, empty where it has. is_held_here: whether this node's
    processes are kept apart, which they are by another file where `lacks` is not empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lacks = ""
        self.is_held_here = True
        self._file = path.open("a", encoding="utf-8")

    def __enter__(self) -> LockFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def try_lock(self, how: int = fcntl.LOCK_EX) -> bool:
        """Return False where another one holds it; True also where nothing at all can be locked."""
        return self._do(how | fcntl.LOCK_NB)

    def lock(self, how: int = fcntl.LOCK_EX) -> None:
        """Wait for it; not where nothing can be locked."""
        self._do(how)

    def _do(self, how: int) -> bool:
        while self.is_held_here:
            try:
                return lock_file(self._file, how)
            except NoLocks as error:
                self._use_stand_in(error)
        return True

    def say(self, text: str) -> None:
        """Have it hold this text and no other."""
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()

    def _use_stand_in(self, error: NoLocks) -> None:
        """Lock this node's file from now on, or nothing where that has no locks either."""
        if self.lacks:
            self.is_held_here = False
            return
        self.lacks = error.strerror or str(error)
        try:
            other = stand_in(self.path).open("a", encoding="utf-8")
        except OSError:
            self.is_held_here = False
            return
        self._file.close()
        self._file = other

    @property
    def warning(self) -> str:
        """What is not kept apart, in a sentence; empty where all is."""
        if not self.lacks:
            return ""
        whom = "commands on other nodes are" if self.is_held_here else "a second command is"
        return (
            f"the file system of {self.path.parent} has no file locks ({self.lacks}): {whom} not "
            "kept out; don't start two at once there."
        )
