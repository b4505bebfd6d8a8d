"""A machine's description from an hwloc export (`lstopo node.xml` on the machine)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError

from numalab.errors import UserError
from numalab.files import NotPlain, read_plain
from numalab.machines.machine import LOCAL_DISTANCE, Matrix
from numalab.machines.machine_file import MAX_DISTANCE, MAX_PUS, NAME, parse_machine
from numalab.pu_lists import format_pus
from numalab.strangers import xml
from numalab.strangers.server import Unreadable
from numalab.strangers.visible import shown

MIB = 2**20
_MOST_BYTES = 16 * MIB  # the largest machine's has 2 MiB
_MOST_OBJECTS = 4 * MAX_PUS  # of a type
_MOST_WORDS = 1024  # of 32 PUs each, in a set
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
EXPORT = "export it anew with hwloc 2 on the machine: lstopo node.xml"


def _whole(text: str) -> int:
    """A number that may be missing; then 0."""
    return int(text) if _WHOLE.fullmatch(text) else 0


@dataclass(frozen=True)
class _Core:
    """pus: Linux's numbers, ascending. l3: index of its L3 in the export, -1 for none."""

    pus: tuple[int, ...]
    l3: int


@dataclass
class _Node:
    """A NUMA node; number is Linux's, and cores come in hwloc's order."""

    number: int
    gp_index: str
    cpuset: frozenset[int]
    memory_mb: int
    cores: list[_Core]
    package: int = 0


class _Export:
    """An hwloc export's objects by type, with their attributes checked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            root = xml.parsed(read_plain(path, _MOST_BYTES, follow_links=True))
        except FileNotFoundError as error:
            raise UserError(f"{path}: can't read it: {error.strerror}") from error
        except NotPlain as error:
            raise UserError(f"{path}: it {error}; {EXPORT}") from error
        except Unreadable as error:
            raise UserError(f"{path}: this is no export of hwloc: {error}; {EXPORT}") from error
        except ExpatError as error:
            raise UserError(
                f"{path}:{error.lineno}: this is not XML ({error}); {EXPORT}"
            ) from error
        except (LookupError, ValueError) as error:  # an encoding that nobody knows
            raise UserError(f"{path}: this is not XML ({error}); {EXPORT}") from error
        if root.tag != "topology":
            raise UserError(
                f"{path}: this XML is not hwloc's: it begins with <{shown(root.tag)}>, not "
                "<topology>; "
                f"{EXPORT}"
            )
        version = root.get("version", "1")  # hwloc 1 wrote none
        if version.split(".")[0] != "2":
            raise UserError(
                f"{path}: this is an export of hwloc {shown(version.split('.')[0])}.x, and only "
                f"those of hwloc 2 can be read; {EXPORT}"
            )
        self.root = root

    def objects(self, kind: str) -> list[ElementTree.Element]:
        """In the order of the file, which is hwloc's logical order."""
        found = [element for element in self.root.iter("object") if element.get("type") == kind]
        if len(found) > _MOST_OBJECTS:
            raise UserError(
                f"{self.path}: it has {len(found):,} objects of type {kind}, and at most "
                f"{_MOST_OBJECTS:,} can be described; {EXPORT}"
            )
        return found

    def number(self, element: ElementTree.Element, key: str) -> int:
        text = element.get(key, "")
        if _WHOLE.fullmatch(text) is None:
            raise UserError(
                f"{self.path}: an object of type {element.get('type')} has "
                f"{key}='{shown(text)}' where "
                f"a number belongs; {EXPORT}"
            )
        return int(text)

    def cpuset(self, element: ElementTree.Element) -> frozenset[int]:
        """hwloc's "0x00000003,,0x000000ff": words of 32 bits, the lowest last."""
        text = element.get("cpuset", "")
        words = text.split(",")
        pus: set[int] = set()
        for number, word in enumerate(reversed(words)):
            is_word = re.fullmatch(r"(0x)?[0-9a-fA-F]{1,8}|", word)
            if is_word is None or not text or len(words) > _MOST_WORDS:
                raise UserError(
                    f"{self.path}: an object of type {element.get('type')} has "
                    f"cpuset='{shown(text)}', which is no finite set of PUs; {EXPORT}"
                )
            bits = int(word or "0", 16)
            pus.update(32 * number + bit for bit in range(bits.bit_length()) if bits >> bit & 1)
        return frozenset(pus)

    def info(self, name: str) -> str | None:
        for element in self.root.iter("info"):
            if element.get("name") == name and element.get("value", "").strip():
                return shown(element.get("value", "").strip())
        return None


# ---- what the export holds --------------------------------------------------------


def _cores(export: _Export) -> list[_Core]:
    pus = [export.number(element, "os_index") for element in export.objects("PU")]
    if not pus:
        raise UserError(f"{export.path}: no PU is in it; {EXPORT}")
    if len(set(pus)) != len(pus):
        raise UserError(f"{export.path}: a PU number appears twice; {EXPORT}")
    if len(pus) > MAX_PUS:
        raise UserError(
            f"{export.path}: the machine has {len(pus)} PUs, and at most {MAX_PUS} can be "
            "described; export a part of it: lstopo --restrict CPUSET node.xml"
        )
    caches = [export.cpuset(element) for element in export.objects("L3Cache")]
    sets = [export.cpuset(element) for element in export.objects("Core")]
    if not sets:  # some virtual machines hide their cores
        sets = [frozenset({pu}) for pu in pus]
    held = Counter(pu for cpuset in sets for pu in cpuset)
    for pu in pus:
        if held[pu] != 1:
            raise UserError(
                f"{export.path}: PU {pu} belongs to {held[pu]} cores instead of one; {EXPORT}"
            )
    return [
        _Core(
            tuple(sorted(cpuset & set(pus))),
            next((index for index, cache in enumerate(caches) if cpuset <= cache), -1),
        )
        for cpuset in sets
        if cpuset & set(pus)
    ]


def _numa_nodes(export: _Export, cores: Sequence[_Core]) -> list[_Node]:
    """The NUMA nodes by Linux's number, with their cores."""
    nodes = sorted(
        (
            _Node(
                export.number(element, "os_index"),
                element.get("gp_index", ""),
                export.cpuset(element),
                _whole(element.get("local_memory", "")) // MIB,
                [],
            )
            for element in export.objects("NUMANode")
        ),
        key=lambda node: node.number,
    )
    if not nodes:
        raise UserError(f"{export.path}: no NUMA node is in it; {EXPORT}")
    if len({node.number for node in nodes}) != len(nodes):
        raise UserError(f"{export.path}: a NUMA node's number appears twice; {EXPORT}")
    for core in cores:
        # Memory of a second kind has the cpuset of what it is attached to. Linux counts
        # the cores to the first node, and to the node of a part rather than of the whole.
        near = [node for node in nodes if set(core.pus) <= node.cpuset]
        if not near:
            raise UserError(
                f"{export.path}: no NUMA node holds the core of PU {core.pus[0]}; {EXPORT}"
            )
        min(near, key=lambda node: (len(node.cpuset), node.number)).cores.append(core)
    return nodes


def _number_packages(export: _Export, nodes: Sequence[_Node], first_pu: int) -> int:
    """Gives each NUMA node its package; the one with the first PU becomes 0. Returns how
    many there are."""
    sets = [export.cpuset(element) for element in export.objects("Package")]
    sets = sets or [frozenset().union(*(node.cpuset for node in nodes))]
    first = next((index for index, cpuset in enumerate(sets) if first_pu in cpuset), None)
    if first is None:
        raise UserError(f"{export.path}: no package holds PU {first_pu}; {EXPORT}")
    sets.insert(0, sets.pop(first))
    for node in nodes:
        own = {pu for core in node.cores for pu in core.pus}
        touched = [index for index, cpuset in enumerate(sets) if cpuset & (own or node.cpuset)]
        if own and (len(touched) != 1 or not own <= sets[touched[0]]):
            raise UserError(
                f"{export.path}: NUMA node {node.number} has cores of {len(touched)} packages; "
                "a node must lie within one package here. Change the firmware's NUMA setting "
                "(one node or more per package), or write the description by hand"
            )
        node.package = touched[0] if touched else 0
    return len(sets)


def _groups(node: _Node) -> list[list[_Core]]:
    by_cache: dict[int, list[_Core]] = {}
    for core in node.cores:
        by_cache.setdefault(core.l3, []).append(core)
    return list(by_cache.values())


def _same(path: Path, what: str, counts: dict[str, int], advice: str) -> None:
    """Refuses unless all have equally many. counts: by the name of who has them."""
    names = list(counts)
    for name in names[1:]:
        if counts[name] != counts[names[0]]:
            raise UserError(
                f"{path}: {name} has {counts[name]} {what}, {names[0]} has {counts[names[0]]}; "
                f"a machine with unlike ones can't be described. {advice}"
            )


def _check_alike(path: Path, nodes: Sequence[_Node], packages: int) -> None:
    """What parse_machine would refuse too, in words about the machine, not the file."""
    with_cores = [node for node in nodes if node.cores]
    part = "Export a part that is alike: lstopo --restrict CPUSET node.xml"
    threads = {f"the core of PU {c.pus[0]}": len(c.pus) for n in with_cores for c in n.cores}
    _same(path, "thread(s)", threads, part)
    _same(path, "core(s)", {f"NUMA node {n.number}": len(n.cores) for n in with_cores}, part)
    groups = [(node, _groups(node)) for node in with_cores]
    _same(path, "L3(s)", {f"NUMA node {n.number}": len(found) for n, found in groups}, part)
    sizes = {
        f"the L3 of PU {group[0].pus[0]}": len(group) for _, found in groups for group in found
    }
    _same(path, "core(s)", sizes, part)
    held = Counter(node.package for node in with_cores)
    numbers = {f"package {number}": held[number] for number in range(packages)}
    _same(path, "NUMA node(s) with cores", numbers, part)


def _first(nodes: Sequence[_Node], path: Path, first_pu: int) -> None:
    """Brings the first PU's core to the front of its NUMA node, its L3 with it."""
    for node in nodes:
        for core in node.cores:
            if first_pu in core.pus:
                node.cores.sort(key=lambda c: (c is not core, c.l3 != core.l3))  # stable
                lowest = next(n for n in nodes if n.cores and n.package == 0)
                if lowest is not node:
                    raise UserError(
                        f"{path}: PU {first_pu} is in NUMA node {node.number}, but the package's "
                        f"first node is {lowest.number}; a virtual machine starts on the first "
                        "node's first PU. Write the description by hand, with other numbers"
                    )
                return


def _distances(export: _Export, nodes: Sequence[_Node]) -> Matrix | None:
    """Linux's SLIT where the export has it and Linux would take it."""
    for element in export.root.iter("distances2"):
        if element.get("name") != "NUMALatency" or element.get("type") != "NUMANode":
            continue
        order = " ".join(e.text or "" for e in element.iter("indexes")).split()
        texts = " ".join(e.text or "" for e in element.iter("u64values")).split()
        by_os = element.get("indexing", "os") == "os"
        own = [str(node.number) if by_os else node.gp_index for node in nodes]
        if sorted(order) != sorted(own) or len(texts) != len(own) ** 2:
            return None
        if not all(map(_WHOLE.fullmatch, texts)):
            return None
        at = [order.index(name) for name in own]
        matrix = tuple(tuple(int(texts[i * len(own) + j]) for j in at) for i in at)
        for i, row in enumerate(matrix):
            for j, value in enumerate(row):
                if (i == j) != (value == LOCAL_DISTANCE) or not (
                    LOCAL_DISTANCE <= value <= MAX_DISTANCE
                ):
                    return None
        return matrix
    return None


# ---- the file ---------------------------------------------------------------------


def _quoted(text: str) -> str:
    """A TOML text; what JSON escapes, TOML reads alike, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _notes(export: _Export, nodes: Sequence[_Node], has_distances: bool) -> list[str]:
    notes = []
    numbers = [node.number for node in nodes]
    if numbers != list(range(len(nodes))):
        notes.append(f"NUMA nodes {format_pus(numbers)} are renumbered from 0 on.")
    pus = sorted(pu for node in nodes for core in node.cores for pu in core.pus)
    if pus != list(range(len(pus))):
        notes.append(f"PUs {format_pus(pus)} are renumbered from 0 on.")
    if any(not node.cores for node in nodes):
        notes.append("NUMA nodes without cores are memory attached beside that of the cores' node.")
    if not has_distances and len(nodes) > 1:
        notes.append("The export gives no distances that Linux would take.")
    return notes


def import_xml(path: Path, name: str) -> str:
    """The text of the machine's file, which load_machine reads as NAME.toml.

    PUs and NUMA nodes keep Linux's numbers; where those have gaps, their order. Raises
    UserError where the file is no export of hwloc 2 or the machine can't be described.
    """
    if NAME.fullmatch(name) is None:
        raise UserError(
            f"the name '{name}' can't be used; give another with --name, of small letters, "
            "digits, '-', '.' and '_'"
        )
    export = _Export(path)
    nodes = _numa_nodes(export, _cores(export))
    pus = sorted(pu for node in nodes for core in node.cores for pu in core.pus)
    packages = _number_packages(export, nodes, pus[0])
    _check_alike(path, nodes, packages)
    _first(nodes, path, pus[0])
    matrix = _distances(export, nodes)
    model = export.info("CPUModel")
    title = f"{name}: {model}" if model else f"{name}: imported from hwloc"
    lines = [
        f"name = {_quoted(name)}",
        f"title = {_quoted(title)}",
        f"source = {_quoted(f'hwloc export {path.name}')}",
    ]
    notes = _notes(export, nodes, matrix is not None)
    if notes:
        lines += ["notes = [", *(f"    {_quoted(note)}," for note in notes), "]"]
    if matrix is not None:
        rows = (f"    [{', '.join(str(value) for value in row)}]," for row in matrix)
        lines += ["distances = [", *rows, "]"]
    rank = {pu: number for number, pu in enumerate(pus)}
    for node in nodes:
        cores = [core for group in _groups(node) for core in group]
        threads = zip(*(core.pus for core in cores), strict=True)
        lists = (_quoted(format_pus([rank[pu] for pu in thread])) for thread in threads)
        lines += ["", "[[numa_node]]", f"package = {node.package}"]
        if node.memory_mb > 0:
            lines.append(f"memory_mb = {node.memory_mb}")
        lines.append(f"pus = [{', '.join(lists)}]")
        if len(_groups(node)) > 1:
            lines.append(f"l3_groups = {len(_groups(node))}")
    sizes = {element.get("cache_size", "") for element in export.objects("L3Cache")}
    size = sizes.pop() if len(sizes) == 1 else ""
    if _whole(size) >= 1024:
        source = _quoted(f"hwloc export {path.name}")
        lines += ["", "[[cache]]", 'what = "L3, each"', f"value = {int(size) // 1024}"]
        lines += ['unit = "KiB"', f"source = {source}"]
    text = "\n".join([*lines, ""])
    try:
        parse_machine(text, Path(f"{name}.toml"))
    except UserError as error:
        raise UserError(f"{path}: the machine can't be described: {error}") from error
    return text
