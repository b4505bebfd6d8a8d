"""Where memory is that a kernel has placed, by NUMA node."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import FILE_PLACING, PLACING
from numalab.evidence.placed_pages import Placing
from numalab.evidence.record import Evidence
from numalab.labs.goals import LAB_PLACING
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, node_words, styled
from numalab.reports.figures.share_cells import draw_shares
from numalab.reports.home_table import drawn_nodes, home_rows


def _draw(axes: Axes, title: Sequence[str], run: Placing, owner: str) -> None:
    rows = home_rows(run, owner)
    nodes = drawn_nodes(rows, run)
    shares = [[row.shares.get(node, 0.0) for node in nodes] for row in rows]
    draw_shares(axes, [row.label for row in rows], nodes, shares)
    axes.set_xlabel("NUMA node")
    axes.set_title("\n".join(title), loc="left", fontsize=13)


@styled
def homes_figure(
    seen: Sequence[tuple[str, Evidence]],
    *,
    file: str | None = None,
    owner: str = LAB_PLACING.owner,
    width_in: float = WIDTH_IN,
) -> Figure:
    """Of each of the sessions; file: of a program under a policy; owner: of OWNERS, whose each part
    is. Raises NothingToDraw."""
    found = []
    for label, evidence in seen:
        looked_at = evidence.runs_of(PLACING if file is None else FILE_PLACING)
        runs = [run for run in looked_at if run.homes and run.file == (file or "")]
        if runs:
            said = f"{label}, {node_words(evidence)}" if label else node_words(evidence)
            found.append((said, runs[-1]))
    if not found:
        raise NothingToDraw("nobody looked where memory is placed")
    rows = max(len(home_rows(run)) for _, run in found)
    figure = new_figure(width_in, 1.6 + 0.45 * rows * len(found) + 0.8 * len(found))
    grid = figure.subplots(len(found), 1, squeeze=False)
    for axes, (said, run) in zip(grid[:, 0], found, strict=True):
        _draw(axes, broken(said, width_in - 1, 13), run, owner)
    return figure
