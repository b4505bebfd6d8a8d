"""The small pictures of values on a class's page: where bars, bounds and ends are."""

from __future__ import annotations

import re

import pytest
from support.golden_texts import check_text

from numalab.course.pages.histogram import BINS, bins, histogram, values_words


def bars(svg: str) -> list[tuple[float, float, float, float]]:
    """Return x, y, width and height of each bar, in px."""
    found = re.findall(r'<rect x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"/>', svg)
    return [(float(x), float(y), float(width), float(height)) for x, y, width, height in found]


def ends(svg: str) -> list[str]:
    return re.findall(r"<text [^>]*>(.*?)</text>", svg)


def bound_x(svg: str) -> float:
    (found,) = re.findall(r'<path class="bound" d="M(.*?) 0V62"/>', svg)
    return float(found)


def test_a_picture_as_a_whole() -> None:
    check_text(histogram([0.0, 1.0], 0.5, "v", "<T>"))


def test_bars_are_as_high_as_values_are_many_and_end_on_the_base_line() -> None:
    svg = histogram([0.0] * 4 + [0.5] * 2 + [1.0], None, "v", "Values")
    assert bars(svg) == [(1, 4, 18, 54), (8 * 20 + 1, 31, 18, 27), (15 * 20 + 1, 44.5, 18, 13.5)]
    assert ends(svg) == ["0", "1"]
    assert "bound" not in svg


def test_the_least_bar_can_be_seen() -> None:
    svg = histogram([0.0] * 100 + [1.0] * 3, None, "v", "Values")
    assert [bar[3] for bar in bars(svg)] == [54, 2]


@pytest.mark.parametrize("values", [[0.5], [0.5] * 60])
def test_values_that_are_all_the_same_are_in_the_middle(values: list[float]) -> None:
    svg = histogram(values, None, "v", "Values")
    assert bars(svg) == [(BINS // 2 * 20 + 1, 4, 18, 54)]
    assert ends(svg) == ["0", "1"]


@pytest.mark.parametrize(
    ("bound", "x", "scale"),
    [(0.5, 160, ["0", "1"]), (-1.0, 1, ["-1", "1"]), (3.0, 319, ["0", "3"]), (0.0, 1, ["0", "1"])],
)
def test_a_bound_is_within_the_picture(bound: float, x: float, scale: list[str]) -> None:
    svg = histogram([0.0, 1.0], bound, "v", "Values")
    assert bound_x(svg) == x
    assert ends(svg) == scale


def test_two_of_a_hundred_at_each_end_do_not_set_the_scale() -> None:
    inner = [k / 95 for k in range(96)]
    assert ends(histogram([-9.0, -9.0, *inner, 9.0, 9.0], None, "v", "x")) == ["≤ 0", "≥ 1"]
    assert ends(histogram([-9.0, -9.0, -9.0, *inner, 9.0, 9.0], None, "v", "x"))[0] == "-9"
    assert ends(histogram([0.0] + [1.0] * 48, None, "v", "x")) == ["0", "1"]
    assert ends(histogram([0.0] + [1.0] * 49, None, "v", "x")) == ["≤ 0.5", "1.5"]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1.0], "s"),
        ([1.0, 2.0, 6.0], ""),
        ([1.0, 2.0, 3.0, 4.0], "s"),
    ],
)  # fmt: skip
def test_values_in_words(values: list[float], unit: str) -> None:
    check_text(values_words(values, unit))


def test_values_are_in_equal_bins() -> None:
    assert BINS == 16
    assert bins([0.0, 0.99, 1.0, 15.99, 16.0, -3.0, 99.0], 0, 16) == [3, 1, *[0] * 13, 3]
