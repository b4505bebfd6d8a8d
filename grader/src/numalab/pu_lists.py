"""Parse and format lists of PU numbers: "0-3,8" as Linux writes them, and with strides,
"0-30:2"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LINUX_PUS = 8192  # the most that Linux is built for on x86


class BadList(ValueError):
    """A text that is no list of PUs; the message says why."""


def kernel_pus(text: str) -> frozenset[int]:
    """Parse a list as Linux prints it; an empty one, or "(null)", has no PU. Raises BadList."""
    text = text.replace("(null)", "").strip()
    return frozenset(parse_pus(text)) if text else frozenset()


def kernel_list(numbers: Iterable[int]) -> str:
    """Format numbers, without repeats, as Linux takes and shows them: 0-3,8."""
    ordered = sorted(numbers)
    parts: list[tuple[int, int]] = []
    for at, number in enumerate(ordered):
        if at and number == ordered[at - 1] + 1:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def parse_pus(text: str, most: int = LINUX_PUS) -> tuple[int, ...]:
    """Return the numbers of a list such as "0-12:4,64,68", in its order and with its repeats. most:
    number of PUs that a machine may have. Raises BadList."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(
            r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18})(?:\s*:\s*(\d{1,18}))?)?\s*", part, re.ASCII
        )
        if match is None:
            raise BadList(
                f"'{part.strip()[:80]}' is no PU list; write numbers, ranges (0-7) and ranges with "
                'a stride (0-30:2), separated by commas: "0-28:4,64,68"'
            )
        first, last, stride = (int(digits) if digits else None for digits in match.groups())
        assert first is not None
        last = first if last is None else last
        stride = 1 if stride is None else stride
        if last < first or stride < 1:
            raise BadList(
                f"'{part.strip()}' names no PU; a range goes upwards, its stride is 1 or more"
            )
        if last >= most:
            raise BadList(
                f"PU {last}: a machine has at most {most} PUs here, numbered 0 to "
                f"{most - 1}; describe a part of it"
            )
        numbers.extend(range(first, last + 1, stride))
    return tuple(numbers)


def format_pus(numbers: Sequence[int]) -> str:
    """Format numbers as parse_pus reads them back, in the same order. Three or more with a constant
    positive stride become a range."""
    parts = []
    at = 0
    while at < len(numbers):
        end = at + 1
        stride = numbers[end] - numbers[at] if end < len(numbers) else 0
        while stride > 0 and end < len(numbers) and numbers[end] - numbers[end - 1] == stride:
            end += 1
        if end - at < 3:
            parts.append(str(numbers[at]))
            at += 1
            continue
        step = "" if stride == 1 else f":{stride}"
        parts.append(f"{numbers[at]}-{numbers[end - 1]}{step}")
        at = end
    return ",".join(parts)
