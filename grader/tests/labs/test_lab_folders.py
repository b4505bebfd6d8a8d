"""What may stand in a lab's folder: what students read, edit or run by hand. All else is the
grader's, and lies in grading/."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from numalab.course.intake.taking import kernels_of
from numalab.installation import GRADING, Installation
from numalab.labs.declaration import Lab
from numalab.labs.variants import DRAWS, labs_with_variants, templates, variant_lab


def names_in(folder: Path) -> set[str]:
    """Of files and folders that git has in a folder of the kit; of a new one, of which it has none
    yet, those that it would add."""
    for which in ((), ("--others", "--exclude-standard")):
        listed = subprocess.run(
            ["git", "ls-files", "-z", *which, "."],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if listed.returncode != 0:
            pytest.skip("this copy has no git")
        if listed.stdout:
            break
    return {Path(name).parts[0] for name in listed.stdout.split("\0") if name}


def allowed_in(folder: Path, lab: Lab) -> set[str]:
    """README.md, the starting code, the contract, files that are handed in, the notebook; programs
    that the text has students build by hand, and launches that it has them look at."""
    text = (folder / "README.md").read_text("utf-8")
    by_hand = {name for name in lab.programs if f"{name} " in text}
    looked_at = {Path(one.slow).parts[0] for one in lab.criteria if one.slow is not None}
    return {
        "README.md", lab.contract, *kernels_of(lab), *(file.name for file in lab.files),
        "explore.ipynb", *by_hand, *looked_at, GRADING,
    }  # fmt: skip


def test_a_lab_shows_what_students_read_edit_and_run(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    for lab in labs.values():
        folder = installation.lab_folder(lab.name)
        assert names_in(folder) - allowed_in(folder, lab) == set(), lab.name
        assert {"lab.toml", "driver.c", "hints.md"} <= names_in(folder / GRADING)


def test_so_does_a_variant(installation: Installation) -> None:
    for name in labs_with_variants(installation.root):
        folder, lab = templates(installation.root, name), variant_lab(installation.root, name)
        shown = names_in(folder) - {DRAWS}  # which no variant has
        assert shown - allowed_in(folder, lab) == set(), name


def test_what_is_the_graders_is_not_allowed_there(
    installation: Installation, first_touch: Lab
) -> None:
    allowed = allowed_in(installation.lab_folder(first_touch.name), first_touch)
    graders = {"lab.toml", "CMakeLists.txt", "driver.c", "phases.c", "test_driver.c", "hints.md"}
    assert not allowed & {*graders, "recorded", "variant", "inputs.h", "questions.toml"}
    assert "alone.c" in allowed
