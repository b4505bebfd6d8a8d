"""What a node refuses, as its record has it."""

from __future__ import annotations

import msgspec

from numalab.evidence.node_format import NodeDescription
from numalab.evidence.record import Json


def refused(node: Json) -> dict[str, str]:
    """The system's words by what it refuses. node: as describe_node gives it, which tells of each
    try, or of a record, which keeps those that were refused; records from before keep none."""
    if "refused" in node:
        return dict(node["refused"] or {})
    tries: dict[str, Json] = node.get("evidence", {})
    return {name: str(tried["error"]) for name, tried in tries.items() if not tried["available"]}


def recorded_node(node: Json) -> NodeDescription:
    """What describe_node gives, as a record keeps it. Raises msgspec.ValidationError."""
    kept = {key: value for key, value in node.items() if key != "evidence"}
    found = refused(node)
    return msgspec.convert(kept | ({"refused": found} if found else {}), NodeDescription)
