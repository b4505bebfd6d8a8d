"""Slurm: the job script, and what squeue and sacct say. Rendering and parsing are pure.

A run is one array job, found by its name.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.course.jobs.engine import ChunkState, States
from numalab.course.jobs.runs import BatchRun
from numalab.errors import NumalabError, UserError
from numalab.installation import Installation
from numalab.processes import shell_variables, starting

COMMAND_LIMIT_S = 60
SUBMIT_TRIES = 20  # of sbatch and of squeue while the controller does not answer
SUBMIT_PAUSE_S = 6
# "squeue" and "sacct" spell states alike: Slurm, job_state_codes of squeue(1).
_PENDING = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD",
            "SPECIAL_EXIT"}  # fmt: skip
_RUNNING = {"RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"}
_ENDED = {
    "NODE_FAIL": ChunkState("over", "node_failed", "the node failed"),
    "BOOT_FAIL": ChunkState("over", "node_failed", "the node did not start"),
    "PREEMPTED": ChunkState("over", "preempted", "another job took the node"),
    "TIMEOUT": ChunkState("over", "time_limit", "the job's time was over (--time)"),
    "DEADLINE": ChunkState("over", "time_limit", "the job's deadline was over"),
    "CANCELLED": ChunkState("over", "cancelled", "the job was cancelled"),
    "REVOKED": ChunkState("over", "cancelled", "the job was revoked"),
    "OUT_OF_MEMORY": ChunkState("over", "lost", "the job ran out of memory"),
    "COMPLETED": ChunkState("over", "lost", "the job ended without this result"),
    "FAILED": ChunkState("over", "lost", "the job failed; its log tells why"),
}
# Reasons of a pending job that Slurm could not start and holds until a user releases it.
_HELD = {"launch failed requeued held", "JobHoldMaxRequeue"}
# What commands print while the controller is away or busy; any other error is about the request.
_NO_ANSWER = re.compile(
    r"unable to contact|timed out|connect failure|connection (refused|reset)|zero bytes were|"
    r"temporarily unable|communication|transport endpoint|backup controller|"
    r"slurmctld .*not|try again",
    re.IGNORECASE,
)
NO_CONTROLLER = (
    "Slurm's controller does not answer (squeue tells more). Nothing is lost: repeat the command "
    "when it does."
)
SQUEUE_FORMAT = "%j|%F|%K|%T|%r|%N"


# ---- the script ----------------------------------------------------------------------


@dataclass(frozen=True)
class NodeEnvironment:
    """What a cluster node needs to find numalab and the course: paths, and the preset."""

    python: str
    root: str
    preset: str
    course: str


def job_minutes(run: BatchRun) -> int:
    """Return how many minutes the longest chunk usually takes at most, numalab's build included."""
    usual_s = runs.USUAL_S[run.grading.effort]
    longest_s = max(
        sum(usual_s * max(1, len(task.languages)) for task in chunk) for chunk in run.chunks
    )
    return -(-(longest_s + runs.BUILD_S) // 60)


def render_script(run: BatchRun, place: NodeEnvironment) -> str:
    """Return the job script. It is to be submitted from the run's folder, below which its output
    goes: so numalab's #SBATCH lines don't have the course's path, for which quoting and % have
    rules of their own there."""
    slurm = run.slurm
    throttle = f"%{slurm.max_concurrent}" if slurm.max_concurrent else ""
    options = [
        f"--job-name={run.job_name}",
        f"--array=0-{len(run.chunks) - 1}{throttle}",
        "--nodes=1",
        "--ntasks=1",
        # A node to itself has all of its memory.
        *(["--exclusive", "--mem=0"] if slurm.exclusive else []),
        # What is begun again, and how often, is decided by the dispatcher alone.
        "--no-requeue",
        f"--time={slurm.time or job_minutes(run)}",
        *([f"--partition={slurm.partition}"] if slurm.partition else []),
        *([f"--account={slurm.account}"] if slurm.account else []),
        *([f"--constraint={shlex.quote(slurm.constraint)}"] if slurm.constraint else []),
        "--output=logs/%a.txt",
        "--open-mode=append",
        *slurm.extra,
    ]
    command = shlex.join([place.python, "-m", runs.JOB_MODULE, place.preset, place.course, run.id])
    lines = [
        "#!/bin/sh",
        *(f"#SBATCH {option}" for option in options),
        f"NUMALAB_ROOT={shlex.quote(place.root)}",
        # As ./numalab has it.
        "PYTHONSAFEPATH=1 PYTHONUTF8=1",
        # Compiled modules are kept; otherwise each job and each grading would compile them anew.
        "PYTHONDONTWRITEBYTECODE=",
        "export NUMALAB_ROOT PYTHONSAFEPATH PYTHONUTF8 PYTHONDONTWRITEBYTECODE",
        f'exec {command} "$SLURM_ARRAY_TASK_ID"',
    ]
    return "\n".join(lines) + "\n"


# ---- what Slurm says -------------------------------------------------------------------


def parse_state(state: str, reason: str = "") -> ChunkState:
    """Parse a state of squeue or sacct, such as "CANCELLED by 1000". reason: squeue's."""
    word = state.split()[0].rstrip("+") if state.strip() else ""
    if word in _PENDING and reason.replace("_", " ") in _HELD:
        return ChunkState(
            "over", "node_failed", "the node could not start the job, and Slurm holds it"
        )
    if word in _PENDING:
        return ChunkState("waiting", why="" if reason == "None" else reason)
    if word in _RUNNING:
        return ChunkState("running")
    if word == "FAILED" and "launch" in reason.lower():  # JobLaunchFailure
        return ChunkState("over", "node_failed", "the node could not start the job")
    unknown = ChunkState("over", "lost", f"Slurm says {state or 'nothing'} of the job")
    return _ENDED.get(word, unknown)


def parse_indices(text: str) -> Iterator[int]:
    """Parse an array's indices: "7", or "[3-5,9%2]" for tasks that wait together; none of a text
    without indices."""
    for part in text.strip("[]").split("%")[0].split(","):
        first, dash, last = part.partition("-")
        if first.isdigit() and (not dash or last.isdigit()):
            yield from range(int(first), int(last if dash else first) + 1)


@dataclass(frozen=True)
class JobLine:
    """The state of one task of an array job, as squeue or sacct lists it. name, job: the job's name
    and id; index: the task's."""

    name: str
    job: str
    index: int
    state: ChunkState


def parse_squeue(text: str) -> Iterator[JobLine]:
    """Parse the output of squeue --noheader --array --format=SQUEUE_FORMAT."""
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 6:
            name, job, which, state, reason, _ = fields
            for index in parse_indices(which):
                yield JobLine(name, job, index, parse_state(state, reason))


def parse_sacct(text: str) -> Iterator[JobLine]:
    """Parse the output of sacct --noheader --parsable2 --allocations --format=JobName,JobID,State.
    Tasks that wait together come first, since their line may still name tasks that by now have
    lines of their own."""
    found = []
    for line in text.splitlines():
        fields = line.strip().split("|")
        if len(fields) == 3:
            name, job_id, state = fields
            job, _, which = job_id.partition("_")
            for index in parse_indices(which):
                task = JobLine(name, job, index, parse_state(state))
                found.append((not which.startswith("["), task))
    for _, task in sorted(found, key=lambda one: one[0]):
        yield task


def collect_states(polled: Iterable[BatchRun], listed: Iterable[JobLine]) -> dict[str, States]:
    """Return states by run id and chunk; if a chunk is listed twice, the later line counts."""
    names = {run.job_name: run.id for run in polled}
    found: dict[str, dict[int, ChunkState]] = {run_id: {} for run_id in names.values()}
    for line in listed:
        if line.name in names:
            found[names[line.name]][line.index] = line.state
    return dict(found)


# ---- asking it -------------------------------------------------------------------------


def is_available() -> bool:
    return shutil.which("sbatch") is not None


def _ask(command: Sequence[str], cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run one of Slurm's commands; one that takes longer than COMMAND_LIMIT_S has failed."""
    try:
        return starting.run(
            command, shell_variables.slurm_environment() | {"LC_ALL": "C.UTF-8"}, cwd=cwd,
            limit_s=COMMAND_LIMIT_S,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise NumalabError(
            f"{command[0]} is missing: is Slurm's module loaded? Else use --local"
        ) from error
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(command), 1, "", "timed out")


def parse_node_count(text: str, partition: str) -> int:
    """Parse the output of sinfo --noheader --format="%P|%D": the number of cluster nodes of the
    partition, or, if it is empty, of the default one, which has a star; 1 if it is not listed."""
    total = 0
    for line in text.splitlines():
        name, _, count = line.strip().partition("|")
        is_it = name.rstrip("*") == partition if partition else name.endswith("*")
        if is_it and count.isdigit():
            total += int(count)
    return max(1, total)


def node_count(partition: str) -> int:
    """Return how many cluster nodes a partition has that respond; 1 if Slurm does not say.
    partition: empty: the default one. Raises NumalabError if sinfo is missing."""
    done = _ask(["sinfo", "--noheader", "--format=%P|%D", "--responding"])
    return parse_node_count(done.stdout, partition)


class Slurm:
    """The engine for clusters."""

    name: runs.EngineName = "slurm"

    def __init__(self, course: CourseFolder, installation: Installation) -> None:
        self.course = course
        self.place = NodeEnvironment(
            sys.executable, str(installation.root), installation.preset, str(course.root.absolute())
        )
        self._has_accounting: bool | None = None

    def submit(self, run: BatchRun) -> None:
        """Submit a run. If sbatch gives no answer, the job is looked up by its name before the next
        try.

        Raises:
            UserError: the job is refused; the run is then over.
            NumalabError: a command of Slurm's is missing, or the controller does not answer.
        """
        folder = self.course.run(run.id)
        (folder / "job.sh").write_text(render_script(run, self.place), encoding="utf-8")
        for _ in range(SUBMIT_TRIES):
            done = _ask(["sbatch", "--parsable", "job.sh"], cwd=str(folder))
            job = done.stdout.strip().split(";")[0]
            if done.returncode == 0 and job:
                runs.note_job(self.course, run, job)
                return
            if not _NO_ANSWER.search(done.stderr):
                runs.end(self.course, run, "refused by Slurm")
                raise UserError(
                    f"Slurm refuses the job: {_last_line(done.stderr)}. Change --partition, "
                    f"--account, --constraint, --time, --per-job or --no-exclusive; the script "
                    f"is {folder / 'job.sh'}."
                )
            time.sleep(SUBMIT_PAUSE_S)
            if self.take_up(run):
                return
        raise NumalabError(NO_CONTROLLER)

    def take_up(self, run: BatchRun) -> bool:
        """Tell whether the job of a run was submitted. If its id is not noted, since the command
        was killed before, Slurm is asked, and the id that it names is noted. Raises NumalabError if
        Slurm is missing or does not answer."""
        if runs.noted_job(self.course, run) is not None:
            return True
        for _ in range(SUBMIT_TRIES):
            listed = self._listed([run])
            if listed is None:
                time.sleep(SUBMIT_PAUSE_S)
                continue
            jobs = {line.job for line in listed if line.name == run.job_name}
            if jobs:
                runs.note_job(self.course, run, min(jobs))
            return bool(jobs)
        raise NumalabError(NO_CONTROLLER)

    def poll(self, polled: Sequence[BatchRun]) -> Mapping[str, States] | None:
        listed = self._listed(polled)
        return None if listed is None else collect_states(polled, listed)

    def cancel(self, run: BatchRun) -> None:
        """Cancel a run's job. Raises UserError if scancel fails, NumalabError if it is missing."""
        done = _ask(["scancel", f"--name={run.job_name}"])
        if done.returncode != 0:
            raise UserError(f"scancel: {_last_line(done.stderr)}. Try again.")

    def stop(self) -> None:
        """Do nothing: jobs go on without the command."""

    def _listed(self, polled: Sequence[BatchRun]) -> list[JobLine] | None:
        """Return sacct's lines, if there is accounting, and then squeue's, which are up to date but
        soon forgotten; None: squeue gives no answer at the moment."""
        if not polled:
            return []
        names = ",".join(run.job_name for run in polled)
        listed: list[JobLine] = []
        if self._has_accounting is not False:
            since = min(run.made_at for run in polled)[:19]
            done = _ask(
                ["sacct", "--noheader", "--parsable2", "--allocations",
                 f"--name={names}", f"--starttime={since}", "--format=JobName%80,JobID%80,State%40"]
            )  # fmt: skip
            if self._has_accounting is None and not _NO_ANSWER.search(done.stderr):
                self._has_accounting = done.returncode == 0
            listed += parse_sacct(done.stdout)
        done = _ask(
            ["squeue", "--noheader", "--array", "--states=all", f"--name={names}",
             f"--format={SQUEUE_FORMAT}"]
        )  # fmt: skip
        if done.returncode != 0:
            return None
        return [*listed, *parse_squeue(done.stdout)]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (lines[-1] if lines else "it said nothing").rstrip(".")
