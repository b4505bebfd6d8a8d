"""The planner: which runs a verdict still needs, judged by the evidence so far.

Pure functions over evidence. A `part` is one of the lab's kernels, None in a lab of one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from numalab.evidence.kinds import LATENCY, LINK_RUN, TIMED_ROUND
from numalab.evidence.record import PROBE, SOLUTION, Evidence, Kind
from numalab.judging.correctness_rules import doubtful_races
from numalab.judging.judge import (
    evidence_for,
    gate,
    is_of_kernel,
    judge,
    refused_file,
    select_parts,
    select_timing,
)
from numalab.judging.refusals import loss
from numalab.judging.rules import reads, rule_of, rules
from numalab.judging.soundness import KERNEL_RUNS, is_sound, timed_out
from numalab.judging.store_rules import is_unnoted
from numalab.judging.timing_claims import CLAIMS, claim_of
from numalab.judging.timing_state import TimeBudgetUse, cut_s, time_budget_use, timing_state
from numalab.judging.verdict import Status
from numalab.judging.work_rules import balanced, last_run_objection, uses_single_thread
from numalab.labs.declaration import RUN_UNDER, Criterion, HandedFile, Lab
from numalab.labs.goals import CORE_GOALS, JOB_NODES

MAX_RACE_SEARCHES = 3

# Goals that are tried on virtual machines only, and not compared with the solution's file: a
# picture of that would be the answer.
_VM_GOALS = (*CORE_GOALS, *JOB_NODES)


def _evidence_has(
    lab: Lab,
    evidence: Evidence,
    part: str | None,
    chosen: Callable[[Criterion], bool],
    status: Status,
) -> bool:
    """Tell whether one of the chosen evidence criteria about a part, or about all parts, has this
    status, and a value."""
    return any(
        criterion.part in (None, part)
        and criterion.kind == "evidence"
        and chosen(criterion)
        and verdict.status == status
        and verdict.value is not None
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
    )


def can_observe(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether the machine allows a run to show anything but times of a part's kernel."""
    return any(
        loss(lab, criterion, evidence.node) is None
        for criterion in lab.criteria_of(part)
        if is_of_kernel(lab, criterion) and criterion.kind != "timing"
    )


def can_place(lab: Lab, evidence: Evidence, file: HandedFile) -> bool:
    """Tell whether the machine can show where numalab's program runs under a file. Some goals are
    tried on virtual machines only."""
    if file.goal in _VM_GOALS and not evidence.is_virtual:
        return False
    return any(
        loss(lab, criterion, evidence.node) is None
        for criterion in lab.criteria
        if criterion.file is not None and criterion.file.name == file.name
    )


def needs_run(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether a kind of run is due. One that confirms rules (Rule.confirmed_by) is only where
    a criterion of these rules passes, with a value."""
    confirmed = [rule for rule in rules() if rule.confirmed_by is kind]
    return not confirmed or any(
        _evidence_has(lab, evidence, part, rule.judges, "pass") for rule in confirmed
    )


def needs_another_run(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether one more run of a kind may change a verdict, by the rules that need it."""
    return any(
        rule.needs_another_run is not None
        and rule.needs_another_run(kind, criterion, evidence_for(lab, criterion, evidence))
        for criterion in lab.criteria_of(part)
        if kind in (rule := rule_of(criterion)).runs
    )


def compares_single_thread(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether a part's team is compared with a single thread."""
    return any(balanced.criteria(lab, part)) and uses_single_thread(evidence)


def last_objection(lab: Lab, evidence: Evidence, part: str | None) -> str | None:
    """Return what the last run says against how a part's team shares its work, "uneven" or "spins";
    None: nothing."""
    own = evidence.select_parts(part)
    objections = (last_run_objection(c, own) for c in balanced.criteria(lab, part))
    return next(filter(None, objections), None)


def is_shown(lab: Lab, part: str | None, names: Collection[str]) -> bool:
    """Tell whether one of the named criteria needs a run of a part's kernel."""
    return any(
        c.name in names and c.kind == "evidence" and is_of_kernel(lab, c)
        for c in lab.criteria_of(part)
    )


def needs_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether the solution has to run for a part: an evidence criterion about a kernel, whose
    rule has no control of its own, failed with a value, or stores were not noted, and it has not
    run yet. False where the solution itself is graded."""
    own = evidence.select_parts(part)
    if evidence.variant == SOLUTION:
        return False
    control = own.control_evidence()
    # Runs of rules with a control of their own say nothing about other rules.
    own_control = [c for c in lab.criteria_of(part) if rule_of(c).has_own_control]
    if any(
        control.runs_of(kind)
        for kind in KERNEL_RUNS
        if not any(reads(criterion, kind) for criterion in own_control)
    ):
        return False
    return is_unnoted(own) or _evidence_has(lab, evidence, part, _is_compared_once, "fail")


def _is_compared_once(criterion: Criterion) -> bool:
    rule = rule_of(criterion)
    return rule.subject == "kernel" and not rule.has_own_control


def needs_link_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether a criterion of a part that needs its job on a link fails."""
    return any(
        criterion.part == part and reads(criterion, LINK_RUN) and verdict.status == "fail"
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
    )


def needs_another_race_search(evidence: Evidence, part: str | None) -> bool:
    """Tell whether to search for races again: fewer than MAX_RACE_SEARCHES searches prove nothing
    (doubtful_races), one or more, and the last of these came to its end."""
    races = doubtful_races(evidence.select_parts(part))
    return 0 < len(races) < MAX_RACE_SEARCHES and races[-1].outcome.ok


def files_to_compare(lab: Lab, evidence: Evidence) -> tuple[str, ...]:
    """Return the names of the files that miss their goals, and of which the solution's file was not
    tried yet. Left out are goals that are tried on virtual machines only. Empty where the solution
    itself is graded."""
    if evidence.variant == SOLUTION:
        return ()
    return tuple(
        criterion.file.name
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
        if criterion.file is not None
        and criterion.file.kind in RUN_UNDER
        and criterion.file.goal not in _VM_GOALS
        and criterion.kind == "evidence"
        and verdict.status == "fail"
        and verdict.value is not None
        and criterion.file.name not in evidence.control_files
    )


def needs_latency(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether times of messages decide a criterion of a part that this machine can show."""
    criteria = [c for c in lab.criteria if c.part == part and reads(c, LATENCY)]
    return any(gate(lab, c, evidence) is None for c in criteria)


def needs_rates(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Tell whether one more replicate of the probe's rates (a kind of run) may decide a criterion
    of a part that is not decided yet."""
    return any(
        gate(lab, criterion, evidence) is None
        and refused_file(lab, criterion, evidence) is None
        and rule_of(criterion).judge(lab, criterion, evidence_for(lab, criterion, evidence)).cause
        in ("not_measured", "not_decided", "too_noisy")
        for criterion in lab.criteria
        if criterion.part == part and reads(criterion, kind)
    )


@dataclass(frozen=True)
class Timed:
    """What is timed together: a part, and the slow launch where its launches are compared."""

    part: str | None
    slow: str | None = None


def timings(lab: Lab) -> tuple[Timed, ...]:
    """Return all that a lab's criteria need to have timed."""
    return tuple(
        Timed(part, slow)
        for part in lab.parts
        for slow in dict.fromkeys(c.slow for c in lab.criteria_of(part) if c.rule in CLAIMS)
        if slow is not None or part in lab.kernel_parts
    )


def extra_roles(lab: Lab, timed: Timed, roles: Sequence[str]) -> tuple[str, ...]:
    """Return the probe's role where the lab has a probe of what is timed, and `roles` is neither
    empty nor has it; else nothing. roles: those of timing_roles."""
    return (PROBE,) if roles and PROBE not in roles and lab.has_probe(timed.part) else ()


def timing_roles(lab: Lab, evidence: Evidence, timed: Timed) -> tuple[str, ...]:
    """Return the roles that a replicate needs. Empty where this machine can show no criterion, the
    kernel is not sound, the machine paused its runs, or the launch file can't be used."""
    criteria = gradable_timing(lab, evidence, timed)
    own = _select_timed(lab, evidence, timed)
    if not criteria or not is_sound(own) or own.is_held_up:
        return ()
    if timed.slow is not None and refused_file(lab, criteria[0], own):
        return ()
    return tuple(dict.fromkeys(role for c in criteria for role in claim_of(c).roles(c)))


def _select_timed(lab: Lab, evidence: Evidence, timed: Timed) -> Evidence:
    return select_timing(select_parts(lab, evidence, timed.part), timed.slow)


def gradable_timing(lab: Lab, evidence: Evidence, timed: Timed) -> list[Criterion]:
    """Return the criteria that are decided by what is timed together and that this machine can
    show."""
    return [
        c
        for c in lab.criteria_of(timed.part)
        if c.rule in CLAIMS and c.slow == timed.slow and gate(lab, c, evidence) is None
    ]


def timing_is_decided(lab: Lab, evidence: Evidence, timed: Timed) -> bool:
    """Tell whether further replicates change no timing criterion: all are decided, the kernel is
    not sound, or it met the time limit."""
    own = _select_timed(lab, evidence, timed)
    if not is_sound(own) or any(map(timed_out, own.runs_of(TIMED_ROUND))):
        return True
    criteria = gradable_timing(lab, evidence, timed)
    return all(timing_state(c, own).decided for c in criteria)


def timing_spent(lab: Lab, evidence: Evidence, timed: Timed) -> TimeBudgetUse:
    """Return what the replicates so far took of the time budget."""
    return time_budget_use(_select_timed(lab, evidence, timed))


def has_timing_verdicts(lab: Lab, evidence: Evidence, timed: Timed) -> bool:
    """Tell whether replicates have led to a verdict on each timing criterion that this machine can
    show, which is not undecided, except implausible, and no error. False without replicates."""
    names = {criterion.name for criterion in gradable_timing(lab, evidence, timed)}
    return count_replicates(lab, evidence, timed) > 0 and not any(
        verdict.name in names
        and verdict.status in ("inconclusive", "error")
        and verdict.cause != "implausible"
        for verdict in judge(lab, evidence).criteria
    )


def count_replicates(lab: Lab, evidence: Evidence, timed: Timed) -> int:
    """Count the replicates so far."""
    return len(_select_timed(lab, evidence, timed).runs_of(TIMED_ROUND))


def timing_cut_s(lab: Lab, evidence: Evidence, timed: Timed) -> float | None:
    """Return the seconds after which a repetition of the submission is stopped, as cut_s gives it;
    None: none is stopped."""
    own = _select_timed(lab, evidence, timed)
    return cut_s(gradable_timing(lab, evidence, timed), own)
