"""The lines of a kernel that are wrong, and other names for what it counts with. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from numalab.diagnosing.excerpts import without_comments
from numalab.draws import shuffled

MOST_LINES = 3  # more is no line, but another kernel
_COUNTERS = "ijk"
_OTHER_NAMES = "pqrsuvw"
_COUNTER = re.compile(r"(?<![\w%.'\"\\])[ijk](?![\w'\"])")
# What a kernel has beside its solution without being wrong.
_BESIDE = re.compile(r"[{}]*|#include .*|use .*|restrict", re.IGNORECASE)


def _statements(text: str, suffix: str) -> list[str]:
    """One a line, however it is broken and whatever only helps the compiler."""
    found: list[str] = []
    open_ones = 0
    for line in without_comments(text, suffix):
        line = re.sub(r"\brestrict\b\s*", "", " ".join(line.split()))
        is_continued = open_ones > 0 or bool(found and found[-1].endswith("&"))
        if is_continued and not line.startswith("!$"):
            found[-1] = f"{found[-1].removesuffix('&').rstrip()} {line.removeprefix('&').lstrip()}"
        else:
            found.append(line)
        open_ones += line.count("(") - line.count(")")
    return found


def wrong_lines(wrong: str, right: str, suffix: str) -> tuple[str, ...]:
    """The statements that the wrong text has beside the right one, each once; none where that is
    only without something, or is another kernel. suffix: of the file."""
    ours = _statements(wrong, suffix)
    matcher = difflib.SequenceMatcher(a=_statements(right, suffix), b=ours, autojunk=False)
    found = dict.fromkeys(
        line
        for tag, _, _, first, end in matcher.get_opcodes()
        if tag != "equal"
        for line in ours[first:end]
        if not _BESIDE.fullmatch(line)
    )
    return tuple(found) if len(found) <= MOST_LINES else ()


def other_names(kernel: str, draw: str) -> dict[str, str]:
    """For the counters of a kernel: such as it has not, which draw draws."""
    used = {name.lower() for name in re.findall(r"\b[a-z]\b", kernel, re.IGNORECASE)}
    free = [name for name in _OTHER_NAMES if name not in used]
    return dict(zip(_COUNTERS, shuffled(draw, free), strict=False))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """With other names for its counters."""
    return _COUNTER.sub(lambda found: names.get(found[0], found[0]), text)
