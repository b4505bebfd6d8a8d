"""Which file of a hand-in is read as the one that is asked for: as intake chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalab.grading.file_choice import choose_file, is_starting_code, taken_words
from numalab.installation import Installation
from numalab.labs.declaration import Lab

MINE, OTHER = "int mine;\n", "int other;\n"
GIVEN = "given"  # the starting code

CASES: list[tuple[str, dict[str, str], str]] = [
    ("kernel.c", {"kernel.c": MINE}, "kernel.c"),
    ("kernel.c", {"kernel (1).c": MINE}, "kernel (1).c"),
    ("kernel.c", {"KERNEL.C": MINE, "notes.txt": ""}, "KERNEL.C"),
    ("kernel.c", {"kernel\u00a0(2).c": MINE}, "kernel\u00a0(2).c"),
    ("kernel.c", {"kernel - Kopie.c": MINE, "kernel (1).c": MINE}, "kernel (1).c"),
    ("kernel.c", {"kernel.c": GIVEN, "kernel (1).c": MINE}, "kernel (1).c"),
    ("kernel.c", {"kernel.c": MINE, "kernel (1).c": GIVEN}, "kernel.c"),
    ("kernel.c", {"kernel.c": MINE, "kernel (1).c": OTHER}, "kernel.c"),
    ("kernel.c", {"kernel (1).c": MINE, "kernel (2).c": OTHER}, "kernel.c"),  # nobody can tell
    ("kernel.c", {"kernel.cpp": MINE, "solution.c": MINE}, "kernel.c"),
    ("kernel.f90", {"kernel.F90": MINE}, "kernel.F90"),
    ("kernel.f90", {"Kernel.f95": MINE}, "Kernel.f95"),
    ("kernel.f90", {"kernel.f": MINE, "KERNEL.F": MINE}, "kernel.f90"),  # fixed form
]


@pytest.mark.parametrize(("asked", "files", "expected"), CASES)
def test_the_file_that_is_meant(
    installation: Installation,
    first_touch: Lab,
    tmp_path: Path,
    asked: str,
    files: dict[str, str],
    expected: str,
) -> None:
    given = (installation.lab_folder(first_touch.name) / asked).read_text()
    for name, text in files.items():
        (tmp_path / name).write_text(given if text == GIVEN else text)
    assert choose_file(installation, first_touch, tmp_path, asked).name == expected
    language = "c" if asked == "kernel.c" else "fortran"
    told = " ".join(taken_words(installation, first_touch, language, tmp_path))
    assert (" is taken as " in told) == (expected != asked)


def test_starting_code_by_another_name_is_starting_code(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    given = (installation.lab_folder(first_touch.name) / "kernel.c").read_bytes()
    (tmp_path / "kernel (1).c").write_bytes(given)
    assert is_starting_code(installation, first_touch, "c", tmp_path)
    (tmp_path / "kernel (1).c").write_bytes(given + b"int x;\n")
    assert not is_starting_code(installation, first_touch, "c", tmp_path)


def test_a_link_is_not_read_in_place_of_a_file(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_text(MINE)
    (tmp_path / "KERNEL.C").symlink_to(tmp_path / "elsewhere")
    assert choose_file(installation, first_touch, tmp_path, "kernel.c").name == "kernel.c"
    (tmp_path / "kernel.c").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "kernel (1).c").write_text(MINE)
    assert (
        choose_file(installation, first_touch, tmp_path, "kernel.c").name == "kernel.c"
    )  # is refused
