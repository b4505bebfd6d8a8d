"""Shares of something by NUMA node: a row of cells for each thing, the darker the more."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

DARK = 0.55  # of a cell's share: above, what is written in it is white


def draw_shares(
    axes: Axes, labels: Sequence[str], nodes: Sequence[int], shares: Sequence[Sequence[float]]
) -> None:
    """shares: 0 to 1, by label and node."""
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for line, of_row in enumerate(shares):
        for column, share in enumerate(of_row):
            if share > 0:
                axes.annotate(
                    f"{100 * share:.0f} %", (column, line), ha="center", va="center",
                    color="white" if share > DARK else "black",
                )  # fmt: skip
    axes.set_xticks(range(len(nodes)), [str(node) for node in nodes])
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(visible=False)
