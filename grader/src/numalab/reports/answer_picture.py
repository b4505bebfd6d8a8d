"""Draws how a kernel answered the series that it was asked about, kind by kind, with plain
characters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from numalab.judging.series_answers import Answer, KindCount, count_kinds
from numalab.reports.comparison import AnswerView, place_words

# Of each answer: its name in KindCount, character, colour, and how a legend calls it.
ANSWERS: tuple[tuple[Answer, str, str, str], ...] = (
    ("right", "=", "green", "right"),
    ("open", ".", "yellow", "left open"),
    ("wrong", "#", "red", "wrong"),
)
FIGURE_COLUMNS = len(" 20 of 20")
MOST_BAR_COLUMNS = 30


def answer_title(sight: AnswerView) -> str:
    place = "" if sight.where == "here" else f" on {place_words(sight.where)}"
    part = f" of {sight.part}" if sight.part else ""
    return f"Answers{part}{place} by kind of series"


def _bar(of: KindCount, columns: int) -> Text:
    text = Text()
    drawn = told = 0
    for field, character, style, _ in ANSWERS:
        told += of.answers[field]
        end = round(columns * told / of.count)
        text.append(character * (end - drawn), style=style)
        drawn = end
    text.append(f"{of.answers['right']} of {of.count}".rjust(FIGURE_COLUMNS))
    return text


def answer_picture(sight: AnswerView, columns: int) -> list[Text]:
    """A row per kind; how many of it were answered right stands behind it."""
    kinds = count_kinds(sight.yours)
    label_columns = max(len(of.kind) for of in kinds) + 2
    bar_columns = min(MOST_BAR_COLUMNS, columns - label_columns - FIGURE_COLUMNS)
    used = [row for row in ANSWERS if any(of.answers[row[0]] for of in kinds)]
    legend = ", ".join(f"{character} {name}" for _, character, _, name in used)
    lines = [Text(f"{answer_title(sight)}; {legend}", style="bold")]
    for of in kinds:
        text = Text(f"{of.kind:<{label_columns}}")
        text.append_text(_bar(of, bar_columns))
        lines.append(text)
    return lines


def answer_words(kinds: Sequence[KindCount]) -> str:
    """The same, for those who hear a page."""
    told = []
    for of in kinds:
        counts = [f"{of.answers[field]} {name}" for field, _, _, name in ANSWERS]
        told.append(f"{of.kind}: {', '.join(counts)}")
    return f"Answers by kind of series. {'; '.join(told)}."
