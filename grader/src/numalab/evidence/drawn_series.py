"""What a kernel has answered about what the kit has drawn: each series beside its truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numalab.evidence.results import KernelRun


@dataclass(frozen=True)
class DrawnSeries:
    """kind: as the lab's driver calls what it was drawn as; length: in elements; truth: what the
    kernel should have told; told: what it has, number by number."""

    kind: str
    length: int
    truth: tuple[int, ...]
    told: tuple[int, ...]


@dataclass(frozen=True)
class Series(KernelRun):
    """In the order in which they were drawn, which is by chance."""

    series: tuple[DrawnSeries, ...]


def series_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of them beside part and outcome."""
    return {
        "series": tuple(
            DrawnSeries(one["kind"], one["length"], tuple(one["truth"]), tuple(one["told"]))
            for one in data["series"]
        )
    }
