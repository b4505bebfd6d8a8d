"""Modelled traffic: which NUMA node's threads use which one's memory, and how long each part of the
machine takes for it, yours beside what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from numalab.errors import NothingToDraw
from numalab.modelling.speedups import ModelledSpeedup
from numalab.modelling.times import Modelled
from numalab.palette import BLUE, GREY, VERMILION, ink_on, thinned
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, styled
from numalab.reports.modelled_words import Bar, Row, heads, rows

MOST_TOLD = 4  # NUMA nodes up to which a square has its share in it
COLOURS = (BLUE, VERMILION)


def _squares(axes: Axes, model: Modelled, nodes: int, head: str, colour: str, width: float) -> None:
    """nodes: of the machine, as far as they move anything or have threads."""
    shares = {(flow.user, flow.home): flow.share for flow in model.flows}
    most = max(shares.values())
    for (user, home), share in shares.items():
        filled = thinned(colour, 0.15 + 0.85 * share / most)
        axes.add_patch(_square(user, home, filled))
        if nodes <= MOST_TOLD:
            axes.text(home, user, f"{100 * share:.0f} %", ha="center", va="center",
                      color=ink_on(filled), fontsize=12)  # fmt: skip
    axes.set_xlim(-0.5, nodes - 0.5)
    axes.set_ylim(nodes - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(nodes))
    axes.set_yticks(range(nodes))
    axes.grid(visible=False)
    axes.set_xlabel("memory of\nNUMA node")
    axes.set_ylabel("threads of\nNUMA node")
    axes.set_title("\n".join(broken(head, width, 13)), loc="left", fontsize=13)


def _square(user: int, home: int, colour: str) -> Rectangle:
    return Rectangle((home - 0.5, user - 0.5), 1, 1, facecolor=colour, edgecolor=GREY)


def _bars(axes: Axes, found: Sequence[Row], labels: Sequence[str]) -> None:
    height = 0.38
    for side, (label, colour) in enumerate(zip(labels, COLOURS, strict=True)):
        bars = [(row.yours, row.theirs)[side] for row in found]
        at = [number + (side - 0.5) * height for number in range(len(found))]
        axes.barh(at, [bar.ms_per_gb or 0.0 for bar in bars], height, color=colour, label=label)
        for y, bar in zip(at, bars, strict=True):
            axes.text(bar.ms_per_gb or 0.0, y, f" {_figures(bar)}", va="center", fontsize=12,
                      fontweight="bold" if bar.is_bottleneck else "normal")  # fmt: skip
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_yticks(range(len(found)), [row.label for row in found])
    longest = max(bar.ms_per_gb or 0.0 for row in found for bar in (row.yours, row.theirs))
    axes.set_xlim(0, 1.35 * longest)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("modelled ms per GB; *: bottleneck")


def _figures(bar: Bar) -> str:
    if bar.ms_per_gb is None:
        return "no rate" if bar.share else ""
    return f"{bar.ms_per_gb:.1f}{' *' if bar.is_bottleneck else ''}"


@styled
def modelled_figure(comparison: ModelledSpeedup, *, width_in: float = WIDTH_IN) -> Figure:
    """Raises NothingToDraw where nothing is modelled."""
    yours, theirs = comparison.yours, comparison.theirs
    if yours is None or theirs is None:
        raise NothingToDraw(
            comparison.why_not or "nothing is modelled, so there is nothing to draw"
        )
    nodes = 1 + max(max(f.user, f.home) for model in (yours, theirs) for f in model.flows)
    found, labels = rows(comparison), heads(comparison)
    squares_in, bars_in = 0.5 * width_in + 0.9, 1.6 + 0.52 * len(found)
    figure = new_figure(width_in, squares_in + bars_in)
    grid = figure.add_gridspec(2, 1, height_ratios=(squares_in, bars_in))
    upper, lower = (figure.add_subfigure(grid[row, 0]) for row in (0, 1))
    for side, (model, head) in enumerate(zip((yours, theirs), labels, strict=True)):
        axes = upper.add_subplot(1, 2, side + 1)
        _squares(axes, model, nodes, head, COLOURS[side], width_in / 2 - 0.8)
    axes = lower.add_subplot()
    _bars(axes, found, labels)
    handles, named = axes.get_legend_handles_labels()
    lower.legend(handles, named, loc="outside upper left", ncols=1)
    return figure
