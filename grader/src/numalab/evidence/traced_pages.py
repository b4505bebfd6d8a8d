"""Pages that were traced: who wrote them first and who used them, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.run_formats import Origin


@dataclass(frozen=True)
class TracedArray:
    """An array whose pages were traced, with one entry per traced page.

    Attributes:
        first_writer: number of the thread that wrote the page first; -1: nobody.
        users: threads that used the page.
        used_again: how often pages that were closed in the middle of a phase were used again, by
            (first writer, user).
        written_from, used_from, used_again_from: the same by origins of accesses; None: the record
            has none.
    """

    name: str
    first_writer: tuple[int, ...]
    users: tuple[frozenset[int], ...]
    checked_pages: CheckedPages
    used_again: Mapping[tuple[int, int], int] = field(default_factory=dict)
    written_from: tuple[Origin | None, ...] | None = None
    used_from: tuple[frozenset[Origin], ...] | None = None
    used_again_from: Mapping[tuple[Origin | None, Origin], int] | None = None
