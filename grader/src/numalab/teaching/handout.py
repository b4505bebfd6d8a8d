"""A lab's text, taken apart: what is to be learnt, the steps, the questions at its end. Pure
functions. Which parts a README.md must have is tested (tests/test_style.py)."""

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
    """goals, needs, effect: a sentence or two each; steps: of "What to do", in order; questions:
    those to take along. All of it Markdown, each on one line but for listings inside steps."""

    goals: str
    needs: str
    effect: str
    steps: tuple[str, ...]
    questions: tuple[str, ...]


def _joined(text: str) -> str:
    """A paragraph in one line."""
    return " ".join(text.split())


def _front(text: str, words: str) -> str:
    """The paragraph that begins with these words in italics, without them; the first letter is
    large. Empty where there is none."""
    found = re.search(
        rf"^\*{re.escape(words)}:?\* +(.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL
    )
    told = _joined(found[1]) if found else ""
    return told[:1].upper() + told[1:]


def section(text: str, title: str) -> str:
    """Of a Markdown text what stands below `## title`, without the line of sources at its end;
    empty where there is no such heading."""
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if heading["title"] == title:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            inside = text[heading.end() : end]
            sources = _SOURCES.search(inside)
            return (inside[: sources.start()] if sources else inside).strip()
    return ""


def _entries(text: str, mark: re.Pattern[str]) -> tuple[str, ...]:
    """The entries of a list, which lines that are not indented end; each with its listings."""
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
    """name: for messages. Raises NumalabError where it has no steps."""
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
    """Its first paragraph; where that leads over to a listing, with the listing's first command."""
    paragraph, *more = step.split("\n\n")
    told = _joined(paragraph)
    listing = re.search(r"```\w*\n\s*(.+?)(?: {2,}.*)?\n", "\n\n".join(more)) if more else None
    return f"{told} `{listing[1]}`" if told.endswith(":") and listing else told
