"""The rule on answers about the recording of a frequency governor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from governor_answers import QUESTIONS
from governor_tree import PUBLISHED_SEED, make_recording
from support import invented
from support.golden_texts import check_verdict
from support.mpi_labs import lab_of

from numalab.evidence.read_record import parse
from numalab.grading.handed_files import complaint_of
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

FILE, SEED = "governor.toml", 1234
LAB = f"""
title = "Governors"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["compute"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 1
at_most = 0

[[criterion]]
name = "governor"
kind = "evidence"
points = 1
at_most = 0
file = "{FILE}"
goal = "governor"
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "33_governors", LAB)


def answers(seed: int = SEED, **changed: float | None) -> str:
    """Right ones but those that are changed; None: left out."""
    right = {question.key: question.answer(make_recording(seed)) for question in QUESTIONS}
    lines = [
        f"{key} = {value:.10g}" for key, value in (right | changed).items() if value is not None
    ]
    return "\n".join([f"seed = {seed}", *lines])


def judged(lab: Lab, text: str, built: bool = True, **more: Any) -> CriterionVerdict:
    record = invented.evidence(invented.ONE_NODE)
    (file,) = lab.files
    handed = {"file": FILE, "complaint": complaint_of(file, text), "variables": {}, "text": text}
    record |= {"lab": "33_governors", "runs": [], "handed_in": [handed]} | more
    if not built:
        record["build"]["kernel"] = {"status": "does_not_compile", "message": "No.", "output": ""}
    found = {one.name: one for one in judge(lab, parse(record)).criteria}
    return found["governor"]


def test_right_answers_pass_on_any_node(lab: Lab) -> None:
    found = judged(lab, answers(), built=False)  # whatever the kernel is like
    assert (found.status, found.value) == ("pass", 0.0)
    check_verdict(found, "pass", "reached")


def test_an_average_may_be_rounded_and_a_count_not(lab: Lab) -> None:
    about = make_recording(SEED)
    average = next(q for q in QUESTIONS if q.key == "average_mhz").answer(about)
    assert judged(lab, answers(average_mhz=round(average))).status == "pass"
    assert judged(lab, answers(average_mhz=average * 1.01)).status == "fail"
    assert judged(lab, answers(transitions=about.total + 1)).status == "fail"


def test_wrong_answers_are_told_with_their_mistake(lab: Lab) -> None:
    left, taken = make_recording(SEED).most_often
    found = judged(lab, answers(most_from_khz=taken, most_to_khz=left, transitions_ms=None))
    assert (found.status, found.value) == ("fail", 3.0)
    check_verdict(found, "fail", "missed")
    check_verdict(found, "fail", "missed")


def test_of_many_wrong_answers_some_are_told(lab: Lab) -> None:
    found = judged(lab, answers(seed=SEED + 1).replace(f"seed = {SEED + 1}", f"seed = {SEED}"))
    check_verdict(found, "fail", "missed")


def test_a_file_without_answers_fails_all(lab: Lab) -> None:
    found = judged(lab, f"seed = {SEED}\n")
    assert (found.status, found.value) == ("fail", 7.0)
    check_verdict(found, "fail", "missed")


def test_the_kits_own_answers_are_no_students(lab: Lab) -> None:
    found = judged(lab, answers(PUBLISHED_SEED))
    check_verdict(found, "fail", "bad_file")
    assert judged(lab, answers(PUBLISHED_SEED), variant="solution").status == "pass"


def test_a_file_that_can_not_be_used_fails(lab: Lab) -> None:
    found = judged(lab, "transitions = 5\n")
    check_verdict(found, "fail", "bad_file")
