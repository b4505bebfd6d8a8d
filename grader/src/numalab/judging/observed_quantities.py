"""What a run of the kit's own kernel shows that can be predicted: who uses or writes which pages,
which lines are shared, how many messages are sent. Pure functions.

The lower half of a team are the threads whose numbers are below half of its size, of an odd one
half of what its middle thread does, too: so what can be worked out on paper is the same whatever
the number of cores, and is what a machine of two NUMA nodes would have on one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from numalab.evidence.kinds import MEMORY, STORES, SYNCHRONOUS_CHECK, WHOLE_TRACE
from numalab.evidence.record import HANDOUT, SOLUTION, Check, Evidence, Kind, Memory, Trace
from numalab.evidence.run_formats import KernelTable
from numalab.evidence.store_notes import Stores
from numalab.evidence.touch import united_uses, worker_of, workers, written_from
from numalab.evidence.traced_pages import TracedArray
from numalab.labs.quantities import Quantity, What

# Who shares a line hangs on how many share the room: so few that it can be drawn, on every node.
TEAM_OF_LINES = 4

# Which run of which of the kit's kernels shows it.
SHOWN_BY: Mapping[What, tuple[Kind[Any], str]] = {
    "used_by_lower_half": (WHOLE_TRACE, SOLUTION),
    "written_by_lower_half": (WHOLE_TRACE, SOLUTION),
    "on_small_pages": (MEMORY, SOLUTION),
    "faults_of_small_pages": (MEMORY, SOLUTION),
    "met": (STORES, HANDOUT),
    "in_shared_lines": (STORES, HANDOUT),
    "messages": (SYNCHRONOUS_CHECK, SOLUTION),
    "of_rank": (SYNCHRONOUS_CHECK, SOLUTION),
}


Interval = tuple[float, float]  # the lowest and the highest value


class NotMeasured(Exception):
    """Why, as a sentence's end."""


def measure_quantity(quantity: Quantity, evidence: Evidence) -> Interval:
    """Its lowest and highest value. Raises NotMeasured."""
    assert quantity.what is not None
    kind, role = SHOWN_BY[quantity.what]
    runs = [run for run in evidence.of(kind, role) if run.part == quantity.part and run.outcome.ok]
    if not runs:
        raise NotMeasured("the kit's own kernel was not looked at, or did not come to its end")
    return _MEASURES[quantity.what](quantity, runs[-1])


# ---- pages -------------------------------------------------------------------------------------


def _lower_half_share(thread: int, team: int) -> float:
    """1, 0, or of the middle one of an odd team a half."""
    return min(1.0, max(0.0, team / 2 - thread))


def _places(array: TracedArray) -> Iterator[float]:
    """Of each page that was looked at: where in the array its middle is, 0 to 1."""
    for first, count in array.sample.blocks:
        for page in range(first, first + count):
            yield (page + 0.5) / array.sample.pages


Halves = Callable[[Trace, TracedArray], list[float | None]]


def _using(run: Trace, array: TracedArray) -> list[float | None]:
    """Of each page that was looked at, how much of it the lower half of the team uses, by the
    cores that its threads have been given; None: nobody does."""
    users = workers(united_uses([run]), worker_of([run]))[array.name]
    return [
        sum(_lower_half_share(user, run.team) for user in of_page) / len(of_page)
        if of_page
        else None
        for of_page in users
    ]


def _writing(run: Trace, array: TracedArray) -> list[float | None]:
    """The same of who wrote it first."""
    worker = worker_of([run])
    return [
        None if write is None else _lower_half_share(worker(write), run.team)
        for write in written_from(run, array)
    ]


def _exactly(value: float) -> Interval:
    return value, value


def _share_of_stretch(halves: Halves) -> Callable[[Quantity, Trace], Interval]:
    """Of a stretch of an array the lower half's part: a page more or less, since no part of the
    work begins with a page."""

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


# Of the smaller one, beside less than another one.
HUGE_PAGES_OF_SMALLER = 4


def _small_page_kib(_quantity: Quantity, run: Memory) -> Interval:
    """KiB of the smaller table."""
    table = run.tables[0]
    _has_huge_pages(table)
    return _exactly((table.bytes - table.huge_bytes) / 1024)


def _faults_of_small_pages(_quantity: Quantity, run: Memory) -> Interval:
    """Of the larger table, which is whole huge pages in size, beyond one for each of these: its
    first writing starts no threads any more. The smaller one is some huge pages and a little more
    (common/monitor/runs/alloc_cycles.c)."""
    few, many = run.tables[0], run.tables[-1]
    _has_huge_pages(many)
    huge_page_bytes = 1 << int(math.log2(few.bytes / HUGE_PAGES_OF_SMALLER))
    return _exactly(many.initialize_page_faults - many.bytes / huge_page_bytes)


# ---- lines -------------------------------------------------------------------------------------


def _keys_interval(share: float, keys: int) -> Interval:
    """Of 100. Keys come as by chance, each as often as another one: 3 standard deviations."""
    share = min(1.0, share)
    chance = 3 * math.sqrt(share * (1 - share) / keys)
    return 100 * max(0.0, share - chance), 100 * min(1.0, share + chance)


def _met(_quantity: Quantity, run: Stores) -> Interval:
    return _keys_interval(run.shared_share, run.n)


def _shared_line_keys(_quantity: Quantity, run: Stores) -> Interval:
    """Of the elements those that are counted in a line of several threads. Of the lines that have
    counters of so small a team one may not be told, an end of the first or last block."""
    shared = sum(line.stores for line in run.most_written if len(line.by_thread) > 1)
    return _keys_interval(shared / run.n, run.n)


# ---- messages ----------------------------------------------------------------------------------


def _sent(run: Check) -> tuple[tuple[int, ...], int]:
    """By each rank, and in how many repetitions, of the largest message."""
    checked = max(run.checked, key=lambda one: one.n, default=None)
    if checked is None or not checked.round_trips or not sum(checked.messages):
        raise NotMeasured("no message was followed")
    return checked.messages, checked.round_trips


def _messages(_quantity: Quantity, run: Check) -> Interval:
    messages, repetitions = _sent(run)
    return _exactly(sum(messages) / repetitions)


def _rank_share(quantity: Quantity, run: Check) -> Interval:
    messages, _ = _sent(run)
    if quantity.rank is None or quantity.rank >= len(messages):
        raise NotMeasured("there is no such rank")
    return _exactly(messages[quantity.rank] / sum(messages))


_MEASURES: Mapping[What, Callable[[Quantity, Any], Interval]] = {
    "used_by_lower_half": _share_of_stretch(_using),
    "written_by_lower_half": _share_of_stretch(_writing),
    "on_small_pages": _small_page_kib,
    "faults_of_small_pages": _faults_of_small_pages,
    "met": _met,
    "in_shared_lines": _shared_line_keys,
    "messages": _messages,
    "of_rank": _rank_share,
}
