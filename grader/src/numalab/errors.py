"""Errors that are not a student's result, and how they are printed."""

from __future__ import annotations

import textwrap

from numalab.file_systems.room import NO_ROOM, own_places, shortage
from numalab.untrusted.listing import listing
from numalab.untrusted.visible import visible_lines

WIDTH = 80  # columns of messages


class UserError(Exception):
    """A command can't do what the user has asked for; exit code 2.

    The message is to say what happened, where, and what to do next.
    """


class LockedError(UserError):
    """Another command holds a lock; a later try may succeed."""


class NothingToDraw(UserError):
    """The evidence lacks what a picture shows."""


class NumalabError(Exception):
    """numalab itself could not do its part; exit code 3."""


class Interrupted(Exception):
    """Ctrl-C or a request to stop."""


def reason_of(error: OSError) -> str:
    """Return the system's reason for an error, or the error's text if it has none, and the file
    where the error names one. For a full disk without a file, add a folder that lacks room, where
    one is found, and what to do."""
    is_full = error.errno in NO_ROOM
    file = (is_full and error.filename2) or error.filename  # a copy's second one is written
    place = f" ({file})" if file else ""
    short = shortage(*own_places()) if is_full and not file else ""
    return f"{error.strerror or error}{place}" + (f": {short}" if short else "")


def wrapped(message: str) -> str:
    """Wrap the first line of a message into lines of at most 80 characters; a word that is longer
    stays whole, so that a path can be copied. Lines after the first are laid out by
    untrusted/listing.py."""
    first, newline, rest = visible_lines(message).partition("\n")
    lines = textwrap.fill(first, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([lines, *listing(rest, WIDTH)]) if newline else lines
