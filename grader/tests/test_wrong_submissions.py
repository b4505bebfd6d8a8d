"""Plausible mistakes of students, each with the verdict that it deserves.

They lie with their lab's solution, solutions/NN_name/wrong/, with a table wrong.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from commands import grade_json, worker_processes

from numalab.kit import Kit, find_kit
from numalab.lab import KERNEL_FILES

Json = dict[str, Any]
ROOT = find_kit("gnu").root


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


@pytest.mark.parametrize(("lab", "language", "entry"), CASES)
def test_wrong_submission(kit: Kit, tmp_path: Path, lab: str, language: str, entry: Json) -> None:
    file = KERNEL_FILES[language]
    source = kit.solution_folder(lab) / "wrong" / (entry["name"] + Path(file).suffix)
    (tmp_path / lab).mkdir()
    (tmp_path / lab / file).write_bytes(source.read_bytes())
    may_fail = set(entry.get("may_fail", ()))
    for _ in range(TRIES):
        done, data = grade_json(
            kit, tmp_path, lab, "--quick", "--lang", language, "--submission", str(tmp_path)
        )
        assert done.code == 1
        (result,) = data["results"]
        still_open = {c["name"] for c in result["criteria"] if c["status"] == "inconclusive"}
        if not still_open & set(entry["fails"]) - may_fail:
            break
    failed = [c["name"] for c in result["criteria"] if c["status"] == "fail"]
    whys = {c["name"]: c["why"] for c in result["criteria"]}
    assert set(failed) - may_fail == set(entry["fails"]) - may_fail, whys
    says = entry.get("says") or entry[f"says_{language}"]
    assert says in whys[failed[0]]
    # Nothing is the kit's fault, and only times may stay open.
    for criterion in result["criteria"]:
        assert criterion["status"] != "error", criterion
        assert criterion["kind"] == "timing" or criterion["status"] != "inconclusive", criterion
    assert result["points"] < result["max_points"] - result["ungraded_points"]
    assert worker_processes(kit) == []


def test_every_lab_has_enough_of_them_in_both_languages() -> None:
    for lab in sorted(path.parent.name for path in (ROOT / "labs").glob("*/lab.toml")):
        for language, file in KERNEL_FILES.items():
            here = [c for c in CASES if c.values[0] == lab and c.values[1] == language]
            assert len(here) >= 12, (lab, language)
            files = set((ROOT / "solutions" / lab / "wrong").glob("*" + Path(file).suffix))
            assert {path.stem for path in files} == {c.values[2]["name"] for c in here}
