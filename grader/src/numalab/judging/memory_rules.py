"""The rules for tables that a kernel allocates: huge pages, memory taken, memory left. Pure
functions."""

from __future__ import annotations

from collections.abc import Sequence

from numalab import words
from numalab.evidence.kinds import MEMORY, PAGE_TABLES
from numalab.evidence.record import SOLUTION, Evidence
from numalab.evidence.run_formats import KernelTable
from numalab.judging.registry import Rule
from numalab.judging.soundness import judge_value, missing_runs
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Criterion

# The share of a table from which an advice counts as one for the whole table: pieces of pages at
# both ends may lack it.
MOSTLY = 0.99


def _no_huge_pages(table: KernelTable, is_handout: bool) -> str:
    """Return the likely reason why no page of a table is a huge page, without a full stop."""
    if is_handout:
        return "nobody asked the kernel for them; this is still the handout"
    if table.resident_created_bytes is None or table.advised_bytes is None:
        return "nobody asked the kernel for them in time, or they were refused"
    if table.advised_bytes == 0 and table.page_offset_bytes:
        return (
            "nobody asked the kernel for them with MADV_HUGEPAGE, or it refused. It refuses "
            "(EINVAL) an address that is not the start of a page, and the table begins "
            f"{words.count(table.page_offset_bytes, 'byte')} behind one: look at what the call "
            "returns"
        )
    if table.advised_bytes == 0:
        return (
            "nobody asked the kernel for them with MADV_HUGEPAGE, or it refused: look at the "
            "advice, and at what the call returns"
        )
    if table.resident_created_bytes - table.resident_before_bytes > table.bytes / 2:
        return (
            "the kernel was asked, but too late. The table had been written before, and what has "
            "its small pages keeps them"
        )
    return (
        "the kernel was asked, and gave none: they may be switched off for the process, memory may "
        "be in pieces, or the table holds no whole huge page"
    )


def _some_huge_pages(table: KernelTable, is_small: bool) -> str:
    """Return why a part of a table is on small pages, as a clause that begins with a colon; empty:
    not known. is_small: the pages at both ends count."""
    reasons = []
    asked_for = table.advised_bytes
    if asked_for is not None and table.huge_bytes <= asked_for < MOSTLY * table.bytes:
        reasons.append(
            f"the kernel was asked for them for {words.amount(asked_for)} of it, by the address "
            "and the length that madvise got"
        )
    if is_small:
        reasons.append(
            "a huge page begins at a multiple of its own size, and where the table does not, its "
            "ends stay on small pages"
        )
    return f": {'; and '.join(reasons)}" if reasons else ""


@Rule("huge_pages", runs=(MEMORY, PAGE_TABLES))
def huge_pages(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the share of a table on huge pages in the last run; the table with the least share
    counts."""
    missing = missing_runs(criterion, evidence, evidence.runs_of(MEMORY))
    if missing:
        return missing
    tables = evidence.runs_of(MEMORY)[-1].tables
    worst = min(tables, key=lambda table: table.huge_bytes / table.bytes)
    share = worst.huge_bytes / worst.bytes
    part = words.first_upper(words.percent(share))
    why = f"{part} of a table of {words.amount(worst.bytes)} sits on huge pages"
    if share == 0:
        why += f": {_no_huge_pages(worst, bool(evidence.unchanged_files))}"
    elif share < (criterion.at_least or 1):
        why += _some_huge_pages(worst, worst is tables[0])
    return judge_value(criterion, share, why + ".", unit="share")


@Rule("no_waste", runs=(MEMORY,))
def no_waste(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the resident memory that the last table takes, over its size."""
    missing = missing_runs(criterion, evidence, evidence.runs_of(MEMORY))
    if missing:
        return missing
    table = evidence.runs_of(MEMORY)[-1].tables[-1]
    resident_bytes = table.resident_during_bytes - table.resident_before_bytes
    asked, taken = words.amount(table.bytes), words.amount(resident_bytes)
    why = f"A table of {asked} takes {taken} of memory."
    return judge_value(criterion, resident_bytes / table.bytes, why, unit="of what was asked for")


def _left_words(resident_bytes: int, mapped_bytes: int, allowed_bytes: float) -> str:
    """Return what is left of a table in words: memory, or addresses where it is no more than is
    allowed, or both where more addresses are left."""
    memory = f"{words.amount(resident_bytes)} of memory"
    addresses = f"{words.amount(mapped_bytes)} of addresses"
    if resident_bytes <= allowed_bytes:
        return f"{addresses}, though {'hardly any' if resident_bytes > 0 else 'no'} memory,"
    if mapped_bytes <= resident_bytes:
        return memory
    return f"{memory} and {addresses}"


# The share of the last table by which a process may grow more than the solution's from the first
# table, whose making starts the team and the allocator, to the last one. A process with as much
# memory in reserve could give that back in the place of the last table.
MOST_IN_HAND = 0.5


def _baseline_bytes(tables: Sequence[KernelTable], evidence: Evidence) -> tuple[int, int]:
    """Return the bytes of resident memory and of addresses that a process may have after the last
    table is destroyed: what it had before, and, where both made several tables, no more than before
    the first table plus what the solution grows by plus a margin (MOST_IN_HAND)."""
    first, last = tables[0], tables[-1]
    before = (last.resident_before_bytes, last.address_space_before_bytes)
    solutions = evidence.runs_of(MEMORY, SOLUTION)
    if first is last or not solutions or len(solutions[-1].tables) < 2:
        return before  # nothing to go by
    own_first, own_last = solutions[-1].tables[0], solutions[-1].tables[-1]
    room = int(MOST_IN_HAND * last.bytes)
    resident_growth = own_last.resident_before_bytes - own_first.resident_before_bytes
    mapped_growth = own_last.address_space_before_bytes - own_first.address_space_before_bytes
    return (
        min(before[0], first.resident_before_bytes + max(0, resident_growth) + room),
        min(before[1], first.address_space_before_bytes + max(0, mapped_growth) + room),
    )


@Rule("released", runs=(MEMORY,))
def released(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the memory or addresses, whichever is more, that are left of the last table after it
    was destroyed, over its size."""
    missing = missing_runs(criterion, evidence, evidence.runs_of(MEMORY))
    if missing:
        return missing
    tables = evidence.runs_of(MEMORY)[-1].tables
    table = tables[-1]
    resident_before_bytes, mapped_before_bytes = _baseline_bytes(tables, evidence)
    resident_bytes = table.resident_after_bytes - resident_before_bytes
    mapped_bytes = table.address_space_after_bytes - mapped_before_bytes
    left_bytes = max(resident_bytes, mapped_bytes, 0)
    value = left_bytes / table.bytes
    if value <= criterion.most:
        why = f"After it was destroyed nothing is left of a table of {words.amount(table.bytes)}."
    else:
        left = _left_words(resident_bytes, mapped_bytes, criterion.most * table.bytes)
        why = (
            f"Of a table of {words.amount(table.bytes)}, {left} are still taken after it was "
            "destroyed."
        )
    return judge_value(criterion, value, why, unit="of the table")


def unfit_mode(mode: str, needed: Sequence[str]) -> str:
    """Return why a machine's mode of transparent huge pages shows nothing, and which mode would.
    needed: the modes that do."""
    file = "/sys/kernel/mm/transparent_hugepage/enabled"
    if mode == "always":
        return (
            "Transparent huge pages are in mode 'always' here: every large table gets them, "
            "whoever made it. It can be graded where the mode is 'madvise', or where Linux is 6.18 "
            f"or newer; the administrator can set the mode: echo madvise > {file}"
        )
    if mode == "never":
        return (
            "Transparent huge pages are switched off on this node. The administrator can let "
            f"programs ask for them: echo madvise > {file}"
        )
    return f"This node's mode of transparent huge pages is {mode}, not {' or '.join(needed)}."
