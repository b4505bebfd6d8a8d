"""Tell types of node apart. Gradings are relative to the solution on the same node, but how many
points can be graded depends on what a node can show, and so on its type."""

from __future__ import annotations

from collections.abc import Iterable

from numalab import words
from numalab.course.records import Attempt, Json

# What a grade, a page or an export says of a node; the rest is in the attempt's evidence.
KEPT = ("name", "cpu_model", "packages", "numa_nodes", "cores", "pus", "huge_page_mode")


def stored_facts(node: Json) -> Json:
    """Return a node's facts without those that change from one hour to the next."""
    return {key: node[key] for key in KEPT if key in node}


def node_type(node: Json) -> str:
    """Return a text on a node's type, equal for equal nodes; empty where nothing is known."""
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
    """Return each type on which something was graded, in the order of the attempts."""
    found = (node_type(a.node) for a in attempts if a.state == "graded")
    return tuple(dict.fromkeys(name for name in found if name))
