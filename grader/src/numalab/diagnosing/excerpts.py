"""What of a wrong submission differs from the solution, without the comments that say so. Pure
functions."""

from __future__ import annotations

import difflib
import re

CONTEXT = 3  # lines before and after what differs
MOST_LINES = 40  # of an excerpt: what stands on a page of an exam
GAP = "..."
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FORTRAN_COMMENT = re.compile(r"(?:^|\s)!(?!\$)[^\n]*$", re.MULTILINE)
_SCRIPT_COMMENT = re.compile(r"(?:^|\s)#[^\n]*$", re.MULTILINE)
_COMMENTS = {".c": _C_COMMENT, ".f90": _FORTRAN_COMMENT}


def strip_comments(text: str, suffix: str) -> list[str]:
    """The lines that are left, empty ones left out. suffix: of the file; what is no kernel has
    comments that begin with #."""
    text = _COMMENTS.get(suffix, _SCRIPT_COMMENT).sub("", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def excerpt(wrong: str, right: str, suffix: str) -> list[str]:
    """The lines of the wrong text that differ from the right one, or stand where something is left
    out, with some around them; GAP where lines are passed over. Empty where nothing differs but
    comments, or more does than can be shown."""
    lines = strip_comments(wrong, suffix)
    matcher = difflib.SequenceMatcher(a=strip_comments(right, suffix), b=lines, autojunk=False)
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
