"""Which nodes are of one type. Gradings are relative to the solution on the same node, but what a
node can show, and so how many points can be graded, follows from its type."""

from __future__ import annotations

from collections.abc import Iterable

from numalab import words
from numalab.course.records import Attempt, Json

# What a grade, a page or an export says of a node; the rest is in the attempt's evidence.
KEPT = ("name", "cpu_model", "packages", "numa_nodes", "cores", "pus", "huge_page_mode")


def stored_facts(node: Json) -> Json:
    """The node's facts without those that change from one hour to the next."""
    return {key: node[key] for key in KEPT if key in node}


def node_type(node: Json) -> str:
    """For people, and equal where two nodes are alike; empty where nothing is known."""
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
    """Each type on which something was graded, in the order of the attempts."""
    found = (node_type(a.node) for a in attempts if a.state == "graded")
    return tuple(dict.fromkeys(name for name in found if name))
