"""Trial, in a process of its own, whether Python's TOML parser comes to its end with a text: with
many dotted keys it takes time with the square of their number."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any

from numalab.untrusted import reader_pool
from numalab.untrusted.reader_server import Connection, Unreadable

MOST_BYTES = 64 << 10  # of a student's file; the labs' own have a few KiB at most
LIMITS = reader_pool.Limits(computing_s=3, memory_bytes=512 << 20)


def read(file: IO[bytes], options: dict[str, Any], connection: Connection) -> None:
    """Send an empty answer once the parser has come to its end, whether it accepts the text."""
    del options
    with suppress(ValueError, RecursionError):
        tomllib.loads(file.read().decode())
    connection.send_end()


@lru_cache(maxsize=64)
def why_not_readable(text: str) -> str:
    """Return why a text must not be parsed, in words that follow the file's name; empty where it
    may be, which does not say that it is TOML. Raises OSError, such as where no process can be
    started."""
    try:
        content = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON may have it
        return "has characters that no text has"
    if len(content) > MOST_BYTES:
        return f"is larger than {MOST_BYTES >> 10} KiB"
    try:
        reader_pool.try_to_read("toml", content, LIMITS)
    except Unreadable as error:
        return str(error)
    return ""
