"""The benchmark of the judge: its rules, bounds and draws, on invented times."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from numalab.errors import UserError
from numalab.evidence.record import CONTROL, HANDOUT, Json

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import bounds
import judge_rates
import load
import other_rules
import repetitions
import series
import tables
import trials
import workload
from series import CANDIDATE, REFERENCE, ROLES, TimedRound
from trials import FAIL, PASS, UNDECIDED, Judging

BENCH = Path(load.__file__).parent


def generation(
    reference_s: float = 0.012, candidate_s: float = 0.010, repetitions: int = 10, **more: float
) -> TimedRound:
    """One without noise, whose warm-up takes ten times as long as a repetition."""
    elapsed = {
        role: (10 * time_s, *[time_s] * repetitions)
        for role, time_s in zip(ROLES, (reference_s, candidate_s, reference_s), strict=True)
    }
    return TimedRound(elapsed, elapsed, **{"start_s": 0.02, "own_s": 0.03, **more})


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_what_a_generation_spends_and_how_far_its_margin_is() -> None:
    """In the second of two rounds the second process of the solution is twice as fast."""
    taken = {"handout": (9.0, 4.0, 4.0), "solution": (9.0, 1.0, 1.0), "control": (9.0, 2.0, 1.0)}
    samples = [
        {"role": role, "repetition": number, "warm_up": number == 0, "cut": False,
         "order": 3 * number + place, "started_s": 5.0 + 30.0 * number + 10.0 * place,
         "elapsed_s": times[number]}
        for number in range(3)
        for place, (role, times) in enumerate(taken.items())
    ]  # fmt: skip
    found = repetitions.course_of({"spent_s": 100.0, "record": {"samples": samples}})
    assert (found.start_s, found.warm_up_s, found.repetitions) == (5.0, 30.0, 2)
    assert found.repetition_s == pytest.approx((86.0 - 35.0) / 2)
    assert found.outside_s == pytest.approx(100.0 - 13.0)
    by_role = {role: list(times[1:]) for role, times in taken.items()}
    assert repetitions.log_margin(by_role, 1) == pytest.approx(0.0)
    assert found.by_all == pytest.approx(math.log(2.0))
    del by_role["handout"]
    assert repetitions.log_margin(by_role, 2) == pytest.approx(0.0)


# ---- rules in use elsewhere -------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "reference", "candidate", "verdict"),
    [
        (other_rules.means, [1.0, 1.0, 1.6], [1.0, 1.0, 1.0], "pass"),
        (other_rules.medians, [1.0, 1.0, 1.6], [1.0, 1.0, 1.0], "fail"),
        (other_rules.minima, [1.3, 1.0, 1.6], [0.9, 2.0, 2.0], "pass"),
        (other_rules.minima, [1.3, 0.9, 1.6], [0.9, 2.0, 2.0], "fail"),
        (other_rules.gain_of_two_percent, [1.1], [0.99], "fail"),
        (other_rules.gain_of_two_percent, [1.1], [0.97], "pass"),
        (other_rules.median_of_pairs, [1.2, 2.4, 1.0], [1.0, 2.0, 1.0], "pass"),
        (other_rules.median_of_pairs, [1.2, 2.0, 1.0], [1.0, 2.0, 1.0], "fail"),
    ],
)
def test_rules(
    rule: other_rules.Rule, reference: list[float], candidate: list[float], verdict: str
) -> None:
    assert rule(reference, candidate) == verdict


def test_u_counts_are_those_of_all_orders() -> None:
    first, second = 3, 4
    found = [0] * (first * second + 1)
    for places in itertools.combinations(range(first + second), first):
        found[sum(place - i for i, place in enumerate(places))] += 1
    assert list(other_rules.u_counts(first, second)) == found


def test_u_test_p() -> None:
    assert other_rules.u_test_p([1, 2, 3], [4, 5, 6]) == pytest.approx(1 / 20)
    assert other_rules.u_test_p([4, 5, 6], [1, 2, 3]) == 1.0
    # A tie leaves it to the normal distribution: a pair of nine and a half one.
    assert other_rules.u_test_p([1, 2, 4], [3, 4, 5]) == pytest.approx(0.137617, abs=1e-5)


def test_the_normal_distribution_takes_over_smoothly(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(1)
    first = [generator.gauss(0, 1) for _ in range(20)]
    second = [generator.gauss(0.4, 1) for _ in range(20)]
    exact = other_rules.u_test_p(first, second)
    monkeypatch.setattr(other_rules, "MOST_EXACT", 0)
    assert other_rules.u_test_p(first, second) == pytest.approx(exact, abs=0.002)


def test_u_test_has_three_answers() -> None:
    low = [1.0 + 0.001 * i for i in range(9)]
    assert other_rules.u_test([1.2 * t for t in low], low) == "pass"
    assert other_rules.u_test(low, low) == "fail"
    assert other_rules.u_test([1.1 * t + 0.0005 for t in low], low) == "undecided"


# ---- bounds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "count", "bound"),
    [(0, 300, 1 - 0.05 ** (1 / 300)), (1, 10, 0.39416), (5, 100, 0.10225), (10, 10, 1.0)],
)
def test_upper_bound(found: int, count: int, bound: float) -> None:
    assert bounds.upper_bound(found, count) == pytest.approx(bound, abs=1e-5)


def test_upper_bound_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="3 found among 2"):
        bounds.upper_bound(3, 2)


# ---- the judge ---------------------------------------------------------------------


def speedup_generation(
    handout_s: float = 0.0144, submission_s: float = 0.0105, solution_s: float = 0.010
) -> TimedRound:
    """One without noise, which asks for 1.2 times the handout's speed unless told."""
    times = {
        HANDOUT: handout_s,
        REFERENCE: solution_s,
        CANDIDATE: submission_s,
        CONTROL: solution_s,
    }
    elapsed = {role: (time_s,) * 4 for role, time_s in times.items()}
    return TimedRound(elapsed, elapsed, start_s=0.02, own_s=0.03)


@pytest.mark.parametrize(
    ("reference_s", "quick", "verdict", "signs"),
    [
        (0.012, False, PASS, 8), (0.010, False, FAIL, 11), (0.011, False, FAIL, 11),
        (0.012, True, PASS, 5), (0.010, True, FAIL, 5),
    ],
)  # fmt: skip
def test_judge_without_noise(reference_s: float, quick: bool, verdict: int, signs: int) -> None:
    judging = Judging(repetitions=2, quick=quick)
    one = generation(reference_s, 0.010)
    found = trials.judge_trials([one], judging, 5, rng())
    assert found.verdicts.tolist() == [verdict] * 5
    assert found.generations == signs
    # Start and end of the monitor, two processes, their warm-ups and two repetitions each.
    each_s = 0.03 + 2 * 0.02 + 12 * (reference_s + 0.010)
    assert found.spent_s == pytest.approx([signs * each_s] * 5)


@pytest.mark.parametrize(
    ("one", "verdict", "signs"),
    [
        (speedup_generation(), PASS, 8),
        (speedup_generation(submission_s=0.0125), FAIL, 11),
        # As fast as a handout that shows no effect: not below it by the least effect's middle.
        (speedup_generation(handout_s=0.0101, submission_s=0.010), UNDECIDED, 11),
    ],
)
def test_a_speedup_has_a_gate(one: TimedRound, verdict: int, signs: int) -> None:
    found = trials.judge_trials([one], Judging(), 3, rng(), rule="speedup")
    assert found.verdicts.tolist() == [verdict] * 3
    assert found.generations == signs


def test_the_control_costs_once_it_joins() -> None:
    both = [generation(0.012), generation(0.010)]
    judging = Judging(repetitions=1, budget_s=1e9)
    found = trials.judge_trials(both, judging, 1, rng(), in_order=True)
    assert found.verdicts.tolist() == [UNDECIDED]
    slow_s, fast_s = (0.03 + 2 * 0.02 + 11 * (time_s + 0.010) for time_s in (0.012, 0.010))
    control_s = (60 - 11) * 0.02 + 11 * (24 * 0.012 + 25 * 0.010)
    assert found.spent_s[0] == pytest.approx(30 * slow_s + 30 * fast_s + control_s, rel=0.01)


def test_judge_ends_with_the_budget() -> None:
    both = [generation(0.012), generation(0.010)]
    judging = Judging(repetitions=1, budget_s=4.0)
    found = trials.judge_trials(both, judging, 4, rng(), in_order=True)
    assert found.verdicts.tolist() == [UNDECIDED] * 4
    assert all(found.spent_s >= 4.0) and all(found.spent_s < 4.6)
    assert (found.wrong(1.0), found.wrong(1.2), found.undecided) == (0, 0, 4)


def test_a_judge_who_is_not_steady_is_counted() -> None:
    """Of a speedup: an efficiency here asks for more than the control's speed."""
    unsteady = [speedup_generation(submission_s=time_s) for time_s in (0.004, 0.040)]
    found = trials.judge_trials(unsteady, Judging(budget_s=1e9), 20, rng(), rule="speedup")
    assert 10 < found.unstable <= found.failed


def test_wrong_depends_on_the_true_ratio() -> None:
    found = trials.Outcomes(np.array([PASS, PASS, FAIL, UNDECIDED], dtype=np.int8), np.ones(4), 1)
    assert (found.wrong(1.0), found.wrong(1.08), found.wrong(1.12)) == (2, 2, 1)
    assert found.wrong(1.1) == 3  # at the limit neither is deserved
    assert tables.wrong_is(series.Cell("quiet", 1.1, 5.0, 3)) == "passes or fails"


def test_times_are_the_statistic_that_is_asked_for() -> None:
    times = {REFERENCE: (9.0, 2.0, 1.0, 4.0), CANDIDATE: (1.0, 1.5, 1.5, 1.5)}
    one = TimedRound(times, times, 0.0, 0.0)
    assert trials.times_of(one, Judging(3, "min")) == {REFERENCE: 1.0, CANDIDATE: 1.5}
    assert trials.times_of(one, Judging(3, "median"))[REFERENCE] == 2.0
    assert trials.times_of(one, Judging(1, "first", warm_up=0))[REFERENCE] == 9.0
    with pytest.raises(UserError, match="4 repetitions are asked for, and 3 were"):
        trials.times_of(one, Judging(4, "min"))


def test_a_control_that_was_not_recorded_takes_what_its_twin_took() -> None:
    times = {REFERENCE: (0.1, 0.1), CANDIDATE: (0.2, 0.2)}
    one = TimedRound(times, times, 0.0, 0.0)
    assert trials.cost_s(one, Judging(1), ROLES) == pytest.approx(0.8)
    assert trials.cost_s(one, Judging(1), ROLES[:2]) == pytest.approx(0.6)
    found = trials.judge_trials([one], Judging(1), 2, rng())
    assert found.verdicts.tolist() == [FAIL] * 2


@pytest.mark.parametrize("ratio", judge_rates.RATIOS)
@pytest.mark.parametrize("rule", series.ROLES_OF_RULE)
def test_passes_make_the_ratio(rule: str, ratio: float) -> None:
    cell = series.Cell("quiet", ratio, 5.0, 3, rule)
    passes = workload.passes_of(cell, 3)
    assert tuple(passes) == series.ROLES_OF_RULE[rule]
    # A speedup's are rounded to whole passes, but for the limit.
    allowed = 0.011 if rule == "speedup" and ratio != 1.1 else 1e-12
    assert judge_rates.true_ratio(cell, 3) == pytest.approx(ratio, rel=allowed)
    assert (judge_rates.true_ratio(cell, 3) < 1.1 - 1e-9) == (ratio < 1.1)


# ---- other rules on a record ---------------------------------------------------------


def test_blocks_come_from_generations_that_follow() -> None:
    """The node gets slower from one generation to the next; pairs don't see it."""
    slower = [generation(0.012, 0.010), generation(0.120, 0.100)]
    faster = slower[::-1]
    rule = other_rules.OtherRule("mean", other_rules.means, 5)
    pairs = other_rules.OtherRule("pairs", other_rules.median_of_pairs, 5, is_paired=True)
    assert trials.apply_rule(rule, slower)[0] == PASS
    assert trials.apply_rule(rule, faster)[0] == FAIL
    assert trials.apply_rule(pairs, faster)[0] == PASS
    # A start, a warm-up and five repetitions of each side.
    assert trials.apply_rule(rule, slower)[1] == pytest.approx(2 * 0.02 + 15 * (0.010 + 0.120))
    assert trials.apply_rule(pairs, slower)[1] == pytest.approx(2 * 0.02 + 15 * (0.010 + 0.012))


def test_long_blocks_take_several_generations() -> None:
    rule = other_rules.OtherRule("mean", other_rules.means, 15)
    assert trials.generations_needed(rule, 10) == 4
    four = [generation(0.012, 0.010), generation(0.012, 0.010), generation(0.5), generation(0.5)]
    assert trials.apply_rule(rule, four) == (PASS, pytest.approx(4 * 0.02 + 35 * 0.510))
    with pytest.raises(UserError, match="takes 4 generations, and 3 were recorded"):
        trials.rule_trials(rule, four[:3], 10, rng())


def test_equal_time_fills_what_is_allowed() -> None:
    many = [generation(0.010, 0.010)] * 40
    rule = other_rules.OtherRule("mean", other_rules.means, 5)
    # 2 * (0.02 + 0.1 + r * 0.01) s for r repetitions of up to ten.
    assert trials.in_equal_time(rule, many, 0.3405).repetitions == 5
    assert trials.in_equal_time(rule, many, 0.0).repetitions == 1
    assert trials.in_equal_time(rule, many, 1e9).repetitions == 100


def test_comparison_has_all_rules_twice() -> None:
    cell = series.Cell("quiet", 1.2, 5.0, 10)
    replay = tables.Replay(Judging(), 50, seed=1, in_order=False)
    many = [generation()] * 40
    rows = tables.compare(cell, many, replay)
    assert len(rows) == 1 + 2 * len(other_rules.OTHER_RULES)
    assert all(row.wrong_share == 0.0 for row in rows)
    # Eight of 40 generations per verdict; two for two blocks; 15 pairs are two generations' worth.
    separate = {row.rule: row.separate for row in rows}
    assert separate["judge, careful"] == 5
    assert separate["mean, 5 each"] == separate["median of pairs, 15 pairs"] == 20
    lines = [*tables.heading(cell, many), *tables.comparison_lines(rows)]
    lines += tables.tuning_lines(tables.tune(cell, many, replay))
    assert max(map(len, lines)) <= 100


def test_each_cell_has_the_rules_that_know_its_programs() -> None:
    replay = tables.Replay(Judging(), 20, seed=1, in_order=False)
    of_speedup = series.Cell("quiet", 1.2, 5.0, 3, "speedup")
    found = tables.compare(of_speedup, [speedup_generation()] * 20, replay)
    assert [row.rule for row in found] == ["judge, careful"]
    assert tables.measured_ratio([speedup_generation()], "speedup") == pytest.approx(1.1 * 8 / 7)
    of_duet = series.Cell("quiet", 1.2, 5.0, 10, "duet")
    (row,) = tables.compare(of_duet, [generation()] * 20, replay)
    assert row.rule == "duet: median of pairs, 15 pairs" and row.passed_share == 1.0


# ---- files ---------------------------------------------------------------------------


def line(**more: object) -> Json:
    samples = [
        {"role": role, "order": order, "started_s": 0.3 + 0.1 * order, "elapsed_s": 0.04,
         "warm_up": order < 3, "repetition": order // 3}
        for order, role in enumerate([*ROLES, *ROLES[::-1]])
    ]  # fmt: skip
    return {
        "kind": "generation", "cell": "quiet", "ratio": 1.2, "rep_ms": 5.0, "repetitions": 1,
        "trial": None, "started_at_s": 100.0, "ended_at_s": 101.0, "load_1min": 0.0,
        "passes": {}, "record": {"samples": samples}, **more,
    }  # fmt: skip


def test_times_of_a_recorded_generation() -> None:
    found = series.generation_of(line())
    assert found.elapsed_s[REFERENCE] == (0.04, 0.04)
    assert found.slot_s[CONTROL] == pytest.approx((0.1, 0.1))
    assert found.slot_s[REFERENCE] == pytest.approx((0.1, 0.04))
    assert found.start_s == pytest.approx(0.1)
    assert found.own_s == pytest.approx(1.0 - 0.84)
    assert found.repetitions == 1


def test_a_line_that_was_cut_short_is_left_out_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "series.jsonl"
    whole = json.dumps(line())
    path.write_text(f"{whole}\n{whole[:40]}")
    assert [len(found) for found in series.read_cells([path]).values()] == [1]
    file = series.Appender(path)
    file.append(line(ratio=1.0))
    file.close()
    cells = series.read_cells([path])
    assert [(cell.ratio, len(found)) for cell, found in cells.items()] == [(1.0, 1), (1.2, 1)]
    file = series.Appender(path)
    file.append(line(rule="speedup"))
    file.close()
    rules = [cell.rule for cell in series.read_cells([path])]
    assert rules == ["efficiency", "efficiency", "speedup"]  # a file without rules is of the first


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "generation", "rule": "other"}\n',
        "no JSON\n",
        '{"kind": "generation"}\n',
        "[1]\n",
        "",
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other"
    path.write_text(text)
    with pytest.raises(UserError):
        series.read_cells([path])


# ---- load and kernel -------------------------------------------------------------------


def test_bursts_are_busy_for_their_share() -> None:
    some = list(itertools.islice(load.bursts(random.Random(1)), 100))
    for busy_s, idle_s in some:
        assert load.SHORTEST_S <= busy_s <= load.LONGEST_S
        assert busy_s / (busy_s + idle_s) == pytest.approx(0.6)
    assert max(some)[0] > 10 * min(some)[0]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_load_ends_with_a_parent_that_is_killed() -> None:
    program = (
        "import os, time, load, pathlib\n"
        "with load.competing_load('loaded'):\n"
        "    tasks = pathlib.Path(f'/proc/self/task/{os.getpid()}/children')\n"
        "    print(tasks.read_text(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(BENCH)}
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_running(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("passes", [1, 2, 3, 10, 12, 15])
def test_kernel_is_right_with_any_number_of_passes(
    kit_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    program = tmp_path / "kernel.so"
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-fopenmp",
         "-I", kit_root / "labs" / "01_first_touch", "-shared", "-fPIC", BENCH / "kernel.c",
         "-o", program],
        check=True,
    )  # fmt: skip
    monkeypatch.setenv("NUMALAB_BENCH_PASSES", str(passes))
    kernel = ctypes.CDLL(str(program))
    n = 1001
    a, b, c = (np.full(n, np.nan, dtype=np.float32) for _ in range(3))
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    kernel.initialize(ctypes.c_size_t(n), *arrays)
    c[:] = 3
    for _ in range(2):
        kernel.compute(ctypes.c_size_t(n), *arrays)
    assert (a == 6 * (np.arange(n) % 7)).all()
