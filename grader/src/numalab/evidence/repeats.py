"""Runs that stay in the record and say nothing of the kernel: the node paused in them, or they were
done once more. The session that takes them and the reader of its record go by the same rules."""

from __future__ import annotations

from typing import Any

from numalab.evidence.left_out import WhyLeftOut
from numalab.evidence.record import SUBMISSION, Json, Kind
from numalab.evidence.results import KIT_FAILED, KITS_OWN

# What may have come from outside: a process that somebody else stops or continues, a node that
# stands still for a moment too short to be seen. A kernel may do it, too, and only where it is
# about to lose; the session that does such a run once more sees to it that nothing is gained.
DOUBTFUL: tuple[WhyLeftOut, ...] = ("timed_out", "bad_protocol")


def _roles(run: Json) -> list[Json]:
    """Of a generation, those of which the rest depends: not one that may fail and has. After Ctrl-C
    nobody's part is whole."""
    return [
        role
        for role in run["roles"]
        if not role.get("may_fail") or role["outcome"]["status"] in ("ok", "cancelled")
    ]


def outcomes(run: Json) -> list[Json]:
    """How each worker of a run ended, but for one without which the others went on."""
    return [run["outcome"]] if "outcome" in run else [r["outcome"] for r in _roles(run)]


def paused_s(run: Json) -> float:
    """How long the node stood still while it lasted."""
    return max((float(outcome.get("paused_s", 0.0)) for outcome in outcomes(run)), default=0.0)


def why_again(kind: Kind[Any], run: Json) -> WhyLeftOut | None:
    """Why a run does not count, or only a second one does; None where it counts. A pause takes the
    worth of what did not come to its end, and of whatever is timed: of a generation that tells in
    which of its rounds the node paused, only where those were too many."""
    ends = [end for _, end in _ends(run)]
    if "cancelled" in ends:
        return None
    is_spoilt = bool(run.get("held_up", kind.is_timed))
    if paused_s(run) > 0 and (is_spoilt or any(end != "ok" for end in ends)):
        return "paused"
    return next((end for end in DOUBTFUL if end in ends), None)


def _ends(run: Json) -> list[tuple[str, str]]:
    """Role and end of each worker of a run, with that of one thread, which a team is compared with:
    how that one ended is held against the kernel, too."""
    parts = _roles(run) if "roles" in run else [run]
    ended = [(part["role"], part["outcome"]) for part in parts]
    if "one_thread" in run:
        ended.append((run["role"], run["one_thread"]["outcome"]))
    return [(role, outcome["status"]) for role, outcome in ended]


def doubted(kind: Kind[Any], run: Json) -> set[tuple[str, str | None, str]]:
    """Who ended in a doubtful way: kind, part and role."""
    return {(kind.name, run["part"], role) for role, end in _ends(run) if end in DOUBTFUL}


def _all_ends(run: Json) -> list[tuple[str, Json]]:
    """As _ends, with all that is known of each."""
    parts = _roles(run) if "roles" in run else [run]
    ended = [(part.get("role", SUBMISSION), part["outcome"]) for part in parts]
    if "one_thread" in run:
        ended.append((run["role"], run["one_thread"]["outcome"]))
    return ended


def failed_for_kit(run: Json) -> list[Json]:
    """The outcomes by which the kit failed in a run: it could not do its part, or one of its own
    programs did not come to its end, beside the student's or under a launch of the student's. None
    of a run of the kit's own alone."""
    ended = _all_ends(run)
    is_kits_program = "slow" in run or run["kind"] == "latency"
    if all(role != SUBMISSION for role, _ in ended):
        return []
    if any(outcome["status"] == "cancelled" for _, outcome in ended):
        return []
    return [
        outcome
        for role, outcome in ended
        if outcome["status"] in KIT_FAILED
        or (outcome["status"] != "ok" and (is_kits_program or role != SUBMISSION))
    ]


def ended_at_start(run: Json) -> list[Json]:
    """The outcomes of the student's programs that ended before the kernel was called: as they were
    loaded, and as libraries began."""
    return [
        outcome
        for role, outcome in _all_ends(run)
        if role == SUBMISSION
        and outcome["status"] in ("crashed", "exited", "timed_out")
        and outcome.get("doing") == "start"
    ]


def excuse_submission(run: Json) -> None:
    """Note that the kit's own kernel did not come to its end in the place of one that was not even
    called."""
    for outcome in ended_at_start(run):
        outcome["status"] = "kit_error"
        outcome["error"] = "with a kernel of its own it did not come further, either"


def blame_submission(run: Json) -> None:
    """Notes that the kit's own kernel came to its end in the place of the student's."""
    for outcome in failed_for_kit(run):
        outcome[KITS_OWN] = "ok"


def why_left_out(kind: Kind[Any], run: Json) -> WhyLeftOut | None:
    """Why a run that is on record does not count; None where it does. That of a time-out which was
    met twice does."""
    again: WhyLeftOut | None = run.get("tried_again")
    if again is not None:
        return again
    return "paused" if why_again(kind, run) == "paused" else None
