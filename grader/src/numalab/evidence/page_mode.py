"""The mode of transparent huge pages that a graded program meets."""

from __future__ import annotations

from numalab.evidence.record import Json


def mode_of_workers(node: Json) -> str | None:
    """What workers see that may have huge pages: where everybody gets them and Linux can leave one
    process those that it asks for, that is madvise. The system's mode in records that do not tell;
    None: the system names none."""
    mode = node.get("worker_huge_page_mode", node.get("huge_page_mode"))
    return None if mode is None else str(mode)
