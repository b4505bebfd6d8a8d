"""Answers about links, judged. The session around them is made up."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict

from numalab.evidence.read_record import parse
from numalab.evidence.record import Json
from numalab.grading.handed_files import complaint_of
from numalab.installation import find_installation
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab, load_lab

OWN = find_installation("gnu").root / "solutions" / "09_interconnect"
RIGHT = (OWN / "rates.toml").read_text("utf-8")
WRONG = {
    entry["name"]: entry
    for entry in tomllib.loads((OWN / "wrong" / "wrong.toml").read_text("utf-8"))["submission"]
    if entry["fails"] == ["rates"]
}


@pytest.fixture(scope="module")
def lab(labs: dict[str, Lab]) -> Lab:
    """With that criterion alone."""
    whole = labs["09_interconnect"]
    return replace(whole, criteria=tuple(c for c in whole.criteria if c.rule == "rates"))


def judged(lab: Lab, text: str | None, **more: Any) -> CriterionVerdict:
    """text: of the file, None: not handed in."""
    (file,) = lab.files
    complaint = "rates.toml was not handed in." if text is None else complaint_of(file, text)
    handed: Json = {
        "file": file.name, "complaint": complaint, "variables": {}, "text": text or "",
    }  # fmt: skip
    data = invented.evidence(invented.ONE_NODE) | {
        "lab": lab.name, "runs": [], "variant": "solution", "handed_in": [handed],
    }  # fmt: skip
    (found,) = judge(lab, parse(data | more)).criteria
    return found


def test_all_answers_right_pass(lab: Lab) -> None:
    found = judged(lab, RIGHT)
    assert (found.status, found.value, found.points) == ("pass", 0, found.max_points)
    check_verdict(found, "pass", "reached")


@pytest.mark.parametrize(
    ("seed", "status"),
    [(1630, "pass"), (7, "fail")],
)
def test_a_course_may_fix_the_seed(lab: Lab, seed: int, status: str) -> None:
    folder = find_installation("gnu").lab_folder(lab.name)
    declared = (folder / "grading/lab.toml").read_text("utf-8")
    goal = 'goal = "rates"\n'
    assert declared.count(goal) == 1
    fixed = load_lab(folder, declared.replace(goal, f"{goal}seed = {seed}\n"))
    criteria = tuple(criterion for criterion in fixed.criteria if criterion.rule == "rates")
    found = judged(replace(fixed, criteria=criteria), RIGHT)
    assert found.status == status
    check_text(found.why)


def test_a_node_that_others_see_is_not_asked_again(lab: Lab) -> None:
    found = judged(lab, RIGHT, machine=invented.MACHINE)
    assert (found.status, found.cause) == ("not_gradable", "not_visible_here")


def test_right_answers_need_no_kernel(lab: Lab) -> None:
    build = {
        "kernel": {
            "status": "does_not_compile",
            "message": "kernel.c does not compile.",
            "output": "",
        }
    }
    assert judged(lab, RIGHT, build=build).status == "pass"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail_and_say_why(lab: Lab, name: str) -> None:
    path = OWN / "wrong" / name / "rates.toml"
    text = path.read_text("utf-8") if path.is_file() else None
    found = judged(lab, text, variant="submission")
    assert (found.status, found.cause) == ("fail", WRONG[name]["cause"])
    assert WRONG[name]["says"] in found.why


def test_what_would_be_right_is_not_told(lab: Lab) -> None:
    found = judged(lab, "seed = 1630\nold_gbit_s = 40\nslot_gbit_s = 7\n")
    assert found.value == 11
    check_verdict(found, "fail", "missed")
    for told in ("32", "54.5", "18.1", "6492", "63.0"):
        assert told not in found.why
    check_verdict(found, "fail", "missed")


def test_an_empty_file_is_told_who_asks(lab: Lab) -> None:
    found = judged(lab, "seed = 5\n")
    assert (found.status, found.value) == ("fail", 11)
    check_verdict(found, "fail", "missed")
