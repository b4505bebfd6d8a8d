"""Read and check a machine's file.

common/machines/README.md has the meaning of each key.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from numalab.errors import UserError
from numalab.machines.announced import RECORDED
from numalab.machines.machine import (
    ARCHITECTURES,
    LOCAL_DISTANCE,
    NATIVE,
    Core,
    Figure,
    Machine,
    Matrix,
    NumaNode,
)
from numalab.machines.rates import read_rates
from numalab.machines.seeded import PREFIX, is_seeded
from numalab.pu_lists import LINUX_PUS, parse_pus
from numalab.toml_files.tables import Table, parse_table, read_table
from numalab.untrusted.visible import visible_json

MAX_DISTANCE = 254  # 255 is ACPI's "unreachable"
# The most that Linux can be built for: NR_CPUS, and 2^NODES_SHIFT, of its configuration.
MAX_PUS = LINUX_PUS
MAX_NODES = 1024
LONGEST_KIND = 24  # characters of a kind of cores or memory, which are in pictures
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

NODE_KEYS = (
    "package", "memory_mb", "memory_kind", "memory_side_cache_mb", "peak_gb_s", "pus",
    "l3_groups", "cores",
)  # fmt: skip
CORES_KEYS = ("kind", "package", "pus", "l3_groups")
FIGURE_KEYS = ("what", "value", "unit", "source")
SERIES_KEYS = ("about", "sizes_bytes")  # both or none
FIGURE_TABLES = ("cache", "bandwidth", "latency")
TOP_KEYS = (
    "name", "title", "source", "architecture", "processor", "notes", "distances", "numa_node",
    *FIGURE_TABLES, "rate",
)  # fmt: skip


Group = tuple[Core, ...]


def _numa_node(table: Table, number: int) -> NumaNode:
    table.need("package")
    return NumaNode(
        number,
        table.whole("package", 0),
        table.maybe("memory_mb", lambda key: table.whole(key, 0)),
        _core_groups(table, number),
        _kind(table, "memory_kind"),
        table.maybe("memory_side_cache_mb", lambda key: table.whole(key, 1)),
        table.maybe("peak_gb_s", lambda key: table.whole(key, 1)),
    )


def _kind(table: Table, key: str) -> str:
    """Return the text of a key, empty where it is missing. Refuses one that is not printable or of
    more than LONGEST_KIND characters."""
    if key not in table:
        return ""
    text = table.text(key)
    if len(text) > LONGEST_KIND or not text.isprintable():
        table.refuse(key, f"write a word or two, in {LONGEST_KIND} characters or fewer")
    return text


def _core_groups(table: Table, number: int) -> tuple[Group, ...]:
    """Return the cores of a NUMA node by L3; empty where it has memory only."""
    if "cores" not in table:
        table.need("pus")
        cores = _cores(table, number, "")
        return _split(table, cores, table.whole("l3_groups", 0, default=1))
    for key in ("pus", "l3_groups"):
        if key in table:
            table.fail(
                f"NUMA node {number} has '{key}' and [[numa_node.cores]]; where its cores are "
                f"unlike, write {key} in each [[numa_node.cores]] alone",
                key,
            )
    shared: list[Core] = []
    groups: list[Group] = []
    parts = table.tables("cores", CORES_KEYS)
    if not parts:
        table.fail("'cores' is an empty list; a node of memory only has pus = []", "cores")
    for part in parts:
        part.need("pus")
        cores = _cores(part, number, _kind(part, "kind"))
        if "package" in part:
            package = part.whole("package", 0)
            cores = tuple(replace(core, package=package) for core in cores)
        if not cores:
            part.fail("'pus' is empty; list these cores' PUs, or take the table out", "pus")
        if "l3_groups" in part:
            groups += _split(part, cores, part.whole("l3_groups", 0))
        else:
            if not shared:
                place = len(groups)
            shared += cores
    if shared:
        groups.insert(place, tuple(shared))
    return tuple(groups)


def _cores(table: Table, number: int, kind: str) -> Group:
    """Return the cores in a table's `pus`. number: of the NUMA node, for messages."""
    threads: list[tuple[int, ...]] = []
    for index, text in enumerate(table.texts("pus")):
        try:
            threads.append(parse_pus(text, MAX_PUS))
        except ValueError as error:
            table.fail(str(error), "pus", index)
        if len(threads[index]) != len(threads[0]):
            table.fail(
                f"NUMA node {number} lists {len(threads[0])} first threads but "
                f"{len(threads[index])} in list {index}; give every core a PU in each list, and "
                "cores with fewer threads a [[numa_node.cores]] of their own",
                "pus",
                index,
            )
    return tuple(Core(pus, kind) for pus in zip(*threads, strict=True))


def _split(table: Table, cores: Group, groups: int) -> tuple[Group, ...]:
    """Split cores into L3 groups of one size. groups: how many; 0: they have no L3, and are one
    group."""
    if not cores:
        return ()
    if groups == 0:
        return (tuple(replace(core, has_l3=False) for core in cores),)
    if len(cores) % groups:
        table.fail(
            f"{len(cores)} cores can't be split in {groups} equal L3 groups; take a number that "
            "divides them, or for unequal ones [[numa_node.cores]] tables",
            "l3_groups",
        )
    each = len(cores) // groups
    return tuple(cores[first : first + each] for first in range(0, len(cores), each))


def _check_memory(tables: Sequence[Table], nodes: Sequence[NumaNode]) -> None:
    """Refuse a NUMA node without cores and memory, and a machine without memory."""
    for node in nodes:
        if node.memory_mb == 0 and not node.core_groups:
            tables[node.number].fail(
                f"NUMA node {node.number} has neither cores nor memory; list its cores in 'pus', "
                "give it memory, or take it out",
                "memory_mb",
            )
    if all(node.memory_mb == 0 for node in nodes):
        tables[0].fail("no NUMA node has memory; give one some", "memory_mb")


def _check_packages(
    tables: Sequence[Table], nodes: Sequence[NumaNode], all_nodes: Sequence[NumaNode]
) -> None:
    count = Counter(package for node in nodes for package in node.packages)
    for node in nodes:
        if node.package not in node.packages:
            tables[node.number].fail(
                f"NUMA node {node.number} is in package {node.package}, and all its cores are in "
                "others; give it the package of some of them",
                "package",
            )
    for node in all_nodes:
        if node.package not in count:
            tables[node.number].fail(
                f"package {node.package} has no cores; give the node of memory only the package "
                "that it is attached to",
                "package",
            )
    missing = next(number for number in range(len(count) + 1) if number not in count)
    for node in nodes:
        if max(node.packages) > missing:
            tables[node.number].fail(
                f"package {max(node.packages)}, but there is no package {missing}; "
                "number the packages from 0 on without gaps",
                "package",
            )


def _check_pus(tables: Sequence[Table], nodes: Sequence[NumaNode]) -> None:
    owner: dict[int, int] = {}
    for node in nodes:
        for pu in (pu for core in node.cores for pu in core.pus):
            if pu in owner:
                nodes_of_pu = f"NUMA nodes {owner[pu]} and {node.number}"
                if owner[pu] == node.number:
                    nodes_of_pu = f"NUMA node {node.number}"
                _fail_at(
                    tables[node.number],
                    pu,
                    f"PU {pu} is listed twice, in {nodes_of_pu}; a PU belongs to one core",
                )
            owner[pu] = node.number
    highest = max(owner)
    if highest >= len(owner):
        missing = next(pu for pu in range(highest) if pu not in owner)
        _fail_at(
            tables[owner[highest]],
            highest,
            f"PU {highest} is listed here but PU {missing} nowhere; "
            "number the PUs from 0 on without gaps",
        )
    boot = next(node.part_in(0) for node in nodes if 0 in node.packages)
    first = boot.cores[0].pus[0]
    if first != 0:
        _fail_at(
            tables[boot.number],
            first,
            f"the first PU of package 0's first NUMA node is {first}; it must be "
            "PU 0, which starts the machine (QEMU makes its first processor PU 0): list the core "
            "of PU 0 first, and number its package 0",
        )


def _fail_at(table: Table, pu: int, message: str) -> NoReturn:
    """Raise the file's error with the line of a NUMA node's last [[numa_node.cores]] that lists a
    PU, else of its own table's `pus`."""
    for part in reversed(table.tables("cores", CORES_KEYS)):
        if any(pu in parse_pus(text, MAX_PUS) for text in part.texts("pus")):
            part.fail(message, "pus")
    table.fail(message, "pus")


def _distances(top: Table, nodes: int) -> Matrix:
    value = top.values["distances"]
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        top.fail("'distances' is a list of rows: [[10, 20], [20, 10]]", "distances")
    if len(value) != nodes:
        top.fail(f"'distances' has {len(value)} rows for {nodes} NUMA nodes", "distances")
    for i, row in enumerate(value):
        at = ("distances", i)
        if len(row) != nodes:
            top.fail(f"row {i} of 'distances' has {len(row)} values for {nodes} NUMA nodes", *at)
        for j, distance in enumerate(row):
            name = f"the distance from node {i} to node {j}"
            top.whole_value(distance, LOCAL_DISTANCE, *at, name=name)
            if distance > MAX_DISTANCE:
                top.fail(f"{name} is {distance}; it must be {MAX_DISTANCE} or less", *at)
            if i == j and distance != LOCAL_DISTANCE:
                top.fail(
                    f"{name}, itself, is {distance}; it must be {LOCAL_DISTANCE}, "
                    "or Linux ignores the whole matrix",
                    *at,
                )
            if i != j and distance <= LOCAL_DISTANCE:
                top.fail(
                    f"{name} is {distance}; it must be above {LOCAL_DISTANCE}, a node's distance "
                    "to itself, or Linux ignores the whole matrix",
                    *at,
                )
    return tuple(tuple(row) for row in value)


def _figures(top: Table, key: str) -> tuple[Figure, ...]:
    figures = []
    for table in top.tables(key, (*FIGURE_KEYS, *SERIES_KEYS)):
        table.need(*FIGURE_KEYS)
        given = table.values["value"]
        values = given if isinstance(given, list) else [given]
        for value in values:
            if (
                not isinstance(value, (int, float))
                or isinstance(value, bool)
                or not 0 < value < math.inf
            ):
                table.refuse("value", "write a number above 0, or a list of them")
        if not values:
            table.fail("'value' is an empty list; write at least one number", "value")
        what, unit, source = (table.text(name) for name in ("what", "unit", "source"))
        about, sizes_bytes = _series(table, len(values))
        figures.append(Figure(what, tuple(values), unit, source, about, sizes_bytes))
    return tuple(figures)


def _series(table: Table, count: int) -> tuple[str, tuple[int, ...]]:
    """Return the topic of a series of values and the size of each; empty where it is no series."""
    given = [key for key in SERIES_KEYS if key in table]
    if not given:
        return "", ()
    if len(given) < len(SERIES_KEYS):
        table.fail(f"write {' and '.join(SERIES_KEYS)}, or neither", given[0])
    sizes = table.wholes("sizes_bytes", 1)
    if len(sizes) != count:
        noun = "size" if count == 1 else "sizes"
        table.refuse("sizes_bytes", f"write a list of {count} {noun}, one for each value")
    return table.text("about"), tuple(sizes)


def parse_machine(text: str, path: Path) -> Machine:
    """Return the machine that a text describes. path: for messages, and its stem has to be the
    machine's name. Raises UserError with the line of a mistake."""
    return _machine(parse_table(text, str(path), UserError, TOP_KEYS), path)


def load_machine(path: Path) -> Machine:
    """Return the machine that a file describes. Raises UserError where it can't be read, and with
    the line of a mistake."""
    return _machine(read_table(path, UserError, TOP_KEYS), path)


def _machine(given: Table, path: Path) -> Machine:
    # It may be untrusted input, and is shown on terminals.
    top = Table(given.file, given.place, visible_json(given.values), TOP_KEYS)
    top.need("name", "title", "source", "numa_node")
    name, title, source = (top.text(key) for key in ("name", "title", "source"))
    if NAME.fullmatch(name) is None or name == "here":
        top.fail(
            f"the name '{name}' can't be used; take small letters, digits, '-', '.' and '_'", "name"
        )
    if is_seeded(name):
        top.fail(
            f"the name '{name}' is that of a machine made from a seed; take one that does not "
            f"begin with {PREFIX}",
            "name",
        )
    if name != path.stem:
        top.fail(
            f"the name is '{name}' but the file's name '{path.stem}'; make both the same", "name"
        )
    tables = top.tables("numa_node", NODE_KEYS)
    if len(tables) > MAX_NODES:
        tables[MAX_NODES].fail(
            f"{len(tables)} NUMA nodes; Linux knows {MAX_NODES} at most: describe a part of the "
            "machine"
        )
    nodes = tuple(_numa_node(table, number) for number, table in enumerate(tables))
    with_cores = [node for node in nodes if node.core_groups]
    if not with_cores:
        top.fail("no NUMA node has cores; describe one in a [[numa_node]]", "numa_node")
    _check_memory(tables, nodes)
    _check_packages(tables, with_cores, nodes)
    _check_peaks(tables, nodes)
    _check_pus(tables, with_cores)
    distances = _distances(top, len(nodes)) if "distances" in top else None
    machine = Machine(
        name=name,
        title=title,
        source=source,
        notes=top.texts("notes", ()),
        numa_nodes=nodes,
        distances=distances,
        caches=_figures(top, "cache"),
        bandwidths=_figures(top, "bandwidth"),
        latencies=_figures(top, "latency"),
        processor=_processor(top),
        text=top.file.text,
        architecture=top.choice("architecture", tuple(ARCHITECTURES), default=NATIVE),
    )
    rates = read_rates(top, machine.spanned_distances, machine.memory_kinds)
    return replace(machine, rates=rates)


def _check_peaks(tables: Sequence[Table], nodes: Sequence[NumaNode]) -> None:
    """Refuse a bandwidth for some NUMA nodes only."""
    without = [node.number for node in nodes if node.peak_gb_s is None]
    if without and len(without) < len(nodes):
        tables[without[0]].fail(
            f"NUMA node {without[0]} has no 'peak_gb_s', and others have one; give it to all or "
            "to none"
        )


def _processor(top: Table) -> str | None:
    if "processor" not in top:
        return None
    if top.choice("architecture", tuple(ARCHITECTURES), default=NATIVE) != NATIVE:
        top.fail(f"'processor' is about CPUID, which {NATIVE} alone has; take it out", "processor")
    return top.choice("processor", tuple(RECORDED))
