"""Machines as text: boxes for a terminal, a table of distances, and a description. Pure
functions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import chain

from rich.text import Text

from numalab.machines.machine import Core, Machine, NumaNode, Span
from numalab.palette import THREAD_COLOURS
from numalab.pu_lists import format_pus

MAX_COLUMNS = 4  # packages side by side
MAX_PU_ROWS = 6  # of a NUMA node; more are hard to take in
BLOCK_COLUMNS = 18  # of a distance table within 80 columns
FRAMES = 8  # columns that a package's and a NUMA node's borders take


def _colour(node: int) -> str:
    return THREAD_COLOURS[node % len(THREAD_COLOURS)]


def _count(number: int | Span, word: str) -> str:
    is_one = number in (1, (1, 1))
    return f"{number} {word}{'' if is_one else 's'}"


def summary(machine: Machine) -> str:
    """Return the units of a machine, such as "2 packages x 4 NUMA nodes x 8 cores x 1 thread = 64
    PUs"; where units are unlike, from the fewest to the most: "16-18 cores"."""
    only = len(machine.numa_nodes) - len(machine.nodes_with_cores)
    without = sum(node.memory_mb == 0 for node in machine.numa_nodes)
    packages = _count(machine.packages, "package")
    cores = (
        f"{_count(machine.cores_per_node, 'core')} x {_count(machine.threads_per_core, 'thread')}"
    )
    text = f"{packages} x {_count(machine.nodes_per_package, 'NUMA node')} x {cores}"
    crossing = len(machine.nodes_with_cores)
    if len(machine.parts) > crossing:
        verb = "crosses" if crossing == 1 else "cross"
        text = f"{packages} and {_count(crossing, 'NUMA node')} that {verb} them, with {cores}"
    text += f" = {_count(machine.pus, 'PU')}"
    if without:
        text += f", {_count(without, 'NUMA node')} without memory"
    return text + (f", and {_count(only, 'NUMA node')} of memory only" if only else "")


def kinds_line(machine: Machine) -> str:
    """Return how many cores there are of each kind, with their PUs; empty where there is one
    kind."""
    kinds = machine.core_kinds
    if len(kinds) < 2:
        return ""
    pus: dict[str, list[int]] = {kind: [] for kind in kinds}
    for node in machine.numa_nodes:
        for core in node.cores:
            pus[core.kind] += core.pus
    parts = []
    for kind, number in kinds.items():
        cores = _count(number, f"{kind or 'other'} core")
        parts.append(f"{cores}: PU{'' if len(pus[kind]) == 1 else 's'} {format_pus(pus[kind])}")
    return "; ".join(parts)


def memory_words(node: NumaNode) -> str:
    """Return size, kind and cache of a NUMA node's memory, as far as they are given: "98304 MiB
    DDR4, behind 16384 MiB of memory-side cache"."""
    size = "" if node.memory_mb is None else f"{node.memory_mb} MiB"
    words = " ".join(filter(None, (size, node.memory_kind)))
    if node.memory_side_cache_mb is not None:
        cache = f"behind {node.memory_side_cache_mb} MiB of memory-side cache"
        words = f"{words}, {cache}" if words else f"memory {cache}"
    return words


def heading(machine: Machine) -> str:
    """Return the machine's title, and how far it is scaled down, if it is."""
    if machine.scaled_from is None:
        return machine.title
    return f"{machine.title} (scaled to {machine.cores_per_node} cores per NUMA node)"


# ---- for a terminal ------------------------------------------------------------


def _fill(cells: Sequence[str], columns: int, prefix: str) -> list[str]:
    """Return cells in lines, the first with the prefix and the others indented by its length. A
    prefix that leaves no room for the widest cell has a line of its own, and the others are
    indented by two."""
    if prefix.strip() and len(prefix) + max(map(len, cells)) > columns:
        return [prefix.rstrip(), *_fill(cells, columns, "  ")]
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
    """Return ranges of the cores' first threads, of their second ones and so on, in cells that end
    at commas. group: cores with the same number of threads."""
    threads = [format_pus(pus) for pus in zip(*(core.pus for core in group), strict=True)]
    cells: list[str] = []
    for number, text in enumerate(threads):
        parts = text.split(",")
        cells += [f"{part}," for part in parts[:-1]]
        cells.append(parts[-1] + (" +" if number + 1 < len(threads) else ""))
    return cells


def _alike(group: Sequence[Core]) -> list[tuple[str, list[Core]]]:
    """Return the cores of each kind and number of threads, with the kind's name."""
    found: dict[tuple[str, int], list[Core]] = {}
    for core in group:
        found.setdefault((core.kind, len(core.pus)), []).append(core)
    return [(kind, cores) for (kind, _), cores in found.items()]


def _pu_lines(node: NumaNode, columns: int, collapse: bool) -> list[str]:
    if not node.core_groups:
        return ["memory only"]
    lines = []
    cells = _collapsed if collapse else _detailed
    for group in node.core_groups:
        prefix = ""
        if not group[0].has_l3:
            prefix = "no L3: "
        elif len(node.core_groups) > 1:
            prefix = "L3: "
        for kind, cores in _alike(group):
            name = f"{kind}: " if kind else ""
            lines += _fill(cells(cores), columns, prefix + name)
            prefix = " " * len(prefix)
    return lines


def _memory_lines(node: NumaNode) -> list[str]:
    """Return the lines on kind and cache of a NUMA node's memory."""
    lines = [node.memory_kind] if node.memory_kind else []
    if node.memory_side_cache_mb is not None:
        lines.append(f"cache {node.memory_side_cache_mb} MiB")
    return lines


def _title(node: NumaNode, columns: int) -> tuple[str, str]:
    """Return a NUMA node's title for the border, with the memory's size if that fits, and the size
    for the first line inside if it does not."""
    memory = "" if node.memory_mb is None else f"{node.memory_mb} MiB"
    for name in (f"NUMA node {node.number}", f"node {node.number}"):
        if memory and len(name) + len(memory) + 1 <= columns:
            return f"{name} {memory}", ""
        if not memory and len(name) <= columns:
            return name, ""
    return f"node {node.number}", memory


def _draw_node(node: NumaNode, columns: int, collapse: bool, titled: bool) -> list[Text]:
    """Return the lines of a NUMA node's box. columns: inside it; titled: the border has the
    memory's size if that fits."""
    colour = _colour(node.number)
    title, memory = _title(node, columns if titled else 0)
    rows = [memory] if memory else []
    rows += [*_memory_lines(node), *_pu_lines(node, columns, collapse)]
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


def _draw_package(boxes: Sequence[Text], number: int, columns: int, rows: int) -> list[Text]:
    """Return the lines of a package's box. columns, rows: inside it."""
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
    """Return the packages in a row, the columns inside a NUMA node's box, and whether PU lists
    collapse."""
    nodes = machine.numa_nodes
    for collapse in (False, True):
        for across in range(min(machine.packages, MAX_COLUMNS), 0, -1):
            columns = (width - (across - 1)) // across - FRAMES
            lines = [_pu_lines(node, columns, collapse) for node in nodes]
            fixed = [line for node in nodes for line in (*_memory_lines(node), *_title(node, 0))]
            limit = max(MAX_PU_ROWS, machine.groups_per_node.most)
            fits = max(map(len, chain(fixed, *lines))) <= columns
            if fits and all(len(rows) <= limit for rows in lines):
                return across, columns, collapse
    return 1, width - FRAMES, True


def terminal(machine: Machine, width: int) -> list[Text]:
    """Return the lines of a machine as nested boxes with a legend, for a terminal that is `width`
    characters wide, 40 or more."""
    across, columns, collapse = _layout(machine, width)
    titled = all(not _title(node, columns)[1] for node in machine.numa_nodes)
    needed = [
        len(line)
        for node in machine.numa_nodes
        for line in (
            *_pu_lines(node, columns, collapse),
            *_memory_lines(node),
            *_title(node, columns if titled else 0),
        )
    ]
    columns = min(columns, max(needed))
    packages = [
        [
            line
            for node in machine.nodes_of(package)
            for line in _draw_node(node, columns, collapse, titled)
        ]
        for package in range(machine.packages)
    ]
    lines = []
    for first in range(0, len(packages), across):
        row = packages[first : first + across]
        rows = max(len(boxes) for boxes in row)
        drawn = [
            _draw_package(boxes, first + index, columns + 4, rows)
            for index, boxes in enumerate(row)
        ]
        lines += [Text(" ").join(parts) for parts in zip(*drawn, strict=True)]
    legend = "Numbers are PUs"
    if collapse:
        legend += ", 0-6:2 is 0,2,4,6"
    if machine.threads_per_core.most > 1:
        legend += "; + joins the threads of " + ("each core" if collapse else "a core")
    if len(machine.parts) > len(machine.nodes_with_cores):
        legend += "; memory of a node in several packages stands in the first"
    if machine.groups_per_node.most > 1:
        legend += "; L3: cores that share one"
    if any(node.memory_side_cache_mb for node in machine.numa_nodes):
        legend += "; cache: of the memory's side"
    lines += [Text(line, style="dim") for line in textwrap.wrap(legend, width)]
    for line in lines:
        line.no_wrap = True
    return lines


def distance_table(machine: Machine) -> list[str]:
    """Return the lines of guest_distances(), about as `numactl -H` prints distances, in blocks that
    fit 80 columns."""
    distances = machine.guest_distances()
    lines = ["node distances:"]
    for first in range(0, len(distances), BLOCK_COLUMNS):
        block = range(first, min(first + BLOCK_COLUMNS, len(distances)))
        lines.append("node" + "".join(f"{number:4d}" for number in block))
        for number, row in enumerate(distances):
            lines.append(f"{number:3d}:" + "".join(f"{row[other]:4d}" for other in block))
    return lines


# ---- in words ----------------------------------------------------------------------


def node_label(node: NumaNode) -> str:
    """Return a NUMA node's number, and its memory where that is known."""
    return ", ".join(filter(None, (f"NUMA node {node.number}", memory_words(node))))


def description(machine: Machine) -> str:
    """Return a machine's cores and memory in words, for readers who can't see the picture."""
    sentences = [f"{line}." for line in (summary(machine), kinds_line(machine)) if line]
    for node in machine.numa_nodes:
        groups = "; ".join(
            f"{f'L3 group {index}' if group[0].has_l3 else 'without L3'}: "
            f"{' '.join(_detailed(group))}"
            for index, group in enumerate(node.core_groups)
        )
        cores = f"PUs by core, {groups}" if groups else "memory only"
        where = f"package{'' if len(node.packages) == 1 else 's'} {format_pus(node.packages)}"
        sentences.append(f"{node_label(node)}, in {where}: {cores}.")
    return " ".join(sentences)
