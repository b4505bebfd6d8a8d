"""Batches without a cluster: what is rendered, what is read, and who is begun again."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import numalab_command
from support.golden_texts import check_text, raises_text

from numalab.commands.shared import progress_line
from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs import runs, slurm, work
from numalab.course.jobs.dispatcher import (
    BatchStatus,
    Dispatcher,
    PollRate,
    RequestedGrading,
    RunPlan,
    course_lock,
    missing_tasks,
)
from numalab.course.jobs.engine import ChunkState, States
from numalab.course.jobs.progress import class_text, known_states, status_of, text_of
from numalab.course.jobs.runs import (
    BatchRun,
    GradingOptions,
    GradingTask,
    SlurmOptions,
    split_tasks,
)
from numalab.course.jobs.work import GradingExit, why_not_graded
from numalab.course.records import Attempt, AttemptState, GradingTarget, Intake, Student, Submission
from numalab.errors import LockedError, NumalabError, UserError
from numalab.files import read_text
from numalab.installation import Installation
from numalab.words import CountedStep

LAB = "01_first_touch"
LIMIT_S = 120  # for what may take long on a busy node only
RUNNING = ChunkState("running")
NODE_FAILED = ChunkState("over", "node_failed", "the node failed")
LOST = ChunkState("over", "lost", "the job ended without this result")


def item(student: str, **changes: str) -> GradingTarget:
    return replace(GradingTarget(student, LAB, "d" * 64, "k" * 64, "quick"), **changes)


def tasks(*students: str) -> list[GradingTask]:
    return [GradingTask(item(student), 1, ("c",)) for student in students]


def run_of(*chunks: Sequence[GradingTask], **changes: object) -> BatchRun:
    run = BatchRun(
        "20261122T080000-abcdef", "slurm", "2026-11-22T08:00:00+00:00", GradingOptions("quick"),
        SlurmOptions(), tuple(tuple(chunk) for chunk in chunks),
    )  # fmt: skip
    return replace(run, **changes)  # type: ignore[arg-type]


def attempt_of(task: GradingTask, state: AttemptState = "graded") -> Attempt:
    at = "2026-11-22T08:00:00+00:00"
    return Attempt(task.target, task.number, state, at, at, (), {}, "none")


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


# ---- jobs ------------------------------------------------------------------------------


def sizes(count: int, per_job: int, nodes: int) -> list[int]:
    made = split_tasks([GradingTask(item(f"s{n}"), 1, ()) for n in range(count)], per_job, nodes)
    assert [task for chunk in made for task in chunk] == [
        GradingTask(item(f"s{n}"), 1, ()) for n in range(count)
    ]
    return [len(chunk) for chunk in made]


def test_jobs_hold_no_more_than_asked_for_and_end_together() -> None:
    assert sizes(0, 20, 8) == []
    assert sizes(4, 20, 8) == [4]
    assert sizes(40, 20, 8) == [5] * 8
    assert sizes(40, 20, 1000) == [5] * 8
    assert sizes(41, 20, 2) == [11, 11, 9, 10]
    # Large ones first, and as many of each length as there are nodes.
    assert sizes(1000, 42, 8) == [*[42] * 16, *[41] * 8]
    assert sizes(1000, 20, 8) == [*[20] * 40, *[13] * 8, *[12] * 8]
    assert sizes(3, 1, 8) == [1, 1, 1]
    assert sizes(20, 1, 8) == [1] * 20
    assert sizes(11, 3, 2) == [3, 3, 2, 2, 1]


@pytest.mark.parametrize("per_job", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("nodes", [1, 2, 7, 8])
def test_no_job_is_empty_or_too_long(per_job: int, nodes: int) -> None:
    for count in range(1, 200):
        made = sizes(count, per_job, nodes)
        assert sum(made) == count and min(made) > 0 and max(made) <= per_job


PLACE = slurm.NodeEnvironment(
    "/opt/my kit/.venv/bin/python", "/opt/my kit", "gnu", "/home/u/Kurs 'A'"
)


@pytest.mark.parametrize(
    ("count", "nodes", "effort", "languages", "most"),
    [
        (40, 8, "default", 1, 20),
        (1000, 8, "quick", 1, 42),
        (1000, 1000, "quick", 1, 20),
        (5000, 8, "quick", 1, 115),  # that is four hours
        (5000, 8, "default", 2, 23),
    ],
)
def test_a_large_class_has_longer_jobs_but_none_of_more_than_four_hours(
    count: int, nodes: int, effort: str, languages: int, most: int
) -> None:
    assert runs.usual_job_size(count, nodes, effort, languages) == most
    task = GradingTask(item("ada", effort=effort), 1, ("c", "fortran")[:languages])
    assert slurm.job_minutes(run_of([task] * most, grading=GradingOptions(effort))) <= 4 * 60


def test_the_script_asks_for_a_node_and_begins_nothing_again() -> None:
    run = run_of(tasks("ada", "bob"), tasks("zoe"))
    text = slurm.render_script(run, PLACE)
    for line in ("--array=0-1", "--exclusive", "--mem=0", "--no-requeue", "--time=14",
                 "--job-name=numalab-20261122T080000-abcdef"):  # fmt: skip
        assert f"\n#SBATCH {line}\n" in text
    assert "partition" not in text
    shared = replace(run, slurm=SlurmOptions("p", "acc", "a&b", "1:00:00", 8, False, ("--qos=t",)))
    text = slurm.render_script(shared, PLACE)
    for line in ("--array=0-1%8", "--partition=p", "--account=acc", "--constraint='a&b'",
                 "--time=1:00:00", "--qos=t"):  # fmt: skip
        assert f"\n#SBATCH {line}\n" in text
    assert "--exclusive" not in text


def test_the_script_starts_the_kit_whatever_the_folders_are_called(tmp_path: Path) -> None:
    python = tmp_path / "my kit" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nprintf "%s|" "$NUMALAB_ROOT" "$@"\n')
    python.chmod(0o755)
    script = tmp_path / "job.sh"
    script.write_text(slurm.render_script(run_of(tasks("ada")), replace(PLACE, python=str(python))))
    done = subprocess.run(
        ["sh", str(script)], env={"SLURM_ARRAY_TASK_ID": "7"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split("|")[:-1] == [
        "/opt/my kit", "-m", "numalab.course.jobs.node", "gnu",
        "/home/u/Kurs 'A'", "20261122T080000-abcdef", "7",
    ]  # fmt: skip


def test_a_run_is_read_as_it_was_written(course: CourseFolder) -> None:
    run = run_of(
        tasks("ada"), tasks("bob", "zoe"),
        grading=GradingOptions("quick", ("x", "y z"), ("--o",), 5),
        slurm=SlurmOptions("p", extra=("--qos=a",)),
    )  # fmt: skip
    runs.write_run(course, run)
    assert runs.read_run(course, run.id) == run
    assert runs.active_runs(course) == [run]
    runs.end(course, run, "done")
    assert runs.active_runs(course) == []
    assert runs.last_run(course) == [run]
    (course.run(run.id) / "run.json").write_text('{"schema": 1}')
    with raises_text(NumalabError):
        runs.read_run(course, run.id)


# What Slurm 22.05 says; the last line of squeue's is of an array that waits as one.
SQUEUE = """\
numalab-20261122T080000-abcdef|1|0|COMPLETED|None|n1
numalab-20261122T080000-abcdef|1|1|RUNNING|None|n2
numalab-20261122T080000-abcdef|1|2|NODE_FAIL|None|n2
numalab-20261122T080000-abcdef|1|[3-4,6%2]|PENDING|Resources|
another|9|N/A|RUNNING|None|n7
"""
SACCT = """\
numalab-20261122T080000-abcdef|1_0|COMPLETED
numalab-20261122T080000-abcdef|1_1|CANCELLED by 1000
numalab-20261122T080000-abcdef|1_2|TIMEOUT
numalab-20261122T080000-abcdef|1_5|PREEMPTED
numalab-20261122T080000-abcdef|1_[7-9%4]|PENDING
batch|1_5.batch|CANCELLED
"""
# As a real accounting database of 22.05 writes it: an array's record that lags behind its tasks'
# own; another job, of which a part was preempted and the rest cancelled.
LAGGING = """\
t-preempt|17_0|PREEMPTED
t-preempt|17_1|PREEMPTED
t-preempt|17_[2-3]|CANCELLED by 0
numalab-20261122T080000-abcdef|21_0|NODE_FAIL
numalab-20261122T080000-abcdef|21_1|RUNNING
numalab-20261122T080000-abcdef|21_[0-2]|PENDING

"""


def test_what_squeue_and_sacct_say() -> None:
    run = run_of(*([task] for task in tasks(*"abcdefghij")))
    live = slurm.collect_states([run], slurm.parse_squeue(SQUEUE))[run.id]
    assert [live[n].phase for n in range(5)] == ["over", "running", "over", "waiting", "waiting"]
    assert live[2].ended_as == "node_failed"
    assert live[3].why == "Resources" and 5 not in live and 6 in live
    both = [*slurm.parse_sacct(SACCT), *slurm.parse_squeue(SQUEUE)]
    states = slurm.collect_states([run], both)[run.id]
    # squeue knows what is now; sacct what squeue has forgotten.
    assert states[1].phase == "running" and states[2].ended_as == "node_failed"
    assert states[5].ended_as == "preempted" and states[8].phase == "waiting"
    assert slurm.collect_states([run], slurm.parse_squeue(""))[run.id] == {}


def test_a_tasks_own_line_counts_more_than_its_arrays() -> None:
    run = run_of(*([task] for task in tasks(*"abc")))
    states = slurm.collect_states([run], slurm.parse_sacct(LAGGING))[run.id]
    assert [states[n].phase for n in range(3)] == ["over", "running", "waiting"]
    assert states[0].ended_as == "node_failed"


def test_nodes_are_those_of_the_partition() -> None:
    said = "main*|8\nbig|4\nbig|1\n"
    assert [slurm.parse_node_count(said, name) for name in ("", "big", "nosuch")] == [8, 5, 1]


@pytest.mark.parametrize(
    ("state", "ended_as"),
    [("NODE_FAIL", "node_failed"), ("BOOT_FAIL", "node_failed"), ("PREEMPTED", "preempted"),
     ("TIMEOUT", "time_limit"), ("CANCELLED by 0", "cancelled"), ("CANCELLED+", "cancelled"),
     ("FAILED", "lost"), ("COMPLETED", "lost"), ("SOMETHING_NEW", "lost"), ("", "lost")],
)  # fmt: skip
def test_ends_are_told_apart(state: str, ended_as: str) -> None:
    seen = slurm.parse_state(state)
    assert (seen.phase, seen.ended_as) == ("over", ended_as)


def test_a_node_that_can_not_start_a_job_has_failed() -> None:
    assert slurm.parse_state("FAILED", "JobLaunchFailure").ended_as == "node_failed"
    assert slurm.parse_state("FAILED", "NonZeroExitCode").ended_as == "lost"


@pytest.mark.parametrize("reason", ["JobHoldMaxRequeue", "launch_failed_requeued_held"])
def test_a_job_that_slurm_holds_since_it_could_not_be_started_is_not_waited_for(
    reason: str,
) -> None:
    seen = slurm.parse_state("PENDING", reason)
    assert (seen.phase, seen.ended_as) == ("over", "node_failed")
    # What a person holds, a person releases.
    assert slurm.parse_state("PENDING", "JobHeldUser") == ChunkState("waiting", why="JobHeldUser")


def fake_slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setattr(slurm, "SUBMIT_PAUSE_S", 0)


def test_a_lost_answer_of_sbatch_submits_no_second_job(
    installation: Installation,
    course: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_of(tasks("ada"))
    fake_slurm(
        tmp_path / "bin", monkeypatch,
        sbatch=f"echo x >>{tmp_path}/calls; echo 'sbatch: error: Socket timed out' >&2; exit 1",
        squeue=f"echo '{run.job_name}|7|0|PENDING|None|'",
        sacct="echo 'Slurm accounting storage is disabled' >&2; exit 1",
    )  # fmt: skip
    runs.write_run(course, run)
    slurm.Slurm(course, installation).submit(run)
    assert (tmp_path / "calls").read_text() == "x\n"
    assert runs.noted_job(course, run) == "7"


def test_a_refused_job_is_told_in_slurms_words(
    installation: Installation,
    course: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_slurm(
        tmp_path / "bin", monkeypatch,
        sbatch="echo 'sbatch: error: Invalid partition name specified' >&2; exit 1",
    )  # fmt: skip
    run = run_of(tasks("ada"))
    runs.write_run(course, run)
    with raises_text(UserError):
        slurm.Slurm(course, installation).submit(run)
    assert runs.active_runs(course) == []


def test_no_answer_is_not_taken_for_no_job(
    installation: Installation,
    course: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_answer = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    fake_slurm(tmp_path / "bin", monkeypatch, squeue=no_answer, sacct=no_answer)
    run = run_of(tasks("ada"))
    runs.write_run(course, run)
    engine = slurm.Slurm(course, installation)
    assert engine.poll([run]) is None
    with raises_text(NumalabError):
        engine.take_up(run)


# ---- attempts ----------------------------------------------------------------------------


def written(course: CourseFolder, task: GradingTask, state: AttemptState = "graded") -> bool:
    partial = attempts.partial_folder(course, task.target, task.number, "run", state)
    partial.mkdir(parents=True)
    return attempts.publish(course, partial, attempt_of(task, state))


def test_who_is_first_has_the_attempt(course: CourseFolder) -> None:
    (task,) = tasks("ada")
    assert written(course, task)
    assert not written(course, task, "kit_error")
    (kept,) = attempts.attempts_of(course, task.target)
    assert kept == attempt_of(task)
    assert [path.name for path in course.attempts(task.target).iterdir()] == ["1"]


def test_a_folder_that_was_taken_away_is_no_fault(course: CourseFolder) -> None:
    (task,) = tasks("ada")
    partial = attempts.partial_folder(course, task.target, 1, "run", "me")
    partial.mkdir(parents=True)
    attempts.remove_partials(course, task.target, 1, "run")
    assert not attempts.publish(course, partial, attempt_of(task))
    assert attempts.attempt_numbers(course, task.target) == []


def test_only_what_is_missing_is_graded(course: CourseFolder) -> None:
    ada, bob, zoe = tasks("ada", "bob", "zoe")
    written(course, ada)
    written(course, bob, "kit_error")
    wanted = [RequestedGrading(one.target, ("c",)) for one in (ada, bob, zoe)]
    head = head_of(course, lambda *_: RUNNING, [ada, bob, zoe])
    head.note_earlier()
    assert head.graded == {ada.target}
    assert list(missing_tasks(course, wanted, head.graded)) == [replace(bob, number=2), zoe]
    assert list(missing_tasks(course, wanted, {ada.target, zoe.target})) == [replace(bob, number=2)]
    assert [one.number for one in missing_tasks(course, wanted, set())] == [2, 2, 1]
    # Other files or another kit are another item.
    changed = RequestedGrading(item("ada", numalab_digest="x" * 64), ("c",))
    assert [one.number for one in missing_tasks(course, [changed], head.graded)] == [1]


def students_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose attempts are read from their files from now on, one after another."""
    read: list[str] = []
    whole = attempts.read_attempt

    def read_attempt(folder: Path) -> Attempt | None:
        read.append(folder.parent.parent.parent.name)
        return whole(folder)

    monkeypatch.setattr(attempts, "read_attempt", read_attempt)
    return read


def test_what_the_gradebook_lacks_of_earlier_attempts_is_added(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others' files are not read once more."""
    ada, bob = tasks("ada", "bob")
    written(course, ada)
    written(course, bob)
    head = head_of(course, lambda *_: RUNNING, [ada, bob])
    read = students_read(monkeypatch)
    with use_gradebook(course) as book:
        book.add_attempts([attempt_of(ada)])
        head.book = book
        head.note_earlier()
        assert head.graded == {ada.target, bob.target} and read == ["bob"]
        assert set(book.states()) == {(ada.target, 1), (bob.target, 1)}


PASSED = {"interrupted": False, "results": [{"lab": LAB, "status": "pass", "criteria": []}]}
BROKEN = {"results": [{"criteria": [{"name": "speedup", "status": "error", "why": "no monitor"}]}]}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (GradingExit(0, PASSED, ""), ""),
        (GradingExit(1, PASSED, ""), ""),
        (GradingExit(0, None, "bye"), "left no result. bye"),
        (GradingExit(0, PASSED | {"interrupted": True}, ""), "interrupted"),
        (GradingExit(3, BROKEN, ""), "speedup: no monitor"),
        (GradingExit(2, None, "no such lab"), "code 2. no such lab"),
        (GradingExit(-9, PASSED, ""), "signal 9"),
        (GradingExit(None, PASSED, ""), "within 60 s"),
    ],
)
def test_only_a_result_says_something_of_the_student(outcome: GradingExit, said: str) -> None:
    why = why_not_graded(outcome, 60)
    assert said in why if said else not why


def test_a_grading_without_end_is_stopped_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limit counts from when it has said more than is kept, however late it gets a core."""
    monkeypatch.setattr(work, "LEAVE_S", 0.5)
    pid, output = tmp_path / "pid", tmp_path / "output.txt"
    deadline_s = time.monotonic() + LIMIT_S
    code_of = work.code_of

    def has_said(size: int) -> bool:
        assert time.monotonic() < deadline_s
        return output.stat().st_size >= size

    def late_code_of(process: subprocess.Popen[bytes], limit_s: int) -> int | None:
        while not has_said(work.LARGEST_OUTPUT_BYTES // 2):
            time.sleep(0.01)
        return code_of(process, limit_s)

    monkeypatch.setattr(work, "code_of", late_code_of)
    script = f"trap '' TERM; sleep 600 & echo $! >{pid}; yes"
    done = work.run_grading(["sh", "-c", script], tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path, 1)
    assert done.code is None
    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    # The kernel ends it when its turn comes, and then the rest of what it said is read.
    while (left := read_text(stat)) is not None and left.split()[2] != "Z":
        assert time.monotonic() < deadline_s, left
        time.sleep(0.01)
    while not has_said(work.LARGEST_OUTPUT_BYTES):
        time.sleep(0.01)
    assert output.stat().st_size < work.LARGEST_OUTPUT_BYTES + 100


def test_a_grading_is_asked_for_what_was_handed_in(tmp_path: Path) -> None:
    (task,) = tasks("ada")
    asked = work.grade_arguments(
        task, GradingOptions("quick", options=("--o",)), tmp_path, tmp_path
    )
    assert asked[:3] == [LAB, "--lang", "c"] and asked[-2:] == ["--quick", "--o"]
    both = replace(task, languages=("c", "fortran"), target=item("ada", effort="default"))
    asked = work.grade_arguments(both, GradingOptions("default"), tmp_path, tmp_path)
    assert asked[1:3] == ["--lang", "all"] and "--quick" not in asked


class Stopped(Exception):
    pass


@pytest.mark.parametrize("is_over", [False, True])
def test_a_job_that_nobody_waits_for_leaves_nothing(
    course: CourseFolder, tmp_path: Path, is_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends the run, and removes what is half written, between a job's look at the
    run and its first file."""
    (task,) = tasks("ada")
    run = run_of([task])
    runs.write_run(course, run)
    make = Path.mkdir

    def mkdir(self: Path, *given: int, **more: bool) -> None:
        if attempts.PARTIAL in self.name and is_over:
            runs.end(course, run, "done")
            attempts.remove_partials(course, task.target, task.number, run.id)
        make(self, *given, **more)

    def graded(*_: object) -> GradingExit:
        raise Stopped

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(work, "run_grading", graded)
    bench = work.NodeWorkspace(
        course, run, tmp_path, Installation(tmp_path, builds=tmp_path / "b"), "7_0"
    )
    if is_over:
        assert bench.grade(task) is None
        assert not list(course.root.rglob(f"{attempts.PARTIAL}*"))
    else:
        with pytest.raises(Stopped):
            bench.grade(task)


def test_what_is_removed_takes_nothing_more(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that lives still writes a file when its folder's are gone, but not yet the folder."""
    (task,) = tasks("ada")
    partial = attempts.partial_folder(course, task.target, 1, "run", "me")
    partial.mkdir(parents=True)
    (partial / "output.txt").touch()
    remove = os.rmdir

    def rmdir(path: str, **more: int) -> None:
        with suppress(FileNotFoundError):
            (partial / "late").touch()
        remove(path, **more)

    monkeypatch.setattr(os, "rmdir", rmdir)
    attempts.remove_partials(course, task.target, 1, "run")
    assert list(course.attempts(task.target).iterdir()) == []


def test_quick_is_refused_where_it_does_not_count(
    installation: Installation, tmp_path: Path
) -> None:
    """Before anything is taken in."""
    course = tmp_path / "course"
    (tmp_path / "in").mkdir()
    words = ("batch", "grade", str(tmp_path / "in"), "--out", str(course), "--local", "--quick")
    done = numalab_command(installation, *words)
    said = " ".join(done.err.split())
    assert done.code == 2 and "1 in 20" in said
    check_text(said)
    assert not course.exists()
    course.mkdir()
    (course / "course.toml").write_text("[late]\nper_day = 0.1\n")
    done = numalab_command(installation, *words)
    said = " ".join(done.err.split())
    assert done.code == 2
    check_text(said)
    (course / "course.toml").write_text("allow_quick = true\n")
    done = numalab_command(installation, *words)
    assert "--quick" not in done.err and (course / "gradebook.sqlite").is_file()


def test_a_grading_is_shown_the_records_of_all_that_was_handed_in_of_the_kind(
    course: CourseFolder,
) -> None:
    """The newest first, whatever came of it; none of another kit, effort, lab or student."""

    def kept(number: int, hour: int, state: AttemptState = "graded", **changes: str) -> None:
        task = GradingTask(item("ada", **changes), number, ("c",))
        partial = attempts.partial_folder(course, task.target, number, "run", "me")
        (partial / "evidence" / "c").mkdir(parents=True)
        made = replace(attempt_of(task, state), ended_at=f"2026-11-22T{hour:02}:00:00+00:00")
        assert attempts.publish(course, partial, made)

    other = "e" * 64
    kept(1, 9)
    kept(2, 11, "kit_error")
    kept(1, 10, digest=other)
    written(course, GradingTask(item("ada"), 3, ("c",)))  # which has left no record
    for changes in ({"numalab_digest": "x" * 64}, {"effort": "default"}, {"lab": "03_scheduling"}):
        kept(1, 12, **changes)
    found = work.earlier_records(course, item("ada", digest="f" * 64))
    assert found == [
        course.attempt(item("ada"), 2) / "evidence",
        course.attempt(item("ada", digest=other), 1) / "evidence",
        course.attempt(item("ada"), 1) / "evidence",
    ]
    assert work.earlier_records(course, item("bob")) == []
    asked = work.grade_arguments(
        GradingTask(item("ada"), 4, ("c",)),
        GradingOptions("quick"),
        course.root,
        course.root,
        found,
    )
    named = itertools.pairwise(asked)
    assert [value for word, value in named if word == "--earlier"] == [str(path) for path in found]


# ---- the head ----------------------------------------------------------------------------


class Told:
    """A gradebook that only counts."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()

    def add_attempts(self, attempts: Iterable[Attempt]) -> int:
        new = {(one.target.key, one.number) for one in attempts} - self.seen
        self.seen |= new
        return len(new)

    def states(self) -> Mapping[tuple[GradingTarget, int], AttemptState]:
        return {}

    def undecided_attempts(self) -> Collection[tuple[GradingTarget, int]]:
        return ()


class Script:
    """An engine whose jobs do what a function says: it is called with each run's number from 0
    and each chunk, and returns what is seen of it, having written what it writes."""

    name: runs.EngineName = "slurm"

    def __init__(self, course: CourseFolder, play: object, known: bool = True) -> None:
        self.course, self.play, self.known = course, play, known
        self.submitted: list[BatchRun] = []
        self.cancelled: list[str] = []

    def submit(self, run: BatchRun) -> None:
        self.submitted.append(run)

    def take_up(self, run: BatchRun) -> bool:
        if self.known:
            self.submitted.append(run)
        return self.known

    def poll(self, wanted: Sequence[BatchRun]) -> Mapping[str, States] | None:
        assert callable(self.play)
        return {
            run.id: {
                n: self.play(self.submitted.index(run), chunk, run)
                for n, chunk in enumerate(run.chunks)
            }
            for run in wanted
        }

    def cancel(self, run: BatchRun) -> None:
        self.cancelled.append(run.id)

    def stop(self) -> None:
        pass


def head_of(
    course: CourseFolder, play: object, wanted: Sequence[GradingTask], **more: bool
) -> Dispatcher:
    plan = RunPlan(GradingOptions("quick"), SlurmOptions(), 2, 20, 1)
    pace = PollRate(poll_s=0.0, grace_s=0.0)
    counted: list[BatchStatus] = []
    course.root.mkdir(exist_ok=True)
    return Dispatcher(
        course, Script(course, play, **more), Told(), plan, pace,
        frozenset(one.target for one in wanted), counted.append,
    )  # fmt: skip


def begin(course: CourseFolder, task: GradingTask, run: BatchRun) -> None:
    attempts.partial_folder(course, task.target, task.number, run.id, "n1").mkdir(parents=True)


def engine_of(head: Dispatcher) -> Script:
    assert isinstance(head.engine, Script)
    return head.engine


def test_who_was_begun_pays_for_a_failed_node(course: CourseFolder) -> None:
    """The first item is done and the second under way whenever the node fails."""

    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        if number < 2:
            if number == 0:
                written(course, chunk[0])
            begin(course, chunk[1 if number == 0 else 0], run)
            return NODE_FAILED
        for task in chunk:
            if not attempts.is_over(course, task.target, task.number):
                written(course, task)
        return LOST

    three = tasks("ada", "bob", "zoe")
    head = head_of(course, play, three)
    head.submit(three)
    head.follow()
    first, second, third = engine_of(head).submitted
    # Nothing of a job that was thought dead is left; the last one ended by itself.
    assert engine_of(head).cancelled == [first.id, second.id]
    assert {t.target.student_id: t.tries for t in second.tasks} == {"bob": 1, "zoe": 0}
    assert {t.target.student_id: t.tries for t in third.tasks} == {"bob": 2, "zoe": 0}
    assert head.graded == {task.target for task in three} and not head.failed
    assert runs.active_runs(course) == []
    assert not list(course.root.rglob(".partial-*"))


def test_a_node_that_always_fails_ends_as_an_attempt(course: CourseFolder) -> None:
    two = tasks("ada", "bob")
    head = head_of(course, lambda number, chunk, run: NODE_FAILED, two)
    head.submit(two)
    head.follow()
    assert len(engine_of(head).submitted) == 3
    (kept,) = attempts.attempts_of(course, two[0].target)
    assert kept.state == "node_failed" and "3 times" in kept.why and not kept.results
    assert set(head.failed) == {task.target for task in two} and not head.graded
    assert len(head.book.seen) == 2  # type: ignore[attr-defined]


def test_the_kits_failure_is_kept_and_graded_again(course: CourseFolder) -> None:
    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        if not attempts.is_over(course, chunk[0].target, chunk[0].number):
            written(course, chunk[0], "kit_error" if number == 0 else "graded")
        return LOST

    one = tasks("ada")
    head = head_of(course, play, one)
    head.submit(one)
    head.follow()
    assert [a.state for a in attempts.attempts_of(course, one[0].target)] == ["kit_error", "graded"]
    assert head.graded == {one[0].target} and not head.failed


def test_a_result_counts_even_if_the_scheduler_says_otherwise(course: CourseFolder) -> None:
    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        written(course, chunk[0])
        return NODE_FAILED

    one = tasks("ada")
    head = head_of(course, play, one)
    head.submit(one)
    head.follow()
    assert len(engine_of(head).submitted) == 1 and head.graded == {one[0].target}


def test_a_file_that_is_late_is_waited_for(course: CourseFolder) -> None:
    """As on file systems that are shared: the job is over before its result is seen."""
    looks = 0

    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        nonlocal looks
        looks += 1
        if looks == 3:
            written(course, chunk[0])
        return LOST

    one = tasks("ada")
    head = head_of(course, play, one)
    head.poll_rate = PollRate(0.0, 60.0)
    head.submit(one)
    head.follow()
    assert len(engine_of(head).submitted) == 1 and head.graded == {one[0].target}


def test_cancelled_runs_are_not_begun_again(course: CourseFolder) -> None:
    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        runs.mark_cancelled(course, run)
        return RUNNING

    one = tasks("ada")
    head = head_of(course, play, one)
    head.submit(one)
    head.follow()
    assert engine_of(head).cancelled == [engine_of(head).submitted[0].id]
    assert not head.graded and runs.active_runs(course) == []


def test_a_killed_commands_jobs_are_taken_up(course: CourseFolder) -> None:
    """bob was begun again in a second run when the command was killed; ada is still at it."""
    ada, bob = tasks("ada", "bob")
    first = run_of([ada], [bob])
    second = run_of([replace(bob, tries=1)], id="20261122T090000-aaaaaa")
    runs.write_run(course, first)
    runs.write_run(course, second)

    def play(number: int, chunk: Sequence[GradingTask], run: BatchRun) -> ChunkState:
        if number == 0 and chunk[0].target == bob.target:
            return NODE_FAILED
        if not attempts.is_over(course, chunk[0].target, 1):
            written(course, chunk[0])
        return RUNNING

    head = head_of(course, play, [ada, bob])
    assert head.take_up() == {ada.target, bob.target}
    head.follow()
    assert engine_of(head).submitted == [first, second]
    assert head.graded == {ada.target, bob.target}


def test_a_run_that_slurm_never_got_is_given_up(course: CourseFolder) -> None:
    one = tasks("ada")
    run = run_of(one)
    runs.write_run(course, run)
    begin(course, one[0], run)
    head = head_of(course, lambda *_: RUNNING, one, known=False)
    assert head.take_up() == set()
    assert runs.is_over(course, run.id) and not list(course.root.rglob(".partial-*"))


def test_what_a_run_has_left_half_written_is_removed_later(course: CourseFolder) -> None:
    """Its command was killed when it had said that it is over, or another one cancelled it."""
    one = tasks("ada")
    run = run_of(one)
    runs.write_run(course, run)
    begin(course, one[0], run)
    runs.end(course, run, "cancelled")
    head = head_of(course, lambda *_: RUNNING, one)
    assert head.take_up() == set() and not engine_of(head).submitted
    assert not list(course.root.rglob(".partial-*"))
    assert runs.unclean_runs(course) == []


def test_a_run_on_slurm_is_not_taken_over_here(course: CourseFolder) -> None:
    runs.write_run(course, run_of(tasks("ada")))
    head = head_of(course, lambda *_: RUNNING, [])
    engine_of(head).name = "local"
    with raises_text(UserError):
        head.take_up()


def test_one_head_a_course(course: CourseFolder) -> None:
    with course_lock(course), pytest.raises(LockedError, match=r"process \d+"), course_lock(course):
        pass


def test_how_far_it_is(course: CourseFolder) -> None:
    three = tasks("ada", "bob", "zoe")
    run = run_of(three[:2], three[2:])
    runs.write_run(course, run)
    written(course, three[0])
    written(course, three[1], "kit_error")
    states = {0: RUNNING, 1: ChunkState("waiting", why="Priority")}
    found = status_of(course, run, states)
    check_text(text_of(found))


def test_a_log_tells_what_jobs_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line("batch") as progress:
        for waiting, note in ((1, ""), (1, "Nodes are DOWN, DRAINED or reserved")):
            progress(BatchStatus(3, 2, 0, 0, 0, waiting, note).text)
        progress(CountedStep("timing", "generation 1"))
        progress(CountedStep("timing", "generation 2"))
    check_text(capsys.readouterr().err.splitlines())


def test_files_of_what_the_gradebook_has_are_not_read(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, zoe = tasks("ada", "bob", "zoe")
    run = run_of([ada, bob, zoe])
    for task, state in ((ada, "graded"), (bob, "node_failed"), (zoe, "graded")):
        written(course, task, state)  # type: ignore[arg-type]
    with use_gradebook(course) as book:
        book.add_attempts([attempt_of(ada), attempt_of(bob, "node_failed")])
    read = students_read(monkeypatch)
    found = status_of(course, run, None, known_states(course))
    assert read == ["zoe"]
    check_text(text_of(found))


def test_the_status_of_a_class_without_gradebook(course: CourseFolder) -> None:
    assert known_states(course) == {} and class_text(course) == ""


def test_what_of_a_class_is_graded_in_all(course: CourseFolder) -> None:
    """The newest hand-in of each student and lab counts, whichever run has graded it."""
    ada, bob = tasks("ada", "bob")

    def intake(of_bob: str, hour: int) -> Intake:
        at = f"2026-11-22T{hour:02}:00:00+00:00"
        return Intake("folders", tuple(
            Submission(Student(name, name, {}), LAB, ("c",), digest, ("kernel.c",), at, name)
            for name, digest in (("ada", "d" * 64), ("bob", of_bob))
        ), ())  # fmt: skip

    with use_gradebook(course) as book:
        book.add_submissions(intake("d" * 64, 10))
        book.add_attempts([attempt_of(ada), attempt_of(bob)])
        check_text(class_text(course))
        book.add_submissions(intake("e" * 64, 11))
        check_text(class_text(course))
