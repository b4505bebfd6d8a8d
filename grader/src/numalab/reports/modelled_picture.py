"""Draws modelled traffic on controllers, links and cores with plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from numalab.modelling.speedups import ModelledSpeedup
from numalab.reports.modelled_words import (
    NOTHING,
    UNRATED,
    UNRATED_MEANS,
    Bar,
    drawn_and_others,
    heads,
    others,
    reading,
    rows,
    sentences,
    title,
)
from numalab.terminal import kept_together

FIGURES = len(" 100.0  100 % *")
LEAST_BESIDE = 66  # columns
FULL, EMPTY = "#", "."


def modelled_pictures(found: Sequence[ModelledSpeedup], columns: int) -> Iterator[list[Text]]:
    """A picture for each machine, of the first that is compared there, with what else is compared
    in a line each; where nothing is modelled, the reason."""
    for machine in dict.fromkeys(one.machine for one in found):
        drawn, more = drawn_and_others([one for one in found if one.machine == machine])
        if drawn.speedup is None:
            yield _wrapped(drawn.why_not, columns, dim=False)
            continue
        lines = modelled_picture(drawn, columns)
        told = others(more)
        for one in told:
            lines += _wrapped(
                f"Modelled on {machine}, how many times as fast as {one.over}:", columns, dim=False
            )
            lines += _table(one.lines, columns)
        if any(line[-1].endswith(UNRATED) for one in told for line in one.lines):
            lines += _wrapped(UNRATED_MEANS, columns)
        yield lines


def _table(rows: Sequence[Sequence[str]], columns: int) -> Iterator[Text]:
    """The last column takes what is left, and goes on below itself."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    before = 2 + sum(widths) + 2 * len(widths)
    for row in rows:
        head = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        told = textwrap.wrap(row[-1], max(12, columns - before))
        yield Text(f"  {head}  {told[0]}")
        for line in told[1:]:
            yield Text(" " * before + line)


def modelled_picture(comparison: ModelledSpeedup, columns: int) -> list[Text]:
    """A row for each part of the machine, yours beside what it is compared with; below it where
    there is no room."""
    found = rows(comparison)
    longest = max(bar.ms_per_gb or 0.0 for row in found for bar in (row.yours, row.theirs))
    first, *more = sentences(comparison)
    lines = [Text(line, style="bold") for line in textwrap.wrap(first, columns)]
    for said in (*more, f"{title(comparison)}:"):
        lines += _wrapped(said, columns, dim=False)
    labels = [row.label for row in found]
    sides = [
        (head, [bars[side] for bars in ((row.yours, row.theirs) for row in found)])
        for side, head in enumerate(heads(comparison))
    ]
    if columns >= LEAST_BESIDE:
        lines += _drawn(labels, sides, longest, columns)
    else:
        for one in sides:
            lines += _drawn(labels, [one], longest, columns)
    for said in reading(comparison):
        lines += _wrapped(said, columns)
    return lines


def _drawn(
    labels: Sequence[str], sides: Sequence[tuple[str, Sequence[Bar]]], longest: float, columns: int
) -> Iterator[Text]:
    """sides: with their heads, next to each other; longest: of all bars, in ms."""
    label_columns = 2 + max(map(len, labels))
    side_columns = (columns - label_columns - 2 * (len(sides) - 1)) // len(sides)
    bar_columns = max(1, side_columns - FIGURES)
    told = "  ".join(f"{head[:side_columns]:<{side_columns}}" for head, _ in sides)
    yield Text(f"{'':<{label_columns}}{told}".rstrip())
    for number, label in enumerate(labels):
        line = Text(f"{label:<{label_columns}}")
        for side, (_, bars) in enumerate(sides):
            line.append("  " if side else "")
            line.append_text(_bar(bars[number], longest, bar_columns))
        line.rstrip()
        yield line


def _bar(bar: Bar, longest: float, columns: int) -> Text:
    if bar == NOTHING:
        return Text(" " * (columns + FIGURES))
    if bar.ms_per_gb is None:
        figures = f"   -   {100 * bar.share:4.0f} %"
        return Text(f"{'no rate':<{columns}}{figures:<{FIGURES}}", style="dim")
    full = round(columns * bar.ms_per_gb / longest)
    text = Text(FULL * full, style="bold" if bar.is_bottleneck else "")
    text.append(EMPTY * (columns - full), style="dim")
    mark = "*" if bar.is_bottleneck else ""
    figures = f" {bar.ms_per_gb:5.1f} {100 * bar.share:4.0f} % {mark}"
    text.append(f"{figures:<{FIGURES}}", style="bold" if bar.is_bottleneck else "")
    return text


def _wrapped(said: str, columns: int, dim: bool = True) -> list[Text]:
    style = "dim" if dim else ""
    return [Text(kept_together(line), style=style) for line in textwrap.wrap(said, columns)]
