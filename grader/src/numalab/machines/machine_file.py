"""Reading a machine's file.

common/machines/README.md says what each key means; the checks here refuse what neither
Linux nor QEMU could make a machine of, with the file's line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numalab.errors import UserError
from numalab.machines.announced import RECORDED
from numalab.machines.machine import LOCAL_DISTANCE, Core, Figure, Machine, Matrix, NumaNode
from numalab.machines.rates import read_rates
from numalab.machines.seeded import PREFIX, is_seeded
from numalab.pu_lists import parse_pus
from numalab.toml_files.tables import Table, parse_table, read_table

MAX_DISTANCE = 254  # 255 is ACPI's "unreachable"
MAX_PUS = 255  # more need an x2APIC and an interrupt remapper in QEMU
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

NODE_KEYS = ("package", "memory_mb", "pus", "l3_groups")
FIGURE_KEYS = ("what", "value", "unit", "source")
SERIES_KEYS = ("about", "sizes_bytes")  # both or none
FIGURE_TABLES = ("cache", "bandwidth", "latency")
TOP_KEYS = (
    "name", "title", "source", "processor", "notes", "distances", "numa_node", *FIGURE_TABLES,
    "rate",
)  # fmt: skip


def _numa_node(table: Table, number: int) -> NumaNode:
    table.need("package", "pus")
    package = table.whole("package", 0)
    memory = table.whole("memory_mb", 1) if "memory_mb" in table else None
    threads = []
    for index, text in enumerate(table.texts("pus")):
        try:
            threads.append(parse_pus(text, MAX_PUS))
        except ValueError as error:
            table.fail(str(error), "pus", index)
        if len(threads[index]) != len(threads[0]):
            table.fail(
                f"NUMA node {number} lists {len(threads[0])} first threads but "
                f"{len(threads[index])} in list {index}; give every core a PU in each list",
                "pus",
                index,
            )
    groups = table.whole("l3_groups", 1, default=1)
    if not threads:
        return NumaNode(number, package, memory, ())
    cores = tuple(Core(pus) for pus in zip(*threads, strict=True))
    if len(cores) % groups:
        table.fail(
            f"{len(cores)} cores can't be split in {groups} equal L3 groups; "
            "take a number that divides them",
            "l3_groups",
        )
    each = len(cores) // groups
    split = tuple(cores[first : first + each] for first in range(0, len(cores), each))
    return NumaNode(number, package, memory, split)


def _check_cores(top: Table, nodes: Sequence[NumaNode]) -> None:
    """The nodes with cores must be alike: QEMU knows one number of cores for all."""
    for node in nodes:
        first, here = nodes[0], ("numa_node", node.number)
        if len(node.cores) != len(first.cores):
            top.fail(
                f"NUMA node {node.number} has {len(node.cores)} cores, node {first.number} has "
                f"{len(first.cores)}; all nodes with cores must have equally many",
                *here,
                "pus",
            )
        if len(node.cores[0].pus) != len(first.cores[0].pus):
            top.fail(
                f"NUMA node {node.number} has {len(node.cores[0].pus)} threads per core, node "
                f"{first.number} has {len(first.cores[0].pus)}; give each node equally many lists",
                *here,
                "pus",
            )
        if len(node.core_groups) != len(first.core_groups):
            top.fail(
                f"NUMA node {node.number} has {len(node.core_groups)} L3 groups, node "
                f"{first.number} has {len(first.core_groups)}; all must have equally many",
                *here,
                "l3_groups",
            )


def _check_packages(top: Table, nodes: Sequence[NumaNode], all_nodes: Sequence[NumaNode]) -> None:
    count = Counter(node.package for node in nodes)
    for node in all_nodes:
        if node.package not in count:
            top.fail(
                f"package {node.package} has no cores; give the node of memory only the package "
                "that it is attached to",
                "numa_node",
                node.number,
                "package",
            )
    missing = next(number for number in range(len(count) + 1) if number not in count)
    for node in nodes:
        if node.package > missing:
            top.fail(
                f"package {node.package}, but there is no package {missing}; "
                "number the packages from 0 on without gaps",
                "numa_node",
                node.number,
                "package",
            )
        if count[node.package] != count[nodes[0].package]:
            top.fail(
                f"package {node.package} has {count[node.package]} NUMA nodes with cores, package "
                f"{nodes[0].package} has {count[nodes[0].package]}; all must have equally many",
                "numa_node",
                node.number,
                "package",
            )


def _check_pus(top: Table, nodes: Sequence[NumaNode]) -> None:
    owner: dict[int, int] = {}
    for node in nodes:
        for core in node.cores:
            for pu in core.pus:
                if pu in owner:
                    top.fail(
                        f"PU {pu} is listed twice, in NUMA nodes {owner[pu]} and {node.number}; "
                        "a PU belongs to one core",
                        "numa_node",
                        node.number,
                        "pus",
                    )
                owner[pu] = node.number
    highest = max(owner)
    if highest >= len(owner):
        missing = next(pu for pu in range(highest) if pu not in owner)
        top.fail(
            f"PU {highest} is listed here but PU {missing} nowhere; "
            "number the PUs from 0 on without gaps",
            "numa_node",
            owner[highest],
            "pus",
        )
    boot = next(node for node in nodes if node.package == 0)
    if boot.cores[0].pus[0] != 0:
        top.fail(
            f"the first PU of package 0's first NUMA node is {boot.cores[0].pus[0]}; it must be "
            "PU 0, which starts the machine (QEMU makes its first processor PU 0): list the core "
            "of PU 0 first, and number its package 0",
            "numa_node",
            boot.number,
            "pus",
        )


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
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
                table.wrong("value", "write a number above 0, or a list of them")
        if not values:
            table.fail("'value' is an empty list; write at least one number", "value")
        what, unit, source = (table.text(name) for name in ("what", "unit", "source"))
        about, sizes_bytes = _series(table, len(values))
        figures.append(Figure(what, tuple(values), unit, source, about, sizes_bytes))
    return tuple(figures)


def _series(table: Table, count: int) -> tuple[str, tuple[int, ...]]:
    """What a series of values is about, and the size that each belongs to."""
    given = [key for key in SERIES_KEYS if key in table]
    if not given:
        return "", ()
    if len(given) < len(SERIES_KEYS):
        table.fail(f"write {' and '.join(SERIES_KEYS)}, or neither", given[0])
    sizes = table.wholes("sizes_bytes", 1)
    if len(sizes) != count:
        noun = "size" if count == 1 else "sizes"
        table.wrong("sizes_bytes", f"write a list of {count} {noun}, one for each value")
    return table.text("about"), tuple(sizes)


def parse_machine(text: str, path: Path) -> Machine:
    """The machine that the text describes; path is for messages and names the machine.

    Raises UserError with the line of the first mistake.
    """
    return _machine(parse_table(text, str(path), UserError, TOP_KEYS), path)


def load_machine(path: Path) -> Machine:
    """Reads and checks a machine's file. Raises UserError with the line of a mistake."""
    return _machine(read_table(path, UserError, TOP_KEYS), path)


def _machine(top: Table, path: Path) -> Machine:
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
    nodes = tuple(_numa_node(table, number) for number, table in enumerate(tables))
    with_cores = [node for node in nodes if node.core_groups]
    if not with_cores:
        top.fail("no NUMA node has cores; describe one in a [[numa_node]]", "numa_node")
    _check_cores(top, with_cores)
    _check_packages(top, with_cores, nodes)
    _check_pus(top, with_cores)
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
        processor=top.choice("processor", tuple(RECORDED)) if "processor" in top else None,
        text=top.file.text,
    )
    return replace(machine, rates=read_rates(top, machine.spanned_distances))
