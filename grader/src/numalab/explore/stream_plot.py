"""Pictures of an exploration of streams: rates above, local pages below, as CERN-NUMA drew them.

Where pages were seen on another machine than the rates, there are two pictures, and each names its
machine: nobody is to read one as the cause of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from numalab.explore.intervals import Interval
from numalab.explore.plot_parts import SIDESTEP, STYLES, draw_bars
from numalab.explore.samples import ALL, FIRST_TOUCHES, ONE, PLACEMENTS, STREAM_KERNELS, Found
from numalab.explore.stream_values import Pages, pages_seen, rate, threads_found
from numalab.palette import PLOT_SETTINGS
from numalab.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOUCH_TITLES = {
    ALL: "first touch by all: each thread what it uses",
    ONE: "first touch by one: the main thread all",
}
FEW_PLACES = 8  # on the x axis; markers of more would hide each other
MARKER_PT, SMALL_MARKER_PT = 8, 5
SHARE_MARGIN = 0.08  # of the axis of shares, beyond 0 and 1
PAGES_SIZE_IN = (12.0, 4.5)


def draw_streams(figure: Figure, found: Found) -> None:
    """A column for each first touch; below the rates the local pages, if they are this node's."""
    threads = threads_found(found)
    seen = pages_seen(found)
    pages = seen if seen and not seen.is_virtual else None
    rows = len(STREAM_KERNELS) + (pages is not None)
    grid = figure.subplots(
        rows, 2, sharex=True, sharey="row",
        gridspec_kw={"height_ratios": [3] * len(STREAM_KERNELS) + [2] * (pages is not None)},
    )  # fmt: skip
    for column, touch in enumerate(FIRST_TOUCHES):
        grid[0][column].set_title(TOUCH_TITLES[touch], fontsize=13)
        for row, kernel in enumerate(STREAM_KERNELS):

            def rates(number: int, placement: str, kernel: str = kernel, touch: str = touch) -> (
                Interval | None
            ):  # fmt: skip
                return rate(found, kernel, number, placement, touch)

            _draw_curves(grid[row][column], threads, rates)
        if pages:
            _draw_pages(grid[-1][column], pages, touch)
        grid[-1][column].set_xlabel("threads")
    for row, kernel in enumerate(STREAM_KERNELS):
        grid[row][0].set_ylim(bottom=0)
        grid[row][0].set_ylabel(f"{kernel} [GB/s]")
    if pages:
        grid[-1][0].set_ylabel("local pages")
    _legend(figure, grid[0][0])


def pages_figure(found: Found, size_in: tuple[float, float] = PAGES_SIZE_IN) -> Figure | None:
    """The local pages of a virtual machine; None where there are none, or where they stand below
    the rates. size_in: width and height."""
    import matplotlib
    from matplotlib.figure import Figure

    seen = pages_seen(found)
    if seen is None or not seen.is_virtual:
        return None
    with matplotlib.rc_context(PLOT_SETTINGS):
        figure = Figure(figsize=size_in, dpi=110, layout="constrained")
        figure.suptitle(_pages_title(seen), fontsize=16)
        grid = figure.subplots(1, 2, sharex=True, sharey=True, squeeze=False)
        for axes, touch in zip(grid[0], FIRST_TOUCHES, strict=True):
            axes.set_title(TOUCH_TITLES[touch], fontsize=13)
            axes.set_xlabel("threads")
            _draw_pages(axes, seen, touch)
        grid[0][0].set_ylabel("local pages")
        _legend(figure, grid[0][0])
    return figure


def _pages_title(seen: Pages) -> str:
    node = seen.node
    return (
        f"Local pages on {seen.where}: {count(node['numa_nodes'], 'NUMA node')}, "
        f"{count(node['pus'], 'PU')}\na virtual machine: where pages live is right, no time is"
    )


def _draw_pages(axes: Axes, seen: Pages, touch: str) -> None:
    _draw_curves(
        axes, seen.threads, lambda number, placement: seen.share(number, placement, touch)
    )  # fmt: skip
    axes.set_ylim(-SHARE_MARGIN, 1 + SHARE_MARGIN)
    axes.set_yticks([0, 0.5, 1])


def _draw_curves(
    axes: Axes, threads: Sequence[int], value: Callable[[int, str], Interval | None]
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
