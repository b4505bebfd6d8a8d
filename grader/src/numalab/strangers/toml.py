"""Tries whether Python's reader of TOML comes to its end with a text, in a process of its own:
dotted keys cost it the square of their length."""

from __future__ import annotations

import tempfile
import tomllib
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any

from numalab.strangers import apart
from numalab.strangers.apart import Readers
from numalab.strangers.server import Talk, Unreadable

MOST_BYTES = 64 << 10  # of what a student writes; a file of the labs has less than one
LIMITS = apart.Limits(cpu_s=3, memory_bytes=512 << 20)


def read(file: IO[bytes], options: dict[str, Any], talk: Talk) -> None:
    """Tells nothing but that it came to its end. Whether the text is TOML is the caller's to
    find out, with its line."""
    del options
    with suppress(ValueError, RecursionError):
        tomllib.loads(file.read().decode())
    talk.end()


@lru_cache(maxsize=64)
def why_not_readable(text: str) -> str:
    """As what follows a file's name in a sentence; empty: it is. Raises OSError."""
    try:
        content = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON may have it
        return "has characters that no text has"
    if len(content) > MOST_BYTES:
        return f"is larger than {MOST_BYTES >> 10} KiB"
    with Readers("toml") as readers, tempfile.TemporaryFile() as file:
        file.write(content)
        with readers.read(file, {}, LIMITS) as reading:
            try:
                for _ in reading.answer():
                    pass
            except Unreadable as error:
                return str(error)
    return ""
