"""Recipes for other systems' autograders, run with a stand-in for the grading itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.commands import environment

from numalab.kit import Kit

pytestmark = pytest.mark.builds

Json = dict[str, Any]


@pytest.fixture
def autograder(kit: Kit, tmp_path: Path) -> Path:
    """The folder as Gradescope lays it out."""
    folder = tmp_path / "autograder"
    (folder / "source").mkdir(parents=True)
    (folder / "submission").mkdir()
    (folder / "source" / "numalab").symlink_to(kit.root)
    recipe = kit.root / "grader" / "recipes" / "gradescope"
    shutil.copy(recipe / "course.toml", folder / "source" / "course.toml")
    stand_in = kit.root / "grader" / "bench" / "stand_in_grade.sh"
    (folder / "source" / "options").write_text(f"--quick --labs 01 --grading-command {stand_in}\n")
    return folder


def run(kit: Kit, autograder: Path, kernel: str | None) -> Json:
    if kernel is not None:
        (autograder / "submission" / "kernel.c").write_text(kernel)
    done = subprocess.run(
        [kit.root / "grader" / "recipes" / "gradescope" / "run_autograder"],
        env=environment(kit, AUTOGRADER=str(autograder), NUMALAB_STAND_IN_S="0"),
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results: Json = json.loads((autograder / "results" / "results.json").read_text())
    return results


def test_a_submission_has_its_score(kit: Kit, autograder: Path) -> None:
    results = run(kit, autograder, '#include "first_touch.h"\n')
    assert results["score"] > 0
    assert [test["name"] for test in results["tests"]] == ["correct"]
    results = run(kit, autograder, '#include "first_touch.h"\n/* stand-in: wrong */\n')
    assert results["score"] == 0


def test_what_the_kit_could_not_grade_has_none(kit: Kit, autograder: Path) -> None:
    results = run(kit, autograder, '#include "first_touch.h"\n/* stand-in: kit-error */\n')
    assert "score" not in results and "not graded" in results["output"].lower()


def test_what_is_no_kernel_is_told(kit: Kit, autograder: Path) -> None:
    (autograder / "submission" / "Kernel.txt").write_text("int main(void) {}\n")
    results = run(kit, autograder, None)
    assert results["score"] == 0 and "kernel.c" in results["output"]


def test_scripts_are_programs(kit: Kit) -> None:
    for name in ("setup.sh", "run_autograder"):
        script = kit.root / "grader" / "recipes" / "gradescope" / name
        assert os.access(script, os.X_OK)
        assert script.read_text().startswith("#!/bin/sh\n")
