"""What a student says of a result in a few sentences, in a text file beside the kernel. It earns no
points and changes no verdict: it is kept with the grading, for whoever reads it."""

from __future__ import annotations

import re
from pathlib import Path

from numalab.errors import NumalabError, reason_of
from numalab.files import NotPlain, read_plain_text, write_whole
from numalab.untrusted.visible import shortened, visible_lines

FILE = "explanation.txt"
ASKED_FOR = 3  # sentences
LONGEST = 4_000  # characters that are kept
_MOST_BYTES = 64 << 10
_END = re.compile(r"[.!?][\"')\]]*(?=\s|\Z)")  # of a sentence


def read_explanation(folder: Path, *, follow_links: bool = False) -> str:
    """Of a folder with files that were handed in, as it may be shown; empty where there is none, or
    where what has the name is no text of that size. follow_links: as files.read_plain_text."""
    try:
        text = read_plain_text(folder / FILE, _MOST_BYTES, follow_links=follow_links)
    except (FileNotFoundError, NotPlain, UnicodeDecodeError):
        return ""
    return shortened(visible_lines(text).strip(), LONGEST)


def keep_explanation(folder: Path, text: str) -> None:
    """Beside a kept record, in the place of the one before; an empty one leaves none. Raises
    NumalabError."""
    path = folder / FILE
    try:
        if text:
            write_whole(path, text + "\n")
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise NumalabError(f"{path} can't be written: {reason_of(error)}") from error


def sentences(text: str) -> int:
    """How many there are, as far as points tell: those within 0.5 and kernel.c end none."""
    return sum(re.search(r"\w", part) is not None for part in _END.split(text))
