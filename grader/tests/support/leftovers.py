"""Processes that a failed test leaves behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def descendants(process: int) -> set[int]:
    """Return the processes that descend from this one, by their ids."""
    found: set[int] = set()
    open_ids = [process]
    while open_ids:
        with suppress(OSError):
            for thread in Path(f"/proc/{open_ids.pop()}/task").iterdir():
                children = {int(word) for word in (thread / "children").read_text().split()}
                open_ids += children - found
                found |= children
    return found


@contextmanager
def ended_on_failure() -> Iterator[None]:
    """End what was started within and still runs when that ends by an exception.

    A command that nobody stops would hold the locks of its copy and of the node, and fail the
    tests that come after it. What was started before is a fixture's, which ends it itself.
    """
    before = descendants(os.getpid())
    try:
        yield
    except BaseException:
        # From the bottom up nobody would be left to start the next: the whole family at once.
        for process in descendants(os.getpid()) - before:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise
