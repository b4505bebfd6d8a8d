"""Pictures of machines: for a terminal, and as SVG. Pure functions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from rich.text import Text

from numalab.machines.machine import LOCAL_DISTANCE, Core, Machine, Matrix, NumaNode
from numalab.palette import THREAD_COLOURS, thinned
from numalab.pu_lists import format_pus

MAX_COLUMNS = 4  # packages side by side
MAX_PU_ROWS = 6  # of a NUMA node; more are hard to take in
BLOCK_COLUMNS = 18  # of a distance table within 80 columns
FRAMES = 8  # columns that a package's and a NUMA node's borders take


def _colour(node: int) -> str:
    return THREAD_COLOURS[node % len(THREAD_COLOURS)]


def summary(machine: Machine) -> str:
    """Such as "2 packages x 4 NUMA nodes x 8 cores x 1 thread = 64 PUs"."""

    def count(number: int, word: str) -> str:
        return f"{number} {word}{'' if number == 1 else 's'}"

    only = len(machine.numa_nodes) - len(machine.nodes_with_cores)
    text = " x ".join(
        (
            count(machine.packages, "package"),
            count(machine.nodes_per_package, "NUMA node"),
            count(machine.cores_per_node, "core"),
            count(machine.threads_per_core, "thread"),
        )
    )
    text += f" = {count(machine.pus, 'PU')}"
    return text + (f", and {count(only, 'NUMA node')} of memory only" if only else "")


def heading(machine: Machine) -> str:
    """The title, and that it has fewer cores if it has."""
    if machine.scaled_from is None:
        return machine.title
    return f"{machine.title} (scaled to {machine.cores_per_node} cores a NUMA node)"


# ---- for a terminal ------------------------------------------------------------


def _fill(cells: Sequence[str], columns: int, prefix: str) -> list[str]:
    """The cells in lines; the first begins with the prefix, the others are indented so."""
    lines: list[str] = []
    line = ""
    for cell in cells:
        if line and len(prefix) + len(line) + 1 + len(cell) > columns:
            lines.append(line)
            line = ""
        line += f" {cell}" if line else cell
    lines.append(line)
    return [(" " * len(prefix) if number else prefix) + line for number, line in enumerate(lines)]


def _detailed(group: Sequence[Core]) -> list[str]:
    return ["+".join(str(pu) for pu in core.pus) for core in group]


def _collapsed(group: Sequence[Core]) -> list[str]:
    """Ranges of first threads, of second threads and so on, breakable at commas."""
    threads = [format_pus(pus) for pus in zip(*(core.pus for core in group), strict=True)]
    cells: list[str] = []
    for number, text in enumerate(threads):
        parts = text.split(",")
        cells += [f"{part}," for part in parts[:-1]]
        cells.append(parts[-1] + (" +" if number + 1 < len(threads) else ""))
    return cells


def _pu_lines(node: NumaNode, columns: int, collapse: bool) -> list[str]:
    if not node.core_groups:
        return ["memory only"]
    prefix = "L3: " if len(node.core_groups) > 1 else ""
    cells = _collapsed if collapse else _detailed
    return [line for group in node.core_groups for line in _fill(cells(group), columns, prefix)]


def _title(node: NumaNode, columns: int) -> tuple[str, str]:
    """What the border says, and what is left for the first line inside."""
    memory = "" if node.memory_mb is None else f"{node.memory_mb} MiB"
    for name in (f"NUMA node {node.number}", f"node {node.number}"):
        if memory and len(name) + len(memory) + 1 <= columns:
            return f"{name} {memory}", ""
        if not memory and len(name) <= columns:
            return name, ""
    return f"node {node.number}", memory


def _node_box(node: NumaNode, columns: int, collapse: bool, titled: bool) -> list[Text]:
    """columns: inside the box. titled: the memory's size goes into the border."""
    colour = _colour(node.number)
    title, memory = _title(node, columns if titled else 0)
    rows = [memory] if memory else []
    rows += _pu_lines(node, columns, collapse)
    top = Text("┌ ", style=colour)
    top.append(title, style=f"bold {colour}")
    top.append(f" {'─' * (columns - len(title))}┐", style=colour)
    lines = [top]
    for row in rows:
        line = Text("│ ", style=colour)
        line.append(row.ljust(columns), style="default")
        line.append(" │", style=colour)
        lines.append(line)
    lines.append(Text(f"└{'─' * (columns + 2)}┘", style=colour))
    return lines


def _package_box(boxes: Sequence[Text], number: int, columns: int, rows: int) -> list[Text]:
    """columns, rows: inside the box."""
    title = f"Package {number}"
    lines = [Text(f"┌ {title} {'─' * (columns - len(title))}┐", style="bold")]
    for row in range(rows):
        line = Text("│ ")
        line.append_text(boxes[row] if row < len(boxes) else Text(" " * columns))
        line.append(" │")
        lines.append(line)
    lines.append(Text(f"└{'─' * (columns + 2)}┘", style="bold"))
    return lines


def _layout(machine: Machine, width: int) -> tuple[int, int, bool]:
    """Packages in a row, columns inside a NUMA node's box, whether PU lists collapse."""
    nodes = machine.numa_nodes
    for collapse in (False, True):
        for across in range(min(machine.packages, MAX_COLUMNS), 0, -1):
            columns = (width - (across - 1)) // across - FRAMES
            lines = [_pu_lines(node, columns, collapse) for node in nodes]
            fits = all(len(line) <= columns for rows in lines for line in rows)
            fits = fits and all(
                max(len(text) for text in _title(node, 0)) <= columns for node in nodes
            )
            limit = max(MAX_PU_ROWS, machine.groups_per_node)
            if fits and all(len(rows) <= limit for rows in lines):
                return across, columns, collapse
    return 1, width - FRAMES, True


def terminal(machine: Machine, width: int) -> list[Text]:
    """The machine as nested boxes, at most `width` columns wide (40 or more)."""
    across, columns, collapse = _layout(machine, width)
    titled = all(not _title(node, columns)[1] for node in machine.numa_nodes)
    needed = [
        len(line)
        for node in machine.numa_nodes
        for line in (
            *_pu_lines(node, columns, collapse),
            *_title(node, columns if titled else 0),
        )
    ]
    columns = min(columns, max(needed))
    packages = [
        [
            line
            for node in machine.nodes_of(package)
            for line in _node_box(node, columns, collapse, titled)
        ]
        for package in range(machine.packages)
    ]
    lines = []
    for first in range(0, len(packages), across):
        row = packages[first : first + across]
        rows = max(len(boxes) for boxes in row)
        drawn = [
            _package_box(boxes, first + index, columns + 4, rows) for index, boxes in enumerate(row)
        ]
        lines += [Text(" ").join(parts) for parts in zip(*drawn, strict=True)]
    legend = "Numbers are PUs"
    if collapse:
        legend += ", 0-6:2 is 0,2,4,6"
    if machine.threads_per_core > 1:
        legend += "; + joins the threads of " + ("each core" if collapse else "a core")
    if machine.groups_per_node > 1:
        legend += "; L3: cores that share one"
    lines += [Text(line, style="dim") for line in textwrap.wrap(legend, width)]
    for line in lines:
        line.no_wrap = True
    return lines


def distance_table(machine: Machine) -> list[str]:
    """The distances in the words of `numactl -H`, in blocks that fit 80 columns."""
    distances = machine.guest_distances()
    lines = ["node distances:"]
    for first in range(0, len(distances), BLOCK_COLUMNS):
        block = range(first, min(first + BLOCK_COLUMNS, len(distances)))
        lines.append("node" + "".join(f"{number:4d}" for number in block))
        for number, row in enumerate(distances):
            lines.append(f"{number:3d}:" + "".join(f"{row[other]:4d}" for other in block))
    return lines


# ---- as SVG ------------------------------------------------------------------------

CELL_W, CELL_H, GAP, PAD, LABEL_H = 38, 24, 4, 10, 22
TITLE_H = 58
PAGE_W = 1080
FONT = "font-family='Helvetica, Arial, sans-serif'"


def _near_square(count: int) -> int:
    """Columns for so many boxes, so that the rows are full."""
    return next(n for n in range(1, count + 1) if count % n == 0 and n * n >= count)


def _text(x: float, y: float, words: str, size: int = 13, more: str = "") -> str:
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}'{more}>{escape(words)}</text>"


def _box(x: float, y: float, w: float, h: float, fill: str, edge: str, thick: float = 1) -> str:
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='4' fill='{fill}' "
        f"stroke='{edge}' stroke-width='{thick:g}'/>"
    )


def node_label(node: NumaNode) -> str:
    """Its number, and its memory where that is known."""
    memory = "" if node.memory_mb is None else f", {node.memory_mb} MiB"
    return f"NUMA node {node.number}{memory}"


class _Drawing:
    """Sizes that all NUMA nodes and packages of a machine share, and their drawing."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.core_h = CELL_H * machine.threads_per_core
        per_group = machine.cores_per_node // machine.groups_per_node
        self.core_columns = _near_square(per_group)
        core_rows = per_group // self.core_columns
        self.group_columns = _near_square(machine.groups_per_node)
        group_rows = machine.groups_per_node // self.group_columns
        self.group_w = self.core_columns * (CELL_W + GAP) - GAP + 2 * PAD
        self.group_h = core_rows * (self.core_h + GAP) - GAP + LABEL_H + PAD
        groups_w = self.group_columns * (self.group_w + PAD) - PAD
        label = max(len(node_label(node)) for node in machine.numa_nodes)
        self.node_w = max(groups_w, label * 9.4) + 2 * PAD  # bold, on the wide side
        self.node_h = LABEL_H + group_rows * (self.group_h + PAD) + PAD
        most = max(len(machine.nodes_of(package)) for package in range(machine.packages))
        self.node_columns = min(2, most)
        node_rows = -(-most // self.node_columns)
        self.package_w = self.node_columns * (self.node_w + PAD) + PAD
        self.package_h = LABEL_H + node_rows * (self.node_h + PAD) + PAD

    def core(self, core: Core, x: float, y: float, colour: str) -> list[str]:
        parts = [_box(x, y, CELL_W, self.core_h, thinned(colour, 0.35), "#333333")]
        for thread, pu in enumerate(core.pus):
            top = y + thread * CELL_H
            if thread:
                parts.append(
                    f"<path d='M{x:g} {top:g}h{CELL_W}' stroke='#333333' stroke-dasharray='3 2'/>"
                )
            parts.append(_text(x + CELL_W / 2, top + 17, str(pu), 13, " text-anchor='middle'"))
        return parts

    def node(self, node: NumaNode, x: float, y: float) -> list[str]:
        colour = _colour(node.number)
        parts = [
            _box(x, y, self.node_w, self.node_h, "#ffffff", colour, 3),
            _text(x + PAD, y + 18, node_label(node), 14, " font-weight='bold'"),
        ]
        if not node.core_groups:
            parts.append(_text(x + PAD, y + LABEL_H + 18, "memory only"))
        for index, group in enumerate(node.core_groups):
            row, column = divmod(index, self.group_columns)
            left = x + PAD + column * (self.group_w + PAD)
            top = y + LABEL_H + PAD / 2 + row * (self.group_h + PAD)
            parts.append(_box(left, top, self.group_w, self.group_h, "#eeeeee", "#999999"))
            parts.append(_text(left + PAD, top + 15, "L3", 12))
            for number, core in enumerate(group):
                down, right = divmod(number, self.core_columns)
                parts += self.core(
                    core,
                    left + PAD + right * (CELL_W + GAP),
                    top + LABEL_H + down * (self.core_h + GAP),
                    colour,
                )
        return parts

    def package(self, number: int, x: float, y: float) -> list[str]:
        parts = [
            _box(x, y, self.package_w, self.package_h, "#f7f7f7", "#333333", 1.5),
            _text(x + PAD, y + 17, f"Package {number}", 14),
        ]
        for index, node in enumerate(self.machine.nodes_of(number)):
            row, column = divmod(index, self.node_columns)
            parts += self.node(
                node,
                x + PAD + column * (self.node_w + PAD),
                y + LABEL_H + PAD / 2 + row * (self.node_h + PAD),
            )
        return parts


def _matrix(distances: Matrix, x: float, y: float) -> list[str]:
    """The distances as a table; the farther, the darker, and every number is written."""
    farthest = max(max(row) for row in distances)
    span = max(1, farthest - LOCAL_DISTANCE)
    parts = []
    for i, row in enumerate(distances):
        middle = " text-anchor='middle' font-weight='bold'"
        parts.append(_text(x + (i + 1.5) * CELL_W, y + 17, str(i), 13, middle))
        parts.append(_text(x + CELL_W / 2, y + (i + 1) * CELL_H + 17, str(i), 13, middle))
        for j, distance in enumerate(row):
            left, top = x + (j + 1) * CELL_W, y + (i + 1) * CELL_H
            shade = thinned("#56B4E9", 0.9 * (distance - LOCAL_DISTANCE) / span)
            parts.append(_box(left, top, CELL_W, CELL_H, shade, "#999999", 0.5))
            parts.append(
                _text(left + CELL_W / 2, top + 17, str(distance), 13, " text-anchor='middle'")
            )
    return parts


def _description(machine: Machine) -> str:
    """What the picture shows, for those who can't see it."""
    sentences = [f"{summary(machine)}."]
    for node in machine.numa_nodes:
        groups = "; ".join(
            f"L3 group {index}: {' '.join(_detailed(group))}"
            for index, group in enumerate(node.core_groups)
        )
        cores = f"PUs by core, {groups}" if groups else "memory only"
        sentences.append(f"{node_label(node)}, in package {node.package}: {cores}.")
    return " ".join(sentences)


def svg(machine: Machine) -> str:
    """The machine as a picture file that needs nothing from elsewhere."""
    drawing = _Drawing(machine)
    step_x, step_y = drawing.package_w + PAD, drawing.package_h + PAD
    most = min(machine.packages, max(1, int((PAGE_W - PAD) // step_x)))
    rows = -(-machine.packages // most)
    across = -(-machine.packages // rows)  # as even as the rows can be
    title = heading(machine)
    parts = []
    for number in range(machine.packages):
        row, column = divmod(number, across)
        parts += drawing.package(number, PAD + column * step_x, TITLE_H + row * step_y)
    below = TITLE_H + rows * step_y + PAD
    nodes = len(machine.numa_nodes)
    if machine.distances is None:
        parts.append(_text(PAD, below + 14, "Distances: not given in the source."))
        height = below + 30
        matrix_w = 300
    else:
        parts.append(_text(PAD, below + 14, "Distances (ACPI SLIT, 10 is local)", 14))
        parts += _matrix(machine.distances, PAD, below + 22)
        height = below + 22 + (nodes + 1) * CELL_H + PAD
        matrix_w = max(300, (nodes + 1) * CELL_W + 2 * PAD)
    subtitle = f"{summary(machine)}. Source: {machine.source}"
    # Units a letter at these sizes, on the wide side.
    words_w = 2 * PAD + max(len(title) * 10.8, len(subtitle) * 7.4)
    width = round(max(PAD + across * step_x, matrix_w, words_w))
    head = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height:g}' "
        f"viewBox='0 0 {width} {height:g}' role='img' aria-labelledby='title desc' {FONT} "
        "fill='#000000'>",
        f"<title id='title'>{escape(title)}</title>",
        f"<desc id='desc'>{escape(_description(machine))}</desc>",
        f"<rect width='{width}' height='{height:g}' fill='#ffffff'/>",
        _text(PAD, 24, title, 17, " font-weight='bold'"),
        _text(PAD, 46, subtitle),
    ]
    return "\n".join([*head, *parts, "</svg>", ""])
