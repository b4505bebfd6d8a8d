"""Who holds a file of a course, how the gradebook is opened, and who may take over."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.courses import ADA, attempt, intake, result, submission

from numalab.course import attempts, locks
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import database
from numalab.course.gradebook.gradebook import open_gradebook
from numalab.course.gradebook.rules import Rules
from numalab.course.locks import held, is_held
from numalab.errors import BusyError, KitError, UserError
from numalab.file_systems.room import Place

HERE = socket.gethostname()
OWN = f"process {os.getpid()} on {HERE}"


def busy(holder: str) -> str:
    return f"held by {holder}."


def ended() -> int:
    """The number of a process that there is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_file_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with held(path, busy):
        assert path.read_text() == f"{OWN}\n"
        assert is_held(path)
        with pytest.raises(BusyError, match=rf"held by {OWN}"), held(path, busy):
            pass
        path.write_text("")
        with pytest.raises(BusyError, match="held by another process"), held(path, busy):
            pass
    assert path.is_file() and not is_held(path)
    with held(path, busy):
        pass
    with pytest.raises(UserError, match="can't write to"), held(path / "x", busy):
        pass


def test_without_locks_a_second_file_keeps_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = locks._mark(tmp_path / "lock")
    assert mark == tmp_path / "lock.held"
    with locks._marked(mark, busy):
        assert mark.read_text() == f"{OWN}\n"
        assert not mark.stat().st_mode & 0o111
        with pytest.raises(BusyError, match=f"held by {OWN}.*remove {mark}"):
            locks._marked(mark, busy).__enter__()
    assert not mark.exists()
    mark.write_text(f"process {ended()} on {HERE}, and more text\n")
    with pytest.raises(BusyError), locks._marked(mark, busy):
        pass
    mark.write_text(f"process {ended()} on {HERE}")
    with locks._marked(mark, busy):
        assert mark.read_text() == f"{OWN}\n"
    mark.write_text("")
    with pytest.raises(BusyError, match="has not said its name"), locks._marked(mark, busy):
        pass
    with pytest.raises(UserError, match="can't write to"), locks._marked(mark / "x", busy):
        pass


def test_who_is_gone() -> None:
    gone = ended()
    assert locks._is_gone(f"process {gone} on {HERE}")
    for holder in (
        OWN, f"process {gone} on {HERE}.other", f"process {gone} on {HERE}\n",
        f"process 1 on {HERE}", f"process {2**70} on {HERE}", f"process x on {HERE}", "",
    ):  # fmt: skip
        assert not locks._is_gone(holder), holder


# ---- the gradebook -------------------------------------------------------------------


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_gradebook_is_read_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    monkeypatch.setattr(database, "has_record_locks", lambda path: has_locks)
    course = CourseFolder(tmp_path)
    with open_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA)))
        with open_gradebook(course, read_only=True) as reader:
            assert [row.points for row in reader.standing(Rules()).rows] == [None]
        book.add_attempts([attempt(ADA, result(10))])
        with open_gradebook(course, read_only=True) as reader:
            assert [row.points for row in reader.standing(Rules()).rows] == [10]
            with pytest.raises((sqlite3.Error, KitError)):
                reader._database.execute("DELETE FROM missing")


def test_a_change_that_nobody_can_undo_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = CourseFolder(tmp_path)
    with open_gradebook(course):
        pass
    monkeypatch.setattr(database, "has_record_locks", lambda path: False)
    monkeypatch.setattr(database, "BUSY_S", 0.02)
    monkeypatch.setattr(database, "_LOOK_S", 0.001)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    journal = tmp_path / "gradebook.sqlite-journal"
    assert journal in database.leftovers(course.gradebook)
    assert [path.name for path in database.leftovers(course.gradebook)] == [
        f"gradebook.sqlite-{ending}" for ending in ("journal", "wal", "shm")
    ]
    journal.write_bytes(b"x")
    with (
        pytest.raises(KitError, match=f"has left {journal}.*gradebook rebuild {tmp_path}"),
        open_gradebook(course, read_only=True),
    ):
        pass


def test_a_reader_sees_nothing_of_a_change_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = CourseFolder(tmp_path)
    with open_gradebook(course):
        pass
    monkeypatch.setattr(database, "BUSY_S", 0.01)
    with closing(sqlite3.connect(course.gradebook, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        for read_only in (True, False):
            with (
                pytest.raises(KitError, match="can't be used: database is locked"),
                open_gradebook(course, read_only=read_only),
            ):
                pass
        writer.execute("ROLLBACK")
    with open_gradebook(course, read_only=True) as book:
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
    ("error", "kind", "said"),
    [
        (sqlite3.OperationalError("disk I/O error"), KitError, "can't be used: disk I/O error"),
        (sqlite3.DatabaseError("malformed"), UserError, r"is damaged \(malformed\).*rebuild"),
    ],
)
def test_what_sqlite_complains_of_is_told(
    tmp_path: Path, error: Exception, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said), database.told(CourseFolder(tmp_path)):
        raise error


def test_a_full_disk_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[Place] = []

    def shortage(place: Place) -> str:
        places.append(place)
        return "there is no room"

    monkeypatch.setattr(database, "shortage", shortage)
    with (
        pytest.raises(KitError, match=r"gradebook\.sqlite can't be used: there is no room"),
        database.told(CourseFolder(tmp_path)),
    ):
        raise sqlite3.OperationalError("database or disk is full")
    assert places == [Place(tmp_path, 2**20, str(tmp_path), "Make room there.")]


# ---- attempts ------------------------------------------------------------------------


def test_an_attempt_whose_folder_was_taken_away_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, one = CourseFolder(tmp_path), attempt(ADA, result(10))
    partial = attempts.partial_folder(course, one.item, 1, "r", "n")
    assert not attempts.publish(course, partial, one)
    monkeypatch.setattr(attempts, "partials", lambda *of: [partial])
    attempts.remove_partials(course, one.item, 1, "r")  # somebody else has just done so


def test_all_of_an_attempt_is_on_the_disk_before_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, one = CourseFolder(tmp_path), attempt(ADA, result(10))
    partial = attempts.partial_folder(course, one.item, 1, "r", "n")
    (partial / "evidence").mkdir(parents=True)
    (partial / "evidence" / "a.json").write_text("{}")
    (partial / "link").symlink_to("nowhere")
    monkeypatch.chdir(partial)
    synced = []

    def fsync(descriptor: int) -> None:
        assert not course.attempt(one.item, 1).exists()
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        monkeypatch.setattr(os, "fsync", fsync)
        assert attempts.publish(course, partial, one)
    paths = {partial, *(partial / name for name in ("evidence", "evidence/a.json", "attempt.json"))}
    assert {str(path) for path in paths} <= set(synced)
    assert synced[-1] == str(partial)
    assert not [path for path in synced if path.endswith(("link", "socket"))]


def test_an_attempt_that_cannot_be_put_into_its_place_stays(tmp_path: Path) -> None:
    course, one = CourseFolder(tmp_path), attempt(ADA, result(10))
    partial = attempts.partial_folder(course, one.item, 1, "r", "n")
    partial.mkdir(parents=True)
    course.attempt(one.item, 1).write_text("in the way")
    with pytest.raises(OSError):
        attempts.publish(course, partial, one)
    assert partial.is_dir()


def test_a_damaged_attempt_is_told(tmp_path: Path) -> None:
    (tmp_path / "attempt.json").write_text("{}")
    with pytest.raises(KitError, match=r"attempt\.json is damaged \(KeyError: 'item'\)"):
        attempts.read_attempt(tmp_path)
