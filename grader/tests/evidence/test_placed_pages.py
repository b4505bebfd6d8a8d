"""Where memory is that was placed: shares of pages, and whose part each is."""

from __future__ import annotations

from typing import Any

import pytest
from support.run_values import parsed
from support.traced import OK, RIGHT

from numalab.evidence.kinds import PLACING
from numalab.evidence.placed_pages import (
    Fill,
    Placing,
    alternating_share,
    homes_of_runs,
    owner_of,
)


def placing(**changes: Any) -> Placing:
    facts: dict[str, Any] = {
        "n": 1024, "page_bytes": 4096, "thread_nodes": (1, 0), "bound_nodes": (1, 0),
        "policies_before": (), "policies_after": (), "homes": None, "fill": None,
        "fastest_node": None, "refused_nodes": "", "file": "",
    }  # fmt: skip
    return Placing(None, OK, RIGHT, **facts | changes)


@pytest.mark.parametrize(
    ("homes", "nodes", "share"),
    [
        ([0, 1] * 8, (0, 1), 1.0),
        ([1, 0] * 8, (0, 1), 1.0),
        ([0] * 8 + [1] * 8, (0, 1), 1 / 15),
        ([0] * 16, (0, 1), 0.0),
        ([0, 1, 2] * 5, (0, 1, 2), 1.0),
        ([0, 1, 2] * 5, (0, 1), 5 / 14),
        ([0, -1] * 8, (0, 1), 0.0),
        ([0], (0, 1), 0.0),
        ([0, 1], (0, 1), 1.0),
    ],
)
def test_pages_in_turn(homes: list[int], nodes: tuple[int, ...], share: float) -> None:
    assert alternating_share(homes, nodes) == pytest.approx(share)


@pytest.mark.parametrize(
    ("homes", "pages", "found"),
    [
        ([0, 0, 1, 1, 0, 0, 1], 2, [0, 1, 0]),
        ([0, 1, 1, 0, 0, 1], 2, [-1, -1, -1]),
        ([0, 1, 2], 1, [0, 1, 2]),
        ([0, 0], 3, []),
        ([0, 0], 2, [0]),
    ],
)
def test_runs_of_pages_begin_with_the_array(homes: list[int], pages: int, found: list[int]) -> None:
    assert homes_of_runs(homes, pages) == found


@pytest.mark.parametrize(("n", "threads"), [(10, 4), (8, 4), (3, 4), (1000, 7)])
def test_parts_are_those_of_a_static_loop(n: int, threads: int) -> None:
    owners = [owner_of(element, n, threads) for element in range(n)]
    each = [owners.count(thread) for thread in range(threads)]
    assert owners == sorted(owners)
    assert each == [n // threads + (thread < n % threads) for thread in range(threads)]


@pytest.mark.parametrize(
    ("n", "threads", "owners"),
    [
        # Pages of 512 elements.
        (1024, 2, [0, 1]),
        (2048, 2, [0, 0, 1, 1]),
        (1536, 2, [0, None, 1]),
        (1024, 3, [None, None]),
        # The array ends with a page, and begins within one.
        (1000, 2, [0, None]),
        (1048, 2, [0, None, 1]),
        (1025, 1, [0, 0, 0]),
        (2, 2, [None]),
    ],
)
def test_whose_part_a_page_is(n: int, threads: int, owners: list[int | None]) -> None:
    run = placing(n=n, thread_nodes=(0,) * threads)
    assert [run.thread_of_page(page, len(owners)) for page in range(len(owners))] == owners


def test_pages_of_each_part_on_its_threads_node() -> None:
    run = placing(n=3072, homes={"a": (1, 1, 0, 1, 0, 0), "b": (0,) * 6})
    assert run.nodes == (0, 1)
    assert run.local_shares("a") == {0: 2 / 3, 1: 2 / 3}
    assert run.local_shares("b") == {0: 0.0, 1: 1.0}
    assert run.local_shares("b", lambda part, of: of - 1 - part) == {0: 1.0, 1: 0.0}
    shared = placing(n=1536, homes={"a": (1, 1, 1)})
    assert shared.local_shares("a") == {0: 1.0, 1: 0.0}


RECORD: dict[str, Any] = {
    "n": 7, "page_bytes": 4096, "thread_nodes": [1, 0], "threads": [
        {"thread": 0, "allowed_pus": [0], "core": 0, "package": 0, "numa_node": -1}
    ],
    "policies_before": ["default", None], "policies_after": ["bind:0", None],
    "fill": {"numa_node": 1, "free_bytes": 8, "pages": [[0, 3], [-1, 2]]}, "fastest_node": 1,
    "refused_nodes": "4", "file": "policy.toml",
}  # fmt: skip
FACTS: dict[str, Any] = {
    "n": 7, "page_bytes": 4096, "thread_nodes": (1, 0), "bound_nodes": (-1,),
    "policies_before": ("default", None), "policies_after": ("bind:0", None),
    "fill": Fill(1, 8, {0: 3, -1: 2}), "fastest_node": 1, "refused_nodes": "4",
    "file": "policy.toml",
}  # fmt: skip


def test_a_record_says_where_memory_was_placed() -> None:
    def facts(record: dict[str, Any]) -> dict[str, Any]:
        found = vars(parsed(PLACING, whole | record))
        return {name: found[name] for name in FACTS}

    whole = {"fills_node": False, "results": {"checked": 1, "mismatches": 0}}
    assert facts(RECORD) == FACTS
    without = RECORD | {
        "thread_nodes": None, "policies_before": None, "policies_after": None,
        "refused_nodes": None, "fill": {"numa_node": 1, "free_bytes": 8},
    }  # fmt: skip
    del without["file"]
    assert facts(without) == FACTS | {
        "thread_nodes": (), "policies_before": (), "policies_after": (), "refused_nodes": "",
        "file": "", "fill": Fill(1, 8, None),
    }  # fmt: skip
    assert facts(RECORD | {"fill": None})["fill"] is None
