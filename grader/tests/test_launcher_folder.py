"""What the launcher finds amiss with the folder that it lies in, before it does anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from numalab.harness.build_folder import UNUSABLE
from numalab.installation import find_installation

ROOT = find_installation("gnu").root


def make_copy(root: Path) -> Path:
    """Of the launcher, with stand-ins of a Python that is set up and of a lab."""
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "python $*"\n')
    python.chmod(0o755)
    (root / "grader").mkdir()
    for path in (ROOT / "grader/pyproject.toml", *(ROOT / "grader").glob("requirements*.txt")):
        shutil.copy(path, root / "grader")
    shutil.copy(ROOT / "grader/requirements.txt", root / ".venv/installed-requirements")
    shutil.copy(ROOT / "numalab", root)
    shutil.copytree(ROOT / "common/setup", root / "common/setup")
    (root / "labs/01/grading").mkdir(parents=True)
    for name in ("CMakeLists.txt", "labs/01/grading/lab.toml", "labs/01/kernel.c", "labs/01/x.h"):
        (root / name).touch()
    return root


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", root / "numalab", *(words or ("doctor",))], text=True, capture_output=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", [f"a{character}b" for character in UNUSABLE + ":"] + ["a\n"])
def test_a_path_that_nothing_can_be_built_in_is_refused(tmp_path: Path, name: str) -> None:
    """By its real name, whatever the link is called."""
    root = make_copy(tmp_path / name)
    (tmp_path / "link").symlink_to(root)
    for way in (root, tmp_path / "link"):
        done = run(way)
        assert done.returncode == 3 and done.stdout == ""
        assert "Rename that folder" in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run(
        ["sh", "./numalab", "doctor"], cwd=root, text=True, capture_output=True, check=False
    )
    assert done.returncode == 3 and "Rename that folder" in done.stderr


@pytest.mark.parametrize("name", ["a b", "Übung 1, (b) & 'c' %d", "a`b", "a!b^c", "a*b?", "{a}~@="])
def test_another_path_is_taken_whether_or_not_files_can_be_executed(
    tmp_path: Path, name: str
) -> None:
    root = make_copy(tmp_path / name)
    for path in (root / "numalab", *(root / "common/setup").iterdir()):
        path.chmod(0o644)
    done = run(root)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.splitlines()[-1] == "python -m numalab doctor"
    assert not list(root.glob(".runs*")) and not list(root.glob(".now*"))


@pytest.mark.parametrize(
    ("name", "is_told"),
    [("labs/01/grading/lab.toml", True), ("labs/01/x.h", True), ("labs/01/kernel.c", False)],
)
def test_files_from_the_future_are_named_with_a_command(
    tmp_path: Path, name: str, is_told: bool
) -> None:
    """But those that a student edits, which hold nothing up."""
    root = make_copy(tmp_path / "it's a kit")
    tomorrow = time.time() + 86400
    os.utime(root / name, (tomorrow, tomorrow))
    done = run(root)
    assert done.returncode == (3 if is_told else 0), done.stderr
    if is_told:
        assert f"{name} was changed in the future" in done.stderr
        command = done.stderr.splitlines()[-1]
        subprocess.run(["sh", "-c", command], check=True)
        assert run(root).returncode == 0


def test_where_no_program_can_be_run_nothing_is_installed(tmp_path: Path) -> None:
    """As on a file system of Windows, which takes a change of permissions and does nothing."""
    root = make_copy(tmp_path / "kit")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "chmod").write_text("#!/bin/sh\n")
    (tools / "chmod").chmod(0o755)
    done = subprocess.run(
        ["sh", root / "numalab", "setup"], text=True, capture_output=True, check=False,
        stdin=subprocess.DEVNULL, env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 3 and "programs can't be run in" in done.stderr
    assert "home folder" in done.stderr


def test_a_clone_by_git_for_windows_has_line_ends_that_a_shell_reads(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this copy has no git")
    repository, clone = tmp_path / "repository", tmp_path / "clone"
    shutil.copytree(ROOT / "common/setup", repository / "common/setup")
    for name in ("numalab", ".gitattributes"):
        shutil.copy(ROOT / name, repository)
    own = ["-c", "user.name=numalab", "-c", "user.email=numalab@localhost"]
    for words in (["init", "-q"], ["add", "."], [*own, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    windows = ["git", "-c", "core.autocrlf=true", "clone", "-q", repository, clone]
    subprocess.run(windows, check=True)
    texts = [path.read_bytes() for path in (clone / "numalab", *(clone / "common/setup").iterdir())]
    assert len(texts) > 4 and not any(b"\r" in text for text in texts)
