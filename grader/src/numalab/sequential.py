"""Deciding by signs: a one-sided betting e-process.

Each generation of processes gives one sign for a timing criterion: +1 where it speaks
for the claim, -1 where it does not. Under the null hypothesis that the claim is false, a
sign is +1 with probability at most 1/2, whatever came before. A gambler who stakes a
share s of her capital on +1 multiplies it by 1+s or 1-s; under the null her capital is a
nonnegative supermartingale that starts at 1. The e-value is the capital averaged over
all stakes s in [0, 1], that is over win probabilities p = (1+s)/2 in [1/2, 1]:

    E(k, n) = 2^n * 2 * integral over p from 1/2 to 1 of p^k (1-p)^(n-k)

for k signs +1 among n. By Ville's inequality it ever reaches 1/alpha with probability at
most alpha under the null, so one may look after every generation and stop when one likes.

Source: G. Shafer, "Testing by betting", J. R. Stat. Soc. A 184 (2021); A. Ramdas et al.,
"Game-theoretic statistics and safe anytime-valid inference", Statistical Science (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal


@cache
def e_value(wins: int, count: int) -> float:
    """Evidence that a win has probability above 1/2, from wins among count signs.

    The integral is a binomial tail: 2^(n+1) B(k+1, n-k+1) P(X <= k), where X is
    binomial(n+1, 1/2).
    """
    if not 0 <= wins <= count:
        raise ValueError(f"{wins} wins among {count} signs")
    tail = sum(math.comb(count + 1, i) for i in range(wins + 1))  # out of 2^(n+1)
    # B(k+1, n-k+1) = 1 / ((n+1) * comb(n, k))
    return tail / ((count + 1) * math.comb(count, wins))


@dataclass(frozen=True)
class Thresholds:
    """e-values at which a claim is taken as shown, or its opposite."""

    to_pass: float
    to_fail: float


CAREFUL = Thresholds(to_pass=100.0, to_fail=1000.0)  # alpha 0.01 and 0.001
QUICK = Thresholds(to_pass=20.0, to_fail=20.0)  # alpha 0.05 both ways


@dataclass(frozen=True)
class Decision:
    """What a sequence of signs has shown; it may have shown it before its end."""

    status: Literal["pass", "fail", "undecided"]
    signs: int  # how many were looked at
    wins: int
    e_for: float
    e_against: float


def decide(signs: Sequence[bool], thresholds: Thresholds) -> Decision:
    """Looks after each sign and stops at the first that decides."""
    wins = 0
    decision = Decision("undecided", 0, 0, 1.0, 1.0)
    for count, sign in enumerate(signs, start=1):
        wins += sign
        e_for, e_against = e_value(wins, count), e_value(count - wins, count)
        status: Literal["pass", "fail", "undecided"] = "undecided"
        if e_for >= thresholds.to_pass:
            status = "pass"
        elif e_against >= thresholds.to_fail:
            status = "fail"
        decision = Decision(status, count, wins, e_for, e_against)
        if status != "undecided":
            return decision
    return decision
