"""Who works on pages: by uses that were seen in mid-phase, and by CPU time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from support.run_values import a_run
from support.traced import array, placement, threads_on, trace

from numalab.evidence.page_work import (
    Idler,
    PagesInUse,
    chance_of,
    contested_share,
    excused_uses,
    idlers,
    pages_in_use,
    seams,
    spinning_thread,
    threads_that_use,
)
from numalab.evidence.record import CpuTime
from numalab.evidence.run_formats import ActiveThread, ActiveThreadsRun, Origin
from numalab.evidence.touch import Users
from numalab.evidence.traced_pages import TracedArray

TWO = threads_on(0, 1)


def seen(*threads: tuple[int, int]) -> ActiveThreadsRun:
    roll = tuple(
        ActiveThread(thread=number, works=works, spins=busy_else)
        for number, (works, busy_else) in enumerate(threads)
    )
    return a_run(ActiveThreadsRun, moments=64, threads=roll, team=len(roll))


@pytest.mark.parametrize(
    ("found", "drawn", "share", "chance"),
    [
        (0, 0, 0.05, 1.0),
        (2, 40, 0.05, 1.0),
        (10, 10, 0.5, 1 / 1024),
        (1, 2, 0.25, 0.4375),
        (3, 3, 0.0, 0.0),
        (2, 4, 0.5, 1.0),
        (3, 4, 0.5, 5 / 16),
        (0, 3, 0.0, 1.0),
    ],
)
def test_chance_of_so_many(found: int, drawn: int, share: float, chance: float) -> None:
    assert chance_of(found, drawn, share) == pytest.approx(chance)


def parted(*parts: tuple[frozenset[int], int]) -> TracedArray:
    users = [who for who, pages in parts for _ in range(pages)]
    return array("a", [min(who) for who in users], users)


def test_where_parts_meet_both_threads_use_a_page() -> None:
    zero, one, both = frozenset({0}), frozenset({1}), frozenset({0, 1})
    met = parted((zero, 20), (both, 1), (one, 20), (both, 1), (zero, 20))
    assert seams(met) == {(0, 1): 2}
    # In the middle of a part, where a part is of a few pages, and where pages have three users.
    assert not seams(parted((zero, 20), (both, 1), (zero, 20)))
    assert not seams(parted((zero, 20), (both, 1), (one, 7), (both, 1), (zero, 20)))
    assert not seams(parted((zero, 7), (both, 1), (one, 20)))
    assert seams(parted((zero, 8), (both, 1), (one, 8))) == {(0, 1): 1}
    assert not seams(parted((zero, 20), (frozenset({0, 2}), 1), (one, 20)))
    assert not seams(parted((zero | {2}, 20), (both | {2}, 1), (one, 20)))
    assert not seams(parted((zero, 20), (both, 2), (one, 20)))
    assert not seams(parted((zero, 20), (both | {2}, 1), (one, 20)))


def test_only_uses_where_parts_meet_are_excused() -> None:
    zero, one, both = frozenset({0}), frozenset({1}), frozenset({0, 1})
    parts = (zero, 20), (both, 1), (one, 20), (both, 1), (zero, 20)
    met = replace(parted(*parts), used_again={(0, 1): 4, (0, 0): 9})
    assert excused_uses(met) == {(0, 1): 4}
    # Three a page, and no more.
    assert excused_uses(replace(met, used_again={(0, 1): 40})) == {(0, 1): 6}
    # Six more pages of thread 0 in which thread 1 was seen to work: a quarter is where parts meet.
    inside = [part for _ in range(6) for part in ((zero, 9), (both, 1))]
    worked = replace(parted(*parts, *inside, (zero, 9)), used_again={(0, 1): 16})
    assert excused_uses(worked) == {(0, 1): 4}
    # Pages that another has alone are not where parts meet, and are none of the others' either.
    alone = replace(
        met,
        first_writer=(*met.first_writer, *[0] * 6),
        users=(*met.users, *[one] * 6),
        used_again={(0, 1): 4},
    )
    assert excused_uses(alone) == {(0, 1): 4}


def test_who_is_busy_and_uses_nothing_waits() -> None:
    assert spinning_thread(seen((60, 0), (62, 0))) is None
    assert spinning_thread(seen((30, 0), (62, 0))) is None  # it slept, or had no core
    waiter = spinning_thread(seen((20, 40), (60, 0)))
    assert waiter is not None and (waiter.thread, waiter.expected_share) == (0, 20 / 60)
    assert spinning_thread(seen((45, 14), (60, 0))) is not None  # three quarters of its time
    assert spinning_thread(seen((60, 4), (60, 0))) is None
    assert spinning_thread(seen((16, 4), (60, 0))) is None  # so few may be chance
    assert spinning_thread(seen((15, 5), (60, 0))) == Idler(0, 0.75, False)
    assert spinning_thread(seen((51, 9), (60, 0))) is None  # at 85 of 100 moments
    assert spinning_thread(seen((50, 10), (60, 0))) == Idler(0, 50 / 60, False)
    assert spinning_thread(seen((5, 14), (60, 0))) is None  # too few to tell
    assert spinning_thread(seen((5, 15), (60, 0))) == Idler(0, 0.25, False)
    assert spinning_thread(seen((20, 40), (10, 50), (60, 0), (15, 45))) == Idler(1, 1 / 6, False)
    assert spinning_thread(seen((10, 50), (30, 30))) == Idler(0, 1 / 3, False)
    assert spinning_thread(seen((42, 18), (45, 15))) is None  # seven of the best one's 7.5
    assert spinning_thread(seen((2, 60), (20, 60))) is None  # they work on copies
    assert spinning_thread(seen()) is None


@pytest.mark.parametrize(
    ("at_home", "uses", "at_least", "has_strayed"),
    [
        (0, 13, 0.5, False),  # 1 / 8192
        (0, 14, 0.5, True),  # 1 / 16384
        (14, 14, 0.5, False),
        (0, 5, 0.9, True),
        (0, 3, 0.9, False),
        (0, 14, 0.1, False),
    ],
)
def test_uses_have_strayed_where_that_is_no_chance(
    at_home: int, uses: int, at_least: float, has_strayed: bool
) -> None:
    in_use = PagesInUse({0: uses - 1, 1: 1}, at_home, 9, {})
    assert in_use.total == uses
    assert in_use.has_strayed(at_least) is has_strayed


def test_uses_are_counted_by_thread_and_by_whose_pages_they_were() -> None:
    first = trace(
        array("a", [0, 0, 1], [()] * 3, used_again={(0, 0): 5, (0, 1): 3, (1, 1): 4, (-1, 1): 2}),
        array("b", [0], [()], used_again={(1, 0): 7}),
        threads=TWO, closings=3,
    )  # fmt: skip
    others = trace(threads=TWO), trace(threads=TWO, closings=2)
    assert pages_in_use([first, *others], 2) == PagesInUse(
        thread_uses=Counter({0: 12, 1: 9}), local_uses=9, moments=5,
        taken_over=Counter({0: 3, -1: 2, 1: 7}),
    )  # fmt: skip


def test_uses_by_a_thread_that_may_move_are_not_at_home() -> None:
    moves = trace(array("a", [0], [()], used_again={(0, 0): 5}), threads=threads_on(-1, 0))
    assert pages_in_use([moves], 2) == PagesInUse(Counter({0: 5}), 0, 0, Counter())


def test_uses_where_parts_meet_are_at_home_and_take_nothing_over() -> None:
    zero, one, both = frozenset({0}), frozenset({1}), frozenset({0, 1})
    met = replace(parted((zero, 20), (both, 1), (one, 20)), used_again={(0, 1): 2, (0, 0): 8})
    in_use = pages_in_use([trace(met, threads=TWO, closings=4)], 2)
    assert in_use == PagesInUse(Counter({0: 8, 1: 2}), 10, 4, Counter())
    more = replace(met, used_again={(0, 1): 9, (0, 0): 8})
    in_use = pages_in_use([trace(more, threads=TWO)], 2)
    assert in_use == PagesInUse(Counter({0: 8, 1: 9}), 11, 0, Counter({0: 6}))


def test_uses_may_be_counted_by_who_works_at_a_core() -> None:
    here, there = Origin(0, 7, 0, 0), Origin(5, 7, 0, 0)
    again = {(here, there): 4, (None, there): 3}
    one = array("a", [0], [()], written_from=(here,), used_from=(frozenset(),),
                used_again_from=again)  # fmt: skip
    by_core = pages_in_use([trace(one, threads=TWO)], 2, lambda origin: origin.core)
    assert by_core == PagesInUse(Counter({0: 7}), 4, 0, Counter({-1: 3}))
    by_thread = pages_in_use([trace(one, threads=TWO)], 2)
    assert by_thread == PagesInUse(Counter({5: 7}), 4, 0, Counter({0: 4, -1: 3}))


def test_who_uses_pages_and_how_many_pages_several_use() -> None:
    users: Users = {
        "a": (frozenset({3}), frozenset({1, 3})), "b": (frozenset(), frozenset({0})),
    }  # fmt: skip
    assert threads_that_use(users) == (0, 1, 3)
    assert contested_share(users) == 0.25
    assert contested_share({}) == contested_share({"a": ()}) == 0.0


@pytest.mark.parametrize(
    ("uses", "taken_over", "busy_s", "found"),
    [
        # Of 64 uses 32 are expected of each: a quarter, or less where others use its pages.
        ((56, 8), 32, None, []),
        ((57, 7), 8, None, [Idler(1, 7 / 32, False)]),
        ((57, 7), 7, None, []),
        # Of less than 30 that are expected nothing is told.
        ((54, 6), 30, None, [Idler(1, 0.2, False)]),
        ((53, 5), 29, None, []),
        # Of CPU time less than six tenths does in the place of uses by others.
        ((57, 7), 0, (1.5, 0.5), [Idler(1, 7 / 32, False)]),
        ((57, 7), 0, (0.75, 0.25), [Idler(1, 7 / 32, False)]),
        ((57, 7), 0, (0.6875, 0.3125), []),
        ((57, 7), 0, (0.0, 0.0), []),
        # Less than a quarter of it does alone.
        ((32, 32), 0, (0.875, 0.125), []),
        ((32, 32), 0, (1.875, 0.125), [Idler(1, 0.125, True)]),
        ((0, 0), 0, (1.875, 0.125), [Idler(1, 0.125, True)]),
    ],
)
def test_who_touches_pages_and_does_not_work_on_them(
    uses: tuple[int, int],
    taken_over: int,
    busy_s: tuple[float, float] | None,
    found: list[Idler],
) -> None:
    in_use = PagesInUse(dict(enumerate(uses)), 0, 9, {1: taken_over})
    placed = busy_s and placement(cpu_time=[CpuTime(0.0, 0.0, 0.0, 0.0, each) for each in busy_s])
    assert idlers({0: 0.5, 1: 0.5}, in_use, placed or None) == found


def test_who_idles_most_is_first_and_a_thread_without_pages_does_not() -> None:
    in_use = PagesInUse({0: 120, 1: 7, 2: 3}, 0, 9, {1: 40, 2: 40, 3: 40})
    shares = {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.0, 4: 0.25}
    assert idlers(shares, in_use, None) == [
        Idler(2, 3 / 32.5, False), Idler(1, 7 / 32.5, False),
    ]  # fmt: skip
    # Of a thread that no CPU time is known of, and of time that threads without pages have.
    times = [CpuTime(0.0, 0.0, 0.0, 0.0, each) for each in (1.0, 0.125, 8.0)]
    one = idlers({0: 0.5, 1: 0.25, 5: 0.25}, PagesInUse({}, 0, 0, {}), placement(cpu_time=times))
    assert one == []
    two = idlers({0: 0.4, 1: 0.6}, PagesInUse({}, 0, 0, {}), placement(cpu_time=times))
    assert two == [Idler(1, 0.125 / (0.6 * 1.125), True)]
    # A share of nothing makes nothing expected, whatever CPU time the thread has.
    shares = {0: 0.4, 1: 0.6, 2: 0.0}
    three = idlers(shares, PagesInUse({}, 0, 0, {}), placement(cpu_time=times))
    assert three == [Idler(1, 0.125 / (0.6 * 9.125), True)]
