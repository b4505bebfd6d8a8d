"""The launcher: what it installs, what it asks, and which words are its own. Its Python and apt are
stand-ins that write down how they were called."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.no_locks import no_locks

from numalab.installation import find_installation

ROOT = find_installation("gnu").root
NOBODY = 64001  # a user whom nobody has to make
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
    assert "pip install" in package and f"--editable {copy.root}/grader --target" in package
    assert "ipykernel install" in kernel and kernel.endswith(
        "--name numalab --display-name numalab"
    )
    assert command == "python -m numalab doctor"
    done = copy.run("doctor")
    assert copy.called() == [command]
    assert done.stdout == done.stderr == ""
    moved = copy.root.rename(copy.root.parent / "elsewhere")
    assert copy.run("doctor", root=moved).returncode == 0
    assert f"--editable {moved}/grader --target" in copy.called()[0]


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


def test_without_file_locks_set_up_goes_on_and_says_so(
    copy: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in no_locks(tmp_path, "flock").items():
        monkeypatch.setenv(name, value)
    done = copy.run("doctor")
    assert done.returncode == 0, done.stderr
    assert "has no file locks" in done.stderr and "another numalab" not in done.stderr
    assert "python -m numalab doctor" in copy.called()


def test_a_link_to_the_kit_is_the_kit(copy: Copy) -> None:
    """Called by another path it is installed as before, and installed nowhere else."""
    link = copy.root.parent / "linked"
    link.symlink_to(copy.root)
    assert copy.run("doctor", root=link).returncode == 0
    package, kernel, _ = copy.called()
    assert f"--editable {copy.root}/grader --target" in package
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


# ---- its own folder --------------------------------------------------------------------


only_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user"
)


def give_to_nobody(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def as_nobody(copy: Copy, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """As another user than root."""
    for folder in copy.root.parents:
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(0o755)
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
         str(copy.root / "numalab"), *words],
        env={"PATH": os.defpath, "HOME": str(copy.root.parent)} | more, text=True,
        capture_output=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


@only_root
@pytest.mark.parametrize(
    ("theirs", "owned"),
    [
        ("my kit/.venv", "my kit"),
        ("my kit/build/gnu/results/01_first_touch", "my kit"),
        ("my kit/build/gnu/submissions/01_first_touch/kernel.c", "my kit"),
        (".cache/numalab/.host-1.json", ".cache/numalab"),
        (".local/state/numalab", ".local/state/numalab"),
    ],
)
@pytest.mark.parametrize("word", ["grade", "setup", "doctor"])
def test_files_of_root_are_named_with_the_command_that_takes_them_back(
    copy: Copy, theirs: str, owned: str, word: str
) -> None:
    home = copy.root.parent
    path = home / theirs
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    give_to_nobody(home)
    os.chown(path, 0, 0)
    done = as_nobody(copy, word)
    assert done.returncode == 3
    assert f"{path} belongs to root" in done.stderr
    assert f"sudo chown -R \"$(id -un)\" '{home / owned}'" in done.stderr
    assert copy.called() == []


@only_root
def test_what_belongs_to_the_user_is_no_fault(copy: Copy) -> None:
    copy.log.touch()
    give_to_nobody(copy.root.parent)
    done = as_nobody(copy, "doctor")
    assert done.returncode == 0, done.stderr
    assert copy.called()[-1] == "python -m numalab doctor"


@pytest.mark.parametrize("character", '[]$;#"\\|:\n\r')
def test_a_path_that_nothing_can_be_built_in_is_refused(copy: Copy, character: str) -> None:
    moved = copy.root.rename(copy.root.parent / f"a{character}b")
    done = copy.run("setup", root=moved)
    assert done.returncode == 3 and copy.called() == []
    assert "its path has one of the characters" in done.stderr
    assert "Rename that folder, or move numalab" in done.stderr


def test_files_from_the_future_are_named_before_anything_is_built(copy: Copy) -> None:
    lists = copy.root / "CMakeLists.txt"
    lists.touch()
    assert copy.run("doctor").returncode == 0
    copy.called()
    os.utime(lists, (time.time() + 86400,) * 2)
    done = copy.run("doctor")
    assert done.returncode == 3 and copy.called() == []
    assert "CMakeLists.txt was changed in the future" in done.stderr
    command = done.stderr.split("times:\n")[1]
    subprocess.run(["sh", "-c", command], check=True)
    assert copy.run("doctor").returncode == 0


@pytest.mark.parametrize(
    ("program", "says"),
    [("ln", "has no symbolic links"), ("chmod", "has no execute permissions")],
)
def test_a_file_system_without_links_or_modes_is_told_before_anything_is_installed(
    copy: Copy, program: str, says: str
) -> None:
    """As on a folder of Windows, where these fail."""
    refusing = copy.root.parent / "bin" / program
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    path = f"{refusing.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(copy.root / "numalab"), "setup"], env=os.environ | {"PATH": path}, text=True,
        capture_output=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 3 and copy.called() == []
    assert says in done.stderr and "cd ~" in done.stderr
    assert not list(copy.root.glob(".runs*"))


def test_nothing_steers_pip_away_from_the_virtual_environment(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = copy.root / ".venv/bin/python"
    python.write_text(python.read_text() + f'env | grep "^PIP_" >>"{copy.log}"\nexit 0\n')
    for name, value in (("USER", "1"), ("TARGET", "/nowhere"), ("NO_INDEX", "1")):
        monkeypatch.setenv(f"PIP_{name}", value)
    assert copy.run("doctor").returncode == 0
    called = copy.called()
    assert "pip install" in called[0]
    command = called.index("python -m numalab doctor")
    kernel = next(i for i, line in enumerate(called) if "ipykernel install" in line)
    installing, users = called[1:kernel], called[command:]
    assert {"PIP_NO_INDEX=1", "PIP_USER=0"} <= set(installing)
    assert not {"PIP_USER=1", "PIP_TARGET=/nowhere"} & set(installing)
    # The user's programs get what the user set.
    assert {"PIP_USER=1", "PIP_TARGET=/nowhere"} <= set(users)


def test_no_file_of_pip_steers_it_away_from_the_virtual_environment(tmp_path: Path) -> None:
    """A real pip, and a package that one of its files sends elsewhere. What else such a file says
    holds: that packages lie in a folder."""
    wheels, venv, elsewhere = tmp_path / "wheels", tmp_path / ".venv", tmp_path / "elsewhere"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "some_package-1-py3-none-any.whl", "w") as wheel:
        info = "some_package-1.dist-info"
        wheel.writestr("some_package.py", "")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: some-package\nVersion: 1\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        wheel.writestr(f"{info}/RECORD", "")
    (tmp_path / "pip.conf").write_text(
        f"[global]\npython = /usr/bin/python3\nno-index = true\nfind-links = {wheels}\n[install]\n"
        f"target = {elsewhere}\nprefix = {elsewhere}\nroot = {elsewhere}\nuser = true\n"
        "dry-run = true\nrequire-hashes = true\n"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    script = (ROOT / "numalab").read_text()
    function = script[script.index("run_pip() (") :].split("\n)\n")[0] + "\n)\n"
    command = f'{function}venv=$1; run_pip "$2" -m pip install --quiet some-package'
    subprocess.run(
        ["sh", "-ec", command, "sh", str(venv), sys.executable], check=True, cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
        | {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")},
    )  # fmt: skip
    done = subprocess.run(
        [venv / "bin/python", "-c", "import some_package as p; print(p.__file__)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(venv)
    assert not elsewhere.exists()


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
