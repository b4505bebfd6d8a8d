"""Which runs of a record say nothing of the kernel: pure rules, on invented records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from support import invented
from support.run_values import recorded_run

from numalab.evidence.kinds import CHECK, LATENCY, PLACEMENT, TIMED_ROUND
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.record import Json, Kind, LeftOut
from numalab.evidence.repeats import (
    blame_submission,
    doubted,
    ended_at_start,
    excuse_submission,
    numalab_failures,
    outcomes,
    paused_s,
    why_again,
    why_left_out,
)
from numalab.evidence.run_formats import Outcome, PlacementRun, TimingRun

ONE = invented.ONE_NODE
TIMES = {"solution": 0.2, "submission": 0.2}
GENERATION_RUN = invented.generation(ONE, TIMES)

# It tells in which of its rounds the node paused, and did them again.
IN_ROUNDS = GENERATION_RUN | {"paused_rounds": 1, "held_up": False}


def ended(run: Json, **outcome: Any) -> Json:
    """As it is, but for how its last worker ended."""
    if "outcome" in run:
        return run | {"outcome": run["outcome"] | outcome}
    *others, last = run["roles"]
    return run | {"roles": [*others, last | {"outcome": last["outcome"] | outcome}]}


def alone(run: Json, **outcome: Any) -> Json:
    """Beside a team one thread, which ended so."""
    one = invented.one_thread(0.2)
    return run | {"one_thread": one | {"outcome": one["outcome"] | outcome}}


PLACED = invented.evidence(ONE)["runs"][-1]
LATENCIES = invented.latency("x")


@pytest.mark.parametrize(
    ("kind", "run", "why"),
    [
        (TIMED_ROUND, GENERATION_RUN, None),
        (TIMED_ROUND, ended(GENERATION_RUN, paused_s=0.4), "paused"),
        (TIMED_ROUND, ended(IN_ROUNDS, paused_s=0.4), None),
        (TIMED_ROUND, ended(IN_ROUNDS | {"held_up": True}, paused_s=0.4), "paused"),
        (TIMED_ROUND, ended(IN_ROUNDS, status="exited", paused_s=0.4), "paused"),
        (TIMED_ROUND, ended(GENERATION_RUN, status="timed_out"), "timed_out"),
        (TIMED_ROUND, ended(GENERATION_RUN, status="timed_out", paused_s=0.4), "paused"),
        (TIMED_ROUND, ended(GENERATION_RUN, status="crashed"), None),
        (TIMED_ROUND, ended(GENERATION_RUN, status="crashed", paused_s=0.4), "paused"),
        (TIMED_ROUND, ended(GENERATION_RUN, status="cancelled", paused_s=0.4), None),
        (LATENCY, ended(LATENCIES, paused_s=0.4), "paused"),
        (PLACEMENT, ended(PLACED, paused_s=0.4), None),
        (PLACEMENT, ended(PLACED, status="bad_protocol"), "bad_protocol"),
        (PLACEMENT, ended(PLACED, status="kit_error", paused_s=0.4), "paused"),
        (PLACEMENT, ended(PLACED, status="kit_error"), None),
        (PLACEMENT, alone(PLACED), None),
        (PLACEMENT, alone(PLACED, status="timed_out"), "timed_out"),
        (PLACEMENT, alone(PLACED, status="crashed"), None),
        (PLACEMENT, alone(ended(PLACED, paused_s=0.4), status="crashed"), "paused"),
    ],
)
def test_what_is_done_again(kind: Kind[Any], run: Json, why: str | None) -> None:
    record = recorded_run(run)
    assert why_again(kind, record) == why
    # The last of a row counts, unless the node paused in it.
    assert why_left_out(kind, record) == ("paused" if why == "paused" else None)
    record.tried_again = "timed_out"
    assert why_left_out(kind, record) == "timed_out"


def test_the_longest_pause_of_a_run_is_told() -> None:
    run = recorded_run(ended(GENERATION_RUN, paused_s=0.4))
    assert len(outcomes(run)) == 2
    others = map(recorded_run, (GENERATION_RUN, PLACED))
    assert (paused_s(run), *map(paused_s, others)) == (0.4, 0.0, 0.0)


def test_what_is_left_out_stays_in_the_record_and_is_not_judged() -> None:
    record = invented.evidence(ONE, times=invented.steady(2, **TIMES))
    check, *others = record["runs"]
    late = ended(check, status="timed_out", doing="compute", n=7, limit_s=5.0, limit_of="cpu_time")
    paused = ended(GENERATION_RUN, paused_s=1.5)
    record["runs"] = [
        late | {"tried_again": "timed_out"}, check, *others,
        paused | {"tried_again": "paused"}, GENERATION_RUN, paused,
    ]  # fmt: skip
    record_of(record)
    evidence = parse(record)
    assert [run.outcome.status for run in evidence.runs_of(CHECK)] == ["ok"]
    assert len(evidence.runs_of(TIMED_ROUND)) == 3
    assert evidence.left_out == (
        LeftOut("check", "submission", None, None, "timed_out", 0.0, is_last=False),
        LeftOut("generation", "submission", None, None, "paused", 1.5, is_last=False),
        LeftOut("generation", "submission", None, None, "paused", 1.5, is_last=True),
    )
    assert evidence.is_held_up
    assert not evidence.select_parts("another").left_out
    assert not evidence.select_parts("another").is_held_up
    record["runs"].append(GENERATION_RUN)
    assert not parse(record).is_held_up
    assert len(parse(record).left_out) == 3


def test_rounds_in_which_the_node_paused_are_no_times() -> None:
    record = invented.evidence(ONE, times=invented.steady(1, **TIMES))
    run = ended(IN_ROUNDS, paused_s=0.4)
    samples = [
        sample | ({"paused": True} if sample["repetition"] == 2 else {})
        for sample in run["samples"]
    ]
    record["runs"][-1] = run | {"samples": samples}
    record_of(record)
    (generation,) = parse(record).runs_of(TIMED_ROUND)
    assert {role: len(times) for role, times in generation.elapsed_s.items()} == {
        "solution": 2, "submission": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "interrupted", "error"),
    [
        ({}, False, None),
        ({"interrupted": True}, True, None),
        ({"timing_error": "It broke."}, False, "It broke."),
        # As earlier records have it.
        ({"timing_error": "Interrupted before it was decided."}, True, None),
    ],
)
def test_a_grading_that_was_interrupted_is_no_error(
    changes: Json, interrupted: bool, error: str | None
) -> None:
    evidence = parse(invented.evidence(ONE) | changes)
    assert (evidence.interrupted, evidence.timing_error) == (interrupted, error)


# ---- whose fault a bad end is ------------------------------------------------------------------


def part(status: str, role: str = "submission", **outcome: Any) -> Json:
    return {"role": role, "outcome": {"status": status} | outcome}


def run_of(status: str, role: str = "submission", kind: str = "check", **more: Any) -> Json:
    threads = {"threads": []} if kind == "placement" else {}
    return {"kind": kind, "part": None} | threads | part(status, role) | more


def job_of(*roles: Json, **more: Any) -> Json:
    return {"kind": "generation", "part": None, "roles": list(roles)} | more


def recorded_job(*roles: Json) -> TimingRun:
    run = recorded_run(job_of(*roles))
    assert isinstance(run, TimingRun)
    return run


def statuses(found: Iterable[Outcome]) -> list[str]:
    return [outcome.status for outcome in found]


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (run_of("ok"), []),
        (run_of("crashed"), []),
        (run_of("obstructed"), ["obstructed"]),
        (run_of("kit_error"), ["kit_error"]),
        # Of the kit alone nothing is the student's.
        (run_of("kit_error", "solution"), []),
        (
            run_of(
                "crashed",
                kind="placement",
                one_thread={"outcome": {"status": "kit_error"}, "computes": 1},
            ),
            ["kit_error"],
        ),
        (
            run_of(
                "kit_error",
                kind="placement",
                one_thread={"outcome": {"status": "obstructed"}, "computes": 1},
            ),
            ["kit_error", "obstructed"],
        ),
        # A program of the kit under a launch of the student's.
        (run_of("crashed", kind="latency"), ["crashed"]),
        (run_of("ok", kind="latency"), []),
        (run_of("cancelled", kind="latency"), []),
        (job_of(part("crashed"), slow="near.toml"), ["crashed"]),
        (job_of(part("ok"), part("crashed", "solution")), ["crashed"]),
        (job_of(part("crashed"), part("ok", "solution")), []),
        (job_of(part("kit_error"), part("timed_out", "control")), ["kit_error", "timed_out"]),
        (job_of(part("kit_error"), part("cancelled", "solution")), []),
        (job_of(part("kit_error", "solution"), part("crashed", "control")), []),
        # One that may fail and has is not looked at.
        (job_of(part("ok"), part("crashed", "handout") | {"may_fail": True}), []),
    ],
)
def test_what_the_kit_failed_in(run: Json, found: list[str]) -> None:
    record = recorded_run(run)
    assert statuses(numalab_failures(record)) == found
    blame_submission(record)
    kept = outcomes(record)
    if isinstance(record, TimingRun):
        kept = [timed.outcome for timed in record.roles]
    if isinstance(record, PlacementRun) and record.one_thread is not None:
        kept.append(record.one_thread.outcome)
    assert statuses(outcome for outcome in kept if outcome.baseline_status == "ok") == found


@pytest.mark.parametrize(
    ("status", "role", "doing", "is_so"),
    [
        ("crashed", "submission", "start", True),
        ("exited", "submission", "start", True),
        ("timed_out", "submission", "start", True),
        ("ok", "submission", "start", False),
        ("crashed", "submission", "compute", False),
        ("crashed", "solution", "start", False),
    ],
)
def test_programs_that_end_before_the_kernel_is_called(
    status: str, role: str, doing: str, is_so: bool
) -> None:
    run = recorded_job(part("ok", "control"), part(status, role, doing=doing))
    assert statuses(ended_at_start(run)) == ([status] if is_so else [])
    excuse_submission(run)
    control, ended = (timed.outcome for timed in run.roles)
    assert ended.status == ("kit_error" if is_so else status)
    assert (ended.error is not None) is is_so
    assert (control.status, control.error) == ("ok", None)


def test_who_ended_in_a_doubtful_way() -> None:
    one = {"outcome": {"status": "bad_protocol"}, "computes": 1}
    late = run_of("timed_out", kind="placement", one_thread=one) | {"part": "x"}
    assert doubted(CHECK, recorded_run(late)) == {("check", "x", "submission")}
    both = recorded_job(part("timed_out"), part("ok", "control"), part("bad_protocol", "solution"))
    assert doubted(TIMED_ROUND, both) == {
        ("generation", None, "submission"), ("generation", None, "solution"),
    }  # fmt: skip
    assert doubted(CHECK, recorded_run(run_of("crashed"))) == set()


def test_one_that_may_fail_counts_until_it_has() -> None:
    beside = part("ok", "handout", paused_s=2.0) | {"may_fail": True}
    assert paused_s(recorded_job(part("ok"), beside)) == 2.0
    beside["outcome"]["status"] = "cancelled"
    assert paused_s(recorded_job(part("ok"), beside)) == 2.0
    assert why_again(TIMED_ROUND, recorded_job(part("timed_out"), beside)) is None
    beside["outcome"]["status"] = "crashed"
    assert paused_s(recorded_job(part("ok"), beside)) == 0.0
    assert paused_s(recorded_job()) == 0.0
    assert len(outcomes(recorded_job(part("ok"), beside))) == 1
