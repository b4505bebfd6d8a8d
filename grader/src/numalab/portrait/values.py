"""From samples of the probe to a portrait. Pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from numalab.evidence.record import Json
from numalab.explore.experiment import CHASE, ProgramRun
from numalab.explore.wording import bytes_words
from numalab.machines.topology import memory_nodes
from numalab.portrait.plan import (
    HUGE,
    PAIR_STREAMS,
    STREAMS,
    Asked,
    Part,
    Plan,
    last_cache,
)
from numalab.portrait.record import Curve, Measured, Pair, Point, Portrait, StreamRate, TlbCurve
from numalab.words import count

# ---- where a curve rises -------------------------------------------------------------


LEAST_RISE = 1.25  # of the median, from one size to the next
NOT_SHOWN_FROM = 2  # a cache has to fit into the largest table so often


@dataclass(frozen=True)
class Step:
    """The curve rises between these sizes, which are next to each other, more than around them."""

    from_bytes: int
    to_bytes: int
    rise: float

    def fits(self, cache_bytes: int) -> bool:
        """A table that just fits beside what else is in a cache is smaller than it: up to half."""
        return self.from_bytes / 2 <= cache_bytes <= self.to_bytes


def _is_apart(lower: Point, upper: Point) -> bool:
    """More than processes differ."""
    return lower.ns.interval.high < upper.ns.interval.low


def steps_of(points: Sequence[Point]) -> list[Step]:
    """Where a rise by a quarter or more is larger than those before and behind it. points: in order
    of their sizes. The curve alone decides, so that hwloc's sizes can be held against it."""
    rises = [
        upper.ns.median / lower.ns.median if _is_apart(lower, upper) else 1.0
        for lower, upper in pairwise(points)
    ]
    found = []
    for place, rise in enumerate(rises):
        before = rises[place - 1] if place else 1.0
        behind = rises[place + 1] if place + 1 < len(rises) else 1.0
        if rise >= LEAST_RISE and rise > before and rise >= behind:
            found.append(Step(points[place].table_bytes, points[place + 1].table_bytes, rise))
    return found


@dataclass(frozen=True)
class CacheCheck:
    """What hwloc tells of a level, and what the curve shows. step: that which fits best; None: no
    step fits. is_shown: whether the tables are large enough to show one."""

    level: str
    cache_bytes: int
    step: Step | None
    is_shown: bool


def cache_checks(node: Json, curve: Curve) -> tuple[list[CacheCheck], list[Step]]:
    """Each level of data caches, and the steps that none of them explains."""
    left = steps_of(curve.points)
    largest = curve.points[-1].table_bytes if curve.points else 0
    checks = []
    for cache in node["caches"]:
        size = int(cache["bytes_each"])
        fitting = [step for step in left if step.fits(size)]
        step = min(
            fitting,
            key=lambda one: abs(math.log(one.from_bytes * math.sqrt(2) / size)),
            default=None,
        )
        if step:
            left.remove(step)
        checks.append(CacheCheck(cache["level"], size, step, largest >= NOT_SHOWN_FROM * size))
    return checks, left


# ---- from samples to values ----------------------------------------------------------


LEAST_SHARE = 0.98  # of pages on the NUMA node, and on huge pages, that were asked for


@dataclass(frozen=True)
class Occasion:
    """What a portrait tells beside its values; as there."""

    made_at: str
    kit_version: str
    node: Json
    about: Json
    build: Json
    is_virtual_machine: bool | None
    interrupted: bool
    ended_by: str = ""  # what else ended it early, as a sentence without a capital or a stop


def refusal(asked: Asked, record: Json, numa_nodes: int) -> str | None:
    """Why a sample is not of what was asked for; None where it is. What the probe itself checks,
    threads and sizes, is not asked again."""
    if record["thread_pus"] != list(asked.pus):
        return "threads ran on other PUs than they were bound to"
    share = record["memory_node_share"]
    if asked.memory_on >= 0 and numa_nodes > 1:
        if share is None:
            return "this system does not tell where pages live (move_pages)"
        if share < LEAST_SHARE:
            return (
                f"pages for NUMA node {asked.memory_on} lay elsewhere, as where its memory is taken"
            )
    if asked.pages == HUGE and record["bytes_on_huge_pages"] < LEAST_SHARE * record["bytes"]:
        return "the kernel gave no huge pages for a table that asked for them"
    return None


class _Taken:
    """Samples of a plan that are what was asked for, and how many were not, and why."""

    def __init__(self, plan: Plan, samples: Sequence[ProgramRun], numa_nodes: int) -> None:
        self._plan = plan
        self._by_place: dict[int, list[ProgramRun]] = {}
        self.refused: Counter[str] = Counter()
        for sample in samples:
            why = refusal(plan.asked[sample.configuration], sample.record, numa_nodes)
            if why is None:
                self._by_place.setdefault(sample.configuration, []).append(sample)
            else:
                self.refused[why] += 1

    def of(self, part: Part) -> Iterator[tuple[Asked, list[ProgramRun]]]:
        for place, asked in enumerate(self._plan.asked):
            if asked.part == part and place in self._by_place:
                yield asked, self._by_place[place]


def _ns(samples: Sequence[ProgramRun]) -> Measured:
    return Measured(tuple(sample.step_ns(CHASE) for sample in samples))


def _rates(samples: Sequence[ProgramRun], kernel: str) -> Measured:
    return Measured(tuple(sample.rate_gb_s(kernel) for sample in samples))


def _curves(taken: _Taken) -> Iterator[Curve]:
    points: dict[tuple[int, int, int, str | None], list[Point]] = {}
    for asked, samples in taken.of("curve"):
        which = (asked.pus[0], asked.threads_on, asked.memory_on, asked.kind)
        points.setdefault(which, []).append(Point(asked.size_bytes, _ns(samples)))
    for which, found in points.items():
        yield Curve(*which, points=tuple(found))


def _tlb(taken: _Taken) -> Iterator[TlbCurve]:
    points: dict[str, list[Point]] = {}
    for asked, samples in taken.of("tlb"):
        points.setdefault(asked.pages, []).append(Point(asked.size_bytes, _ns(samples)))
    for pages, found in points.items():
        yield TlbCurve(pages, tuple(found))


def _pairs(taken: _Taken) -> Iterator[Pair]:
    latency = {
        (asked.threads_on, asked.memory_on): _ns(samples)
        for asked, samples in taken.of("pair_latency")
    }
    rates: Mapping[tuple[int, int], Mapping[str, Measured]] = {
        (asked.threads_on, asked.memory_on): {
            kernel: _rates(samples, kernel) for kernel in PAIR_STREAMS
        }
        for asked, samples in taken.of("pair_bandwidth")
    }
    for which in sorted({*latency, *rates}):
        yield Pair(*which, latency.get(which), rates.get(which, {}))


def _streams(taken: _Taken) -> Iterator[StreamRate]:
    for asked, samples in taken.of("streams"):
        for kernel in STREAMS:
            (times,) = [t for t in samples[0].record["times"] if t["kernel"] == kernel]
            share = 1 - times["bytes_allocated"] / times["bytes_moved"]
            yield StreamRate(
                asked.placement, asked.kind, len(asked.pus), asked.pus, asked.size_bytes, kernel,
                share, _rates(samples, kernel),
            )  # fmt: skip


# ---- what could not be had -------------------------------------------------------------


def _of_the_node(plan: Plan, node: Json, is_virtual_machine: bool | None) -> Iterator[str]:
    if node["pus"] != node["pus_online"]:
        yield (
            f"This process may use {count(node['pus'], 'PU')} of the {node['pus_online']} of this "
            "node, as a job's or a container's may: the portrait is of these."
        )
    if is_virtual_machine:
        yield (
            "This is a virtual machine: its caches, packages and NUMA nodes are those that the "
            "hypervisor tells, and a cache that other guests use, too, may be shown whole."
        )
    small = len(node["numa_node_list"]) - len(memory_nodes(node))
    if small:
        yield (
            f"{count(small, 'NUMA node')} with too little memory for arrays: nothing is measured "
            "there."
        )
    if len(node["numa_node_list"]) == 1:
        yield (
            "There is one NUMA node, so the matrices have one row and one column, and there is no "
            "remote memory to measure. (./numalab machine list has machines with more.)"
        )
    if plan.curve_pages != HUGE:
        yield (
            "This system gives no huge pages: latencies of large tables hold what the TLB costs, "
            "and there is nothing to compare small pages with."
        )


def _of_sizes(plan: Plan, node: Json) -> Iterator[str]:
    cache = last_cache(node)
    if cache is None:
        yield "hwloc tells of no caches: whether tables and arrays are larger than them is open."
        return
    size = cache["bytes_each"]
    if plan.table_bytes < NOT_SHOWN_FROM * size:
        yield (
            f"The largest table, {bytes_words(plan.table_bytes)}, is not {NOT_SHOWN_FROM} times "
            f"the {cache['level']} that hwloc tells of ({bytes_words(size)}): where memory begins "
            "is not shown, and latencies of the largest table may be that cache's."
        )
    for what, array_bytes, caches in (
        ("Arrays of streams", plan.array_bytes, size * cache["count"]),
        ("Arrays of the matrices", plan.pair_array_bytes, size),
    ):
        if array_bytes < caches:
            yield (
                f"{what}, {bytes_words(array_bytes)} each, fit into the {cache['level']} caches "
                f"that hwloc tells of ({bytes_words(caches)}): rates may be of caches."
            )


def _lacking(plan: Plan, taken: _Taken, occasion: Occasion) -> Iterator[str]:
    for why, times in taken.refused.items():
        yield f"{count(times, 'sample')} left out: {why}."
    found = {id(asked) for part in _PARTS for asked, _ in taken.of(part)}
    missing = sum(id(asked) not in found for asked in plan.asked)
    if missing:
        why = "it was interrupted" if occasion.interrupted else "see the samples left out"
        why = occasion.ended_by or why
        yield f"Of {len(plan.asked)} measurements {missing} have no value: {why}."


_PARTS: tuple[Part, ...] = ("curve", "pair_latency", "pair_bandwidth", "streams", "tlb")


def portrait_of(plan: Plan, samples: Sequence[ProgramRun], occasion: Occasion) -> Portrait:
    """samples: one or more."""
    node = occasion.node
    taken = _Taken(plan, samples, len(memory_nodes(node)))
    return Portrait(
        made_at=occasion.made_at,
        kit_version=occasion.kit_version,
        node=node,
        about=occasion.about,
        build=occasion.build,
        is_virtual_machine=occasion.is_virtual_machine,
        rounds=1 + max(sample.round for sample in samples),
        interrupted=occasion.interrupted,
        curve_pages=plan.curve_pages,
        table_bytes=plan.table_bytes,
        pair_array_bytes=plan.pair_array_bytes,
        curves=tuple(_curves(taken)),
        pairs=tuple(_pairs(taken)),
        streams=tuple(_streams(taken)),
        tlb=tuple(_tlb(taken)),
        not_measured=(
            *_of_the_node(plan, node, occasion.is_virtual_machine),
            *_of_sizes(plan, node),
            *_lacking(plan, taken, occasion),
        ),
    )
