"""Draws modelled traffic on controllers, links and cores with plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from numalab.modelling.of_evidence import Comparison
from numalab.reports.modelled_words import (
    NOTHING,
    Bar,
    heads,
    in_one_line,
    reading,
    rows,
    sentences,
    title,
)
from numalab.terminal import kept_together

FIGURES = len(" 100.0  100 % *")
FULL, EMPTY = "#", "."


def modelled_pictures(found: Sequence[Comparison], columns: int) -> Iterator[list[Text]]:
    """A picture for each machine, of the first that is compared there, with what else is compared
    in a line each."""
    machines = dict.fromkeys(one.machine for one in found)
    for machine in machines:
        here = [one for one in found if one.machine == machine]
        drawn = next((one for one in here if one.speedup is not None), None)
        lines: list[Text] = []
        if drawn is not None:
            lines += modelled_picture(drawn, columns)
        told = dict.fromkeys(in_one_line(one) for one in here if one is not drawn)
        for said in told:
            lines += _wrapped(said, columns)
        yield lines


def modelled_picture(comparison: Comparison, columns: int) -> list[Text]:
    """A row for each part of the machine, yours beside what it is compared with."""
    found = rows(comparison)
    label_columns = 2 + max(len(row.label) for row in found)
    bar_columns = max(4, (columns - label_columns) // 2 - FIGURES - 2)
    longest = max(bar.ms_per_gb or 0.0 for row in found for bar in (row.yours, row.theirs))
    lines = [Text(line, style="bold") for line in textwrap.wrap(sentences(comparison)[0], columns)]
    for said in sentences(comparison)[1:]:
        lines += _wrapped(said, columns, dim=False)
    lines += _wrapped(f"{title(comparison)}:", columns, dim=False)
    sides = [f"{head[: bar_columns + FIGURES]:<{bar_columns + FIGURES + 2}}"
             for head in heads(comparison)]  # fmt: skip
    lines.append(Text(f"{'':<{label_columns}}{''.join(sides)}".rstrip()))
    for row in found:
        line = Text(f"{row.label:<{label_columns}}")
        for number, bar in enumerate((row.yours, row.theirs)):
            line.append("" if number == 0 else "  ")
            line.append_text(_bar(bar, longest, bar_columns))
        line.rstrip()
        lines.append(line)
    for said in reading(comparison):
        lines += _wrapped(said, columns)
    return lines


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
