"""Who writes which cache line: what a kernel's stores were that the kit has had noted, each by its
line and its thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numalab.evidence.results import ComparedRun


@dataclass(frozen=True)
class WrittenLine:
    """One that is written much. number: in the order of addresses, 0: the first that is told;
    by_thread: stores of each, numbered in the order in which they were noted."""

    number: int
    stores: int
    by_thread: Mapping[int, int]


@dataclass(frozen=True)
class Slots:
    """Blocks of counters that the kernel names, of threads that count. bad_lengths: with another
    number of counters than they have to have; unreadable: where no memory is; least_keys: what the
    counters of one thread add up to, of whoever has least; sums_right: all that
    were read add up to what the results have to be; stores: to lines in which there is any of their
    counters; most_apart_bytes: from where one begins to where the next does."""

    count: int
    bad_lengths: int
    unreadable: int
    least_keys: int
    sums_right: bool
    stores: int
    most_apart_bytes: int
    on_stack: int = 0  # in memory of a thread's stack, which is gone when count returns


@dataclass(frozen=True)
class Stores(ComparedRun):
    """A call of a kernel all of whose stores were noted. n: elements counted; threads: of the team;
    lines: those that were written; lost: stores for which there was no room; shared_lines: written
    by several threads; shared_stores: stores to these of all but the thread that writes a line
    most; most_written: lines; by_thread: bytes that each has loaded of what is counted, and its
    stores; noted: whether false sharing of the kit's own, made in the end, was noted; None: it did
    not come to that."""

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
    teams: tuple[tuple[int, Slots], ...] = ()  # other numbers of threads, and what slots then says

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


def stores_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of them beside part, outcome and results."""
    counts = ("n", "threads", "line_bytes", "lines", "stores", "lost", "shared_lines")
    return {name: data[name] for name in (*counts, "shared_stores", "noted")} | {
        "most_written": tuple(
            WrittenLine(line["line"], line["stores"], dict(line["by_thread"]))
            for line in data["most_written"]
        ),
        "by_thread": tuple((load, stores) for load, stores in data["by_thread"]),
        "slots": Slots(**data["slots"]),
        "teams": tuple((t["threads"], Slots(**t["slots"])) for t in data.get("teams", [])),
    }
