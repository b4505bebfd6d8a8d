"""Pieces of a run's record that several kinds of evidence have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numalab.evidence.record import Json, Thread
from numalab.evidence.results import Mismatch, OpenRequests, Outcome, Results, TooFew
from numalab.evidence.sample import Sample


def _number(value: float | str) -> float:
    return float(value)  # "NaN", "Infinity" and "-Infinity" included


def read_outcome(data: Json) -> Outcome:
    detail = {key: value for key, value in data.items() if key != "status"}
    return Outcome(data["status"], detail)


def read_results(data: Json) -> Results:
    first = data.get("first_wrong")
    return Results(
        checked=data["checked"],
        wrong=data["wrong"],
        first_wrong=first
        and Mismatch(
            array=first["array"],
            element=first["element"],
            expected=_number(first["expected"]),
            found=_number(first["found"]),
            phase=first["phase"],
            repetition=first["repetition"],
            rank=first.get("rank"),
            row=first.get("row"),
            column=first.get("column"),
            row_name=first.get("row_name"),
            remark=first.get("remark", ""),
            expected_digits=first.get("expected_digits", ""),
            found_digits=first.get("found_digits", ""),
        ),
        wrote_before_array=data.get("wrote_before_array"),
        too_few_messages=_too_few(data.get("too_few_messages")),
        requests=_open_requests(data["requests"]) if "requests" in data else None,
        n_unit=data.get("n_unit", ""),
        too_few_bytes=_too_few(data.get("too_few_bytes")),
        messages_ahead=data.get("messages_ahead", 0),
        replaced_array=data.get("replaced_array"),
        wrote_after_array=data.get("wrote_after_array"),
    )


def _too_few(data: Json | None) -> TooFew | None:
    return None if data is None else TooFew(**data)


def _open_requests(data: Json) -> OpenRequests:
    return OpenRequests(
        fault=data["fault"],
        count=data["count"],
        call=data["call"],
        rank=data["rank"],
        phase=data["phase"],
        line=data.get("line", ""),
    )


def read_threads(data: Sequence[Json]) -> tuple[Thread, ...]:
    return tuple(
        Thread(
            number=entry["thread"],
            allowed_pus=tuple(entry["allowed_pus"]),
            core=entry["core"],
            package=entry["package"],
            numa_node=entry["numa_node"],
            last_pu=entry["last_pu"],
        )
        for entry in data
    )


# Of one array: of 16 GiB, of which a grading has never looked at all.
_MOST_PAGES = 1 << 22


def expand(runs: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Raises ValueError for more than any record has: a few bytes can say so."""
    if sum(count for _, count in runs) > _MOST_PAGES:
        raise ValueError(f"an array of more than {_MOST_PAGES:,} pages")
    return tuple(value for value, count in runs for _ in range(count))


def read_sample(entry: Json, looked_at: int) -> Sample:
    """Of one array; looked_at: pages. An older record has all."""
    if "blocks" not in entry:
        return Sample(looked_at, ((0, looked_at),))
    return Sample(entry["pages"], tuple((first, count) for first, count in entry["blocks"]))
