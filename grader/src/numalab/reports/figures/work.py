"""How evenly the work was shared: for how much of the time that the calls take each thread is at
work. Looks differ in how often they call, so seconds could not be compared."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import PLACEMENT
from numalab.evidence.record import Evidence, Placement
from numalab.evidence.work import work_share
from numalab.palette import GREY, place_colour
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, node_words, styled

MOST_NUMBERED = 24  # threads that are all numbered on the axis


def best_look(evidence: Evidence, part: str | None) -> Placement | None:
    """Of a kernel, the look in which the work was shared most evenly: other load takes a core
    from a thread now and then."""
    looks = [run for run in evidence.runs_of(PLACEMENT) if run.part == part and run.cpu_time]
    return max(looks, key=lambda look: work_share(look).share, default=None)


def _waits_too(look: Placement) -> bool:
    return any(thread.lost_s > 0.01 * thread.cpu_s for thread in look.cpu_time)


def _draw(axes: Axes, label: str, look: Placement, width: float, end: float) -> None:
    """end: of the axis, in percent."""
    share = work_share(look)
    longest_s = sum(thread.longest_s for thread in look.cpu_time) or 1.0
    works = [100 * work for work in share.thread_shares]
    waits = [100 * thread.lost_s / longest_s for thread in look.cpu_time]
    waits += [0.0] * (len(works) - len(waits))  # threads that never started
    threads = range(len(works))
    axes.barh(threads, works, color=[place_colour(t) for t in threads], edgecolor="#333333",
              label="works")  # fmt: skip
    axes.barh(threads, waits, left=works, color="none", edgecolor=GREY, hatch="///",
              label="kept from its core by other programs")  # fmt: skip
    for thread, reaches in enumerate(a + b for a, b in zip(works, waits, strict=False)):
        if reaches > end:
            axes.annotate(f"goes on to {reaches:.0f} %", (0.99 * end, thread), ha="right",
                          va="center", bbox={"facecolor": "white", "edgecolor": GREY})  # fmt: skip
    axes.axvline(100 * share.share, color="#000000", linestyle="--", linewidth=1.5)
    axes.set_xlim(0, end)
    axes.set_ylim(len(works) - 0.5, -0.5)
    step = -(-len(works) // MOST_NUMBERED)
    axes.set_yticks([t for t in threads if t % step == 0])
    axes.set_ylabel("thread")
    axes.set_xlabel("time at work [%]; dashed: mean")
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    words = f"{label}\nwork share {share.share:.2f}"
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
        for part in dict.fromkeys(run.part for run in evidence.runs_of(PLACEMENT)):
            look = best_look(evidence, part)
            if look is not None and (parts is None or part in parts):
                words = [word for word in (label, part, node_words(evidence)) if word]
                panels.append((", ".join(words), look))
    if not panels:
        raise NothingToDraw("nobody looked how the work was shared, so there is nothing to draw")
    across = min(2, len(panels))
    rows = -(-len(panels) // across)
    most = max(len(work_share(look).thread_shares) for _, look in panels)
    height = 2.3 + min(0.34 * most, 5.5)
    figure = new_figure(width_in, rows * height)
    grid = figure.subplots(rows, across, squeeze=False)
    # The same for all panels, which are to be compared; what is longer is told in words.
    with_waits = any(_waits_too(look) for _, look in panels)
    end = 150.0 if with_waits else 105.0
    for index, (label, look) in enumerate(panels):
        _draw(grid[index // across][index % across], label, look, width_in / across - 0.9, end)
    for index in range(len(panels), rows * across):
        grid[index // across][index % across].axis("off")
    if with_waits:
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure
