"""Gradings that share a node: only times take turns.

A grading holds a file locked (flock(2)), shared with the others, but alone while it takes times.
Who waits to be alone holds a second file, past which nobody begins: so its turn comes.

All users' gradings on a node meet at NODE, and only who takes times waits there: whoever finds
somebody else's times under way goes on beside them, since a name that is mistyped, a kernel that
does not compile, and a lab without times have nothing to wait for. The gradings of one batch, for
which nobody sits and waits, meet at a file of their own, and wait there for each other's times.

NODE is empty, opened for reading only, which is enough
for a lock, never through a link, and never written to, so that it does not matter whose it is.
Whoever may open it can also hold it for ever, or again and again, as with any lock of several
users: so no grading waits longer than NODE_LIMIT_S in all. Then times are taken beside the other's;
that makes them noisier, and costs time, but no verdict its risk, since yours and the solution's are
disturbed alike. It lies in memory that every process of the node sees; containers with a /dev/shm
of their own don't meet.
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

# A file for those of a node that take part in something, beside NODE; "off": with nobody at all.
VARIABLE = "NUMALAB_TURNS"
OFF = "off"
NODE = Path("/dev/shm/numalab-turns")
NODE_LIMIT_S = 900.0  # of one grading; a timed part takes a minute or two, and some are before us
_LOOK_S = 0.2

Note = Callable[[str], None]


def _silent(text: str) -> None:
    del text


def _open_own(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _open_nodes(path: Path) -> int:
    """Made where it is not there, for everybody to read. Raises OSError, also where it is no plain
    file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        try:
            number = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o444)
        except FileExistsError:  # somebody was faster
            number = os.open(path, flags)
        else:
            os.fchmod(number, 0o444)  # whatever the umask
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(0, "it is no plain file", str(path))
    return number


def _lock(file: int, how: int, until_s: float, waiting: Callable[[], None] | None) -> bool:
    """Lock a file. waiting: is called where it has to wait; None: it does not wait. Returns False
    where it has not got the lock. Raises NoLocks."""
    is_told = False
    while True:
        if lock_file(file, how | fcntl.LOCK_NB):
            return True
        if waiting is None:
            return False
        if not is_told:
            waiting()
        is_told = True
        if until_s == inf:
            return lock_file(file, how)
        if time.monotonic() > until_s:
            return False
        time.sleep(_LOOK_S)


@dataclass
class _Meeting:
    """One file, and the one past which nobody begins. Both are opened for each turn, so that a
    file that was removed meanwhile parts nobody for longer than that. limit_s: of all waiting for
    it together; left_s: of that."""

    path: Path
    opened: Callable[[Path], int]
    limit_s: float
    is_stand_in: bool = False  # for a file whose file system has no locks
    left_s: float = field(init=False)
    held: int | None = None

    def __post_init__(self) -> None:
        self.left_s = self.limit_s

    def take(self, how: int, waiting: Callable[[], None] | None) -> bool:
        """Take part in it. waiting: as of _lock. Returns False where it holds nothing. Raises
        OSError."""
        began_s = time.monotonic()
        until_s = began_s + self.left_s
        turnstile = self.opened(self.path.with_name(f"{self.path.name}.next"))
        try:
            file = self.opened(self.path)
            try:
                if _lock(turnstile, fcntl.LOCK_EX, until_s, waiting) and _lock(
                    file, how, until_s, waiting
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
class Turns:
    """A grading's part in it. No meetings: it shares its node with nobody. Where there are two, all
    take part in them in the same order, holding none, so that nobody waits for each other."""

    meetings: list[_Meeting] = field(default_factory=list)

    def take(self, how: int, note: Note) -> None:
        """Raises OSError where a file of the caller's choice can't be locked."""
        self.leave()
        for meeting in list(self.meetings):
            is_nodes = meeting.path == NODE
            whose = "another user's grading" if is_nodes else "another grading"
            told = f"{whose} is being timed; waiting"
            if how == fcntl.LOCK_EX:
                told = "waiting until the others' gradings make room for its times"
            try:
                if is_nodes and how == fcntl.LOCK_SH:
                    meeting.take(how, None)
                elif not meeting.take(how, partial(note, told)):
                    note(
                        f"has waited for others at {meeting.path} for "
                        f"{meeting.limit_s / 60:.0f} minutes; going on beside them, times may be "
                        "noisy"
                    )
                    self.meetings.remove(meeting)
            except OSError as error:
                if not is_nodes and isinstance(error, NoLocks):
                    self._meet_elsewhere(meeting, note)
                    self.take(how, note)
                    return
                if not is_nodes:
                    raise
                self.meetings.remove(meeting)
                note(
                    f"can't take turns with other users of this node ({reason_of(error)}); their "
                    "gradings may disturb its times"
                )

    def _meet_elsewhere(self, meeting: _Meeting, note: Note) -> None:
        """Meet at a file of this node in the place of one that can't be locked: who meets there is
        on this node."""
        self.meetings.remove(meeting)
        with suppress(OSError):
            if not meeting.is_stand_in:
                path = stand_in(meeting.path)
                self.meetings.insert(0, _Meeting(path, _open_own, meeting.limit_s, True))
                return
        note("can't take turns with the gradings of this batch, which may disturb its times")

    def leave(self) -> None:
        for meeting in self.meetings:
            meeting.leave()

    @contextmanager
    def alone(self, progress: Note) -> Iterator[None]:
        """Waits until nobody else is at work. progress: is told so. Where it ends by an
        exception, as when it is to stop, the rest is not waited for either."""
        if not self.meetings:
            yield
            return
        self.take(fcntl.LOCK_EX, progress)
        yield
        self.take(fcntl.LOCK_SH, progress)


NOBODY_ELSE = Turns()


@contextmanager
def taken(path: Path, alone: bool = False) -> Iterator[Turns]:
    """Waits for its turn. path: of the file that is locked. Raises OSError."""
    with _took(Turns([_Meeting(path, _open_own, inf)]), alone, _silent) as turns:
        yield turns


@contextmanager
def _took(turns: Turns, alone: bool, note: Note) -> Iterator[Turns]:
    try:
        turns.take(fcntl.LOCK_EX if alone else fcntl.LOCK_SH, note)
        yield turns
    finally:
        turns.leave()


@contextmanager
def shared_node(note: Note = _silent, alone: bool = False) -> Iterator[Turns]:
    """Take part among the gradings of this node; of a batch once nobody of it takes times. alone:
    wait until nobody is at work, as what takes times throughout. note: is told where it has to
    wait. Raises UserError where the file that VARIABLE names can't be written."""
    name = os.environ.get(VARIABLE)
    meetings = [] if name == OFF else [_Meeting(NODE, _open_nodes, NODE_LIMIT_S)]
    if name and name != OFF:
        meetings.insert(0, _Meeting(Path(name), _open_own, inf))
    turns = Turns(meetings)
    try:
        turns.take(fcntl.LOCK_EX if alone else fcntl.LOCK_SH, note)
    except OSError as error:
        turns.leave()
        raise UserError(f"{VARIABLE}: can't write {name}: {reason_of(error)}") from error
    try:
        yield turns
    finally:
        turns.leave()
