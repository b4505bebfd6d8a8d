"""Pseudonyms that tell nothing, and the file that says whose they are."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from numalab.course.csv_files import (
    PRIVATE,
    escape_formula,
    format_table,
    read_table,
    write_private,
)
from numalab.course.records import Student
from numalab.errors import UserError, reason_of

HEADER = ("student", "name", "pseudonym")
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that is taken for another
_LENGTH = 8


def _new(taken: set[str]) -> str:
    """Return a random pseudonym: one derived from the name could be derived by others, too."""
    while True:
        name = "p-" + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if name not in taken:
            taken.add(name)
            return name


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Return name and pseudonym by student id."""
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
    """Return pseudonyms by student id: those of the file, and new ones, which are added to it,
    for students who have none. Only its owner may read the file. Raises UserError."""
    known = _read(path) if path.exists() else {}
    taken = {pseudonym for _, pseudonym in known.values()}
    before = len(known)
    for student in students:
        if student.id not in known:
            known[student.id] = (escape_formula(student.name), _new(taken))
    try:
        if len(known) > before or not path.exists():
            write_private(path, format_table(HEADER, ((i, *v) for i, v in known.items()), True))
        path.chmod(PRIVATE)
    except OSError as error:
        raise UserError(f"can't write {path}: {reason_of(error)}") from error
    return {student_id: pseudonym for student_id, (_, pseudonym) in known.items()}
