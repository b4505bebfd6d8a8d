"""The rule for how a team shares its work. Pure functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalab import words
from numalab.evidence.core_kinds import core_kinds, kinds_in_words
from numalab.evidence.kinds import ACTIVE_THREADS, PLACEMENT, RACE
from numalab.evidence.page_work import spinning_thread
from numalab.evidence.record import SOLUTION, Evidence, Kind
from numalab.evidence.work import SharingConsensus, judge_sharing, speaks_against
from numalab.judging.page_rules import needs_team, ran_words
from numalab.judging.registry import Rule
from numalab.judging.soundness import judge_value, missing_runs, not_measured, unusable
from numalab.judging.timing_claims import SPEEDUP
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import KERNEL_FILES, Criterion


def uses_single_thread(evidence: Evidence) -> bool:
    """Tell whether a team's CPU time is compared with a single thread's: with two cores or more,
    but not on a virtual machine, whose PUs may share fewer real cores."""
    return not evidence.is_virtual and int(evidence.node["cores"]) >= 2


def judge_placements(criterion: Criterion, evidence: Evidence) -> SharingConsensus:
    """Return what the placement runs with CPU times show together; there has to be one."""
    own = [run for run in evidence.runs_of(PLACEMENT) if run.cpu_time]
    controls = [run for run in evidence.runs_of(PLACEMENT, SOLUTION) if run.cpu_time]
    is_compared = uses_single_thread(evidence)
    return judge_sharing(own, criterion.least, controls, needs_single_thread=is_compared)


def last_run_objection(criterion: Criterion, evidence: Evidence) -> str | None:
    """Return what the last placement run says against how the kernel's team shares its work,
    "uneven" or "spins"; None: nothing."""
    own = [run for run in evidence.runs_of(PLACEMENT) if run.cpu_time]
    if not own or criterion.at_least is None:
        return None
    return speaks_against(
        own[-1],
        criterion.least,
        evidence.runs_of(PLACEMENT, SOLUTION),
        needs_single_thread=uses_single_thread(evidence),
    )


def _alone(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict where the kernel does not come to its end with one thread, or None."""
    for run in evidence.runs_of(PLACEMENT):
        if run.single_thread is not None and not run.single_thread.outcome.ok:
            return unusable(
                criterion,
                run.single_thread.outcome,
                evidence,
                "With one thread, which the kit compares a team with, and which is what a runtime "
                "may give: ",
            )
    return None


def _needs_another_run(kind: Kind[Any], criterion: Criterion, evidence: Evidence) -> bool:
    """Tell whether a further run of a kind may decide how work is shared, which is undecided."""
    if kind is ACTIVE_THREADS and not any(map(spinning_thread, evidence.runs_of(ACTIVE_THREADS))):
        return False
    verdict = _judge_shares(criterion, evidence)
    return verdict.status == "inconclusive" and verdict.value is not None


def _explain_slowness(
    criterion: Criterion,
    evidence: Evidence,
    even: CriterionVerdict,
    other: Criterion,
    verdict: CriterionVerdict,
) -> CriterionVerdict:
    """Add to the verdict on a missed speedup of changed code, where the work is shared evenly, a
    hint at what costs time: a data race where one was found, else small pieces, or the work
    itself."""
    is_slow = SPEEDUP.judges(other) and verdict.cause in ("too_slow", "unstable")
    is_started = KERNEL_FILES[evidence.language] not in evidence.unchanged_files
    if even.status != "pass" or other.part != criterion.part or not (is_slow and is_started):
        return verdict
    if any(race.has_race for race in evidence.runs_of(RACE)):
        why = " Fix the data race first: what threads share and write costs time, too."
    else:
        why = (
            " The work is shared evenly: what costs is dealing it out in small pieces, or the work "
            "itself."
        )
        if evidence.quick:
            why += " With --quick a piece has less work in it, and dealing it out costs the same."
    return replace(verdict, why=verdict.why + why)


def _judge_shares(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Judge how evenly a team shares its work, by the CPU time of its threads.

    The value is the team's mean of the share of the time in which a thread works, where a call
    takes as long as its longest thread works. Two things change it that are no matter of sharing:

    - Other load takes a core from a thread, and a schedule that deals out work on demand rightly
      gives that thread less. So a run is uneven only where the share would be too small even if
      each thread had worked while it was kept from its core.
    - A thread that spins while it waits has CPU time. So a team that takes far more CPU time than
      one thread, compared with the solution's team, fails as busy waiting, and of the value only
      the part counts that is work.
    """
    missing = needs_team(criterion, evidence)
    missing = missing or missing_runs(criterion, evidence, evidence.runs_of(PLACEMENT))
    missing = missing or _alone(criterion, evidence)
    if missing:
        return missing
    looks = judge_placements(criterion, evidence)
    look, value = looks.typical, looks.typical.share
    average = f"the average thread works {words.percent(value)} of its time"
    last = evidence.runs_of(PLACEMENT)[-1]
    is_thread = look.busiest < max(last.team, len(last.cpu_time))
    longest = f"Thread {look.busiest} works" if is_thread else "Threads that have ended work"
    ran = ran_words(look.ran, evidence, last.team)  # then shares are over all of them
    why = f"{ran}{longest} longest; {average}"
    if looks.says == "even":
        return _judge_activity(
            criterion, evidence, judge_value(criterion, value, f"{why}.", unit="share")
        )
    if looks.says == "uneven":
        why = f"{why} and waits for it during the rest.{_unlike(evidence)}"
        return judge_value(criterion, value, why, unit="share")
    if looks.says == "spins":
        useful = min(value, 1.0) / looks.relative_inflation
        why = f"{ran}{_spins(looks, useful)}"
        return verdict_on(criterion, "fail", "busy_waiting", why, value=useful, unit="share")
    if uses_single_thread(evidence) and look.inflation is None and value >= criterion.least:
        return not_measured(criterion, evidence)
    open_why = "but other programs took cores from the threads meanwhile"
    if looks.is_informative:
        open_why = "but fewer looks say so than it takes"
    why = f"{why}, {open_why}. Grade again when the node is quiet."
    return verdict_on(criterion, "inconclusive", "too_noisy", why, value=value, unit="share")


@Rule(
    "balanced", runs=(PLACEMENT, ACTIVE_THREADS), confirmed_by=ACTIVE_THREADS, needs=("schedstat",),
    has_own_control=True, needs_another_run=_needs_another_run, amend=_explain_slowness,
)  # fmt: skip
def balanced(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the team's mean of the share of the time in which a thread works, by CPU time; of a
    team that is busy waiting, the share that is work."""
    return _judge_shares(criterion, evidence)


def _judge_activity(
    criterion: Criterion, evidence: Evidence, even: CriterionVerdict
) -> CriterionVerdict:
    """Return the verdict on a team that is even by CPU time: `even`, unless more than half of the
    runs show a thread that is busy and for much of that time does not use the arrays. A single run
    that shows it, and no other, leaves the criterion undecided."""
    runs = [run for run in evidence.runs_of(ACTIVE_THREADS) if run.outcome.ok and run.moments]
    waiters = [waiter for waiter in map(spinning_thread, runs) if waiter is not None]
    if 2 * len(waiters) <= len(runs):
        return even
    waiter = max(waiters, key=lambda waiter: waiter.expected_share)
    why = (
        f"{even.why} But of the moments at which thread {waiter.thread} was busy, whenever they "
        f"came, it worked on the arrays at {words.percent(waiter.expected_share)}, and did "
        "something else at the others: it is busy waiting."
    )
    if len(waiters) < 2:
        return verdict_on(
            criterion, "inconclusive", "too_noisy", why, value=even.value, unit="share"
        )
    useful = waiter.expected_share
    return verdict_on(criterion, "fail", "busy_waiting", why, value=useful, unit="share")


def _unlike(evidence: Evidence) -> str:
    """Return a sentence on a machine with cores of several kinds, with a space before it; else
    empty."""
    kinds = core_kinds(evidence.node)
    if kinds is None or len(kinds) < 2:
        return ""
    return (
        f" The cores of this node are not alike, {kinds_in_words(kinds)}: equal parts take unlike "
        "time there, and only a schedule that deals parts out on demand comes out even."
    )


def _spins(judged: SharingConsensus, useful: float) -> str:
    """Return the reason of a failure where a team is busy and does not work. useful: the share of
    its time that is work."""
    look = judged.typical
    part = words.first_upper(words.percent(useful))
    return (
        f"The average thread is busy {words.percent(look.share)} of the time, but the team takes "
        f"{look.inflation or 0.0:.2f} times the CPU time of one thread, where the solution's takes "
        f"{judged.inflation_of_solution:.2f} times: threads that wait are busy waiting, do again "
        f"what others do, or contend for what they write. {part} of their time is work."
    )
