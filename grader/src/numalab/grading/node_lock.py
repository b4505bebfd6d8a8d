"""The lock by which gradings share a machine: they run at the same time, but take times one after
another.

A grading locks a file (flock(2)): shared, and exclusively while it takes times. A second file, the
turnstile, is held while a grading waits for the first. No other grading locks that meanwhile, so
one that waits for the exclusive lock gets it.

There are two such locks: NODE for the users of a machine, and the file that VARIABLE names for the
gradings of one batch.

NODE is opened for reading only, which suffices for a lock, not through a link, and not written to,
so it does not matter who owns it. Other users can open it and hold it for ever. So a grading waits
for it NODE_LIMIT_S in all at most; after that, times are taken next to the other's. They are
noisier and take longer, but submission and solution are disturbed alike. NODE lies in /dev/shm;
containers with a /dev/shm of their own do not share it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path

from numalab.errors import UserError, reason_of
from numalab.file_systems.locks import NoLocks, lock_file, stand_in

# Names the lock file of a batch; "off": no locks at all.
VARIABLE = "NUMALAB_TURNS"
DISABLED = "off"
NODE = Path("/dev/shm/numalab-turns")
# Of one grading. A timed part takes a minute or two, and several gradings may wait before this one.
NODE_LIMIT_S = 900.0
_POLL_S = 0.2

Note = Callable[[str], None]


def _silent(text: str) -> None:
    del text


def _own_lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _shared_lock_file(path: Path) -> int:
    """Open the lock of all users, and create it, readable by all, where it is missing. Raises
    OSError, also where it is no plain file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        try:
            number = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
        except FileExistsError:  # another process was faster
            number = os.open(path, flags)
        else:
            os.fchmod(number, 0o444)  # whatever the umask
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(0, "it is no plain file", str(path))
    return number


def _lock(file: int, how: int, deadline_s: float, notify: Callable[[], None] | None) -> bool:
    """Lock a file. Returns whether the lock is held. Raises NoLocks where the file system has none.

    Args:
        how: LOCK_SH or LOCK_EX.
        deadline_s: until when it waits, by time.monotonic(); infinite: as long as it takes.
        notify: called once where it has to wait; None: it does not wait.
    """
    is_notified = False
    while True:
        if lock_file(file, how | fcntl.LOCK_NB):
            return True
        if notify is None:
            return False
        if not is_notified:
            notify()
        is_notified = True
        if deadline_s == inf:
            return lock_file(file, how)
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_POLL_S)


@dataclass
class _FileLock:
    """A lock file and its turnstile. Both are opened anew each time, so that processes agree again
    soon after the file has been removed."""

    path: Path  # the lock file
    opener: Callable[[Path], int]  # opens a file; returns its descriptor
    limit_s: float  # how long to wait for the lock, all waits together
    is_stand_in: bool = False  # it stands for a file whose file system has no locks
    left_s: float = field(init=False)  # what is left of limit_s
    held: int | None = None  # the descriptor while the lock is held

    def __post_init__(self) -> None:
        self.left_s = self.limit_s

    def take(self, how: int, notify: Callable[[], None] | None) -> bool:
        """Lock the file, by way of the turnstile. Arguments as for _lock. Returns whether the lock
        is held. Raises OSError; it is NoLocks where the file system has none."""
        began_s = time.monotonic()
        deadline_s = began_s + self.left_s
        turnstile = self.opener(self.path.with_name(f"{self.path.name}.next"))
        try:
            file = self.opener(self.path)
            try:
                if _lock(turnstile, fcntl.LOCK_EX, deadline_s, notify) and _lock(
                    file, how, deadline_s, notify
                ):
                    self.held = file
            finally:
                if self.held != file:
                    os.close(file)
        finally:
            os.close(turnstile)
            self.left_s -= time.monotonic() - began_s
        return self.held is not None

    def leave(self) -> None:
        if self.held is not None:
            os.close(self.held)
            self.held = None


@dataclass(frozen=True)
class NodeLock:
    """A grading's share of the machine."""

    # The files it locks; empty: it shares the machine with no other. Where there are two, all
    # gradings lock them in the same order and start with none held, so that there is no deadlock.
    locks: list[_FileLock] = field(default_factory=list)

    def take(self, how: int, note: Note) -> None:
        """Lock the files of `locks`, after releasing those that are held.

        A shared lock on NODE is not waited for. A file that can't be locked otherwise is dropped
        from `locks`, with a note, or replaced where its file system has no locks. Raises OSError
        where a file other than NODE can't be opened or locked.

        Args:
            how: LOCK_SH or LOCK_EX.
            note: called with a phrase where it has to wait, or a file is dropped.
        """
        self.leave()
        for lock in list(self.locks):
            is_of_all = lock.path == NODE
            other = "another user's grading" if is_of_all else "another grading"
            step = f"{other} is being timed; waiting"
            if how == fcntl.LOCK_EX:
                step = "waiting until the others' gradings make room for its times"
            try:
                if is_of_all and how == fcntl.LOCK_SH:
                    lock.take(how, None)
                elif not lock.take(how, partial(note, step)):
                    note(
                        f"has waited for others at {lock.path} for {lock.limit_s / 60:.0f} "
                        "minutes; going on beside them, times may be noisy"
                    )
                    self.locks.remove(lock)
            except OSError as error:
                if not is_of_all and isinstance(error, NoLocks):
                    self._use_stand_in(lock, note)
                    self.take(how, note)
                    return
                if not is_of_all:
                    raise
                self.locks.remove(lock)
                note(
                    f"can't take turns with other users of this node ({reason_of(error)}); their "
                    "gradings may disturb its times"
                )

    def _use_stand_in(self, lock: _FileLock, note: Note) -> None:
        """Replace the lock on a file whose file system has no locks by one on a file of this
        machine. Drop it, with a note, where it is such a file already or none can be had."""
        self.locks.remove(lock)
        with suppress(OSError):
            if not lock.is_stand_in:
                path = stand_in(lock.path)
                self.locks.insert(0, _FileLock(path, _own_lock_file, lock.limit_s, True))
                return
        note("can't take turns with the gradings of this batch, which may disturb its times")

    def leave(self) -> None:
        for lock in self.locks:
            lock.leave()

    @contextmanager
    def exclusive(self, progress: Note) -> Iterator[None]:
        """Take the locks exclusively for a block, and shared again after it. After an exception,
        such as Ctrl-C, they stay exclusive, so that nothing is waited for. progress: as take()'s
        `note`. Raises as take()."""
        if not self.locks:
            yield
            return
        self.take(fcntl.LOCK_EX, progress)
        yield
        self.take(fcntl.LOCK_SH, progress)


NO_LOCK = NodeLock()


def lock_of_file(path: Path) -> NodeLock:
    """Return a lock for processes that name the same file. It is waited for as long as it takes."""
    return NodeLock([_FileLock(path, _own_lock_file, inf)])


@contextmanager
def share_node(note: Note = _silent, exclusive: bool = False) -> Iterator[NodeLock]:
    """Share this machine with other gradings for a block. note: as for NodeLock.take. exclusive:
    take the locks exclusively, for a command that takes times all along. Raises UserError where the
    file that VARIABLE names can't be opened."""
    name = os.environ.get(VARIABLE)
    node_lock = lock_of_file(Path(name)) if name and name != DISABLED else NodeLock()
    if name != DISABLED:
        node_lock.locks.append(_FileLock(NODE, _shared_lock_file, NODE_LIMIT_S))
    try:
        node_lock.take(fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, note)
    except OSError as error:
        node_lock.leave()
        raise UserError(f"{VARIABLE}: can't write {name}: {reason_of(error)}") from error
    try:
        yield node_lock
    finally:
        node_lock.leave()
