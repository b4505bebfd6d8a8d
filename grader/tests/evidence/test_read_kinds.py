"""What runs of a record become: whole values, of records with all there is and of earlier ones."""

from __future__ import annotations

from math import inf, isnan
from typing import Any

import pytest
from support.run_values import an_outcome, form_of, parsed

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.kinds import (
    ACTIVE_THREADS,
    BINDING,
    CHECK,
    CPUSETS,
    LATENCY,
    LOCATE,
    MEMORY,
    PLACEMENT,
    RACE,
    RANKS,
    STORES,
    THREAD_LEVEL,
    TIMED_ROUND,
    TRACE,
)
from numalab.evidence.read_parts import expand, read_checked_pages, read_results
from numalab.evidence.read_trace import traced_arrays
from numalab.evidence.record import (
    ActiveThreads,
    Binding,
    Check,
    Checked,
    CpuTime,
    Json,
    Kind,
    Latency,
    Launched,
    Locate,
    Memory,
    Placement,
    Race,
    RolePart,
    SingleThread,
    ThreadLevel,
    TimedRound,
    Trace,
)
from numalab.evidence.results import Mismatch, Results, ThreadActivity
from numalab.evidence.run_formats import (
    GroupRefusal,
    IncompleteRequests,
    KernelTable,
    LocatedThread,
    MpiCalls,
    Origin,
    OtherLevel,
    Outcome,
    Rank,
    RankLevel,
    ResultsRecord,
    Slots,
    Thread,
    TooFew,
    TouchMap,
    TracedPages,
)
from numalab.evidence.traced_pages import TracedArray

OK = {"status": "ok", "printed_bytes": 3}
WELL = an_outcome("ok", printed_bytes=3)
RIGHT = {"checked": 9, "mismatches": 0}
CORRECT = Results(9, 0, None, None)
COMMON: Json = {"part": "x", "team": 2, "outcome": OK, "results": RIGHT}
THREADS = [
    {"thread": 1, "allowed_pus": [4, 5], "core": -1, "package": 2, "numa_node": 3, "last_pu": 5}
]
BOUND = (Thread(1, (4, 5), -1, 2, 3, 5),)
SLOTS = {
    "count": 2, "bad_lengths": 0, "unreadable": 0, "least_keys": 5, "sums_right": True,
    "most_apart_bytes": 64,
}  # fmt: skip
TABLE = {
    "n": 1, "bytes": 8, "huge_bytes": 0, "create_s": 0.1, "initialize_s": 0.2, "compute_s": 0.3,
    "initialize_page_faults": 4, "resident_before_bytes": 5, "resident_during_bytes": 6,
    "resident_after_bytes": 7, "address_space_before_bytes": 8, "address_space_after_bytes": 9,
}  # fmt: skip
CALLS = {"main": 1, "main_in_parallel": 2, "other": 3, "at_once": 4}
RANK = {"rank": 0, "requested": "serialized", "provided": "multiple", "answer": 1, "threads": 4}
LEVEL = COMMON | {"ranks": [RANK | {"calls": CALLS}]}
LEVELS_OF_RANK = (RankLevel(0, "serialized", "multiple", 1, 4, MpiCalls(1, 2, 3, 4)),)


def levels(*others: OtherLevel, ended: Outcome | None = None) -> ThreadLevel:
    return ThreadLevel("x", WELL, LEVELS_OF_RANK, others, ended, 2)


def results_of(data: Json) -> Results:
    return read_results(form_of(ResultsRecord, data))


def sample_of(data: Json, looked_at: int) -> CheckedPages:
    return read_checked_pages(form_of(TracedPages, {"array": "a"} | data), looked_at)


def arrays_of(data: Json) -> tuple[TracedArray, ...]:
    return traced_arrays(form_of(TouchMap, {"order": "natural"} | data) if data else None)


def sample(size: int, elapsed_s: float, warm_up: bool = False) -> Json:
    return {"bytes": size, "elapsed_s": elapsed_s, "repetitions": 4, "warm_up": warm_up}


@pytest.mark.parametrize(
    ("kind", "run", "read"),
    [
        (CHECK, {"checks": [{"n": 7, "results": RIGHT}]},
         Check("x", WELL, (Checked(7, None, CORRECT, (), 0),))),
        (CHECK, {"checks": [{"n": 7, "ranks": 3, "results": RIGHT,
                             "sent": {"messages": [5, 6], "round_trips": 2}}]},
         Check("x", WELL, (Checked(7, 3, CORRECT, (5, 6), 2),))),
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
        (ACTIVE_THREADS, {"moments": 9, "threads": [{"works": 1, "spins": 2}]},
         ActiveThreads("x", WELL, CORRECT, 9, (ThreadActivity(1, 2),), 2)),
        (ACTIVE_THREADS, {"moments": 0}, ActiveThreads("x", WELL, CORRECT, 0, (), 2)),
        (RACE, {}, Race("x", WELL, False, (), None)),
        (RACE, {"race": None, "searched": True}, Race("x", WELL, False, (), True)),
        (RACE, {"race": {"accesses": ["kernel.c:3"]}, "searched": False},
         Race("x", WELL, True, ("kernel.c:3",), False)),
        (MEMORY, {"huge_pages_allowed": True, "tables": [TABLE]},
         Memory("x", WELL, CORRECT, True,
                (KernelTable(1, 8, 0, 0.1, 0.2, 0.3, 4, 5, 6, 7, 8, 9, None, None, None),))),
        (BINDING, {"file": "f.toml", "runtime": "libomp", "threads": THREADS},
         Binding("x", WELL, "f.toml", "libomp", BOUND, 2)),
        (LOCATE, {"rounds": [[{"thread": 0, "pu": 1, "numa_node": 2, "reported_pu": 3,
                               "reported_numa_node": 4}]]},
         Locate("x", WELL, ((LocatedThread(0, 1, 2, 3, 4),),), 2, ())),
        (LOCATE, {"rounds": [], "free_rounds": [[]]}, Locate("x", WELL, (), 2, ((),))),
        (RANKS, {"file": "l.toml", "refused": "no", "ranks": [{"rank": 3, "threads": THREADS}]},
         Launched("x", WELL, "l.toml", "no", (Rank(3, BOUND),), 2)),
        (LATENCY, {"file": None, "ranks": [], "samples": [
            sample(16, 8e-6), sample(8, 9.0, True), sample(8, 16e-6), sample(8, 24e-6)]},
         Latency("x", WELL, None, (), {8: (2.0, 3.0), 16: (1.0,)}, 2)),
        (THREAD_LEVEL, LEVEL | {"other_levels": [
            {"requested": "multiple", "provided": "single", "answer": None}]},
         levels(OtherLevel("multiple", "single", None))),
        # An earlier record has one: a level less than the first rank asked for.
        (THREAD_LEVEL, LEVEL | {"answer_to_less": 0},
         levels(OtherLevel("serialized", "funneled", 0))),
        (THREAD_LEVEL, LEVEL | {"answer_to_less": None}, levels()),
        (THREAD_LEVEL, LEVEL, levels()),
        (THREAD_LEVEL, LEVEL | {"ended_with_other_level": OK}, levels(ended=WELL)),
    ],
)  # fmt: skip
def test_a_run_becomes_a_value(kind: Kind[Any], run: Json, read: object) -> None:
    found = parsed(kind, COMMON | run)
    if isinstance(found, Latency):
        assert isinstance(read, Latency)
        assert list(found.message_us) == list(read.message_us)
        for size, times in read.message_us.items():
            assert found.message_us[size] == pytest.approx(times)
        found = Latency(**vars(found) | {"message_us": read.message_us})
    assert found == read


@pytest.mark.parametrize("asked", [None, "single"])
def test_less_than_the_least_level_there_is_not(asked: str | None) -> None:
    ranks = [RANK | {"calls": CALLS, "requested": asked}]
    assert parsed(THREAD_LEVEL, COMMON | {"ranks": ranks, "answer_to_less": 0}).other_levels == ()
    assert parsed(THREAD_LEVEL, COMMON | {"ranks": [], "answer_to_less": 0}).other_levels == ()


def test_stores_with_other_teams() -> None:
    counts = dict.fromkeys(
        ("n", "threads", "line_bytes", "lines", "stores", "lost", "shared_lines", "shared_stores"),
        1,
    )
    run = COMMON | counts | {"noted": True, "most_written": [], "by_thread": [], "slots": SLOTS}
    alone = parsed(STORES, run)
    assert (alone.results, alone.teams_outcome, alone.teams_results) == (CORRECT, None, None)
    others = parsed(
        STORES,
        run | {"teams_outcome": {"status": "crashed"}, "teams_results": RIGHT | {"mismatches": 2}},
    )
    assert others.teams_outcome == an_outcome("crashed")
    assert others.teams_results == Results(9, 2, None, None)


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
    assert parsed(TIMED_ROUND, run) == TimedRound(
        part="x", slow=None, n=7, bytes_moved=80,
        roles={
            "solution": RolePart(WELL, CORRECT, 0.5, None),
            "submission": RolePart(WELL, CORRECT, 0.5, Slots(2, 0, 0, 5, True, 64)),
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


def test_the_first_wrong_element_with_all_that_is_known() -> None:
    wrong = {
        "array": "a", "element": 3, "expected": "NaN", "actual": "-Infinity", "phase": "compute",
        "repetition": 1,
    }  # fmt: skip
    first = results_of({"checked": 9, "mismatches": 2, "first_mismatch": wrong}).first_mismatch
    assert first is not None and isnan(first.expected) and first.actual == -inf
    assert vars(first) | {"expected": 0.0} == vars(
        Mismatch("a", 3, 0.0, -inf, "compute", 1, None, None, None, None, "", "", "")
    )
    more = {
        "expected": 1.5, "actual": 2, "rank": 4, "row": 5, "column": 6, "row_name": "halo",
        "remark": "late", "expected_digits": "15", "actual_digits": "16",
    }  # fmt: skip
    found = results_of(
        {"checked": 9, "mismatches": 2, "first_mismatch": wrong | more}
    ).first_mismatch
    assert found == Mismatch(
        "a", 3, 1.5, 2.0, "compute", 1, 4, 5, 6, "halo", "late", "15", "16"
    )  # fmt: skip


def test_results_with_all_that_can_be_wrong() -> None:
    assert results_of(RIGHT) == Results(
        9, 0, None, None, None, None, "", None, 0, None, None
    )  # fmt: skip
    requests = {
        "fault": "given_up", "count": 2, "call": "MPI_Isend", "rank": 1, "phase": "compute",
    }  # fmt: skip
    found = results_of(RIGHT | {
        "wrote_before_array": "a", "wrote_after_array": "b", "replaced_array": "c",
        "too_few_messages": {"required": 4, "observed": 3},
        "too_few_bytes": {"required": 2, "observed": 1},
        "messages_ahead": 5, "n_unit": "rows", "requests": requests,
    })  # fmt: skip
    assert found == Results(
        9, 0, None, "a", TooFew(4, 3),
        IncompleteRequests("given_up", 2, "MPI_Isend", 1, "compute", ""),
        "rows", TooFew(2, 1), 5, "c", "b",
    )  # fmt: skip
    named = results_of(RIGHT | {"requests": requests | {"line": "kernel.c:8"}}).requests
    assert named is not None and named.line == "kernel.c:8"


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
