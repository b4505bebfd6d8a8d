"""However a grading of MPI ranks ends, launcher, monitor and ranks are gone, and what shared
memory they had."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.commands import (
    SOON_LIMIT_S,
    assert_all_gone,
    assert_goes_away,
    command_under_way,
    grade_json,
    processes_of,
    wait_for,
    worker_processes,
)

from numalab.installation import Installation

pytestmark = pytest.mark.builds

LAB = "07_hybrid"


def shared_memory() -> set[Path]:
    """But for what a killed monitor can't remove: LLVM's runtime lists processes there."""
    return {path for path in Path("/dev/shm").iterdir() if "KMP_REGISTERED" not in path.name}


@pytest.fixture(autouse=True)
def nothing_is_left(installation: Installation) -> Iterator[None]:
    before = shared_memory()
    yield
    assert_all_gone(installation)
    assert_goes_away(shared_memory, before)


def submission(installation: Installation, folder: Path, wrong: str) -> Path:
    """A folder to grade: a wrong kernel alone."""
    solution = installation.solution_folder(LAB)
    handed_in = folder / LAB
    handed_in.mkdir()
    (handed_in / "kernel.c").write_bytes((solution / "wrong" / f"{wrong}.c").read_bytes())
    return folder


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("three_wait", "no rank came out of"),
        ("gives_up", "Rank 1 of"),
        ("leaves", "ended the whole program"),
        ("null_in_last_rank", "Rank 1 of 2 crashed"),
    ],
)
def test_a_job_that_does_not_come_to_its_end(
    installation: Installation, tmp_path: Path, wrong: str, says: str
) -> None:
    folder = submission(installation, tmp_path, wrong)
    done, data = grade_json(
        installation,
        tmp_path,
        "07",
        "--quick",
        "--here-only",
        "--lang",
        "c",
        "--submission",
        str(folder),
    )
    assert done.code == 1
    correct = data["results"][0]["criteria"][0]
    assert correct["status"] == "fail"
    assert says in correct["why"]


def memory_of_ranks(installation: Installation) -> list[list[str]]:
    """Of each rank that runs now, the shared memory that it has, as /proc/PID/maps names it."""
    found = []
    for pid in processes_of(installation.worker(LAB, "c", "submission")):
        with contextlib.suppress(OSError):
            maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
            found.append([m for m in maps if "/dev/shm/" in m and "KMP_" not in m])
    return found


def is_stuck(installation: Installation) -> bool:
    """Whether three ranks, of which each waits for another, are past the start of MPI: its files
    in shared memory have no names any more, so that who is killed leaves none behind."""
    memory = memory_of_ranks(installation)
    is_past = all(files and all(m.endswith("(deleted)") for m in files) for files in memory)
    return len(memory) == 3 and is_past


@contextmanager
def in_a_deadlock(installation: Installation, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command whose ranks wait for each other, for longer than a test takes."""
    own = str(submission(installation, folder, "three_wait"))
    with command_under_way(
        installation, "grade", "07", "--lang", "c", "--submission", own
    ) as process:
        wait_for("checking results", process)
        deadline = time.monotonic() + SOON_LIMIT_S
        looks = 0  # in a row; jobs that come to their end take less
        while looks < 10 and time.monotonic() < deadline:
            looks = looks + 1 if is_stuck(installation) else 0
            time.sleep(0.05)
        assert looks == 10
        assert any(name.startswith("mpiexec") for name in worker_processes(installation))
        yield process


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt(installation: Installation, tmp_path: Path, sent: signal.Signals) -> None:
    with in_a_deadlock(installation, tmp_path) as process:
        process.send_signal(sent)
        _, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err


def test_a_killed_command(installation: Installation, tmp_path: Path) -> None:
    with in_a_deadlock(installation, tmp_path) as process:
        process.kill()
        process.communicate(timeout=SOON_LIMIT_S)


def test_a_killed_monitor(installation: Installation, tmp_path: Path) -> None:
    with in_a_deadlock(installation, tmp_path) as process:
        subprocess.run(["pkill", "-KILL", "-f", str(installation.monitor(LAB))], check=True)
        wait_for("once more, since the kit failed", process)  # and its own kernel does well
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 130
