"""A figure as an SVG with a name for those who can't see it, no script and no link: one that can
stand in a page, with ids that are the page's only ones of their kind, or a file of its own."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_DROPPED = ("style", "metadata")  # a style would hold for the whole page
_HREF = "{http://www.w3.org/1999/xlink}href"
_CSS_PX_PER_IN = 96
LEAST_SCALE = 0.7  # at which a letter of 12 points can still be read; what is wider is scrolled


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _made_own(element: ElementTree.Element, prefix: str) -> None:
    """Without namespaces, which HTML needs none of; ids and what points at them prefixed."""
    for child in list(element):
        if _local(child.tag) in _DROPPED:
            element.remove(child)
        else:
            _made_own(child, prefix)
    element.tag = _local(element.tag)
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set("id", prefix + value)
        elif key == _HREF or key == "href":
            del element.attrib[key]
            element.set("href", f"#{prefix}{value[1:]}" if value.startswith("#") else value)
        else:
            element.set(key, re.sub(r"url\(#", f"url(#{prefix}", value))


def _named(figure: Figure, name: str, title: str, description: str) -> ElementTree.Element:
    import matplotlib

    file = io.BytesIO()
    settings: Any = {"svg.hashsalt": name, "svg.fonttype": "none"}
    with matplotlib.rc_context(settings):
        figure.savefig(file, format="svg", metadata=_NO_METADATA)
    root = ElementTree.fromstring(file.getvalue())
    _made_own(root, f"{name}-")
    for key in ("width", "height", "version"):
        del root.attrib[key]
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        child = ElementTree.Element(tag, {"id": f"{name}-{tag}"})
        child.text = text
        root.insert(position, child)
    return root


def inline_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """name: an id that nothing else in the page begins with. title, description: what is
    read out. The same figure gives the same text."""
    root = _named(figure, name, title, description)
    root.set("class", "figure")
    width_px = figure.get_figwidth() * _CSS_PX_PER_IN
    root.set(
        "style",
        f"width: {width_px:.0f}px; max-width: 100%; min-width: {LEAST_SCALE * width_px:.0f}px",
    )
    return ElementTree.tostring(root, encoding="unicode")


def svg_file(figure: Figure, title: str, description: str) -> str:
    """The text of a picture file that needs nothing from elsewhere. title, description: as
    inline_svg's."""
    root = _named(figure, "picture", title, description)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    for key, length_in in zip(("width", "height"), figure.get_size_inches(), strict=True):
        root.set(key, f"{length_in * _CSS_PX_PER_IN:g}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"
