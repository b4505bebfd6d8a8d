"""The mode of transparent huge pages that a graded program meets."""

from __future__ import annotations

from numalab.evidence.record import Json


def mode_of_workers(node: Json) -> str | None:
    """Return the mode of transparent huge pages that workers have; in records that do not tell it
    the system's. None: the record names no mode."""
    mode = node.get("worker_huge_page_mode", node.get("huge_page_mode"))
    return None if mode is None else str(mode)
