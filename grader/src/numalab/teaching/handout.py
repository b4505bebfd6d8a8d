"""The parts of a lab's handout: goals, steps, and the questions at its end. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from numalab.errors import NumalabError

STEPS, QUESTIONS, ANSWERS = "What to do", "Questions to take along", "Answers"
_HEADING = re.compile(r"^## +(?P<title>.+?) *$", re.MULTILINE)
_STEP = re.compile(r"^\d+\. +(?=\S)", re.MULTILINE)
_POINT = re.compile(r"^- +(?=\S)", re.MULTILINE)
_SOURCES = re.compile(r"^\*Sources?:\*", re.MULTILINE)


@dataclass(frozen=True)
class Handout:
    """The parts of a handout, in Markdown, each on one line but for steps.

    Attributes:
        goals, needs, effect: what students will be able to do, what they need, and the effect to
            expect; empty where the handout does not say.
        steps: the entries below "What to do", in order.
        questions: the entries below "Questions to take along", in order.
    """

    goals: str
    needs: str
    effect: str
    steps: tuple[str, ...]
    questions: tuple[str, ...]


def _joined(text: str) -> str:
    return " ".join(text.split())


def _front(text: str, words: str) -> str:
    """Return the text after a line's first words in italics, up to the next blank line, on one line
    and with a capital first letter; empty where no line begins with them."""
    found = re.search(
        rf"^\*{re.escape(words)}:?\* +(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL
    )
    told = _joined(found[1]) if found else ""
    return told[:1].upper() + told[1:]


def section(text: str, title: str) -> str:
    """Return the part of a Markdown text below `## title`, without the sources at its end; empty
    where there is no such heading."""
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if heading["title"] == title:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            inside = text[heading.end() : end]
            sources = _SOURCES.search(inside)
            return (inside[: sources.start()] if sources else inside).strip()
    return ""


def _entries(text: str, mark: re.Pattern[str]) -> tuple[str, ...]:
    """Return the entries of a list, each with the blank lines and the lines that begin with a blank
    that follow it. mark: what an entry begins with."""
    entries = []
    starts = [found.end() for found in mark.finditer(text)]
    for start, end in pairwise([*starts, len(text)]):
        kept: list[str] = []
        for line in text[start:end].splitlines():
            if kept and line.strip() and not line.startswith(" "):
                break
            kept.append(line.strip() if not kept else line)
        entries.append("\n".join(kept).strip())
    return tuple(entries)


def read_handout(text: str, name: str) -> Handout:
    """Return the parts of a handout. name: the file, for messages. Raises NumalabError for a text
    without steps."""
    handout = Handout(
        _front(text, "You will be able to"),
        _front(text, "Needs"),
        _front(text, "Expected effect"),
        _entries(section(text, STEPS), _STEP),
        tuple(map(_joined, _entries(section(text, QUESTIONS), _POINT))),
    )
    if not handout.steps:
        raise NumalabError(f"{name}: below '## {STEPS}' there are no steps `1. ...`; add them")
    return handout


def step_in_short(step: str) -> str:
    """Return the first paragraph of a step on one line; where it ends with a colon, with the first
    line of the first listing below it, without a comment after two blanks."""
    paragraph, *more = step.split("\n\n")
    told = _joined(paragraph)
    listing = re.search(r"```\w*\n\s*(.+?)(?: {2,}.*)?\n", "\n\n".join(more)) if more else None
    return f"{told} `{listing[1]}`" if told.endswith(":") and listing else told
