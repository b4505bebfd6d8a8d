"""Locks on files (flock(2)), also where a file system has none.

Some file systems refuse locks, as NFS without its lock daemon and Lustre mounted without `flock`,
which is not the same as a lock that is held elsewhere. LockFile then locks a file on this machine
instead, if it can.
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
    """A failure of flock(2) other than a lock that is held elsewhere, as on a file system without
    locks."""


def lock_file(file: int | IO[str], how: int) -> bool:
    """Lock an open file and return True; return False where flock(2) would block. how: its
    operation, such as LOCK_EX | LOCK_NB. Raises NoLocks where it fails otherwise, as on a file
    system without locks."""
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocks(error.errno, error.strerror) from error
    return True


def has_record_locks(path: Path) -> bool:
    """Tell whether a file takes record locks (fcntl(2)), which SQLite uses; True also where it
    can't be opened. Record locks that this process holds on it are released."""
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
    """Return the path of a file on this machine to lock in place of `path`, named by a digest of
    that path with links resolved. Its folder, in /dev/shm or /tmp, is made if need be, and belongs
    to this user; the file is not made. Raises OSError where there can be no such folder."""
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
    """A file, opened and made if need be, with a lock that ends when it is closed, at the end of a
    `with` block.

    Attributes:
        lacks: why flock(2) failed on it; empty: it has not failed.
        is_held_locally: False: neither the file nor its stand-in can be locked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lacks = ""
        self.is_held_locally = True
        self._file = path.open("a", encoding="utf-8")

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def try_lock(self) -> bool:
        """Lock exclusively without waiting; return False where the lock is held elsewhere. Return
        True also where nothing can be locked (is_held_locally is False then)."""
        return self._do(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def lock(self, how: int = fcntl.LOCK_EX) -> None:
        """Lock, waiting while the lock is held elsewhere; do nothing where nothing can be locked
        (is_held_locally is False then). how: as for lock_file."""
        self._do(how)

    def _do(self, how: int) -> bool:
        while self.is_held_locally:
            try:
                return lock_file(self._file, how)
            except NoLocks as error:
                self._use_stand_in(error)
        return True

    def say(self, text: str) -> None:
        """Replace the content of the file, or of its stand-in if that is in use, by a text."""
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()

    def _use_stand_in(self, error: NoLocks) -> None:
        """Replace the file by its stand-in; set is_held_locally to False where there can be none,
        or it is in use already."""
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
        """Return a sentence on which commands are not excluded; empty where `lacks` is."""
        if not self.lacks:
            return ""
        whom = "commands on other nodes are" if self.is_held_locally else "a second command is"
        return (
            f"the file system of {self.path.parent} has no file locks ({self.lacks}): {whom} not "
            "kept out; don't start two at once there."
        )
