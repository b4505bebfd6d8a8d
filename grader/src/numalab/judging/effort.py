"""How much a grading measures, by its size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much a grading measures.

    A process repeats least_repetitions times in a replicate. It goes on, up to most_repetitions,
    until that took as long as starting the processes did, or in the first min_replicates
    first_share of that. It stops earlier where a replicate takes longer than replicate_s.

    Attributes:
        min_replicates: decide where all of them agree; the control joins after them.
        budget_s: the time for replicates; three times as much for the first min_replicates.
        check_limit_s: the CPU time per core that one phase of a check may take, and half of its
            wall time.
        phase_limit_s: the time that one phase may take in every other run.
        is_sequential: one worker runs at a time, with least_repetitions each.
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
        """Return for how long the next replicate repeats, over the time that its processes take to
        start. replicates: the number that counts so far, which says nothing about what they
        show."""
        return self.first_share if replicates < self.min_replicates else 1.0


def effort_for(size: str, quick: bool) -> Effort:
    """Return the effort of a size. quick: --quick, which measures the quick size. The published
    size runs one worker at a time, since its arrays fill most machines."""
    if quick:
        return Effort("quick", True, 2.0, 5, 24, 12.0, 3.0, 20.0)
    if size == "published":
        return Effort(size, False, 30.0, 11, 24, 1200.0, 10.0, 300.0, is_sequential=True)
    if size == "quick":
        return Effort(size, False, 2.0, 11, 60, 60.0, 5.0, 20.0)
    return Effort(size, False, 10.0, 11, 60, 240.0, 5.0, 60.0)
