"""STREAM over threads, for ./numalab explore 02: rates and local pages by placement of threads and
first touch of the arrays, with tables, sentences and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Self

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.explore.differences import Difference, survivors
from numalab.explore.experiment import (
    COMPACT,
    COPY,
    DEFAULT,
    MIB,
    MIN_ELEMENTS,
    SCATTER,
    TRIAD,
    Configuration,
    Experiment,
    Measurements,
    ProgramRun,
    VirtualMachine,
    register,
    runs_each,
    thread_counts,
)
from numalab.explore.explore_plot import SIDESTEP, STYLES, draw_bars, draw_legend
from numalab.explore.intervals import MedianInterval, PairedComparison, compare, median_interval
from numalab.explore.text_plot import Axis, PlotSeries, text_plot
from numalab.explore.wording import (
    bytes_words,
    comparison_words,
    disturbance,
    interval_note,
    interval_words,
    ratio_words,
)
from numalab.palette import PLOT_SETTINGS
from numalab.terminal import plain_table
from numalab.toml_files.tables import Table as TomlTable
from numalab.words import count, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

# Returns what was measured with a number of threads, a placement and a first touch; None: nothing.
Value = Callable[[int, str, str], MedianInterval | None]
# What was measured, by position on the x axis: that of the number of threads among all of them.
Curve = Mapping[int, MedianInterval]

STREAM_KERNELS = (COPY, TRIAD)
PLACEMENTS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    COMPACT: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"},
    SCATTER: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"},
}
# Who writes the arrays first: each thread the part that it will use, or the main thread all.
ALL_THREADS, MAIN_THREAD = "all", "one"
FIRST_TOUCHES = (ALL_THREADS, MAIN_THREAD)
TOUCH_WORDS = {ALL_THREADS: "by all", MAIN_THREAD: "by one"}
MOVED = "moved {} times the bytes per second of"
MAX_COUNTED = 16  # PUs up to which each number of threads is measured
# A virtual machine's thread that spins would keep a real core from one that has work.
_FEW_CORES = {"OMP_WAIT_POLICY": "passive"}


@register("streams")
@dataclass(frozen=True)
class Streams(Experiment):
    """An experiment: copy and triad of the probe with each number of threads, placement and first
    touch.

    Attributes:
        array_bytes: the bytes of each of three arrays.
        repetitions: the repetitions within a process.
        rounds: how often everything is run.
        virtual: a virtual machine on which pages are observed; None: there is none.
    """

    KEYS: ClassVar = ("virtual",)
    MEMORY: ClassVar = "three arrays"
    OBSERVES_PAGES: ClassVar = True
    LOAD_EFFECT: ClassVar = ", and threads that nothing binds evade a busy PU"

    array_bytes: int
    repetitions: int
    rounds: int
    virtual: VirtualMachine | None

    @classmethod
    def read(cls, top: TomlTable, size: str) -> Self:
        sized = top.table(size, ("array_bytes", "repetitions", "rounds", "virtual_rounds"))
        virtual = top.table("virtual", ("machine", "cores_per_numa_node", "array_bytes"))
        return cls(
            array_bytes=sized.whole("array_bytes", 8 * MIN_ELEMENTS),
            repetitions=sized.whole("repetitions", 1),
            rounds=sized.whole("rounds", 1),
            virtual=VirtualMachine(
                name=virtual.text("machine"),
                cores_per_numa_node=virtual.whole("cores_per_numa_node", 1),
                array_bytes=virtual.whole("array_bytes", 8 * MIN_ELEMENTS),
                rounds=sized.whole("virtual_rounds", 1),
            ),
        )

    def resize(self, n: int) -> Self:
        if n < MIN_ELEMENTS:
            raise UserError(
                f"--n {n}: an array has {MIN_ELEMENTS} 8-byte elements (64 KiB) or more; "
                "64 MiB is 8388608"
            )
        return replace(self, array_bytes=8 * n)

    @property
    def needed_bytes(self) -> int:
        return 3 * self.array_bytes + 4 * MIB

    def configurations(self, node: Json) -> list[Configuration]:
        threads = stream_thread_counts(node["pus"], node["cores"], node["numa_nodes"])
        return stream_configurations(self.array_bytes, self.repetitions, STREAM_KERNELS, threads)

    def virtual_machine(self) -> VirtualMachine | None:
        return self.virtual

    def virtual_configurations(self, node: Json) -> list[Configuration]:
        assert self.virtual is not None
        threads = thread_counts(node["pus"])
        return [
            replace(each, environment=each.environment | _FEW_CORES)
            for each in stream_configurations(self.virtual.array_bytes, 1, (COPY,), threads)
        ]

    def size_text(self, measurements: Measurements) -> str:
        node = measurements.node
        return (
            f"{count(node['pus'], 'PU')}, {count(node['numa_nodes'], 'NUMA node')}; "
            f"{measurements.build['openmp_runtime']}; three arrays of "
            f"{bytes_words(self.array_bytes)} on small pages, best of {self.repetitions} "
            "repetitions"
        )

    def title_text(self, measurements: Measurements) -> str:
        nodes = measurements.node["numa_nodes"]
        size = f", {nodes} NUMA nodes" if nodes > 1 else ", one NUMA node (all pages are local)"
        return size + ("; arrays may fit in caches" if may_be_caches(measurements, self) else "")

    def sentences(self, measurements: Measurements) -> list[str]:
        return stream_sentences(measurements, self)

    def show(self, measurements: Measurements, console: Console) -> None:
        show_streams(measurements, self, console)

    def draw(self, figure: Figure, measurements: Measurements) -> None:
        draw_streams(figure, measurements)

    def figure_size_in(self, measurements: Measurements) -> tuple[float, float]:
        return (12, 10) if measurements.node["numa_nodes"] > 1 else (12, 7.5)

    def pages_figure(
        self, measurements: Measurements, size_in: tuple[float, float] | None
    ) -> Figure | None:
        return pages_figure(measurements, size_in or PAGES_SIZE_IN)


def stream_thread_counts(pus: int, cores: int, numa_nodes: int) -> list[int]:
    """Return each number up to that of all PUs. With more than MAX_COUNTED PUs return 1, 2, 3, 4,
    6, 8, 12 and so on, powers of two and the middle between them, and the numbers of cores per NUMA
    node, of all cores and of all PUs."""
    if pus <= MAX_COUNTED:
        return list(range(1, pus + 1))
    powers = [2**power for power in range(pus.bit_length())]
    chosen = {*powers, *(power * 3 // 2 for power in powers[1:]), cores // numa_nodes, cores, pus}
    return sorted(number for number in chosen if 1 <= number <= pus)


def stream_configurations(
    array_bytes: int, repetitions: int, kernels: Sequence[str], threads: Iterable[int]
) -> list[Configuration]:
    """Return a configuration for each number of threads, placement and first touch, with all of the
    kernels."""
    return [
        Configuration(
            {"threads": number, "placement": placement, "first_touch": first_touch},
            (
                ",".join(kernels), "pages=small", f"bytes={array_bytes}",
                f"first_touch={first_touch}", f"repetitions={repetitions}",
            ),
            {"OMP_NUM_THREADS": str(number), "OMP_DYNAMIC": "false", **PLACEMENTS[placement]},
        )
        for number in threads
        for placement in PLACEMENTS
        for first_touch in FIRST_TOUCHES
    ]  # fmt: skip


# ---- rates -----------------------------------------------------------------------------


def measured_thread_counts(measurements: Measurements) -> list[int]:
    return _thread_counts(measurements.configurations)


def _thread_counts(configurations: Sequence[Configuration]) -> list[int]:
    return sorted({int(one.key["threads"]) for one in configurations})


def _rates(
    measurements: Measurements, kernel: str, threads: int, placement: str, first_touch: str
) -> dict[int, float]:
    """Return the rates of a kernel in GB/s by round."""
    return measurements.rates_gb_s(
        kernel, threads=threads, placement=placement, first_touch=first_touch
    )


def rate(
    measurements: Measurements, kernel: str, threads: int, placement: str, first_touch: str
) -> MedianInterval | None:
    """Return the median rate of a kernel in GB/s; None where nothing was measured."""
    rates = _rates(measurements, kernel, threads, placement, first_touch).values()
    return median_interval(list(rates)) if rates else None


def compare_rates(
    measurements: Measurements,
    kernel: str,
    threads: int,
    first: tuple[str, str],
    second: tuple[str, str],
) -> PairedComparison | None:
    """Compare the rates of two pairs of placement and first touch, first over second, by round;
    None where no round has both."""
    both = (_rates(measurements, kernel, threads, *pair) for pair in (first, second))
    return compare(*both)


def placement_differences(measurements: Measurements) -> Iterator[Difference]:
    """Yield the difference of each pair of placements that ran in one round, with two threads or
    more."""
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
    """Yield the differences of arrays initialised by all threads and by the main one that ran in
    one round, with two threads or more."""
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
    """Yield differences between equals, as the control: with one thread compact and scatter are the
    same, and so are all threads and the main one."""
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
    """Where pages were.

    Attributes:
        where: the machine's name, for reports.
        node: the machine's record, as describe_node writes it.
        configurations, runs: those that ran on this machine.
    """

    where: str
    is_virtual: bool
    node: Json
    configurations: tuple[Configuration, ...]
    runs: tuple[ProgramRun, ...]

    @property
    def threads(self) -> list[int]:
        return _thread_counts(self.configurations)

    def share(self, threads: int, placement: str, first_touch: str) -> MedianInterval | None:
        """Return the median share (0 to 1) of pages on the NUMA node of the thread that uses them;
        None where it is not known."""
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
        """The number of runs of each configuration that has any."""
        return runs_each(self.configurations, self.runs)


def observed_pages(measurements: Measurements) -> Pages | None:
    """Return the pages of this machine if it has several NUMA nodes, else those of the virtual
    machine; None where no run tells a share of local pages."""
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


TIMES_CACHES = 4  # how many times the last-level caches each array has to take
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
    """Return the numbers of cores per NUMA node and of the machine, those above 1 that are among
    `threads`."""
    cores = {node["cores"] // node["numa_nodes"], node["cores"]}
    return sorted(number for number in cores if number > 1 and number in threads)


def may_be_caches(measurements: Measurements, what: Streams) -> bool:
    """Tell whether an array takes less than TIMES_CACHES times the last-level caches, or their size
    is unknown: then threads on cores with more caches may be faster whatever memory does."""
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
    """Return a sentence where `close` spread threads over packages though a package has cores for
    all of them on average; else empty."""
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
    """Return sentences that compare scatter with compact, and first touches under scatter."""
    moved = (
        ((COMPACT, ALL_THREADS), "scatter moved {} times compact's bytes per second"),
        (
            (SCATTER, MAIN_THREAD),
            "under scatter arrays initialised by all moved {} times the bytes per second of those "
            "initialised by one",
        ),
    )
    sentences = []
    for other, words in moved:
        comparison = compare_rates(measurements, kernel, threads, (SCATTER, ALL_THREADS), other)
        if comparison:
            said = words.format(ratio_words(comparison.ratio.median))
            where = f"With {count(threads, 'thread')}, {kernel}"
            sentences.append(f"{where}: {said} ({_decided(comparison)}.")
    return sentences


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
    """Return a share in words, as in: 50 %; with its interval unless both ends read alike."""
    low, median, high = (f"{100 * value:.0f}" for value in (share.low, share.median, share.high))
    return f"{median} %" if low == high else f"{median} % [{low}, {high}]"


# ---- tables and pictures -----------------------------------------------------------------


def show_streams(measurements: Measurements, what: Streams, console: Console) -> None:
    """Print the tables and text plots."""
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
    """Return sentences on the bytes that GB/s counts, by the record of the first run; empty: there
    is none."""
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


def _rate_table(measurements: Measurements, kernel: str) -> Table:
    from rich.markup import escape

    table = _placement_table(
        measured_thread_counts(measurements),
        partial(rate, measurements, kernel),
        interval_words,
    )
    table.title, table.title_justify, table.title_style = escape(f"{kernel} [GB/s]"), "left", "bold"
    return table


def _share_table(pages: Pages) -> Table:
    return _placement_table(pages.threads, pages.share, share_words)


def _placement_table(
    threads: Sequence[int], value: Value, words: Callable[[MedianInterval], str]
) -> Table:
    """Return a table with a row for each number of threads and first touch that has values, and a
    column for each placement. words: formats what was measured."""
    table = plain_table()
    table.add_column("threads", justify="right")
    table.add_column("first touch", no_wrap=True)
    for placement in PLACEMENTS:
        table.add_column(placement, no_wrap=True)
    for number in threads:
        for touch in FIRST_TOUCHES:
            values = [value(number, placement, touch) for placement in PLACEMENTS]
            cells = [words(one) if one else "" for one in values]
            if any(cells):
                table.add_row(str(number), TOUCH_WORDS[touch], *cells)
    return table


def _ratio_table(measurements: Measurements) -> Table:
    pairs: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
        "scatter /\ncompact,\nby all": ((SCATTER, ALL_THREADS), (COMPACT, ALL_THREADS)),
        "scatter /\ncompact,\nby one": ((SCATTER, MAIN_THREAD), (COMPACT, MAIN_THREAD)),
        "by all /\nby one,\ndefault": ((DEFAULT, ALL_THREADS), (DEFAULT, MAIN_THREAD)),
        "by all /\nby one,\nscatter": ((SCATTER, ALL_THREADS), (SCATTER, MAIN_THREAD)),
    }
    table = plain_table()
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


def rate_pictures(measurements: Measurements) -> list[str]:
    """Return copy's rates as lines of characters, a picture for each first touch that has any, on
    one scale."""
    threads = measured_thread_counts(measurements)
    curves = _curves(threads, partial(rate, measurements, COPY))
    medians = [
        interval.median
        for by_placement in curves.values()
        for curve in by_placement.values()
        for interval in curve.values()
    ]
    if not medians:
        return []
    axis = Axis("", RATE_ROWS, top=max(medians))
    title = f"{COPY} [GB/s] over threads, {measurements.node['name']}"
    return _pictures(title, curves, threads, axis)


def page_pictures(pages: Pages) -> list[str]:
    """Return shares of local pages as lines of characters, a picture for each first touch that has
    any."""
    curves = _curves(pages.threads, pages.share)
    axis = Axis("", SHARE_ROWS, top=1.0)
    return _pictures(f"local pages over threads, {pages.where}", curves, pages.threads, axis)


def _curves(threads: Sequence[int], value: Value) -> dict[str, dict[str, Curve]]:
    """Return the curves to plot, by first touch and placement."""
    return {
        touch: {placement: _curve(threads, value, placement, touch) for placement in PLACEMENTS}
        for touch in FIRST_TOUCHES
    }


def _curve(threads: Sequence[int], value: Value, placement: str, touch: str) -> Curve:
    measured = ((place, value(number, placement, touch)) for place, number in enumerate(threads))
    return {place: interval for place, interval in measured if interval}


def _pictures(
    title: str,
    intervals: Mapping[str, Mapping[str, Curve]],
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


# ---- picture -------------------------------------------------------------------------------


TOUCH_TITLES = {
    ALL_THREADS: "first touch by all: each thread what it uses",
    MAIN_THREAD: "first touch by one: the main thread all",
}
FEW_PLACES = 8  # on the x axis; with more, large markers would hide each other
MARKER_PT, SMALL_MARKER_PT = 8, 5
SHARE_MARGIN = 0.08  # by which the axis of shares goes beyond 0 and 1
PAGES_SIZE_IN = (12.0, 4.5)


def draw_streams(figure: Figure, measurements: Measurements) -> None:
    """Draw a column for each first touch: rates, and below them the local pages of this machine if
    it has several NUMA nodes and tells them."""
    threads = measured_thread_counts(measurements)
    pages = observed_pages(measurements)
    if pages and pages.is_virtual:
        pages = None
    rows = len(STREAM_KERNELS) + (pages is not None)
    grid = figure.subplots(
        rows, 2, sharex=True, sharey="row",
        gridspec_kw={"height_ratios": [3] * len(STREAM_KERNELS) + [2] * (pages is not None)},
    )  # fmt: skip
    for column, touch in enumerate(FIRST_TOUCHES):
        grid[0][column].set_title(TOUCH_TITLES[touch], fontsize=13)
        for row, kernel in enumerate(STREAM_KERNELS):
            _draw_by_placement(
                grid[row][column], threads, partial(rate, measurements, kernel), touch
            )
        if pages:
            _draw_pages(grid[-1][column], pages, touch)
        grid[-1][column].set_xlabel("threads")
    for row, kernel in enumerate(STREAM_KERNELS):
        grid[row][0].set_ylim(bottom=0)
        grid[row][0].set_ylabel(f"{kernel} [GB/s]")
    if pages:
        grid[-1][0].set_ylabel("local pages")
    draw_legend(figure, grid[0][0])


def pages_figure(
    measurements: Measurements, size_in: tuple[float, float] = PAGES_SIZE_IN
) -> Figure | None:
    """Return a picture of a virtual machine's local pages; None where none were observed. size_in:
    width and height in inches."""
    import matplotlib
    from matplotlib.figure import Figure

    pages = observed_pages(measurements)
    if pages is None or not pages.is_virtual:
        return None
    with matplotlib.rc_context(PLOT_SETTINGS):
        figure = Figure(figsize=size_in, dpi=110, layout="constrained")
        figure.suptitle(_pages_title(pages), fontsize=16)
        grid = figure.subplots(1, 2, sharex=True, sharey=True, squeeze=False)
        for axes, touch in zip(grid[0], FIRST_TOUCHES, strict=True):
            axes.set_title(TOUCH_TITLES[touch], fontsize=13)
            axes.set_xlabel("threads")
            _draw_pages(axes, pages, touch)
        grid[0][0].set_ylabel("local pages")
        draw_legend(figure, grid[0][0])
    return figure


def _pages_title(pages: Pages) -> str:
    node = pages.node
    return (
        f"Local pages on {pages.where}: {count(node['numa_nodes'], 'NUMA node')}, "
        f"{count(node['pus'], 'PU')}\na virtual machine: where pages live is right, no time is"
    )


def _draw_pages(axes: Axes, pages: Pages, touch: str) -> None:
    _draw_by_placement(axes, pages.threads, pages.share, touch)
    axes.set_ylim(-SHARE_MARGIN, 1 + SHARE_MARGIN)
    axes.set_yticks([0, 0.5, 1])


def _draw_by_placement(axes: Axes, threads: Sequence[int], value: Value, touch: str) -> None:
    for index, placement in enumerate(PLACEMENTS):
        colour, marker = STYLES[index]
        step = SIDESTEP * (index - (len(PLACEMENTS) - 1) / 2)
        curve = _curve(threads, value, placement, touch)
        intervals = {place + step: interval for place, interval in curve.items()}
        draw_bars(
            axes, intervals, color=colour, marker=marker, label=placement, linewidth=1.2,
            markersize=MARKER_PT if len(threads) <= FEW_PLACES else SMALL_MARKER_PT,
        )  # fmt: skip
    axes.set_xticks(range(len(threads)), [str(number) for number in threads])
    axes.set_xlim(-0.5, len(threads) - 0.5)
