"""Recipes for other systems' autograders, run with a stand-in for the grading itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from support.classroom50 import RESULT, RUNNER, check
from support.commands import environment, without_bubblewrap
from support.deliveries import put

from numalab.installation import Installation

pytestmark = pytest.mark.builds

Json = dict[str, Any]


@pytest.fixture
def autograder(installation: Installation, tmp_path: Path) -> Path:
    """The folder as Gradescope lays it out."""
    folder = tmp_path / "autograder"
    (folder / "source").mkdir(parents=True)
    (folder / "submission").mkdir()
    (folder / "source" / "numalab").symlink_to(installation.root)
    recipe = installation.root / "grader" / "recipes" / "gradescope"
    shutil.copy(recipe / "course.toml", folder / "source" / "course.toml")
    stand_in = installation.root / "grader" / "bench" / "stand_in_grade.sh"
    (folder / "source" / "options").write_text(f"--quick --labs 01 --grading-command {stand_in}\n")
    return folder


def run(installation: Installation, autograder: Path, kernel: str | None, **variables: str) -> Json:
    if kernel is not None:
        (autograder / "submission" / "kernel.c").write_text(kernel)
    done = subprocess.run(
        [installation.root / "grader" / "recipes" / "gradescope" / "run_autograder"],
        env=environment(
            installation, AUTOGRADER=str(autograder), NUMALAB_STAND_IN_S="0", **variables
        ),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results: Json = json.loads((autograder / "results" / "results.json").read_text())
    return results


def test_a_submission_has_its_score(installation: Installation, autograder: Path) -> None:
    results = run(installation, autograder, '#include "first_touch.h"\n')
    assert results["score"] > 0
    assert [test["name"] for test in results["tests"]] == ["correct"]
    results = run(installation, autograder, '#include "first_touch.h"\n/* stand-in: wrong */\n')
    assert results["score"] == 0


def test_what_the_kit_could_not_grade_has_none(
    installation: Installation, autograder: Path
) -> None:
    results = run(installation, autograder, '#include "first_touch.h"\n/* stand-in: kit-error */\n')
    assert "score" not in results and "not graded" in results["output"].lower()


WRITES_ITS_SCORE = """#include "first_touch.h"
#include <stdio.h>
__attribute__((constructor)) static void forge(void)
{
    FILE *file = fopen("%s", "w");
    if (!file) return;
    fputs("forged", file);
    fclose(file);
}
"""


def test_without_a_sandbox_nothing_is_graded(
    installation: Installation, autograder: Path, tmp_path: Path
) -> None:
    """With the real grading: the kernel, run as the grader's user, would leave a file."""
    (autograder / "source" / "options").write_text("--quick --labs 01\n")
    (tmp_path / "bin").mkdir()
    forged = tmp_path / "forged"
    results = run(
        installation,
        autograder,
        WRITES_ITS_SCORE % forged,
        PATH=without_bubblewrap(tmp_path / "bin"),
    )
    assert "score" not in results and "bubblewrap" in results["output"]
    assert not forged.exists()


@pytest.mark.parametrize(
    "name", ["gradescope/run_autograder", "classroom50/autograder.py", "gitlab/.gitlab-ci.yml",
             "github/numalab.yml"]
)  # fmt: skip
def test_recipes_require_a_sandbox(installation: Installation, name: str) -> None:
    recipe = (installation.root / "grader" / "recipes" / name).read_text()
    _, _, command = recipe.partition("--local")
    assert "--require-sandbox" in command[:80]


def test_what_is_no_kernel_is_told(installation: Installation, autograder: Path) -> None:
    (autograder / "submission" / "Kernel.txt").write_text("int main(void) {}\n")
    results = run(installation, autograder, None)
    assert results["score"] == 0 and "kernel.c" in results["output"]


# ---- Classroom 50 ------------------------------------------------------------------------------


def classroom50(
    installation: Installation, tmp_path: Path, kernel: str, name: str = "kernel.c"
) -> tuple[int, str, Path]:
    """As its runner starts an autograder.py; exit code, what was said, and the checkout."""
    checkout = put(tmp_path / "checkout", {name: kernel.encode(), "README.md": b"lab\n"})
    stand_in = installation.root / "grader" / "bench" / "stand_in_grade.sh"
    recipe = installation.root / "grader" / "recipes" / "classroom50" / "autograder.py"
    done = subprocess.run(
        [sys.executable, recipe],
        cwd=checkout,
        env=environment(
            installation, **RUNNER, NUMALAB_KIT=str(installation.root), NUMALAB_STAND_IN_S="0",
            NUMALAB_OPTIONS=f"--quick --labs 01 --grading-command {stand_in}",
            GITHUB_OUTPUT=str(tmp_path / "output"),
        ),
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, checkout


@pytest.mark.parametrize(("word", "is_right"), [("", True), ("/* stand-in: wrong */", False)])
def test_classroom_50_has_a_result(
    installation: Installation, tmp_path: Path, word: str, is_right: bool
) -> None:
    code, said, checkout = classroom50(
        installation, tmp_path, f'#include "first_touch.h"\n{word}\n'
    )
    assert code == 0, said
    result = json.loads((checkout / "result.json").read_text())
    jsonschema.validate(result, RESULT)
    check(result)
    (test,) = result["tests"]
    assert (test["test-name"], test["passed"]) == ("correct", is_right)
    assert result["score"] == (result["max-score"] if is_right else 0)
    body = (checkout / "release-body.md").read_text()
    assert "`correct`: " + ("passed" if is_right else "**not passed**") in body


def test_classroom_50_has_no_score_for_what_failed(
    installation: Installation, tmp_path: Path
) -> None:
    code, said, checkout = classroom50(
        installation, tmp_path, '#include "first_touch.h"\n/* stand-in: kit-error */\n'
    )
    assert code == 3
    assert not (checkout / "result.json").exists()
    assert "no result.json is written" in said


def test_what_is_no_kernel_is_told_in_classroom_50(
    installation: Installation, tmp_path: Path
) -> None:
    code, said, checkout = classroom50(installation, tmp_path, "int main(void) {}\n", "Kernel.txt")
    assert code == 0, said
    result = json.loads((checkout / "result.json").read_text())
    jsonschema.validate(result, RESULT)
    assert result["score"] == 0
    (test,) = result["tests"]
    assert not test["passed"] and "kernel.c" in test["output"]


# ---- GitLab ------------------------------------------------------------------------------------


def script_of(recipe: Path, key: str) -> list[str]:
    """The lines of a list in the one job of a file that has nothing else than such lists."""
    found: list[str] = []
    inside = False
    for line in recipe.read_text().splitlines():
        if inside and (item := re.fullmatch(r"    - (.+)", line)):
            found.append(item[1])
        else:
            inside = line == f"  {key}:"
    return found


def gitlab(installation: Installation, tmp_path: Path, word: str) -> tuple[int, Path]:
    """Runs the job's script and what comes after it, as a runner's shell does, with the kit that
    is here; exit code of the script, and the project's folder."""
    project = put(tmp_path / "project", {"kernel.c": f"/* stand-in: {word} */\n".encode()})
    work = tmp_path / "work"
    work.mkdir()
    (work / "kit").symlink_to(installation.root)
    stand_in = installation.root / "grader" / "bench" / "stand_in_grade.sh"
    environment_ = environment(
        installation,
        CI_PROJECT_DIR=str(project),
        CI_PROJECT_PATH_SLUG="pp26-lab1-ada",
        WORK=str(work),
        GRADE_OPTIONS=f"--quick --labs 01 --grading-command {stand_in}",
        NUMALAB_STAND_IN_S="0",
    )
    recipe = installation.root / "grader" / "recipes" / "gitlab" / ".gitlab-ci.yml"
    codes = []
    for key in ("script", "after_script"):
        lines = script_of(recipe, key)
        assert len(lines) == 4
        done = subprocess.run(
            ["sh", "-ec", "\n".join(lines)],
            cwd=project, env=environment_, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        codes.append(done.returncode)
    assert codes[1] == 0
    return codes[0], project


@pytest.mark.parametrize(
    ("word", "code", "kind"),
    [("none", 0, None), ("wrong", 0, "failure"), ("kit-error", 1, "error")],
)
def test_a_job_of_gitlab(
    installation: Installation, tmp_path: Path, word: str, code: int, kind: str | None
) -> None:
    found, project = gitlab(installation, tmp_path, word)
    assert found == code
    assert (project / "numalab-report" / "index.html").is_file()
    report = ElementTree.parse(project / "numalab.xml").getroot()  # our own
    (case,) = report.iter("testcase")
    assert [child.tag for child in case] == ([kind] if kind else [])


def test_scripts_are_programs(installation: Installation) -> None:
    for name in ("setup.sh", "run_autograder"):
        script = installation.root / "grader" / "recipes" / "gradescope" / name
        assert os.access(script, os.X_OK)
        assert script.read_text().startswith("#!/bin/sh\n")
