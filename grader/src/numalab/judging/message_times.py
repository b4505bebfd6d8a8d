"""Properties of messages by their times: latency, bandwidth, and the two lines that they are on.
Pure functions.

R. W. Hockney (Parallel Computing 20 (1994)) describes a message of n bytes by t0 + n / B. An MPI
library may send short messages at once (eager) and announce long ones first (rendezvous), so two
lines are fitted, with the change where they fit best.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from numalab.evidence.run_formats import LatencyRun
from numalab.judging.prediction_score import Interval

SMALL_BYTES = 8
# The factor by which even lines through other sizes of the same protocol miss a time; a prediction
# may miss it by as much.
TOLERANCE = 1.05
_LEAST_POINTS = 3  # of a line that is fitted: any two points have a line through them


def latency_us(run: LatencyRun) -> float | None:
    """Return the least time of a message of SMALL_BYTES or less, one way, in us; None where none
    was timed."""
    small = [times for size, times in run.message_us.items() if size <= SMALL_BYTES]
    return min(chain(*small)) if small else None


def bandwidth_mb_s(run: LatencyRun) -> float | None:
    """Return the rate of the largest message by its least time, in MB/s; None where no message was
    timed."""
    if not run.message_us:
        return None
    size = max(run.message_us)
    return size / min(run.message_us[size])


def best_us(run: LatencyRun) -> dict[int, float]:
    """Return the least time of each size in bytes, one way, in us."""
    return {size: min(times) for size, times in run.message_us.items()}


def _line(points: Sequence[tuple[int, float]]) -> tuple[float, float, float]:
    """Fit t0 + n / B to points of n bytes and times in us. Return t0, 1 / B, and the sum of squares
    of the relative errors: each size counts alike, though times differ by factors of a
    thousand."""
    # Least squares of (t0 + n / B) / t = 1.
    columns = [(1 / time, size / time) for size, time in points]
    aa = sum(a * a for a, _ in columns)
    ab = sum(a * b for a, b in columns)
    bb = sum(b * b for _, b in columns)
    a1, b1 = sum(a for a, _ in columns), sum(b for _, b in columns)
    determinant = aa * bb - ab * ab
    t0 = (bb * a1 - ab * b1) / determinant
    slope = (aa * b1 - ab * a1) / determinant
    return t0, slope, sum((t0 * a + slope * b - 1) ** 2 for a, b in columns)


def two_lines_us(best: Mapping[int, float], left_out: Collection[int], size: int) -> list[float]:
    """Return the times that two lines predict for a size, in us.

    The lines are fitted to the least times of all sizes but those left out, split where they fit
    best. A size between the two parts has the times of both lines, any other that of its own.
    Times that are not positive and finite are left out.

    Args:
        best: the least time of each size, in us.
        left_out: the sizes to which no line is fitted.

    Empty where fewer than 2 * _LEAST_POINTS sizes are left.
    """
    points = sorted((n, us) for n, us in best.items() if n not in left_out)
    splits = range(_LEAST_POINTS, len(points) - _LEAST_POINTS + 1)
    if not splits:
        return []
    fits = [(_line(points[:at]), _line(points[at:]), at) for at in splits]
    eager, rendezvous, at = min(fits, key=lambda fit: fit[0][2] + fit[1][2])
    lines = []
    if size < points[at][0]:
        lines.append(eager)
    if size > points[at - 1][0]:
        lines.append(rendezvous)
    said = [t0 + slope * size for t0, slope, _ in lines]
    return [us for us in said if 0 < us < math.inf]


def quartiles(times: Sequence[float]) -> tuple[float, float]:
    """Return the lower and the upper quartile of one or more times."""
    if len(times) < 2:
        return times[0], times[0]
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, high


def best_to_quartile(times: Sequence[float]) -> Interval:
    """Return the interval from the least time to the upper quartile. Raises ValueError where the
    least time is not above 0."""
    return Interval(min(times), max(min(times), quartiles(times)[1]))


def measured(run: LatencyRun, left_out: Collection[int], size: int) -> Interval:
    """Return the interval of a size, in us, within which a prediction scores 1.

    It reaches from the least time to the upper quartile, on to what the two lines through the sizes
    that are not left out predict, and by the factor TOLERANCE beyond. Lines that would score 0 do
    not extend it.
    """
    alone = best_to_quartile(run.message_us[size])
    said = [us for us in two_lines_us(best_us(run), left_out, size) if alone.score(us) > 0]
    return Interval(min([alone.low, *said]) / TOLERANCE, max([alone.high, *said]) * TOLERANCE)
