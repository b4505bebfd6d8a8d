"""Jobs that are processes of one machine, and of their command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.golden_texts import raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import local, runs
from numalab.course.jobs.engine import ChunkState
from numalab.course.jobs.local import ENDS_WITH_PARENT, Local
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.records import GradingTarget
from numalab.errors import UserError
from numalab.grading.node_lock import VARIABLE as TURNS
from numalab.installation import Installation

TASK = GradingTask(GradingTarget("ada", "01_first_touch", "d" * 64, "k" * 64, "quick"), 1, ("c",))


def run_of(*chunks: Sequence[GradingTask], **changes: Any) -> BatchRun:
    at, made = "2026-11-22T08:00:00+00:00", tuple(tuple(chunk) for chunk in chunks)
    run = BatchRun(
        "20261122T080000-abcdef", "local", at, GradingOptions("quick"), SlurmOptions(), made
    )
    return replace(run, **changes)


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


class Process:
    """One that is ended by its number in a list, and waits for it."""

    def __init__(self, is_deaf: bool = False) -> None:
        self.code: int | None = None
        self.is_deaf = is_deaf
        self.remarks: list[str] = []

    def poll(self) -> int | None:
        return self.code

    def terminate(self) -> None:
        self.remarks.append("terminate")

    def kill(self) -> None:
        self.remarks.append("kill")

    def wait(self, limit_s: float | None = None) -> None:
        self.remarks.append(f"wait {limit_s}")
        if self.is_deaf and limit_s is not None:
            raise subprocess.TimeoutExpired("x", limit_s)


class Started:
    """Stands for processes.starting.start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[list[str], dict[str, str]]] = []
        self.options: list[dict[str, Any]] = []
        self.made: list[Process] = []
        self.removals = 0
        monkeypatch.setattr(local.starting, "start", self)
        monkeypatch.setattr(local, "remove_stale_workdirs", self.remove)

    def __call__(self, command: Sequence[str], env: dict[str, str], **options: Any) -> Process:
        self.asked.append((list(command), env))
        self.options.append(options)
        self.made.append(Process())
        return self.made[-1]

    def remove(self) -> None:
        self.removals += 1


def phases(engine: Local, run: BatchRun) -> list[str]:
    seen = engine.poll([run])
    assert seen is not None and list(seen) == [run.id]
    return [seen[run.id][n].phase for n in range(len(run.chunks))]


def test_jobs_of_one_machine(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    run = run_of([TASK], [TASK], [TASK])
    folder = runs.write_run(course, run)
    engine = Local(course, installation, 2)
    engine.submit(run)
    assert runs.noted_job(course, run) == f"process {os.getpid()}"
    assert [command for command, _ in started.asked] == [
        [*ENDS_WITH_PARENT, sys.executable, "-m", "numalab.course.jobs.node", installation.preset,
         str(course.root.absolute()), run.id, str(number)]
        for number in (0, 1)
    ]  # fmt: skip
    wanted = {"NUMALAB_ROOT": str(installation.root), "PYTHONDONTWRITEBYTECODE": "",
              TURNS: str(folder / "turns")}  # fmt: skip
    assert all(wanted.items() <= env.items() for _, env in started.asked)
    assert started.options[0]["start_new_session"] is True
    assert started.options[0]["stdin"] == subprocess.DEVNULL
    assert started.options[0]["stdout"] is started.options[0]["stderr"]
    assert sorted(path.name for path in (folder / "logs").iterdir()) == ["0.txt", "1.txt"]
    assert phases(engine, run) == ["running", "running", "waiting"] and not started.removals
    started.made[0].code = 3
    assert phases(engine, run) == ["over", "running", "running"] and started.removals == 1
    seen = engine.poll([run])
    why = f"the process ended with code 3; {folder / 'logs' / '0.txt'} tells why"
    assert seen is not None and seen[run.id][0] == ChunkState("over", "lost", why)
    started.made[1].code = 0
    assert phases(engine, run) == ["over", "over", "running"] and len(started.made) == 3


def test_alone_a_job_takes_no_turns(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    first, second = run_of([TASK], [TASK]), run_of([TASK], id="z")
    engine = Local(course, installation, 1)
    for run in (first, second):
        runs.write_run(course, run)
        engine.submit(run)
    ((_, env),) = started.asked
    assert env.get(TURNS) != str(course.run(first.id) / "turns")
    runs.end(course, first, "done")  # nobody waits for the second job of it
    started.made[0].code = 0
    assert phases(engine, second) == ["running"]
    assert started.asked[1][0][-2:] == ["z", "0"] and len(started.asked) == 2


def test_jobs_are_cancelled_by_their_run(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    first, second = run_of([TASK], [TASK]), run_of([TASK], [TASK], id="z")
    engine = Local(course, installation, 3)
    for run in (first, second):
        runs.write_run(course, run)
        engine.submit(run)
    assert len(started.made) == 3
    engine.cancel(second)
    assert [one.remarks for one in started.made] == [[], [], ["terminate", "wait 60"]]
    assert started.removals == 1
    for one in started.made:
        one.code = 0
    assert phases(engine, second) == ["over", "waiting"] and len(started.made) == 3
    before = started.removals
    engine.cancel(second)
    assert started.removals == before  # nothing of it was left


def test_a_command_ends_with_its_jobs(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Started(monkeypatch)
    run = run_of([TASK], [TASK], [TASK])
    runs.write_run(course, run)
    engine = Local(course, installation, 2)
    engine.submit(run)
    started.made[1].is_deaf = True
    engine.stop()
    assert started.made[0].remarks == ["terminate", "wait 60"]
    assert started.made[1].remarks == ["terminate", "wait 60", "kill", "wait None"]
    for one in started.made:
        one.code = -15
    assert phases(engine, run) == ["over", "over", "waiting"] and len(started.made) == 2


def test_what_a_killed_command_has_left_is_waited_for(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of([TASK])
    folder = runs.write_run(course, run)
    engine = Local(course, installation, 1)
    tries: list[float] = []
    monkeypatch.setattr(local.time, "sleep", tries.append)
    assert engine.take_up(run) is False and not tries
    (folder / "working").touch()
    assert engine.take_up(run) is False and not tries

    class Held:
        def __init__(self, path: Path) -> None:
            assert path == folder / "working"

        def __enter__(self) -> Held:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def try_lock(self) -> bool:
            return False

    now_s = iter(range(1000))
    monkeypatch.setattr(local, "LockFile", Held)
    monkeypatch.setattr(local.time, "monotonic", lambda: next(now_s))
    with raises_text(UserError):
        engine.take_up(run)
    assert len(tries) == local.LEAVE_S
    (folder / "working").unlink()
    assert engine.take_up(run) is False
