"""Parts of grades as pages show them: what each gives, and what it can give. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numalab.course.gradebook.feedback import STATE_WORDS
from numalab.course.gradebook.parts import GradePart, PartName, PartState
from numalab.course.gradebook.standing import StandingRow

# States of parts; of several parts of one name, the first of these states is shown.
_FIRST: tuple[PartState, ...] = ("waiting", "open", "graded", "not taken", "missing", "left out")
_UNDECIDED: tuple[PartState, ...] = ("waiting", "open")


@dataclass(frozen=True)
class PartSum:
    """The sum of parts of one name, over some labs.

    Attributes:
        state: the state that is shown for all of them.
        points, max_points: those that they give, and that they can give.
        why: what a single part's points follow from; empty if there are several.
    """

    name: PartName
    state: PartState
    points: float
    max_points: float
    why: str = ""

    @property
    def words(self) -> str:
        """The points, such as "3.2 of 4", or "-" if there can be none."""
        return f"{self.points:g} of {self.max_points:g}" if self.max_points else "-"

    @property
    def state_words(self) -> str:
        """The state in words; empty if the part is graded."""
        return STATE_WORDS[self.state]

    @property
    def kind(self) -> str:
        """The style of the cell."""
        if not self.max_points:
            return "none"
        if self.state in _UNDECIDED:
            return "inconclusive"
        if self.points >= self.max_points:
            return "pass"
        return "part" if self.points else "fail"

    @property
    def left(self) -> float:
        """The points that it can give and does not."""
        return max(0.0, round(self.max_points - self.points, 6))


def part_sum(parts: Sequence[GradePart]) -> PartSum:
    """Add up parts, one or more, of the same name."""
    states = {part.state for part in parts}
    return PartSum(
        parts[0].name,
        next(state for state in _FIRST if state in states),
        round(sum(part.points for part in parts), 2),
        round(sum(part.max_points for part in parts), 2),
        parts[0].why if not parts[1:] else "",
    )


def part_sums(rows: Iterable[StandingRow], names: Sequence[PartName]) -> list[PartSum | None]:
    """Add up the parts of some rows, for each of the names; None if no row has such a part."""
    own = list(rows)
    found = [[part for row in own if (part := row.part(name)) is not None] for name in names]
    return [part_sum(parts) if parts else None for parts in found]


def added_up(rows: Iterable[StandingRow]) -> list[StandingRow]:
    """Return the rows whose points are the sum of their parts: those with a grade that is not set
    by hand."""
    return [row for row in rows if row.points is not None and not row.override_reason]
