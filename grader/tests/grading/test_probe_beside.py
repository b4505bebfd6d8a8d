"""Which generations have a probe, and on what terms: at a place that answers without running
anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.run_values import kept_runs, recorded_runs

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import record_json, record_of
from numalab.evidence.record import CONTROL, PROBE, SOLUTION, SUBMISSION
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import take_times
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.planner import Timed, timing_is_decided
from numalab.labs.declaration import Criterion, Lab

ONE = invented.ONE_NODE


@dataclass
class Answers:
    """A place where the submission is now fast, now slow, so that nothing is decided early; asked:
    of each generation its words. fails: the probe never comes to its end."""

    fails: bool = False
    asked: list[list[str]] = field(default_factory=list)
    name = "here"
    slowness = 1.0
    monitor_options: Sequence[str] = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> monitor.Finished:
        words = list(command[2:])
        self.asked.append(words)
        times = dict.fromkeys(programs(words), 0.2)
        times[SUBMISSION] = 0.2 if len(self.asked) % 2 else 0.4
        record = invented.generation(ONE, times)
        for role in record["roles"]:
            if after(words, "--may-fail") == [role["role"]]:
                role["may_fail"] = True
            if role["role"] == PROBE and self.fails:
                role["outcome"] = {"status": "crashed", "signal": "SIGSEGV", "printed_bytes": 0}
        return monitor.Finished(0, json.dumps(record), "")


def after(words: Sequence[str], option: str) -> list[str]:
    return [value for word, value in pairwise(words) if word == option]


def programs(words: Sequence[str]) -> dict[str, str]:
    return dict(value.split("=", 1) for value in after(words, "--worker"))


@pytest.fixture(autouse=True)
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grading, "build_own", lambda self, *roles: None)
    monkeypatch.setattr(Grading, "continue_earlier", lambda self: None)


def timed(installation: Installation, lab: Lab, folder: Path, place: Any) -> Grading:
    node = ONE.describe()
    effort = replace(effort_for("quick", quick=True), max_replicates=9)
    session = Grading(
        installation, lab, "c", "submission", folder, effort, node, lambda step: None, place=place
    )
    session.record.runs = recorded_runs(invented.evidence(ONE)["runs"])
    take_times(session)
    return session


def test_it_is_in_the_least_generations_and_leaves_when_the_control_comes(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    place = Answers()
    session = timed(installation, first_touch, tmp_path, place)
    least = session.effort.min_replicates
    assert len(place.asked) > least
    for number, words in enumerate(place.asked):
        is_early = number < least
        started = programs(words)
        assert (PROBE in started) == is_early
        assert (CONTROL in started) == (not is_early)
        assert after(words, "--may-fail") == ([PROBE] if is_early else [])
        kits = {SOLUTION, PROBE if is_early else CONTROL}
        assert set(after(words, "--kits-kernel")) == kits
        if is_early:
            assert Path(started[PROBE]).name == "01_first_touch-probe"
        else:
            assert started[CONTROL] == started[SOLUTION]
    record_of(record_json(session.record))


def test_where_it_fails_as_many_generations_count(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    good, bad = Answers(), Answers(fails=True)
    beside = timed(installation, first_touch, tmp_path, good)
    without = timed(installation, first_touch, tmp_path, bad)
    assert len(good.asked) == len(bad.asked)
    assert beside.verdict() == without.verdict()
    assert all(generation.ok for generation in without.evidence.runs_of(TIMED_ROUND))
    assert not any(run.get("tried_again") for run in kept_runs(without))


def test_where_it_is_asked_for_it_is_needed_to_the_end(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    """And the control is its second process, since nobody asks for the solution."""

    def changed(criterion: Criterion) -> Criterion:
        if criterion.rule != "efficiency":
            return criterion
        return replace(criterion, at_least=None, at_least_of_lightspeed=0.8)

    criteria = tuple(changed(c) for c in first_touch.criteria if c.rule != "speedup")
    lab = replace(first_touch, criteria=criteria)
    place = Answers()
    session = timed(installation, lab, tmp_path, place)
    assert not timing_is_decided(lab, session.evidence, Timed(None))
    for words in place.asked:
        started = programs(words)
        assert {PROBE, SUBMISSION} <= set(started)
        assert SOLUTION not in started
        assert after(words, "--may-fail") == []
        assert started.get(CONTROL, started[PROBE]) == started[PROBE]
    assert CONTROL in programs(place.asked[-1])


def test_a_part_without_one_has_none(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    lab = replace(labs["01_first_touch"], lightspeed=())
    place = Answers()
    timed(installation, lab, tmp_path, place)
    assert all(PROBE not in programs(words) for words in place.asked)
