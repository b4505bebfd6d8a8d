"""A deck with its figures and fonts inside. Pure functions. What a deck is, and what it says slide
by slide, is in numalab.teaching.deck.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from html import escape

from numalab.teaching.deck import FIGURE

FONT = re.compile(r"url\(\"(?P<path>@fontsource/[^\"]+\.woff2)\"\)")


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
