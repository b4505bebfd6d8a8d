from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from numpy.typing import NDArray

from numalab.judging.sequential import CAREFUL, QUICK, decide, e_value, interval


def integral(wins: int, count: int, steps: int = 40000) -> float:
    """The definition, by the midpoint rule; s = 1 - u^2 takes the density's pole away, and
    Beta(2, 1/2) is 4/3."""
    width = 1 / steps
    total = 0.0
    for i in range(steps):
        u = (i + 0.5) * width
        s = 1 - u * u
        total += (1 + s) ** wins * (1 - s) ** (count - wins) * s * 2
    return total * width / (4 / 3)


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
    ("thresholds", "reached", "sign", "count"),
    [(QUICK, "above", True, 5), (QUICK, "below", False, 5),
     (CAREFUL, "above", True, 8), (CAREFUL, "below", False, 11)],
)  # fmt: skip
def test_unanimous_signs_decide_after(thresholds, reached, sign, count) -> None:  # type: ignore[no-untyped-def]
    assert decide([sign] * (count - 1), thresholds).reached is None
    decision = decide([sign] * (count + 20), thresholds)
    assert (decision.reached, decision.signs) == (reached, count)


def test_a_decision_stands_whatever_comes_after() -> None:
    signs = [True] * 9 + [False] * 100
    assert decide(signs, CAREFUL).reached == "above"
    assert decide([True, False] * 50, CAREFUL).reached is None


def test_an_interval_needs_enough_generations_and_holds_the_median() -> None:
    assert interval([1.0] * 5, CAREFUL) == (None, None)
    assert interval([1.0] * 6, CAREFUL) == (1.0, 1.0)  # 40.1
    assert interval([1.0] * 4, QUICK) == (None, None)
    assert interval([1.0] * 5, QUICK) == (1.0, 1.0)
    low, high = interval([1 + i / 100 for i in range(40)], CAREFUL)
    assert low is not None and high is not None
    assert low < 1.195 < high
    assert low > 1.0 and high < 1.39


@pytest.mark.parametrize("ratios", [[1.2] * 7, [0.9] * 7, [0.9, 1.3] * 10, [1.1, 1.2, 0.9] * 9])
def test_an_interval_excludes_what_its_own_level_decides(ratios: list[float]) -> None:
    """Counted at the end, as intervals are: 1 is outside where the signs speak for a side."""
    wins = sum(ratio > 1 for ratio in ratios)
    low, high = interval(ratios, CAREFUL)
    is_above = e_value(wins, len(ratios)) >= CAREFUL.interval
    is_below = e_value(len(ratios) - wins, len(ratios)) >= CAREFUL.interval
    assert is_above == (low is not None and low > 1)
    assert is_below == (high is not None and high <= 1)


# ---- how often a decisive verdict is wrong, whenever one stops ---------------------------

TRIALS, MOST = int(os.environ.get("NUMALAB_TRIALS", "20000")), 60


def highest_e(signs: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The highest e-value for and against that each trial ever reached. signs: TRIALS x MOST."""
    wins = np.cumsum(signs, axis=1)
    table = np.array(
        [[e_value(k, n) if k <= n else 0.0 for k in range(MOST + 1)] for n in range(MOST + 1)]
    )
    counts = np.arange(1, MOST + 1)
    return table[counts, wins].max(axis=1), table[counts, counts - wins].max(axis=1)


def log_margins(
    seed: int, *, lasting: float = 0.0, drift: float = 0.0, first: float = 0.0,
    bursts: float = 0.0, is_drawn: bool = True,
) -> NDArray[np.float64]:  # fmt: skip
    """Of processes that do the same work, so that the claim is just not true: TRIALS x MOST.
    Each generation has two of them and three rounds; the minimum counts. In units of a single
    repetition's noise (standard deviation of its log): lasting, what a process has of its own
    for a generation; drift, by which each repetition is slower than the one before; first, by
    which who starts first is slower; bursts, by which repetitions are slower while other load
    is there, three slots in a row. is_drawn: start order and rounds are drawn by lot."""
    generator = np.random.default_rng(seed)
    shape = (TRIALS, MOST, 3, 2)  # rounds, processes
    log = generator.standard_normal(shape, dtype=np.float32)
    log += lasting * generator.standard_normal((TRIALS, MOST, 1, 2), dtype=np.float32)
    second = generator.integers(0, 2, (TRIALS, MOST, 4, 1)) if is_drawn else np.ones((1, 1, 4, 1))
    place = np.concatenate([second, 1 - second], axis=3)  # of the start, then of each round
    log += first * (place[:, :, :1] == 0)
    slots = 6 * np.arange(MOST)[:, None, None] + 2 * np.arange(3)[:, None] + place[:, :, 1:]
    log += drift * slots
    is_busy = generator.integers(0, 2, 2 * MOST)[(slots // 3).astype(int)]
    log += bursts * is_busy
    best = log.min(axis=2)
    return np.asarray(best[..., 1] - best[..., 0])


NODES = {
    "quiet": {},
    "generations": {"lasting": 1.0},
    "drift": {"lasting": 0.5, "drift": 0.3},
    "start order": {"lasting": 0.5, "first": 1.0},
    "bursts": {"lasting": 0.5, "bursts": 3.0},
    "all": {"lasting": 1.0, "drift": 0.3, "first": 1.0, "bursts": 3.0},
}


@pytest.mark.parametrize("node", NODES)
def test_wrong_verdicts_stay_below_alpha_whenever_one_stops(node: str) -> None:
    """Neither verdict is deserved; each trial is looked at after every generation.
    NUMALAB_TRIALS=100000 in the environment does more."""
    for highest in highest_e(log_margins(20260101, **NODES[node]) > 0):
        for alpha in (0.05, 0.01, 0.001):
            wrong = int((highest >= 1 / alpha).sum())
            allowed = TRIALS * alpha + 3 * (TRIALS * alpha * (1 - alpha)) ** 0.5
            assert 0 < wrong <= allowed, alpha


@pytest.mark.parametrize("effect", ["drift", "first"])
def test_without_lots_wrong_verdicts_would_be_many(effect: str) -> None:
    """The simulation can fail: in a fixed order the same effects decide wrongly."""
    found = highest_e(log_margins(20260101, is_drawn=False, **{effect: 1.0}) > 0)
    assert (np.maximum(*found) >= 100).mean() > 0.1


def test_intervals_hold_at_every_look() -> None:
    """The true median is outside at some look in at most 5 % of the trials."""
    highest_for, highest_against = highest_e(log_margins(20260102, **NODES["all"]) > 0)
    missed = (highest_for >= CAREFUL.interval) | (highest_against >= CAREFUL.interval)
    alpha = 1 - CAREFUL.confidence
    assert alpha == pytest.approx(0.05)
    assert missed.mean() <= alpha + 3 * (alpha * (1 - alpha) / TRIALS) ** 0.5
