"""What a kernel's large table costs, on small pages and on huge ones."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.kinds import GENERATION, MEMORY
from numalab.evidence.record import (
    HANDOUT,
    SOLUTION,
    SUBMISSION,
    Evidence,
    Generation,
    KernelTable,
)
from numalab.judging.timing_rules import best_s

NOISY = 1.25  # third over first quartile of times that a table shows as one


def _with_medians(table: KernelTable, generations: Sequence[Generation], role: str) -> KernelTable:
    timed = [g for g in generations if g.ok and g.elapsed_s.get(role)]
    if not timed:
        return table
    return replace(
        table,
        initialize_s=statistics.median(g.roles[role].initialize_s for g in timed),
        compute_s=statistics.median(best_s(g, role) for g in timed),
    )


def memory_columns(evidence: Evidence) -> list[tuple[str, KernelTable]]:
    """The large table on small pages, on huge pages and as it was handed in, each with its
    name; times are medians over the generations where there are any."""
    whose = {"submission": "yours", "solution": "the solution", "handout": "the handout"}
    columns = [
        (name, _with_medians(runs[-1].tables[-1], evidence.of(GENERATION), role))
        for name, role, runs in (
            ("4 KiB pages", HANDOUT, evidence.of(MEMORY, HANDOUT)),
            ("2 MiB pages", SOLUTION, evidence.of(MEMORY, SOLUTION)),
            (whose[evidence.variant], SUBMISSION, evidence.of(MEMORY)),
        )
        if runs and runs[-1].outcome.ok
    ]
    return columns if evidence.of(MEMORY) else []


MEMORY_ROWS: tuple[tuple[str, Callable[[KernelTable], str]], ...] = (
    ("on huge pages", lambda one: words.percent(one.huge_bytes / one.bytes)),
    ("page faults while it is zeroed", lambda one: f"{one.initialize_page_faults:,}"),
    ("zeroing it", lambda one: f"{1e3 * one.initialize_s:.0f} ms"),
    ("random updates", lambda one: f"{1e3 * one.compute_s:.0f} ms"),
)


def _are_noisy(generations: Sequence[Generation]) -> bool:
    """Whether the times of a role differ by more than NOISY between the quartiles."""
    for role in (HANDOUT, SOLUTION, SUBMISSION):
        times = [best_s(g, role) for g in generations if g.ok and g.elapsed_s.get(role)]
        if len(times) > 1:
            low, _, high = statistics.quantiles(times, n=4, method="inclusive")
            if high > NOISY * low:
                return True
    return False


def memory_caption(evidence: Evidence, columns: Sequence[tuple[str, KernelTable]]) -> str:
    size = words.amount(columns[-1][1].bytes)
    if not evidence.of(GENERATION):
        return f"A table of {size}, one run"
    return f"A table of {size}{', times noisy' if _are_noisy(evidence.of(GENERATION)) else ''}"


def memory_table(evidence: Evidence) -> Table | None:
    """What the large table costs."""
    columns = memory_columns(evidence)
    if not columns:
        return None
    table = Table.grid(padding=(0, 3))
    table.add_row(
        Text(memory_caption(evidence, columns), style="bold"),
        *(Text(name, style="bold", justify="right") for name, _ in columns),
    )
    for label, value in MEMORY_ROWS:
        table.add_row(f"  {label}", *(Text(value(one), justify="right") for _, one in columns))
    return table
