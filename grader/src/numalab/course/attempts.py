"""Attempts as they lie in a course's folder.

An attempt's folder is written beside its place, under a name that says whose it is, and renamed
into place when it is whole. Nothing is ever overwritten: of two who grade the same attempt, since
one of them was thought dead, the second finds the place taken.
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
    """None where there is none yet. Raises NumalabError where it can't be read."""
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
    """Of the item's attempts that are over, in order."""
    try:
        names = [path.name for path in course.attempts(target).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def attempts_of(course: CourseFolder, target: GradingTarget) -> Iterator[Attempt]:
    """All that are over, oldest first. Raises NumalabError."""
    for number in attempt_numbers(course, target):
        attempt = read_attempt(course.attempt(target, number))
        if attempt is not None:
            yield attempt


def all_attempts(course: CourseFolder) -> Iterator[Attempt]:
    """Every attempt of the course that is over. Raises NumalabError."""
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
    """Where an attempt is written; who tells apart those that may write it at a time."""
    return course.attempts(target) / f"{PARTIAL}{number}-{run_id}-{writer}"


def partial_folders(
    course: CourseFolder, target: GradingTarget, number: int, run_id: str
) -> list[Path]:
    """What a run has begun and not ended of this attempt."""
    folder = course.attempts(target)
    begins = f"{PARTIAL}{number}-{run_id}-"
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(begins))
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    """Out of the way first: a job that lives still, and writes to it by its name, could otherwise
    put a file into it after it was found empty."""
    gone = path if path.name.endswith(GONE) else path.with_name(path.name + GONE)
    with suppress(OSError):
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def remove_partials(course: CourseFolder, target: GradingTarget, number: int, run_id: str) -> None:
    for path in partial_folders(course, target, number, run_id):
        _remove(path)


def _sync_to_disk(folder: Path) -> None:
    """So that a node that loses its power leaves a whole attempt or none."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish(course: CourseFolder, partial: Path, attempt: Attempt) -> bool:
    """Puts a written folder into its place, with its attempt.json. False: another one is there,
    or the folder was taken away since its owner was thought dead. Raises OSError."""
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
