"""Tables of streams cell by cell, and the values that sentences are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from stream_experiment import (
    _byte_note,
    _landmarks,
    _not_compact,
    _rate_table,
    _ratio_table,
    _share_table,
    equal_differences,
    may_be_caches,
    measured_thread_counts,
    observed_pages,
    page_pictures,
    placement_differences,
    rate,
    rate_pictures,
    share_words,
    touch_differences,
)
from support.explorations import (
    MIB,
    SIXTEEN,
    STREAMS,
    TWO,
    flat,
    made_up,
    on_two_cores,
)  # fmt: skip
from support.tables import kinds_of_columns, laid_out, paragraphs, printed, rows

from numalab.explore.experiment import Measurements, VirtualPages
from numalab.explore.explore_report import heading, sentences, show
from numalab.explore.intervals import MedianInterval


def slower_by_one(threads: int, placement: str, first_touch: str) -> float:
    """scatter twice compact, and initialised by one half of it, with two threads."""
    if threads == 1:
        return 8.0
    return 8.0 * (2 if placement == "scatter" else 1) / (2 if first_touch == "one" else 1)


def on_two(rounds: int = 6, **changes: Any) -> Measurements:
    return made_up(TWO | changes, slower_by_one, lambda *_: 1.0, rounds)


def test_rates_and_ratios_of_streams() -> None:
    found = on_two()
    assert measured_thread_counts(found) == [1, 2]
    eight, four, sixteen = "7.92 [7.84, 8.00]", "3.96 [3.92, 4.00]", "15.8 [15.7, 16.0]"
    table = _rate_table(found, "triad")
    assert table.title == "triad [GB/s]"
    assert rows(table) == [
        ["threads", "first touch", "default", "compact", "scatter"],
        ["1", "by all", eight, eight, eight], ["1", "by one", eight, eight, eight],
        ["2", "by all", eight, eight, sixteen], ["2", "by one", four, four, eight],
    ]  # fmt: skip
    one, two = "1.00-1.00 ", "2.00-2.00*"
    assert rows(_ratio_table(found))[1:] == [
        [threads, kernel, *cells]
        for threads, cells in (("1", [one] * 4), ("2", [two] * 4))
        for kernel in ("copy", "triad")
    ]
    some = replace(found, runs=found.runs[:1])
    assert rows(_rate_table(some, "copy"))[1:] == [["1", "by all", "8.00", "", ""]]
    assert rows(_ratio_table(some))[1:] == []
    assert rate(some, "copy", 2, "default", "all") is None
    placed = [found.configurations[sample.configuration].key for sample in found.runs]
    bound = [
        sample for sample, key in zip(found.runs, placed, strict=True)
        if key["threads"] == 2 and key["first_touch"] == "all" and key["placement"] != "default"
    ]  # fmt: skip
    part = replace(found, runs=tuple(bound))
    assert rows(_ratio_table(part))[1:] == [
        ["2", kernel, "2.00-2.00*", "", "", ""] for kernel in ("copy", "triad")
    ]
    assert rows(_rate_table(part, "copy"))[1:] == [["2", "by all", "", eight, sixteen]]
    shares = observed_pages(replace(part, node=part.node | {"numa_nodes": 2}))
    assert shares is not None
    assert rows(_share_table(shares))[1:] == [["2", "by all", "", "100 %", "100 %"]]


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


def test_the_widest_difference_between_equals_is_told() -> None:
    """With one thread scatter is 1.25 times compact, which default equals."""
    found = made_up(TWO, lambda t, p, f: 10.0 if p == "scatter" else 8.0, rounds=6)
    (control,) = (one for one in sentences(found) if one.startswith("The control"))
    assert "4 of these 10 differences" in control and "up to 25.0 %" in control


def test_one_core_has_no_placements_to_compare() -> None:
    one = made_up(TWO | {"cores": 1, "pus": 1}, flat, lambda *_: 1.0, 6)
    assert "use every core" not in " ".join(sentences(one))
    smt = made_up(TWO | {"cores": 1, "pus": 2}, flat, lambda *_: 1.0, 6)
    assert "use every core" not in " ".join(sentences(smt))


def test_landmarks_are_the_cores_of_a_numa_node_and_all() -> None:
    assert _landmarks(SIXTEEN, range(1, 17)) == [4, 8]
    assert _landmarks(SIXTEEN, [1, 8]) == [8]
    assert _landmarks({"cores": 2, "numa_nodes": 2}, [1, 2]) == [2]
    assert _landmarks({"cores": 1, "numa_nodes": 1}, [1]) == []


def half_by_one(threads: int, placement: str, first_touch: str) -> float:
    return 0.5 if first_touch == "one" and threads > 1 else 1.0


def test_local_pages_of_this_node_or_of_a_virtual_one() -> None:
    here = made_up(SIXTEEN | {"cores": 1, "pus": 2}, flat, half_by_one, 6)
    seen = observed_pages(here)
    assert seen is not None
    assert (seen.where, seen.is_virtual, seen.threads) == (here.node["name"], False, [1, 2])
    assert seen.share(2, "compact", "one") == MedianInterval(0.5, 0.5, 0.5, 0.96875)
    assert seen.share(3, "compact", "one") is None
    assert seen.runs_each == [6] * 12
    assert rows(_share_table(seen))[1:] == [
        ["1", "by all", *["100 %"] * 3], ["1", "by one", *["100 %"] * 3],
        ["2", "by all", *["100 %"] * 3], ["2", "by one", *["50 %"] * 3],
    ]  # fmt: skip
    there = observed_pages(on_two_cores())
    assert there is not None and (there.where, there.is_virtual) == ("virtual nhm", True)
    assert observed_pages(made_up(TWO, flat, rounds=1)) is None
    assert observed_pages(made_up(SIXTEEN, flat, lambda *_: None, 1)) is None
    some = made_up(SIXTEEN, flat, lambda t, *_: None if t > 1 else 1.0, 1)
    assert observed_pages(some) is not None
    assert share_words(MedianInterval(0.5, 0.25, 0.75, 0.96)) == "50 % [25, 75]"
    assert share_words(MedianInterval(0.5, 0.499, 0.501, 0.96)) == "50 %"


def test_troubles_of_a_virtual_machine_are_told() -> None:
    whole = on_two_cores()
    assert whole.virtual is not None
    part = replace(whole, virtual=replace(whole.virtual, trouble="it ended"))
    assert sentences(part)[-1] == "Not all of it could be seen: it ended"
    assert "could be seen" not in " ".join(sentences(whole))
    none = on_two_cores(virtual=VirtualPages({"name": "nhm"}, {}))
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
    seen = observed_pages(made_up(SIXTEEN | {"cores": 1, "pus": 2}, flat, half_by_one, 1))
    assert seen is not None
    pictures = page_pictures(seen)
    assert pictures[2] == "   1.0 |   dcs     dcs"
    assert pictures[6] == "   0.0 |" and len(pictures) == 19
    assert pictures[14] == "   0.5 |           dcs"
    assert rate_pictures(on_two(rounds=0)) == []


def test_headings_say_what_was_run() -> None:
    _, streams = heading(on_two(numa_nodes=1))
    assert ": 2 cores; 2 PUs, 1 NUMA node; libomp; three arrays of 64 MiB on" in streams
    assert "best of 5 repetitions; GNU 12 -O3. " in streams


def test_tables_and_pictures_stand_apart() -> None:
    found = on_two(numa_nodes=2)
    heads = paragraphs(lambda console: show(found, console))
    assert [" ".join(head.split()[:2]) for head in heads] == [
        "02_affinity STREAM", "copy [GB/s]", "triad [GB/s]", "scatter /", "copy [GB/s]",
        "copy [GB/s]", "Local pages", "local pages", "local pages", "With 2",
    ]  # fmt: skip


def test_columns_of_streams_are_two_spaces_apart() -> None:
    rates = _rate_table(on_two(), "copy")
    title, *lines = printed(rates)
    assert (title.rstrip(), lines) == ("copy [GB/s]", laid_out(rates))
    seen = observed_pages(made_up(SIXTEEN | {"cores": 1, "pus": 2}, flat, half_by_one, 6))
    assert seen is not None
    shares = _share_table(seen)
    assert printed(shares) == laid_out(shares)
    assert kinds_of_columns(rates) == kinds_of_columns(shares) == "rnnnn"
    assert kinds_of_columns(_ratio_table(on_two())) == "r-nnnn"


@pytest.mark.parametrize(
    ("pus", "is_told"),
    [
        ([0, 1], True), ([0, 2], False), ([0], False), ([], False), (None, False),
        # Four cores of a package are enough for so many, and no more.
        ([0, 2, 4, 1], True), ([0, 2, 4, 6, 1], False), ([0, 99], True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("placement", ["compact", "scatter"])
def test_threads_on_several_packages_are_not_compact(
    pus: list[int] | None, is_told: bool, placement: str
) -> None:
    node = SIXTEEN | {"pu_list": [{"pu": pu, "package": pu % 2} for pu in range(16)]}
    found = made_up(node, rounds=1)
    (at,) = (
        index for index, one in enumerate(found.configurations)
        if one.key == {"threads": 2, "placement": placement, "first_touch": "all"}
    )  # fmt: skip
    (sample,) = (one for one in found.runs if one.configuration == at)
    moved = replace(sample, record=sample.record | {"thread_pus": pus})
    some = replace(found, runs=(moved,))
    told = _not_compact(some)
    assert bool(told) is (is_told and placement == "compact")
    if told:
        assert f"{len(pus or ())} threads sat on PUs {', '.join(map(str, pus or ()))}," in told[0]
    nowhere = replace(some, node=SIXTEEN | {"pu_list": []})
    assert _not_compact(nowhere) == []


def test_without_a_sample_nothing_is_said_of_pages_or_bytes() -> None:
    none = made_up(rounds=0)
    assert "move_pages" not in " ".join(sentences(none))
    assert _byte_note(none, STREAMS) == []
