"""The wrong statements of a kernel, and other names for its loop counters. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from numalab.diagnosing.excerpts import strip_comments
from numalab.draws import shuffled

MOST_LINES = 3  # of a mistake; with more it is another kernel rather than a wrong line
_COUNTERS = "ijk"
_OTHER_NAMES = "pqrsuvw"
_COUNTER = re.compile(r"(?<![\w%.'\"\\])[ijk](?![\w'\"])")
# Lines that may differ from the solution without being wrong.
_HARMLESS = re.compile(r"[{}]*|#include .*|use .*|restrict", re.IGNORECASE)


# A statement that only declares: one of Fortran, or one of C without an initial value.
_DECLARATION = re.compile(
    r"(?P<type>(?:real|integer|logical|complex|type)\b[^:]*)::(?P<names>[^=]*)"
    r"|(?P<c_type>(?:(?:const|unsigned|signed|static)\s+)*[a-z]\w*)\s+(?P<c_names>[\w\s,*\[\]]+);",
    re.IGNORECASE,
)


def _declared(statement: str) -> dict[str, str]:
    """Return the type of each name that a statement declares; empty where it is none of
    _DECLARATION."""
    found = _DECLARATION.fullmatch(statement)
    if found is None or found["c_type"] in ("return", "goto"):
        return {}
    of_type = re.sub(r"\s+", "", found["type"] or found["c_type"]).lower()
    names = re.sub(r"\([^)]*\)", "", found["names"] or found["c_names"])
    return {name.strip().lower(): of_type for name in names.split(",")}


def _is_plain_declaration(statement: str, reference: Mapping[str, str]) -> bool:
    """Tell whether a statement only declares, and no name with another type than the reference
    does. reference: types, by name."""
    declared = _declared(statement)
    return bool(declared) and all(reference.get(name, of) == of for name, of in declared.items())


def _statements(text: str, suffix: str) -> list[str]:
    """Return a text's lines without comments and the word restrict, with single blanks. A line
    after an open `(` or a final `&` is joined to the one before, unless it is a directive of
    Fortran."""
    found: list[str] = []
    open_ones = 0
    for line in strip_comments(text, suffix):
        line = re.sub(r"\brestrict\b\s*", "", " ".join(line.split()))
        is_continued = open_ones > 0 or bool(found and found[-1].endswith("&"))
        if is_continued and not line.startswith("!$"):
            found[-1] = f"{found[-1].removesuffix('&').rstrip()} {line.removeprefix('&').lstrip()}"
        else:
            found.append(line)
        open_ones += line.count("(") - line.count(")")
    return found


def mistaken_lines(mistaken: str, reference: str, suffix: str) -> tuple[str, ...]:
    """Return the statements of the mistaken text that differ from the reference, each once, apart
    from harmless ones.

    Empty where it only lacks something, or there are more than MOST_LINES. suffix: the file's.
    """
    ours, theirs = _statements(mistaken, suffix), _statements(reference, suffix)
    right_types = {name: of for line in theirs for name, of in _declared(line).items()}
    matcher = difflib.SequenceMatcher(a=theirs, b=ours, autojunk=False)
    found = dict.fromkeys(
        line
        for tag, _, _, first, end in matcher.get_opcodes()
        if tag != "equal"
        for line in ours[first:end]
        if not _HARMLESS.fullmatch(line) and not _is_plain_declaration(line, right_types)
    )
    return tuple(found) if len(found) <= MOST_LINES else ()


def other_names(kernel: str, draw: str) -> dict[str, str]:
    """Return new names for the counters i, j and k of a kernel, drawn by the text `draw` from those
    of _OTHER_NAMES that the kernel does not use."""
    used = {name.lower() for name in re.findall(r"\b[a-z]\b", kernel, re.IGNORECASE)}
    free = [name for name in _OTHER_NAMES if name not in used]
    return dict(zip(_COUNTERS, shuffled(draw, free), strict=False))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names for its counters."""
    return _COUNTER.sub(lambda found: names.get(found[0], found[0]), text)
