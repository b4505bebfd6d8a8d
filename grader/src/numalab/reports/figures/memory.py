"""What a table takes: memory before, during and after, and how much of it on huge pages."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import KernelTable
from numalab.palette import BLUE, GREEN, THREAD_COLOURS
from numalab.reports.figures.canvas import WIDTH_IN, new_figure, node_words, styled
from numalab.reports.memory_table import memory_columns
from numalab.words import amount, percent

MIB = 2**20
WHEN = ("before", "there", "after")


def _draw(axes: Axes, name: str, table: KernelTable) -> None:
    """Resident memory against that before the table; the part of it on huge pages is hatched."""
    before = table.resident_before_bytes
    taken = [
        0.0,
        (table.resident_during_bytes - before) / MIB,
        (table.resident_after_bytes - before) / MIB,
    ]
    axes.bar(WHEN, taken, color=THREAD_COLOURS[0], edgecolor="#333333", label="resident")
    axes.bar(WHEN[1], table.huge_bytes / MIB, color=GREEN, edgecolor="#333333", hatch="//",
             label="of it on huge pages")  # fmt: skip
    axes.axhline(table.bytes / MIB, color=BLUE, linestyle="--", label="asked for")
    faults = f"{table.initialize_page_faults:,} page faults"
    huge = f"{percent(table.huge_bytes / table.bytes)} on huge pages"
    axes.set_title(f"{name}\n{huge}\n{faults}", fontsize=13)


@styled
def memory_figure(evidence: Evidence, *, width_in: float = WIDTH_IN) -> Figure:
    """The large table on small pages, on huge pages and as it was handed in, as far as they
    were looked at. Raises NothingToDraw."""
    columns = memory_columns(evidence)
    if not columns:
        raise NothingToDraw("nobody looked at a table's memory, so there is nothing to draw")
    figure = new_figure(width_in, 4.8)
    grid = figure.subplots(1, len(columns), sharey=True, squeeze=False)
    for axes, column in zip(grid[0], columns, strict=True):
        _draw(axes, column.name, column.table)
    grid[0][0].set_ylabel("memory against before [MiB]")
    size = amount(columns[-1].table.bytes)
    figure.suptitle(f"A table of {size}, {node_words(evidence)}", fontsize=14)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
