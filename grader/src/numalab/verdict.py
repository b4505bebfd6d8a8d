"""Verdicts: one status, value and reason for each criterion, and their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from numalab.lab import Criterion, Kind

Status = Literal["pass", "fail", "not_gradable", "inconclusive", "error"]
UNGRADED: tuple[Status, ...] = ("not_gradable", "inconclusive", "error")


@dataclass(frozen=True)
class CriterionVerdict:
    """value: in unit, None where nothing was measured; interval: of a timing ratio, an end
    is None where the generations do not bound it; where: "here" or a machine's name."""

    name: str
    kind: Kind
    status: Status
    why: str
    points: int
    max_points: int
    value: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    interval: tuple[float | None, float | None] | None = None
    where: str = "here"

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
            "value": self.value,
            "unit": self.unit,
            "points": self.points,
            "max_points": self.max_points,
            "where": self.where,
            "why": self.why,
        }
        if self.at_least is not None:
            data["at_least"] = self.at_least
        if self.at_most is not None:
            data["at_most"] = self.at_most
        if self.interval is not None:
            data["interval"] = list(self.interval)
        return data


@dataclass(frozen=True)
class Verdict:
    lab: str
    language: str
    variant: str
    criteria: tuple[CriterionVerdict, ...]

    @property
    def status(self) -> Status:
        """fail before error before inconclusive before pass; not_gradable changes nothing."""
        found = {criterion.status for criterion in self.criteria}
        order: tuple[Status, ...] = ("fail", "error", "inconclusive")
        for status in order:
            if status in found:
                return status
        return "pass"

    @property
    def points(self) -> int:
        return sum(criterion.points for criterion in self.criteria)

    @property
    def max_points(self) -> int:
        return sum(criterion.max_points for criterion in self.criteria)

    @property
    def ungraded_points(self) -> int:
        return sum(c.max_points for c in self.criteria if c.status in UNGRADED)

    def failed(self) -> tuple[CriterionVerdict, ...]:
        return tuple(c for c in self.criteria if c.status == "fail")

    def to_json(self) -> dict[str, Any]:
        return {
            "lab": self.lab,
            "language": self.language,
            "variant": self.variant,
            "status": self.status,
            "points": self.points,
            "max_points": self.max_points,
            "ungraded_points": self.ungraded_points,
            "criteria": [criterion.to_json() for criterion in self.criteria],
        }


def verdict_on(criterion: Criterion, status: Status, why: str, **more: Any) -> CriterionVerdict:
    """A criterion's verdict with the points that its status earns."""
    return CriterionVerdict(
        name=criterion.name,
        kind=criterion.kind,
        status=status,
        why=why,
        points=criterion.points if status == "pass" else 0,
        max_points=criterion.points,
        at_least=criterion.at_least,
        at_most=criterion.at_most,
        **more,
    )
