"""Distinguish types of machines on which a class is graded: how many points are gradable depends on
the machine's type."""

from __future__ import annotations

from collections.abc import Iterable

from numalab import words
from numalab.course.records import Attempt, Json

# Facts of a machine that the gradebook keeps; the rest is in the attempt's evidence.
KEPT = ("name", "cpu_model", "packages", "numa_nodes", "cores", "pus", "huge_page_mode")


def stored_facts(node: Json) -> Json:
    """Return those of a machine's facts that are kept in the gradebook (KEPT)."""
    return {key: node[key] for key in KEPT if key in node}


def node_type(node: Json) -> str:
    """Return a machine's type in words: the numbers of packages, NUMA nodes and cores, and the
    CPU's model, as far as they are known; empty if the number of NUMA nodes is not."""
    if "numa_nodes" not in node:
        return ""
    parts = [
        words.count(int(node[key]), noun)
        for key, noun in (("packages", "package"), ("numa_nodes", "NUMA node"), ("cores", "core"))
        if key in node
    ]
    model = str(node.get("cpu_model") or "").strip()
    return ", ".join(parts) + (f" ({model})" if model else "")


def node_types(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """Return the types on which something was graded, each once, in the order of the attempts."""
    found = (node_type(a.node) for a in attempts if a.state == "graded")
    return tuple(dict.fromkeys(name for name in found if name))
