"""Draws for how much of the time each thread works, with plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text

from numalab.reports.comparison import WorkView, place_words
from numalab.reports.touch_map import OWNERS, symbol
from numalab.words import percent

MOST_ROWS = 16
FIGURE_COLUMNS = len(" over 99 %")
MANY = "#"
DISTURBED = (
    "The solution's threads lost cores to other programs while they were looked at, and so are "
    "uneven, too. Yours are more uneven than such waiting explains."
)


def remarks(sight: WorkView) -> list[str]:
    """What the bars don't show."""
    said = [DISTURBED] if sight.solution_is_disturbed else []
    if sight.is_spinning:
        said.append(
            "Busy is not at work here: the team takes "
            f"{sight.yours.inflation or 0.0:.2f} times the CPU time of one thread."
        )
    return said


def _grouped(shares: Sequence[float], rows: int) -> list[tuple[int, int, float]]:
    """First and last thread of each row, and the mean of their shares."""
    found = []
    for row in range(rows):
        first = row * len(shares) // rows
        last = (row + 1) * len(shares) // rows
        found.append((first, last - 1, sum(shares[first:last]) / (last - first)))
    return found


def _bar(share: float, columns: int, character: str, style: str) -> Text:
    full = round(min(share, 1.0) * columns)
    text = Text(character * full, style=f"{style} reverse")
    text.append("." * (columns - full), style="dim")
    text.append(f"{f' {percent(share)}':<{FIGURE_COLUMNS}}")
    return text


def work_picture(sight: WorkView, columns: int) -> list[Text]:
    """A line per thread, or one for several next to each other; the solution's at its side."""
    shares = [sight.yours.thread_shares]
    if sight.solution is not None:
        shares.append(sight.solution.thread_shares)
    threads = max(map(len, shares))
    shares = [(*of_one, *(0.0,) * (threads - len(of_one))) for of_one in shares]
    rows = min(threads, MOST_ROWS)
    is_grouped = rows < threads
    by_owner = [_grouped(of_one, rows) for of_one in shares]
    labels = [
        f"threads {first}-{last}" if last > first else f"thread {first}"
        for first, last, _ in by_owner[0]
    ]
    label_columns = 1 + max(map(len, labels))
    bar_columns = (columns - label_columns) // len(shares) - FIGURE_COLUMNS - 2
    place = "" if sight.where == "here" else f" on {place_words(sight.where)}"
    what = "these threads work (mean)" if is_grouped else "a thread works"
    part = f" in {sight.part}" if sight.part else ""
    lines = [Text(f"Work{part}{place}: for how much of a call {what}", style="bold")]
    if len(shares) > 1:
        heads = "".join(f"{owner:<{bar_columns + FIGURE_COLUMNS + 2}}" for owner in OWNERS)
        lines.append(Text(f"{'':<{label_columns}}{heads}".rstrip()))
    for row, label in enumerate(labels):
        line = Text(f"{label:<{label_columns}}")
        for number, of_one in enumerate(by_owner):
            first, last, share = of_one[row]
            character, style = symbol(first)
            line.append("" if number == 0 else "  ")
            line.append_text(_bar(share, bar_columns, MANY if last > first else character, style))
        line.rstrip()
        lines.append(line)
    for said in remarks(sight):
        lines += [Text(line, style="dim") for line in textwrap.wrap(said, columns)]
    return lines
