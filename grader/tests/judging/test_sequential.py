from __future__ import annotations

import itertools
import math
import os
import random
from typing import Any

import mpmath
import numpy as np
import pytest
import ville
from numpy.typing import NDArray

from numalab.judging.sequential import (
    CAREFUL,
    QUICK,
    Thresholds,
    decide,
    decide_stepwise,
    e_value,
    interval,
    log_e_value,
)


def log_integral(wins: int, count: int) -> float:
    """The definition by mpmath's quadrature, 30 digits: s = 1 - u^2 takes the density's pole away,
    and Beta(2, 1/2) is 4/3. The integrand is divided by its peak, and cut where it is steep."""
    with mpmath.workdps(30):
        losses = count - wins

        def log_integrand(u: Any) -> Any:
            of_losses = 2 * losses * mpmath.log(u) if losses else 0
            return wins * mpmath.log(2 - u * u) + of_losses

        at = min(max(mpmath.mpf(wins - losses) / max(count, 1), 0), 1 - mpmath.mpf(1) / (count + 2))
        peak, width = log_integrand(mpmath.sqrt(1 - at)), 1 / mpmath.sqrt(count + 1)
        near = [at + step * width for step in (-12, -6, -3, -1, 0, 1, 3, 6, 12)]
        cuts = sorted({0, 1, *(mpmath.sqrt(1 - s) for s in near if 0 < s < 1)})
        total = mpmath.quad(lambda u: mpmath.exp(log_integrand(u) - peak) * 2 * (1 - u * u), cuts)
        return float(mpmath.log(total) + peak - mpmath.log(mpmath.mpf(4) / 3))


@pytest.mark.parametrize(
    ("wins", "count"),
    [(0, 0), (7, 7), (5, 8), (0, 5), (20, 31), (31, 60), (0, 2000), (1030, 1030), (1100, 2000),
     (90, 3000), (2600, 5000), (4999, 5000), (5000, 5000)],
)  # fmt: skip
def test_e_value_is_the_integral(wins: int, count: int) -> None:
    """Relative, in the e-value itself, whose logarithm is up to 3460."""
    assert log_e_value(wins, count) == pytest.approx(log_integral(wins, count), rel=0, abs=1e-10)


def test_e_values_beyond_any_number_are_infinite() -> None:
    assert e_value(1028, 1028) > 1e308
    assert e_value(1029, 1029) == e_value(5000, 5000) == math.inf
    assert decide([None, *[True, False] * 1000, *[True] * 500], CAREFUL).reached == "above"
    assert interval([1.0 + i / 4000 for i in range(2000)], CAREFUL)[0] == pytest.approx(
        1.24, abs=0.02
    )


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


# ---- beside another test of the same claim -----------------------------------------------

COURSES, LONGEST = 1000, 200


def other_decision(signs: NDArray[np.bool_], levels: Thresholds) -> str | None:
    """Of two one-sided betting tests, whose stakes follow what was seen (I. Waudby-Smith and A.
    Ramdas, "Estimating means of bounded random variables by betting", J. R. Stat. Soc. B 86
    (2024)), where ours is an average over fixed stakes: the first to reach our levels."""
    when = {}
    for reached, alternative, level in (
        ("above", "greater", levels.e_to_pass), ("below", "less", levels.e_to_fail)
    ):  # fmt: skip
        test = ville.BettingTest(0.5, alternative=alternative, alpha=1 / level).fit(signs)
        when[reached] = test.stopping_time() or math.inf
    first = min(when, key=lambda reached: when[reached])
    return first if when[first] < math.inf else None


@pytest.mark.parametrize("levels", [QUICK, CAREFUL], ids=["quick", "careful"])
@pytest.mark.parametrize("chance", [0.3, 0.5, 0.7])
def test_another_valid_test_does_not_contradict(chance: float, levels: Thresholds) -> None:
    """A contradiction: one says that the claim is shown, the other that its opposite is. Then one
    of the two is wrong, and at the boundary both are: so it is at most as frequent as the wrong
    decision of the one or of the other, which the levels bound."""
    generator = np.random.default_rng([20260103, int(100 * chance)])
    both = [
        (decide(signs.tolist(), levels).reached, other_decision(signs, levels))
        for signs in generator.random((COURSES, LONGEST)) < chance
    ]
    contradictions = sum(set(pair) == {"above", "below"} for pair in both)
    wrong_pass, wrong_fail = 1 / levels.e_to_pass, 1 / levels.e_to_fail
    alpha = wrong_pass if chance < 0.5 else wrong_fail
    if chance == 0.5:
        alpha = min(wrong_pass, wrong_fail)
    most = COURSES * 2 * alpha
    assert contradictions <= most + 3 * most**0.5
    if chance != 0.5:
        # Were one of the two turned round, nearly all courses would contradict.
        decided = "above" if chance > 0.5 else "below"
        assert sum(pair == (decided, decided) for pair in both) > 0.6 * COURSES


def test_an_interval_of_many_ratios_is_no_matter() -> None:
    """Of 100,000: a few e-values are looked at, not one for each of them."""
    low, high = interval([float(value) for value in range(100_000)], CAREFUL)
    assert low is not None and high is not None
    assert 49_000 < low < 49_999 < high < 51_000
    assert e_value(100_000 - int(low), 100_000) >= CAREFUL.interval
    assert e_value(100_000 - int(low) - 1, 100_000) < CAREFUL.interval


@pytest.mark.parametrize("pattern", [[True, False], [True, None], [False, False, True], [None]])
def test_a_hundred_thousand_signs_are_no_matter(pattern: list[bool | None]) -> None:
    """Where nothing is decided, the largest likelihood ratio tells that without an e-value."""
    signs = (pattern * 100_000)[:100_000]
    before = log_e_value.cache_info().misses
    found = decide_stepwise(signs, CAREFUL)
    assert log_e_value.cache_info().misses - before < 1000
    assert found[-1].reached is None or pattern.count(False) > pattern.count(True)


@pytest.mark.parametrize("seed", range(20))
def test_looks_decide_where_the_e_value_says_so(seed: int) -> None:
    """And not by the bound that spares its calculation."""
    generator = random.Random(seed)
    chance = generator.choice((0.4, 0.5, 0.6, 0.7))
    signs = [generator.random() < chance for _ in range(400)]
    for thresholds in (CAREFUL, QUICK):
        for number, look in enumerate(decide_stepwise(signs, thresholds), start=1):
            wins = sum(signs[:number])
            above = e_value(wins, number) >= thresholds.e_to_pass
            below = e_value(number - wins, number) >= thresholds.e_to_fail
            assert look.reached == ("above" if above else "below" if below else None)
            assert (look.e_for, look.e_against) == (
                e_value(wins, number), e_value(number - wins, number)
            )  # fmt: skip
