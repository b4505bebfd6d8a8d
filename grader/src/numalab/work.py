"""How evenly a team shares its work, by the CPU time of its threads. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numalab.record import Placement

# Waiting for a core is not shared out evenly, either. Of an even loop (lab 03's solution) whose
# threads waited 94 % of their time share_together went down to 0.87, of lab 03's handout, 0.67 on
# a quiet node, up to 0.80: the bound has to lie between.
UNEVEN_WAITING = 0.1


@dataclass(frozen=True)
class WorkShare:
    """of_thread: of the time that the calls take, by the longest thread of each, the part in
    which a thread works; with the threads of the team that never started. share: the team's
    mean. share_together: the same, with the time that threads waited for a core. waiting: of
    the threads' time the part in which they did. busiest: the thread that was the longest for
    most of the time."""

    of_thread: tuple[float, ...]
    share: float
    share_together: float
    busiest: int
    waiting: float = 0.0

    def is_uneven(self, at_least: float) -> bool:
        """Whether the threads were not done together, by more than other load explains."""
        return self.share_together < at_least - UNEVEN_WAITING * self.waiting


def _share(of_all_s: float, longest_s: float, team: int) -> float:
    """Mean over maximum, call by call; threads that never started count as idle."""
    return of_all_s / team / longest_s if longest_s > 0 else 0.0


def work_share(run: Placement) -> WorkShare:
    """Of one look at a team."""
    threads = run.cpu_time
    longest_s = sum(one.longest_s for one in threads)
    idle = max(0, run.team - len(threads))
    waiting_s = sum(one.waiting_s for one in threads)
    active_s = sum(one.cpu_s for one in threads) + waiting_s
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
        waiting=waiting_s / active_s if active_s > 0 else 0.0,
    )  # fmt: skip


def judged_look(runs: Sequence[Placement], at_least: float) -> WorkShare:
    """The one that counts: where a look is even enough that, else one whose threads were not
    done together either, so that no other load explains it."""
    return max(
        map(work_share, runs),
        key=lambda look: (look.share >= at_least, look.is_uneven(at_least)),
    )
