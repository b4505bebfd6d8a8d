"""Try in a process of its own whether Python's reader of TOML comes to its end with a text: dotted
keys cost it the square of their number."""

from __future__ import annotations

import tempfile
import tomllib
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any

from numalab.untrusted import reader_pool
from numalab.untrusted.reader_pool import ReaderPool
from numalab.untrusted.reader_server import Connection, Unreadable

MOST_BYTES = 64 << 10  # of what a student writes; a file of the labs has less than one
LIMITS = reader_pool.Limits(computing_s=3, memory_bytes=512 << 20)


def read(file: IO[bytes], options: dict[str, Any], connection: Connection) -> None:
    """Answer nothing, once the reader has come to its end, with or without an error. Whether the
    text is TOML is found out by the caller, who reports the line."""
    del options
    with suppress(ValueError, RecursionError):
        tomllib.loads(file.read().decode())
    connection.send_end()


@lru_cache(maxsize=64)
def why_not_readable(text: str) -> str:
    """Return why a text must not be parsed, in words that go on from the file's name; empty: it
    may be. Raises OSError where no process can be started."""
    try:
        content = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON may have it
        return "has characters that no text has"
    if len(content) > MOST_BYTES:
        return f"is larger than {MOST_BYTES >> 10} KiB"
    with ReaderPool("toml") as readers, tempfile.TemporaryFile() as file:
        file.write(content)
        with readers.read(file, {}, LIMITS) as reading:
            try:
                for _ in reading.answer():
                    pass
            except Unreadable as error:
                return str(error)
    return ""
