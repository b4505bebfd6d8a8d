"""Sentences on a portrait: the machine, its caches next to the curve, the TLB. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numalab.evidence.core_kinds import core_kinds, kinds_in_words
from numalab.evidence.load import is_loaded
from numalab.evidence.record import Json
from numalab.explore.intervals import median_interval
from numalab.explore.tlb import tlb_reaches
from numalab.explore.wording import bytes_words, interval_words
from numalab.portrait.plan import HUGE, SMALL, kind_names, last_cache
from numalab.portrait.record import Curve, Measured, Point, Portrait, TlbCurve
from numalab.portrait.values import CacheCheck, Rise, cache_checks
from numalab.pu_lists import format_pus
from numalab.words import amount, count, first_upper, listed, short

GB_S_NOTE = (
    "GB/s: 10^9 bytes per second between cores and memory, with the lines that stores fetch before "
    "they write (write-allocate), which some processors skip."
)


# ---- the machine -----------------------------------------------------------------------


def topology_lines(portrait: Portrait) -> Iterator[str]:
    node = portrait.node
    yield (
        f"{node['cpu_model'] or 'a processor without a name'}, {node['architecture']}: "
        f"{count(node['packages'], 'package')}, {count(node['numa_nodes'], 'NUMA node')}, "
        f"{count(node['cores'], 'core')}, {count(node['pus'], 'PU')}."
    )
    caches = [
        f"{cache['level']} {bytes_words(cache['bytes_each'])} x {cache['count']}"
        for cache in node["caches"]
    ]
    pages = bytes_words(node["page_bytes"])
    yield (
        f"Caches: {listed(caches) or 'not told'}. Pages: {pages}, huge pages: "
        f"{node['huge_page_mode'] or 'none'}. Linux {node['kernel']}."
    )
    kinds = core_kinds(node) or ()
    if len(kinds) > 1:
        yield f"Cores of several kinds: {kinds_in_words(kinds)}."
    for entry in node["numa_node_list"]:
        number = entry["numa_node"]
        pus = [one["pu"] for one in node["pu_list"] if one["numa_node"] == number]
        where = f"PUs {format_pus(pus)}" if pus else "memory only"
        if entry.get("not_allowed"):
            where = "its PUs are not allowed here"
        memory = amount(entry["memory_bytes"]) if entry["memory_bytes"] else "no memory to use"
        yield f"NUMA node {number}: {memory}, {where}."
    pus = [one["pu"] for one in node["pu_list"] if one["numa_node"] < 0]
    if pus and node["numa_node_list"]:
        yield f"PUs {format_pus(pus)} belong to no NUMA node."


def probe_line(portrait: Portrait) -> str:
    build = portrait.build
    return (
        f"Measured {portrait.made_at} by numalab {portrait.kit_version}: "
        f"{count(portrait.rounds, 'round')} of fresh processes of the probe "
        f"({build['c_compiler']}, {build['probe_flags']}, {build['openmp_runtime']}), the best "
        "repetition of each."
    )


def load_line(node: Json) -> list[str]:
    if not is_loaded(node):
        return []
    return [
        f"This node was not quiet (load {node['load_1min']:.1f} before the start): intervals are "
        "wider than they need be, and bandwidths may be too low."
    ]


# ---- places ----------------------------------------------------------------------------


def curve_name(curve: Curve) -> str:
    """Return a curve's name, such as "NUMA node 0, memory of 1, E-core"."""
    to = "local" if curve.threads_on == curve.memory_on else f"memory of {curve.memory_on}"
    kind = f", {curve.kind}" if curve.kind else ""
    return f"NUMA node {curve.threads_on}, {to}{kind}"


def page_words(portrait: Portrait, pages: str) -> str:
    of = "page_bytes" if pages == SMALL else "huge_page_bytes"
    return bytes_words(int(portrait.about[of]))


# ---- caches ----------------------------------------------------------------------------


def _range_words(step: Rise) -> str:
    return f"between {bytes_words(step.lower_bytes)} and {bytes_words(step.upper_bytes)}"


def _check_words(check: CacheCheck) -> str:
    said = f"{check.level}, by hwloc {bytes_words(check.cache_bytes)}"
    if check.step:
        return (
            f"ok    {said}: the curve rises {_range_words(check.step)} "
            f"({check.step.rise:.1f} times)"
        )
    if not check.is_shown:
        return f"?     {said}: the tables are too small to show where it ends"
    return f"DIFFER  {said}: the curve does not rise there"


def cache_lines(portrait: Portrait) -> list[str]:
    """Return lines that compare hwloc's cache sizes with the steps of each local curve; the sizes
    are taken to be those of the kind of core of the node's first PU."""
    lines = []
    local = [curve for curve in portrait.curves if curve.threads_on == curve.memory_on]
    told_of = kind_names(portrait.node).get(portrait.node["pu_list"][0]["pu"])
    for curve in local:
        node = portrait.node
        if curve.kind != told_of:
            node = {**node, "caches": []}
        checks, left = cache_checks(node, curve)
        if len(local) > 1:
            lines.append(f"{first_upper(curve_name(curve))}, PU {curve.pu}:")
        lines += [_check_words(check) for check in checks]
        if curve.kind != told_of:
            lines.append(f"?     hwloc's sizes are told of {told_of} only")
        unexplained = "no cache that hwloc tells of ends there"
        if curve.kind != told_of:
            unexplained = "a cache of this kind of core, most likely"
        reaches = tlb_reaches(portrait.about, int(portrait.about["huge_page_bytes"]))
        for step in left:
            near = [
                f"level {reach.level} of the TLB reaches {bytes_words(reach.reach_bytes)} on huge "
                "pages (cpuid)"
                for reach in reaches
                if portrait.curve_pages == HUGE and step.fits(reach.reach_bytes)
            ]
            why = near[0] if near else unexplained
            rise = f"{_range_words(step)} ({step.rise:.1f} times)"
            lines.append(f"note  The curve rises {rise}: {why}")
    return lines


# ---- the TLB ---------------------------------------------------------------------------


def _curve_on(portrait: Portrait, pages: str) -> TlbCurve | None:
    return next((curve for curve in portrait.tlb if curve.pages == pages), None)


def parting(small: Sequence[Point], huge: Sequence[Point]) -> int | None:
    """Return the size in bytes from which on latency is higher on small pages than on huge ones, by
    intervals that are apart; None where that is not so at the largest size. small, huge: points by
    ascending size."""
    by_size = {point.table_bytes: point.ns.interval for point in huge}
    found = None
    for point in reversed(small):
        other = by_size.get(point.table_bytes)
        if other is None or point.ns.interval.low <= other.high:
            break
        found = point.table_bytes
    return found


def tlb_lines(portrait: Portrait) -> list[str]:
    small, huge = _curve_on(portrait, SMALL), _curve_on(portrait, HUGE)
    if small is None:
        return []
    lines = [_small_knee(portrait, small, huge)]
    if huge is not None:
        lines.append(_huge_knee(portrait, huge))
    return lines


def _small_knee(portrait: Portrait, small: TlbCurve, huge: TlbCurve | None) -> str:
    name = page_words(portrait, SMALL)
    reaches = tlb_reaches(portrait.about, int(portrait.about["page_bytes"]))
    told = listed([f"{bytes_words(reach.reach_bytes)} (level {reach.level})" for reach in reaches])
    said = f"cpuid tells a reach of {told}" if reaches else "cpuid does not tell the TLB's reach"
    if huge is None:
        return (
            f"{name} pages: {said}. Without huge pages its cost can't be told from that of caches."
        )
    knee = parting(small.points, huge.points)
    if knee is None:
        return f"{name} pages: no knee up to {bytes_words(small.points[-1].table_bytes)}; {said}."
    last_small, last_huge = small.points[-1].ns.median, huge.points[-1].ns.median
    return (
        f"{name} pages: a step takes longer than on {page_words(portrait, HUGE)} pages from "
        f"{bytes_words(knee)} on; {said}. With {bytes_words(small.points[-1].table_bytes)} it "
        f"takes {last_small / last_huge:.2f} times as long."
    )


def _huge_knee(portrait: Portrait, huge: TlbCurve) -> str:
    name = page_words(portrait, HUGE)
    largest = huge.points[-1].table_bytes
    reaches = tlb_reaches(portrait.about, int(portrait.about["huge_page_bytes"]))
    if not reaches:
        return (
            f"{name} pages: cpuid does not tell their reach, and nothing with larger pages is "
            "there to hold against them: a knee can't be told from a cache's end."
        )
    told = listed([f"{bytes_words(reach.reach_bytes)} (level {reach.level})" for reach in reaches])
    beyond = [reach for reach in reaches if reach.reach_bytes >= largest]
    where = (
        "beyond the largest table, so that it is not shown"
        if len(beyond) == len(reaches)
        else "within the tables only in part"
        if beyond
        else "within the tables"
    )
    return f"{name} pages: cpuid tells a reach of {told}: {where}."


# ---- how sure ----------------------------------------------------------------------------


def value_words(measured: Measured | None) -> str:
    return interval_words(measured.interval) if measured else "-"


def widest_words(values: Sequence[Measured]) -> str:
    """Return in a sentence how far an interval reaches from its median at most, as a share of it;
    empty without values."""
    if not values:
        return ""
    halves = [
        max(one.interval.high - one.median, one.median - one.interval.low) / one.median
        for one in values
    ]
    coverage = median_interval([0.0] * min(len(one.processes) for one in values)).coverage
    return (
        f"Medians over processes; the widest {short(100 * coverage)} % interval reaches "
        f"{100 * max(halves):.0f} % beside its median."
    )


def memory_line(portrait: Portrait) -> str:
    cache = last_cache(portrait.node)
    size = bytes_words(portrait.table_bytes)
    beside = f" ({cache['level']}: {bytes_words(cache['bytes_each'])})" if cache else ""
    return (
        f"Latency: a table of {size}{beside}, a link in each cache line. Bandwidth: one thread per "
        f"core, arrays of {bytes_words(portrait.pair_array_bytes)} each."
    )
