"""The gradebook where a file system has no locks, which no_locks.c brings about."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.golden_texts import check_text
from support.no_locks import no_locks

PRELUDE = """
import os, signal, sqlite3, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.courses import *
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook, rebuild
from numalab.course.gradebook.rules import parse_rules
from numalab.errors import LockedError
course = CourseFolder(Path({course!r}))
def numbers(read_only=True):
    with use_gradebook(course, read_only=read_only) as book:
        book.standing(parse_rules("", "course.toml"))
        return sorted(one.number for one in book.attempts())
def add(first, last):
    with use_gradebook(course) as book:
        book.add_attempts(attempt(ADA, result(1, 9), number=n) for n in range(first, last))
"""

# SQLite by itself fails; the gradebook is written, read, kept from a second writer, made again.
ALL = """
try:
    sqlite3.connect(course.root / "plain.sqlite", timeout=0.1).execute("CREATE TABLE t (a)")
except sqlite3.OperationalError:
    print("no locks")
with use_gradebook(course) as book:
    book.add_submissions(intake(submission(ADA)))
add(1, 4)
assert numbers() == numbers(False) == [1, 2, 3]
with use_gradebook(course) as book:
    book.add_attempts([attempt(ADA, result(1, 9), number=4)])
    assert numbers() == [1, 2, 3, 4]
    try:
        add(5, 6)
    except LockedError as error:
        assert f"process {os.getpid()}" in str(error), error
    else:
        raise AssertionError
rebuild(course, print)
assert numbers() == []
add(1, 4)
"""

# Killed in the midst of a change, with pages of it in the file.
KILLED = """
def some():
    for number in range(100, 500):
        yield attempt(ADA, result(1, 9), number=number)
    os.kill(os.getpid(), signal.SIGKILL)
with use_gradebook(course) as book:
    book._database.execute("PRAGMA cache_size = 5")
    book.add_attempts(some())
"""

# Pairs, each in a change of its own, large enough that it is not written at once.
WRITES = """
with use_gradebook(course) as book:
    book._database.execute("PRAGMA cache_size = 5")
    print("writing", flush=True)
    for pair in range(500, 700):
        book.add_attempts(attempt(ADA, result(1, 9), number=n) for n in (2 * pair, 2 * pair + 1))
"""

READS = """
seen = [numbers() for _ in range(8)]
assert all(len(one) % 2 == 1 and one[:3] == [1, 2, 3] for one in seen), seen
"""


def run(folder: Path, course: Path, program: str) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE.format(tests=tests, course=str(course)) + program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | no_locks(folder),
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["read_only=True", "read_only=False"])
def test_a_gradebook_needs_no_locks_of_its_file_system(tmp_path: Path, ending: str) -> None:
    course = tmp_path / "course"
    course.mkdir()
    process = run(tmp_path, course, ALL)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    check_text(said)
    process = run(tmp_path, course, KILLED)
    assert process.wait() == -signal.SIGKILL
    assert (course / "gradebook.sqlite-journal").stat().st_size > 0
    process = run(tmp_path, course, f"assert numbers({ending}) == [1, 2, 3], numbers()")
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert not (course / "gradebook.sqlite-journal").exists()


def test_a_reader_sees_changes_whole_or_not_at_all(tmp_path: Path) -> None:
    course = tmp_path / "course"
    course.mkdir()
    process = run(tmp_path, course, ALL)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    writer = run(tmp_path, course, WRITES)
    assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
    reader = run(tmp_path, course, READS)
    said, _ = reader.communicate()
    assert reader.returncode == 0, said
    said, _ = writer.communicate()
    assert writer.returncode == 0, said
