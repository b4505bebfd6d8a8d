"""What a batch asks of whatever starts its jobs: Slurm, or this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from numalab.course.jobs import runs
from numalab.course.jobs.runs import BatchRun
from numalab.course.records import AttemptState


@dataclass(frozen=True)
class ChunkState:
    """What is known of a chunk's job. ended_as, why: what its attempts that did not come to an
    end are called, and in words for people; of one that waits, why may say what for."""

    phase: Literal["waiting", "running", "over"]
    ended_as: AttemptState = "lost"
    why: str = ""


States = Mapping[int, ChunkState]  # by the chunk's number


class Engine(Protocol):
    @property
    def name(self) -> runs.EngineName:
        """As in a run's record."""

    def submit(self, run: BatchRun) -> None:
        """Starts a run whose intent is kept. Raises UserError where that is refused."""

    def take_up(self, run: BatchRun) -> bool:
        """Whether a run that another command has left is still to be waited for."""

    def poll(self, polled: Sequence[BatchRun]) -> Mapping[str, States] | None:
        """By run what is known of its chunks. None: no answer just now."""

    def cancel(self, run: BatchRun) -> None:
        """Ends its jobs. Raises UserError."""

    def stop(self) -> None:
        """The command ends, and with it what can't go on without it."""
