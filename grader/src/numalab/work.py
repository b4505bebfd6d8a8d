"""How evenly a team shares its work, by the CPU time of its threads. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numalab.record import Placement


@dataclass(frozen=True)
class WorkShare:
    """of_thread: of the time that the calls take, by the longest thread of each, the part in
    which a thread works; with the threads of the team that never started. share: the team's
    mean. share_together: the same, with the time that threads waited for a core. busiest:
    the thread that was the longest for most of the time."""

    of_thread: tuple[float, ...]
    share: float
    share_together: float
    busiest: int


def _share(of_all_s: float, longest_s: float, team: int) -> float:
    """Mean over maximum, call by call; threads that never started count as idle."""
    return of_all_s / team / longest_s if longest_s > 0 else 0.0


def work_share(run: Placement) -> WorkShare:
    """Of one look at a team."""
    threads = run.cpu_time
    longest_s = sum(one.longest_s for one in threads)
    idle = max(0, run.team - len(threads))
    return WorkShare(
        of_thread=tuple(
            one.cpu_s / longest_s if longest_s > 0 else 0.0 for one in threads
        ) + (0.0,) * idle,
        share=_share(sum(one.cpu_s for one in threads), longest_s, run.team),
        share_together=_share(
            sum(one.cpu_s + one.waiting_s for one in threads),
            sum(one.last_s for one in threads),
            run.team,
        ),
        busiest=max(range(len(threads)), key=[one.longest_s for one in threads].__getitem__),
    )  # fmt: skip


def judged_look(runs: Sequence[Placement], at_least: float) -> WorkShare:
    """The one that counts: where a look is even enough that, else one whose threads were not
    done together either, so that no other load explains it."""
    return max(
        map(work_share, runs),
        key=lambda look: (look.share >= at_least, look.share_together < at_least),
    )
