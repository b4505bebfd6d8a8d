from __future__ import annotations

import itertools
import random

import pytest

from numalab.sequential import CAREFUL, QUICK, decide, e_value


def integral(wins: int, count: int, steps: int = 20000) -> float:
    """The definition, by the midpoint rule."""
    width = 0.5 / steps
    total = 0.0
    for i in range(steps):
        p = 0.5 + (i + 0.5) * width
        total += p**wins * (1 - p) ** (count - wins)
    return 2.0**count * 2 * total * width


@pytest.mark.parametrize(("wins", "count"), [(0, 0), (7, 7), (5, 8), (0, 5), (20, 31)])
def test_e_value_is_the_integral(wins: int, count: int) -> None:
    assert e_value(wins, count) == pytest.approx(integral(wins, count), rel=1e-6)


def test_e_value_is_a_fair_game() -> None:
    """At win probability 1/2 the expected capital never grows."""
    for count in range(6):
        for wins in range(count + 1):
            after = (e_value(wins + 1, count + 1) + e_value(wins, count + 1)) / 2
            assert after <= e_value(wins, count) * (1 + 1e-12)
    mean = sum(e_value(sum(s), 8) for s in itertools.product((0, 1), repeat=8)) / 2**8
    assert mean == pytest.approx(1.0)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="5 wins among 3"):
        e_value(5, 3)


@pytest.mark.parametrize(
    ("thresholds", "status", "sign", "count"),
    [(QUICK, "pass", True, 7), (QUICK, "fail", False, 7),
     (CAREFUL, "pass", True, 9), (CAREFUL, "fail", False, 13)],
)  # fmt: skip
def test_unanimous_signs_decide_after(thresholds, status, sign, count) -> None:  # type: ignore[no-untyped-def]
    assert decide([sign] * (count - 1), thresholds).status == "undecided"
    decision = decide([sign] * (count + 20), thresholds)
    assert (decision.status, decision.signs) == (status, count)


def test_a_decision_stands_whatever_comes_after() -> None:
    signs = [True] * 9 + [False] * 100
    assert decide(signs, CAREFUL).status == "pass"
    assert decide([True, False] * 50, CAREFUL).status == "undecided"


def test_wrong_passes_stay_below_alpha() -> None:
    """Fair coins, looked at after every toss: the careful threshold is for 1 %."""
    generator = random.Random(20260101)
    trials, wrong = 2000, 0
    for _ in range(trials):
        signs = [generator.random() < 0.5 for _ in range(60)]
        wrong += decide(signs, CAREFUL).status == "pass"
    assert wrong / trials <= 0.01 + 3 * (0.01 * 0.99 / trials) ** 0.5
