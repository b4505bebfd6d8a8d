"""The secret of a course, from which each student's seed is derived. With it the variants of the
class can be computed, so it is kept in the course's folder, made readable by its owner only."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress

from numalab.course.course_folder import CourseFolder
from numalab.errors import UserError, reason_of
from numalab.labs.seeds import DRAWS, Seed, personal_seed

BYTES = 32


_EDITION = re.compile(r"draws ([0-9]{1,9})")


def read_secret(course: CourseFolder) -> tuple[bytes, int]:
    """Return the secret, of BYTES bytes, and the edition of draws that variants are from. Both are
    made if the course has none; a secret that names no edition is of edition 1. Raises UserError if
    the file can't be read or made, is damaged, or names an edition that is not known."""
    path = course.secret
    try:
        course.root.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="ascii") as opened:
                opened.write(f"{secrets.token_hex(BYTES)}\ndraws {DRAWS}\n")
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise UserError(f"can't read or make {path}: {reason_of(error)}") from error
    text, _, named = text.partition("\n")
    edition = _EDITION.fullmatch(named)
    draws = int(edition[1]) if edition else 1
    if (named and edition is None) or not 1 <= draws <= DRAWS:
        raise UserError(
            f"{path} says {named!r}, which this version of numalab does not know: its students "
            "would get other variants. Go on with the version that the course was begun with, or "
            "a newer one."
        )
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise UserError(
            f"{path} does not hold a secret of {BYTES} bytes in hexadecimal digits. Bring back the "
            "file as it was: with another one every student gets another variant."
        )
    return secret, draws


def seed_of(course: CourseFolder, student_id: str) -> Seed:
    """Return a student's seed in a course. Raises UserError as read_secret does."""
    secret, draws = read_secret(course)
    return personal_seed(secret, student_id, draws)
