"""Which pages of an array were looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """pages: how many the array has; blocks: of those that were looked at the first page and the
    number of pages of each stretch, in order."""

    pages: int
    blocks: tuple[tuple[int, int], ...]

    @property
    def looked_at(self) -> int:
        return sum(count for _, count in self.blocks)

    @property
    def is_whole(self) -> bool:
        return self.looked_at == self.pages
