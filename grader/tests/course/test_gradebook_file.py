"""How the gradebook's file is opened, and what is told where it can't be."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.courses import ADA, attempt, intake, result, submission
from support.golden_texts import raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import database
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import Rules
from numalab.errors import NumalabError, UserError
from numalab.file_systems.room import RoomNeeded


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_gradebook_is_read_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    monkeypatch.setattr(database, "has_record_locks", lambda path: has_locks)
    course = CourseFolder(tmp_path)
    with use_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA)))
        with use_gradebook(course, read_only=True) as reader:
            assert [row.points for row in reader.standing(Rules()).rows] == [None]
        book.add_attempts([attempt(ADA, result(10))])
        with use_gradebook(course, read_only=True) as reader:
            assert [row.points for row in reader.standing(Rules()).rows] == [10]
            with pytest.raises((sqlite3.Error, NumalabError)):
                reader._database.execute("DELETE FROM missing")


def test_locks_are_asked_of_the_file_beside_as_long_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def has_locks(path: Path) -> bool:
        asked.append(path.name)
        return True

    monkeypatch.setattr(database, "has_record_locks", has_locks)
    course = CourseFolder(tmp_path)
    with use_gradebook(course):
        pass
    course.gradebook_lock.unlink()
    with use_gradebook(course, read_only=True):
        pass
    assert asked == ["gradebook.lock", "gradebook.sqlite"]


def test_a_change_that_nobody_can_undo_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = CourseFolder(tmp_path)
    with use_gradebook(course):
        pass
    monkeypatch.setattr(database, "has_record_locks", lambda path: False)
    monkeypatch.setattr(database, "WAIT_S", 0.02)
    monkeypatch.setattr(database, "_POLL_S", 0.001)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    journal = tmp_path / "gradebook.sqlite-journal"
    assert journal in database.journal_files(course.gradebook)
    assert [path.name for path in database.journal_files(course.gradebook)] == [
        f"gradebook.sqlite-{ending}" for ending in ("journal", "wal", "shm")
    ]
    journal.write_bytes(b"x")
    with (
        raises_text(NumalabError),
        use_gradebook(course, read_only=True),
    ):
        pass


def test_a_copy_is_of_a_moment_without_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read twice alike, with no journal before and after."""
    states = iter(
        [
            *(False, True), *(False, False), *(False, False), *(False, False, True),
            *(False, False, False),
        ]
    )  # fmt: skip
    contents = iter([b"1", b"2", b"2", b"2"])

    class Journal:
        def exists(self) -> bool:
            return next(states)

    course = CourseFolder(tmp_path)
    monkeypatch.setattr(database, "_journal", lambda path: Journal())
    monkeypatch.setattr(database, "_POLL_S", 0.0)
    monkeypatch.setattr(Path, "read_bytes", lambda path: next(contents))
    assert database._content(course) == b"2"
    assert list(states) == list(contents) == []


def test_a_copy_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    course.gradebook.mkdir(parents=True)
    with pytest.raises(NumalabError, match="gradebook"):
        database._content(course)


def test_a_reader_sees_nothing_of_a_change_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = CourseFolder(tmp_path)
    with use_gradebook(course):
        pass
    monkeypatch.setattr(database, "WAIT_S", 0.01)
    with closing(sqlite3.connect(course.gradebook, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        for read_only in (True, False):
            with (
                raises_text(NumalabError),
                use_gradebook(course, read_only=read_only),
            ):
                pass
        writer.execute("ROLLBACK")
    with use_gradebook(course, read_only=True) as book:
        assert book.standing(Rules()).rows == ()


def test_a_gradebook_is_made_once_and_whole(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    for _ in range(2):
        with closing(database.connect(course, course.gradebook)) as made:
            assert made.execute("PRAGMA user_version").fetchone() == (2,)
            assert made.execute("PRAGMA journal_mode").fetchone() == ("delete",)
            assert made.execute("PRAGMA synchronous").fetchone() == (2,)
            tables = made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            assert {name for (name,) in tables} == {
                "students", "deliveries", "submissions", "problems", "nodes", "attempts",
                "not_taken", "taken_times",
            }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite3.OperationalError("disk I/O error"), NumalabError),
        (sqlite3.DatabaseError("malformed"), UserError),
    ],
)
def test_what_sqlite_complains_of_is_told(
    tmp_path: Path, error: Exception, kind: type[Exception]
) -> None:
    with raises_text(kind), database.explain_errors(CourseFolder(tmp_path)):
        raise error


def test_a_full_disk_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[RoomNeeded] = []

    def shortage(place: RoomNeeded) -> str:
        places.append(place)
        return "there is no room"

    monkeypatch.setattr(database, "shortage", shortage)
    with (
        raises_text(NumalabError),
        database.explain_errors(CourseFolder(tmp_path)),
    ):
        raise sqlite3.OperationalError("database or disk is full")
    assert places == [RoomNeeded(tmp_path, 2**20, str(tmp_path), "Make room there.")]
