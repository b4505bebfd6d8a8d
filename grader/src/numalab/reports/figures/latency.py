"""What messages took over their sizes, and beside it what was published."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import LATENCY
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import LatencyRun
from numalab.explore.wording import bytes_words
from numalab.labs.prediction import PREDICTED
from numalab.machines.machine import Figure as PublishedFigure
from numalab.palette import BLUE, GREEN, GREY, VERMILION
from numalab.reports.figures.canvas import WIDTH_IN, new_figure, node_words, styled
from numalab.reports.latency_report import published_series, run_name
from numalab.words import listed

STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"))
PUBLISHED_STYLES = (("#000000", "+"), (GREY, "x"))
TICKS = (1, 16, 256, 4096, 65536, 2**20, 2**22)


def medians_us(run: LatencyRun, is_predicted: bool) -> dict[int, float]:
    """Of each size in bytes; that which is to be predicted only when it has been."""
    return {
        size: statistics.median(times)
        for size, times in run.message_us.items()
        if is_predicted or size not in PREDICTED.values()
    }


def _draw_run(times: Axes, rates: Axes, run: LatencyRun, is_predicted: bool, style: int) -> None:
    times_us = {size: us for size, us in medians_us(run, is_predicted).items() if size > 0}
    colour, marker = STYLES[style % len(STYLES)]
    sizes = list(times_us)
    spread = [
        (min(run.message_us[size]), max(run.message_us[size])) for size in sizes
    ]  # of all samples
    times.fill_between(sizes, [low for low, _ in spread], [high for _, high in spread],
                       color=colour, alpha=0.2, linewidth=0)  # fmt: skip
    name = run_name(run)
    times.plot(
        sizes, list(times_us.values()), marker=marker, color=colour, markersize=5, label=name
    )
    rates.plot(sizes, [size / us for size, us in times_us.items()], marker=marker, color=colour,
               markersize=5)  # fmt: skip


@styled
def latency_figure(
    evidence: Evidence,
    published: Sequence[PublishedFigure] = (),
    *,
    is_predicted: bool = False,
    width_in: float = WIDTH_IN,
) -> Figure:
    """Left the time of a message one way, right the bandwidth. published: latencies of a
    machine to look at beside, in us. is_predicted: whether they and the times that are
    predicted may be shown, since they have been. Raises NothingToDraw."""
    runs = [run for run in evidence.runs_of(LATENCY) if run.outcome.ok and run.message_us]
    series = published_series(published) if is_predicted else []
    if not runs and not series:
        raise NothingToDraw("no message was timed, so there is nothing to draw")
    figure = new_figure(width_in, 4.6 + 0.3 * ((len(runs) + len(series) + 1) // 2))
    if runs:
        times, rates = figure.subplots(1, 2)
    else:
        times, rates = figure.subplots(1, 1), None
    for index, run in enumerate(runs):
        _draw_run(times, rates, run, is_predicted, index)
    for index, published_times in enumerate(series):
        colour, marker = PUBLISHED_STYLES[index % len(PUBLISHED_STYLES)]
        times.plot(published_times.sizes_bytes, published_times.values, marker=marker,
                   linestyle=":", color=colour,
                   label=f"hydra, {published_times.topic} ({published_times.source})")  # fmt: skip
    for axes, words in ((times, "one way [us]"), (rates, "bandwidth [MB/s]")):
        if axes is None:
            continue
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.grid(axis="both")
        low, high = axes.get_xlim()
        ticks = TICKS if runs else [2**power for power in range(11)]
        axes.xaxis.set_major_locator(FixedLocator([float(t) for t in ticks if low <= t <= high]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: bytes_words(round(value)).replace(" bytes", " B"))
        )
        axes.tick_params(axis="x", rotation=45)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if not runs else (1.0,)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.set_ylabel(words)
        axes.set_xlabel("message")
    hidden = (
        runs
        and not is_predicted
        and any(set(PREDICTED.values()) & run.message_us.keys() for run in runs)
    )
    title = "A message one way"
    if runs:
        title += f", median and all samples, {node_words(evidence)}"
    if hidden:
        left_out = listed([bytes_words(size) for size in PREDICTED.values()])
        title += f"\n({left_out} are left out: predict them)"
    figure.suptitle(title, fontsize=14)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
