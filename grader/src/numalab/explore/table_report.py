"""What an exploration of table sizes found, as a table of 80 columns and a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numalab.explore.declaration import TableSizes
from numalab.explore.intervals import Comparison, Interval, compare, median_interval
from numalab.explore.samples import Found
from numalab.explore.tlb import Reach, tlb_reach
from numalab.explore.wording import (
    bytes_words,
    comparison_words,
    disturbance,
    interval_words,
    ratio_words,
)

if TYPE_CHECKING:
    from rich.table import Table

PART = 1.1  # "the two part": where small pages take so many times longer, at the least
FAR = 4  # times the TLB's reach: who parts only there does so for another reason
ENOUGH_SHARE = 0.9  # of a table on huge pages, to be called so


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
        size = Size(
            table_bytes,
            _per_update_ns(found, table_bytes, "small"),
            _per_update_ns(found, table_bytes, "huge"),
            min((r["bytes_on_huge_pages"] / table_bytes for r in huge_records), default=None),
            compare(
                found.times_s(table_bytes=table_bytes, pages="small"),
                found.times_s(table_bytes=table_bytes, pages="huge"),
            ),
        )
        if size.small or size.huge:
            made.append(size)
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
    return bytes_words(found.about["page_bytes"]), bytes_words(found.about["huge_page_bytes"])


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
            f"{bytes_words(reach.page_bytes)} pages: it reaches {bytes_words(reach.reach_bytes)}."
        )
    if not page_reaches(found):
        sentences.append(
            "This processor, or the hypervisor above it, does not tell the size of its TLB; "
            "only the curve tells its reach."
        )
    missing = mode_sentence(found.node["huge_page_mode"])
    if missing:
        return [*sentences, missing]
    poor = [size for size in sizes if size.share is not None and size.share < ENOUGH_SHARE]
    if poor:
        sentences.append(
            f"Not all tables got huge pages ({', '.join(bytes_words(o.table_bytes) for o in poor)}"
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
        size.table_bytes
        for size in sizes
        if size.ratio is not None and size.ratio.survives != "too_few_rounds"
    ]
    far_bytes = FAR * reach.reach_bytes
    if max(compared, default=0) <= far_bytes:
        return None
    parting = parting_bytes(sizes)
    if parting is not None and parting <= far_bytes:
        return None
    return (
        f"By cpuid small pages reach {bytes_words(reach.reach_bytes)}, and the two should part "
        "soon above that. Why not here? On a virtual machine an entry of the TLB serves the "
        "smaller of two pages, the guest's and the host's: where the host uses small ones, both "
        "kinds reach equally far, and huge pages only make the walks shorter. Elsewhere the "
        "caches may hold the page table, so that a walk costs little."
    )


def _parting_sentence(sizes: Sequence[Size], small: str, huge: str) -> str:
    compared = [(size, size.ratio) for size in sizes if size.ratio is not None]
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
        f"At {bytes_words(largest.table_bytes)}, the largest table, it is {ratio.median:.2f} times "
        f"({ratio_words(ratio.low)} to {ratio_words(ratio.high)})."
    )
    parting = parting_bytes(sizes)
    if parting is None:
        return f"The two do not part here: there is no size from which on {more}. {at_the_end}"
    return f"From {bytes_words(parting)} on the two part: {more}. {at_the_end}"


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
        cells = [bytes_words(size.table_bytes), interval_words(size.small) if size.small else ""]
        if with_huge:
            cells += [
                interval_words(size.huge) if size.huge else "",
                "" if size.share is None else f"{100 * size.share:.0f} %",
                comparison_words(size.ratio),
            ]
        table.add_row(*cells)
    return [table]
