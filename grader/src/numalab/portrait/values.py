"""A portrait, made from runs of common/probe. Pure functions."""

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
    Part,
    Plan,
    ProbeProcess,
    last_cache,
)
from numalab.portrait.record import Curve, Measured, Pair, Point, Portrait, StreamRate, TlbCurve
from numalab.words import count

# ---- where a curve rises -------------------------------------------------------------


LEAST_RISE = 1.25  # the least ratio of medians from one size to the next
NOT_SHOWN_FROM = 2  # the least size of the largest table over that of a cache it is to show


@dataclass(frozen=True)
class Rise:
    """A step of a curve between two neighbouring sizes. rise: the ratio of their latencies."""

    lower_bytes: int
    upper_bytes: int
    rise: float

    def fits(self, cache_bytes: int) -> bool:
        """Tell whether the step may be at the end of a cache. A table that just fits next to the
        cache's other content may be half as large as the cache."""
        return self.lower_bytes / 2 <= cache_bytes <= self.upper_bytes


def _is_apart(lower: Point, upper: Point) -> bool:
    """Tell whether the second point's interval is above the first's."""
    return lower.ns.interval.high < upper.ns.interval.low


def rises_of(points: Sequence[Point]) -> list[Rise]:
    """Return the steps of a curve, from points by ascending size. A step is a rise from one size to
    the next, by LEAST_RISE or more and with intervals apart, that is larger than the one before and
    no smaller than the one after it. hwloc's sizes are not used, so that they can be compared with
    it."""
    rises = [
        upper.ns.median / lower.ns.median if _is_apart(lower, upper) else 1.0
        for lower, upper in pairwise(points)
    ]
    found = []
    for place, rise in enumerate(rises):
        before = rises[place - 1] if place else 1.0
        behind = rises[place + 1] if place + 1 < len(rises) else 1.0
        if rise >= LEAST_RISE and rise > before and rise >= behind:
            found.append(Rise(points[place].table_bytes, points[place + 1].table_bytes, rise))
    return found


@dataclass(frozen=True)
class CacheCheck:
    """A cache's size by hwloc, and what a curve shows of it. step: the one that fits best, None:
    none fits; is_shown: whether the largest table is NOT_SHOWN_FROM times as large or more."""

    level: str
    cache_bytes: int
    step: Rise | None
    is_shown: bool


def cache_checks(node: Json, curve: Curve) -> tuple[list[CacheCheck], list[Rise]]:
    """Return a check for each entry of the node's caches, and the steps that are left."""
    left = rises_of(curve.points)
    largest = curve.points[-1].table_bytes if curve.points else 0
    checks = []
    for cache in node["caches"]:
        size = int(cache["bytes_each"])
        fitting = [step for step in left if step.fits(size)]
        step = min(
            fitting,
            key=lambda one: abs(math.log(one.lower_bytes * math.sqrt(2) / size)),
            default=None,
        )
        if step:
            left.remove(step)
        checks.append(CacheCheck(cache["level"], size, step, largest >= NOT_SHOWN_FROM * size))
    return checks, left


# ---- from runs to values -------------------------------------------------------------


LEAST_SHARE = 0.98  # of the bytes on the requested NUMA node, and on huge pages if requested


@dataclass(frozen=True)
class Occasion:
    """Where and how a portrait was measured. Fields are as those of Portrait; version is its
    kit_version, and probe_description its about."""

    made_at: str
    version: str
    node: Json
    probe_description: Json
    build: Json
    is_virtual_machine: bool | None
    interrupted: bool
    ended_by: str = ""  # what else than Ctrl-C ended it early, as a clause


def refusal(process: ProbeProcess, record: Json, numa_nodes: int) -> str | None:
    """Return why a run does not count, as a clause; None where it counts. It does not if threads
    were on other PUs, or if less than LEAST_SHARE of the bytes was on the NUMA node or the huge
    pages that were asked for. numa_nodes: the number of those with memory."""
    if record["thread_pus"] != list(process.pus):
        return "threads ran on other PUs than they were bound to"
    share = record["memory_node_share"]
    if process.memory_on >= 0 and numa_nodes > 1:
        if share is None:
            return "this system does not tell where pages live (move_pages)"
        if share < LEAST_SHARE:
            return (
                f"pages for NUMA node {process.memory_on} lay elsewhere, as where its memory is "
                "taken"
            )
    if process.pages == HUGE and record["bytes_on_huge_pages"] < LEAST_SHARE * record["bytes"]:
        return "the kernel gave no huge pages for a table that asked for them"
    return None


class _Taken:
    """The runs of a plan that count, and the number of others by the reason (refused)."""

    def __init__(self, plan: Plan, runs: Sequence[ProgramRun], numa_nodes: int) -> None:
        self._plan = plan
        self._by_place: dict[int, list[ProgramRun]] = {}
        self.refused: Counter[str] = Counter()
        for sample in runs:
            why = refusal(plan.processes[sample.configuration], sample.record, numa_nodes)
            if why is None:
                self._by_place.setdefault(sample.configuration, []).append(sample)
            else:
                self.refused[why] += 1

    def runs_of(self, part: Part) -> Iterator[tuple[ProbeProcess, list[ProgramRun]]]:
        """Yield the processes of a part that have runs, in the plan's order, each with these."""
        for place, process in enumerate(self._plan.processes):
            if process.part == part and place in self._by_place:
                yield process, self._by_place[place]


def _ns(runs: Sequence[ProgramRun]) -> Measured:
    return Measured(tuple(sample.step_ns(CHASE) for sample in runs))


def _rates(runs: Sequence[ProgramRun], kernel: str) -> Measured:
    return Measured(tuple(sample.rate_gb_s(kernel) for sample in runs))


def _curves(taken: _Taken) -> Iterator[Curve]:
    points: dict[tuple[int, int, int, str | None], list[Point]] = {}
    for process, runs in taken.runs_of("curve"):
        which = (process.pus[0], process.threads_on, process.memory_on, process.kind)
        points.setdefault(which, []).append(Point(process.size_bytes, _ns(runs)))
    for which, found in points.items():
        yield Curve(*which, points=tuple(found))


def _tlb(taken: _Taken) -> Iterator[TlbCurve]:
    points: dict[str, list[Point]] = {}
    for process, runs in taken.runs_of("tlb"):
        points.setdefault(process.pages, []).append(Point(process.size_bytes, _ns(runs)))
    for pages, found in points.items():
        yield TlbCurve(pages, tuple(found))


def _pairs(taken: _Taken) -> Iterator[Pair]:
    latency = {
        (process.threads_on, process.memory_on): _ns(runs)
        for process, runs in taken.runs_of("pair_latency")
    }
    rates: Mapping[tuple[int, int], Mapping[str, Measured]] = {
        (process.threads_on, process.memory_on): {
            kernel: _rates(runs, kernel) for kernel in PAIR_STREAMS
        }
        for process, runs in taken.runs_of("pair_bandwidth")
    }
    for which in sorted({*latency, *rates}):
        yield Pair(*which, latency.get(which), rates.get(which, {}))


def _streams(taken: _Taken) -> Iterator[StreamRate]:
    for process, runs in taken.runs_of("streams"):
        for kernel in STREAMS:
            (times,) = [t for t in runs[0].record["times"] if t["kernel"] == kernel]
            share = 1 - times["bytes_allocated"] / times["bytes_moved"]
            yield StreamRate(
                process.placement, process.kind, len(process.pus), process.pus,
                process.size_bytes, kernel, share, _rates(runs, kernel),
            )  # fmt: skip


# ---- what was not measured -------------------------------------------------------------


def _node_notes(plan: Plan, node: Json, is_virtual_machine: bool | None) -> Iterator[str]:
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


def _size_notes(plan: Plan, node: Json) -> Iterator[str]:
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
    found = {id(process) for part in _PARTS for process, _ in taken.runs_of(part)}
    missing = sum(id(process) not in found for process in plan.processes)
    if missing:
        why = "it was interrupted" if occasion.interrupted else "see the samples left out"
        why = occasion.ended_by or why
        yield f"Of {len(plan.processes)} measurements {missing} have no value: {why}."


_PARTS: tuple[Part, ...] = ("curve", "pair_latency", "pair_bandwidth", "streams", "tlb")


def portrait_of(plan: Plan, runs: Sequence[ProgramRun], occasion: Occasion) -> Portrait:
    """Return the portrait that a plan's runs, one or more, give."""
    node = occasion.node
    taken = _Taken(plan, runs, len(memory_nodes(node)))
    return Portrait(
        made_at=occasion.made_at,
        kit_version=occasion.version,
        node=node,
        about=occasion.probe_description,
        build=occasion.build,
        is_virtual_machine=occasion.is_virtual_machine,
        rounds=1 + max(sample.round for sample in runs),
        interrupted=occasion.interrupted,
        curve_pages=plan.curve_pages,
        table_bytes=plan.table_bytes,
        pair_array_bytes=plan.pair_array_bytes,
        curves=tuple(_curves(taken)),
        pairs=tuple(_pairs(taken)),
        streams=tuple(_streams(taken)),
        tlb=tuple(_tlb(taken)),
        not_measured=(
            *_node_notes(plan, node, occasion.is_virtual_machine),
            *_size_notes(plan, node),
            *_lacking(plan, taken, occasion),
        ),
    )
