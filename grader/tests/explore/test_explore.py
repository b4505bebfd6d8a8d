"""Explorations: intervals, decisions, sentences, and tiny real runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from schedule_experiment import Schedules
from support.commands import SOON_LIMIT_S, environment, numalab_command, processes_of
from support.explorations import ABOUT, MIB, NODE, SCHEDULES, TABLES, invented
from support.lab_folders import write_grading

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.explore import (
    declaration,
    experiment,
    explore,
    explore_plot,
    explore_report,
    tlb,
    wording,
)
from numalab.explore.experiment import Exploration
from numalab.explore.intervals import MedianInterval, compare, coverage, median_interval
from numalab.harness.build import build_explorations
from numalab.harness.monitor import Finished
from numalab.installation import Installation
from numalab.terminal import make_console

# ---- intervals ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "rank", "covers"),
    [(6, 1, 0.96875), (5, 1, 0.9375), (2, 1, 0.5), (1, 1, 0.0), (8, 2, 0.9296875), (20, 6, 0.9586)],
)
def test_coverage_is_the_binomials(samples: int, rank: int, covers: float) -> None:
    assert coverage(samples, rank) == pytest.approx(covers, abs=5e-5)


@pytest.mark.parametrize("samples", [3, 5, 6, 9, 12, 20])
def test_intervals_hold_the_true_median_as_often_as_they_say(samples: int) -> None:
    """Of a skewed distribution, as times are: exponential, median log 2."""
    generator = random.Random(samples)
    tries, held = 4000, 0
    claimed = 0.0
    for _ in range(tries):
        interval = median_interval([generator.expovariate(1.0) for _ in range(samples)])
        held += interval.low <= 0.6931471805599453 <= interval.high
        claimed = interval.coverage
    assert held / tries == pytest.approx(claimed, abs=0.015)
    assert (claimed >= 0.95) == (samples >= 6)


def test_the_narrowest_interval_that_suffices_is_taken() -> None:
    found = median_interval([float(value) for value in range(20, 0, -1)])
    assert (found.low, found.median, found.high) == (6.0, 10.5, 15.0)
    assert coverage(20, 7) < 0.95 <= found.coverage
    assert median_interval([3.0, 1.0, 2.0]) == MedianInterval(2.0, 1.0, 3.0, 0.75)


def test_many_samples_are_no_matter() -> None:
    """Of as many as there are, in the time that sorting them takes: by the normal distribution
    the ends are 0.98 times the root of their number from the middle."""
    found = median_interval([float(value) for value in range(100_000)])
    assert found.median == 49_999.5
    reach = 0.98 * 100_000**0.5
    assert found.high - found.median == pytest.approx(reach, abs=1)
    assert found.median - found.low == pytest.approx(reach, abs=1)
    assert 0.95 <= found.coverage < 0.951


def test_equals_survive_no_more_often_than_the_interval_admits() -> None:
    generator = random.Random(1)
    tries, survived = 2000, 0
    for _ in range(tries):
        times = [
            {r: generator.lognormvariate(0, 0.3) for r in range(12)} for _ in range(2)
        ]  # fmt: skip
        comparison = compare(*times)
        assert comparison
        survived += comparison.survives == "yes"
    assert survived / tries == pytest.approx(1 - coverage(12, 3), abs=0.012)


@pytest.mark.parametrize(
    ("ratios", "survives"),
    [
        ([1.1] * 6, "yes"),
        ([0.9] * 6, "yes"),
        ([1.1] * 5, "too_few_rounds"),
        ([1.1, 1.2, 1.1, 1.3, 1.1, 0.99], "no"),
        ([1.0] * 6, "no"),
    ],
)
def test_a_difference_survives_where_1_is_outside(ratios: list[float], survives: str) -> None:
    comparison = compare(dict(enumerate(ratios)), dict.fromkeys(range(len(ratios)), 1.0))
    assert comparison
    assert comparison.survives == survives


def test_only_rounds_that_have_both_are_compared() -> None:
    comparison = compare({0: 2.0, 1: 9.0, 3: 4.0}, {0: 1.0, 2: 5.0, 3: 2.0})
    assert comparison
    assert (comparison.rounds, comparison.ratio.median) == (2, 2.0)
    assert compare({0: 1.0}, {1: 1.0}) is None


# ---- what is run -------------------------------------------------------------------


def test_thread_counts() -> None:
    assert [experiment.thread_counts(n) for n in (1, 2, 6, 8)] == [
        [1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]
    ]  # fmt: skip


def test_every_schedule_meets_every_chunk() -> None:
    chosen = SCHEDULES.configurations({"cores": 2})
    assert len({tuple(c.key.values()) for c in chosen}) == len(chosen) == 2 * 3 * 4
    by_schedule = {c.environment["OMP_SCHEDULE"] for c in chosen}
    assert {"static", "dynamic,16", "guided,1"} <= by_schedule
    assert {c.environment["OMP_NUM_THREADS"] for c in chosen} == {"1", "2"}


def test_chunks_that_leave_a_thread_without_rows_are_left_out() -> None:
    chosen = replace(SCHEDULES, n=16).configurations({"cores": 2})
    assert {c.key["chunk"] for c in chosen if c.key["threads"] == 2} == {0, 1, 4}
    assert {c.key["chunk"] for c in chosen if c.key["threads"] == 1} == {0, 1, 4, 16}


def test_table_sizes_reach_the_largest() -> None:
    assert TABLES.sizes == (65536, 262144, MIB, 4 * MIB, 16 * MIB)
    assert replace(TABLES, largest_bytes=2 * MIB).sizes == (65536, 262144, MIB, 2 * MIB)
    assert replace(TABLES, largest_bytes=65536).sizes == (65536,)


@pytest.mark.parametrize(("mode", "pages"), [("never", {"small"}), (None, {"small"}),
                                            ("madvise", {"small", "huge"})])  # fmt: skip
def test_huge_pages_only_where_the_mode_gives_them(mode: str | None, pages: set[str]) -> None:
    exploration = Exploration("04_huge_pages", "Title", TABLES)
    chosen = exploration.what.configurations(NODE | {"huge_page_mode": mode})
    assert {c.key["pages"] for c in chosen} == pages


def test_each_round_has_an_order_of_its_own() -> None:
    orders = explore.orders(24, 5, seed=3)
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert len({tuple(order) for order in orders}) == 5
    assert orders == explore.orders(24, 5, seed=3) != explore.orders(24, 5, seed=4)


KEY: dict[str, int | str] = {"threads": 2, "schedule": "static", "chunk": 4}
RECORD = {**KEY, "elapsed_s": 0.5}


def test_records_are_read() -> None:
    assert explore.parse_record(json.dumps(RECORD), KEY) == RECORD
    without = KEY | {"chunk": 0}  # libomp and libgomp report their own default
    assert explore.parse_record(json.dumps(RECORD), without) == RECORD


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("", "gave no record"),
        ("[]", "gave no record"),
        (json.dumps(KEY), "gave no record"),
        (json.dumps(RECORD | {"elapsed_s": 0}), "time of 0.0 s"),
        (json.dumps(RECORD | {"threads": 1}), "asked for threads 2, the program ran with 1"),
        (json.dumps(RECORD | {"chunk": 1}), "asked for chunk 4"),
        (json.dumps(RECORD | {"schedule": "auto"}), "asked for schedule static"),
        (json.dumps(KEY | {"times": []}), "gave no record"),
        (json.dumps(KEY | {"times": [{"elapsed_s": [0.1, 0.0]}]}), "time of 0.0 s"),
    ],
)
def test_records_of_something_else_are_refused(output: str, says: str) -> None:
    with pytest.raises(NumalabError, match=says):
        explore.parse_record(output, KEY)


class Ended:
    """A place where every program ends alike."""

    name = "nowhere"
    slowness = 1.0
    monitor_options: tuple[str, ...] = ()

    def __init__(self, code: int, complaint: str = "") -> None:
        self._finished = Finished(code, "out", complaint)

    def execute(self, command: Any, environment: Any) -> Finished:
        return self._finished


@pytest.mark.parametrize(
    ("place", "raises", "says"),
    [
        (Ended(1, "the product is wrong"), NumalabError, "the product is wrong"),
        (Ended(2), NumalabError, "exit code 2.*it said nothing"),
        (Ended(3, "no room"), UserError, "too little memory: no room. Use --quick"),
        (Ended(-9), UserError, "for lack of memory"),
        (Ended(-2), Interrupted, "^$"),
    ],
)
def test_how_programs_end(place: Ended, raises: type[Exception], says: str) -> None:
    with pytest.raises(raises, match=says):
        explore.run_program(Path("p"), [], {}, place)
    assert explore.run_program(Path("p"), [], {}, Ended(0)) == "out"


def test_memory_is_looked_at_before() -> None:
    meminfo = "MemTotal: 9999999 kB\nMemAvailable:    1048576 kB\n"
    assert explore.available_bytes(meminfo, None) == 1024 * MIB
    assert explore.available_bytes(meminfo, 5 * MIB) == 5 * MIB
    exploration = Exploration("04_huge_pages", "Title", TABLES)
    explore.check_memory(exploration, 64 * MIB)
    with pytest.raises(UserError, match=r"would take 20 MiB, and 24 MiB are free.*--quick"):
        explore.check_memory(exploration, 24 * MIB)


def test_sizes_can_be_chosen() -> None:
    matrices = Exploration("03_scheduling", "Title", SCHEDULES)
    tables = Exploration("04_huge_pages", "Title", TABLES)
    assert declaration.resized(matrices, 3, 7).what == replace(SCHEDULES, rounds=3, n=7)
    assert declaration.resized(tables, None, 2**20).what == replace(TABLES, largest_bytes=8 * MIB)
    for n in (4096, 2**20 + 1):
        with pytest.raises(UserError, match="a power of two"):
            declaration.resized(tables, None, n)
    with pytest.raises(UserError, match="rows at most"):
        declaration.resized(matrices, None, 2**21)


def test_declarations_of_the_kit_can_be_read(installation: Installation) -> None:
    for folder in (
        path.parents[1] for path in installation.root.glob("labs/*/grading/explore.toml")
    ):
        default = declaration.load_exploration(folder)
        quick = declaration.load_exploration(folder, quick=True)
        own = (folder / "grading/explore.c").is_file()
        assert own == isinstance(default.what, Schedules)
        assert (installation.exploration(folder.name) == installation.probe) == (not own)
        assert quick.what.needed_bytes < default.what.needed_bytes
        for what in (default.what, quick.what):
            assert median_interval([0.0] * what.rounds).is_wide_enough


DECLARED = """\
kind = "schedules"
title = "t"
schedules = ["static"]
chunks = [0, 1]
[default]
n = 5
rounds = 7
[quick]
n = 6
rounds = 6
"""


def test_a_declaration_is_read(tmp_path: Path) -> None:
    write_grading(tmp_path, DECLARED, "explore.toml")
    assert declaration.load_exploration(tmp_path, quick=True).what == Schedules(
        ("static",), (0, 1), {}, n=6, rounds=6
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind = ", "explore.toml:1: this is not TOML"),
        (
            'kind = "other"\ntitle = "t"\n[default]\n[quick]',
            "'other'. It can be: schedules, streams, table_sizes",
        ),
        ('kind = "schedules"\ntitle = "t"\n[default]\n[quick]', "has no key 'schedules'"),
        ('kind = "schedules"\n[default]\n[quick]', "'title'"),
        (
            'kind = "schedules"\ntitle = "t"\next = 1\n[default]\n[quick]',
            ":3: unknown key 'ext'",
        ),
        (DECLARED.replace("n = 5", "n = true"), r":6: 'n' is true; write a whole number"),
        (DECLARED.replace("n = 6", "m = 6"), r":9: unknown key 'm' in \[quick\]"),
        (DECLARED.replace("[quick]", "[quik]"), r":8: unknown key 'quik'. Did you mean 'quick'"),
    ],
)
def test_a_bad_declaration_is_told(tmp_path: Path, text: str, says: str) -> None:
    write_grading(tmp_path, text, "explore.toml")
    with pytest.raises(NumalabError, match=says):
        declaration.load_exploration(tmp_path)


# ---- the TLB --------------------------------------------------------------------------


def intel(pages: int, ways: int, sets: int, kind: int, level: int) -> list[int]:
    """Registers of a sub-leaf of cpuid 0x18. pages: 1 for 4 KiB, 2 for 2 MiB, 3 for both."""
    return [0, ways << 16 | pages, sets, level << 5 | kind]


def test_intels_tlb_is_read() -> None:
    data, instructions, unified = 1, 2, 3
    leaves = [
        intel(1, 16, 4, data, 1), intel(2, 8, 4, data, 1), intel(3, 8, 256, unified, 2),
        intel(3, 64, 1024, instructions, 2), [0, 0, 0, 0],
    ]  # fmt: skip
    about = ABOUT | {"cpuid_18": leaves}
    assert tlb.tlb_reaches(about, 4096) == [tlb.Reach(4096, 64, 1), tlb.Reach(4096, 2048, 2)]
    reach = tlb.tlb_reach(about, 2 * MIB)
    assert reach
    assert reach.reach_bytes == 4096 * MIB
    first_level_only = ABOUT | {"cpuid_18": leaves[:1]}
    assert tlb.tlb_reach(first_level_only, 4096) == tlb.Reach(4096, 64, 1)
    assert tlb.tlb_reach(first_level_only, 2 * MIB) is None


def test_amds_tlb_is_read() -> None:
    huge, small = 0x5 << 28 | 1024 << 16, 0x6 << 28 | 2048 << 16 | 0x4200
    first = [0xFF << 24 | 48 << 16, 0xFF << 24 | 64 << 16, 0, 0]
    about = ABOUT | {"cpuid_80000005": first, "cpuid_80000006": [huge, small, 0, 0]}
    assert tlb.tlb_reaches(about, 4096) == [tlb.Reach(4096, 64, 1), tlb.Reach(4096, 2048, 2)]
    assert tlb.tlb_reaches(about, 2 * MIB) == [
        tlb.Reach(2 * MIB, 48, 1), tlb.Reach(2 * MIB, 1024, 2)
    ]  # fmt: skip
    assert tlb.tlb_reach(about, 65536) is None
    assert tlb.tlb_reach(ABOUT | {"cpuid_80000006": [0, 0, 0, 0]}, 4096) is None


def test_separate_tlbs_are_told_apart() -> None:
    """As on Nehalem: the second level holds small pages only."""
    leaves = [intel(1, 4, 16, 1, 1), intel(2, 4, 8, 1, 1), intel(1, 4, 128, 3, 2)]
    about = ABOUT | {"cpuid_18": leaves}
    assert tlb.tlb_reach(about, 4096) == tlb.Reach(4096, 512, 2)
    assert tlb.tlb_reach(about, 2 * MIB) == tlb.Reach(2 * MIB, 32, 1)


def test_what_a_walk_reads_is_computed() -> None:
    assert tlb.walked_bytes(1 << 30, 4096) == 2 * MIB
    assert tlb.walked_bytes(1 << 30, 2 * MIB) == 4096
    assert tlb.walked_bytes(1, 4096) == 8


def test_a_silent_processor_is_not_guessed_at() -> None:
    assert tlb.tlb_reach(ABOUT, 4096) is None
    assert tlb.tlb_reach(ABOUT | {"cpuid_18": [[0, 0, 0, 0]]}, 4096) is None


# ---- what is said ------------------------------------------------------------------------


def noisy(key: dict[str, int | str], number: int) -> float:
    return 1e-3 * (1 + 0.01 * (hash((*key.values(), number)) % 7))


def shown(found: experiment.Measurements, capsys: pytest.CaptureFixture[str]) -> str:
    explore_report.show(found, make_console())
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    return " ".join(out.split())


def dynamic_is_slow_on_two(key: dict[str, int | str], number: int) -> float:
    slow = key["threads"] == 2 and key["schedule"] == "dynamic"
    return (1.5e-3 if slow else 1e-3) * (1 + 0.01 * (number % 2))


def test_what_survives_between_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(SCHEDULES, dynamic_is_slow_on_two), capsys)
    # static / dynamic and dynamic / guided, at four chunks
    assert "Between schedules 8 of 24 differences survive repetition" in out
    assert "chance alone would let about 0.9 through" in out
    assert "static took 0.67 times as long as dynamic (0.67 to 0.67)" in out
    assert "Between chunks of one schedule 0 of 32 differences survive" in out
    assert "0 of these 4 differences between equals survive" in out
    assert "with 2 threads, it does so beyond the noise at 0 of 4 chunks, and is beaten at 4" in out
    assert "GNU 12 -O2" in out
    assert "not quiet" not in out


def test_too_few_rounds_decide_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(SCHEDULES, dynamic_is_slow_on_two, rounds=5), capsys)
    assert "Too few rounds to say anything about schedules" in out
    assert "with 93.8 %, no more (6 rounds reach 95 %)" in out
    assert "*" not in out.split("Ratio of times")[0]
    assert "0.67?" in out
    assert "SVP-BLOG" not in out


def test_one_round_has_no_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(SCHEDULES, dynamic_is_slow_on_two, rounds=1), capsys)
    assert "there is no interval" in out
    assert "[1.00" not in out


def test_a_busy_node_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(SCHEDULES, dynamic_is_slow_on_two, node={"load_1min": 3.0}), capsys)
    assert "not quiet (load 3.0" in out


def parts_at_4_mib(key: dict[str, int | str], number: int) -> float:
    slow = int(key["bytes"]) >= 4 * MIB and key["pages"] == "small"
    return (2e-6 if slow else 1e-6) * (1 + 0.01 * (number % 2))


def test_where_the_two_part(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(TABLES, parts_at_4_mib), capsys)
    assert "Dependent loads: from 4 MiB on the two part: a load on 4 KiB pages takes more" in out
    assert "At 16 MiB, the largest table, it is 2.00 times (2.00 to 2.00)" in out
    assert "There a load takes 1.0" in out
    assert "32 KiB of page table, one entry per page, and those of huge pages in 64 bytes" in out
    assert "First touch of 16 MiB, page by page in random order: 250 ms of CPU time and 512" in out
    assert "not wait for one another" not in out  # both kernels show the same
    assert "does not tell the size of its TLB" in out
    assert "100 %" in out


def test_a_bump_in_the_middle_is_no_parting(capsys: pytest.CaptureFixture[str]) -> None:
    def bump(key: dict[str, int | str], number: int) -> float:
        return 2e-6 if key == {"bytes": 4 * MIB, "pages": "small"} else 1e-6

    assert "the two do not part" in shown(invented(TABLES, bump), capsys)


def test_tables_without_huge_pages_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(TABLES, parts_at_4_mib, share=0.5), capsys)
    assert "Not all tables got huge pages (64 KiB, 256 KiB, 1 MiB, 4 MiB, 16 MiB)" in out
    assert "the two do not part" in out


def test_switched_off_huge_pages_leave_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(TABLES, parts_at_4_mib, node={"huge_page_mode": "never"}), capsys)
    assert "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled" in out
    assert "4 KiB [ns]" in out
    assert "2 MiB [ns]" not in out
    assert "the two part" not in out
    assert "x 2 MiB pages" not in out


def test_what_independent_updates_hide_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(invented(TABLES, parts_at_4_mib, update_s=lambda *_: 1e-6), capsys)
    assert "Independent updates: the two do not part" in out
    assert "several walks under way at once" in out


def test_the_caches_knee_is_marked_apart_from_the_tlbs(capsys: pytest.CaptureFixture[str]) -> None:
    node = {"caches": [{"level": "L2", "count": 2, "bytes_each": MIB // 16},
                       {"level": "L1i", "count": 2, "bytes_each": MIB // 32}]}  # fmt: skip
    about = {"cpuid_18": [intel(3, 8, 32, 3, 2)]}
    explore_report.show(invented(TABLES, parts_at_4_mib, node=node, about=about), make_console())
    lines = capsys.readouterr().out.splitlines()
    assert "No TLB: each cache" in " ".join(lines)
    (axis,) = (
        i for i, line in enumerate(lines) if line.split() == ["64K", "256K", "1M", "4M", "16M"]
    )
    marks = lines[axis + 2]
    assert marks.split() == ["TLB", "L2"]
    assert abs(marks.index("TLB") - lines[axis].index("1M")) <= 2
    assert abs(marks.index("L2") - lines[axis].index("4M")) <= 2


def test_a_known_reach_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    about = {"cpuid_18": [intel(3, 8, 256, 3, 2)]}
    out = shown(invented(TABLES, parts_at_4_mib, about=about), capsys)
    assert "level 2 has 2,048 entries for 4 KiB pages: it reaches 8 MiB" in out
    assert "level 2 has 2,048 entries for 2 MiB pages: it reaches 4 GiB" in out


@pytest.mark.parametrize(
    ("entries", "parting", "asks"),
    [
        (256, 4 * MIB, False),  # a reach of 1 MiB: the next size but one
        (64, 4 * MIB, True),  # 256 KiB
        (64, 64 * MIB, True),  # not at all
        (2048, 64 * MIB, False),  # no table is far above 8 MiB
    ],
)
def test_a_parting_far_above_the_reach_is_explained(
    capsys: pytest.CaptureFixture[str], entries: int, parting: int, asks: bool
) -> None:
    def parts(key: dict[str, int | str], number: int) -> float:
        slow = int(key["bytes"]) >= parting and key["pages"] == "small"
        return (2e-6 if slow else 1e-6) * (1 + 0.01 * (number % 2))

    about = {"cpuid_18": [intel(3, 8, entries // 8, 3, 2)]}
    out = " ".join(shown(invented(TABLES, parts, about=about), capsys).split())
    assert ("Why not here?" in out) == asks
    assert ("By cpuid small pages reach 256 KiB" in out) == asks
    assert "Why not here?" not in shown(invented(TABLES, parts, rounds=3, about=about), capsys)
    assert "Why not here?" not in shown(invented(TABLES, parts), capsys)  # no cpuid


def test_a_start_that_was_interrupted_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for what in (SCHEDULES, TABLES):
        found = invented(what, noisy, rounds=1)
        for kept in (1, 3, 5):
            shown(replace(found, runs=found.runs[:kept], interrupted=True), capsys)


def test_ratios_near_1_keep_their_side() -> None:
    words = [wording.ratio_words(ratio) for ratio in (1, 0.998, 1.004, 0.99, 1.2345)]
    assert words == ["1.00", "0.998", "1.004", "0.99", "1.23"]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_plots_of_whole_and_interrupted_runs(tmp_path: Path, suffix: str) -> None:
    for what, time_s in ((SCHEDULES, dynamic_is_slow_on_two), (TABLES, parts_at_4_mib)):
        found = invented(what, time_s)
        for name, one in (("all", found), ("some", replace(found, runs=found.runs[:3]))):
            path = tmp_path / f"{name}{suffix}"
            explore_plot.draw(one, path, tmp_path / "matplotlib")
            head = path.read_bytes()[:5000]
            assert head.startswith(b"\x89PNG") if suffix == ".png" else b"<svg" in head
    assert not list(tmp_path.glob(".*"))


def test_plots_name_axes_and_units(tmp_path: Path) -> None:
    path = tmp_path / "all.svg"
    explore_plot.draw(invented(SCHEDULES, dynamic_is_slow_on_two), path, tmp_path / "m")
    text = path.read_text()
    for words in ("threads", "time [ms]", "over static,", "chunk 16", "guided", "96.1 % interval"):
        assert words in text, words
    explore_plot.draw(invented(TABLES, parts_at_4_mib), path, tmp_path / "m")
    text = path.read_text()
    for words in ("size of the table", "time of a step [ns]", "2 MiB pages",
                  "part from 4 MiB on", "dependent: a load", "independent: many"):  # fmt: skip
        assert words in text, words


def test_matplotlib_waits_until_it_is_needed(installation: Installation) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, numalab.commands.root\n"
         "import numalab.explore.explore, numalab.explore.explore_plot\n"
         "sys.exit('matplotlib' in sys.modules)"],
        check=False,
    )  # fmt: skip
    assert done.returncode == 0


# ---- for real -----------------------------------------------------------------------------


@pytest.mark.builds
def test_a_tiny_run_of_schedules(installation: Installation, tmp_path: Path) -> None:
    path, plot = tmp_path / "all.json", tmp_path / "all.png"
    done = numalab_command(
        installation, "explore", "03", "--n", "40", "--rounds", "2",
        "--json", str(path), "--plot", str(plot),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Too few rounds" in done.out
    assert max(map(len, done.out.splitlines())) <= 80 + len(str(plot))
    assert plot.read_bytes().startswith(b"\x89PNG")
    data = json.loads(path.read_text())
    assert data["interrupted"] is False
    assert (data["lab"], data["rounds"], data["schema"]) == ("03_scheduling", 2, 1)
    chosen = data["configurations"]
    assert len(data["samples"]) == 2 * len(chosen)
    for number in range(2):
        this_round = [s for s in data["samples"] if s["round"] == number]
        assert sorted(s["configuration"] for s in this_round) == list(range(len(chosen)))
        assert [s["order"] for s in this_round] == list(range(len(chosen)))
    assert explore.orders(len(chosen), 2, data["seed"]) == [
        [s["configuration"] for s in data["samples"] if s["round"] == number] for number in range(2)
    ]
    for sample in data["samples"]:
        asked = chosen[sample["configuration"]]
        assert sample["n"] == 40
        assert sample["elapsed_s"] > 0
        assert (sample["schedule"], sample["threads"]) == (asked["schedule"], asked["threads"])
    assert sorted(tmp_path.iterdir()) == [path, plot]


@pytest.mark.builds
def test_a_tiny_run_of_tables(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    done = numalab_command(
        installation, "explore", "huge_pages", "--quick", "--n", "1048576", "--rounds", "1",
        "--json", str(path),
    )  # fmt: skip
    assert done.code == 0, done.err
    plot = installation.build / "explore" / "04_huge_pages.png"
    assert plot.is_file()
    assert str(plot.relative_to(installation.root)) in done.out
    data = json.loads(path.read_text())
    sizes = {c["bytes"] for c in data["configurations"]}
    assert (min(sizes), max(sizes)) == (65536, 8 * MIB)
    assert {sample["bytes"] for sample in data["samples"]} == sizes
    for sample in data["samples"]:
        assert sample["first_touch_cpu_s"] > 0
        assert [times["kernel"] for times in sample["times"]] == ["update", "chase"]
        assert all(time_s > 0 for times in sample["times"] for time_s in times["elapsed_s"])
        assert sample["seed"] == sample["round"]
        if sample["pages"] == "small":
            assert sample["bytes_on_huge_pages"] == 0
            assert sample["page_faults"] >= sample["bytes"] // 4096
    if data["node"]["huge_page_mode"] == "never":
        assert "echo madvise" in done.out
    else:
        assert {c["pages"] for c in data["configurations"]} == {"small", "huge"}


MISUSES = (
    ["walk", "bytes=65536"], ["chase,copy", "bytes=65536"], ["chase,chase", "bytes=65536"],
    ["chase", "bytes=65537"], ["chase", "bytes=4096"], ["chase", "bytes=65536", "pages=large"],
    ["chase", "bytes=65536", "steps=0"], ["chase", "bytes=65536", "first_touch=all"],
    ["copy", "bytes=65536", "steps=9"], ["copy", "bytes=65536", "repetitions=65"],
    ["copy", "bytes"], ["copy"],
)  # fmt: skip


def compiled(installation: Installation, lab: str, old: str, new: str, folder: Path) -> Path:
    """The lab's exploration with a mistake."""
    source = (installation.grading_folder(lab) / "explore.c").read_text()
    assert source.count(old) == 1
    (folder / "explore.c").write_text(source.replace(old, new))
    program = folder / "explore"
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-fopenmp", folder / "explore.c", "-o", program, "-lm"],
        check=True,
    )  # fmt: skip
    return program


@pytest.mark.builds
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [("k < n; k++", "k + 1 < n; k++", "7"), ("size_t i = 0; i < n", "size_t i = 1; i < n", "nan")],
    ids=["a_product_short", "a_row_left_out"],
)
def test_a_wrong_product_fails(
    installation: Installation, tmp_path: Path, old: str, new: str, found: str
) -> None:
    program = compiled(installation, "03_scheduling", old, new, tmp_path)
    says = rf"exit code 1\): the product is wrong: C\[0\]\[0\] is {found}, not 8"
    with pytest.raises(NumalabError, match=says):
        explore.run_program(program, ["8"], os.environ)


@pytest.mark.builds
def test_the_programs_pass_as_they_are(installation: Installation, tmp_path: Path) -> None:
    """The control of the tests around: it is not their compiling that fails."""
    program = compiled(
        installation, "03_scheduling", "#include <math.h>", "#include <math.h>\n", tmp_path
    )
    assert json.loads(explore.run_program(program, ["8"], os.environ))["n"] == 8


@pytest.mark.builds
@pytest.mark.parametrize(
    ("lab", "arguments"),
    [
        ("03_scheduling", []), ("03_scheduling", ["0"]), ("03_scheduling", ["8x"]),
        ("03_scheduling", ["-1"]), *(("04_huge_pages", [*words]) for words in MISUSES),
    ],
)  # fmt: skip
def test_the_programs_refuse_nonsense(
    installation: Installation, lab: str, arguments: list[str]
) -> None:
    build_explorations(installation, [installation.exploration(lab).name])
    done = subprocess.run(
        [installation.exploration(lab), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert done.stdout == ""


@pytest.mark.builds
@pytest.mark.parametrize("whole_group", [False, True], ids=["the_command", "as_a_terminal_does"])
def test_an_interrupt_shows_what_there_is(
    installation: Installation, tmp_path: Path, whole_group: bool
) -> None:
    path = tmp_path / "some.json"
    process = subprocess.Popen(
        [str(installation.root / "numalab"), "explore", "03", "--n", "60", "--rounds", "9999",
         "--json", str(path), "--plot", str(tmp_path / "some.png")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(installation),
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    for line in process.stderr:
        if "measuring" in line:
            break
    seen: set[int] = set()
    deadline = time.monotonic() + SOON_LIMIT_S
    while len(seen) < 30:  # some rounds' beginnings: there is something to show
        assert time.monotonic() < deadline
        seen |= processes_of(installation.exploration("03_scheduling"))
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 130
    assert "interrupted; what was measured so far is above" in err
    assert "Traceback" not in err
    assert "static [ms]" in out
    data = json.loads(path.read_text())
    assert data["interrupted"] is True
    assert 0 < len(data["samples"]) < 9999 * len(data["configurations"])
    assert (tmp_path / "some.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("99",), "there is no lab '99'"),
        (("03_schedulin",), "Did you mean 03_scheduling?"),
        (("01",), "lab 01_first_touch has no exploration"),
        (("03", "--n", "0"), "0 is not in the range"),
        pytest.param(("03", "--n", "1000000"), "MiB are free", marks=pytest.mark.builds),
        (("04", "--n", "1000000"), "a power of two"),
        (("02", "--n", "100"), "8192 8-byte elements"),
        (("03", "--rounds", "0"), "0 is not in the range"),
        (("03", "--plot", "plot.bmp"), "has to end with .png, .svg, .pdf"),
        (("03", "--plot", "nowhere/plot.png"), "there is no folder nowhere"),
        (("03", "--json", "nowhere/all.json"), "there is no folder nowhere"),
    ],
)
def test_wrong_use_is_told(
    installation: Installation, arguments: tuple[str, ...], says: str
) -> None:
    done = numalab_command(installation, "explore", *arguments)
    assert done.code == 2
    assert says in " ".join(done.err.split())


@pytest.mark.builds
def test_nothing_is_timed_on_a_login_node(installation: Installation, tmp_path: Path) -> None:
    sinfo = tmp_path / "sinfo"
    sinfo.write_text("#!/bin/sh\n")
    sinfo.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = numalab_command(installation, "explore", "03", "--n", "20", "--rounds", "1", PATH=path)
    assert done.code == 2
    assert "srun --exclusive -N1 ./numalab explore 03_scheduling" in done.said
    forced = numalab_command(
        installation, "explore", "03", "--n", "20", "--rounds", "1", "--force", PATH=path
    )
    assert forced.code == 0


def test_a_compiler_that_is_gone_is_told(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    installation.build.mkdir(parents=True)
    (installation.build / "build.ninja").write_text("")
    (installation.build / "CMakeCache.txt").write_text(
        f"CMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\nCMAKE_CACHEFILE_DIR:INTERNAL={installation.build}\n"
        "CMAKE_C_COMPILER:FILEPATH=/nowhere/bin/gcc\n"
    )
    with pytest.raises(NumalabError, match=r"compiler /nowhere/bin/gcc.*numalab setup"):
        build_explorations(installation, ["x-explore"])


def test_help_has_examples(installation: Installation) -> None:
    done = numalab_command(installation, "explore", "--help")
    assert done.code == 0
    assert "./numalab explore 02" in done.out
    assert "./numalab explore 03" in done.out
    assert "./numalab explore 04 --quick" in done.out
