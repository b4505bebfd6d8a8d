"""Pages that were traced: who wrote and used them first, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numalab.evidence.run_formats import Origin
from numalab.evidence.sample import Sample


@dataclass(frozen=True)
class TracedArray:
    """One entry per page that was traced: who wrote it first (-1: nobody), and who used it.
    used_again: of pages that were closed in the middle of a phase and used again how often, by
    first writer and user. *_from: the same by origins; None where the record has none."""

    name: str
    first_writer: tuple[int, ...]
    users: tuple[frozenset[int], ...]
    sample: Sample
    used_again: Mapping[tuple[int, int], int] = field(default_factory=dict)
    written_from: tuple[Origin | None, ...] | None = None
    used_from: tuple[frozenset[Origin], ...] | None = None
    used_again_from: Mapping[tuple[Origin | None, Origin], int] | None = None
