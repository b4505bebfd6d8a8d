"""Whether generations know of each other: the arithmetic, on invented values."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import autocorrelation
from autocorrelation import autocorrelations


def lasting(share: float, count: int = 4000) -> list[float]:
    """Each value is share of the one before, and news: lag k has share ** k."""
    news = np.random.default_rng(1).standard_normal(count)
    values = [float(news[0])]
    for one in news[1:]:
        values.append(share * values[-1] + math.sqrt(1 - share**2) * float(one))
    return values


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_values_that_last_are_told_from_independent_ones(share: float) -> None:
    found = autocorrelations([lasting(share)])
    for correlation in found:
        assert correlation.value == pytest.approx(share**correlation.lag, abs=0.07)
        assert correlation.standard_error == pytest.approx(1 / math.sqrt(4000), rel=0.01)
    assert str(found[0]).endswith("*" if share else " ")


def test_pairs_are_of_one_run() -> None:
    """What was taken on another day follows nothing."""
    whole = autocorrelations([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], (1, 2))
    halves = autocorrelations([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (1, 2, 3))
    assert [correlation.pairs for correlation in whole] == [5, 4]
    assert [(correlation.lag, correlation.pairs) for correlation in halves] == [(1, 4), (2, 2)]
    # (-2.5 * -1.5 + -1.5 * -0.5 + 0.5 * 1.5 + 1.5 * 2.5) / 4 over 35 / 12.
    assert halves[0].value == pytest.approx(2.25 / (35 / 12))


def test_values_that_are_all_the_same_have_none() -> None:
    assert autocorrelations([[2.0] * 9]) == autocorrelations([[1.0]]) == []
    assert "all the same" in autocorrelation.table("lab", [[2.0] * 9])[0]


def test_signs_are_about_the_median() -> None:
    assert autocorrelation.signs_about_median([[3.0, 1.0], [2.0, 9.0]]) == [[1, 0], [0, 1]]


def test_margins_are_the_controls_by_run() -> None:
    def line(run: float, control_s: float) -> dict[str, object]:
        times = {"handout": [0.5, 0.4], "solution": [0.1, 0.2], "control": [control_s, 9.0]}
        return {"run": run, "elapsed_s": times}

    lines = [line(1.0, 0.1), line(1.0, 0.2), line(2.0, 0.4)]
    found = autocorrelation.log_margins(lines, "speedup", None)
    assert [[pytest.approx(2.0), pytest.approx(1.0)], [pytest.approx(0.5)]] == [
        [math.exp(margin) for margin in run] for run in found
    ]
    (run, _) = autocorrelation.log_margins(lines, "efficiency", 0.8)
    assert math.exp(run[0]) == pytest.approx(1.25)
