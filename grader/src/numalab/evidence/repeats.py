"""Runs that stay in the record and do not count: the machine paused in them, or they were
repeated."""

from __future__ import annotations

from typing import Any

from numalab.evidence.record import SUBMISSION, Kind
from numalab.evidence.run_formats import (
    NUMALAB_FAILED,
    AnyRunRecord,
    LatencyRun,
    Outcome,
    PlacementRun,
    TimingRun,
    WhyLeftOut,
)

# Ends that may have an outside cause: a process that another user stops or continues, a machine
# that stands still too briefly to be noticed. A kernel may cause them, too, where it is about to
# lose; the grading that repeats such a run makes sure that nothing is gained by it.
DOUBTFUL: tuple[WhyLeftOut, ...] = ("timed_out", "bad_protocol")


def _parts(run: AnyRunRecord) -> list[tuple[str, Outcome]]:
    """Return role and outcome of each worker of a run but those that may fail and have, unless
    Ctrl-C ended them; of a placement also of the run with one thread."""
    if isinstance(run, TimingRun):
        return [
            (timed.role, timed.outcome)
            for timed in run.roles
            if not timed.may_fail or timed.outcome.status in ("ok", "cancelled")
        ]
    ended = [(run.role, run.outcome)]
    if isinstance(run, PlacementRun) and run.one_thread is not None:
        # The run that a team is compared with: a bad end of it counts against the kernel, too.
        ended.append((run.role, run.one_thread.outcome))
    return ended


def outcomes(run: AnyRunRecord) -> list[Outcome]:
    """Return how each worker of a run ended, without those that may fail and have, and the one that
    a team is compared with."""
    if isinstance(run, TimingRun):
        return [outcome for _, outcome in _parts(run)]
    return [run.outcome]


def paused_s(run: AnyRunRecord) -> float:
    """Return how long the machine stood still during a run, in s: the longest time among its
    outcomes."""
    return max((outcome.paused_s or 0.0 for outcome in outcomes(run)), default=0.0)


def why_again(kind: Kind[Any], run: AnyRunRecord) -> WhyLeftOut | None:
    """Return why a run has to be repeated; None: it counts, or was interrupted.

    A pause spoils a run that failed, and every timed one. A timed round that repeats its paused
    repetitions, and did not fail, is spoilt only where too many of them paused. A doubtful end
    spoils a run, too.
    """
    ends = [outcome.status for _, outcome in _parts(run)]
    if "cancelled" in ends:
        return None
    is_spoilt = kind.is_timed
    if isinstance(run, TimingRun) and run.paused_rounds is not None:
        is_spoilt = run.held_up
    if paused_s(run) > 0 and (is_spoilt or any(end != "ok" for end in ends)):
        return "paused"
    return next((end for end in DOUBTFUL if end in ends), None)


def doubted(kind: Kind[Any], run: AnyRunRecord) -> set[tuple[str, str | None, str]]:
    """Return kind, part and role of each worker with a doubtful end."""
    return {
        (kind.name, run.part, role) for role, outcome in _parts(run) if outcome.status in DOUBTFUL
    }


def numalab_failures(run: AnyRunRecord) -> list[Outcome]:
    """Return the outcomes by which numalab failed in a run with the student's work: it could not do
    its part, or a program of its own did not come to its end next to the student's, or under the
    student's launch file. Empty for a run without the submission's role, and after Ctrl-C."""
    ended = _parts(run)
    is_numalab_program = isinstance(run, LatencyRun) or (
        isinstance(run, TimingRun) and run.slow is not None
    )
    if all(role != SUBMISSION for role, _ in ended):
        return []
    if any(outcome.status == "cancelled" for _, outcome in ended):
        return []
    return [
        outcome
        for role, outcome in ended
        if outcome.status in NUMALAB_FAILED
        or (outcome.status != "ok" and (is_numalab_program or role != SUBMISSION))
    ]


def ended_at_start(run: AnyRunRecord) -> list[Outcome]:
    """Return the outcomes of the student's programs that ended before the kernel was called, as
    they or libraries were loaded."""
    return [
        outcome
        for role, outcome in _parts(run)
        if role == SUBMISSION
        and outcome.status in ("crashed", "exited", "timed_out")
        and outcome.doing == "start"
    ]


def excuse_submission(run: AnyRunRecord) -> None:
    """Change the outcomes of ended_at_start to errors of numalab's, whose own kernel in the place
    of the student's did not come to its end, either."""
    for outcome in ended_at_start(run):
        outcome.status = "kit_error"
        outcome.error = "with a kernel of its own it did not come further, either"


def blame_submission(run: AnyRunRecord) -> None:
    """Mark the outcomes of numalab_failures: numalab's own kernel came to its end in the place of
    the student's."""
    for outcome in numalab_failures(run):
        outcome.baseline_status = "ok"


def why_left_out(kind: Kind[Any], run: AnyRunRecord) -> WhyLeftOut | None:
    """Return why a recorded run does not count; None: it does."""
    if run.tried_again is not None:
        return run.tried_again
    return "paused" if why_again(kind, run) == "paused" else None
