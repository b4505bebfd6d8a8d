"""Runs that stay in the record and say nothing of the kernel: the node paused in them, or they were
done once more. The session that takes them and the reader of its record go by the same rules."""

from __future__ import annotations

from typing import Any

from numalab.evidence.record import SUBMISSION, Kind
from numalab.evidence.results import KIT_FAILED
from numalab.evidence.run_formats import (
    AnyRunRecord,
    LatencyRun,
    OutcomeRecord,
    PlacementRun,
    TimingRun,
    WhyLeftOut,
)

# What may have come from outside: a process that somebody else stops or continues, a node that
# stands still for a moment too short to be seen. A kernel may do it, too, and only where it is
# about to lose; the session that does such a run once more sees to it that nothing is gained.
DOUBTFUL: tuple[WhyLeftOut, ...] = ("timed_out", "bad_protocol")


def _parts(run: AnyRunRecord) -> list[tuple[str, OutcomeRecord]]:
    """Return role and outcome of each worker of a run, of those roles of which the rest depends:
    not one that may fail and has. After Ctrl-C nobody's part is whole."""
    if isinstance(run, TimingRun):
        return [
            (timed.role, timed.outcome)
            for timed in run.roles
            if not timed.may_fail or timed.outcome.status in ("ok", "cancelled")
        ]
    ended = [(run.role, run.outcome)]
    if isinstance(run, PlacementRun) and run.one_thread is not None:
        # What a team is compared with: how that ended is held against the kernel, too.
        ended.append((run.role, run.one_thread.outcome))
    return ended


def outcomes(run: AnyRunRecord) -> list[OutcomeRecord]:
    """Return how each worker of a run ended, but for one without which the others went on."""
    if isinstance(run, TimingRun):
        return [outcome for _, outcome in _parts(run)]
    return [run.outcome]


def paused_s(run: AnyRunRecord) -> float:
    """Return how long the node stood still while the run lasted."""
    return max((outcome.paused_s or 0.0 for outcome in outcomes(run)), default=0.0)


def why_again(kind: Kind[Any], run: AnyRunRecord) -> WhyLeftOut | None:
    """Why a run does not count, or only a second one does; None where it counts. A pause takes the
    worth of what did not come to its end, and of whatever is timed: of a generation that tells in
    which of its rounds the node paused, only where those were too many."""
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
    """Return who ended in a doubtful way: kind, part and role."""
    return {
        (kind.name, run.part, role) for role, outcome in _parts(run) if outcome.status in DOUBTFUL
    }


def failed_for_kit(run: AnyRunRecord) -> list[OutcomeRecord]:
    """The outcomes by which the kit failed in a run: it could not do its part, or one of its own
    programs did not come to its end, beside the student's or under a launch of the student's. None
    of a run of the kit's own alone."""
    ended = _parts(run)
    is_kits_program = isinstance(run, LatencyRun) or (
        isinstance(run, TimingRun) and run.slow is not None
    )
    if all(role != SUBMISSION for role, _ in ended):
        return []
    if any(outcome.status == "cancelled" for _, outcome in ended):
        return []
    return [
        outcome
        for role, outcome in ended
        if outcome.status in KIT_FAILED
        or (outcome.status != "ok" and (is_kits_program or role != SUBMISSION))
    ]


def ended_at_start(run: AnyRunRecord) -> list[OutcomeRecord]:
    """The outcomes of the student's programs that ended before the kernel was called: as they were
    loaded, and as libraries began."""
    return [
        outcome
        for role, outcome in _parts(run)
        if role == SUBMISSION
        and outcome.status in ("crashed", "exited", "timed_out")
        and outcome.doing == "start"
    ]


def excuse_submission(run: AnyRunRecord) -> None:
    """Note that the kit's own kernel did not come to its end in the place of one that was not even
    called."""
    for outcome in ended_at_start(run):
        outcome.status = "kit_error"
        outcome.error = "with a kernel of its own it did not come further, either"


def blame_submission(run: AnyRunRecord) -> None:
    """Note that the kit's own kernel came to its end in the place of the student's."""
    for outcome in failed_for_kit(run):
        outcome.kits_own = "ok"


def why_left_out(kind: Kind[Any], run: AnyRunRecord) -> WhyLeftOut | None:
    """Why a run that is on record does not count; None where it does. That of a time-out which was
    met twice does."""
    if run.tried_again is not None:
        return run.tried_again
    return "paused" if why_again(kind, run) == "paused" else None
