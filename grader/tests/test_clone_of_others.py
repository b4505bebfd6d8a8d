"""A clone that another user owns, of which git refuses to read anything by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.harness.build import configure
from numalab.installation import Installation
from numalab.installing.image import examine

LAB, FILE = "01_first_touch", "kernel.c"
NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )


@pytest.fixture
def without_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git has no directory that somebody has called safe."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    monkeypatch.delenv("SUDO_UID", raising=False)


def give_away(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    said = git(root, "status").stderr
    assert "dubious ownership" in said or "unsafe repository" in said, said


def commit(root: Path) -> None:
    """All that is there, by an author of its own."""
    git(root, "init", "-q")
    git(root, "add", "-A")
    done = git(root, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all")
    assert done.returncode == 0, done.stderr


def test_starting_code_is_what_git_has_of_it(
    installation: Installation, tmp_path: Path, without_exceptions: None
) -> None:
    """By the function that configuring calls, alone."""
    root, build = tmp_path / "clone", tmp_path / "build"
    folder = root / "labs" / LAB
    folder.mkdir(parents=True)
    (folder / FILE).write_text("starting code\n")
    commit(root)
    (folder / FILE).write_text("edited\n")
    give_away(root)
    assert examine(root).changed == (f"labs/{LAB}/{FILE}",)
    whole = (installation.root / "common" / "cmake" / "AddLab.cmake").read_text()
    begin = whole.index("function(numalab_keep_handout")
    function = whole[begin : whole.index("endfunction()", begin)] + "endfunction()\n"
    (tmp_path / "keep.cmake").write_text(
        f"{function}numalab_keep_handout({LAB} {FILE} kept)\nmessage(STATUS ${{kept}})\n"
    )
    done = subprocess.run(
        ["cmake", f"-DPROJECT_SOURCE_DIR={root}", f"-DPROJECT_BINARY_DIR={build}",
         "-P", str(tmp_path / "keep.cmake")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (build / "handouts" / LAB / FILE).read_text() == "starting code\n"


@pytest.mark.builds
@pytest.mark.slow
def test_a_clone_of_somebody_else_tells_starting_code_from_edits(
    installation: Installation, tmp_path: Path, without_exceptions: None
) -> None:
    root = tmp_path / "clone"
    ignored = shutil.ignore_patterns("__pycache__", "build", ".venv", ".git")
    shutil.copytree(installation.root, root, symlinks=True, ignore=ignored)
    commit(root)
    kernel = root / "labs" / LAB / FILE
    before = kernel.read_text()
    kernel.write_text(before.replace("void", "/* edited */ void", 1))
    give_away(root)
    (root / ".venv").symlink_to(installation.root / ".venv")
    theirs = Installation(root, installation.preset, tmp_path / "build")
    configure(theirs)
    assert (theirs.pristine_folder(LAB) / FILE).read_text() == before
    done = numalab_command(
        theirs, "grade", "01", "--quick", "--here-only", NUMALAB_BUILD=str(tmp_path / "build")
    )
    assert "Fortran: still the handout, not graded" in done.err, done.err
    assert "01_first_touch  C  your kernel" in done.out
