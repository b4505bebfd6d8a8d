"""The cost of address translation, for ./numalab explore 04: dependent and independent accesses to
tables of growing size, on small and on huge pages, with tables, sentences and a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, ClassVar, Self

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.explore.experiment import (
    CHASE,
    MIB,
    MIN_ELEMENTS,
    Configuration,
    Experiment,
    Measurements,
    register,
)
from numalab.explore.explore_plot import SIDESTEP, STYLES, draw_bars
from numalab.explore.intervals import MedianInterval, PairedComparison, compare, median_interval
from numalab.explore.text_plot import Axis, PlotSeries, text_plot
from numalab.explore.tlb import Reach, tlb_reach, tlb_reaches, walked_bytes
from numalab.explore.wording import (
    bytes_words,
    comparison_words,
    disturbance,
    interval_note,
    interval_words,
    ratio_words,
    short_bytes,
    three_digits,
)
from numalab.palette import BLUE, GREY, VERMILION
from numalab.terminal import plain_table
from numalab.toml_files.tables import Table as TomlTable
from numalab.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

UPDATE = "update"  # the probe's independent accesses; CHASE are its dependent ones
TABLE_KERNELS = (UPDATE, CHASE)
PART = 1.2  # "the two part" where small pages take more than this many times as long
FAR = 4  # times the TLB's reach; where the two part only beyond, there is another reason
ENOUGH_SHARE = 0.9  # the share of a table on huge pages from which the table counts
CACHE_LINE_BYTES = 64
_RATIO_NOTE = (
    " Ratio: small over huge pages in one round, interval of its median; * survives repetition: 1 "
    "is outside. ? too few rounds for 95 %."
)
HEADROOM = 1.45  # the axis's height over the curves', for the names of caches and reaches


@register("table_sizes")
@dataclass(frozen=True)
class TableSizes(Experiment):
    """An experiment: two kernels of the probe, a dependent and an independent one, on tables of
    each size.

    Attributes:
        smallest_bytes, largest_bytes: the sizes of the smallest and the largest table.
        growth: the factor from one size to the next, except to the largest, which may be nearer.
        steps: the number of steps that the probe is given.
        repetitions: the repetitions within a process.
        rounds: how often everything is run.
    """

    KEYS: ClassVar = ("smallest_bytes",)
    MEMORY: ClassVar = "largest table"
    NEEDS_DESCRIPTION: ClassVar = True

    smallest_bytes: int
    largest_bytes: int
    growth: int
    steps: int
    repetitions: int
    rounds: int

    @classmethod
    def read(cls, top: TomlTable, size: str) -> Self:
        sized = top.table(size, ("largest_bytes", "growth", "steps", "repetitions", "rounds"))
        return cls(
            smallest_bytes=top.whole("smallest_bytes", 8),
            largest_bytes=sized.whole("largest_bytes", 8),
            growth=sized.whole("growth", 2),
            steps=sized.whole("steps", 1),
            repetitions=sized.whole("repetitions", 1),
            rounds=sized.whole("rounds", 1),
        )

    def resize(self, n: int) -> Self:
        if n < MIN_ELEMENTS or n & (n - 1):
            raise UserError(
                f"--n {n}: the largest table's 8-byte elements are a power of two, "
                f"{MIN_ELEMENTS} (64 KiB) or more; 1 GiB is 134217728"
            )
        return replace(self, largest_bytes=8 * n)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the tables in bytes, smallest first: smallest_bytes times powers of `growth`
        below largest_bytes, and largest_bytes; smallest_bytes alone where that is no less."""
        sizes = [self.smallest_bytes]
        while sizes[-1] < self.largest_bytes:
            sizes.append(min(sizes[-1] * self.growth, self.largest_bytes))
        return tuple(sizes)

    @property
    def needed_bytes(self) -> int:
        return self.largest_bytes + 4 * MIB

    def configurations(self, node: Json) -> list[Configuration]:
        return table_configurations(self, node["huge_page_mode"] not in (None, "never"))

    def size_text(self, measurements: Measurements) -> str:
        return f"one thread; best of {self.repetitions} repetitions, {self.steps:,} steps at once"

    def title_text(self, measurements: Measurements) -> str:
        return ", one thread"

    def sentences(self, measurements: Measurements) -> list[str]:
        return table_sentences(measurements, self)

    def show(self, measurements: Measurements, console: Console) -> None:
        from rich.text import Text

        ratio = _RATIO_NOTE if mode_sentence(measurements.node["huge_page_mode"]) is None else ""
        for kernel, note in (
            (CHASE, f"per dependent load: one line in each small page, random cycle.{ratio}"),
            (UPDATE, "per independent update, at random places."),
        ):
            console.print()
            console.print(_table(measurements, self, kernel))
            console.print(Text(f"Nanoseconds {note}", "dim"))
        console.print(Text(interval_note(measurements.runs_each), "dim"))
        console.print()
        for line in table_picture(measurements, self):
            console.print(Text(line))

    def draw(self, figure: Figure, measurements: Measurements) -> None:
        draw_sizes(figure, measurements, self)

    def divergence_bytes(self, measurements: Measurements) -> int | None:
        return divergence_bytes(measured_sizes(measurements, self, CHASE))


def table_configurations(what: TableSizes, huge: bool) -> list[Configuration]:
    """Return a configuration for each size and kind of pages, with both kernels. huge: whether
    tables are on huge pages, too."""
    return [
        Configuration(
            {"bytes": size, "pages": pages},
            (
                ",".join(TABLE_KERNELS), f"pages={pages}", f"bytes={size}", f"steps={what.steps}",
                f"repetitions={what.repetitions}",
            ),
            is_seeded=True,
        )
        for size in what.sizes
        for pages in (("small", "huge") if huge else ("small",))
    ]  # fmt: skip


@dataclass(frozen=True)
class Size:
    """Measurements of one kernel on tables of one size; what was not measured is None.

    Attributes:
        table_bytes: the size of the table.
        small, huge: the time of a step on small and on huge pages, in ns.
        share: the share of the table on huge pages (0 to 1), the least of the runs.
        ratio: the time on small pages over that on huge ones, by round.
    """

    table_bytes: int
    small: MedianInterval | None
    huge: MedianInterval | None
    share: float | None
    ratio: PairedComparison | None

    @property
    def diverges(self) -> bool:
        """Whether small pages take more than PART times as long by the whole interval of the ratio,
        and at least ENOUGH_SHARE of the table was on huge pages."""
        return (
            self.ratio is not None
            and self.ratio.survives == "yes"
            and self.ratio.ratio.low > PART
            and self.share is not None
            and self.share >= ENOUGH_SHARE
        )


def _interval(times: Sequence[float]) -> MedianInterval | None:
    return median_interval(times) if times else None


def measured_sizes(measurements: Measurements, what: TableSizes, kernel: str) -> list[Size]:
    """Return the measurements of a kernel, one for each size that has any, smallest first."""
    made = []
    for table_bytes in what.sizes:
        small = measurements.steps_ns(kernel, bytes=table_bytes, pages="small")
        huge = measurements.steps_ns(kernel, bytes=table_bytes, pages="huge")
        records = measurements.records(bytes=table_bytes, pages="huge")
        shares = [record["bytes_on_huge_pages"] / table_bytes for record in records]
        if small or huge:
            made.append(
                Size(
                    table_bytes,
                    _interval(list(small.values())),
                    _interval(list(huge.values())),
                    min(shares, default=None),
                    compare(small, huge),
                )
            )
    return made


def divergence_bytes(sizes: Sequence[Size]) -> int | None:
    """Return the size in bytes from which on the kinds of pages diverge at each size; None: they do
    not at the largest."""
    parting = None
    for size in sorted(sizes, key=lambda one: one.table_bytes, reverse=True):
        if not size.diverges:
            break
        parting = size.table_bytes
    return parting


def page_sizes(measurements: Measurements) -> tuple[int, int]:
    """Return the sizes of small and huge pages in bytes."""
    description = measurements.description
    return int(description["page_bytes"]), int(description["huge_page_bytes"])


def page_reaches(measurements: Measurements) -> list[Reach]:
    """Return the reach of each level of the TLB for both kinds of pages, as cpuid reports it; empty
    where it does not."""
    pages = page_sizes(measurements)
    return [reach for page in pages for reach in tlb_reaches(measurements.description, page)]


def small_page_reach(measurements: Measurements) -> Reach | None:
    """Return the reach of the TLB's last level for small pages; None where cpuid reports none."""
    return tlb_reach(measurements.description, page_sizes(measurements)[0])


def _caches(measurements: Measurements) -> list[tuple[str, int]]:
    """Return the level and the size in bytes of each cache but those for instructions alone."""
    return [
        (cache["level"], cache["bytes_each"])
        for cache in measurements.node["caches"]
        if "i" not in cache["level"]
    ]


def line_knees(measurements: Measurements) -> list[tuple[str, int]]:
    """Return the level of each data cache, and the size in bytes of a table with as many small
    pages as the cache has lines of CACHE_LINE_BYTES."""
    lines = measurements.description["page_bytes"] // CACHE_LINE_BYTES
    return [(level, lines * size_bytes) for level, size_bytes in _caches(measurements)]


def page_names(measurements: Measurements) -> tuple[str, str]:
    """Return the sizes of small and huge pages in words, such as 4 KiB and 2 MiB."""
    small, huge = map(bytes_words, page_sizes(measurements))
    return small, huge


def mode_sentence(mode: str | None) -> str | None:
    """Return sentences on why there are no huge pages, and what it would take; None: the mode
    allows them."""
    if mode == "never":
        return (
            "Transparent huge pages are switched off on this node (mode never), so only the "
            "small pages are shown. An administrator can allow them: echo madvise | sudo tee "
            "/sys/kernel/mm/transparent_hugepage/enabled"
        )
    if mode is None:
        return (
            "This kernel has no transparent huge pages, so only the small pages are shown. "
            "It needs CONFIG_TRANSPARENT_HUGEPAGE."
        )
    return None


# ---- sentences -------------------------------------------------------------------------


def table_sentences(measurements: Measurements, what: TableSizes) -> list[str]:
    chased, updated = (measured_sizes(measurements, what, kernel) for kernel in (CHASE, UPDATE))
    sentences = [*disturbance(measurements), *_reach_sentences(measurements)]
    missing = mode_sentence(measurements.node["huge_page_mode"])
    if missing:
        return [*sentences, missing]
    poor = [size for size in chased if size.share is not None and size.share < ENOUGH_SHARE]
    if poor:
        sentences.append(
            f"Not all tables got huge pages ({', '.join(bytes_words(o.table_bytes) for o in poor)}"
            "): memory is fragmented or short. Those rows do not count."
        )
    small, huge = page_names(measurements)
    sentences.append(f"Dependent loads: {_parting_words(chased, small, huge, 'a load')}")
    sentences += filter(
        None, (_where_it_lies(chased, small_page_reach(measurements)), _cost(chased, measurements))
    )
    sentences.append(f"Independent updates: {_parting_words(updated, small, huge, 'an update')}")
    later = _hidden(chased, updated)
    return [
        *sentences,
        *([later] if later else []),
        *_knee_sentence(measurements, what),
        *_faults(measurements),
    ]


def _reach_sentences(measurements: Measurements) -> list[str]:
    reaches = page_reaches(measurements)
    if not reaches:
        return [
            "This processor, or the hypervisor above it, does not tell the size of its TLB; "
            "only the curve tells its reach."
        ]
    return [
        f"cpuid: the data TLB's level {reach.level} has {reach.entries:,} entries for "
        f"{bytes_words(reach.page_bytes)} pages: it reaches {bytes_words(reach.reach_bytes)}."
        for reach in reaches
    ]


def _parting_words(sizes: Sequence[Size], small: str, huge: str, step: str) -> str:
    compared = [(size, size.ratio) for size in sizes if size.ratio is not None]
    if not compared:
        return "no size has been measured on both kinds of pages yet."
    if all(comparison.survives == "too_few_rounds" for _, comparison in compared):
        return "too few rounds to say where the two part; a 95 % interval needs 6."
    largest, comparison = compared[-1]
    ratio = comparison.ratio
    more = (
        f"{step} on {small} pages takes more than {PART:g} times as long as on {huge} pages, "
        "whatever the noise"
    )
    at_the_end = (
        f"At {bytes_words(largest.table_bytes)}, the largest table, it is {ratio.median:.2f} times "
        f"({ratio_words(ratio.low)} to {ratio_words(ratio.high)})."
    )
    parting = divergence_bytes(sizes)
    if parting is None:
        return f"the two do not part; there is no size from which on {more}. {at_the_end}"
    return f"from {bytes_words(parting)} on the two part: {more}. {at_the_end}"


def _where_it_lies(sizes: Sequence[Size], reach: Reach | None) -> str | None:
    """Return sentences that compare the size from which on the kinds of pages diverge with the
    reach of small pages by cpuid; None where that is unknown, tables are too small, or rounds too
    few."""
    compared = [
        size.table_bytes
        for size in sizes
        if size.ratio is not None and size.ratio.survives != "too_few_rounds"
    ]
    if reach is None or max(compared, default=0) <= FAR * reach.reach_bytes:
        return None
    parting = divergence_bytes(sizes)
    reached = bytes_words(reach.reach_bytes)
    if parting is not None and parting < reach.reach_bytes:
        return (
            f"That is below the {reached} that small pages reach by cpuid: there the first level "
            "of the TLB is too small already, and a look-up in the next one shows."
            if reach.level > 1
            else f"That is below the {reached} that small pages reach by cpuid."
        )
    if parting is not None and parting <= FAR * reach.reach_bytes:
        return (
            f"By cpuid small pages reach {reached}: they part at "
            f"{short(parting / reach.reach_bytes, 2)} times that."
        )
    return (
        f"By cpuid small pages reach {reached}, and the two should part soon above that. Why not "
        "here? On a virtual machine an entry of the TLB serves the smaller of two pages, the "
        "guest's and the host's: where the host uses small ones, both kinds reach equally far, and "
        "huge pages only make the walks shorter."
    )


def _cost(sizes: Sequence[Size], measurements: Measurements) -> str | None:
    """Return sentences on how much longer a load takes on small pages, and how much page table
    walks read, at the largest table that was measured on both kinds; None: there is none."""
    both = [(size, size.small, size.huge) for size in sizes if size.small and size.huge]
    if not both:
        return None
    size, small, huge = both[-1]
    entries = [walked_bytes(size.table_bytes, page) for page in page_sizes(measurements)]
    return (
        f"There a load takes {three_digits(small.median - huge.median)} ns longer on small pages. "
        f"Their walks end in {bytes_words(entries[0])} of page table, one entry per page, and "
        f"those of huge pages in {bytes_words(entries[1])} (computed): an entry that lies in a "
        "near cache is a short walk's end."
    )


def _hidden(chased: Sequence[Size], updated: Sequence[Size]) -> str | None:
    """Return sentences on why the independent kernel's ratio is below the dependent one's, each at
    its largest table; None where their intervals overlap, it is not below, or one is not known."""
    ratios = [
        sizes[-1].ratio.ratio
        for sizes in (chased, updated)
        if sizes and sizes[-1].ratio is not None
    ]
    if len(ratios) < 2 or not ratios[1].high < ratios[0].low:
        return None
    return (
        "Both walk as often. Updates do not wait for one another, so a core has many of them and "
        "several walks under way at once, and their time is hidden behind each other's; in the "
        "chase each walk has to end before the next address is known."
    )


def _knee_sentence(measurements: Measurements, what: TableSizes) -> list[str]:
    within = [
        f"{level} up to {bytes_words(table_bytes)}"
        for level, table_bytes in line_knees(measurements)
        if what.smallest_bytes < table_bytes < what.largest_bytes
    ]
    if not within:
        return []
    return [
        "No TLB: each cache holds the chase's lines, one per small page, up to a table of its own "
        f"size ({', '.join(within)}), and both curves rise there, whichever the pages; those of "
        "small pages a little sooner, since entries of the page table want room in it, too."
    ]


def _faults(measurements: Measurements) -> list[str]:
    """Return a sentence on what the first touch of the largest table took; empty where it was not
    measured on both kinds of pages."""
    sizes = {int(c.key["bytes"]) for c in measurements.configurations}
    told = []
    for pages, name in zip(("small", "huge"), page_names(measurements), strict=True):
        records = measurements.records(bytes=max(sizes), pages=pages)
        if records:
            seconds = median(record["first_touch_cpu_s"] for record in records)
            faults = median(record["page_faults"] for record in records)
            told.append(
                f"{1e3 * seconds:.0f} ms of CPU time and {faults:,.0f} page faults on {name} pages"
            )
    if len(told) < 2:
        return []
    return [
        f"First touch of {bytes_words(max(sizes))}, page by page in random order: "
        f"{', '.join(told)} (medians)."
    ]


# ---- tables and text plot ------------------------------------------------------------------


def _table(measurements: Measurements, what: TableSizes, kernel: str) -> Table:
    from rich.markup import escape

    small, huge = page_names(measurements)
    with_huge = mode_sentence(measurements.node["huge_page_mode"]) is None
    table = plain_table()
    table.add_column("table", justify="right", no_wrap=True)
    table.add_column(escape(f"{small} [ns]"), no_wrap=True)
    if with_huge:
        table.add_column(escape(f"{huge} [ns]"), no_wrap=True)
        table.add_column("on huge", justify="right", no_wrap=True)
        table.add_column("ratio", no_wrap=True)
    for size in measured_sizes(measurements, what, kernel):
        cells = [bytes_words(size.table_bytes), interval_words(size.small) if size.small else ""]
        if with_huge:
            cells += [
                interval_words(size.huge) if size.huge else "",
                "" if size.share is None else f"{100 * size.share:.0f} %",
                comparison_words(size.ratio),
            ]
        table.add_row(*cells)
    return table


def _medians(intervals: Sequence[MedianInterval | None]) -> dict[int, float]:
    """Return the medians of the intervals that are known, by their index."""
    return {index: one.median for index, one in enumerate(intervals) if one}


def table_picture(measurements: Measurements, what: TableSizes) -> list[str]:
    """Return the dependent kernel's times as lines of characters; empty: nothing was measured."""
    sizes = measured_sizes(measurements, what, CHASE)
    small, huge = page_names(measurements)
    curves = (
        PlotSeries("o", f"{small} pages", _medians([size.small for size in sizes])),
        PlotSeries("x", f"{huge} pages", _medians([size.huge for size in sizes])),
    )
    series = [curve for curve in curves if curve.values]
    marks: dict[int, str] = {}
    reach = small_page_reach(measurements)
    at = [("TLB", reach.reach_bytes)] if reach else []
    for word, size_bytes in [*line_knees(measurements), *at]:
        for place, size in enumerate(sizes):
            if size.table_bytes <= size_bytes < size.table_bytes * what.growth:
                marks[place] = f"{marks[place]}+{word}" if place in marks else word
    if not series:
        return []
    lines = text_plot(series, [short_bytes(size.table_bytes) for size in sizes], marks, Axis("ns"))
    lines.append("")
    lines.append(
        "Dependent loads over the size of the table; * where both are. Marked: tables of whose "
        "pages a cache holds one line each"
        + (", and what the TLB reaches with small pages." if reach else ".")
    )
    return lines


# ---- picture -----------------------------------------------------------------------------


def _mark(axes: Axes, position_bytes: int, words: str, colour: str, row: int) -> None:
    """Mark a size. row: that of the words, counted from the top, so that neighbours don't
    overlap."""
    axes.axvline(position_bytes, color=colour, linewidth=1.2, linestyle=":")
    axes.annotate(
        words, (position_bytes, 1.0), xycoords=("data", "axes fraction"), xytext=(-4, -4 - 16 *
        row), textcoords="offset points", ha="right", va="top", fontsize=11, color=colour,
    )  # fmt: skip


def draw_sizes(figure: Figure, measurements: Measurements, what: TableSizes) -> None:
    """Draw a column per kernel, the dependent one first: times, and below them small over huge
    pages if there are runs on huge ones."""
    from matplotlib.ticker import FixedLocator, NullLocator

    small, huge = page_names(measurements)
    with_huge = any(sample.record["pages"] == "huge" for sample in measurements.runs)
    rows = figure.subplots(
        2 if with_huge else 1, 2, sharex=True, sharey="row", squeeze=False,
        gridspec_kw={"height_ratios": [3, 2]} if with_huge else None,
    )  # fmt: skip
    chased = "dependent: a load brings the next address\n(a cache: a line per page)"
    updated = "independent: many updates at once\n(a cache: the whole table)"
    columns = ((CHASE, chased, line_knees), (UPDATE, updated, _caches))
    for column, (kernel, title, caches) in enumerate(columns):
        times, last = rows[0][column], rows[-1][column]
        sizes = measured_sizes(measurements, what, kernel)
        _draw_curves(times, sizes, small, huge)
        times.set_title(title, fontsize=13)
        marked = [
            (size_bytes, f"{level} {bytes_words(size_bytes)}", GREY)
            for level, size_bytes in caches(measurements)
        ]
        reach = small_page_reach(measurements)
        if reach:
            marked.append((reach.reach_bytes, f"TLB {bytes_words(reach.reach_bytes)}", BLUE))
        within = [one for one in marked if what.smallest_bytes < one[0] < what.largest_bytes]
        for row, (size_bytes, words, colour) in enumerate(sorted(within)):
            _mark(times, size_bytes, words, colour, row)
        if with_huge:
            _draw_ratio(last, sizes)
        ticks = what.sizes[:: 2 if len(what.sizes) > 8 else 1]
        last.xaxis.set_major_locator(FixedLocator([float(tick) for tick in ticks]))
        last.xaxis.set_minor_locator(NullLocator())
        last.set_xticklabels([bytes_words(tick).replace(" ", "\n") for tick in ticks])
        last.set_xlabel("size of the table")
    low, high = rows[0][0].get_ylim()
    rows[0][0].set_ylim(low, high * (high / low) ** (HEADROOM - 1))
    rows[0][0].set_ylabel("time of a step [ns]")
    rows[0][0].legend(loc="center left")
    if with_huge:
        rows[1][0].set_ylabel(f"{small} / {huge},\nsame round")


def _draw_curves(times: Axes, sizes: Sequence[Size], small: str, huge: str) -> None:
    for pages, words, (colour, marker), step in zip(
        ("small", "huge"), (small, huge), STYLES[:2], (-SIDESTEP / 4, SIDESTEP / 4), strict=True
    ):
        intervals = {
            size.table_bytes * 2**step: interval
            for size in sizes
            if (interval := size.small if pages == "small" else size.huge)
        }
        draw_bars(times, intervals, color=colour, marker=marker, label=f"{words} pages")
    times.set_xscale("log", base=2)
    times.set_yscale("log")


def _draw_ratio(axes: Axes, sizes: Sequence[Size]) -> None:
    from matplotlib.ticker import FuncFormatter

    ratios = {float(size.table_bytes): size.ratio.ratio for size in sizes if size.ratio}
    draw_bars(axes, ratios, color="black", marker="D", markersize=6)
    axes.axhline(1, color=GREY, linewidth=1.5, linestyle="--")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    parting = divergence_bytes(sizes)
    if parting is not None:
        axes.axvline(parting, color=VERMILION, linewidth=1.5, zorder=0)
        left = parting > math.sqrt(sizes[0].table_bytes * sizes[-1].table_bytes)
        axes.annotate(
            f"part from {bytes_words(parting)} on", (parting, 1.0),
            xycoords=("data", "axes fraction"), xytext=(-6 if left else 6, -4),
            textcoords="offset points", ha="right" if left else "left", va="top",
            color=VERMILION,
        )  # fmt: skip
