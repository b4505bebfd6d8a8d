"""What a job does on its machine: it makes the attempts of one chunk, one after another.

Each attempt is a `numalab grade` of its own, which builds in the job's temporary folder. Its
results are renamed into place when they are complete.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.undecided_points import is_worth_regrading
from numalab.course.jobs import runs
from numalab.course.jobs.local import ENDS_WITH_PARENT, worker_environment
from numalab.course.jobs.node_folders import node_folder
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask
from numalab.course.records import QUICK, Attempt, AttemptState, GradingTarget, SandboxLevel
from numalab.exit_codes import EXIT_FAILED, EXIT_PASSED
from numalab.files import read_json
from numalab.grading.node_lock import NODE_LIMIT_S
from numalab.grading.numalab_digests import judged_by
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGES
from numalab.processes import starting
from numalab.untrusted.tools import code_of
from numalab.untrusted.visible import shortened, visible

LARGEST_OUTPUT_BYTES = 1 << 20  # of a grading's output, which is kept up to this length
LEAVE_S = 20  # how long a grading that gets SIGTERM may take to end
# What a student's report says of undecided times, in place of a command that students don't have.
UNDECIDED_TIMES = (
    "nothing: what was too noisy to tell is not earned yet, and not lost. It is decided when your "
    "class is graded again, from these times and further ones."
)
EVIDENCE = "evidence"  # the folder of an attempt's records, by language
GRADED = (EXIT_PASSED, EXIT_FAILED)  # exit codes of a grading whose result is about the student


# ---- what is run ---------------------------------------------------------------------


def grade_arguments(
    task: GradingTask,
    grading: GradingOptions,
    submission: Path,
    folder: Path,
    earlier: Sequence[Path] = (),
) -> list[str]:
    """Return the arguments of `numalab grade`, or of the command that is run in its place.

    Args:
        submission: the folder that has NN_name/ with the student's files.
        folder: where result.json and report.html are written.
        earlier: folders of records of other gradings, the newest first.
    """
    language = task.languages[0] if len(task.languages) == 1 else "all"
    return [
        task.target.lab,
        "--lang", language,
        "--submission", str(submission),
        "--json", str(folder / "result.json"),
        "--html", str(folder / "report.html"),
        *(["--quick"] if task.target.effort == QUICK else []),
        *(word for records in earlier for word in ("--earlier", str(records))),
        *grading.options,
    ]  # fmt: skip


def grade_command(installation: Installation, grading: GradingOptions) -> list[str]:
    if grading.command:
        return list(grading.command)
    own = [sys.executable, "-m", "numalab", "--preset", installation.preset]
    return [*own, "grade", "--again", UNDECIDED_TIMES]


@dataclass(frozen=True)
class GradingExit:
    """How a grading's process ended.

    Attributes:
        code: its exit code, or the negative number of a signal; None: it was stopped at its limit.
        result: the content of result.json; None if it can't be read.
        last_words: its last message, on one line; may be empty.
    """

    code: int | None
    result: Any
    last_words: str


def why_not_graded(ended: GradingExit, limit_s: int) -> str:
    """Return in words why a grading came to nothing; empty if its result is about the student."""
    if ended.code is None:
        return f"The grading did not end within {limit_s} s and was stopped."
    if ended.code < 0:
        return f"The grading was ended by signal {-ended.code}. {ended.last_words}".strip()
    if ended.code not in GRADED:
        return _first_error(ended.result) or (
            f"The grading ended with code {ended.code}. {ended.last_words}".strip()
        )
    result = ended.result
    if not isinstance(result, dict) or not isinstance(result.get("results"), list):
        return f"The grading left no result. {ended.last_words}".strip()
    if result.get("interrupted") or not result["results"]:
        return "The grading was interrupted."
    return ""


def _first_error(result: Any) -> str:
    """Return the first internal error that a result reports; empty if it reports none."""
    if not isinstance(result, dict):
        return ""
    for kernel in result.get("results", ()):
        for criterion in kernel.get("criteria", ()):
            if criterion.get("status") == "error":
                return f"{criterion.get('name')}: {criterion.get('why')}"
    return ""


def sandbox_level(result: Any) -> SandboxLevel:
    """Return "bubblewrap" if a result reports that sandbox, else "none"."""
    level = result.get("sandbox") if isinstance(result, dict) else None
    return "bubblewrap" if level == "bubblewrap" else "none"


def attempt_of(
    task: GradingTask,
    ended: GradingExit,
    limit_s: int,
    started_at: str,
    job: str,
    judged_by: str,
    goes_on_from: int = 0,
) -> Attempt:
    """Return the attempt that a grading makes.

    Args:
        job: Slurm's id of this job; empty without one.
        judged_by: digest of the present rules.
        goes_on_from: number of the undecided attempt that it went on from; 0: none.
    """
    why = why_not_graded(ended, limit_s)
    state: AttemptState = "kit_error" if why else "graded"
    result = ended.result if isinstance(ended.result, dict) else {}
    node = result.get("node") or {"name": os.uname().nodename}
    return Attempt(
        task.target, task.number, state, started_at, runs.now(),
        () if why else tuple(result["results"]), node, sandbox_level(result), why, job,
        judged_by, 0 if why else goes_on_from,
    )  # fmt: skip


# ---- running it ----------------------------------------------------------------------


def _keep_output(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy the beginning of a process's output, close the copy at the end, and read the rest so
    that the process does not block."""
    room = LARGEST_OUTPUT_BYTES
    with target as file:
        while block := source.read1(1 << 16):  # type: ignore[attr-defined]
            if room >= 0:
                file.write(block[:room])
                if len(block) > room:
                    file.write(b"\n(the rest is not kept)\n")
            room -= len(block)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a grading and all processes of its group."""
    with suppress(ProcessLookupError):
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(path: Path) -> str:
    """Return numalab's last message near the end of an output file, which may have several lines
    there, or else the file's last line; on one line of at most 300 characters."""
    lines = path.read_bytes()[-2000:].decode(errors="replace").strip().splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("numalab: ")]
    last = lines[begins[-1] :] if begins else lines[-1:]
    return shortened(visible(" ".join(line.strip() for line in last)), 300)


def run_grading(
    command: Sequence[str], cwd: Path, env: dict[str, str], folder: Path, limit_s: int
) -> GradingExit:
    """Run one grading, and stop it after limit_s seconds. If it is interrupted, the grading is
    ended.

    Args:
        folder: where output.txt is written, and where the command leaves result.json.
    """
    output = folder / "output.txt"
    kept = output.open("wb")
    process = starting.start(
        [*ENDS_WITH_PARENT, *command], env, cwd=cwd, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    reader = threading.Thread(target=_keep_output, args=(process.stdout, kept), daemon=True)
    reader.start()
    try:
        code = code_of(process, limit_s)
    finally:
        _end_group(process)
    reader.join(LEAVE_S)
    return GradingExit(code, read_json(folder / "result.json"), _last_words(output))


def _forget_last(installation: Installation, lab: str) -> None:
    """Remove what a previous grading of the lab has left, so that the next one does not find
    it."""
    for folder in (installation.build / "results" / lab, installation.staged_folder(lab)):
        shutil.rmtree(folder, ignore_errors=True)
    for language in LANGUAGES:
        installation.worker(lab, language, "submission").unlink(missing_ok=True)


def _undecided_attempt(course: CourseFolder, task: GradingTask) -> Attempt | None:
    """Return the target's last graded attempt before this one if another grading could decide
    points of it; else None."""
    earlier = [a for a in attempts.attempts_of(course, task.target) if a.number < task.number]
    graded = [attempt for attempt in earlier if attempt.state == "graded"]
    return graded[-1] if graded and any(map(is_worth_regrading, graded[-1].results)) else None


def earlier_records(course: CourseFolder, target: GradingTarget) -> list[Path]:
    """Return the folders of records, by language, of the attempts of the target's student and lab
    with the same digest of numalab and the same effort, the newest first. Attempts that came to
    nothing are among them if they have records. Raises NumalabError if an attempt.json is
    damaged."""
    found = []
    for folder in course.comparable_attempts(target):
        attempt = attempts.read_attempt(folder) if (folder / EVIDENCE).is_dir() else None
        if attempt is not None:
            ended_at = datetime.fromisoformat(attempt.ended_at)
            found.append((ended_at, int(folder.name), folder / EVIDENCE))
    return [folder for _, _, folder in sorted(found, reverse=True)]


def _take_evidence(installation: Installation, lab: str, target: Path) -> None:
    """Copy the records and verdicts of each language, those of VMs included."""
    for language in LANGUAGES:
        kept = installation.results_folder(lab, language, "submission")
        if kept.is_dir():
            shutil.copytree(kept, target / EVIDENCE / language)


@dataclass(frozen=True)
class NodeWorkspace:
    """Where a job grades.

    Attributes:
        folder: the job's temporary folder.
        installation: numalab, built in that folder.
        job: Slurm's id of the job; empty without one.
    """

    course: CourseFolder
    run: BatchRun
    folder: Path
    installation: Installation
    job: str

    def grade(self, task: GradingTask) -> Attempt | None:
        """Make an attempt; None if another job has made it, if the run is over, or if this job was
        taken for dead."""
        who = f"{os.uname().nodename}-{os.urandom(4).hex()}"
        course, grading = self.course, self.run.grading
        partial = attempts.partial_folder(course, task.target, task.number, self.run.id, who)
        partial.mkdir(parents=True)
        # Checked after that, since a command that ends a run first marks it and then removes
        # partial folders.
        if runs.is_over(course, self.run.id):
            attempts.remove_partials(course, task.target, task.number, self.run.id)
            return None
        item = task.target
        submission = course.submission(item.student_id, item.lab, item.digest)
        _forget_last(self.installation, item.lab)
        left_open = _undecided_attempt(course, task)
        rules = judged_by(self.installation, item.lab)
        env = worker_environment(self.installation) | {
            "NUMALAB_BUILD": str(self.installation.build_root),
            "TMPDIR": str(self.folder),
            "COLUMNS": "80",
        }
        command = [
            *grade_command(self.installation, grading),
            *grade_arguments(task, grading, submission, partial, earlier_records(course, item)),
        ]
        # On one machine it waits while the others take times, too.
        beside = self.run.slurm.max_concurrent if self.run.engine == "local" else 1
        limit_s = grading.limit_of(task) * max(1, beside)
        if not grading.limit_s:  # gradings of other users may make it wait, which isn't being stuck
            limit_s += int(NODE_LIMIT_S)
        started_at = runs.now()
        try:
            outcome = run_grading(command, self.folder, env, partial, limit_s)
            _take_evidence(self.installation, item.lab, partial)
            goes_on_from = left_open.number if left_open is not None else 0
            attempt = attempt_of(task, outcome, limit_s, started_at, self.job, rules, goes_on_from)
            return attempt if attempts.publish(course, partial, attempt) else None
        except FileNotFoundError:
            if partial.is_dir():
                raise
            return None  # this job was thought dead, and what it wrote was removed


def job_id() -> str:
    """Return Slurm's id of this job, as ARRAY_INDEX in an array; empty outside of Slurm."""
    array, index = (os.environ.get(f"SLURM_ARRAY_{key}", "") for key in ("JOB_ID", "TASK_ID"))
    return f"{array}_{index}" if array else os.environ.get("SLURM_JOB_ID", "")


def grade_chunk(
    course: CourseFolder,
    run: BatchRun,
    chunk: int,
    installation: Installation,
    progress: Callable[[str], None],
) -> None:
    """Make the attempts of a chunk that are not complete yet; end early if the run is over.

    Args:
        chunk: the chunk's index in the run.
        progress: called with a line of text for each step.

    Raises:
        UserError: this machine has no folder for temporary files.
        NumalabError: an earlier attempt is damaged.
    """
    with node_folder() as folder:
        own = Installation(installation.root, installation.preset, folder / "build")
        bench = NodeWorkspace(course, run, folder, own, job_id())
        for task in run.chunks[chunk]:
            if runs.is_over(course, run.id):
                progress("nobody waits for this run any more")
                return
            name = f"{task.target.student_id} {task.target.lab}"
            if attempts.is_over(course, task.target, task.number):
                progress(f"{name}: done already")
                continue
            progress(f"{name}: grading")
            attempt = bench.grade(task)
            progress(f"{name}: {'done by another job' if attempt is None else attempt.state}")
