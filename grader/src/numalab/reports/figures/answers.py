"""How a kernel answered the series that it was asked about, kind by kind."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import SERIES
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import DrawnSeries
from numalab.judging.series_answers import KindCount, count_kinds
from numalab.reports.answer_picture import ANSWERS
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, styled

# Of each answer: colour and hatching, so that a print in grey shows it, too.
_FILLS = {"right": ("#4C9F70", ""), "open": ("#E8C547", ".."), "wrong": ("#C8553D", "//")}


@styled
def answers_figure(
    seen: Sequence[tuple[str, Evidence]],
    *,
    part: str | None = None,
    width_in: float = WIDTH_IN,
) -> Figure:
    """Of each of the sessions, how many series of each kind were answered right, wrongly, or left
    open. part: one of the lab's kernels; None: the first that was asked. Raises NothingToDraw."""
    found: list[tuple[str, list[KindCount]]] = []
    asked: list[DrawnSeries] = []
    for label, evidence in seen:
        runs = [run for run in evidence.runs_of(SERIES) if run.series and part in (None, run.part)]
        if runs:
            found.append((label or runs[0].part or "", count_kinds(runs[0].series)))
            asked += runs[0].series
    if not found:
        raise NothingToDraw("no kernel was asked about series, so there is nothing to draw")
    rows = [of.kind for of in count_kinds(asked)]  # shared: each session may lack some
    figure = new_figure(width_in, 1.8 + 0.4 * len(rows))
    grid = figure.subplots(1, len(found), squeeze=False, sharey=True)
    for axes, (label, kinds) in zip(grid[0], found, strict=True):
        for of in kinds:
            row, left = rows.index(of.kind), 0
            for field, *_ in ANSWERS:
                count = of.answers[field]
                colour, hatch = _FILLS[field]
                axes.barh(row, count, left=left, color=colour, hatch=hatch, edgecolor="#333333")
                left += count
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("series")
        axes.grid(visible=False, axis="y")
        title = broken(label, width_in / len(found) - 1, 13)
        axes.set_title("\n".join(title), loc="left", fontsize=13)
    handles = [
        grid[0][0].barh(0, 0, color=_FILLS[field][0], hatch=_FILLS[field][1], edgecolor="#333333")
        for field, *_ in ANSWERS
    ]
    names = [name for *_, name in ANSWERS]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure
