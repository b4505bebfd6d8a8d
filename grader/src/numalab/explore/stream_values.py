"""Rates and local pages of an exploration of streams, as values with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from numalab.evidence.record import Json
from numalab.explore.declaration import Streams
from numalab.explore.differences import Difference
from numalab.explore.intervals import Comparison, Interval, compare, median_interval
from numalab.explore.samples import (
    ALL,
    COMPACT,
    FIRST_TOUCHES,
    ONE,
    PLACEMENTS,
    SCATTER,
    STREAM_KERNELS,
    Configuration,
    Found,
    Sample,
    samples_each,
)
from numalab.words import count

TOUCH_WORDS = {ALL: "by all", ONE: "by one"}
MOVED = "moved {} times the bytes per second of"


# ---- rates -----------------------------------------------------------------------------


def threads_found(found: Found) -> list[int]:
    return _thread_counts(found.configurations)


def _thread_counts(configurations: Sequence[Configuration]) -> list[int]:
    return sorted({int(one.key["threads"]) for one in configurations})


def rate(
    found: Found, kernel: str, threads: int, placement: str, first_touch: str
) -> Interval | None:
    """GB/s; None where nothing was measured."""
    rates = found.rates_gb_s(
        kernel, threads=threads, placement=placement, first_touch=first_touch
    ).values()
    return median_interval(list(rates)) if rates else None


def between(
    found: Found, kernel: str, threads: int, first: tuple[str, str], second: tuple[str, str]
) -> Comparison | None:
    """Of two pairs of placement and first touch: how many times more bytes per second."""
    both = [
        found.rates_gb_s(kernel, threads=threads, placement=placement, first_touch=first_touch)
        for placement, first_touch in (first, second)
    ]
    return compare(*both)


def placement_differences(found: Found) -> Iterator[Difference]:
    """Every pair of placements with two threads or more."""
    for threads in threads_found(found):
        for kernel in STREAM_KERNELS:
            for first_touch in FIRST_TOUCHES:
                for first, second in combinations(reversed(tuple(PLACEMENTS)), 2):
                    comparison = between(
                        found, kernel, threads, (first, first_touch), (second, first_touch)
                    )
                    if comparison and threads > 1:
                        where = (
                            f"{count(threads, 'thread')}, {kernel}, initialised "
                            f"{TOUCH_WORDS[first_touch]}"
                        )
                        yield Difference(first, second, where, comparison, MOVED)


def touch_differences(found: Found) -> Iterator[Difference]:
    """Initialised by all over by one, with two threads or more."""
    for threads in threads_found(found):
        for kernel in STREAM_KERNELS:
            for placement in PLACEMENTS:
                comparison = between(found, kernel, threads, (placement, ALL), (placement, ONE))
                if comparison and threads > 1:
                    where = f"{count(threads, 'thread')}, {kernel}, {placement}"
                    first, second = (f"arrays initialised {TOUCH_WORDS[w]}" for w in FIRST_TOUCHES)
                    yield Difference(first, second, where, comparison, MOVED)


def equal_differences(found: Found) -> Iterator[Difference]:
    """What is the same thing with one thread: compact and scatter, who initialises."""
    for kernel in STREAM_KERNELS:
        pairs = [((SCATTER, touch), (COMPACT, touch)) for touch in FIRST_TOUCHES]
        pairs += [((placement, ALL), (placement, ONE)) for placement in PLACEMENTS]
        for first, second in pairs:
            comparison = between(found, kernel, 1, first, second)
            if comparison:
                yield Difference(" ".join(first), " ".join(second), kernel, comparison, MOVED)


# ---- pages -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Pages:
    """Shares of local pages, 0 to 1, of all rounds. where: the machine's name; node: what it says
    of itself."""

    where: str
    is_virtual: bool
    node: Json
    configurations: tuple[Configuration, ...]
    samples: tuple[Sample, ...]

    @property
    def threads(self) -> list[int]:
        return _thread_counts(self.configurations)

    def share(self, threads: int, placement: str, first_touch: str) -> Interval | None:
        """None where nothing was seen, or the system does not tell."""
        key = {"threads": threads, "placement": placement, "first_touch": first_touch}
        shares = [
            float(sample.record["local_share"])
            for sample in self.samples
            if self.configurations[sample.configuration].key == key
            and sample.record["local_share"] is not None
        ]
        return median_interval(shares) if shares else None

    @property
    def samples_each(self) -> list[int]:
        """Of each configuration that has any."""
        return samples_each(self.configurations, self.samples)


def pages_seen(found: Found) -> Pages | None:
    """Of this node where it has several NUMA nodes, else of the virtual machine; None where nobody
    has seen any, or something else was explored."""
    if not isinstance(found.exploration.what, Streams):
        return None
    if found.node["numa_nodes"] > 1:
        seen = Pages(
            found.node["name"], False, found.node, found.configurations, found.samples
        )  # fmt: skip
    elif found.virtual:
        there = found.virtual
        seen = Pages(
            f"virtual {there.name}", True, there.node, there.configurations, there.samples
        )  # fmt: skip
    else:
        return None
    told = any(sample.record["local_share"] is not None for sample in seen.samples)
    return seen if told else None
