"""How evenly a team shares its work, by the CPU time of its threads. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numalab.evidence.record import Placement

# What disturbs a look and can't be seen, such as a host that does not tell what it takes, seldom
# comes so often.
LEAST_UNEVEN = 3


@dataclass(frozen=True)
class WorkShare:
    """of_thread: of the time that the calls take, by the longest thread of each, the part in
    which a thread works; with the threads of the team that never started. share: the team's
    mean. most_share: what it would be, had every thread worked while it was kept from its core,
    for as long as the longest worked. busiest: the thread that was the longest for most of the
    time."""

    of_thread: tuple[float, ...]
    share: float
    most_share: float
    busiest: int


def work_share(run: Placement) -> WorkShare:
    """Of one look at a team; threads that never started count as idle."""
    threads = run.cpu_time
    longest_s = sum(thread.longest_s for thread in threads)
    idle = max(0, run.team - len(threads))

    def of_longest(spent_s: float) -> float:
        return spent_s / longest_s if longest_s > 0 else 0.0

    return WorkShare(
        of_thread=tuple(of_longest(thread.cpu_s) for thread in threads) + (0.0,) * idle,
        share=of_longest(sum(thread.cpu_s for thread in threads) / run.team),
        most_share=of_longest(sum(thread.busy_s for thread in threads) / run.team),
        busiest=max(range(len(threads)), key=[thread.longest_s for thread in threads].__getitem__),
    )


def judged_look(runs: Sequence[Placement], at_least: float) -> tuple[WorkShare, bool]:
    """The look that counts, and whether it is decided: one that is even enough decides, and so
    do several that are not, whatever their threads would have done while they were kept from
    their cores. Without either, the most even look."""
    looks = sorted(map(work_share, runs), key=lambda look: look.share)
    uneven = [look for look in looks if look.most_share < at_least]
    if looks[-1].share < at_least and len(uneven) >= LEAST_UNEVEN:
        return uneven[-1], True
    return looks[-1], looks[-1].share >= at_least
