"""Attempts, as a course's folder has them.

An attempt is written to a folder next to its place, whose name says who writes it, and renamed into
its place when it is complete. Nothing is ever overwritten: if two jobs grade the same attempt,
because one of them was taken for dead, the second finds the place taken.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from numalab.course import records
from numalab.course.course_folder import PARTIAL, CourseFolder
from numalab.course.records import Attempt, GradingTarget
from numalab.errors import NumalabError
from numalab.files import read_json, write_json

FILE = "attempt.json"
GONE = "-gone"  # the end of a partial folder's name that is being removed


def read_attempt(folder: Path) -> Attempt | None:
    """Return the attempt of a folder; None where it is not complete yet. Raises NumalabError if
    its attempt.json can't be read."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return records.parse_attempt(read_json(path))
    except records.BadRecord as error:
        raise NumalabError(
            f"{path} is damaged ({error}). Move {folder} out of the way, then repeat the "
            "command: the item is graded again."
        ) from error


def attempt_numbers(course: CourseFolder, target: GradingTarget) -> list[int]:
    """Return the numbers of a target's complete attempts, in order."""
    try:
        names = [path.name for path in course.attempts(target).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def attempts_of(course: CourseFolder, target: GradingTarget) -> Iterator[Attempt]:
    """Yield a target's complete attempts, oldest first. Raises NumalabError."""
    for number in attempt_numbers(course, target):
        attempt = read_attempt(course.attempt(target, number))
        if attempt is not None:
            yield attempt


def all_attempts(course: CourseFolder) -> Iterator[Attempt]:
    """Yield every complete attempt of a course. Raises NumalabError."""
    for path in sorted((course.root / "attempts").glob(f"*/*/*/[!.]*/{FILE}")):
        attempt = read_attempt(path.parent)
        if attempt is not None:
            yield attempt


def is_over(course: CourseFolder, target: GradingTarget, number: int) -> bool:
    return (course.attempt(target, number) / FILE).is_file()


# ---- writing -------------------------------------------------------------------------


def partial_folder(
    course: CourseFolder, target: GradingTarget, number: int, run_id: str, writer: str
) -> Path:
    """Return the folder in which an attempt is written; `writer` tells apart processes that may
    write the same attempt at the same time."""
    return course.attempts(target) / f"{PARTIAL}{number}-{run_id}-{writer}"


def partial_folders(
    course: CourseFolder, target: GradingTarget, number: int, run_id: str
) -> list[Path]:
    """Return the folders of an attempt that a run has begun and not completed."""
    folder = course.attempts(target)
    begins = f"{PARTIAL}{number}-{run_id}-"
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(begins))
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    """Remove a partial folder, renamed first: a job that is still alive and writes to it by its
    name could otherwise add a file after the folder was found empty."""
    gone = path if path.name.endswith(GONE) else path.with_name(path.name + GONE)
    with suppress(OSError):
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def remove_partials(course: CourseFolder, target: GradingTarget, number: int, run_id: str) -> None:
    for path in partial_folders(course, target, number, run_id):
        _remove(path)


def _sync_to_disk(folder: Path) -> None:
    """Write a folder's files and entries to disk, so that a power failure leaves a complete
    attempt or none."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish(course: CourseFolder, partial: Path, attempt: Attempt) -> bool:
    """Write attempt.json into a partial folder and rename the folder to its place. Return False
    if another attempt is there, or if the folder was removed since its owner was taken for dead.
    Raises OSError."""
    try:
        write_json(partial / FILE, records.attempt_json(attempt))
        _sync_to_disk(partial)
        partial.rename(course.attempt(attempt.target, attempt.number))
    except OSError:
        if partial.is_dir() and not is_over(course, attempt.target, attempt.number):
            raise
        shutil.rmtree(partial, ignore_errors=True)
        return False
    return True
