"""Which evidence can be judged: runs that came to their end, and results that are correct.

Also the verdicts where that is not so, and the verdict by a value and its bounds. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from numalab.evidence.kinds import CHECK, OBSERVED_KINDS, TIMED_ROUND, TRACE
from numalab.evidence.record import SOLUTION, SUBMISSION, Evidence, KernelRun, TimedRound
from numalab.evidence.run_formats import CheckRun, Outcome, ResultsRecord
from numalab.judging import explain
from numalab.judging.printed_words import mpi_function
from numalab.judging.verdict import NOT_GRADED, Cause, CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion, Lab
from numalab.processes.limits import ENDING, limits_sentence

KERNEL_RUNS = tuple(kind for kind in OBSERVED_KINDS if kind.counts_for_soundness)


def evidence_runs(evidence: Evidence) -> tuple[KernelRun, ...]:
    """Return the runs, besides checks and timed ones, that count for the kernel's soundness."""
    return tuple(run for kind in KERNEL_RUNS for run in evidence.runs_of(kind))


def node_refuses_tracing(evidence: Evidence) -> bool:
    """Tell whether this machine refused a tracing of the solution."""
    return any(run.outcome.status == "untraceable" for run in evidence.runs_of(TRACE, SOLUTION))


def outcomes(evidence: Evidence) -> Iterator[Outcome]:
    """Yield how checks, evidence_runs and timed runs of the kernel ended. Left out are replicates
    in which it met the time limit, and runs that could not be traced where node_refuses_tracing."""
    blameless = "untraceable" if node_refuses_tracing(evidence) else None
    yield from (check.outcome for check in evidence.runs_of(CHECK))
    yield from (run.outcome for run in evidence_runs(evidence) if run.outcome.status != blameless)
    for replicate in evidence.runs_of(TIMED_ROUND):
        if SUBMISSION in replicate.roles and not timed_out(replicate):
            yield replicate.roles[SUBMISSION].outcome


def timed_out(replicate: TimedRound) -> bool:
    """Tell whether the submission met the time limit while it was timed: it is slow, and need not
    be incorrect."""
    own = replicate.roles.get(SUBMISSION)
    return own is not None and own.outcome.status == "timed_out"


def first_bad(outcomes: Iterable[Outcome]) -> Outcome | None:
    return next((outcome for outcome in outcomes if not outcome.ok), None)


def all_results(evidence: Evidence) -> Iterator[tuple[ResultsRecord, int | None, int | None]]:
    """Yield the results of checks, evidence_runs and timed runs of the kernel, the problem size n,
    and the number of ranks; None of either: it is not told."""
    for kind in (CHECK, *KERNEL_RUNS):
        for run in evidence.runs_of(kind):
            if isinstance(run, CheckRun):
                yield from ((size.results, size.n, size.ranks) for size in run.checks)
            elif hasattr(run, "results"):
                yield run.results, None, None
    for replicate in evidence.runs_of(TIMED_ROUND):
        if SUBMISSION in replicate.roles:
            yield replicate.roles[SUBMISSION].results, replicate.n, None


def has_mistake(results: ResultsRecord) -> bool:
    return (
        results.mismatches > 0
        or results.wrote_before_array is not None
        or results.wrote_after_array is not None
        or results.is_without_messages
        or results.replaced_array is not None
        or results.requests is not None
    )


def is_sound(evidence: Evidence) -> bool:
    """Tell whether the kernel was built, the monitor lasted, and none of `outcomes` and
    `all_results` so far is bad."""
    return (
        evidence.build.status == "ok"
        and evidence.monitor_lost is None
        and first_bad(outcomes(evidence)) is None
        and not any(has_mistake(results) for results, *_ in all_results(evidence))
    )


def mistake_origin(lab: Lab, results: ResultsRecord) -> str:
    """Return where the first wrong result comes from: a function of the contract, else its array;
    empty: no element is wrong."""
    first = results.first_mismatch
    if first is None:
        return ""
    return first.phase if first.phase in lab.functions else first.array


def end_origin(lab: Lab, outcome: Outcome) -> str:
    """Return where a run ended early: a function of the contract, else one of MPI; empty: not
    known."""
    phase = outcome.doing or ""
    return phase if phase in lab.functions else mpi_function(outcome)


# The cause by the status of a run that did not come to its end.
CAUSE_OF_OUTCOME: dict[str, Cause] = {
    "crashed": "crashed",
    "exited": "exited",
    "timed_out": "timed_out",
    "out_of_memory": "out_of_memory",
    "too_much_output": "over_limit",
    "too_many_threads": "over_limit",
    "no_array": "no_memory",
    "array_gone": "no_memory",
    "untraceable": "disturbed_monitor",
    "bad_protocol": "disturbed_monitor",
    "obstructed": "disturbed_monitor",
    "cancelled": "interrupted",
    "kit_error": "disturbed_monitor",
}


def cause_of(outcome: Outcome) -> Cause:
    """Return the cause of a verdict on a run that did not come to its end."""
    if outcome.is_numalab_fault:
        return "kit"
    if explain.is_refused_call(outcome):
        return "refused_call"
    return CAUSE_OF_OUTCOME[outcome.status]


def met_limits(outcome: Outcome, evidence: Evidence) -> str:
    """Return a sentence on the machine's limits, with a space before it, where a process may have
    met one of them, which its end does not tell; else empty."""
    is_ended = outcome.status == "crashed" and outcome.signal in ENDING
    return limits_sentence(evidence.node.get("limits", ())) if is_ended else ""


def unusable(
    criterion: Criterion, outcome: Outcome, evidence: Evidence, which: str = ""
) -> CriterionVerdict:
    """Return the verdict where a run that the criterion needs did not come to its end: a failure,
    an error where it was numalab's fault, or inconclusive where it was interrupted.

    On a virtual machine, which is slow and small, a time or memory limit is an error and no
    failure.

    Args:
        which: which run it was, as the beginning of a sentence.
    """
    why = which + explain.outcome(outcome, evidence.language) + met_limits(outcome, evidence)
    if outcome.status == "cancelled":
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_GRADED)
    ours = outcome.is_numalab_fault or (
        evidence.is_virtual and outcome.status in ("timed_out", "out_of_memory")
    )
    return verdict_on(criterion, "error" if ours else "fail", cause_of(outcome), why)


def not_judged(criterion: Criterion, bad: Outcome, evidence: Evidence) -> CriterionVerdict:
    """Return the verdict where a kernel does not come to its end, so that nothing else was looked
    for: unjudged, unless that was numalab's fault, or an interrupt."""
    if bad.is_numalab_fault or bad.status == "cancelled":
        return unusable(criterion, bad, evidence)
    why = "Not looked for, since the kernel does not come to its end."
    return verdict_on(criterion, "fail", "not_right_yet", why)


NOT_TRACED = (
    "This node lets the kit see page faults of its own, and none of a kernel's: the solution can't "
    "be traced, either."
)


def missing_runs(
    criterion: Criterion, evidence: Evidence, runs: Sequence[KernelRun]
) -> CriterionVerdict | None:
    """Return the verdict where runs that a criterion needs are missing or ended early; or None.
    What is missing is explained by the first of `outcomes` that ended early."""
    bad = first_bad(run.outcome for run in runs)
    if bad is not None and bad.status == "untraceable" and node_refuses_tracing(evidence):
        return verdict_on(criterion, "not_gradable", "not_visible_here", NOT_TRACED)
    if bad is None and not runs:
        bad = first_bad(outcomes(evidence))
        if bad is None:
            return not_measured(criterion, evidence)
    return None if bad is None else unusable(criterion, bad, evidence)


NOT_MEASURED = (
    "Not measured: this grading has no run that decides it, and nothing that it saw says why. "
    "Grade again; if it stays so, ./numalab doctor says what this node lacks."
)


NO_CORES = (
    "Not judged under libomp: the machine's own processors announce no cores by CPUID, where "
    "libomp looks, and the virtual ones do."
)


def pages_not_visible(criterion: Criterion, *, names_seccomp: bool = False) -> CriterionVerdict:
    """Return the verdict where the NUMA nodes of pages can't be read. names_seccomp: whether to say
    what refuses that most often."""
    likely = " (a container's seccomp profile, most often)" if names_seccomp else ""
    why = f"This system refuses move_pages, so nobody can see where pages live{likely}."
    return verdict_on(criterion, "not_gradable", "not_visible_here", why)


def not_measured(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Return the verdict where the run that decides a criterion is missing, and no other run says
    why: inconclusive, unless the kernel stopped the monitor."""
    if evidence.monitor_lost is not None:
        why = (
            f"While the kit looked at the kernel, {evidence.monitor_lost}. With a kernel of its "
            "own in the same place that does not happen. A kernel sends no signals to other "
            "processes, changes none of their limits, and leaves descriptors alone that it has "
            "not opened."
        )
        return verdict_on(criterion, "fail", "disturbed_monitor", why)
    if evidence.interrupted:
        return verdict_on(criterion, "inconclusive", "interrupted", NOT_GRADED)
    if evidence.is_held_up:
        return held_up(criterion, evidence)
    return verdict_on(criterion, "inconclusive", "not_measured", NOT_MEASURED)


def held_up(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Return the inconclusive verdict where the machine paused in the runs that decide a criterion.
    Evidence.is_held_up has to be true."""
    return verdict_on(criterion, "inconclusive", "node_paused", explain.pauses(evidence.left_out))


def unseen(lab: Lab, criterion: Criterion, parts: Sequence[str | None]) -> list[str | None]:
    """Return the kernels that a criterion is about and that are not among the given parts."""
    of_criterion = lab.kernel_parts if criterion.part is None else (criterion.part,)
    return [part for part in of_criterion if part not in parts]


def judge_value(criterion: Criterion, value: float, why: str, unit: str) -> CriterionVerdict:
    """Return a pass or a failure by the criterion's bounds. NaN fails where there is a bound.

    Args:
        value: what was measured, in `unit`.
        why: the reason, of a pass as of a failure.
    """
    passed = (criterion.at_least is None or value >= criterion.at_least) and (
        criterion.at_most is None or value <= criterion.at_most
    )
    if passed:
        return verdict_on(criterion, "pass", "reached", why, value=value, unit=unit)
    return verdict_on(criterion, "fail", "missed", why, value=value, unit=unit)
