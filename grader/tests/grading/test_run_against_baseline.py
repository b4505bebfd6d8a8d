"""What a session does with a run in which the kit failed: whose doing that is, the kit's own kernel
in the same place tells. At a place that answers without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from support import invented
from support.run_values import kept_runs, recorded_runs

from numalab.errors import NumalabError
from numalab.evidence.kinds import CHECK, RANKS, TIMED_ROUND
from numalab.evidence.read_record import record_json, record_of
from numalab.evidence.record import Json
from numalab.grading.collect_evidence import gather_evidence
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

ONE = invented.ONE_NODE
OK: Json = {"status": "ok", "printed_bytes": 0}
OBSTRUCTED: Json = OK | {"status": "obstructed", "doing": "stop the worker", "n": 7, "error": "no"}
KIT_ERROR: Json = OBSTRUCTED | {"status": "kit_error"}
NOT_CALLED: Json = OK | {"status": "exited", "doing": "start", "n": 0, "exit_code": 1}
KILLED: Json = OK | {"status": "crashed", "doing": "compute", "n": 7, "signal": "SIGKILL"}
LOST: Json = {}
OF_SUBMISSION = ["--worker", "submission=/x"]
OF_BOTH = [*OF_SUBMISSION, "--worker", "solution=/y", "--cut", "submission:0.5"]


def without_submission() -> tuple[list[str], dict[str, str]]:
    return ["--worker", "control=/y", "--worker", "solution=/y"], {}


@dataclass
class Answers:
    """A place whose runs of the submission end as `ends` has it and those of the kit's own as
    `own`, each well once there is nothing more. LOST: without a record. whose: of a generation the
    role that ends so."""

    ends: list[Json]
    own: list[Json] = field(default_factory=list)
    whose: str = "submission"
    asked: list[str] = field(default_factory=list)
    name = "here"
    slowness = 1.0
    monitor_options: Sequence[str] = ()

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> monitor.Finished:
        kind, *words = command[1:]
        roles = [value.split("=")[0] for word, value in pairwise(words) if word == "--worker"]
        self.asked.append(" ".join(roles))
        ends = self.ends if "submission" in roles else self.own
        end = ends.pop(0) if ends else OK
        if end is LOST:
            return monitor.Finished(-9, "", "")
        if kind == "generation":
            record = invented.generation(ONE, dict.fromkeys(roles, 0.2))
            for role in record["roles"]:
                role["outcome"] = end if role["role"] in (self.whose, "control") else OK
        elif kind == "ranks":
            record = invented.launched("", "x", [], role=roles[0]) | {"outcome": end}
        else:
            record = invented.evidence(ONE)["runs"][0] | {"outcome": end, "role": roles[0]}
        return monitor.Finished(0, json.dumps(record), "")


@pytest.fixture
def told() -> list[str]:
    return []


def session_at(
    installation: Installation,
    lab: Lab,
    tmp_path: Path,
    place: Answers,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Grading:
    monkeypatch.setattr(Grading, "build_own", lambda self, *roles: None)
    return Grading(
        installation, lab, "c", "submission", tmp_path, effort_for("default", True), ONE.describe(),
        told.append, place=place,
    )  # fmt: skip


def of_session(session: Grading) -> dict[str, CriterionVerdict]:
    return {verdict.name: verdict for verdict in session.verdict().criteria}


@pytest.mark.parametrize("failed", [OBSTRUCTED, KIT_ERROR])
def test_what_fails_with_the_submission_alone_is_its_own(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    failed: Json,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([failed, failed])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert not session.run(CHECK, OF_SUBMISSION, {})
    assert place.asked == ["submission", "solution"] * 2
    first, second = kept_runs(session)
    assert first["tried_again"] == "kit_failed"
    assert second["outcome"]["baseline_status"] == "ok"
    record_of(record_json(session.record))
    found = of_session(session)
    for name in ("correct", "touched_where_used"):
        assert (found[name].status, found[name].cause) == ("fail", "disturbed_monitor")
        assert "With a kernel of its own in the same place it could." in found[name].why
    assert [words.startswith("once more, since the kit failed") for words in told] == [True]


def test_what_fails_with_the_kits_own_is_the_kits(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([OBSTRUCTED], own=[OBSTRUCTED])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert not session.run(CHECK, OF_SUBMISSION, {})
    assert place.asked == ["submission", "solution"]
    found = of_session(session)["correct"]
    assert (found.status, found.cause) == ("error", "kit")
    assert "baseline_status" not in kept_runs(session)[-1]["outcome"]


def test_what_ends_before_the_kernel_is_called_is_held_against_the_kits_own(
    installation: Installation, first_touch: Lab, tmp_path: Path, told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As a job of MPI does that finds no room in /dev/shm; or a kernel whose constructor exits."""
    place = Answers([NOT_CALLED | {}], own=[NOT_CALLED | {}])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert not session.run(CHECK, OF_SUBMISSION, {})
    assert place.asked == ["submission", "solution"]
    record_of(record_json(session.record))
    found = of_session(session)["correct"]
    assert (found.status, found.cause) == ("error", "kit")
    assert "could not start" in found.why
    place = Answers([NOT_CALLED | {}, NOT_CALLED | {}])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert not session.run(CHECK, OF_SUBMISSION, {})
    assert place.asked == ["submission", "solution"] * 2
    found = of_session(session)["correct"]
    assert (found.status, found.cause) == ("fail", "exited")


def test_once_is_chance_and_benefits_a_kernel_once(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([OBSTRUCTED, OK, OBSTRUCTED])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert session.run(CHECK, OF_SUBMISSION, {})
    assert not session.run(CHECK, OF_SUBMISSION, {})
    assert kept_runs(session)[-1]["outcome"]["baseline_status"] == "ok"


def test_a_launch_file_that_fails_says_nothing_of_another(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([OBSTRUCTED, OK, OBSTRUCTED, OK, OBSTRUCTED])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert session.run(RANKS, OF_SUBMISSION, {}, file="near.toml")
    assert session.run(RANKS, OF_SUBMISSION, {}, file="far.toml")
    assert not session.run(RANKS, OF_SUBMISSION, {}, file="far.toml")


@pytest.mark.parametrize("whose", ["submission", "solution"])
def test_a_generation_is_held_against_one_without_the_submission(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    whose: str,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kit's own program may be what does not come to its end beside it."""
    place = Answers([KILLED if whose == "solution" else OBSTRUCTED] * 2, whose=whose)
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    session.record.runs = recorded_runs(invented.evidence(ONE)["runs"])
    assert not session.run(TIMED_ROUND, OF_BOTH, {}, without_submission)
    assert place.asked == ["submission solution", "control solution"] * 2
    record_of(record_json(session.record))
    found = of_session(session)["efficiency"]
    assert found.status == "fail"
    if whose == "solution":
        assert found.cause == "disturbed_monitor"
        assert "the kit's own solution did not come to its end" in found.why


def test_a_generation_is_not_won_by_a_second_try(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([OBSTRUCTED])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert session.run(TIMED_ROUND, OF_BOTH, {}, without_submission)
    (generation,) = session.evidence.runs_of(TIMED_ROUND)
    assert generation.is_retry


def test_a_kernel_that_ends_the_monitor(
    installation: Installation, first_touch: Lab, tmp_path: Path, told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    place = Answers([LOST, LOST, LOST, LOST])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    session.record.race_error = "not here"
    gather_evidence(session)
    record_of(record_json(session.record))
    found = of_session(session)
    for name in ("correct", "shared_out", "touched_where_used"):
        assert (found[name].status, found[name].cause) == ("fail", "disturbed_monitor")
    assert "gave no record for 'check' (exit code -9)" in found["correct"].why
    assert found["efficiency"].status == "fail"


def test_a_monitor_that_ends_with_the_kits_own_too(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([LOST], own=[LOST])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    with pytest.raises(NumalabError, match="gave no record"):
        session.run(CHECK, OF_SUBMISSION, {})


def test_a_run_of_the_kits_own_is_held_against_nothing(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Answers([], own=[OBSTRUCTED])
    session = session_at(installation, first_touch, tmp_path, place, told, monkeypatch)
    assert not session.run(CHECK, ["--worker", "solution=/y"], {})
    assert place.asked == ["solution"]


def test_the_kits_own_takes_the_place_of_the_submission() -> None:
    asked = monitor.MonitorRun(
        "check", ["--worker", "submission=/x", "--size", "quick"], {"B": "1"}
    )
    own = monitor.replace_submission(asked, "solution", Path("/k"))
    assert own.options == ["--worker", "solution=/k", "--size", "quick"]
    assert own.environment == asked.environment
    assert monitor.is_of_submission(asked) and not monitor.is_of_submission(own)
