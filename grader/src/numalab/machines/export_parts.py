"""The cores and NUMA nodes of an export of hwloc, each core in the NUMA node that Linux counts it
to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from numalab.errors import UserError
from numalab.machines.hwloc_export import HwlocCoreKind, HwlocExport, HwlocNumaNode
from numalab.machines.machine_file import LONGEST_KIND, MAX_NODES, MAX_PUS
from numalab.pu_lists import format_pus
from numalab.untrusted.visible import shown

# ---- kinds of cores ------------------------------------------------------------------


APART = 1.25  # from which quotient of capacities or highest frequencies on cores are unlike
_TYPES = {"IntelCore": "performance", "IntelAtom": "efficiency"}
_POWERS = ("LinuxCapacity", "FrequencyMaxMHz")
_RANKS = {2: ("efficiency", "performance"), 3: ("efficiency", "middle", "performance")}


def kinds_of_pus(kinds: Sequence[HwlocCoreKind]) -> Mapping[int, str]:
    """Return the kind of each PU's core, as far as it is reported; empty where there are fewer than
    two names of kinds."""
    names = _names(kinds)
    if len(set(names)) < 2:
        return {}
    return {pu: name for kind, name in zip(kinds, names, strict=True) for pu in kind.pus}


def _names(kinds: Sequence[HwlocCoreKind]) -> Sequence[str]:
    """Return a name for each kind, by the first of these: types that differ; capacities, highest
    frequencies or hwloc's ranks that are reported of all kinds; empty where there is none."""
    types = [kind.infos.get("CoreType", "") for kind in kinds]
    if len(set(types)) > 1:
        return [_TYPES.get(one, shown(one)[:LONGEST_KIND]) for one in types]
    for key in _POWERS:
        texts = [kind.infos.get(key, "") for kind in kinds]
        if all(text.isdecimal() and len(text) < 10 for text in texts):
            return _rank_names(_classes([int(text) for text in texts]))
    ranks = [kind.efficiency for kind in kinds]
    order = sorted(set(ranks))
    return [] if -1 in ranks else _rank_names([order.index(rank) for rank in ranks])


def _classes(values: Sequence[int]) -> list[int]:
    """Return the class of each value: that of the lowest is 0, and the next higher value is in the
    next class if it is at least APART times as large, else in the same."""
    order = sorted(set(values))
    class_of = {order[0]: 0} if order else {}
    for lower, higher in pairwise(order):
        class_of[higher] = class_of[lower] + (higher >= APART * lower)
    return [class_of[value] for value in values]


def _rank_names(classes: Sequence[int]) -> list[str]:
    count = len(set(classes))
    names = _RANKS.get(count, tuple(f"kind {number}" for number in range(count)))
    return [names[number] for number in classes]


# ---- cores and NUMA nodes ------------------------------------------------------------


ANEW = "export it anew on the machine: lstopo node.xml"
WHOLE = "export it on the whole machine: lstopo --disallowed node.xml"
_PART = "export a part of it: lstopo --restrict CPUSET node.xml"
# Kinds of memory, by hwloc's names, to which Linux counts no cores while there is ordinary memory.
NO_CORES = ("MCDRAM", "HBM", "GPUMemory", "NVM", "SPM", "CXL-DRAM", "CXL")


@dataclass(frozen=True)
class ExportedCore:
    """A core.

    Attributes:
        pus: Linux's numbers of its hardware threads, ascending.
        l3: index of the export's L3 that its first PU uses, -1 for none.
        kind: such as "performance"; empty: none is known.
        package: its number in the machine's file.
    """

    pus: tuple[int, ...]
    l3: int
    kind: str
    package: int


@dataclass
class ExportedNode:
    """A NUMA node with its cores. number: Linux's, or an unused one if is_added; package: its
    number in the machine's file, once it is set; is_added: the export lacks it."""

    memory: HwlocNumaNode
    number: int
    cores: list[ExportedCore] = field(default_factory=list)
    package: int = 0
    is_added: bool = False


def listed(numbers: Sequence[int]) -> str:
    """Return numbers as a text of at most 200 characters, for messages and notes."""
    return shown(format_pus(numbers), 200)


def _repeated(numbers: Iterable[int]) -> int | None:
    seen: set[int] = set()
    for number in numbers:
        if number in seen:
            return number
        seen.add(number)
    return None


def read_cores(export: HwlocExport, what: str) -> list[ExportedCore]:
    """Return the cores in the order of their first PUs in the export; PUs in no core are one each.
    what: the export's name in messages. Raises UserError where there are no PUs, too many, or one
    twice."""
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
    # Some virtual machines hide their cores; each PU counts as one then.
    sets += [frozenset({pu}) for pu in export.pus if pu not in held]
    place = {pu: index for index, pu in enumerate(export.pus)}
    cores = [tuple(sorted(pus)) for pus in sets if pus]
    cores.sort(key=lambda pus: min(place[pu] for pu in pus))
    package = _package_numbers(export)
    return [
        ExportedCore(pus, l3s.get(pus[0], -1), kinds.get(pus[0], ""), package[pus[0]])
        for pus in cores
    ]


def _package_numbers(export: HwlocExport) -> dict[int, int]:
    """Return each PU's package, numbered in hwloc's order, but that of the lowest PU first. PUs in
    no package are one together."""
    packages = [package.pus for package in export.packages if package.pus]
    rest = frozenset(export.pus).difference(*packages)
    packages += [rest] if rest else []
    first_pu = min(export.pus)
    packages.sort(key=lambda pus: first_pu not in pus)  # stable
    return {pu: number for number, pus in enumerate(packages) for pu in pus}


def read_numa_nodes(
    export: HwlocExport, cores: Sequence[ExportedCore], what: str
) -> list[ExportedNode]:
    """Return the NUMA nodes with their cores, in the order of their numbers. Those whose PUs were
    not allowed are left out, and those that hwloc leaves out are added (_add_without_memory).

    Args:
        cores: what read_cores returns.
        what: the export's name in messages.

    Raises UserError where there are no NUMA nodes, too many, one twice or without a number, or the
    export does not tell which of them has which core.
    """
    if not export.numa_nodes:
        raise UserError(f"{what}: no NUMA node is in it; {ANEW}")
    if len(export.numa_nodes) > MAX_NODES:
        raise UserError(
            f"{what}: the machine has {len(export.numa_nodes):,} NUMA nodes, and at most "
            f"{MAX_NODES:,} can be described; {_PART}"
        )
    nodes = []
    for memory in export.numa_nodes:
        if memory.complete and not memory.pus:
            continue  # the process that made the export was not allowed its PUs
        if memory.number is None:
            raise UserError(f"{what}: a NUMA node has no number; {ANEW}")
        nodes.append(ExportedNode(memory, memory.number))
    twice = _repeated(node.number for node in nodes)
    if twice is not None:
        raise UserError(f"{what}: NUMA node {twice} appears twice; {ANEW}")
    # Memory of a second kind has the PUs of what it is attached to. Linux counts a core to a NUMA
    # node of ordinary memory, among these to one with fewer PUs, and then to the first one.
    order = sorted(
        nodes, key=lambda n: (kind_of(n.memory) in NO_CORES, len(n.memory.pus), n.number)
    )
    node_of_pu: dict[int, ExportedNode] = {}
    for node in reversed(order):
        node_of_pu |= dict.fromkeys(node.memory.pus, node)
    missing = export.complete_numa_nodes - {memory.number for memory in export.numa_nodes}
    if nodes and not missing:
        _add_without_memory(nodes, node_of_pu, cores)
    without = [pu for core in cores for pu in core.pus if pu not in node_of_pu]
    if without:
        raise UserError(
            f"{what}: no NUMA node holds the PUs {listed(sorted(without))}, as where a control "
            f"group keeps a process from some of the memory; {WHOLE}"
        )
    for core in cores:
        node_of_pu[core.pus[0]].cores.append(core)
    _refuse_crossing(export, nodes, what)
    return sorted(nodes, key=lambda n: n.number)


def _refuse_crossing(export: HwlocExport, nodes: Sequence[ExportedNode], what: str) -> None:
    """Raise UserError where several NUMA nodes have the same PUs, of several packages: hwloc
    attaches a NUMA node that crosses packages to an object that holds its PUs, and others."""
    for node in nodes:
        pus = node.memory.pus
        if not node.cores or sum(bool(pus & package.pus) for package in export.packages) < 2:
            continue
        alike = [
            n.number for n in nodes if n.memory.pus == pus and kind_of(n.memory) not in NO_CORES
        ]
        if len(alike) > 1:
            raise UserError(
                f"{what}: NUMA nodes {listed(sorted(alike))} all have the PUs "
                f"{listed(sorted(pus))}, of several packages, as hwloc writes it where NUMA nodes "
                "cross packages, or have no PUs: which PU belongs to which is not in an export. "
                "Ask Linux on the machine (numactl -H), and write the description by hand; "
                "common/machines/README.md tells how"
            )


def _add_without_memory(
    nodes: list[ExportedNode], node_of_pu: dict[int, ExportedNode], cores: Sequence[ExportedCore]
) -> None:
    """Add NUMA nodes without memory, which hwloc leaves out, to `nodes` and `node_of_pu`: one for
    each package with cores that are in none, numbered after the others."""
    for package in sorted({core.package for core in cores if core.pus[0] not in node_of_pu}):
        pus = frozenset(
            pu
            for core in cores
            if core.package == package and core.pus[0] not in node_of_pu
            for pu in core.pus
        )
        number = max(node.number for node in nodes) + 1
        node = ExportedNode(HwlocNumaNode(number, pus, 0, "", {}, 0, pus), number, is_added=True)
        nodes.append(node)
        node_of_pu |= dict.fromkeys(pus, node)


def kind_of(memory: HwlocNumaNode) -> str:
    """Return the kind of a NUMA node's memory, such as HBM, cut to LONGEST_KIND characters; empty
    where none is reported."""
    kind = memory.kind or memory.infos.get("DAXType", "")
    if not kind and "CXLDevice" in memory.infos:
        kind = "CXL"
    return shown(kind)[:LONGEST_KIND]
