"""Whether a machine's description shows a high load."""

from __future__ import annotations

from numalab.evidence.record import Json

HIGH_LOAD = 0.3  # of each core, over the last minute


def is_loaded(node: Json) -> bool:
    """Return whether a machine's description shows a load of more than HIGH_LOAD for each core;
    False where it has no load."""
    load = node.get("load_1min")
    return load is not None and bool(load > HIGH_LOAD * node["cores"])
