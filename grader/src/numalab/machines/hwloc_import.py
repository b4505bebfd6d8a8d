"""Make a machine's file from what hwloc reads in an export, or in a synthetic description.

machine_text does it in four steps:

1. read cores and NUMA nodes, each core in the NUMA node that Linux counts it to (export_parts.py);
2. give each NUMA node its package, also where it has memory only;
3. bring the core of the first PU to the front, since a described machine starts with PU 0;
4. write the lines of the file, and parse them again, so that no text is returned that
   machine_file.py would refuse.

In the file PUs and NUMA nodes are numbered by rank. What the format can't describe is left out,
mentioned in a note of the file (an L3 of several NUMA nodes becomes one of each, gaps are closed)
or refused with UserError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from numalab.errors import UserError
from numalab.machines.export_parts import (
    WHOLE,
    ExportedCore,
    ExportedNode,
    kind_of,
    listed,
    read_cores,
    read_numa_nodes,
)
from numalab.machines.hwloc_export import HwlocExport
from numalab.machines.machine import ARCHITECTURES, LOCAL_DISTANCE, NATIVE, Matrix
from numalab.machines.machine_file import MAX_DISTANCE, NAME, parse_machine
from numalab.machines.seeded import PREFIX, is_seeded
from numalab.pu_lists import format_pus
from numalab.untrusted.visible import shown

MIB = 2**20
MAX_MEMORY_NOTES = 8  # the most notes on NUMA nodes with memory only
_NAME_NOISE = re.compile(r"\((R|TM)\)|\b(CPU|Processor|\d+-Core)\b|@ .*", re.IGNORECASE)
_OTHER_NAMES = {"arm64": "aarch64", "amd64": "x86_64", "i386": "x86_64", "i686": "x86_64"}
# Attributes of memories that firmware announces, by hwloc's names: the table of the file in which
# they are written, the unit, and the kind of access.
_ANNOUNCED = {
    "Bandwidth": ("bandwidth", "MiB/s", "read and write"),
    "ReadBandwidth": ("bandwidth", "MiB/s", "read"),
    "WriteBandwidth": ("bandwidth", "MiB/s", "write"),
    "Latency": ("latency", "ns", "read and write"),
    "ReadLatency": ("latency", "ns", "read"),
    "WriteLatency": ("latency", "ns", "write"),
}

T = TypeVar("T")
K = TypeVar("K")
Likeness = tuple[str, int, int]  # kind, number of hardware threads, package


def machine_text(export: HwlocExport, name: str, source: str, what: str) -> str:
    """Return the text of a machine's file, to be saved as NAME.toml.

    Args:
        source: the export's name in the file.
        what: the export's name in messages.

    Raises UserError where the name can't be used or the machine can't be described.
    """
    if NAME.fullmatch(name) is None or name == "here" or is_seeded(name):
        raise UserError(
            f"the name '{name}' can't be used; give another with --name, of small letters, "
            f"digits, '-', '.' and '_', that does not begin with {PREFIX}"
        )
    nodes = read_numa_nodes(export, read_cores(export, what), what)
    first_pu = min(export.pus)
    distances = _linux_distances(export, nodes)
    notes = _number_notes(export, nodes)
    notes += _assign_packages(nodes, distances)
    _bring_to_front(first_pu, nodes, what)
    notes += _structure_notes(export, nodes)
    architecture_lines, architecture_notes = _architecture(export)
    notes += architecture_notes
    if distances is None and len(nodes) > 1:
        notes.append("The export gives no distances that Linux would take.")
    title = _short_model(shown(export.info("CPUModel"))) or "imported from hwloc"
    lines = [f"name = {_quoted(name)}", f"title = {_quoted(title)}", f"source = {_quoted(source)}"]
    lines += architecture_lines
    if notes:
        lines += ["notes = [", *(f"    {_quoted(note)}," for note in notes), "]"]
    if distances is not None:
        rows = (f"    [{', '.join(map(str, row))}]," for row in distances)
        lines += ["distances = [", *rows, "]"]
    lines += _all_node_lines(nodes, {pu: rank for rank, pu in enumerate(sorted(export.pus))}, what)
    lines += _figure_lines(export, nodes, source)
    text = "\n".join([*lines, ""])
    try:
        parse_machine(text, Path(f"{name}.toml"))
    except UserError as error:
        raise UserError(f"{what}: the machine can't be described: {error}") from error
    return text


def _grouped(values: Iterable[T], key: Callable[[T], K]) -> list[list[T]]:
    """Return values in groups of equal keys, in the order of the groups' first values."""
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return list(groups.values())


# ---- packages, distances and the first PU --------------------------------------------------


def _linux_distances(export: HwlocExport, nodes: Sequence[ExportedNode]) -> Matrix | None:
    """Return the distances (ACPI's SLIT), in the order of the NUMA nodes.

    None where the export has none between exactly these NUMA nodes, or has values that Linux would
    ignore: it takes 10 for a NUMA node's distance to itself alone, and more, here up to
    MAX_DISTANCE, for others.
    """
    if export.distances is None:
        return None
    order, values = export.distances.numa_nodes, export.distances.values
    own = [node.number for node in nodes]
    if len(order) != len(own) or set(order) != set(own):
        return None
    places = [order.index(number) for number in own]
    matrix = tuple(tuple(values[i][j] for j in places) for i in places)
    is_valid = all(
        (value == LOCAL_DISTANCE) == (i == j) and LOCAL_DISTANCE <= value <= MAX_DISTANCE
        for i, row in enumerate(matrix)
        for j, value in enumerate(row)
    )
    return matrix if is_valid else None


def _assign_packages(nodes: Sequence[ExportedNode], distances: Matrix | None) -> list[str]:
    """Set each NUMA node's package; return a note where that of one is a guess among several, else
    nothing.

    One with cores is in the package of its first core. One with memory only is in the package of
    the PUs that hwloc attaches it to. If they are in several packages or in none, it is in the
    package of the nearest NUMA node with cores; without distances in the first of these packages,
    or in package 0.
    """
    package_of_pu = {pu: core.package for node in nodes for core in node.cores for pu in core.pus}
    guessed = []
    for index, node in enumerate(nodes):
        if node.cores:
            node.package = node.cores[0].package
            continue
        candidates = {package_of_pu[pu] for pu in node.memory.pus if pu in package_of_pu}
        if len(candidates) == 1:
            node.package = candidates.pop()
            continue
        guessed.append(node.number)
        node.package = min(candidates, default=0)
        if distances is not None:
            to_node = [row[index] for row in distances]
            with_cores = (other for other in range(len(nodes)) if nodes[other].cores)
            node.package = nodes[min(with_cores, key=to_node.__getitem__)].cores[0].package
    if guessed and len(set(package_of_pu.values())) > 1:
        return [
            f"The export does not tell which package NUMA nodes {listed(guessed)} belong to; they "
            "are given to the nearest one, the first of several."
        ]
    return []


def _bring_to_front(first_pu: int, nodes: Sequence[ExportedNode], what: str) -> None:
    """Move the first PU's core to the front of its NUMA node, and the cores of its L3 with it, and
    give the NUMA node that core's package.

    A described machine starts with PU 0, in package 0's first NUMA node with cores. Raises
    UserError where the first PU is in another NUMA node.
    """
    for node in nodes:
        first = next((core for core in node.cores if first_pu in core.pus), None)
        if first is None:
            continue
        node.cores.sort(key=lambda core: (core.l3 != first.l3, core is not first))  # stable
        node.package = first.package
        lowest = next(n for n in nodes if any(core.package == 0 for core in n.cores))
        if lowest is not node:
            raise UserError(
                f"{what}: PU {first_pu} is in NUMA node {node.number}, but its package's first "
                f"node with cores is {lowest.number}; in a description the first node has PU 0. "
                "Write the description by hand, with other numbers"
            )


# ---- notes: what the file can't describe ---------------------------------------------------


def _number_notes(export: HwlocExport, nodes: Sequence[ExportedNode]) -> list[str]:
    """Return notes on numbers that are others in the file, and on PUs that are left out of it or
    were not allowed."""
    notes = []
    numbers = [node.number for node in nodes]
    if numbers != list(range(len(nodes))):
        notes.append(f"The machine's NUMA nodes {listed(numbers)} are numbered from 0 on here.")
    pus = sorted(export.pus)
    if pus != list(range(len(pus))):
        notes.append(
            f"The machine's PUs {listed(pus)} are numbered from 0 on here, so that a plan's "
            "numbers are not the machine's."
        )
    gone = sorted(export.complete - set(pus))
    if gone:
        notes.append(
            f"PUs {listed(gone)} were offline, or kept from who made the export, and are left out."
        )
    kept = sorted(set(pus) - export.allowed)
    if export.allowed and kept:
        notes.append(
            f"PUs {listed(kept)} were kept from who made the export, and are described "
            "nevertheless."
        )
    return notes


def _structure_notes(export: HwlocExport, nodes: Sequence[ExportedNode]) -> list[str]:
    """Return notes on L3s, NUMA nodes and dies that are not as in the export, and on NUMA nodes
    with memory only."""
    notes = []
    by_l3: dict[int, list[int]] = {}
    for node in nodes:
        for l3 in {core.l3 for core in node.cores if core.l3 >= 0}:
            by_l3.setdefault(l3, []).append(node.number)
    shared = [numbers for numbers in by_l3.values() if len(numbers) > 1]
    if shared:
        notes.append(
            f"NUMA nodes {' and '.join(map(listed, shared))} share an L3 in the export; here "
            "each has one of its own."
        )
    for node in nodes:
        if node.is_added:
            pus = sorted(node.memory.pus)
            notes.append(
                f"No NUMA node of the export holds the PUs {listed(pus)}, as where theirs has no "
                f"memory: they are described as NUMA node {node.number}, without memory."
            )
    kept = [m for m in export.numa_nodes if m.complete and not m.pus]
    if kept:
        notes.append(
            f"NUMA nodes {listed([m.number for m in kept if m.number is not None])} are left out: "
            f"their PUs were not allowed to who made the export; to have them, {WHOLE}."
        )
    packages = sum(1 for package in export.packages if package.pus)
    if len(export.dies) > max(1, packages):
        notes.append(f"The export has {len(export.dies)} dies, which are not described.")
    return notes + _memory_only_notes(nodes)


def _memory_only_notes(nodes: Sequence[ExportedNode]) -> list[str]:
    """Return notes on the NUMA nodes with memory only, and on those whose PUs they are attached to;
    at most MAX_MEMORY_NOTES."""
    notes = []
    owner = {pu: node for node in nodes for core in node.cores for pu in core.pus}
    for node in nodes:
        if node.cores:
            continue
        pus = node.memory.pus & owner.keys()
        neighbours = sorted({owner[pu].number for pu in pus})
        kind = kind_of(node.memory)
        note = f"NUMA node {node.number}{f' ({kind})' if kind else ''} is memory only"
        if neighbours:
            nouns = "NUMA node" if len(neighbours) == 1 else "NUMA nodes"
            note += f", beside {nouns} {listed(neighbours)} with the PUs"
        if len(neighbours) == 1 and pus < owner[min(pus)].memory.pus:
            note += f"; that it is nearest to PUs {listed(sorted(pus))} alone is not described"
        notes.append(f"{note}.")
    if len(notes) > MAX_MEMORY_NOTES:
        kept = MAX_MEMORY_NOTES - 1
        notes[kept:] = [f"{len(notes) - kept} more NUMA nodes are memory only, too."]
    return notes


def _architecture(export: HwlocExport) -> tuple[list[str], list[str]]:
    """Return the file's line on the instruction set, none for NATIVE or an unknown one, and a note
    where a file can't name it."""
    reported = export.info("Architecture")
    name = _OTHER_NAMES.get(reported.lower(), reported)
    if name in ARCHITECTURES:
        return ([f"architecture = {_quoted(name)}"] if name != NATIVE else []), []
    if reported:
        return [], [
            f"Its instruction set is {shown(reported)}, which is none that a description names."
        ]
    return [], []


def _short_model(model: str) -> str:
    """Return a processor's name without marks, words such as CPU, and its frequency: "Intel Xeon
    X5550"."""
    return " ".join(_NAME_NOISE.sub(" ", model).split())


# ---- NUMA nodes ----------------------------------------------------------------------------


def _quoted(text: str) -> str:
    """Return a text as a TOML string. It is JSON's, whose escapes TOML has, too; TOML alone
    requires one for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _all_node_lines(nodes: Sequence[ExportedNode], rank: Mapping[int, int], what: str) -> list[str]:
    """Return the lines of the tables [[numa_node]]. rank: each PU's number in the file."""
    kinds = {kind_of(node.memory) for node in nodes}
    has_sizes = any(node.memory.memory_bytes >= MIB for node in nodes)
    lines = []
    for node in nodes:
        memory = node.memory
        lines += ["", "[[numa_node]]", f"package = {node.package}"]
        if memory.memory_bytes >= MIB:
            lines.append(f"memory_mb = {memory.memory_bytes // MIB}")
        elif has_sizes and node.cores:
            lines.append("memory_mb = 0")
        if len(kinds) > 1 and kind_of(memory):
            lines.append(f"memory_kind = {_quoted(kind_of(memory))}")
        if memory.side_cache_bytes >= MIB:
            lines.append(f"memory_side_cache_mb = {memory.side_cache_bytes // MIB}")
        lines += _core_lines(node, rank, what)
    return lines


def _core_lines(node: ExportedNode, rank: Mapping[int, int], what: str) -> list[str]:
    """Return the lines of a NUMA node's cores.

    Cores without a kind that are all alike, in L3 groups of one size, are listed in the NUMA node's
    own table. Else there is a [[numa_node.cores]] for each run of L3 groups that are alike, and for
    each likeness of cores within a group that mixes several or has no L3. Those of a mixed group
    have no `l3_groups` and share one L3. Raises UserError where a NUMA node has several mixed
    groups.
    """
    groups = _grouped(node.cores, lambda core: core.l3)
    if not groups:
        return ["pus = []"]
    shapes = {(len(group), core.l3 >= 0, _likeness(core)) for group in groups for core in group}
    if len(shapes) == 1 and not node.cores[0].kind:
        lines = [_pus_line([core for group in groups for core in group], rank)]
        count = len(groups) if node.cores[0].l3 >= 0 else 0
        return lines if count == 1 else [*lines, f"l3_groups = {count}"]
    mixed = sum(group[0].l3 >= 0 and _uniform_shape(group) is None for group in groups)
    if mixed > 1:
        raise UserError(
            f"{what}: NUMA node {node.number} has {mixed} L3s that unlike cores share (of "
            "several kinds, or with unlike numbers of hardware threads), and one can be described. "
            "Bring all PUs online, and export it anew: lstopo node.xml"
        )
    lines = []
    for shape, alike in groupby(groups, key=_uniform_shape):
        same = list(alike)
        if shape is not None:
            lines += _table(node, [core for group in same for core in group], rank, len(same))
            continue
        for group in same:
            for cores in _grouped(group, _likeness):
                lines += _table(node, cores, rank, None if cores[0].l3 >= 0 else 0)
    return lines


def _likeness(core: ExportedCore) -> Likeness:
    return core.kind, len(core.pus), core.package


def _uniform_shape(group: Sequence[ExportedCore]) -> tuple[int, Likeness] | None:
    """Return the number of cores of an L3 group and their likeness; None where they are unlike or
    share no L3."""
    if group[0].l3 < 0 or len(set(map(_likeness, group))) > 1:
        return None
    return len(group), _likeness(group[0])


def _table(
    node: ExportedNode,
    cores: Sequence[ExportedCore],
    rank: Mapping[int, int],
    l3_groups: int | None,
) -> list[str]:
    """Return the lines of a [[numa_node.cores]]. l3_groups: None: its cores share an L3 with those
    of other such tables."""
    kind = cores[0].kind
    lines = ["", "[[numa_node.cores]]", *([f"kind = {_quoted(kind)}"] if kind else [])]
    if cores[0].package != node.package:
        lines.append(f"package = {cores[0].package}")
    lines.append(_pus_line(cores, rank))
    return lines if l3_groups is None else [*lines, f"l3_groups = {l3_groups}"]


def _pus_line(cores: Sequence[ExportedCore], rank: Mapping[int, int]) -> str:
    """Return the line `pus`: the cores' first hardware threads, their second ones and so on."""
    threads = zip(*(core.pus for core in cores), strict=True)
    texts = (_quoted(format_pus([rank[pu] for pu in thread])) for thread in threads)
    return f"pus = [{', '.join(texts)}]"


# ---- figures -------------------------------------------------------------------------------


def _figure_lines(export: HwlocExport, nodes: Sequence[ExportedNode], source: str) -> list[str]:
    """Return the lines of the L3s' size, where they have one of 1 KiB or more in common, and of
    what the export has of bandwidths and latencies of memories."""
    lines = []
    sizes = {cache.size_bytes for cache in export.l3s}
    if len(sizes) == 1 and (size := sizes.pop()) >= 1024:
        lines += ["", "[[cache]]", 'what = "L3, each"', f"value = {size // 1024}"]
        lines += ['unit = "KiB"', f"source = {_quoted(source)}"]
    for attribute in export.announced:
        if attribute.name not in _ANNOUNCED:
            continue
        table, unit, access = _ANNOUNCED[attribute.name]
        values = {
            index: attribute.values[node.number]
            for index, node in enumerate(nodes)
            if attribute.values.get(node.number, 0) > 0
        }
        if not values:
            continue
        which = f"NUMA node{'' if len(values) == 1 else 's'} {listed(list(values))}"
        what = f"as the system announces it, {access}, {which} from the nearest PUs"
        lines += ["", f"[[{table}]]", f"what = {_quoted(what)}"]
        lines += [f"value = [{', '.join(map(str, values.values()))}]"]
        lines += [f"unit = {_quoted(unit)}", f"source = {_quoted(source)}"]
    return lines
