"""Rules for "at least 1.1 times as fast" that are in use elsewhere. Pure functions: the times of
both sides in, seconds each, the verdict out. How often each is wrong is for trials.py."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

Verdict = Literal["pass", "fail", "undecided"]
Rule = Callable[[Sequence[float], Sequence[float]], Verdict]

# How many times as fast as the reference the candidate is asked to be.
ASKED_RATIO = 1.1

# With more repetitions a side the U-test takes the normal distribution, as SciPy does.
MOST_EXACT = 20
SIGNIFICANCE = 0.05


def _by(ratio: float, asked: float = ASKED_RATIO) -> Verdict:
    """These rules know no third answer."""
    return "pass" if ratio > asked else "fail"


def means(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Mean against mean."""
    return _by(statistics.fmean(reference_s) / statistics.fmean(candidate_s))


def medians(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Median against median."""
    return _by(statistics.median(reference_s) / statistics.median(candidate_s))


def minima(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Minimum against minimum."""
    return _by(min(reference_s) / min(candidate_s))


def gain_of_two_percent(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Passes who is more than 2 % faster in the mean. So that its true gain is as far from
    what is asked for as that of the other rules, the reference's times are divided by 1.1: at
    true ratios of 1.0, 1.2 and 1.5 the candidate gains -9, 9 and 36 %."""
    scaled_s = statistics.fmean(reference_s) / ASKED_RATIO
    return _by(scaled_s / statistics.fmean(candidate_s), 1.02)


def median_of_pairs(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Median of the ratios of neighbours."""
    pairs = zip(reference_s, candidate_s, strict=True)
    return _by(statistics.median(reference / candidate for reference, candidate in pairs))


def u_test(reference_s: Sequence[float], candidate_s: Sequence[float]) -> Verdict:
    """Mann and Whitney's test, one-sided at 5 % in both directions, of the candidate's times
    multiplied by 1.1 against the reference's."""
    asked_s = [ASKED_RATIO * time_s for time_s in candidate_s]
    if u_test_p(asked_s, reference_s) < SIGNIFICANCE:
        return "pass"
    if u_test_p(reference_s, asked_s) < SIGNIFICANCE:
        return "fail"
    return "undecided"


def u_test_p(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability, were both alike, of so many pairs in which the first is the greater or
    of fewer: small where the first tends to be smaller.

    Source: H. B. Mann, D. R. Whitney, Ann. Math. Statist. 18 (1947) 50. Exact up to 20 times a
    side and without ties, else by the normal distribution with continuity correction.
    """
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    is_tied = any(a[0] == b[0] for a, b in pairwise(ranked))
    sizes = len(first), len(second)
    if is_tied:
        greater = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    else:
        ranks = sum(rank for rank, (_, side) in enumerate(ranked, start=1) if side == 0)
        greater = float(ranks - sizes[0] * (sizes[0] + 1) // 2)
    if max(sizes) <= MOST_EXACT and not is_tied:
        counts = u_counts(*sizes)
        return sum(counts[: int(greater) + 1]) / sum(counts)
    mean = sizes[0] * sizes[1] / 2
    deviation = math.sqrt(sizes[0] * sizes[1] * (sum(sizes) + 1) / 12)
    return 0.5 * math.erfc((mean - greater - 0.5) / (deviation * math.sqrt(2)))


@cache
def u_counts(first: int, second: int) -> tuple[int, ...]:
    """In how many orders of first + second times u pairs have the first greater, for u from 0
    on. The greatest of all times is one of the first, greater than all second, or not."""
    if first == 0 or second == 0:
        return (1,)
    counts = [0] * (first * second + 1)
    for u, count in enumerate(u_counts(first - 1, second)):
        counts[u + second] += count
    for u, count in enumerate(u_counts(first, second - 1)):
        counts[u] += count
    return tuple(counts)


@dataclass(frozen=True)
class OtherRule:
    """repetitions: of each side, as it is used elsewhere. is_paired: both sides' repetitions
    take turns; else all of the candidate's come before all of the reference's."""

    name: str
    judge: Rule
    repetitions: int
    is_paired: bool = False


OTHER_RULES = (
    OtherRule("mean", means, 5),
    OtherRule("median", medians, 5),
    OtherRule("minimum", minima, 3),
    OtherRule("U-test, p < 0.05", u_test, 9),
    OtherRule("mean gain > 2 %", gain_of_two_percent, 1),
    OtherRule("median of pairs", median_of_pairs, 15, is_paired=True),
)

# Both sides of a pair ran at once.
DUET_RULE = OtherRule("duet: median of pairs", median_of_pairs, 15, is_paired=True)
