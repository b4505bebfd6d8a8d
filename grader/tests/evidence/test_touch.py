"""Shares of pages: where they were written, used and live, on tracings of a few pages."""

from __future__ import annotations

import pytest
from support import invented
from support.traced import array, placement, threads_on, trace

from numalab.errors import NumalabError
from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.kinds import TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence, Trace
from numalab.evidence.run_formats import Origin, Thread
from numalab.evidence.touch import (
    NOBODY,
    UNBOUND,
    LocalShare,
    TouchShare,
    drawn_place_of,
    equal_share_ratios,
    initial_numa_node,
    is_written_unbound,
    local_share,
    place_of,
    shown_trace,
    touch_share,
    unbound_threads,
    united_users,
    united_uses,
    unsteady_share,
    used_again_from,
    worker_of,
    workers,
    written_from,
)

TWO = threads_on(0, 1)


def origin(thread: int, core: int = -1, node: int = -1, pu: int = 7) -> Origin:
    return Origin(thread, pu, core, node)


def bound(thread: int, core: int, node: int) -> Origin:
    """Where a thread was in the end, which says nothing of its PU."""
    return Origin(thread, -1, core, node)


def at(thread: int) -> Origin:
    """Where a thread of TWO is."""
    return bound(thread, thread, thread)


def of_node(of: Origin | None) -> int:
    return -1 if of is None else of.numa_node


def test_users_of_all_tracings_are_put_together() -> None:
    first = trace(array("a", [0, 0], [{0}, {1}]), array("b", [1], [{1}]))
    second = trace(array("a", [0, 0], [{2}, set()]))
    assert united_users([first, second]) == {
        "a": (frozenset({0, 2}), frozenset({1})), "b": (frozenset({1}),),
    }  # fmt: skip
    assert united_users([]) == {}


def test_other_pages_can_not_be_put_together() -> None:
    first = trace(array("a", [0, 0], [{0}, {1}]), threads=TWO)
    other = trace(
        array("a", [0, 0], [{0}, {1}], checked_pages=CheckedPages(4, ((1, 2),))), threads=TWO
    )
    told = "the record's tracings and its first tracing are not of the same pages of a, "
    with pytest.raises(NumalabError, match=told):
        united_users([first, other])
    with pytest.raises(NumalabError, match=told):
        united_uses([first, first, other])
    placed = placement(
        threads=TWO, residency={"a": (0, 1)}, checked_pages={"a": CheckedPages(4, ((1, 2),))}
    )
    with pytest.raises(NumalabError, match="the record's placement and its first tracing"):
        local_share(placed, [first])


def test_an_initial_thread_that_is_not_listed_is_nowhere() -> None:
    assert initial_numa_node(threads_on(1, 0)) == 1
    assert initial_numa_node(threads_on(-1, 0)) == -1
    assert initial_numa_node(threads_on(1, 0)[1:]) == initial_numa_node(()) == -1


def test_older_records_tell_of_writes_where_a_thread_was_in_the_end() -> None:
    old = trace(array("a", [0, 1, -1, 5], [()] * 4, used_again={(0, 1): 3, (-1, 0): 2}),
                threads=TWO)  # fmt: skip
    assert written_from(old, old.arrays[0]) == (at(0), at(1), None, bound(5, -1, -1))
    assert list(used_again_from(old, old.arrays[0])) == [(at(0), at(1), 3), (None, at(0), 2)]
    assert united_uses([trace(array("a", [0], [{0, 5}]), threads=TWO)]) == {
        "a": (frozenset({at(0), bound(5, -1, -1)}),)
    }


@pytest.mark.parametrize(
    ("seen", "home", "counts_as"),
    [
        (origin(0, node=-1), 0, bound(0, 0, 0)),  # not bound before its first parallel region
        (origin(0, node=-1), 1, bound(0, 0, 1)),
        (origin(0, node=-1), -1, origin(0, node=-1)),
        (origin(0, node=0), 1, origin(0, node=0)),
        (origin(1, node=-1), 0, origin(1, node=-1)),
    ],
)
def test_the_initial_thread_may_be_bound_late(seen: Origin, home: int, counts_as: Origin) -> None:
    one = array(
        "a", [0, -1], [{seen.thread}, ()], written_from=(seen, None),
        used_from=(frozenset({seen}), frozenset()),
        used_again_from={(seen, seen): 4, (None, seen): 5},
    )  # fmt: skip
    late = trace(one, threads=threads_on(home, 1))
    assert written_from(late, one) == (counts_as, None)
    assert united_uses([late]) == {"a": (frozenset({counts_as}), frozenset())}
    assert list(used_again_from(late, one)) == [(counts_as, counts_as, 4), (None, counts_as, 5)]


def test_uses_of_several_tracings_are_each_of_its_own_threads_unless_others_are_told() -> None:
    traces = [
        trace(array("a", [0], [{0}]), threads=threads_on(0)),
        trace(array("a", [0], [{0}]), threads=threads_on(1)),
    ]
    both = frozenset({bound(0, 0, 0), bound(0, 0, 1)})
    assert united_uses(traces) == {"a": (both,)}
    assert united_uses(traces, threads_on(3)) == {"a": (frozenset({bound(0, 0, 3)}),)}
    assert united_uses(traces, ()) == {"a": (frozenset({bound(0, -1, -1)}),)}


def on_cores(*cores: int, team: int | None = None) -> Trace:
    threads = [Thread(number, (number,), core, 0, 0) for number, core in enumerate(cores)]
    return trace(threads=threads, team=team)


@pytest.mark.parametrize(
    ("traces", "found"),
    [
        # Of thread 9 on no core, and on the cores 0 to 3.
        ([], [9, 9, 9, 9, 9]),
        ([on_cores()], [9, 9, 9, 9, 9]),
        ([on_cores(0, 2)], [9, 0, 3, 1, 5]),
        ([on_cores(2, 0, 3, team=2)], [9, 1, 3, 0, 5]),
        ([on_cores(0, 2), on_cores(1, 3)], [9, 0, 3, 1, 5]),
        ([on_cores(2, 2)], [9, 9, 9, 9, 9]),
        ([on_cores(0, -1)], [9, 9, 9, 9, 9]),
    ],
)
def test_who_works_at_a_core(traces: list[Trace], found: list[int]) -> None:
    worker = worker_of(traces)
    seen = [origin(9, core=core) for core in range(-1, 4)]
    assert list(map(worker, seen)) == found
    assert workers({"a": (frozenset(seen),)}, worker) == {"a": (frozenset(found),)}


def test_with_numa_nodes_the_place_is_one_of_them() -> None:
    place = place_of([trace(array("a", [0], [{0}]), threads=TWO)], 2)
    assert [place(None), place(origin(3, node=1)), place(origin(3, core=4))] == [-1, 1, -1]


def used_from(*pages: set[Origin]) -> Trace:
    return trace(
        array("a", [0] * len(pages), [{of.thread for of in page} for page in pages],
              written_from=(None,) * len(pages), used_from=tuple(map(frozenset, pages)))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("traces", "found"),
    [
        # Of nobody, of thread 9 on no core, and of thread 9 on the cores 0 to 3.
        ([], [-1, 9, 1, 2, 3, 4]),
        ([used_from({origin(0, 0)}, {origin(1, 2)})], [-1, 9, 0, 3, 1, 5]),
        ([used_from({origin(1, 0), origin(0, 2)})], [-1, 9, 1, 3, 0, 5]),
        # The first thread of a core, and one that has no other.
        ([used_from({origin(0, 0), origin(2, 0)})], [-1, 9, 0, 2, 3, 4]),
        ([used_from({origin(0, 0), origin(0, 1), origin(1, 1)})], [-1, 9, 0, 1, 4, 5]),
        ([used_from({origin(0, 0)}), used_from({origin(2, 0), origin(3, 1)})],
         [-1, 9, 0, 3, 6, 7]),
        # Where one may move, all are told by their threads.
        ([used_from({origin(0, 0)}, {origin(1, -1)})], [-1, 9, 9, 9, 9, 9]),
    ],
)  # fmt: skip
def test_with_one_numa_node_the_place_is_a_core(traces: list[Trace], found: list[int]) -> None:
    place = place_of(traces, 1)
    assert [place(None), *(place(origin(9, core)) for core in range(-1, 4))] == found


def test_pages_that_are_written_where_they_are_used() -> None:
    traced = trace(
        array("a", [0, 0, 1, 1], [{0}, {0}, {1}, {1}]),
        array("b", [0, 0, 0, -1], [{0}, {1}, {0, 1}, {1}]),
        threads=TWO,
    )
    assert touch_share(traced, united_uses([traced]), of_node) == TouchShare(
        share=5 / 8, worst_array="b", array_share={"a": 1.0, "b": 0.25}, writer=0,
        writer_share=0.75, stray_users=(1,), stray_share=2 / 3, contested_share=0.25,
        has_writer_moved=False,
    )  # fmt: skip


def test_pages_of_nobody_and_of_threads_that_may_move_are_nobodys() -> None:
    traced = trace(
        array("a", [-1, -1, -1, 0, 0], [{1, 2}, {0}, (), {0}, ()]), threads=threads_on(-1, 0, 0)
    )
    uses = united_uses([traced])
    nobody = touch_share(traced, uses, of_node)
    assert (nobody.share, nobody.writer, nobody.writer_share) == (0.0, -1, 0.6)
    assert (nobody.stray_users, nobody.stray_share, nobody.contested_share) == ((0, 1, 2), 2 / 3, 0)
    moving = trace(array("a", [0, 0], [{0}, ()]), threads=threads_on(-1))
    found = touch_share(moving, united_uses([moving]), of_node)
    assert (found.share, found.stray_users, found.stray_share) == (0.0, (0,), 0.5)
    assert not found.has_writer_moved


def test_a_writer_that_uses_its_pages_elsewhere_has_moved() -> None:
    here, there = origin(0, node=0), origin(0, node=1)
    one = array("a", [0, 0], [{0}, {0}], written_from=(here, here),
                used_from=(frozenset({there}), frozenset({here})))  # fmt: skip
    traced = trace(one, threads=TWO)
    found = touch_share(traced, united_uses([traced]), of_node)
    assert (found.share, found.stray_users, found.has_writer_moved) == (0.5, (0,), True)


@pytest.mark.parametrize(
    ("writers", "unsteady"),
    [
        ([[0, 0, 2, 2], [0, 0, 2, 2]], 0.0),
        # Of four threads two are at each place: other threads came to the same place.
        ([[0, 0, 2, 2], [1, 1, 3, 3]], 0.0),
        ([[0, 0, 2, 2], [2, 1, 2, 2]], 0.25),
        ([[0, 0, 2, 2], [2, 2, 3, 2]], 0.75),
        ([[0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 0, 0]], 0.5),
        ([[0, 0, -1, -1], [-1, 0, 0, -1]], 0.5),
        ([[-1, -1, 2, 2], [-1, -1, 3, 3]], 0.0),
    ],
)
def test_pages_that_come_to_whoever_is_first(writers: list[list[int]], unsteady: float) -> None:
    traces = [trace(array("a", each, [()] * 4), array("b", [0] * 4, [()] * 4),
                    threads=threads_on(0, 0, 1, 1)) for each in writers]  # fmt: skip
    assert unsteady_share(traces, "a", 2) == unsteady
    assert unsteady_share(traces, "b", 2) == unsteady_share(traces, "c", 2) == 0.0


def test_a_thread_that_writes_from_elsewhere_is_the_same() -> None:
    traces = [
        trace(array("a", [0, 0], [()] * 2, written_from=(origin(0, node=node, pu=node),) * 2))
        for node in (0, 1)
    ]
    assert unsteady_share(traces, "a", 2) == 0.0


@pytest.mark.parametrize(
    ("pages", "team", "ratios"),
    [
        ([], 2, {0: 0.0, 1: 0.0}),
        ([{0}, {0}, {0}, {1}], 2, {0: 1.5, 1: 0.5}),
        ([{0}, {0}, {0, 1}, {0, 1}], 2, {0: 1.5, 1: 0.5}),
        ([{0}, {0}, (), ()], 2, {0: 1.0, 1: 0.0}),
        # Beyond the team a twentieth of an equal share counts, and less does not.
        ([{0}] * 20 + [{1}] * 19 + [{5}], 2, {0: 1.5, 1: 57 / 40, 5: 3 / 40}),
        ([{0}] * 20 + [{1}] * 19 + [{0, 2}], 2, {0: 41 / 40, 1: 38 / 40}),
    ],
)
def test_shares_over_an_equal_share(
    pages: list[set[int]], team: int, ratios: dict[int, float]
) -> None:
    found = equal_share_ratios({"a": tuple(map(frozenset, pages))}, team)
    assert found == pytest.approx(ratios) and list(found) == list(ratios)


def with_traces(*traces: Trace) -> Evidence:
    return parse(invented.evidence(invented.TWO_NODES)).having(TRACE, traces)


def test_the_worst_tracing_is_shown_with_the_uses_of_all() -> None:
    good = trace(array("a", [0, 1], [{0}, {1}]), threads=TWO)
    bad = trace(array("a", [0, 0], [{0}, ()]), threads=TWO)
    uses = {"a": (frozenset({at(0)}), frozenset({at(1)}))}
    assert shown_trace(with_traces(trace(), good, bad)) == (bad, uses)
    assert shown_trace(with_traces(bad, good)) == (bad, uses)
    assert shown_trace(with_traces(trace())) is None


def test_who_is_bound_to_no_node_is_drawn_as_such() -> None:
    traced = trace(array("a", [0, 3, -1, 1], [{0}, {2, 1}, (), ()]), threads=threads_on(0, 1, -1))
    evidence = with_traces(trace(), traced)
    drawn = drawn_place_of(evidence)
    assert (drawn(None), drawn(at(0)), drawn(at(1)), drawn(bound(2, 2, -1))) == (
        NOBODY, 0, 1, UNBOUND,
    )  # fmt: skip
    assert (NOBODY, UNBOUND) == (-1, -2)
    assert unbound_threads(traced, united_uses([traced]), evidence) == (2, 3)


def test_pages_that_live_with_their_users() -> None:
    traced = trace(
        array("a", [0] * 4, [{0}, {1}, {1}, {1}]),
        array("b", [0] * 4, [{0}, {1}, {1}, {0, 1}]),
        threads=(),
    )
    placed = placement(threads=TWO, residency={"a": (0, 0, 1, -1), "b": (0, 1, 1, 1)})
    assert local_share(placed, [traced]) == LocalShare(
        share=5 / 8, worst_array="a", crowded_node=0, crowded_share=0.5, contested_share=0.0,
        absent=1, unbound_users=(),
    )  # fmt: skip
    all_on_one = placement(threads=TWO, residency={"a": (0, 0, 1, 1), "b": (0, 0, 0, 1)})
    assert local_share(all_on_one, [traced]) == LocalShare(
        share=4 / 8, worst_array="b", crowded_node=0, crowded_share=0.75, contested_share=0.25,
        absent=0, unbound_users=(),
    )  # fmt: skip
    assert local_share(placement(threads=TWO), [traced]) is None
    longer = trace(array("a", [0] * 8, [{0}] * 8), array("b", [0] * 2, [{0}] * 2))
    placed = placement(threads=TWO, residency={"a": (0, 0, 0, 0, 1, 1, 1, 1), "b": (0, 0)})
    found = local_share(placed, [longer])
    assert found is not None
    assert (found.worst_array, found.crowded_share, found.share) == ("a", 0.5, 0.6)


def test_absent_pages_and_those_of_threads_that_may_move_are_not_local() -> None:
    traced = trace(array("a", [0] * 4, [{2}, {1}, {1}, {0}]))
    placed = placement(threads=threads_on(0, -1, -1), residency={"a": (-1, -1, -1, 0)})
    assert local_share(placed, [traced]) == LocalShare(
        share=0.25, worst_array="a", crowded_node=-1, crowded_share=0.75, contested_share=0.0,
        absent=3, unbound_users=(1, 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("home", "crowded", "share", "writers", "is_so"),
    [
        (1, 0, 0.75, [0, 0, 0, 1], True),
        (0, 1, 0.75, [0, 0, 0, 1], True),
        (-1, 0, 0.75, [0, 0, 0, 1], False),
        (1, -1, 0.75, [0, 0, 0, 1], False),
        (1, 1, 0.75, [0, 0, 0, 1], False),
        (1, 0, 0.5, [0, 0, 0, 1], False),
        (1, 0, 0.75, [0, 0, 1, 1], False),
    ],
)
def test_an_array_that_its_writer_wrote_before_it_was_bound(
    home: int, crowded: int, share: float, writers: list[int], is_so: bool
) -> None:
    traced = trace(array("b", [1] * 4, [()] * 4), array("a", writers, [()] * 4))
    found = LocalShare(0.0, "a", crowded, share, 0.0, 0, ())
    assert is_written_unbound(traced, placement(threads=threads_on(home, 3)), found) is is_so
