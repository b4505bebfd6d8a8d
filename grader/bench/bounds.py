"""How large a share can be of which so many were seen."""

from __future__ import annotations

import math

import numpy as np


def upper_bound(found: int, count: int, error: float = 0.05) -> float:
    """One-sided upper bound for a share, 95 % unless told, found of count having been seen: the
    share at which to find so many or fewer has probability error.

    Source: C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404.
    """
    if not 0 <= found <= count or count == 0:
        raise ValueError(f"{found} found among {count}")
    if found == count:
        return 1.0
    happened = np.arange(found + 1)
    whole = math.lgamma(count + 1)
    log_choices = np.array(
        [whole - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in range(found + 1)]
    )
    low, high = found / count, 1.0
    for _ in range(40):  # to 1e-12
        share = (low + high) / 2
        logs = log_choices + happened * math.log(share) + (count - happened) * math.log1p(-share)
        if np.exp(logs).sum() >= error:
            low = share
        else:
            high = share
    return high


def lower_bound(found: int, count: int, error: float = 0.05) -> float:
    """One-sided lower bound for a share: at which to find so many or more has probability error."""
    return 1 - upper_bound(count - found, count, error)
