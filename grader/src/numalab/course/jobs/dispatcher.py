"""The head process of a batch: what is to be graded, which jobs grade it, and what came of them.

It may be killed at any moment: a run's folder is written before its job is submitted, and an
attempt's folder before the gradebook.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import Gradebook
from numalab.course.gradebook.undecided_points import is_worth_regrading
from numalab.course.jobs import runs
from numalab.course.jobs.engine import ChunkState, Engine, States, count_phases
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.locks import hold_lock
from numalab.course.records import Attempt, GradingTarget, Submission
from numalab.errors import UserError, reason_of


@dataclass(frozen=True)
class PollRate:
    """How often files and the scheduler are polled.

    Attributes:
        poll_s: pause between two polls of the files, unless end_s applies.
        grace_s: how long a job may be lost before its tasks are submitted again or given up. What
            it has written may become visible late: NFS caches a folder for up to 60 s by default
            (nfs(5), acdirmax).
    """

    poll_s: float = 2.0
    grace_s: float = 75.0

    @property
    def ask_s(self) -> float:
        """Time between two polls of the scheduler, longer since it serves others, too."""
        return 5 * self.poll_s

    @property
    def end_s(self) -> float:
        """Time between two polls of the files while no job has more than one attempt left."""
        return self.poll_s / 8


@dataclass(frozen=True)
class RunPlan:
    """How new runs are made.

    Attributes:
        requeues: how many further tries a target has.
        max_per_job: the largest number of targets in a job.
        nodes: number of cluster nodes that jobs run on, as far as known, 1 or more.
    """

    grading: GradingOptions
    slurm: SlurmOptions
    requeues: int
    max_per_job: int
    nodes: int


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is.

    Attributes:
        total, graded: numbers of requested targets.
        failed: number of requested targets that failed for good, through no fault of the student's.
        begun_again: how often gradings were submitted again.
        running, pending: numbers of jobs that run and that wait.
        note: what jobs wait for, or that the scheduler does not answer; empty if nothing is known.
    """

    total: int
    graded: int
    failed: int
    begun_again: int
    running: int
    pending: int
    note: str = ""

    @property
    def text(self) -> str:
        """The status as one line."""
        parts = [f"{self.graded} of {self.total} graded"]
        if self.failed:
            parts.append(f"{self.failed} could not be")
        if self.begun_again:
            parts.append(f"{self.begun_again} begun again")
        if self.running or self.pending:
            waiting = f" and {self.pending} waiting" if self.pending else ""
            parts.append(f"jobs: {self.running} running{waiting}")
        return "; ".join(parts) + (f" ({self.note})" if self.note else "")


def course_lock(course: CourseFolder) -> AbstractContextManager[None]:
    """Make the course's folder if it is missing, and return a context that keeps out other commands
    that change the course. Raises UserError if the folder can't be made; the context raises
    LockedError if there is such a command, and UserError if the folder can't be written."""
    try:
        course.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"can't make {course.root}: {reason_of(error)}") from error
    return hold_lock(
        course.lock,
        lambda holder: (
            f"this course is being graded by {holder}. `./numalab batch status {course.root}` "
            "shows how far it is."
        ),
    )


# ---- what is missing -----------------------------------------------------------------


@dataclass(frozen=True)
class RequestedGrading:
    """A target that is to be graded, and the languages that were handed in."""

    target: GradingTarget
    languages: tuple[str, ...]


def requested_gradings(
    submissions: Iterable[Submission], digest_of: Callable[[str], str], effort: str
) -> tuple[RequestedGrading, ...]:
    """Return the gradings of submissions. digest_of: returns numalab's digest for a lab's name."""
    return tuple(
        RequestedGrading(
            GradingTarget(one.student.id, one.lab, one.digest, digest_of(one.lab), effort),
            one.languages,
        )
        for one in submissions
    )


def missing_tasks(
    course: CourseFolder, requested: Iterable[RequestedGrading], but: Collection[GradingTarget]
) -> Iterator[GradingTask]:
    """Yield a task that makes a further attempt, for each requested target. but: targets that are
    left out."""
    for each in requested:
        if each.target not in but:
            last = max(attempts.attempt_numbers(course, each.target), default=0)
            yield GradingTask(each.target, last + 1, each.languages)


# ---- following jobs ------------------------------------------------------------------


@dataclass
class Dispatcher:
    """The runs that a command submits and follows.

    Attributes:
        requested: the targets that the command is about.
        show: called with the status after each poll.
        graded: targets that are graded and not to be graded again.
        failed: targets that failed for good, each with its last attempt.
    """

    course: CourseFolder
    engine: Engine
    book: Gradebook
    plan: RunPlan
    poll_rate: PollRate
    requested: frozenset[GradingTarget]
    show: Callable[[BatchStatus], None]
    graded: set[GradingTarget] = field(default_factory=set)
    failed: dict[GradingTarget, Attempt] = field(default_factory=dict)
    _runs: dict[str, BatchRun] = field(default_factory=dict)
    _left: dict[tuple[str, int], list[GradingTask]] = field(default_factory=dict)
    _quiet_since_s: dict[tuple[str, int], float] = field(default_factory=dict)
    _later: list[GradingTask] = field(default_factory=list)
    _begun_again: int = 0
    _given_up_on: set[str] = field(default_factory=set)

    def take_up(self) -> set[GradingTarget]:
        """Take up the runs that an earlier command has left; return the targets that they are still
        to grade or that are to be begun again.

        Raises:
            UserError: a run goes on on Slurm, which is not this engine, or can't be taken up.
            NumalabError: Slurm does not answer, or a record is damaged.
        """
        for run in runs.unclean_runs(self.course):
            self._clean(run)
        for run in runs.active_runs(self.course):
            cancelled = runs.is_cancelled(self.course, run)
            if run.engine == "slurm" != self.engine.name and not cancelled:
                raise UserError(
                    f"the run {run.id} of this course is under way on Slurm. Repeat the command "
                    "with --slurm, or give the run up: ./numalab batch cancel "
                    f"{self.course.root}"
                )
            is_same = run.engine == self.engine.name
            if is_same and not cancelled and self.engine.take_up(run):
                self._follow(run)
            else:
                runs.end(self.course, run, "cancelled" if cancelled else "left by its command")
                self._clean(run)
        self.collect()
        left = [task for tasks in self._left.values() for task in tasks]
        return {task.target for task in [*left, *self._later]}

    def submit(self, tasks: Sequence[GradingTask]) -> list[BatchRun]:
        """Submit tasks as runs, each of which is one array job, and follow them; return the runs.
        Raises UserError if one is refused."""
        made = []
        chunks = runs.split_tasks(tasks, self.plan.max_per_job, self.plan.nodes)
        for start in range(0, len(chunks), runs.LARGEST_ARRAY):
            some = chunks[start : start + runs.LARGEST_ARRAY]
            run = BatchRun(
                runs.new_id(), self.engine.name, runs.now(), self.plan.grading,
                self.plan.slurm, some,
            )  # fmt: skip
            runs.write_run(self.course, run)
            self.engine.submit(run)
            self._follow(run)
            made.append(run)
        return made

    def _follow(self, run: BatchRun) -> None:
        """Count the targets of a run as still to be graded by it, and no longer as graded or left
        in another run: a target that was begun again is in several."""
        self._runs[run.id] = run
        items = {task.target for task in run.tasks}
        self.graded -= items
        for key, tasks in list(self._left.items()):
            self._keep_left(key, [task for task in tasks if task.target not in items])
        for number, chunk in enumerate(run.chunks):
            self._left[run.id, number] = list(chunk)

    def follow(self) -> None:
        """Collect, requeue and end runs until nothing is under way."""
        seen: Mapping[str, States] | None = {}
        ask_at_s = 0.0
        while self.is_under_way:
            self.collect(next_only=True)
            if not self._left:
                self.submit_later()
            if time.monotonic() >= ask_at_s and self._left:
                seen = self.engine.poll(list(self._runs.values()))
                ask_at_s = time.monotonic() + self.poll_rate.ask_s
                # A job that is over for the scheduler may have written since files were polled.
                self.collect()
                self._settle_all(seen)
            self._drop_cancelled()
            self._end_runs()
            self.show(self.status(seen, was_polled=True))
            if self.is_under_way:
                is_end = all(len(tasks) == 1 for tasks in self._left.values())
                time.sleep(self.poll_rate.end_s if is_end else self.poll_rate.poll_s)

    def _settle_all(self, states: Mapping[str, States] | None) -> None:
        """Submit again what is left of jobs that ended early, without waiting for other jobs, and
        give up tasks that have no try left. A job that is lost is given grace_s first."""
        again: list[GradingTask] = []
        for key, tasks in list(self._left.items()):
            if not runs.is_cancelled(self.course, self._runs[key[0]]):
                again += self._settle(key, tasks, states)
        self._submit_again(again)

    def submit_later(self) -> None:
        """Submit once more the targets whose attempts came to nothing, all together, since each job
        builds numalab."""
        again, self._later = self._later, []
        self._submit_again(again)

    def _submit_again(self, tasks: Sequence[GradingTask]) -> None:
        self._begun_again += len(tasks)
        self.submit(tasks)

    def collect(self, next_only: bool = False) -> None:
        """Add complete attempts to the gradebook. The target of one that came to nothing gets a
        further try, up to the limit.

        Args:
            next_only: stop in each job at its first attempt that is not complete. Jobs work in
                order, so this is enough while they run, and it reads few files of a large class.
        """
        found: list[Attempt] = []
        for key, tasks in list(self._left.items()):
            left = []
            for number, task in enumerate(tasks):
                attempt = attempts.read_attempt(self.course.attempt(task.target, task.number))
                if attempt is None:
                    left.append(task)
                    if next_only:
                        left += tasks[number + 1 :]
                        break
                    continue
                found.append(attempt)
                self._note(task, attempt)
            self._keep_left(key, left)
        if found:
            self.book.add_attempts(found)
        self._end_runs()

    def _note(self, task: GradingTask, attempt: Attempt) -> None:
        if attempt.state == "graded":
            self.graded.add(task.target)
            self.failed.pop(task.target, None)
        elif task.tries < self.plan.requeues:
            self._later.append(replace(task, number=task.number + 1, tries=task.tries + 1))
        elif task.target not in self.graded:
            self.failed[task.target] = attempt

    def _keep_left(self, key: tuple[str, int], left: list[GradingTask]) -> None:
        if left:
            self._left[key] = left
        else:
            del self._left[key]
            self._quiet_since_s.pop(key, None)

    def _drop_cancelled(self) -> None:
        """Cancel the runs that are noted as cancelled."""
        for run in list(self._runs.values()):
            if runs.is_cancelled(self.course, run):
                self.engine.cancel(run)
                runs.end(self.course, run, "cancelled")
                for key in [key for key in self._left if key[0] == run.id]:
                    self._keep_left(key, [])

    def _settle(
        self,
        key: tuple[str, int],
        tasks: Sequence[GradingTask],
        states: Mapping[str, States] | None,
    ) -> list[GradingTask]:
        """Return the tasks that are to be begun again, if the chunk's job has ended without all its
        attempts. A job that is lost is given grace_s first."""
        run = self._runs[key[0]]
        if states is None:
            return []
        unknown = ChunkState("over", "lost", "no job is known any more")
        state = states.get(run.id, {}).get(key[1], unknown)
        if state.phase != "over":
            self._quiet_since_s.pop(key, None)
            return []
        if state.ended_as == "lost":
            since_s = self._quiet_since_s.setdefault(key, time.monotonic())
            if time.monotonic() - since_s < self.poll_rate.grace_s:
                return []
        return self._begin_again(run, key, tasks, state)

    def _begin_again(
        self, run: BatchRun, key: tuple[str, int], tasks: Sequence[GradingTask], state: ChunkState
    ) -> list[GradingTask]:
        """Give up the tasks that use up a try and have none left, and return the others. A target
        whose grading had begun uses up a try. If the job had not even begun its first target, each
        does: such a job must not be submitted for ever."""
        begun = {
            t.target
            for t in tasks
            if attempts.partial_folders(self.course, t.target, t.number, run.id)
        }
        nobody = not begun and len(tasks) == len(run.chunks[key[1]])
        again = []
        for task in tasks:
            attempts.remove_partials(self.course, task.target, task.number, run.id)
            charged = nobody or task.target in begun
            if charged and task.tries >= self.plan.requeues:
                self._give_up(run, key[1], task, state)
            else:
                again.append(replace(task, tries=task.tries + charged))
        self._left.pop(key)
        self._quiet_since_s.pop(key, None)
        self._given_up_on.add(run.id)
        return again

    def _give_up(self, run: BatchRun, chunk: int, task: GradingTask, state: ChunkState) -> None:
        """Keep what happened to the last try as an attempt, unless its job has completed it."""
        at = runs.now()
        why = state.why[:1].upper() + state.why[1:] + "."
        if task.tries:
            why += f" It was begun {task.tries + 1} times."
        job = f"{runs.noted_job(self.course, run) or run.job_name}_{chunk}"
        attempt = Attempt(
            task.target, task.number, state.ended_as, run.made_at, at, (), {}, "none", why, job
        )
        partial = attempts.partial_folder(
            self.course, task.target, task.number, run.id, f"head-{os.getpid()}"
        )
        partial.mkdir(parents=True, exist_ok=True)
        attempts.publish(self.course, partial, attempt)
        # It is the job's own attempt if that was quicker after all.
        kept = attempts.read_attempt(self.course.attempt(task.target, task.number))
        if kept is not None:
            self.book.add_attempts([kept])
            self._note(replace(task, tries=self.plan.requeues), kept)

    def _end_runs(self) -> None:
        under_way = {run_id for run_id, _ in self._left}
        for run_id in [known_id for known_id in self._runs if known_id not in under_way]:
            run = self._runs.pop(run_id)
            runs.end(self.course, run, "done")
            if run_id in self._given_up_on:  # a job may be held by Slurm, or live after all
                with suppress(UserError):
                    self.engine.cancel(run)
            self._clean(run)

    def _clean(self, run: BatchRun) -> None:
        """Remove a run's partial folders."""
        for task in run.tasks:
            attempts.remove_partials(self.course, task.target, task.number, run.id)
        runs.mark_clean(self.course, run)

    def status(
        self, states: Mapping[str, States] | None = None, was_polled: bool = False
    ) -> BatchStatus:
        """Return how far the batch is.

        Args:
            states: the scheduler's answer, by run; None: there was none.
            was_polled: the scheduler was asked, so that None means that it did not answer.
        """
        known = states or {}
        phases, notes = count_phases(known.get(run, {}).get(chunk) for run, chunk in self._left)
        note = ", ".join(notes)
        if self._left and states is None and was_polled:
            note = "the scheduler does not answer just now"
        total, graded = len(self.requested), len(self.graded & self.requested)
        failed = len(self.failed.keys() & self.requested)
        running, pending = phases["running"], phases["waiting"]
        return BatchStatus(total, graded, failed, self._begun_again, running, pending, note)

    def collect_last(self) -> None:
        """Collect as `collect` does, and begin nothing again: what came to nothing has failed."""
        self.plan = replace(self.plan, requeues=0)
        self.collect()

    @property
    def is_under_way(self) -> bool:
        return bool(self._left or self._later)

    def note_earlier(self) -> None:
        """Note which requested targets are graded, except those whose undecided points another
        grading could decide. Attempts of them that the gradebook lacks are added to it, since the
        command before may have been killed in between."""
        known, left_open = self.book.states(), set(self.book.undecided_attempts())
        found: list[Attempt] = []
        for item in self.requested:
            for number in attempts.attempt_numbers(self.course, item):
                state = known.get((item, number))
                if state is None:
                    attempt = attempts.read_attempt(self.course.attempt(item, number))
                    found += [attempt] if attempt else []
                    state = attempt.state if attempt else None
                    if attempt is not None and any(map(is_worth_regrading, attempt.results)):
                        left_open.add((item, number))
                if state == "graded" and (item, number) in left_open:
                    self.graded.discard(item)  # it is graded on
                elif state == "graded":
                    self.graded.add(item)
        self.book.add_attempts(found)
