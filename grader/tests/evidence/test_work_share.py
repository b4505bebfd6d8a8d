"""How evenly a team shares its work: by CPU times of few threads."""

from __future__ import annotations

import pytest
from support.traced import OK, placement

from numalab.evidence.record import CpuTime, Placement, SingleThread
from numalab.evidence.work import (
    SharingConsensus,
    WorkShare,
    inflation_of,
    judge_sharing,
    solution_inflation,
    speaks_against,
    work_share,
)


def at_work(cpu_s: float, longest_s: float = 0.0, busy_s: float | None = None) -> CpuTime:
    return CpuTime(cpu_s, 9.0, 9.0, longest_s, cpu_s if busy_s is None else busy_s)


def team(
    *threads: CpuTime, of: int = 2, one_s: float | None = None, team_s: float = 0.0,
    ended_s: float = 0.0,
) -> Placement:  # fmt: skip
    """one_s, team_s: CPU time of one thread and of the team beside it."""
    one = SingleThread(OK, one_s, team_s, ended_s) if one_s is not None or ended_s else None
    return placement(cpu_time=threads, team=of, single_thread=one)


def look(share: float, most_share: float | None = None, inflation: float | None = 1.0) -> Placement:
    """Of two threads; inflation: None: nobody has looked at one thread."""
    other = at_work(2 * share - 1, 0.0, None if most_share is None else 2 * most_share - 1)
    if inflation is None:
        return team(at_work(1.0, 1.0), other)
    return team(at_work(1.0, 1.0), other, one_s=1.0, team_s=inflation)


@pytest.mark.parametrize(
    ("run", "share"),
    [
        (team(at_work(1.0, 1.0), at_work(0.5, 0.0, 0.75)),
         WorkShare((1.0, 0.5), 0.75, 0.875, 0, None, 2)),
        # Each was the longest of some calls.
        (team(at_work(2.0, 0.5), at_work(1.5, 1.5), at_work(0.75), of=3),
         WorkShare((1.0, 0.75, 0.375), 4.25 / 6, 4.25 / 6, 1, None, 3)),
        (team(at_work(1.0, 1.0), of=2), WorkShare((1.0, 0.0), 0.5, 0.5, 0, None, 2)),
        # Beyond the team a thread counts that works for a twentieth of the time.
        (team(at_work(1.0, 1.0), at_work(1.0), at_work(0.05)),
         WorkShare((1.0, 1.0, 0.05), 2.05 / 3, 2.05 / 3, 0, None, 3)),
        (team(at_work(1.0, 1.0), at_work(1.0), at_work(0.03125)),
         WorkShare((1.0, 1.0, 0.03125), 2.03125 / 2, 2.03125 / 2, 0, None, 2)),
        (team(at_work(0.0), at_work(0.0)), WorkShare((0.0, 0.0), 0.0, 0.0, 0, None, 2)),
        # Threads that ended before anybody looked count as one.
        (team(at_work(1.0, 1.0), at_work(1.0), ended_s=0.0625),
         WorkShare((1.0, 1.0), 1.0, 1.0, 0, None, 2)),
        (team(at_work(10.0, 10.0), at_work(10.0), ended_s=1.0),
         WorkShare((1.0, 1.0), 1.0, 1.0, 0, None, 2)),
        (team(at_work(1.0, 1.0), at_work(1.0), ended_s=0.5),
         WorkShare((1.0, 1.0, 0.5), 2.5 / 3, 2.5 / 3, 0, None, 3)),
        (team(at_work(1.0, 1.0), at_work(1.0), ended_s=1.0),
         WorkShare((1.0, 1.0, 1.0), 1.0, 1.0, 0, None, 3)),
        (team(at_work(1.0, 0.5), at_work(1.0, 0.5), ended_s=2.0),
         WorkShare((0.5, 0.5, 1.0), 2 / 3, 2 / 3, 2, None, 3)),
        (team(at_work(1.0, 1.0), at_work(1.0), one_s=1.5, team_s=2.0),
         WorkShare((1.0, 1.0), 1.0, 1.0, 0, 2.0 / 1.5, 2)),
    ],
)  # fmt: skip
def test_what_each_thread_works_of_the_longest(run: Placement, share: WorkShare) -> None:
    assert work_share(run) == share


def test_cpu_time_of_a_team_over_that_of_one_thread() -> None:
    one, none = at_work(1.0, 1.0), team(at_work(1.0, 1.0))
    assert inflation_of(none) is None
    assert inflation_of(team(one, one_s=0.5, team_s=0.75)) == 1.5
    assert inflation_of(team(one, one_s=0.0, team_s=0.75)) is None
    assert inflation_of(team(one, team_s=0.75, ended_s=0.1)) is None
    seen = [team(one, one_s=1.0, team_s=of) for of in (1.5, 0.75, 1.25)]
    assert solution_inflation([none, *seen]) == 1.25
    assert (
        solution_inflation(seen[1:2]) == solution_inflation([none]) == solution_inflation([]) == 1
    )
    assert WorkShare((), 1.0, 1.0, 0, 1.5).relative_inflation(1.25) == 1.2
    assert WorkShare((), 1.0, 1.0, 0, None).relative_inflation(1.25) == 0.8
    assert WorkShare((), 1.0, 1.0, 0).ran == 0


@pytest.mark.parametrize(
    ("run", "of_solution", "asks", "says"),
    [
        (look(1.0), 1.0, True, "even"),
        # As many times one thread's CPU time as the solution's takes, and a fifth more.
        (look(1.0, inflation=1.2), 1.0, True, "even"),
        (look(1.0, inflation=1.25), 1.0, True, "spins"),
        (look(1.0, inflation=1.25), 1.125, True, "even"),
        (look(1.0, inflation=2.0), 1.125, True, "spins"),
        (look(1.0, inflation=2.0), 1.0, False, "even"),
        (look(0.5, inflation=2.0), 1.0, True, "spins"),
        (look(0.5), 1.0, True, "uneven"),
        (look(0.5, inflation=None), 1.0, False, "uneven"),
        # Kept from its core it may have worked as long.
        (look(0.71875, 0.75), 1.0, True, None),
        (look(0.71875, 0.734375), 1.0, True, "uneven"),
        (look(0.75), 1.0, True, "even"),
        (look(1.0, inflation=None), 1.0, True, None),
        (look(1.0, inflation=None), 1.0, False, "even"),
        (look(0.75, inflation=None), 1.0, False, "even"),
        # What it takes beyond one thread's time is taken for waiting.
        (look(0.75, inflation=1.0625), 1.0, True, "even"),
        (look(0.75, inflation=1.1), 1.0, True, None),
        (look(0.75, inflation=1.15), 1.0, True, "spins"),
        (look(0.75, 0.8125, inflation=1.15), 1.0, True, None),
        (look(0.8125, inflation=1.15), 1.0, True, "even"),
        (look(0.75, inflation=0.5), 1.0, True, "even"),
    ],
)
def test_what_one_look_says(
    run: Placement, of_solution: float, asks: bool, says: str | None
) -> None:
    solution = [team(at_work(1.0, 1.0), one_s=1.0, team_s=of_solution)]
    assert judge_sharing([run] * 3, 0.75, solution, needs_single_thread=asks).says == says
    against = speaks_against(run, 0.75, solution, needs_single_thread=asks)
    assert against == (None if says == "even" else says)


def test_more_than_all_of_the_time_excuses_no_spinning() -> None:
    """Of 0.95 that is asked for 0.95 * 0.92 * 1.2 is more than a thread can work."""
    run = team(at_work(1.0, 1.0, 1.25), at_work(1.0, 0.0, 1.25), one_s=1.0, team_s=1.2)
    assert speaks_against(run, 0.95, [], needs_single_thread=True) == "spins"
    few = team(at_work(1.0, 1.0), at_work(1.0), one_s=1.0, team_s=1.05)
    assert speaks_against(few, 0.95, [], needs_single_thread=True) is None


EVEN, UNEVEN, SPINS, OPEN = look(1.0), look(0.5), look(0.9375, None, 1.5), look(0.625, 1.0)


@pytest.mark.parametrize(
    ("looks", "says", "share"),
    [
        ([EVEN], None, 1.0),
        ([EVEN, EVEN], "even", 1.0),
        ([EVEN, UNEVEN], None, 1.0),
        ([EVEN, EVEN, UNEVEN], "even", 1.0),
        ([UNEVEN, UNEVEN], None, 0.5),
        ([UNEVEN, UNEVEN, UNEVEN], "uneven", 0.5),
        ([UNEVEN, UNEVEN, SPINS], "uneven", 0.5),
        ([UNEVEN, SPINS, SPINS], "spins", 0.9375),
        ([UNEVEN, UNEVEN, SPINS, SPINS], "spins", 0.9375),
        ([EVEN, EVEN, UNEVEN, SPINS], None, 1.0),
        ([EVEN, EVEN, UNEVEN, SPINS, UNEVEN], "uneven", 0.5),
        ([EVEN, EVEN, EVEN, UNEVEN, UNEVEN, UNEVEN], None, 1.0),
        ([OPEN, OPEN, OPEN, EVEN, EVEN], "even", 1.0),
        ([OPEN, EVEN, UNEVEN], None, 0.625),
        ([look(0.8125), look(1.0), look(0.875)], "even", 0.875),
        ([look(0.8125), look(1.0)], "even", 1.0),
    ],
)
def test_what_most_looks_say(looks: list[Placement], says: str | None, share: float) -> None:
    found = judge_sharing(looks, 0.75)
    assert (found.says, found.typical.share, found.is_informative) == (says, share, True)


def test_looks_that_say_nothing_decide_nothing() -> None:
    found = judge_sharing([OPEN, OPEN, OPEN, OPEN], 0.75, [look(1.0, inflation=1.25)])
    assert found == SharingConsensus(work_share(OPEN), None, 1.25, False)
    assert found.relative_inflation == 0.8
