"""The gradebook's SQLite file, opened as its file system allows.

SQLite keeps readers and the writer apart by record locks (fcntl(2)). NFS without its lock daemon
and Lustre mounted without `flock` have none; SQLite reports "disk I/O error" or "locked" there. In
that case the writer, of which there is only one (course/locks.py), locks nothing, and a reader
copies the file into memory at a time at which no change is under way.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.tables import LATER_TABLES, SCHEMA, SCHEMA_VERSION
from numalab.course.locks import hold_lock
from numalab.errors import NumalabError, UserError, reason_of
from numalab.file_systems.locks import has_record_locks
from numalab.file_systems.room import RoomNeeded, shortage

WAIT_S = 10.0  # how long a reader waits for the writer, whose changes take far less
_POLL_S = 0.05
_FULL_BYTES = 1 << 20


def journal_files(path: Path) -> list[Path]:
    """Return the paths of the files that SQLite may leave next to a database."""
    return [path.with_name(path.name + suffix) for suffix in ("-journal", "-wal", "-shm")]


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _other_version(path: Path) -> UserError:
    return UserError(
        f"{path} was made by another version of the kit. It can be made again from what is in "
        f"{path.parent}: ./numalab gradebook rebuild {path.parent}"
    )


def _has_locks(course: CourseFolder) -> bool:
    """Tell whether the file system has record locks. The lock file next to the gradebook is tried
    if there is one, since a process that closes a file gives up all its record locks on it."""
    lock = course.gradebook_lock
    return has_record_locks(lock if lock.exists() else course.gradebook)


def _connect(path: Path, mode: str, has_locks: bool) -> sqlite3.Connection:
    """Connect to a database. mode: SQLite's; rwc creates a missing file."""
    options = f"mode={mode}" + ("" if has_locks else "&vfs=unix-none")
    name = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(name, uri=True, timeout=WAIT_S, isolation_level=None)


def connect(course: CourseFolder, path: Path) -> sqlite3.Connection:
    """Open a gradebook for writing, and create it, or tables of LATER_TABLES, if missing. Call it
    with its lock held, and close it. path: the course's gradebook, or a file that is to take its
    place. Raises UserError if it is of another version."""
    database = _connect(path, "rwc", _has_locks(course))
    try:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA synchronous = FULL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            made = f"{SCHEMA} PRAGMA user_version = {SCHEMA_VERSION};"
            database.executescript(f"BEGIN; {made} COMMIT;")
        elif version != SCHEMA_VERSION:
            raise _other_version(path)
        for table in LATER_TABLES:
            database.execute(table)
    except BaseException:
        database.close()
        raise
    return database


def connect_to_read(course: CourseFolder) -> sqlite3.Connection:
    """Open a course's gradebook for reading; close it. What a killed writer has left unfinished is
    rolled back if possible. Raises UserError if it is of another version, and NumalabError if it
    can't be read or is written all the time."""
    path = course.gradebook
    if _has_locks(course):
        # A writer that was killed leaves a journal, and only a process that may write can roll back
        # the change in it.
        is_left = _journal(path).exists() and os.access(path, os.W_OK)
        database = _connect(path, "rw" if is_left else "ro", True)
    else:
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.deserialize(_content(course))
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            raise _other_version(path)
    except BaseException:
        database.close()
        raise
    return database


def _content(course: CourseFolder) -> bytes:
    """Return the file as it is between two changes: during one there is a journal. It is read until
    it is twice the same, since on another machine the journal may become visible late."""
    path = course.gradebook
    until_s = time.monotonic() + WAIT_S
    before = None
    while True:
        _roll_back_killed_writer(course)
        try:
            content = None if _journal(path).exists() else path.read_bytes()
        except OSError as error:
            raise NumalabError(f"can't read {path}: {reason_of(error)}") from error
        if content is not None and content == before and not _journal(path).exists():
            return content
        before = content
        if time.monotonic() > until_s:
            raise NumalabError(
                f"{path} is being written all the time, or a process that was killed has left "
                f"{_journal(path)}, which only who may write there can undo; its file system has "
                f"no file locks. It can be made again: ./numalab gradebook rebuild {course.root}"
            )
        time.sleep(_POLL_S)


def _roll_back_killed_writer(course: CourseFolder) -> None:
    """Have SQLite roll back the unfinished change of a writer that was killed, if there is one and
    the file can be written."""
    if not (_journal(course.gradebook).exists() and os.access(course.gradebook, os.W_OK)):
        return
    with (
        contextlib.suppress(UserError),  # else it is being written
        lock(course),
        contextlib.closing(_connect(course.gradebook, "rw", False)) as database,
    ):
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()


def lock(course: CourseFolder) -> AbstractContextManager[None]:
    """Keep other writers out until the context ends. Raises LockedError if there is one, and
    UserError if the lock can't be written."""
    return hold_lock(
        course.gradebook_lock,
        lambda who: f"{course.gradebook} is being written by {who}. Wait for it, then try again.",
    )


@contextmanager
def explain_errors(course: CourseFolder) -> Iterator[None]:
    """Turn SQLite's errors into messages on what to do: raise NumalabError if the file can't be
    used, UserError if it is damaged."""
    try:
        yield
    except sqlite3.OperationalError as error:
        short = shortage(RoomNeeded(course.root, _FULL_BYTES, str(course.root), "Make room there."))
        raise NumalabError(f"{course.gradebook} can't be used: {short or error}") from error
    except sqlite3.DatabaseError as error:
        raise UserError(
            f"{course.gradebook} is damaged ({error}). It can be made again from what is in "
            f"{course.root}: ./numalab gradebook rebuild {course.root}"
        ) from error
