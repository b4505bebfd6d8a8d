"""The verdict over all machines: what this one shows, and what virtual machines add.

Pure functions over stored records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.evidence.format import OtherPlaces
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

LOCAL = "here"
NOT_MEASURED = (
    "Not measured there: it was graded before this was asked for. Grading again measures it."
)


@dataclass(frozen=True)
class VmRequest:
    """A virtual machine that a grading needs.

    Attributes:
        machine: the machine's name.
        parts: the student's kernels that run there.
        only: the criteria that it adds to the verdict; None: all that it can show.
    """

    machine: str
    parts: tuple[str | None, ...]
    only: frozenset[str] | None


def criteria_of_all_machines(lab: Lab) -> frozenset[str]:
    """Return the names of the criteria that are graded on each of the lab's machines."""
    return frozenset(c.name for c in lab.criteria if c.on_machines)


def can_run(lab: Lab, local: Evidence) -> bool:
    """Tell whether a virtual machine has anything to run: a kernel that is sound on this machine,
    or a file of the lab under which numalab's programs run. local: the evidence of this machine."""
    return bool(sound_parts(lab, local) or any(file.kind in RUN_UNDER for file in lab.files))


def _local_criteria(lab: Lab) -> frozenset[str]:
    """Return the names of the criteria that no virtual machine adds to: those about answers in
    files, and those whose runs are made on this machine only."""
    return frozenset(c.name for c in lab.criteria if judges_answers(c) or is_local_only(c))


def _missing(lab: Lab, verdict: Verdict) -> list[CriterionVerdict]:
    """Return the verdicts on evidence that are not gradable on this machine, and may be on a
    virtual one."""
    return [
        c
        for c in verdict.criteria
        if c.status == "not_gradable"
        and c.kind == "evidence"
        and c.name not in _local_criteria(lab)
    ]


def vm_requests(lab: Lab, local: Evidence, named: Sequence[str] = ()) -> tuple[VmRequest, ...]:
    """Return the virtual machines that a grading needs, in the order in which they are used; empty:
    none.

    Args:
        local: the evidence of this machine.
        named: machines that were asked for, which show all that they can. If there are none, the
            lab's machines show the criteria that are graded on each of them, and the first of them
            also what this machine can't show.
    """
    sound = sound_parts(lab, local)
    if named:
        return tuple(VmRequest(name, sound, None) for name in named)
    to_show = frozenset(
        c.name for c in _missing(lab, judge.judge(lab, local))
    ) | criteria_of_all_machines(lab)
    if not to_show or not can_run(lab, local):
        return ()
    made = []
    for name in lab.machines:
        sound = tuple(part for part in sound if planner.is_shown(lab, part, to_show))
        made.append(VmRequest(name, sound, to_show))
        to_show = criteria_of_all_machines(lab)
    return tuple(made)


def verdict_over(
    lab: Lab, local: Evidence, remote: Mapping[str, Evidence], others: OtherPlaces | None
) -> Verdict:
    """Return the verdict over all machines.

    Args:
        local: the evidence of this machine.
        remote: that of virtual machines, by name.
        others: what the grading did beyond this machine; None where it was to use no other.

    For the criteria that a virtual machine was to show:

    | what happened | status |
    |-|-|
    | the kernel is not correct on this machine, so it is not run there | as on this machine, and \
not_gradable there if it was named; error where a criterion has that status already |
    | the kernel ended the virtual machine | fail |
    | it could not be booted, and was named | error |
    | it could not be booted, and was the lab's | as on this machine, with the reason where it is \
not_gradable |
    | the grading was interrupted, or did not ask for it then | inconclusive |
    """
    verdict = _combine_places(lab, local, remote, others)
    only_here = _local_criteria(lab)
    kept = [c for c in verdict.criteria if c.where == LOCAL or c.name not in only_here]
    return replace(verdict, criteria=tuple(kept))


def _combine_places(
    lab: Lab, local: Evidence, remote: Mapping[str, Evidence], others: OtherPlaces | None
) -> Verdict:
    """Return the verdict of verdict_over, which still has the verdicts of virtual machines on
    criteria that they add nothing to."""
    verdict = judge.judge(lab, local)
    if others is None:
        return verdict
    named, not_booted = others.named, others.not_booted
    if others.interrupted_at == LOCAL:
        return mark_undecided(lab, local, verdict, named or lab.machines, are_the_labs=not named)
    ended = "can be built" if local.build.status != "ok" else "is right here"
    missing = _missing(lab, verdict)
    is_run = can_run(lab, local)
    if not named:
        verdict = _add_reason(
            verdict,
            [c for c in missing if not (is_run and _is_run(lab, local, c))],
            f"A virtual node shows it, once the kernel {ended}.",
        )
    for number, request in enumerate(vm_requests(lab, local, named)):
        ours = "error" in {c.status for c in verdict.criteria}
        status: Status = "error" if ours else "not_gradable"
        why = f"Not run there, until the kernel {ended}."
        if request.machine in others.ended:
            told = others.ended[request.machine]
            shown = judge.verdict_without_run(lab, local, "fail", "ended_node", told)
        elif request.machine in remote:
            shown = judge.judge(lab, remote[request.machine])
            shown = judge.mark_unrun_parts(lab, shown, request.parts, status, why)
        elif request.machine in not_booted:
            told = not_booted[request.machine]
            if not named:
                return _add_reason(verdict, missing, f"No virtual node could show it: {told}")
            shown = judge.verdict_without_run(lab, local, "error", "not_booted", told)
        elif others.ended:
            continue  # one that it has ended is enough
        elif not is_run:
            shown = judge.verdict_without_run(lab, local, status, "not_run_there", why)
        else:
            cause: Cause = "not_measured" if others.interrupted_at is None else "interrupted"
            is_first = number == 0
            verdict = mark_undecided(
                lab, local, verdict, [request.machine], not named, is_first, cause
            )
            continue
        verdict = merge_machine(verdict, shown, request.machine, request.only)
    return verdict


def mark_undecided(
    lab: Lab,
    local: Evidence,
    verdict: Verdict,
    names: Sequence[str],
    are_the_labs: bool = True,
    includes_first: bool = True,
    cause: Cause = "interrupted",
) -> Verdict:
    """Return the verdict with what virtual machines were to show as inconclusive, and as not
    gradable where the kernel is not sound on this machine.

    Args:
        local: the evidence of this machine.
        verdict: that so far, to which the machines' are added.
        names: the virtual machines that were not used.
        are_the_labs: they are the lab's, so they were to show what it declares for them; else they
            were named, and were to show all.
        includes_first: the first of `names` was also to show what needs more NUMA nodes than here.
    """
    parts = [part for part in lab.kernel_parts if is_sound(local.select_parts(part))]
    why = NOT_GRADED if cause == "interrupted" else NOT_MEASURED
    undone = judge.verdict_without_run(lab, local, "inconclusive", cause, why)
    undone = judge.mark_unrun_parts(lab, undone, parts, "not_gradable", "")
    needs_more = {c.name for c in lab.criteria if c.needs_numa_nodes > local.numa_nodes}
    for number, name in enumerate(names):
        only = criteria_of_all_machines(lab)
        if includes_first and number == 0:
            only |= needs_more
        verdict = merge_machine(verdict, undone, name, only if are_the_labs else None)
    return verdict


def _is_run(lab: Lab, local: Evidence, verdict: CriterionVerdict) -> bool:
    """Tell whether a virtual machine runs what a criterion needs: the kernels that it is about are
    sound on this machine, or it is about none."""
    criterion = next(c for c in lab.criteria if c.name == verdict.name)
    parts = sound_parts(lab, local)
    return not (judge.is_of_kernel(lab, criterion) and unseen(lab, criterion, parts))


def _add_reason(verdict: Verdict, missing: Sequence[CriterionVerdict], why: str) -> Verdict:
    """Return the verdict with `why` added to the reasons of those of `missing` that are not
    gradable on this machine."""
    names = {c.name for c in missing}
    return replace(
        verdict,
        criteria=tuple(
            replace(c, why=f"{c.why} {why}")
            if c.name in names and c.where == LOCAL and c.status == "not_gradable"
            else c
            for c in verdict.criteria
        ),
    )
