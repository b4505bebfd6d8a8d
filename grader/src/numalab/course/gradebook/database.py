"""The gradebook's SQLite file, opened as its file system allows.

SQLite keeps readers and the writer apart by record locks (fcntl(2)). NFS without its lock daemon
and Lustre mounted without `flock` have none; SQLite says "disk I/O error" or "locked" there. Then
the writer, which nobody else is beside (course/locks.py), locks nothing, and a reader takes a copy
into memory that no change was under way in.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.tables import LATER_TABLES, SCHEMA, SCHEMA_VERSION
from numalab.course.locks import hold_lock
from numalab.errors import NumalabError, UserError
from numalab.file_systems.locks import has_record_locks
from numalab.file_systems.room import RoomNeeded, shortage

WAIT_S = 10.0  # a reader waits so long while the head writes; a write takes far less
_POLL_S = 0.05
_FULL_BYTES = 1 << 20


def journal_files(path: Path) -> list[Path]:
    """Return the files that SQLite may leave next to a database."""
    return [path.with_name(path.name + suffix) for suffix in ("-journal", "-wal", "-shm")]


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _other_version(path: Path) -> UserError:
    return UserError(
        f"{path} was made by another version of the kit. It can be made again from what is in "
        f"{path.parent}: ./numalab gradebook rebuild {path.parent}"
    )


def _has_locks(course: CourseFolder) -> bool:
    """Tell whether the file system has record locks, by the file next to the gradebook: a
    process that closes a file gives up all its record locks on it."""
    lock = course.gradebook_lock
    return has_record_locks(lock if lock.exists() else course.gradebook)


def _connect(path: Path, mode: str, has_locks: bool) -> sqlite3.Connection:
    """Connect to a file; mode rwc makes it where there is none."""
    options = f"mode={mode}" + ("" if has_locks else "&vfs=unix-none")
    name = f"{path.absolute().as_uri()}?{options}"
    return sqlite3.connect(name, uri=True, timeout=WAIT_S, isolation_level=None)


def connect(course: CourseFolder, path: Path) -> sqlite3.Connection:
    """Open a gradebook to write it, with its lock held; made where there is none. path: of the
    course's, or of one that is to take its place. Raises UserError and sqlite3.Error."""
    database = _connect(path, "rwc", _has_locks(course))
    try:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("PRAGMA synchronous = FULL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            database.executescript(
                f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        elif version != SCHEMA_VERSION:
            raise _other_version(path)
        for table in LATER_TABLES:
            database.execute(table)
    except BaseException:
        database.close()
        raise
    return database


def connect_to_read(course: CourseFolder) -> sqlite3.Connection:
    """Connect to a course's gradebook for reading. Raises UserError, NumalabError and
    sqlite3.Error."""
    path = course.gradebook
    if _has_locks(course):
        # A writer that was killed leaves a journal, and only who may write can undo what it holds
        # of a change.
        is_left = _journal(path).exists() and os.access(path, os.W_OK)
        database = _connect(path, "rw" if is_left else "ro", True)
    else:
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.deserialize(_content(course))
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
    except BaseException:
        database.close()
        raise
    if version != SCHEMA_VERSION:
        database.close()
        raise _other_version(path)
    return database


def _content(course: CourseFolder) -> bytes:
    """Return the file as it is between two changes: while one is under way there is a journal. Read
    twice, since another node's view may be late. Raises UserError and NumalabError."""
    path = course.gradebook
    until_s = time.monotonic() + WAIT_S
    before = None
    while True:
        _roll_back_killed_writer(course)
        content = None if _journal(path).exists() else path.read_bytes()
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
    """Have SQLite take back what a writer has left that was killed."""
    if not (_journal(course.gradebook).exists() and os.access(course.gradebook, os.W_OK)):
        return
    with (
        contextlib.suppress(UserError),  # else it is being written
        lock(course),
        contextlib.closing(_connect(course.gradebook, "rw", False)) as database,
    ):
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()


@contextmanager
def lock(course: CourseFolder) -> Iterator[None]:
    """Keep other writers out. Raises LockedError where there is one."""

    def busy(holder: str) -> str:
        return f"{course.gradebook} is being written by {holder}. Wait for it, then try again."

    with hold_lock(course.gradebook_lock, busy):
        yield


@contextmanager
def explain_errors(course: CourseFolder) -> Iterator[None]:
    """Turn what SQLite complains of into what to do about it."""
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
