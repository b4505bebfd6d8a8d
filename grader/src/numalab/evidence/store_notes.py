"""Which thread writes which cache line: a kernel's stores, each noted by its line and thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab.evidence.read_parts import read_results
from numalab.evidence.results import ComparedRun, Results
from numalab.evidence.run_formats import OtherTeam, Outcome, Overrun, Slots, StoresRun


@dataclass(frozen=True)
class WrittenLine:
    """One of the most written cache lines.

    Attributes:
        number: how many lines of memory it is behind the first of these lines.
        thread_stores: stores by thread, of 32 threads at most; threads are numbered from 1 as they
            were first noted.
    """

    number: int
    stores: int
    thread_stores: Mapping[int, int]


@dataclass(frozen=True)
class Stores(ComparedRun):
    """A call of a kernel whose stores were noted.

    Attributes:
        n: elements counted.
        threads: size of the team.
        lines: cache lines that were written.
        lost: stores for which the notes had no room.
        shared_lines: lines written by several threads.
        shared_stores: stores to shared lines by all threads but the one that writes a line most.
        thread_accesses: (bytes loaded of what is counted, stores) of each thread that has any.
        noted: whether the false sharing that numalab itself makes in the end was noted; None: it
            did not come to that.
        teams: calls with other numbers of threads, up to one that ended badly or wrote beside its
            memory.
        teams_outcome: how the process of that one ended; None: there was none.
        teams_results: results of these calls; None: no element was wrong.
    """

    n: int
    threads: int
    line_bytes: int
    lines: int
    stores: int
    lost: int
    shared_lines: int
    shared_stores: int
    most_written: tuple[WrittenLine, ...]
    thread_accesses: tuple[tuple[int, int], ...]
    slots: Slots
    noted: bool | None
    teams: tuple[OtherTeam, ...] = ()
    teams_outcome: Outcome | None = None
    teams_results: Results | None = None
    overrun: Overrun | None = None

    @property
    def shared_share(self) -> float:
        """Return shared_stores per element."""
        return self.shared_stores / self.n

    @property
    def counting_threads(self) -> int:
        """Return how many threads load at least half of an equal part of what is counted and,
        where it is counted in memory and not in registers, also store as large a part."""
        loaded = sum(load for load, _ in self.thread_accesses)
        stored = sum(store for _, store in self.thread_accesses)
        least_load = loaded / 2 / self.threads
        least_store = stored / 2 / self.threads if 2 * stored > self.n else 0
        return sum(
            load >= least_load and store >= least_store for load, store in self.thread_accesses
        )


def read_stores(run: StoresRun) -> Stores:
    counts = ("n", "threads", "line_bytes", "lines", "stores", "lost", "shared_lines")
    names = (*counts, "shared_stores", "noted", "slots", "overrun")
    results = run.teams_results
    return Stores(
        part=run.part,
        outcome=run.outcome,
        results=read_results(run.results),
        teams_outcome=run.teams_outcome,
        teams_results=None if results is None else read_results(results),
        most_written=tuple(
            WrittenLine(line.line, line.stores, dict(line.by_thread)) for line in run.most_written
        ),
        thread_accesses=tuple(run.by_thread),
        teams=run.teams,
        **{name: getattr(run, name) for name in names},
    )
