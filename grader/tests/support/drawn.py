"""What figures and pictures for a terminal draw, as lines for golden texts: positions, sizes,
colours, and texts that are short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import rich.text
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Annotation, Text

_SENTENCE = re.compile(r"([A-Za-z']{2,}[,.:;]? ){5}")
LONGEST = 14  # of a text that is held; others are sentences, which have tests of their own


# ---- figures -----------------------------------------------------------------------------


def _number(value: float) -> str:
    return f"{round(value, 9) + 0.0:.5g}"


def _numbers(values: Any) -> str:
    return " ".join(_number(float(value)) for value in values)


def _colour(value: Any) -> str:
    return str(to_hex(value, keep_alpha=True)).removesuffix("ff")


def _said(text: str) -> str:
    lines = text.splitlines()
    return repr(text) if len(text) <= LONGEST else f"{len(lines)} lines" if lines[1:] else "..."


def _text(text: Text) -> str:
    alignment = f"{text.get_ha()} {text.get_va()}"
    place = f"{_numbers(text.get_position())} {text.get_fontsize():g} {text.get_fontweight()}"
    told = f"text {place} {alignment} {_colour(text.get_color())} {_said(text.get_text())}"
    if isinstance(text, Annotation):
        told += f" at {_numbers(text.xy)}"
    return told + (" in a box" if text.get_bbox_patch() is not None else "")


def _line(line: Line2D) -> str:
    points = zip(line.get_xdata(), line.get_ydata(), strict=True)  # type: ignore[arg-type]
    style = f"{line.get_linestyle()} {line.get_linewidth():g} {_colour(line.get_color())}"
    size = f"{line.get_markersize():g} {line.get_markeredgewidth():g}"
    marker = f"{line.get_marker()} {size} {line.get_markerfacecolor()}"
    told = " ".join(f"({_numbers(point)})" for point in points)
    label = str(line.get_label())
    name = "" if label.startswith("_") else f" {_said(label)}"
    return f"line {style} {marker}{name} {told}".rstrip()


def _box(box: Rectangle) -> str:
    edge = f"{_colour(box.get_edgecolor())} {box.get_linewidth():g} {box.get_linestyle()}"
    fill = f"{_colour(box.get_facecolor())} {box.get_hatch() or 'plain'}"
    return f"box {_numbers((*box.get_xy(), box.get_width(), box.get_height()))} {fill} {edge}"


def _polygon(polygon: Polygon) -> str:
    corners = " ".join(f"({_numbers(corner)})" for corner in polygon.get_xy()[:-1])
    return f"polygon {_colour(polygon.get_facecolor())} {corners}"


def _area(area: PolyCollection) -> str:
    fill = f"{_colour(area.get_facecolor()[0])} {_numbers(area.get_linewidth())}"  # type: ignore[index]
    corners = area.get_paths()[0].vertices.tolist()
    return f"area {fill} " + " ".join(f"({_numbers(corner)})" for corner in corners)


def _axis(axis: Axis) -> str:
    low, high = axis.get_view_interval()
    at = [place for place in axis.get_majorticklocs() if min(low, high) <= place <= max(low, high)]
    names = axis.get_major_formatter().format_ticks(at)
    ticks = " ".join(
        f"{_number(place)}:{' '.join(name.split())}" for place, name in zip(at, names, strict=True)
    )
    told = [
        axis.get_scale() + (f"{axis.get_transform().base:g}" if "log" in axis.get_scale() else "")
    ]  # type: ignore[attr-defined]
    told.append(f"{_number(low)}..{_number(high)}")
    if axis._major_tick_kw["gridOn"]:  # type: ignore[attr-defined]
        told.append("with a grid")
    if label := axis.get_label_text():
        told.append(f"named in {len(label.splitlines())}")
    if not axis._major_tick_kw.get("label1On", True):  # type: ignore[attr-defined]
        told.append("unnamed")
    if few := len(axis.get_minorticklocs()):
        told.append(f"and {few} minor")
    if at:
        tick = axis.get_major_ticks()[0]
        size, name = tick.tick1line.get_markersize(), tick.label1
        told.append(f"[{size:g} {name.get_fontsize():g} {name.get_rotation():g}]")
    return " ".join((*told, ticks)).rstrip()


def _legend(legend: Legend) -> str:
    names = " ".join(_said(text.get_text()) for text in legend.get_texts())
    title = (
        f", title {legend.get_title().get_fontsize():g}" if legend.get_title().get_text() else ""
    )
    return f"legend of {legend._ncols} columns{title} {names}"  # type: ignore[attr-defined]


def _title(axes: Axes) -> str:
    """Texts are told by the lengths of their lines."""
    told = [
        f"; title {title.get_fontsize():g} {place} {' '.join(map(str, map(len, lines)))}"
        for place in ("left", "center")
        for title in [axes._left_title if place == "left" else axes.title]  # type: ignore[attr-defined]
        if (lines := title.get_text().splitlines())
    ]
    return "".join(told)


def _of_axes(axes: Axes) -> Iterator[str]:
    if axes.axison:
        yield f"axes x {_axis(axes.xaxis)}"
        yield f"     y {_axis(axes.yaxis)}"
        spec = axes.get_subplotspec()
        assert spec is not None
        grid = spec.get_gridspec()
        ratios = _numbers((*grid.get_width_ratios(), *grid.get_height_ratios()))
        yield f"     aspect {axes.get_aspect()} in {ratios}{_title(axes)}"
    else:
        yield f"bare axes {_numbers((*axes.get_xlim(), *axes.get_ylim()))}"
    for child in axes.get_children():
        if child in (axes.patch, axes.title, axes._left_title, axes._right_title):  # type: ignore[attr-defined]
            continue
        if isinstance(child, Text):
            yield _text(child)
        elif isinstance(child, Line2D):
            yield _line(child)
        elif isinstance(child, Rectangle):
            yield _box(child)
        elif isinstance(child, Polygon):
            yield _polygon(child)
        elif isinstance(child, PolyCollection):
            yield _area(child)
    for image in axes.images:
        scale = f"{_numbers(image.get_clim())} {image.get_cmap().name}"
        yield f"image {_numbers(image.get_extent())} {scale}"
        array: Any = image.get_array()
        for row in array.tolist():
            cells = [_colour(cell) if isinstance(cell, list) else _number(cell) for cell in row]
            yield f"  {' '.join(cells)}"


def of_figure(figure: Figure) -> list[str]:
    lines = [f"paper {_numbers(figure.get_size_inches())} {figure.get_dpi():g}"]
    for title in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        lines += [f"title {title.get_fontsize():g}"] if title is not None else []
    for axes in figure.axes:
        lines += _of_axes(axes)
    for part in (figure, *figure.subfigs):
        lines += map(_legend, part.legends)
    return lines


# ---- pictures for a terminal ---------------------------------------------------------------


def of_lines(lines: Sequence[rich.text.Text]) -> list[str]:
    """Each line with its styles by columns; of sentences and notes only that there are some."""
    told: list[str] = []
    for line in lines:
        is_note = line.style == "dim" or _SENTENCE.search(line.plain) is not None
        if is_note or (told[-1:] == ["..."] and line.plain.endswith(".")):
            told += ["..."] if told[-1:] != ["..."] else []
            continue
        spans: list[tuple[int, int, str]] = []
        for start, end, style in line.spans:
            if spans and spans[-1][1:] == (start, str(style)):
                start = spans.pop()[0]
            spans.append((start, end, str(style)))
        styles = "; ".join(f"{start}-{end} {style}" for start, end, style in spans)
        told.append(f"{line.style!s:<4}|{line.plain}|{styles}")
    return told
