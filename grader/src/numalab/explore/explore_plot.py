"""What an exploration found, as pictures that can be read from the last row."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numalab.errors import NumalabError, UserError, reason_of
from numalab.explore.declaration import Schedules, Streams, TableSizes
from numalab.explore.intervals import MedianInterval, compare, median_interval
from numalab.explore.measurements import (
    ALL_THREADS,
    CHASE,
    FIRST_TOUCHES,
    MAIN_THREAD,
    PLACEMENTS,
    STREAM_KERNELS,
    UPDATE,
    Measurements,
    thread_counts,
)
from numalab.explore.stream_report import (
    Pages,
    may_be_caches,
    measured_thread_counts,
    observed_pages,
    rate,
)
from numalab.explore.table_report import (
    Size,
    line_knees,
    measured_sizes,
    page_names,
    parting_bytes,
)
from numalab.explore.tlb import tlb_reach
from numalab.explore.wording import bytes_words, chunk_words
from numalab.files import partial_path
from numalab.palette import BLUE, GREEN, GREY, PLOT_SETTINGS, VERMILION, keep_matplotlib_in
from numalab.words import count, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# ---- points with intervals -----------------------------------------------------------


STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"))
SIDESTEP = 0.16  # between the points of one place on the x axis


def draw_bars(
    axes: Axes, xs: Sequence[float], intervals: Sequence[MedianInterval], **style: Any
) -> None:
    """Medians with their intervals. style: matplotlib's, of errorbar."""
    if not xs:
        return
    below = [interval.median - interval.low for interval in intervals]
    above = [interval.high - interval.median for interval in intervals]
    axes.errorbar(xs, [interval.median for interval in intervals], yerr=[below, above], **style)


# ---- streams -------------------------------------------------------------------------


TOUCH_TITLES = {
    ALL_THREADS: "first touch by all: each thread what it uses",
    MAIN_THREAD: "first touch by one: the main thread all",
}
FEW_PLACES = 8  # on the x axis; markers of more would hide each other
MARKER_PT, SMALL_MARKER_PT = 8, 5
SHARE_MARGIN = 0.08  # of the axis of shares, beyond 0 and 1
PAGES_SIZE_IN = (12.0, 4.5)


def draw_streams(figure: Figure, measurements: Measurements) -> None:
    """A column for each first touch; below the rates the local pages, if they are this node's."""
    threads = measured_thread_counts(measurements)
    pages = observed_pages(measurements)
    if pages and pages.is_virtual:
        pages = None
    rows = len(STREAM_KERNELS) + (pages is not None)
    grid = figure.subplots(
        rows, 2, sharex=True, sharey="row",
        gridspec_kw={"height_ratios": [3] * len(STREAM_KERNELS) + [2] * (pages is not None)},
    )  # fmt: skip
    for column, touch in enumerate(FIRST_TOUCHES):
        grid[0][column].set_title(TOUCH_TITLES[touch], fontsize=13)
        for row, kernel in enumerate(STREAM_KERNELS):

            def rates(number: int, placement: str, kernel: str = kernel, touch: str = touch) -> (
                MedianInterval | None
            ):  # fmt: skip
                return rate(measurements, kernel, number, placement, touch)

            _draw_by_placement(grid[row][column], threads, rates)
        if pages:
            _draw_pages(grid[-1][column], pages, touch)
        grid[-1][column].set_xlabel("threads")
    for row, kernel in enumerate(STREAM_KERNELS):
        grid[row][0].set_ylim(bottom=0)
        grid[row][0].set_ylabel(f"{kernel} [GB/s]")
    if pages:
        grid[-1][0].set_ylabel("local pages")
    _legend(figure, grid[0][0])


def pages_figure(
    measurements: Measurements, size_in: tuple[float, float] = PAGES_SIZE_IN
) -> Figure | None:
    """The local pages of a virtual machine; None where there are none, or where they stand below
    the rates. size_in: width and height."""
    import matplotlib
    from matplotlib.figure import Figure

    pages = observed_pages(measurements)
    if pages is None or not pages.is_virtual:
        return None
    with matplotlib.rc_context(PLOT_SETTINGS):
        figure = Figure(figsize=size_in, dpi=110, layout="constrained")
        figure.suptitle(_pages_title(pages), fontsize=16)
        grid = figure.subplots(1, 2, sharex=True, sharey=True, squeeze=False)
        for axes, touch in zip(grid[0], FIRST_TOUCHES, strict=True):
            axes.set_title(TOUCH_TITLES[touch], fontsize=13)
            axes.set_xlabel("threads")
            _draw_pages(axes, pages, touch)
        grid[0][0].set_ylabel("local pages")
        _legend(figure, grid[0][0])
    return figure


def _pages_title(pages: Pages) -> str:
    node = pages.node
    return (
        f"Local pages on {pages.where}: {count(node['numa_nodes'], 'NUMA node')}, "
        f"{count(node['pus'], 'PU')}\na virtual machine: where pages live is right, no time is"
    )


def _draw_pages(axes: Axes, pages: Pages, touch: str) -> None:
    _draw_by_placement(
        axes, pages.threads, lambda number, placement: pages.share(number, placement, touch)
    )  # fmt: skip
    axes.set_ylim(-SHARE_MARGIN, 1 + SHARE_MARGIN)
    axes.set_yticks([0, 0.5, 1])


def _draw_by_placement(
    axes: Axes, threads: Sequence[int], value: Callable[[int, str], MedianInterval | None]
) -> None:
    for index, placement in enumerate(PLACEMENTS):
        colour, marker = STYLES[index]
        step = SIDESTEP * (index - (len(PLACEMENTS) - 1) / 2)
        pairs = [
            (place + step, interval)
            for place, number in enumerate(threads)
            if (interval := value(number, placement))
        ]
        draw_bars(
            axes, [x for x, _ in pairs], [interval for _, interval in pairs], color=colour,
            marker=marker, label=placement, linewidth=1.2,
            markersize=MARKER_PT if len(threads) <= FEW_PLACES else SMALL_MARKER_PT,
        )  # fmt: skip
    axes.set_xticks(range(len(threads)), [str(number) for number in threads])
    axes.set_xlim(-0.5, len(threads) - 0.5)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


# ---- one picture of an exploration ---------------------------------------------------


FORMATS = (".png", ".svg", ".pdf")
HEADROOM = 1.45  # of the curves' height, for the names of caches and reaches


def check_target(path: Path) -> None:
    """Finds out before the measuring whether the picture can be written after it."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--plot {path}: the name has to end with {', '.join(FORMATS)}")
    if path.is_dir():
        raise UserError(f"--plot {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--plot {path}: {path.parent} is not writable; choose another place")


# ---- schedules -----------------------------------------------------------------------


def _draw_schedules(figure: Figure, measurements: Measurements, what: Schedules) -> None:
    """A column per chunk; above the times, below what they are compared with static's."""
    counts = thread_counts(measurements.node["cores"])
    grid = figure.subplots(2, len(what.chunks), sharex=True, sharey="row", squeeze=False)
    for column, chunk in enumerate(what.chunks):
        times, ratios = grid[0][column], grid[1][column]
        for index, schedule in enumerate(what.schedules):
            colour, marker = STYLES[index % len(STYLES)]
            step = SIDESTEP * (index - (len(what.schedules) - 1) / 2)
            style = {"color": colour, "marker": marker, "label": schedule, "linestyle": "none"}
            xs: list[float] = []
            ms: list[MedianInterval] = []
            ratio_xs: list[float] = []
            ratio: list[MedianInterval] = []
            for place, threads in enumerate(counts):
                key = {"threads": threads, "chunk": chunk}
                times_s = measurements.times_s(schedule=schedule, **key)
                if times_s:
                    xs.append(place + step)
                    ms.append(median_interval([1e3 * s for s in times_s.values()]))
                against = compare(times_s, measurements.times_s(schedule=what.schedules[0], **key))
                if against and index:
                    ratio_xs.append(place + step)
                    ratio.append(against.ratio)
            draw_bars(times, xs, ms, **style)
            draw_bars(ratios, ratio_xs, ratio, **style)
        times.set_title("no chunk given" if chunk == 0 else f"chunk {chunk_words(chunk)}")
        ratios.axhline(1, color=GREY, linewidth=1.5, linestyle="--")
        ratios.set_xticks(range(len(counts)), [str(threads) for threads in counts])
        ratios.set_xlim(-0.5, len(counts) - 0.5)
        ratios.set_xlabel("threads")
    grid[0][0].set_ylabel("time [ms]")
    if len(counts) > 2:
        grid[0][0].set_yscale("log")
    else:
        grid[0][0].set_ylim(bottom=0)
    grid[1][0].set_ylabel(f"over {what.schedules[0]},\nsame round")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


# ---- table sizes -----------------------------------------------------------------------


def _caches(measurements: Measurements) -> list[tuple[str, int]]:
    """Data caches and their sizes."""
    return [
        (cache["level"], cache["bytes_each"])
        for cache in measurements.node["caches"]
        if "i" not in cache["level"]
    ]


def _mark(axes: Axes, position_bytes: int, words: str, colour: str, row: int) -> None:
    """row: of the words, from the top, so that neighbours keep clear of each other."""
    axes.axvline(position_bytes, color=colour, linewidth=1.2, linestyle=":")
    axes.annotate(
        words, (position_bytes, 1.0), xycoords=("data", "axes fraction"), xytext=(-4, -4 - 16 *
        row), textcoords="offset points", ha="right", va="top", fontsize=11, color=colour,
    )  # fmt: skip


def _draw_sizes(figure: Figure, measurements: Measurements, what: TableSizes) -> None:
    """A column per kernel: the dependent one, whose steps are latencies, then the other."""
    from matplotlib.ticker import FixedLocator, NullLocator

    small, huge = page_names(measurements)
    with_huge = any(sample.record["pages"] == "huge" for sample in measurements.runs)
    rows = figure.subplots(
        2 if with_huge else 1, 2, sharex=True, sharey="row", squeeze=False,
        gridspec_kw={"height_ratios": [3, 2]} if with_huge else None,
    )  # fmt: skip
    knees = line_knees(measurements)
    columns = (
        (CHASE, "dependent: a load brings the next address\n(a cache: a line per page)", knees),
        (
            UPDATE,
            "independent: many updates at once\n(a cache: the whole table)",
            _caches(measurements),
        ),
    )
    for column, (kernel, title, caches) in enumerate(columns):
        times, last = rows[0][column], rows[-1][column]
        sizes = measured_sizes(measurements, what, kernel)
        _draw_curves(times, sizes, small, huge)
        times.set_title(title, fontsize=13)
        marked = [
            (size_bytes, f"{level} {bytes_words(size_bytes)}", GREY) for level, size_bytes in caches
        ]
        reach = tlb_reach(measurements.description, int(measurements.description["page_bytes"]))
        if reach:
            marked.append((reach.reach_bytes, f"TLB {bytes_words(reach.reach_bytes)}", BLUE))
        within = [one for one in marked if what.smallest_bytes < one[0] < what.largest_bytes]
        for row, (size_bytes, words, colour) in enumerate(sorted(within)):
            _mark(times, size_bytes, words, colour, row)
        if with_huge:
            _draw_ratio(last, sizes)
        ticks = what.sizes[:: 2 if len(what.sizes) > 8 else 1]
        last.xaxis.set_major_locator(FixedLocator([float(tick) for tick in ticks]))
        last.xaxis.set_minor_locator(NullLocator())
        last.set_xticklabels([bytes_words(tick).replace(" ", "\n") for tick in ticks])
        last.set_xlabel("size of the table")
    low, high = rows[0][0].get_ylim()
    rows[0][0].set_ylim(low, high * (high / low) ** (HEADROOM - 1))
    rows[0][0].set_ylabel("time of a step [ns]")
    rows[0][0].legend(loc="center left")
    if with_huge:
        rows[1][0].set_ylabel(f"{small} / {huge},\nsame round")


def _draw_curves(times: Axes, sizes: Sequence[Size], small: str, huge: str) -> None:
    for pages, words, (colour, marker), step in zip(
        ("small", "huge"), (small, huge), STYLES[:2], (-SIDESTEP / 4, SIDESTEP / 4), strict=True
    ):
        pairs = [
            (size.table_bytes, interval) for size in sizes
            if (interval := size.small if pages == "small" else size.huge)
        ]  # fmt: skip
        draw_bars(
            times, [size * 2**step for size, _ in pairs], [interval for _, interval in pairs],
            color=colour, marker=marker, label=f"{words} pages",
        )  # fmt: skip
    times.set_xscale("log", base=2)
    times.set_yscale("log")


def _draw_ratio(axes: Axes, sizes: Sequence[Size]) -> None:
    from matplotlib.ticker import FuncFormatter

    pairs = [(size.table_bytes, size.ratio.ratio) for size in sizes if size.ratio]
    draw_bars(
        axes, [size for size, _ in pairs], [ratio for _, ratio in pairs],
        color="black", marker="D", markersize=6,
    )  # fmt: skip
    axes.axhline(1, color=GREY, linewidth=1.5, linestyle="--")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    parting = parting_bytes(sizes)
    if parting is not None:
        axes.axvline(parting, color=VERMILION, linewidth=1.5, zorder=0)
        left = parting > math.sqrt(sizes[0].table_bytes * sizes[-1].table_bytes)
        axes.annotate(
            f"part from {bytes_words(parting)} on", (parting, 1.0),
            xycoords=("data", "axes fraction"), xytext=(-6 if left else 6, -4),
            textcoords="offset points", ha="right" if left else "left", va="top",
            color=VERMILION,
        )  # fmt: skip


# ---- all of them -------------------------------------------------------------------------


def pages_path(path: Path) -> Path:
    """Of the second picture, beside the first."""
    return path.with_stem(f"{path.stem}_local_pages")


def draw(measurements: Measurements, path: Path, scratch: Path) -> list[Path]:
    """Writes the picture, and the one of a virtual machine's pages where there is one; each whole
    or not at all. scratch: matplotlib's own files go there. Returns what was written. Raises
    NumalabError."""
    try:
        keep_matplotlib_in(scratch)
        figures = {path: exploration_figure(measurements)}
        pages = pages_figure(measurements)
    except (ImportError, OSError) as error:
        raise NumalabError(
            f"the plot can't be drawn: {error}. Run ./numalab setup; the table above is whole."
        ) from error
    if pages:
        figures[pages_path(path)] = pages
    for target, figure in figures.items():
        _write(figure, target)
    return list(figures)


def _write(figure: Figure, path: Path) -> None:
    import matplotlib

    partial = partial_path(path)
    try:
        with matplotlib.rc_context(PLOT_SETTINGS):
            figure.savefig(partial, format=path.suffix[1:].lower())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise NumalabError(f"the plot can't be written: {reason_of(error)}") from error


def exploration_figure(
    measurements: Measurements, size_in: tuple[float, float] | None = None
) -> Figure:
    """size_in: width and height, at which letters have 14 points or a little less."""
    import matplotlib
    from matplotlib.figure import Figure

    what = measurements.exploration.what
    with matplotlib.rc_context(PLOT_SETTINGS):
        # A Figure of its own, without pyplot, needs no display.
        figure = Figure(figsize=size_in or _size_in(measurements), dpi=110, layout="constrained")
        figure.suptitle(_title(measurements), fontsize=16)
        if isinstance(what, Schedules):
            _draw_schedules(figure, measurements, what)
        elif isinstance(what, Streams):
            draw_streams(figure, measurements)
        else:
            _draw_sizes(figure, measurements, what)
    return figure


def _size_in(measurements: Measurements) -> tuple[float, float]:
    is_taller = (
        isinstance(measurements.exploration.what, Streams) and measurements.node["numa_nodes"] > 1
    )
    return (12, 10) if is_taller else (12, 7.5)


def _title(measurements: Measurements) -> str:
    what = measurements.exploration.what
    fewest = min(measurements.runs_each)
    if isinstance(what, Schedules):
        size = f", n = {what.n}"
    elif isinstance(what, Streams):
        nodes = measurements.node["numa_nodes"]
        size = f", {nodes} NUMA nodes" if nodes > 1 else ", one NUMA node (all pages are local)"
        size += "; arrays may fit in caches" if may_be_caches(measurements, what) else ""
    else:
        size = ", one thread"
    cores = measurements.node["cores"]
    node = f"{measurements.node['name']}, {cores} core{'s' if cores > 1 else ''}"
    interrupted = ", interrupted" if measurements.interrupted else ""
    cover = 100 * median_interval([0.0] * fewest).coverage
    bars = (
        f"bars: {short(cover)} % interval of the median" if fewest > 1 else "single runs, no bars"
    )
    return f"{measurements.exploration.title}\n{node}{size}; {fewest} rounds, {bars}{interrupted}"
