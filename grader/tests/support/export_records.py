"""Exports of hwloc as the grader holds them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.machines.hwloc_export import HwlocExport, HwlocNumaNode, HwlocPart

MIB = 2**20


def part(pus: Sequence[int], size_bytes: int = 0, **infos: str) -> HwlocPart:
    return HwlocPart(frozenset(pus), size_bytes, infos)


def node(number: int | None, pus: Sequence[int], mib: float = 1000, **more: Any) -> HwlocNumaNode:
    told = {"kind": "", "infos": {}, "side_cache_bytes": 0, "complete": frozenset(pus), **more}
    return HwlocNumaNode(number, frozenset(pus), int(mib * MIB), **told)


def export(
    cores: Sequence[Sequence[int]], nodes: Sequence[HwlocNumaNode], /, **more: Any
) -> HwlocExport:
    """cores: their PUs, in hwloc's order."""
    pus = tuple(pu for core in cores for pu in core)
    every = frozenset(pus)
    told: dict[str, Any] = {
        "infos": {}, "pus": pus, "complete": every, "allowed": every, "packages": (), "dies": (),
        "l3s": (), "cores": tuple(map(part, cores)), "core_kinds": (), "numa_nodes": tuple(nodes),
        "announced": (), "distances": None,
    }  # fmt: skip
    return HwlocExport(**(told | more))
