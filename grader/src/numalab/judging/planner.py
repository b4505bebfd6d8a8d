"""What is still to be seen of a kernel before its verdict: the planner of a grading, which judges
what it has so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from numalab.evidence.kinds import CHECK, GENERATION, LATENCY, ON_LINK
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
from numalab.judging.rules import is_needed, reads, rule_of, rules
from numalab.judging.soundness import KERNEL_RUNS, is_sound, timed_out
from numalab.judging.store_rules import is_unnoted
from numalab.judging.timing_claims import CLAIMS, claim_of
from numalab.judging.timing_state import TimeBudgetUse, cut_s, time_budget_use, timing_state
from numalab.judging.verdict import CriterionVerdict, Status
from numalab.judging.work_rules import asks_one_thread, balanced, last_run_objection
from numalab.labs.core_goals import CORE_GOALS
from numalab.labs.cpuset_goals import JOB_NODES
from numalab.labs.declaration import RUN_UNDER, Criterion, HandedFile, Lab

MOST_RACE_SEARCHES = 3

# What is tried on virtual nodes only, and not beside the solution's: a picture of that would be the
# answer.
_VM_GOALS = (*CORE_GOALS, *JOB_NODES)


def _evidence_has(
    lab: Lab,
    evidence: Evidence,
    part: str | None,
    chosen: Callable[[Criterion], bool],
    status: Status,
) -> bool:
    """Whether one of the chosen evidence criteria of a part has a status by what was seen."""
    return any(
        criterion.part in (None, part)
        and criterion.kind == "evidence"
        and chosen(criterion)
        and verdict.status == status
        and verdict.value is not None
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
    )


def can_observe(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether the node allows anything of a part's kernel to be looked at: where a filter refuses
    what all criteria need, a run would only say so again."""
    return any(
        loss(lab, criterion, evidence.node) is None
        for criterion in lab.criteria_of(part)
        if is_of_kernel(lab, criterion) and criterion.kind != "timing"
    )


def can_place(lab: Lab, evidence: Evidence, file: HandedFile) -> bool:
    """Whether the node allows a look at where the kit's program goes under a file, and is one
    that the file is about."""
    if file.goal in _VM_GOALS and not evidence.is_virtual:
        return False
    return any(
        loss(lab, criterion, evidence.node) is None
        for criterion in lab.criteria
        if criterion.file is not None and criterion.file.name == file.name
    )


def is_sound_so_far(evidence: Evidence, part: str | None) -> bool:
    """Whether a part's kernel has come to its end and was right in all that was seen."""
    return is_sound(evidence.of_parts(part))


def needs_run(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether a kind of run may still change anything. Who is at work is asked only of a team that
    is even by its CPU time, and whether another team shares its work out of one that does."""
    confirmed = [rule for rule in rules() if rule.confirmed_by is kind]
    return not confirmed or any(
        _evidence_has(lab, evidence, part, rule.judges, "pass") for rule in confirmed
    )


def needs_another_run(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether it is still open how the work is shared, or whether stops were found, and a further
    run of a kind may tell."""
    return any(
        rule.needs_another_run is not None
        and rule.needs_another_run(kind, criterion, evidence_for(lab, criterion, evidence))
        for criterion in lab.criteria_of(part)
        if kind in (rule := rule_of(criterion)).runs
    )


def compares_single_thread(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether a team of a part is held against one thread."""
    return any(balanced.criteria(lab, part)) and asks_one_thread(evidence)


def last_objection(lab: Lab, evidence: Evidence, part: str | None) -> str | None:
    """What the last look at how the work is shared says against the kernel, 'uneven' or 'spins':
    the solution is then looked at before the next one, so that load which is there just now counts
    for it, too. None: nothing."""
    own = evidence.of_parts(part)
    found = (last_run_objection(c, own) for c in balanced.criteria(lab, part))
    return next(filter(None, found), None)


def is_shown(lab: Lab, part: str | None, names: Collection[str]) -> bool:
    """Whether one of the named criteria needs a part's kernel to be looked at."""
    return any(
        c.name in names and c.kind == "evidence" and is_of_kernel(lab, c)
        for c in lab.criteria_of(part)
    )


def needs_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether an evidence criterion of a part failed that the kit's solution has not been
    held against yet. The solution itself is not its own excuse."""
    own = evidence.of_parts(part)
    if evidence.variant == SOLUTION:
        return False
    control = own.as_control()
    # How the work is shared is looked at in turns, and tells nothing of other rules; a job on a
    # link has a control of its own.
    own_control = [c for c in lab.criteria_of(part) if rule_of(c).has_own_control]
    if any(
        control.of(kind)
        for kind in KERNEL_RUNS
        if not any(reads(criterion, kind) for criterion in own_control)
    ):
        return False
    return is_unnoted(own) or _evidence_has(lab, evidence, part, _is_compared_once, "fail")


def _is_compared_once(criterion: Criterion) -> bool:
    rule = rule_of(criterion)
    return rule.subject == "kernel" and not rule.has_own_control


def is_checked_locally(lab: Lab, part: str | None) -> bool:
    """Whether the monitor runs a part's kernel, and checks its results, before anything else."""
    return is_needed(CHECK, lab, part)


def needs_link_control(lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether a job on a link has failed, so that it is run again, and beside it the solution."""
    return any(
        criterion.part == part and reads(criterion, ON_LINK) and verdict.status == "fail"
        for criterion, verdict in zip(lab.criteria, judge(lab, evidence).criteria, strict=True)
    )


def needs_race_control(evidence: Evidence, part: str | None) -> bool:
    """Whether the search for data races in a part ended in a way that may be the kernel's doing or
    the kit's: the solution tells."""
    return bool(doubtful_races(evidence.of_parts(part)))


def needs_another_race_search(evidence: Evidence, part: str | None) -> bool:
    """Whether a search that came to its end did not see the kit's own race. One in a hundred misses
    it by itself, so one says nothing; and nobody gains by more of them."""
    races = doubtful_races(evidence.of_parts(part))
    return 0 < len(races) < MOST_RACE_SEARCHES and races[-1].outcome.ok


def files_to_compare(lab: Lab, evidence: Evidence) -> tuple[str, ...]:
    """The files that miss their goals and that the solution's have not been held against."""
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
    """Whether times of messages decide a criterion of a part that is gradable on this node."""
    found = [c for c in lab.criteria if c.part == part and reads(c, LATENCY)]
    return any(gate(lab, c, evidence) is None for c in found)


def needs_rates(kind: Kind[Any], lab: Lab, evidence: Evidence, part: str | None) -> bool:
    """Whether a further generation of the probe's rates may decide a criterion of a part. What a
    file says is wrong with it, and what this node can't show, no rate changes."""
    return any(
        gate(lab, criterion, evidence) is None
        and refused_file(lab, criterion, evidence) is None
        and _judged_alone(lab, criterion, evidence).cause
        in ("not_measured", "not_decided", "too_noisy")
        for criterion in lab.criteria
        if criterion.part == part and reads(criterion, kind)
    )


def _judged_alone(lab: Lab, criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    return rule_of(criterion).judge(lab, criterion, evidence_for(lab, criterion, evidence))


@dataclass(frozen=True)
class Timed:
    """What is timed together: a part, and where launches of it are compared the slow one."""

    part: str | None
    slow: str | None = None


def timings(lab: Lab) -> tuple[Timed, ...]:
    """All that the lab's criteria ask for."""
    return tuple(
        Timed(part, slow)
        for part in lab.parts
        for slow in dict.fromkeys(c.slow for c in lab.criteria_of(part) if c.rule in CLAIMS)
        if slow is not None or part in lab.kernel_parts
    )


def extra_roles(lab: Lab, timed: Timed, roles: Sequence[str]) -> tuple[str, ...]:
    """What is timed beside the processes that a generation needs, so that the rates tell what share
    they are of lightspeed: no verdict depends on it, and where it fails the others go on."""
    return (PROBE,) if roles and PROBE not in roles and lab.has_probe(timed.part) else ()


def timing_roles(lab: Lab, evidence: Evidence, timed: Timed) -> tuple[str, ...]:
    """The processes that a generation needs; none when none of the criteria is gradable on
    this node, the kernel is not sound, the node kept it from being looked at, or the launch file
    can't be read."""
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
    """The criteria that a node allows to be decided by what is timed together."""
    return [
        c
        for c in lab.criteria_of(timed.part)
        if c.rule in CLAIMS and c.slow == timed.slow and gate(lab, c, evidence) is None
    ]


def timing_is_decided(lab: Lab, evidence: Evidence, timed: Timed) -> bool:
    """Whether further generations would change no timing criterion."""
    own = _select_timed(lab, evidence, timed)
    if not is_sound(own) or any(map(timed_out, own.of(GENERATION))):
        return True
    criteria = gradable_timing(lab, evidence, timed)
    return all(timing_state(c, own).decided for c in criteria)


def timing_spent(lab: Lab, evidence: Evidence, timed: Timed) -> TimeBudgetUse:
    """What the generations that there are have waited for."""
    return time_budget_use(_select_timed(lab, evidence, timed))


def has_timing_verdicts(lab: Lab, evidence: Evidence, timed: Timed) -> bool:
    """Whether the generations that there are have led to a verdict on each timing criterion."""
    names = {criterion.name for criterion in gradable_timing(lab, evidence, timed)}
    return count_replicates(lab, evidence, timed) > 0 and not any(
        verdict.name in names
        and verdict.status in ("inconclusive", "error")
        and verdict.cause != "implausible"
        for verdict in judge(lab, evidence).criteria
    )


def count_replicates(lab: Lab, evidence: Evidence, timed: Timed) -> int:
    """How many there are."""
    return len(_select_timed(lab, evidence, timed).of(GENERATION))


def timing_cut_s(lab: Lab, evidence: Evidence, timed: Timed) -> float | None:
    """How many seconds make a repetition of the submission far too slow, whatever the claim, if
    that is sure enough to stop it there."""
    own = _select_timed(lab, evidence, timed)
    return cut_s(gradable_timing(lab, evidence, timed), own)
