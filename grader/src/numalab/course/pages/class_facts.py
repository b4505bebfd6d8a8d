"""Count what a class's results say together: by criterion, by machine, and what prevented gradings.
Pure functions of a standing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from numalab.course.gradebook.node_types import node_type, node_types
from numalab.course.gradebook.standing import Standing, StandingRow, rows_by_student
from numalab.course.records import Attempt, AttemptState
from numalab.judging.verdict import CriterionVerdict, Status, read_verdict
from numalab.labs.declaration import Lab

# A machine is called noisy if at least LEAST_TIMED criteria of time were judged on it, at least
# NOISY_SHARE of them are undecided, and that is at least NOISY_TIMES the share on all others.
LEAST_TIMED, NOISY_SHARE, NOISY_TIMES = 10, 0.10, 2.0


@dataclass
class CriterionFacts:
    """A criterion over the class.

    Attributes:
        max_points: the points that it can give.
        unit: the value's unit; may be empty.
        lower_bound, upper_bound: bounds of the value; None if there is none. These and the points
            are those of the first student's result.
        counts: numbers of students, by status over all machines.
        values: one for each student who has a value.
        failures: the first failure of each student who fails it.
    """

    lab: str
    name: str
    max_points: int
    unit: str
    lower_bound: float | None
    upper_bound: float | None
    counts: Counter[Status] = field(default_factory=Counter)
    values: list[float] = field(default_factory=list)
    failures: list[CriterionVerdict] = field(default_factory=list)

    @property
    def decided(self) -> int:
        """Number of students who pass or fail it."""
        return self.counts["pass"] + self.counts["fail"]

    @property
    def failed_share(self) -> float:
        """Share of those students who fail it, 0 to 1."""
        return self.counts["fail"] / self.decided if self.decided else 0.0

    @property
    def nobody_passes(self) -> bool:
        """Whether some students fail it and none passes; False if it is decided for none."""
        return self.decided > 0 and not self.counts["pass"]


@dataclass(frozen=True)
class Seat:
    """A student in a lab. statuses: over all machines, by criterion; empty without a result."""

    row: StandingRow
    statuses: Mapping[str, Status]


@dataclass(frozen=True)
class LabFacts:
    """A lab, or a variant, over the class; its criteria are in the lab's order, if numalab has the
    lab."""

    name: str
    seats: Sequence[Seat]
    criteria: Sequence[CriterionFacts]

    @property
    def shares(self) -> list[float]:
        """The shares of the lab's points that students have who have a grade."""
        return [
            row.points / row.max_points
            for row in (seat.row for seat in self.seats)
            if row.points is not None and row.max_points
        ]


@dataclass
class NodeGradings:
    """What was graded on a machine.

    Attributes:
        name: the machine's name; empty if not known.
        type: its type in words (node_type); empty if not known.
        graded: number of attempts that ended with a result.
        timed: number of criteria of time in them, except those that are not gradable or errors.
        undecided: how many of these are undecided.
        ended: numbers of other attempts, by state.
    """

    name: str
    type: str = ""
    graded: int = 0
    timed: int = 0
    undecided: int = 0
    ended: Counter[AttemptState] = field(default_factory=Counter)

    @property
    def undecided_share(self) -> float:
        return self.undecided / self.timed if self.timed else 0.0


@dataclass(frozen=True)
class ClassFacts:
    """What a class's results say together.

    Attributes:
        labs: by name, variants that are parts of grades included.
        nodes: the machines, those with the largest share of undecided criteria first.
        noisy: the noisy ones of them.
        mixed: rows whose gradings ran on different types of machines, with the types.
        ended: numbers of attempts by state, graded ones included.
        unsandboxed: number of gradings without a sandbox.
    """

    labs: Sequence[LabFacts]
    nodes: Sequence[NodeGradings]
    noisy: Sequence[NodeGradings]
    mixed: Sequence[tuple[StandingRow, Sequence[str]]]
    ended: Counter[AttemptState]
    unsandboxed: int

    @property
    def criteria(self) -> Iterator[CriterionFacts]:
        return (criterion for lab in self.labs for criterion in lab.criteria)

    @property
    def rows(self) -> Iterator[StandingRow]:
        return (seat.row for lab in self.labs for seat in lab.seats)

    @property
    def types(self) -> dict[str, Counter[str]]:
        """For each type of machine the numbers of machines ("nodes") and of gradings ("graded"),
        the most used type first."""
        found: dict[str, Counter[str]] = {}
        for node in self.nodes:
            if node.type:
                found.setdefault(node.type, Counter()).update(nodes=1, graded=node.graded)
        return dict(sorted(found.items(), key=lambda of: -of[1]["graded"]))

    @property
    def undecided_rows(self) -> list[StandingRow]:
        """Rows of labs with undecided points."""
        return [row for row in self.rows if row.undecided and not row.is_part]

    @property
    def ungraded_rows(self) -> list[StandingRow]:
        """Rows of labs that are handed in and have no grade."""
        return [
            row for row in self.rows if row.is_handed_in and row.points is None and not row.is_part
        ]


def ordered_by_name(rows: Iterable[StandingRow]) -> list[list[StandingRow]]:
    """Return each student's rows; students are ordered by name."""
    by_student = rows_by_student(rows).values()
    return sorted(by_student, key=lambda of: (of[0].student.name.casefold(), of[0].student.id))


def _value(same: Iterable[CriterionVerdict]) -> float | None:
    """Return a criterion's value: on the machine itself if it has one there, else on the first VM;
    None if it has none."""
    found = [place for place in same if place.value is not None]
    return min(found, key=lambda one: one.where != "here").value if found else None


def _lab_facts(name: str, rows: Iterable[StandingRow], lab: Lab | None) -> LabFacts:
    criteria: dict[str, CriterionFacts] = {}
    seats = []
    for row in rows:
        result = row.result
        if result is None:
            seats.append(Seat(row, {}))
            continue
        verdict = read_verdict(result)
        statuses = verdict.statuses
        seats.append(Seat(row, statuses))
        by_name: dict[str, list[CriterionVerdict]] = {}
        for criterion in verdict.criteria:
            by_name.setdefault(criterion.name, []).append(criterion)
        for same in by_name.values():
            first = same[0]
            facts = criteria.get(first.name)
            if facts is None:
                facts = criteria[first.name] = CriterionFacts(
                    name, first.name, first.max_points, first.unit, first.at_least, first.at_most
                )
            facts.counts[statuses[first.name]] += 1
            if statuses[first.name] == "fail":
                facts.failures.append(next(one for one in same if one.status == "fail"))
            value = _value(same)
            if value is not None:
                facts.values.append(value)
                facts.unit = facts.unit or first.unit
    order = {one.name: number for number, one in enumerate(lab.criteria)} if lab else {}
    found = sorted(criteria.values(), key=lambda one: order.get(one.name, len(order)))
    return LabFacts(name, seats, found)


def _nodes(attempts: Iterable[Attempt]) -> list[NodeGradings]:
    found: dict[str, NodeGradings] = {}
    for attempt in attempts:
        name = attempt.node.get("name") or ""
        node = found.setdefault(name, NodeGradings(name))
        node.type = node.type or node_type(attempt.node)
        if attempt.state != "graded":
            node.ended[attempt.state] += 1
            continue
        node.graded += 1
        for result in attempt.results:
            for criterion in result["criteria"]:
                is_timing = criterion["kind"] == "timing"
                if is_timing and criterion["status"] in ("pass", "fail", "inconclusive"):
                    node.timed += 1
                    node.undecided += criterion["status"] == "inconclusive"
    return sorted(found.values(), key=lambda node: (-node.undecided_share, node.name))


def _noisy(nodes: Sequence[NodeGradings]) -> list[NodeGradings]:
    """Return the machines on which much more is undecided than on the others; a single machine if
    at least NOISY_SHARE is."""
    timed, still_open = sum(node.timed for node in nodes), sum(node.undecided for node in nodes)
    found = []
    for node in nodes:
        others = timed - node.timed
        share = (still_open - node.undecided) / others if others else 0.0
        is_enough = node.timed >= LEAST_TIMED and node.undecided_share >= NOISY_SHARE
        if is_enough and node.undecided_share >= NOISY_TIMES * share:
            found.append(node)
    return found


def class_facts(standing: Standing, labs: Mapping[str, Lab]) -> ClassFacts:
    """Count a standing's results. labs: those that numalab has; the standing may have others."""
    by_lab: dict[str, list[StandingRow]] = {}
    rows = list(standing.rows_with_variants)
    for row in rows:
        by_lab.setdefault(row.lab, []).append(row)
    attempts = [attempt for row in rows for attempt in row.attempts]
    nodes = _nodes(attempts)
    typed = ((row, node_types(row.attempts)) for row in rows if row.others)
    return ClassFacts(
        labs=[_lab_facts(name, by_lab[name], labs.get(name)) for name in sorted(by_lab)],
        nodes=nodes,
        noisy=_noisy(nodes),
        mixed=[(row, types) for row, types in typed if len(types) > 1],
        ended=Counter(attempt.state for attempt in attempts),
        unsandboxed=sum(
            attempt.state == "graded" and attempt.sandbox == "none" for attempt in attempts
        ),
    )
