"""Names that mean nothing, and the file that says whose they are."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from numalab.course.csv_files import defused, read_table, table_text
from numalab.course.records import Student
from numalab.errors import UserError, reason_of
from numalab.files import partial_path

HEADER = ("student", "name", "pseudonym")
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that is taken for another
_LENGTH = 8
_PRIVATE = 0o600


def _new(taken: set[str]) -> str:
    """Random: one that is worked out of the name can be worked out by others, too."""
    while True:
        name = "p-" + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if name not in taken:
            taken.add(name)
            return name


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Name and pseudonym by student id."""
    rows = read_table(path).rows
    if tuple(rows[0]) != HEADER:
        raise UserError(
            f"{path} is no list of pseudonyms: its first line is not {','.join(HEADER)}"
        )
    found: dict[str, tuple[str, str]] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(HEADER) or not row[0] or not row[2]:
            raise UserError(f"{path}, line {number}: it has to have {len(HEADER)} cells")
        found[row[0]] = (row[1], row[2])
    if len({pseudonym for _, pseudonym in found.values()}) != len(found):
        raise UserError(f"{path}: two students have the same pseudonym")
    return found


def assign(path: Path, students: Iterable[Student]) -> dict[str, str]:
    """Pseudonyms by student id: those of the file, and new ones for whoever has none, which are
    added to it. Only its owner may read it. Raises UserError."""
    known = _read(path) if path.exists() else {}
    taken = {pseudonym for _, pseudonym in known.values()}
    before = len(known)
    for student in students:
        if student.id not in known:
            known[student.id] = (defused(student.name), _new(taken))
    try:
        if len(known) > before or not path.exists():
            _write_private(path, table_text(HEADER, ((i, *v) for i, v in known.items()), True))
        path.chmod(_PRIVATE)
    except OSError as error:
        raise UserError(f"can't write {path}: {reason_of(error)}") from error
    return {student_id: pseudonym for student_id, (_, pseudonym) in known.items()}


def _write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    partial = partial_path(path)
    with contextlib.suppress(FileNotFoundError):
        partial.unlink()
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    partial.replace(path)
