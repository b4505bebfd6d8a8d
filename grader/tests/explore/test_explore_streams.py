"""The exploration of streams: what is run, said and drawn, and where pages are looked at."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stream_experiment import (
    ALL_THREADS,
    MAIN_THREAD,
    Streams,
    observed_pages,
    stream_thread_counts,
)
from support.commands import numalab_command
from support.explorations import (
    LAB,
    MADE_UP,
    MIB,
    SIXTEEN,
    STREAMS,
    TITLE,
    TWO,
    VIRTUAL,
    flat,
    made_up,
    on_two_cores,
)

from numalab.errors import Interrupted, NothingToDraw, UserError
from numalab.explore import declaration, experiment, explore, explore_plot, explore_report
from numalab.explore.experiment import COMPACT, DEFAULT, SCATTER, Exploration, VirtualMachine
from numalab.explore.text_plot import MOST_COLUMNS, Axis, PlotSeries, text_plot
from numalab.harness.build import build_explorations
from numalab.harness.monitor import Finished
from numalab.installation import Installation
from numalab.learning.exploring import Explored, measure
from numalab.terminal import make_console

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "slides"))

from figures.explorations import read_found


def shown(found: experiment.Measurements, capsys: pytest.CaptureFixture[str]) -> list[str]:
    explore_report.show(found, make_console())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= MOST_COLUMNS
    return lines


def said(found: experiment.Measurements, capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(" ".join(shown(found, capsys)).split())


# ---- what is run -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "counts"),
    [
        ((1, 1, 1), [1]),
        ((2, 2, 1), [1, 2]),
        ((16, 8, 2), list(range(1, 17))),
        ((20, 20, 2), [1, 2, 3, 4, 6, 8, 10, 12, 16, 20]),
        ((80, 40, 4), [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 40, 48, 64, 80]),
    ],
)
def test_each_number_of_threads_up_to_16_and_then_fewer(
    machine: tuple[int, int, int], counts: list[int]
) -> None:
    assert stream_thread_counts(*machine) == counts


def test_every_placement_meets_every_first_touch() -> None:
    chosen = STREAMS.configurations(TWO)
    assert len({tuple(one.key.values()) for one in chosen}) == len(chosen) == 2 * 3 * 2
    words = {
        str(one.key["placement"]): {
            name: value for name, value in one.environment.items()
            if name not in ("OMP_NUM_THREADS", "OMP_DYNAMIC")
        }
        for one in chosen
    }  # fmt: skip
    assert words == {
        DEFAULT: {},
        COMPACT: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"},
        SCATTER: {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"},
    }
    assert {f"first_touch={touch}" for touch in (ALL_THREADS, MAIN_THREAD)} == {
        one.arguments[3] for one in chosen
    }


def test_three_arrays_are_counted_and_can_be_chosen() -> None:
    exploration = Exploration(LAB, TITLE, STREAMS)
    assert exploration.what.needed_bytes >= 3 * STREAMS.array_bytes
    with pytest.raises(UserError, match=r"the three arrays would take 196 MiB, and 200 MiB"):
        explore.check_memory(exploration, 200 * MIB)
    chosen = declaration.resized(exploration, 3, 10_000).what
    assert chosen == replace(STREAMS, rounds=3, array_bytes=80_000)
    with pytest.raises(UserError, match="8192 8-byte elements"):
        declaration.resized(exploration, None, 8191)


def test_a_placement_that_the_record_does_not_name_is_no_trouble() -> None:
    key: dict[str, int | str] = {"threads": 1, "placement": "compact", "first_touch": MAIN_THREAD}
    record = {"threads": 1, "first_touch": MAIN_THREAD, "times": [{"elapsed_s": [0.1]}]}
    assert explore.parse_record(json.dumps(record), key) == record


# ---- what is said ------------------------------------------------------------------------


def test_what_survives_between_placements(capsys: pytest.CaptureFixture[str]) -> None:
    """Four threads: compact has one package's memory, scatter both."""
    out = said(made_up(), capsys)
    assert f"{MADE_UP}: 8 cores; 16 PUs, 2 NUMA nodes" in out
    assert "With 4 threads, copy: scatter moved 1.60 times compact's bytes per second (1." in out
    assert "the difference survives repetition" in out
    assert "With 8 threads, copy: scatter moved 1.00 times compact's bytes per second" in out
    assert "With 8 threads or more compact and scatter both use every core" in out
    assert (
        "under scatter arrays initialised by all moved 2.00 times the bytes per second of those "
        "initialised by one" in out
    )
    assert "Local pages on made up (no measurement) with 4 threads: initialised by all" in out
    assert "default 100 %, compact 100 % and scatter 100 %; by one" in out
    assert "compact 100 % and scatter 50 %." in out
    assert "virtual" not in out
    assert "Another machine" not in out


def test_what_is_no_difference_is_called_none(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(on_two_cores(), capsys)
    assert out.count("no difference survives") == 4  # two kernels, placement and first touch
    assert "the difference survives" not in out
    assert "Between placements 0 of 12 differences survive" in out
    assert "Between first touches 0 of 6 differences survive" in out
    assert "0 of these 10 differences between equals survive" in out
    assert "the last-level caches" not in out


def test_what_is_counted_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(made_up(), capsys)
    assert (
        "(write-allocate), which some processors skip. In arrays: copy 3 and triad 4; STREAM "
        "counts copy 2 and triad 3" in out
    )


def test_too_few_rounds_decide_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(made_up(rounds=3), capsys)
    assert "too few rounds to decide" in out
    assert "survives repetition." not in out
    assert "The control" not in out


def test_arrays_that_a_cache_could_hold_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = on_two_cores(node=TWO | {"last_level_cache_bytes": 480 * MIB})
    assert "less than 4 times the last-level caches" in said(found, capsys)


def test_pages_of_another_machine_are_apart_from_the_rates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(on_two_cores(), capsys)
    text = "\n".join(lines)
    heading = next(i for i, line in enumerate(lines) if line.startswith("Local pages on virtual"))
    assert "no time is" in " ".join(lines[heading : heading + 3])
    above, below = lines[:heading], lines[heading:]
    assert any("copy [GB/s] over threads, here" in line for line in above)
    assert not any("GB/s]" in line for line in below)
    assert not any("local pages over threads" in line for line in above)
    assert "local pages over threads, virtual nhm" in text
    assert "here has one NUMA node, as far as this system tells: each page is local" in " ".join(
        text.split()
    )


def test_why_there_are_no_pages_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    trouble = experiment.VirtualPages({"name": "nhm"}, {}, trouble="there is no QEMU")
    out = said(on_two_cores(virtual=trouble), capsys)
    assert "Local pages of a virtual machine are not shown: there is no QEMU" in out
    assert "copy [GB/s]" in out
    silent = made_up(share=lambda *_: None)
    assert "does not tell where pages live" in said(silent, capsys)
    assert observed_pages(silent) is None


def test_a_start_that_was_interrupted_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = made_up(rounds=1)
    for kept in (1, 3, 5):
        shown(replace(found, runs=found.runs[:kept], interrupted=True), capsys)


def test_an_exploration_is_read_back() -> None:
    for found in (made_up(), on_two_cores(), made_up(TWO, flat)):
        data = found.json_data()
        again = read_found(json.loads(json.dumps(data)))
        assert again.json_data() == data
        assert again.virtual == (
            found.virtual
            and replace(
                found.virtual,
                node={k: v for k, v in found.virtual.node.items() if k != "pu_list"},
            )
        )


# ---- what is drawn -----------------------------------------------------------------------


def test_curves_stand_beside_each_other_on_a_linear_axis() -> None:
    series = [PlotSeries(mark, mark, {0: 1.0, 1: 0.0}) for mark in "dcs"]
    lines = text_plot(series, ["1", "2"], {}, Axis("", 5, top=1.0))
    assert lines[1].startswith("   1.0 |")
    assert "dcs" in lines[1]
    assert lines[3].startswith("   0.5 |")
    assert lines[5].startswith("   0.0 |")
    assert lines[5].index("dcs") == lines[1].index("dcs") + 8
    sixteen = [PlotSeries(mark, mark, dict.fromkeys(range(16), 0.5)) for mark in "dcs"]
    plotted = text_plot(sixteen, [str(n) for n in range(1, 17)], {}, Axis("", 5, top=1.0))
    assert plotted[3].count("dcs") == 16
    assert max(map(len, plotted)) <= MOST_COLUMNS


def text_of(path: Path) -> str:
    return path.read_text().replace("\u2212", "-")


def test_with_several_numa_nodes_one_picture_has_both(tmp_path: Path) -> None:
    path = tmp_path / "all.svg"
    assert explore_plot.draw(made_up(), path, tmp_path / "m") == [path]
    text = text_of(path)
    for words in (MADE_UP, "2 NUMA nodes", "copy [GB/s]", "triad [GB/s]", "local pages", "threads",
                  "first touch by all", "first touch by one", "default", "compact", "scatter",
                  "96.1 % interval"):  # fmt: skip
        assert words in text, words


def test_pages_of_another_machine_are_a_picture_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "all.svg"
    pages = tmp_path / "all_local_pages.svg"
    assert explore_plot.draw(on_two_cores(), path, tmp_path / "m") == [path, pages]
    rates, where = text_of(path), text_of(pages)
    assert "here, 2 cores, one NUMA node (all pages are local)" in rates
    assert "local pages" not in rates
    assert "Local pages on virtual nhm: 2 NUMA nodes, 16 PUs" in where
    assert "no time is" in where
    assert "GB/s" not in where


@pytest.mark.parametrize("kept", [1, 3])
def test_pictures_of_interrupted_runs(tmp_path: Path, kept: int) -> None:
    found = made_up(rounds=1)
    path = tmp_path / "some.png"
    explore_plot.draw(replace(found, runs=found.runs[:kept]), path, tmp_path / "m")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_in_python_the_second_picture_is_there_or_says_why() -> None:
    assert Explored(on_two_cores()).pages_figure().axes
    with pytest.raises(NothingToDraw, match="stand below the rates"):
        Explored(made_up()).pages_figure()
    trouble = experiment.VirtualPages({"name": "nhm"}, {}, trouble="there is no QEMU")
    with pytest.raises(NothingToDraw, match="no QEMU"):
        Explored(on_two_cores(virtual=trouble)).pages_figure()


# ---- where pages are looked at -------------------------------------------------------------


class There:
    """A virtual machine that answers as the probe does, so many times."""

    name = "nhm"
    slowness = 1.0
    monitor_options: tuple[str, ...] = ()

    def __init__(self, answers: int) -> None:
        self.left = answers
        self.machine = {"name": "nhm"}
        self.node = {"pus": 4, "numa_nodes": 2, "cores": 4}

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> Finished:
        if self.left == 0:
            raise Interrupted
        self.left -= 1
        said = dict(word.split("=") for word in command[2:])
        record = {
            "threads": int(environment["OMP_NUM_THREADS"]), "first_touch": said["first_touch"],
            "local_share": 0.5, "times": [{"elapsed_s": [1e-3]}],
        }  # fmt: skip
        return Finished(0, json.dumps(record), "")


def test_times_of_a_virtual_machine_are_not_kept(installation: Installation) -> None:
    steps: list[str] = []
    seen, interrupted = explore.observe_pages(installation, STREAMS, There(99), steps.append)
    assert not interrupted
    assert {one.key["threads"] for one in seen.configurations} == {1, 2, 4}
    assert len(seen.runs) == VIRTUAL.rounds * len(seen.configurations)
    assert not any("times" in one.record for one in seen.runs)
    assert all(step.startswith("looking at pages on virtual nhm, round") for step in steps)


def test_what_was_seen_before_an_interrupt_is_kept(installation: Installation) -> None:
    seen, interrupted = explore.observe_pages(installation, STREAMS, There(2), lambda step: None)
    assert interrupted
    assert len(seen.runs) == 2


def tiny(installation: Installation, virtual: VirtualMachine) -> experiment.Measurements:
    """A real run of one round, on a node that is taken to have one NUMA node."""
    what = Streams(MIB, 1, 1, virtual)
    with installation.lock():
        return measure(installation, Exploration(LAB, TITLE, what), lambda step: None)


@pytest.fixture
def one_numa_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tests run on several: as if they did on one."""
    from numalab.learning import exploring

    describe = exploring.monitor.describe_node
    monkeypatch.setattr(
        exploring.monitor,
        "describe_node",
        lambda installation: describe(installation) | {"numa_nodes": 1},
    )


@pytest.mark.builds
@pytest.mark.boots
@pytest.mark.usefixtures("one_numa_node")
def test_pages_are_seen_where_they_live(installation: Installation) -> None:
    """hydra with a core per NUMA node: whoever is bound to the second has remote pages where one
    has initialised."""
    found = tiny(installation, VIRTUAL)
    assert found.virtual
    assert found.virtual.trouble is None
    seen = observed_pages(found)
    assert seen and seen.is_virtual
    assert seen.threads == [1, 2]

    def share(*key: Any) -> float:
        interval = seen.share(*key)
        assert interval and interval.low == interval.high
        return interval.median

    for placement in (COMPACT, SCATTER):
        assert share(1, placement, MAIN_THREAD) == share(1, placement, ALL_THREADS) == 1
        assert share(2, placement, ALL_THREADS) == 1
        assert share(2, placement, MAIN_THREAD) == pytest.approx(0.5, abs=0.01)
    data = json.loads(json.dumps(found.json_data()))["virtual"]
    assert data["machine"]["name"] == "hydra"
    assert data["node"]["numa_nodes"] == 2


@pytest.mark.builds
@pytest.mark.usefixtures("one_numa_node")
def test_without_a_virtual_machine_there_are_rates(
    installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tiny(installation, replace(VIRTUAL, name="nowhere"))
    assert found.virtual and found.virtual.runs == ()
    assert "are not shown: there is no machine 'nowhere'" in said(found, capsys)
    assert all(sample.rate_gb_s("triad") > 0 for sample in found.runs)


@pytest.mark.builds
@pytest.mark.boots
def test_a_tiny_run_of_streams(installation: Installation, tmp_path: Path) -> None:
    build_explorations(installation, [installation.probe.name])
    path, plot = tmp_path / "all.json", tmp_path / "all.png"
    done = numalab_command(
        installation, "explore", "02", "--quick", "--n", "100000", "--rounds", "1",
        "--json", str(path), "--plot", str(plot),
    )  # fmt: skip
    assert done.code == 0, done.err
    data = json.loads(path.read_text())
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert {one["bytes"] for one in data["samples"]} == {800_000}
    for sample in data["samples"]:
        asked = data["configurations"][sample["configuration"]]
        assert sample["threads"] == asked["threads"]
        assert [times["kernel"] for times in sample["times"]] == ["copy", "triad"]
        assert sample["local_share"] is None or 0 <= sample["local_share"] <= 1
    pages = plot.with_stem(f"{plot.stem}_local_pages")
    has_one = data["node"]["numa_nodes"] == 1
    assert pages.is_file() == has_one == (data["virtual"] is not None)
    if has_one:
        assert data["virtual"]["machine"]["name"] == "nhm"
        assert data["virtual"]["node"]["pus"] == 16
        assert str(pages) in done.out
    assert max(map(len, done.out.splitlines())) <= 80 + len(f"{plot}, {pages}")


# ---- what could be taken for what it is not ------------------------------------------------


def test_arrays_that_caches_may_hold_are_told_in_text_and_picture() -> None:
    small = made_up(SIXTEEN | {"last_level_cache_bytes": 40 * MIB})
    large = made_up(SIXTEEN | {"last_level_cache_bytes": 500 * MIB})
    unknown = made_up(SIXTEEN | {"last_level_cache_bytes": None})
    fits = made_up()
    for found, says in (
        (small, "part of what is timed may be caches"),
        (large, "all of what is timed may be caches"),
        (unknown, "does not tell how large"),
    ):
        assert says in " ".join(explore_report.sentences(found))
        assert "arrays may fit in caches" in explore_plot._title(found)
    assert "caches" not in " ".join(explore_report.sentences(fits))
    assert "caches" not in explore_plot._title(fits)


@pytest.mark.parametrize("is_by_number", [True, False])
def test_compact_that_is_not_is_told(is_by_number: bool) -> None:
    """PUs 0, 2, ... are the first package's: a list by number alternates between packages."""
    pu_list = [{"pu": pu, "package": pu % 2} for pu in range(16)]
    found = made_up(SIXTEEN | {"pu_list": pu_list})

    def seated(one: experiment.ProgramRun) -> experiment.ProgramRun:
        threads = int(found.configurations[one.configuration].key["threads"])
        pus = [i if is_by_number else 2 * i for i in range(threads)]
        return replace(one, record=one.record | {"thread_pus": [pu % 16 for pu in pus]})

    said = " ".join(explore_report.sentences(replace(found, runs=tuple(map(seated, found.runs)))))
    assert ("Compact is not compact here: 2 threads sat on PUs 0, 1" in said) == is_by_number
