"""A machine drawn: packages, NUMA nodes, L3 groups, cores with their PUs, distances."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numalab.evidence.record import Json
from numalab.machines.machine import LOCAL_DISTANCE, Machine, Matrix
from numalab.machines.topology import Topology
from numalab.palette import thinned
from numalab.reports.figures.boxes import (
    LABEL_H,
    PAD,
    PU_H,
    PU_W,
    TITLE_POINTS,
    Box,
    Shape,
    add_box,
    core_fill,
    draw_outlines,
    lay_out,
    shape_of,
)
from numalab.reports.figures.canvas import DPI, LEAST_POINTS, WIDTH_IN, broken, styled

LINE_H = 0.24  # of 12 points


def paper(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure whose axes are measured in inches from its upper left corner."""
    figure = Figure(figsize=(width, height), dpi=DPI)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return figure, axes


def write(axes: Axes, x: float, y: float, text: str, points: float = LEAST_POINTS,
          bold: bool = False) -> None:  # fmt: skip
    """A line whose top is at y."""
    axes.text(x, y, text, va="top", fontsize=points, fontweight="bold" if bold else "normal")


def _draw_cores(axes: Axes, shape: Shape, x: float, y: float, width: float) -> None:
    layout = lay_out(shape, width)
    draw_outlines(axes, layout, x, y)
    node_of = {pu: node.number for node in shape.nodes for pu in node.pus}
    for pu, box in layout.pu_boxes():
        where = Box(x + box.x, y + box.y, box.width, box.height)
        add_box(axes, where, core_fill(node_of[pu]), "#999999", 0.6)
        axes.text(*where.middle, str(pu), ha="center", va="center_baseline", fontsize=12)
    for _, box in layout.core_boxes():
        edge = Box(x + box.x, y + box.y, box.width, box.height)
        add_box(axes, edge, "none", "#333333", 1.2)


def _draw_distances(axes: Axes, distances: Matrix, x: float, y: float) -> None:
    """The farther, the darker; every number is written."""
    farthest = max(max(row) for row in distances)
    span = max(1, farthest - LOCAL_DISTANCE)
    for i, row in enumerate(distances):
        heads = (((i + 1.5) * PU_W, 0.5 * PU_H), (0.5 * PU_W, (i + 1.5) * PU_H))
        for across, down in heads:
            axes.text(x + across, y + down, str(i), ha="center", va="center", fontsize=12,
                      fontweight="bold")  # fmt: skip
        for j, distance in enumerate(row):
            box = Box(x + (j + 1) * PU_W, y + (i + 1) * PU_H, PU_W, PU_H)
            add_box(axes, box, thinned("#56B4E9", 0.9 * (distance - LOCAL_DISTANCE) / span),
                    "#999999", 0.5)  # fmt: skip
            axes.text(*box.middle, str(distance), ha="center", va="center", fontsize=12)


@styled
def topology_figure(
    machine: Machine | Topology | Json,
    *,
    title: str | None = None,
    width_in: float = WIDTH_IN,
    distances: bool = True,
) -> Figure:
    """A described machine, or a node by its description (as a record has it) or topology.
    title: in the place of the machine's or the node's own; distances: draw them, too."""
    shape = shape_of(machine)
    inner = width_in - 2 * PAD
    titles = broken(title or shape.title, inner, TITLE_POINTS * 1.1)
    words = broken(f"{shape.subtitle}. Numbers are PUs", inner, 12)
    layout = lay_out(shape, inner)
    matrix = shape.distances if distances and shape.distances and len(shape.distances) > 1 else None
    matrix_w = 0.0 if matrix is None else max(3.5, (len(matrix) + 1) * PU_W)
    matrix_h = 0.0 if matrix is None else LABEL_H + (len(matrix) + 1) * PU_H
    top = PAD + 0.28 * len(titles) + LINE_H * len(words) + PAD
    beside = matrix is not None and layout.width + 3 * PAD + matrix_w <= inner
    below = top + layout.height + PAD
    height = below
    if matrix is not None:
        height = max(below, top + matrix_h + PAD) if beside else below + matrix_h + PAD
    elif shape.note and distances:
        height += LINE_H + PAD
    figure, axes = paper(width_in, height)
    y = PAD
    for line in titles:
        write(axes, PAD, y, line, TITLE_POINTS, bold=True)
        y += 0.28
    for line in words:
        write(axes, PAD, y, line)
        y += LINE_H
    _draw_cores(axes, shape, PAD, top, inner)
    if matrix is not None:
        x, y = (PAD + layout.width + 3 * PAD, top) if beside else (PAD, below)
        write(axes, x, y, "Distances (ACPI SLIT, 10 is local)")
        _draw_distances(axes, matrix, x, y + LABEL_H)
    elif shape.note and distances:
        write(axes, PAD, below, shape.note)
    return figure
