"""Parts of grades as pages show them: what each gives beside what it can give. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numalab.course.gradebook.feedback import STATE_WORDS
from numalab.course.gradebook.parts import GradePart, PartName, PartState
from numalab.course.gradebook.standing import StandingRow

# Of several parts of one name the state that says most of what they gave.
_FIRST: tuple[PartState, ...] = ("waiting", "open", "graded", "not taken", "missing", "left out")
_UNDECIDED: tuple[PartState, ...] = ("waiting", "open")


@dataclass(frozen=True)
class PartSum:
    """Parts of one name together.

    Attributes:
        state: the one that says most.
        why: what a single part follows from; may be empty.
    """

    name: PartName
    state: PartState
    points: float
    max_points: float
    why: str = ""

    @property
    def words(self) -> str:
        """ "3.2 of 4", or "-"."""
        return f"{self.points:g} of {self.max_points:g}" if self.max_points else "-"

    @property
    def state_words(self) -> str:
        """The state in words; empty if it is graded."""
        return STATE_WORDS[self.state]

    @property
    def kind(self) -> str:
        """The style of a cell."""
        if not self.max_points:
            return "none"
        if self.state in _UNDECIDED:
            return "inconclusive"
        if self.points >= self.max_points:
            return "pass"
        return "part" if self.points else "fail"

    @property
    def left(self) -> float:
        """Points that it can give and does not."""
        return max(0.0, round(self.max_points - self.points, 6))


def part_sum(parts: Sequence[GradePart]) -> PartSum:
    """Add up parts, one or more, of the same name."""
    states = {part.state for part in parts}
    return PartSum(
        parts[0].name,
        next(state for state in _FIRST if state in states),
        round(sum(part.points for part in parts), 2),
        round(sum(part.max_points for part in parts), 2),
        parts[0].score.why if not parts[1:] else "",
    )


def part_sums(rows: Iterable[StandingRow], names: Sequence[PartName]) -> list[PartSum | None]:
    """Add up parts by name; None if there is no such part."""
    own = list(rows)
    found = [[part for row in own if (part := row.part(name)) is not None] for name in names]
    return [part_sum(parts) if parts else None for parts in found]


def added_up(rows: Iterable[StandingRow]) -> list[StandingRow]:
    """Return the rows whose parts give their points: those with a grade that was not set by
    hand."""
    return [row for row in rows if row.points is not None and not row.override_reason]
