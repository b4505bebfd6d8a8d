"""A portrait for a terminal: tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from numalab.explore.experiment import COMPACT
from numalab.explore.text_plot import Axis, PlotSeries, text_plot
from numalab.explore.wording import bytes_words, interval_note, short_bytes, three_digits
from numalab.machines.topology import memory_nodes
from numalab.portrait.plan import ALONE, PAIR_STREAMS, SPREAD, STREAMS
from numalab.portrait.record import Measured, Pair, Point, Portrait, StreamRate
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
    widest_words,
)
from numalab.terminal import matrix_tables, plain_table
from numalab.words import listed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MARKS = "lrx"  # characters of the first three curves


def show(portrait: Portrait, console: Console) -> None:
    from rich.text import Text

    def title(words: str) -> None:
        console.print()
        console.print(Text(words, "bold"))

    def say(lines: Sequence[str], style: str = "") -> None:
        for line in lines:
            console.print(Text(line, style))

    console.print(Text(f"Portrait of {portrait.node['name']}", "bold"))
    say([*topology_lines(portrait), probe_line(portrait), *load_line(portrait.node)])
    title(f"Latency over the size of a table [ns], on {page_words(portrait, portrait.curve_pages)} "
          "pages")  # fmt: skip
    for start in range(0, len(portrait.curves), len(MARKS)):  # which fit next to each other
        block = portrait.curves[start : start + len(MARKS)]
        console.print(_latency_table([(curve_name(curve), curve.points) for curve in block]))
    say([_note([point.ns for curve in portrait.curves for point in curve.points])], "dim")
    console.print()
    say(_picture(portrait))
    say(cache_lines(portrait))
    show_pairs(portrait, console)
    title("Bandwidth over threads [GB/s], each on memory of its own NUMA node")
    for words, table in _stream_tables(portrait):
        say([words])
        console.print(table)
    say([*_alone(portrait)])
    say([*_stream_notes(portrait)], "dim")
    title("TLB: latency of a link in each page [ns]")
    on_pages = [(f"{page_words(portrait, one.pages)} pages", one.points) for one in portrait.tlb]
    console.print(_latency_table(on_pages))
    say(tlb_lines(portrait))
    title("What this portrait does not show")
    say([f"- {sentence}" for sentence in portrait.not_measured] or ["- nothing was left out"])


def _note(values: Sequence[Measured]) -> str:
    return interval_note([len(one.processes) for one in values]) if values else "Nothing measured."


# ---- latency ---------------------------------------------------------------------------


def _latency_table(columns: Sequence[tuple[str, Sequence[Point]]]) -> Table:
    """Return a table of latencies by size. columns: heads and points."""
    table = plain_table()
    table.add_column("table", justify="right", no_wrap=True)
    by_size = []
    for name, points in columns:
        table.add_column(name.replace(", ", ",\n"), no_wrap=True)
        by_size.append({point.table_bytes: point.ns for point in points})
    for size in sorted({size for one in by_size for size in one}):
        table.add_row(bytes_words(size), *(value_words(one.get(size)) for one in by_size))
    return table


def _picture(portrait: Portrait) -> list[str]:
    """Return the plot of the first curves, at most as many as MARKS, with hwloc's caches below."""
    curves = portrait.curves[: len(MARKS)]
    sizes = sorted({point.table_bytes for curve in curves for point in curve.points})
    place = {size: number for number, size in enumerate(sizes)}
    series = [
        PlotSeries(
            mark, curve_name(curve),
            {place[point.table_bytes]: point.ns.median for point in curve.points},
        )
        for mark, curve in zip(MARKS, curves, strict=False)
    ]  # fmt: skip
    marks = {}
    for cache in portrait.node["caches"]:
        inside = [size for size in sizes if size <= cache["bytes_each"]]
        if inside and cache["bytes_each"] < sizes[-1]:
            marks[place[inside[-1]]] = cache["level"]
    drawn = text_plot(series, [short_bytes(size) for size in sizes], marks, Axis("ns"))
    return [*drawn, *(["^: the largest table that fits into hwloc's cache"] if marks else []), ""]


# ---- pairs -----------------------------------------------------------------------------


def show_pairs(portrait: Portrait, console: Console) -> None:
    """Print the matrices of NUMA nodes."""
    from rich.text import Text

    console.print()
    console.print(Text("NUMA nodes: threads (rows) and memory (columns)", "bold"))
    values: list[Measured] = []
    for words, value in matrices():
        console.print()
        console.print(Text(words))
        for table in _matrix_tables(portrait, value):
            console.print(table)
        values += [one for pair in portrait.pairs if (one := value(pair))]
    for line in (memory_line(portrait), widest_words(values)):
        console.print(Text(line, "dim"))


def matrices() -> Iterator[tuple[str, Callable[[Pair], Measured | None]]]:
    """Yield the title of each matrix, and the function that returns its value of a pair."""
    yield "latency [ns]", lambda pair: pair.latency_ns
    for kernel in PAIR_STREAMS:

        def rate(pair: Pair, kernel: str = kernel) -> Measured | None:
            return pair.gb_s.get(kernel)

        yield f"{kernel} [GB/s]", rate


def _matrix_tables(portrait: Portrait, value: Callable[[Pair], Measured | None]) -> Iterator[Table]:
    columns = memory_nodes(portrait.node)
    with_pus = {one["numa_node"] for one in portrait.node["pu_list"]}

    def cell(row: int, column: int) -> str:
        pair = portrait.pair(row, column)
        measured = value(pair) if pair else None
        return three_digits(measured.median) if measured else "-"

    rows = [number for number in columns if number in with_pus]
    return matrix_tables({(row, column): cell(row, column) for row in rows for column in columns})


# ---- streams ---------------------------------------------------------------------------


def _stream_tables(portrait: Portrait) -> Iterator[tuple[str, Table]]:
    """Yield a table of rates for each placement that was measured, COMPACT or SPREAD, with the line
    above it."""
    how = {
        COMPACT: "n threads, compact: they fill a NUMA node before the next.",
        SPREAD: "n threads, spread: in turn on all NUMA nodes.",
    }
    for placement, words in how.items():
        rates = [one for one in portrait.streams if one.placement == placement]
        if not rates:
            continue
        table = plain_table(gap=1)
        table.add_column("n", justify="right", no_wrap=True)
        for kernel in STREAMS:
            table.add_column(kernel, no_wrap=True)
        for threads in sorted({one.threads for one in rates}):
            by_kernel = {one.kernel: one.gb_s for one in rates if one.threads == threads}
            cells = (value_words(by_kernel.get(kernel)) for kernel in STREAMS)
            table.add_row(str(threads), *cells)
        yield words, table


def _alone(portrait: Portrait) -> Iterator[str]:
    """Yield a sentence on one thread for each kind of core that was measured so."""
    rates = [one for one in portrait.streams if one.placement == ALONE]
    for kind in dict.fromkeys(one.kind for one in rates):
        found = [f"{one.kernel} {value_words(one.gb_s)}" for one in rates if one.kind == kind]
        yield f"One thread on {kind}: {', '.join(found)}."


def stream_counts(rates: Sequence[StreamRate]) -> str:
    """Return in words which part of the bytes STREAM counts for each kernel, rounded to a fraction
    with a denominator of 9 at most."""
    shares = {one.kernel: Fraction(one.stream_share).limit_denominator(9) for one in rates}
    return listed([f"{share} of it for {kernel}" for kernel, share in shares.items()])


def _stream_notes(portrait: Portrait) -> Iterator[str]:
    rates = portrait.streams
    if not rates:
        yield "Nothing measured."
        return
    yield f"{GB_S_NOTE} STREAM counts {stream_counts(rates)}."
    if not any(one.placement == SPREAD for one in rates):
        yield "With one NUMA node to run on, spread threads would sit where compact ones do."
    sizes = sorted({one.array_bytes for one in rates})
    words = bytes_words(sizes[0])
    if sizes[1:]:
        words += f" to {bytes_words(sizes[-1])}, larger with more threads"
    yield f"Arrays: {words}. {_note([one.gb_s for one in rates])}"
