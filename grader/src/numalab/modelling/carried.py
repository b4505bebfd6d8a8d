"""A touch map carried over to a machine that nobody looked at: by first touch, a page lives on the
NUMA node of the thread that wrote it first. Pure functions.

A tracing knows who of the team works on a page, by the core that the kit has given it. A team with
a thread on each core of a larger machine deals out the same loop in the same order, so that the
pages that one thread used are those of several neighbours there: the first of them those of the
first. Where only some threads of the team work, or one alone has written an array, it stays as
many. What it can't know is what the kernel would do with other places than it had: where the kernel
itself binds threads, or asks for the number of NUMA nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.record import Trace
from numalab.evidence.touch import Users, worker_of, written_from
from numalab.machines.machine import Machine
from numalab.modelling.traffic import Traffic, node_of_core, summed


@dataclass(frozen=True)
class Carried:
    """yours: of the tracing; handout: all pages where thread 0 is, equal blocks."""

    yours: Traffic
    handout: Traffic


def carried(
    machine: Machine,
    trace: Trace,
    users: Users,
    bytes_moved: Mapping[str, float],
    shared: Sequence[str],
) -> Carried:
    """machine: the whole one; users: by who works there, of touch.workers; bytes_moved: for each
    byte of an array; shared: arrays most of whose pages several threads use, and so all of
    them. Pages that nobody wrote or used move nothing."""
    worker = worker_of([trace])
    working = {user for pages in users.values() for of_page in pages for user in of_page}
    is_filled = bool(shared) or set(range(trace.team)) <= working
    cores = _Cores(machine, trace.team, is_filled)
    nodes = node_of_core(machine)
    parts = []
    for array in trace.arrays:
        written = cores.of_pages(
            [{worker(write)} if write else set() for write in written_from(trace, array)]
        )
        used = cores.of_pages(users[array.name])
        for writers, using in zip(written, used, strict=True):
            if array.name in shared and using:
                using = cores.all
            if writers:
                moved = bytes_moved.get(array.name, 0.0) / max(1, len(using))
                parts += [((core, nodes[writers[0]]), moved) for core in using]
    first = nodes[cores.all[0]]
    return Carried(
        summed(parts, len(cores.all)),
        summed((((core, first), 1.0) for core in cores.all), len(cores.all)),
    )


class _Cores:
    """Of a team's threads on a machine, cores counted over its NUMA nodes."""

    def __init__(self, machine: Machine, team: int, is_filled: bool) -> None:
        """is_filled: a thread stands for as many cores as it takes, else for the first of them."""
        self._each, self._team, self._is_filled = machine.cores / team, team, is_filled
        count = machine.cores if is_filled else team
        self.all = tuple(range(count)) if is_filled else tuple(map(self._first, range(team)))

    def _first(self, thread: int) -> int:
        return int(thread * self._each)

    def of_pages(self, threads: Sequence[frozenset[int] | set[int]]) -> list[tuple[int, ...]]:
        """threads: of each page of an array, in order. Of these their cores."""
        pages = Counter(t for of_page in threads for t in of_page if 0 <= t < self._team)
        is_dealt = self._is_filled and len(pages) > 1
        so_far: Counter[int] = Counter()
        found = []
        for of_page in threads:
            cores = []
            for thread in sorted(t for t in of_page if t in pages):
                within = (so_far[thread] + 0.5) / pages[thread] if is_dealt else 0.0
                cores.append(int((thread + within) * self._each))
                so_far[thread] += 1
            found.append(tuple(cores))
        return found
