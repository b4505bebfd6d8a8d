"""Verdicts: status, value and reason of each criterion, and their sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

from numalab.errors import NumalabError
from numalab.labs.declaration import Criterion, Kind

Status = Literal["pass", "fail", "not_gradable", "inconclusive", "error"]
UNGRADED: tuple[Status, ...] = ("not_gradable", "inconclusive", "error")

# What a verdict rests on, for programs; `why` is for people, and may be worded anew.
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
    """The meaning of a cause, and the statuses that a verdict with it can have."""

    means: str
    statuses: tuple[Status, ...]


# On a virtual machine, which is slow and small, a limit is not the kernel's fault.
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


# Why a criterion is undecided after an interrupt.
NOT_GRADED = "Interrupted before it was graded."
NOT_DECIDED = "Interrupted before it was decided."


@dataclass(frozen=True)
class Warned:
    """A warning of an OpenMP runtime about its environment, in the runtime's words."""

    runtime: str
    words: str


# The keys of a criterion's verdict in JSON, in their order. Optional ones are left out where there
# is nothing to say.
_KEYS = (
    "name", "kind", "status", "cause", "value", "unit", "points", "max_points", "where", "why",
)  # fmt: skip
_OPTIONAL_KEYS = (
    "at_least", "at_most", "interval", "confidence", "began_in", "explained_by", "warnings",
    "withheld", "withheld_status", "withheld_points",
)  # fmt: skip


@dataclass(frozen=True)
class CriterionVerdict:
    """The verdict on one criterion on one machine.

    Attributes:
        name, kind: the criterion's.
        status: what came out.
        cause: what the status rests on, for programs.
        why: the same for people, in sentences.
        points: the points that it earns, of max_points; with a score it may be a share of them.
        value: what was measured, in `unit`; None where nothing was.
        at_least, at_most: the bounds of the value, as lab.toml declares them; None: no bound.
        interval: of a value that times give; an end is None where the replicates do not bound it.
        confidence: that of the interval (0 to 1).
        where: "here", or a virtual machine's name.
        began_in: the function of the contract in which the kernel went wrong; where that is not
            known, the function of MPI, or the array with the first wrong result; else empty.
        explained_by: another criterion, whose failure most likely explains this one's.
        warnings: those of OpenMP runtimes.
        withheld: why it earns no points though it passes: the name of the criterion that they also
            need, or UNCHANGED; else empty.
        withheld_status: the status of what they also need; None where nothing is withheld.
        withheld_points: the points that it would earn.

    Raises KeyError for a cause that CAUSES lacks, ValueError for one that is not of the status.
    """

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
        """Tell whether it passes with less than all points, and none are withheld."""
        return self.status == "pass" and self.points < self.max_points and not self.withheld

    @property
    def points_status(self) -> Status:
        """The status that decides its points: where they are withheld, that of what they need."""
        return self.withheld_status or self.status

    def withholding(self, needed: str, status: Status) -> CriterionVerdict:
        """Return the verdict without its points. needed: as `withheld`; status: that of it."""
        return replace(
            self, points=0, withheld=needed, withheld_status=status, withheld_points=self.points
        )

    def restore_points(self) -> CriterionVerdict:
        """Return the verdict with the points that it earns by itself."""
        if not self.withheld:
            return self
        return replace(
            self, points=self.withheld_points, withheld="", withheld_status=None, withheld_points=0
        )

    def json_data(self) -> dict[str, Any]:
        data = {key: getattr(self, key) for key in _KEYS}
        optional = {key: getattr(self, key) for key in _OPTIONAL_KEYS} | {
            "interval": None if self.interval is None else list(self.interval),
            "warnings": [asdict(warned) for warned in self.warnings],
            "withheld_points": self.withheld_points if self.withheld else None,
        }
        return data | {key: value for key, value in optional.items() if value not in (None, "", [])}


def _worst(statuses: Collection[Status]) -> Status:
    order: tuple[Status, ...] = ("fail", "error", "inconclusive")
    return next((status for status in order if status in statuses), "pass")


def status_over(statuses: Collection[Status]) -> Status:
    """Return the status of a criterion that has these on several machines: fail, error,
    inconclusive or pass, the first of them that occurs. not_gradable does not count, unless all
    are."""
    if all(status == "not_gradable" for status in statuses):
        return "not_gradable"
    return _worst(statuses)


def combined_status(same: Sequence[CriterionVerdict]) -> Status:
    """Return the status of one criterion by its verdicts on several machines."""
    return status_over([criterion.status for criterion in same])


# The value of `withheld` for starting code, which earns nothing; no criterion has this name.
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Verdict:
    """The result of a grading.

    Attributes:
        lab, language: what was graded.
        variant: which code it was: a submission, the solution, the starting code.
        criteria: the verdicts, by criterion and machine.
        earns_with: by name of a criterion, the other one that has to pass for its points.
        unchanged: all that was handed in is the starting code, which earns nothing.

    Where there is either, the points of criteria are what earns_with and unchanged leave of them.
    """

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
        """Return the criteria with the points that earns_with and unchanged leave of them."""
        own = [criterion.restore_points() for criterion in self.criteria]
        return tuple(
            criterion.withholding(*needed) if (needed := self._lacks(criterion, own)) else criterion
            for criterion in own
        )

    def _lacks(
        self, criterion: CriterionVerdict, own: Sequence[CriterionVerdict]
    ) -> tuple[str, Status] | None:
        """Return what a passed criterion's points also need and lack, and its status; or None."""
        if criterion.status != "pass":
            return None
        if self.unchanged:
            return UNCHANGED, "fail"
        name = self.earns_with.get(criterion.name)
        status = combined_status([c for c in own if c.name == name] or [criterion])
        return (name, status) if name and status != "pass" else None

    @property
    def points_if_changed(self) -> float:
        """The points that the verdicts earn, by earns_with, for code that is not starting code."""
        own = tuple(criterion.restore_points() for criterion in self.criteria)
        return replace(self, criteria=own, unchanged=False).points

    @property
    def status(self) -> Status:
        """The worst of all: fail, error, inconclusive, pass. not_gradable does not count."""
        return _worst({criterion.status for criterion in self.criteria})

    def _group_by_name(self) -> list[list[CriterionVerdict]]:
        """Return the verdicts of each criterion, which may be graded on several machines."""
        by_name: dict[str, list[CriterionVerdict]] = {}
        for criterion in self.criteria:
            by_name.setdefault(criterion.name, []).append(criterion)
        return list(by_name.values())

    @property
    def points(self) -> float:
        """The sum of `earned`, rounded to two digits."""
        return rounded_points(sum(self.earned.values()))

    @property
    def earned(self) -> dict[str, float]:
        """The points of each criterion, by name, that passes wherever it could be graded."""
        return {
            same[0].name: max(c.points for c in same)
            for same in self._group_by_name()
            if combined_status(same) == "pass"
        }

    @property
    def max_points(self) -> int:
        return sum(same[0].max_points for same in self._group_by_name())

    def points_of(self, *statuses: Status) -> int:
        """Return the sum of max_points of the criteria whose points go by one of these statuses."""
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
        """All points but those of not_gradable criteria. Undecided ones and errors are among them:
        otherwise an undecided criterion would be worth more than a failed one."""
        return self.max_points - self.points_of("not_gradable")

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of each criterion over all machines on which it was graded, by name."""
        return {same[0].name: combined_status(same) for same in self._group_by_name()}

    def failed(self) -> tuple[CriterionVerdict, ...]:
        return tuple(c for c in self.criteria if c.status == "fail")

    @property
    def began_in(self) -> dict[str, str]:
        """The place where each failed criterion went wrong, where it is known; the first of several
        machines' counts."""
        return {c.name: c.began_in for c in reversed(self.failed()) if c.began_in}

    @property
    def explained_by(self) -> dict[str, str]:
        """The criterion that explains each failed one, by the failed one's name."""
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
    """Return the verdict that json_data gave, without earns_with, whose effect is in the points;
    further keys, such as those of timing, are ignored. Raises NumalabError where it is damaged."""
    try:
        return Verdict(
            lab=data["lab"],
            language=data["language"],
            variant=data["variant"],
            criteria=tuple(_read_criterion(entry) for entry in data["criteria"]),
            unchanged=data.get("unchanged", False),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NumalabError(f"a stored verdict is damaged: {error!r}") from error


def _read_cause(data: Mapping[str, Any]) -> Cause:
    """Return the cause. Verdicts of earlier versions have none; of these an interrupt shows in the
    sentence."""
    if "cause" in data:
        cause: Cause = data["cause"]
        return cause
    if data["status"] == "pass":
        return "reached"
    return "interrupted" if data["why"] in (NOT_GRADED, NOT_DECIDED) else "not_told"


def _read_criterion(data: Mapping[str, Any]) -> CriterionVerdict:
    interval = data.get("interval")
    read = {key: data[key] for key in _KEYS if key != "cause"}
    read |= {key: data[key] for key in _OPTIONAL_KEYS if key in data}
    read |= {
        "cause": _read_cause(data),
        "interval": None if interval is None else (interval[0], interval[1]),
        "began_in": data.get("began_in", data.get("wrong_array", "")),  # as it was called before
        "warnings": tuple(Warned(**warned) for warned in data.get("warnings", ())),
    }
    return CriterionVerdict(**read)


def rounded_points(points: float) -> float:
    """Return points rounded to two digits; an int where they are a whole number."""
    rounded = round(points + 1e-9, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def verdict_on(
    criterion: Criterion, status: Status, cause: Cause, why: str, score: float = 1.0, **more: Any
) -> CriterionVerdict:
    """Return a verdict on a criterion, with the points that its status earns.

    Args:
        score: the share of the points that it earns when it passes (0 to 1).
        more: further fields of the verdict, such as value and unit.

    Raises as CriterionVerdict does.
    """
    return CriterionVerdict(
        name=criterion.name,
        kind=criterion.kind,
        status=status,
        cause=cause,
        why=why,
        points=rounded_points(criterion.points * score) if status == "pass" else 0,
        max_points=criterion.points,
        at_least=criterion.required_share,
        at_most=criterion.at_most,
        **more,
    )


def tag_machine(verdict: Verdict, where: str) -> Verdict:
    """Return what counts of a verdict on a virtual machine, tagged with the machine's name.

    Times do not count, and of correctness only a failure does: the few runs on a virtual machine
    can show a wrong result, and are too few to call a kernel correct.
    """
    return replace(
        verdict,
        criteria=tuple(
            replace(c, where=where)
            for c in verdict.criteria
            if c.kind == "evidence" or (c.kind == "correctness" and c.status == "fail")
        ),
    )


def merge_machine(
    local: Verdict, remote: Verdict, where: str, only: Collection[str] | None
) -> Verdict:
    """Return this machine's verdict merged with a virtual machine's, which replaces what could not
    be graded on this one.

    Args:
        where: the virtual machine's name.
        only: the names of the criteria that are added where the virtual machine could show them;
            None: all. Failures of correctness are always added.
    """
    added = list(tag_machine(remote, where).criteria)
    if only is not None:
        added = [
            c
            for c in added
            if c.kind == "correctness" or (c.name in only and c.status != "not_gradable")
        ]
    shown = {c.name for c in added if c.status != "not_gradable"}
    kept = [c for c in local.criteria if c.status != "not_gradable" or c.name not in shown]
    order = {c.name: number for number, c in enumerate(remote.criteria)}
    criteria = sorted([*kept, *added], key=lambda c: order[c.name])
    return replace(local, criteria=tuple(criteria))
