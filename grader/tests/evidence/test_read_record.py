"""A session's record as a whole: what is read of it, what earlier ones lack, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import invented

from numalab.errors import NumalabError
from numalab.evidence.format import Build, EarlierTimes, HandedText, SeededNode
from numalab.evidence.kinds import BINDING, CHECK, PLACEMENT, RANKS, TIMED_ROUND, TRACE
from numalab.evidence.read_record import load, parse
from numalab.evidence.record import SOLUTION, Json, LeftOut

ONE = invented.ONE_NODE
GIVEN: Json = {"file": "kernel.c", "complaint": None, "variables": {}, "text": "x"}


def test_an_earlier_record_leaves_out_what_was_not_so() -> None:
    evidence = parse(invented.evidence(ONE))
    assert (evidence.lab, evidence.language, evidence.variant) == (
        "01_first_touch", "c", "submission",
    )  # fmt: skip
    assert (evidence.size, evidence.quick, evidence.node) == ("default", False, ONE.describe())
    assert (evidence.is_virtual, evidence.announces_cores) == (False, True)
    assert (evidence.timing_refused, evidence.timing_error, evidence.race_error) == (None,) * 3
    assert (evidence.race_refused, evidence.monitor_lost, evidence.seeded_node) == (None,) * 3
    assert evidence.build == Build("ok", "", "")
    assert (evidence.handed_in, evidence.left_out, evidence.earlier_times) == ((), (), ())
    assert (evidence.unchanged_files, evidence.is_starting_code) == (frozenset(), False)
    assert (evidence.interrupted, evidence.is_held_up, evidence.numa_nodes) == (False, False, 1)
    assert {key: len(runs) for key, runs in evidence.runs.items()} == {
        ("check", "submission"): 1, ("trace", "submission"): 3, ("placement", "submission"): 1,
    }  # fmt: skip


def test_a_record_with_all_there_is() -> None:
    evidence = parse(invented.evidence(ONE, quick=True) | {
        "timing_refused": "a", "timing_error": "b", "race_error": "c", "race_refused": "d",
        "monitor_lost": "e", "machine": invented.MACHINE | {"announces_cores": False},
        "interrupted": True, "seeded_node": {"seed": 7, "node": None, "error": "f"},
        "handed_in": [GIVEN], "unchanged_files": ["kernel.c"], "starting_code": False,
        "earlier_times": [{"started_at": "g", "generations": 3}],
    })  # fmt: skip
    assert (evidence.timing_refused, evidence.timing_error, evidence.race_error) == ("a", "b", "c")
    assert (evidence.race_refused, evidence.monitor_lost) == ("d", "e")
    assert (evidence.is_virtual, evidence.announces_cores, evidence.quick) == (True, False, True)
    assert evidence.seeded_node == SeededNode(7, None, "f")
    assert evidence.handed_in == (HandedText("kernel.c", None, {}, "x"),)
    assert evidence.unchanged_files == {"kernel.c"}
    assert (evidence.is_starting_code, evidence.interrupted) == (False, True)
    assert evidence.earlier_times == (EarlierTimes("g", 3),)
    assert evidence.handed("kernel.c") == HandedText("kernel.c", None, {}, "x")
    assert evidence.handed("kernel.f90") is None


@pytest.mark.parametrize(
    ("unchanged", "handed", "is_starting_code"),
    [
        (None, [GIVEN], False),
        ([], [], False),
        (["kernel.c"], [GIVEN], True),
        (["kernel.c", "a.toml"], [GIVEN], True),
        (["a.toml"], [GIVEN | {"file": "a.toml"}], False),
        (["kernel.c"], [GIVEN, GIVEN | {"file": "a.toml"}], False),
        (["kernel.c"], [GIVEN, GIVEN | {"file": "a.toml", "text": "", "variables": {"A": "1"}}],
         False),
        # What is empty was not handed in.
        (["kernel.c"], [GIVEN, GIVEN | {"file": "a.toml", "text": ""}], True),
        (["kernel.c"], [GIVEN, {"file": "a.toml", "complaint": "no", "variables": {}}], True),
    ],
)  # fmt: skip
def test_starting_code_of_a_record_that_does_not_tell(
    unchanged: list[str] | None, handed: list[Json], is_starting_code: bool
) -> None:
    record = invented.evidence(ONE) | {"handed_in": handed}
    if unchanged is not None:
        record["unchanged_files"] = unchanged
    assert parse(record).is_starting_code is is_starting_code
    assert parse(record | {"starting_code": True}).is_starting_code


@pytest.mark.parametrize("changes", [{"schema": 3}, {"schema": 0}, {"schema": None}])
def test_another_version_of_the_format_is_refused(changes: Json) -> None:
    with pytest.raises(NumalabError, match=r"schema version (3|0|None); numalab reads up to 2"):
        parse(invented.evidence(ONE) | changes)
    with pytest.raises(NumalabError, match="schema version None"):
        parse({})


def test_a_file_is_read_once_it_follows_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    with pytest.raises(NumalabError, match="can't read the evidence"):
        load(path)
    path.write_text("{")
    with pytest.raises(NumalabError, match="can't read the evidence"):
        load(path)
    record = invented.evidence(ONE)
    path.write_text(json.dumps(record))
    assert load(path) == parse(record)
    path.write_text(json.dumps(record | {"quick": "y" * 1000}))
    with pytest.raises(NumalabError, match=r"not a valid evidence record: .*`\$\.quick`"):
        load(path)
    path.write_text(json.dumps(record | {"y" * 1000: 1}))
    with pytest.raises(NumalabError, match="unknown field `yyy") as told:
        load(path)
    assert len(str(told.value)) == len("not a valid evidence record: ") + 300


def left_out_runs(*runs: Json) -> tuple[LeftOut, ...]:
    return parse(invented.evidence(ONE) | {"runs": list(runs)}).left_out


def check(**changes: Any) -> Json:
    run: Json = invented.evidence(ONE)["runs"][0]
    return run | changes


PAUSED: Json = {"tried_again": "paused"}


@pytest.mark.parametrize(
    ("after", "is_last"),
    [
        ([], True),
        ([check()], False),
        ([check(part="x")], True),
        ([check(role="solution")], True),
        ([check(**PAUSED)], True),
        ([check(part="x"), check()], False),
    ],
)
def test_what_is_left_out_is_last_until_one_like_it_counts(
    after: list[Json], is_last: bool
) -> None:
    first, *_ = left_out_runs(check(), check(**PAUSED), *after)
    assert first == LeftOut("check", "submission", None, None, "paused", 0.0, is_last)


def test_a_run_that_came_late_is_not_held_up() -> None:
    late = check(tried_again="timed_out")
    assert not parse(invented.evidence(ONE) | {"runs": [late]}).is_held_up
    assert parse(invented.evidence(ONE) | {"runs": [late, check(**PAUSED)]}).is_held_up


def test_a_generation_counts_as_the_submissions() -> None:
    record = invented.evidence(ONE, times=invented.steady(1, solution=1.0))
    record["runs"].append(check(role="solution"))
    evidence = parse(record)
    assert len(evidence.runs_of(TIMED_ROUND)) == 1 and not evidence.runs_of(TIMED_ROUND, SOLUTION)
    assert len(evidence.runs_of(CHECK)) == len(evidence.runs_of(CHECK, SOLUTION)) == 1


def test_evidence_with_other_runs_and_of_some_parts() -> None:
    record = invented.evidence(ONE)
    record["runs"] += [check(part="x"), check(part="y"), check(part="y", **PAUSED)]
    evidence = parse(record)
    assert [run.part for run in evidence.runs_of(CHECK)] == [None, "x", "y"]
    of_two = evidence.select_parts("x", "y")
    assert [run.part for run in of_two.runs_of(CHECK)] == ["x", "y"]
    assert [run.part for run in of_two.left_out] == ["y"]
    assert (of_two.runs_of(TRACE), of_two.is_held_up) == ((), True)
    assert not evidence.select_parts(None).is_held_up
    without = evidence.having(TRACE, [])
    assert without.runs_of(TRACE) == () and without.runs_of(PLACEMENT) == evidence.runs_of(
        PLACEMENT
    )
    as_solution = evidence.having(TRACE, evidence.runs_of(TRACE)[:1], SOLUTION)
    assert (len(as_solution.runs_of(TRACE)), len(as_solution.runs_of(TRACE, SOLUTION))) == (3, 1)


def test_the_solution_in_the_place_of_the_submission() -> None:
    record = invented.evidence(ONE) | {
        "handed_in": [GIVEN], "unchanged_files": ["kernel.c"], "starting_code": True,
    }  # fmt: skip
    bound: Json = {
        "kind": "binding", "lab": "x", "part": None, "team": 2, "role": "solution",
        "file": "close.toml", "runtime": "libgomp", "threads": [], "outcome": invented.OK,
    }  # fmt: skip
    record["runs"] += [
        check(role="solution", part="x"), check(role="handout"), bound,
        bound | {"role": "submission", "file": "own.toml"},
        invented.launched("a.toml", "x", [], role="solution"),
        invented.launched("", "x", [], role="solution"),
    ]  # fmt: skip
    evidence = parse(record)
    assert evidence.control_files == {"a.toml", "close.toml"}
    control = evidence.control_evidence()
    assert [run.part for run in control.runs_of(CHECK)] == ["x"]
    assert [run.file for run in control.runs_of(BINDING)] == ["close.toml"]
    assert not control.runs_of(TRACE) and not control.runs_of(PLACEMENT)
    assert control.runs_of(CHECK, SOLUTION) == evidence.runs_of(CHECK, SOLUTION)
    assert control.runs_of(CHECK, "handout") == evidence.runs_of(CHECK, "handout")
    assert len(control.runs_of(RANKS)) == 2
    assert control.handed_in == (
        HandedText("a.toml", None, {}), HandedText("close.toml", None, {}),
    )  # fmt: skip
    assert (control.unchanged_files, control.is_starting_code) == (frozenset(), False)
