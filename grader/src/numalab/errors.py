"""Errors that are not a student's result, and how they are printed."""

from __future__ import annotations

import textwrap

from numalab.file_systems.room import NO_ROOM, own_places, shortage
from numalab.untrusted.listing import listing
from numalab.untrusted.visible import visible_lines

WIDTH = 80  # columns of messages


class UserError(Exception):
    """The command was asked for something impossible; exit code 2.

    The message says what happened, where, and what to do next.
    """


class LockedError(UserError):
    """Another command holds a lock; later it won't."""


class NothingToDraw(UserError):
    """Evidence lacks what a picture is made of."""


class NumalabError(Exception):
    """numalab itself could not do its part; exit code 3."""


class Interrupted(Exception):
    """Ctrl-C or a request to stop; what was found so far is kept."""


def reason_of(error: OSError) -> str:
    """Return the system's reason, the file if it names one, and of a full disk which one that
    is."""
    is_full = error.errno in NO_ROOM
    file = (is_full and error.filename2) or error.filename  # a copy's second one is written
    place = f" ({file})" if file else ""
    short = shortage(*own_places()) if is_full and not file else ""
    return f"{error.strerror or error}{place}" + (f": {short}" if short else "")


def wrapped(message: str) -> str:
    """Wrap a message into lines of at most 80 columns; a path that is longer stays whole, so that
    it can be copied. What follows a line break is another program's, a compiler's most often."""
    first, newline, rest = visible_lines(message).partition("\n")
    lines = textwrap.fill(first, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([lines, *listing(rest, WIDTH)]) if newline else lines
