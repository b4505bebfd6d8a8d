"""Which pages of an array a run checked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckedPages:
    """The pages of an array that a run checked.

    Attributes:
        pages: number of pages of the array.
        blocks: (first page, number of pages) of each stretch that was checked, in order.
    """

    pages: int
    blocks: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """Return how many pages were checked."""
        return sum(count for _, count in self.blocks)

    @property
    def is_whole(self) -> bool:
        return self.count == self.pages
