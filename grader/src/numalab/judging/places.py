"""The verdict over all places: what this node shows, and what virtual nodes add. Pure functions
over stored records, so that a grading and who judges it again later use the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from numalab.evidence.record import Evidence
from numalab.judging import judge, planner
from numalab.judging.judge import sound_parts
from numalab.judging.rules import is_local_only, judges_answers
from numalab.judging.soundness import is_sound, unseen
from numalab.judging.verdict import (
    NOT_GRADED,
    Cause,
    CriterionVerdict,
    Status,
    Verdict,
    merge_machine,
)
from numalab.labs.declaration import RUN_UNDER, Lab

HERE = "here"
NOT_MEASURED = (
    "Not measured there: it was graded before this was asked for. Grading again measures it."
)


@dataclass(frozen=True)
class Elsewhere:
    """What a grading did beyond this node, as far as records of evidence don't tell. named: the
    machines that were asked for; none: the lab's own, as far as they are needed; not_booted: by
    machine why there is none; interrupted_at: "here" or the machine at which it was stopped, so
    that nobody waited for the rest; ended: by machine that the kernel has ended it."""

    named: tuple[str, ...] = ()
    not_booted: Mapping[str, str] = field(default_factory=dict)
    interrupted_at: str | None = None
    ended: Mapping[str, str] = field(default_factory=dict)

    def json_data(self) -> dict[str, Any]:
        return asdict(self)


def read_elsewhere(data: Mapping[str, Any]) -> Elsewhere:
    """From what json_data gave, in earlier versions without `ended`. Raises KeyError where it lacks
    another key."""
    return Elsewhere(
        tuple(data["named"]),
        dict(data["not_booted"]),
        data["interrupted_at"],
        dict(data.get("ended", {})),
    )


@dataclass(frozen=True)
class Look:
    """What a machine is to show. parts: of the student's kernels that are run there; only: the
    criteria that it adds to the verdict; None: all that it can show."""

    machine: str
    parts: tuple[str | None, ...]
    only: frozenset[str] | None


def criteria_of_all_machines(lab: Lab) -> frozenset[str]:
    """The criteria that are graded on each of the lab's machines."""
    return frozenset(c.name for c in lab.criteria if c.on_machines)


def can_run(lab: Lab, here: Evidence) -> bool:
    """Whether there is anything that another place could be shown: a kernel that is right here,
    or a file that says where threads or ranks go."""
    return bool(sound_parts(lab, here) or any(file.kind in RUN_UNDER for file in lab.files))


def _local_criteria(lab: Lab) -> frozenset[str]:
    """The criteria that no other place has to show: answers in files, and what a grading looks at
    here only."""
    return frozenset(c.name for c in lab.criteria if judges_answers(c) or is_local_only(c))


def _missing(lab: Lab, verdict: Verdict) -> list[CriterionVerdict]:
    """What this node can't show, and a virtual one could."""
    return [
        c
        for c in verdict.criteria
        if c.status == "not_gradable"
        and c.kind == "evidence"
        and c.name not in _local_criteria(lab)
    ]


def looks(lab: Lab, here: Evidence, named: Sequence[str] = ()) -> tuple[Look, ...]:
    """Where a kernel is to be looked at beside this node. named: at all of these, for all that
    they show; none: at the lab's own, for the criteria that are graded on each of them, and at
    the first for what this node can't show."""
    sound = sound_parts(lab, here)
    if named:
        return tuple(Look(name, sound, None) for name in named)
    to_show = frozenset(
        c.name for c in _missing(lab, judge.judge(lab, here))
    ) | criteria_of_all_machines(lab)
    if not to_show or not can_run(lab, here):
        return ()
    made = []
    for name in lab.machines:
        sound = tuple(part for part in sound if planner.is_shown(lab, part, to_show))
        made.append(Look(name, sound, to_show))
        to_show = criteria_of_all_machines(lab)
    return tuple(made)


def verdict_over(
    lab: Lab, here: Evidence, there: Mapping[str, Evidence], elsewhere: Elsewhere | None
) -> Verdict:
    """The verdict on what was seen here and there, by machine. elsewhere: None where nothing but
    this node was meant to be asked.

    A kernel that is not right here is not run elsewhere, and what that would show is not
    gradable. Where it ends a machine it fails what that would show, and gets no other. Where one
    could not be booted, its criteria are errors if it was named, and
    else stay not gradable, with the reason. What nobody waited for is open, and so is what was
    not asked for when the kernel was graded.
    """
    verdict = _combine_places(lab, here, there, elsewhere)
    only_here = _local_criteria(lab)
    kept = [c for c in verdict.criteria if c.where == HERE or c.name not in only_here]
    return replace(verdict, criteria=tuple(kept))


def _combine_places(
    lab: Lab, here: Evidence, there: Mapping[str, Evidence], elsewhere: Elsewhere | None
) -> Verdict:
    """As verdict_over, with what needs no place in each."""
    verdict = judge.judge(lab, here)
    if elsewhere is None:
        return verdict
    named, not_booted = elsewhere.named, elsewhere.not_booted
    if elsewhere.interrupted_at == HERE:
        return mark_undecided(lab, here, verdict, named or lab.machines, are_the_labs=not named)
    ended = "can be built" if here.build.status != "ok" else "is right here"
    missing = _missing(lab, verdict)
    is_run = can_run(lab, here)
    if not named:
        verdict = _add_reason(
            verdict,
            [c for c in missing if not (is_run and _is_run(lab, here, c))],
            f"A virtual node shows it, once the kernel {ended}.",
        )
    for number, look in enumerate(looks(lab, here, named)):
        ours = "error" in {c.status for c in verdict.criteria}
        status: Status = "error" if ours else "not_gradable"
        why = f"Not run there, until the kernel {ended}."
        if look.machine in elsewhere.ended:
            told = elsewhere.ended[look.machine]
            shown = judge.verdict_without_run(lab, here, "fail", "ended_node", told)
        elif look.machine in there:
            shown = judge.judge(lab, there[look.machine])
            shown = judge.mark_unrun_parts(lab, shown, look.parts, status, "not_run_there", why)
        elif look.machine in not_booted:
            told = not_booted[look.machine]
            if not named:
                return _add_reason(verdict, missing, f"No virtual node could show it: {told}")
            shown = judge.verdict_without_run(lab, here, "error", "not_booted", told)
        elif elsewhere.ended:
            continue  # one that it has ended is enough
        elif not is_run:
            shown = judge.verdict_without_run(lab, here, status, "not_run_there", why)
        else:
            cause: Cause = "not_measured" if elsewhere.interrupted_at is None else "interrupted"
            is_first = number == 0
            verdict = mark_undecided(lab, here, verdict, [look.machine], not named, is_first, cause)
            continue
        verdict = merge_machine(verdict, shown, look.machine, look.only)
    return verdict


def mark_undecided(
    lab: Lab,
    here: Evidence,
    verdict: Verdict,
    names: Sequence[str],
    are_the_labs: bool = True,
    includes_first: bool = True,
    cause: Cause = "interrupted",
) -> Verdict:
    """The verdict with what was not seen on machines: it is open. are_the_labs: they were not
    named, so that they show what the lab asks of them; with_first: the first of them was to show
    what this node can't, too."""
    bad = {part for part in lab.kernel_parts if not is_sound(here.of_parts(part))}
    parts = [part for part in lab.kernel_parts if part not in bad]
    why = NOT_GRADED if cause == "interrupted" else NOT_MEASURED
    undone = judge.verdict_without_run(lab, here, "inconclusive", cause, why)
    undone = judge.mark_unrun_parts(lab, undone, parts, "not_gradable", "not_run_there", "")
    needs_more = {c.name for c in lab.criteria if c.needs_numa_nodes > here.numa_nodes}
    for number, name in enumerate(names):
        only = criteria_of_all_machines(lab)
        if includes_first and number == 0:
            only |= needs_more
        verdict = merge_machine(verdict, undone, name, only if are_the_labs else None)
    return verdict


def _is_run(lab: Lab, here: Evidence, found: CriterionVerdict) -> bool:
    """Whether what a criterion needs is run elsewhere."""
    criterion = next(c for c in lab.criteria if c.name == found.name)
    parts = sound_parts(lab, here)
    return not (judge.is_of_kernel(lab, criterion) and unseen(lab, criterion, parts))


def _add_reason(verdict: Verdict, missing: Sequence[CriterionVerdict], why: str) -> Verdict:
    """Says of what this node can't show why no virtual node has shown it either."""
    names = {c.name for c in missing}
    return replace(
        verdict,
        criteria=tuple(
            replace(c, why=f"{c.why} {why}")
            if c.name in names and c.where == HERE and c.status == "not_gradable"
            else c
            for c in verdict.criteria
        ),
    )
