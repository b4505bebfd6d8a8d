"""Whether a node was busy before anything was measured on it."""

from __future__ import annotations

from numalab.evidence.record import Json

BUSY_LOAD = 0.3  # of each core, over the last minute


def is_loaded(node: Json) -> bool:
    """By its record; False where that has no load."""
    load = node["load_1min"]
    return load is not None and bool(load > BUSY_LOAD * node["cores"])
