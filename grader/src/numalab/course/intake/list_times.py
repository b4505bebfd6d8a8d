"""Read times as Moodle writes them for people, in the language of the user who downloads a list.

`Saturday, 21 November 2026, 11:30 PM` or `segunda-feira, 14 set. 2026, 21:51`: names of months,
days of the week and halves of the day are those of CLDR (Babel), whole or abbreviated, besides am
and pm. A day of the week has to be that of the date, so that a word is not read as another
language's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from babel import Locale, UnknownLocaleError, localedata

_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}) ?[:.h] ?(\d{2})(?::(\d{2}))?(?![\d:])")
_WORD = re.compile(r"\d+|[^\W\d_][\w'\u2019./-]*")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
# A date in Chinese, Japanese and Korean, in which signs mark year, month and day.
_UNITS = re.compile(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일]")
_MOST_LETTERS = 120
# The longest word that may join others (21 de novembro, at, alle); a longer one has to be known.
_MOST_JOINING = 4
# strftime's own words, which it uses if a system has none in a language.
_HALVES = {"am": "am", "pm": "pm"}


def _plain(word: str) -> str:
    """Return a word without case, full stops and blanks: `a. m.` becomes am."""
    return re.sub(r"[\s.]", "", word).casefold()


@dataclass(frozen=True)
class _Names:
    """Words of one language, in the form of _plain: months (1 to 12) and days of the week (0 is
    Monday), halves of the day as am or pm, and fillers that may follow a time."""

    months: Mapping[str, int]
    days: Mapping[str, int]
    halves: Mapping[str, str]
    fillers: frozenset[str]


def _value_by_name(
    contexts: Mapping[str, Mapping[str, Mapping[Any, str]]],
) -> Iterator[tuple[str, Any]]:
    """Yield each name with its value, except the narrow ones for the columns of a calendar."""
    for widths in contexts.values():
        for width in widths:
            if width != "narrow":
                for value, name in widths[width].items():
                    yield _plain(name), value


@cache
def _names(locale: str) -> _Names:
    found = Locale.parse(locale)
    halves = {
        word: half for word, half in _value_by_name(found.day_periods) if half in ("am", "pm")
    }
    styles = (*found.time_formats.values(), *found.datetime_skeletons.values())
    literals = re.findall(r"'([^']+)'", " ".join(str(style.pattern) for style in styles))
    return _Names(
        dict(_value_by_name(found.months)),
        dict(_value_by_name(found.days)),
        _HALVES | halves,
        frozenset(map(_plain, literals)) | {""},
    )


def _hour(hour: int, half: str | None) -> int | None:
    """Return the hour of 24 that an hour and a half of the day mean, unchecked; None for am with an
    hour above 12. half: am, pm or None. Polish packs write a half of the day next to an hour of
    24."""
    if half is None or hour > 12 or hour == 0:
        return None if half == "am" and hour else hour
    return hour % 12 + (12 if half == "pm" else 0)


def _moment(
    date: tuple[int, int, int], hour: int, clock: re.Match[str], days: Collection[int]
) -> datetime | None:
    """Return the time of a date (year, month, day); 24:00 is the end of the day. None if there is
    no such time, or `days` of the week are given and the date is none of them."""
    minute, second = int(clock[2]), int(clock[3] or 0)
    try:
        midnight = datetime(*date)
        if (hour, minute, second) == (24, 0, 0):
            found = midnight + timedelta(days=1)
        else:
            found = midnight.replace(hour=hour, minute=minute, second=second)
    except (ValueError, OverflowError):
        return None
    return found if not days or midnight.weekday() in days else None


def _parse_units(
    text: str, date: re.Match[str], clock: re.Match[str], names: _Names
) -> datetime | None:
    """Parse a date whose numbers have units; a half of the day may stand before the time. None if
    it is not understood."""
    between = [_plain(word) for word in _WORD.findall(text[date.end() : clock.start()])]
    halves = [names.halves[word] for word in between if word in names.halves]
    days = {names.days[word] for word in between if word in names.days}
    is_known = all(word in names.halves or word in names.days for word in between)
    hour = _hour(int(clock[1]), halves[0] if halves else None)
    if not is_known or len(halves) > 1 or text[clock.end() :].strip(" ,") or hour is None:
        return None
    year, month, day = (int(number) for number in date.groups())
    return _moment((year, month, day), hour, clock, days)


def parse_time(text: str, locale: str) -> datetime | None:
    """Return the time of a text in a language, without a zone; None if it is not understood.

    It needs a day, a month by its name, a year of four digits and a time, in the first 120
    characters. Short unknown words before the time are ignored; after it may be a half of the day,
    or a word of the language's formats of times. If signs mark year, month and day (_UNITS), they
    are numbers, and between date and time may be days of the week and one half of the day. locale:
    CLDR's name, which Babel's Locale.parse must know.
    """
    text = " ".join(text[:_MOST_LETTERS].split())
    clocks = list(_CLOCK.finditer(text))
    if len(clocks) != 1:
        return None
    clock, names = clocks[0], _names(locale)
    date = _UNITS.search(text)
    if date is not None:
        return _parse_units(text, date, clock, names)
    before, behind = text[: clock.start()], _plain(text[clock.end() :].strip(" ,"))
    half = names.halves.get(behind)
    if half is None and behind not in names.fillers:
        return None
    words = _WORD.findall(before)
    numbers = [int(word) for word in words if word.isdigit() and len(word) <= 4]
    months = {names.months[w] for word in words if (w := _plain(word)) in names.months}
    days = {names.days[w] for word in words if (w := _plain(word)) in names.days}
    # A word can be a day's and a month's: mar. is a Tuesday and March.
    hour = _hour(int(clock[1]), half)
    known = names.months.keys() | names.days.keys()
    if any(len(w) > _MOST_JOINING and _plain(w) not in known for w in words if not w.isdigit()):
        return None
    if len(numbers) != 2 or not months or hour is None:
        return None
    day, year = sorted(numbers)
    if year < 1000:
        return None
    times = (_moment((year, month, day), hour, clock, days) for month in sorted(months))
    return next((time for time in times if time is not None), None)


def _locales(preferred: Iterable[str]) -> Iterator[str]:
    """Yield the preferred locales, then languages of CLDR."""
    yield from preferred
    for name in sorted(localedata.locale_identifiers()):
        if "_" not in name and name != "root":
            yield name


def read_times(texts: Sequence[str], preferred: Sequence[str]) -> list[datetime | None]:
    """Return the time of each text of a column, None if it is not understood. Those that are not in
    ISO 8601 are read in one language: of those in which one of the first three is understood, the
    one in which most are. preferred: CLDR locales that are tried first. Times have a zone only if
    their text has one."""
    found = [_iso(text) for text in texts]
    left = [index for index, time in enumerate(found) if time is None]
    best: dict[int, datetime] = {}
    for locale in _locales(preferred) if left else ():
        try:
            # A language in which none of the first ones is understood is not the column's.
            some = left[:3]
            if not any(parse_time(texts[index], locale) for index in some):
                continue
        except (UnknownLocaleError, LookupError, ValueError):
            continue
        read = {i: time for i in left if (time := parse_time(texts[i], locale)) is not None}
        if len(read) > len(best):
            best = read
        if len(best) == len(left):
            break
    for index, time in best.items():
        found[index] = time
    return found


def _iso(text: str) -> datetime | None:
    if not _ISO.match(text):
        return None
    at_midnight = re.sub(r"(?<=^.{10}[T ])24(?=:00(?::00)?(?![\d.:]))", "00", text)
    try:
        found = datetime.fromisoformat(at_midnight)
        return found if at_midnight == text else found + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
