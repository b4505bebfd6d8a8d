"""Stored evidence of machines we don't have, and the verdicts that it deserves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import invented

from numalab.evidence.read_record import load
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab

CASES = sorted(path.parent for path in invented.GOLDEN.glob("*/evidence.json"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_golden_case(folder: Path, first_touch: Lab) -> None:
    verdict = judge(first_touch, load(folder / "evidence.json"))
    wanted = json.loads((folder / "verdict.json").read_text())
    found = {criterion.name: criterion for criterion in verdict.criteria}
    assert found.keys() == wanted["criteria"].keys()
    for name, deserved in wanted["criteria"].items():
        told = (found[name].status, found[name].cause)
        assert told == (deserved["status"], deserved["cause"]), f"{name}: {found[name].why}"
        if "value" in deserved:
            assert found[name].value == pytest.approx(deserved["value"], abs=0.005), name
        assert deserved.get("says", "") in found[name].why, name
    assert verdict.status == wanted["status"]
    assert verdict.points == wanted["points"]
    assert verdict.ungraded_points == wanted["ungraded_points"]


def test_the_stored_evidence_is_what_the_generator_writes() -> None:
    assert {folder.name for folder in CASES} == invented.cases().keys()
    for name, record in invented.cases().items():
        stored = json.loads((invented.GOLDEN / name / "evidence.json").read_text())
        assert stored == json.loads(json.dumps(record)), name
