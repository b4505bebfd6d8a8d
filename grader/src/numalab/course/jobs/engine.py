"""The interface between a batch and what starts its jobs: Slurm, or this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from numalab.course.jobs import runs
from numalab.course.jobs.runs import BatchRun
from numalab.course.records import AttemptState


@dataclass(frozen=True)
class ChunkState:
    """What is known of a chunk's job.

    Attributes:
        ended_as: state of its attempts that did not complete.
        why: the same in words; of a waiting job, what it waits for, if known.
    """

    phase: Literal["waiting", "running", "over"]
    ended_as: AttemptState = "lost"
    why: str = ""


States = Mapping[int, ChunkState]  # by the chunk's number


class Engine(Protocol):
    @property
    def name(self) -> runs.EngineName:
        """The engine's name in a run's record."""

    def submit(self, run: BatchRun) -> None:
        """Start a run whose intent is kept. Raises UserError if it is refused."""

    def take_up(self, run: BatchRun) -> bool:
        """Tell whether a run that another command has left is still to be waited for."""

    def poll(self, polled: Sequence[BatchRun]) -> Mapping[str, States] | None:
        """Return by run what is known of its chunks; None: no answer just now."""

    def cancel(self, run: BatchRun) -> None:
        """End a run's jobs. Raises UserError."""

    def stop(self) -> None:
        """End what can't go on without the command."""
