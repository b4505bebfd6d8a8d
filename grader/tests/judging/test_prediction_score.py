"""Scores of predictions: full inside what was measured, and less by each factor outside."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from support.golden_texts import check_text

from numalab.judging.prediction_score import Interval, mean_score

TIME = Interval(2.0, 3.0)
SHARE = Interval(0.4, 0.5, is_share=True)
GRID = [1.02**step for step in range(-100, 160)]


@pytest.mark.parametrize("predicted", [2.0, 2.4, 3.0])
def test_inside_it_is_full(predicted: float) -> None:
    assert TIME.score(predicted) == 1.0
    assert TIME.misses(predicted) == ""


@pytest.mark.parametrize(
    ("predicted", "score"),
    [(6.0, 0.0), (1.0, 0.0), (3 * math.sqrt(2), 0.5), (2 / math.sqrt(2), 0.5), (100.0, 0.0)],
)
def test_a_factor_of_2_earns_nothing(predicted: float, score: float) -> None:
    assert TIME.score(predicted) == pytest.approx(score, abs=1e-12)


def test_it_falls_on_both_sides_and_never_jumps() -> None:
    scores = [TIME.score(value) for value in GRID]
    below = [score for value, score in zip(GRID, scores, strict=True) if value <= 2.0]
    above = [score for value, score in zip(GRID, scores, strict=True) if value >= 3.0]
    assert below == sorted(below) and above == sorted(above, reverse=True)
    assert set(scores) >= {0.0, 1.0}
    step = math.log(1.02) / math.log(2) + 1e-9
    assert all(abs(a - b) <= step for a, b in pairwise(scores))


@pytest.mark.parametrize("factor", [1.01, 1.2, 1.5, 1.99, 2.0, 7.0])
def test_too_much_is_as_bad_as_too_little(factor: float) -> None:
    assert TIME.score(3.0 * factor) == pytest.approx(TIME.score(2.0 / factor), abs=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_the_unit_changes_nothing(unit: float) -> None:
    found = Interval(2.0 * unit, 3.0 * unit).score(4.0 * unit)
    assert found == pytest.approx(TIME.score(4.0))


@pytest.mark.parametrize("predicted", [0.0, -2.5, math.nan, math.inf, -math.inf])
def test_what_it_can_not_be_earns_nothing(predicted: float) -> None:
    assert TIME.score(predicted) == 0.0
    if predicted != 0:
        assert SHARE.score(predicted) == 0.0


@pytest.mark.parametrize(
    ("predicted", "score"),
    [(0.4, 1.0), (0.45, 1.0), (0.5, 1.0), (0.6, 0.6), (0.3, 0.6), (0.75, 0.0), (0.15, 0.0),
     (0.0, 0.0), (1.0, 0.0), (1.01, 0.0)],
)  # fmt: skip
def test_of_a_share_the_difference_counts(predicted: float, score: float) -> None:
    assert SHARE.score(predicted) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("predicted", [0.0, 0.1, 0.3, 0.9, 1.0])
def test_a_share_is_scored_as_the_rest_of_the_whole(predicted: float) -> None:
    nothing, whole = Interval(0.0, 0.0, is_share=True), Interval(1.0, 1.0, is_share=True)
    assert nothing.score(predicted) == pytest.approx(whole.score(1 - predicted))
    assert nothing.score(0.0) == 1.0


@pytest.mark.parametrize(
    ("low", "high", "is_share"),
    [(3.0, 2.0, False), (0.0, 1.0, False), (1.0, math.inf, False), (math.nan, 1.0, False),
     (0.5, 1.5, True), (-0.1, 0.5, True)],
)  # fmt: skip
def test_what_is_no_interval(low: float, high: float, is_share: bool) -> None:
    with pytest.raises(ValueError, match="is no interval"):
        Interval(low, high, is_share)


def test_the_mean_is_over_what_was_measured() -> None:
    assert mean_score([1.0, 0.5, 0.0]) == 0.5
    assert mean_score([]) is None
    check_text([TIME.misses(3.1), TIME.misses(1.9)])
