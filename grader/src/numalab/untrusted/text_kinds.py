"""Recognition of files that should be a program's text and are, or contain, something else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

# What files are, by their first bytes, with which hardly a program's text begins.
_HEADS: Mapping[bytes, str] = {
    b"%PDF-": "a PDF document",
    b"%!PS": "a PostScript document",
    b"{\\rtf": "a rich text document (RTF)",
    b"PK\x03\x04": "a ZIP archive, or a word processor's document, which is one",
    b"\xd0\xcf\x11\xe0": "a document of an office program",
    b"\x7fELF": "a compiled program or object file",
    b"MZ\x90": "a program for Windows",
    b"\xcf\xfa\xed\xfe": "a program for macOS",
    b"!<arch>": "a library of object files",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file (gzip)",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"BZh": "a compressed file (bzip2)",
    b"\xfd7zXZ": "a compressed file (xz)",
    b"\x28\xb5\x2f\xfd": "a compressed file (Zstandard)",
}
_BOM = b"\xef\xbb\xbf"
_HTML = re.compile(
    rb"\s*(?:<!--.{0,4096}?-->\s*)?<(?:!doctype\s+html|html|head|body|meta|script|title)\b",
    re.I | re.S,
)
_XML = re.compile(rb"\s*<(?:\?xml|svg)\b", re.I)
_NOTEBOOK = re.compile(rb'\s*\{.*"nbformat"\s*:', re.S)
_DIFF = re.compile(
    rb"\s*(?:diff --git |Index: |From [0-9a-f]{40} |commit [0-9a-f]{40}\b|--- [^\n]*\r?\n\+\+\+ |"
    rb"\*\*\* [^\n]*\r?\n--- |\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?\n[<>] )"
)
_CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)|^={7}$", re.M)
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)", re.M)
_ENTITY = re.compile(r"^[ \t]*#[ \t]*include[ \t]*&(?:lt|quot|#\d+);", re.M)
# In lines as mails have them. All but the last have an end, so that no part is matched twice.
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{60,76}\r?\n)+[A-Za-z0-9+/]*={0,2}\s*")
# A comment that is not closed goes to the end, so that no end is searched for twice.
_COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*|![^\n]*", re.S)
_TEXT_INSTEAD = "hand in the text itself, as an editor for programs saves it"


@dataclass(frozen=True)
class TextKind:
    """What a file is, if it is not plain text of a program."""

    why: str  # what follows the file's name in a sentence, without a full stop
    is_text: bool  # it may be a program's text all the same
    is_marked: bool = False  # it has marks of a merge or of Markdown


def _wide(data: bytes) -> str:
    """Return "UTF-16" or "UTF-32", by a byte order mark or the places of zero bytes in the first 4
    KiB; empty where these show neither."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    some = data[:4096]
    if len(some) >= 16 and b"\0" in some:
        zeros = [some[start::4].count(0) / len(some[start::4]) for start in range(4)]
        if sorted(zero > 0.6 for zero in zeros) == [False, True, True, True]:
            return "UTF-32"
        if [zero > 0.6 for zero in zeros] in ([True, False] * 2, [False, True] * 2):
            return "UTF-16"
    return ""


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _marks(text: str) -> str:
    """Return what a merge or Markdown has left in a text, with its first line, as the end of a
    sentence; empty where no such mark is found."""
    conflict = [found.group()[0] for found in _CONFLICT.finditer(text)]
    if {"<", "=", ">"} <= set(conflict):
        first = _CONFLICT.search(text)
        assert first is not None
        return (
            "has the marks of a merge that was not ended, first in line "
            f"{_line(text, first.start())}: take out the marks and one of the two texts"
        )
    fence = _FENCE.search(text)
    if fence is not None:
        return (
            f"has a code fence of Markdown in line {_line(text, fence.start())}: take out what is "
            "not program text"
        )
    return ""


@cache
def _odd_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    # Unicode's blanks, ends of lines and characters that are not visible at all.
    blanks = "".join(
        c for c in map(chr, range(0xA0, 0x10000))
        if unicodedata.category(c) in ("Zs", "Zl", "Zp", "Cf")
    )  # fmt: skip
    return (
        (re.compile("[\u2018-\u201f\u00ab\u00bb]"), "typographic quotes"),
        (re.compile("[\u2010-\u2015\u2212]"), "typographic dashes"),
        (re.compile("[\uff01-\uff5e\u3001\u3002]"), "full-width characters"),
        (re.compile(f"[\x85{blanks}]"), "blanks of a word processor"),
    )


def _odd_characters(text: str) -> str:
    """Return what a word processor, a web page or DOS has put into a program, as the end of a
    sentence; empty where nothing is found."""
    # As many lines as before, so that numbers hold.
    code = _COMMENTS.sub(lambda found: "\n" * found.group().count("\n"), text)
    for pattern, what in () if text.isascii() else _odd_patterns():
        found = pattern.search(code)
        if found is not None:
            return (
                f"has {what} in line {_line(code, found.start())}, which are other characters than "
                "a keyboard's: type them anew"
            )
    entity = _ENTITY.search(text)
    if entity is not None:
        return (
            f"has a web page's &lt; or &quot; in line {_line(text, entity.end())}: copy the text "
            "from an editor"
        )
    if text.endswith("\x1a"):
        return "ends with DOS's mark of a file's end (Ctrl-Z), which no compiler takes: remove it"
    return ""


def kind_of_text(data: bytes) -> TextKind | None:
    """Return what a file is that should be a program's text; None where nothing speaks against
    that. data: the file's content."""
    head = data.removeprefix(_BOM)
    for start, what in _HEADS.items():
        if head.lstrip(b" \t\r\n").startswith(start):
            return TextKind(f"is {what} and no program text; {_TEXT_INSTEAD}", False)
    wide = _wide(data)
    if wide:
        return TextKind(f"is text in {wide}, which compilers do not read; save it in UTF-8", True)
    if b"\0" in data:
        return TextKind(f"is not a text file; {_TEXT_INSTEAD}", False)
    for pattern, what in (
        (_HTML, "a web page (HTML)"), (_XML, "an XML document"),
        (_NOTEBOOK, "a Jupyter notebook"), (_DIFF, "a diff, which says what to change,"),
    ):  # fmt: skip
        if pattern.match(head):
            return TextKind(f"is {what} and no program text; {_TEXT_INSTEAD}", False)
    if _BASE64.fullmatch(head):
        return TextKind(f"is text in Base64, as mails carry files; {_TEXT_INSTEAD}", False)
    if b"\r" in head and b"\n" not in head:
        return TextKind(
            "has the line ends of old Macs (CR alone); save it with those of Linux", True
        )
    text = head.decode("utf-8", "replace")
    why = _marks(text)
    if why:
        return TextKind(why, True, True)
    why = _odd_characters(text)
    return TextKind(why, True) if why else None
