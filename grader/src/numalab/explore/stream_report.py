"""What an exploration of streams found, as tables of 80 columns, pictures and a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from numalab.evidence.record import Json
from numalab.explore.declaration import Streams
from numalab.explore.differences import Difference, survivors
from numalab.explore.intervals import MedianInterval, PairedComparison, compare, median_interval
from numalab.explore.measurements import (
    ALL_THREADS,
    COMPACT,
    COPY,
    DEFAULT,
    FIRST_TOUCHES,
    MAIN_THREAD,
    PLACEMENTS,
    SCATTER,
    STREAM_KERNELS,
    Configuration,
    Measurements,
    ProgramRun,
    runs_each,
)
from numalab.explore.text_plot import Axis, PlotSeries, text_plot
from numalab.explore.wording import (
    bytes_words,
    comparison_words,
    disturbance,
    interval_note,
    interval_words,
    ratio_words,
)
from numalab.words import count, listed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# ---- rates and pages -----------------------------------------------------------------


TOUCH_WORDS = {ALL_THREADS: "by all", MAIN_THREAD: "by one"}
MOVED = "moved {} times the bytes per second of"


# ---- rates -----------------------------------------------------------------------------


def measured_thread_counts(measurements: Measurements) -> list[int]:
    return _thread_counts(measurements.configurations)


def _thread_counts(configurations: Sequence[Configuration]) -> list[int]:
    return sorted({int(one.key["threads"]) for one in configurations})


def rate(
    measurements: Measurements, kernel: str, threads: int, placement: str, first_touch: str
) -> MedianInterval | None:
    """GB/s; None where nothing was measured."""
    rates = measurements.rates_gb_s(
        kernel, threads=threads, placement=placement, first_touch=first_touch
    ).values()
    return median_interval(list(rates)) if rates else None


def compare_rates(
    measurements: Measurements,
    kernel: str,
    threads: int,
    first: tuple[str, str],
    second: tuple[str, str],
) -> PairedComparison | None:
    """Of two pairs of placement and first touch: how many times more bytes per second."""
    both = [
        measurements.rates_gb_s(
            kernel, threads=threads, placement=placement, first_touch=first_touch
        )
        for placement, first_touch in (first, second)
    ]
    return compare(*both)


def placement_differences(measurements: Measurements) -> Iterator[Difference]:
    """Every pair of placements with two threads or more."""
    for threads in measured_thread_counts(measurements):
        for kernel in STREAM_KERNELS:
            for first_touch in FIRST_TOUCHES:
                for first, second in combinations(reversed(tuple(PLACEMENTS)), 2):
                    comparison = compare_rates(
                        measurements, kernel, threads, (first, first_touch), (second, first_touch)
                    )
                    if comparison and threads > 1:
                        where = (
                            f"{count(threads, 'thread')}, {kernel}, initialised "
                            f"{TOUCH_WORDS[first_touch]}"
                        )
                        yield Difference(first, second, where, comparison, MOVED)


def touch_differences(measurements: Measurements) -> Iterator[Difference]:
    """Initialised by all over by one, with two threads or more."""
    for threads in measured_thread_counts(measurements):
        for kernel in STREAM_KERNELS:
            for placement in PLACEMENTS:
                comparison = compare_rates(
                    measurements,
                    kernel,
                    threads,
                    (placement, ALL_THREADS),
                    (placement, MAIN_THREAD),
                )
                if comparison and threads > 1:
                    where = f"{count(threads, 'thread')}, {kernel}, {placement}"
                    first, second = (f"arrays initialised {TOUCH_WORDS[w]}" for w in FIRST_TOUCHES)
                    yield Difference(first, second, where, comparison, MOVED)


def equal_differences(measurements: Measurements) -> Iterator[Difference]:
    """What is the same thing with one thread: compact and scatter, who initialises."""
    for kernel in STREAM_KERNELS:
        pairs = [((SCATTER, touch), (COMPACT, touch)) for touch in FIRST_TOUCHES]
        pairs += [((placement, ALL_THREADS), (placement, MAIN_THREAD)) for placement in PLACEMENTS]
        for first, second in pairs:
            comparison = compare_rates(measurements, kernel, 1, first, second)
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
    runs: tuple[ProgramRun, ...]

    @property
    def threads(self) -> list[int]:
        return _thread_counts(self.configurations)

    def share(self, threads: int, placement: str, first_touch: str) -> MedianInterval | None:
        """None where nothing was seen, or the system does not tell."""
        key = {"threads": threads, "placement": placement, "first_touch": first_touch}
        shares = [
            float(sample.record["local_share"])
            for sample in self.runs
            if self.configurations[sample.configuration].key == key
            and sample.record["local_share"] is not None
        ]
        return median_interval(shares) if shares else None

    @property
    def runs_each(self) -> list[int]:
        """Of each configuration that has any."""
        return runs_each(self.configurations, self.runs)


def observed_pages(measurements: Measurements) -> Pages | None:
    """Of this node where it has several NUMA nodes, else of the virtual machine; None where nobody
    has seen any, or something else was explored."""
    if not isinstance(measurements.exploration.what, Streams):
        return None
    if measurements.node["numa_nodes"] > 1:
        pages = Pages(
            measurements.node["name"], False, measurements.node, measurements.configurations,
        measurements.runs )  # fmt: skip
    elif measurements.virtual:
        there = measurements.virtual
        pages = Pages(
            f"virtual {there.name}", True, there.node, there.configurations, there.runs
        )  # fmt: skip
    else:
        return None
    told = any(sample.record["local_share"] is not None for sample in pages.runs)
    return pages if told else None


# ---- tables, pictures and sentences --------------------------------------------------


TIMES_CACHES = 4  # so much larger than the last-level caches arrays are to be, each
RATE_ROWS, SHARE_ROWS = 9, 5


# ---- sentences -------------------------------------------------------------------------


def stream_sentences(measurements: Measurements, what: Streams) -> list[str]:
    sentences = [
        *disturbance(measurements),
        *_larger_caches(measurements, what),
        *_not_compact(measurements),
    ]
    for threads in _landmarks(measurements.node, measured_thread_counts(measurements)):
        for kernel in STREAM_KERNELS:
            sentences += _landmark_sentences(measurements, kernel, threads)
    sentences.append(survivors(list(placement_differences(measurements)), "placements"))
    sentences.append(survivors(list(touch_differences(measurements)), "first touches"))
    sentences += _control(list(equal_differences(measurements)))
    sentences += _meeting(measurements)
    return [*sentences, *_page_sentences(measurements)]


def _landmarks(node: Json, threads: Sequence[int]) -> list[int]:
    """As many threads as a NUMA node has cores, and as the machine has."""
    wanted = {node["cores"] // node["numa_nodes"], node["cores"]}
    return sorted(number for number in wanted if number > 1 and number in threads)


def may_be_caches(measurements: Measurements, what: Streams) -> bool:
    """Whether the arrays are too small beside the last-level caches, or nobody knows how large
    those are: then cores that bring more caches are faster whatever memory does."""
    caches = measurements.node.get("last_level_cache_bytes")
    return not caches or what.array_bytes < TIMES_CACHES * caches


def _larger_caches(measurements: Measurements, what: Streams) -> list[str]:
    caches = measurements.node.get("last_level_cache_bytes")
    if not may_be_caches(measurements, what):
        return []
    if not caches:
        return [
            "This system does not tell how large its last-level caches are: whether the arrays, "
            f"{bytes_words(what.array_bytes)} each, are larger is open. --n makes them larger."
        ]
    part = "all" if 3 * what.array_bytes <= caches else "part"
    return [
        f"The arrays, {bytes_words(what.array_bytes)} each, are less than {TIMES_CACHES} times the "
        f"last-level caches that this system tells of ({bytes_words(caches)}): {part} of what is "
        "timed may be caches, of which scattered threads have more. --n makes the arrays larger, "
        "and every round longer."
    ]


def _not_compact(measurements: Measurements) -> list[str]:
    """Where close has not kept threads to one package that has a core for each, as where the
    runtime lists cores by number, or processors announce none."""
    package = {entry["pu"]: entry.get("package") for entry in measurements.node["pu_list"]}
    packages = len(set(package.values()))
    if packages < 2:
        return []
    cores = measurements.node["cores"] // packages
    for sample in measurements.runs:
        key, pus = (
            measurements.configurations[sample.configuration].key,
            sample.record.get("thread_pus"),
        )
        if key.get("placement") != COMPACT or not pus or len(pus) > cores:
            continue
        if len({package.get(pu) for pu in pus}) > 1:
            return [
                f"Compact is not compact here: {count(len(pus), 'thread')} sat on PUs "
                f"{', '.join(map(str, pus))}, on several packages. This OpenMP runtime's list of "
                "cores is another one: read scatter and compact by where their threads sat."
            ]
    return []


def _landmark_sentences(measurements: Measurements, kernel: str, threads: int) -> list[str]:
    """Of scatter against compact, and of the first touch under scatter."""
    moved = [
        (
            compare_rates(
                measurements, kernel, threads, (SCATTER, ALL_THREADS), (COMPACT, ALL_THREADS)
            ),
            "scatter moved {} times compact's bytes per second",
        ),
        (
            compare_rates(
                measurements, kernel, threads, (SCATTER, ALL_THREADS), (SCATTER, MAIN_THREAD)
            ),
            "under scatter arrays initialised by all moved {} times the bytes per second of those "
            "initialised by one",
        ),
    ]
    return [
        f"With {count(threads, 'thread')}, {kernel}: "
        f"{words.format(ratio_words(comparison.ratio.median))} ({_decided(comparison)}."
        for comparison, words in moved
        if comparison
    ]


def _decided(comparison: PairedComparison) -> str:
    ratio = comparison.ratio
    words = {
        "yes": "the difference survives repetition",
        "no": "no difference survives",
        "too_few_rounds": "too few rounds to decide",
    }
    interval = f"{ratio_words(ratio.low)} to {ratio_words(ratio.high)}"
    return f"{interval}): {words[comparison.survives]}"


def _control(equals: Sequence[Difference]) -> list[str]:
    decided = [d for d in equals if d.comparison.survives != "too_few_rounds"]
    if not decided:
        return []
    survived = sum(d.survives for d in decided)
    widest = max(d.size for d in decided)
    return [
        "The control: with one thread scatter is compact, and by all is by one; "
        f"{survived} of these {len(decided)} differences between equals "
        f"survive{'s' if survived == 1 else ''}, and the median ratio of equals is up to "
        f"{100 * (widest - 1):.1f} % from 1. Believe nothing smaller; with more threads the noise "
        "may be larger."
    ]


def _meeting(measurements: Measurements) -> list[str]:
    cores = measurements.node["cores"]
    if cores == 1:
        return []
    return [
        f"With {cores} threads or more compact and scatter both use every core: there they are "
        "no different choice of cores."
    ]


def _page_sentences(measurements: Measurements) -> list[str]:
    sentences = []
    if measurements.node["numa_nodes"] == 1:
        sentences.append(
            f"{measurements.node['name']} has one NUMA node, as far as this system tells: each "
            "page is "
            "local, whoever wrote it first. (In a virtual machine nobody sees where the host has "
            "put it.)"
        )
    pages = observed_pages(measurements)
    if pages is None:
        trouble = measurements.virtual.trouble if measurements.virtual else None
        if trouble:
            sentences.append(f"Local pages of a virtual machine are not shown: {trouble}")
        elif measurements.node["numa_nodes"] > 1 and measurements.runs:
            sentences.append("This system does not tell where pages live (move_pages).")
        return sentences
    for threads in _landmarks(pages.node, pages.threads):
        by = [
            f"{TOUCH_WORDS[touch]} {listed(shares)}"
            for touch in FIRST_TOUCHES
            if (shares := list(_shares_in_words(pages, threads, touch)))
        ]
        if by:
            sentences.append(
                f"Local pages on {pages.where} with {count(threads, 'thread')}: initialised "
                f"{'; '.join(by)}."
            )
    if measurements.virtual and measurements.virtual.trouble:
        sentences.append(f"Not all of it could be seen: {measurements.virtual.trouble}")
    return sentences


def _shares_in_words(pages: Pages, threads: int, first_touch: str) -> Iterator[str]:
    for placement in PLACEMENTS:
        share = pages.share(threads, placement, first_touch)
        if share:
            yield f"{placement} {share_words(share)}"


def share_words(share: MedianInterval) -> str:
    """50 %; with the interval where rounds differ."""
    low, median, high = (f"{100 * value:.0f}" for value in (share.low, share.median, share.high))
    return f"{median} %" if low == high else f"{median} % [{low}, {high}]"


# ---- tables and pictures -----------------------------------------------------------------


def show_streams(measurements: Measurements, what: Streams, console: Console) -> None:
    """All but the sentences."""
    from rich.text import Text

    for table in (
        *(_rate_table(measurements, kernel) for kernel in STREAM_KERNELS),
        _ratio_table(measurements),
    ):
        console.print()
        console.print(table)
    notes = [*_byte_note(measurements, what), _RATIO_NOTE, interval_note(measurements.runs_each)]
    console.print(Text(" ".join(notes), "dim"))
    _print_lines(console, rate_pictures(measurements))
    pages = observed_pages(measurements)
    if pages is None:
        return
    console.print()
    console.print(Text(pages_heading(pages), "bold"))
    console.print(_share_table(pages))
    note = (
        "Pages on the NUMA node of the thread that uses them; for threads that nothing binds "
        "(default): of where they were when it was looked at, once."
    )
    console.print(Text(f"{note} {interval_note(pages.runs_each)}", "dim"))
    _print_lines(console, page_pictures(pages))


_RATIO_NOTE = (
    "Ratio: of GB/s in one round, interval of its median; * survives repetition: 1 is outside. ? "
    "too few rounds for 95 %."
)


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    from rich.text import Text

    if lines:
        console.print()
    for line in lines:
        console.print(Text(line))


def pages_heading(pages: Pages) -> str:
    size = f"{count(pages.node['numa_nodes'], 'NUMA node')}, {count(pages.node['pus'], 'PU')}"
    if not pages.is_virtual:
        return f"Local pages on {pages.where}: {size}"
    return (
        f"Local pages on {pages.where}: {size}. Another machine than that of the rates: where "
        "pages "
        "live is right there, no time is."
    )


def _byte_note(measurements: Measurements, what: Streams) -> list[str]:
    """What GB/s counts, from what the program says of it."""
    if not measurements.runs:
        return []
    timed = measurements.runs[0].record["times"]
    moved = [times["bytes_moved"] for times in timed]
    fewer = [times["bytes_moved"] - times["bytes_allocated"] for times in timed]
    arrays = [
        listed([f"{times['kernel']} {number / what.array_bytes:.0f}"
                for times, number in zip(timed, numbers, strict=True)])
        for numbers in (moved, fewer)
    ]  # fmt: skip
    return [
        "GB/s: 10^9 bytes per second between cores and memory, at most: with the lines that stores "
        "fetch before they write (write-allocate), which some processors skip. In arrays: "
        f"{arrays[0]}; STREAM counts {arrays[1]}. "
        "First touch by all: each thread writes what it will use; by one: the main thread all."
    ]


def _new_table(title: str = "") -> Table:
    from rich.table import Table

    return Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title=title,
        title_justify="left", title_style="bold",
    )  # fmt: skip


def _rate_table(measurements: Measurements, kernel: str) -> Table:
    from rich.markup import escape

    table = _new_table(escape(f"{kernel} [GB/s]"))
    table.add_column("threads", justify="right")
    table.add_column("first touch", no_wrap=True)
    for placement in PLACEMENTS:
        table.add_column(placement, no_wrap=True)
    for threads in measured_thread_counts(measurements):
        for touch in FIRST_TOUCHES:
            rates = [
                rate(measurements, kernel, threads, placement, touch) for placement in PLACEMENTS
            ]
            cells = [interval_words(one) if one else "" for one in rates]
            if any(cells):
                table.add_row(str(threads), TOUCH_WORDS[touch], *cells)
    return table


def _ratio_table(measurements: Measurements) -> Table:
    pairs: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
        "scatter /\ncompact,\nby all": ((SCATTER, ALL_THREADS), (COMPACT, ALL_THREADS)),
        "scatter /\ncompact,\nby one": ((SCATTER, MAIN_THREAD), (COMPACT, MAIN_THREAD)),
        "by all /\nby one,\ndefault": ((DEFAULT, ALL_THREADS), (DEFAULT, MAIN_THREAD)),
        "by all /\nby one,\nscatter": ((SCATTER, ALL_THREADS), (SCATTER, MAIN_THREAD)),
    }
    table = _new_table()
    table.add_column("threads", justify="right")
    table.add_column("kernel")
    for name in pairs:
        table.add_column(name, no_wrap=True)
    for threads in measured_thread_counts(measurements):
        for kernel in STREAM_KERNELS:
            cells = [
                comparison_words(compare_rates(measurements, kernel, threads, first, second))
                for first, second in pairs.values()
            ]
            if any(cells):
                table.add_row(str(threads), kernel, *cells)
    return table


def _share_table(pages: Pages) -> Table:
    table = _new_table()
    table.add_column("threads", justify="right")
    table.add_column("first touch", no_wrap=True)
    for placement in PLACEMENTS:
        table.add_column(placement, no_wrap=True)
    for threads in pages.threads:
        for touch in FIRST_TOUCHES:
            shares = [pages.share(threads, placement, touch) for placement in PLACEMENTS]
            cells = [share_words(share) if share else "" for share in shares]
            if any(cells):
                table.add_row(str(threads), TOUCH_WORDS[touch], *cells)
    return table


def rate_pictures(measurements: Measurements) -> list[str]:
    """Copy, one picture for each first touch, on one scale."""
    intervals = {
        touch: {
            placement: {
                place: interval
                for place, threads in enumerate(measured_thread_counts(measurements))
                if (interval := rate(measurements, COPY, threads, placement, touch))
            }
            for placement in PLACEMENTS
        }
        for touch in FIRST_TOUCHES
    }
    medians = [
        interval.median
        for curves in intervals.values() for curve in curves.values()
        for interval in curve.values()
    ]  # fmt: skip
    if not medians:
        return []
    axis = Axis("", RATE_ROWS, top=max(medians))
    title = f"{COPY} [GB/s] over threads, {measurements.node['name']}"
    return _pictures(title, intervals, measured_thread_counts(measurements), axis)


def page_pictures(pages: Pages) -> list[str]:
    intervals = {
        touch: {
            placement: {
                place: interval
                for place, threads in enumerate(pages.threads)
                if (interval := pages.share(threads, placement, touch))
            }
            for placement in PLACEMENTS
        }
        for touch in FIRST_TOUCHES
    }
    axis = Axis("", SHARE_ROWS, top=1.0)
    return _pictures(f"local pages over threads, {pages.where}", intervals, pages.threads, axis)


def _pictures(
    title: str,
    intervals: Mapping[str, Mapping[str, Mapping[int, MedianInterval]]],
    threads: Sequence[int],
    axis: Axis,
) -> list[str]:
    lines: list[str] = []
    for touch, curves in intervals.items():
        series = [
            PlotSeries(name[0], name, {place: one.median for place, one in curve.items()})
            for name, curve in curves.items()
            if curve
        ]
        drawn = text_plot(series, [str(number) for number in threads], {}, axis) if series else []
        if drawn:
            gap = [""] if lines else []
            lines += [*gap, f"{title}, initialised {TOUCH_WORDS[touch]}:", *drawn]
    return lines
