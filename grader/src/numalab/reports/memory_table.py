"""What a kernel's large table costs, on small pages and on huge ones."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs
from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.kinds import MEMORY, PAGE_TABLES, TIMED_ROUND
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    SUBMISSION,
    Evidence,
    TimedRound,
)
from numalab.evidence.run_formats import KernelTable, PageTablesLife
from numalab.judging.timing_claims import best_s
from numalab.reports.rate_words import duration

NOISY = 1.25  # third over first quartile of times that a table shows as one


def _with_medians(table: KernelTable, generations: Sequence[TimedRound], role: str) -> KernelTable:
    timed = [g for g in generations if g.ok and g.elapsed_s.get(role)]
    if not timed:
        return table
    return structs.replace(
        table,
        initialize_s=statistics.median(g.roles[role].initialize_s for g in timed),
        compute_s=statistics.median(best_s(g, role) for g in timed),
    )


@dataclass(frozen=True)
class MemoryColumn:
    """The large table of one kernel. page_tables: None where nobody looked at them."""

    name: str
    table: KernelTable
    page_tables: PageTablesLife | None


def memory_columns(evidence: Evidence) -> list[MemoryColumn]:
    """The large table on small pages, on huge pages and as it was handed in; times are medians
    over the generations where there are any."""
    whose = {"submission": "yours", "solution": "the solution", "handout": "the handout"}
    columns = []
    for name, role in (
        ("4 KiB pages", HANDOUT),
        ("2 MiB pages", SOLUTION),
        (whose[evidence.variant], SUBMISSION),
    ):
        runs = evidence.runs_of(MEMORY, role)
        if runs and runs[-1].outcome.ok:
            table = _with_medians(runs[-1].tables[-1], evidence.runs_of(TIMED_ROUND), role)
            of_tables = [run for run in evidence.runs_of(PAGE_TABLES, role) if run.outcome.ok]
            lives = of_tables[-1].tables if of_tables else ()
            columns.append(MemoryColumn(name, table, lives[-1] if lives else None))
    return columns if evidence.runs_of(MEMORY) else []


def _page_tables(column: MemoryColumn) -> str:
    return words.amount(column.page_tables.most_bytes) if column.page_tables else ""


# An empty value: not known.
MEMORY_ROWS: tuple[tuple[str, Callable[[MemoryColumn], str]], ...] = (
    ("on huge pages", lambda it: words.percent(it.table.huge_bytes / it.table.bytes)),
    ("page tables (VmPTE)", _page_tables),
    ("page faults while it is zeroed", lambda it: f"{it.table.initialize_page_faults:,}"),
    ("zeroing it", lambda it: duration(it.table.initialize_s)),
    ("random updates", lambda it: duration(it.table.compute_s)),
)


def memory_rows(columns: Sequence[MemoryColumn]) -> list[tuple[str, list[str]]]:
    """What is known of them, by its name."""
    rows = [(label, [value(column) for column in columns]) for label, value in MEMORY_ROWS]
    return [(label, values) for label, values in rows if any(values)]


def _are_noisy(generations: Sequence[TimedRound]) -> bool:
    """Whether the times of a role differ by more than NOISY between the quartiles."""
    for role in (HANDOUT, SOLUTION, SUBMISSION):
        times = [best_s(g, role) for g in generations if g.ok and g.elapsed_s.get(role)]
        if len(times) > 1:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            if high > NOISY * low:
                return True
    return False


def memory_caption(evidence: Evidence, columns: Sequence[MemoryColumn]) -> str:
    size = words.amount(columns[-1].table.bytes)
    if not evidence.runs_of(TIMED_ROUND):
        return f"A table of {size}, one run"
    return (
        f"A table of {size}{', times noisy' if _are_noisy(evidence.runs_of(TIMED_ROUND)) else ''}"
    )


def memory_table(evidence: Evidence) -> Table | None:
    """What the large table costs."""
    columns = memory_columns(evidence)
    if not columns:
        return None
    table = Table.grid(padding=(0, 3))
    table.add_row(
        Text(memory_caption(evidence, columns), style="bold"),
        *(Text(column.name, style="bold", justify="right") for column in columns),
    )
    for label, values in memory_rows(columns):
        table.add_row(f"  {label}", *(Text(value, justify="right") for value in values))
    return table
