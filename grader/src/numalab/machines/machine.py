"""A NUMA machine as a file of common/machines describes it.

common/machines/README.md says what each key means; the checks here refuse what neither
Linux nor QEMU could make a machine of, with the file's line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from numalab.errors import UserError
from numalab.kit import Kit
from numalab.pu_lists import parse_pus

LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20  # Linux's where the firmware gives none
MAX_DISTANCE = 254  # 255 is ACPI's "unreachable"
MAX_PUS = 255  # more need an x2APIC and an interrupt remapper in QEMU
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Core:
    """pus: Linux's numbers of its hardware threads, first thread first."""

    pus: tuple[int, ...]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node and the cores that are near to it; one without cores is memory only.

    number, package: Linux's numbers. memory_mb: its memory as `numactl -H` prints it,
    which is in units of 2^20 bytes though printed as MB; None where the source gives none.
    core_groups: the cores by the L3 that they share, all groups of a machine equally long.
    """

    number: int
    package: int
    memory_mb: int | None
    core_groups: tuple[tuple[Core, ...], ...]

    @property
    def cores(self) -> tuple[Core, ...]:
        return tuple(core for group in self.core_groups for core in group)

    @property
    def pus(self) -> tuple[int, ...]:
        """In ascending order."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))


@dataclass(frozen=True)
class Figure:
    """A published size, bandwidth or latency. values: one, or one for each of several
    cases that `what` names in the same order. sizes_bytes: of the messages that the values
    belong to, none for other figures; about: what such a series is called beside others."""

    what: str
    values: tuple[float, ...]
    unit: str
    source: str
    about: str = ""
    sizes_bytes: tuple[int, ...] = ()


class PuPlace(NamedTuple):
    """Where a PU is. core: counted over the machine, by NUMA node and then in its order."""

    package: int
    numa_node: int
    core: int
    thread: int


@dataclass(frozen=True)
class Machine:
    """A machine, or with scaled_from one that has fewer cores than the described one.

    numa_nodes: index and number agree. distances: ACPI's SLIT, row by row, as `numactl -H`
    prints it; None where the source gives none. caches, bandwidths, latencies: of the real
    machine, never of a scaled or virtual one. text: the file's.
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    numa_nodes: tuple[NumaNode, ...]
    distances: Matrix | None
    caches: tuple[Figure, ...]
    bandwidths: tuple[Figure, ...]
    latencies: tuple[Figure, ...]
    text: str = field(repr=False)
    scaled_from: Machine | None = field(default=None, repr=False)

    @property
    def nodes_with_cores(self) -> tuple[NumaNode, ...]:
        return tuple(node for node in self.numa_nodes if node.core_groups)

    @property
    def packages(self) -> int:
        return len({node.package for node in self.nodes_with_cores})

    @property
    def nodes_per_package(self) -> int:
        """Without those of memory only."""
        return len(self.nodes_with_cores) // self.packages

    @property
    def groups_per_node(self) -> int:
        return len(self.nodes_with_cores[0].core_groups)

    @property
    def cores_per_node(self) -> int:
        return len(self.nodes_with_cores[0].cores)

    @property
    def threads_per_core(self) -> int:
        return len(self.nodes_with_cores[0].cores[0].pus)

    @property
    def cores(self) -> int:
        return sum(len(node.cores) for node in self.numa_nodes)

    @property
    def pus(self) -> int:
        return self.cores * self.threads_per_core

    @cached_property
    def pu_table(self) -> tuple[PuPlace, ...]:
        """Where each PU is; the index is the PU's number."""
        places = {}
        core_index = 0
        for node in self.numa_nodes:
            for core in node.cores:
                for thread, pu in enumerate(core.pus):
                    places[pu] = PuPlace(node.package, node.number, core_index, thread)
                core_index += 1
        return tuple(places[pu] for pu in sorted(places))

    def nodes_of(self, package: int) -> tuple[NumaNode, ...]:
        """Those of memory only too."""
        return tuple(node for node in self.numa_nodes if node.package == package)

    def guest_distances(self) -> Matrix:
        """The distances, or Linux's defaults where the source gives none."""
        if self.distances is not None:
            return self.distances
        numbers = range(len(self.numa_nodes))
        return tuple(
            tuple(LOCAL_DISTANCE if i == j else REMOTE_DISTANCE for j in numbers) for i in numbers
        )

    def scaled(self, cores_per_node: int) -> Machine:
        """The machine with at most so many cores a NUMA node, its PUs renumbered by rank.

        The kept cores are spread over the node's L3 groups, equally many each: all groups
        stay where there are cores enough, else as many of one core. So the number can be
        smaller than asked for.
        """
        if cores_per_node < 1:
            raise UserError(f"{self.name}: {cores_per_node} cores a NUMA node; ask for 1 or more")
        if cores_per_node >= self.cores_per_node:
            return self
        groups = min(self.groups_per_node, cores_per_node)
        each = cores_per_node // groups
        kept = tuple(
            tuple(group[:each] for group in node.core_groups[:groups]) for node in self.numa_nodes
        )
        old = sorted(pu for node in kept for group in node for core in group for pu in core.pus)
        rank = {pu: number for number, pu in enumerate(old)}
        nodes = tuple(
            replace(
                node,
                core_groups=tuple(
                    tuple(Core(tuple(rank[pu] for pu in core.pus)) for core in group)
                    for group in core_groups
                ),
            )
            for node, core_groups in zip(self.numa_nodes, kept, strict=True)
        )
        return replace(self, numa_nodes=nodes, scaled_from=self.scaled_from or self)


# ---- lists of PUs ------------------------------------------------------------


# ---- lines of a TOML file ------------------------------------------------------

Place = tuple[str | int, ...]  # such as ("numa_node", 1, "pus") or ("distances", 0)
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*'
    r"|\n|[\[\]{},]|[^\s\[\]{},#\"']+",
    re.DOTALL,
)
_HEADER = re.compile(r"\[\[?\s*([\w-]+)\s*\]\]?")
_KEY = re.compile(r"""["']?([\w-]+)["']?\s*=""")


def _lines(text: str) -> dict[Place, int]:
    """The line of each table, key and first-level array element of a valid TOML text."""
    found: dict[Place, int] = {}
    counts: Counter[str] = Counter()
    table: Place = ()
    key: Place = ()
    depth = elements = 0
    at, line = 0, 1
    at_start = True  # of a line that is not inside a value
    while at < len(text):
        if at_start and depth == 0:
            at = _skip_blanks(text, at)
            if header := _HEADER.match(text, at):
                name = header[1]
                table = (name, counts[name]) if text.startswith("[[", at) else (name,)
                counts[name] += 1
                found.setdefault(table, line)
                at = header.end()
            elif assignment := _KEY.match(text, at):
                key = (*table, assignment[1])
                found.setdefault(key, line)
                elements = 0
                at = assignment.end()
            at_start = False
        token = _TOKEN.search(text, at)
        if token is None:
            break
        word = token[0]
        if depth == 1 and word not in ("\n", ",", "]") and not word.startswith("#"):
            found.setdefault((*key, elements), line)
            elements += 1
        depth += word in ("[", "{")
        depth -= word in ("]", "}")
        at_start = word == "\n" and depth == 0
        line += word.count("\n")
        at = token.end()
    return found


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r":
        at += 1
    return at


# ---- reading -----------------------------------------------------------------


class _File:
    """A machine's file while it is checked: its path, and where in it what stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = _lines(text)

    def fail(self, place: Place, message: str) -> NoReturn:
        """Raises UserError with the line of the place, or of what surrounds it."""
        while place and place not in self.lines:
            place = place[:-1]
        raise UserError(f"{self.path}:{self.lines.get(place, 1)}: {message}")

    def check_keys(
        self, table: Mapping[str, Any], place: Place, required: Sequence[str], known: Sequence[str]
    ) -> None:
        for key in table:
            if key in known:
                continue
            inside = f" in [[{place[0]}]]" if place else ""
            if place and key in TOP_KEYS:
                hint = f" It belongs to the machine: move it above the first [[{place[0]}]]."
            else:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                hint += f" The keys are: {', '.join(known)}."
            self.fail((*place, key), f"unknown key '{key}'{inside}.{hint}")
        for key in required:
            if key not in table:
                what = f"[[{place[0]}]] number {place[1]}" if place else "the machine"
                self.fail(place, f"{what} has no key '{key}'; add it")

    def string(self, table: Mapping[str, Any], place: Place, key: str) -> str:
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self.fail((*place, key), f"'{key}' is {value!r}; write a text in quotes")
        return value

    def whole(self, value: Any, place: Place, name: str, least: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(place, f"{name} is {value!r}; write a whole number")
        if value < least:
            self.fail(place, f"{name} is {value}; it must be {least} or more")
        return value

    def strings(self, table: Mapping[str, Any], place: Place, key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list):
            self.fail((*place, key), f"'{key}' is {value!r}; write a list of texts: [\"...\"]")
        for index, entry in enumerate(value):
            if not isinstance(entry, str):
                self.fail((*place, key, index), f"'{key}' holds {entry!r}; write a text in quotes")
        return tuple(value)

    def tables(self, table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self.fail((key,), f"'{key}' is a table of its own; write [[{key}]] above its keys")
        return value


NODE_KEYS = ("package", "memory_mb", "pus", "l3_groups")
FIGURE_KEYS = ("what", "value", "unit", "source")
SERIES_KEYS = ("about", "sizes_bytes")  # both or none
FIGURE_TABLES = ("cache", "bandwidth", "latency")
TOP_KEYS = ("name", "title", "source", "notes", "distances", "numa_node", *FIGURE_TABLES)


def _numa_node(file: _File, table: dict[str, Any], number: int) -> NumaNode:
    here: Place = ("numa_node", number)
    file.check_keys(table, here, ("package", "pus"), NODE_KEYS)
    package = file.whole(table["package"], (*here, "package"), "'package'", 0)
    memory = table.get("memory_mb")
    if memory is not None:
        memory = file.whole(memory, (*here, "memory_mb"), "'memory_mb'", 1)
    threads = []
    for index, text in enumerate(file.strings(table, here, "pus")):
        try:
            threads.append(parse_pus(text, MAX_PUS))
        except ValueError as error:
            file.fail((*here, "pus", index), str(error))
        if len(threads[index]) != len(threads[0]):
            file.fail(
                (*here, "pus", index),
                f"NUMA node {number} lists {len(threads[0])} first threads but "
                f"{len(threads[index])} in list {index}; give every core a PU in each list",
            )
    groups = file.whole(table.get("l3_groups", 1), (*here, "l3_groups"), "'l3_groups'", 1)
    if not threads:
        return NumaNode(number, package, memory, ())
    cores = tuple(Core(pus) for pus in zip(*threads, strict=True))
    if len(cores) % groups:
        file.fail(
            (*here, "l3_groups"),
            f"{len(cores)} cores can't be split in {groups} equal L3 groups; "
            "take a number that divides them",
        )
    each = len(cores) // groups
    split = tuple(cores[first : first + each] for first in range(0, len(cores), each))
    return NumaNode(number, package, memory, split)


def _check_cores(file: _File, nodes: Sequence[NumaNode]) -> None:
    """The nodes with cores must be alike: QEMU knows one number of cores for all."""
    for node in nodes:
        first, here = nodes[0], ("numa_node", node.number)
        if len(node.cores) != len(first.cores):
            file.fail(
                (*here, "pus"),
                f"NUMA node {node.number} has {len(node.cores)} cores, node {first.number} has "
                f"{len(first.cores)}; all nodes with cores must have equally many",
            )
        if len(node.cores[0].pus) != len(first.cores[0].pus):
            file.fail(
                (*here, "pus"),
                f"NUMA node {node.number} has {len(node.cores[0].pus)} threads a core, node "
                f"{first.number} has {len(first.cores[0].pus)}; give each node equally many lists",
            )
        if len(node.core_groups) != len(first.core_groups):
            file.fail(
                (*here, "l3_groups"),
                f"NUMA node {node.number} has {len(node.core_groups)} L3 groups, node "
                f"{first.number} has {len(first.core_groups)}; all must have equally many",
            )


def _check_packages(file: _File, nodes: Sequence[NumaNode], all_nodes: Sequence[NumaNode]) -> None:
    count = Counter(node.package for node in nodes)
    for node in all_nodes:
        if node.package not in count:
            file.fail(
                ("numa_node", node.number, "package"),
                f"package {node.package} has no cores; give the node of memory only the package "
                "that it is attached to",
            )
    missing = next(number for number in range(len(count) + 1) if number not in count)
    for node in nodes:
        if node.package > missing:
            file.fail(
                ("numa_node", node.number, "package"),
                f"package {node.package}, but there is no package {missing}; "
                "number the packages from 0 on without gaps",
            )
        if count[node.package] != count[nodes[0].package]:
            file.fail(
                ("numa_node", node.number, "package"),
                f"package {node.package} has {count[node.package]} NUMA nodes with cores, package "
                f"{nodes[0].package} has {count[nodes[0].package]}; all must have equally many",
            )


def _check_pus(file: _File, nodes: Sequence[NumaNode]) -> None:
    owner: dict[int, int] = {}
    for node in nodes:
        for core in node.cores:
            for pu in core.pus:
                if pu in owner:
                    file.fail(
                        ("numa_node", node.number, "pus"),
                        f"PU {pu} is listed twice, in NUMA nodes {owner[pu]} and {node.number}; "
                        "a PU belongs to one core",
                    )
                owner[pu] = node.number
    highest = max(owner)
    if highest >= len(owner):
        missing = next(pu for pu in range(highest) if pu not in owner)
        file.fail(
            ("numa_node", owner[highest], "pus"),
            f"PU {highest} is listed here but PU {missing} nowhere; "
            "number the PUs from 0 on without gaps",
        )
    boot = next(node for node in nodes if node.package == 0)
    if boot.cores[0].pus[0] != 0:
        file.fail(
            ("numa_node", boot.number, "pus"),
            f"the first PU of package 0's first NUMA node is {boot.cores[0].pus[0]}; it must be "
            "PU 0, which starts the machine (QEMU makes its first processor PU 0): list the core "
            "of PU 0 first, and number its package 0",
        )


def _distances(file: _File, value: Any, nodes: int) -> Matrix:
    here: Place = ("distances",)
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        file.fail(here, "'distances' is a list of rows: [[10, 20], [20, 10]]")
    if len(value) != nodes:
        file.fail(here, f"'distances' has {len(value)} rows for {nodes} NUMA nodes")
    for i, row in enumerate(value):
        at = (*here, i)
        if len(row) != nodes:
            file.fail(at, f"row {i} of 'distances' has {len(row)} values for {nodes} NUMA nodes")
        for j, distance in enumerate(row):
            name = f"the distance from node {i} to node {j}"
            file.whole(distance, at, name, LOCAL_DISTANCE)
            if distance > MAX_DISTANCE:
                file.fail(at, f"{name} is {distance}; it must be {MAX_DISTANCE} or less")
            if i == j and distance != LOCAL_DISTANCE:
                file.fail(
                    at,
                    f"{name}, itself, is {distance}; it must be {LOCAL_DISTANCE}, "
                    "or Linux ignores the whole matrix",
                )
            if i != j and distance <= LOCAL_DISTANCE:
                file.fail(
                    at,
                    f"{name} is {distance}; it must be above {LOCAL_DISTANCE}, a node's distance "
                    "to itself, or Linux ignores the whole matrix",
                )
    return tuple(tuple(row) for row in value)


def _series(
    file: _File, table: Mapping[str, Any], here: Place, count: int
) -> tuple[str, tuple[int, ...]]:
    """What a series of values is about, and the size that each belongs to."""
    given = [key for key in SERIES_KEYS if key in table]
    if not given:
        return "", ()
    if len(given) < len(SERIES_KEYS):
        file.fail((*here, given[0]), f"write {' and '.join(SERIES_KEYS)}, or neither")
    sizes = table["sizes_bytes"]
    if not isinstance(sizes, list) or len(sizes) != count:
        file.fail(
            (*here, "sizes_bytes"),
            f"'sizes_bytes' is {sizes!r}; write a list of {count} "
            f"{'size' if count == 1 else 'sizes'}, one for each value",
        )
    whole = (file.whole(size, (*here, "sizes_bytes"), "sizes_bytes", 1) for size in sizes)
    return file.string(table, here, "about"), tuple(whole)


def _figures(file: _File, top: Mapping[str, Any], key: str) -> tuple[Figure, ...]:
    figures = []
    for index, table in enumerate(file.tables(top, key)):
        here: Place = (key, index)
        file.check_keys(table, here, FIGURE_KEYS, (*FIGURE_KEYS, *SERIES_KEYS))
        given = table["value"]
        values = given if isinstance(given, list) else [given]
        for value in values:
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
                file.fail(
                    (*here, "value"),
                    f"'value' is {given!r}; write a number above 0, or a list of them",
                )
        if not values:
            file.fail((*here, "value"), "'value' is an empty list; write at least one number")
        what, unit, source = (file.string(table, here, name) for name in ("what", "unit", "source"))
        about, sizes_bytes = _series(file, table, here, len(values))
        figures.append(Figure(what, tuple(values), unit, source, about, sizes_bytes))
    return tuple(figures)


def parse_machine(text: str, path: Path) -> Machine:
    """The machine that the text describes; path is for messages and names the machine.

    Raises UserError with the line of the first mistake.
    """
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = re.sub(r" \(at (?:line \d+, column \d+|end of document)\)$", "", str(error))
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else max(1, len(text.splitlines()))
        raise UserError(f"{path}:{line}: this is not TOML: {said}; correct the line") from error
    file = _File(path, text)
    file.check_keys(top, (), ("name", "title", "source", "numa_node"), TOP_KEYS)
    name, title, source = (file.string(top, (), key) for key in ("name", "title", "source"))
    if NAME.fullmatch(name) is None or name == "here":
        file.fail(
            ("name",),
            f"the name '{name}' can't be used; take small letters, digits, '-', '.' and '_'",
        )
    if name != path.stem:
        file.fail(
            ("name",),
            f"the name is '{name}' but the file's name '{path.stem}'; make both the same",
        )
    tables = file.tables(top, "numa_node")
    nodes = tuple(_numa_node(file, table, number) for number, table in enumerate(tables))
    with_cores = [node for node in nodes if node.core_groups]
    if not with_cores:
        file.fail(("numa_node",), "no NUMA node has cores; describe one in a [[numa_node]]")
    _check_cores(file, with_cores)
    _check_packages(file, with_cores, nodes)
    _check_pus(file, with_cores)
    given = top.get("distances")
    return Machine(
        name=name,
        title=title,
        source=source,
        notes=file.strings(top, (), "notes"),
        numa_nodes=nodes,
        distances=None if given is None else _distances(file, given, len(nodes)),
        caches=_figures(file, top, "cache"),
        bandwidths=_figures(file, top, "bandwidth"),
        latencies=_figures(file, top, "latency"),
        text=text,
    )


def load_machine(path: Path) -> Machine:
    """Reads and checks a machine's file. Raises UserError with the line of a mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: can't read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: this is no text in UTF-8; save it as UTF-8") from error
    return parse_machine(text, path)


def gallery_folder(kit: Kit) -> Path:
    return kit.root / "common" / "machines"


def machine_names(kit: Kit) -> list[str]:
    """Of the gallery, in order."""
    return sorted(path.stem for path in gallery_folder(kit).glob("*.toml"))


def load_gallery(folder: Path) -> dict[str, Machine]:
    """All machines of a folder by name, in the names' order."""
    return {path.stem: load_machine(path) for path in sorted(folder.glob("*.toml"))}


def find_machine(kit: Kit, name: str) -> Machine:
    """A machine of the gallery by its name, or of any file by its path. Raises UserError."""
    if "/" in name or name.endswith(".toml"):
        return load_machine(Path(name).expanduser())
    folder, names = gallery_folder(kit), machine_names(kit)
    if name not in names:
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UserError(
            f"there is no machine '{name}'.{hint} The machines are: {', '.join(names)}; "
            "your own file is named by its path, such as ./mine.toml"
        )
    return load_machine(folder / f"{name}.toml")
