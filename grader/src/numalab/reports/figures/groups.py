"""What control groups left two programs: PUs, and where their pages live."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.errors import NothingToDraw
from numalab.evidence.cpusets import JOB, OTHERS, Cpusets, share_on
from numalab.evidence.kinds import CPUSETS
from numalab.evidence.record import Evidence
from numalab.machines.topology import Topology, topology_of_node
from numalab.reports.figures.canvas import WIDTH_IN, broken, new_figure, node_words, styled
from numalab.reports.figures.share_cells import draw_shares

GROUPS = (JOB, OTHERS)
NOT_ALLOWED, ALLOWED, SEEN = 0.0, 0.35, 1.0


def _draw_pus(axes: Axes, run: Cpusets, topology: Topology) -> None:
    """By NUMA node, and in it by number."""
    pus = sorted(topology.pus, key=lambda pu: (pu.numa_node, pu.number))
    shades = [
        [
            SEEN if pu.number in run.programs[group].ran_on
            else ALLOWED if pu.number in run.programs[group].allowed_pus
            else NOT_ALLOWED
            for pu in pus
        ]
        for group in GROUPS
    ]  # fmt: skip
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for at in range(1, len(pus)):
        if pus[at].numa_node != pus[at - 1].numa_node:
            axes.axvline(at - 0.5, color="black", linewidth=1)
    axes.set_xticks(range(len(pus)), [str(pu.number) for pu in pus])
    axes.set_yticks(range(len(GROUPS)), list(GROUPS))
    axes.set_xlabel("PU, by NUMA node: dark: seen there, light: allowed")
    axes.grid(visible=False)


def _draw_pages(axes: Axes, run: Cpusets, nodes: Sequence[int]) -> None:
    rows = [
        (f"{group}, {when}", pages)
        for group in GROUPS
        for when, pages in (
            ("before", run.programs[group].pages_at_first),
            ("the same, after", run.programs[group].pages_later),
            ("new", run.programs[group].pages_new),
        )
    ]
    shares = [[share_on(pages or {}, [node]) for node in nodes] for _, pages in rows]
    draw_shares(axes, [label for label, _ in rows], nodes, shares)
    axes.set_xlabel("NUMA node of pages")


@styled
def groups_figure(seen: Sequence[tuple[str, Evidence]], *, width_in: float = WIDTH_IN) -> Figure:
    """Of each of the sessions. Raises NothingToDraw."""
    found = []
    for label, evidence in seen:
        runs = [run for run in evidence.runs_of(CPUSETS) if run.outcome.ok]
        if runs:
            said = f"{label}, {node_words(evidence)}" if label else node_words(evidence)
            found.append((said, runs[-1], topology_of_node(evidence.node)))
    if not found:
        raise NothingToDraw("no program was put into a control group, which virtual nodes show")
    figure = new_figure(width_in, 5.2 * len(found))
    grid = figure.subplots(2 * len(found), 1, squeeze=False, height_ratios=[1, 3] * len(found))
    for at, (said, run, topology) in enumerate(found):
        pus, pages = grid[2 * at, 0], grid[2 * at + 1, 0]
        _draw_pus(pus, run, topology)
        _draw_pages(pages, run, sorted(set(topology.numa_node.values())))
        pus.set_title("\n".join(broken(said, width_in - 1, 13)), loc="left", fontsize=13)
    return figure
