"""Figures of explorations: what stands in their axes, before they are drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from schedule_experiment import Schedules
from stream_experiment import pages_figure
from support.explorations import MIB, TWO, invented, made_up, on_two_cores
from table_experiment import TableSizes

from numalab.errors import NumalabError, UserError
from numalab.explore import explore_plot

FEW = Schedules(("static", "dynamic", "guided"), (0, 4), {}, 100, 6)
THREE = TableSizes(MIB, 4 * MIB, 2, 1000, 3, 6)


def bars(axes: Any) -> dict[str, list[tuple[float, ...]]]:
    """By label the points: x, low, median and high."""
    found = {}
    for container in axes.containers:
        line, _, (segments,) = container.lines
        ends = [segment[:, 1] for segment in segments.get_segments()]
        found[str(container.get_label())] = [
            tuple(round(float(of), 4) for of in (x, low, median, high))
            for x, median, (low, high) in zip(line.get_xdata(), line.get_ydata(), ends, strict=True)
        ]
    return found


def upright(axes: Any) -> list[float]:
    """Where lines across the whole height are."""
    ends = [[*line.get_xdata()] for line in axes.lines]
    return [float(of[0]) for of in ends if len(of) == 2 and of[0] == of[1]]


def axes_of(figure: Figure) -> list[Any]:
    return [*figure.axes]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def names(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def by_schedule(key: dict[str, Any], number: int) -> float:
    factor = {"static": 1.0, "dynamic": 2.0, "guided": 4.0}[key["schedule"]]
    return factor * 1e-3 * (1 + 0.1 * number) / int(key["threads"])


def test_schedules_a_column_for_each_chunk() -> None:
    figure = explore_plot.exploration_figure(invented(FEW, by_schedule, 6))
    first, second, below, _ = figure.axes
    assert (first.get_title(), second.get_title()) == ("no chunk given", "chunk 4")
    assert (first.get_ylabel(), below.get_ylabel()) == ("time [ms]", "over static,\nsame round")
    assert (below.get_xlabel(), first.get_yscale(), first.get_ylim()[0]) == ("threads", "linear", 0)
    assert bars(first) == bars(second) == {
        "static": [(-0.16, 1.0, 1.25, 1.5), (0.84, 0.5, 0.625, 0.75)],
        "dynamic": [(0.0, 2.0, 2.5, 3.0), (1.0, 1.0, 1.25, 1.5)],
        "guided": [(0.16, 4.0, 5.0, 6.0), (1.16, 2.0, 2.5, 3.0)],
    }  # fmt: skip
    assert bars(below) == {
        "dynamic": [(0.0, 2.0, 2.0, 2.0), (1.0, 2.0, 2.0, 2.0)],
        "guided": [(0.16, 4.0, 4.0, 4.0), (1.16, 4.0, 4.0, 4.0)],
    }  # fmt: skip
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["1", "2"]
    assert below.get_xlim() == (-0.5, 1.5)
    assert names(figure) == ["static", "dynamic", "guided"]
    assert figure.get_size_inches().tolist() == [12, 7.5]
    four = invented(replace(FEW, n=1000), by_schedule, 1, node={"cores": 4})
    assert explore_plot.exploration_figure(four).axes[0].get_yscale() == "log"


def parts(key: dict[str, Any], number: int) -> float:
    slow = key["pages"] == "small" and int(key["bytes"]) >= 2 * MIB
    return (4e-6 if slow else 1e-6) * (1 + 0.1 * number)


CACHES = [{"level": "L1i", "bytes_each": 3 * MIB}, {"level": "L2", "bytes_each": 3 * MIB // 64},
          {"level": "L3", "bytes_each": 2 * MIB}]  # fmt: skip
REACH = {"cpuid_18": [[0, 8 << 16 | 1, 96, 2 << 5 | 3]]}  # 3 MiB of small pages


def test_tables_a_column_for_each_kernel() -> None:
    found = invented(THREE, parts, 6, node={"caches": CACHES}, about=REACH)
    figure = explore_plot.exploration_figure(found)
    chase, update, ratio, _ = axes_of(figure)
    assert [axes.get_title().split(":")[0] for axes in (chase, update)] == [
        "dependent", "independent",
    ]  # fmt: skip
    small, huge = bars(chase).values()
    assert [*bars(chase)] == ["4 KiB pages", "2 MiB pages"]
    beside = 2**0.04
    assert [point[0] for point in small] == [
        round(of * MIB / beside, 4) for of in (1, 2, 4)
    ]  # fmt: skip
    assert [point[0] for point in huge] == [round(of * MIB * beside, 4) for of in (1, 2, 4)]
    assert [point[1:] for point in small] == [(1, 1.25, 1.5), (4, 5, 6), (4, 5, 6)]
    assert [point[1:] for point in huge] == [(1, 1.25, 1.5)] * 3
    # What the names of the marks say, in the order of their places.
    assert texts(chase) == ["L2 3 MiB", "TLB 3 MiB"]
    assert upright(chase) == [3 * MIB, 3 * MIB]
    assert texts(update) == ["L3 2 MiB", "TLB 3 MiB"]
    assert [text.xyann for text in chase.texts] == [(-4, -4), (-4, -20)]
    assert next(iter(bars(ratio).values())) == [
        (MIB, 1, 1, 1), (2 * MIB, 4, 4, 4), (4 * MIB, 4, 4, 4),
    ]  # fmt: skip
    assert [axes.get_legend() is None for axes in (chase, update, ratio)] == [False, True, True]
    assert texts(ratio) == ["part from 2 MiB on"] and upright(ratio) == [2 * MIB]
    assert ratio.texts[0].get_ha() == "left"
    assert ratio.get_ylabel() == "4 KiB / 2 MiB,\nsame round"
    assert [tick.get_text() for tick in ratio.get_xticklabels()] == [
        "1\nMiB", "2\nMiB", "4\nMiB",
    ]  # fmt: skip
    low, high = chase.get_ylim()
    assert low < 1 and high > 6 * (6 / 1) ** 0.45


def test_where_the_two_part_late_the_words_stand_left_of_it() -> None:
    late = invented(THREE, lambda key, n: parts({**key, "bytes": int(key["bytes"]) // 2}, n), 6)
    _, _, ratio, _ = axes_of(explore_plot.exploration_figure(late))
    assert texts(ratio) == ["part from 4 MiB on"] and ratio.texts[0].get_ha() == "right"
    assert ratio.texts[0].xyann == (-6, -4)
    even = invented(THREE, lambda *_: 1e-6, 6)
    assert texts(explore_plot.exploration_figure(even).axes[2]) == []


def test_tables_without_huge_pages_have_one_row() -> None:
    found = invented(replace(THREE, largest_bytes=512 * MIB), parts, 1,
                     node={"huge_page_mode": "never", "caches": CACHES})  # fmt: skip
    chase, update = explore_plot.exploration_figure(found).axes
    assert chase.get_ylabel() == "time of a step [ns]"
    assert [tick.get_text() for tick in update.get_xticklabels()] == [
        f"{of}\nMiB" for of in (1, 4, 16, 64, 256)
    ]
    assert texts(chase) == ["L2 3 MiB", "L3 128 MiB"]
    for largest_mib, ticks in ((128, 8), (256, 5)):
        some = invented(replace(THREE, largest_bytes=largest_mib * MIB), parts, 1,
                        node={"huge_page_mode": "never"})  # fmt: skip
        axes = explore_plot.exploration_figure(some).axes[1]
        assert len(axes.get_xticks()) == ticks
    # Of the ends themselves nothing is marked.
    at_ends = [{"level": "L2", "bytes_each": MIB // 64}, {"level": "L3", "bytes_each": MIB // 16}]
    ends = invented(THREE, parts, 1, node={"caches": at_ends})
    assert texts(explore_plot.exploration_figure(ends).axes[0]) == []


def rates(threads: int, placement: str, first_touch: str) -> float:
    return 8.0 * threads if first_touch == "all" else 4.0


def shares(threads: int, placement: str, first_touch: str) -> float:
    return 0.5 if first_touch == "one" and threads > 1 else 1.0


def test_streams_with_the_pages_of_the_same_node_below() -> None:
    found = made_up(TWO | {"numa_nodes": 2}, rates, shares, 1)
    figure = explore_plot.exploration_figure(found)
    assert figure.get_size_inches().tolist() == [12, 10]
    assert len(figure.axes) == 6
    copy_all, copy_one, triad_all, _, pages_all, pages_one = figure.axes
    assert [axes.get_ylabel() for axes in (copy_all, triad_all, pages_all)] == [
        "copy [GB/s]", "triad [GB/s]", "local pages",
    ]  # fmt: skip
    assert [axes.get_title().split(":")[0] for axes in (copy_all, copy_one)] == [
        "first touch by all", "first touch by one",
    ]  # fmt: skip
    assert bars(copy_all) == bars(triad_all) == {
        placement: [(at, 8, 8, 8), (round(at + 1, 4), 16, 16, 16)]
        for placement, at in (("default", -0.16), ("compact", 0.0), ("scatter", 0.16))
    }  # fmt: skip
    assert bars(pages_one)["scatter"] == [(0.16, 1, 1, 1), (1.16, 0.5, 0.5, 0.5)]
    assert pages_one.get_ylim() == (-0.08, 1.08)
    assert pages_one.get_xlabel() == "threads" and copy_all.get_ylim()[0] == 0
    assert names(figure) == ["default", "compact", "scatter"]
    assert pages_figure(found) is None


def test_pages_of_a_virtual_machine_in_a_figure_of_their_own() -> None:
    found = on_two_cores()
    rates_of_two = explore_plot.exploration_figure(found)
    assert len(rates_of_two.axes) == 4
    assert rates_of_two.get_size_inches().tolist() == [12, 7.5]
    figure = pages_figure(found)
    assert figure is not None and figure.get_size_inches().tolist() == [12, 4.5]
    by_all, by_one = axes_of(figure)
    assert (by_all.get_ylabel(), by_one.get_xlabel()) == ("local pages", "threads")
    assert len(bars(by_one)["compact"]) == 16
    assert by_one.get_yticks().tolist() == [0, 0.5, 1]
    sizes = {container.lines[0].get_markersize()
             for container in by_one.containers}  # fmt: skip
    assert sizes == {5}
    few = axes_of(rates_of_two)[0].containers
    assert {container.lines[0].get_markersize() for container in few} == {8}
    assert pages_figure(made_up(TWO, rates, rounds=1)) is None


def test_titles_say_what_was_run() -> None:
    assert explore_plot._title(invented(FEW, by_schedule, 6)) == (
        "Title\ninvented, 2 cores, n = 100; 6 rounds, bars: 96.9 % interval of the median"
    )
    whole = invented(FEW, by_schedule, 6)
    cut = replace(whole, runs=whole.runs[:-1])
    assert "; 5 rounds, bars: 93.8 % interval" in explore_plot._title(cut)
    one = invented(THREE, parts, 1, node={"cores": 1}, interrupted=True)
    assert explore_plot._title(one) == (
        "Title\ninvented, 1 core, one thread; 1 rounds, single runs, no bars, interrupted"
    )
    assert ", 2 cores, one NUMA node (all" in explore_plot._title(made_up(TWO, rates, rounds=2))
    two = explore_plot._title(made_up(TWO | {"numa_nodes": 2}, rates, rounds=2))
    assert ", 2 cores, 2 NUMA nodes; 2 rounds, bars: 50 % interval" in two


def test_a_picture_whose_folder_has_gone_is_told(tmp_path: Path) -> None:
    found = invented(replace(FEW, chunks=(0,)), by_schedule, 1)
    with pytest.raises(NumalabError, match="the plot can't be written"):
        explore_plot.draw(found, tmp_path / "gone" / "a.svg", tmp_path / "m")


def test_where_a_picture_can_not_be_written(tmp_path: Path) -> None:
    explore_plot.check_target(tmp_path / "a.PNG")
    (tmp_path / "b.svg").mkdir()
    for name, says in (("a.bmp", "has to end with"), ("b.svg", "that is a folder"),
                       ("no/a.pdf", "there is no folder")):  # fmt: skip
        with pytest.raises(UserError, match=says):
            explore_plot.check_target(tmp_path / name)


def test_letters_and_marks_have_their_sizes() -> None:
    found = invented(THREE, parts, 6, node={"caches": CACHES}, about=REACH)
    figure: Any = explore_plot.exploration_figure(found)
    chase, _, ratio, _ = figure.axes
    assert (figure.dpi, figure._suptitle.get_fontsize(), chase.title.get_fontsize()) == (
        110, 16, 13,
    )  # fmt: skip
    assert chase.get_gridspec().get_height_ratios() == [3, 2]
    assert {text.get_fontsize() for text in chase.texts} == {11}
    assert [text.xy[1] for text in (*chase.texts, *ratio.texts)] == [1.0] * 3
    assert ratio.texts[0].xyann == (6, -4)
    assert ratio.containers[0].lines[0].get_markersize() == 6
    assert [line.get_zorder() for line in ratio.lines if line.get_color() == "#d55e00"] in ([0], [])
    one = [line.get_ydata()[0] for line in ratio.lines if line.get_linestyle() == "--"]
    assert one == [1]
    streams: Any = explore_plot.exploration_figure(
        made_up(TWO | {"numa_nodes": 2}, rates, shares, 1)
    )
    assert streams.axes[0].get_gridspec().get_height_ratios() == [3, 3, 2]
    assert streams.axes[0].title.get_fontsize() == 13
    assert streams.axes[0].get_xlim() == (-0.5, 1.5)
    alone: Any = pages_figure(on_two_cores())
    assert alone is not None and (alone.dpi, alone._suptitle.get_fontsize()) == (110, 16)
    assert alone.axes[0].title.get_fontsize() == 13
    assert alone._suptitle.get_text().startswith(
        "Local pages on virtual nhm: 2 NUMA nodes, 16 PUs\n"
    )


def shared(figure: Figure) -> tuple[bool, bool, bool]:
    """Whether columns share their axis of x, rows and all theirs of y."""
    first, beside, below = figure.axes[0], figure.axes[1], figure.axes[-1]
    y = first.get_shared_y_axes()
    return (
        first.get_shared_x_axes().joined(first, below),
        y.joined(first, beside),
        y.joined(first, below),
    )


def test_curves_beside_each_other_share_their_axes() -> None:
    scheduled = explore_plot.exploration_figure(invented(FEW, by_schedule, 1))
    sized: Any = explore_plot.exploration_figure(invented(THREE, parts, 6))
    streams = explore_plot.exploration_figure(made_up(TWO, rates, rounds=1))
    pages = pages_figure(on_two_cores())
    assert pages is not None
    assert [shared(figure) for figure in (scheduled, sized, streams, pages)] == [
        (True, True, False), (True, True, False), (True, True, False), (True, True, True),
    ]  # fmt: skip
    chase, _, ratio, _ = sized.axes
    assert [axis.get_transform().base for axis in (chase.xaxis, ratio.yaxis, chase.yaxis)] == [
        2, 2, 10,
    ]  # fmt: skip
    assert ratio.yaxis.get_major_formatter()(0.5, 0) == "0.5"
    dashed = [line for line in axes_of(scheduled)[2].lines if line.get_linestyle() == "--"]
    assert [[*line.get_ydata()] for line in dashed] == [[1, 1]]


def test_a_figure_has_the_size_that_is_asked_for() -> None:
    found = invented(replace(FEW, chunks=(0,)), by_schedule, 1)
    figure = explore_plot.exploration_figure(found, (5.0, 4.0))
    assert figure.get_size_inches().tolist() == [5, 4]


def test_one_chunk_is_one_column() -> None:
    found = invented(replace(FEW, chunks=(0,)), by_schedule, 1)
    assert len(explore_plot.exploration_figure(found).axes) == 2


@pytest.mark.parametrize(("pus", "points"), [(8, 8), (9, 5)])
def test_markers_of_many_threads_are_small(pus: int, points: int) -> None:
    found = made_up(TWO | {"pus": pus}, rates, rounds=1)
    axes: Any = explore_plot.exploration_figure(found).axes[0]
    assert {container.lines[0].get_markersize() for container in axes.containers} == {points}
