"""Tracings and placements of a few pages, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.record import CpuTime, Placement, SingleThread, Trace
from numalab.evidence.run_formats import ResultsRecord, Thread
from numalab.evidence.traced_pages import TracedArray
from support.run_values import an_outcome

OK = an_outcome("ok")
RIGHT = ResultsRecord(checked=1000, mismatches=0)


def threads_on(*nodes: int) -> tuple[Thread, ...]:
    """Threads on these NUMA nodes, each on the core of its number."""
    return tuple(Thread(number, (number,), number, 0, node) for number, node in enumerate(nodes))


def array(
    name: str, writers: Sequence[int], users: Sequence[Iterable[int]], **more: Any
) -> TracedArray:
    whole = CheckedPages(len(writers), ((0, len(writers)),))
    return TracedArray(
        name, tuple(writers), tuple(map(frozenset, users)), **{"checked_pages": whole} | more
    )


def trace(
    *arrays: TracedArray,
    threads: Sequence[Thread] = (),
    team: int | None = None,
    closings: int | None = None,
) -> Trace:
    return Trace(
        part=None, outcome=OK, results=RIGHT, n=1000, threads=tuple(threads), method="userfaultfd",
        order="natural", sees_write_after_read=True, arrays=arrays,
        team=len(threads) if team is None else team, closings=closings,
    )  # fmt: skip


def placement(
    *,
    threads: Sequence[Thread] = (),
    residency: dict[str, tuple[int, ...]] | None = None,
    checked_pages: dict[str, CheckedPages] | None = None,
    cpu_time: Sequence[CpuTime] = (),
    team: int | None = None,
    single_thread: SingleThread | None = None,
) -> Placement:
    return Placement(
        part=None, outcome=OK, results=RIGHT, n=1000, threads=tuple(threads), residency=residency,
        checked_pages=checked_pages or {}, cpu_time=tuple(cpu_time),
        team=len(cpu_time) if team is None else team, single_thread=single_thread,
    )  # fmt: skip
