"""Untrusted text made safe to show on a terminal or a page.

Control characters steer a terminal (ESC, and after it anything up to the clipboard); others reverse
the direction of writing or are invisible.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Characters that Python calls printable and that are invisible: fillers, joiners, variation
# selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
                    "\U000e0100-\U000e01ef]")  # fmt: skip
# In JSON that programs write: an escape of a character that may have to be shown by its number, or
# the character itself.
_SUSPECT = re.compile(r"\\[bfru]|[^\x20-\x7e\n]")
TAB_COLUMNS = 8  # as compilers count when they put a mark below a column


def _is_plain(text: str) -> bool:
    return text.isprintable() and _BLANK.search(text) is None


def _character(char: str) -> str:
    if _is_plain(char):
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no text (PEP 383)
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return a text on one line, with invisible and steering characters as their numbers: \\x1b for
    ESC, <U+202E> for the one that reverses the direction of writing. Blanks of other kinds become
    plain ones."""
    return text if _is_plain(text) else "".join(map(_character, text))


def visible_lines(text: str) -> str:
    """Return a text with its lines as visible() has them; line ends become "\\n", tabs blanks."""
    if _is_plain(text):
        return text
    lines = (line.removesuffix("\r").expandtabs(TAB_COLUMNS) for line in text.split("\n"))
    return "\n".join(map(visible, lines))


def shown(name: str | tuple[str, ...], most: int = 80) -> str:
    """Return an untrusted name for a message: visible, and cut to `most` characters. name: a text,
    or the parts of a path."""
    text = name if isinstance(name, str) else "/".join(name)
    return shortened(visible(text[: most + 1]) if len(text) > most else visible(text), most)


def shortened(text: str, most: int) -> str:
    """Return a text cut to `most` characters, of which the last one then is an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def visible_json(value: Any) -> Any:
    """Return a JSON value with its texts as visible_lines has them; keys stay."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, dict):
        return {key: visible_json(inner) for key, inner in value.items()}
    return [visible_json(inner) for inner in value] if isinstance(value, list) else value


def may_hide(json_text: str) -> bool:
    """Tell whether a JSON text has characters, or escapes, that may need visible_json, which costs
    far more than this."""
    return _SUSPECT.search(json_text) is not None
