"""Which threads write which cache lines."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import STORES
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import StoresRun
from numalab.palette import ink_on, place_colour
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, node_words, styled
from numalab.reports.line_picture import drawn_lines, per_hundred

LABELLED = 0.05  # of the axis: a part that is wider has its thread's number in it


def _draw(axes: Axes, title: Sequence[str], run: StoresRun, end: float) -> None:
    """end: of the axis, in stores per 100 keys."""
    lines = drawn_lines(run)
    for row, line in enumerate(lines):
        left = 0.0
        for thread, stores in sorted(line.thread_stores.items()):
            width = 100 * stores / run.n
            colour = place_colour(thread - 1)
            axes.barh(row, width, left=left, color=colour, edgecolor="#333333")
            if width > LABELLED * end:
                axes.annotate(
                    str(thread - 1), (left + width / 2, row), ha="center", va="center",
                    color=ink_on(colour),
                )  # fmt: skip
            left += width
    axes.set_xlim(0, end)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks(range(len(lines)))
    axes.set_ylabel(f"cache line ({run.line_bytes} bytes)")
    axes.set_xlabel("stores per 100 keys, by thread")
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_title("\n".join(title), loc="left", fontsize=13)


@styled
def lines_figure(
    seen: Sequence[tuple[str, Evidence]], *, part: str | None = None, width_in: float = WIDTH_IN
) -> Figure:
    """The cache lines that are written for many keys, by the threads that write them, of each of
    the sessions. Raises NothingToDraw."""
    found = []
    for label, evidence in seen:
        runs = [run for run in evidence.runs_of(STORES) if run.part == part and run.most_written]
        if runs:
            words = f"{label}, {node_words(evidence)}" if label else node_words(evidence)
            found.append((words, runs[-1]))
    if not found:
        raise NothingToDraw("nobody noted a kernel's stores, so there is nothing to draw")
    rows = max(len(drawn_lines(run)) for _, run in found)
    end = 1.05 * max(per_hundred(line, run) for _, run in found for line in drawn_lines(run))
    figure = new_figure(width_in, 2.0 + 0.45 * rows)
    grid = figure.subplots(1, len(found), squeeze=False)
    for axes, (words, run) in zip(grid[0], found, strict=True):
        _draw(axes, broken(words, width_in / len(found) - 1, 13), run, end)
    return figure
