"""Who writes which cache line, and where threads count: the rules, and how it is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import invented
from support.golden_texts import check_verdict, raises_text
from support.mpi_labs import lab_of

from numalab.errors import NothingToDraw
from numalab.evidence.kinds import STORES
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.record import SOLUTION
from numalab.judging import planner
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Lab
from numalab.reports.comparison import line_views
from numalab.reports.figures import lines_figure
from numalab.reports.line_picture import line_picture, sight_words

Json = dict[str, Any]
N, THREADS = 240_000, 4
EQUAL = N // THREADS

LAB = """
title = "Counters"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["count"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 1
at_most = 0

[[criterion]]
name = "no_shared_lines"
kind = "evidence"
points = 1
at_most = 0.01

[[criterion]]
name = "slots_true"
kind = "evidence"
points = 1
at_least = 0.99

[[criterion]]
name = "no_waste"
rule = "slots_apart"
kind = "evidence"
points = 1
at_most = 3
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_counters", LAB)


def line(number: int, *by_thread: int) -> Json:
    return {
        "line": number, "stores": sum(by_thread),
        "by_thread": [[thread, stores] for thread, stores in enumerate(by_thread, 1) if stores],
    }  # fmt: skip


PADDED = [line(thread, *[0] * thread, EQUAL) for thread in range(THREADS)]
SIDE_BY_SIDE = [
    line(0, EQUAL, EQUAL // 3),
    line(1, 0, 2 * EQUAL // 3, 2 * EQUAL // 3),
    line(2, 0, 0, EQUAL // 3, EQUAL),
]


def stores(role: str = "submission", slots: Json | None = None, **more: Any) -> Json:
    """As of the right kernel."""
    run = {
        "kind": "stores", "lab": "x", "part": None, "team": 2, "role": role, "n": N,
        "threads": THREADS, "line_bytes": 64, "lines": THREADS + 2, "stores": N + 30, "lost": 0,
        "shared_lines": 0, "shared_stores": 0, "most_written": PADDED,
        "by_thread": [[4 * EQUAL, EQUAL + 7]] * THREADS,
        "slots": {
            "count": THREADS, "bad_lengths": 0, "unreadable": 0, "least_keys": EQUAL,
            "sums_right": True,
            "stores": N + 24, "most_apart_bytes": 64,
        } | (slots or {}),
        "noted": True, "results": invented.RIGHT, "outcome": invented.OK,
    }  # fmt: skip
    return run | more


def shared(role: str = "submission") -> Json:
    return stores(
        role, {"most_apart_bytes": 48}, shared_lines=3, shared_stores=N // 3,
        most_written=SIDE_BY_SIDE,
    )  # fmt: skip


def session(*runs: Json, **more: Any) -> Json:
    record = invented.evidence(invented.ONE_NODE)
    check = record["runs"][0] | {"lab": "x"}
    return record | {"lab": "33_counters", "runs": [check, *runs]} | more


def verdict_on(lab: Lab, *runs: Json, **more: Any) -> Verdict:
    return judge(lab, parse(session(*runs, **more)))


def judged(lab: Lab, *runs: Json, **more: Any) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in verdict_on(lab, *runs, **more).criteria}


def failed(found: dict[str, CriterionVerdict]) -> set[str]:
    return {name for name, verdict in found.items() if verdict.status == "fail"}


def test_counters_apart_pass(lab: Lab) -> None:
    record_of(session(stores()))
    found = judged(lab, stores())
    assert {c.status for c in found.values()} == {"pass"}
    check_verdict(found["no_shared_lines"], "pass", "reached")
    assert found["no_waste"].value == 1


def test_what_is_added_up_in_the_end_is_no_false_sharing(lab: Lab) -> None:
    run = stores(shared_lines=1, shared_stores=6 * (THREADS - 1))
    found = judged(lab, run)["no_shared_lines"]
    assert found.value == pytest.approx(18 / N)
    check_verdict(found, "pass", "reached")


def test_counters_side_by_side_fail(lab: Lab) -> None:
    record_of(session(shared()))
    found = judged(lab, shared())
    assert failed(found) == {"no_shared_lines"}
    told = found["no_shared_lines"]
    assert told.value == pytest.approx(1 / 3)
    assert "33.3 stores" in told.why
    check_verdict(told, "fail", "missed")
    run = shared() | {"most_written": [line(0, *[EQUAL // 6] * 6)]}
    check_verdict(judged(lab, run)["no_shared_lines"], "fail", "missed")


@pytest.mark.parametrize(
    "by_thread",
    [
        [[4 * N, N]],
        [[2 * N, N // 2]] * 2,
        [[4 * N - 12, N], [4, 0], [4, 0], [4, 0]],
        # All read, and one counts.
        [[4 * N, N], *[[4 * N, 6]] * 3],
        [],
    ],
)
def test_who_does_not_count_shares_nothing_and_earns_nothing(
    lab: Lab, by_thread: list[list[int]]
) -> None:
    found = judged(lab, stores(by_thread=by_thread))
    assert failed(found) == {"no_shared_lines", "slots_true", "no_waste"}
    check_verdict(found["no_shared_lines"], "fail", "missed")


def test_counting_in_registers_shares_nothing(lab: Lab) -> None:
    few = stores(
        slots={"stores": 48}, by_thread=[[4 * EQUAL, 30], *[[4 * EQUAL, 6]] * 3], stores=48
    )
    assert failed(judged(lab, few)) == {"slots_true", "no_waste"}


def test_threads_that_read_all_of_it_are_at_work(lab: Lab) -> None:
    assert not failed(judged(lab, stores(by_thread=[[4 * N, EQUAL]] * THREADS)))


@pytest.mark.parametrize(
    "slots",
    [
        {"count": 0},
        {"count": 1},
        {"bad_lengths": 1},
        {"unreadable": 2},
        {"sums_right": False},
        {"least_keys": EQUAL // 3},
        {"stores": 24},
    ],
)
def test_slots_that_say_something_else(lab: Lab, slots: Json) -> None:
    found = judged(lab, stores(slots=slots))
    assert failed(found) == {"slots_true", "no_waste"}
    check_verdict(found["slots_true"], "fail", "missed")
    check_verdict(found["no_waste"], "fail", "missed")


def test_a_page_for_each_thread_is_waste(lab: Lab) -> None:
    found = judged(lab, stores(slots={"most_apart_bytes": 4096}))
    assert failed(found) == {"no_waste"}
    check_verdict(found["no_waste"], "fail", "missed")


def test_distances_are_in_lines(lab: Lab) -> None:
    for line_bytes, least_failing in ((64, 200), (128, 392), (256, 776)):
        for apart, is_failed in ((least_failing - 8, False), (least_failing, True)):
            run = stores(slots={"most_apart_bytes": apart}, line_bytes=line_bytes)
            assert failed(judged(lab, run)) == ({"no_waste"} if is_failed else set())


def timed(slots: Json, n: int = 4_000_000) -> Json:
    """Times that decide nothing, of a kernel that then says so of its slots."""
    run = invented.generation(invented.ONE_NODE, invented.FAST) | {"lab": "x", "n": n}
    for role in run["roles"]:
        if role["role"] == "submission":
            role["slots"] = stores(slots=slots)["slots"]
    return run


def test_what_is_timed_is_judged_where_it_lies(lab: Lab) -> None:
    apart = timed({"shared_keys": 0})
    record_of(session(stores(), apart))
    assert not failed(judged(lab, stores(), apart))
    few = judged(lab, stores(), timed({"shared_keys": 30_000}))
    assert not failed(few)
    shared = judged(lab, stores(), timed({"shared_keys": 1_000_000}))
    assert failed(shared) == {"no_shared_lines"}
    assert shared["no_shared_lines"].value == pytest.approx(0.25)
    check_verdict(shared["no_shared_lines"], "fail", "missed")
    far = judged(lab, stores(), timed({"most_apart_bytes": 4096}))
    assert failed(far) == {"no_waste"}
    for untrue in ({"sums_right": False}, {"on_stack": 2}, {"unreadable": 1}, {"bad_lengths": 1}):
        found = judged(lab, stores(), timed(untrue))
        assert failed(found) == {"slots_true"}, untrue
        check_verdict(found["slots_true"], "fail", "missed")


TEAMS = [
    {"threads": threads, "slots": stores()["slots"] | {"count": threads}, "overrun": None}
    for threads in (9, 3, 1)
]


def test_teams_of_other_sizes_are_asked_for(lab: Lab) -> None:
    record_of(session(stores(teams=TEAMS)))
    assert not failed(judged(lab, stores(teams=TEAMS)))
    always_4 = [TEAMS[0] | {"slots": TEAMS[0]["slots"] | {"count": 4}}, *TEAMS[1:]]
    found = judged(lab, stores(teams=always_4))
    assert failed(found) == {"correct"} and "Of 9 threads" in found["correct"].why


@pytest.mark.parametrize(
    "overrun",
    [
        {"of": "variables"},
        {"of": "allocated", "bytes": 128},
    ],
)
def test_memory_that_is_too_small_for_a_team(lab: Lab, overrun: Json) -> None:
    crashed = {
        "status": "crashed",
        "signal": "SIGSEGV",
        "doing": "count",
        "n": N,
        "printed_bytes": 0,
    }
    at_9 = stores(teams=[TEAMS[0] | {"overrun": overrun}], teams_outcome=crashed)
    record_of(session(at_9))
    found = judged(lab, at_9)
    assert failed(found) == {"correct"}
    assert found["correct"].why.startswith("With 9 threads")
    check_verdict(found["correct"], "fail", "wrong_result")
    at_4 = stores(overrun=overrun, outcome=crashed, noted=None)
    found = judged(lab, at_4)
    assert failed(found) == {"correct", "no_shared_lines", "slots_true", "no_waste"}
    assert {verdict.why.startswith("With 4 threads") for verdict in found.values()} == {True}
    check_verdict(found["no_shared_lines"], "fail", "wrong_result")


def test_a_crash_with_more_threads_asks_for_their_room(lab: Lab) -> None:
    crashed = {
        "status": "crashed",
        "signal": "SIGSEGV",
        "doing": "count",
        "n": N,
        "printed_bytes": 0,
    }
    found = judged(lab, stores(teams=TEAMS[:1], teams_outcome=crashed))
    assert failed(found) == {"correct"} and found["correct"].cause == "crashed"
    assert found["correct"].why.startswith("With 9 threads: ")
    found = judged(lab, stores(outcome=crashed, noted=None))
    for name in ("correct", "no_shared_lines"):
        check_verdict(found[name], "fail", "crashed")
    obstructed = {"status": "kit_error", "error": "ENOMEM", "printed_bytes": 0}
    found = judged(lab, stores(teams=TEAMS[:1], teams_outcome=obstructed))
    assert found["correct"].status == "error"


def test_threads_that_outnumber_cores_are_named(lab: Lab) -> None:
    one, four = stores(), session(stores())
    check_verdict(judged(lab, one)["no_shared_lines"], "pass", "reached")
    four["node"]["cores"] = 4
    enough = {c.name: c for c in judge(lab, parse(four)).criteria}
    check_verdict(enough["no_shared_lines"], "pass", "reached")


def test_more_lines_than_can_be_noted(lab: Lab) -> None:
    found = judged(lab, stores(lost=N // 50))
    assert failed(found) == {"no_shared_lines", "slots_true", "no_waste"}
    assert found["no_shared_lines"].cause == "over_limit"
    assert not failed(judged(lab, stores(lost=N // 200)))


def test_noting_that_was_switched_off_is_held_against_the_kit(lab: Lab) -> None:
    off = stores(noted=False)
    assert planner.needs_control(lab, parse(session(off)), None)
    assert not planner.needs_control(lab, parse(session(stores())), None)
    found = judged(lab, off)["no_shared_lines"]
    assert (found.status, found.cause) == ("error", "kit")
    beside = stores(SOLUTION)
    assert not planner.needs_control(lab, parse(session(off, beside)), None)
    found = judged(lab, off, beside)["no_shared_lines"]
    assert (found.status, found.cause) == ("fail", "disturbed_monitor")
    found = judged(lab, off, stores(SOLUTION, noted=False))["no_shared_lines"]
    assert found.status == "error"


def test_a_bad_end_or_a_wrong_result_there_is_the_kernels(lab: Lab) -> None:
    crashed = {"status": "crashed", "signal": "SIGSEGV", "doing": "count", "printed_bytes": 0}
    found = judged(lab, stores(outcome=crashed, noted=None))
    assert failed(found) == {"correct", "no_shared_lines", "slots_true", "no_waste"}
    wrong = {"checked": 7, "mismatches": 1, "first_mismatch": {
        "array": "bins", "element": 3, "expected": 1.0, "actual": 2.0, "phase": "count",
        "repetition": 1}}  # fmt: skip
    assert failed(judged(lab, stores(results=wrong))) == {"correct"}


def test_a_kernel_that_no_program_can_watch(lab: Lab) -> None:
    refused = judged(lab, race_refused="Data races were not looked for: kernel.c has assembler.")
    check_verdict(refused["no_shared_lines"], "fail", "not_built")
    missing = judged(lab, race_error="There is no clang.")["slots_true"]
    assert (missing.status, missing.cause) == ("not_gradable", "not_visible_here")


# ---- pictures ----------------------------------------------------------------------


def test_lines_are_drawn_by_their_writers(lab: Lab) -> None:
    record = session(shared(), stores(SOLUTION))
    evidence = parse(record)
    (sight,) = line_views(lab, judge(lab, evidence), [("here", evidence)])
    drawn = [text.plain for text in line_picture(sight, 76)]
    assert max(map(len, drawn)) <= 76
    assert len(drawn) == 2 + THREADS
    bars = [row.split()[2] for row in drawn[2:]]  # of the kernel's, and then the solution's
    assert bars[0].count("0") > 2 * bars[0].count("1") > 0
    assert abs(bars[1].count("1") - bars[1].count("2")) <= 1
    assert set(bars[3]) == {"3", "."}  # the kernel's has three lines only
    assert "thread 0 25, thread 1 8; line 1" in sight_words(sight)

    figure = lines_figure([("yours", evidence), ("solution", evidence.control_evidence())])
    assert len(figure.axes) == 2
    assert [len(axes.patches) for axes in figure.axes] == [6, 4]
    assert figure.axes[0].patches[0].get_width() == pytest.approx(25)


def test_a_right_kernel_is_drawn_alone(lab: Lab) -> None:
    evidence = parse(session(stores(), stores(SOLUTION)))
    (sight,) = line_views(lab, judge(lab, evidence), [("here", evidence)])
    assert sight.solution is None
    assert sight_words(sight).endswith("line 3: thread 3 25.")
    elsewhere = line_views(lab, judge(lab, evidence), [("hydra", evidence)])
    assert list(elsewhere) == []


def test_nothing_is_drawn_of_nothing(lab: Lab) -> None:
    evidence = parse(session())
    with raises_text(NothingToDraw):
        lines_figure([("", evidence)])
    run = structs.replace(parse(session(stores())).runs_of(STORES)[0], most_written=[])
    with pytest.raises(NothingToDraw):
        lines_figure([("", evidence.having(STORES, [run]))])
