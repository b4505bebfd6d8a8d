"""How evenly a team shares its work, by the CPU time of its threads. Pure functions.

CPU time is not work: a thread that waits by spinning has it, too. So where needs_single_thread is
true, the CPU time of the whole team is compared with that of the same kernel with one thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from numalab.evidence.record import CpuTime, Placement

# Disturbances that can't be observed, such as steal time that a hypervisor does not report, seldom
# spoil so many runs.
LEAST_AGAINST = 3
LEAST_FOR = 2  # the median of three runs, whatever the third would show
# The part of the required share that has to be left of a team's share once the CPU time that it
# takes beyond one thread's is counted as waiting: a loop of 0.75 that spins until it has 0.9 keeps
# 0.75.
LEAST_USEFUL = 0.92
# Two runs of the same kernel differ by less than this factor.
LEAST_INFLATION = 1.1
# How many times one thread's CPU time a team may take, where the reference solution's takes as
# much as one thread. Measured: 1.05 to 1.1 with two threads for chunks of one row, for which
# threads contend; 1.35, and more with more threads, for a triangle in two static parts whose early
# thread spins until nine tenths are reached (grader/bench/work_share.py).
MOST_INFLATION = 1.2
# A team counts as larger where more threads than it has work for such a part of the longest's time.
LEAST_AT_WORK = 0.05
# Threads that end within a call leave their CPU time to the process alone. So much of the longest's
# can't be where none does: two clocks that are read one after the other.
LEAST_ENDED = 0.1

Says = Literal["even", "uneven", "spins"]


@dataclass(frozen=True)
class WorkShare:
    """How evenly one run shared its work. Shares are of the time that the calls take, which is that
    of the longest thread of each call.

    Attributes:
        thread_shares: the share in which each thread works: of those that still exist; of all that
            have ended, as one; and 0 for each that is missing in the team.
        share: mean of the team, or of all threads that worked where those are more.
        most_share: the same, had every thread worked while it was kept from its core, for at most
            as long as the longest worked.
        busiest: number of the thread that was the longest for the most time.
        inflation: the team's CPU time over that of one thread; None: not measured.
        ran: number of threads that `share` is a mean of.
    """

    thread_shares: tuple[float, ...]
    share: float
    most_share: float
    busiest: int
    inflation: float | None = None
    ran: int = 0

    def relative_inflation(self, inflation_of_solution: float) -> float:
        """Return the team's inflation, 1 where it was not measured, over that of the reference
        solution."""
        return (self.inflation or 1.0) / inflation_of_solution


def inflation_of(run: Placement) -> float | None:
    """Return a team's CPU time over that of one thread; None: not measured."""
    single = run.single_thread
    return single.team_cpu_s / single.cpu_s if single is not None and single.cpu_s else None


def _include_ended(run: Placement) -> tuple[CpuTime, ...]:
    """Return the times of the threads that still existed after a call, and one entry for all others
    together if they had noticeable time: how those shared their work is unknown, and a kernel whose
    own threads end is not even because the rest is."""
    single = run.single_thread
    threads, ended_s = run.cpu_time, 0.0 if single is None else single.ended_cpu_s
    longest_s = sum(thread.longest_s for thread in threads)
    if ended_s <= LEAST_ENDED * longest_s:
        return threads
    if ended_s <= longest_s:
        return (*threads, CpuTime(ended_s, 0.0, 0.0, 0.0, ended_s))
    others = tuple(replace(thread, longest_s=0.0) for thread in threads)
    return (*others, CpuTime(ended_s, 0.0, 0.0, ended_s, ended_s))


def work_share(run: Placement) -> WorkShare:
    """Return how one run of a team shared its work. Threads that never started count as idle, and
    threads beyond the team if more work than it has (LEAST_AT_WORK)."""
    threads = _include_ended(run)
    longest_s = sum(thread.longest_s for thread in threads)
    at_work = sum(thread.cpu_s >= LEAST_AT_WORK * longest_s for thread in threads)
    idle = max(0, run.team - len(threads))
    team = max(run.team, at_work)

    def of_longest(spent_s: float) -> float:
        return spent_s / longest_s if longest_s > 0 else 0.0

    return WorkShare(
        thread_shares=tuple(of_longest(thread.cpu_s) for thread in threads) + (0.0,) * idle,
        share=of_longest(sum(thread.cpu_s for thread in threads) / team),
        most_share=of_longest(sum(thread.demand_s for thread in threads) / team),
        busiest=max(range(len(threads)), key=[thread.longest_s for thread in threads].__getitem__),
        inflation=inflation_of(run),
        ran=team,
    )


def solution_inflation(runs: Sequence[Placement]) -> float:
    """Return the median inflation of the reference solution's runs, 1 at least, and 1 where it was
    not measured."""
    known = [inflation for inflation in map(inflation_of, runs) if inflation is not None]
    return max(1.0, median(known)) if known else 1.0


@dataclass(frozen=True)
class SharingConsensus:
    """What several runs show together.

    Attributes:
        typical: the median, by share, of the runs that agree with `says`, or of all.
        says: what they show; None: undecided.
        inflation_of_solution: see solution_inflation.
        is_informative: whether at least one run shows anything.
    """

    typical: WorkShare
    says: Says | None
    inflation_of_solution: float
    is_informative: bool

    @property
    def relative_inflation(self) -> float:
        """Return the typical run's inflation over that of the reference solution."""
        return self.typical.relative_inflation(self.inflation_of_solution)


def _says(
    run: WorkShare, min_share: float, reference_inflation: float, needs_single_thread: bool
) -> Says | None:
    """Return what one run shows; None: nothing. Spinning is no work, whatever the threads would
    have done while they were kept from their cores; and without a run of one thread nothing speaks
    for a kernel that needs one."""
    relative = run.relative_inflation(reference_inflation) if needs_single_thread else 1.0
    if relative > MOST_INFLATION:
        return "spins"
    if run.most_share < min_share:
        return "uneven"
    if run.share < min_share or (needs_single_thread and run.inflation is None):
        return None
    least = LEAST_USEFUL * min_share * max(relative, 1.0)
    if run.share < least:
        is_kept_away = min(run.most_share, 1.0) >= least  # others have taken what is missing
        return "spins" if relative > LEAST_INFLATION and not is_kept_away else None
    return "even"


def judge_sharing(
    runs: Sequence[Placement],
    min_share: float,
    solution: Sequence[Placement] = (),
    *,
    needs_single_thread: bool = True,
) -> SharingConsensus:
    """Return what several runs of a kernel show together.

    "even", where at least two runs show that, and more than speak against the kernel; where at
    least three speak against it, and more than for it, what more of those show, "uneven" or "spins"
    (the latter if as many do); else nothing. Runs that show nothing do not count.

    Args:
        runs: runs of the kernel, at least one.
        min_share: required share, 0 to 1.
        solution: runs of the reference solution.
        needs_single_thread: whether CPU time has to be compared with that of one thread.
    """
    reference = solution_inflation(solution)
    shares = [work_share(run) for run in runs]
    shown = [_says(share, min_share, reference, needs_single_thread) for share in shares]
    even, against = shown.count("even"), shown.count("uneven") + shown.count("spins")
    says: Says | None = None
    if even > against and even >= LEAST_FOR:
        says = "even"
    elif against > even and against >= LEAST_AGAINST:
        says = "spins" if shown.count("spins") >= shown.count("uneven") else "uneven"
    is_informative = any(word is not None for word in shown)
    agreeing = [s for s, word in zip(shares, shown, strict=True) if word == says or says is None]
    agreeing.sort(key=lambda share: share.share)
    return SharingConsensus(agreeing[len(agreeing) // 2], says, reference, is_informative)


def speaks_against(
    run: Placement, min_share: float, solution: Sequence[Placement], *, needs_single_thread: bool
) -> Says | None:
    """Return in which way one run speaks against a kernel; None: it does not."""
    reference = solution_inflation(solution)
    says = _says(work_share(run), min_share, reference, needs_single_thread)
    return None if says == "even" else says
