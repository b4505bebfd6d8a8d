"""A deck of slides, read slide by slide. Pure functions.

A deck is Marp's Markdown: slides between horizontal rules (`---`), directives and speaker notes in
HTML comments. A note may begin with the minutes that the slide takes: `2 min. Say that ...`, or `2
min. Core. Say that ...` where the slide belongs to the short lecture, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from markdown_it import MarkdownIt

from numalab.errors import UserError

FIGURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(figures/(?P<name>[a-z0-9_]+)\.svg\)")
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*_?[a-zA-Z]+: [^\n]*\s*\Z")
_MINUTES = re.compile(r"\s*(?P<minutes>\d+) min\. (?P<core>Core\. )?\S")


@dataclass(frozen=True)
class Slide:
    """A slide of a deck.

    Attributes:
        number: counted from 1.
        text: its Markdown, without comments.
        notes: its comments but for directives.
    """

    number: int
    text: str
    notes: str

    @cached_property
    def title(self) -> str:
        """The text of the first line that begins with `# ` or `## `; empty where there is none."""
        heading = re.search(r"^#{1,2} (.+)$", self.text, re.MULTILINE)
        return heading[1] if heading else ""

    @property
    def minutes(self) -> int | None:
        """The minutes at the beginning of the slide's notes; None where they begin otherwise."""
        found = _MINUTES.match(self.notes)
        return int(found["minutes"]) if found else None

    @property
    def is_core(self) -> bool:
        """Whether the slide's notes begin with minutes and the word Core."""
        found = _MINUTES.match(self.notes)
        return found is not None and found["core"] is not None

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the slide's figures, in order, without .svg."""
        return tuple(found["name"] for found in FIGURE.finditer(self.text))


@dataclass(frozen=True)
class Deck:
    """A deck of slides.

    Attributes:
        name: the file's name without .md.
        settings: the front matter, by key.
        slides: one or more, in order.
    """

    name: str
    settings: dict[str, str]
    slides: tuple[Slide, ...]

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for slide in self.slides for name in slide.figures))

    @property
    def short(self) -> tuple[Slide, ...]:
        """The slides of the short lecture: the first, those of the core, and the last."""
        return tuple(s for s in self.slides if s.is_core or s in (self.slides[0], self.slides[-1]))


def minutes_of(slides: tuple[Slide, ...]) -> int:
    """Return the minutes that slides take together; one that names no minutes counts as 0."""
    return sum(slide.minutes or 0 for slide in slides)


def parse_deck(name: str, text: str) -> Deck:
    """Return the deck that a text describes. name: the file's without .md. Raises UserError for a
    text without front matter."""
    front = _FRONT_MATTER.match(text)
    if front is None:
        raise UserError(f"{name}.md: the first lines have to be settings between two lines ---")
    settings = {
        key.strip(): value.strip()
        for key, colon, value in (line.partition(":") for line in front[1].splitlines())
        if colon
    }
    lines = text[front.end() :].splitlines()
    # A parser of Markdown knows which lines --- are in a listing or below a heading.
    tokens = MarkdownIt().parse("\n".join(lines))
    rules = [token.map[0] for token in tokens if token.type == "hr" and token.map]
    bounds = [-1, *rules, len(lines)]
    slides = []
    for number, (start, end) in enumerate(pairwise(bounds), 1):
        whole = "\n".join(lines[start + 1 : end])
        comments = [c for c in _COMMENT.findall(whole) if not _DIRECTIVE.match(c)]
        notes = "\n".join(comment.strip() for comment in comments)
        slides.append(Slide(number, _COMMENT.sub("", whole).strip(), notes))
    return Deck(name, settings, tuple(slides))
