"""Evidence from pieces of a run's record that several kinds have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.run_formats import ResidencyEntry, TracedPages

_Value = TypeVar("_Value")
_MOST_PAGES = 1 << 22  # of one array: with pages of 4 KiB 16 GiB, more than any grading looks at


def expand(runs: Sequence[tuple[_Value, int]]) -> tuple[_Value, ...]:
    """Return a value for each page, of values with the number of pages that have them in a row.
    Raises ValueError for more than _MOST_PAGES pages, which a few bytes can say."""
    if sum(count for _, count in runs) > _MOST_PAGES:
        raise ValueError(f"an array of more than {_MOST_PAGES:,} pages")
    return tuple(value for value, count in runs for _ in range(count))


def read_checked_pages(entry: ResidencyEntry | TracedPages, count: int) -> CheckedPages:
    """Return which pages of an array a run checked; in an older record, which does not tell, all
    of them. count: number of pages that it checked."""
    if entry.pages is None or entry.blocks is None:
        return CheckedPages(count, ((0, count),))
    return CheckedPages(entry.pages, tuple(entry.blocks))
