"""Take the first pictures of a grading's page for the student's page, since drawing them again
takes seconds. Pure functions.

Each becomes an image of its own, so that ids in it don't clash with others on the page.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice
from xml.etree import ElementTree

MOST = 2  # pictures that are taken
MOST_CHARACTERS = 40_000  # of a picture, so that the page can be sent by mail
_KERNEL = re.compile(r'<section class="kernel".*?</section>', re.DOTALL)
_HEAD = re.compile(r"<h[23][^>]*>(.*?)</h[23]>", re.DOTALL)
_FIGURE = re.compile(
    r"<figure>\s*<figcaption>(?P<title>.*?)</figcaption>\s*<div[^>]*>\s*(?P<svg><svg.*?</svg>)"
    r"\s*</div>\s*<p>(?P<words>.*?)</p>",
    re.DOTALL,
)


@dataclass(frozen=True)
class Picture:
    """A picture for a page. words: what it shows; address: the image itself, as a data URL; width
    and height are in px."""

    title: str
    words: str
    address: str
    width: int
    height: int


def _picture(title: str, words: str, svg: str) -> Picture | None:
    """Return a picture; None if the SVG can't be parsed or has no viewBox."""
    try:
        root = ElementTree.fromstring(svg)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
    except (ElementTree.ParseError, KeyError, ValueError):
        return None
    wide, tall = round(width * 96 / 72), round(height * 96 / 72)  # from points
    root.attrib.pop("style", None)
    root.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg", "width": f"{wide}", "height": f"{tall}"
    }  # fmt: skip
    data = base64.b64encode(ElementTree.tostring(root)).decode()
    return Picture(
        unescape(title), unescape(words), f"data:image/svg+xml;base64,{data}", wide, tall
    )


def _pictures(section: str) -> Iterator[Picture]:
    for found in _FIGURE.finditer(section):
        if len(found["svg"]) <= MOST_CHARACTERS:
            picture = _picture(found["title"], found["words"], found["svg"])
            if picture is not None:
                yield picture


def first_pictures(page: str, language: str) -> list[Picture]:
    """Return up to MOST pictures of a language from the page of one grading, the first that are
    neither too long nor damaged. language: its name on the page, such as C."""
    for section in _KERNEL.findall(page):
        head = _HEAD.search(section)
        if head is not None and f", {language}:" in head[1]:
            return list(islice(_pictures(section), MOST))
    return []
