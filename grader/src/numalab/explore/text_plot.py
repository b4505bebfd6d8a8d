"""Plot curves in plain characters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROWS = 11
LABEL_COLUMNS = 8  # for values on the left, with the axis
MOST_COLUMNS = 80
BOTH = "*"  # where curves meet


@dataclass(frozen=True)
class PlotSeries:
    """A curve. mark: the character that draws it; values: by position on the x axis, from 0."""

    mark: str
    name: str
    values: Mapping[int, float]


@dataclass(frozen=True)
class Axis:
    """The axis of values.

    Attributes:
        unit: shown at its upper end; may be empty.
        rows: the number of lines, 2 or more.
        top: None: the axis is logarithmic, for values above 0. Else it is linear from 0 to `top`,
            and the curves' points at a position are drawn side by side.
    """

    unit: str
    rows: int = ROWS
    top: float | None = None


def text_plot(
    series: Sequence[PlotSeries], places: Sequence[str], marks: Mapping[int, str], axis: Axis
) -> list[str]:
    """Return the lines of a plot; none where no series has a value.
    places: names of the positions on the x axis, 1 to 72; marks: short words below the axis, by
    position."""
    all_values = [value for one in series for value in one.values.values()]
    if not all_values:
        return []
    width = min(8, (MOST_COLUMNS - LABEL_COLUMNS) // len(places))
    low, high = min(all_values), max(all_values)

    def middle(place: int) -> int:
        return place * width + width // 2

    def row_of(value: float) -> int:
        if axis.top is not None:
            part = value / axis.top
        else:
            part = math.log(value / low) / (math.log(high / low) or 1.0)
        return round((axis.rows - 1) * min(part, 1.0))

    def value_of(row: int) -> float:
        part = row / (axis.rows - 1)
        return axis.top * part if axis.top is not None else low * (high / low) ** part

    grid = [[" "] * (width * len(places)) for _ in range(axis.rows)]
    for index, one in enumerate(series):
        beside = index - len(series) // 2 if axis.top is not None else 0
        for place, value in one.values.items():
            row = grid[row_of(value)]
            column = min(max(middle(place) + beside, place * width), (place + 1) * width - 1)
            row[column] = one.mark if row[column] == " " else BOTH
    lines = [f"{'':{LABEL_COLUMNS}}{', '.join(f'{one.mark} {one.name}' for one in series)}"]
    labelled = {0, axis.rows // 2, axis.rows - 1}
    for number in range(axis.rows - 1, -1, -1):
        label = _short(value_of(number)) if number in labelled else ""
        if number == axis.rows - 1:
            label = f"{label} {axis.unit}".rstrip()
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
    """Return a line with words centred on their columns, without those that would touch the one
    before."""
    line = ""
    for column in sorted(words):
        word = words[column]
        start = max(0, column - (len(word) - 1) // 2)
        if start <= len(line) and line:
            continue
        line = f"{line:<{start}}{word}"
    return f"{'':{LABEL_COLUMNS}}{line}".rstrip()
