"""The engine for a single machine: jobs are processes of the command, and end with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.course.jobs.engine import ChunkState, States
from numalab.course.jobs.node_folders import remove_stale_workdirs
from numalab.course.jobs.runs import BatchRun
from numalab.errors import UserError
from numalab.file_systems.locks import LockFile
from numalab.grading.node_lock import VARIABLE as turns_variable
from numalab.installation import Installation
from numalab.processes import shell_variables, starting

# Begins a command whose process gets SIGTERM when its parent dies, so that no grading outlives it.
ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "TERM", "--")
LEAVE_S = 60  # how long processes that are to end are waited for


def worker_environment(installation: Installation) -> dict[str, str]:
    """Return a copy of this process's environment with NUMALAB_ROOT set and with
    PYTHONDONTWRITEBYTECODE empty."""
    return shell_variables.numalab_environment() | {
        "NUMALAB_ROOT": str(installation.root), "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip


class Local:
    """The engine for a single machine. max_concurrent: number of processes at a time."""

    name: runs.EngineName = "local"

    def __init__(
        self, course: CourseFolder, installation: Installation, max_concurrent: int
    ) -> None:
        self.course = course
        self.installation = installation
        self.max_concurrent = max_concurrent
        self._queue: deque[tuple[BatchRun, int]] = deque()
        self._working: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
        self._ended: dict[tuple[str, int], int] = {}

    def submit(self, run: BatchRun) -> None:
        self._queue.extend((run, number) for number in range(len(run.chunks)))
        runs.note_job(self.course, run, f"process {os.getpid()}")
        self._start()

    def take_up(self, run: BatchRun) -> bool:
        """Wait until the processes of an earlier command have ended, and return False, since none
        goes on. Raises UserError if they don't end within LEAVE_S."""
        path = self.course.run(run.id) / "working"
        deadline_s = time.monotonic() + LEAVE_S
        while path.is_file():
            with LockFile(path) as file:
                if file.try_lock():
                    break
            if time.monotonic() > deadline_s:
                raise UserError(
                    f"processes of an earlier command still hold {path}. Find them with "
                    f"fuser {path}, end them, then repeat the command."
                )
            time.sleep(0.2)
        return False

    def poll(self, polled: Sequence[BatchRun]) -> Mapping[str, States] | None:
        self._start()
        return {
            run.id: {number: self._state(run.id, number) for number in range(len(run.chunks))}
            for run in polled
        }

    def _state(self, run_id: str, number: int) -> ChunkState:
        if (run_id, number) in self._working:
            return ChunkState("running")
        if (run_id, number) not in self._ended:
            return ChunkState("waiting")
        code, log = self._ended[run_id, number], self._log(run_id, number)
        return ChunkState("over", "lost", f"the process ended with code {code}; {log} tells why")

    def _log(self, run_id: str, number: int) -> Path:
        return self.course.run(run_id) / "logs" / f"{number}.txt"

    def _start(self) -> None:
        for key, process in list(self._working.items()):
            code = process.poll()
            if code is not None:
                self._ended[key] = code
                del self._working[key]
                remove_stale_workdirs()  # what it could not remove, or was killed with
        while self._queue and len(self._working) < self.max_concurrent:
            run, number = self._queue.popleft()
            if not runs.is_over(self.course, run.id):
                self._working[run.id, number] = self._process(run, number)

    def _process(self, run: BatchRun, number: int) -> subprocess.Popen[bytes]:
        environment = worker_environment(self.installation)
        if self.max_concurrent > 1:
            environment[turns_variable] = str(self.course.run(run.id) / "turns")
        with self._log(run.id, number).open("ab") as output:
            return starting.start(
                [*ENDS_WITH_PARENT, sys.executable, "-m", runs.JOB_MODULE, self.installation.preset,
                 str(self.course.root.absolute()), run.id, str(number)],
                environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,  # Ctrl-C is for the command, which ends them
            )  # fmt: skip

    def cancel(self, run: BatchRun) -> None:
        """End the processes that this command has started for a run, and drop its waiting
        chunks."""
        self._queue = deque(waiting for waiting in self._queue if waiting[0].id != run.id)
        self._end([p for (run_id, _), p in self._working.items() if run_id == run.id])

    def stop(self) -> None:
        self._queue.clear()
        self._end(list(self._working.values()))

    def _end(self, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(LEAVE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if processes:  # one that was killed has left its folder
            remove_stale_workdirs()
