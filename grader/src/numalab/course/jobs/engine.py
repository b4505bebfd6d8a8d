"""The interface between a batch and what runs its jobs: Slurm, or this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from numalab.course.jobs import runs
from numalab.course.jobs.runs import BatchRun
from numalab.course.records import AttemptState


@dataclass(frozen=True)
class ChunkState:
    """What is known of the job of a chunk.

    Attributes:
        phase: how far the job is.
        ended_as: if it is over, the state for attempts that it has not completed.
        why: the same in words; for a waiting job what it waits for; empty if not known.
    """

    phase: Literal["waiting", "running", "over"]
    ended_as: AttemptState = "lost"
    why: str = ""


States = Mapping[int, ChunkState]  # by the chunk's number


def count_phases(states: Iterable[ChunkState | None]) -> tuple[Counter[str], list[str]]:
    """Return numbers of jobs by phase, and the two most frequent reasons for which jobs wait, the
    most frequent first. None: a job of which nothing is known."""
    known = [state for state in states if state is not None]
    reasons = Counter(state.why for state in known if state.phase == "waiting" and state.why)
    return Counter(state.phase for state in known), [why for why, _ in reasons.most_common(2)]


class Engine(Protocol):
    """What runs jobs. Any method may raise NumalabError if Slurm is missing or gives no answer, and
    OSError if the course's folder can't be written."""

    name: runs.EngineName  # in a run's record

    def submit(self, run: BatchRun) -> None:
        """Start a run whose run.json is written. Raises UserError if it is refused."""

    def take_up(self, run: BatchRun) -> bool:
        """Tell whether the jobs of a run that an earlier command has left are to be followed; if
        not, none goes on. Raises UserError if they neither go on nor end."""

    def poll(self, polled: Sequence[BatchRun]) -> Mapping[str, States] | None:
        """Return what is known of the chunks of each run, by the run's id; None: there is no answer
        at the moment. Nothing is known of a chunk that is left out. Has to be called again and
        again while runs are under way: on a single machine it also starts the processes that wait
        for their turn."""

    def cancel(self, run: BatchRun) -> None:
        """End a run's jobs. Raises UserError if that fails."""

    def stop(self) -> None:
        """End the jobs that can't go on without this command."""
