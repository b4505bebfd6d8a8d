"""Layout of compilers' and linkers' output in the columns of a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import groupby

# What precedes a line of source and the marks below it, as gcc, gfortran and clang print them.
_GUTTER = re.compile(r" *\d* *\| ?")
CUT = "…"
GOES_ON = f"(A line with {CUT} is whole in the file.)"


def listing(text: str, columns: int) -> list[str]:
    """Return the lines of a text, laid out in `columns`. Adjacent lines of source and marks are cut
    alike, so that marks stay below what they point at. Where one has CUT, a last line, GOES_ON,
    says where the rest is. Other lines are wrapped."""
    lines: list[str] = []
    for is_source, group in groupby(text.splitlines(), key=_is_source):
        if is_source:
            lines += _cut(list(group), columns)
        else:
            lines += [part for line in group for part in _wrapped(line, columns)]
    return [*lines, GOES_ON] if any(map(_is_cut, lines)) else lines


def _is_source(line: str) -> bool:
    return _GUTTER.match(line) is not None


def _is_cut(line: str) -> bool:
    return _is_source(line) and CUT in line


def _wrapped(line: str, columns: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()) + 2, columns // 2)
    return textwrap.wrap(line, columns, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _cut(lines: Sequence[str], columns: int) -> list[str]:
    """Return adjacent lines of source and marks, cut to one range of columns where they don't fit:
    from the beginning, or around the first mark if that is too far right."""
    matches = [_GUTTER.match(line) for line in lines]
    gutter = max(match.end() for match in matches if match is not None)
    bodies = [line[gutter:] for line in lines]
    room, longest = columns - gutter, max(map(len, bodies))
    if longest <= room:
        return list(lines)
    is_marks = [not any(map(str.isdigit, line[:gutter])) for line in lines]
    marks = [body for body, is_mark in zip(bodies, is_marks, strict=True) if is_mark]
    first_mark = min((len(body) - len(body.lstrip()) for body in marks if body.strip()), default=0)
    first = 0 if first_mark < room - 2 else min(first_mark - room // 2, longest - room)
    shown = []
    for line, body, is_mark in zip(lines, bodies, is_marks, strict=True):
        piece = body[first : first + room]
        if not is_mark and body[:first].strip():
            piece = CUT + piece[1:]
        if not is_mark and len(body) > first + room:
            piece = piece[:-1] + CUT
        shown.append((line[:gutter] + piece).rstrip())
    return shown
