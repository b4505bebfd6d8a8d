"""Verdicts: one status, value and reason for each criterion, and their sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

from numalab.labs.declaration import Criterion, Kind

Status = Literal["pass", "fail", "not_gradable", "inconclusive", "error"]
UNGRADED: tuple[Status, ...] = ("not_gradable", "inconclusive", "error")

# What a verdict rests on. Logic asks for it; `why` is for people, and may be worded anew.
Cause = Literal[
    "reached",
    "not_built",
    "wrong_result",
    "open_request",
    "crashed",
    "exited",
    "timed_out",
    "out_of_memory",
    "over_limit",
    "no_memory",
    "refused_call",
    "disturbed_monitor",
    "ended_node",
    "not_right_yet",
    "data_race",
    "deadlock",
    "bad_file",
    "missed",
    "busy_waiting",
    "too_slow",
    "too_fast",
    "unstable",
    "not_predicted",
    "too_few_numa_nodes",
    "too_few_cores",
    "huge_page_mode",
    "times_refused",
    "no_launch_here",
    "no_effect_here",
    "solution_misses_it",
    "not_visible_here",
    "seen_elsewhere",
    "not_run_there",
    "interrupted",
    "not_measured",
    "node_paused",
    "cut_too_early",
    "implausible",
    "too_noisy",
    "not_decided",
    "kit",
    "not_booted",
    "not_told",
]


class Meaning(NamedTuple):
    """Of a cause. statuses: those of the verdicts that can have it."""

    means: str
    statuses: tuple[Status, ...]


# On a virtual node, which is slow and small, a limit is nobody's fault.
_LIMITED: tuple[Status, ...] = ("fail", "error")

# grader/README.md has this table for readers.
CAUSES: dict[Cause, Meaning] = {
    "reached": Meaning("what is asked for is there", ("pass",)),
    "not_built": Meaning("the kernel is missing, or can't be compiled or linked", ("fail",)),
    "wrong_result": Meaning("an element is wrong, or something outside an array", ("fail",)),
    "open_request": Meaning(
        "a message of MPI was left, or its buffer used, before it was complete", ("fail",)
    ),
    "crashed": Meaning("a signal ended the kernel", ("fail",)),
    "exited": Meaning("the kernel ended the program, or MPI did after an error", ("fail",)),
    "timed_out": Meaning("the kernel did not return in time", _LIMITED),
    "out_of_memory": Meaning("the kernel took more memory than is allowed", _LIMITED),
    "over_limit": Meaning("the kernel printed too much or started too many threads", ("fail",)),
    "no_memory": Meaning("the kernel gave no memory for an array, or took it away", ("fail",)),
    "refused_call": Meaning("the sandbox refused a system call of the kernel", ("fail",)),
    "disturbed_monitor": Meaning(
        "the kernel meddled with the monitor, or kept the kit from its part", ("fail",)
    ),
    "ended_node": Meaning("the kernel ended the virtual node that it ran on", ("fail",)),
    "not_right_yet": Meaning("not judged, since the kernel is not correct yet", ("fail",)),
    "data_race": Meaning("two threads touch the same memory without an order", ("fail",)),
    "deadlock": Meaning("ranks that work with buffered sends don't without", ("fail",)),
    "bad_file": Meaning("a file is missing, or it can't be used as it is written", ("fail",)),
    "missed": Meaning("the evidence is not within what is asked for", ("fail",)),
    "busy_waiting": Meaning(
        "a team takes far more CPU time than one thread, as threads do that spin", ("fail",)
    ),
    "too_slow": Meaning("the times are worse than is asked for", ("fail",)),
    "too_fast": Meaning("what is timed takes less than what is asked for can take", ("fail",)),
    "unstable": Meaning(
        "neither fast enough nor too slow, and less steady than the solution", ("fail",)
    ),
    "not_predicted": Meaning("the prediction is too far from what was measured", ("fail",)),
    "too_few_numa_nodes": Meaning("this machine has too few NUMA nodes", ("not_gradable",)),
    "too_few_cores": Meaning("this node offers too few cores", ("not_gradable",)),
    "huge_page_mode": Meaning("the mode of transparent huge pages hides it", ("not_gradable",)),
    "times_refused": Meaning("no times are taken at this place", ("not_gradable",)),
    "no_launch_here": Meaning("the kit's own launch has no meaning here", ("not_gradable",)),
    "no_effect_here": Meaning("this node does not show the effect at all", ("not_gradable",)),
    "solution_misses_it": Meaning("the kit's solution misses it here, too", ("not_gradable",)),
    "not_visible_here": Meaning("what would show it is missing or refused here", ("not_gradable",)),
    "seen_elsewhere": Meaning("another place shows it, and that counts", ("not_gradable",)),
    "not_run_there": Meaning(
        "not run on a virtual node before it is right here", ("not_gradable", "error")
    ),
    "interrupted": Meaning("the grading was interrupted before this", ("inconclusive",)),
    "not_measured": Meaning("the record lacks the run that decides it", ("inconclusive",)),
    "node_paused": Meaning("the node stood still again and again", ("inconclusive",)),
    "cut_too_early": Meaning(
        "repetitions were cut off before they could tell what is asked for now", ("inconclusive",)
    ),
    "implausible": Meaning(
        "faster than the work allows, until an instructor has looked at how", ("inconclusive",)
    ),
    "too_noisy": Meaning("other load hides it just now", ("inconclusive",)),
    "not_decided": Meaning("too few generations in the time allowed", ("inconclusive",)),
    "kit": Meaning("the kit, or its own kernel, could not go on", ("error",)),
    "not_booted": Meaning("the virtual node could not be used", ("error",)),
    "not_told": Meaning(
        "a verdict of an earlier version of the kit, which kept none",
        ("fail", "not_gradable", "inconclusive", "error"),
    ),
}


# Why something is open that somebody did not wait for.
NOT_GRADED = "Interrupted before it was graded."
NOT_DECIDED = "Interrupted before it was decided."


@dataclass(frozen=True)
class Warned:
    """What an OpenMP runtime said of its environment, as it said it."""

    runtime: str
    words: str


@dataclass(frozen=True)
class CriterionVerdict:
    """cause: what it rests on; why: that for people; value: in unit, None where nothing was
    measured; interval: of a timing ratio, an end is None where the generations do not bound it;
    points: of max_points, where it passes; a score earns a share of them;
    confidence: with which it holds the median, 0 to 1;
    where: "here" or a machine's name; began_in: the function of the contract in which it went
    wrong, or as far as that is not known MPI's, or the array with the first wrong result; empty:
    not known; explained_by: another criterion, which fails by what most likely makes this one
    fail; warnings: what runtimes said; withheld: what its points need beside it and lack: another
    criterion, or UNCHANGED; withheld_status: of that; withheld_points: what it would earn. Raises
    ValueError where the cause is none of that status."""

    name: str
    kind: Kind
    status: Status
    cause: Cause
    why: str
    points: float
    max_points: int
    value: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""
    interval: tuple[float | None, float | None] | None = None
    confidence: float | None = None
    where: str = "here"
    began_in: str = ""
    explained_by: str = ""
    warnings: tuple[Warned, ...] = ()
    withheld: str = ""
    withheld_status: Status | None = None
    withheld_points: float = 0

    def __post_init__(self) -> None:
        if self.status not in CAUSES[self.cause].statuses:
            raise ValueError(f"{self.name}: '{self.cause}' is no cause of '{self.status}'")

    @property
    def is_partial(self) -> bool:
        """It passes and could earn more."""
        return self.status == "pass" and self.points < self.max_points and not self.withheld

    @property
    def points_status(self) -> Status:
        """What its points are: as its status, but for those that are withheld."""
        return self.withheld_status or self.status

    def withholding(self, needed: str, status: Status) -> CriterionVerdict:
        """Return the same without its points. needed: what they need beside it; status: of that."""
        return replace(
            self, points=0, withheld=needed, withheld_status=status, withheld_points=self.points
        )

    def restore_points(self) -> CriterionVerdict:
        """Return the same with the points that nothing else decides."""
        if not self.withheld:
            return self
        return replace(
            self, points=self.withheld_points, withheld="", withheld_status=None, withheld_points=0
        )

    def json_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
            "cause": self.cause,
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
        if self.confidence is not None:
            data["confidence"] = self.confidence
        if self.began_in:
            data["began_in"] = self.began_in
        if self.explained_by:
            data["explained_by"] = self.explained_by
        if self.warnings:
            data["warnings"] = [asdict(warned) for warned in self.warnings]
        if self.withheld:
            data["withheld"] = self.withheld
            data["withheld_status"] = self.withheld_status
            data["withheld_points"] = self.withheld_points
        return data


def _worst(statuses: Collection[Status]) -> Status:
    order: tuple[Status, ...] = ("fail", "error", "inconclusive")
    return next((status for status in order if status in statuses), "pass")


def status_over(statuses: Collection[Status]) -> Status:
    """The status of a criterion that has these in several places: not_gradable only where none
    could show it."""
    if all(status == "not_gradable" for status in statuses):
        return "not_gradable"
    return _worst(statuses)


def combined_status(same: Sequence[CriterionVerdict]) -> Status:
    """As status_over."""
    return status_over([criterion.status for criterion in same])


# What starting code earns beside: nothing. In the place of a criterion's name, which is another.
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Verdict:
    """What a grading has found. earns_with: of criteria that earn their points only where another
    one passes, that, by name; unchanged: all that was handed in is the starting code, which earns
    nothing. Both are worked into the points of the criteria, whatever was put together of them."""

    lab: str
    language: str
    variant: str
    criteria: tuple[CriterionVerdict, ...]
    earns_with: Mapping[str, str] = field(default_factory=dict, compare=False)
    unchanged: bool = False

    def __post_init__(self) -> None:
        if self.earns_with or self.unchanged:
            object.__setattr__(self, "criteria", self._settled())

    def _settled(self) -> tuple[CriterionVerdict, ...]:
        """Return the criteria with the points that they earn beside each other."""
        own = [criterion.restore_points() for criterion in self.criteria]
        return tuple(
            criterion.withholding(*needed) if (needed := self._lacks(criterion, own)) else criterion
            for criterion in own
        )

    def _lacks(
        self, criterion: CriterionVerdict, own: Sequence[CriterionVerdict]
    ) -> tuple[str, Status] | None:
        """Return what keeps one that passes from its points, and the status of that."""
        if criterion.status != "pass":
            return None
        if self.unchanged:
            return UNCHANGED, "fail"
        name = self.earns_with.get(criterion.name)
        status = combined_status([c for c in own if c.name == name] or [criterion])
        return (name, status) if name and status != "pass" else None

    @property
    def points_if_changed(self) -> float:
        """What the same would earn if it were no starting code."""
        own = tuple(criterion.restore_points() for criterion in self.criteria)
        return replace(self, criteria=own, unchanged=False).points

    @property
    def status(self) -> Status:
        """fail before error before inconclusive before pass; not_gradable changes nothing."""
        return _worst({criterion.status for criterion in self.criteria})

    def _group_by_name(self) -> list[list[CriterionVerdict]]:
        """A criterion that was graded in several places earns its points once."""
        by_name: dict[str, list[CriterionVerdict]] = {}
        for criterion in self.criteria:
            by_name.setdefault(criterion.name, []).append(criterion)
        return list(by_name.values())

    @property
    def points(self) -> float:
        """Of the criteria that pass wherever they could be graded."""
        return rounded_points(sum(self.earned.values()))

    @property
    def earned(self) -> dict[str, float]:
        """The points of each criterion that passes wherever it could be graded."""
        return {
            same[0].name: max(c.points for c in same)
            for same in self._group_by_name()
            if combined_status(same) == "pass"
        }

    @property
    def max_points(self) -> int:
        return sum(same[0].max_points for same in self._group_by_name())

    def points_of(self, *statuses: Status) -> int:
        """That the criteria of these statuses would give."""
        return sum(
            same[0].max_points
            for same in self._group_by_name()
            if status_over([criterion.points_status for criterion in same]) in statuses
        )

    @property
    def ungraded_points(self) -> int:
        return self.points_of(*UNGRADED)

    @property
    def earnable_points(self) -> int:
        """All but those of what can't be shown there. What is open, or was spoilt by the kit, is
        among them until it is decided: else an open criterion would be worth more than a failed
        one."""
        return self.max_points - self.points_of("not_gradable")

    @property
    def statuses(self) -> dict[str, Status]:
        """Of each criterion over all places where it was graded."""
        return {same[0].name: combined_status(same) for same in self._group_by_name()}

    def failed(self) -> tuple[CriterionVerdict, ...]:
        return tuple(c for c in self.criteria if c.status == "fail")

    @property
    def began_in(self) -> dict[str, str]:
        """By criterion, where it is known; of several places the first."""
        return {c.name: c.began_in for c in reversed(self.failed()) if c.began_in}

    @property
    def explained_by(self) -> dict[str, str]:
        """Of criteria that fail by another one, that; by criterion."""
        return {c.name: c.explained_by for c in self.failed() if c.explained_by}

    def json_data(self) -> dict[str, Any]:
        return {
            "lab": self.lab,
            "language": self.language,
            "variant": self.variant,
            "status": self.status,
            "points": self.points,
            "max_points": self.max_points,
            "ungraded_points": self.ungraded_points,
            **(
                {"unchanged": True, "points_if_changed": self.points_if_changed}
                if self.unchanged
                else {}
            ),
            "criteria": [criterion.json_data() for criterion in self.criteria],
        }


def read_verdict(data: Mapping[str, Any]) -> Verdict:
    """From what json_data gave; further keys, such as those of timing, are left out. Raises
    KeyError where it lacks one."""
    return Verdict(
        lab=data["lab"],
        language=data["language"],
        variant=data["variant"],
        criteria=tuple(_read_criterion(entry) for entry in data["criteria"]),
        unchanged=data.get("unchanged", False),
    )


def _read_cause(data: Mapping[str, Any]) -> Cause:
    """Verdicts of earlier versions have none, and only these sentences to tell an interrupt."""
    if "cause" in data:
        cause: Cause = data["cause"]
        return cause
    if data["status"] == "pass":
        return "reached"
    return "interrupted" if data["why"] in (NOT_GRADED, NOT_DECIDED) else "not_told"


def _read_criterion(data: Mapping[str, Any]) -> CriterionVerdict:
    interval = data.get("interval")
    return CriterionVerdict(
        name=data["name"],
        kind=data["kind"],
        status=data["status"],
        cause=_read_cause(data),
        why=data["why"],
        points=data["points"],
        max_points=data["max_points"],
        value=data["value"],
        at_least=data.get("at_least"),
        at_most=data.get("at_most"),
        unit=data["unit"],
        interval=None if interval is None else (interval[0], interval[1]),
        confidence=data.get("confidence"),
        where=data["where"],
        began_in=data.get("began_in", data.get("wrong_array", "")),  # as it was called before
        explained_by=data.get("explained_by", ""),
        warnings=tuple(Warned(**warned) for warned in data.get("warnings", ())),
        withheld=data.get("withheld", ""),
        withheld_status=data.get("withheld_status"),
        withheld_points=data.get("withheld_points", 0),
    )


def rounded_points(points: float) -> float:
    """To two digits, and a whole number where it is one, as most are."""
    rounded = round(points + 1e-9, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def verdict_on(
    criterion: Criterion, status: Status, cause: Cause, why: str, score: float = 1.0, **more: Any
) -> CriterionVerdict:
    """A criterion's verdict with the points that its status earns. score: 0 to 1, the share of
    them that a criterion that is scored has when it passes."""
    return CriterionVerdict(
        name=criterion.name,
        kind=criterion.kind,
        status=status,
        cause=cause,
        why=why,
        points=rounded_points(criterion.points * score) if status == "pass" else 0,
        max_points=criterion.points,
        at_least=criterion.asked_share,
        at_most=criterion.at_most,
        **more,
    )


def tag_machine(verdict: Verdict, where: str) -> Verdict:
    """What a virtual node can show. No times, and no results beyond those of the evidence
    runs: a wrong one counts, right ones are not enough to be called correct."""
    return replace(
        verdict,
        criteria=tuple(
            replace(c, where=where)
            for c in verdict.criteria
            if c.kind == "evidence" or (c.kind == "correctness" and c.status == "fail")
        ),
    )


def merge_machine(
    here: Verdict, there: Verdict, where: str, only: Collection[str] | None
) -> Verdict:
    """The verdict with what a virtual node has shown; it takes the place of what could not
    be graded here. only: names of the criteria that are added where the virtual node could
    show them; None: all."""
    added = list(tag_machine(there, where).criteria)
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
