"""Deciding by signs: a betting e-process, and the interval that belongs to it.

**What is claimed.** Each replicate, a round of fresh processes, gives one margin: by which factor
the submission is faster than a pass asks for. The claim is that a margin is above 1 with
probability above 1/2: where all replicates are alike, that the median of the margins is above 1.
Nothing is assumed about their distribution.

**One sign per replicate.** Only whether a margin is above 1 counts. Repetitions inside a
replicate share the luck of its processes, so they are worked into one number there (levels of
repetition: Kalibera and Jones). To use magnitudes would ask for symmetry, which other load breaks.

**Definition.** Under the null hypothesis that the claim is false a sign is +1 with probability
at most 1/2, whatever came before. A gambler who stakes a share s of the capital on +1 multiplies
it by 1+s or 1-s. The e-value is the capital averaged over stakes that are Beta(A, B) distributed
on [0, 1]; for k signs +1 among n

    E(k, n) = integral of (1+s)^k (1-s)^(n-k) s^(A-1) (1-s)^(B-1) ds / Beta(A, B)
            = sum over j of binomial(k, j) Beta(j + A, n - k + B) / Beta(A, B)

The opposite is tested in the same way, with signs of its own: E(losses, n). A loss is a replicate
that speaks against the claim. Where the limit for speaking for it is stricter, a replicate may be
neither.

**A sign that can't be known** makes the count begin anew behind it. To leave out that one alone
would leave out slow replicates: repetitions are cut off when they take too long, and what a pass
requires may have changed since.

**Guarantee.** Under the null the expected capital after the next sign is at most the capital
before it, for each stake and so for their average: a nonnegative supermartingale that starts at
1. By Ville's inequality it ever reaches 1/alpha with probability at most alpha. So one may test
after every replicate, stop at any time, and continue on another day. For one criterion of one
program, graded until it is decided, with no sign that can't be known:

- if in every replicate, whatever came before, the chance of a win is at most 1/2, it is decided
  "above" with probability at most 1/e_to_pass;
- if in every replicate the chance of a loss is at most 1/2, it is decided "below" with
  probability at most 1/e_to_fail.

These probabilities are for each criterion, and for each program that differs. They are about these
very binaries (the addresses of their code are part of them) under the load of these gradings. They
require that neither side gains from what was observed before. What a machine does to one program
and not to the other for many replicates in a row is not drawn anew: then the statement is about
the machine as it was.

**Interval.** The median ratio is above x wherever E counted with the signs "ratio > x" reaches
1/alpha. The ratios that are rejected on neither side are an interval for the median that holds for
all numbers of replicates at once (Howard and Ramdas), with error at most alpha on each side. It is
made of the same e-values.

**Stakes.** A = 2, B = 1/2 favours large stakes: 5, 8 and 11 signs that agree decide at alpha 0.05,
0.01 and 0.001, where a uniform stake takes 7, 9 and 13.

Sources: J. Ville, "Etude critique de la notion de collectif", 1939; G. Shafer, "Testing by
betting", J. R. Stat. Soc. A 184 (2021); A. Ramdas et al., "Game-theoretic statistics and safe
anytime-valid inference", Statistical Science 38 (2023); S. Howard and A. Ramdas, "Sequential
estimation of quantiles with applications to A/B testing and best-arm identification", Bernoulli
28 (2022); T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
"""

from __future__ import annotations

import itertools
import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

STAKE_A, STAKE_B = 2.0, 0.5


# A sum is divided by this power of two before it leaves the range of floating-point numbers; so
# nothing is rounded.
_RESCALE_BITS = 900
# A term below this share of the sum does not change it.
_NOTHING = 2.0**-54
_LARGEST_LOG = math.log(sys.float_info.max)


@cache
def log_e_value(wins: int, count: int) -> float:
    """Return the natural logarithm of e_value. Raises ValueError unless 0 <= wins <= count.

    All terms of the sum are positive, and each follows from the one before by a quotient of small
    numbers; so no digits cancel.
    """
    if not 0 <= wins <= count:
        raise ValueError(f"{wins} wins among {count} signs")
    losses = count - wins
    term = math.prod((STAKE_B + i) / (STAKE_A + STAKE_B + i) for i in range(losses))
    total, bits = term, 0
    for j in range(wins):
        term *= (wins - j) / (j + 1) * (j + STAKE_A) / (j + STAKE_A + losses + STAKE_B)
        total += term
        if term < total * _NOTHING:  # as is each that follows, since they have begun to fall
            break
        if total > 2.0**_RESCALE_BITS:
            term, total = term * 2.0**-_RESCALE_BITS, total * 2.0**-_RESCALE_BITS
            bits += _RESCALE_BITS
    return math.log(total) + bits * math.log(2)


def e_value(wins: int, count: int) -> float:
    """Return the evidence that a win has probability above 1/2, by wins among count signs.

    Infinite where no floating-point number is so large. Raises ValueError as log_e_value does.
    """
    log = log_e_value(wins, count)
    return math.exp(log) if log < _LARGEST_LOG else math.inf


@dataclass(frozen=True)
class Thresholds:
    """The e-values that decide, each the inverse of a risk alpha.

    Attributes:
        e_to_pass: that at which a claim counts as shown.
        e_to_fail: that at which its opposite counts as shown.
        interval: that at which either end of an interval excludes a ratio.
    """

    e_to_pass: float
    e_to_fail: float
    interval: float

    @property
    def confidence(self) -> float:
        """The confidence of the two-sided interval (0 to 1)."""
        return 1 - 2 / self.interval


CAREFUL = Thresholds(
    e_to_pass=100.0, e_to_fail=1000.0, interval=40.0
)  # alpha 0.01, 0.001, 2 x 0.025
QUICK = Thresholds(e_to_pass=20.0, e_to_fail=20.0, interval=20.0)  # alpha 0.05 each


def least_signs(threshold: float) -> int:
    """Return the least number of signs that reach an e-value where all agree."""
    return next(count for count in itertools.count(1) if e_value(count, count) >= threshold)


@dataclass(frozen=True)
class Decision:
    """The decision by a sequence of signs.

    Attributes:
        reached: "above": a win is likelier than not; "below": a loss is; None: neither is shown
            yet.
        signs: the number of signs that count, up to the one that decided.
        wins, losses: how many of these are wins and losses; a sign may be neither.
    """

    reached: Literal["above", "below"] | None
    signs: int
    wins: int
    losses: int

    @property
    def e_for(self) -> float:
        """The e-value for a win being likelier than not."""
        return e_value(self.wins, self.signs)

    @property
    def e_against(self) -> float:
        """The e-value for a loss being likelier than not."""
        return e_value(self.losses, self.signs)

    @property
    def all_agree(self) -> bool:
        """Whether all signs are wins, or all are losses; true where there are none."""
        return self.wins == self.signs or self.losses == self.signs


UNDECIDED = Decision(None, 0, 0, 0)


def _reaches(wins: int, count: int, threshold: float) -> bool:
    """Tell whether an e-value reaches a threshold. It is a mean of likelihood ratios, so it can't
    exceed the largest one, that of the observed share of wins, which is cheap to compute."""
    losses = count - wins
    most = 0.0
    if wins > losses:
        most = wins * math.log(2 * wins / count)
        most += losses * math.log(2 * losses / count) if losses else 0.0
    return most > math.log(threshold) - 1e-6 and e_value(wins, count) >= threshold


def decide_stepwise(
    signs: Sequence[bool | None], thresholds: Thresholds, losses: Sequence[bool] | None = None
) -> list[Decision]:
    """Return the decision after each sign, up to the first that decides; empty: there are no signs.

    Args:
        signs: whether each replicate is a win; None: that can't be known, and the count begins
            anew.
        losses: whether each replicate is a loss, as many as signs; None: each that is no win.
    """
    against = [not sign for sign in signs] if losses is None else losses
    count = wins = lost = 0
    decisions = []
    for sign, loss in zip(signs, against, strict=True):
        if sign is None:
            count = wins = lost = 0
            decisions.append(UNDECIDED)
            continue
        count += 1
        wins += sign
        lost += loss
        reached: Literal["above", "below"] | None = None
        if _reaches(wins, count, thresholds.e_to_pass):
            reached = "above"
        elif _reaches(lost, count, thresholds.e_to_fail):
            reached = "below"
        decisions.append(Decision(reached, count, wins, lost))
        if reached is not None:
            break
    return decisions


def decide(signs: Sequence[bool | None], thresholds: Thresholds) -> Decision:
    """Return the decision by all signs, or by those up to the first that decides."""
    return (decide_stepwise(signs, thresholds) or [UNDECIDED])[-1]


def interval(
    ratios: Sequence[float], thresholds: Thresholds, upper_bounds: Sequence[bool] = ()
) -> tuple[float | None, float | None]:
    """Return the interval of the median ratio, which holds whenever sampling is stopped: the ratios
    that are rejected on neither side. An end is None where it is not bounded yet.

    Args:
        upper_bounds: whether each ratio is an upper bound, and so bounds nothing from below; empty:
            none is.
    """
    size = len(ratios)
    count = _least_wins(size, thresholds.interval)
    if count is None:
        return None, None
    cuts = upper_bounds or [False] * size
    from_below = [-math.inf if cut else r for r, cut in zip(ratios, cuts, strict=True)]
    low = sorted(from_below)[size - count]
    return (low if low > -math.inf else None), sorted(ratios)[count - 1]


def _least_wins(count: int, threshold: float) -> int | None:
    """Return the fewest wins among count signs whose e-value reaches the threshold; None where
    not even all do. An e-value grows with its wins."""
    wins = bisect_left(range(count + 1), threshold, key=lambda wins: e_value(wins, count))
    return wins if wins <= count else None
