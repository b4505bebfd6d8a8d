"""How much a session measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much a session measures. least_repetitions: of each process in a generation, and more,
    up to most_repetitions, until they have taken as long as starting the processes did, of the
    least generations first_share of that; fewer where they take longer than generation_s."""

    size: str
    quick: bool
    replicate_s: float
    min_replicates: int  # that decide when all agree; the control joins after them
    max_replicates: int
    budget_s: float  # of timing; three times as much for the least generations
    check_limit_s: float  # of one phase: CPU time a core, and half of its wall time
    phase_limit_s: float
    is_sequential: bool = False  # then there are the least repetitions
    least_repetitions: int = 3
    most_repetitions: int = 30
    first_share: float = 0.5

    def repeat_share(self, replicates: int) -> float:
        """For how long the next generation repeats, over what starting its processes takes.
        generations: that count so far; a number and nothing of what they show."""
        return self.first_share if replicates < self.min_replicates else 1.0


def effort_for(size: str, quick: bool) -> Effort:
    """--quick means the quick size and the quick thresholds; the published size runs one
    worker at a time, since its arrays fill most machines."""
    if quick:
        return Effort("quick", True, 2.0, 5, 24, 12.0, 3.0, 20.0)
    if size == "published":
        return Effort(size, False, 30.0, 11, 24, 1200.0, 10.0, 300.0, is_sequential=True)
    if size == "quick":
        return Effort(size, False, 2.0, 11, 60, 60.0, 5.0, 20.0)
    return Effort(size, False, 10.0, 11, 60, 240.0, 5.0, 60.0)
