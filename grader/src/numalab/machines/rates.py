"""Published rates at which parts of a machine move data, as its file gives them.

common/machines/README.md has the meaning of each rate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.toml_files.tables import Table

LOCAL = 10  # a NUMA node's distance to itself in the SLIT

Resource = Literal["core", "l3", "controller", "link"]
_NAMES: dict[Resource, str] = {
    "core": "a core", "l3": "an L3", "controller": "a controller", "link": "a link",
}  # fmt: skip
RESOURCES = tuple(_NAMES)
DISTANCE_RESOURCES: tuple[Resource, ...] = ("core", "link")  # whose rate depends on a distance
RATE_KEYS = ("of", "distance", "memory_kind", "gb_s", "source", "how")


@dataclass(frozen=True)
class PublishedRate:
    """A published rate, or one that is treated so, of one core, one L3 with all its cores, one NUMA
    node's memory (controller), or one link, over which threads of one NUMA node use memory of
    another one.

    Attributes:
        gb_s: 10^9 bytes per second, the reads of write-allocate included.
        source, how: where it is from, and how it follows from that.
        distance: of a core or link, from the core or the threads to the memory, as in the SLIT;
            None: each that has no rate of its own.
        memory_kind: a controller's; empty: each that has no rate of its own.
    """

    resource: Resource
    gb_s: float
    source: str
    how: str
    distance: int | None = None
    memory_kind: str = ""


def known_rate(
    rates: Sequence[PublishedRate],
    resource: Resource,
    distance: int | None = None,
    memory_kind: str = "",
) -> float | None:
    """Return the rate of a resource at a distance or for a kind of memory, in 10^9 bytes per
    second, else its rate without either; None where there is none. distance: of a core or link;
    memory_kind: of a controller."""
    fitting = {
        (rate.distance, rate.memory_kind): rate.gb_s for rate in rates if rate.resource == resource
    }
    for key in ((distance, memory_kind), (None, "")):
        if key in fitting:
            return fitting[key]
    return None


def read_rates(
    top: Table, distances: Collection[int], memory_kinds: Collection[str]
) -> tuple[PublishedRate, ...]:
    """Return the rates in a machine's file, in order. distances: those of the machine, 10 among
    them; memory_kinds: of its NUMA nodes. Raises the file's error for a mistake."""
    rates: list[PublishedRate] = []
    for table in top.tables("rate", RATE_KEYS):
        table.need("of", "gb_s", "source", "how")
        resource = table.choice("of", RESOURCES)
        gb_s = table.number("gb_s")
        if not gb_s > 0:
            table.refuse("gb_s", "write a number above 0")
        distance = None
        if "distance" in table:
            if resource not in DISTANCE_RESOURCES:
                table.fail(
                    f"'distance' belongs to core and link; {_NAMES[resource]} serves all",
                    "distance",
                )
            distance = table.whole("distance", LOCAL)
            has = sorted(set(distances) - ({LOCAL} if resource == "link" else set()))
            if distance not in has:
                known = ", ".join(map(str, has)) or "none"
                table.refuse(
                    "distance", f"the distances that {_NAMES[resource]} spans here: {known}"
                )
        kind = _memory_kind(table, resource, memory_kinds)
        if any(
            (r.resource, r.distance, r.memory_kind) == (resource, distance, kind) for r in rates
        ):
            where = "" if distance is None else f" at distance {distance}"
            where += f" of {kind}" if kind else ""
            table.fail(f"the rate of {_NAMES[resource]}{where} is given twice; keep one", "of")
        rates.append(
            PublishedRate(resource, gb_s, table.text("source"), table.text("how"), distance, kind)
        )
    return tuple(rates)


def _memory_kind(table: Table, resource: Resource, kinds: Collection[str]) -> str:
    if "memory_kind" not in table:
        return ""
    if resource != "controller":
        table.fail(
            f"'memory_kind' belongs to controller; {_NAMES[resource]} goes by distance",
            "memory_kind",
        )
    kind = table.text("memory_kind")
    if kind not in kinds:
        known = ", ".join(filter(None, kinds)) or "none is given"
        table.refuse("memory_kind", f"the kinds of memory that the NUMA nodes have: {known}")
    return kind


def rate_name(rate: PublishedRate) -> str:
    """Return a rate's name, such as "a core, its own memory"."""
    name = _NAMES[rate.resource]
    if rate.memory_kind:
        return f"{name} of {rate.memory_kind}"
    if rate.resource not in DISTANCE_RESOURCES:
        return f"{name}, all its cores" if rate.resource == "l3" else name
    if rate.distance == LOCAL:
        return f"{name}, its own memory"
    where = "other distances" if rate.distance is None else f"distance {rate.distance}"
    return f"{name}, {where}"


def unknown_rates(
    rates: Sequence[PublishedRate],
    distances: Collection[int],
    memory_kinds: Collection[str],
    l3s: bool,
) -> tuple[str, ...]:
    """Return the names of what has no rate.

    Args:
        distances: those of the machine, 10 among them.
        memory_kinds: of the NUMA nodes, an empty one where it is not given.
        l3s: whether rates of L3s are needed, too.
    """
    missing = []
    for resource in RESOURCES:
        if resource == "l3" and not l3s:
            continue
        if resource not in DISTANCE_RESOURCES:
            missing += _missing_controllers(rates, resource, memory_kinds)
            continue
        spans = sorted(set(distances) - ({LOCAL} if resource == "link" else set()))
        without = [distance for distance in spans if known_rate(rates, resource, distance) is None]
        if not without:
            continue
        if len(without) == len(spans):
            missing.append(_NAMES[resource])
        else:
            missing.append(f"{_NAMES[resource]} at distance {', '.join(map(str, without))}")
    return tuple(missing)


def _missing_controllers(
    rates: Sequence[PublishedRate], resource: Resource, kinds: Collection[str]
) -> list[str]:
    without = [kind for kind in kinds if known_rate(rates, resource, None, kind) is None]
    if len(without) == len(kinds):
        return [_NAMES[resource]] if without else []
    return [f"{_NAMES[resource]} of {kind or 'other memory'}" for kind in without]
