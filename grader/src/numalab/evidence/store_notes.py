"""Who writes which cache line: what a kernel's stores were that the kit has had noted, each by its
line and its thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab.evidence.read_parts import read_outcome, read_results
from numalab.evidence.results import ComparedRun, Outcome, Results
from numalab.evidence.run_formats import OtherTeam, Overrun, Slots, StoresRun


@dataclass(frozen=True)
class WrittenLine:
    """One that is written much. number: in the order of addresses, 0: the first that is told;
    by_thread: stores of each, numbered in the order in which they were noted."""

    number: int
    stores: int
    by_thread: Mapping[int, int]


@dataclass(frozen=True)
class Stores(ComparedRun):
    """A call of a kernel all of whose stores were noted. n: elements counted; threads: of the team;
    lines: those that were written; lost: stores for which there was no room; shared_lines: written
    by several threads; shared_stores: stores to these of all but the thread that writes a line
    most; most_written: lines; by_thread: bytes that each has loaded of what is counted, and its
    stores; noted: whether false sharing of the kit's own, made in the end, was noted; None: it did
    not come to that; teams: other numbers of threads, up to one that brought the kernel to a bad
    end, which is then teams_outcome; teams_results: with these, where any is wrong."""

    n: int
    threads: int
    line_bytes: int
    lines: int
    stores: int
    lost: int
    shared_lines: int
    shared_stores: int
    most_written: tuple[WrittenLine, ...]
    by_thread: tuple[tuple[int, int], ...]
    slots: Slots
    noted: bool | None
    teams: tuple[OtherTeam, ...] = ()
    teams_outcome: Outcome | None = None
    teams_results: Results | None = None
    overrun: Overrun | None = None

    @property
    def shared_share(self) -> float:
        """Stores that meet a line which another thread writes more, for each element."""
        return self.shared_stores / self.n

    @property
    def counting_threads(self) -> int:
        """Those that load half of an equal part of what is counted, or more; and store as large a
        part, where it is counted in memory and not in registers."""
        loaded = sum(load for load, _ in self.by_thread)
        stored = sum(store for _, store in self.by_thread)
        least_load = loaded / 2 / self.threads
        least_store = stored / 2 / self.threads if 2 * stored > self.n else 0
        return sum(load >= least_load and store >= least_store for load, store in self.by_thread)


def read_stores(run: StoresRun) -> Stores:
    counts = ("n", "threads", "line_bytes", "lines", "stores", "lost", "shared_lines")
    names = (*counts, "shared_stores", "noted", "slots", "overrun")
    ended, results = run.teams_outcome, run.teams_results
    return Stores(
        part=run.part,
        outcome=read_outcome(run.outcome),
        results=read_results(run.results),
        teams_outcome=None if ended is None else read_outcome(ended),
        teams_results=None if results is None else read_results(results),
        most_written=tuple(
            WrittenLine(line.line, line.stores, dict(line.by_thread)) for line in run.most_written
        ),
        by_thread=tuple(run.by_thread),
        teams=run.teams,
        **{name: getattr(run, name) for name in names},
    )
