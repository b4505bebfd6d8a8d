"""The judge on evidence with one thing wrong."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict, raises_text

from numalab.errors import NumalabError
from numalab.evidence.read_record import parse, record_of
from numalab.judging.judge import judge
from numalab.judging.planner import (
    Timed,
    needs_control,
    timing_cut_s,
    timing_is_decided,
    timing_roles,
)
from numalab.judging.timing_account import timing_accounts
from numalab.judging.timing_state import timing_state
from numalab.judging.verdict import Cause, CriterionVerdict, Status, Verdict
from numalab.labs.declaration import Lab
from numalab.reports import timing_words
from numalab.reports.touch_map import touch_map_picture

Json = dict[str, Any]
ONE = invented.ONE_NODE
QUIET = invented.steady(9, solution=0.2, control=0.2, submission=0.2)


def judged(lab: Lab, record: Json) -> Verdict:
    return judge(lab, parse(record))


def criterion(verdict: Verdict, name: str) -> CriterionVerdict:
    return next(c for c in verdict.criteria if c.name == name)


def right(**more: Any) -> Json:
    return invented.evidence(ONE, times=QUIET, **more)


def run_of(record: Json, kind: str) -> Json:
    found: Json = next(run for run in record["runs"] if run["kind"] == kind)
    return found


def test_right_on_one_node(first_touch: Lab) -> None:
    verdict = judged(first_touch, right())
    assert verdict.status == "pass"
    assert (verdict.points, verdict.max_points, verdict.ungraded_points) == (6, 10, 4)
    statuses = {c.name: c.status for c in verdict.criteria}
    assert statuses["local_pages"] == statuses["speedup"] == "not_gradable"
    assert "1 NUMA node" in criterion(verdict, "local_pages").why


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        ({"status": "crashed", "signal": "SIGSEGV", "line": "kernel.c:8", "access": "write",
          "address": "0x7f0000000000", "place": {"array": "a", "element": 7}},
         "crashed"),
        ({"status": "crashed", "signal": "SIGSEGV", "access": "read",
          "address": "0x7f0000000000", "place": {"array": "b", "element": -2}},
         "crashed"),
        ({"status": "crashed", "signal": "SIGSEGV", "address": "0x0", "place": None},
         "crashed"),
        ({"status": "crashed", "signal": "SIGSEGV", "address": "0x7f0000000000", "place": None},
         "crashed"),
        ({"status": "crashed", "signal": "SIGFPE"}, "crashed"),
        ({"status": "crashed", "signal": "SIGILL", "is_trap": True, "line": "kernel.c:3"},
         "crashed"),
        ({"status": "crashed", "signal": "SIGILL"}, "crashed"),
        ({"status": "timed_out", "limit_s": 5.0, "n_unit": "readings"},
         "timed_out"),
        ({"status": "exited", "exit_code": 0}, "exited"),
        ({"status": "exited", "exit_code": 2, "printed": "one\nERROR STOP"},
         "exited"),
        ({"status": "timed_out", "limit_s": 5.0}, "timed_out"),
        ({"status": "timed_out", "limit_s": 5.0, "limit_of": "cpu_time"},
         "timed_out"),
        ({"status": "timed_out", "limit_s": 10.0, "limit_of": "wall_time"},
         "timed_out"),
        ({"status": "out_of_memory", "resident_bytes": 3 * 2**30, "limit_bytes": 2**29},
         "out_of_memory"),
        ({"status": "too_much_output", "limit_bytes": 2**24}, "over_limit"),
        ({"status": "bad_protocol"}, "disturbed_monitor"),
        ({"status": "array_gone"}, "no_memory"),
        ({"status": "crashed", "signal": "SIGSEGV", "frames": [1]}, "crashed"),
    ],
)  # fmt: skip
def test_a_run_that_does_not_end_well_fails_everything(
    first_touch: Lab, outcome: Json, cause: Cause
) -> None:
    record = right()
    record["runs"] = [run_of(record, "check")]
    record["runs"][0]["outcome"] = {"doing": "compute", "n": 7, "printed_bytes": 0} | outcome
    verdict = judged(first_touch, record)
    assert {c.status for c in verdict.criteria if c.kind != "timing"} == {"fail", "not_gradable"}
    assert criterion(verdict, "efficiency").status == "fail"
    check_verdict(criterion(verdict, "correct"), "fail", cause)
    assert verdict.points == 0


@pytest.mark.parametrize(
    ("status", "deserved"), [("kit_error", "error"), ("cancelled", "inconclusive")]
)
def test_what_is_not_the_students_fault_is_no_fail(
    first_touch: Lab, status: str, deserved: Status
) -> None:
    record = right()
    record["runs"] = [run_of(record, "check")]
    record["runs"][0]["outcome"] = {
        "status": status, "doing": "stop the worker", "n": 7, "printed_bytes": 0, "error": "no",
    }  # fmt: skip
    verdict = judged(first_touch, record)
    assert verdict.status == deserved
    assert not verdict.failed()
    assert verdict.ungraded_points == 10


def test_fortran_counts_from_one(first_touch: Lab) -> None:
    record = right() | {"language": "fortran"}
    record["runs"][0]["outcome"] = {
        "status": "crashed", "signal": "SIGSEGV", "doing": "compute", "n": 7, "printed_bytes": 0,
        "access": "write", "address": "0x7f0000000000", "place": {"array": "a", "element": 7},
    }  # fmt: skip
    check_verdict(criterion(judged(first_touch, record), "correct"), "fail", "crashed")


def wrong_results(found: float | str = 2.0) -> Json:
    return {
        "checked": 1000, "mismatches": 3,
        "first_mismatch": {"array": "a", "element": 5, "expected": 1.0, "actual": found,
                        "phase": "compute", "repetition": 1},
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["trace", "placement", "generation"])
def test_a_wrong_value_anywhere_is_seen(first_touch: Lab, kind: str) -> None:
    record = right()
    run = run_of(record, kind)
    if kind == "generation":
        entry = next(role for role in run["roles"] if role["role"] == "submission")
        entry["results"] = wrong_results()
    else:
        run["results"] = wrong_results()
    verdict = judged(first_touch, record)
    check_verdict(criterion(verdict, "correct"), "fail", "wrong_result")
    assert criterion(verdict, "efficiency").status == "fail"
    assert criterion(verdict, "touched_where_used").status == "pass"


def test_nan_and_writing_before_an_array_are_named(first_touch: Lab) -> None:
    record = right()
    record["runs"][0]["checks"][0]["results"] = wrong_results("NaN")
    check_verdict(criterion(judged(first_touch, record), "correct"), "fail", "wrong_result")
    record["runs"][0]["checks"][0]["results"] = invented.RIGHT | {"wrote_before_array": "b"}
    verdict = judged(first_touch, record)
    assert criterion(verdict, "correct").status == "fail"
    assert "b[-1]" in criterion(verdict, "correct").why
    record["runs"][0]["checks"][0]["results"] = invented.RIGHT | {"wrote_after_array": "b"}
    check_verdict(criterion(judged(first_touch, record), "correct"), "fail", "wrong_result")


def test_wrong_values_of_the_kits_own_processes_are_not_the_students(first_touch: Lab) -> None:
    record = right()
    entry = next(r for r in run_of(record, "generation")["roles"] if r["role"] == "control")
    entry["outcome"] = {"status": "timed_out", "doing": "compute", "n": 7, "limit_s": 9.0,
                        "printed_bytes": 0}  # fmt: skip
    verdict = judged(first_touch, record)
    assert criterion(verdict, "efficiency").status == "error"
    assert criterion(verdict, "correct").status == "pass"


@pytest.mark.parametrize("status", ["missing", "does_not_compile", "does_not_link"])
def test_what_is_not_built_fails_with_the_builders_words(first_touch: Lab, status: str) -> None:
    record = right()
    record["runs"] = []
    record["build"]["kernel"] = {"status": status, "message": "These words.", "output": ""}
    verdict = judged(first_touch, record)
    assert {c.why for c in verdict.failed()} == {"These words."}
    assert len(verdict.failed()) == 4


def test_a_page_used_by_two_threads_belongs_to_none(first_touch: Lab) -> None:
    record = right(users=lambda owner, page: [0, 1])
    verdict = judged(first_touch, record)
    assert criterion(verdict, "touched_where_used").value == 0
    assert criterion(verdict, "shared_out").status == "pass"


def test_users_are_united_over_the_tracings(first_touch: Lab) -> None:
    """A loop dealt out anew each time shows one user a tracing, but not the same."""
    record = right()
    traces = [run for run in record["runs"] if run["kind"] == "trace"]
    traces[1]["touch_map"] = invented.trace(
        ONE, "ascending", invented.owner_writes, lambda owner, page: [1 - owner], "submission"
    )["touch_map"]
    assert criterion(judged(first_touch, record), "touched_where_used").value == 0


def test_the_worst_tracing_counts(first_touch: Lab) -> None:
    record = right()
    traces = [run for run in record["runs"] if run["kind"] == "trace"]
    traces[2]["touch_map"] = invented.trace(
        ONE, "descending", lambda owner, page: 1, invented.owner_uses, "submission"
    )["touch_map"]
    assert criterion(judged(first_touch, record), "touched_where_used").value == 0.5


def test_the_tracing_that_counts_is_the_one_that_is_drawn(first_touch: Lab) -> None:
    record = right()
    traces = [run for run in record["runs"] if run["kind"] == "trace"]
    traces[2]["touch_map"] = invented.trace(
        ONE, "descending", lambda owner, page: 1, invented.owner_uses, "submission"
    )["touch_map"]
    lines = [line.plain for line in touch_map_picture(parse(record), 65)]
    assert lines[1].endswith("1" * 38)
    note = " ".join(" ".join(lines[3:]).split())
    check_text(note)
    assert all(len(line) <= 65 for line in lines)
    assert not touch_map_picture(parse(right()), 65)[3:]
    check_verdict(criterion(judged(first_touch, record), "touched_where_used"), "fail", "missed")


def test_shares_of_pages_have_one_basis(first_touch: Lab) -> None:
    """61 % of 61 % is nothing that a reader sees in the picture."""
    record = right(writer=lambda owner, page: 0 if page < 60 else 1)
    check_verdict(criterion(judged(first_touch, record), "touched_where_used"), "fail", "missed")


@pytest.mark.parametrize(
    ("machine", "users"),
    [
        (
            ONE,
            lambda owner, page: [0, 1],
        ),
        (ONE, lambda owner, page: [1 - owner]),
        (
            ONE,
            lambda owner, page: [owner if page % 4 else 1 - owner],
        ),
        (
            invented.TWO_NODES,
            lambda owner, page: [(owner + 4) % 8 if page % 2 else owner],
        ),
    ],
)
def test_where_the_kit_writes_first_the_loop_is_what_is_told(
    first_touch: Lab, machine: invented.Machine, users: invented.Users
) -> None:
    of_kit = replace(
        first_touch,
        criteria=tuple(replace(c, kit_writes_first=True) for c in first_touch.criteria),
    )
    verdict = judged(of_kit, invented.evidence(machine, users=users))
    check_verdict(criterion(verdict, "touched_where_used"), "fail", "missed")


def test_where_no_race_was_found_no_thread_runs_all_of_a_loop(first_touch: Lab) -> None:
    record = right(users=lambda owner, page: [0, 1])
    ended = {"status": "exited", "exit_code": 66, "printed_bytes": 0}
    of_race = {"kind": "race", "lab": "x", "part": None, "team": 4, "role": "submission",
               "sizes": [100], "outcome": invented.OK}  # fmt: skip

    def why(*more: Json) -> str:
        verdict = judged(first_touch, record | {"runs": [*record["runs"], *more]})
        return criterion(verdict, "touched_where_used").why

    check_text(why())
    check_text(why(of_race))
    for broken in ({"outcome": ended, "race": {"accesses": []}}, {"outcome": ended}):
        check_text(why(of_race | broken))


def test_that_chance_decides_who_writes_first_is_told(first_touch: Lab) -> None:
    """An initialisation that every thread runs: pages go to whoever comes first."""
    record = right(writer=lambda owner, page: page % 2)
    traces = [run for run in record["runs"] if run["kind"] == "trace"]
    for number, run in enumerate(traces[1:]):
        run["touch_map"] = invented.trace(
            ONE, run["touch_map"]["order"], lambda owner, page, w=number: w, invented.owner_uses,
            "submission",
        )["touch_map"]  # fmt: skip
    check_verdict(criterion(judged(first_touch, record), "touched_where_used"), "fail", "missed")
    steady = criterion(
        judged(first_touch, right(writer=invented.master_writes)), "touched_where_used"
    )
    assert "chance" not in steady.why


def test_pages_that_several_nodes_use_have_no_right_place(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES, users=lambda owner, page: [0, 7])
    check_verdict(criterion(judged(first_touch, record), "local_pages"), "fail", "missed")


def test_what_is_written_before_a_thread_is_bound_is_explained(first_touch: Lab) -> None:
    """libomp binds the initial thread in its first parallel region only."""
    record = invented.evidence(
        invented.EIGHT_NODES, writer=invented.master_writes, home=lambda owner, page: 5
    )
    check_verdict(criterion(judged(first_touch, record), "local_pages"), "fail", "missed")
    as_bound = invented.evidence(invented.EIGHT_NODES, writer=invented.master_writes)
    assert "Thread 0" not in criterion(judged(first_touch, as_bound), "local_pages").why
    # Where no other node holds most of it, that is no reason either.
    for count in (2, 3):
        spread = invented.evidence(
            invented.EIGHT_NODES,
            writer=invented.master_writes,
            home=lambda owner, page, count=count: 5 + page % count,
        )
        assert "Thread 0" not in criterion(judged(first_touch, spread), "local_pages").why
    # Where its owners write it, and it is on one node even so, that is no reason.
    moved = invented.evidence(invented.EIGHT_NODES, home=lambda owner, page: 5)
    assert "Thread 0" not in criterion(judged(first_touch, moved), "local_pages").why


def test_who_is_moved_while_it_writes_is_told_so(first_touch: Lab) -> None:
    """proc_bind(master) in the loop that writes, and not in the one that uses."""
    says = "so these sat on another NUMA node while they wrote. Does the kernel change"
    record = invented.evidence(invented.TWO_NODES, home=lambda owner, page: 0)
    assert says in criterion(judged(first_touch, record), "local_pages").why
    # Of a page that two threads share it is chance who comes first, and of no other.
    last = [run for run in record["runs"] if run["kind"] == "trace"][-1]
    last["touch_map"]["arrays"][0]["first_writer"][0:2] = [[0, 39], [1, 41]]
    assert says in criterion(judged(first_touch, record), "local_pages").why
    plain = [line.plain for line in touch_map_picture(parse(record), 65, with_homes=True)]
    check_text(" ".join(map(str.strip, plain)))
    for writer in (invented.master_writes, lambda owner, page: 1 - owner % 2):
        other = invented.evidence(invented.TWO_NODES, writer=writer, home=lambda owner, page: 0)
        assert says not in criterion(judged(first_touch, other), "local_pages").why


def test_pages_nobody_wrote_are_not_touched_where_used(first_touch: Lab) -> None:
    verdict = judged(first_touch, right(writer=lambda owner, page: -1))
    assert criterion(verdict, "touched_where_used").value == 0
    check_verdict(criterion(verdict, "touched_where_used"), "fail", "missed")


def test_threshold_is_inclusive_and_just_below_fails(first_touch: Lab) -> None:
    def share_of(strays: int) -> CriterionVerdict:
        # 240 pages in all arrays of ONE (2 threads x 40 pages x 3 arrays)
        verdict = judged(first_touch, right(writer=lambda o, p: 1 - o if p < strays else o))
        return criterion(verdict, "touched_where_used")

    assert share_of(4).value == 0.95
    check_verdict(share_of(4), "pass", "reached")
    assert share_of(5).status == "fail"


def test_a_thread_that_is_not_bound_is_nowhere(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES)
    for run in record["runs"]:
        for thread in run.get("threads", []):
            thread["numa_node"] = -1
    verdict = judged(first_touch, record)
    assert criterion(verdict, "touched_where_used").value == 0
    assert criterion(verdict, "local_pages").value == 0


def test_one_core_shows_nothing(first_touch: Lab) -> None:
    record = right()
    record["node"]["cores"] = 1
    verdict = judged(first_touch, record)
    assert criterion(verdict, "touched_where_used").status == "not_gradable"
    assert criterion(verdict, "shared_out").status == "not_gradable"


def test_without_move_pages_residency_is_not_gradable(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES)
    run_of(record, "placement")["residency"] = None
    verdict = criterion(judged(first_touch, record), "local_pages")
    assert verdict.status == "not_gradable"
    assert verdict.cause == "not_visible_here"
    assert "move_pages" in verdict.why


@pytest.mark.parametrize(
    ("call", "lost"),
    [
        ("move_pages", {"local_pages"}),
        ("pidfd_open", {"correct", "shared_out", "touched_where_used", "local_pages", "speedup",
                        "efficiency"}),
        ("userfaultfd", set()),  # which has another way
        ("a_call_of_a_later_kit", set()),
    ],
)  # fmt: skip
def test_what_a_node_refuses_costs_nobody_a_point(
    first_touch: Lab, call: str, lost: set[str]
) -> None:
    """Of a made-up record of a right kernel, and of one that does not build, which fails."""
    record = invented.evidence(invented.TWO_NODES)
    usual = {c.name: c.status for c in judged(first_touch, record).criteria}
    record["node"]["refused"] = {call: "Operation not permitted"}
    for found in judged(first_touch, record).criteria:
        if found.name not in lost:
            assert found.status == usual[found.name]
            continue
        assert call in found.why
        check_verdict(found, "not_gradable", "not_visible_here")
    record["build"]["kernel"] = {
        "status": "does_not_compile", "message": "no", "output": ""
    }  # fmt: skip
    assert criterion(judged(first_touch, record), "correct").status == "fail"


def test_what_the_kit_could_not_do_is_no_race_nor_its_author_s_fault(
    labs: dict[str, Lab],
) -> None:
    """Where a check ends by the kit's fault, nobody has looked for races."""
    record = invented.evidence(ONE)
    scheduling = labs["03_scheduling"]
    record["lab"] = scheduling.name
    for run in record["runs"]:
        if run["kind"] == "check":
            run["outcome"] = invented.OK | {
                "status": "kit_error", "doing": "read the results", "error": "no",
            }  # fmt: skip
    record["runs"] = [
        run | {"part": part}
        for run in record["runs"]
        if run["kind"] == "check"
        for part in scheduling.kernel_parts
    ]
    found = criterion(judged(scheduling, record), "race_free")
    assert (found.status, found.cause) == ("error", "kit"), found.why


def test_a_solution_that_does_not_build_is_the_kits_error(first_touch: Lab) -> None:
    record = invented.evidence(ONE)
    record["timing_error"] = "the kit's own solution can't be built"
    verdict = judged(first_touch, record)
    found = criterion(verdict, "efficiency")
    assert (found.status, found.cause) == ("error", "kit")
    assert not verdict.failed()


def test_no_times_on_a_login_node(first_touch: Lab) -> None:
    record = right()
    record["timing_refused"] = "A login node."
    found = criterion(judged(first_touch, record), "efficiency")
    check_verdict(found, "not_gradable", "times_refused")
    assert timing_roles(first_touch, parse(record), Timed(None)) == ()
    # Nobody is sent to take times that the node can't show.
    untimed = criterion(judged(first_touch, record), "speedup")
    check_verdict(untimed, "not_gradable", "too_few_numa_nodes")


def test_the_solution_is_held_against_a_failure_but_not_against_itself(first_touch: Lab) -> None:
    record = invented.evidence(ONE, writer=invented.master_writes)
    assert needs_control(first_touch, parse(record), None)
    assert not needs_control(first_touch, parse(record | {"variant": "solution"}), None)
    assert not needs_control(first_touch, parse(right()), None)
    with_control = copy.deepcopy(record)
    with_control["runs"].append(
        invented.trace(ONE, "natural", invented.owner_writes, invented.owner_uses, "solution")
    )
    assert not needs_control(first_touch, parse(with_control), None)
    verdict = judged(first_touch, with_control)
    assert criterion(verdict, "touched_where_used").status == "fail"


def test_generations_go_on_until_the_criteria_are_decided(first_touch: Lab) -> None:
    assert timing_roles(first_touch, parse(invented.evidence(ONE)), Timed(None)) == (
        "solution", "submission",
    )  # fmt: skip
    two = invented.evidence(invented.TWO_NODES)
    assert "handout" in timing_roles(first_touch, parse(two), Timed(None))

    fast = invented.FAST
    for count, decided in ((7, False), (8, True)):
        record = invented.evidence(invented.TWO_NODES, times=invented.steady(count, **fast))
        assert timing_is_decided(first_touch, parse(record), Timed(None)) is decided
    record = invented.evidence(invented.TWO_NODES, times=invented.steady(5, **fast), quick=True)
    assert timing_is_decided(first_touch, parse(record), Timed(None))


def test_three_times_slower_fails_efficiency_alone(first_touch: Lab) -> None:
    slow = invented.steady(13, solution=0.2, control=0.2, submission=0.6)
    verdict = judged(first_touch, invented.evidence(ONE, times=slow))
    assert [c.name for c in verdict.failed()] == ["efficiency"]
    assert verdict.failed()[0].value == pytest.approx(1 / 3, rel=0.05)


def test_a_time_limit_met_while_timed_is_slow_and_not_wrong(first_touch: Lab) -> None:
    record = invented.evidence(
        ONE, times=invented.steady(1, solution=0.2, control=0.2, submission=0.2)
    )
    part = next(r for r in run_of(record, "generation")["roles"] if r["role"] == "submission")
    part["outcome"] = {"status": "timed_out", "doing": "compute", "n": 99, "limit_s": 60.0,
                       "printed_bytes": 0}  # fmt: skip
    verdict = judged(first_touch, record)
    assert [c.name for c in verdict.failed()] == ["efficiency"]
    check_verdict(verdict.failed()[0], "fail", "too_slow")
    assert timing_is_decided(first_touch, parse(record), Timed(None))

    part["outcome"] |= {"limit_of": "cpu_time"}
    (failed,) = judged(first_touch, record).failed()
    check_verdict(failed, "fail", "too_slow")


def test_a_generation_that_was_repeated_is_not_judged(first_touch: Lab) -> None:
    """Neither a pause of the node nor a time limit that was met once."""
    record = invented.evidence(
        ONE, times=invented.steady(9, solution=0.2, control=0.2, submission=0.2)
    )
    late = invented.generation(ONE, {"solution": 0.2, "submission": 50.0})
    late["roles"][1]["outcome"] = {"status": "timed_out", "doing": "compute", "n": 99,
                                   "limit_s": 60.0, "printed_bytes": 0}  # fmt: skip
    paused = invented.generation(ONE, {"solution": 0.2, "submission": 50.0})
    paused["roles"][1]["outcome"] = paused["roles"][1]["outcome"] | {"paused_s": 2.1}
    once_more = run_of(record, "generation")
    before = judged(first_touch, record | {"runs": [*record["runs"], once_more]})
    record["runs"] += [paused, late | {"tried_again": "timed_out"}, once_more]
    assert judged(first_touch, record).criteria == before.criteria
    (account,) = timing_accounts(first_touch, before, parse(record))
    assert len(account.state.margins) == 10
    named = timing_words.names(first_touch, account, parse(record))
    text = list(timing_words.sentences(account, named, parse(record), 1.0, "x"))
    check_text(text[-2])
    check_text(text[-1])
    assert account.json_data()["left_out"] == [
        {"why": "paused", "paused_s": 2.1},
        {"why": "timed_out", "paused_s": 0.0},
    ]


def test_too_few_generations_are_not_called_noise(first_touch: Lab) -> None:
    times = invented.steady(3, solution=0.2, control=0.2, submission=0.2)
    verdict = criterion(judged(first_touch, invented.evidence(ONE, times=times)), "efficiency")
    assert verdict.status == "inconclusive"
    assert verdict.cause == "not_decided"


def test_where_noise_hides_the_effect_no_ratio_is_asked_for(first_touch: Lab) -> None:
    """Handout and solution change places; 0.94 times the handout's speed is no goal."""
    times = [
        {"handout": 0.44 if g % 3 == 0 else 0.2, "solution": 0.23, "submission": 0.23}
        for g in range(12)
    ]
    verdict = judged(first_touch, invented.evidence(invented.TWO_NODES, times=times))
    found = criterion(verdict, "speedup")
    check_verdict(found, "inconclusive", "too_noisy")


@pytest.mark.parametrize(
    ("submissions", "is_noise"),
    [([0.1, 0.3] * 5 + [0.1] * 5, True), ([0.14] * 15, False), ([0.19] * 15, False)],
)
def test_faster_than_the_solution_is_no_merit_while_it_may_be_noise(
    first_touch: Lab, submissions: list[float], is_noise: bool
) -> None:
    times = [{"solution": 0.2, "control": 0.2, "submission": s} for s in submissions]
    why = criterion(judged(first_touch, invented.evidence(ONE, times=times)), "efficiency").why
    assert ("above 1 may well be noise" in why) == is_noise


def test_who_is_cut_is_told_how_many_times_slower(first_touch: Lab) -> None:
    times = invented.steady(11, solution=0.002, control=0.002, submission=0.1)
    record = invented.evidence(ONE, times=times)
    for run in record["runs"]:
        if run["kind"] == "generation":
            invented.cut_off(run, 0.1)
    check_verdict(criterion(judged(first_touch, record), "efficiency"), "fail", "too_slow")


def test_undecided_like_the_control_is_nobodys_fault(first_touch: Lab) -> None:
    """The control came to a decision and the submission, no different from it, did not."""
    times = [
        {"solution": 0.2, "control": 0.2 if g % 6 else 0.3, "submission": 0.2 if g % 3 else 0.3}
        for g in range(24)
    ]
    record = invented.evidence(ONE, times=times)
    state = timing_state(first_touch.criteria[5], parse(record))
    assert state.control.reached == "above"
    assert state.claim.reached is None
    assert criterion(judged(first_touch, record), "efficiency").status == "inconclusive"


CRASHED = {"status": "crashed", "signal": "SIGKILL", "doing": "compute", "n": 7, "printed_bytes": 0}


@pytest.mark.parametrize("kind", ["trace", "placement", "generation"])
def test_a_crash_anywhere_is_seen(first_touch: Lab, kind: str) -> None:
    record = right()
    run = run_of(record, kind)
    if kind == "generation":
        run = next(role for role in run["roles"] if role["role"] == "submission")
    run["outcome"] = CRASHED
    found = criterion(judged(first_touch, record), "correct")
    assert "Limits" not in found.why
    check_verdict(found, "fail", "crashed")
    record["node"]["limits"] = ["memory 200 MiB (/sys/fs/cgroup/memory.max)"]
    found = criterion(judged(first_touch, record), "correct")
    assert found.why.endswith("memory 200 MiB (/sys/fs/cgroup/memory.max).")


def times_of(*submission: float) -> list[dict[str, float]]:
    return [one for s in submission for one in invented.steady(1, solution=0.2, submission=s)]


@pytest.mark.parametrize(
    ("submission", "cut_after_s"),
    [((), None), ((20.0,), 2.0), ((20.0, 0.3), None), ((0.3, 20.0), None), ((20.0, 30.0), 2.0)],
)
def test_only_who_was_always_far_too_slow_is_cut(
    first_touch: Lab, submission: tuple[float, ...], cut_after_s: float | None
) -> None:
    """8 times what efficiency allows, 0.2 s / 0.8."""
    found = timing_cut_s(
        first_touch, parse(invented.evidence(ONE, times=times_of(*submission))), Timed(None)
    )
    assert found == (None if cut_after_s is None else pytest.approx(cut_after_s, rel=0.05))


def test_what_was_cut_counts_as_having_taken_that_long(first_touch: Lab) -> None:
    record = invented.evidence(ONE, times=times_of(*[20.0] * 12))
    for run in record["runs"][-11:]:
        assert run["kind"] == "generation"
        invented.cut_off(run, 2.0)
    found = criterion(judged(first_touch, record), "efficiency")
    assert found.value == pytest.approx(0.1, rel=0.1)
    check_verdict(found, "fail", "too_slow")
    assert timing_cut_s(first_touch, parse(record), Timed(None)) == pytest.approx(2.0, rel=0.05)


def test_the_best_repetition_counts_and_the_warm_up_does_not(first_touch: Lab) -> None:
    record = right()
    for run in record["runs"]:
        for sample in run.get("samples", []):
            if sample["role"] == "submission":
                sample["elapsed_s"] *= {0: 0.01, 1: 1.0}.get(sample["repetition"], 3.0)
    found = criterion(judged(first_touch, record), "efficiency")
    assert found.status == "pass"
    assert found.value == pytest.approx(1.0, abs=0.05)


def test_the_value_is_the_number_of_wrong_elements(first_touch: Lab) -> None:
    record = right()
    record["runs"][0]["checks"][0]["results"] = wrong_results()
    assert criterion(judged(first_touch, record), "correct").value == 3


def test_no_effect_ends_the_timing(first_touch: Lab) -> None:
    times = invented.steady(13, **(invented.FAST | {"handout": 0.23}))
    assert timing_is_decided(
        first_touch, parse(invented.evidence(invented.TWO_NODES, times=times)), Timed(None)
    )


def test_too_few_losses_are_not_called_noise(first_touch: Lab) -> None:
    times = invented.steady(3, solution=0.2, control=0.2, submission=0.6)
    check_verdict(
        criterion(judged(first_touch, invented.evidence(ONE, times=times)), "efficiency"),
        "inconclusive",
        "not_decided",
    )


def test_one_idle_thread_of_many_is_not_one_thread(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES, users=lambda o, p: [0 if o == 1 else o])
    assert (
        "Thread 0 of 8 uses 2.00 times" in criterion(judged(first_touch, record), "shared_out").why
    )


def test_how_much_of_the_arrays_was_traced_is_told(first_touch: Lab) -> None:
    whole = criterion(judged(first_touch, right()), "shared_out")
    check_verdict(whole, "pass", "reached")
    record = right(users=lambda o, p: [0])
    invented.sample(record, every=3)
    verdict = judged(first_touch, record)
    check_verdict(criterion(verdict, "shared_out"), "fail", "missed")
    check_verdict(criterion(verdict, "touched_where_used"), "fail", "missed")


def test_looks_at_different_pages_are_never_put_together(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES)
    invented.sample(record, every=3)
    assert criterion(judged(first_touch, record), "local_pages").status == "pass"
    for run in record["runs"]:
        if run["kind"] == "placement":
            run["residency"][1]["blocks"][0] = [0, 1]
    with raises_text(NumalabError):
        judged(first_touch, record)
    trace = next(run for run in record["runs"] if run["kind"] == "trace")
    trace["touch_map"]["arrays"][0]["blocks"][0] = [0, 1]
    with raises_text(NumalabError):
        judged(first_touch, record)


@pytest.mark.parametrize(
    ("used_by", "works_with"), [([0], None), ([0, 1], 2), ([1], 1), ([2, 3], 2)]
)
def test_a_number_of_threads_that_is_written_out_shows_with_another_team(
    first_touch: Lab, used_by: list[int], works_with: int | None
) -> None:
    one = invented.Machine(packages=1, nodes=1, cores=1, in_turn=False)
    look = invented.trace(
        one, "natural", lambda o, p: 0, lambda o, p: [used_by[p % len(used_by)]], "submission"
    )
    record = right()
    record["runs"].append(look | {"another_team": True})
    record_of(record)
    verdict = judged(first_touch, record)
    found = criterion(verdict, "shared_out")
    assert found.status == ("pass" if works_with is None else "fail")
    assert criterion(verdict, "touched_where_used").status == "pass"
    if works_with is not None:
        check_verdict(found, "fail", "missed")


def test_work_that_is_dealt_out_on_demand_may_miss_a_thread_of_another_team(
    first_touch: Lab,
) -> None:
    """Other load kept it from its core."""
    two = invented.Machine(packages=1, nodes=1, cores=2, in_turn=False)
    look = invented.trace(two, "natural", lambda o, p: 0, lambda o, p: [0], "submission")
    record = right(users=lambda owner, page: [0, 1])
    record["runs"].append(look | {"another_team": True})
    assert criterion(judged(first_touch, record), "shared_out").status == "pass"
    record = right()
    record["runs"].append(look | {"another_team": True})
    assert criterion(judged(first_touch, record), "shared_out").status == "fail"


def test_at_most_is_inclusive(first_touch: Lab) -> None:
    verdict = judged(first_touch, right(users=lambda o, p: [0 if p < 60 else 1]))
    found = criterion(verdict, "shared_out")
    assert (found.value, found.status) == (0.5, "pass")


def test_tracing_inside_the_process_is_said(first_touch: Lab) -> None:
    record = right()
    for run in record["runs"]:
        if run["kind"] == "trace":
            run["touch_map"]["method"] = "in_process"
    check_verdict(criterion(judged(first_touch, record), "touched_where_used"), "pass", "reached")


def untraceable(record: Json, role: str) -> Json:
    """The same with tracings of a role that say that they can't be made."""
    runs = [
        {key: value for key, value in run.items() if key != "touch_map"}
        | {"outcome": {"status": "untraceable", "doing": "trace", "n": run["n"],
                       "printed_bytes": 0, "printed": ""}}
        if (run["kind"], run.get("role")) == ("trace", role) else run
        for run in record["runs"]
    ]  # fmt: skip
    return record | {"runs": runs}


def test_who_keeps_itself_from_being_traced_fails(first_touch: Lab) -> None:
    record = untraceable(right(), "submission")
    record_of(record)
    verdict = judged(first_touch, record)
    for name in ("correct", "shared_out", "touched_where_used"):
        found = criterion(verdict, name)
        assert (found.status, found.cause) == ("fail", "disturbed_monitor")
        assert "userfaultfd" in found.why


def test_a_node_on_which_nothing_can_be_traced_fails_nobody(first_touch: Lab) -> None:
    record = untraceable(right(), "submission")
    solution = [run | {"role": "solution"} for run in record["runs"] if run["kind"] == "trace"]
    verdict = judged(first_touch, record | {"runs": record["runs"] + solution[:1]})
    assert criterion(verdict, "correct").status == "pass"
    for name in ("shared_out", "touched_where_used"):
        found = criterion(verdict, name)
        assert (found.status, found.cause) == ("not_gradable", "not_visible_here")


def test_an_absent_page_is_nowhere_for_an_unbound_thread_too(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES, home=lambda o, p: -1)
    for run in record["runs"]:
        for thread in run.get("threads", []):
            thread["numa_node"] = -1
    assert criterion(judged(first_touch, record), "local_pages").value == 0


def test_the_solutions_placement_excuses(first_touch: Lab) -> None:
    two = invented.TWO_NODES

    def home(owner: int, page: int) -> int:
        return page % 2

    record = invented.evidence(two, home=home)
    record["runs"] += [
        invented.trace(two, "natural", invented.owner_writes, invented.owner_uses, "solution"),
        invented.placement(two, home, "solution"),
    ]
    found = criterion(judged(first_touch, record), "local_pages")
    check_verdict(found, "not_gradable", "solution_misses_it")


def test_the_solutions_tracing_is_not_the_students(first_touch: Lab) -> None:
    record = right()
    record["runs"].append(
        invented.trace(ONE, "natural", invented.master_writes, invented.owner_uses, "solution")
    )
    assert criterion(judged(first_touch, record), "touched_where_used").status == "pass"


def test_a_fail_outweighs_an_error(first_touch: Lab) -> None:
    record = invented.evidence(ONE, writer=invented.master_writes) | {"timing_error": "no"}
    verdict = judged(first_touch, record)
    assert {c.status for c in verdict.criteria} >= {"fail", "error"}
    assert verdict.status == "fail"


def test_of_a_cut_text_the_first_line_is_told(first_touch: Lab) -> None:
    record = right()
    record["runs"][0]["outcome"] = {
        "status": "exited",
        "exit_code": 2,
        "doing": "compute",
        "n": 7,
        "printed": "first\nla",
        "printed_bytes": 9999,
    }
    check_verdict(criterion(judged(first_touch, record), "correct"), "fail", "exited")


def test_the_schema_refuses_what_is_not_evidence() -> None:
    record = right()
    record_of(record)
    for spoil in (
        lambda r: r["runs"][0].update(kind="guess"),
        lambda r: r["node"].pop("numa_nodes"),
        lambda r: r.update(opinion="good"),
        lambda r: run_of(r, "generation")["samples"][0].update(elapsed_s=-1.0),
    ):
        broken = copy.deepcopy(record)
        spoil(broken)
        with raises_text(NumalabError):
            record_of(broken)
    with raises_text(NumalabError):
        parse(record | {"schema": 3})
