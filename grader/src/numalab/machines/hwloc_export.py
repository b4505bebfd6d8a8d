"""What hwloc reads in an export of a machine, as common/monitor/describe_topology.c prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numalab.machines.machine import Matrix

Json = Mapping[str, Any]


@dataclass(frozen=True)
class HwlocPart:
    """A package, die, L3 or core. pus: Linux's numbers of its PUs; size_bytes: of a cache, else 0;
    infos: hwloc's texts about it, by name."""

    pus: frozenset[int]
    size_bytes: int
    infos: Mapping[str, str]


@dataclass(frozen=True)
class HwlocCoreKind:
    """PUs whose cores are of one kind. efficiency: hwloc's rank, 0 for the kind that is the least
    powerful and takes the least energy; -1: unknown."""

    pus: frozenset[int]
    efficiency: int
    infos: Mapping[str, str]


@dataclass(frozen=True)
class HwlocNumaNode:
    """A NUMA node.

    Attributes:
        number: Linux's; None where hwloc knows none.
        pus: Linux's numbers of the PUs that it is attached to.
        kind: hwloc's subtype, such as MCDRAM; empty where it has none.
        infos: hwloc's texts about it, by name.
        side_cache_bytes: of all caches in front of this memory together.
        complete: its PUs, and those that were offline or that the process which made the export
            was not allowed to use; empty where the export does not say.
    """

    number: int | None
    pus: frozenset[int]
    memory_bytes: int
    kind: str
    infos: Mapping[str, str]
    side_cache_bytes: int
    complete: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Announced:
    """An attribute of memories, such as a bandwidth in MiB/s or a latency in ns. name: hwloc's;
    values: by Linux's number of the NUMA node."""

    name: str
    values: Mapping[int, int]


@dataclass(frozen=True)
class Distances:
    """A matrix of distances, row by row. numa_nodes: Linux's numbers of the rows, which are those
    of the columns; None where hwloc knows none."""

    numa_nodes: tuple[int | None, ...]
    values: Matrix


@dataclass(frozen=True)
class HwlocExport:
    """A machine as hwloc describes it, its parts in hwloc's order.

    Attributes:
        infos: hwloc's texts about the machine, by name.
        pus: Linux's numbers of the PUs in the export.
        complete: the PUs, and those that are offline or were left out.
        allowed: the PUs that the process which made the export may use (control groups); empty:
            unknown.
        distances: None: the export has none.
        complete_numa_nodes: Linux's numbers of the NUMA nodes, and of those that were left out.
    """

    infos: Mapping[str, str]
    pus: tuple[int, ...]
    complete: frozenset[int]
    allowed: frozenset[int]
    packages: tuple[HwlocPart, ...]
    dies: tuple[HwlocPart, ...]
    l3s: tuple[HwlocPart, ...]
    cores: tuple[HwlocPart, ...]
    core_kinds: tuple[HwlocCoreKind, ...]
    numa_nodes: tuple[HwlocNumaNode, ...]
    announced: tuple[Announced, ...]
    distances: Distances | None
    complete_numa_nodes: frozenset[int] = frozenset()

    def info(self, name: str) -> str:
        """Return a text about the machine, else about the first package that has one of this name;
        empty where none has."""
        for infos in (self.infos, *(package.infos for package in self.packages)):
            text = infos.get(name, "").strip()
            if text:
                return text
        return ""


def _set(numbers: Any) -> frozenset[int]:
    """Return a set of numbers; an empty one for null."""
    return frozenset(numbers or ())


def _parts(objects: Any) -> tuple[HwlocPart, ...]:
    return tuple(HwlocPart(_set(one["pus"]), one.get("bytes", 0), one["infos"]) for one in objects)


def _distances(exported: Any) -> Distances | None:
    if exported is None:
        return None
    return Distances(tuple(exported["numa_nodes"]), tuple(tuple(row) for row in exported["values"]))


def read_export(exported: Json) -> HwlocExport:
    """Return the export in describe_topology's JSON. Raises ValueError where a PU has no number."""
    pus = tuple(one["number"] for one in exported["pus"])
    if None in pus:
        raise ValueError("a PU has no number")
    return HwlocExport(
        infos=exported["infos"],
        pus=pus,
        complete=_set(exported["complete"]),
        allowed=_set(exported["allowed"]),
        packages=_parts(exported["packages"]),
        dies=_parts(exported["dies"]),
        l3s=_parts(exported["l3s"]),
        cores=_parts(exported["cores"]),
        core_kinds=tuple(
            HwlocCoreKind(_set(one["pus"]), one["efficiency"], one["infos"])
            for one in exported["core_kinds"]
        ),
        numa_nodes=tuple(
            HwlocNumaNode(
                one["number"],
                _set(one["pus"]),
                one["memory_bytes"],
                one["kind"] or "",
                one["infos"],
                sum(one["memory_side_caches"]),
                _set(one["complete"]),
            )
            for one in exported["numa_nodes"]
        ),
        announced=tuple(
            Announced(
                one["name"],
                {
                    value["numa_node"]: value["value"]
                    for value in one["values"]
                    if value["numa_node"] is not None
                },
            )
            for one in exported["memory_attributes"]
        ),
        distances=_distances(exported["distances"]),
        complete_numa_nodes=_set(exported["complete_numa_nodes"]),
    )
