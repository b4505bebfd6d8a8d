"""A machine's description from what hwloc has read in an export, or in a synthetic description.

What the format can't say is either told in a note or refused. In a note: several packages under one
NUMA node are one package, an L3 of several NUMA nodes is one of each, and gaps in the numbers of
PUs and NUMA nodes are closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from numalab.errors import UserError
from numalab.machines.core_kinds import kinds_of_pus
from numalab.machines.hwloc_export import Export, Memory
from numalab.machines.machine import ARCHITECTURES, LOCAL_DISTANCE, NATIVE, Matrix
from numalab.machines.machine_file import (
    LONGEST_KIND,
    MAX_DISTANCE,
    MAX_NODES,
    MAX_PUS,
    NAME,
    parse_machine,
)
from numalab.machines.seeded import PREFIX, is_seeded
from numalab.pu_lists import format_pus
from numalab.strangers.visible import shown

MIB = 2**20
ANEW = "export it anew on the machine: lstopo node.xml"
WHOLE = "export it on the whole machine: lstopo --disallowed node.xml"
_PART = "export a part of it: lstopo --restrict CPUSET node.xml"
# Memory that Linux gives no cores, whatever its number; by hwloc's names.
_NO_CORES = ("MCDRAM", "HBM", "GPUMemory", "NVM", "SPM", "CXL-DRAM", "CXL")
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


@dataclass(frozen=True)
class _Core:
    """pus: Linux's numbers, ascending. l3: which one of the export's, -1 for none."""

    pus: tuple[int, ...]
    l3: int
    kind: str


@dataclass
class _Node:
    """A NUMA node with its cores in hwloc's order."""

    memory: Memory
    number: int
    cores: list[_Core] = field(default_factory=list)
    package: int = 0


def _list(numbers: Sequence[int]) -> str:
    """For messages and notes, not without end."""
    return shown(format_pus(numbers), 200)


def _repeated(numbers: Iterable[int]) -> int | None:
    seen: set[int] = set()
    for number in numbers:
        if number in seen:
            return number
        seen.add(number)
    return None


def _cores(export: Export, what: str) -> list[_Core]:
    if not export.pus:
        raise UserError(f"{what}: no PU is in it; {ANEW}")
    if len(export.pus) > MAX_PUS:
        raise UserError(
            f"{what}: the machine has {len(export.pus):,} PUs, and at most {MAX_PUS:,} can be "
            f"described; {_PART}"
        )
    twice = _repeated(export.pus)
    if twice is not None:
        raise UserError(f"{what}: PU {twice} appears twice; {ANEW}")
    l3s = {pu: index for index, cache in enumerate(export.l3s) for pu in cache.pus}
    kinds = kinds_of_pus(export.core_kinds)
    present = set(export.pus)
    sets = [core.pus & present for core in export.cores]
    held = frozenset().union(*sets)
    # Some virtual machines hide their cores: each PU is one.
    sets += [frozenset({pu}) for pu in export.pus if pu not in held]
    place = {pu: index for index, pu in enumerate(export.pus)}
    cores = [tuple(sorted(pus)) for pus in sets if pus]
    cores.sort(key=lambda pus: min(place[pu] for pu in pus))
    return [_Core(pus, l3s.get(pus[0], -1), kinds.get(pus[0], "")) for pus in cores]


def _numa_nodes(export: Export, cores: Sequence[_Core], what: str) -> list[_Node]:
    """By Linux's numbers, with their cores."""
    if not export.numa_nodes:
        raise UserError(f"{what}: no NUMA node is in it; {ANEW}")
    if len(export.numa_nodes) > MAX_NODES:
        raise UserError(
            f"{what}: the machine has {len(export.numa_nodes):,} NUMA nodes, and at most "
            f"{MAX_NODES:,} can be described; {_PART}"
        )
    nodes = []
    for memory in export.numa_nodes:
        if memory.number is None:
            raise UserError(f"{what}: a NUMA node has no number; {ANEW}")
        nodes.append(_Node(memory, memory.number))
    twice = _repeated(node.number for node in nodes)
    if twice is not None:
        raise UserError(f"{what}: NUMA node {twice} appears twice; {ANEW}")
    # Memory of a second kind has the PUs of what it is attached to. Linux counts the cores to the
    # node of ordinary memory, to that of a part rather than of the whole, and to the first one.
    order = sorted(nodes, key=lambda n: (len(n.memory.pus), _kind(n.memory) in _NO_CORES, n.number))
    near: dict[int, _Node] = {}
    for node in reversed(order):
        near |= dict.fromkeys(node.memory.pus, node)
    without = [pu for core in cores for pu in core.pus if pu not in near]
    if without:
        raise UserError(
            f"{what}: no NUMA node holds the PUs {_list(sorted(without))}, as where a control "
            f"group keeps a process from some of the memory; {WHOLE}"
        )
    for core in cores:
        near[core.pus[0]].cores.append(core)
    return sorted(nodes, key=lambda n: n.number)


def _kind(memory: Memory) -> str:
    """Of what it is made, as far as it is told."""
    kind = memory.kind or memory.infos.get("DAXType", "")
    if not kind and "CXLDevice" in memory.infos:
        kind = "CXL"
    return shown(kind)[:LONGEST_KIND]


def _joined(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Sets with common elements made one, in the order of their first ones."""
    found: list[frozenset[int]] = []
    for one in sets:
        place = next((i for i, other in enumerate(found) if other & one), len(found))
        touched = [other for other in found if other & one]
        found = [other for other in found if not other & one]
        found.insert(place, one.union(*touched))
    return found


def _number_packages(
    export: Export, nodes: Sequence[_Node], first_pu: int, matrix: Matrix | None
) -> list[str]:
    """Gives each NUMA node its package; the one with the first PU becomes 0. Returns notes."""
    notes = []
    own = {
        node.number: frozenset(pu for core in node.cores for pu in core.pus)
        for node in nodes
        if node.cores
    }
    packages = [package.pus for package in export.packages if package.pus]
    for node in nodes:
        touched = [i for i, pus in enumerate(packages) if pus & own.get(node.number, frozenset())]
        if len(touched) > 1:
            notes.append(
                f"Packages {_list(touched)} of the export are one here: NUMA node "
                f"{node.number} has cores of all of them."
            )
    if not packages:
        packages = [frozenset(export.pus)]
    sets = _joined([*packages, *own.values()])
    sets = [pus for pus in sets if any(pus & cores for cores in own.values())]
    sets.sort(key=lambda pus: first_pu not in pus)  # stable
    unclear = []
    for index, node in enumerate(nodes):
        pus = own.get(node.number, node.memory.pus)
        near = [i for i, other in enumerate(sets) if other & pus]
        if len(near) == 1:
            node.package = near[0]
            continue
        unclear.append(node.number)
        if matrix is not None:
            nearest = min(
                (other for other in range(len(nodes)) if nodes[other].cores),
                key=lambda other: matrix[other][index],
            )
            pus = own[nodes[nearest].number]
        node.package = next((i for i, other in enumerate(sets) if other & pus), 0)
    if unclear and len(sets) > 1:
        notes.append(
            f"The export does not tell which package NUMA nodes {_list(unclear)} belong to; they "
            "are given to the nearest one, the first of several."
        )
    return notes


def _bring_first(nodes: Sequence[_Node], what: str, first_pu: int) -> None:
    """The first PU's core to the front of its NUMA node, its L3 with it."""
    for node in nodes:
        first = next((core for core in node.cores if first_pu in core.pus), None)
        if first is None:
            continue
        node.cores.sort(key=lambda core: (core is not first, core.l3 != first.l3))  # stable
        lowest = next(n for n in nodes if n.cores and n.package == 0)
        if lowest is not node:
            raise UserError(
                f"{what}: PU {first_pu} is in NUMA node {node.number}, but its package's first "
                f"node with cores is {lowest.number}; in a description the first node has PU 0. "
                "Write the description by hand, with other numbers"
            )


def _matrix(export: Export, nodes: Sequence[_Node]) -> Matrix | None:
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


def _groups(node: _Node) -> list[list[_Core]]:
    """Its cores by L3, in the order of their first ones."""
    by_cache: dict[int, list[_Core]] = {}
    for core in node.cores:
        by_cache.setdefault(core.l3, []).append(core)
    return list(by_cache.values())


def _lists(cores: Sequence[_Core], rank: Mapping[int, int]) -> str:
    threads = zip(*(core.pus for core in cores), strict=True)
    texts = (_quoted(format_pus([rank[pu] for pu in thread])) for thread in threads)
    return f"pus = [{', '.join(texts)}]"


def _like(core: _Core) -> tuple[str, int]:
    """Cores of which this is the same are told in one list."""
    return core.kind, len(core.pus)


def _parts(group: Sequence[_Core]) -> list[list[_Core]]:
    """A group's cores by likeness, in the order of their first ones."""
    found: dict[tuple[str, int], list[_Core]] = {}
    for core in group:
        found.setdefault(_like(core), []).append(core)
    return list(found.values())


def _table(cores: Sequence[_Core], rank: Mapping[int, int], l3_groups: int | None) -> list[str]:
    """l3_groups: None: they share an L3 with the cores of other tables."""
    kind = cores[0].kind
    lines = ["", "[[numa_node.cores]]", *([f"kind = {_quoted(kind)}"] if kind else [])]
    lines.append(_lists(cores, rank))
    return lines if l3_groups is None else [*lines, f"l3_groups = {l3_groups}"]


def _cores_lines(node: _Node, rank: Mapping[int, int], what: str) -> list[str]:
    groups = _groups(node)
    shapes = {(len(group), core.l3 >= 0, *_like(core)) for group in groups for core in group}
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
            lines += _table([core for group in same for core in group], rank, len(same))
            continue
        for group in same:
            for part in _parts(group):
                lines += _table(part, rank, None if part[0].l3 >= 0 else 0)
    return lines


def _shape(group: Sequence[_Core]) -> tuple[int, str, int] | None:
    """Groups of one shape are told in one table, if the cores of each are alike and share an L3;
    else None."""
    if group[0].l3 < 0 or len(_parts(group)) > 1:
        return None
    return len(group), *_like(group[0])


def _numbers_notes(export: Export, nodes: Sequence[_Node]) -> list[str]:
    notes = []
    numbers = [node.number for node in nodes]
    if numbers != list(range(len(nodes))):
        notes.append(f"The machine's NUMA nodes {_list(numbers)} are numbered from 0 on here.")
    pus = sorted(export.pus)
    if pus != list(range(len(pus))):
        notes.append(
            f"The machine's PUs {_list(pus)} are numbered from 0 on here, so that a plan's "
            "numbers are not the machine's."
        )
    gone = sorted(export.complete - set(pus))
    if gone:
        notes.append(
            f"PUs {_list(gone)} were offline, or kept from who made the export, and are left out."
        )
    kept = sorted(set(pus) - export.allowed)
    if export.allowed and kept:
        notes.append(
            f"PUs {_list(kept)} were kept from who made the export, and are described nevertheless."
        )
    return notes


def _parts_notes(export: Export, nodes: Sequence[_Node]) -> list[str]:
    notes = []
    by_l3: dict[int, list[int]] = {}
    for node in nodes:
        for l3 in {core.l3 for core in node.cores if core.l3 >= 0}:
            by_l3.setdefault(l3, []).append(node.number)
    shared = [numbers for numbers in by_l3.values() if len(numbers) > 1]
    if shared:
        notes.append(
            f"NUMA nodes {' and '.join(map(_list, shared))} share an L3 in the export; here "
            "each has one of its own."
        )
    packages = sum(1 for package in export.packages if package.pus)
    if len(export.dies) > max(1, packages):
        notes.append(f"The export has {len(export.dies)} dies, which are not described.")
    if any(not node.cores for node in nodes):
        notes.append("NUMA nodes without cores are memory attached beside that of the cores' node.")
    return notes


def _architecture(export: Export) -> tuple[list[str], list[str]]:
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


def _node_lines(node: _Node, kinds: Sequence[str], rank: Mapping[int, int], what: str) -> list[str]:
    """kinds: of the memory of all NUMA nodes."""
    lines = ["", "[[numa_node]]", f"package = {node.package}"]
    memory = node.memory
    if memory.memory_bytes >= MIB:
        lines.append(f"memory_mb = {memory.memory_bytes // MIB}")
    if len(set(kinds)) > 1 and _kind(memory):
        lines.append(f"memory_kind = {_quoted(_kind(memory))}")
    if memory.side_cache_bytes >= MIB:
        lines.append(f"memory_side_cache_mb = {memory.side_cache_bytes // MIB}")
    return lines + _cores_lines(node, rank, what)


def _figure_lines(export: Export, nodes: Sequence[_Node], source: str) -> list[str]:
    """Sizes of L3s, and what the system announces of memories."""
    lines = []
    sizes = {cache.size_bytes for cache in export.l3s}
    if len(sizes) == 1 and min(sizes) >= 1024:
        lines += ["", "[[cache]]", 'what = "L3, each"', f"value = {min(sizes) // 1024}"]
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
        which = f"NUMA node{'' if len(told) == 1 else 's'} {_list(list(told))}"
        what = f"as the system announces it, {access}, {which} from the nearest PUs"
        lines += ["", f"[[{table}]]", f"what = {_quoted(what)}"]
        lines += [f"value = [{', '.join(map(str, told.values()))}]"]
        lines += [f"unit = {_quoted(unit)}", f"source = {_quoted(source)}"]
    return lines


def machine_text(export: Export, name: str, source: str, what: str) -> str:
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
    nodes = _numa_nodes(export, _cores(export, what), what)
    pus = sorted(export.pus)
    matrix = _matrix(export, nodes)
    notes = _numbers_notes(export, nodes)
    notes += _number_packages(export, nodes, pus[0], matrix)
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
    kinds = [_kind(node.memory) for node in nodes]
    for node in nodes:
        lines += _node_lines(node, kinds, rank, what)
    lines += _figure_lines(export, nodes, source)
    text = "\n".join([*lines, ""])
    try:
        parse_machine(text, Path(f"{name}.toml"))
    except UserError as error:
        raise UserError(f"{what}: the machine can't be described: {error}") from error
    return text
