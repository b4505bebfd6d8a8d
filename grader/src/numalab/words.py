"""Format numbers and lists as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

# Above it, a double, which holds the values of records, can't represent each whole number.
_MOST_WHOLE = 2**53

StepReport = Callable[[str], None]  # called with a text for each step


class CountedStep(str):
    """The report of a step that is repeated, such as "timing, round 5"."""

    step: str  # the text without the count

    def __new__(cls, step: str, count: str) -> CountedStep:
        counted = super().__new__(cls, f"{step}, {count}")
        counted.step = step
        return counted


def percent(share: float) -> str:
    """Format a share (0 to 1) as a percentage; only 0 and 1 themselves become 0 % and 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def ratio(value: float) -> str:
    """Format a ratio of times: whole from 100 on, else with two decimals, and below 0.1 with two
    significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def short(value: float, digits: int = 3) -> str:
    """Format a number with at most `digits` significant digits. Up to 2**53, one with more digits
    before its point keeps all of those."""
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text and abs(value) <= _MOST_WHOLE else text


def first_upper(text: str) -> str:
    """Make the first letter upper case, and leave the others, unlike str.capitalize."""
    return text[:1].upper() + text[1:]


def count(number: int, noun: str) -> str:
    """Format a number with its noun, which gets an s unless the number is 1."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Join names: a; a and b; a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def some(names: Sequence[str]) -> str:
    """Join names as `listed` does; of more than three, the first two and the number of others."""
    return listed(names) if len(names) <= 3 else listed([*names[:2], f"{len(names) - 2} more"])


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, in which columns are as wide as their widest text, two blanks apart.
    Blanks at the ends of lines are left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def threads(numbers: Sequence[int]) -> str:
    """Name threads: thread 3; threads 0, 1, 2 and 5 more."""
    if len(numbers) == 1:
        return f"thread {numbers[0]}"
    if len(numbers) <= 4:
        return f"threads {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"threads {', '.join(map(str, numbers[:3]))} and {len(numbers) - 3} more"


def ranks(numbers: Sequence[int]) -> str:
    """Name ranks: rank 3; ranks 0, 1 and 2."""
    return threads(numbers).replace("thread", "rank")


def amount(size_bytes: float) -> str:
    """Format a number of bytes in the largest of GiB, MiB and KiB that it reaches, with one
    decimal; below them in bytes."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.1f} {unit}"
    return f"{size_bytes:.0f} bytes"


def bytes_allowed(count: int) -> str:
    """Format a limit on bytes, cut to whole MiB, or to whole KiB below 1 MiB."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def _value(number: float, digits: int = 6) -> str:
    """Format a number; whole ones up to 2**53 in full, since they are counts whose digits are
    compared."""
    if math.isnan(number):
        return "NaN"
    if abs(number) <= _MOST_WHOLE and number == math.trunc(number):
        return f"{number:.0f}"
    return f"{number:.{digits}g}"


def apart(actual: float, expected: float) -> tuple[str, str]:
    """Format two values as _value does, with the first of 6, 9 and 17 digits that tells them apart,
    or else with 17."""
    shown = _value(actual), _value(expected)
    for digits in (9, 17):
        if shown[0] == shown[1]:
            shown = _value(actual, digits), _value(expected, digits)
    return shown
