"""What is worked out of records of one thing each: sums, shares and what stands for nothing."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import msgspec
import pytest
from support import invented
from support.run_values import a_run, an_outcome, form_of, parsed

from numalab.evidence.checked_pages import CheckedPages
from numalab.evidence.cpusets import GroupedProgram, read_program, share_on
from numalab.evidence.kinds import LINK_RUN, REFERENCE_LOOPS, SATURATION
from numalab.evidence.load import is_loaded
from numalab.evidence.mixes import rates_gb_s, times_ns
from numalab.evidence.node_format import NodeDescription
from numalab.evidence.numa_nodes import not_counted, usable_numa_nodes
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.record import CpuTime, Evidence, Json, TimedRound
from numalab.evidence.refused import recorded_node, refused
from numalab.evidence.run_formats import (
    SLOT_BYTES,
    GroupProgram,
    Mix,
    NotedLine,
    Outcome,
    PageTablesLife,
    ResultsRecord,
    Slots,
    StopsRun,
    StoresRun,
    Thread,
    TooFew,
    TransferMismatch,
)
from numalab.installation import Installation

# ---- the node ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "loaded"), [(None, False), (0.0, False), (2.4, False), (2.5, True)]
)
def test_a_load_of_three_tenths_of_each_core_is_busy(load: float | None, loaded: bool) -> None:
    assert is_loaded({"load_1min": load, "cores": 8}) is loaded


@pytest.mark.parametrize(
    ("node", "mode"),
    [
        ({}, None),
        ({"huge_page_mode": "always"}, "always"),
        ({"huge_page_mode": "always", "worker_huge_page_mode": "madvise"}, "madvise"),
        ({"huge_page_mode": "always", "worker_huge_page_mode": None}, None),
    ],
)
def test_the_mode_of_huge_pages_is_that_of_workers(node: Json, mode: str | None) -> None:
    assert mode_of_workers(node) == mode


def node_of(pus: list[int], memory: list[int], **changes: Any) -> Json:
    """pus: the NUMA node of each; memory: of each node."""
    return {
        "numa_nodes": 7,
        "pu_list": [{"pu": pu, "numa_node": node} for pu, node in enumerate(pus)],
        "numa_node_list": [
            {"numa_node": node, "memory_bytes": of} for node, of in enumerate(memory)
        ],
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    ("node", "usable", "told"),
    [
        (node_of([0, 0, 1, 1], [8, 8]), 2, ()),
        (node_of([0, 0], [8]), 1, ()),
        (node_of([0, 1], [8, 8, 8]), 2, ("NUMA node 2 is memory only",)),
        (node_of([1, 0, 1], [8, 0]), 1, ("NUMA node 1 (PUs 0,2) has no memory that may be used",)),
        (node_of([0, 1], [8, 0]), 1, ("NUMA node 1 (PU 1) has no memory that may be used",)),
        (node_of([0, 0], [0]), 7, ()),
        (node_of([0, -1, -1], [8]), 1, ("PUs 1,2 belong to no NUMA node",)),
        (node_of([0, -1], [8]), 1, ("PU 1 belongs to no NUMA node",)),
        (node_of([-1], []), 7, ()),
        (node_of([], [8, 8]), 7, ("NUMA node 0 is memory only", "NUMA node 1 is memory only")),
        ({"numa_nodes": 3}, 3, ()),
        ({"numa_nodes": 3, "numa_node_list": None}, 3, ()),
        (node_of([0, 0], [8], numa_node_list=[
            {"numa_node": 0, "memory_bytes": 8},
            {"numa_node": 1, "memory_bytes": 8, "not_allowed": True},
        ]), 1, ("NUMA node 1 is not allowed here",)),
    ],
)  # fmt: skip
def test_which_numa_nodes_count(node: Json, usable: int, told: tuple[str, ...]) -> None:
    assert usable_numa_nodes(node) == usable
    assert not_counted(node) == told


def test_a_record_keeps_what_its_node_refused() -> None:
    tries = {"perf": {"available": False, "error": "EPERM"}, "uffd": {"available": True}}
    assert refused({"evidence": tries}) == {"perf": "EPERM"}
    assert refused({"evidence": tries, "refused": {"ptrace": "no"}}) == {"ptrace": "no"}
    assert refused({}) == refused({"refused": None}) == {}
    assert not is_loaded({"cores": 1})
    node = invented.ONE_NODE.describe()
    whole = msgspec.convert(node, NodeDescription)
    whole.refused = {"perf": "EPERM"}
    assert recorded_node(node | {"evidence": tries}) == whole
    allowed = {"uffd": {"available": True}}
    assert recorded_node(node | {"evidence": allowed}) == msgspec.convert(node, NodeDescription)


# ---- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "ok", "is_numalab_fault", "blames"),
    [
        (an_outcome("ok"), True, False, False),
        (an_outcome("ok", baseline_status="ok"), True, False, False),
        (an_outcome("crashed"), False, False, False),
        (an_outcome("crashed", baseline_status="ok"), False, False, True),
        (an_outcome("obstructed"), False, True, False),
        (an_outcome("kit_error"), False, True, False),
        (an_outcome("kit_error", baseline_status="ok"), False, False, True),
    ],
)
def test_whose_fault_an_end_is(
    outcome: Outcome, ok: bool, is_numalab_fault: bool, blames: bool
) -> None:
    assert (outcome.ok, outcome.is_numalab_fault, outcome.blames) == (ok, is_numalab_fault, blames)


@pytest.mark.parametrize(
    ("more", "without"),
    [
        ({}, False),
        ({"too_few_messages": TooFew(2, 1)}, True),
        ({"too_few_bytes": TooFew(2, 1)}, True),
        ({"messages_ahead": 1}, True),
    ],
)
def test_round_trips_that_lack_messages(more: dict[str, Any], without: bool) -> None:
    assert ResultsRecord(checked=1, mismatches=0, **more).is_without_messages is without


def test_sums_of_small_records() -> None:
    assert CpuTime(1.0, 2.0, 0.5, 1.0, 3.5).lost_s == 2.5
    phases = [("allocate", 44), ("initialize", 70), ("release", 30)]
    for after, most_bytes in ((phases, 30), ([], 0)):
        life = form_of(PageTablesLife, {
            "bytes": 8, "page_table_before_bytes": 40,
            "phases": [{"phase": name, "page_table_bytes": size} for name, size in after],
        })  # fmt: skip
        assert life.most_bytes == most_bytes
    line = NotedLine(line=1, stores=9, by_thread=[(0, 4), (1, 5)])
    assert line.thread_stores == {0: 4, 1: 5}
    assert CheckedPages(9, ((0, 2), (5, 3))).count == 5
    assert not CheckedPages(9, ((0, 2), (5, 3))).is_whole
    assert CheckedPages(5, ((0, 5),)).is_whole


def test_what_stands_for_nothing_in_values_that_are_not_read() -> None:
    assert Thread(0, (0,), 0, 0, 0).last_pu == -1
    alone = TimedRound(None, None, 1, 8, {}, {})
    assert (alone.cut, alone.is_retry, alone.taken_s) == (frozenset(), False, {})
    assert (alone.bytes_allocated, alone.loads_in_chain) == (None, 0)
    told = {field.name: field.default for field in fields(Evidence)}
    assert (told["is_starting_code"], told["interrupted"]) == (False, False)


# ---- control groups ----------------------------------------------------------------------------

PROGRAM = {
    "group": "job", "threads": 2, "allowed_pus": [1, 0], "allowed_numa_nodes": [1],
    "ran_on_pus": [0], "pages_at_first": [[0, 9]], "pages_of_first_half": [[1, 4], [0, 5]],
    "pages_of_second_half": [[1, 6], [2, 1]], "partition": "root",
}  # fmt: skip


def program_of(**changes: Any) -> GroupedProgram:
    return read_program(form_of(GroupProgram, PROGRAM | changes))


def test_pages_of_a_program_in_its_group() -> None:
    program = program_of()
    assert program == GroupedProgram(
        "job", 2, frozenset({0, 1}), frozenset({1}), frozenset({0}), {0: 9}, {1: 4, 0: 5},
        {1: 6, 2: 1}, "root",
    )  # fmt: skip
    assert program.pages == {0: 5, 1: 10, 2: 1} and list(program.pages) == [0, 1, 2]
    for half in ("pages_of_first_half", "pages_of_second_half"):
        assert program_of(**{half: None}).pages is None
    assert program_of(pages_at_first=None).pages_at_first is None


def test_shares_of_pages_on_nodes() -> None:
    pages = {0: 5, 1: 10, 3: 5}
    assert [share_on(pages, nodes) for nodes in ((), (0,), (1, 3), (2,))] == [0, 0.25, 0.75, 0]
    assert share_on({}, (0,)) == 0.0
    assert share_on({0: 1}, (0,)) == 1.0


# ---- stops -------------------------------------------------------------------------------------


def stops(**changes: Any) -> StopsRun:
    facts: dict[str, Any] = {
        "gap_s": 0.1, "least_s": 0.25, "watch_s": 2.0, "elapsed_s": 3.0,
        "stops": [(0.5, 0.75), (1.0, 1.5)], "runqueue_wait_s": 0.75, "taken_s": 0.5,
        "reported": None,
    }  # fmt: skip
    return a_run(StopsRun, **facts | changes)


def test_what_a_thread_lost_beside_the_stops() -> None:
    alone = stops()
    assert (alone.stopped_s, alone.lost_s, alone.more_stops) == ((1.5, 2.25), 1.25, 5.0)
    looked = stops(arguable_stops=3, arguable_s=0.25)
    assert (looked.lost_s, looked.more_stops) == (0.75, 5.0)
    assert stops(arguable_stops=0, arguable_s=0.0, taken_s=0.125).more_stops == 0.5
    assert (alone.ahead_s, alone.too_short) == (0.0, ())


# ---- jobs on a link ----------------------------------------------------------------------------

JOB: dict[str, Any] = {
    "end": "ok", "code": 0, "output": "done", "limit_s": 9.0, "items": 4, "payload_bytes": 100,
    "mismatches": 1, "sent_bytes": 300, "sent_frames": 5, "received_bytes": 70,
}  # fmt: skip


def test_bytes_on_the_link_over_those_of_items() -> None:
    first = {"item": 2, "length": 3, "expected_length": 4, "number": None}
    job = parsed(LINK_RUN, JOB | {"first_mismatch": first, "part": "x"})
    assert job.first_mismatch == TransferMismatch(2, 3, 4, None)
    assert parsed(LINK_RUN, JOB | {"first_mismatch": None}).first_mismatch is None
    assert (job.bytes_ratio, job.overhead_bytes) == (3.0, 50.0)


def test_a_slot_has_the_room_that_the_lab_says(installation: Installation) -> None:
    (header,) = installation.root.glob("labs/*/interconnect.h")
    said = re.search(r"SLOT = ([0-9]+)", header.read_text("utf-8"))
    assert said is not None and 8 * int(said[1]) == SLOT_BYTES


# ---- loops of the probe ------------------------------------------------------------------------


def loop(loads: int, stores: int, updates: int, *elapsed_s: float) -> Json:
    return {"loads": loads, "stores": stores, "updates": updates, "elapsed_s": list(elapsed_s)}


def test_what_a_mix_moves() -> None:
    assert Mix(3, 0, 0).bytes_moved == 24
    assert Mix(0, 3, 0).bytes_moved == Mix(0, 0, 3).bytes_moved == 48
    assert Mix(1, 2, 3).bytes_moved == 88
    assert Mix(1, 2, 3).argument == "1+2+3"
    assert sorted([Mix(2, 0, 0), Mix(1, 1, 0), Mix(1, 0, 1)]) == [
        Mix(1, 0, 1), Mix(1, 1, 0), Mix(2, 0, 0),
    ]  # fmt: skip


BESIDE = {
    "part": "x", "outcome": {"status": "ok", "printed_bytes": 0}, "team": 2, "array_bytes": 8000,
    "arrays": 3,
}  # fmt: skip


def test_loops_are_told_by_their_best_repetition() -> None:
    found = parsed(REFERENCE_LOOPS, BESIDE | {
        "unseen": [{"loads": 1, "stores": 1, "updates": 0}],
        "generations": [
            {"threads": 2, "loops": [loop(1, 0, 0, 3e-6, 2e-6, 4e-6), loop(1, 1, 0, 5e-6)]},
            {"threads": 2, "loops": [loop(1, 0, 0, 1e-6)]},
        ],
    })  # fmt: skip
    # Of 1000 elements, in nanoseconds.
    first, second = times_ns(found)
    assert first == pytest.approx({Mix(1, 0, 0): 2.0, Mix(1, 1, 0): 5.0})
    assert second == pytest.approx({Mix(1, 0, 0): 1.0})


def test_rates_of_a_loop_by_threads() -> None:
    found = parsed(SATURATION, BESIDE | {
        "pus": [0, 2], "drawn": [2],
        "curve": [{"threads": 1, "loops": [loop(1, 1, 0, 4e-6, 2e-6)]},
                  {"threads": 2, "loops": [loop(1, 1, 0, 1e-6)]}],
        "generations": [{"processes": [{"threads": 2, "loops": [loop(0, 0, 1, 4e-6)]}]}],
    })  # fmt: skip
    assert rates_gb_s(found, found.curve) == pytest.approx({1: 12.0, 2: 24.0})
    (one,) = found.generations
    assert rates_gb_s(found, one.processes) == pytest.approx({2: 4.0})


# ---- stores ------------------------------------------------------------------------------------

SLOTS = Slots(2, 0, 0, 5, True, 64)


def stores(n: int = 100, threads: int = 2, **changes: Any) -> StoresRun:
    facts: dict[str, Any] = {
        "line_bytes": 64, "lines": 9, "stores": 90, "lost": 0, "shared_lines": 1,
        "shared_stores": 25, "most_written": [], "by_thread": [], "slots": SLOTS,
        "noted": True,
    }  # fmt: skip
    return a_run(StoresRun, n=n, threads=threads, **facts | changes)


@pytest.mark.parametrize(
    ("by_thread", "counting"),
    [
        ((), 0),
        (((50, 50), (50, 50)), 2),
        # Half of an equal part, and less.
        (((75, 50), (25, 50)), 2),
        (((76, 50), (24, 50)), 1),
        (((50, 75), (50, 25)), 2),
        (((50, 76), (50, 24)), 1),
        # Of who counts in registers stores say nothing: of 100 elements 50.
        (((50, 50), (50, 0)), 2),
        (((50, 51), (50, 0)), 1),
        (((50, 0), (50, 0)), 2),
        (((50, 50), (50, 50), (0, 0)), 2),
    ],
)
def test_threads_that_count(by_thread: tuple[tuple[int, int], ...], counting: int) -> None:
    assert stores(by_thread=by_thread).counting_threads == counting


def test_shared_stores_are_of_each_element() -> None:
    assert stores().shared_share == 0.25
    four = stores(threads=4, by_thread=((25, 0), (13, 0), (12, 0), (50, 0)))
    assert four.counting_threads == 3
