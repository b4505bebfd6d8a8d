"""Forecasts of how long the judge of times takes: against published values, and against the
judge's own rule."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support import invented
from support.commands import numalab_command
from support.invented import ONE_NODE
from support.node_trees import NODE
from support.run_values import form_of

from numalab.doctor import noise_run
from numalab.doctor.noise import (
    chance_of_win,
    course,
    difference,
    effect_margins,
    forecast,
    margins,
    most_within,
    student_t,
)
from numalab.doctor.noise_report import (
    differ_in_words,
    forecast_in_words,
    noise_json,
    seconds_in_words,
    share_words,
    show_noise,
)
from numalab.doctor.noise_run import Noise, TimedTogether, measure_noise
from numalab.errors import Interrupted, NumalabError
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence, TimedRound
from numalab.evidence.run_formats import TimedRole
from numalab.grading.request import Listener, build_own_programs
from numalab.grading.timing import solution_grading
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.planner import Timed
from numalab.judging.sequential import CAREFUL, Thresholds, decide
from numalab.labs.declaration import Lab

OK = form_of(TimedRole, {"role": "any", "initialize_s": 0.5})
ALWAYS, NEVER = [(0.2, 0.2), (0.2, 0.2)], [(-0.2, -0.2), (-0.2, -0.2)]
STEADY = forecast([(0.2, 0.21), (0.2, 0.19)], None, CAREFUL, 60)


def generation(solution: float, control: float, handout: float | None = None) -> TimedRound:
    """Three repetitions of each, the best as given."""
    best = {"solution": solution, "control": control}
    if handout is not None:
        best["handout"] = handout
    times = {role: (2 * s, s, 3 * s) for role, s in best.items()}
    return TimedRound(None, None, 1000, 8000, dict.fromkeys(best, OK), times)


# ---- probabilities ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "freedom", "probability"),
    [
        # Of the tables of Student's t: one-sided 95 %, 97.5 % and 99.5 %.
        (6.314, 1, 0.95), (2.920, 2, 0.95), (2.353, 3, 0.95), (2.015, 5, 0.95), (1.812, 10, 0.95),
        (4.303, 2, 0.975), (2.776, 4, 0.975), (2.042, 30, 0.975), (3.355, 8, 0.995),
        (0.0, 4, 0.5), (-2.353, 3, 0.05),
    ],
)  # fmt: skip
def test_students_t_is_that_of_the_tables(t: float, freedom: int, probability: float) -> None:
    assert student_t(t, freedom) == pytest.approx(probability, abs=1e-4)


def test_few_margins_are_trusted_less_than_many() -> None:
    few = [(0.1, 0.3), (0.3, 0.1), (0.2, 0.2)]
    assert 0.5 < chance_of_win(few) < chance_of_win(few * 10) < 1
    assert chance_of_win([(-a, -b) for a, b in few]) == pytest.approx(1 - chance_of_win(few))
    assert chance_of_win(ALWAYS) == 1
    assert chance_of_win(NEVER) == 0


def test_the_chance_is_that_of_students_t() -> None:
    """Mean 0.2, deviation sqrt(2 * 0.1^2 / 4) of margins with 2 degrees of freedom."""
    scale = math.sqrt(0.02 / 4) * math.sqrt(4 / 3)
    got = chance_of_win([(0.1, 0.3), (0.2, 0.2), (0.2, 0.2)])
    assert got == pytest.approx(student_t(0.2 / scale, 2))


def test_a_second_process_of_the_solution_never_fails_by_chance() -> None:
    """However far apart two processes of one program are, either is the slower as often."""
    found = forecast([margins(generation(1.0, 1.9), 0.8)] * 3, None, CAREFUL, 60)
    assert found.chance > 0.5
    assert found.share_failed < 0.01


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_the_course_is_that_of_the_judge(chance: float) -> None:
    """Against every possible sequence of 12 signs, judged by sequential.decide."""
    levels, most = Thresholds(e_to_pass=8.0, e_to_fail=20.0, interval=8.0), 12
    passed, failed = [0.0] * (most + 1), [0.0] * (most + 1)
    for signs in itertools.product((True, False), repeat=most):
        weight = math.prod(chance if sign else 1 - chance for sign in signs)
        found = decide(signs, levels)
        for count in range(found.signs, most + 1):
            passed[count] += weight * (found.reached == "above")
            failed[count] += weight * (found.reached == "below")
    got = course(chance, levels, most)
    assert got.passed == pytest.approx(passed)
    assert got.failed == pytest.approx(failed)


def test_signs_that_all_agree_take_eight_generations() -> None:
    sure = forecast(ALWAYS, None, CAREFUL, 60)
    assert sure.generations == 8
    assert (sure.share_passed, sure.share_open) == (1, 0)
    against = forecast(NEVER, None, CAREFUL, 60)
    assert against.generations == 11
    assert against.share_failed == 1


def test_a_coin_stays_open() -> None:
    coin = forecast([(-0.1, 0.1)] * 2, None, CAREFUL, 60)
    assert coin.chance == pytest.approx(0.5)
    assert coin.share_open > 0.95
    assert coin.generations > 55


def test_what_a_node_does_not_show_is_not_gradable() -> None:
    not_here = forecast(NEVER, NEVER, CAREFUL, 60)
    assert not_here.share_not_gradable == 1
    assert not_here.generations == 11
    shown = forecast(ALWAYS, ALWAYS, CAREFUL, 60)
    assert shown.generations == 8
    assert shown.share_passed == 1


def test_the_shares_of_all_ends_add_up() -> None:
    found = forecast([(0.3, -0.05), (0.1, 0.2)], [(0.2, -0.01), (0.1, 0.1)], CAREFUL, 20)
    shares = (
        found.share_passed, found.share_failed, found.share_not_gradable, found.share_open
    )  # fmt: skip
    assert sum(shares) == pytest.approx(1)
    assert 0 < found.share_open < 1


@pytest.mark.parametrize(
    ("replicate_s", "most"),
    [(1.0, 60), (4.0, 60), (6.0, 41), (20.0, 13), (60.0, 13), (100.0, 8), (1000.0, 1)],
)
def test_the_budget_ends_a_grading(replicate_s: float, most: int) -> None:
    """13 generations or more in 240 s, in three times as much where each takes long."""
    assert most_within(replicate_s, 13, 60, 240.0) == most


# ---- margins ---------------------------------------------------------------------------


def test_margins_are_those_of_the_claims() -> None:
    one = generation(solution=2.0, control=2.2, handout=8.0)
    assert margins(one, 0.8) == pytest.approx((math.log(2.5 / 2.2), math.log(2.75 / 2.0)))
    assert margins(one, None)[0] == pytest.approx(math.log(4.0 / 2.2))
    assert margins(one, None)[1] == pytest.approx(math.log(math.sqrt(8.0 * 2.2) / 2.0))
    assert effect_margins(one) == pytest.approx(
        (math.log(8.0 / 2.0 / 1.15), math.log(8.0 / 2.2 / 1.15))
    )
    assert difference(one) == difference(generation(2.2, 2.0)) == pytest.approx(0.1)


# ---- what is said ------------------------------------------------------------------------


def test_differences_in_words() -> None:
    differences = [k / 100 for k in range(21)]
    assert differ_in_words(differences) == ("10.0 % (median), and by more than 19.0 % in 1 of 20")
    assert differ_in_words([0.01, 0.02, 0.3]) == "2.0 % (median), and by 30.0 % at most"


def test_shares_and_seconds_in_words() -> None:
    shares = (0.99, 0.6, 1 / 3, 0.05, 0.001)
    assert [share_words(s) for s in shares] == [
        "nearly all", "6 of 10", "1 of 3", "1 of 20", "hardly any"
    ]  # fmt: skip
    assert [seconds_in_words(s) for s in (0.2, 8.7, 89, 240)] == [
        "about 1 s", "about 9 s", "about 89 s", "about 4 minutes"
    ]  # fmt: skip


def timed_here(
    installation: Installation, lab: Lab, name: str, *generations: TimedRound
) -> TimedTogether:
    effort = effort_for("default", False)
    session = solution_grading(installation, lab, "c", effort, NODE, lambda step: None)
    criterion = next(c for c in lab.criteria if c.name == name)
    seconds = [10.0] * len(generations)
    return TimedTogether(session, Timed(None), (criterion,), list(generations), seconds)


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, "good", "per verdict"),
        ({"share_open": 0.34}, "note", "would stay open in 1 of 3 gradings"),
        ({"share_open": 0.9}, "bad", "would stay open in 9 of 10 gradings"),
        ({"share_not_gradable": 1.0}, "note", "takes 1.05 times the solution's time here"),
    ],
)
def test_a_forecast_in_words(
    installation: Installation, first_touch: Lab, changes: dict[str, float], level: str, words: str
) -> None:
    timing = timed_here(installation, first_touch, "speedup", *[generation(1.0, 1.0, 1.05)] * 3)
    got = forecast_in_words(timing, replace(STEADY, **changes))
    assert got[0] == level
    assert words in got[1]


# ---- what is run ---------------------------------------------------------------------------


@pytest.fixture
def kit_without_building(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> Installation:
    monkeypatch.setattr(noise_run, "build_targets", lambda installation, targets: None)
    return installation


def evidence(*generations: TimedRound) -> Evidence:
    empty = parse(invented.evidence(ONE_NODE) | {"runs": []})
    return empty.having(TIMED_ROUND, generations)


def endless(first: Exception | None = None) -> Iterator[Evidence]:
    if first is not None:
        raise first
    for number in itertools.count():
        yield evidence(generation(1.0, 1.0 + 0.01 * (number % 3), handout=3.0))


def node_of(labs: dict[str, Lab], **changes: object) -> dict[str, object]:
    return NODE | ONE_NODE.describe() | changes


def test_each_timing_is_measured_at_least_three_times(
    kit_without_building: Installation, labs: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []

    def generations(session: noise_run.Grading, timed: Timed, roles: tuple[str, ...]):  # type: ignore[no-untyped-def]
        asked.append((session.lab.name, roles))
        return endless()

    monkeypatch.setattr(noise_run, "time_solution", generations)
    here = [labs["01_first_touch"], labs["03_scheduling"]]
    noise = measure_noise(kit_without_building, here, node_of(labs), lambda step: None, 0.0)
    assert [len(timing.replicates) for timing in noise.timings] == [3, 3, 3]
    pair = ("handout", "solution", "control")
    assert asked == [
        ("01_first_touch", ("solution", "control")), ("03_scheduling", pair),
        ("03_scheduling", pair),
    ]  # fmt: skip
    assert [(one.criterion.name, one.why.split(";")[0]) for one in noise.not_timed] == [
        ("speedup", "This machine has 1 NUMA node")
    ]

    stream = io.StringIO()
    show_noise(Console(file=stream, width=80), noise)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    shown = " ".join(stream.getvalue().split())
    assert "differ by 1.0 % (median), and by 2.0 % at most: 9 pairs" in shown
    assert "ok 01 efficiency about" in shown
    assert "Not among them: 01 speedup. This machine has 1 NUMA node" in shown

    written = json.loads(json.dumps(noise_json(noise)))
    assert written["pairs"] == 9
    by_name = {(c["lab"], c["criterion"]): c for c in written["criteria"]}
    assert by_name["01_first_touch", "efficiency"]["forecast"]["level"] == "good"
    assert len(by_name["03_scheduling", "pair_speedup"]["effect_margins"]) == 3
    assert by_name["01_first_touch", "speedup"]["forecast"] is None


def test_what_fails_is_told_and_the_rest_measured(
    kit_without_building: Installation, labs: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    def generations(session: noise_run.Grading, timed: Timed, roles: tuple[str, ...]):  # type: ignore[no-untyped-def]
        return endless(NumalabError("no record") if timed.part == "pair_energy" else None)

    monkeypatch.setattr(noise_run, "time_solution", generations)
    noise = measure_noise(
        kit_without_building, [labs["03_scheduling"]], node_of(labs), lambda step: None, 0.0
    )
    assert [timing.error for timing in noise.timings] == ["no record", None]
    assert len(noise.timings[1].replicates) == 3
    stream = io.StringIO()
    show_noise(Console(file=stream, width=80), noise)
    assert "n/a  03 pair_speedup   no record." in stream.getvalue()


def test_an_interrupt_keeps_what_was_measured(
    kit_without_building: Installation, labs: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    def generations(session: noise_run.Grading, timed: Timed, roles: tuple[str, ...]):  # type: ignore[no-untyped-def]
        yield evidence(generation(1.0, 1.0))
        raise Interrupted

    monkeypatch.setattr(noise_run, "time_solution", generations)
    noise = measure_noise(
        kit_without_building, [labs["01_first_touch"]], node_of(labs), lambda step: None, 0.0
    )
    assert noise.interrupted
    assert len(noise.timings[0].replicates) == 1
    stream = io.StringIO()
    show_noise(Console(file=stream, width=80), noise)
    assert "too few to tell: 1 comparison" in stream.getvalue()


def test_nothing_to_time_is_no_error(kit_without_building: Installation) -> None:
    noise = measure_noise(kit_without_building, [], NODE, lambda step: None, 1.0)
    assert noise == Noise((), (), noise.measured_s, False)
    stream = io.StringIO()
    show_noise(Console(file=stream, width=80), noise)
    assert "Nothing was measured." in stream.getvalue()
    assert noise_json(noise)["difference_median"] is None


@pytest.mark.builds
def test_the_kits_own_programs_are_timed(installation: Installation, first_touch: Lab) -> None:
    with installation.lock():
        build_own_programs(installation, [first_touch], True, Listener())
        node = describe_node(installation)
        noise = measure_noise(installation, [first_touch], node, lambda step: None, 0.0)
    assert not noise.interrupted
    for timing in noise.timings:
        assert timing.error is None
        assert len(timing.replicates) == 3
        assert all(set(one.elapsed_s) == set(timing.roles) for one in timing.replicates)
    criteria = {c.name for timing in noise.timings for c in timing.criteria}
    assert criteria | {one.criterion.name for one in noise.not_timed} == {"speedup", "efficiency"}
    assert "efficiency" in criteria


def test_nothing_is_timed_on_a_login_node(installation: Installation, tmp_path: Path) -> None:
    sinfo = tmp_path / "sinfo"
    sinfo.write_text("#!/bin/sh\n")
    sinfo.chmod(0o755)
    done = numalab_command(
        installation, "doctor", "--noise", PATH=f"{tmp_path}:{os.environ['PATH']}"
    )
    assert done.code == 2
    assert "login node" in done.said
    assert "./numalab doctor --noise" in done.said
