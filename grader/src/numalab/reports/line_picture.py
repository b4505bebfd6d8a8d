"""Draws which threads write which cache lines, with plain characters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from numalab.evidence.run_formats import NotedLine, StoresRun
from numalab.reports.comparison import LineView, place_words
from numalab.reports.touch_map import OWNERS, symbol

FIGURE_COLUMNS = len(" 100")
LEAST_SHARE = 0.02  # of the stores to the line that is written most: below, a line is not drawn


def drawn_lines(run: StoresRun) -> list[NotedLine]:
    """Those that are written for many keys."""
    most = max(line.stores for line in run.most_written)
    return [line for line in run.most_written if line.stores >= LEAST_SHARE * most]


def per_hundred(line: NotedLine, run: StoresRun) -> float:
    """Stores to a line for 100 keys."""
    return 100 * line.stores / run.n


def line_title(sight: LineView) -> str:
    place = "" if sight.where == "here" else f" on {place_words(sight.where)}"
    part = f" of {sight.part}" if sight.part else ""
    return (
        f"Cache lines{part}{place} ({sight.yours.line_bytes} bytes): which of "
        f"{sight.yours.threads} threads write, per 100 keys"
    )


def _bar(line: NotedLine, run: StoresRun, most: float, columns: int) -> Text:
    """A character is a part of the stores, by the thread's number."""
    text = Text()
    drawn = told = 0
    for thread, stores in sorted(line.thread_stores.items()):
        told += stores
        end = round(columns * 100 * told / run.n / most)
        character, style = symbol(thread - 1)
        text.append(character * (end - drawn), style=f"{style} reverse")
        drawn = end
    text.append("." * (columns - drawn), style="dim")
    text.append(f"{per_hundred(line, run):>{FIGURE_COLUMNS}.0f}")
    return text


def line_picture(sight: LineView, columns: int) -> list[Text]:
    """A row per line, in the order of addresses; the solution's at its side."""
    runs = [sight.yours] + ([sight.solution] if sight.solution is not None else [])
    drawn = [drawn_lines(run) for run in runs]
    rows = max(map(len, drawn))
    most = max(
        per_hundred(line, run) for lines, run in zip(drawn, runs, strict=True) for line in lines
    )
    label_columns = len("line 15 ")
    bar_columns = (columns - label_columns) // len(runs) - FIGURE_COLUMNS - 2
    lines = [Text(line_title(sight), style="bold")]
    if len(runs) > 1:
        heads = "".join(f"{owner:<{bar_columns + FIGURE_COLUMNS + 2}}" for owner in OWNERS)
        lines.append(Text(f"{'':<{label_columns}}{heads}".rstrip()))
    for row in range(rows):
        text = Text(f"{f'line {row}':<{label_columns}}")
        for number, (of_run, run) in enumerate(zip(drawn, runs, strict=True)):
            text.append("" if number == 0 else "  ")
            if row < len(of_run):
                text.append_text(_bar(of_run[row], run, most, bar_columns))
            else:
                text.append(" " * (bar_columns + FIGURE_COLUMNS))
        text.rstrip()
        lines.append(text)
    return lines


def line_words(run: StoresRun) -> str:
    """In words who writes the lines that are drawn."""
    told = []
    for number, line in enumerate(drawn_lines(run)):
        writers = [
            f"thread {thread - 1} {100 * stores / run.n:.0f}"
            for thread, stores in sorted(line.thread_stores.items())
        ]
        told.append(f"line {number}: {', '.join(writers)}")
    return "; ".join(told)


def sight_words(sight: LineView) -> str:
    """Of both, for those who hear a page."""
    owners: Sequence[tuple[str, StoresRun | None]] = list(
        zip(OWNERS, (sight.yours, sight.solution), strict=True)
    )
    said = [f"{owner}: {line_words(run)}." for owner, run in owners if run is not None]
    return f"Stores per 100 keys, by cache line and thread. {' '.join(said)}"
