"""The head of a batch: what it asks for and when, whom it begins again, and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.courses import result
from support.golden_texts import check_text, raises_text

from numalab.commands import batch
from numalab.commands.root import cli
from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import dispatcher as of_head
from numalab.course.jobs import runs
from numalab.course.jobs.dispatcher import BatchStatus, Dispatcher, PollRate, RunPlan, course_lock
from numalab.course.jobs.engine import ChunkState, States
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.records import Attempt, AttemptState, GradingTarget
from numalab.errors import UserError

AT, NOW = "2026-11-22T08:00:00+00:00", "2026-11-22T09:00:00+00:00"
RUNNING = ChunkState("running")
FAILED = ChunkState("over", "node_failed", "the node failed")
LOST = ChunkState("over", "lost", "the job ended without this result")
Play = Callable[[BatchRun, int], ChunkState | None]


def task(student: str, **changes: Any) -> GradingTask:
    made = GradingTask(
        GradingTarget(student, "01_first_touch", "d" * 64, "k" * 64, "quick"), 1, ("c",)
    )
    return replace(made, **changes)


def run_of(*chunks: Sequence[GradingTask], **changes: Any) -> BatchRun:
    made = tuple(tuple(chunk) for chunk in chunks)
    run = BatchRun(
        "20261122T080000-abcdef", "slurm", AT, GradingOptions("quick"), SlurmOptions(), made
    )
    return replace(run, **changes)


def attempt_of(of: GradingTask, state: AttemptState = "graded", *results: Any) -> Attempt:
    return Attempt(of.target, of.number, state, AT, AT, results, {}, "none")


def written(
    course: CourseFolder, of: GradingTask, state: AttemptState = "graded", *results: Any
) -> Attempt:
    partial = attempts.partial_folder(course, of.target, of.number, "run", "me")
    partial.mkdir(parents=True)
    made = attempt_of(of, state, *results)
    assert attempts.publish(course, partial, made)
    return made


class Book:
    def __init__(self) -> None:
        self.kept: list[Attempt] = []
        self.known: dict[tuple[GradingTarget, int], AttemptState] = {}
        self.opened: set[tuple[GradingTarget, int]] = set()

    def add_attempts(self, attempts: Iterable[Attempt]) -> int:
        self.kept += attempts
        return 0

    def states(self) -> Mapping[tuple[GradingTarget, int], AttemptState]:
        return self.known

    def undecided_attempts(self) -> Collection[tuple[GradingTarget, int]]:
        return self.opened


class Engine:
    """Whose jobs are what a function says, None: nothing is known of that one."""

    def __init__(self, play: Play | None, name: runs.EngineName = "slurm") -> None:
        self.play, self.name, self.takes_up = play, name, True
        self.submitted: list[BatchRun] = []
        self.cancelled: list[str] = []
        self.looks: list[list[str]] = []

    def submit(self, run: BatchRun) -> None:
        self.submitted.append(run)

    def take_up(self, run: BatchRun) -> bool:
        return self.takes_up

    def poll(self, wanted: Sequence[BatchRun]) -> Mapping[str, States] | None:
        self.looks.append([run.id for run in wanted])
        if self.play is None:
            return None
        seen = {run.id: {n: self.play(run, n) for n in range(len(run.chunks))} for run in wanted}
        return {
            run_id: {n: one for n, one in of_run.items() if one is not None}
            for run_id, of_run in seen.items()
            if any(of_run.values())
        }

    def cancel(self, run: BatchRun) -> None:
        self.cancelled.append(run.id)
        raise UserError("it has ended")

    def stop(self) -> None:
        raise AssertionError


class Clock:
    """Time passes while it is slept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        self.slept: list[float] = []
        self.at: Callable[[float], None] = lambda _: None
        monkeypatch.setattr(of_head.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(of_head.time, "sleep", self.sleep)

    def sleep(self, count_s: float) -> None:
        self.now_s += count_s
        self.slept.append(count_s)
        assert len(self.slept) < 1000
        self.at(self.now_s - 1000)


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    made = CourseFolder(tmp_path / "course")
    made.root.mkdir()
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(runs, "now", lambda: NOW)
    return Clock(monkeypatch)


class Batch:
    """A head of everything that it needs; pace: looks every 2 s, grace of 60 s."""

    def __init__(self, course: CourseFolder, play: Play | None, *wanted: GradingTask) -> None:
        self.engine, self.book = Engine(play), Book()
        self.counts: list[BatchStatus] = []
        self.head = Dispatcher(
            course, self.engine, self.book,
            RunPlan(GradingOptions("quick"), SlurmOptions(), 1, 20, 1), PollRate(2.0, 60.0),
            frozenset(one.target for one in wanted), self.counts.append,
        )  # fmt: skip


# ---- when it looks ---------------------------------------------------------------------------


def test_files_are_looked_at_every_two_seconds_and_the_scheduler_is_asked_every_ten(
    course: CourseFolder, clock: Clock
) -> None:
    """At the end, when one is left of each job, files are looked at eight times as often."""
    ada, bob = task("ada"), task("bob")
    looked_s: list[float] = []

    def play(*_: object) -> ChunkState:
        looked_s.append(clock.now_s - 1000)
        return RUNNING

    batch = Batch(course, play, ada, bob)

    def passed(after_s: float) -> None:
        if after_s == 22:
            written(course, ada)
        if after_s == 25:
            written(course, bob)

    clock.at = passed
    batch.head.submit([ada, bob])
    batch.head.follow()
    assert clock.slept == [2.0] * 11 + [0.25] * 12
    assert looked_s == [0, 10, 20]
    assert [one.graded for one in batch.counts] == [0] * 11 + [1] * 12 + [2]
    assert {(one.total, one.failed, one.pending, one.note) for one in batch.counts} == {
        (2, 0, 0, "")
    }
    assert [one.running for one in batch.counts] == [1] * 23 + [0]
    assert [one.target for one in batch.book.kept] == [ada.target, bob.target]


def test_it_is_the_end_when_one_is_left_of_every_job(course: CourseFolder, clock: Clock) -> None:
    """Nor is a scheduler asked of what has just ended."""
    three = [task(name) for name in ("ada", "bob", "eve")]
    batch = Batch(course, lambda *_: RUNNING, *three)
    batch.head.plan = replace(batch.head.plan, max_per_job=2)

    def passed(after_s: float) -> None:
        for one, at_s in zip(three, (4, 10, 10), strict=True):
            if after_s == at_s:
                written(course, one)

    clock.at = passed
    (run,) = batch.head.submit(three)
    assert [len(chunk) for chunk in run.chunks] == [2, 1]
    batch.head.follow()
    assert clock.slept == [2.0] * 2 + [0.25] * 24 and len(batch.engine.looks) == 1


def test_of_each_job_only_what_it_does_next_is_read_until_the_scheduler_is_asked(
    course: CourseFolder, clock: Clock
) -> None:
    three = [task(name) for name in ("ada", "bob", "eve")]
    batch = Batch(course, lambda *_: RUNNING, *three)
    batch.head.submit(three)
    written(course, three[1])
    batch.head.collect(next_only=True)
    assert not batch.book.kept
    written(course, three[0])
    batch.head.collect(next_only=True)
    assert [one.target.student_id for one in batch.book.kept] == ["ada", "bob"]
    assert batch.head.is_under_way


def test_a_scheduler_that_does_not_answer_is_told(course: CourseFolder, clock: Clock) -> None:
    ada = task("ada")
    batch = Batch(course, None, ada)
    batch.head.submit([ada])
    clock.at = lambda after_s: written(course, ada) and None if after_s == 0.5 else None
    batch.head.follow()
    silent = "the scheduler does not answer just now"
    assert [one.note for one in batch.counts] == [silent, silent, ""]
    assert batch.head.status().note == "" and batch.head.graded == {ada.target}


def test_what_jobs_wait_for_is_told_of_those_that_wait(course: CourseFolder) -> None:
    states = [RUNNING, *(ChunkState("waiting", why=why) for why in "abcbcc"),
              ChunkState("waiting"), None, ChunkState("running", why="c")]  # fmt: skip
    tasks = [task(f"s{n}") for n in range(len(states))]
    batch = Batch(course, None, *tasks)
    batch.head.plan = replace(batch.head.plan, max_per_job=1)
    (run,) = batch.head.submit(tasks)
    seen = {run.id: {n: one for n, one in enumerate(states) if one is not None}}
    count = batch.head.status(seen)
    assert count == BatchStatus(10, 0, 0, 0, 2, 7, "c, b")
    assert batch.head.status({}) == batch.head.status(None) == BatchStatus(10, 0, 0, 0, 0, 0)
    waits = {run.id: {0: ChunkState("waiting", why="x")}}
    assert batch.head.status(waits).note == "x"


# ---- who is begun again ----------------------------------------------------------------------


def test_what_is_lost_has_a_grace_that_begins_anew_when_its_job_is_seen(
    course: CourseFolder, clock: Clock
) -> None:
    """Looked at every 10 s: lost at 0 and 10, seen at 20, unknown from 30 on, and its grace is
    over at 90."""
    ada, bob = task("ada"), task("bob")
    batch = Batch(course, None, ada, bob)

    def play(run: BatchRun, _: int) -> ChunkState | None:
        if len(batch.engine.submitted) > 1:
            for one in run.tasks:
                written(course, one)
            return RUNNING
        looks = len(batch.engine.looks)
        return RUNNING if looks == 3 else LOST if looks < 3 else None

    batch.engine.play = play
    batch.head.submit([ada, bob])
    batch.head.follow()
    first, second = batch.engine.submitted
    assert clock.now_s == 1000 + 90 + 10
    assert list(second.tasks) == [replace(ada, tries=1), replace(bob, tries=1)]
    assert batch.engine.cancelled == [first.id]
    assert batch.head.graded == {ada.target, bob.target} and batch.counts[-1].begun_again == 2


def test_who_was_not_begun_pays_nothing_for_another_ones_failure(
    course: CourseFolder, clock: Clock
) -> None:
    ada, bob, eve = task("ada"), task("bob", tries=1), task("eve", tries=1)
    batch = Batch(course, lambda *_: FAILED, ada, bob, eve)
    (run,) = batch.head.submit([ada, bob, eve])
    runs.note_job(course, run, "7")
    batch.head._runs[run.id] = replace(run, made_at=AT)
    for one in (ada, bob):
        attempts.partial_folder(course, one.target, 1, run.id, "n1").mkdir(parents=True)
    again = batch.head._settle((run.id, 0), [ada, bob, eve], {run.id: {0: FAILED}})
    assert again == [replace(ada, tries=1), eve]
    (kept,) = batch.book.kept
    why = "The node failed. It was begun 2 times."
    assert kept == Attempt(bob.target, 1, "node_failed", AT, NOW, (), {}, "none", why, "7_0")
    assert batch.head.failed == {bob.target: kept}
    assert not list(course.root.rglob(f"{attempts.PARTIAL}*"))


def test_where_nobody_was_begun_everybody_of_the_whole_chunk_pays(
    course: CourseFolder, clock: Clock
) -> None:
    ada, bob = task("ada"), task("bob")
    batch = Batch(course, lambda *_: FAILED, ada, bob)
    (run,) = batch.head.submit([ada, bob])
    seen = {run.id: {0: FAILED}}
    assert batch.head._settle((run.id, 0), [ada, bob], None) == []
    assert batch.head._settle((run.id, 0), [ada, bob], {run.id: {0: RUNNING}}) == []
    assert batch.head._settle((run.id, 0), [bob], seen) == [bob]  # the job had come to ada
    batch.head._left[run.id, 0] = [ada, bob]
    paid = [replace(one, tries=1) for one in (ada, bob)]
    assert batch.head._settle((run.id, 0), [ada, bob], seen) == paid


def test_a_first_try_that_fails_for_good(course: CourseFolder, clock: Clock) -> None:
    """Without a second one: its job by its name where its number is not known."""
    ada = task("ada")
    batch = Batch(course, lambda *_: FAILED, ada)
    batch.head.plan = replace(batch.head.plan, requeues=0)
    (run,) = batch.head.submit([ada])
    batch.head.follow()
    (kept,) = batch.book.kept
    assert (kept.why, kept.job, kept.state) == (
        "The node failed.", f"{run.job_name}_0", "node_failed"
    )  # fmt: skip
    assert batch.counts[-1] == BatchStatus(1, 0, 1, 0, 0, 0)
    assert (course.run(run.id) / "over.json").is_file() and batch.engine.cancelled == [run.id]


def test_what_the_kit_could_not_grade_is_graded_once_more_together(
    course: CourseFolder, clock: Clock
) -> None:
    two = [task("ada"), task("bob")]
    batch = Batch(course, None, *two)

    def play(run: BatchRun, _: int) -> ChunkState:
        for one in run.tasks:
            if not attempts.is_over(course, one.target, one.number):
                written(course, one, "kit_error")
        return RUNNING

    batch.engine.play = play
    batch.head.submit(two)
    batch.head.follow()
    _, second = batch.engine.submitted
    assert list(second.tasks) == [replace(one, number=2, tries=1) for one in two]
    assert batch.counts[-1] == BatchStatus(2, 0, 2, 2, 0, 0)
    assert {one.number for one in batch.head.failed.values()} == {2}
    assert batch.engine.cancelled == []  # both have ended by themselves


def test_at_the_very_end_nothing_is_begun_again(course: CourseFolder, clock: Clock) -> None:
    ada = task("ada")
    batch = Batch(course, None, ada)
    batch.head.submit([ada])
    written(course, ada, "kit_error")
    batch.head.collect_last()
    assert not batch.head.is_under_way and set(batch.head.failed) == {ada.target}


def test_who_is_graded_after_all_has_not_failed(course: CourseFolder, clock: Clock) -> None:
    ada = task("ada")
    batch = Batch(course, None, ada)
    batch.head.failed[ada.target] = attempt_of(ada, "lost")
    batch.head._note(ada, attempt_of(ada))
    assert batch.head.graded == {ada.target} and not batch.head.failed
    batch.head._note(replace(ada, tries=1), attempt_of(ada, "lost"))
    assert not batch.head.failed and not batch.head.is_under_way


# ---- whole runs ------------------------------------------------------------------------------


def test_a_large_class_has_more_than_one_array(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runs.LARGEST_ARRAY == 1000  # MaxArraySize is 1001 where nobody has changed it
    monkeypatch.setattr(runs, "LARGEST_ARRAY", 2)
    five = [task(f"s{n}") for n in range(5)]
    batch = Batch(course, None, *five)
    batch.head.plan = replace(batch.head.plan, max_per_job=1, slurm=SlurmOptions("p"))
    made = batch.head.submit(five)
    assert [list(one.tasks) for one in made] == [five[:2], five[2:4], five[4:]]
    assert made == batch.engine.submitted == runs.active_runs(course)
    assert {(one.engine, one.slurm.partition, one.grading) for one in made} == {
        ("slurm", "p", GradingOptions("quick"))
    }
    assert batch.head.submit([]) == []


def over_as(course: CourseFolder, run: BatchRun) -> str:
    return (course.run(run.id) / "over.json").read_text()


@pytest.mark.parametrize("engine", ["slurm", "local"])
def test_what_earlier_commands_have_left(
    course: CourseFolder, clock: Clock, engine: runs.EngineName
) -> None:
    """Cancelled runs of any kind end; those of a machine do with their command."""
    ada, bob, eve = task("ada"), task("bob"), task("eve")
    cancelled, local, taken = (
        run_of([ada], id="1"), run_of([bob], id="2", engine="local"), run_of([eve], id="3")
    )  # fmt: skip
    for run in (cancelled, local, *([taken] if engine == "slurm" else [])):
        runs.write_run(course, run)
        (one,) = run.tasks
        attempts.partial_folder(course, one.target, 1, run.id, "n1").mkdir(parents=True)
    runs.mark_cancelled(course, cancelled)
    batch = Batch(course, lambda *_: RUNNING, ada, bob, eve)
    batch.engine.name, batch.engine.takes_up = engine, engine == "slurm"
    assert batch.head.take_up() == ({eve.target} if engine == "slurm" else set())
    assert '"cancelled"' in over_as(course, cancelled)
    check_text(over_as(course, local))
    left = [path.parent.parent.parent.name for path in course.root.rglob(f"{attempts.PARTIAL}*")]
    assert left == (["eve"] if engine == "slurm" else [])
    assert runs.unclean_runs(course) == []


def test_what_earlier_jobs_could_not_grade_is_taken_up_too(
    course: CourseFolder, clock: Clock
) -> None:
    ada, bob, eve = task("ada"), task("bob"), task("eve", tries=1)
    runs.write_run(course, run_of([ada, bob, eve]))
    written(course, ada, "kit_error")
    written(course, eve, "kit_error")
    batch = Batch(course, lambda *_: RUNNING, ada, bob, eve)
    assert batch.head.take_up() == {ada.target, bob.target}
    assert set(batch.head.failed) == {eve.target}


def test_a_cancelled_run_is_dropped_and_no_other(course: CourseFolder, clock: Clock) -> None:
    ada, bob = task("ada"), task("bob")
    batch = Batch(course, lambda *_: FAILED, ada, bob)
    batch.engine.cancel = lambda run: batch.engine.cancelled.append(run.id)  # type: ignore[method-assign]
    (first,) = batch.head.submit([ada])
    (second,) = batch.head.submit([bob])
    runs.mark_cancelled(course, first)
    batch.head._settle_all(None)
    batch.head._drop_cancelled()
    batch.head._end_runs()
    assert batch.engine.cancelled == [first.id]
    assert runs.active_runs(course) == [second]
    assert list(batch.head._left) == [(second.id, 0)]


# ---- what was graded before ------------------------------------------------------------------


def test_what_is_graded_already_but_for_what_is_open(course: CourseFolder) -> None:
    graded, failed, opened, read_open, again, lost = (
        task(name) for name in ("ada", "bob", "eve", "kim", "mia", "zoe")
    )
    for one in (graded, failed, opened):
        written(course, one)
    written(course, read_open, "graded", result(5), result(1, still_open=2))
    first = written(course, again, "graded", result(1, still_open=2))
    second = written(course, replace(again, number=2), "graded", result(3))
    (course.attempts(lost.target) / "1").mkdir(parents=True)  # was removed but for its folder
    batch = Batch(course, None, graded, failed, opened, read_open, again, lost)
    batch.book.known = {(graded.target, 1): "graded", (failed.target, 1): "lost",
                        (opened.target, 1): "graded"}  # fmt: skip
    batch.book.opened = {(opened.target, 1)}
    batch.head.note_earlier()
    assert batch.head.graded == {graded.target, again.target}
    of_again = [one for one in batch.book.kept if one.target == again.target]
    assert of_again == [first, second] and len(batch.book.kept) == 3


# ---- one head --------------------------------------------------------------------------------


def test_the_status_beside_a_command_is_not_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes in hand-ins and builds before it has a run, and may have one after another."""
    course = CourseFolder(tmp_path / "course")
    last = run_of([task("ada")], engine="local")
    runs.write_run(course, last)
    runs.end(course, last, "done")
    looks: list[int] = []

    def held(path: Path) -> bool:
        assert path == course.lock
        looks.append(1)
        return len(looks) < 3

    monkeypatch.setattr(batch, "is_held", held)
    monkeypatch.setattr(batch.time, "sleep", lambda pause_s: None)
    done = CliRunner().invoke(cli, ["batch", "status", str(course.root), "--watch"])
    assert done.exit_code == 0
    assert len(looks) == 3
    lines = done.output.splitlines()
    assert sum(line.startswith(last.id) for line in lines) == 3
    check_text(lines[2])


def test_a_course_is_made_where_there_is_none(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path / "a" / "course")
    for _ in range(2):
        with course_lock(course):
            assert course.lock.is_file()
    (tmp_path / "file").touch()
    with (
        raises_text(UserError),
        course_lock(CourseFolder(tmp_path / "file" / "course")),
    ):
        pass
