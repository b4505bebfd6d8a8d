"""Random pseudonyms, and the file that says which student has which."""

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
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are easily confused
_LENGTH = 8


def _new(taken: set[str]) -> str:
    """Return a random pseudonym and add it to `taken`. It is not derived from the name, since
    others could do so, too."""
    while True:
        name = "p-" + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
        if name not in taken:
            taken.add(name)
            return name


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Return names and pseudonyms in a file, by student id."""
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
    """Return pseudonyms by student id: those in the file, and new ones for students who have none,
    which are added to it. The file gets a mode by which only its owner can read it. Raises
    UserError if the file is no list of pseudonyms, or can't be read or written."""
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
