"""Who writes which cache line: what a kernel's stores were that the kit has had noted, each by its
line and its thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numalab.evidence.results import ComparedRun, Outcome, Results


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
    were read add up to what the results have to be; most_apart_bytes: from where one begins to
    where the next does; stores: to lines in which there is any of their counters, where stores are
    noted; shared_keys: by what the counters hold, counted in lines with counters of several,
    by all of these but the one that counts most there."""

    count: int
    bad_lengths: int
    unreadable: int
    least_keys: int
    sums_right: bool
    most_apart_bytes: int
    stores: int = 0
    shared_keys: int = 0
    on_stack: int = 0  # in memory of a thread's stack, which is gone when count returns


@dataclass(frozen=True)
class Overrun:
    """What a kernel wrote that is not its own memory. of: beside its variables, or beside a block
    that it has allocated, of so many bytes."""

    of: Literal["variables", "allocated"]
    bytes: int = 0


@dataclass(frozen=True)
class TeamSlots:
    """A call of the kernel with another number of threads, and what slots then says."""

    threads: int
    slots: Slots
    overrun: Overrun | None = None


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
    teams: tuple[TeamSlots, ...] = ()
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


def _overrun(data: Mapping[str, Any]) -> Overrun | None:
    found = data.get("overrun")
    return Overrun(**found) if found else None


def stores_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of them beside part, outcomes and results."""
    counts = ("n", "threads", "line_bytes", "lines", "stores", "lost", "shared_lines")
    return {name: data[name] for name in (*counts, "shared_stores", "noted")} | {
        "most_written": tuple(
            WrittenLine(line["line"], line["stores"], dict(line["by_thread"]))
            for line in data["most_written"]
        ),
        "by_thread": tuple((load, stores) for load, stores in data["by_thread"]),
        "slots": Slots(**data["slots"]),
        "teams": tuple(
            TeamSlots(team["threads"], Slots(**team["slots"]), _overrun(team))
            for team in data.get("teams", [])
        ),
        "overrun": _overrun(data),
    }
