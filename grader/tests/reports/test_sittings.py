"""Whose threads are drawn where, and what is told of those that no core holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs
from support import invented
from support.evidence_parts import CRASHED, sat
from support.golden_texts import check_text
from support.invented import EIGHT_NODES, TWO_NODES
from support.run_values import a_run

from numalab.evidence.kinds import BINDING, PLACEMENT, RANKS, TRACE
from numalab.evidence.read_record import parse
from numalab.evidence.run_formats import BindingRun, Rank, RanksRun, Thread
from numalab.reports.figures import sittings, thread_figure
from numalab.reports.figures.threads import _numbers, _reach

HERE = parse(invented.evidence(TWO_NODES))


def threads(*last_pus: int) -> tuple[Thread, ...]:
    """Each bound to the PU it was seen on last."""
    return tuple(Thread(n, (pu,), -1, -1, -1, pu) for n, pu in enumerate(last_pus))


def test_the_graded_kernels_team_is_drawn() -> None:
    """As it was placed; where nobody looked, as it was traced; helpers beyond the team are not."""
    look, trace = HERE.runs_of(PLACEMENT)[0], HERE.runs_of(TRACE)[0]
    placed = replace(look, threads=threads(0, 3, -1), team=3)
    traced = replace(trace, threads=threads(5, 6, 7), team=2)
    both = HERE.having(PLACEMENT, [placed]).having(TRACE, [traced])
    (found,) = sittings("x", both)
    assert (found.label, found.noun, len(found.threads)) == ("x: node invented-2", "thread", 3)
    assert found.seen == {0: frozenset({0}), 1: frozenset({3})}
    silent = both.having(PLACEMENT, [replace(placed, threads=())])
    (found,) = sittings("x", silent)
    assert found.seen == {0: frozenset({5}), 1: frozenset({6})}
    assert list(sittings("x", HERE.having(PLACEMENT, []).having(TRACE, []))) == []


def test_a_files_threads_and_ranks_are_drawn_by_its_name() -> None:
    def binding(file: str, runtime: str) -> BindingRun:
        return a_run(BindingRun, file=file, runtime=runtime, threads=threads(1))

    runs = [binding("a.env", "libomp"), binding("b.env", "libomp"), binding("a.env", "libgomp"),
            structs.replace(binding("a.env", "x"), outcome=CRASHED)]  # fmt: skip
    bound = replace(HERE.having(BINDING, runs), is_virtual=True)
    check_text([found.label for found in sittings("x", bound, "a.env")])
    ranks = (Rank(0, threads(4, 6)), Rank(1, threads(2)))
    job = a_run(RanksRun, file="near.toml", refused=None, ranks=ranks)
    others = ({"file": "far.toml"}, {"refused": "No."}, {"outcome": CRASHED})
    jobs = [job, *(structs.replace(job, **changes) for changes in others)]
    (found,) = sittings("x", HERE.having(RANKS, jobs), "near.toml")
    check_text(found.label)
    assert [(thread.number, thread.last_pu) for thread in found.threads] == [(0, 4), (1, 2)]
    assert found.seen == {0: frozenset({4}), 1: frozenset({2})}


@pytest.mark.parametrize(
    ("numbers", "told"),
    [([7], "T7"), ([12], "T12"), ([0, 1], "0,1"), ([9, 10], "2 T"), ([0, 1, 2], "3 T")],
)
def test_what_is_written_above_a_pu_fits(numbers: Sequence[int], told: str) -> None:
    assert _numbers(numbers, "T") == told


@pytest.mark.parametrize(
    "pus",
    [
        (),
        (0, 8),
        (1, 3),
        (5, 6),
        (0, 7),
        tuple(range(15)),
        tuple(range(16)),
    ],
)
def test_the_smallest_unit_that_holds_all_is_named(pus: tuple[int, ...]) -> None:
    of_pu = {entry["pu"]: entry for entry in EIGHT_NODES.describe()["pu_list"]}
    check_text(_reach(pus, of_pu))
    one = {pu: entry | {"numa_node": 0, "package": 0} for pu, entry in of_pu.items()}
    if 0 < len(pus) < 16:
        assert _reach(pus, one) == f"{len(pus)} PUs", "all are of the only node"


def test_what_may_run_on_all_of_the_only_numa_node_is_told_below() -> None:
    node = invented.ONE_NODE.describe()
    heights = [thread_figure([sat("x", node, [pus])]).get_figheight() for pus in ((0,), (0, 1))]
    assert heights[1] - heights[0] == pytest.approx(0.29)


def test_what_stands_below_is_as_high_as_it_is_long() -> None:
    """Notes and meanings of marks, each with what it needs, below the nodes."""
    node = TWO_NODES.describe()
    plain = sat("x", node, [(0,)])
    heights = [
        thread_figure(seen, width_in=width).get_figheight()
        for width, seen in (
            (8.0, [plain]),
            (8.0, [plain, plain]),
            (12.0, [plain, plain]),
            (8.0, [sat("x", node, [tuple(range(8))])]),
            (8.0, [sat("x", node, [tuple(range(8))], {0: [1]})]),
            (8.0, [sat("x", node, [(0,)], {0: [1]})]),
            (8.0, [sat("x", node, [(0,), (0,), (0,)])]),
            (8.0, [sat("x", node, [(0, 1, 2), (99,)])]),
        )
    ]
    assert [round(float(height - heights[0]), 2) for height in heights] == [
        0.0, 1.74, 0.0, 0.29, 0.53, 0.0, 0.24, 0.53,
    ]  # fmt: skip
