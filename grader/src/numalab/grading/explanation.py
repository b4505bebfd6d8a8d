"""The student's explanation of a result, a few sentences in a text file."""

from __future__ import annotations

import re
from pathlib import Path

from numalab.errors import NumalabError, reason_of
from numalab.files import NotPlain, read_plain_text, write_whole
from numalab.untrusted.visible import shortened, visible_lines

FILE = "explanation.txt"
EXPECTED_SENTENCES = 3  # of an explanation
LONGEST = 4_000  # characters that are kept
_MOST_BYTES = 64 << 10
_END = re.compile(r"[.!?][\"')\]]*(?=\s|\Z)")  # of a sentence


def read_explanation(folder: Path, *, follow_links: bool = False) -> str:
    """Return the explanation in a folder, safe to show and cut to LONGEST characters; empty where
    there is none, or it can't be read as text. follow_links: as for files.read_plain_text."""
    try:
        text = read_plain_text(folder / FILE, _MOST_BYTES, follow_links=follow_links)
    except (FileNotFoundError, NotPlain, UnicodeDecodeError):
        return ""
    return shortened(visible_lines(text).strip(), LONGEST)


def keep_explanation(folder: Path, text: str) -> None:
    """Store an explanation in a folder, in place of the previous one; an empty one removes it.
    Raises NumalabError where the file can't be written."""
    path = folder / FILE
    try:
        if text:
            write_whole(path, text + "\n")
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise NumalabError(f"{path} can't be written: {reason_of(error)}") from error


def sentences(text: str) -> int:
    """Count the sentences of a text, a last one without an end too; a point within 0.5 or kernel.c
    is no end."""
    return sum(re.search(r"\w", part) is not None for part in _END.split(text))
