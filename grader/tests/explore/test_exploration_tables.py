"""Tables of explorations cell by cell, and the values that sentences are made of."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from schedule_experiment import Schedules, same_thing
from support.explorations import (
    MIB,
    invented,
)  # fmt: skip
from support.tables import kinds_of_columns, laid_out, paragraphs, printed, rows
from table_experiment import (
    Size,
    TableSizes,
    _hidden,
    _parting_words,
    _table,
    _where_it_lies,
    divergence_bytes,
    line_knees,
    measured_sizes,
    mode_sentence,
    table_picture,
)

from numalab.explore.experiment import Measurements
from numalab.explore.explore_report import heading, sentences, show
from numalab.explore.intervals import MedianInterval, PairedComparison
from numalab.explore.tlb import Reach

# ---- schedules ---------------------------------------------------------------------------

FEW = Schedules(("static", "dynamic"), (0, 1, 4), {}, 100, 6)


def dynamic_takes_twice(key: dict[str, Any], number: int) -> float:
    """From 1 ms to 1.5 ms; dynamic with a chunk of 4 takes half of that."""
    times = 1.0 if key["schedule"] == "static" else 0.5 if key["chunk"] == 4 else 2.0
    return times * 1e-3 * (1 + 0.1 * number) / int(key["threads"])


def schedule_tables(found: Measurements) -> tuple[Table, Table]:
    what = found.exploration.what
    assert isinstance(what, Schedules)
    return what.time_table(found), what.ratio_table(found)


def test_times_and_ratios_of_schedules() -> None:
    times, ratios = schedule_tables(invented(FEW, dynamic_takes_twice, 6))
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
    some = replace(found, runs=found.runs[:2])  # static's, by one thread
    times, ratios = schedule_tables(some)
    assert rows(times)[1:] == [["1", "default", "1.00", ""], ["1", "1", "1.00", ""]]
    assert rows(ratios)[1:] == []
    # Of four rows in chunks of four the second thread gets none.
    short = replace(FEW, n=4)
    times, ratios = schedule_tables(invented(short, dynamic_takes_twice, 6))
    assert [row[:2] for row in rows(times)[1:]] == [
        ["1", "default"], ["1", "1"], ["1", "4"], ["2", "default"], ["2", "1"],
    ]  # fmt: skip
    assert rows(ratios)[2] == ["2", "static / dynamic", "0.50-0.50*", "0.50-0.50*", ""]


def test_differences_between_schedules_and_chunks() -> None:
    found = invented(FEW, dynamic_takes_twice, 6)
    assert [(d.where, d.first, d.second, round(d.comparison.ratio.median, 6))
            for d in FEW.schedule_differences(found)] == [
        (f"{threads}, chunk {chunk}", "static", "dynamic", ratio)
        for threads in ("1 thread", "2 threads")
        for chunk, ratio in (("default", 0.5), ("1", 0.5), ("4", 2.0))
    ]  # fmt: skip
    apart = [(d.where, d.first, d.second, round(d.comparison.ratio.median, 6))
             for d in FEW.chunk_differences(found, False)][:5]  # fmt: skip
    assert apart == [
        ("1 thread, static", "chunk default", "chunk 1", 1.0),
        ("1 thread, static", "chunk default", "chunk 4", 1.0),
        ("1 thread, static", "chunk 1", "chunk 4", 1.0),
        ("1 thread, dynamic", "chunk default", "chunk 4", 4.0),
        ("1 thread, dynamic", "chunk 1", "chunk 4", 4.0),
    ]
    equals = list(FEW.chunk_differences(found, True))
    assert [d.where for d in equals] == ["1 thread, dynamic", "2 threads, dynamic"]
    assert not same_thing("static", 0, 1) and not same_thing("dynamic", 1, 4)
    assert same_thing("guided", 1, 0)


def test_what_became_of_a_published_claim() -> None:
    found = invented(FEW, dynamic_takes_twice, 6)
    said = FEW.published(found)
    assert said is not None and "with 2 threads" in said
    assert "at 1 of 3 chunks, and is beaten at 2" in said
    assert FEW.published(replace(found, node=found.node | {"cores": 1})) is None
    assert replace(FEW, schedules=("static", "guided")).published(found) is None
    assert FEW.published(invented(FEW, dynamic_takes_twice, 5)) is None
    equal = FEW.published(invented(FEW, lambda *_: 1.0, 6))
    assert equal is not None and "at 0 of 3 chunks, and is beaten at 0" in equal
    one_chunk = replace(FEW, chunks=(4,))
    single = one_chunk.published(invented(one_chunk, dynamic_takes_twice, 6))
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
    chased, updated = (_table(found, THREE, kernel) for kernel in ("chase", "update"))
    one, on_huge = "1.25 [1.00, 1.50]", f"{100 * share:.0f} %"
    assert rows(chased) == [
        ["table", r"4 KiB \[ns]", r"2 MiB \[ns]", "on huge", "ratio"],
        ["1 MiB", one, one, on_huge, "1.00-1.00 "], ["2 MiB", one, one, on_huge, "1.00-1.00 "],
        ["4 MiB", "5.00 [4.00, 6.00]", one, on_huge, "4.00-4.00*"],
    ]  # fmt: skip
    assert rows(updated)[3] == [
        "4 MiB", "2.00 [2.00, 2.00]", "2.00 [2.00, 2.00]", on_huge, "1.00-1.00 ",
    ]  # fmt: skip
    sizes = measured_sizes(found, THREE, "chase")
    assert [size.share for size in sizes] == [share] * 3
    assert divergence_bytes(sizes) == (4 * MIB if share == 1 else None)


def test_of_several_rounds_the_least_share_on_huge_pages_counts() -> None:
    found = invented(THREE, small_takes_more, 6)
    first, second, *others = found.runs  # of 1 MiB
    some = replace(second, record=second.record | {"bytes_on_huge_pages": MIB / 4})
    (one, *_) = measured_sizes(replace(found, runs=(first, some, *others)), THREE, "chase")
    assert one.share == 0.25


def test_nine_tenths_on_huge_pages_are_enough() -> None:
    for share, is_poor in ((0.9, False), (0.875, True)):
        said = sentences(invented(THREE, small_takes_more, 6, share=share))
        assert any("huge pages (1 MiB, 2 MiB, 4 MiB)" in one for one in said) is is_poor


def test_of_a_size_that_was_measured_on_huge_pages_only() -> None:
    found = invented(THREE, small_takes_more, 1)
    alone = replace(found, runs=(*found.runs[:2], found.runs[3]))
    assert rows(_table(alone, THREE, "chase"))[2] == [
        "2 MiB", "", "1.00", "100 %", "",
    ]  # fmt: skip
    assert "takes 0.00 ns longer" in " ".join(sentences(alone))


def test_too_few_rounds_of_some_sizes_leave_the_others() -> None:
    words = [
        _parting_words(sizes, "4 KiB", "2 MiB", "a load")
        for sizes in ([size(1, False), size(2, True)], [size(1, False), size(2, False)], [])
    ]
    assert words[0].startswith("from 2 bytes on the two part") and "2.00 times" in words[0]
    assert words[1].startswith("too few rounds") and words[2].startswith("no size")


def test_of_one_kind_of_pages_there_is_one_column() -> None:
    found = invented(THREE, small_takes_more, 6, node={"huge_page_mode": "never"})
    chased = _table(found, THREE, "chase")
    assert rows(chased)[0] == ["table", r"4 KiB \[ns]"] and len(rows(chased)) == 4
    assert [mode_sentence(of) is None for of in ("always", "never", None)] == [
        True, False, False,
    ]  # fmt: skip
    some = replace(found, runs=found.runs[:2])
    assert [row[0] for row in rows(_table(some, THREE, "chase"))[1:]] == [
        "1 MiB", "2 MiB",
    ]  # fmt: skip


def test_what_was_measured_on_one_kind_of_pages_only() -> None:
    found = invented(THREE, small_takes_more, 6)
    alone = replace(found, runs=found.runs[:3])
    assert rows(_table(alone, THREE, "chase"))[1:] == [
        ["1 MiB", "1.00", "1.00", "100 %", "1.00?"], ["2 MiB", "1.00", "", "", ""],
    ]  # fmt: skip


def size(table_bytes: int, parts: bool, low: float = 2.0) -> Size:
    interval = MedianInterval(low, low, low, 0.96 if parts else 0.5)
    return Size(table_bytes, None, None, 1.0, PairedComparison(interval, 6))


def test_the_two_part_from_where_all_larger_tables_do() -> None:
    assert divergence_bytes([]) is None
    assert divergence_bytes([size(1, True), size(2, True)]) == 1
    assert divergence_bytes([size(4, True), size(1, True), size(2, False)]) == 4
    assert divergence_bytes([size(1, True), size(2, False)]) is None


def told(reach_bytes: int, parting: int, largest: int = 16 * MIB, level: int = 2) -> str:
    """What is said of where the two part, beside what cpuid tells."""
    sizes = [size(of, of >= parting) for of in (MIB // 4, MIB, 4 * MIB, largest)]
    sizes = [replace(one, ratio=PairedComparison(MedianInterval(1, 1, 1, 0.96), 6))
             if one.table_bytes < parting else one for one in sizes]  # fmt: skip
    return _where_it_lies(sizes, Reach(4096, reach_bytes // 4096, level)) or ""


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
    lines = table_picture(invented(THREE, small_takes_more, 6, node=node), THREE)
    assert lines[0] == "        o 4 KiB pages, x 2 MiB pages"
    assert lines[1] == "5.0 ns |                    o"
    assert lines[11] == "   1.2 |    *       *       x"
    assert lines[12:16] == [
        "       +------------------------", "            1M      2M      4M",
        "                    ^", "                    L2",
    ]  # fmt: skip
    about = {"cpuid_18": [[0, 8 << 16 | 1, 64, 2 << 5 | 3]]}  # 2 MiB of small pages
    both = invented(THREE, small_takes_more, 6, node=node, about=about)
    assert table_picture(both, THREE)[15] == " " * 18 + "L2+TLB"
    last = [table_picture(one, THREE)[-1] for one in (invented(
        THREE, small_takes_more, 6, node=node), both)]  # fmt: skip
    assert ["TLB" in words for words in last] == [False, True]
    empty = invented(THREE, small_takes_more, 0)
    assert table_picture(empty, THREE) == []


@pytest.mark.parametrize(
    ("chased", "updated", "is_hidden"),
    [
        ([(1.0, 1.0), (3.0, 4.0)], [(9.0, 9.0), (1.0, 2.0)], True),
        ([(9.0, 9.0), (2.0, 4.0)], [(1.0, 1.0), (1.0, 2.0)], False),
        ([(3.0, 4.0)], [], False),
        ([], [(1.0, 2.0)], False),
        ([(3.0, 4.0)], [None], False),
        ([None], [(1.0, 2.0)], False),
    ],
)
def test_updates_hide_walks_where_their_ratio_is_less(
    chased: list[Any], updated: list[Any], is_hidden: bool
) -> None:
    def made(ratios: list[Any]) -> list[Size]:
        """The largest table comes last."""
        return [
            Size(MIB << at, None, None, 1.0,
                 of and PairedComparison(MedianInterval(of[0], of[0], of[1], 0.96), 6))
            for at, of in enumerate(ratios)
        ]  # fmt: skip

    assert (_hidden(made(chased), made(updated)) is not None) is is_hidden


def test_tables_and_notes_of_schedules_and_of_tables_stand_apart() -> None:
    scheduled = paragraphs(lambda c: show(invented(FEW, dynamic_takes_twice, 6), c))
    assert [head.split()[0] for head in scheduled] == [
        "03_scheduling", "threads", "threads", "Between",
    ]  # fmt: skip
    sized = paragraphs(lambda c: show(invented(THREE, small_takes_more, 6), c))
    assert [head.split()[0] for head in sized] == [
        "04_huge_pages", "table", "table", "o", "Dependent", "This",
    ]  # fmt: skip
    console = Console(width=80, record=True, file=io.StringIO())
    show(invented(FEW, dynamic_takes_twice, 6), console)
    assert "Ratio of times in one round" in console.export_text()


def test_columns_of_schedules_and_of_tables_are_two_spaces_apart() -> None:
    times, ratios = schedule_tables(invented(FEW, dynamic_takes_twice, 6))
    chased = _table(invented(THREE, small_takes_more, 6), THREE, "chase")
    for table, known in ((times, "rrnn"), (ratios, "rnnnn"), (chased, "bnnbn")):
        assert printed(table) == laid_out(table)
        assert kinds_of_columns(table) == known


def test_headings_say_what_was_run() -> None:
    _, schedules = heading(invented(FEW, lambda *_: 1.0, 1))
    assert schedules.startswith("invented: 2 cores; n = 100, libomp; GNU 12 -O2. ")
    _, tables = heading(invented(THREE, lambda *_: 1.0, 1))
    assert "one thread; best of 3 repetitions, 1,000 steps at once; GNU 12 -O3. " in tables
