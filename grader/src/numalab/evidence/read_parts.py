"""Evidence from pieces of a run's record that several kinds have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from numalab.evidence.results import Mismatch, Outcome, Results
from numalab.evidence.run_formats import OutcomeRecord, ResidencyEntry, ResultsRecord, TracedPages
from numalab.evidence.sample import Sample

_Value = TypeVar("_Value")
_MOST_PAGES = 1 << 22  # of one array: of 16 GiB, of which no grading looks at all


def read_outcome(record: OutcomeRecord) -> Outcome:
    detail: dict[str, Any] = msgspec.to_builtins(record)
    return Outcome(detail.pop("status"), detail)


def read_results(record: ResultsRecord) -> Results:
    first = record.first_wrong
    return Results(
        checked=record.checked,
        wrong=record.wrong,
        first_wrong=None
        if first is None
        else Mismatch(
            **msgspec.to_builtins(first)
            | {"expected": float(first.expected), "found": float(first.found)}
        ),
        wrote_before_array=record.wrote_before_array,
        too_few_messages=record.too_few_messages,
        requests=record.requests,
        n_unit=record.n_unit,
        too_few_bytes=record.too_few_bytes,
        messages_ahead=record.messages_ahead,
        replaced_array=record.replaced_array,
        wrote_after_array=record.wrote_after_array,
    )


def expand(runs: Sequence[tuple[_Value, int]]) -> tuple[_Value, ...]:
    """Return a value for each page, of values with the number of pages that have them in a row.
    Raises ValueError for more pages than any record has: a few bytes can say so."""
    if sum(count for _, count in runs) > _MOST_PAGES:
        raise ValueError(f"an array of more than {_MOST_PAGES:,} pages")
    return tuple(value for value, count in runs for _ in range(count))


def read_sample(entry: ResidencyEntry | TracedPages, looked_at: int) -> Sample:
    """Return which pages of an array were looked at: all of them in an older record, which has
    none of this. looked_at: pages."""
    if entry.pages is None or entry.blocks is None:
        return Sample(looked_at, ((0, looked_at),))
    return Sample(entry.pages, tuple(entry.blocks))
