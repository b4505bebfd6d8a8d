"""A machine's description from what hwloc has read in an export, or in a synthetic description.

What the format can't say is either told in a note or refused. In a note: an L3 of several NUMA
nodes is one of each, and gaps in the numbers of PUs and NUMA nodes are closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

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
from numalab.machines.machine_file import (
    MAX_DISTANCE,
    NAME,
    parse_machine,
)
from numalab.machines.seeded import PREFIX, is_seeded
from numalab.pu_lists import format_pus
from numalab.strangers.visible import shown

MIB = 2**20
_SAME_IN_ALL = re.compile(r"\((R|TM)\)|\b(CPU|Processor|\d+-Core)\b|@ .*", re.IGNORECASE)
_OTHER_NAMES = {"arm64": "aarch64", "amd64": "x86_64", "i386": "x86_64", "i686": "x86_64"}
# What systems announce of memories, by hwloc's names; in the file's tables and units.
_ANNOUNCED = {
    "Bandwidth": ("bandwidth", "MiB/s", "read and write"),
    "ReadBandwidth": ("bandwidth", "MiB/s", "read"),
    "WriteBandwidth": ("bandwidth", "MiB/s", "write"),
    "Latency": ("latency", "ns", "read and write"),
    "ReadLatency": ("latency", "ns", "read"),
    "WriteLatency": ("latency", "ns", "write"),
}


def _number_packages(nodes: Sequence[ExportedNode], matrix: Matrix | None) -> list[str]:
    """Gives each NUMA node its package. Returns notes."""
    package = {pu: core.package for node in nodes for core in node.cores for pu in core.pus}
    unclear = []
    for index, node in enumerate(nodes):
        if node.cores:
            node.package = node.cores[0].package
            continue
        near = {package[pu] for pu in node.memory.pus if pu in package}
        if len(near) == 1:
            node.package = near.pop()
            continue
        unclear.append(node.number)
        if matrix is not None:
            nearest = min(
                (other for other in range(len(nodes)) if nodes[other].cores),
                key=lambda other: matrix[other][index],
            )
            node.package = nodes[nearest].cores[0].package
        else:
            node.package = min(near, default=0)
    if unclear and len(set(package.values())) > 1:
        return [
            f"The export does not tell which package NUMA nodes {listed(unclear)} belong to; they "
            "are given to the nearest one, the first of several."
        ]
    return []


def _bring_first(nodes: Sequence[ExportedNode], what: str, first_pu: int) -> None:
    """The first PU's core to the front of its NUMA node, its L3 with it."""
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


def _matrix(export: HwlocExport, nodes: Sequence[ExportedNode]) -> Matrix | None:
    """Linux's SLIT where the export has it and Linux would take it."""
    if export.distances is None:
        return None
    order, values = export.distances.numa_nodes, export.distances.values
    own = [node.number for node in nodes]
    if len(order) != len(own) or set(order) != set(own):
        return None
    at = [order.index(number) for number in own]
    matrix = tuple(tuple(values[i][j] for j in at) for i in at)
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            is_local = value == LOCAL_DISTANCE
            if is_local != (i == j) or not LOCAL_DISTANCE <= value <= MAX_DISTANCE:
                return None
    return matrix


# ---- the file ---------------------------------------------------------------------


def _quoted(text: str) -> str:
    """A TOML text; what JSON escapes, TOML reads alike, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _groups(node: ExportedNode) -> list[list[ExportedCore]]:
    """Its cores by L3, in the order of their first ones."""
    by_cache: dict[int, list[ExportedCore]] = {}
    for core in node.cores:
        by_cache.setdefault(core.l3, []).append(core)
    return list(by_cache.values())


def _lists(cores: Sequence[ExportedCore], rank: Mapping[int, int]) -> str:
    threads = zip(*(core.pus for core in cores), strict=True)
    texts = (_quoted(format_pus([rank[pu] for pu in thread])) for thread in threads)
    return f"pus = [{', '.join(texts)}]"


def _likeness(core: ExportedCore) -> tuple[str, int, int]:
    """Cores of which this is the same are told in one list."""
    return core.kind, len(core.pus), core.package


def _parts(group: Sequence[ExportedCore]) -> list[list[ExportedCore]]:
    """A group's cores by likeness, in the order of their first ones."""
    found: dict[tuple[str, int, int], list[ExportedCore]] = {}
    for core in group:
        found.setdefault(_likeness(core), []).append(core)
    return list(found.values())


def _table(
    node: ExportedNode,
    cores: Sequence[ExportedCore],
    rank: Mapping[int, int],
    l3_groups: int | None,
) -> list[str]:
    """Cores of a node. l3_groups: None: they share an L3 with the cores of other tables."""
    kind = cores[0].kind
    lines = ["", "[[numa_node.cores]]", *([f"kind = {_quoted(kind)}"] if kind else [])]
    if cores[0].package != node.package:
        lines.append(f"package = {cores[0].package}")
    lines.append(_lists(cores, rank))
    return lines if l3_groups is None else [*lines, f"l3_groups = {l3_groups}"]


def _cores_lines(node: ExportedNode, rank: Mapping[int, int], what: str) -> list[str]:
    groups = _groups(node)
    shapes = {(len(group), core.l3 >= 0, *_likeness(core)) for group in groups for core in group}
    if not groups:
        return ["pus = []"]
    if len(shapes) == 1 and not node.cores[0].kind:
        lines = [_lists([core for group in groups for core in group], rank)]
        count = len(groups) if node.cores[0].l3 >= 0 else 0
        return lines if count == 1 else [*lines, f"l3_groups = {count}"]
    mixed = [group for group in groups if len(_parts(group)) > 1 and group[0].l3 >= 0]
    if len(mixed) > 1:
        raise UserError(
            f"{what}: NUMA node {node.number} has {len(mixed)} L3s that unlike cores share (of "
            "several kinds, or with unlike numbers of hardware threads), and one can be described. "
            "Bring all PUs online, and export it anew: lstopo node.xml"
        )
    lines = []
    for shape, alike in groupby(groups, key=_shape):
        same = list(alike)
        if shape is not None:
            lines += _table(node, [core for group in same for core in group], rank, len(same))
            continue
        for group in same:
            for part in _parts(group):
                lines += _table(node, part, rank, None if part[0].l3 >= 0 else 0)
    return lines


def _shape(group: Sequence[ExportedCore]) -> tuple[int, str, int, int] | None:
    """Groups of one shape are told in one table, if the cores of each are alike and share an L3;
    else None."""
    if group[0].l3 < 0 or len(_parts(group)) > 1:
        return None
    return len(group), *_likeness(group[0])


def _numbers_notes(export: HwlocExport, nodes: Sequence[ExportedNode]) -> list[str]:
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


def _parts_notes(export: HwlocExport, nodes: Sequence[ExportedNode]) -> list[str]:
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
    """Which NUMA nodes are memory only, beside which, and whose nearness is left out."""
    notes = []
    owner = {pu: node for node in nodes for core in node.cores for pu in core.pus}
    for node in nodes:
        if node.cores:
            continue
        pus = node.memory.pus & owner.keys()
        near = sorted({owner[pu].number for pu in pus})
        kind = kind_of(node.memory)
        note = f"NUMA node {node.number}{f' ({kind})' if kind else ''} is memory only"
        if near:
            note += f", beside NUMA node{'' if len(near) == 1 else 's'} {listed(near)} with the PUs"
        if len(near) == 1 and pus < owner[min(pus)].memory.pus:
            note += f"; that it is nearest to PUs {listed(sorted(pus))} alone is not described"
        notes.append(f"{note}.")
    if len(notes) > 8:
        notes[7:] = [f"{len(notes) - 7} more NUMA nodes are memory only, too."]
    return notes


def _architecture(export: HwlocExport) -> tuple[list[str], list[str]]:
    """The file's line, and notes."""
    told = export.info("Architecture")
    name = _OTHER_NAMES.get(told.lower(), told)
    if name in ARCHITECTURES:
        return ([f"architecture = {_quoted(name)}"] if name != NATIVE else []), []
    if told:
        return [], [
            f"Its instruction set is {shown(told)}, which is none that a description names."
        ]
    return [], []


def _short(model: str) -> str:
    """A processor's name without what all names have."""
    return " ".join(_SAME_IN_ALL.sub(" ", model).split())


def _node_lines(
    node: ExportedNode, kinds: Sequence[str], has_sizes: bool, rank: Mapping[int, int], what: str
) -> list[str]:
    """kinds: of the memory of all NUMA nodes. has_sizes: the export tells how much there is."""
    lines = ["", "[[numa_node]]", f"package = {node.package}"]
    memory = node.memory
    if memory.memory_bytes >= MIB:
        lines.append(f"memory_mb = {memory.memory_bytes // MIB}")
    elif has_sizes and node.cores:
        lines.append("memory_mb = 0")
    if len(set(kinds)) > 1 and kind_of(memory):
        lines.append(f"memory_kind = {_quoted(kind_of(memory))}")
    if memory.side_cache_bytes >= MIB:
        lines.append(f"memory_side_cache_mb = {memory.side_cache_bytes // MIB}")
    return lines + _cores_lines(node, rank, what)


def _figure_lines(export: HwlocExport, nodes: Sequence[ExportedNode], source: str) -> list[str]:
    """Sizes of L3s, and what the system announces of memories."""
    lines = []
    sizes = {cache.size_bytes for cache in export.l3s}
    if len(sizes) == 1 and (size := sizes.pop()) >= 1024:
        lines += ["", "[[cache]]", 'what = "L3, each"', f"value = {size // 1024}"]
        lines += ['unit = "KiB"', f"source = {_quoted(source)}"]
    for attribute in export.announced:
        if attribute.name not in _ANNOUNCED:
            continue
        table, unit, access = _ANNOUNCED[attribute.name]
        told = {
            index: attribute.values[node.number]
            for index, node in enumerate(nodes)
            if attribute.values.get(node.number, 0) > 0
        }
        if not told:
            continue
        which = f"NUMA node{'' if len(told) == 1 else 's'} {listed(list(told))}"
        what = f"as the system announces it, {access}, {which} from the nearest PUs"
        lines += ["", f"[[{table}]]", f"what = {_quoted(what)}"]
        lines += [f"value = [{', '.join(map(str, told.values()))}]"]
        lines += [f"unit = {_quoted(unit)}", f"source = {_quoted(source)}"]
    return lines


def machine_text(export: HwlocExport, name: str, source: str, what: str) -> str:
    """The text of the machine's file, which load_machine reads as NAME.toml. source: as the file
    names it; what: was read, for messages.

    PUs and NUMA nodes keep Linux's numbers; where those have gaps, their order. Raises UserError
    where the machine can't be described.
    """
    if NAME.fullmatch(name) is None or name == "here" or is_seeded(name):
        raise UserError(
            f"the name '{name}' can't be used; give another with --name, of small letters, "
            f"digits, '-', '.' and '_', that does not begin with {PREFIX}"
        )
    nodes = read_numa_nodes(export, read_cores(export, what), what)
    pus = sorted(export.pus)
    matrix = _matrix(export, nodes)
    notes = _numbers_notes(export, nodes)
    notes += _number_packages(nodes, matrix)
    _bring_first(nodes, what, pus[0])
    notes += _parts_notes(export, nodes)
    architecture, more = _architecture(export)
    notes += more
    if matrix is None and len(nodes) > 1:
        notes.append("The export gives no distances that Linux would take.")
    title = _short(shown(export.info("CPUModel"))) or "imported from hwloc"
    lines = [f"name = {_quoted(name)}", f"title = {_quoted(title)}", f"source = {_quoted(source)}"]
    lines += architecture
    if notes:
        lines += ["notes = [", *(f"    {_quoted(note)}," for note in notes), "]"]
    if matrix is not None:
        rows = (f"    [{', '.join(map(str, row))}]," for row in matrix)
        lines += ["distances = [", *rows, "]"]
    rank = {pu: number for number, pu in enumerate(pus)}
    kinds = [kind_of(node.memory) for node in nodes]
    has_sizes = any(node.memory.memory_bytes >= MIB for node in nodes)
    for node in nodes:
        lines += _node_lines(node, kinds, has_sizes, rank, what)
    lines += _figure_lines(export, nodes, source)
    text = "\n".join([*lines, ""])
    try:
        parse_machine(text, Path(f"{name}.toml"))
    except UserError as error:
        raise UserError(f"{what}: the machine can't be described: {error}") from error
    return text
