"""How far a course's runs are, by their folders and by what the scheduler says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from numalab import words
from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs import runs
from numalab.course.jobs.engine import States, count_phases
from numalab.course.jobs.runs import BatchRun
from numalab.course.records import AttemptState, GradingTarget
from numalab.errors import NumalabError, UserError


@dataclass(frozen=True)
class RunStatus:
    """How far a run is.

    Attributes:
        job: the job's id as it was noted; empty if none was.
        ended: numbers of its complete attempts, by state.
        left: number of its attempts that are not complete.
        jobs: numbers of its jobs that have such attempts, by phase; empty if the scheduler was not
            asked or did not answer.
        notes: the two most frequent reasons for which these jobs wait, the most frequent first.
        is_over: it is noted that no command waits for the run any more.
    """

    run: BatchRun
    job: str
    ended: Mapping[str, int]
    left: int
    jobs: Mapping[str, int]
    notes: Sequence[str]
    is_over: bool


Known = Mapping[tuple[GradingTarget, int], AttemptState]


def known_states(course: CourseFolder) -> Known:
    """Return the states of the attempts in the gradebook; none if it can't be read now."""
    try:
        with use_gradebook(course, read_only=True) as book:
            return book.states()
    except (UserError, NumalabError):
        return {}


def status_of(
    course: CourseFolder, run: BatchRun, states: States | None, known: Known = MappingProxyType({})
) -> RunStatus:
    """Return how far a run is.

    Args:
        states: what the scheduler says of the run's jobs; None if it was not asked or did not
            answer.
        known: states of attempts whose files then need not be read, which for thousands of them
            takes long.

    Raises:
        NumalabError: an attempt.json is damaged.
    """
    ended: Counter[str] = Counter()
    unfinished: Counter[int] = Counter()  # attempts, by the number of the chunk
    for number, chunk in enumerate(run.chunks):
        for task in chunk:
            state = known.get((task.target, task.number))
            if state is None:
                attempt = attempts.read_attempt(course.attempt(task.target, task.number))
                state = attempt.state if attempt else None
            if state is None:
                unfinished[number] += 1
            else:
                ended[state] += 1
    phases, notes = count_phases((states or {}).get(number) for number in unfinished)
    job = runs.noted_job(course, run) or ""
    left = unfinished.total()
    return RunStatus(run, job, ended, left, phases, notes, runs.is_over(course, run.id))


def class_text(course: CourseFolder) -> str:
    """Return how many of the class's hand-ins are graded and how many have undecided points, in
    words; empty if the gradebook can't be read now."""
    try:
        with use_gradebook(course, read_only=True) as book:
            graded, known = book.hand_ins_graded()
            left = len(book.undecided_hand_ins())
    except (UserError, NumalabError):
        return ""
    told = f"The class: {graded} of {known} hand-ins graded"
    return f"{told}; points open in {words.count(left, 'hand-in')}" if left else told


def text_of(status: RunStatus) -> str:
    """Return a run's status as one line of text, without a line break."""
    total = status.left + sum(status.ended.values())
    parts = [f"{status.ended.get('graded', 0)} of {total} graded"]
    parts += [
        f"{count} {state.replace('_', ' ')}"
        for state, count in sorted(status.ended.items())
        if state != "graded"
    ]
    phases = [
        f"{status.jobs[phase]} {phase}" for phase in ("running", "waiting") if phase in status.jobs
    ]
    if phases:
        parts.append(f"jobs: {', '.join(phases)}")
    if phases and status.notes:
        parts[-1] += f" ({', '.join(status.notes)})"
    if status.is_over and status.left:
        parts.append(f"{status.left} given up")
    return ", ".join(parts)
