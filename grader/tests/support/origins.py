"""Invented records in which accesses have a place of their own, apart from who accessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support import invented

Json = dict[str, Any]


def moved(
    record: Json,
    write: Callable[[int], tuple[int, int, int]],
    use: Callable[[int], tuple[int, int, int]],
) -> Json:
    """Where each page's first write and its uses came from: thread, core and NUMA node (-1: it
    could move), by who first wrote it in the record."""
    for run in record["runs"]:
        if run["kind"] != "trace":
            continue
        origins: list[Json] = []

        def number(thread: int, core: int, node: int, of: list[Json] = origins) -> int:
            origin = {"thread": thread, "pu": max(core, 0), "core": core, "numa_node": node}
            if origin not in of:
                of.append(origin)
            return of.index(origin)

        for array in run["touch_map"]["arrays"]:
            parts = array["first_writer"]
            array["written_from"] = [[number(*write(owner)), pages] for owner, pages in parts]
            array["used_from"] = [[[number(*use(owner))], pages] for owner, pages in parts]
            array["first_writer"] = [[write(owner)[0], pages] for owner, pages in parts]
            array["users"] = [[[use(owner)[0]], pages] for owner, pages in parts]
        run["touch_map"]["origins"] = origins
    return record


def place_of_thread(machine: invented.Machine, thread: int) -> tuple[int, int]:
    return machine.pu_of_thread[thread], machine.node_of_thread(thread)
