"""The roofline of a loop: what memory allows, and what processes did, in the same generations."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from numalab.errors import NothingToDraw
from numalab.evidence.record import HANDOUT, SOLUTION, SUBMISSION
from numalab.judging.rates import Middle
from numalab.palette import BLUE, GREEN, VERMILION
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, styled
from numalab.reports.rate_words import three_digits
from numalab.reports.roofline import Roof, roof_title

# Larger ones are hollow, so that none hides another.
_MARKERS = {
    HANDOUT: (VERMILION, "s", 17.0, "none"),
    SOLUTION: (GREEN, "o", 13.0, "none"),
    SUBMISSION: (BLUE, "D", 6.0, BLUE),
}
_SIDE = 6.0  # how far to either side of the loop's flops per byte


def _draw_roof(axes: Axes, roof: Roof) -> None:
    ends = [roof.flops_per_byte / _SIDE, roof.flops_per_byte * _SIDE]
    rate = roof.gb_per_s
    if rate.low is not None and rate.high is not None:
        low, high = rate.low, rate.high
        axes.fill_between(
            ends, [low * end for end in ends], [high * end for end in ends], color="#BBBBBB",
            alpha=0.55, linewidth=0,
        )  # fmt: skip
    label = f"lightspeed: {three_digits(rate.median)} GB/s of the probe"
    axes.plot(ends, [rate.median * end for end in ends], color="#000000", label=label)
    axes.axvline(roof.flops_per_byte, color="#888888", linewidth=1, linestyle=":")
    axes.set_xlim(*ends)


def _bars(speed: Middle) -> list[list[float]]:
    low = speed.median if speed.low is None else speed.low
    high = speed.median if speed.high is None else speed.high
    return [[speed.median - low], [high - speed.median]]


def _span(roof: Roof) -> tuple[float, float]:
    """Of the axis of speeds: all points, and the roof where the loop meets it, with room."""
    speeds = [roof.top_gflop_per_s, *(point.gflop_per_s for point in roof.points)]
    least = min(speed.median if speed.low is None else speed.low for speed in speeds)
    most = max(speed.median if speed.high is None else speed.high for speed in speeds)
    return least / 2.5, most * 2.5


@styled
def roofline_figure(roof: Roof, *, width_in: float = WIDTH_IN) -> Figure:
    """Speed over flops per byte, both on logarithmic scales; bars are intervals. Raises
    NothingToDraw."""
    if not roof.points:
        raise NothingToDraw(f"{roof.name}: nothing was timed beside the probe")
    figure = new_figure(width_in, 4.6)
    axes = figure.subplots(1, 1)
    _draw_roof(axes, roof)
    for point in roof.points:
        colour, marker, size, face = _MARKERS[point.role]
        axes.errorbar(
            [roof.flops_per_byte], [point.gflop_per_s.median], yerr=_bars(point.gflop_per_s),
            color=colour, marker=marker, markersize=size, markerfacecolor=face,
            markeredgewidth=2, linestyle="none", label=point.name,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    axes.set_ylim(*_span(roof))
    axes.grid(axis="both")
    axes.set_xlabel("flop per byte that crosses between cores and memory")
    axes.set_ylabel("GFLOP/s")
    figure.suptitle("\n".join(broken(roof_title(roof), width_in, 15)), fontsize=14)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
