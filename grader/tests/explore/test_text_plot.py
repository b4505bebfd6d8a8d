"""Pictures in plain characters, whole."""

from __future__ import annotations

import pytest

from numalab.explore.text_plot import Axis, PlotSeries, text_plot


def test_a_logarithmic_axis_with_marks() -> None:
    curves = [
        PlotSeries("o", "small", {0: 1.0, 1: 10.0, 2: 100.0}),
        PlotSeries("x", "huge", {0: 1.0, 1: 1.0}),
    ]  # fmt: skip
    assert text_plot(curves, ["64K", "1M", "16M"], {1: "L2", 2: "TLB"}, Axis("ns", 3)) == [
        "        o small, x huge",
        "100 ns |                    o",
        "  10.0 |            o",
        "   1.0 |    *       x",
        "       +------------------------",
        "           64K      1M     16M",
        "                    ^       ^",
        "                    L2     TLB",
    ]


def test_a_linear_axis_has_curves_beside_each_other() -> None:
    curves = [
        PlotSeries("d", "default", {0: 1.0, 1: 2.0}), PlotSeries("c", "compact", {0: 1.0, 1: 4.0}),
        PlotSeries("s", "scatter", {0: 1.0, 1: 5.0}),
    ]  # fmt: skip
    # What is more than the top stands on it.
    assert text_plot(curves, ["1", "2"], {}, Axis("GB", 5, top=4.0)) == [
        "        d default, c compact, s scatter",
        "4.0 GB |            cs",
        "       |",
        "   2.0 |           d",
        "       |   dcs",
        "   0.0 |",
        "       +----------------",
        "            1       2",
    ]


def test_rows_without_names_and_equal_values() -> None:
    assert text_plot([PlotSeries("o", "a", {0: 7.0})], ["1"], {}, Axis("", 6)) == [
        "        o a",
        "   7.0 |",
        "       |",
        "   7.0 |",
        "       |",
        "       |",
        "   7.0 |    o",
        "       +--------",
        "            1",
    ]
    assert text_plot([PlotSeries("o", "a", {})], ["1"], {}, Axis("")) == []
    assert text_plot([], [], {}, Axis("")) == []
    assert len(text_plot([PlotSeries("o", "a", {0: 7.0})], ["1"], {}, Axis(""))) == 11 + 3


def test_many_places_are_narrow_and_names_never_touch() -> None:
    many = [PlotSeries(mark, mark, dict.fromkeys(range(24), 1.0)) for mark in "dcs"]
    legend, top, _, bottom, line, places = text_plot(
        many, [f"{n:02}" for n in range(24)], {}, Axis("", 3, top=1.0)
    )
    assert top == "   1.0 |" + "dcs" * 24
    assert (legend, bottom, line) == ("        d d, c c, s s", "   0.0 |", "       +" + "-" * 72)
    assert places == " " * 9 + " ".join(f"{n:02}" for n in range(24))
    wide = text_plot(many, ["wide"] * 24, {}, Axis("", 3, top=1.0))
    assert wide[-1] == " " * 8 + "wide  " * 11 + "wide"
    three = text_plot(many, ["abc"] * 24, {}, Axis("", 3, top=1.0))
    assert three[-1] == " " * 8 + "abc   " * 11 + "abc"
    # In two columns a place's curves stay within them.
    two = [PlotSeries(mark, mark, {0: 1.0, 35: 1.0}) for mark in "dcs"]
    assert text_plot(two, ["1"] * 36, {}, Axis("", 3, top=1.0))[1] == (
        "   1.0 |d*" + " " * 68 + "d*"
    )


@pytest.mark.parametrize(
    ("value", "label"), [(99.4, "  99.4"), (99.5, "   100"), (250.0, "   250"), (0.05, "   0.1")]
)
def test_labels_have_a_digit_below_a_hundred(value: float, label: str) -> None:
    lines = text_plot([PlotSeries("o", "a", {0: value})], ["1"], {}, Axis("", 3))
    assert lines[3] == f"{label} |    o"
