"""How much a grading measures, by its size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """The effort of a grading.

    Attributes:
        size: the problem size: "quick", "published", or another one that a driver has.
        replicate_s: the time for the repetitions of one replicate.
        min_replicates: the number of replicates whose repetitions take first_share.
        max_replicates: the most replicates that one grading takes of what is timed together.
        budget_s: the time for replicates.
        check_limit_s: the CPU time per core that one phase of a check may take.
        phase_limit_s: the same of a phase in the monitor's other runs.
        is_sequential: one worker runs at a time.
        least_repetitions, most_repetitions: of a process in one replicate.
        first_share: as repeat_share returns it.
    """

    size: str
    quick: bool
    replicate_s: float
    min_replicates: int
    max_replicates: int
    budget_s: float
    check_limit_s: float
    phase_limit_s: float
    is_sequential: bool = False
    least_repetitions: int = 3
    most_repetitions: int = 30
    first_share: float = 0.5

    def repeat_share(self, replicates: int) -> float:
        """Return how long the repetitions of the next replicate go on, as a multiple of the time
        before them: first_share while fewer than min_replicates count, else 1. replicates: the
        number that counts so far."""
        return self.first_share if replicates < self.min_replicates else 1.0


def effort_for(size: str, quick: bool) -> Effort:
    """Return the effort of a size. quick: whether --quick was given; then the size is "quick",
    whatever `size` is. The published size is sequential, since its arrays may fill a machine."""
    if quick:
        return Effort("quick", True, 2.0, 5, 24, 12.0, 3.0, 20.0)
    if size == "published":
        return Effort(size, False, 30.0, 11, 24, 1200.0, 10.0, 300.0, is_sequential=True)
    if size == "quick":
        return Effort(size, False, 2.0, 11, 60, 60.0, 5.0, 20.0)
    return Effort(size, False, 10.0, 11, 60, 240.0, 5.0, 60.0)
