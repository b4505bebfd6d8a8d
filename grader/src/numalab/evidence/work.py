"""How evenly a team shares its work, by the CPU time of its threads. Pure functions.

CPU time is not work: a thread that waits by spinning has it, too. So what the whole team takes is
held against what the same kernel takes with one thread, beside it and in turns with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from numalab.evidence.record import CpuTime, Placement

# What disturbs a look and can't be seen, such as a host that does not tell what it takes, seldom
# comes so often.
LEAST_AGAINST = 3
LEAST_FOR = 2  # the median of three looks, whatever the third would say
# Of the share that is asked for, what has to be left of a team's when what it takes beyond one
# thread's CPU time is taken for waiting: a loop of 0.75 that spins until it has 0.9 keeps 0.75.
LEAST_USEFUL = 0.92
# So many times one thread's CPU time is more than two looks at the same differ by.
LEAST_INFLATION = 1.1
# How many times one thread's CPU time a team may take, where the solution's takes as much as
# one thread. In between: chunks of one row, which threads contend for (1.05 to 1.1 with two), and
# a triangle in two static parts whose early thread spins until nine tenths are reached (1.35;
# with more threads more). grader/bench/work_share.py measures both.
MOST_INFLATION = 1.2
# A thread beyond the team counts as one of it where it works for such a part of the longest's time.
LEAST_AT_WORK = 0.05
# Threads that end within a call leave their CPU time to the process alone. So much of the longest's
# can't be where none does: two clocks that are read one after the other.
LEAST_ENDED = 0.1

Says = Literal["even", "uneven", "spins"]


@dataclass(frozen=True)
class WorkShare:
    """of_thread: of the time that the calls take, by the longest thread of each, the part in
    which a thread works; with the threads of the team that never started, and those that have
    ended as one behind all others. share: the team's
    mean, or that of all that ran. ran: those that worked, where they are more than the team, else
    the team. most_share: what it would be, had every thread worked while it was kept from its core,
    for as long as the longest worked. busiest: the thread that was the longest for most of the
    time. inflation: how many times the CPU time of one thread the team takes; None: nobody
    looked."""

    of_thread: tuple[float, ...]
    share: float
    most_share: float
    busiest: int
    inflation: float | None = None
    ran: int = 0

    def over(self, inflation_of_solution: float) -> float:
        """How many times the CPU time of one thread the team takes, beside the solution's."""
        return (self.inflation or 1.0) / inflation_of_solution


def inflation_of(run: Placement) -> float | None:
    """How many times one thread's CPU time a team takes; None: nobody looked."""
    one = run.one_thread
    return one.team_cpu_s / one.cpu_s if one is not None and one.cpu_s else None


def _with_ended(run: Placement) -> tuple[CpuTime, ...]:
    """Threads that were there after the calls, and those that were not, taken together: how they
    shared their work nobody has seen, and a kernel that starts threads of its own and has them end
    is not even by what the rest does."""
    threads, ended_s = run.cpu_time, run.one_thread.ended_cpu_s if run.one_thread else 0.0
    longest_s = sum(thread.longest_s for thread in threads)
    if ended_s <= LEAST_ENDED * longest_s:
        return threads
    if ended_s <= longest_s:
        return (*threads, CpuTime(ended_s, 0.0, 0.0, 0.0, ended_s))
    others = tuple(replace(thread, longest_s=0.0) for thread in threads)
    return (*others, CpuTime(ended_s, 0.0, 0.0, ended_s, ended_s))


def work_share(run: Placement) -> WorkShare:
    """Of one look at a team; threads that never started count as idle, and so do others beyond
    the team that work at all."""
    threads = _with_ended(run)
    longest_s = sum(thread.longest_s for thread in threads)
    at_work = sum(thread.cpu_s >= LEAST_AT_WORK * longest_s for thread in threads)
    idle = max(0, run.team - len(threads))
    team = max(run.team, at_work)

    def of_longest(spent_s: float) -> float:
        return spent_s / longest_s if longest_s > 0 else 0.0

    return WorkShare(
        of_thread=tuple(of_longest(thread.cpu_s) for thread in threads) + (0.0,) * idle,
        share=of_longest(sum(thread.cpu_s for thread in threads) / team),
        most_share=of_longest(sum(thread.busy_s for thread in threads) / team),
        busiest=max(range(len(threads)), key=[thread.longest_s for thread in threads].__getitem__),
        inflation=inflation_of(run),
        ran=team,
    )


def solution_inflation(runs: Sequence[Placement]) -> float:
    """What the solution's teams take of one thread's CPU time, on this node just now: where one
    thread runs faster than several, it is more than once. 1 where nobody looked, and at least."""
    told = [found for found in map(inflation_of, runs) if found is not None]
    return max(1.0, median(told)) if told else 1.0


@dataclass(frozen=True)
class Looks:
    """What several looks say together. look: the one in the middle of those that say what all
    say, or of all. says: None: not decided. inflation_of_solution: see solution_inflation.
    is_told: whether one of them says anything."""

    look: WorkShare
    says: Says | None
    inflation_of_solution: float
    is_told: bool

    @property
    def over(self) -> float:
        return self.look.over(self.inflation_of_solution)


def _says(
    look: WorkShare, at_least: float, of_solution: float, asks_one_thread: bool
) -> Says | None:
    """Of one look. Whatever a team's threads would have done while they were kept from their
    cores, spinning is no work; and a look that does not tell of one thread can't speak for it."""
    if asks_one_thread and look.over(of_solution) > MOST_INFLATION:
        return "spins"
    if look.most_share < at_least:
        return "uneven"
    if look.share < at_least or (asks_one_thread and look.inflation is None):
        return None
    over = look.over(of_solution) if asks_one_thread else 1.0
    least = LEAST_USEFUL * at_least * max(over, 1.0)
    if look.share < least:
        is_kept_away = min(look.most_share, 1.0) >= least  # what is missing others have taken
        return "spins" if over > LEAST_INFLATION and not is_kept_away else None
    return "even"


def judged_looks(
    runs: Sequence[Placement],
    at_least: float,
    solution: Sequence[Placement] = (),
    *,
    asks_one_thread: bool = True,
) -> Looks:
    """What looks at a kernel say, and others at the solution that were taken in turns with them:
    what most of them say that say anything, of two for it and of three against it. The others are
    those in which other load kept threads from their cores; their number says nothing of it."""
    of_solution = solution_inflation(solution)
    looks = [work_share(run) for run in runs]
    said = [_says(look, at_least, of_solution, asks_one_thread) for look in looks]
    even, against = said.count("even"), said.count("uneven") + said.count("spins")
    says: Says | None = None
    if even > against and even >= LEAST_FOR:
        says = "even"
    elif against > even and against >= LEAST_AGAINST:
        says = "spins" if said.count("spins") >= said.count("uneven") else "uneven"
    told = any(word is not None for word in said)
    middle = [look for look, word in zip(looks, said, strict=True) if word == says or says is None]
    middle.sort(key=lambda look: look.share)
    return Looks(middle[len(middle) // 2], says, of_solution, told)


def speaks_against(
    run: Placement, at_least: float, solution: Sequence[Placement], *, asks_one_thread: bool
) -> Says | None:
    """Why one look does, None: it does not."""
    of_solution = solution_inflation(solution)
    says = _says(work_share(run), at_least, of_solution, asks_one_thread)
    return None if says == "even" else says
