"""Pictures of a node's portrait: curves with hwloc's caches, matrices, bandwidth over threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from numalab.explore.experiment import COMPACT
from numalab.explore.tlb import tlb_reaches
from numalab.explore.wording import bytes_words, three_digits
from numalab.palette import BLUE, GREEN, GREY, THREAD_COLOURS, VERMILION, ink_on
from numalab.portrait.plan import SMALL, SPREAD, STREAMS
from numalab.portrait.record import Measured, Point, Portrait
from numalab.portrait.sentences import curve_name, page_words
from numalab.reports.figures.canvas import WIDTH_IN, new_figure, styled

STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), ("#000000", "D"))
MOST_WRITTEN = 16  # NUMA nodes in a row, whose values are written into their squares
SQUARE_IN = 0.62


def _draw_points(axes: Axes, points: Sequence[Point], style: int, label: str) -> None:
    colour, marker = STYLES[style % len(STYLES)]
    _draw_measured(
        axes, {point.table_bytes: point.ns for point in points}, (colour, marker, "-"), label
    )


def _draw_measured(
    axes: Axes, values: Mapping[int, Measured], style: tuple[str, str, str], label: str
) -> None:
    """style: colour, marker and line."""
    colour, marker, line = style
    intervals = [one.interval for one in values.values()]
    medians = [one.median for one in intervals]
    bars = [
        [one.median - one.low for one in intervals], [one.high - one.median for one in intervals]
    ]  # fmt: skip
    axes.errorbar(
        list(values), medians, yerr=bars, color=colour, marker=marker, linestyle=line, label=label,
        markersize=5, linewidth=1.5, capsize=3,
    )  # fmt: skip


def _sized(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes[::2]]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xticks(list(sizes[::2]), [bytes_words(size).replace(" ", "\n") for size in sizes[::2]])
    axes.set_xlabel("size of the table")
    axes.set_ylabel("latency [ns]")
    axes.grid(axis="both")


def _marked(axes: Axes, marks: Sequence[tuple[int, str, str]]) -> None:
    """marks: bytes, words and colour; each a line with its words at the top."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 2.2)
    left, right = axes.get_xlim()
    shown = [mark for mark in sorted(marks) if left < mark[0] < right]
    for row, (size, words, colour) in enumerate(shown):
        axes.axvline(size, color=colour, linewidth=1.2, linestyle=":")
        is_far = size > left * (right / left) ** 0.3  # else the words would cross the axis
        axes.annotate(
            words, (size, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if is_far else 4, -4 - 15 * (row % 2)), textcoords="offset points",
            ha="right" if is_far else "left", va="top", fontsize=12, color=colour,
        )  # fmt: skip


@styled
def latency_curves(portrait: Portrait) -> Figure:
    """All curves, with the sizes that hwloc tells."""
    figure = new_figure(WIDTH_IN, 4.8)
    axes = figure.subplots()
    for number, curve in enumerate(portrait.curves):
        _draw_points(axes, curve.points, number, curve_name(curve))
    _sized(axes, sorted({p.table_bytes for curve in portrait.curves for p in curve.points}))
    _marked(axes, [
        (cache["bytes_each"], f"{cache['level']} {bytes_words(cache['bytes_each'])}", GREY)
        for cache in portrait.node["caches"]
    ])  # fmt: skip
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@styled
def tlb_curves(portrait: Portrait) -> Figure:
    """Small pages and huge ones, with what cpuid tells of the TLB's reach on small ones."""
    figure = new_figure(WIDTH_IN, 4.8)
    axes = figure.subplots()
    for number, curve in enumerate(portrait.tlb):
        _draw_points(axes, curve.points, number, f"{page_words(portrait, curve.pages)} pages")
    _sized(axes, sorted({p.table_bytes for curve in portrait.tlb for p in curve.points}))
    marks = [
        (reach.reach_bytes, f"TLB {reach.level}, {page_words(portrait, curve.pages)}", colour)
        for curve, (colour, _) in zip(portrait.tlb, STYLES, strict=False)
        for reach in tlb_reaches(
            portrait.about,
            int(portrait.about["page_bytes" if curve.pages == SMALL else "huge_page_bytes"]),
        )
    ]
    _marked(axes, marks)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@styled
def matrix(
    values: Mapping[tuple[int, int], float], rows: Sequence[int], columns: Sequence[int], words: str
) -> Figure:
    """A square for each pair of NUMA nodes, darker where the value is larger. words: what the
    values are, with unit."""
    width = max(4.0, 1.6 + SQUARE_IN * len(columns))
    figure = new_figure(width, 1.5 + SQUARE_IN * len(rows))
    axes = figure.subplots()
    least, most = min(values.values()), max(values.values())
    for (row, column), value in values.items():
        share = (value - least) / (most - least) if most > least else 0.0
        shade = round(250 - 130 * share)
        colour = f"#{shade:02x}{shade:02x}ff"
        x, y = columns.index(column), rows.index(row)
        axes.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
                  facecolor=colour, edgecolor="white")  # fmt: skip
        if len(columns) <= MOST_WRITTEN:
            axes.text(x, y, three_digits(value), ha="center", va="center", fontsize=12,
                      color=ink_on(colour))  # fmt: skip
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_xticks(range(len(columns)), [str(number) for number in columns])
    axes.set_yticks(range(len(rows)), [str(number) for number in rows])
    axes.set_xlabel("memory on NUMA node")
    axes.set_ylabel("threads on")
    axes.set_title(words)
    return figure


@styled
def stream_rates(portrait: Portrait) -> Figure:
    """Compact with full lines, spread with broken ones."""
    figure = new_figure(WIDTH_IN, 4.8)
    axes = figure.subplots()
    colours = dict(zip(STREAMS, (*THREAD_COLOURS[5:7], GREEN, "#000000"), strict=False))
    markers = dict(zip(STREAMS, "osD^", strict=True))
    counts = sorted({rate.threads for rate in portrait.streams})
    for placement, line in ((COMPACT, "-"), (SPREAD, "--")):
        for kernel in STREAMS:
            values = {
                rate.threads: rate.gb_s
                for rate in portrait.streams
                if (rate.placement, rate.kernel) == (placement, kernel)
            }
            if values:
                style = (colours[kernel], markers[kernel], line)
                _draw_measured(axes, values, style, f"{kernel}, {placement}")
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(number) for number in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(bottom=0)
    axes.set_xlabel("threads")
    axes.set_ylabel("GB/s")
    figure.legend(loc="outside lower center", ncols=4)
    return figure
