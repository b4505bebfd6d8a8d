"""A table of a TOML file, whose keys are checked when it is made, and values when they are read.

    top = parse_table(text, "course.toml", UserError, ("title", "late"))
    title = top.text("title", default="")
    late = top.table("late", ("per_day",))

A mistake is raised as the caller's exception, with the name of the file and a line.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from numalab.files import MIB, NotPlain, read_plain_text
from numalab.toml_files.lines import KeyPath, lines_of
from numalab.untrusted.visible import shortened, visible

MakeError = Callable[[str], Exception]
LONGEST_VALUE = 60  # characters of a value that toml_value shows
LONGEST_MESSAGE = 1_500
LARGEST_FILE_BYTES = MIB  # numalab's own are far smaller
DEEPEST = 24  # levels of lists and tables, with the file's own table and those of dotted keys
# The integers that TOML requires (https://toml.io/en/v1.0.0#integer); no file needs larger ones.
_INT64 = range(-(2**63), 2**63)
_LONG_NUMBER = re.compile(r"[0-9_]{1000}")

_T = TypeVar("_T")
_NEEDED: Any = object()  # in the place of a default: the key has to be there


def toml_value(value: Any) -> str:
    """Return a value for a message, about as TOML has it; after LONGEST_VALUE characters the rest
    is replaced by " ..."."""
    if isinstance(value, bool):
        said = str(value).lower()
    elif isinstance(value, datetime | date | time):
        said = value.isoformat()
    else:
        said = repr(value)
    return said if len(said) <= LONGEST_VALUE else f"{said[:LONGEST_VALUE]} ..."


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return a blank and a question with the known word that is most like a word (difflib); empty
    where none is close."""
    plain = re.sub(r"[\s-]+", "_", word.lower())
    near = difflib.get_close_matches(plain, known, n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


class TomlFile:
    """The text of a TOML file.

    Attributes:
        name: the file's in messages; empty: they begin with the line.
        error: makes the exception for a message.
        top_keys: keys that belong above the first table header.
    """

    def __init__(self, text: str, name: str, error: MakeError) -> None:
        self.text, self.name, self.error = text, name, error
        self.top_keys: Collection[str] = ()

    @cached_property
    def _lines(self) -> Mapping[KeyPath, int]:
        return lines_of(self.text.replace("\r\n", "\n"))

    def line(self, place: KeyPath) -> int:
        """Return the line of a place; where it is missing, of the innermost one around it."""
        while place not in self._lines:
            place = place[:-1]
        return self._lines[place]

    def made_error(self, line: int, message: str) -> Exception:
        """Return the file's error with a line and a message. message: may quote the file; it is
        made visible and cut to LONGEST_MESSAGE characters."""
        where = f"{self.name}:{line}" if self.name else f"line {line}"
        # The name is numalab's; the message may have untrusted input.
        return self.error(f"{where}: {shortened(visible(message), LONGEST_MESSAGE)}")


class Table:
    """A table of a TOML file.

    Methods that return a key's value raise the file's error where it is not what they say and, if
    they say nothing else, where the key is missing and they are given no default. A default is not
    checked.

    Attributes:
        place: keys and indices that lead to it.
        values: its keys and values.
    """

    def __init__(
        self,
        file: TomlFile,
        place: KeyPath,
        values: Mapping[str, Any],
        keys: Collection[str] | None,
    ) -> None:
        """Make the table. keys: those that it may have; None: any. Raises the file's error for
        another key."""
        self.file, self.place, self.values = file, place, values
        if keys is not None:
            self.check_keys(keys)

    def check_keys(self, keys: Collection[str]) -> None:
        """Raise the file's error where there is a key that is not among `keys`."""
        for key in self.values:
            if key not in keys:
                self._refuse_key(key, keys)

    def _refuse_key(self, key: str, keys: Collection[str]) -> NoReturn:
        # A common mistake in TOML: a line below a header belongs to that header's table.
        if key in self.file.top_keys:
            hint = f" It belongs to no table: move it above the first {self.header}"
        else:
            hint = f"{did_you_mean(key, keys)} The keys are: {', '.join(keys)}"
        inside = f" in {self.header}" if self.place else ""
        self.fail(f"unknown key '{key}'{inside}.{hint}", key)

    @property
    def header(self) -> str:
        """The table's header, such as [late] or [[criterion]]; empty for the file's own keys."""
        names = ".".join(str(part) for part in self.place if isinstance(part, str))
        if not names:
            return ""
        return f"[[{names}]]" if isinstance(self.place[-1], int) else f"[{names}]"

    def fail(self, message: str, *place: str | int) -> NoReturn:
        """Raise the file's error with the line of a place in this table, or of what surrounds
        it."""
        raise self.file.made_error(self.file.line((*self.place, *place)), message)

    def refuse(self, key: str, advice: str) -> NoReturn:
        """Raise the file's error for the value of a key. advice: what to write instead."""
        self.fail(f"'{key}' is {toml_value(self.values[key])}; {advice}", key)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def need(self, *keys: str) -> None:
        """Raise the file's error for the first of the keys that is missing."""
        for key in keys:
            if key not in self.values:
                self.fail(f"{self.header or 'the file'} has no key '{key}'; add it")

    def _taken(self, key: str, default: Any, read: Callable[[Any], _T]) -> _T:
        if key not in self.values and default is not _NEEDED:
            value: _T = default
            return value
        self.need(key)
        return read(self.values[key])

    def maybe(self, key: str, take: Callable[[str], _T]) -> _T | None:
        """Return what `take`, such as self.text, returns for a key; None where it is missing."""
        return take(key) if key in self.values else None

    def text(self, key: str, default: str = _NEEDED) -> str:
        """Return a text; without a default it has to have more than white space."""

        def read(value: Any) -> str:
            if not isinstance(value, str):
                self.refuse(key, "write a text in quotes")
            if default is _NEEDED and not value.strip():
                self.refuse(key, "it has to be more than nothing")
            return value

        return self._taken(key, default, read)

    def choice(self, key: str, allowed: Collection[_T], default: _T = _NEEDED) -> _T:
        """Return the one of the allowed values that a key's value equals."""

        def read(value: Any) -> _T:
            for word in allowed:
                if word == value:
                    return word
            words = [str(word) for word in allowed]
            near = did_you_mean(value, words) if isinstance(value, str) else ""
            self.fail(f"'{key}' is {toml_value(value)}.{near} It can be: {', '.join(words)}", key)

        return self._taken(key, default, read)

    def truth(self, key: str, default: bool = _NEEDED) -> bool:
        """Return true or false."""

        def read(value: Any) -> bool:
            if not isinstance(value, bool):
                self.refuse(key, "write true or false")
            return value

        return self._taken(key, default, read)

    def whole(self, key: str, least: int, default: int = _NEEDED) -> int:
        """Return a whole number that is least or more."""
        return self._taken(key, default, lambda value: self.whole_value(value, least, key))

    def whole_value(self, value: Any, least: int, *place: str | int, name: str = "") -> int:
        """Return a value if it is a whole number that is least or more, else raise the file's
        error. place: where the value is in this table; name: for messages; empty: the key."""
        name = name or f"'{place[0]}'"
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(f"{name} is {toml_value(value)}; write a whole number", *place)
        if value < least:
            self.fail(f"{name} is {value}; it must be {least} or more", *place)
        return value

    def number(
        self,
        key: str,
        least: float = -math.inf,
        most: float = math.inf,
        default: float = _NEEDED,
    ) -> float:
        """Return a finite number from least to most, an int or a float as the file has it."""

        def read(value: Any) -> float:
            if not isinstance(value, int | float) or isinstance(value, bool):
                self.refuse(key, "write a number")
            if not math.isfinite(value):
                self.refuse(key, "write a finite number")
            if not least <= value <= most:
                self.refuse(key, f"it must be {_reach(least, most)}")
            return value

        return self._taken(key, default, read)

    def moment(self, key: str, needs_zone: bool = True) -> datetime:
        """Return a date with a time and its zone, which may be missing with needs_zone=False."""
        example = "such as 2027-05-03T23:59:00+02:00"

        def read(value: Any) -> datetime:
            if not isinstance(value, datetime):
                self.refuse(key, f"write a time without quotes, {example}")
            if value.tzinfo is None and needs_zone:
                self.refuse(key, f"write a time with its zone, {example}")
            return value

        return self._taken(key, _NEEDED, read)

    def texts(self, key: str, default: Sequence[str] = _NEEDED) -> tuple[str, ...]:
        """Return the texts of a list; the list and its texts may be empty."""

        def read(value: Any) -> tuple[str, ...]:
            if not isinstance(value, list):
                self.refuse(key, 'write a list of texts: ["..."]')
            for index, text in enumerate(value):
                if not isinstance(text, str):
                    holds = f"'{key}' holds {toml_value(text)}"
                    self.fail(f"{holds}; write a text in quotes", key, index)
            return tuple(value)

        return self._taken(key, default if default is _NEEDED else tuple(default), read)

    def choices(
        self, key: str, allowed: Collection[_T], default: Sequence[_T] = _NEEDED
    ) -> tuple[_T, ...]:
        """Return the allowed words that a list of texts names, in its order, at least one."""
        if key not in self.values and default is not _NEEDED:
            return tuple(default)
        given = self.texts(key)
        by_name = {str(word): word for word in allowed}
        for index, text in enumerate(given):
            if text not in by_name:
                hint = f"{did_you_mean(text, by_name)} It can hold: {', '.join(by_name)}"
                self.fail(f"'{key}' holds '{text}'.{hint}", key, index)
        if not given:
            self.refuse(key, f"write a list of some of: {', '.join(by_name)}")
        return tuple(by_name[text] for text in given)

    def wholes(self, key: str, least: int) -> tuple[int, ...]:
        """Return the whole numbers of a list, at least one, each of which is least or more."""

        def read(value: Any) -> tuple[int, ...]:
            if not isinstance(value, list) or not value:
                self.refuse(key, "write a list of whole numbers: [1, 2]")
            name = f"a number in '{key}'"
            return tuple(
                self.whole_value(number, least, key, index, name=name)
                for index, number in enumerate(value)
            )

        return self._taken(key, _NEEDED, read)

    def table(self, key: str, keys: Collection[str] | None) -> Table:
        """Return the table [key], or an empty one where it is missing. keys: as for Table."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.refuse(
                key, f"it is a table of its own: write [{self._header_of(key)}] above its keys"
            )
        return Table(self.file, (*self.place, key), value, keys)

    def tables(self, key: str, keys: Collection[str] | None) -> list[Table]:
        """Return the tables [[key]], in order; none where they are missing. keys: as for Table."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            header = f"[[{self._header_of(key)}]]"
            self.fail(f"'{key}' is a table of its own; write {header} above its keys", key)
        return [
            Table(self.file, (*self.place, key, index), entry, keys)
            for index, entry in enumerate(value)
        ]

    def _header_of(self, key: str) -> str:
        return ".".join([*(str(part) for part in self.place if isinstance(part, str)), key])

    def text_values(self) -> dict[str, str]:
        """Return the table's keys and values, which have to be texts and may be empty."""
        return {key: self.text(key, default="") for key in self.values}


def _reach(least: float, most: float) -> str:
    if least == -math.inf:
        return f"{most:g} or less"
    return f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"


def parse_table(
    text: str, name: str, error: MakeError, keys: Collection[str] | None, example: str = ""
) -> Table:
    """Parse a text and return the table of the file's own keys.

    Args:
        name, error: as for TomlFile.
        keys: as for Table.
        example: advice where the text is no TOML, such as a line of such a file.

    Raises the file's error where the text is no TOML, too long or nested too deep, or has a number
    that is too large or a key that is not among `keys`.
    """
    file = TomlFile(text, name, error)
    if len(text) > LARGEST_FILE_BYTES:
        raise file.made_error(1, f"it is longer than {LARGEST_FILE_BYTES >> 20} MiB")
    try:
        values = tomllib.loads(text)
        is_deep = _is_too_deep(values)
    except tomllib.TOMLDecodeError as cause:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(cause))
        said = str(cause)[: place.start()] if place else str(cause)
        line = int(place[1]) if place and place[1] else max(1, len(text.splitlines()))
        advice = example or "correct the line"
        raise file.made_error(line, f"this is not TOML: {said}; {advice}") from cause
    except ValueError as cause:  # Python reads at most 4,300 digits
        number = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, number.start()) + 1 if number else 1
        raise file.made_error(line, "a number has more digits than can be read") from cause
    except RecursionError:
        is_deep = True
    if is_deep:
        raise file.made_error(1, "its lists or tables are too deep inside one another")
    for where, value in _integers((), values):
        if value not in _INT64:
            raise file.made_error(file.line(where), "a whole number is too large: 64 bits are read")
    file.top_keys = () if keys is None else keys
    return Table(file, (), values, keys)


def _is_too_deep(values: Mapping[str, Any]) -> bool:
    """Tell whether values nest deeper than DEEPEST. Not recursive, since dotted keys can nest
    deeper than Python's calls."""
    level: list[Any] = [values]
    for _ in range(DEEPEST):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [each for some in inner for each in some if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _integers(place: KeyPath, value: Any) -> Iterator[tuple[KeyPath, int]]:
    """Yield all whole numbers, and booleans, with their places."""
    if isinstance(value, int):
        yield place, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _integers((*place, key), inner)


def read_text(path: Path, error: MakeError) -> str:
    """Return the text of a TOML file with Unix line ends. Raises the error where it is not plain
    (NotPlain) or not UTF-8, and FileNotFoundError where there is no such file."""
    try:
        return read_plain_text(path, LARGEST_FILE_BYTES, follow_links=True)
    except NotPlain as cause:
        raise error(f"{path}: it {cause}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{path}: this is no text in UTF-8; save it as UTF-8") from cause


def read_table(path: Path, error: MakeError, keys: Collection[str] | None) -> Table:
    """Return the table of a file's own keys. keys: as for Table. Raises the error for a mistake."""
    try:
        text = read_text(path, error)
    except FileNotFoundError as cause:
        raise error(f"{path}: can't read it: {cause.strerror}") from cause
    return parse_table(text, str(path), error, keys)
