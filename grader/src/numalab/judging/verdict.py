"""Verdicts: one status, value and reason for each criterion, and their sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from numalab.labs.declaration import Criterion, Kind

Status = Literal["pass", "fail", "not_gradable", "inconclusive", "error"]
UNGRADED: tuple[Status, ...] = ("not_gradable", "inconclusive", "error")
# Why something is open that somebody did not wait for.
NOT_GRADED = "Interrupted before it was graded."
NOT_DECIDED = "Interrupted before it was decided."


@dataclass(frozen=True)
class CriterionVerdict:
    """value: in unit, None where nothing was measured; interval: of a timing ratio, an end
    is None where the generations do not bound it; where: "here" or a machine's name;
    wrong_array: of results, the array in which the first wrong one is; empty: none, or not
    known."""

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
    wrong_array: str = ""

    @property
    def is_interrupted(self) -> bool:
        return self.why in (NOT_GRADED, NOT_DECIDED)

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
        if self.wrong_array:
            data["wrong_array"] = self.wrong_array
        return data


def _worst(criteria: Sequence[CriterionVerdict]) -> Status:
    found = {criterion.status for criterion in criteria}
    order: tuple[Status, ...] = ("fail", "error", "inconclusive")
    return next((status for status in order if status in found), "pass")


def over_all_places(same: Sequence[CriterionVerdict]) -> Status:
    """The status of a criterion by its verdicts in several places: not_gradable only where none
    could show it."""
    if all(c.status == "not_gradable" for c in same):
        return "not_gradable"
    return _worst(same)


@dataclass(frozen=True)
class Verdict:
    lab: str
    language: str
    variant: str
    criteria: tuple[CriterionVerdict, ...]

    @property
    def status(self) -> Status:
        """fail before error before inconclusive before pass; not_gradable changes nothing."""
        return _worst(self.criteria)

    def _by_name(self) -> list[list[CriterionVerdict]]:
        """A criterion that was graded in several places earns its points once."""
        found: dict[str, list[CriterionVerdict]] = {}
        for criterion in self.criteria:
            found.setdefault(criterion.name, []).append(criterion)
        return list(found.values())

    @property
    def points(self) -> int:
        """Of the criteria that pass wherever they could be graded."""
        return sum(
            max(c.points for c in same) for same in self._by_name() if _worst(same) == "pass"
        )

    @property
    def max_points(self) -> int:
        return sum(same[0].max_points for same in self._by_name())

    def points_of(self, *statuses: Status) -> int:
        """That the criteria of these statuses would give."""
        return sum(
            same[0].max_points for same in self._by_name() if over_all_places(same) in statuses
        )

    @property
    def ungraded_points(self) -> int:
        return self.points_of(*UNGRADED)

    @property
    def statuses(self) -> dict[str, Status]:
        """Of each criterion over all places where it was graded."""
        return {same[0].name: over_all_places(same) for same in self._by_name()}

    def failed(self) -> tuple[CriterionVerdict, ...]:
        return tuple(c for c in self.criteria if c.status == "fail")

    @property
    def wrong_arrays(self) -> dict[str, str]:
        """By criterion, where it is known; of several places the first."""
        return {c.name: c.wrong_array for c in reversed(self.failed()) if c.wrong_array}

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


def read_verdict(data: Mapping[str, Any]) -> Verdict:
    """From what to_json gave; further keys, such as those of timing, are left out. Raises KeyError
    where it lacks one."""
    return Verdict(
        lab=data["lab"],
        language=data["language"],
        variant=data["variant"],
        criteria=tuple(_read_criterion(entry) for entry in data["criteria"]),
    )


def _read_criterion(data: Mapping[str, Any]) -> CriterionVerdict:
    interval = data.get("interval")
    return CriterionVerdict(
        name=data["name"],
        kind=data["kind"],
        status=data["status"],
        why=data["why"],
        points=data["points"],
        max_points=data["max_points"],
        value=data["value"],
        at_least=data.get("at_least"),
        at_most=data.get("at_most"),
        unit=data["unit"],
        interval=None if interval is None else (interval[0], interval[1]),
        where=data["where"],
        wrong_array=data.get("wrong_array", ""),
    )


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


def of_machine(there: Verdict, where: str) -> Verdict:
    """What a virtual node can show. No times, and no results beyond those of the evidence
    runs: a wrong one counts, right ones are not enough to be called correct."""
    return replace(
        there,
        criteria=tuple(
            replace(c, where=where)
            for c in there.criteria
            if c.kind == "evidence" or (c.kind == "correctness" and c.status == "fail")
        ),
    )


def with_machine(
    here: Verdict, there: Verdict, where: str, only: Collection[str] | None
) -> Verdict:
    """The verdict with what a virtual node has shown; it takes the place of what could not
    be graded here. only: names of the criteria that are added where the virtual node could
    show them; None: all."""
    added = list(of_machine(there, where).criteria)
    if only is not None:
        added = [
            c
            for c in added
            if c.kind == "correctness" or (c.name in only and c.status != "not_gradable")
        ]
    shown = {c.name for c in added if c.status != "not_gradable"}
    kept = [c for c in here.criteria if c.status != "not_gradable" or c.name not in shown]
    order = {c.name: number for number, c in enumerate(there.criteria)}
    criteria = sorted([*kept, *added], key=lambda c: order[c.name])
    return replace(here, criteria=tuple(criteria))
