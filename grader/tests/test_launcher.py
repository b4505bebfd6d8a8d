"""The launcher: what it installs, what it asks, and which words are its own. Its Python and apt are
stand-ins that write down how they were called."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from numalab.kit import find_kit

ROOT = find_kit("gnu").root
STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >>"{log}"\n'
TOOLS = (
    "basename", "cat", "cmp", "cp", "date", "dirname", "env", "id", "mktemp", "rm", "sed", "sh",
    "tail", "uname",
)  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """Of the kit, as far as the launcher looks at it, with all Python packages installed but its
    own."""

    root: Path
    log: Path

    def called(self) -> list[str]:
        """The stand-ins since the last look: their names and arguments."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def run(self, *words: str, root: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str((root or self.root) / "numalab"), *words], text=True, capture_output=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip


def make_stand_in(path: Path, log: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STAND_IN.format(log=log))
    path.chmod(0o755)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    root, log = tmp_path / "my kit", tmp_path / "log"
    make_stand_in(root / ".venv/bin/python", log)
    (root / "grader").mkdir()
    for path in (ROOT / "grader/pyproject.toml", *(ROOT / "grader").glob("requirements*.txt")):
        shutil.copy(path, root / "grader")
    shutil.copy(ROOT / "grader/requirements.txt", root / ".venv/installed-requirements")
    shutil.copy(ROOT / "numalab", root)
    shutil.copytree(ROOT / "common/setup", root / "common/setup")
    return Copy(root, log)


# ---- the package -----------------------------------------------------------------------


def test_the_package_is_installed_once_and_again_where_the_kit_was_moved(copy: Copy) -> None:
    assert copy.run("doctor").returncode == 0
    package, kernel, command = copy.called()
    assert "pip install" in package and package.endswith(f"--editable {copy.root}/grader")
    assert "ipykernel install" in kernel and kernel.endswith(
        "--name numalab --display-name numalab"
    )
    assert command == "python -m numalab doctor"
    done = copy.run("doctor")
    assert copy.called() == [command]
    assert done.stdout == done.stderr == ""
    moved = copy.root.rename(copy.root.parent / "elsewhere")
    assert copy.run("doctor", root=moved).returncode == 0
    assert copy.called()[0].endswith(f"--editable {moved}/grader")


def test_two_at_once_install_once(copy: Copy) -> None:
    """The second waits for the first, and finds everything there."""
    python = copy.root / ".venv/bin/python"
    python.write_text(python.read_text() + 'case "$*" in *"pip install"*) sleep 1 ;; esac\n')
    command = [str(copy.root / "numalab"), "doctor"]
    both = [
        subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [one.communicate(timeout=60)[1] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    called = copy.called()
    assert sum("pip install" in line for line in called) == 1
    assert called.count("python -m numalab doctor") == 2
    assert sum("another numalab is installing" in words for words in said) == 1


def test_a_link_to_the_kit_is_the_kit(copy: Copy) -> None:
    """Called by another path it is installed as before, and installed nowhere else."""
    link = copy.root.parent / "linked"
    link.symlink_to(copy.root)
    assert copy.run("doctor", root=link).returncode == 0
    package, kernel, _ = copy.called()
    assert package.endswith(f"--editable {copy.root}/grader")
    assert f"--prefix {copy.root}/.venv " in kernel
    copy.run("doctor")
    copy.run("doctor", root=link)
    assert copy.called() == ["python -m numalab doctor"] * 2


def test_the_packages_of_another_copy_stay_its_own(copy: Copy) -> None:
    copy.run("doctor")
    copy.called()
    other = copy.root.parent / "other"
    shutil.copytree(copy.root, other, ignore=shutil.ignore_patterns(".venv"))
    (other / ".venv").symlink_to(copy.root / ".venv")
    copy.run("doctor", root=other)
    assert copy.called() == ["python -m numalab doctor"]


def test_python_finds_the_package_from_any_folder(tmp_path: Path) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMALAB"))}
    program = "import numalab; print(numalab.lab('01').handout('c'))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=kept, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.startswith("/* Lab 01")


def test_what_the_package_needs_is_pinned() -> None:
    pins = {
        line.split("==")[0].lower()
        for line in (ROOT / "grader/requirements.txt").read_text().splitlines()
        if "==" in line
    }
    project = tomllib.loads((ROOT / "grader/pyproject.toml").read_text())
    assert set(project["project"]["dependencies"]) <= pins
    for path in (ROOT / "grader").glob("requirements*.txt"):
        lines = path.read_text().splitlines()
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            is_pin = re.fullmatch(r"[A-Za-z0-9._-]+==[0-9a-z.]+ \\", line)
            is_hash = re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)
            assert is_pin or is_hash or line.startswith("#"), line
            # What has hashes below it goes on there, and the last of them ends it.
            assert line.endswith("\\") is after.startswith("    --hash="), line
    (backend,) = project["build-system"]["requires"]
    assert backend.split(">=")[0] in pins


# ---- words -----------------------------------------------------------------------------


def asked(copy: Copy, *words: str) -> tuple[int, str]:
    """The exit code and what was said at a terminal where nothing is installed, and whose user
    answers every question with no."""
    tools = copy.root.parent / "bin"
    tools.mkdir(exist_ok=True)
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (tools / name).unlink(missing_ok=True)
        (tools / name).symlink_to(found)
    for name in ("apt-get", "apt-cache", "sudo"):
        make_stand_in(tools / name, copy.log)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(copy.root / "numalab"), *words], env={"PATH": str(tools)}, stdin=theirs,
        stdout=subprocess.DEVNULL, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(ours, b"n\n")
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # how Linux tells that nobody is left at the other end
            pass
    os.close(ours)
    return process.returncode, said.decode()


@pytest.mark.parametrize(
    "words",
    [
        ("launch", "launch.toml", "--", "./prog", "--yes"),
        ("machine", "run", "hydra", "--", "apt-get", "install", "--yes", "x"),
    ],
)
def test_a_programs_yes_answers_no_question_of_the_launcher(
    copy: Copy, words: tuple[str, ...]
) -> None:
    code, said = asked(copy, *words)
    assert code == 3
    assert "install these packages now?" in said
    assert "nothing was installed" in said
    assert copy.called() == []


def test_the_launchers_own_yes_does(copy: Copy) -> None:
    code, said = asked(copy, "launch", "launch.toml", "--yes", "--", "./prog")
    assert code == 0
    assert "install these packages now?" not in said
    called = copy.called()
    # As root, or through the stand-in of sudo.
    assert any("install -y" in line for line in called)
    assert called[-1] == "python -m numalab launch launch.toml --yes -- ./prog"


@pytest.mark.parametrize("without", [[], ["--without-virtual-nodes"]])
def test_packages_only_ends_with_them(copy: Copy, without: list[str]) -> None:
    """The stand-in of apt installs nothing, which is told."""
    code, said = asked(copy, "setup", "--packages-only", "--yes", *without)
    assert code == 3 and "still missing (Debian's names): gcc gfortran" in said
    called = copy.called()
    assert not any(line.startswith("python") for line in called)
    (installed,) = [line for line in called if "install -y" in line]
    assert ("qemu-system-x86" in installed) == (not without and os.uname().machine == "x86_64")
    # Only of set-up: another command's word of that name is its own.
    code, _ = asked(copy, "doctor", "--packages-only", "--yes")
    assert code == 0 and copy.called()[-1] == "python -m numalab doctor --packages-only --yes"


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("test",), ["notebook", "test"]),
        (("notebook", "01"), ["notebook"]),
        (("--preset", "llvm", "test"), ["notebook", "test"]),
        (("test", "--", "-h"), ["notebook", "test"]),
        (("test", "-h"), []),
        (("--help", "notebook"), []),
        (("launch", "test", "--", "./prog"), []),
        (("--", "test"), []),
        (("setup",), []),
        (("setup", "--notebooks"), ["notebook"]),
    ],
)
def test_what_few_commands_need_is_installed_for_them(
    copy: Copy, words: tuple[str, ...], files: list[str]
) -> None:
    copy.run(*words)
    called = copy.called()
    installed = re.findall(r"requirements-(\w+)\.txt", " ".join(called))
    assert installed == files
    assert all("--require-hashes" in call for call in called if "requirements" in call)
    assert called[-1] == f"python -m numalab {' '.join(words)}"
