"""The secret of a course, from which each student's seed is made. Who reads it can compute every
variant of the class, and who loses it none: it is kept with the course, for its owner's eyes."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from numalab.course.course_folder import CourseFolder
from numalab.errors import UserError, reason_of
from numalab.labs.seeds import Seed, personal_seed

BYTES = 32


def course_secret(course: CourseFolder) -> bytes:
    """Made the first time. Raises UserError."""
    path = course.secret
    try:
        course.root.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="ascii") as opened:
                opened.write(secrets.token_hex(BYTES) + "\n")
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise UserError(f"can't read or make {path}: {reason_of(error)}") from error
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise UserError(
            f"{path} does not hold a secret of {BYTES} bytes in hexadecimal digits. Bring back the "
            "file as it was: with another one every student gets another variant."
        )
    return secret


def seed_of(course: CourseFolder, student_id: str) -> Seed:
    """Raises UserError."""
    return personal_seed(course_secret(course), student_id)
