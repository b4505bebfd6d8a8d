"""A machine as nested boxes: packages, NUMA nodes, L3 groups, cores and PUs, and where each of
them goes on paper. Lengths are inches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from numalab.evidence.numa_nodes import not_counted
from numalab.evidence.record import Json
from numalab.machines.machine import Core, Machine, Matrix, NumaNode
from numalab.machines.picture import heading, kinds_line, summary
from numalab.machines.topology import Topology, topology_of_node
from numalab.palette import place_colour, thinned
from numalab.reports.figures.canvas import LEAST_POINTS, LETTER_IN
from numalab.words import count

PU_W, PU_H = 0.42, 0.26
LABELLED_PU_H = 0.46  # with a line for who is there
GAP, PAD, LABEL_H = 0.05, 0.1, 0.27
TITLE_POINTS = 14
RAGGED_COST = 1.25  # of a last row that is not full, in heights


# ---- what is drawn -----------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """nodes: in the order in which they are drawn; has_groups: it is known which cores share an
    L3; note: what is said of the distances where there are none."""

    title: str
    subtitle: str
    nodes: tuple[NumaNode, ...]
    has_groups: bool
    distances: Matrix | None
    note: str

    @cached_property
    def packages(self) -> tuple[int, ...]:
        return tuple(sorted({node.package for node in self.nodes}))

    def nodes_of(self, package: int) -> list[NumaNode]:
        return [node for node in self.nodes if node.package == package]

    @cached_property
    def most_nodes(self) -> int:
        """In a package."""
        return max(Counter(node.package for node in self.nodes).values())

    @cached_property
    def most_groups(self) -> int:
        """In a NUMA node."""
        return max(len(node.core_groups) for node in self.nodes)

    @cached_property
    def most_cores(self) -> int:
        """In a group."""
        groups = [group for node in self.nodes for group in node.core_groups]
        return max(map(len, groups))

    @cached_property
    def most_threads(self) -> int:
        """Of a core."""
        return max(len(core.pus) for node in self.nodes for core in node.cores)

    @cached_property
    def node_labels(self) -> tuple[tuple[str, ...], ...]:
        """Of each NUMA node the lines above its cores: its memory's size, kind and cache have
        lines of their own."""
        return tuple(map(_label_lines, self.nodes))

    @cached_property
    def most_label_lines(self) -> int:
        return max(map(len, self.node_labels))

    @cached_property
    def longest_label(self) -> int:
        """In letters."""
        return max(len(line) for lines in self.node_labels for line in lines)


def _label_lines(node: NumaNode) -> tuple[str, ...]:
    size = "" if node.memory_mb is None else f"{node.memory_mb} MiB"
    cache = node.memory_side_cache_mb
    lines = (
        f"NUMA node {node.number}",
        " ".join(filter(None, (size, node.memory_kind))),
        "" if cache is None else f"cache {cache} MiB",
    )
    return tuple(line for line in lines if line)


def shape_of(what: Machine | Topology | Json) -> Shape:
    """Of a described machine; or of a node, by its description or topology, of which the PUs are
    known that the kit may use."""
    if isinstance(what, Machine):
        note = "Distances: not given in the source." if what.lacks_distances else ""
        return Shape(
            heading(what),
            ". ".join(filter(None, (summary(what), kinds_line(what), f"Source: {what.source}"))),
            tuple(part for n in range(what.packages) for part in what.nodes_of(n)),
            True,
            what.distances,
            note,
        )
    if isinstance(what, Topology):
        return _of_topology(what, "Node", {}, None)
    memory_mib = {
        entry["numa_node"]: entry["memory_bytes"] // 2**20
        for entry in what.get("numa_node_list", ())
        if entry.get("memory_bytes") is not None
    }
    if len(memory_mib) == 1:  # the one node's own total may lack what was plugged in later
        memory_mib = {
            number: max(own, what.get("memory_bytes", 0) // 2**20)
            for number, own in memory_mib.items()
        }
    shape = _of_topology(
        topology_of_node(what), f"Node {what['name']}", memory_mib, _distances(what)
    )
    return replace(shape, subtitle=". ".join((shape.subtitle, *not_counted(what))))


def _distances(node: Json) -> Matrix | None:
    """With the NUMA nodes in order of their numbers, as the rows are drawn."""
    rows, listed = node.get("distances"), node.get("numa_node_list")
    if not rows:
        return None
    order = sorted(range(len(rows)), key=lambda i: listed[i]["numa_node"] if listed else i)
    return tuple(tuple(rows[i][j] for j in order) for i in order)


def _of_topology(
    topology: Topology, title: str, memory_mib: Mapping[int, int], distances: Matrix | None
) -> Shape:
    nodes: list[NumaNode] = []
    for package, number in dict.fromkeys((pu.package, pu.numa_node) for pu in topology.pus):
        cores: dict[int, list[int]] = {}
        for pu in topology.pus:
            if (pu.package, pu.numa_node) == (package, number):
                cores.setdefault(pu.core, []).append(pu.number)
        group = tuple(Core(tuple(pus)) for pus in cores.values())
        is_told = any(node.number == number for node in nodes)
        memory = None if is_told else memory_mib.get(number)
        nodes.append(NumaNode(number, package, memory, (group,)))
    subtitle = ", ".join(
        count(number, noun)
        for number, noun in (
            (len({pu.package for pu in topology.pus}), "package"),
            (len({pu.numa_node for pu in topology.pus}), "NUMA node"),
            (len(set(topology.core.values())), "core"),
            (len(topology.pus), "PU"),
        )
    )
    several = len({node.number for node in nodes}) > 1
    note = "Distances: this node tells none." if several and distances is None else ""
    return Shape(title, subtitle, tuple(nodes), False, distances, note)


# ---- where it goes -----------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """x, y: of its upper left corner; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Layout:
    """How many of each go into a row, and the sizes that follow. Everything of one kind is
    equally large."""

    shape: Shape
    pu_h: float
    packages_across: int
    nodes_across: int
    groups_across: int
    cores_across: int

    @property
    def _core_h(self) -> float:
        return self.shape.most_threads * self.pu_h

    @property
    def _group_label_h(self) -> float:
        return LABEL_H if self.shape.has_groups else 0.0

    @property
    def group_w(self) -> float:
        return self.cores_across * (PU_W + GAP) - GAP + 2 * GAP

    @property
    def group_h(self) -> float:
        rows = -(-self.shape.most_cores // self.cores_across)
        return rows * (self._core_h + GAP) - GAP + 2 * GAP + self._group_label_h

    @property
    def _label_w(self) -> float:
        return self.shape.longest_label * LEAST_POINTS * LETTER_IN * 1.12  # bold

    @property
    def _node_label_h(self) -> float:
        return LABEL_H * self.shape.most_label_lines

    @property
    def node_w(self) -> float:
        return max(self.groups_across * (self.group_w + GAP) - GAP, self._label_w) + 2 * PAD

    @property
    def node_h(self) -> float:
        rows = -(-self.shape.most_groups // self.groups_across)
        return self._node_label_h + rows * (self.group_h + GAP) - GAP + PAD

    @property
    def package_w(self) -> float:
        return self.nodes_across * (self.node_w + PAD) + PAD

    @property
    def package_h(self) -> float:
        rows = -(-self.shape.most_nodes // self.nodes_across)
        return LABEL_H + rows * (self.node_h + PAD)

    @property
    def width(self) -> float:
        return self.packages_across * (self.package_w + PAD) - PAD

    @property
    def height(self) -> float:
        rows = -(-len(self.shape.packages) // self.packages_across)
        return rows * (self.package_h + PAD) - PAD

    def package_boxes(self) -> Iterator[tuple[int, Box]]:
        for index, package in enumerate(self.shape.packages):
            row, column = divmod(index, self.packages_across)
            x, y = column * (self.package_w + PAD), row * (self.package_h + PAD)
            yield package, Box(x, y, self.package_w, self.package_h)

    def node_boxes(self) -> Iterator[tuple[NumaNode, Box]]:
        for package, outer in self.package_boxes():
            for index, node in enumerate(self.shape.nodes_of(package)):
                row, column = divmod(index, self.nodes_across)
                x = outer.x + PAD + column * (self.node_w + PAD)
                y = outer.y + LABEL_H + row * (self.node_h + PAD)
                yield node, Box(x, y, self.node_w, self.node_h)

    def group_boxes(self) -> Iterator[tuple[Sequence[Core], Box]]:
        for node, outer in self.node_boxes():
            for index, group in enumerate(node.core_groups):
                row, column = divmod(index, self.groups_across)
                x = outer.x + PAD + column * (self.group_w + GAP)
                y = outer.y + self._node_label_h + row * (self.group_h + GAP)
                yield group, Box(x, y, self.group_w, self.group_h)

    def core_boxes(self) -> Iterator[tuple[Core, Box]]:
        for group, outer in self.group_boxes():
            for index, core in enumerate(group):
                row, column = divmod(index, self.cores_across)
                x = outer.x + GAP + column * (PU_W + GAP)
                y = outer.y + GAP + self._group_label_h + row * (self._core_h + GAP)
                yield core, Box(x, y, PU_W, len(core.pus) * self.pu_h)

    def pu_boxes(self) -> Iterator[tuple[int, Box]]:
        for core, outer in self.core_boxes():
            for index, pu in enumerate(core.pus):
                yield pu, Box(outer.x, outer.y + index * self.pu_h, PU_W, self.pu_h)


def lay_out(shape: Shape, width: float, pu_h: float = PU_H) -> Layout:
    """The lowest that is at most so wide, preferably with full rows, and the narrowest of those;
    the narrowest of all where none is."""

    def useful(number: int, most: int = 16) -> list[int]:
        """Numbers for a row that give other numbers of rows."""
        found = {-(-number // rows) for rows in range(1, number + 1)}
        return sorted(n for n in found if n <= most)

    layouts = [
        Layout(shape, pu_h, *across)
        for across in product(
            useful(len(shape.packages), 8),
            useful(shape.most_nodes, 8),
            useful(shape.most_groups, 4),
            useful(shape.most_cores),
        )
    ]
    fitting = [layout for layout in layouts if layout.width <= width]
    if not fitting:
        return min(layouts, key=lambda layout: layout.width)

    def cost(layout: Layout) -> float:
        ragged = (len(shape.packages) % layout.packages_across > 0) + (
            shape.most_cores % layout.cores_across > 0
        )
        return round(layout.height * RAGGED_COST**ragged, 6)

    return min(fitting, key=lambda layout: (cost(layout), layout.width))


# ---- drawing -----------------------------------------------------------------------


def add_box(axes: Axes, box: Box, fill: str, edge: str, thick: float = 1.0) -> None:
    axes.add_patch(
        Rectangle(
            (box.x, box.y), box.width, box.height, facecolor=fill, edgecolor=edge, linewidth=thick
        )
    )


def draw_outlines(axes: Axes, layout: Layout, x: float, y: float) -> None:
    """All but the cores, with the layout's upper left corner at x, y."""

    def moved(box: Box) -> Box:
        return Box(box.x + x, box.y + y, box.width, box.height)

    for package, box in layout.package_boxes():
        add_box(axes, moved(box), "#F7F7F7", "#333333", 1.5)
        name = f"Package {package}" if package >= 0 else "Package not known"
        axes.text(x + box.x + PAD, y + box.y + LABEL_H / 2, name, va="center", fontsize=12)
    for node, box in layout.node_boxes():
        add_box(axes, moved(box), "#FFFFFF", place_colour(node.number), 3)
        for row, line in enumerate(_label_lines(node)):
            axes.text(
                x + box.x + PAD,
                y + box.y + (row + 0.55) * LABEL_H,
                line,
                va="center",
                fontsize=12,
                fontweight="normal" if row else "bold",
            )
        if not node.core_groups:
            where = moved(box)
            axes.text(*where.middle, "memory only", ha="center", va="center", fontsize=12)
    if layout.shape.has_groups:
        for group, box in layout.group_boxes():
            add_box(axes, moved(box), "#EEEEEE", "#999999")
            if group[0].has_l3:
                axes.text(x + box.x + GAP, y + box.y + LABEL_H / 2, "L3", va="center", fontsize=12)


def core_fill(numa_node: int) -> str:
    """Of a core that nobody is on, in the picture of a topology."""
    return thinned(place_colour(numa_node), 0.35)
