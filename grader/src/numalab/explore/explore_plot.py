"""Draw the pictures of an exploration with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numalab.errors import NumalabError, UserError, reason_of
from numalab.explore.experiment import Measurements
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.files import partial_path
from numalab.palette import BLUE, GREEN, PLOT_SETTINGS, VERMILION, keep_matplotlib_in
from numalab.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"))
SIDESTEP = 0.16  # between points that belong to one position on the x axis
FORMATS = (".png", ".svg", ".pdf")


def draw_bars(axes: Axes, intervals: Mapping[float, MedianInterval], **style: Any) -> None:
    """Draw medians with their intervals, by position on the x axis, as error bars.
    style: keywords of matplotlib's errorbar."""
    if not intervals:
        return
    medians = [interval.median for interval in intervals.values()]
    below = [interval.median - interval.low for interval in intervals.values()]
    above = [interval.high - interval.median for interval in intervals.values()]
    axes.errorbar(list(intervals), medians, yerr=[below, above], **style)


def draw_legend(figure: Figure, axes: Axes) -> None:
    """Draw the legend of axes below the whole figure, if they have labels."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def check_target(path: Path) -> None:
    """Raise UserError if the path does not end with one of FORMATS, or is a folder, or if its
    folder is missing or not writable."""
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"--plot {path}: the name has to end with {', '.join(FORMATS)}")
    if path.is_dir():
        raise UserError(f"--plot {path}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UserError(f"--plot {path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--plot {path}: {path.parent} is not writable; choose another place")


def draw(measurements: Measurements, path: Path, scratch: Path) -> list[Path]:
    """Write the picture, and pages on a virtual machine, if any, to PATH_local_pages.
    measurements: with one run or more; path: ends with one of FORMATS; scratch: a folder for
    matplotlib's own files. Returns the files that were written. Raises NumalabError where a picture
    can't be drawn or written."""
    try:
        keep_matplotlib_in(scratch)
        figures = {path: exploration_figure(measurements)}
        pages = pages_figure(measurements)
    except (ImportError, OSError) as error:
        raise NumalabError(
            f"the plot can't be drawn: {error}. Run ./numalab setup; the table above is whole."
        ) from error
    if pages:
        figures[path.with_stem(f"{path.stem}_local_pages")] = pages
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
    """Return the picture of measurements with one run or more.
    size_in: width and height in inches; None: the experiment's own."""
    import matplotlib
    from matplotlib.figure import Figure

    what = measurements.exploration.what
    size_in = size_in or what.figure_size_in(measurements)
    with matplotlib.rc_context(PLOT_SETTINGS):
        # A Figure of its own, without pyplot, needs no display.
        figure = Figure(figsize=size_in, dpi=110, layout="constrained")
        figure.suptitle(_title(measurements), fontsize=16)
        what.draw(figure, measurements)
    return figure


def pages_figure(
    measurements: Measurements, size_in: tuple[float, float] | None = None
) -> Figure | None:
    """Return the experiment's picture of pages on a virtual machine; None: it has none.
    size_in: width and height in inches; None: the experiment's own."""
    return measurements.exploration.what.pages_figure(measurements, size_in)


def _title(measurements: Measurements) -> str:
    exploration, node = measurements.exploration, measurements.node
    fewest, cores = min(measurements.runs_each), node["cores"]
    machine = f"{node['name']}, {cores} core{'s' if cores > 1 else ''}"
    interrupted = ", interrupted" if measurements.interrupted else ""
    cover = 100 * median_interval([0.0] * fewest).coverage
    bars = (
        f"bars: {short(cover)} % interval of the median" if fewest > 1 else "single runs, no bars"
    )
    size = exploration.what.title_text(measurements)
    return f"{exploration.title}\n{machine}{size}; {fewest} rounds, {bars}{interrupted}"
