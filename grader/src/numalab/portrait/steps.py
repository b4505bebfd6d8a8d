"""Where a latency curve rises, and whether hwloc's caches lie there. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from numalab.evidence.record import Json
from numalab.portrait.record import Curve, Point

LEAST_RISE = 1.25  # of the median, from one size to the next
NOT_SHOWN_FROM = 2  # a cache has to fit into the largest table so often


@dataclass(frozen=True)
class Step:
    """The curve rises between these sizes, which are next to each other, more than around them."""

    from_bytes: int
    to_bytes: int
    rise: float

    def fits(self, cache_bytes: int) -> bool:
        """A table that just fits beside what else is in a cache is smaller than it: up to half."""
        return self.from_bytes / 2 <= cache_bytes <= self.to_bytes


def _is_apart(lower: Point, upper: Point) -> bool:
    """More than processes differ."""
    return lower.ns.interval.high < upper.ns.interval.low


def steps_of(points: Sequence[Point]) -> list[Step]:
    """Where a rise by a quarter or more is larger than those before and behind it. points: in order
    of their sizes. The curve alone decides, so that hwloc's sizes can be held against it."""
    rises = [
        upper.ns.median / lower.ns.median if _is_apart(lower, upper) else 1.0
        for lower, upper in pairwise(points)
    ]
    found = []
    for place, rise in enumerate(rises):
        before = rises[place - 1] if place else 1.0
        behind = rises[place + 1] if place + 1 < len(rises) else 1.0
        if rise >= LEAST_RISE and rise > before and rise >= behind:
            found.append(Step(points[place].table_bytes, points[place + 1].table_bytes, rise))
    return found


@dataclass(frozen=True)
class CacheCheck:
    """What hwloc tells of a level, and what the curve shows. step: that which fits best; None: no
    step fits. is_shown: whether the tables are large enough to show one."""

    level: str
    cache_bytes: int
    step: Step | None
    is_shown: bool


def cache_checks(node: Json, curve: Curve) -> tuple[list[CacheCheck], list[Step]]:
    """Each level of data caches, and the steps that none of them explains."""
    left = steps_of(curve.points)
    largest = curve.points[-1].table_bytes if curve.points else 0
    checks = []
    for cache in node["caches"]:
        size = int(cache["bytes_each"])
        fitting = [step for step in left if step.fits(size)]
        step = min(
            fitting,
            key=lambda one: abs(math.log(one.from_bytes * math.sqrt(2) / size)),
            default=None,
        )
        if step:
            left.remove(step)
        checks.append(CacheCheck(cache["level"], size, step, largest >= NOT_SHOWN_FROM * size))
    return checks, left
