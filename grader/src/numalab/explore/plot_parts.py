"""What the pictures of all explorations share.

Colours are Okabe and Ito's, which the colour-blind can tell apart; markers tell the same.
Error bars are the intervals of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numalab.explore.intervals import Interval
from numalab.palette import BLUE, GREEN, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"))
SIDESTEP = 0.16  # between the points of one place on the x axis


def draw_bars(axes: Axes, xs: Sequence[float], found: Sequence[Interval], **style: Any) -> None:
    """Medians with their intervals. style: matplotlib's, of errorbar."""
    if not xs:
        return
    below = [interval.median - interval.low for interval in found]
    above = [interval.high - interval.median for interval in found]
    axes.errorbar(xs, [interval.median for interval in found], yerr=[below, above], **style)
