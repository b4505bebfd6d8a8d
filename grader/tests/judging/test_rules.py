"""The rules beyond first touch, and labs of several kernels, on invented records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support import invented
from support.golden_texts import check_text, check_verdict
from support.lab_folders import write_grading

from numalab.evidence.kinds import MEMORY, OBSERVED_KINDS, PLACEMENT, RACE
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.record import Evidence
from numalab.grading.collect_evidence import sanitizers_own_error
from numalab.judging import planner
from numalab.judging.judge import judge, sound_parts
from numalab.judging.printed_words import warning_words
from numalab.judging.rules import is_needed
from numalab.judging.verdict import CriterionVerdict, Verdict, Warned
from numalab.labs.declaration import Lab, load_lab
from numalab.reports.memory_table import MemoryColumn, memory_caption

Json = dict[str, Any]
ONE, TWO = invented.ONE_NODE, invented.TWO_NODES
MIB = 2**20

LAB = """
title = "Two kernels"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["one", "two"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 1
at_most = 0

[[criterion]]
name = "race_free"
kind = "correctness"
points = 1
at_most = 0

[[criterion]]
name = "balanced"
part = "one"
kind = "evidence"
points = 1
at_least = 0.9

[[criterion]]
name = "touched_where_used"
part = "two"
kind = "evidence"
points = 1
at_least = 0.95

[[criterion]]
name = "one_speedup"
rule = "efficiency"
part = "one"
kind = "timing"
points = 1
at_least = 0.8

[[criterion]]
name = "two_speedup"
rule = "speedup"
part = "two"
kind = "timing"
points = 1
"""


def lab_of(folder: Path, text: str) -> Lab:
    write_grading(folder, text)
    return load_lab(folder)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path / "20_two_kernels", LAB)


def part(run: Json, name: str, **more: Any) -> Json:
    return run | {"part": name} | more


def check(name: str, **more: Any) -> Json:
    return {"kind": "check", "lab": "x", "part": name, "team": 2, "role": "submission",
            "seed": "0", "checks": [{"n": 7, "results": invented.RIGHT}],
            "outcome": invented.OK} | more  # fmt: skip


def race(name: str, **more: Any) -> Json:
    return {"kind": "race", "lab": "x", "part": name, "team": 4, "role": "submission",
            "sizes": [100], "outcome": invented.OK} | more  # fmt: skip


def placed(
    name: str,
    *cpu_s: float,
    waiting_s: tuple[float, ...] = (0.0, 0.0),
    stolen_s: tuple[float, ...] = (0.0, 0.0),
    role: str = "submission",
    over: float = 1.0,
) -> Json:
    """One call. over: how many times the CPU time of one thread the team takes."""
    run = invented.placement(ONE, lambda owner, page: 0, role)
    run |= {"computes": 1, "one_thread": invented.one_thread(sum(cpu_s), over)}
    return part(run, name, cpu_time=[
        {"thread": i, "cpu_s": cpu_s[i], "runqueue_wait_s": waiting_s[i], "steal_s": stolen_s[i],
         "longest_s": cpu_s[i] if i == cpu_s.index(max(cpu_s)) else 0.0,
         "demand_s": min(cpu_s[i] + waiting_s[i] + stolen_s[i], max(cpu_s))}
        for i in range(len(cpu_s))
    ])  # fmt: skip


EVEN = placed("one", 0.1, 0.1)


def session(*runs: Json, **more: Any) -> Json:
    return invented.evidence(ONE) | {"runs": list(runs)} | more


def right() -> list[Json]:
    traces = [
        part(invented.trace(ONE, order, invented.owner_writes, invented.owner_uses, "submission"),
             "two")
        for order in ("natural", "ascending", "descending")
    ]  # fmt: skip
    replicates = [
        part(invented.generation(ONE, times), name)
        for name in ("one", "two")
        for times in invented.steady(13, **invented.FAST)
    ]
    return [check("one"), check("two"), race("one"), race("two"), *2 * [EVEN],
            *traces, *replicates]  # fmt: skip


def of(verdict: Verdict) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in verdict.criteria}


def judged(lab: Lab, record: Json) -> dict[str, CriterionVerdict]:
    return of(judge(lab, parse(record)))


def test_all_parts_right(lab: Lab) -> None:
    record = session(*right())
    record_of(record)
    assert lab.parts == ("one", "two")
    assert {c.status for c in judged(lab, record).values()} == {"pass"}


def test_a_wrong_part_takes_nothing_from_the_other(lab: Lab) -> None:
    wrong = {"checked": 7, "mismatches": 1, "first_mismatch": {
        "array": "e", "element": 3, "expected": 1.0, "actual": 2.0, "phase": "one",
        "repetition": 0}}  # fmt: skip
    runs = right()
    runs[0] = check("one", checks=[{"n": 7, "results": wrong}])
    found = judged(lab, session(*runs))
    check_verdict(found["correct"], "fail", "wrong_result")
    assert found["one_speedup"].status == "fail"
    assert found["one_speedup"].cause == "not_right_yet"
    assert found["two_speedup"].status == "pass"
    assert found["touched_where_used"].status == "pass"
    evidence = parse(session(*runs))
    assert sound_parts(lab, evidence) == ("two",)
    assert planner.timing_roles(lab, evidence, planner.Timed("one")) == ()
    assert "handout" in planner.timing_roles(lab, evidence, planner.Timed("two"))


def test_a_part_that_was_not_looked_at_is_not_correct(lab: Lab) -> None:
    found = judged(lab, session(*(run for run in right() if run["part"] == "one")))
    assert found["correct"].status == found["race_free"].status == "inconclusive"
    assert found["balanced"].status == "pass"


def test_each_part_is_timed_until_it_is_decided(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "generation" or run["part"] == "one"]
    evidence = parse(session(*runs))
    assert planner.timing_is_decided(lab, evidence, planner.Timed("one"))
    assert not planner.timing_is_decided(lab, evidence, planner.Timed("two"))


def test_what_each_part_needs_to_be_looked_at(lab: Lab) -> None:
    needed = {
        name: {kind.name for kind in (*OBSERVED_KINDS, RACE) if is_needed(kind, lab, name)}
        for name in ("one", "two")
    }
    assert needed == {"one": {"placement", "at_work", "race"}, "two": {"trace", "race"}}


def test_an_even_loop_that_is_slow_is_told_what_costs(tmp_path: Path) -> None:
    """schedule(dynamic, 1): even, and yet no faster than it was."""
    text = LAB.replace('rule = "efficiency"', 'rule = "speedup"').replace("at_least = 0.8\n", "")
    lab = lab_of(tmp_path / "20_two_kernels", text)
    slow = {"handout": 0.33, "solution": 0.22, "control": 0.22, "submission": 0.316}
    runs = [run for run in right() if run["kind"] != "generation" and run["kind"] != "placement"]
    runs += [
        part(invented.generation(ONE, times), name)
        for name in ("one", "two")
        for times in invented.steady(13, **slow)
    ]
    even = judged(lab, session(*runs, EVEN, EVEN))
    assert even["one_speedup"].status == even["two_speedup"].status == "fail"
    check_verdict(even["one_speedup"], "fail", "too_slow")
    check_verdict(even["two_speedup"], "fail", "too_slow")
    quick = judged(lab, session(*runs, EVEN, EVEN, quick=True))
    check_verdict(quick["one_speedup"], "fail", "too_slow")
    uneven = judged(lab, session(*runs, *3 * [placed("one", 0.1, 0.3)]))
    check_verdict(uneven["one_speedup"], "fail", "too_slow")
    runs = [run for run in runs if run["kind"] != "race"]
    raced = race("one", race={"accesses": ["kernel.c:7"]})
    racing = judged(lab, session(*runs, raced, race("two"), EVEN, EVEN))
    check_verdict(racing["one_speedup"], "fail", "too_slow")
    elsewhere = race("two", race={"accesses": ["kernel.c:20"]})
    racing = judged(lab, session(*runs, race("one"), elsewhere, EVEN, EVEN))
    check_verdict(racing["one_speedup"], "fail", "too_slow")


def test_of_the_handout_nothing_is_guessed(tmp_path: Path) -> None:
    """How fast it is beside itself tells of the node, and that it asks for nothing is known."""
    text = LAB.replace('rule = "efficiency"', 'rule = "speedup"').replace("at_least = 0.8\n", "")
    lab = lab_of(tmp_path / "20_two_kernels", text)
    same = {"handout": 0.33, "solution": 0.22, "control": 0.22, "submission": 0.3}
    runs = [run for run in right() if run["kind"] != "generation"]
    runs += [
        part(invented.generation(ONE, times), name)
        for name in ("one", "two")
        for times in invented.steady(13, **same)
    ]
    edited = judged(lab, session(*runs))["one_speedup"]
    check_verdict(edited, "fail", "too_slow")
    record = session(*runs, unchanged_files=["kernel.c"])
    record_of(record)
    untouched = judged(lab, record)["one_speedup"]
    check_verdict(untouched, "fail", "too_slow")
    assert untouched.value == edited.value
    of_other = judged(lab, session(*runs, unchanged_files=["kernel.f90"]))["one_speedup"]
    assert of_other.why == edited.why

    tables = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    record = session(memory(table(8, **seen(16, 0)), table(256)), unchanged_files=["kernel.c"])
    record["node"]["huge_page_mode"] = "madvise"
    check_verdict(judged(tables, record)["huge_pages"], "fail", "missed")


# ---- work share ------------------------------------------------------------------


def looked_at(lab: Lab, *looks: Json) -> CriterionVerdict:
    runs = [run for run in right() if run["kind"] != "placement"]
    return judged(lab, session(*runs, *looks))["balanced"]


def test_balance_is_mean_over_maximum(lab: Lab) -> None:
    found = looked_at(lab, *3 * [placed("one", 0.1, 0.3)])
    assert found.value == pytest.approx(2 / 3)
    check_verdict(found, "fail", "missed")


def test_a_team_that_did_not_start_counts_as_idle(lab: Lab) -> None:
    for look, value in ((placed("one", 0.2), 0.5), (placed("one", 0.0, 0.0), 0.0)):
        found = looked_at(lab, *3 * [look])
        assert (found.status, found.value) == ("fail", value)


def test_threads_that_change_places_are_not_balanced(lab: Lab) -> None:
    in_turn = placed("one", 0.1, 0.1)  # two calls, each of one thread alone
    for entry in in_turn["cpu_time"]:
        entry["longest_s"] = 0.1
    found = looked_at(lab, *3 * [in_turn])
    assert (found.status, found.value) == ("fail", 0.5)


# Thread 1 was kept from its core half of the time: it did half as much, and was done as late.
DISTURBED = placed("one", 0.2, 0.1, waiting_s=(0.0, 0.1))
UNEVEN = placed("one", 0.1, 0.3, waiting_s=(0.05, 0.0))
# The early thread waits for the other one at work.
SPINNING = placed("one", 0.29, 0.3, over=1.5)


@pytest.mark.parametrize(
    ("looks", "status"),
    [
        ([DISTURBED], "inconclusive"),
        ([DISTURBED] * 8, "inconclusive"),
        ([placed("one", 0.2, 0.1, stolen_s=(0.0, 0.1))] * 8, "inconclusive"),
        # It held a piece all the time, and the other one waited for it, asleep.
        ([placed("one", 0.3, 0.1, waiting_s=(0.0, 0.9))] * 8, "inconclusive"),
        ([placed("one", 0.2, 0.1, waiting_s=(0.0, 0.05), stolen_s=(0.0, 0.05))], "inconclusive"),
        # Of those that say anything most count: two for it, three against it.
        ([EVEN], "inconclusive"),
        ([EVEN] * 2, "pass"),
        ([DISTURBED, EVEN, DISTURBED, EVEN], "pass"),
        ([UNEVEN] * 2, "inconclusive"),
        ([UNEVEN, DISTURBED, UNEVEN], "inconclusive"),
        ([UNEVEN, DISTURBED, UNEVEN, UNEVEN], "fail"),
        ([UNEVEN] * 3 + [EVEN], "fail"),  # not the best of many
        ([UNEVEN, EVEN, UNEVEN, EVEN], "inconclusive"),
        ([UNEVEN, EVEN, EVEN], "pass"),
        ([UNEVEN, UNEVEN, EVEN, EVEN, UNEVEN], "fail"),
        # That the busiest was kept from its core makes nobody else idle.
        ([placed("one", 0.1, 0.3, waiting_s=(0.0, 0.9))] * 3, "fail"),
        ([placed("one", 0.2, 0.156)] * 3, "fail"),
    ],
)
def test_other_load_leaves_the_balance_open(lab: Lab, looks: list[Json], status: str) -> None:
    assert looked_at(lab, *looks).status == status


def test_what_is_open_is_looked_at_again(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "placement"]
    for looks, is_open in (
        ([DISTURBED], True),
        ([UNEVEN], True),
        ([UNEVEN] * 2, True),
        ([UNEVEN] * 3, False),
        ([EVEN], True),
        ([EVEN, EVEN], False),
        ([SPINNING] * 2, True),
        ([SPINNING] * 3, False),
    ):
        evidence = parse(session(*runs, *looks))
        assert planner.needs_another_run(PLACEMENT, lab, evidence, "one") == is_open
        assert not planner.needs_another_run(PLACEMENT, lab, evidence, "two")


def test_what_is_open_says_what_is_missing(lab: Lab) -> None:
    found = looked_at(lab, DISTURBED)
    assert found.value == pytest.approx(0.75)
    check_verdict(found, "inconclusive", "too_noisy")
    check_verdict(looked_at(lab, UNEVEN), "inconclusive", "too_noisy")


def test_unlike_cores_are_named_where_parts_are_uneven(lab: Lab) -> None:
    """A loop of equal parts is uneven there, and whoever wrote it is told why; one that deals
    parts out on demand passes as anywhere."""
    kinds = [{"pus": [2, 3], "name": "IntelAtom"}, {"pus": [0, 1], "name": "IntelCore"}]
    runs = [run for run in right() if run["kind"] != "placement"]
    alike = judged(lab, session(*runs, *3 * [UNEVEN]))["balanced"]
    for told in (None, kinds[:1]):
        record = session(*runs, *3 * [UNEVEN])
        record["node"]["core_kinds"] = told
        assert judged(lab, record)["balanced"].why == alike.why
    record["node"]["core_kinds"] = kinds
    record_of(record)
    found = judged(lab, record)["balanced"]
    assert (found.status, found.value) == ("fail", alike.value)
    check_verdict(found, "fail", "missed")
    even = session(*runs, *3 * [EVEN])
    even["node"]["core_kinds"] = kinds
    assert judged(lab, even)["balanced"].status == "pass"


def test_a_busy_node_is_no_excuse_for_a_serial_kernel(lab: Lab) -> None:
    disturbed = placed("one", 0.2, 0.1, waiting_s=(0.0, 0.1), role="solution")
    serial = placed("one", 0.4, 0.0, waiting_s=(0.3, 0.0))
    assert looked_at(lab, *3 * [serial], *3 * [disturbed]).status == "fail"


def test_a_balance_that_the_solution_misses_is_not_graded(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "placement"]
    disturbed, even = (placed("one", s, 0.25, role="solution") for s in (0.1, 0.24))
    record = session(*runs, *3 * [placed("one", 0.1, 0.3), disturbed])
    found = judged(lab, record)["balanced"]
    assert (found.status, found.cause) == ("not_gradable", "solution_misses_it")
    record = session(*runs, *3 * [placed("one", 0.1, 0.3)], disturbed, even, even)
    assert judged(lab, record)["balanced"].status == "fail"


def test_spinning_is_no_work(lab: Lab) -> None:
    """The look is even, and the team takes far more than one thread does."""
    alike = placed("one", 0.1, 0.1, role="solution", over=1.02)
    runs = [SPINNING, alike] * 3
    record_of(session(*runs))
    found = looked_at(lab, *runs)
    assert found.value == pytest.approx(0.59 / 0.6 / (1.5 / 1.02))
    check_verdict(found, "fail", "busy_waiting")
    for over, status in ((1.19, "pass"), (1.21, "fail")):  # a chunk costs something, too
        assert looked_at(lab, *3 * [placed("one", 0.3, 0.3, over=over)]).status == status
    # Threads that wait for a core spin less, and are uneven: no look of these is for the kernel.
    kept = placed("one", 0.2, 0.3, waiting_s=(0.1, 0.0), over=1.3)
    assert looked_at(lab, SPINNING, kept, kept).cause == "busy_waiting"
    # What is left is enough, had others not taken the rest: rows that are dealt out one by one.
    rows = placed("one", 0.25, 0.3, waiting_s=(0.05, 0.0), over=1.15)
    assert looked_at(lab, *3 * [rows]).status == "inconclusive"
    assert looked_at(lab, *3 * [placed("one", 0.25, 0.3, over=1.15)]).cause == "busy_waiting"
    mixed = looked_at(lab, UNEVEN, SPINNING, UNEVEN)
    assert (mixed.status, mixed.cause) == ("fail", "missed")


def test_a_node_whose_teams_are_slower_than_one_thread_says_so_by_the_solution(lab: Lab) -> None:
    """Turbo, or two threads per core: CPU time of a team is longer for everybody."""
    team = placed("one", 0.3, 0.3, over=1.4)
    alike = placed("one", 0.3, 0.3, role="solution", over=1.38)
    assert looked_at(lab, *3 * [team]).status == "fail"
    assert looked_at(lab, team, alike, team).status == "pass"
    spins = placed("one", 0.29, 0.3, over=1.4 * 1.5)
    assert looked_at(lab, *3 * [spins, alike]).cause == "busy_waiting"
    # One thread that is slower than a team is nobody's merit.
    slow = placed("one", 0.3, 0.3, role="solution", over=0.8)
    assert looked_at(lab, *2 * [placed("one", 0.3, 0.3, over=1.1), slow]).status == "pass"


def test_the_solution_is_looked_at_in_turns(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "placement"]
    for looks, says in (
        ([EVEN], None),
        ([DISTURBED], None),
        ([UNEVEN], "uneven"),
        ([UNEVEN, EVEN], None),
        ([EVEN, SPINNING], "spins"),
    ):
        evidence = parse(session(*runs, *looks))
        assert planner.last_objection(lab, evidence, "one") == says
        assert planner.last_objection(lab, evidence, "two") is None
        assert planner.compares_single_thread(lab, evidence, "one")
        assert not planner.compares_single_thread(lab, evidence, "two")
        # What is looked at in turns is not looked at again when all is over.
        assert not planner.needs_control(lab, evidence, "one")


def test_a_kernel_that_does_not_work_with_one_thread_is_told_so(lab: Lab) -> None:
    hanging = {"status": "timed_out", "doing": "one", "n": 7, "limit_s": 10.0, "printed_bytes": 0}
    look = EVEN | {"one_thread": EVEN["one_thread"] | {"computes": 0, "outcome": hanging}}
    found = looked_at(lab, look, look)
    check_verdict(found, "fail", "timed_out")
    whole = judged(lab, session(*[r for r in right() if r["kind"] != "placement"], look, look))
    assert whole["correct"].status == whole["one_speedup"].status == "pass"


def test_a_look_without_one_thread_leaves_it_open(lab: Lab) -> None:
    """Kept records of earlier versions; a virtual node has no CPU time to compare."""
    before = {key: value for key, value in EVEN.items() if key != "one_thread"}
    found = looked_at(lab, before, before)
    assert (found.status, found.cause) == ("inconclusive", "not_measured")
    uneven = {key: value for key, value in UNEVEN.items() if key != "one_thread"}
    assert looked_at(lab, *3 * [uneven]).status == "fail"
    there = session(*right(), machine=invented.MACHINE)
    there["runs"] = [before if run == EVEN else run for run in there["runs"]]
    assert judged(lab, there)["balanced"].status == "pass"
    assert not planner.compares_single_thread(lab, parse(there), "one")


def test_a_thread_beyond_the_team_counts_where_it_works(lab: Lab) -> None:
    """Else three that share badly look like two that share well."""
    three = placed("one", 0.1, 0.3, 0.2, waiting_s=(0.0,) * 3, stolen_s=(0.0,) * 3)
    assert looked_at(lab, *3 * [three]).value == pytest.approx(2 / 3)
    idle = placed("one", 0.3, 0.3, 0.01, waiting_s=(0.0,) * 3, stolen_s=(0.0,) * 3)
    assert looked_at(lab, *2 * [idle]).status == "pass"


def test_threads_that_have_ended_count_as_one(lab: Lab) -> None:
    """Else a team that does nothing evenly, and has its work done by threads that end before
    anybody looks, is even."""
    hidden = placed("one", 0.1, 0.1)
    hidden["one_thread"] = invented.one_thread(0.6)
    found = looked_at(lab, *3 * [hidden])
    assert found.value == pytest.approx((0.1 + 0.1 + 0.4) / 3 / 0.4)
    check_verdict(found, "fail", "missed")
    some = placed("one", 0.1, 0.1)
    some["one_thread"] = invented.one_thread(0.25)
    assert looked_at(lab, *3 * [some]).value == pytest.approx(0.25 / 3 / 0.1)
    by_the_clock = placed("one", 0.1, 0.1)
    by_the_clock["one_thread"] = invented.one_thread(0.208)
    assert looked_at(lab, *2 * [by_the_clock]).status == "pass"


# ---- data races --------------------------------------------------------------------


def test_a_race_fails_and_names_its_lines(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "race"]
    ended = {"status": "exited", "exit_code": 66, "doing": "one", "n": 100, "printed_bytes": 9,
             "printed": "WARNING: "}  # fmt: skip
    found = race("one", outcome=ended, race={"accesses": ["kernel.c:7", "kernel.c:9"]})
    verdict = judged(lab, session(*runs, found, race("two")))
    check_verdict(verdict["race_free"], "fail", "data_race")
    one = race("one", outcome=ended, race={"accesses": ["kernel.c:7", "kernel.c:7"]})
    check_verdict(judged(lab, session(*runs, one, race("two")))["race_free"], "fail", "data_race")
    nowhere = race("one", outcome=ended, race={"accesses": []})
    assert "variable" not in judged(lab, session(*runs, nowhere, race("two")))["race_free"].why
    # It is a program of its own that was ended: nothing else suffers.
    assert verdict["correct"].status == verdict["one_speedup"].status == "pass"


def test_a_race_check_that_broke_down_is_ours(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "race"]
    ended = {"status": "exited", "exit_code": 66, "doing": "one", "n": 100, "printed_bytes": 9,
             "printed": "FATAL: ThreadSanitizer: unexpected memory mapping"}  # fmt: skip
    found = judged(lab, session(*runs, race("one", outcome=ended), race("two")))["race_free"]
    check_verdict(found, "error", "kit")


def test_a_search_that_only_the_kernel_breaks_fails_it(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "race"]
    crashed = {"status": "crashed", "signal": "SIGABRT", "doing": "one", "n": 100,
               "printed_bytes": 0, "printed": ""}  # fmt: skip
    other = race("two", searched=True)
    control = race("one", role="solution", searched=True)
    record = session(*runs, race("one", outcome=crashed, searched=None), other, control)
    record_of(record)
    found = judged(lab, record)["race_free"]
    assert "SIGABRT" in found.why
    check_verdict(found, "fail", "crashed")
    # Of a part that the solution was not searched for, nobody knows.
    elsewhere = race("two", role="solution", searched=True)
    found = judged(lab, session(*runs, race("one", outcome=crashed), other, elsewhere))["race_free"]
    assert found.status == "error"


def test_a_search_that_is_switched_off_finds_not_even_the_kits_own_race(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "race"]
    silent, other = race("one", searched=False), race("two", searched=True)
    control = race("one", role="solution", searched=True)
    found = judged(lab, session(*runs, silent, other, control))["race_free"]
    check_verdict(found, "fail", "disturbed_monitor")
    blind = race("one", role="solution", searched=False)
    for controls in ([], [blind]):
        found = judged(lab, session(*runs, silent, other, *controls))["race_free"]
        assert (found.status, found.cause) == ("error", "kit")
    # A search may miss it by itself.
    record = session(*runs, silent, other)
    assert planner.needs_another_race_search(parse(record), "one")
    again = session(*runs, silent, race("one", searched=True), other)
    assert judged(lab, again)["race_free"].status == "pass"
    for enough in (again, session(*runs, *3 * [silent], other), session(*runs, other)):
        assert not planner.needs_another_race_search(parse(enough), "one")
    # Before there was such a race nobody could tell.
    assert judged(lab, session(*runs, race("one"), other))["race_free"].status == "pass"


def test_without_clang_races_are_not_graded(lab: Lab) -> None:
    runs = [run for run in right() if run["kind"] != "race"]
    found = judged(lab, session(*runs, race_error="There is no clang."))["race_free"]
    check_verdict(found, "not_gradable", "not_visible_here")
    # What was found in one kernel is not undone by what can't be tried of another.
    found = judged(lab, session(*right(), race_error="It can't be built."))["race_free"]
    assert found.status == "not_gradable"
    raced = [run for run in right() if run["kind"] != "race"]
    raced.append(next(run for run in right() if run["kind"] == "race") | {
        "race": {"accesses": ["kernel.c:3"]}, "searched": None,
        "outcome": {"status": "exited", "exit_code": 66, "printed_bytes": 0},
    })  # fmt: skip
    found = judged(lab, session(*raced, race_error="It can't be built."))["race_free"]
    assert (found.status, found.cause) == ("fail", "data_race")


def test_a_sanitizer_that_the_machine_does_not_bear_is_nobodys_race() -> None:
    """Its own error with the kit's own kernel tells, not that with the student's."""
    ended = {
        "status": "exited", "exit_code": 66, "doing": "prepare the evidence", "n": 100,
        "printed_bytes": 60,
        "printed": "==7==ERROR: ThreadSanitizer setrlimit() failed 22\n==7==bye\n",
    }  # fmt: skip
    own = race("one", role="solution", outcome=ended, searched=None)
    theirs = race("one", outcome=ended, searched=None)
    found = sanitizers_own_error(parse(session(*right(), theirs, own)))
    check_text(found)
    well = race("one", role="solution", searched=True)
    assert sanitizers_own_error(parse(session(*right(), theirs, well))) == ""


def test_who_keeps_a_kernel_from_being_looked_at_earns_nothing(lab: Lab) -> None:
    """It could do so on purpose, and the point would not count among those to be earned."""
    runs = [run for run in right() if run["kind"] != "race"]
    record = session(*runs) | {"race_refused": "It does not compile with clang."}
    record_of(record)
    found = judged(lab, record)["race_free"]
    check_verdict(found, "fail", "not_built")


# ---- memory ------------------------------------------------------------------------

MEMORY_LAB = """
title = "Tables"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["table_create"]

[[criterion]]
name = "huge_pages"
kind = "evidence"
points = 1
at_least = 0.9
needs_huge_page_mode = ["madvise"]

[[criterion]]
name = "no_waste"
kind = "evidence"
points = 1
at_most = 1.1

[[criterion]]
name = "released"
kind = "evidence"
points = 1
at_most = 0.01
"""


def table(mib: int, **more: int) -> Json:
    size, base = mib * MIB, 10 * MIB
    return {"n": size // 8, "bytes": size, "huge_bytes": size, "create_s": 0.0,
            "initialize_s": 0.1, "compute_s": 0.1, "initialize_page_faults": mib // 2,
            "resident_before_bytes": base, "resident_during_bytes": base + size,
            "resident_after_bytes": base, "address_space_before_bytes": 9 * base,
            "address_space_after_bytes": 9 * base} | more  # fmt: skip


def seen(offset_bytes: int, advised_mib: int, written_mib: int = 0) -> Json:
    """Of a table that got no huge page: what tells why."""
    return {"huge_bytes": 0, "page_offset_bytes": offset_bytes, "advised_bytes": advised_mib * MIB,
            "resident_created_bytes": (10 + written_mib) * MIB}  # fmt: skip


def memory(small: Json, large: Json, role: str = "submission", **more: Any) -> Json:
    return {"kind": "memory", "lab": "x", "part": None, "team": 2, "role": role,
            "huge_pages_allowed": True, "results": invented.RIGHT, "tables": [small, large],
            "outcome": invented.OK} | more  # fmt: skip


@pytest.mark.parametrize(
    ("small", "large", "fails"),
    [
        ({}, {}, ""),
        ({"huge_bytes": 6 * MIB}, {"huge_bytes": 254 * MIB}, "huge_pages"),
        ({}, {"huge_bytes": 128 * MIB}, "huge_pages"),
        ({"huge_bytes": 0}, {"huge_bytes": 0}, "huge_pages"),
        (seen(16, 0), {}, "huge_pages"),
        (seen(0, 0), {}, "huge_pages"),
        (
            {"huge_bytes": 4 * MIB, "advised_bytes": 4 * MIB},
            {},
            "huge_pages",
        ),
        (
            {},
            {"huge_bytes": 128 * MIB, "advised_bytes": 128 * MIB},
            "huge_pages",
        ),
        (seen(0, 8, 8), {}, "huge_pages"),
        (seen(0, 8), {}, "huge_pages"),
        ({}, {"resident_during_bytes": 522 * MIB}, "no_waste"),
        ({}, {"resident_after_bytes": 266 * MIB}, "released"),
        (
            {},
            {"address_space_after_bytes": 98 * MIB},
            "released",
        ),
        (
            {},
            {"address_space_after_bytes": 98 * MIB, "resident_after_bytes": 11 * MIB},
            "released",
        ),
        # An empty table_destroy, of a table that was given room to begin at 2 MiB.
        (
            {},
            {"resident_after_bytes": 266 * MIB, "address_space_after_bytes": 348 * MIB},
            "released",
        ),
        ({}, {"resident_after_bytes": 11 * MIB}, ""),
    ],
)
def test_memory(tmp_path: Path, small: Json, large: Json, fails: str) -> None:
    lab = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    record = session(memory(table(8, **small), table(256, **large)))
    record["node"]["huge_page_mode"] = "madvise"
    record_of(record)
    found = judged(lab, record)
    assert [name for name, c in found.items() if c.status == "fail"] == ([fails] if fails else [])
    if fails:
        check_verdict(found[fails], "fail", "missed")


@pytest.mark.parametrize(
    "mode",
    ["always", "never", None],
)
def test_huge_pages_are_graded_where_they_have_to_be_asked_for(
    tmp_path: Path, mode: str | None
) -> None:
    lab = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    record = session(memory(table(8), table(256)))
    record["node"]["huge_page_mode"] = mode
    found = judged(lab, record)["huge_pages"]
    check_verdict(found, "not_gradable", "huge_page_mode")


@pytest.mark.parametrize(
    ("huge_bytes", "status"), [(256 * MIB, "pass"), (0, "fail")], ids=["asked", "not_asked"]
)
def test_under_always_huge_pages_are_graded_where_a_process_can_be_left_those_it_asks_for(
    tmp_path: Path, huge_bytes: int, status: str
) -> None:
    lab = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    record = session(memory(table(8), table(256, huge_bytes=huge_bytes)))
    record["node"] |= {"huge_page_mode": "always", "worker_huge_page_mode": "madvise"}
    record_of(record)
    assert judged(lab, record)["huge_pages"].status == status
    record["node"]["worker_huge_page_mode"] = "always"  # Linux before 6.18
    assert judged(lab, record)["huge_pages"].status == "not_gradable"


@pytest.mark.parametrize("slow_s", [0.11, 0.3])
def test_noisy_times_of_a_table_are_marked(slow_s: float) -> None:
    times = [{"handout": slow_s if g % 2 else 0.1, "submission": 0.1} for g in range(8)]
    seen_table = parse(session(memory(table(8), table(256)))).runs_of(MEMORY)[0].tables[0]
    evidence = parse(invented.evidence(invented.ONE_NODE, times=times))
    told = memory_caption(
        evidence, [MemoryColumn("yours", structs.replace(seen_table, bytes=9), None)]
    )
    check_text(told)


def test_a_hoard_hides_no_table(tmp_path: Path) -> None:
    """Memory that was taken before the last table is made and given back in its place. What the
    solution's process comes to hold by then, a team's stacks, is anybody's."""
    lab = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    solution = memory(
        table(8), table(256, resident_before_bytes=40 * MIB, resident_after_bytes=40 * MIB),
        "solution",
    )  # fmt: skip

    def released(before_mib: int) -> CriterionVerdict:
        held = before_mib * MIB
        own = memory(
            table(8), table(256, resident_before_bytes=held, resident_after_bytes=held)
        )  # fmt: skip
        return judged(lab, session(own, solution))["released"]

    assert released(60).status == "pass"
    assert released(168).status == "pass"
    found = released(280)
    check_verdict(found, "fail", "missed")


def test_fragmented_memory_is_no_fault(tmp_path: Path) -> None:
    lab = lab_of(tmp_path / "21_tables", MEMORY_LAB)
    few = memory(table(8), table(256, huge_bytes=100 * MIB))
    record = session(few)
    record["node"]["huge_page_mode"] = "madvise"
    assert planner.needs_control(lab, parse(record), None)
    record["runs"].append(few | {"role": "solution"})
    assert judged(lab, record)["huge_pages"].status == "not_gradable"
    assert judged(lab, record)["released"].status == "pass"


# ---- placement files and locate ------------------------------------------------------

AFFINITY_LAB = """
title = "Affinity"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["locate"]
machines = ["hydra", "nebula"]

[timed_placements]
file = "spread.env"

[[criterion]]
name = "located"
kind = "evidence"
points = 1
at_most = 0

[[criterion]]
name = "spread"
rule = "binding"
kind = "evidence"
points = 1
at_most = 0
file = "spread.env"
goal = "spread"
variables = ["OMP_PLACES"]
runtimes = ["libomp", "libgomp"]
on_machines = true

[[criterion]]
name = "close"
rule = "binding"
kind = "evidence"
points = 1
at_most = 0
file = "close.env"
goal = "close"
variables = ["OMP_PLACES"]
runtimes = ["libomp"]
"""


def binding(file: str, runtime: str, *pus: int, role: str = "submission", **more: Any) -> Json:
    threads = [
        {"thread": t, "allowed_pus": [pu], "last_pu": pu, "core": pu, "package": -1,
         "numa_node": -1}
        for t, pu in enumerate(pus)
    ]  # fmt: skip
    return {"kind": "binding", "lab": "x", "part": None, "team": len(pus), "role": role,
            "file": file, "runtime": runtime, "threads": threads,
            "outcome": invented.OK} | more  # fmt: skip


def handed_in(*runs: Json, complaint: str | None = None) -> Json:
    return invented.evidence(TWO) | {
        "runs": list(runs),
        "handed_in": [
            {"file": "spread.env", "complaint": complaint, "variables": {"OMP_PLACES": "cores"}},
            {"file": "close.env", "complaint": None, "variables": {}},
        ],
    }


@pytest.fixture
def affinity(tmp_path: Path) -> Lab:
    return lab_of(tmp_path / "22_affinity", AFFINITY_LAB)


def test_a_file_has_to_hold_under_each_runtime(affinity: Lab) -> None:
    good, bad = binding("spread.env", "libomp", 0, 1), binding("spread.env", "libgomp", 0, 4)
    close = binding("close.env", "libomp", 0, 2, 4, 6)
    record = handed_in(good, bad, close)
    record_of(record)
    found = judged(affinity, record)
    assert found["close"].status == "pass"
    assert found["spread"].value == 1
    check_verdict(found["spread"], "fail", "missed")
    alike = handed_in(bad, bad | {"runtime": "libomp"}, close)
    check_verdict(judged(affinity, alike)["spread"], "fail", "missed")
    other = handed_in(bad, binding("spread.env", "libomp", 1, 3), close)
    check_verdict(judged(affinity, other)["spread"], "fail", "missed")
    right = handed_in(good, binding("spread.env", "libgomp", 0, 1), close)
    assert judged(affinity, right)["spread"].status == "pass"


def test_a_goal_that_any_placement_reaches_is_not_judged(affinity: Lab) -> None:
    """On one package whose NUMA nodes have no room for the team."""
    record = handed_in(binding("close.env", "libomp", 0, 2, 4, 6))
    for pu in record["node"]["pu_list"]:
        pu |= {"package": 0, "numa_node": pu["pu"] % 4}
    found = judged(affinity, record)["close"]
    check_verdict(found, "not_gradable", "no_effect_here")


def test_a_file_that_sets_nothing_is_told_so(affinity: Lab) -> None:
    apart = binding("close.env", "libomp", 0, 1, 4, 5)
    check_verdict(judged(affinity, handed_in(apart))["close"], "fail", "missed")
    record = handed_in(apart)
    record["handed_in"][1]["variables"] = {"OMP_PLACES": "cores"}
    check_verdict(judged(affinity, record)["close"], "fail", "missed")


def test_libomp_is_not_judged_where_the_machine_announces_less_than_the_virtual_node(
    affinity: Lab,
) -> None:
    """What libomp does there it would not do on the machine; libgomp is judged as everywhere."""
    libgomp = binding("spread.env", "libgomp", 0, 1)
    machine = {
        "name": "nebula", "source": "x", "accelerator": "tcg", "guest_kernel": "6.1",
        "cores_per_numa_node": 2, "cores_per_numa_node_of_machine": 8,
        "numa_node_memory_bytes": 1, "announces_cores": False,
    }  # fmt: skip
    record = handed_in(libgomp) | {"machine": machine}
    record_of(record)
    found = judged(affinity, record)
    assert found["spread"].status == "pass"
    check_verdict(found["close"], "not_gradable", "not_visible_here")
    wrong = handed_in(binding("spread.env", "libgomp", 0, 4)) | {"machine": machine}
    check_verdict(judged(affinity, wrong)["spread"], "fail", "missed")
    # A record of before, or of a machine that announces its cores: it was not looked at.
    older = {key: value for key, value in machine.items() if key != "announces_cores"}
    for other in (older, machine | {"announces_cores": True}):
        record = handed_in(libgomp) | {"machine": other}
        record_of(record)
        assert judged(affinity, record)["close"].status == "inconclusive"


def test_a_file_that_can_not_be_used_says_why(affinity: Lab) -> None:
    found = judged(affinity, handed_in(complaint="spread.env, line 1: no."))["spread"]
    check_verdict(found, "fail", "bad_file")


def test_what_the_runtime_says_of_a_bad_value_is_passed_on(affinity: Lab) -> None:
    said = {"status": "ok", "printed_bytes": 50, "printed": "OMP: Warning #42: bad value\n"}
    found = judged(affinity, handed_in(binding("spread.env", "libomp", 0, 2, outcome=said)))
    assert found["spread"].status == "fail"
    assert found["spread"].warnings == (Warned("libomp", "OMP: Warning #42: bad value"),)


def test_what_a_runtime_says_is_passed_on_where_the_goal_is_reached_even_so(affinity: Lab) -> None:
    outcomes = [
        {"status": "ok", "printed_bytes": 50, "printed": text}
        for text in (
            "OMP: Warning #250: OMP_PLACES: syntax error, using cores.\n",
            "\nlibgomp: Invalid value for environment variable OMP_PLACES\n",
        )
    ]
    runs = [
        binding("spread.env", runtime, 0, 1, outcome=outcome)
        for runtime, outcome in zip(("libomp", "libgomp"), outcomes, strict=True)
    ]
    found = judged(affinity, handed_in(*runs))["spread"]
    assert found.status == "pass"
    check_text(warning_words(found.warnings))
    silent = handed_in(binding("spread.env", "libomp", 0, 1), binding("close.env", "libomp", 0, 2))
    assert judged(affinity, silent)["spread"].warnings == ()


def test_a_placement_that_the_solution_misses_is_not_graded(affinity: Lab) -> None:
    record = handed_in(binding("spread.env", "libomp", 0, 2), binding("close.env", "libomp", 0, 2))
    assert planner.files_to_compare(affinity, parse(record)) == ("spread.env",)
    record["runs"].append(binding("spread.env", "libomp", 0, 2, role="solution"))
    assert judged(affinity, record)["spread"].cause == "solution_misses_it"
    assert planner.files_to_compare(affinity, parse(record)) == ()


def test_placements_are_judged_whatever_the_kernel_is_like(affinity: Lab) -> None:
    record = handed_in(binding("spread.env", "libomp", 0, 1))
    record["build"]["kernel"]["status"] = "does_not_compile"
    found = judged(affinity, record)
    assert (found["spread"].status, found["located"].status) == ("pass", "fail")


def located(*told: tuple[int, int, int, int]) -> Evidence:
    entries = [
        {
            "thread": t,
            "pu": pu,
            "numa_node": node,
            "reported_pu": told_pu,
            "reported_numa_node": told_node,
        }
        for t, (pu, node, told_pu, told_node) in enumerate(told)
    ]
    run = {"kind": "locate", "lab": "x", "part": None, "team": 2, "role": "submission",
           "seed": "0", "rounds": [entries], "outcome": invented.OK}  # fmt: skip
    return parse(handed_in(run))


def test_locate_is_held_against_where_threads_are(affinity: Lab) -> None:
    def verdict(*told: tuple[int, int, int, int]) -> CriterionVerdict:
        return of(judge(affinity, located(*told)))["located"]

    assert verdict((0, 0, 0, 0), (3, 1, 3, 1)).status == "pass"
    wrong = verdict((0, 0, 0, 0), (3, 1, 1, 1))
    assert (wrong.status, wrong.value) == ("fail", 1)
    check_verdict(wrong, "fail", "missed")
    check_verdict(verdict((3, 1, 3, 0)), "fail", "missed")
    assert verdict().status == "fail"


def test_locate_is_asked_where_threads_may_move_too(affinity: Lab) -> None:
    record = handed_in(
        {"kind": "locate", "lab": "x", "part": None, "team": 2, "role": "submission", "seed": "0",
         "rounds": [
             [{"thread": 1, "pu": 3, "numa_node": 1, "reported_pu": 3, "reported_numa_node": 1}]],
         "free_rounds": [
             [{"thread": 1, "pu": 3, "numa_node": 1, "reported_pu": 2, "reported_numa_node": 1}], []
         ],
         "outcome": invented.OK}
    )  # fmt: skip
    record_of(record)
    found = of(judge(affinity, parse(record)))["located"]
    assert (found.status, found.value) == ("fail", 1)
    check_verdict(found, "fail", "missed")
    record["runs"][-1]["rounds"] = []  # what the worker itself tells is not enough to pass
    record["runs"][-1]["free_rounds"][0][0]["reported_pu"] = 3
    assert of(judge(affinity, parse(record)))["located"].status == "fail"


def test_no_numa_node_is_told_in_the_words_of_the_language(affinity: Lab) -> None:
    told = located((3, 1, 3, -1))
    check_verdict(of(judge(affinity, told))["located"], "fail", "missed")
    check_verdict(
        of(judge(affinity, replace(told, language="fortran")))["located"], "fail", "missed"
    )
