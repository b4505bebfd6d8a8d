"""Plausible mistakes of students, each with the verdicts that it deserves on this node and
on a virtual node with two NUMA nodes, one boot for all.

They lie with their lab's solution, solutions/NN_name/wrong/, with a table wrong.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import worker_processes

from numalab.files import write_json
from numalab.grade import Session, effort_for, grade
from numalab.kit import Kit, find_kit
from numalab.lab import KERNEL_FILES, Lab
from numalab.measure import describe_node
from numalab.verdict import CriterionVerdict, Verdict
from numalab.virtual.grading import grade_elsewhere
from numalab.virtual.machine import find_machine
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import Wish

Json = dict[str, Any]
ROOT = find_kit("gnu").root
MACHINE = "hydra"


def cases() -> list[Any]:
    found = []
    for table in sorted((ROOT / "solutions").glob("*/wrong/wrong.toml")):
        lab = table.parent.parent.name
        for entry in tomllib.loads(table.read_text())["submission"]:
            for language in entry["languages"]:
                name = f"{lab}-{language}-{entry['name']}"
                found.append(pytest.param(lab, language, entry, id=name))
    return found


CASES = cases()
TRIES = 4  # of a time that stays open on a busy node; each goes on with the one before


@pytest.fixture(scope="module")
def places(kit: Kit) -> Iterator[VirtualPlaces]:
    with VirtualPlaces(kit, Wish()) as found:
        yield found


@pytest.fixture(scope="module")
def node(kit: Kit) -> Json:
    return describe_node(kit)


def deserved_there(lab: Lab, entry: Json) -> set[str]:
    """What fails on the machine: all that could be seen where the kernel does not work,
    else what fails here, and that the pages are not where they are used."""
    if "fails_on_machine" in entry:
        return set(entry["fails_on_machine"])
    evidence = {c.name for c in lab.criteria if c.kind == "evidence"}
    if "correct" in entry["fails"]:
        return evidence | {"correct"}
    found = evidence & set(entry["fails"])
    return found | ({"local_pages"} if "touched_where_used" in found else set())


def reasons(criteria: Iterable[CriterionVerdict]) -> str:
    """As text, which pytest prints whole."""
    return "\n" + "\n".join(f"{c.where} {c.name}: {c.status}: {c.why}" for c in criteria)


def failed(criteria: list[CriterionVerdict]) -> list[str]:
    return [criterion.name for criterion in criteria if criterion.status == "fail"]


def check_here(found: list[CriterionVerdict], entry: Json, language: str) -> None:
    whys = {c.name: c.why for c in found}
    may_fail = set(entry.get("may_fail", ()))
    assert set(failed(found)) - may_fail == set(entry["fails"]) - may_fail, reasons(found)
    says = entry.get("says") or entry[f"says_{language}"]
    assert says in whys[failed(found)[0]]
    # Only times may stay open.
    assert all(c.kind == "timing" or c.status != "inconclusive" for c in found), reasons(found)


@pytest.mark.parametrize(("lab_name", "language", "entry"), CASES)
def test_wrong_submission(
    kit: Kit,
    labs: dict[str, Lab],
    node: Json,
    places: VirtualPlaces,
    tmp_path: Path,
    lab_name: str,
    language: str,
    entry: Json,
) -> None:
    lab, file = labs[lab_name], KERNEL_FILES[language]
    source = kit.solution_folder(lab_name) / "wrong" / (entry["name"] + Path(file).suffix)
    (tmp_path / file).write_bytes(source.read_bytes())
    may_fail = set(entry.get("may_fail", ()))

    def graded() -> tuple[Session, Verdict]:
        session = Session(
            kit, lab, language, "submission", tmp_path, effort_for("default", True), node,
            lambda step: None,
        )  # fmt: skip
        verdict = grade(session)
        session.keep(verdict)
        # Beside the kernel too, where pytest keeps it for who wants to know.
        write_json(tmp_path / "evidence.json", session.data, indent=None)
        return session, verdict

    with kit.lock():
        for _ in range(TRIES):
            session, here = graded()
            still_open = {c.name for c in here.criteria if c.status == "inconclusive"}
            if not still_open & set(entry["fails"]) - may_fail:
                break
        check_here(list(here.criteria), entry, language)
        machine = find_machine(kit, MACHINE)
        verdict, _ = grade_elsewhere(session, here, [machine], places)
    there = [criterion for criterion in verdict.criteria if criterion.where == MACHINE]
    assert set(failed(there)) - may_fail == deserved_there(lab, entry) - may_fail, reasons(there)
    # Nothing is the kit's fault.
    assert not [c for c in verdict.criteria if c.status == "error"]
    assert verdict.points < verdict.max_points - verdict.ungraded_points
    assert worker_processes(kit) == []


def test_every_lab_has_enough_of_them_in_both_languages() -> None:
    for lab in sorted(path.parent.name for path in (ROOT / "labs").glob("*/lab.toml")):
        for language, file in KERNEL_FILES.items():
            here = [c for c in CASES if c.values[0] == lab and c.values[1] == language]
            assert len(here) >= 12, (lab, language)
            files = set((ROOT / "solutions" / lab / "wrong").glob("*" + Path(file).suffix))
            assert {path.stem for path in files} == {c.values[2]["name"] for c in here}
