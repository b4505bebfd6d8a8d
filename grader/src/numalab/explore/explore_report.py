"""What an exploration found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from numalab.explore.explore import Found, Reach, Schedules, TableSizes, thread_counts, tlb_reach
from numalab.explore.intervals import Comparison, Interval, compare, median_interval
from numalab.words import count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PART = 1.1  # "the two part": where small pages take so many times longer, at the least
FAR = 4  # times the TLB's reach: who parts only there does so for another reason
ENOUGH_SHARE = 0.9  # of a table on huge pages, to be called so
BUSY_LOAD = 0.3  # a core, as in doctor
MOST_NAMED = 2  # differences that are told one by one


def size_words(size_bytes: int) -> str:
    """64 KiB, 2 MiB, 1 GiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.4g} {unit}"
    return f"{size_bytes} bytes"


def three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.{1 if value >= 9.995 else 2}f}"


def interval_words(interval: Interval) -> str:
    """12.3 [12.1, 12.6]; the median alone where one sample allows no interval."""
    if interval.coverage == 0:
        return three_digits(interval.median)
    low, high = three_digits(interval.low), three_digits(interval.high)
    return f"{three_digits(interval.median)} [{low}, {high}]"


def ratio_words(ratio: float) -> str:
    """Two digits, more where they would say 1 and it is not."""
    return f"{ratio:.3f}" if ratio != 1 and f"{ratio:.2f}" == "1.00" else f"{ratio:.2f}"


def comparison_words(comparison: Comparison | None) -> str:
    """0.95-1.02, with a star where the difference survives."""
    if comparison is None:
        return ""
    if comparison.survives == "too_few_rounds":
        return f"{comparison.ratio.median:.2f}?"
    star = "*" if comparison.survives == "yes" else " "
    return f"{ratio_words(comparison.ratio.low)}-{ratio_words(comparison.ratio.high)}{star}"


def chunk_words(chunk: int) -> str:
    return str(chunk) if chunk else "default"


def interval_note(rounds: Sequence[int]) -> str:
    """How far the intervals in a table can be trusted. rounds: of each configuration."""
    fewest, most = min(rounds), max(rounds)
    found = median_interval([0.0] * fewest).coverage
    spread = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    samples = count(fewest, "sample") if fewest == most else f"{spread} samples"
    if fewest == 1:
        return f"From {samples} each: where there is one, there is no interval."
    words = f"Median of {samples} each, in brackets"
    if found < 0.95:
        return (
            f"{words} the smallest and the largest: they hold the true median between them "
            f"with {100 * found:.3g} %, no more (6 rounds reach 95 %)."
        )
    return f"{words} a {100 * found:.3g} % interval for it (order statistics)."


def disturbance(found: Found) -> list[str]:
    load = found.node["load_1min"]
    if load is None or load <= BUSY_LOAD * found.node["cores"]:
        return []
    return [
        f"This node was not quiet (load {load:.1f} before the start): the intervals are wider "
        "than they need be, and a schedule that hands out work late evades a busy core."
        if isinstance(found.exploration.what, Schedules)
        else f"This node was not quiet (load {load:.1f} before the start): the intervals are "
        "wider than they need be."
    ]


# ---- schedules ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Of two configurations: what differs in first and second, what they share in where."""

    first: str
    second: str
    where: str
    comparison: Comparison

    @property
    def survives(self) -> bool:
        return self.comparison.survives == "yes"

    def sentence(self) -> str:
        ratio = self.comparison.ratio
        return (
            f"{self.where}: {self.first} took {ratio.median:.2f} times as long as {self.second} "
            f"({ratio_words(ratio.low)} to {ratio_words(ratio.high)})"
        )


def _size(difference: Difference) -> float:
    ratio = difference.comparison.ratio.median
    return max(ratio, 1 / ratio)


def schedule_differences(found: Found, what: Schedules, cores: int) -> Iterator[Difference]:
    """Every pair of schedules at the same chunk and number of threads."""
    for threads in thread_counts(cores):
        for chunk in what.chunks:
            for first, second in combinations(what.schedules, 2):
                comparison = compare(
                    found.times_s(threads=threads, schedule=first, chunk=chunk),
                    found.times_s(threads=threads, schedule=second, chunk=chunk),
                )
                if comparison:
                    where = f"{count(threads, 'thread')}, chunk {chunk_words(chunk)}"
                    yield Difference(first, second, where, comparison)


def same_thing(schedule: str, first: int, second: int) -> bool:
    """Whether two chunks are the same: where none is given, dynamic and guided take 1."""
    return schedule in ("dynamic", "guided") and {first, second} == {0, 1}


def chunk_differences(
    found: Found, what: Schedules, cores: int, control: bool
) -> Iterator[Difference]:
    """Every pair of chunks of a schedule at the same number of threads; control: those that
    are the same thing under two names, otherwise the others."""
    for threads in thread_counts(cores):
        for schedule in what.schedules:
            for first, second in combinations(what.chunks, 2):
                if same_thing(schedule, first, second) != control:
                    continue
                comparison = compare(
                    found.times_s(threads=threads, schedule=schedule, chunk=first),
                    found.times_s(threads=threads, schedule=schedule, chunk=second),
                )
                if comparison:
                    one, other = (f"chunk {chunk_words(chunk)}" for chunk in (first, second))
                    where = f"{count(threads, 'thread')}, {schedule}"
                    yield Difference(one, other, where, comparison)


def survivors(differences: Sequence[Difference], of_what: str) -> str:
    """How many survive, how many chance alone would let through, and the largest."""
    if not differences:
        return f"No two {of_what} have been measured in the same round yet."
    if all(d.comparison.survives == "too_few_rounds" for d in differences):
        return f"Too few rounds to say anything about {of_what}: a 95 % interval needs 6."
    decided = [d for d in differences if d.comparison.survives != "too_few_rounds"]
    by_chance = sum(1 - d.comparison.ratio.coverage for d in decided)
    left = sorted((d for d in decided if d.survives), key=_size, reverse=True)
    words = (
        f"Between {of_what} {len(left)} of {count(len(decided), 'difference')} "
        f"survive{'s' if len(left) == 1 else ''} repetition; chance alone would let about "
        f"{by_chance:.1f} through."
    )
    if left:
        words += (
            (" The largest: " if len(left) > 1 else " It is: ")
            + "; ".join(d.sentence() for d in left[:MOST_NAMED])
            + "."
        )
    return words


def published(found: Found, what: Schedules, cores: int) -> str | None:
    """What became of SVP-BLOG's "dynamic beats static for few threads"; None where that
    can't be asked."""
    few = [threads for threads in thread_counts(cores) if threads > 1]
    if not few or not {"static", "dynamic"} <= set(what.schedules):
        return None
    compared = [
        comparison
        for chunk in what.chunks
        if (
            comparison := compare(
                found.times_s(threads=few[0], schedule="static", chunk=chunk),
                found.times_s(threads=few[0], schedule="dynamic", chunk=chunk),
            )
        )
    ]
    decided = [c for c in compared if c.survives != "too_few_rounds"]
    if not decided:
        return None
    faster = sum(c.survives == "yes" and c.ratio.low > 1 for c in decided)
    slower = sum(c.survives == "yes" and c.ratio.high < 1 for c in decided)
    return (
        f"SVP-BLOG's single runs show dynamic beating static for few threads. Here, with {few[0]} "
        f"threads, it does so beyond the noise at {faster} of {count(len(decided), 'chunk')}, "
        f"and is beaten at {slower}."
    )


def schedule_sentences(found: Found, what: Schedules, cores: int) -> list[str]:
    sentences = disturbance(found)
    sentences.append(survivors(list(schedule_differences(found, what, cores)), "schedules"))
    chunks = list(chunk_differences(found, what, cores, control=False))
    sentences.append(survivors(chunks, "chunks of one schedule"))
    control = list(chunk_differences(found, what, cores, control=True))
    decided = [d for d in control if d.comparison.survives != "too_few_rounds"]
    if decided:
        widest = max(_size(d) for d in decided)
        sentences.append(
            f"The control: for dynamic and guided, chunk 1 is the default; "
            f"{sum(d.survives for d in decided)} of these {len(decided)} differences "
            f"between equals survive{'s' if sum(d.survives for d in decided) == 1 else ''}, and "
            f"their medians differ by up to {100 * (widest - 1):.1f} %. Believe nothing smaller."
        )
    said = published(found, what, cores)
    return [*sentences, said] if said else sentences


def schedule_tables(found: Found, what: Schedules, cores: int) -> list[Table]:
    from rich.markup import escape
    from rich.table import Table

    times = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    times.add_column("threads", justify="right")
    times.add_column("chunk", justify="right")
    for schedule in what.schedules:
        times.add_column(escape(f"{schedule} [ms]"), no_wrap=True)
    ratios = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    ratios.add_column("threads", justify="right")
    ratios.add_column("ratio", no_wrap=True)
    for chunk in what.chunks:
        ratios.add_column(f"chunk {chunk}" if chunk else "default", no_wrap=True)

    for threads in thread_counts(cores):
        for chunk in what.chunks:
            cells = []
            for schedule in what.schedules:
                measured = found.times_s(threads=threads, schedule=schedule, chunk=chunk)
                ms = [1e3 * s for s in measured.values()]
                cells.append(interval_words(median_interval(ms)) if ms else "")
            if any(cells):
                times.add_row(str(threads), chunk_words(chunk), *cells)
        for first, second in combinations(what.schedules, 2):
            cells = [
                comparison_words(
                    compare(
                        found.times_s(threads=threads, schedule=first, chunk=chunk),
                        found.times_s(threads=threads, schedule=second, chunk=chunk),
                    )
                )
                for chunk in what.chunks
            ]
            if any(cells):
                ratios.add_row(str(threads), f"{first} / {second}", *cells)
    return [times, ratios]


# ---- table sizes -----------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """One table size. times in ns an update; share: of the table on huge pages, the least
    of all samples; ratio: small over huge."""

    table_bytes: int
    small: Interval | None
    huge: Interval | None
    share: float | None
    ratio: Comparison | None

    @property
    def parts(self) -> bool:
        """Small pages take longer here, by more than a tenth, whatever the noise."""
        return (
            self.ratio is not None
            and self.ratio.survives == "yes"
            and self.ratio.ratio.low > PART
            and self.share is not None
            and self.share >= ENOUGH_SHARE
        )


def _per_update_ns(found: Found, table_bytes: int, pages: str) -> Interval | None:
    records = found.records(table_bytes=table_bytes, pages=pages)
    if not records:
        return None
    return median_interval([1e9 * r["elapsed_s"] / r["updates"] for r in records])


def sizes_found(found: Found, what: TableSizes) -> list[Size]:
    """The sizes that have been measured."""
    made = []
    for table_bytes in what.sizes:
        huge_records = found.records(table_bytes=table_bytes, pages="huge")
        one = Size(
            table_bytes,
            _per_update_ns(found, table_bytes, "small"),
            _per_update_ns(found, table_bytes, "huge"),
            min((r["bytes_on_huge_pages"] / table_bytes for r in huge_records), default=None),
            compare(
                found.times_s(table_bytes=table_bytes, pages="small"),
                found.times_s(table_bytes=table_bytes, pages="huge"),
            ),
        )
        if one.small or one.huge:
            made.append(one)
    return made


def parting_bytes(sizes: Sequence[Size]) -> int | None:
    """The smallest table from which on the two part at every size; None if they don't."""
    parting = None
    for size in sorted(sizes, key=lambda one: one.table_bytes, reverse=True):
        if not size.parts:
            break
        parting = size.table_bytes
    return parting


def page_reaches(found: Found) -> list[Reach]:
    pages = [int(found.about.get(key, 0)) for key in ("page_bytes", "huge_page_bytes")]
    return [reach for page in pages if (reach := tlb_reach(found.about, page))]


def page_names(found: Found) -> tuple[str, str]:
    """4 KiB and 2 MiB on most machines."""
    return size_words(found.about["page_bytes"]), size_words(found.about["huge_page_bytes"])


def mode_sentence(mode: str | None) -> str | None:
    """Why there are no huge pages, and what the administrator can do; None if there are."""
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


def table_sentences(found: Found, what: TableSizes) -> list[str]:
    sizes = sizes_found(found, what)
    sentences = disturbance(found)
    small, huge = page_names(found)
    for reach in page_reaches(found):
        sentences.append(
            f"cpuid: the last-level TLB has {reach.entries:,} entries for "
            f"{size_words(reach.page_bytes)} pages: it reaches {size_words(reach.reach_bytes)}."
        )
    if not page_reaches(found):
        sentences.append(
            "This processor, or the hypervisor above it, does not tell the size of its TLB; "
            "only the curve tells its reach."
        )
    missing = mode_sentence(found.node["huge_page_mode"])
    if missing:
        return [*sentences, missing]
    poor = [one for one in sizes if one.share is not None and one.share < ENOUGH_SHARE]
    if poor:
        sentences.append(
            f"Not all tables got huge pages ({', '.join(size_words(o.table_bytes) for o in poor)}"
            "): memory is fragmented or short. Those rows do not count."
        )
    sentences.append(_parting_sentence(sizes, small, huge))
    of_small = tlb_reach(found.about, int(found.about["page_bytes"]))
    late = late_parting(sizes, of_small) if of_small is not None else None
    return [*sentences, late] if late else sentences


def late_parting(sizes: Sequence[Size], reach: Reach) -> str | None:
    """Why the two may part far above what small pages reach, or not at all; None where they part
    near it, or where tables or rounds are too few to tell. reach: of small pages."""
    compared = [
        one.table_bytes
        for one in sizes
        if one.ratio is not None and one.ratio.survives != "too_few_rounds"
    ]
    far_bytes = FAR * reach.reach_bytes
    if max(compared, default=0) <= far_bytes:
        return None
    parting = parting_bytes(sizes)
    if parting is not None and parting <= far_bytes:
        return None
    return (
        f"By cpuid small pages reach {size_words(reach.reach_bytes)}, and the two should part soon "
        "above that. Why not here? On a virtual machine an entry of the TLB serves the smaller of "
        "two pages, the guest's and the host's: where the host uses small ones, both kinds reach "
        "equally far, and huge pages only make the walks shorter. Elsewhere the caches may hold "
        "the page table, so that a walk costs little."
    )


def _parting_sentence(sizes: Sequence[Size], small: str, huge: str) -> str:
    compared = [(one, one.ratio) for one in sizes if one.ratio is not None]
    if not compared:
        return "No size has been measured on both kinds of pages yet."
    if all(comparison.survives == "too_few_rounds" for _, comparison in compared):
        return "Too few rounds to say where the two part: a 95 % interval needs 6."
    largest, comparison = compared[-1]
    ratio = comparison.ratio
    more = (
        f"updates on {small} pages take more than {PART:g} times as long as on {huge} pages, "
        "whatever the noise"
    )
    at_the_end = (
        f"At {size_words(largest.table_bytes)}, the largest table, it is {ratio.median:.2f} times "
        f"({ratio_words(ratio.low)} to {ratio_words(ratio.high)})."
    )
    parting = parting_bytes(sizes)
    if parting is None:
        return f"The two do not part here: there is no size from which on {more}. {at_the_end}"
    return f"From {size_words(parting)} on the two part: {more}. {at_the_end}"


def table_tables(found: Found, what: TableSizes) -> list[Table]:
    from rich.markup import escape
    from rich.table import Table

    small, huge = page_names(found)
    with_huge = mode_sentence(found.node["huge_page_mode"]) is None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("table", justify="right", no_wrap=True)
    table.add_column(escape(f"{small} [ns]"), no_wrap=True)
    if with_huge:
        table.add_column(escape(f"{huge} [ns]"), no_wrap=True)
        table.add_column("on huge", justify="right", no_wrap=True)
        table.add_column("ratio", no_wrap=True)
    for size in sizes_found(found, what):
        cells = [size_words(size.table_bytes), interval_words(size.small) if size.small else ""]
        if with_huge:
            cells += [
                interval_words(size.huge) if size.huge else "",
                "" if size.share is None else f"{100 * size.share:.0f} %",
                comparison_words(size.ratio),
            ]
        table.add_row(*cells)
    return [table]


# ---- both --------------------------------------------------------------------------------


def heading(found: Found) -> list[str]:
    what, build = found.exploration.what, found.build
    size = (
        f"n = {what.n}, {found.build['openmp_runtime']}"
        if isinstance(what, Schedules)
        else f"{what.updates:,} updates a sample, one thread"
    )
    return [
        f"{found.exploration.lab}  {found.exploration.title}",
        f"{found.node['name']}: {count(found.node['cores'], 'core')}; {size}; "
        f"{build['c_compiler']} {build['flags']}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


def samples_each(found: Found) -> list[int]:
    """How many samples each configuration has that has any."""
    each = [0] * len(found.configurations)
    for sample in found.samples:
        each[sample.configuration] += 1
    return [number for number in each if number]


def sentences(found: Found) -> list[str]:
    what = found.exploration.what
    if isinstance(what, Schedules):
        return schedule_sentences(found, what, found.node["cores"])
    return table_sentences(found, what)


def show(found: Found, console: Console) -> None:
    from rich.text import Text

    what = found.exploration.what
    first, *rest = heading(found)
    console.print(Text(first, "bold"))
    for line in rest:
        console.print(Text(line))
    if isinstance(what, Schedules):
        tables = schedule_tables(found, what, found.node["cores"])
        notes = [
            "",
            "Ratio of times in one round: interval of its median. * survives repetition: 1 is "
            "outside. ? too few rounds for 95 %.",
        ]
    else:
        tables = table_tables(found, what)
        notes = ["Nanoseconds an update. " + (
            "Ratio: small over huge pages in one round, interval of its median; * survives "
            "repetition: 1 is outside. ? too few rounds for 95 %."
            if mode_sentence(found.node["huge_page_mode"]) is None else ""
        )]  # fmt: skip
    for table, note in zip(tables, notes, strict=True):
        console.print()
        console.print(table)
        if note:
            console.print(Text(note.strip(), "dim"))
    console.print(Text(interval_note(samples_each(found)), "dim"))
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))
