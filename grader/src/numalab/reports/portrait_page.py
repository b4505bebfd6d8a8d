"""A node's portrait as one page of HTML that needs nothing from elsewhere. Pure: values in, text
out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from numalab.explore.wording import bytes_words
from numalab.machines.topology import memory_nodes
from numalab.portrait.record import Measured, Point, Portrait
from numalab.portrait.sentences import (
    GB_S_NOTE,
    cache_lines,
    curve_name,
    load_line,
    memory_line,
    page_words,
    probe_line,
    tlb_lines,
    topology_lines,
    value_words,
)
from numalab.portrait.terminal import matrices, stream_counts
from numalab.reports.figures import portrait as figures
from numalab.reports.html_page import environment
from numalab.reports.inline_svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    title: str
    svg: Markup
    words: str


@dataclass(frozen=True)
class Table:
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """A section of the page; anchor: its id."""

    anchor: str
    title: str
    lines: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()


def _picture(anchor: str, title: str, figure: Figure, words: str) -> Picture:
    return Picture(title, Markup(inline_svg(figure, anchor, title, words)), words)


def _curve_table(caption: str, curves: Sequence[tuple[str, Sequence[Point]]]) -> Table:
    by_size = [{point.table_bytes: point.ns for point in points} for _, points in curves]
    sizes = sorted({size for one in by_size for size in one})
    rows = [
        [bytes_words(size), *(value_words(one.get(size)) for one in by_size)] for size in sizes
    ]  # fmt: skip
    return Table(caption, ["Table", *(name for name, _ in curves)], rows)


def _latency(portrait: Portrait) -> Part:
    words = (
        "Nanoseconds of a load that the load before it named, over the size of the table; bars are "
        "intervals of medians over processes, dotted lines the caches that hwloc tells of."
    )
    pages = page_words(portrait, portrait.curve_pages)
    title = f"Latency over working set, on {pages} pages"
    curves = [(curve_name(curve), curve.points) for curve in portrait.curves]
    if not curves:
        return Part("latency", title, ["Nothing was measured."])
    return Part(
        "latency", title, cache_lines(portrait),
        [_picture("latency-curves", title, figures.latency_curves(portrait), words)],
        [_curve_table("Latency [ns]: median and interval", curves)],
    )  # fmt: skip


def _pairs(portrait: Portrait) -> Part:
    columns = memory_nodes(portrait.node)
    with_pus = {one["numa_node"] for one in portrait.node["pu_list"]}
    rows = [number for number in columns if number in with_pus]
    pictures, tables = [], []
    for number, (words, value) in enumerate(matrices()):
        found: dict[tuple[int, int], Measured] = {
            (pair.threads_on, pair.memory_on): measured
            for pair in portrait.pairs
            if (measured := value(pair))
        }
        if not found:
            continue
        if len(found) > 1:
            medians = {which: measured.median for which, measured in found.items()}
            drawn = figures.matrix(medians, rows, columns, words)
            said = "Medians over processes; the table has the intervals."
            pictures.append(_picture(f"matrix-{number}", words, drawn, said))
        cells = [
            [f"threads on {row}", *(value_words(found.get((row, column))) for column in columns)]
            for row in rows
        ]
        heads = ["", *(f"memory on {column}" for column in columns)]
        tables.append(Table(words, heads, cells))
    return Part("pairs", "Pairs of NUMA nodes", [memory_line(portrait)], pictures, tables)


def _streams(portrait: Portrait) -> Part:
    title = "Bandwidth over threads"
    rates = portrait.streams
    if not rates:
        return Part("streams", title, ["Nothing was measured."])
    words = (
        "Full lines: compact, threads fill a NUMA node before the next. Broken lines: spread, in "
        "turn on all NUMA nodes. Each thread uses pages that it wrote first."
    )
    rows = [
        [f"{rate.threads}, {rate.kind or rate.placement}, {rate.kernel}", value_words(rate.gb_s),
         f"{rate.stream_share * rate.gb_s.median:.1f}", bytes_words(rate.array_bytes)]
        for rate in rates
    ]  # fmt: skip
    heads = ["Threads, placement, kernel", "GB/s", "as STREAM counts", "Each array"]
    return Part(
        "streams", title, [f"{GB_S_NOTE} STREAM counts {stream_counts(rates)}."],
        [_picture("stream-rates", title, figures.stream_rates(portrait), words)],
        [Table("Bandwidth: median and interval", heads, rows)],
    )  # fmt: skip


def _tlb(portrait: Portrait) -> Part:
    title = "TLB: a link in each small page"
    curves = [
        (f"{page_words(portrait, one.pages)} pages", one.points) for one in portrait.tlb
    ]  # fmt: skip
    if not curves:
        return Part("tlb", title, ["Nothing was measured."])
    words = (
        "Nanoseconds of a dependent load over the size of a table that is used in one line of each "
        "small page: caches hold the same lines for both kinds of pages, the TLB does not."
    )
    return Part(
        "tlb", title, tlb_lines(portrait),
        [_picture("tlb-curves", title, figures.tlb_curves(portrait), words)],
        [_curve_table("Latency [ns]: median and interval", curves)],
    )  # fmt: skip


def _parts(portrait: Portrait) -> Iterator[Part]:
    yield Part("topology", "Topology", list(topology_lines(portrait)))
    yield _latency(portrait)
    yield _pairs(portrait)
    yield _streams(portrait)
    yield _tlb(portrait)


def portrait_page(portrait: Portrait) -> str:
    """The page."""
    return (
        environment()
        .get_template("portrait.html")
        .render(
            title=f"Portrait of the node {portrait.node['name']}",
            measured=probe_line(portrait),
            interrupted=portrait.interrupted,
            disturbed=load_line(portrait.node),
            parts=list(_parts(portrait)),
            not_measured=portrait.not_measured,
        )
    )
