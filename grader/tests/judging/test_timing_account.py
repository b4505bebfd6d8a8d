"""What the JSON says of a timing criterion, on invented evidence."""

from __future__ import annotations

import json

import pytest
from support import invented

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import parse
from numalab.judging.judge import judge
from numalab.judging.timing_account import add_timing, timing_accounts
from numalab.labs.declaration import Lab

CASES = invented.cases()


@pytest.mark.parametrize("case", CASES)
def test_the_json_gains_a_key_and_loses_none(first_touch: Lab, case: str) -> None:
    evidence = parse(CASES[case])
    verdict = judge(first_touch, evidence)
    before = verdict.json_data()
    after = add_timing(before, timing_accounts(first_touch, verdict, evidence))
    json.dumps(after, allow_nan=False)
    is_timed = bool(evidence.runs_of(TIMED_ROUND))
    for old, new in zip(before["criteria"], after["criteria"], strict=True):
        timing = new.pop("timing", None)
        assert new == old
        assert (timing is not None) == (is_timed and old["kind"] == "timing")
        if timing is None:
            continue
        assert len(timing["margins"]) == len(timing["cut"]) == len(evidence.runs_of(TIMED_ROUND))
        assert len(timing["signs"]) == len(timing["e_for"]) == len(timing["e_against"])
        if timing["stopped_because"] == "decided":
            passed = old["status"] == "pass"
            e_values = timing["e_for" if passed else "e_against"]
            level = timing["threshold"]["to_pass" if passed else "to_fail"]
            assert e_values[-1] >= level
            assert all(e_value < level for e_value in e_values[:-1])


def test_what_was_cut_bounds_nothing_from_below(first_touch: Lab) -> None:
    times = [{"solution": 0.2, "submission": 2.0}] * 11
    record = invented.evidence(invented.ONE_NODE, times=times)
    for is_cut in (False, True):
        for run in record["runs"]:
            if run["kind"] == "generation" and is_cut:
                invented.cut_off(run, 2.0)
        evidence = parse(record)
        (account,) = timing_accounts(first_touch, judge(first_touch, evidence), evidence)
        low, high = account.interval
        assert (low is None) == is_cut
        assert high == pytest.approx(0.125, rel=0.05)
        assert account.state.cut == (is_cut,) * 11


def test_wrong_results_have_no_times(first_touch: Lab) -> None:
    record = invented.evidence(
        invented.ONE_NODE, times=invented.steady(9, solution=0.2, submission=0.2)
    )
    (one,) = [role for role in record["runs"][-1]["roles"] if role["role"] == "submission"]
    one["results"] = {
        "checked": 9, "mismatches": 1,
        "first_mismatch": {"array": "a", "element": 0, "expected": 1.0, "actual": 2.0,
                        "phase": "compute", "repetition": 0},
    }  # fmt: skip
    evidence = parse(record)
    assert timing_accounts(first_touch, judge(first_touch, evidence), evidence) == []
