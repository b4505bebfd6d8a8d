"""The lines of tables, keys and values of a TOML text, which tomllib does not report.

The text has to be valid; it is scanned and not checked.
"""

from __future__ import annotations

import re
import tomllib

# Keys and indices that lead to a value: ("numa_node", 1, "pus") or ("distances", 0).
KeyPath = tuple[str | int, ...]

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+)[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]+")  # a number, a boolean or a time


def lines_of(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1 on, of each table, key and element of a valid TOML text with Unix
    line ends; for a key that occurs several times, such as labs in [labs.a] and [labs.b], the
    first. The text itself, (), has line 1."""
    return _Walk(text).lines


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted_to, self._line = 0, 1
        self._lengths: dict[KeyPath, int] = {}  # of arrays of tables, so far
        self.lines: dict[KeyPath, int] = {(): 1}
        self._document()

    def _document(self) -> None:
        table: KeyPath = ()
        self._skip(_GAP)
        while self._at < len(self._text):
            if self._takes("[["):
                table = self._header("]]", is_array=True)
            elif self._takes("["):
                table = self._header("]", is_array=False)
            else:
                self._assignment(table)
            self._skip(_GAP)

    def _header(self, end: str, is_array: bool) -> KeyPath:
        *outer, last = self._key()
        self._takes(end)
        table: KeyPath = ()
        for part in outer:
            table = self._newest((*table, part))
        table = (*table, last)
        self._note(table)
        if not is_array:
            return table
        index = self._lengths.get(table, 0)
        self._lengths[table] = index + 1
        self._note((*table, index))
        return (*table, index)

    def _newest(self, table: KeyPath) -> KeyPath:
        """Note a table; return it, or the last one so far of an array of tables."""
        self._note(table)
        return (*table, self._lengths[table] - 1) if table in self._lengths else table

    def _assignment(self, table: KeyPath) -> None:
        for part in self._key():
            table = (*table, part)
            self._note(table)
        self._takes("=")
        self._value(table)

    def _key(self) -> list[str]:
        parts = []
        while match := _KEY_PART.match(self._text, self._at):
            word = match[1]
            parts.append(next(iter(tomllib.loads(f"{word} = 0"))) if word[0] in "\"'" else word)
            self._at = match.end()
            if not self._takes("."):
                break
        return parts

    def _value(self, place: KeyPath) -> None:
        self._skip(_GAP)
        self._note(place)
        if self._takes("["):
            index = 0
            while not self._closes("]"):
                self._value((*place, index))
                index += 1
        elif self._takes("{"):
            while not self._closes("}"):
                self._assignment(place)
        elif not self._skip(_STRING):
            self._skip(_PLAIN)

    def _closes(self, end: str) -> bool:
        """Skip commas, and the end of a list or an inline table; tell whether it, or the text,
        ended."""
        self._skip(_GAP)
        while self._takes(","):
            self._skip(_GAP)
        return self._takes(end) or self._at >= len(self._text)

    def _takes(self, token: str) -> bool:
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        return True

    def _note(self, place: KeyPath) -> None:
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        self.lines.setdefault(place, self._line)
