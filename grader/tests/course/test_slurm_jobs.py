"""Slurm, as far as it is text: scripts, what its commands say, and what they are asked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.golden_texts import raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs, slurm
from numalab.course.jobs.engine import ChunkState
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.jobs.slurm import JobLine, parse_indices, parse_sacct, parse_squeue, parse_state
from numalab.course.records import GradingTarget
from numalab.errors import NumalabError, UserError
from numalab.installation import Installation

ID = "20261122T080000-abcdef"
NAME = f"numalab-{ID}"
RUNNING = ChunkState("running")


def task(student: str, *languages: str, effort: str = "quick") -> GradingTask:
    return GradingTask(
        GradingTarget(student, "01_first_touch", "d" * 64, "k" * 64, effort), 1, languages
    )


def run_of(*chunks: Sequence[GradingTask], effort: str = "quick") -> BatchRun:
    made = tuple(tuple(chunk) for chunk in chunks)
    at = "2026-11-22T08:00:00+00:00"
    return BatchRun(ID, "slurm", at, GradingOptions(effort), SlurmOptions(), made)


# ---- the script --------------------------------------------------------------------------

PLACE = slurm.NodeEnvironment("/opt/my kit/python", "/opt/my kit", "gnu", "/home/u/Kurs")
SCRIPT = f"""\
#!/bin/sh
#SBATCH --job-name={NAME}
#SBATCH --array=0-1
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue
#SBATCH --time=14
#SBATCH --output=logs/%a.txt
#SBATCH --open-mode=append
NUMALAB_ROOT='/opt/my kit'
PYTHONSAFEPATH=1 PYTHONUTF8=1
PYTHONDONTWRITEBYTECODE=
export NUMALAB_ROOT PYTHONSAFEPATH PYTHONUTF8 PYTHONDONTWRITEBYTECODE
exec '/opt/my kit/python' -m numalab.course.jobs.node gnu /home/u/Kurs {ID} "$SLURM_ARRAY_TASK_ID"
"""
EXPECTED_SENTENCES = f"""\
#SBATCH --job-name={NAME}
#SBATCH --array=0-0%8
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --no-requeue
#SBATCH --time=1:00:00
#SBATCH --partition=p
#SBATCH --account=acc
#SBATCH --constraint='a&b'
#SBATCH --output=logs/%a.txt
#SBATCH --open-mode=append
#SBATCH --qos=t
#SBATCH --reservation=r
"""


def test_the_script_of_a_job() -> None:
    run = run_of([task("ada", "c"), task("bob", "c")], [task("zoe", "c")])
    assert slurm.render_script(run, PLACE) == SCRIPT


def test_a_script_has_what_was_asked_for_in_place_of_what_is_usual() -> None:
    extra = ("--qos=t", "--reservation=r")
    asked = SlurmOptions("p", "acc", "a&b", "1:00:00", 8, False, extra)
    text = slurm.render_script(replace(run_of([task("ada", "c")]), slurm=asked), PLACE)
    lines = [line for line in text.splitlines(True) if line.startswith("#SBATCH")]
    assert "".join(lines) == EXPECTED_SENTENCES


@pytest.mark.parametrize(
    ("chunks", "effort", "minutes"),
    [
        ([[1]], "quick", 10 + 2),
        ([[0]], "quick", 10 + 2),  # neither language: one of them is tried
        ([[1, 2], [1]], "quick", 10 + 2 + 4),
        ([[1], [2, 2]], "default", 10 + 2 * 10),
        ([[1] * 60], "quick", 10 + 120),
    ],
)
def test_a_job_has_time_for_its_build_and_each_kernel_of_the_longest_chunk(
    chunks: list[list[int]], effort: str, minutes: int
) -> None:
    made = [[task("ada", *("c", "fortran")[:count]) for count in chunk] for chunk in chunks]
    assert slurm.job_minutes(run_of(*made, effort=effort)) == minutes


# ---- what Slurm says -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", [7]), ("0", [0]), ("[3-5,9%2]", [3, 4, 5, 9]), ("[0-1]", [0, 1]), ("2,4", [2, 4]),
        ("[6%1]", [6]), ("N/A", []), ("", []), ("3-", []), ("-3", []), ("3-x,5", [5]),
    ],
)  # fmt: skip
def test_indices_of_an_array(text: str, found: list[int]) -> None:
    assert list(parse_indices(text)) == found


def over(ended_as: str, why: str) -> ChunkState:
    return ChunkState("over", ended_as, why)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "reason", "seen"),
    [
        ("PENDING", "Resources", ChunkState("waiting", why="Resources")),
        ("PENDING", "None", ChunkState("waiting")),
        ("CONFIGURING", "", ChunkState("waiting")),
        ("RUNNING", "None", RUNNING),
        ("RUNNING", "JobLaunchFailure", RUNNING),
        ("RUNNING", "JobHoldMaxRequeue", RUNNING),
        ("COMPLETING", "", RUNNING),
        ("NODE_FAIL", "", over("node_failed", "the node failed")),
        ("TIMEOUT", "", over("time_limit", "the job's time was over (--time)")),
        ("CANCELLED by 1000", "", over("cancelled", "the job was cancelled")),
        ("FAILED", "NonZeroExitCode", over("lost", "the job failed; its log tells why")),
        ("FAILED", "JobLaunchFailure", over("node_failed", "the node could not start the job")),
        ("COMPLETED", "launch", over("lost", "the job ended without this result")),
        ("NEW_ONE", "", over("lost", "Slurm says NEW_ONE of the job")),
        ("", "", over("lost", "Slurm says nothing of the job")),
    ],
)
def test_states_in_slurms_words(state: str, reason: str, seen: ChunkState) -> None:
    assert parse_state(state, reason) == seen


def test_lines_of_squeue() -> None:
    text = "a|1|0|RUNNING|None|n1\n b|2|[1-2%4]|PENDING|Priority|\na|1|RUNNING\na|1|3|x|y|n|more\n"
    waits = ChunkState("waiting", why="Priority")
    assert list(parse_squeue(text)) == [
        JobLine("a", "1", 0, RUNNING), JobLine("b", "2", 1, waits), JobLine("b", "2", 2, waits),
    ]  # fmt: skip


def test_lines_of_sacct_of_what_waits_together_come_first() -> None:
    text = "a|1_0|RUNNING\na|1_[0-1]|PENDING\na|1_2|TIMEOUT\nbatch|1\na|1_2.batch|FAILED\n"
    waits = ChunkState("waiting")
    assert list(parse_sacct(text)) == [
        JobLine("a", "1", 0, waits), JobLine("a", "1", 1, waits), JobLine("a", "1", 0, RUNNING),
        JobLine("a", "1", 2, over("time_limit", "the job's time was over (--time)")),
    ]  # fmt: skip


def test_of_a_chunk_that_is_listed_twice_the_later_line_holds() -> None:
    run, other = run_of([task("ada", "c")]), replace(run_of(), id="other")
    waits = ChunkState("waiting")
    listed = [
        JobLine(NAME, "1", 0, waits),
        JobLine(NAME, "1", 0, RUNNING),
        JobLine("x", "1", 0, waits),
    ]
    assert slurm.collect_states([run, other], listed) == {ID: {0: RUNNING}, "other": {}}


@pytest.mark.parametrize(
    ("said", "partition", "nodes"),
    [
        ("main*|8\nbig|4\nbig|1\n", "", 8), ("main*|8\nbig|4\nbig|1\n", "big", 5),
        ("main*|8\n", "main", 8), ("main*|8\n", "nosuch", 1), (" main*|3 \n", "", 3),
        ("main*|0\n", "", 1), ("main*\nmain*|x\nmain*|2|3\nmain*|2\n", "", 2), ("", "", 1),
    ],
)  # fmt: skip
def test_nodes_of_a_partition(said: str, partition: str, nodes: int) -> None:
    assert slurm.parse_node_count(said, partition) == nodes


# ---- asking it -----------------------------------------------------------------------------

SQUEUE = ["squeue", "--noheader", "--array", "--states=all", f"--name={NAME}",
          "--format=%j|%F|%K|%T|%r|%N"]  # fmt: skip
SACCT = ["sacct", "--noheader", "--parsable2", "--allocations", f"--name={NAME}",
         "--starttime=2026-11-22T08:00:00", "--format=JobName%80,JobID%80,State%40"]  # fmt: skip
Answer = tuple[int, str, str]
NONE: Answer = (0, "", "")
AWAY: Answer = (1, "", "slurm_load_jobs error: Unable to contact slurm controller\n")


class Commands:
    """Slurm's, which answer what a table says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: Answer) -> None:
        self.answers = answers
        self.asked: list[tuple[list[str], str | None]] = []
        self.pauses: list[float] = []
        monkeypatch.setattr(slurm, "_ask", self.ask)
        monkeypatch.setattr(slurm.time, "sleep", self.pauses.append)

    def ask(
        self, command: Sequence[str], cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        self.asked.append((list(command), cwd))
        return subprocess.CompletedProcess(list(command), *self.answers.get(command[0], NONE))

    def names(self) -> list[str]:
        return [command[0] for command, _ in self.asked]


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.fixture
def run(course: CourseFolder) -> BatchRun:
    made = run_of([task("ada", "c")])
    runs.write_run(course, made)
    return made


@pytest.fixture
def engine(course: CourseFolder, installation: Installation) -> slurm.Slurm:
    return slurm.Slurm(course, installation)


def test_a_job_is_submitted_from_its_folder(
    engine: slurm.Slurm, run: BatchRun, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(monkeypatch, sbatch=(0, "12;cluster\n", ""))
    engine.submit(run)
    folder = engine.course.run(run.id)
    assert commands.asked == [(["sbatch", "--parsable", "job.sh"], str(folder))]
    assert runs.noted_job(engine.course, run) == "12"
    place = slurm.NodeEnvironment(
        sys.executable,
        str(installation.root),
        installation.preset,
        str(engine.course.root.absolute()),
    )
    assert (folder / "job.sh").read_text() == slurm.render_script(run, place)
    # What is noted is not asked for.
    assert engine.take_up(run) and len(commands.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        (1, "12\n", "sbatch: Invalid account.\n\n"),
        (0, "\n", ""),
    ],
)  # fmt: skip
def test_what_is_no_submission_is_refused_at_once(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    commands = Commands(monkeypatch, sbatch=answer)
    with raises_text(UserError):
        engine.submit(run)
    assert commands.names() == ["sbatch"] and not commands.pauses
    assert runs.is_over(engine.course, run.id) and runs.noted_job(engine.course, run) is None


def test_a_submission_is_tried_for_two_minutes(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(monkeypatch, sbatch=(1, "", "sbatch: error: Socket timed out"))
    with raises_text(NumalabError):
        engine.submit(run)
    assert commands.names() == ["sbatch", "sacct", "squeue"] * 20
    assert commands.pauses == [6] * 20
    assert not runs.is_over(engine.course, run.id)


def test_whether_a_job_is_known_is_asked_for_two_minutes(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(monkeypatch, squeue=AWAY, sacct=AWAY)
    with raises_text(NumalabError):
        engine.take_up(run)
    assert commands.names() == ["sacct", "squeue"] * 20 and commands.pauses == [6] * 20


@pytest.mark.parametrize(
    ("squeue", "job"),
    [
        (f"{NAME}|9|0|PENDING|None|\n{NAME}|8|0|RUNNING|None|n1\nother|1|0|RUNNING|None|\n", "8"),
        ("other|1|0|RUNNING|None|n1\n", None),
    ],
)
def test_a_job_is_found_by_its_name(
    engine: slurm.Slurm,
    run: BatchRun,
    monkeypatch: pytest.MonkeyPatch,
    squeue: str,
    job: str | None,
) -> None:
    Commands(monkeypatch, squeue=(0, squeue, ""))
    assert engine.take_up(run) is (job is not None)
    assert runs.noted_job(engine.course, run) == job


def test_what_slurm_is_asked_of_jobs(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(
        monkeypatch, sacct=(0, f"{NAME}|7_0|PENDING\n", ""),
        squeue=(0, f"{NAME}|7|0|RUNNING|None|n1\n", ""),
    )  # fmt: skip
    assert engine.poll([]) == {} and not commands.asked
    assert engine.poll([run]) == {ID: {0: RUNNING}}
    assert [command for command, _ in commands.asked] == [SACCT, SQUEUE]
    later = replace(run, id="z", made_at="2026-11-23T08:00:00+00:00")
    engine.poll([later, run])
    named = f"--name=numalab-z,{NAME}"
    assert [command for command, _ in commands.asked[2:]] == [
        [named if word.startswith("--name=") else word for word in asked]
        for asked in (SACCT, SQUEUE)
    ]


@pytest.mark.parametrize(
    ("sacct", "asked_again"),
    [
        ((1, "", "Slurm accounting storage is disabled\n"), False),
        ((1, "", "sacct: error: Unable to contact slurmdbd\n"), True),
        (NONE, True),
    ],
)
def test_sacct_is_asked_again_unless_there_is_no_accounting(
    engine: slurm.Slurm,
    run: BatchRun,
    monkeypatch: pytest.MonkeyPatch,
    sacct: Answer,
    asked_again: bool,
) -> None:
    commands = Commands(monkeypatch, sacct=sacct)
    for _ in range(2):
        assert engine.poll([run]) == {ID: {}}
    assert commands.names() == ["sacct", "squeue", *(["sacct"] * asked_again), "squeue"]


def test_accounting_that_is_there_is_asked_whatever_it_says_later(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(monkeypatch)
    for answer in (NONE, (1, "", "busy"), NONE):
        commands.answers["sacct"] = answer
        engine.poll([run])
    assert commands.names() == ["sacct", "squeue"] * 3


def test_jobs_are_cancelled_by_name(
    engine: slurm.Slurm, run: BatchRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(monkeypatch)
    engine.cancel(run)
    assert commands.asked == [(["scancel", f"--name={NAME}"], None)]
    commands.answers["scancel"] = (1, "", "x\nscancel: error: denied.\n")
    with raises_text(UserError):
        engine.cancel(run)


def test_nodes_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(monkeypatch, sinfo=(0, "a*|3\nb|2\n", ""))
    assert (slurm.node_count(""), slurm.node_count("b")) == (3, 2)
    asked = ["sinfo", "--noheader", "--format=%P|%D", "--responding"]
    assert commands.asked == [(asked, None)] * 2


def test_a_command_has_a_minute_and_speaks_english(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(
        command: Sequence[str], env: dict[str, str], cwd: str | None, limit_s: float
    ) -> subprocess.CompletedProcess[str]:
        assert (env["LC_ALL"], cwd, limit_s) == ("C.UTF-8", "/x", 60)
        raise subprocess.TimeoutExpired(command, limit_s)

    monkeypatch.setattr(slurm.starting, "run", start)
    done = slurm._ask(["squeue"], "/x")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "timed out")


def test_slurm_is_here_where_it_takes_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not slurm.is_available()
    with raises_text(NumalabError):
        slurm.node_count("")
    (tmp_path / "sbatch").touch(0o755)
    assert slurm.is_available()
