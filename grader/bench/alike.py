"""Which of many gradings are alike to the judge, so that one of them has to be judged and not all.

The judge looks at signs, series by series, and each series only up to the look that decides it. So
gradings in which every series was decided at the same generation, on the same side, or was not,
get the same verdict. The looks are taken for all gradings at once here, from the judge's own
e-values; verdicts are the judge's. That they are the same for all that are alike is tested.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sessions import Grading
from worlds import Signs, Times, signs_of

from numalab.evidence.record import HANDOUT, SOLUTION
from numalab.judging.sequential import e_value
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO
from numalab.judging.timing_state import thresholds

Bools = NDArray[np.bool_]


@cache
def _e_values(longest: int) -> NDArray[np.float64]:
    """By the number of signs and of wins among them."""
    table = np.zeros((longest + 1, longest + 1))
    for count in range(longest + 1):
        table[count, : count + 1] = [e_value(wins, count) for wins in range(count + 1)]
    return table


def _since(signs: Bools, unknown: Bools) -> NDArray[np.int64]:
    """How many there were after each generation, behind the last that is not known."""
    count = np.cumsum(signs & ~unknown, axis=1)
    return count - np.maximum.accumulate(np.where(unknown, count, 0), axis=1)


def first_looks(
    wins: Bools, losses: Bools, unknown: Bools, e_to_pass: float, e_to_fail: float
) -> NDArray[np.int64]:
    """Of each grading the look that decided, counted from 1 and negative where it decided against
    the claim; 0: none. All of them gradings x generations."""
    if not wins.shape[1]:
        return np.zeros(len(wins), dtype=np.int64)
    e_values = _e_values(wins.shape[1])
    count = _since(np.ones_like(wins), unknown)
    is_above = e_values[count, _since(wins, unknown)] >= e_to_pass
    is_below = e_values[count, _since(losses, unknown)] >= e_to_fail
    decides = is_above | is_below
    first = decides.argmax(axis=1)
    row = np.arange(len(wins))
    side = np.where(is_above[row, first], 1, -1)
    return np.where(decides[row, first], side * (first + 1), 0)


def alike(grading: Grading, times: Times, cut: Bools) -> NDArray[np.int64]:
    """A row of numbers for each grading, the same where the judge sees the same. times: all that
    were taken; cut: which of the submission's were ended, so that it is known only of those that
    were too slow already."""
    signs = signs_of(grading.criterion, times)
    looks = _looks(grading, signs, cut & ~signs.loss)
    return np.stack([*looks, _is_effect_lost(grading, times)], axis=1)


def _looks(grading: Grading, signs: Signs, unknown: Bools) -> list[NDArray[np.int64]]:
    """At the claim, the effect, the control and how steady the submission is; of the last two only
    the side, since how soon they were decided changes nothing."""
    levels = thresholds(grading.evidence([]))
    none = np.zeros_like(unknown)
    claim = first_looks(signs.win, signs.loss, unknown, levels.e_to_pass, levels.e_to_fail)
    effect = np.zeros_like(claim)
    if grading.criterion.rule == "speedup":
        effect = first_looks(signs.shows, ~signs.shows, none, levels.e_to_pass, levels.e_to_fail)
    before = np.arange(unknown.shape[1]) < grading.least
    is_out = before | np.flip(np.maximum.accumulate(np.flip(unknown, axis=1), axis=1), axis=1)
    control = first_looks(signs.control, ~signs.control, is_out, levels.e_to_pass, levels.e_to_fail)
    unsteady = first_looks(signs.unsteady, ~signs.unsteady, is_out, levels.e_to_fail, math.inf)
    return [claim, effect, np.sign(control), np.sign(unsteady)]


def _is_effect_lost(grading: Grading, times: Times) -> NDArray[np.int64]:
    """Whether the median says so, which is asked where nothing is decided."""
    if grading.criterion.rule != "speedup":
        return np.zeros(len(times[SOLUTION]), dtype=np.int64)
    effect = np.median(times[HANDOUT] / times[SOLUTION], axis=1)
    return (effect < LEAST_HANDOUT_RATIO).astype(np.int64)
