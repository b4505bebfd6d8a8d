"""Touch maps: of each page of an array who wrote it first, and who uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.record import Evidence
from numalab.evidence.touch import NOBODY, UNBOUND, drawn_place_of, shown_trace, written_from
from numalab.palette import (
    MIXED_COLOUR,
    NOBODY_COLOUR,
    SEVERAL_COLOUR,
    THREAD_COLOURS,
    UNBOUND_COLOUR,
    ink_on,
    place_colour,
)
from numalab.reports.figures.canvas import (
    LEAST_POINTS,
    LETTER_IN,
    WIDTH_IN,
    broken,
    new_figure,
    node_words,
    styled,
)
from numalab.reports.touch_map import HOMES, USED, WRITTEN, sampled
from numalab.words import count

SEVERAL, MIXED = -3, -4  # in the place of a thread or a NUMA node, as NOBODY and UNBOUND
CELL_IN = 0.04  # finer stripes can't be told apart
STRIP_IN, ARRAY_GAP_IN = 0.34, 0.16
LABELS_IN = 2.1  # left of the strips
STRIPS = (WRITTEN, USED)


@dataclass(frozen=True)
class Strip:
    """A row of a touch map: for each page a thread or NUMA node, NOBODY or SEVERAL."""

    array: str
    what: str
    places: tuple[int, ...]


def _one(places: frozenset[int]) -> int:
    if not places:
        return NOBODY
    return next(iter(places)) if len(places) == 1 else SEVERAL


def strips(
    evidence: Evidence, arrays: Sequence[str] | None = None, with_homes: bool = False
) -> list[Strip]:
    """Two for each array, of the tracing that judges worst. With several NUMA nodes places are
    those of the threads, else the threads themselves. arrays: only those; with_homes: a third,
    the NUMA nodes on which its pages live, as far as the system told."""
    found = shown_trace(evidence)
    if found is None:
        return []
    trace, uses = found
    place = drawn_place_of(evidence)
    residency = (
        evidence.runs_of(PLACEMENT)[0].residency
        if with_homes and evidence.runs_of(PLACEMENT)
        else None
    )
    homes = residency or {}
    rows = []
    for array in trace.arrays:
        if arrays is not None and array.name not in arrays:
            continue
        writers = tuple(map(place, written_from(trace, array)))
        using = tuple(_one(frozenset(map(place, page))) for page in uses[array.name])
        rows += [Strip(array.name, STRIPS[0], writers), Strip(array.name, STRIPS[1], using)]
        if array.name in homes:
            rows.append(Strip(array.name, HOMES, homes[array.name]))
    return rows


def cells(places: Sequence[int], most: int) -> list[int]:
    """As many cells of neighbouring pages as can be seen: their place, MIXED where stripes are
    finer than two cells. Where a wide one ends within a cell, that is of the one with more."""
    number = min(len(places), most)
    widths = [length for _, _, length in _stretches(places) for _ in range(length)]
    found = []
    for cell in range(number):
        pages = range(cell * len(places) // number, (cell + 1) * len(places) // number)
        counted = Counter(places[page] for page in pages)
        is_fine = min(widths[page] for page in pages) < 2 * len(places) / number
        mixed = len(counted) > 1 and is_fine
        found.append(MIXED if mixed else counted.most_common(1)[0][0])
    return found


def _cells(strip: Strip, width: float) -> list[int]:
    """width: in inches."""
    return cells(strip.places, int(width / CELL_IN))


def colour_of(place: int) -> str:
    special = {
        NOBODY: NOBODY_COLOUR,
        UNBOUND: UNBOUND_COLOUR,
        SEVERAL: SEVERAL_COLOUR,
        MIXED: MIXED_COLOUR,
    }
    return special.get(place) or place_colour(place)


def _stretches(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Place, first page and number of pages of each stretch of equal ones."""
    at = 0
    for place, pages in groupby(places):
        length = len(list(pages))
        yield place, at, length
        at += length


def _draw_strip(axes: Axes, strip: Strip, top: float, width: float) -> None:
    """top: in inches, downwards; width: of the strips."""
    image = np.array([[to_rgb(colour_of(place)) for place in _cells(strip, width)]])
    pages = len(strip.places)
    axes.imshow(
        image, extent=(0, pages, top + STRIP_IN, top), aspect="auto", interpolation="nearest",
        label=f"{strip.array} {strip.what}",
    )  # fmt: skip
    for place, first, length in _stretches(strip.places):
        text = str(place)
        needed = (len(text) + 0.6) * LEAST_POINTS * LETTER_IN
        if place >= 0 and length / pages * width >= needed:
            ink = ink_on(colour_of(place))
            axes.text(first + length / 2, top + STRIP_IN / 2, text, ha="center",
                      va="center_baseline", fontsize=12, color=ink)  # fmt: skip


def _draw(axes: Axes, rows: Sequence[Strip], title: str, width: float) -> float:
    """Returns the height in inches."""
    y = 0.0
    ticks: list[tuple[float, str]] = []
    for number, strip in enumerate(rows):
        if number and strip.what == STRIPS[0]:
            y += ARRAY_GAP_IN
        _draw_strip(axes, strip, y, width)
        name = f"{strip.array}  " if strip.what == STRIPS[0] else ""
        ticks.append((y + STRIP_IN / 2, name + strip.what))
        y += STRIP_IN
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.set_ylim(y, 0)
    axes.set_xlim(0, max(len(strip.places) for strip in rows))
    axes.grid(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title("\n".join(broken(title, width + LABELS_IN, 14.5)), loc="left", fontsize=14)
    return y


def _height(rows: Sequence[Strip]) -> float:
    return len(rows) * STRIP_IN + (len({strip.array for strip in rows}) - 1) * ARRAY_GAP_IN


def _title(label: str, evidence: Evidence, where: str) -> str:
    place = node_words(evidence) if where == "here" or evidence.is_virtual else where
    return f"{label}: {place}" if label else place


@styled
def touch_figure(
    seen: Sequence[tuple[str, Evidence]],
    where: str = "here",
    *,
    arrays: Sequence[str] | None = None,
    with_homes: bool = False,
    width_in: float = WIDTH_IN,
) -> Figure:
    """The touch maps of one or several labelled records, one above the other. where: as in a
    verdict, the place at which they were seen. arrays: draw only those; with_homes: and where
    the pages live. Raises NothingToDraw."""
    strips_of = [(label, one, strips(one, arrays, with_homes)) for label, one in seen]
    strips_of = [entry for entry in strips_of if entry[2]]
    if not strips_of:
        raise NothingToDraw("no page was traced, so there is no touch map to draw")
    heights = [_height(rows) for _, _, rows in strips_of]
    height = sum(heights) + 0.62 * len(strips_of) + 1.1
    figure = new_figure(width_in, height)
    grid = figure.subplots(len(strips_of), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for index, (label, evidence, rows) in enumerate(strips_of):
        axes: Axes = grid[index][0]
        _draw(axes, rows, _title(label, evidence, where), width_in - LABELS_IN)
        traced = len(rows[0].places)
        if index == len(strips_of) - 1:
            words = f"page of the array ({count(traced, 'page')} traced)"
            if sampled(evidence):
                words = f"page that was traced. {' '.join(sampled(evidence))}"
            axes.set_xlabel("\n".join(broken(words, width_in - LABELS_IN, 13)))
    places = {
        place
        for _, _, rows in strips_of
        for strip in rows
        for place in (*strip.places, *_cells(strip, width_in - LABELS_IN))
    }
    _add_legend(figure, [evidence.numa_nodes > 1 for _, evidence, _ in strips_of], places)
    return figure


def _add_legend(figure: Figure, by_node: Sequence[bool], places: set[int]) -> None:
    words = [word for word, there in (("NUMA node", True), ("thread", False)) if there in by_node]
    noun = " or ".join(words)
    numbers = sorted(place for place in places if place >= 0)
    handles = [
        Patch(facecolor=place_colour(n), edgecolor="#333333", label=str(n))
        for n in numbers
        if len(numbers) <= len(THREAD_COLOURS)
    ]
    special = (
        (NOBODY, "nobody"),
        (UNBOUND, "not bound"),
        (SEVERAL, "several"),
        (MIXED, "pages differ"),
    )
    for place, word in special:
        if place in places:
            handles.append(Patch(facecolor=colour_of(place), edgecolor="#333333", label=word))
    meaning = f"{noun} of the thread" if noun == "NUMA node" else noun
    if handles:
        figure.legend(handles=handles, title=f"Colour and number: {meaning}", ncols=10,
                      loc="outside lower center", title_fontsize=12, columnspacing=1.2,
                      handlelength=1.4)  # fmt: skip
    else:
        figure.supxlabel(f"Colour and number: {meaning}", fontsize=12)
