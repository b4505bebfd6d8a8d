"""Tables of explorations cell by cell, and the values that sentences are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rich.table import Table
from support.explorations import (
    MIB,
    SCHEDULES,
    SIXTEEN,
    STREAMS,
    TABLES,
    TWO,
    flat,
    invented,
    made_up,
    on_two_cores,
)  # fmt: skip

from numalab.explore import stream_report, table_report
from numalab.explore.declaration import Schedules, TableSizes
from numalab.explore.explore_report import heading, sentences
from numalab.explore.intervals import Comparison, Interval
from numalab.explore.samples import Found, Virtual
from numalab.explore.schedule_report import (
    chunk_differences,
    published,
    same_thing,
    schedule_differences,
    schedule_tables,
)
from numalab.explore.stream_report import (
    may_be_caches,
    page_pictures,
    rate_pictures,
    share_words,
)
from numalab.explore.stream_values import (
    equal_differences,
    pages_seen,
    placement_differences,
    rate,
    threads_found,
    touch_differences,
)
from numalab.explore.table_report import Size, line_knees, parting_bytes, sizes_found


def rows(table: Table) -> list[list[str]]:
    """Heads, then each row."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [[*row] for row in zip(*columns, strict=True)]


# ---- schedules ---------------------------------------------------------------------------

FEW = Schedules(("static", "dynamic"), (0, 1, 4), {}, 100, 6)


def dynamic_takes_twice(key: dict[str, Any], number: int) -> float:
    """From 1 ms to 1.5 ms; dynamic with a chunk of 4 takes half of that."""
    times = 1.0 if key["schedule"] == "static" else 0.5 if key["chunk"] == 4 else 2.0
    return times * 1e-3 * (1 + 0.1 * number) / int(key["threads"])


def test_times_and_ratios_of_schedules() -> None:
    times, ratios = schedule_tables(invented(FEW, dynamic_takes_twice, 6), FEW, 2)
    one, two, half = "1.25 [1.00, 1.50]", "2.50 [2.00, 3.00]", "0.62 [0.50, 0.75]"
    quarter = "0.31 [0.25, 0.38]"
    assert rows(times) == [
        ["threads", "chunk", r"static \[ms]", r"dynamic \[ms]"],
        ["1", "default", one, two], ["1", "1", one, two], ["1", "4", one, half],
        ["2", "default", half, one], ["2", "1", half, one], ["2", "4", half, quarter],
    ]  # fmt: skip
    assert rows(ratios) == [
        ["threads", "ratio", "default", "chunk 1", "chunk 4"],
        *([threads, "static / dynamic", "0.50-0.50*", "0.50-0.50*", "2.00-2.00*"]
          for threads in ("1", "2")),
    ]  # fmt: skip


def test_what_was_not_measured_has_no_row() -> None:
    found = invented(FEW, dynamic_takes_twice, 6)
    some = replace(found, samples=found.samples[:2])  # static's, by one thread
    times, ratios = schedule_tables(some, FEW, 2)
    assert rows(times)[1:] == [["1", "default", "1.00", ""], ["1", "1", "1.00", ""]]
    assert rows(ratios)[1:] == []


def test_differences_between_schedules_and_chunks() -> None:
    found = invented(FEW, dynamic_takes_twice, 6)
    assert [(d.where, d.first, d.second, d.comparison.ratio.median)
            for d in schedule_differences(found, FEW, 2)] == [
        (f"{threads}, chunk {chunk}", "static", "dynamic", pytest.approx(ratio))
        for threads in ("1 thread", "2 threads")
        for chunk, ratio in (("default", 0.5), ("1", 0.5), ("4", 2.0))
    ]  # fmt: skip
    apart = [(d.where, d.first, d.second, round(d.comparison.ratio.median, 6))
             for d in chunk_differences(found, FEW, 2, False)][:5]  # fmt: skip
    assert apart == [
        ("1 thread, static", "chunk default", "chunk 1", 1.0),
        ("1 thread, static", "chunk default", "chunk 4", 1.0),
        ("1 thread, static", "chunk 1", "chunk 4", 1.0),
        ("1 thread, dynamic", "chunk default", "chunk 4", 4.0),
        ("1 thread, dynamic", "chunk 1", "chunk 4", 4.0),
    ]
    equals = list(chunk_differences(found, FEW, 2, True))
    assert [d.where for d in equals] == ["1 thread, dynamic", "2 threads, dynamic"]
    assert not same_thing("static", 0, 1) and not same_thing("dynamic", 1, 4)
    assert same_thing("guided", 1, 0)


def test_what_became_of_a_published_claim() -> None:
    found = invented(FEW, dynamic_takes_twice, 6)
    said = published(found, FEW, 2)
    assert said is not None and "with 2 threads" in said
    assert "at 1 of 3 chunks, and is beaten at 2" in said
    assert published(found, FEW, 1) is None
    assert published(found, replace(FEW, schedules=("static", "guided")), 2) is None
    assert published(invented(FEW, dynamic_takes_twice, 5), FEW, 2) is None
    equal = published(invented(FEW, lambda *_: 1.0, 6), FEW, 2)
    assert equal is not None and "at 0 of 3 chunks, and is beaten at 0" in equal
    one_chunk = replace(FEW, chunks=(4,))
    single = published(invented(one_chunk, dynamic_takes_twice, 6), one_chunk, 2)
    assert single is not None and "at 1 of 1 chunk, and is beaten at 0" in single


def test_differences_between_equals_are_the_control() -> None:
    def apart(key: dict[str, Any], number: int) -> float:
        """By a quarter, with one thread."""
        return 1.25 if key["threads"] == 1 and key["chunk"] == 1 else 1.0

    control = sentences(invented(FEW, apart, 6))[2]
    assert "1 of these 2 differences between equals survives," in control
    assert "up to 25.0 %" in control
    none = sentences(invented(FEW, lambda *_: 1.0, 6))[2]
    assert "0 of these 2 differences between equals survive," in none and "up to 0.0 %" in none
    assert len(sentences(invented(FEW, apart, 5))) == 2
    assert len(sentences(invented(FEW, apart, 6, node={"load_1min": 9.0}))) == 5


# ---- table sizes -------------------------------------------------------------------------


def small_takes_more(key: dict[str, Any], number: int) -> float:
    slow = key["pages"] == "small" and int(key["bytes"]) >= 4 * MIB
    return (4e-6 if slow else 1e-6) * (1 + 0.1 * number)


THREE = TableSizes(MIB, 4 * MIB, 2, 1000, 3, 6)


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_times_of_tables_on_both_kinds_of_pages(share: float) -> None:
    found = invented(THREE, small_takes_more, 6, update_s=lambda *_: 2e-6, share=share)
    chased, updated = table_report.table_tables(found, THREE)
    one, on_huge = "1.25 [1.00, 1.50]", f"{100 * share:.0f} %"
    assert rows(chased) == [
        ["table", r"4 KiB \[ns]", r"2 MiB \[ns]", "on huge", "ratio"],
        ["1 MiB", one, one, on_huge, "1.00-1.00 "], ["2 MiB", one, one, on_huge, "1.00-1.00 "],
        ["4 MiB", "5.00 [4.00, 6.00]", one, on_huge, "4.00-4.00*"],
    ]  # fmt: skip
    assert rows(updated)[3] == [
        "4 MiB", "2.00 [2.00, 2.00]", "2.00 [2.00, 2.00]", on_huge, "1.00-1.00 ",
    ]  # fmt: skip
    sizes = sizes_found(found, THREE, "chase")
    assert [size.share for size in sizes] == [share] * 3
    assert parting_bytes(sizes) == (4 * MIB if share == 1 else None)


def test_of_one_kind_of_pages_there_is_one_column() -> None:
    found = invented(THREE, small_takes_more, 6, node={"huge_page_mode": "never"})
    chased, _ = table_report.table_tables(found, THREE)
    assert rows(chased)[0] == ["table", r"4 KiB \[ns]"] and len(rows(chased)) == 4
    assert [table_report.mode_sentence(of) is None for of in ("always", "never", None)] == [
        True, False, False,
    ]  # fmt: skip
    some = replace(found, samples=found.samples[:2])
    assert [row[0] for row in rows(table_report.table_tables(some, THREE)[0])[1:]] == [
        "1 MiB", "2 MiB",
    ]  # fmt: skip


def test_what_was_measured_on_one_kind_of_pages_only() -> None:
    found = invented(THREE, small_takes_more, 6)
    alone = replace(found, samples=found.samples[:3])
    assert rows(table_report.table_tables(alone, THREE)[0])[1:] == [
        ["1 MiB", "1.00", "1.00", "100 %", "1.00?"], ["2 MiB", "1.00", "", "", ""],
    ]  # fmt: skip


def size(table_bytes: int, parts: bool, low: float = 2.0) -> Size:
    interval = Interval(low, low, low, 0.96 if parts else 0.5)
    return Size(table_bytes, None, None, 1.0, Comparison(interval, 6))


def test_the_two_part_from_where_all_larger_tables_do() -> None:
    assert parting_bytes([]) is None
    assert parting_bytes([size(1, True), size(2, True)]) == 1
    assert parting_bytes([size(4, True), size(1, True), size(2, False)]) == 4
    assert parting_bytes([size(1, True), size(2, False)]) is None


def told(reach_bytes: int, parting: int, largest: int = 16 * MIB, level: int = 2) -> str:
    """What is said of where the two part, beside what cpuid tells."""
    sizes = [size(of, of >= parting) for of in (MIB // 4, MIB, 4 * MIB, largest)]
    sizes = [replace(one, ratio=Comparison(Interval(1, 1, 1, 0.96), 6))
             if one.table_bytes < parting else one for one in sizes]  # fmt: skip
    found = invented(TABLES, lambda *_: 1e-6, 1)
    reach = table_report.Reach(4096, reach_bytes // 4096, level)
    return table_report._where_it_lies(sizes, found, reach) or ""


def test_where_the_two_part_beside_the_reach() -> None:
    assert told(2 * MIB, MIB).startswith("That is below the 2 MiB")
    assert told(2 * MIB, MIB).endswith("shows.")
    assert told(2 * MIB, MIB, level=1) == "That is below the 2 MiB that small pages reach by cpuid."
    assert "they part at 1 times that" in told(MIB, MIB)
    assert "they part at 4 times that" in told(MIB, 4 * MIB)
    assert "Why not here?" in told(MIB, 16 * MIB)
    # The largest table is four times the reach, and no more.
    assert told(4 * MIB, MIB) == ""
    assert told(4 * MIB, MIB, 16 * MIB + 1).startswith("That is below the 4 MiB")


def test_what_a_walk_costs_and_the_first_touch() -> None:
    said = sentences(invented(THREE, small_takes_more, 6))
    cost = next(one for one in said if one.startswith("There a load takes"))
    assert "takes 3.75 ns longer" in cost
    assert "8 KiB of page table" in cost and "in 16 bytes" in cost
    assert said[-1] == (
        "First touch of 4 MiB, page by page in random order: 250 ms of CPU time and 512 page "
        "faults on 4 KiB pages, 250 ms of CPU time and 512 page faults on 2 MiB pages (medians)."
    )
    never = invented(THREE, small_takes_more, 6, node={"huge_page_mode": "never"})
    assert len(sentences(never)) == 2


@pytest.mark.parametrize(
    ("each", "named"),
    [(16384, False), (16385, True), (65535, True), (65536, False)],
)
def test_knees_within_the_tables_are_named(each: int, named: bool) -> None:
    """Of 64 lines in a page, of tables from 1 MiB to 4 MiB."""
    caches = [{"level": "L1i", "bytes_each": 20000}, {"level": "L1d", "bytes_each": each}]
    found = invented(THREE, small_takes_more, 6, node={"caches": caches})
    assert line_knees(found) == [("L1d", 64 * each)]
    assert any("L1d up to" in one for one in sentences(found)) is named


def test_the_chase_as_a_picture() -> None:
    node = {"caches": [{"level": "L2", "bytes_each": 32768}, {"level": "L1d", "bytes_each": 16}]}
    lines = table_report.table_picture(invented(THREE, small_takes_more, 6, node=node), THREE)
    assert lines[0] == "        o 4 KiB pages, x 2 MiB pages"
    assert lines[1] == "5.0 ns |                    o"
    assert lines[11] == "   1.2 |    *       *       x"
    assert lines[12:16] == [
        "       +------------------------", "            1M      2M      4M",
        "                    ^", "                    L2",
    ]  # fmt: skip
    empty = invented(THREE, small_takes_more, 0)
    assert table_report.table_picture(empty, THREE) == []


# ---- streams -----------------------------------------------------------------------------


def slower_by_one(threads: int, placement: str, first_touch: str) -> float:
    """scatter twice compact, and initialised by one half of it, with two threads."""
    if threads == 1:
        return 8.0
    return 8.0 * (2 if placement == "scatter" else 1) / (2 if first_touch == "one" else 1)


def on_two(rounds: int = 6, **changes: Any) -> Found:
    return made_up(TWO | changes, slower_by_one, lambda *_: 1.0, rounds)


def test_rates_and_ratios_of_streams() -> None:
    found = on_two()
    assert threads_found(found) == [1, 2]
    eight, four, sixteen = "7.92 [7.84, 8.00]", "3.96 [3.92, 4.00]", "15.8 [15.7, 16.0]"
    table = stream_report._rate_table(found, "triad")
    assert table.title == "triad [GB/s]"
    assert rows(table) == [
        ["threads", "first touch", "default", "compact", "scatter"],
        ["1", "by all", eight, eight, eight], ["1", "by one", eight, eight, eight],
        ["2", "by all", eight, eight, sixteen], ["2", "by one", four, four, eight],
    ]  # fmt: skip
    one, two = "1.00-1.00 ", "2.00-2.00*"
    assert rows(stream_report._ratio_table(found))[1:] == [
        [threads, kernel, *cells]
        for threads, cells in (("1", [one] * 4), ("2", [two] * 4))
        for kernel in ("copy", "triad")
    ]
    some = replace(found, samples=found.samples[:1])
    assert rows(stream_report._rate_table(some, "copy"))[1:] == [["1", "by all", "8.00", "", ""]]
    assert rows(stream_report._ratio_table(some))[1:] == []
    assert rate(some, "copy", 2, "default", "all") is None


def test_differences_between_placements_and_first_touches() -> None:
    found = on_two()
    placements = list(placement_differences(found))
    assert [(d.first, d.second, d.where, d.survives) for d in placements[:3]] == [
        ("scatter", "compact", "2 threads, copy, initialised by all", True),
        ("scatter", "default", "2 threads, copy, initialised by all", True),
        ("compact", "default", "2 threads, copy, initialised by all", False),
    ]
    assert len(placements) == 12
    touches = list(touch_differences(found))
    assert [(d.first, d.second, d.where) for d in touches] == [
        ("arrays initialised by all", "arrays initialised by one",
         f"2 threads, {kernel}, {placement}")
        for kernel in ("copy", "triad") for placement in ("default", "compact", "scatter")
    ]  # fmt: skip
    assert [(d.where, d.first, d.second) for d in equal_differences(found)][:5] == [
        ("copy", "scatter all", "compact all"), ("copy", "scatter one", "compact one"),
        ("copy", "default all", "default one"), ("copy", "compact all", "compact one"),
        ("copy", "scatter all", "scatter one"),
    ]  # fmt: skip
    assert len(list(equal_differences(found))) == 10


def test_streams_in_numbers_of_sentences() -> None:
    said = sentences(on_two())
    assert [one.split("(")[0] for one in said[:4]] == [
        "With 2 threads, copy: scatter moved 2.00 times compact's bytes per second ",
        "With 2 threads, copy: under scatter arrays initialised by all moved 2.00 times the bytes "
        "per second of those initialised by one ",
        "With 2 threads, triad: scatter moved 2.00 times compact's bytes per second ",
        "With 2 threads, triad: under scatter arrays initialised by all moved 2.00 times the bytes "
        "per second of those initialised by one ",
    ]
    assert "Between placements 8 of 12 differences" in said[4]
    assert "Between first touches 6 of 6 differences" in said[5]
    assert "0 of these 10 differences between equals survive, and" in said[6]
    assert "up to 0.0 %" in said[6]
    assert said[7].startswith("With 2 threads or more compact and scatter both use every core")
    assert len(said) == 9


@pytest.mark.parametrize(
    ("caches", "may_be", "part"),
    [(16 * MIB, False, ""), (16 * MIB + 1, True, ": part of"), (192 * MIB - 1, True, ": part of"),
     (192 * MIB, True, ": all of"), (0, True, "is open"), (None, True, "is open")],
)  # fmt: skip
def test_arrays_of_64_mib_beside_caches(caches: int | None, may_be: bool, part: str) -> None:
    found = on_two(last_level_cache_bytes=caches)
    assert may_be_caches(found, STREAMS) is may_be
    first = sentences(found)[0]
    assert (part in first) if may_be else first.startswith("With 2 threads")


def test_landmarks_are_the_cores_of_a_numa_node_and_all() -> None:
    assert stream_report._landmarks(SIXTEEN, range(1, 17)) == [4, 8]
    assert stream_report._landmarks(SIXTEEN, [1, 8]) == [8]
    assert stream_report._landmarks({"cores": 2, "numa_nodes": 2}, [1, 2]) == [2]
    assert stream_report._landmarks({"cores": 1, "numa_nodes": 1}, [1]) == []


def half_by_one(threads: int, placement: str, first_touch: str) -> float:
    return 0.5 if first_touch == "one" and threads > 1 else 1.0


def test_local_pages_of_this_node_or_of_a_virtual_one() -> None:
    here = made_up(SIXTEEN | {"cores": 1, "pus": 2}, flat, half_by_one, 6)
    seen = pages_seen(here)
    assert seen is not None
    assert (seen.where, seen.is_virtual, seen.threads) == (here.node["name"], False, [1, 2])
    assert seen.share(2, "compact", "one") == Interval(0.5, 0.5, 0.5, 0.96875)
    assert seen.share(3, "compact", "one") is None
    assert seen.samples_each == [6] * 12
    assert rows(stream_report._share_table(seen))[1:] == [
        ["1", "by all", *["100 %"] * 3], ["1", "by one", *["100 %"] * 3],
        ["2", "by all", *["100 %"] * 3], ["2", "by one", *["50 %"] * 3],
    ]  # fmt: skip
    there = pages_seen(on_two_cores())
    assert there is not None and (there.where, there.is_virtual) == ("virtual nhm", True)
    assert pages_seen(made_up(TWO, flat, rounds=1)) is None
    assert pages_seen(made_up(SIXTEEN, flat, lambda *_: None, 1)) is None
    assert pages_seen(invented(SCHEDULES, lambda *_: 1.0, 1)) is None
    some = made_up(SIXTEEN, flat, lambda t, *_: None if t > 1 else 1.0, 1)
    assert pages_seen(some) is not None
    assert share_words(Interval(0.5, 0.25, 0.75, 0.96)) == "50 % [25, 75]"
    assert share_words(Interval(0.5, 0.499, 0.501, 0.96)) == "50 %"


def test_troubles_of_a_virtual_machine_are_told() -> None:
    whole = on_two_cores()
    assert whole.virtual is not None
    part = replace(whole, virtual=replace(whole.virtual, trouble="it ended"))
    assert sentences(part)[-1] == "Not all of it could be seen: it ended"
    assert "could be seen" not in " ".join(sentences(whole))
    none = on_two_cores(virtual=Virtual({"name": "nhm"}, {}))
    assert "virtual" not in sentences(none)[-1].split("(")[0]


def test_pictures_of_rates_and_of_pages() -> None:
    lines = rate_pictures(on_two())
    assert lines[0].endswith("initialised by all:") and lines[14].endswith("by one:")
    assert lines[1] == "        d default, c compact, s scatter"
    assert lines[2] == "  15.8 |             s"
    assert lines[6] == "   7.9 |   dcs     dc"
    assert lines[10] == "   0.0 |"
    assert lines[13] == "" and len(lines) == 27
    # On one scale.
    assert lines[16] == "  15.8 |"
    assert lines[18 + 2] == "   7.9 |   dcs       s"
    seen = pages_seen(made_up(SIXTEEN | {"cores": 1, "pus": 2}, flat, half_by_one, 1))
    assert seen is not None
    pictures = page_pictures(seen)
    assert pictures[2] == "   1.0 |   dcs     dcs"
    assert pictures[6] == "   0.0 |" and len(pictures) == 19
    assert pictures[14] == "   0.5 |           dcs"
    assert rate_pictures(on_two(rounds=0)) == []


def test_headings_say_what_was_run() -> None:
    _, schedules = heading(invented(FEW, lambda *_: 1.0, 1))
    assert schedules.startswith("invented: 2 cores; n = 100, libomp; GNU 12 -O2. ")
    _, tables = heading(invented(THREE, lambda *_: 1.0, 1))
    assert "one thread; best of 3 repetitions, 1,000 steps at once; GNU 12 -O3. " in tables
    _, streams = heading(on_two(numa_nodes=1))
    assert ": 2 cores; 2 PUs, 1 NUMA node; libomp; three arrays of 64 MiB on" in streams
    assert "best of 5 repetitions; GNU 12 -O3. " in streams
