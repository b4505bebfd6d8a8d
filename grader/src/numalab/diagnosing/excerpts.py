"""Excerpts of a mistaken text: the lines that differ from a reference, without comments. Pure
functions."""

from __future__ import annotations

import difflib
import re

CONTEXT = 3  # lines before and after what differs
MOST_LINES = 40  # of an excerpt; a page of an exam has room for so many
GAP = "..."
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FORTRAN_COMMENT = re.compile(r"(?:^|\s)!(?!\$)[^\n]*$", re.MULTILINE)
_SCRIPT_COMMENT = re.compile(r"(?:^|\s)#[^\n]*$", re.MULTILINE)
_COMMENTS = {".c": _C_COMMENT, ".f90": _FORTRAN_COMMENT}


def strip_comments(text: str, suffix: str) -> list[str]:
    """Return a text's lines without comments and empty lines. suffix: the file's, such as .c; for
    suffixes other than .c and .f90 comments begin with #. Outside C a comment has white space
    before it, or begins the line; Fortran's directives (!$) are none."""
    text = _COMMENTS.get(suffix, _SCRIPT_COMMENT).sub("", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def excerpt(mistaken: str, reference: str, suffix: str) -> list[str]:
    """Return the lines of a mistaken text that differ from the reference, or between which the
    reference has more, with CONTEXT lines around them and GAP between such stretches. Empty where
    strip_comments makes both alike, or where there would be more than MOST_LINES. suffix: the
    file's."""
    lines = strip_comments(mistaken, suffix)
    matcher = difflib.SequenceMatcher(a=strip_comments(reference, suffix), b=lines, autojunk=False)
    kept: set[int] = set()
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag != "equal":
            kept |= set(range(max(0, start - CONTEXT), min(len(lines), end + CONTEXT)))
    shown: list[str] = []
    for number in sorted(kept):
        if shown and number - 1 not in kept:
            shown.append(GAP)
        shown.append(lines[number])
    return shown if len(shown) <= MOST_LINES else []
