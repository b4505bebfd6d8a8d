"""Quantities to predict that a run of numalab's own kernels shows: pages that half of the team uses
or writes, shared cache lines, huge pages, messages. Pure functions.

The *lower half* of a team are the threads with numbers below half of its size; in an odd team half
of the middle thread belongs to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numalab.evidence.kinds import MEMORY, STORES, SYNCHRONOUS_CHECK, WHOLE_TRACE
from numalab.evidence.record import HANDOUT, SOLUTION, Evidence, Kind, Trace
from numalab.evidence.run_formats import (
    CheckRun,
    KernelTable,
    MemoryRun,
    SentMessages,
    StoresRun,
)
from numalab.evidence.touch import united_uses, worker_of, workers, written_from
from numalab.evidence.traced_pages import TracedArray
from numalab.labs.quantities import Quantity, What

# The size of the team on every machine: which threads share a line depends on it.
TEAM_OF_LINES = 4

Interval = tuple[float, float]  # the lowest and the highest value


class NotMeasured(Exception):
    """Raised where a quantity was not measured; the message is a clause that says why."""


def measure_quantity(quantity: Quantity, evidence: Evidence) -> Interval:
    """Return the lowest and the highest value of a quantity by the last run that shows it. Raises
    NotMeasured where no run came to its end, or the last one does not show it."""
    assert quantity.what is not None
    kind, role, measure = SHOWN_BY[quantity.what]
    runs = [
        run for run in evidence.runs_of(kind, role) if run.part == quantity.part and run.outcome.ok
    ]
    if not runs:
        raise NotMeasured("the kit's own kernel was not looked at, or did not come to its end")
    return measure(quantity, runs[-1])


# ---- pages -------------------------------------------------------------------------------------


def _lower_half_share(thread: int, team: int) -> float:
    """Return the share of a thread that is in the lower half: 1, 0, or 0.5 for the middle one."""
    return min(1.0, max(0.0, team / 2 - thread))


def _places(array: TracedArray) -> Iterator[float]:
    """Yield the position of each observed page's middle in its array (0 to 1)."""
    for first, count in array.checked_pages.blocks:
        for page in range(first, first + count):
            yield (page + 0.5) / array.checked_pages.pages


Halves = Callable[[Trace, TracedArray], list[float | None]]


def _using(run: Trace, array: TracedArray) -> list[float | None]:
    """Return for each observed page the share of its users that are in the lower half of the team,
    by the cores that its threads were bound to; None: no thread uses it."""
    users = workers(united_uses([run]), worker_of([run]))[array.name]
    return [
        sum(_lower_half_share(user, run.team) for user in of_page) / len(of_page)
        if of_page
        else None
        for of_page in users
    ]


def _writing(run: Trace, array: TracedArray) -> list[float | None]:
    """Return for each observed page the share of its first writer that is in the lower half of the
    team; None: no thread wrote it."""
    worker = worker_of([run])
    return [
        None if write is None else _lower_half_share(worker(write), run.team)
        for write in written_from(run, array)
    ]


def _exactly(value: float) -> Interval:
    return value, value


def _share_of_stretch(halves: Halves) -> Callable[[Quantity, Trace], Interval]:
    """Return a function that measures the lower half's share of a stretch of an array, plus or
    minus one page, since parts of the work do not begin at pages."""

    def share(quantity: Quantity, run: Trace) -> Interval:
        if run.team < 2:
            raise NotMeasured("a team of one thread has no halves")
        found = [
            lower
            for array in run.arrays
            if array.name == quantity.array
            for place, lower in zip(_places(array), halves(run, array), strict=True)
            if lower is not None and quantity.first <= place < quantity.last
        ]
        if not found:
            raise NotMeasured("no page of it was looked at")
        share, of_page = sum(found) / len(found), 1 / len(found)
        return max(0.0, share - of_page), min(1.0, share + of_page)

    return share


# ---- memory ------------------------------------------------------------------------------------


def _has_huge_pages(table: KernelTable) -> None:
    if not table.huge_bytes:
        raise NotMeasured("this node gives no huge pages")


# The number of whole huge pages in the smaller table; the rest of it is less than another one.
HUGE_PAGES_OF_SMALLER = 4


def _small_page_kib(_quantity: Quantity, run: MemoryRun) -> Interval:
    """Return the KiB of the first table that are not on huge pages."""
    table = run.tables[0]
    _has_huge_pages(table)
    return _exactly((table.bytes - table.huge_bytes) / 1024)


def _faults_of_small_pages(_quantity: Quantity, run: MemoryRun) -> Interval:
    """Return the page faults of the last table beyond one per huge page, whose size follows from
    the first table's."""
    few, many = run.tables[0], run.tables[-1]
    _has_huge_pages(many)
    huge_page_bytes = 1 << int(math.log2(few.bytes / HUGE_PAGES_OF_SMALLER))
    return _exactly(many.initialize_page_faults - many.bytes / huge_page_bytes)


# ---- lines -------------------------------------------------------------------------------------


def _keys_interval(share: float, keys: int) -> Interval:
    """Return a share as keys of 100: the interval within 3 standard deviations of its binomial
    distribution. keys: the number of keys that the share was measured with."""
    share = min(1.0, share)
    chance = 3 * math.sqrt(share * (1 - share) / keys)
    return 100 * max(0.0, share - chance), 100 * min(1.0, share + chance)


def _met(_quantity: Quantity, run: StoresRun) -> Interval:
    return _keys_interval(run.shared_share, run.n)


def _shared_line_keys(_quantity: Quantity, run: StoresRun) -> Interval:
    """Return how many of 100 keys are counted in lines that several threads write, of those that
    the record has."""
    shared = sum(line.stores for line in run.most_written if len(line.thread_stores) > 1)
    return _keys_interval(shared / run.n, run.n)


# ---- messages ----------------------------------------------------------------------------------


def _sent(run: CheckRun) -> SentMessages:
    """Return the messages of the check with the largest size."""
    checked = max(run.checks, key=lambda one: one.n, default=None)
    sent = None if checked is None else checked.sent
    if sent is None or not sent.round_trips or not sum(sent.messages):
        raise NotMeasured("no message was followed")
    return sent


def _messages(_quantity: Quantity, run: CheckRun) -> Interval:
    sent = _sent(run)
    return _exactly(sum(sent.messages) / sent.round_trips)


def _rank_share(quantity: Quantity, run: CheckRun) -> Interval:
    messages = _sent(run).messages
    if quantity.rank is None or quantity.rank >= len(messages):
        raise NotMeasured("there is no such rank")
    return _exactly(messages[quantity.rank] / sum(messages))


# The kind of run, and the kernel, that shows each quantity, and the function that measures it.
SHOWN_BY: Mapping[What, tuple[Kind[Any], str, Callable[[Quantity, Any], Interval]]] = {
    "used_by_lower_half": (WHOLE_TRACE, SOLUTION, _share_of_stretch(_using)),
    "written_by_lower_half": (WHOLE_TRACE, SOLUTION, _share_of_stretch(_writing)),
    "on_small_pages": (MEMORY, SOLUTION, _small_page_kib),
    "faults_of_small_pages": (MEMORY, SOLUTION, _faults_of_small_pages),
    "met": (STORES, HANDOUT, _met),
    "in_shared_lines": (STORES, HANDOUT, _shared_line_keys),
    "messages": (SYNCHRONOUS_CHECK, SOLUTION, _messages),
    "of_rank": (SYNCHRONOUS_CHECK, SOLUTION, _rank_share),
}
