"""Pages read as a browser would, and what all of them have to keep."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import html5lib
from matplotlib.figure import Figure
from matplotlib.text import Text


def read(text: str) -> Element:
    """Raises ParseError where the page is not well-formed."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def all_of(root: Element, *names: str) -> Iterator[Element]:
    return (element for element in root.iter() if local(element) in names)


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


@functools.cache
def _ids_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r' id="([^"]*)"', text))


def ids_of(path: Path) -> frozenset[str]:
    return _ids_in(path.read_text())


def policy_of(root: Element) -> str:
    (policy,) = (
        meta.attrib["content"]
        for meta in all_of(root, "meta")
        if meta.attrib.get("http-equiv") == "Content-Security-Policy"
    )
    return policy


def assert_only_its_script(root: Element) -> None:
    """Nothing is fetched, and no script runs but one that stands in the page, which the policy
    names by its digest."""
    allowed = dict(part.strip().split(" ", 1) for part in policy_of(root).split(";"))
    assert allowed.pop("default-src") == "'none'"
    assert allowed.pop("style-src") == "'unsafe-inline'" and allowed.pop("img-src") == "data:"
    scripts = list(all_of(root, "script"))
    digests = []
    for script in scripts:
        assert not script.attrib
        digest = hashlib.sha256("".join(script.itertext()).encode()).digest()
        digests.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    assert allowed == ({"script-src": digests[0]} if scripts else {}) and not digests[1:]


def assert_sound(text: str, folder: Path | None = None) -> Element:
    """What holds for every page. folder: where it lies, if it may link to others on disk."""
    root = read(text)
    assert text.startswith("<!DOCTYPE html>")
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert not list(all_of(root, "link", "iframe", "object", "embed", "base", "form"))
    assert_only_its_script(root)
    for element in root.iter():
        for key, value in element.attrib.items():
            assert not key.lower().startswith("on"), key
            if key.rpartition("}")[2] in ("href", "src"):
                if folder is not None and not value.startswith(("#", "data:image/")):
                    path, _, anchor = value.partition("#")
                    assert (folder / path).is_file(), value  # nothing of the network is
                    assert not anchor or unquote(anchor) in ids_of(folder / path), value
                    continue
                assert value.startswith(("#", "data:image/")), value
                assert not value.startswith("#") or value[1:] in ids
            for target in re.findall(r"url\(([^)]*)\)", value):
                assert target.startswith("#") and target[1:] in ids
    (style,) = all_of(root, "style")
    assert "url(" not in words(style) and "@import" not in words(style)
    for table in all_of(root, "table"):
        assert words(next(all_of(table, "caption")))
        heads = list(all_of(table, "th"))
        scopes = ("col", "row", "colgroup")
        assert all(head.attrib.get("scope") in scopes and words(head) for head in heads)
        rows = [row for body in all_of(table, "tbody") for row in all_of(body, "tr")]
        assert all(len(list(all_of(row, "th"))) == 1 for row in rows)
    by_id = {element.attrib.get("id"): element for element in root.iter()}
    for svg in all_of(root, "svg"):
        assert svg.attrib["role"] == "img"
        assert all(words(by_id[name]) for name in svg.attrib["aria-labelledby"].split())
    for image in all_of(root, "img"):
        assert image.attrib.get("alt")
    levels = [int(local(head)[1]) for head in all_of(root, "h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    return root


def rows_of(root: Element, caption: str) -> list[list[str]]:
    return [
        [words(cell) for cell in all_of(row, "th", "td")]
        for table in all_of(root, "table")
        if words(next(all_of(table, "caption"))) == caption
        for row in all_of(table, "tr")
    ]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text().strip()]


def unshown(figure: Figure) -> set[Text]:
    """Labels of ticks beyond the ends of an axis, which matplotlib keeps and does not draw."""
    found = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high:
                    found |= {tick.label1, tick.label2}
    return found


def assert_legible(figure: Figure) -> None:
    """At 8 inches: nothing smaller than 12 points, and nothing beyond the paper."""
    figure.savefig(io.BytesIO(), format="png")
    width, height = figure.canvas.get_width_height()
    left_out = unshown(figure)
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in left_out:
            assert text.get_fontsize() >= 12, text
            extent = text.get_window_extent()
            assert extent.x0 > -2, text
            assert extent.x1 < width + 2, text
            assert extent.y0 > -2, text
            assert extent.y1 < height + 2, text
