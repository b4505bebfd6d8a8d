"""What a session's record has beside runs of the monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SeededNode:
    """The machine made from a seed that a file answers questions about, as it was booted. node:
    what describe_node said there; None where nobody could look, and error is why."""

    seed: int
    node: dict[str, Any] | None
    error: str | None


@dataclass(frozen=True)
class EarlierTimes:
    """Generations of a record that were taken by an earlier session of the same. started_at: when
    that began, ISO 8601 with zone."""

    started_at: str
    generations: int
