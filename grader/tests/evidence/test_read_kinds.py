"""What runs of a record become: whole values, of records with all there is and of earlier ones."""

from __future__ import annotations

from typing import Any

import pytest
from support.run_values import an_outcome, form_of, parsed

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.kinds import (
    CPUSETS,
    LATENCY,
    PLACEMENT,
    RACE,
    THREAD_LEVEL,
    TIMED_ROUND,
    TRACE,
)
from numalab.evidence.read_parts import expand, read_checked_pages
from numalab.evidence.read_trace import traced_arrays
from numalab.evidence.record import (
    CpuTime,
    Json,
    Kind,
    Placement,
    SingleThread,
    TimedRound,
    Trace,
)
from numalab.evidence.run_formats import (
    GroupRefusal,
    Origin,
    OtherLevel,
    RaceRun,
    ResultsRecord,
    Slots,
    Thread,
    TimedRole,
    TouchMap,
    TracedPages,
)
from numalab.evidence.traced_pages import TracedArray

OK = {"status": "ok", "printed_bytes": 3}
WELL = an_outcome("ok", printed_bytes=3)
RIGHT = {"checked": 9, "mismatches": 0}
CORRECT = ResultsRecord(checked=9, mismatches=0)
COMMON: Json = {"part": "x", "team": 2, "outcome": OK, "results": RIGHT}
THREADS = [
    {"thread": 1, "allowed_pus": [4, 5], "core": -1, "package": 2, "numa_node": 3, "last_pu": 5}
]
BOUND = (Thread(1, (4, 5), -1, 2, 3, 5),)
SLOTS = {
    "count": 2, "bad_lengths": 0, "unreadable": 0, "least_keys": 5, "sums_right": True,
    "most_apart_bytes": 64,
}  # fmt: skip
CALLS = {"main": 1, "main_in_parallel": 2, "other": 3, "at_once": 4}
RANK: Json = {
    "rank": 0, "requested": "serialized", "provided": "multiple", "answer": 1, "threads": 4,
    "calls": CALLS,
}  # fmt: skip
LEVEL = COMMON | {"ranks": [RANK]}


def sample_of(data: Json, looked_at: int) -> CheckedPages:
    return read_checked_pages(form_of(TracedPages, {"array": "a"} | data), looked_at)


def arrays_of(data: Json) -> tuple[TracedArray, ...]:
    return traced_arrays(form_of(TouchMap, {"order": "natural"} | data) if data else None)


def sample(size: int, elapsed_s: float, warm_up: bool = False) -> Json:
    return {"bytes": size, "elapsed_s": elapsed_s, "repetitions": 4, "warm_up": warm_up}


@pytest.mark.parametrize(
    ("kind", "run", "read"),
    [
        (TRACE, {"n": 8, "threads": THREADS},
         Trace("x", WELL, CORRECT, 8, BOUND, "", "", False, (), 2, None)),
        (TRACE, {"n": 8, "threads": [], "touch_map": {
            "method": "userfaultfd", "order": "natural", "sees_write_after_read": True,
            "closings": 4, "arrays": [{"array": "a", "first_writer": [[0, 2]],
                                       "users": [[[0, 1], 2]]}]}},
         Trace("x", WELL, CORRECT, 8, (), "userfaultfd", "natural", True,
               (TracedArray("a", (0, 0), (frozenset({0, 1}),) * 2, CheckedPages(2, ((0, 2),))),),
               2, 4)),
        (PLACEMENT, {"n": 8, "threads": THREADS, "residency": None},
         Placement("x", WELL, CORRECT, 8, BOUND, None, {}, (), 2, None)),
        (PLACEMENT, {"n": 8, "threads": []},
         Placement("x", WELL, CORRECT, 8, (), None, {}, (), 2, None)),
        (PLACEMENT, {"n": 8, "threads": [], "residency": []},
         Placement("x", WELL, CORRECT, 8, (), {}, {}, (), 2, None)),
        (PLACEMENT, {
            "n": 8, "threads": [], "computes": 4,
            "residency": [{"array": "a", "numa_node": [[0, 2], [-1, 1]]},
                          {"array": "b", "numa_node": [[1, 2]], "pages": 9, "blocks": [[3, 2]]}],
            "cpu_time": [{"cpu_s": 1.0, "runqueue_wait_s": 2.0, "steal_s": 3.0, "longest_s": 4.0,
                          "demand_s": 5.0},
                         {"cpu_s": 2.0, "runqueue_wait_s": 0.0, "steal_s": 0.0, "longest_s": 0.0,
                          "demand_s": 0.0}],
            "one_thread": {"computes": 2, "cpu_s": 3.0, "team_cpu_s": 5.0, "outcome": OK}},
         Placement("x", WELL, CORRECT, 8, (), {"a": (0, 0, -1), "b": (1, 1)},
                   {"a": CheckedPages(3, ((0, 3),)), "b": CheckedPages(9, ((3, 2),))},
                   (CpuTime(1.0, 2.0, 3.0, 4.0, 5.0), CpuTime(2.0, 0.0, 0.0, 0.0, 0.0)), 2,
                   SingleThread(WELL, 1.5, 1.25, 2.0))),
        # What did not come to one call of it, and threads that have more than their process.
        (PLACEMENT, {
            "n": 8, "threads": [], "computes": 0,
            "cpu_time": [{"cpu_s": 7.0, "runqueue_wait_s": 0.0, "steal_s": 0.0, "longest_s": 0.0,
                          "demand_s": 0.0}],
            "one_thread": {"computes": 0, "cpu_s": 3.0, "team_cpu_s": 5.0, "outcome": OK}},
         Placement("x", WELL, CORRECT, 8, (), None, {}, (CpuTime(7.0, 0.0, 0.0, 0.0, 0.0),), 2,
                   SingleThread(WELL, None, 5.0, 0.0))),
        (PLACEMENT, {
            "n": 8, "threads": [], "computes": 1,
            "one_thread": {"computes": 1, "cpu_s": 3.0, "team_cpu_s": 5.0, "outcome": OK}},
         Placement("x", WELL, CORRECT, 8, (), None, {}, (), 2, SingleThread(WELL, 3.0, 5.0, 5.0))),
    ],
)  # fmt: skip
def test_a_run_becomes_a_value(kind: Kind[Any], run: Json, read: object) -> None:
    assert parsed(kind, COMMON | run) == read


@pytest.mark.parametrize(
    ("run", "tried"),
    [
        ({"other_levels": [{"requested": "multiple", "provided": "single", "answer": None}]},
         (OtherLevel("multiple", "single", None),)),
        # An earlier record has one: a level less than the first rank asked for.
        ({"answer_to_less": 0}, (OtherLevel("serialized", "funneled", 0),)),
        ({"answer_to_less": None}, ()),
        ({}, ()),
        ({"ranks": [], "answer_to_less": 0}, ()),
        # Less than the least level there is not.
        ({"ranks": [RANK | {"requested": None}], "answer_to_less": 0}, ()),
        ({"ranks": [RANK | {"requested": "single"}], "answer_to_less": 0}, ()),
    ],
)  # fmt: skip
def test_levels_that_a_rank_was_tried_with(run: Json, tried: tuple[OtherLevel, ...]) -> None:
    assert parsed(THREAD_LEVEL, LEVEL | run).tried_levels == tried


def test_messages_are_timed_one_way_by_size() -> None:
    run = parsed(LATENCY, COMMON | {"file": None, "ranks": [], "samples": [
        sample(16, 8e-6), sample(8, 9.0, True), sample(8, 16e-6), sample(8, 24e-6)]})  # fmt: skip
    assert list(run.message_us) == [8, 16]
    assert run.message_us[8] == pytest.approx([2.0, 3.0])
    assert run.message_us[16] == pytest.approx([1.0])


def test_most_runs_are_their_evidence() -> None:
    run = parsed(RACE, COMMON | {"race": {"accesses": ["kernel.c:3"]}})
    assert isinstance(run, RaceRun) and run.has_race
    assert not parsed(RACE, COMMON).has_race


def test_programs_in_groups_by_name() -> None:
    program = {
        "threads": 2, "allowed_pus": [], "allowed_numa_nodes": [], "ran_on_pus": [],
        "pages_at_first": None, "pages_of_first_half": None, "pages_of_second_half": None,
        "partition": None,
    }  # fmt: skip
    refusal = {"group": "job", "file": "cpuset.cpus", "value": "9", "error": "EINVAL"}
    found = parsed(CPUSETS, COMMON | {
        "file": "groups.toml", "refusals": [refusal],
        "programs": [program | {"group": "others"}, program | {"group": "job", "threads": 3}],
    })  # fmt: skip
    assert (found.part, found.outcome, found.file) == ("x", WELL, "groups.toml")
    assert found.refusals == (GroupRefusal("job", "cpuset.cpus", "9", "EINVAL"),)
    assert (found.job.threads, found.others.threads) == (3, 2)


def timed(role: str, elapsed_s: float, **more: bool) -> Json:
    return {"role": role, "elapsed_s": elapsed_s, "cut": False, "warm_up": False} | more


def role_of(name: str, **more: Any) -> Json:
    return {"role": name, "outcome": OK, "results": RIGHT, "initialize_s": 0.5} | more


def test_a_generation_has_the_times_of_each_role() -> None:
    run = {
        "part": "x", "n": 7, "bytes_moved": 80,
        "roles": [role_of("solution", taken_s=9.0), role_of("submission", slots=SLOTS)],
        "samples": [
            timed("solution", 4.0, warm_up=True), timed("submission", 8.0, warm_up=True),
            timed("solution", 1.0), timed("submission", 2.0), timed("solution", 1.5, paused=True),
            timed("solution", 1.25), timed("submission", 3.0, cut=True, warm_up=True),
        ],
    }  # fmt: skip
    slots = Slots(2, 0, 0, 5, True, 64)
    well: Json = {"environment": {}, "initialize_s": 0.5, "results": CORRECT, "outcome": WELL}
    assert parsed(TIMED_ROUND, run) == TimedRound(
        part="x", slow=None, n=7, bytes_moved=80,
        roles={
            "solution": TimedRole(role="solution", taken_s=9.0, **well),
            "submission": TimedRole(role="submission", slots=slots, **well),
        },
        elapsed_s={"solution": (1.0, 1.25), "submission": (2.0, 3.0)},
        cut=frozenset({"submission"}), is_retry=False,
        taken_s={"solution": 9.0, "submission": 13.5}, bytes_allocated=None, loads_in_chain=0,
    )  # fmt: skip
    more = {"slow": "near.toml", "bytes_allocated": 8, "loads_in_chain": 5, "second_try": True}
    found = parsed(TIMED_ROUND, run | more)
    assert (found.slow, found.bytes_allocated, found.loads_in_chain, found.is_retry) == (
        "near.toml", 8, 5, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "is_there"),
    [
        ({}, True),
        ({"outcome": {"status": "crashed"}}, True),
        ({"results": {"checked": 9, "mismatches": 1}}, True),
        ({"may_fail": True}, True),
        ({"may_fail": True, "outcome": {"status": "crashed"}}, False),
        ({"may_fail": True, "results": {"checked": 9, "mismatches": 1}}, False),
    ],
)
def test_who_may_fail_and_has_tells_of_nobody(changes: Json, is_there: bool) -> None:
    found = parsed(TIMED_ROUND, {
        "part": None, "n": 7, "bytes_moved": 80,
        "roles": [role_of("solution"), role_of("handout", **changes)],
        "samples": [timed("solution", 1.0), timed("handout", 2.0, cut=True)],
    })  # fmt: skip
    names = ["solution", "handout"] if is_there else ["solution"]
    assert [*found.roles] == [*found.elapsed_s] == [*found.taken_s] == names
    assert found.cut == ({"handout"} if is_there else set())


# ---- pieces ------------------------------------------------------------------------------------


def test_pages_are_coded_in_runs() -> None:
    assert expand([]) == ()
    assert expand([(0, 2), (-1, 0), (3, 1)]) == (0, 0, 3)
    most = 4 * 2**20
    assert len(expand([(0, most - 1), (1, 1)])) == most
    for runs in ([(0, most + 1)], [(0, most), (1, 1)]):
        with pytest.raises(ValueError, match="an array of more than 4,194,304 pages"):
            expand(runs)


def test_which_pages_were_looked_at() -> None:
    assert sample_of({}, 5) == CheckedPages(5, ((0, 5),))
    assert sample_of({"pages": 9, "blocks": [[1, 2], [6, 1]]}, 3) == CheckedPages(
        9, ((1, 2), (6, 1))
    )


ORIGINS = [{"thread": 0, "pu": 1, "core": 2, "numa_node": 3},
           {"thread": 4, "pu": -1, "core": -1, "numa_node": 0}]  # fmt: skip
HERE, THERE = Origin(0, 1, 2, 3), Origin(4, -1, -1, 0)
ARRAY = {"array": "a", "first_writer": [[0, 1], [-1, 1]], "users": [[[0, 4], 2]]}
FROM = {"written_from": [[0, 1], [-1, 1]], "used_from": [[[0, 1], 1], [[], 1]]}


def test_pages_that_were_traced_with_their_origins() -> None:
    plain = TracedArray("a", (0, -1), (frozenset({0, 4}),) * 2, CheckedPages(2, ((0, 2),)), {})
    assert arrays_of({}) == ()
    assert arrays_of({"arrays": [ARRAY]}) == (plain,)
    of_origins = vars(plain) | {
        "written_from": (HERE, None), "used_from": (frozenset({HERE, THERE}), frozenset()),
        "used_again_from": {},
    }  # fmt: skip
    assert arrays_of({"arrays": [ARRAY | FROM], "origins": ORIGINS}) == (TracedArray(**of_origins),)
    again = {"used_again": [[0, 4, 10_000_000], [-1, 0, 1]],
             "used_again_from": [[0, 1, 3], [-1, 0, 5]]}  # fmt: skip
    (found,) = arrays_of({"arrays": [ARRAY | FROM | again], "origins": ORIGINS})
    assert found == TracedArray(**of_origins | {
        "used_again": {(0, 4): 10_000_000, (-1, 0): 1},
        "used_again_from": {(HERE, THERE): 3, (None, HERE): 5},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"used_again": [[0, 1, 10_000_001]]}, "more uses of a page"),
        ({"users": [[[0], 9]]}, "users"),
        ({"written_from": [[2, 2]]}, "an access from origin 2, which there is not"),
        ({"used_from": [[[2], 2]]}, "an access from origin 2"),
        ({"used_again_from": [[0, 7, 1]]}, "an access from origin 7"),
        ({"written_from": [[0, 3]]}, "origins of other pages"),
        ({"used_from": [[[0], 1]]}, "origins of other pages"),
        ({"written_from": [[0, 1]], "used_from": [[[0], 1]]}, "origins of other pages"),
    ],
)
def test_tracings_that_no_record_has(changes: Json, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        arrays_of({"arrays": [ARRAY | FROM | changes], "origins": ORIGINS})
