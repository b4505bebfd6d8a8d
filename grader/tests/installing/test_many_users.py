"""A whole installation, and two users of the system who grade with it at the same time."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import COMMAND_LIMIT_S, numalab_command

from numalab.installation import Installation

pytestmark = [pytest.mark.builds, pytest.mark.slow]

USERS = (64001, 64002)  # of nobody; nobody has to make them
GRADE = ("grade", "01", "--quick", "--here-only", "--lang", "c")


@pytest.fixture(scope="module")
def installed(installation: Installation) -> Iterator[Path]:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can be two other users")
    folder = Path(tempfile.mkdtemp(prefix="numalab-installed-"))
    try:
        folder.chmod(0o755)
        # The kit's own kernels may have been edited by tests beside this one, so not its copy.
        checkout = folder / "checkout"
        subprocess.run(
            ["git", "clone", "--quiet", str(installation.root), str(checkout)], check=True,
            capture_output=True,
        )  # fmt: skip
        (checkout / ".venv").symlink_to(installation.root / ".venv")
        done = numalab_command(
            Installation(checkout, installation.preset), "install", "--prefix", str(folder / "sw"),
            "--without-notebooks",
        )  # fmt: skip
        assert done.code == 0, done.err
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(installed: Path, user: int) -> subprocess.Popen[str]:
    home = installed / str(user)
    home.mkdir()
    os.chown(home, user, user)
    home.chmod(0o755)  # others may look in
    return subprocess.Popen(
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
         str(installed / "sw" / "bin" / "numalab"), *GRADE],
        env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
        cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def test_two_grade_at_the_same_time_and_see_nothing_of_each_other(installed: Path) -> None:
    both = [start(installed, user) for user in USERS]
    said = [one.communicate(timeout=COMMAND_LIMIT_S) for one in both]
    for one, (out, err) in zip(both, said, strict=True):
        assert one.returncode == 1, err  # the handout
        assert "01_first_touch  C  your kernel" in out
        assert "Traceback" not in err
    for user, other in (USERS, USERS[::-1]):
        home = installed / str(user)
        verdicts = list((home / ".local/state/numalab").rglob("verdict.json"))
        assert verdicts, "each has results of her own"
        assert (home / "numalab" / "labs" / "01_first_touch" / "kernel.c").is_file()
        for private in (home / "numalab", home / ".local/state/numalab"):
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
        seen = subprocess.run(
            ["setpriv", f"--reuid={other}", f"--regid={other}", "--clear-groups", "cat",
             *map(str, verdicts)], capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert seen.returncode != 0 and seen.stdout == ""
        assert "Permission denied" in seen.stderr
    written = [p for p in (installed / "sw").rglob("*") if p.lstat().st_uid in USERS]
    assert written == []
