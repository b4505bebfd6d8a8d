"""A picture of curves in plain characters, 80 columns or fewer, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROWS = 11
LABEL_COLUMNS = 8  # of values on the left, with the axis
MOST_COLUMNS = 80
BOTH = "*"


@dataclass(frozen=True)
class Series:
    """mark: one character; values by place on the x axis, from 0, above 0."""

    mark: str
    name: str
    values: Mapping[int, float]


def text_plot(
    series: Sequence[Series], places: Sequence[str], marks: Mapping[int, str], unit: str
) -> list[str]:
    """Lines: the legend, rows on a logarithmic scale, the axis with the places' names, and marks
    (short words) below their places. Where two curves meet: *. No value: no line."""
    all_values = [value for one in series for value in one.values.values()]
    if not all_values:
        return []
    width = min(8, (MOST_COLUMNS - LABEL_COLUMNS) // len(places))
    low, high = min(all_values), max(all_values)
    span = math.log(high / low) or 1.0

    def row_of(value: float) -> int:
        return round((ROWS - 1) * math.log(value / low) / span)

    def middle(place: int) -> int:
        return place * width + width // 2

    grid = [[" "] * (width * len(places)) for _ in range(ROWS)]
    for one in series:
        for place, value in one.values.items():
            row = grid[row_of(value)]
            column = middle(place)
            row[column] = one.mark if row[column] == " " else BOTH
    lines = [f"{'':{LABEL_COLUMNS}}{', '.join(f'{one.mark} {one.name}' for one in series)}"]
    shown = {0: low, ROWS // 2: low * math.exp(span * (ROWS // 2) / (ROWS - 1)), ROWS - 1: high}
    for number in range(ROWS - 1, -1, -1):
        label = _short(shown[number]) if number in shown else ""
        if number == ROWS - 1:
            label = f"{label} {unit}"
        lines.append(f"{label:>{LABEL_COLUMNS - 2}} |{''.join(grid[number])}".rstrip())
    lines.append(f"{'':{LABEL_COLUMNS - 1}}+{'-' * (width * len(places))}")
    lines.append(_placed({middle(i): name for i, name in enumerate(places)}))
    if marks:
        lines.append(_placed({middle(place): "^" for place in marks}))
        lines.append(_placed({middle(place): word for place, word in marks.items()}))
    return lines


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"


def _placed(words: Mapping[int, str]) -> str:
    """Words around their columns, which never touch: one that would is left out."""
    line = ""
    for column in sorted(words):
        word = words[column]
        start = max(0, column - (len(word) - 1) // 2)
        if start <= len(line) and line:
            continue
        line = f"{line:<{start}}{word}"
    return f"{'':{LABEL_COLUMNS}}{line}".rstrip()
