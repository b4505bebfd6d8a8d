"""What a session does with a run that says nothing of the kernel: at a place that answers without
running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.run_values import kept_runs, recorded_runs

from numalab.errors import Interrupted, NumalabError
from numalab.evidence.kinds import CHECK, PLACEMENT, TIMED_ROUND
from numalab.evidence.read_record import record_json, record_of
from numalab.evidence.record import Json
from numalab.grading.collect_evidence import gather_evidence
from numalab.grading.kernel_grading import MOST_PAUSED_RUNS, Grading
from numalab.grading.timing import take_times, time_solution
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.planner import Timed
from numalab.labs.declaration import Lab

ONE = invented.ONE_NODE
OK: Json = {"status": "ok", "printed_bytes": 0}
PAUSED: Json = OK | {"paused_s": 0.5}
LATE: Json = OK | {
    "status": "timed_out", "doing": "compute", "n": 7, "limit_s": 5.0, "limit_of": "cpu_time"
}  # fmt: skip
DISTURBED: Json = OK | {"status": "bad_protocol", "doing": "compute", "n": 7}


@dataclass
class Answers:
    """A place whose runs end as they are told, and well once there is nothing more to tell.
    always: how they end then. Of a placement it is one thread, beside the team, that does."""

    ends: list[Json]
    always: Json = field(default_factory=lambda: OK)
    asked: list[str] = field(default_factory=list)
    name = "here"
    slowness = 1.0
    monitor_options: Sequence[str] = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> monitor.Finished:
        kind, *words = command[1:]
        self.asked.append(kind)
        end = self.ends.pop(0) if self.ends else self.always
        roles = [value.split("=")[0] for word, value in pairwise(words) if word == "--worker"]
        if kind == "generation":
            record = invented.generation(ONE, dict.fromkeys(roles, 0.2))
            for role in record["roles"]:
                role["outcome"] = end
        elif kind == "placement":
            one = invented.one_thread(0.2) | {"outcome": end}
            record = invented.evidence(ONE)["runs"][-1] | {"one_thread": one}
        else:
            record = invented.evidence(ONE)["runs"][0] | {"outcome": end}
        return monitor.Finished(0, json.dumps(record), "")


def session_at(
    installation: Installation, lab: Lab, tmp_path: Path, place: monitor.Place, told: list[str]
) -> Grading:
    return Grading(
        installation, lab, "c", "submission", tmp_path, effort_for("default", True), ONE.describe(),
        told.append, place=place,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "again", "is_well"),
    [
        ([], [], True),
        ([LATE], ["timed_out"], True),
        ([DISTURBED], ["bad_protocol"], True),
        ([LATE, LATE], ["timed_out"], False),
        ([DISTURBED, LATE], ["bad_protocol"], False),
        ([LATE | {"paused_s": 0.5}] * 3 + [LATE], ["paused"] * 3 + ["timed_out"], True),
        ([LATE, LATE | {"paused_s": 0.5}, LATE], ["timed_out", "paused"], False),
        ([PAUSED], [], True),
        ([OK | {"status": "crashed", "signal": "SIGFPE", "doing": "x", "n": 1}], [], False),
    ],
)
def test_what_is_done_again(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    ends: list[Json],
    again: list[str],
    is_well: bool,
) -> None:
    told: list[str] = []
    session = session_at(installation, first_touch, tmp_path, Answers(ends), told)
    assert session.run(CHECK, [], {}) == is_well
    runs = kept_runs(session)
    assert [run["tried_again"] for run in runs[:-1]] == again
    assert "tried_again" not in runs[-1]
    assert len(session.evidence.runs_of(CHECK)) == 1
    assert [words.startswith("once more, since") for words in told] == [True] * len(again)
    record_of(record_json(session.record))


def test_one_thread_beside_a_team_is_doubted_once_too(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    place = Answers([LATE, LATE])
    session = session_at(installation, first_touch, tmp_path, place, [])
    session.run(PLACEMENT, [], {})
    assert place.asked == ["placement"] * 2
    (look,) = session.evidence.runs_of(PLACEMENT)
    assert look.single_thread is not None
    assert look.single_thread.outcome.status == "timed_out"


def test_doubt_benefits_a_kernel_once(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    """In each kind of look: one that disturbs the talk whenever it is looked at badly would get
    another look each time."""
    place = Answers([DISTURBED, OK, OK, DISTURBED])
    session = session_at(installation, first_touch, tmp_path, place, [])
    assert [session.run(CHECK, [], {}) for _ in range(3)] == [True, True, False]
    place.ends[:] = [DISTURBED, OK]
    assert session.run(TIMED_ROUND, ["--worker", "submission=/x"], {})


def test_a_second_try_wins_no_generation(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    """One that disturbs the talk whenever it is slow would lose none. What the solution met does
    not count against the submission."""
    place = Answers([DISTURBED, OK, OK, LATE, OK])
    session = session_at(installation, first_touch, tmp_path, place, [])
    submission, solution = ["--worker", "submission=/x"], ["--worker", "solution=/x"]
    assert all(session.run(TIMED_ROUND, submission, {}) for _ in range(3))
    place.ends[:] = [LATE, OK]
    assert session.run(TIMED_ROUND, solution, {})
    tries = [run.is_retry for run in session.evidence.runs_of(TIMED_ROUND)]
    assert tries == [True, False, True, False]
    record_of(record_json(session.record))


def test_generations_lost_to_pauses_are_tried_for_nothing_twice(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    """One that stops the monitor whenever it is slow would lose none."""
    place = Answers([PAUSED, OK, PAUSED, OK, PAUSED, OK, PAUSED, PAUSED, OK, OK])
    session = session_at(installation, first_touch, tmp_path, place, [])
    submission = ["--worker", "submission=/x"]
    assert all(session.run(TIMED_ROUND, submission, {}) for _ in range(5))
    tries = [run.is_retry for run in session.evidence.runs_of(TIMED_ROUND)]
    assert tries == [False, False, True, True, False]


def test_a_node_that_pauses_in_each_run_is_not_waited_for(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    """Neither kernel is failed, nor are times taken of one that was not looked at."""
    place = Answers([], always=LATE | {"paused_s": 0.5})
    session = session_at(installation, first_touch, tmp_path, place, [])
    gather_evidence(session)
    take_times(session)
    assert place.asked == ["check"] * (MOST_PAUSED_RUNS + 1) + ["race"] * place.asked.count("race")
    assert session.is_held_up
    verdict = session.verdict()
    assert {c.status for c in verdict.criteria} <= {"inconclusive", "not_gradable"}
    causes = {c.cause for c in verdict.criteria if c.status == "inconclusive"}
    assert "node_paused" in causes
    why = next(c.why for c in verdict.criteria if c.cause == "node_paused")
    assert "stood still in" in why
    assert "0.5 s" in why
    assert "Grade again" in why


def test_times_end_where_the_node_pauses_in_each_generation(
    installation: Installation, first_touch: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before it count, and are too few: open, and told why."""
    place = Answers([OK, OK, OK], always=PAUSED)
    session = session_at(installation, first_touch, tmp_path, place, [])
    session.record.runs = recorded_runs(invented.evidence(ONE)["runs"])
    monkeypatch.setattr(Grading, "build_own", lambda self, *roles: None)
    monkeypatch.setattr(Grading, "continue_earlier", lambda self: None)
    take_times(session)
    assert len(session.evidence.runs_of(TIMED_ROUND)) == 3
    assert len(place.asked) == 3 + MOST_PAUSED_RUNS + 1
    found = {c.name: c for c in session.verdict().criteria}["efficiency"]
    assert (found.status, found.cause) == ("inconclusive", "node_paused")


def test_the_kits_own_times_end_there_too(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    session = session_at(installation, first_touch, tmp_path, Answers([OK], always=PAUSED), [])
    evidences = time_solution(session, Timed(None), ("solution",))
    assert len(next(evidences).runs_of(TIMED_ROUND)) == 1
    with pytest.raises(NumalabError, match="stood still in 13 runs"):
        next(evidences)


def test_a_pause_costs_no_generation_and_no_time(
    installation: Installation, first_touch: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [OK | {"paused_s": 1000.0}, OK, OK | {"paused_s": 1000.0}]
    session = session_at(installation, first_touch, tmp_path, Answers(ends), [])
    session.record.runs = recorded_runs(invented.evidence(ONE)["runs"])
    monkeypatch.setattr(Grading, "build_own", lambda self, *roles: None)
    monkeypatch.setattr(Grading, "continue_earlier", lambda self: None)
    take_times(session)
    runs = [run for run in kept_runs(session) if run["kind"] == "generation"]
    assert [run.get("tried_again") for run in runs[:4]] == ["paused", None, "paused", None]
    assert session.paused_s == 2000.0
    assert len(session.evidence.runs_of(TIMED_ROUND)) == len(runs) - 2
    assert len(session.evidence.runs_of(TIMED_ROUND)) >= session.effort.min_replicates


def test_what_is_to_stop_is_not_done_again(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    place = Answers([OK | {"status": "cancelled", "paused_s": 0.5, "doing": "compute", "n": 7}])
    session = session_at(installation, first_touch, tmp_path, place, [])
    arguments: tuple[Any, ...] = (CHECK, [], {})
    with pytest.raises(Interrupted):
        session.run(*arguments)
    assert place.asked == ["check"]
