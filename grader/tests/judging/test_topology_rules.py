"""Answers about a machine made from a seed, judged by what hwloc saw in a recorded guest of it.

The session around it is made up.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from node_answers import PUBLISHED_SEED, seed_of
from support import invented
from support.golden_texts import check_verdict

from numalab.evidence.format import HandedText, OtherPlaces
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.record import Json
from numalab.grading.handed_files import complaint_of
from numalab.installation import Installation, find_installation
from numalab.judging import planner
from numalab.judging.judge import judge
from numalab.judging.places import verdict_over, vm_requests
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab

ROOT = find_installation("gnu").root
OWN = ROOT / "solutions" / "00_know_your_node"
RIGHT = (OWN / "node.toml").read_text("utf-8")
SEEN: Json = json.loads((ROOT / "grader/tests/machines/seen_on_seeded.json").read_text("utf-8"))
WRONG = {
    entry["name"]: entry
    for entry in tomllib.loads((OWN / "wrong" / "wrong.toml").read_text("utf-8"))["submission"]
    if entry["fails"] == ["topology"]
}


@pytest.fixture(scope="module")
def lab(labs: dict[str, Lab]) -> Lab:
    """With that criterion alone."""
    whole = labs["00_know_your_node"]
    return replace(whole, criteria=tuple(c for c in whole.criteria if c.rule == "topology"))


def described(seed: int) -> Json:
    """A node as a record has it, by what was recorded of a guest."""
    return invented.TWO_NODES.describe() | SEEN[str(seed)]


def record(lab: Lab, text: str | None = RIGHT, seed: int | None = 489, **more: Any) -> Json:
    """text: of the file, None: not handed in; seed: of the machine that was looked at, if any."""
    data = invented.evidence(invented.ONE_NODE) | {
        "lab": lab.name,
        "runs": [],
        "variant": "solution",
    }
    data |= more
    (file,) = lab.files
    complaint = "node.toml was not handed in." if text is None else complaint_of(file, text)
    data["handed_in"] = [
        {"file": file.name, "complaint": complaint, "variables": {}, "text": text or ""}
    ]
    if seed is not None:
        data["seeded_node"] = {"seed": seed, "node": described(seed), "error": None}
    return data


def judged(lab: Lab, data: Json) -> CriterionVerdict:
    (found,) = judge(lab, parse(data)).criteria
    return found


def test_all_answers_right_pass(lab: Lab) -> None:
    data = record(lab)
    record_of(data)
    found = judged(lab, data)
    assert (found.status, found.value, found.points) == ("pass", 0, found.max_points)
    check_verdict(found, "pass", "reached")


def test_answers_that_come_with_the_solution_are_not_paid(
    lab: Lab, installation: Installation
) -> None:
    published = (installation.solution_folder(lab.name) / "node.toml").read_text()
    assert seed_of(published) == PUBLISHED_SEED
    found = judged(lab, record(lab, published, variant="submission"))
    check_verdict(found, "fail", "bad_file")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail_and_say_why(lab: Lab, name: str) -> None:
    """The sentences that grading them finds, without building anything."""
    path = OWN / "wrong" / name / "node.toml"
    found = judged(lab, record(lab, path.read_text("utf-8") if path.is_file() else None))
    assert (found.status, found.cause) == ("fail", WRONG[name]["cause"])
    assert WRONG[name]["says"] in found.why


def test_what_would_be_right_is_not_told(lab: Lab) -> None:
    wrong = "seed = 489\n" + "".join(
        f"{key} = 99\n" for key in ("packages", "node_pus", "core_pus", "l3_pus", "nearest_nodes")
    )
    found = judged(lab, record(lab, wrong))
    assert found.value == 9
    check_verdict(found, "fail", "missed")
    for told in ("2,8,14,20", "[3, 5]", "1,13", " 24", " 12"):
        assert told not in found.why
    check_verdict(found, "fail", "missed")


def test_the_first_wrong_one_decides_by_which_command_to_look(lab: Lab) -> None:
    wrong = RIGHT.replace('core_pus = "1,13"', "core_pus = 13")
    assert judged(lab, record(lab, wrong)).why.endswith(
        "-- cat /sys/devices/system/cpu/cpu13/topology/thread_siblings_list"
    )


def test_the_guest_decides_and_not_the_description(lab: Lab) -> None:
    """A machine that was booted otherwise than it was made makes other answers right."""
    data = record(lab)
    data["seeded_node"]["node"] = described(27)
    found = judged(lab, data)
    assert found.status == "fail" and found.value == 4


def test_where_nobody_could_look_nothing_is_judged(lab: Lab) -> None:
    data = record(lab)
    data["seeded_node"] = {"seed": 489, "node": None, "error": "QEMU is not installed"}
    record_of(data)
    found = judged(lab, data)
    check_verdict(found, "not_gradable", "not_visible_here")
    # A file that can't be read, and one that says nothing, fail without looking.
    assert judged(lab, data | record(lab, "seed = -1", None)).cause == "bad_file"
    assert judged(lab, record(lab, "seed = 489", None)).cause == "missed"


def test_what_was_not_looked_at_is_open(lab: Lab) -> None:
    assert judged(lab, record(lab, seed=None)).cause == "not_measured"
    assert judged(lab, record(lab, seed=27)).cause == "not_measured"
    assert judged(lab, record(lab, seed=None, interrupted=True)).cause == "interrupted"


def test_the_kernel_and_the_kits_own_do_not_matter(lab: Lab) -> None:
    wrong = RIGHT.replace("cores = 12", "cores = 24")
    data = record(lab, wrong)
    data["build"]["kernel"]["status"] = "does_not_compile"
    assert judged(lab, data).cause == "missed"
    assert judged(lab, record(lab) | {"build": data["build"]}).status == "pass"
    assert planner.files_to_compare(lab, parse(data)) == ()
    # Nor what the solution shows of other rules in the same session.
    data["runs"] = [invented.placement(invented.ONE_NODE, lambda owner, page: 0, "solution")]
    assert judged(lab, data).cause == "missed"


def test_it_is_judged_once_whatever_machines_show(lab: Lab) -> None:
    here = parse(record(lab))
    there = replace(
        parse(record(lab, seed=None)), is_virtual=True, node=invented.TWO_NODES.describe()
    )
    assert judge(lab, there).criteria[0].status == "not_gradable"
    for evidence in (here, replace(here, seeded_node=None)):
        named = OtherPlaces(("hydra",))
        (found,) = verdict_over(lab, evidence, {"hydra": there}, named).criteria
        assert found.where == "here"
    # Where QEMU is missing no other machine is booted for it.
    unseen = parse(
        record(lab) | {"seeded_node": {"seed": 489, "node": None, "error": "QEMU is missing"}}
    )
    assert judge(lab, unseen).criteria[0].status == "not_gradable"
    assert vm_requests(lab, unseen) == ()
    (found,) = verdict_over(lab, unseen, {}, OtherPlaces()).criteria
    check_verdict(found, "not_gradable", "not_visible_here")


def test_files_that_were_handed_in_are_read_again(lab: Lab) -> None:
    """So that a changed rule judges old records."""
    evidence = parse(record(lab))
    assert evidence.handed_in == (HandedText("node.toml", None, {}, RIGHT),)
