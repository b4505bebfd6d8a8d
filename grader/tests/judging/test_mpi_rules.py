"""The rules of the labs on MPI, on invented records."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import invented, mpi_labs
from support.golden_texts import check_text, check_verdict, raises_text
from support.mpi_labs import PREDICTION, criterion, lab_of, node_of, session
from support.run_values import an_outcome

from numalab.doctor.doctor import gradable, gradable_virtually, mpi
from numalab.errors import NumalabError, UserError
from numalab.evidence.kinds import LATENCY
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.run_formats import Rank, Thread
from numalab.grading.request import labs_with_mpi
from numalab.installation import Installation
from numalab.judging import explain, rank_goals, thread_goals
from numalab.judging.judge import judge, sound_parts
from numalab.judging.message_times import best_us, two_lines_us
from numalab.judging.planner import (
    Timed,
    files_to_compare,
    needs_control,
    needs_latency,
    timing_is_decided,
    timing_roles,
    timings,
)
from numalab.judging.rank_goals import is_out_of_reach, reach_of_ranks
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import FILE_KINDS, Lab
from numalab.labs.goals import CORE_GOALS, POLICY_NODES
from numalab.labs.prediction import NAMES, PREDICTED, BadPrediction, predict, read_predictions
from numalab.machines.gallery import find_machine
from numalab.reports.latency_report import latency_lines
from numalab.reports.thread_map import legend, placement_pictures
from numalab.reports.touch_map import symbol
from numalab.reports.verdict_words import to_fix

Json = dict[str, Any]


@pytest.fixture
def messages(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "31_messages", mpi_labs.LATENCY_LAB)


@pytest.fixture
def hybrid(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "32_hybrid", mpi_labs.HYBRID_LAB)


def judged(lab: Lab, record: Json) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in judge(lab, parse(record)).criteria}


# ---- what a lab declares ---------------------------------------------------------------


def test_the_kits_parts_are_told_from_the_students(messages: Lab, hybrid: Lab) -> None:
    assert messages.parts == ("ping_pong", "placement")
    assert messages.kernel_parts == ("ping_pong",)
    assert [one.kind for one in messages.files] == ["launch", "launch", "prediction"]
    assert hybrid.launch_of("launch").name == "launch.toml"
    assert timings(messages) == (Timed("ping_pong"),)
    assert timings(hybrid) == (
        Timed("launch", "compared/newcomer.toml"),
        Timed("launch", "compared/flat.toml"),
    )


@pytest.mark.parametrize(
    "more",
    [
        criterion("x", "evidence", "launch", file="x.toml", goal="nearest"),
        criterion("x", "timing", "code", rule="speedup", slow="a.toml"),
        criterion("x", "timing", "launch", rule="efficiency", slow="a.toml"),
        criterion("x", "evidence", "launch", file="b.toml", goal="near"),
    ],
)
def test_mistakes_in_lab_toml_are_named(tmp_path: Path, more: str) -> None:
    with raises_text(NumalabError):
        lab_of(tmp_path, "32_hybrid", mpi_labs.HYBRID_LAB + more)


# ---- deadlocks -------------------------------------------------------------------------

CHECK = invented.checked(part="ping_pong")
SYNCHRONOUS = invented.checked(part="ping_pong", synchronous=True)
WAITS = {"status": "timed_out", "doing": "ping_pong", "n": 4099, "limit_s": 5.0, "ranks": 2,
         "printed_bytes": 0}  # fmt: skip
WRONG = {
    "checked": 100, "mismatches": 2,
    "first_mismatch": {"array": "field", "element": 5, "expected": 1.0, "actual": 2.0,
                    "phase": "an iteration", "repetition": 0, "rank": 1},
}  # fmt: skip


def test_sends_that_need_a_buffer_are_found(messages: Lab) -> None:
    record = session(CHECK, SYNCHRONOUS)
    record_of(record)
    assert judged(messages, record)["deadlock_free"].status == "pass"
    record = session(CHECK, SYNCHRONOUS | {"outcome": WAITS})
    record_of(record)
    found = judged(messages, record)
    assert found["correct"].status == "pass"
    check_verdict(found["deadlock_free"], "fail", "deadlock")
    assert sound_parts(messages, parse(record)) == ("ping_pong",)  # it is timed even so


def test_a_deadlock_without_them_is_told_once(messages: Lab) -> None:
    found = judged(messages, session(CHECK | {"outcome": WAITS}))
    assert found["correct"].status == found["deadlock_free"].status == "fail"
    check_verdict(found["correct"], "fail", "timed_out")
    goes_on = session(CHECK | {"outcome": WAITS | {"went_on": True}})
    record_of(goes_on)
    check_verdict(judged(messages, goes_on)["correct"], "fail", "timed_out")
    assert found["deadlock_free"].cause == "not_right_yet"


def test_who_sends_nothing_is_not_called_free_of_deadlocks(messages: Lab) -> None:
    wrong = invented.checked({"n": 7, "ranks": 3, "results": WRONG}, part="ping_pong")
    found = judged(messages, session(wrong, SYNCHRONOUS))["deadlock_free"]
    check_verdict(found, "fail", "not_right_yet")
    few = invented.RIGHT | {"too_few_messages": {"required": 100, "observed": 50}}
    silent = invented.checked({"n": 0, "ranks": 2, "results": few}, part="ping_pong")
    found = judged(messages, session(silent, SYNCHRONOUS))["deadlock_free"]
    check_verdict(found, "fail", "not_right_yet")
    # Only with synchronous sends: something writes to what is being sent.
    wrong |= {"synchronous_sends": True}
    found = judged(messages, session(CHECK, wrong))["deadlock_free"]
    check_verdict(found, "fail", "wrong_result")
    assert judged(messages, session(CHECK, wrong))["correct"].status == "pass"


def test_an_interrupt_before_the_second_check_is_no_fail(messages: Lab) -> None:
    assert judged(messages, session(CHECK))["deadlock_free"].status == "inconclusive"
    ours = {"status": "kit_error", "doing": "start the job", "error": "no", "printed_bytes": 0}
    found = judged(messages, session(CHECK, SYNCHRONOUS | {"outcome": ours}))
    assert found["deadlock_free"].status == "error"


# ---- whose fault it is -----------------------------------------------------------------


@pytest.mark.parametrize(
    "language",
    [
        "c",
        "fortran",
    ],
)
def test_wrong_results_name_the_rank(messages: Lab, language: str) -> None:
    wrong = invented.checked({"n": 7, "ranks": 3, "results": WRONG}, part="ping_pong")
    found = judged(messages, session(wrong, language=language))["correct"]
    check_verdict(found, "fail", "wrong_result")
    assert found.began_in == "field"


def test_where_it_went_wrong_is_known(messages: Lab, hybrid: Lab) -> None:
    """The hint that is offered follows it."""
    wrong = WRONG | {"first_mismatch": WRONG["first_mismatch"] | {"phase": "start_mpi"}}
    record = session(invented.checked({"n": 7, "ranks": 3, "results": wrong}, part="code"))
    assert judged(hybrid, record)["correct"].began_in == "start_mpi"
    ended = {"status": "crashed", "signal": "SIGSEGV", "n": 0, "rank": 0, "ranks": 3,
             "printed_bytes": 0, "doing": "start_mpi"}  # fmt: skip
    crashed = session(invented.checked(part="code", outcome=ended))
    assert judged(hybrid, crashed)["correct"].began_in == "start_mpi"
    check_verdict(judged(hybrid, crashed)["correct"], "fail", "crashed")
    said = "Fatal error in internal_Allreduce: Invalid buffer pointer, error stack:"
    by_mpi = {"status": "exited", "exit_code": 1, "n": 7, "ranks": 3, "doing": "an iteration",
              "printed_bytes": len(said), "printed": said}  # fmt: skip
    synchronous = invented.checked(part="code", synchronous=True, outcome=by_mpi)
    found = judged(hybrid, session(invented.checked(part="code"), synchronous))
    assert found["deadlock_free"].began_in == "MPI_Allreduce"
    assert found["correct"].began_in == ""
    met = "[vm:1:1:2]  ucp_worker.c:2781 Assertion `worker->inprogress++ == 0' failed\n"
    met += (
        "==== backtrace (tid:  24911) ====\n 0  /lib/libucs.so.0(ucs_handle_error+0x2dc) [0x7f5e9c]"
    )
    aborted = {"status": "crashed", "signal": "SIGABRT", "n": 7, "rank": 1, "ranks": 3,
               "doing": "an iteration", "printed_bytes": len(met), "printed": met}  # fmt: skip
    found = judged(hybrid, session(invented.checked(part="code", outcome=aborted)))["correct"]
    assert found.began_in == "MPI_Init_thread"
    check_verdict(found, "fail", "crashed")


def test_no_backtrace_is_told() -> None:
    said = (
        "lib: no such device\n==== backtrace (tid: 1) ====\n 0  /lib/libucs.so.0(+0x2dc) [0x7f]\n="
    )
    detail = {
        "signal": "SIGABRT",
        "n": 7,
        "doing": "x",
        "printed": said,
        "printed_bytes": len(said),
    }
    why = explain.outcome(an_outcome("crashed", **detail), "c")
    assert why is not None
    check_text(why)


def test_what_comes_of_a_level_that_is_too_low_is_put_down_to_it(hybrid: Lab) -> None:
    ended = {"status": "crashed", "signal": "SIGABRT", "n": 7, "ranks": 3, "doing": "an iteration",
             "printed_bytes": 20, "printed": "=" * 20}  # fmt: skip
    check = invented.checked(part="code")
    synchronous = invented.checked(part="code", synchronous=True, outcome=ended)
    beyond = invented.thread_level("code", LEVEL("funneled", other=5))
    verdict = judge(hybrid, parse(session(check, synchronous, beyond)))
    found = {c.name: c for c in verdict.criteria}
    assert found["deadlock_free"].explained_by == "thread_level"
    check_verdict(found["deadlock_free"], "fail", "crashed")
    check_text(to_fix(hybrid, verdict))
    for level in (LEVEL("single"), LEVEL("serialized", other=5), LEVEL("multiple")):
        run = invented.thread_level("code", level)
        alone = judge(hybrid, parse(session(check, synchronous, run)))
        assert not alone.explained_by, level
        check_text(to_fix(hybrid, alone))


def test_what_the_lab_says_of_a_wrong_element_is_told(messages: Lab) -> None:
    remark = {"remark": "The first word is 50 too small after 50 round trips."}
    wrong = WRONG | {"first_mismatch": WRONG["first_mismatch"] | remark}
    record = session(invented.checked({"n": 7, "ranks": 3, "results": wrong}, part="ping_pong"))
    record_of(record)
    check_verdict(judged(messages, record)["correct"], "fail", "wrong_result")


def test_a_row_of_a_neighbour_is_called_so(messages: Lab) -> None:
    place = {"row": 3, "column": 1, "row_name": "the halo row from the rank below"}
    found = WRONG | {"first_mismatch": WRONG["first_mismatch"] | place | {"repetition": 2}}
    record = session(invented.checked({"n": 7, "ranks": 2, "results": found}, part="ping_pong"))
    record_of(record)
    check_verdict(judged(messages, record)["correct"], "fail", "wrong_result")


def test_sizes_that_are_bytes_are_called_so(messages: Lab) -> None:
    few = invented.RIGHT | {
        "too_few_messages": {"required": 100, "observed": 50},
        "n_unit": "bytes",
    }
    for n, size in ((0, "0 bytes"), (1, "1 byte"), (4099, "4,099 bytes")):
        check = invented.checked({"n": n, "ranks": 2, "results": few}, part="ping_pong")
        record_of(session(check))
        assert f"take 100 ({size}): one" in judged(messages, session(check))["correct"].why
    late = CHECK | {"outcome": WAITS | {"n_unit": "bytes"}}
    record_of(session(late))
    assert "within 5 s (4,099 bytes)" in judged(messages, session(late))["correct"].why


@pytest.mark.parametrize(
    "lack",
    [
        {"too_few_bytes": {"required": 16000, "observed": 8}},
        {"messages_ahead": 998},
        {"replaced_array": "buffer"},
    ],
)  # fmt: skip
def test_what_is_no_work_is_wrong(messages: Lab, lack: dict[str, Any]) -> None:
    results = invented.RIGHT | {"n_unit": "bytes"} | lack
    record = session(
        invented.checked({"n": 8, "ranks": 2, "results": results}, part="ping_pong"), SYNCHRONOUS
    )
    record_of(record)
    found = judged(messages, record)["correct"]
    check_verdict(found, "fail", "wrong_result")
    assert sound_parts(messages, parse(record)) == ()


def test_a_ping_pong_without_messages_is_wrong(messages: Lab) -> None:
    few = invented.RIGHT | {"too_few_messages": {"required": 2000, "observed": 2}}
    check = invented.checked({"n": 8, "ranks": 2, "results": few}, part="ping_pong")
    record = session(check, SYNCHRONOUS)
    record_of(record)
    found = judged(messages, record)["correct"]
    check_verdict(found, "fail", "wrong_result")
    assert sound_parts(messages, parse(record)) == ()


OPEN = {"fault": "never_completed", "count": 50, "call": "MPI_Isend", "rank": 1,
        "phase": "ping_pong", "frames": [4096], "line": "kernel.c:23"}  # fmt: skip


@pytest.mark.parametrize(
    "requests",
    [
        {},
        {"count": 1, "line": ""},
        {"fault": "given_up"},
        {"fault": "send_changed"},
    ],
)
def test_messages_that_are_not_completed_are_wrong(messages: Lab, requests: Json) -> None:
    right = {"n": 8, "ranks": 2, "results": invented.RIGHT}
    left = right | {"results": invented.RIGHT | {"requests": OPEN | requests}}
    record = session(invented.checked(left, part="ping_pong"), SYNCHRONOUS)
    record_of(record)
    found = judged(messages, record)
    check_verdict(found["correct"], "fail", "open_request")
    assert found["deadlock_free"].cause == "not_right_yet"
    assert sound_parts(messages, parse(record)) == ()

    late = invented.checked(left, part="ping_pong", synchronous=True)
    found = judged(messages, session(CHECK, late))
    assert (found["correct"].status, found["deadlock_free"].cause) == ("pass", "open_request")
    check_verdict(found["deadlock_free"], "fail", "open_request")


def test_what_comes_of_an_open_request_is_told_as_such(messages: Lab) -> None:
    """A message that nobody waits for is not where it should be, either."""
    left = {"n": 8, "ranks": 2, "results": WRONG | {"requests": OPEN}}
    found = judged(messages, session(invented.checked(left, part="ping_pong")))["correct"]
    check_verdict(found, "fail", "open_request")


def test_mpis_own_end_is_told_from_the_kernels() -> None:
    detail = {
        "doing": "ping_pong", "n": 0, "n_unit": "bytes", "exit_code": 1, "rank": 0, "ranks": 2,
    }  # fmt: skip
    said = "Attempting to use an MPI routine after finalizing MPICH\n=====\n"
    by_mpi = detail | {"printed": said, "printed_bytes": len(said)}
    why = explain.outcome(an_outcome("exited", **by_mpi), "c")
    assert why is not None
    check_text(why)
    why = explain.outcome(an_outcome("exited", **detail | {"printed_bytes": 0}), "c")
    assert why is not None
    check_text(why)


@pytest.mark.parametrize(
    "outcome",
    [
        {"status": "crashed", "signal": "SIGSEGV", "rank": 1, "ranks": 4, "line": "kernel.c:9"},
        {"status": "crashed", "signal": "SIGSEGV", "rank": 1, "ranks": 4, "access": "write",
         "place": {"array": "field", "element": 30, "elements": 27}},
        {"status": "crashed", "signal": "SIGFPE", "ranks": 3},
        {"status": "exited", "exit_code": 1, "rank": 0, "ranks": 2},
        {"status": "exited", "ranks": 2, "printed_bytes": 240, "printed":
         "Abort(1) on node 1 (rank 1 in comm 0): Fatal error\nMPI: truncated\n\n"
         f"{'=' * 83}\n=   BAD TERMINATION OF ONE\n{'=' * 83}\n"},
        {"status": "timed_out", "limit_s": 5.0, "rank": 2, "ranks": 3},
        {"status": "out_of_memory", "resident_bytes": 2**30, "limit_bytes": 2**29, "rank": 1,
         "ranks": 2},
        {"status": "out_of_memory", "resident_bytes": 2**30, "limit_bytes": 2**29},
        {"status": "too_much_output", "limit_bytes": 2**24, "ranks": 1},
    ],
)  # fmt: skip
def test_an_end_names_the_rank(outcome: Json) -> None:
    known = {"doing": "exchange_halo", "n": 7, "printed_bytes": 0} | outcome
    told = explain.outcome(an_outcome(known.pop("status"), **known), "c")
    assert told is not None
    check_text(told)


# ---- thread levels ---------------------------------------------------------------------

LEVEL = invented.rank_level


@pytest.mark.parametrize(
    ("rank", "answer_to_less", "faults"),
    [
        (
            LEVEL("funneled"),
            0,
            0,
        ),
        (LEVEL("funneled"), None, 0),
        (LEVEL("single", answer=1), None, 1),
        (LEVEL("single", threads=1), None, 0),
        (LEVEL("single", threads=5), 1, 1),  # nothing is less
        (LEVEL("funneled", threads=1), 0, 1),
        (LEVEL("serialized"), 0, 1),
        (LEVEL("multiple"), 0, 1),
        # In a single construct, which may meet the main thread or another.
        (LEVEL("serialized", main_in_parallel=3), 0, 0),
        (LEVEL("funneled", main_in_parallel=3), 0, 0),
        (LEVEL("multiple", main_in_parallel=3), 0, 1),
        (LEVEL("serialized", main_in_parallel=3, other=5), 0, 0),
        (LEVEL("funneled", other=5), 0, 1),
        (LEVEL("serialized", other=5, at_once=1), 0, 1),
        (LEVEL("multiple", other=5, at_once=1), 0, 0),
        (LEVEL("funneled"), 1, 1),
        (LEVEL("funneled", answer=0), 0, 1),
        (LEVEL("funneled", provided="single"), None, 1),
        (LEVEL("funneled", provided="single", answer=0), None, 0),
        (LEVEL("multiple", answer=2), 2, 2),
        (LEVEL(None, None), None, 1),
    ],
)
def test_the_level_of_threads(
    hybrid: Lab, rank: Json, answer_to_less: int | None, faults: int
) -> None:
    check = invented.checked(part="code")
    run = invented.thread_level("code", rank, rank | {"rank": 1}, answer_to_less=answer_to_less)
    record = session(check, run)
    record_of(record)
    found = judged(hybrid, record)["thread_level"]
    assert found.value == faults, found.why
    assert found.status == ("fail" if faults else "pass")
    check_text(found.why)


OTHER_LEVELS = [
    {"requested": "funneled", "provided": provided, "answer": int(provided != "single")}
    for provided in ("single", "serialized", "multiple")
]


def test_a_bad_launch_fails_no_time_that_the_node_cant_show(hybrid: Lab) -> None:
    record = session(files={"launch.toml": ""})
    record["handed_in"][0]["complaint"] = "launch.toml: what?"
    found = judged(hybrid, record)
    for name in ("ranks_placed", "launch_speedup", "over_flat"):
        assert (found[name].status, found[name].cause) == ("fail", "bad_file"), name
    record["node"] = invented.ONE_NODE.describe()
    found = judged(hybrid, record)
    for name in ("ranks_placed", "over_flat"):
        check_verdict(found[name], "not_gradable", "too_few_numa_nodes")
    launched = found["launch_speedup"]
    assert (launched.status, launched.cause) == ("fail", "bad_file")


def test_a_library_may_provide_more_than_it_is_asked_for(hybrid: Lab) -> None:
    for refused in (1, 2):
        levels = [
            level | ({"answer": 0} if number == refused else {})
            for number, level in enumerate(OTHER_LEVELS)
        ]
        run = invented.thread_level("code", LEVEL("funneled"), other_levels=levels)
        found = judged(hybrid, session(invented.checked(part="code"), run))["thread_level"]
        assert (found.status, found.value) == ("fail", 1)
        check_verdict(found, "fail", "missed")
    run = invented.thread_level("code", LEVEL("funneled"), other_levels=OTHER_LEVELS)
    found = judged(hybrid, session(invented.checked(part="code"), run))["thread_level"]
    assert (found.status, found.value) == ("pass", 0)


def test_who_stops_where_too_little_is_provided_is_right_elsewhere(hybrid: Lab) -> None:
    ended = {"status": "exited", "exit_code": 1, "doing": "start", "n": 0, "printed_bytes": 0}
    run = invented.thread_level(
        "code", LEVEL("funneled"), answer_to_less=None, ended_with_other_level=ended
    )
    record = session(invented.checked(part="code"), run)
    record_of(record)
    found = judged(hybrid, record)
    assert found["correct"].status == "pass"
    check_verdict(found["thread_level"], "fail", "missed")


def test_earlier_records_tell_of_less_only(hybrid: Lab) -> None:
    for answer, status in ((0, "pass"), (1, "fail"), (None, "pass")):
        run = invented.thread_level("code", LEVEL("funneled"), answer_to_less=None)
        del run["other_levels"]
        record = session(invented.checked(part="code"), run | {"answer_to_less": answer})
        record_of(record)
        assert judged(hybrid, record)["thread_level"].status == status


def test_one_rank_may_show_more_than_another(hybrid: Lab) -> None:
    run = invented.thread_level("code", LEVEL("funneled"), LEVEL("funneled", other=1) | {"rank": 1})
    assert judged(hybrid, session(run))["thread_level"].status == "fail"


def test_levels_are_held_against_the_solutions(hybrid: Lab) -> None:
    """A library that provides too little is nobody's fault."""
    less = invented.thread_level("code", LEVEL("funneled", answer=0))
    record = session(invented.checked(part="code"), less)
    assert needs_control(hybrid, parse(record), "code")
    record["runs"].append(less | {"role": "solution"})
    assert not needs_control(hybrid, parse(record), "code")
    assert judged(hybrid, record)["thread_level"].status == "not_gradable"


def test_levels_are_not_looked_at_on_a_virtual_node(hybrid: Lab) -> None:
    assert (
        judged(hybrid, session(machine=invented.MACHINE))["thread_level"].status == "not_gradable"
    )


# ---- where ranks go --------------------------------------------------------------------


def ranks_of(*ranks: list[list[int]]) -> list[Rank]:
    return [
        Rank(r, tuple(Thread(t, tuple(pus), -1, -1, -1) for t, pus in enumerate(threads)))
        for r, threads in enumerate(ranks)
    ]


EVEN, ODD = list(range(0, 32, 2)), list(range(1, 32, 2))
ALL = list(range(32))


def each(*pus: int) -> list[list[int]]:
    """Threads, each on a PU."""
    return [[pu] for pu in pus]


HYDRA_CORES = (each(*EVEN), each(*ODD))
NEBULA_CORES = (each(*range(0, 64, 2)), each(*range(1, 64, 2)))  # of each package
NHM_CORES = [[pu, pu + 8] for pu in range(8)]
NHM = (list(range(0, 16, 2)), list(range(1, 16, 2)))


@pytest.mark.parametrize(
    ("goal", "machine", "team", "ranks", "misplaced"),
    [
        ("near", "hydra", 1, ([[0]], [[2]]), 0),
        ("near", "hydra", 1, ([EVEN], [EVEN]), 0),
        ("near", "hydra", 1, ([[0]], [[1]]), 1),
        ("near", "hydra", 1, ([[0]], [[0]]), 1),
        ("near", "hydra", 1, ([ALL], [ALL]), 2),
        ("near", "hydra", 1, ([[0]], [ALL]), 1),
        ("near", "hydra", 1, ([[0]], [[2]], [[4]]), 1),
        ("near", "hydra", 1, ([[0]],), 1),
        # Two dies of a package are near by package, not by NUMA node.
        ("near", "nebula", 1, ([[0]], [[2]]), 1),
        ("near", "nebula", 1, ([[0]], [[8]]), 0),
        # A second thread, MPI's own, goes where it likes.
        ("near", "hydra", 1, ([[0], ALL], [[2], ALL]), 0),
        ("near", "hydra", 2, ([[0], [2]], [[4], ALL]), 1),
        ("far", "hydra", 1, ([[0]], [[1]]), 0),
        ("far", "hydra", 1, ([EVEN], [ODD]), 0),
        ("far", "hydra", 1, ([[0]], [[2]]), 1),
        ("far", "hydra", 1, ([ALL], [ALL]), 2),
        ("far", "nebula", 1, ([[0]], [[2]]), 1),
        ("far", "nebula", 1, ([[0]], [[1]]), 0),
        ("rank_a_numa_node", "hydra", 16, HYDRA_CORES, 0),
        ("rank_a_numa_node", "hydra", 16, ([EVEN] * 16, [ODD] * 16), 0),
        ("rank_a_numa_node", "hydra", 15, HYDRA_CORES, 2),
        ("rank_a_numa_node", "hydra", 16, ([EVEN] * 16, [EVEN] * 16), 1),
        ("rank_a_numa_node", "hydra", 16, ([ALL] * 16, [ALL] * 16), 2),
        ("rank_a_numa_node", "hydra", 16, (each(*EVEN[:15], 0), each(*ODD)), 1),
        ("rank_a_numa_node", "hydra", 16, HYDRA_CORES[:1], 1),
        ("rank_a_numa_node", "hydra", 1, tuple(each(pu) for pu in ALL), 32),
        # A rank per package leaves three dies of each without.
        ("rank_a_numa_node", "nebula", 32, ([EVEN] * 32, [ODD] * 32), 6),
        # Packages, on which nebula has four NUMA nodes each, and nhm two PUs per core.
        ("rank_a_package", "nebula", 32, NEBULA_CORES, 0),
        ("rank_a_package", "nebula", 31, NEBULA_CORES, 2),
        ("rank_a_package", "nebula", 32, (NEBULA_CORES[0],) * 2, 1),
        ("rank_a_package", "nhm", 4, ([NHM[0]] * 4, [NHM[1]] * 4), 0),
        ("rank_a_package_by_pus", "nhm", 4, ([NHM[0]] * 4, [NHM[1]] * 4), 2),
        ("rank_a_package_by_pus", "nhm", 8, (each(*NHM[0]), each(*NHM[1])), 0),
        ("rank_a_numa_node_by_pus", "nhm", 8, (each(*NHM[0]), each(*NHM[1])), 0),
        ("rank_a_numa_node_by_pus", "nebula", 32, NEBULA_CORES, 6),
        ("rank_a_core_by_pus", "nhm", 2, [each(*core) for core in NHM_CORES], 0),
        ("rank_a_core_by_pus", "nhm", 2, [[core[:1]] * 2 for core in NHM_CORES], 8),
        ("rank_a_core_by_pus", "nhm", 1, [[core] for core in NHM_CORES], 8),
    ],
)  # fmt: skip
def test_goals_of_ranks(
    installation: Installation, goal: str, machine: str, team: int, ranks: Any, misplaced: int
) -> None:
    found = reach_of_ranks(goal, ranks_of(*ranks), team, node_of(installation, machine))
    assert found.misplaced == misplaced, found.why
    check_text(found.why)


def test_two_packages_are_out_of_reach_on_one(installation: Installation, messages: Lab) -> None:
    """Several NUMA nodes in one package: neither a launch that would be right elsewhere nor one
    that would not can be told there; one of three ranks is wrong anywhere."""
    node = node_of(installation, "tioga")
    both = ranks_of([[0]], [[0]])
    assert reach_of_ranks("far", both, 1, node).misplaced
    assert is_out_of_reach("far", both, node)
    assert not is_out_of_reach("near", both, node)
    assert not is_out_of_reach("far", ranks_of([[0]], [[0]], [[0]]), node)
    assert not is_out_of_reach("far", both, node_of(installation, "hydra"))
    for ranks, status in (([[0]], [[0]]), "not_gradable"), (([[0]], [[0]], [[0]]), "fail"):
        run = invented.launched("far.toml", "placement", invented.job(*ranks))
        record = session(run, files=FILES, node=node)
        found = judged(messages, record)["far"]
        assert found.status == status, found.why
        assert ("far.toml on this node" in drawn(messages, record)) == (status == "fail")


def test_only_what_the_runtime_chose_is_by_cores(installation: Installation) -> None:
    """What a virtual node shows of it is no other machine's where the runtime sees less there."""
    node = node_of(installation, "hydra")
    share = ranks_of(each(*EVEN[:15], 0), each(*ODD))
    assert reach_of_ranks("rank_a_numa_node", share, 16, node).is_by_cores
    for ranks in (HYDRA_CORES, ([ALL] * 16, [ALL] * 16), (each(*EVEN[:15], 0), [EVEN] * 16)):
        assert not reach_of_ranks("rank_a_numa_node", ranks_of(*ranks), 16, node).is_by_cores


def test_cores_that_the_runtime_chose_are_not_judged_where_it_would_see_none(hybrid: Lab) -> None:
    pus: dict[int, list[int]] = {}
    for entry in session()["node"]["pu_list"]:
        pus.setdefault(entry["numa_node"], []).append(entry["pu"])
    near, far = pus.values()
    machine = {
        "name": "nebula", "source": "x", "accelerator": "tcg", "guest_kernel": "6.1",
        "cores_per_numa_node": 2, "cores_per_numa_node_of_machine": 8,
        "numa_node_memory_bytes": 1, "announces_cores": False,
    }  # fmt: skip

    def found(first: list[int], announces: bool) -> CriterionVerdict:
        ranks = invented.job(each(*first), each(*far))
        run = invented.launched("launch.toml", "launch", ranks, team=len(near))
        record = session(run, files=LAUNCH)
        return judged(hybrid, record | {"machine": machine | {"announces_cores": announces}})[
            "ranks_placed"
        ]

    shared = [near[0], near[0], *near[2:]]
    assert found(near, False).status == "pass"
    assert (found(shared, False).status, found(shared, False).cause) == (
        "not_gradable",
        "not_visible_here",
    )
    assert found(shared, True).status == "fail"
    assert found([far[0], *near[1:]], False).status == "fail"


def test_siblings_of_a_core_are_one_place(installation: Installation) -> None:
    node = node_of(installation, "westmere-ex")
    core: dict[int, list[int]] = {}
    for entry in node["pu_list"]:
        if entry["numa_node"] == 0:
            core.setdefault(entry["core"], []).append(entry["pu"])
    first, second, *_ = core.values()
    on_one = ranks_of([[first[0]]], [[first[1]]])
    assert reach_of_ranks("near", on_one, 1, node).misplaced == 1
    assert reach_of_ranks("near", ranks_of([[first[0]]], [[second[1]]]), 1, node).misplaced == 0


NEAR = invented.launched("near.toml", "placement", invented.job([[0]], [[2]]))
FAR = invented.launched("far.toml", "placement", invented.job([[0]], [[1]]))
FILES = {"near.toml": "ranks = 2", "far.toml": "ranks = 2", "predict.toml": PREDICTION}


def test_launches_are_judged_though_the_kernel_is_wrong(messages: Lab) -> None:
    no_build = {"kernel": {"status": "does_not_compile", "message": "No.", "output": ""}}
    record = session(NEAR, FAR, files=FILES, build=no_build)
    record_of(record)
    found = judged(messages, record)
    assert found["near"].status == found["far"].status == "pass"
    assert found["correct"].why == found["efficiency"].why == "No."
    wrong = invented.checked({"n": 7, "ranks": 2, "results": WRONG}, part="ping_pong")
    found = judged(messages, session(wrong, NEAR, FAR, files=FILES))
    assert found["near"].status == "pass" and found["correct"].status == "fail"


def test_the_kernel_is_judged_though_a_launch_is_wrong(messages: Lab) -> None:
    swapped = [NEAR | {"file": "far.toml"}, FAR | {"file": "near.toml"}]
    record = session(CHECK, SYNCHRONOUS, *swapped, files=FILES)
    found = judged(messages, record)
    assert found["near"].value == found["far"].value == 1
    assert found["correct"].status == found["deadlock_free"].status == "pass"
    assert files_to_compare(messages, parse(record)) == ("near.toml", "far.toml")


def test_a_launch_without_meaning_fails_but_for_the_solutions(messages: Lab) -> None:
    refused = invented.launched("near.toml", "placement", [], refused="near.toml: no.")
    record = session(refused, FAR, files=FILES)
    record_of(record)
    found = judged(messages, record)["near"]
    check_verdict(found, "fail", "bad_file")
    assert files_to_compare(messages, parse(record)) == ("near.toml",)
    record["runs"].append(refused | {"role": "solution"})
    assert judged(messages, record)["near"].status == "not_gradable"


def test_a_launch_under_which_nothing_runs(messages: Lab) -> None:
    ended = {"status": "exited", "exit_code": 1, "doing": "start", "n": 0, "printed_bytes": 0}
    found = judged(messages, session(NEAR | {"outcome": ended}, FAR, files=FILES))["near"]
    check_verdict(found, "fail", "exited")
    late = {"status": "timed_out", "limit_s": 9.0, "doing": "start", "n": 0, "printed_bytes": 0}
    record = session(NEAR | {"outcome": late}, FAR, files=FILES, machine=invented.MACHINE)
    assert judged(messages, record)["near"].status == "error"


def test_a_file_that_can_not_be_read_says_why(messages: Lab) -> None:
    record = session(FAR, files=FILES)
    record["handed_in"][0]["complaint"] = "near.toml:1: this is not TOML."
    check_verdict(judged(messages, record)["near"], "fail", "bad_file")


# ---- predictions -----------------------------------------------------------------------


VALUES = dict.fromkeys(NAMES, 1.0) | {"latency_us": 0.5, "bandwidth_mb_s": 8192.0}


def of_64_kib(text: str) -> str:
    return read_predictions(text).formulas["time_64_kib_us"]


@pytest.mark.parametrize(
    ("value", "us"),
    [("8.5", 8.5), ("9", 9.0), ('"latency_us + 65536 / bandwidth_mb_s"', 8.5),
     ('" 65536/bandwidth_mb_s+(latency_us) "', 8.5), ('"-(-8.5)"', 8.5), ('"2 * 4 - 1"', 7.0),
     ('"time_8_kib_us + 1"', 2.0)],
)  # fmt: skip
def test_predictions_are_read(value: str, us: float) -> None:
    assert predict(of_64_kib(f"time_64_kib_us = {value}"), VALUES) == us


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time_64_kib_us = 0", "a message takes a time above 0"),
        ("time_64_kib_us = -1.5", "above 0"),
        ("time_64_kib_us = nan", "above 0"),
        ("time_64_kib_us = inf", "above 0"),
        ("time_64_kib_us = true", "write a number, or a formula"),
        ("time_64_kib_us = [1]", "write a number"),
        ("time_64_kib_us = latency_us", "not TOML"),
        ("", "time_4_kib_us is missing"),
        ("time_64_kb_us = 1", "unknown key 'time_64_kb_us'"),
        ('time_64_kib_us = "latency + 1"', "did you mean latency_us?"),
        ('time_64_kib_us = "x"', "the formula has the name x; it can have numbers"),
        ('time_64_kib_us = "2 ** 3"', "can't stand in the formula"),
        ('time_64_kib_us = "10 // 3"', "can't stand in the formula"),
        ('time_64_kib_us = "abs(1)"', "`abs(1)` can't stand"),
        ('time_64_kib_us = "True"', "can't stand"),
        ('time_64_kib_us = "1j"', "can't stand"),
        ('time_64_kib_us = "latency_us.real"', "can't stand"),
        ('time_64_kib_us = "(1).__class__"', "can't stand"),
        ('time_64_kib_us = "1; 2"', "is no formula"),
        ('time_64_kib_us = "1 +"', "is no formula"),
        ('time_64_kib_us = ""', "is no formula"),
        ('time_64_kib_us = "1 / 0"', "divides by 0"),
        (f'time_64_kib_us = "{"(" * 95}1{")" * 95}"', ""),
        (f'time_64_kib_us = "{"1+" * 200}1"', "longer than 200"),
    ],
)
def test_what_a_prediction_can_not_be(text: str, says: str) -> None:
    if not says:
        assert predict(of_64_kib(text), VALUES) == 1.0
        return
    with pytest.raises(BadPrediction) as error:
        read_predictions(text)
    check_text(str(error.value))


def test_one_bad_prediction_leaves_the_other() -> None:
    found = read_predictions("time_4_kib_us = 1\ntime_64_kib_us = -1")
    assert found.formulas == {"time_4_kib_us": "1"}
    assert "above 0" in found.complaints["time_64_kib_us"]
    assert "missing" in read_predictions("time_4_kib_us = 1").complaints["time_64_kib_us"]


@pytest.mark.parametrize("formula", ["latency_us - 5", "1e300 * 1e300", "1 / (latency_us - 0.5)"])
def test_a_formula_may_come_out_senseless(formula: str) -> None:
    with pytest.raises(BadPrediction):
        predict(formula, VALUES)


def predicting(us_4_kib: str, us_64_kib: str) -> dict[str, str]:
    text = f"time_4_kib_us = {us_4_kib}\ntime_64_kib_us = {us_64_kib}"
    return FILES | {"predict.toml": text}


EXACT = invented.latency("placement", samples=(1.0, 1.01, 1.02))


@pytest.mark.parametrize(
    ("us_4_kib", "us_64_kib", "points"),
    [
        ('"0.5 + 4096 / bandwidth_mb_s"', '"latency_us + 65536 / bandwidth_mb_s"', 1),
        ("1", "8.5", 1),
        ("1", "40", 0.5),
        ("1", '"5.7242"', 0.75),
        ("0.67343", '"latency_us"', 0.25),
        ("1", "-3", 0.5),
        ("1", '"latency_us - 3"', 0.5),
        ("3", '"latency_us"', 0),
        ('"latency_us - 3"', '"latency_us - 4"', 0),
    ],
)  # fmt: skip
def test_predictions(messages: Lab, us_4_kib: str, us_64_kib: str, points: float) -> None:
    record = session(EXACT, files=predicting(us_4_kib, us_64_kib))
    record_of(record)
    found = judged(messages, record)["predicted"]
    assert found.points == points
    assert found.status == ("pass" if points else "fail"), found.why
    check_text(found.why)
    # What was measured is not told before it has been predicted.
    assert ("took 8.5 us" in found.why) == (points == 1)


def test_no_factor_is_a_cliff(messages: Lab) -> None:
    points = [
        earned(messages, EXACT, "1", f"8.5 * {factor}")
        for factor in (1.0, 1.2, 1.4, 1.6, 1.8, 1.98, 2.3)
    ]
    assert points == sorted(points, reverse=True) and points[0] == 1 and points[-1] == 0.5
    assert all(abs(a - b) <= 0.15 for a, b in pairwise(points))


# Best samples in us, as ./numalab grade 06 took them: two cores of one NUMA node, MPICH 4.0.2.
CURVE = {
    0: 0.184, 1: 0.185, 2: 0.188, 4: 0.272, 8: 0.186, 16: 0.188, 32: 0.304, 64: 0.193, 128: 0.471,
    256: 0.473, 512: 0.481, 1024: 0.296, 2048: 0.433, 4096: 0.702, 8192: 1.265, 16384: 4.953,
    32768: 7.627, 65536: 12.79, 131072: 23.273, 262144: 42.805, 524288: 76.515, 1048576: 122.458,
    2097152: 208.961, 4194304: 386.884,
}  # fmt: skip


def curve(leap_us: float = 0.0, leaps_at: int = 0) -> Json:
    """CURVE, or one of two lines that leaps."""
    run = invented.latency("placement")
    samples = []
    for one in run["samples"]:
        size = one["bytes"]
        line_us = 0.3 + size / 8000 + (leap_us if size >= leaps_at else 0)
        us = line_us if leap_us else CURVE[size]
        samples.append(one | {"elapsed_s": one["repetitions"] * 2e-6 * us})
    return run | {"samples": samples}


def earned(lab: Lab, run: Json, us_4_kib: str, us_64_kib: str) -> float:
    files = predicting(f'"{us_4_kib}"', f'"{us_64_kib}"')
    found = judged(lab, session(run, files=files))["predicted"]
    assert found.status in ("pass", "fail"), found.why
    return found.points


def test_two_lines_earn_the_point_and_bandwidth_alone_does_not(
    messages: Lab, installation: Installation
) -> None:
    solution = read_predictions(
        (installation.solution_folder("06_message_latency") / "predict.toml").read_text("utf-8")
    ).formulas
    assert earned(messages, curve(), *solution.values()) == 1
    other_line = "time_16_kib_us + 49152 * (time_1_mib_us - time_16_kib_us) / 1032192"
    assert earned(messages, curve(), solution["time_4_kib_us"], other_line) == 1
    one_line = [f"latency_us + {size} / bandwidth_mb_s" for size in (4096, 65536)]
    alone = [f"{size} / bandwidth_mb_s" for size in (4096, 65536)]
    assert earned(messages, curve(), *alone) < 0.25 < earned(messages, curve(), *one_line) < 0.55


@pytest.mark.parametrize("leaps_at", [2048, 8192, 16384, 32768])
def test_two_lines_are_found_wherever_the_library_changes_over(
    messages: Lab, leaps_at: int
) -> None:
    run = parse(session(curve(5.0, leaps_at))).runs_of(LATENCY)[0]
    for size in PREDICTED.values():
        said = two_lines_us(best_us(run), PREDICTED.values(), size)
        us = 0.3 + size / 8000 + (5.0 if size >= leaps_at else 0.0)
        # Right below the leap, with nothing measured between, either line may be its own.
        is_between = (leaps_at, size) == (8192, 4096)
        assert said == pytest.approx([us, us + 5.0] if is_between else [us])


def test_too_few_sizes_have_no_two_lines() -> None:
    assert two_lines_us({1 << n: 1.0 for n in range(5)}, (), 4) == []


def test_times_that_disagree_decide_nothing(messages: Lab) -> None:
    noisy = invented.latency("placement", samples=(0.3, 0.5, 1.0, 2.0, 3.0))
    found = judged(messages, session(noisy, files=FILES))["predicted"]
    check_verdict(found, "inconclusive", "too_noisy")
    one_late = invented.latency("placement", samples=(1.0, 1.0, 1.0, 1.0, 50.0))
    assert judged(messages, session(one_late, files=FILES))["predicted"].status == "pass"


def slower_64_kib(factor: float) -> Json:
    """A curve with one size that is off."""
    run = invented.latency("placement")
    samples = [
        one | {"elapsed_s": one["elapsed_s"] * (factor if one["bytes"] == 65536 else 1)}
        for one in run["samples"]
    ]
    return run | {"samples": samples}


@pytest.mark.parametrize(
    ("factor", "value", "points"),
    [
        (9, "latency_us + 65536 / bandwidth_mb_s", None),  # right, and the curve is not
        (1 / 9, "8.5", None),
        (9, "8.5 * 9", None),
        (1.9, "8.5 * 1.9", 1),  # the curve is one, within limits
        (1.9, "8.5", 1),  # as far as the lines go is not held against anybody
        (1.9, "latency_us", 0.5),
    ],
)
def test_a_curve_that_nobody_could_predict_decides_nothing(
    messages: Lab, factor: float, value: str, points: float | None
) -> None:
    files = predicting("1", f'"{value}"')
    found = judged(messages, session(slower_64_kib(factor), files=files))["predicted"]
    assert found.status == ("inconclusive" if points is None else "pass"), found.why
    assert (found.cause == "too_noisy") == (points is None)
    assert found.points == (points or 0)


def test_a_file_without_any_prediction_is_bad_whatever_the_times(messages: Lab) -> None:
    files = predicting('"latency_us - 3"', '"latency_us - 4"')
    found = judged(messages, session(slower_64_kib(9), files=files))["predicted"]
    assert (found.status, found.cause) == ("fail", "bad_file")


def test_where_no_message_can_be_timed(messages: Lab) -> None:
    refused = session(files=FILES, timing_refused="A login node.")
    check_verdict(judged(messages, refused)["predicted"], "not_gradable", "times_refused")
    assert not needs_latency(messages, parse(refused), "placement")
    one_core = session(files=FILES, node=invented.Machine(1, 1, 1, False).describe())
    for name in ("predicted", "efficiency"):
        found = judged(messages, one_core)[name]
        assert (found.status, found.cause) == ("not_gradable", "no_launch_here")
        assert "offers 1 core" in found.why
    assert not needs_latency(messages, parse(one_core), "placement")
    assert needs_latency(messages, parse(session(files=FILES)), "placement")
    assert not needs_latency(messages, parse(session(files=FILES)), "ping_pong")
    assert judged(messages, session(files=FILES))["predicted"].status == "inconclusive"


# ---- what launches are worth -----------------------------------------------------------

NEWCOMER, FLAT = "compared/newcomer.toml", "compared/flat.toml"
LAUNCH = {"launch.toml": "ranks = 2"}
FAST = {"handout": 0.44, "solution": 0.23, "control": 0.23, "submission": 0.23}


def replicates(slow: str, count: int = 13, **times: float) -> list[Json]:
    return [
        invented.generation(invented.TWO_NODES, one) | {"part": "launch", "slow": slow}
        for one in invented.steady(count, **(FAST | times))
    ]


def test_each_slow_launch_is_judged_by_its_own_generations(hybrid: Lab) -> None:
    runs = [*replicates(NEWCOMER), *replicates(FLAT, submission=0.44)]
    record = session(*runs, files=LAUNCH)
    record_of(record)
    found = judged(hybrid, record)
    check_verdict(found["launch_speedup"], "pass", "reached")
    assert found["over_flat"].status == "fail"
    same = session(*replicates(NEWCOMER, handout=0.23), files=LAUNCH)
    found = judged(hybrid, same)
    check_verdict(found["launch_speedup"], "not_gradable", "no_effect_here")
    assert found["over_flat"].status == "inconclusive"  # not timed yet


def test_of_the_handouts_launch_no_instability_is_guessed(hybrid: Lab) -> None:
    """Not bound, it runs now well and now badly; the control is steady."""
    times = [FAST | {"submission": 0.2 if g % 2 else 0.6} for g in range(60)]
    runs = [
        invented.generation(invented.TWO_NODES, one) | {"part": "launch", "slow": NEWCOMER}
        for one in times
    ]
    own = judged(hybrid, session(*runs, files=LAUNCH, unchanged_files=["kernel.c"]))
    assert own["launch_speedup"].cause == "unstable"
    record = session(*runs, files=LAUNCH, unchanged_files=["launch.toml"])
    found = judged(hybrid, record)["launch_speedup"]
    check_verdict(found, "fail", "too_slow")
    assert "steady" not in found.why


def test_launches_are_timed_though_the_kernel_is_wrong(hybrid: Lab) -> None:
    no_build = {"kernel": {"status": "does_not_compile", "message": "No.", "output": ""}}
    record = session(files=LAUNCH, build=no_build)
    timed = Timed("launch", NEWCOMER)
    roles = ("handout", "solution", "submission")
    assert timing_roles(hybrid, parse(record), timed) == roles
    record["runs"] = replicates(NEWCOMER)
    assert judged(hybrid, record)["launch_speedup"].status == "pass"
    assert timing_is_decided(hybrid, parse(record), timed)
    assert not timing_is_decided(hybrid, parse(record), Timed("launch", FLAT))


def test_a_launch_that_can_not_be_meant_is_not_timed(hybrid: Lab) -> None:
    refused = invented.launched("launch.toml", "launch", [], refused="launch.toml: no.")
    record = session(refused, files=LAUNCH)
    found = judged(hybrid, record)["launch_speedup"]
    check_verdict(found, "fail", "bad_file")
    record["runs"].append(refused | {"role": "solution"})
    assert judged(hybrid, record)["launch_speedup"].status == "not_gradable"
    slow = refused | {"role": "handout", "file": FLAT, "refused": "flat.toml: no."}
    found = judged(hybrid, session(slow, files=LAUNCH))
    check_verdict(found["over_flat"], "not_gradable", "no_launch_here")
    assert found["launch_speedup"].status == "inconclusive"
    unreadable = session(files=LAUNCH)
    unreadable["handed_in"][0]["complaint"] = "launch.toml: what?"
    check_verdict(judged(hybrid, unreadable)["launch_speedup"], "fail", "bad_file")
    assert timing_roles(hybrid, parse(unreadable), Timed("launch", NEWCOMER)) == ()


def test_a_launch_that_takes_for_ever_is_slow(hybrid: Lab) -> None:
    (run,) = replicates(NEWCOMER, 1)
    part = next(role for role in run["roles"] if role["role"] == "submission")
    part["outcome"] = {"status": "timed_out", "doing": "an iteration", "n": 1000, "limit_s": 60.0,
                       "printed_bytes": 0}  # fmt: skip
    found = judged(hybrid, session(run, files=LAUNCH))["launch_speedup"]
    check_verdict(found, "fail", "too_slow")


@pytest.mark.parametrize(
    ("role", "status", "cause"),
    [("submission", "fail", "bad_file"), ("handout", "error", "kit"), ("control", "error", "kit")],
)
def test_a_launch_is_blamed_for_its_own_process(
    hybrid: Lab, role: str, status: str, cause: str
) -> None:
    (run,) = replicates(NEWCOMER, 1)
    part = next(part for part in run["roles"] if part["role"] == role)
    part["outcome"] = {"status": "crashed", "signal": "SIGSEGV", "doing": "an iteration", "n": 1000,
                       "printed_bytes": 0, "baseline_status": "ok"}  # fmt: skip
    found = judged(hybrid, session(run, files=LAUNCH))["launch_speedup"]
    assert (found.status, found.cause) == (status, cause)


def test_one_numa_node_shows_no_launch(hybrid: Lab) -> None:
    record = session(files=LAUNCH, node=invented.ONE_NODE.describe())
    found = judged(hybrid, record)
    assert found["over_flat"].status == found["ranks_placed"].status == "not_gradable"
    assert timing_roles(hybrid, parse(record), Timed("launch", FLAT)) == ()
    assert timing_roles(hybrid, parse(record), Timed("launch", NEWCOMER))


# ---- for people's eyes -------------------------------------------------------------------


def drawn(lab: Lab, record: Json) -> dict[str, tuple[bool, list[str]]]:
    evidence = parse(record)
    pictures = placement_pictures(lab, judge(lab, evidence), [("here", evidence)], 76, symbol)
    return {
        what: (is_reached, [line.plain for line in lines]) for what, is_reached, lines in pictures
    }


def test_ranks_are_drawn_where_they_sit(
    messages: Lab, hybrid: Lab, installation: Installation
) -> None:
    node = node_of(installation, "hydra")
    far = invented.launched("far.toml", "placement", invented.job([EVEN], [ALL]))
    found = drawn(messages, session(NEAR, far, files=FILES, node=node))
    is_reached, lines = found["near.toml on this node"]
    assert is_reached
    assert lines[0] == "package 0  node 0  [0][1]" + "[.]" * 14
    assert found["far.toml on this node"] == (
        False,
        [
            "rank 0 may run on any core of NUMA node 0",
            "rank 1 may run on cores of several packages",
        ],
    )
    # A rank's threads have its digit; those of the library are not drawn.
    job = invented.job([*each(*EVEN), ALL], [*each(*ODD), ALL])
    run = invented.launched("launch.toml", "launch", job, team=16)
    found = drawn(hybrid, session(run, files=LAUNCH, node=node))
    assert found == {
        "launch.toml on this node": (
            True, ["package 0  node 0  " + "[0]" * 16, "package 1  node 1  " + "[1]" * 16],
        )
    }  # fmt: skip
    check_text(legend(hybrid))


def test_threads_of_one_rank_on_a_core_are_no_crowd(
    hybrid: Lab, installation: Installation
) -> None:
    run = invented.launched("launch.toml", "launch", invented.job([[0], [0]], [[2]]), team=2)
    found = drawn(hybrid, session(run, files=LAUNCH, node=node_of(installation, "hydra")))
    assert found["launch.toml on this node"][1][0].startswith("package 0  node 0  [0][1][.]")


def test_a_launch_that_was_refused_is_not_drawn(messages: Lab) -> None:
    refused = invented.launched("near.toml", "placement", [], refused="near.toml: no.")
    assert not drawn(messages, session(refused, files=FILES))


def test_latencies_are_shown_without_what_is_to_be_predicted(installation: Installation) -> None:
    near = invented.latency("placement")
    far = invented.latency("placement", "far.toml", 1.1, 4000.0)
    published = find_machine(installation, "hydra").latencies
    evidence = parse(session(near, far, node=node_of(installation, "hydra")))
    before = latency_lines(evidence, False, published)
    assert max(map(len, before)) <= 78
    assert {"  4 KiB  left out: predict it", " 64 KiB  left out: predict it"} <= set(before)
    assert not any("8.50" in line or "17.48" in line for line in before)
    assert not any("TUW-NUMA" in line or "0.65" in line for line in before)
    after = latency_lines(evidence, True, published)
    (row,) = [line for line in after if line.startswith(" 64 KiB")]
    assert row.split()[2:6] == ["8.50", "7,710", "17.48", "3,748"]
    assert (len(before), len(after)) == (2 + 24 + 1, 2 + 24 + 1 + 5)
    assert "n: near, f: far, *: both" in after
    rows = {line[:7].strip(): line for line in after}
    assert rows["0 B"].split()[2:4] == ["0.50", "1.10"]  # no bandwidth
    assert any(line.endswith("0.65  0.65  0.65  0.65  0.65  1.01  1.00  1.01") for line in after)
    assert not any("one package" in line for line in after)


def test_near_and_far_are_alike_in_one_package() -> None:
    near, far = invented.latency("placement"), invented.latency("placement", "far.toml")
    node = invented.ONE_NODE.describe()
    lines = latency_lines(parse(session(near, far, node=node)), True, ())
    check_text(lines[-1])
    assert " *" in lines[5]
    (by_kit,) = [invented.latency("placement", None)]
    lines = latency_lines(parse(session(by_kit, node=node)), True, ())
    check_text(lines[-2])
    ended = {
        "status": "timed_out",
        "limit_s": 9.0,
        "doing": "ping_pong",
        "n": 8,
        "printed_bytes": 0,
    }
    assert latency_lines(parse(session(near | {"outcome": ended})), True, ()) == []
    assert latency_lines(parse(session()), True, ()) == []


def test_what_a_node_shows_of_a_lab_on_mpi(messages: Lab, hybrid: Lab) -> None:
    one, two = invented.ONE_NODE.describe(), invented.TWO_NODES.describe()
    assert gradable(two, messages)[1] == gradable(two, hybrid)[1] == []
    assert gradable(one, messages)[1] == gradable_virtually(one, messages) == ["near", "far"]
    single = one | {"cores": 1}
    assert gradable(single, messages)[0] == ["correct", "deadlock_free"]
    assert "thread_level" in gradable(single, hybrid)[0]
    assert gradable(two, messages, has_mpi=False) == ([], [c.name for c in messages.criteria])
    assert gradable_virtually(two, messages, has_mpi=False) == []
    assert mpi("MPICH 4.0.2").level == "good"
    check_text(mpi("").remedy)


# ---- without MPI -------------------------------------------------------------------------


def test_without_mpi_the_other_labs_are_graded(
    messages: Lab,
    first_touch: Lab,
    tmp_path: Path,
) -> None:
    here = Installation(tmp_path)
    here.build.mkdir(parents=True)
    (here.build / "CMakeCache.txt").write_text(
        f"CMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\nCMAKE_CACHEFILE_DIR:INTERNAL={here.build}\n"
    )
    (here.build / "build.ninja").touch()
    labs = [first_touch, messages]
    (here.build / "build.json").write_text('{"mpi": ""}')
    notes: list[str] = []
    assert labs_with_mpi(here, labs, False, notes.append) == [first_touch]
    assert len(notes) == 1
    check_text(notes[0])
    with raises_text(UserError):
        labs_with_mpi(here, labs, True, notes.append)
    assert labs_with_mpi(here, [first_touch], True, notes.append) == [first_touch]
    (here.build / "build.json").write_text('{"mpi": "MPICH 4.0.2"}')
    assert labs_with_mpi(here, labs, True, notes.append) == labs
    assert len(notes) == 1


def test_every_goal_of_a_file_can_be_judged() -> None:
    of_kind: dict[str, set[str]] = {}
    for goal, kind in FILE_KINDS.items():
        of_kind.setdefault(kind, set()).add(goal)
    assert of_kind["placement"] == {*thread_goals.GOALS, *CORE_GOALS}
    assert of_kind["policy"] == set(POLICY_NODES)
    assert of_kind["launch"] == set(rank_goals.GOALS)
    assert of_kind["prediction"] == {"prediction"}
