"""What the pages of a course show beside its standing: the parts that a grade is made of, and
hand-ins that are alike. Whoever works them out hands them to `write_reports`; without them pages
say nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class PartShare(NamedTuple):
    """A part of a grade, such as "kernel" or "prediction". share: of what it can give, 0 to 1; None
    where nothing of it was handed in or graded; weight: beside those of the other parts."""

    name: str
    share: float | None
    weight: float


@dataclass(frozen=True)
class PartShares:
    """What one student's grade in one lab is made of, in the order in which it is shown."""

    parts: tuple[PartShare, ...]

    def of_grade(self, part: PartShare) -> float:
        """Its weight as a share of the grade, 0 to 1."""
        return part.weight / (sum(one.weight for one in self.parts) or 1.0)


@dataclass(frozen=True)
class Alike:
    """Hand-ins of one lab in one language that resemble each other. students: ids; what: in which
    way, a sentence."""

    students: tuple[str, ...]
    lab: str
    language: str
    what: str


@dataclass(frozen=True)
class Beside:
    """parts: by student's id and lab."""

    parts: Mapping[tuple[str, str], PartShares] = field(default_factory=dict)
    alike: Sequence[Alike] = ()


NOTHING_BESIDE = Beside()
