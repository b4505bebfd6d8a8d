"""The labs' programs that have nothing of the kit in them: they are built as their texts say, and
what `dealt` shows is so."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S

from numalab.harness.kernel_texts import misnamed_kernels
from numalab.installation import Installation
from numalab.labs.declaration import Lab

ALONE = ("00_know_your_node", "01_first_touch", "04_huge_pages")
STRICT = ("-std=c11", "-O2", "-fopenmp", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
ROW = re.compile(r"(\S+) +own +(\d+) % +kept +(\d+) % +\d+\.\d ns")


def build(compiler: str, *sources: Path, to: Path) -> None:
    command = [compiler, *STRICT, *map(str, sources), "-o", str(to)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_file_of_the_kit_is_taken_for_a_misnamed_kernel(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    for lab in labs.values():
        folder = installation.lab_folder(lab.name)
        beside = [misnamed_kernels(folder, one, lab.programs) for one in lab.languages]
        assert not any(beside), (lab.name, beside)


@pytest.mark.builds
@pytest.mark.parametrize("lab", ALONE)
def test_a_program_of_its_own_takes_handout_and_solution(
    installation: Installation, tmp_path: Path, lab: str
) -> None:
    for kernel in (
        installation.lab_folder(lab) / "kernel.c",
        installation.solution_folder(lab) / "kernel.c",
    ):
        alone = installation.lab_folder(lab) / "alone.c"
        include = f"-I{installation.lab_folder(lab)}"
        command = ["gcc", *STRICT, include, str(alone), str(kernel), "-o", str(tmp_path / "alone")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "gcc -O2" in (installation.lab_folder(lab) / "README.md").read_text()


@pytest.mark.builds
@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang-19", marks=pytest.mark.slow)])
def test_dealt_shows_who_gets_what(
    installation: Installation, tmp_path: Path, compiler: str
) -> None:
    """Whose dynamic it is only static promises; the other shares are shares, whatever the node
    does meanwhile."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    build(compiler, installation.lab_folder("03_scheduling") / "dealt.c", to=tmp_path / "dealt")
    done = subprocess.run(
        [tmp_path / "dealt"], env={"OMP_NUM_THREADS": "2"}, capture_output=True, text=True,
        check=True, timeout=SOON_LIMIT_S,
    )  # fmt: skip
    rows = {name: (int(own), int(kept)) for name, own, kept in ROW.findall(done.stdout)}
    assert list(rows) == [
        "static", "dynamic", "monotonic:dynamic", "nonmonotonic:dynamic", "dynamic,512", "guided",
    ]  # fmt: skip
    assert rows["static"] == (100, 100)
    assert all(0 <= share <= 100 for shares in rows.values() for share in shares)


@pytest.mark.builds
def test_distance_takes_each_distance_once(installation: Installation, tmp_path: Path) -> None:
    build(
        "gcc", installation.lab_folder("10_false_sharing") / "distance.c", to=tmp_path / "distance"
    )
    done = subprocess.run(
        [tmp_path / "distance"], env={"OMP_NUM_THREADS": "3"}, capture_output=True, text=True,
        check=True, timeout=SOON_LIMIT_S,
    )  # fmt: skip
    assert done.stdout.startswith("3 threads, ")
    rows = re.findall(r"^ *(\d+) bytes apart +(\d+\.\d\d) ns$", done.stdout, re.MULTILINE)
    assert [int(apart) for apart, _ in rows] == [8, 16, 32, 64, 128, 256]
    assert all(float(ns) > 0 for _, ns in rows)
