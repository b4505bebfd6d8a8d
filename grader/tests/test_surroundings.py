"""What the shell that calls ./numalab may have set, closed or done: variables of Python, locales,
streams, Ctrl-C before a command has begun."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S, environment

from numalab.installation import Installation


@pytest.fixture(scope="session")
def elsewhere(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the kit in a folder whose name is not ASCII, set up like this one."""
    root = tmp_path_factory.mktemp("copy") / "Übung"
    root.mkdir()
    for name in ("numalab", "CMakePresets.json"):
        shutil.copy(installation.root / name, root)
    for name in ("common", "labs", "solutions"):
        (root / name).symlink_to(installation.root / name)
    shutil.copytree(
        installation.root / "grader", root / "grader",
        ignore=shutil.ignore_patterns("tests", "bench", ".*_cache", "__pycache__"),
    )  # fmt: skip
    ours, theirs = installation.root / ".venv", root / ".venv"
    packages = Path(f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")
    (theirs / packages).mkdir(parents=True)
    shutil.copytree(ours / "bin", theirs / "bin", symlinks=True)
    shutil.copy(ours / "pyvenv.cfg", theirs)
    for path in (ours / packages).iterdir():
        (theirs / packages / path.name).symlink_to(path)
    own = "numalab.pth"
    (theirs / packages / own).unlink()
    shutil.copy(ours / packages / own, theirs / packages / own)
    for path in ours.glob("installed-*"):
        shutil.copy(path, theirs)
    facts = (
        (theirs / "installed-package")
        .read_text()
        .replace(str(installation.root.resolve()), str(root))
    )
    (theirs / "installed-package").write_text(facts)
    return root


@pytest.fixture(scope="session")
def latin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for a locale in ISO-8859-1."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("no localedef with its sources (Debian: locales)")
    command = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(folder / "de_DE")]
    subprocess.run(command, check=True, capture_output=True)
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE"}


def call(
    root: Path,
    installation: Installation,
    *words: str,
    more: str = "",
    cwd: Path | None = None,
    **env: str,
) -> tuple[int, bytes, bytes]:
    """./numalab as a shell calls it. more: redirections. Returns exit code, output, errors."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {more}', str(root / "numalab"), *words], cwd=cwd or root,
        capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=SOON_LIMIT_S,
        env=environment(installation, **env),
    )  # fmt: skip
    assert b"Traceback" not in done.stderr and b"Fatal" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stdout, done.stderr


# ---- Python's variables --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONIOENCODING"])
def test_variables_of_python_change_nothing(
    installation: Installation, tmp_path: Path, name: str
) -> None:
    for module in ("click", "json", "signal"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('another module')\n")
    value = "latin-1" if name == "PYTHONIOENCODING" else str(tmp_path)
    code, out, said = call(
        installation.root, installation, "--version", cwd=tmp_path, **{name: value}
    )
    assert (code, said) == (0, b"") and out.startswith(b"numalab, version")


# ---- locales -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, {"LC_ALL": "xx_YY.UTF-8"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
     {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}],
    ids=lambda env: "-".join(env.values()),
)  # fmt: skip
def test_a_folder_that_the_locale_can_not_spell(
    installation: Installation, elsewhere: Path, env: dict[str, str]
) -> None:
    code, out, _ = call(elsewhere, installation, "progress", **env)
    assert code == 0 and b"01_first_touch" in out
    code, _, said = call(elsewhere, installation, "launch", "Öde.toml", "--", "true", **env)
    assert code == 2 and "Öde.toml" in said.decode()


def test_a_terminal_in_latin_1(
    installation: Installation, elsewhere: Path, latin: dict[str, str]
) -> None:
    """It gets its own encoding, and "?" for what that does not have."""
    code, _, said = call(elsewhere, installation, "launch", "Öde….toml", "--", "true", **latin)
    assert code == 2 and "Öde?.toml".encode("latin-1") in said
    code, out, _ = call(elsewhere, installation, "progress", **latin)
    assert code == 0 and b"01_first_touch" in out


# ---- streams -------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_are_silent(installation: Installation, closed: str) -> None:
    code, out, said = call(installation.root, installation, "progress", more=closed)
    assert code == 0 and said == b""
    assert (out == b"") == ("1>&-" in closed)
    code, _, said = call(
        installation.root, installation, "launch", "no.toml", "--", "true", more=closed
    )
    assert code == 2 and (said == b"") == ("2>&-" in closed)


# ---- Ctrl-C --------------------------------------------------------------------------------


def test_interrupted_before_the_command_has_begun(installation: Installation) -> None:
    """In the launcher, while Python starts, in imports and in the command: no traceback, and the
    exit code of any interrupt. Until the launcher's first line the system's own."""
    codes = set()
    for number in range(25):
        with subprocess.Popen(
            [str(installation.root / "numalab"), "progress"],
            env=environment(installation),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            time.sleep(0.01 * number)
            os.killpg(process.pid, signal.SIGINT)
            said = process.communicate(timeout=SOON_LIMIT_S)[1].lstrip("\n")
        assert said in ("", "numalab: interrupted\n")
        assert said == "" or process.returncode == 130
        codes.add(process.returncode)
    assert 130 in codes and codes <= {130, 0, -signal.SIGINT}


def test_interrupted_where_python_drops_exceptions() -> None:
    """In a destructor, as in the callback of an import's lock: the command ends all the same."""
    program = """
import signal, time
from numalab.commands import root

class Dropped:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def command(**_):
    Dropped()
    time.sleep(60)

root.cli.main = command
root.main()
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=SOON_LIMIT_S
    )
    assert (run.returncode, run.stderr) == (130, "numalab: interrupted\n")
