"""The attempts in a course's folder: how they are read, written and published.

An attempt is written to a partial folder next to its place, whose name identifies the writer, and
renamed into its place when it is complete. If two jobs grade the same attempt, because one of them
was taken for dead, the second one finds the place taken.
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
GONE = "-gone"  # how the name of a partial folder ends while it is being removed


def read_attempt(folder: Path) -> Attempt | None:
    """Return the attempt in a folder; None if it has no attempt.json (yet). Raises NumalabError if
    that is damaged or can't be read."""
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
    """Return the numbers of a target's complete attempts, ascending."""
    try:
        names = [path.name for path in course.attempts(target).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdigit())


def attempts_of(course: CourseFolder, target: GradingTarget) -> Iterator[Attempt]:
    """Yield a target's complete attempts, by number. Raises NumalabError if an attempt.json is
    damaged."""
    for number in attempt_numbers(course, target):
        attempt = read_attempt(course.attempt(target, number))
        if attempt is not None:
            yield attempt


def all_attempts(course: CourseFolder) -> Iterator[Attempt]:
    """Yield the complete attempts of a course, in order of paths. Raises NumalabError if an
    attempt.json is damaged."""
    for path in sorted((course.root / "attempts").glob(f"*/*/*/[!.]*/{FILE}")):
        attempt = read_attempt(path.parent)
        if attempt is not None:
            yield attempt


def is_over(course: CourseFolder, target: GradingTarget, number: int) -> bool:
    """Tell whether an attempt is complete, in whatever state."""
    return (course.attempt(target, number) / FILE).is_file()


# ---- writing -------------------------------------------------------------------------


def partial_folder(
    course: CourseFolder, target: GradingTarget, number: int, run_id: str, writer: str
) -> Path:
    """Return the folder in which an attempt is written. `writer` distinguishes processes that may
    write the same attempt at the same time."""
    return course.attempts(target) / f"{PARTIAL}{number}-{run_id}-{writer}"


def partial_folders(
    course: CourseFolder, target: GradingTarget, number: int, run_id: str
) -> list[Path]:
    """Return the partial folders that a run has begun for an attempt and not published, sorted."""
    folder = course.attempts(target)
    begins = f"{PARTIAL}{number}-{run_id}-"
    try:
        return sorted(path for path in folder.iterdir() if path.name.startswith(begins))
    except FileNotFoundError:
        return []


def _remove(path: Path) -> None:
    """Remove a partial folder if it can be renamed, as far as possible. It is renamed first: a job
    that is still alive could otherwise add a file by the old name while the folder is removed."""
    gone = path if path.name.endswith(GONE) else path.with_name(path.name + GONE)
    with suppress(OSError):
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def remove_partials(course: CourseFolder, target: GradingTarget, number: int, run_id: str) -> None:
    """Remove the partial folders that a run has left of an attempt, as far as possible."""
    for path in partial_folders(course, target, number, run_id):
        _remove(path)


def _sync_to_disk(folder: Path) -> None:
    """Flush a folder's files and entries to disk, so that a power failure leaves a complete attempt
    or none."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish(course: CourseFolder, partial: Path, attempt: Attempt) -> bool:
    """Write attempt.json into a partial folder and rename the folder to its place.

    Returns:
        False if another attempt has the place, or the folder was removed because its owner was
        taken for dead; what is left of the folder is then removed.

    Raises:
        OSError: the attempt can't be written; the partial folder stays.
    """
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
