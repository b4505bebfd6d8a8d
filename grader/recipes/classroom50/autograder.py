"""Grades a submission with numalab, as an autograder.py of Classroom 50.

Its runner starts this in the student's checkout and reads result.json there. Ended with an error,
the submission has no score, and can be graded again: so it ends where the machine or the kit has
failed. README.md beside tells where this goes and what to change.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Where the kit is installed on a runner of yours; what is not there is cloned and set up.
KIT = Path(os.environ.get("NUMALAB_KIT", "/opt/numalab"))
REPOSITORY = "https://github.com/YOUR-ORGANISATION/numalab"
REF = "v0.2.0"
# For `batch grade`, and how gradings count: of kernels that are just at a limit of time --quick
# decides up to 1 in 20 wrongly.
OPTIONS = os.environ.get("NUMALAB_OPTIONS", "--quick --labs 01").split()
COURSE = "allow_quick = true\n"
# `batch grade` ends so where something could not be graded; what, the export tells.
NOT_ALL_GRADED = 1


def run(command: list[str | Path], work: Path, allowed: tuple[int, ...] = (0,)) -> None:
    """In a folder that is not the student's, without what GitHub gives to steps of a job."""
    kept = ("GITHUB_", "ACTIONS_", "RUNNER_")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(kept) and not name.endswith("_TOKEN")
    }
    code = subprocess.run(command, cwd=work, env=environment, check=False).returncode
    if code not in allowed:
        print(f"::error::{command[0]} {command[1]} ended with exit code {code}", file=sys.stderr)
        sys.exit(code or 1)


def the_kit(work: Path) -> Path:
    """The kit's command, ready."""
    if (KIT / "numalab").is_file():
        return KIT / "numalab"
    folder = work / "kit"
    run(["git", "clone", "--quiet", "--depth", "1", "--branch", REF, REPOSITORY, folder], work)
    run([folder / "numalab", "setup", "--yes"], work)
    # Ubuntu's own runners are thrown away; a runner of yours is left as it is.
    run(["sudo", "sysctl", "-e", "-w", "kernel.apparmor_restrict_unprivileged_userns=0"], work)
    return folder / "numalab"


def body(result: dict[str, Any], said: str) -> str:
    """The text of the submission's release: the grade, and of each test why."""
    lines = [f"### numalab: {result['score'] / 100:g} of {result['max-score'] / 100:g} points", ""]
    for test in result["tests"]:
        mark = "passed" if test["passed"] else "**not passed**"
        lines.append(f"- `{test['test-name'].replace('`', ' ')}`: {mark}")
    return "\n".join([*lines, "", "```", said.replace("```", "'''"), "```", ""])


def main() -> None:
    checkout = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="numalab-") as folder:
        work = Path(folder)
        owner = os.environ.get("OWNER") or "student"
        shutil.copytree(checkout, work / "delivery" / owner, symlinks=True)
        course = work / "course"
        course.mkdir()
        (course / "course.toml").write_text(COURSE)
        numalab = the_kit(work)
        grade: list[str | Path] = [numalab, "batch", "grade", work / "delivery", "--out", course]
        # A kernel that is not kept apart could write its own result.json.
        run([*grade, "--local", "--require-sandbox", *OPTIONS], work, (0, NOT_ALL_GRADED))
        export: list[str | Path] = [numalab, "gradebook", "export", course, "--format"]
        run([*export, "classroom50", "--out", work / "result.json"], work)
        run([*export, "gradescope", "--out", work / "said.json"], work)
        result = json.loads((work / "result.json").read_text(encoding="utf-8"))
        said = json.loads((work / "said.json").read_text(encoding="utf-8"))
        whys = [f"{test['name']}: {test['output']}" for test in said["tests"]]
        text = body(result, "\n".join([said["output"], "", *whys]).strip())
        (checkout / "release-body.md").write_text(text, encoding="utf-8")
        shutil.copyfile(work / "result.json", checkout / "result.json")


if __name__ == "__main__":
    main()
