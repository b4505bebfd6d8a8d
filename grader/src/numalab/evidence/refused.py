"""What a node refuses, as its record has it."""

from __future__ import annotations

import msgspec

from numalab.evidence.node_format import NodeDescription
from numalab.evidence.record import Json


def refused(node: Json) -> dict[str, str]:
    """Return the system's words by what it refuses. node: as describe_node gives it, with the
    result of each try, or of a record, with those that were refused; empty for a record without
    them."""
    if "refused" in node:
        return dict(node["refused"] or {})
    tries: dict[str, Json] = node.get("evidence", {})
    return {name: str(tried["error"]) for name, tried in tries.items() if not tried["available"]}


def recorded_node(node: Json) -> NodeDescription:
    """Return a description by describe_node as a record keeps it. Raises
    msgspec.ValidationError."""
    kept = {key: value for key, value in node.items() if key != "evidence"}
    found = refused(node)
    return msgspec.convert(kept | ({"refused": found} if found else {}), NodeDescription)
