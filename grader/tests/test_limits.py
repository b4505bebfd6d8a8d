"""Limits that a process may meet without a word: told where one ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.commands import environment, statuses, without_times

from numalab.files import read_json
from numalab.installation import Installation
from numalab.processes.limits import limits_in_force, limits_sentence
from numalab.virtual import guest


def test_a_shells_limits_are_named() -> None:
    program = (
        "from numalab.processes.limits import limits_in_force; print(*limits_in_force(), sep='|')"
    )
    shell = 'ulimit -v 4000000 -f 8000000; ulimit -t 60; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", shell, "sh", sys.executable, "-c", program],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = done.stdout.strip().split("|")
    assert "address space 3.8 GiB (ulimit -v)" in said
    assert "processor time 60 s (ulimit -t)" in said
    assert any(one.startswith("size of a file") for one in said)


def test_a_groups_limit_is_named_with_its_file(tmp_path: Path) -> None:
    """The smallest of all levels."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job/step\n")
    mounts = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(mounts)
    for level, limit in (("job", str(200 << 20)), ("job/step", "max")):
        folder = tmp_path / "sys/fs/cgroup" / level
        folder.mkdir(parents=True)
        (folder / "memory.max").write_text(limit)
    found = [one for one in limits_in_force(tmp_path) if one.startswith("memory")]
    assert found == ["memory 200.0 MiB (/sys/fs/cgroup/job/memory.max)"]
    assert limits_sentence(found).endswith("(/sys/fs/cgroup/job/memory.max).")
    assert limits_sentence([]) == ""


@pytest.mark.parametrize("code", [-9, 1, 0, None])
def test_what_ended_qemu_is_told_with_the_limits(
    code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "limits_in_force", lambda: ["memory 200 MiB (file)"])
    there: Any = SimpleNamespace(process=SimpleNamespace(poll=lambda: code), console=lambda: "")
    said = str(guest.Guest.failure(there, "QEMU ended while nebula was booting."))
    assert ("SIGKILL ended it" in said) == (code == -9)
    assert ("memory 200 MiB (file)" in said) == bool(code)


@pytest.mark.builds
@pytest.mark.slow
def test_too_little_address_space_is_not_the_students(
    installation: Installation, tmp_path: Path
) -> None:
    path = tmp_path / "out.json"
    words = ["grade", "03", "--quick", "--here-only", "--lang", "c", "--solutions", "--json"]
    done = subprocess.run(
        [
            "sh",
            "-c",
            'ulimit -v 4000000; exec "$@"',
            "sh",
            str(installation.root / "numalab"),
            *words,
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=installation.root,
        env=environment(installation, **without_times(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    (result,) = read_json(path)["results"]
    assert statuses(result)["race_free"] == "not_gradable"
    (why,) = [one["why"] for one in result["criteria"] if one["name"] == "race_free"]
    assert "ulimit -v" in why
