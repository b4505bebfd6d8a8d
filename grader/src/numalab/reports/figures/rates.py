"""Rates over the number of threads, a curve for each placement."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from numalab.errors import NothingToDraw
from numalab.explore.intervals import MedianInterval
from numalab.palette import BLUE, GREEN, GREY, VERMILION
from numalab.reports.figures.canvas import WIDTH_IN, new_figure, styled

STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (GREY, "D"))
MANY = 8  # threads from which on a logarithmic axis has room for them


@styled
def rates_figure(
    curves: Mapping[str, Mapping[int, MedianInterval]], title: str, *, width_in: float = WIDTH_IN
) -> Figure:
    """curves: by placement, in GB/s over the number of threads; bars are their intervals. Raises
    NothingToDraw."""
    if not any(curves.values()):
        raise NothingToDraw("nothing was measured, so there is nothing to draw")
    figure = new_figure(width_in, 4.4 + 0.3 * ((len(curves) + 1) // 2))
    axes = figure.subplots(1, 1)
    for (name, curve), number in zip(curves.items(), range(len(curves)), strict=True):
        colour, marker = STYLES[number % len(STYLES)]
        medians = [interval.median for interval in curve.values()]
        below = [interval.median - interval.low for interval in curve.values()]
        above = [interval.high - interval.median for interval in curve.values()]
        axes.errorbar(list(curve), medians, yerr=[below, above], color=colour, marker=marker,
                      capsize=4, label=name)  # fmt: skip
    threads = sorted({number for curve in curves.values() for number in curve})
    if threads[-1] > MANY:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([float(number) for number in threads]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_xlabel("threads")
    axes.set_ylabel("GB/s, as the lab counts bytes")
    figure.suptitle(title, fontsize=14)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
