"""How evenly the work was shared: CPU time of each thread in the compute phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.figures.canvas import WIDTH_IN, broken, new_figure, place_words, styled
from numalab.palette import GREY, place_colour
from numalab.record import Evidence, Placement
from numalab.work import work_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NUMBERED = 24  # threads that are all numbered on the axis


def best_look(evidence: Evidence, part: str | None) -> Placement | None:
    """Of a kernel, the look in which the work was shared most evenly: other load takes a core
    from a thread now and then, and the judge is as lenient."""
    looks = [run for run in evidence.placements if run.part == part and run.cpu_time]
    return max(looks, key=lambda look: work_share(look).share, default=None)


def _draw(axes: Axes, label: str, look: Placement, width: float) -> None:
    times_s = [one.cpu_s for one in look.cpu_time]
    waiting_s = [one.waiting_s for one in look.cpu_time]
    threads = range(len(times_s))
    axes.barh(threads, times_s, color=[place_colour(t) for t in threads], edgecolor="#333333",
              label="works")  # fmt: skip
    axes.barh(threads, waiting_s, left=times_s, color="none", edgecolor=GREY, hatch="///",
              label="waits for a core")  # fmt: skip
    mean_s = sum(times_s) / look.team
    axes.axvline(mean_s, color="#000000", linestyle="--", linewidth=1.5)
    axes.set_xlim(0, 1.12 * max(max(a + b for a, b in zip(times_s, waiting_s, strict=True)), 1e-9))
    axes.set_ylim(len(times_s) - 0.5, -0.5)
    step = -(-len(times_s) // MOST_NUMBERED)
    axes.set_yticks([t for t in threads if t % step == 0])
    axes.set_ylabel("thread")
    axes.set_xlabel("CPU time [s]; dashed: mean")
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    words = f"{label}\nwork share {work_share(look).share:.2f}"
    lines = [line for part in words.splitlines() for line in broken(part, width, 13)]
    axes.set_title("\n".join(lines), loc="left", fontsize=13)


@styled
def work_figure(
    seen: Sequence[tuple[str, Evidence]],
    *,
    parts: Sequence[str | None] | None = None,
    width_in: float = WIDTH_IN,
) -> Figure:
    """One panel for each labelled record and kernel of a lab; parts: those kernels only. Raises
    NothingToDraw."""
    panels: list[tuple[str, Placement]] = []
    for label, evidence in seen:
        for part in dict.fromkeys(run.part for run in evidence.placements):
            look = best_look(evidence, part)
            if look is not None and (parts is None or part in parts):
                words = [word for word in (label, part, place_words(evidence)) if word]
                panels.append((", ".join(words), look))
    if not panels:
        raise NothingToDraw("nobody looked how the work was shared, so there is nothing to draw")
    across = min(2, len(panels))
    rows = -(-len(panels) // across)
    most = max(len(look.cpu_time) for _, look in panels)
    height = 2.3 + min(0.34 * most, 5.5)
    figure = new_figure(width_in, rows * height)
    grid = figure.subplots(rows, across, squeeze=False)
    for index, (label, look) in enumerate(panels):
        _draw(grid[index // across][index % across], label, look, width_in / across - 0.9)
    for index in range(len(panels), rows * across):
        grid[index // across][index % across].axis("off")
    if any(one.waiting_s > 0.01 * one.cpu_s for _, look in panels for one in look.cpu_time):
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
