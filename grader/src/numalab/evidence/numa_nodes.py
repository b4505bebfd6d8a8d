"""How many NUMA nodes of a machine a criterion can use, and why not the others. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numalab.pu_lists import format_pus

Json = dict[str, Any]


def _pus_by_node(node: Json) -> dict[int, list[int]]:
    """Return the PUs that are listed by NUMA node; -1: PUs without one."""
    found: dict[int, list[int]] = {}
    for entry in node.get("pu_list", ()):
        found.setdefault(entry["numa_node"], []).append(entry["pu"])
    return found


def usable_numa_nodes(node: Json) -> int:
    """Return how many NUMA nodes criteria can use: those on which threads can run and pages can
    be; 1 where a PU belongs to none that has memory; node["numa_nodes"] where no memory or no PU is
    listed. node: what describe_node reports."""
    with_memory = {n["numa_node"] for n in node.get("numa_node_list") or () if n["memory_bytes"]}
    own = _pus_by_node(node).keys()
    if not with_memory or not own:
        return int(node["numa_nodes"])
    return len(own) if own <= with_memory else 1


def not_counted(node: Json) -> tuple[str, ...]:
    """Return what does not count among NUMA nodes, and why, in clauses."""
    return tuple(_not_counted(node))


def _not_counted(node: Json) -> Iterator[str]:
    pus = _pus_by_node(node)
    listed = node.get("numa_node_list") or ()
    for entry in listed:
        number = entry["numa_node"]
        if entry.get("not_allowed"):
            yield f"NUMA node {number} is not allowed here"
        elif number not in pus:
            yield f"NUMA node {number} is memory only"
        elif not entry["memory_bytes"] and len(listed) > 1:
            yield f"NUMA node {number} ({_named(pus[number])}) has no memory that may be used"
    if listed and -1 in pus:
        yield f"{_named(pus[-1])} belong{'s' if len(pus[-1]) == 1 else ''} to no NUMA node"


def _named(pus: list[int]) -> str:
    return f"PU{'' if len(pus) == 1 else 's'} {format_pus(sorted(pus))}"
