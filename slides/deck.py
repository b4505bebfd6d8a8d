"""What a deck says, slide by slide, and the same with its figures and fonts inside. Pure
functions.

A deck is Marp's Markdown: slides between lines `---`, directives and speaker notes in HTML
comments. A note begins with the minutes that the slide takes: `2 min. Say that ...`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt

from numalab.errors import UserError

FIGURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(figures/(?P<name>[a-z0-9_]+)\.svg\)")
FONT = re.compile(r"url\(\"(?P<path>@fontsource/[^\"]+\.woff2)\"\)")
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*_?[a-zA-Z]+: [^\n]*\s*\Z")
_MINUTES = re.compile(r"\s*(\d+) min\. \S")


@dataclass(frozen=True)
class Slide:
    """number: from 1 on; text: its Markdown, comments left out; notes: what to say."""

    number: int
    text: str
    notes: str

    @cached_property
    def title(self) -> str:
        heading = re.search(r"^#{1,2} (.+)$", self.text, re.MULTILINE)
        return heading[1] if heading else ""

    @property
    def minutes(self) -> int | None:
        """None where the notes do not begin with them."""
        found = _MINUTES.match(self.notes)
        return int(found[1]) if found else None

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(found["name"] for found in FIGURE.finditer(self.text))


@dataclass(frozen=True)
class Deck:
    """name: the file's without .md; settings: its front matter, line by line."""

    name: str
    settings: dict[str, str]
    slides: tuple[Slide, ...]

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for slide in self.slides for name in slide.figures))


def parse_deck(name: str, text: str) -> Deck:
    """Raises UserError where there is no front matter."""
    front = _FRONT_MATTER.match(text)
    if front is None:
        raise UserError(f"{name}.md: the first lines have to be settings between two lines ---")
    settings = {
        key.strip(): value.strip()
        for key, colon, value in (line.partition(":") for line in front[1].splitlines())
        if colon
    }
    lines = text[front.end() :].splitlines()
    # A reader of Markdown knows which lines --- stand in a listing or below a heading.
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


def data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def with_figures(text: str, read: Callable[[str], bytes]) -> str:
    """The deck with its figures inside, so that it is one file. read: a figure, by its name."""

    def embed(found: re.Match[str]) -> str:
        # A tag, since Marp's Markdown takes no picture of this kind as a link's target.
        uri = data_uri("image/svg+xml", read(found["name"]))
        return f'<img src="{uri}" alt="{escape(found["alt"])}">'

    return FIGURE.sub(embed, text)


def with_fonts(theme: str, read: Callable[[str], bytes]) -> str:
    """The theme with its fonts inside. read: a font, by its path among npm's packages."""

    def embed(found: re.Match[str]) -> str:
        return f'url("{data_uri("font/woff2", read(found["path"]))}")'

    return FONT.sub(embed, theme)
