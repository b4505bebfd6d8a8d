"""What times of a chain of loads say, in sentences: what a student is told of the rule `chain`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from numalab import words
from numalab.evidence.record import SOLUTION, SUBMISSION, Generation, Json
from numalab.judging.timing_claims import best_s
from numalab.judging.timing_state import TimingState
from numalab.labs.declaration import Criterion

ELEMENT_BYTES = 8  # of the index that each load brings

WHY_TOO_FAST = (
    "Where each load waits for the one before it, memory sets the pace, and no kernel is faster: "
    "here loads don't wait for one another, or not all steps are taken."
)
WHY_TOO_SLOW = (
    "More is done for each step than to load where it leads, or before the first: what comes "
    "between one load and the next?"
)


def band(criterion: Criterion) -> str:
    """Between which ratios of times it has to be."""
    return f"{criterion.at_least:g} to {criterion.at_most:g}"


def turned(bounds: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """An interval of times from one of speeds."""
    low, high = bounds
    return (None if high is None else 1 / high, None if low is None else 1 / low)


def caches(node: Json, replicates: Sequence[Generation]) -> str:
    """A clause on what was walked through, where this node's caches could hold it; else empty."""
    levels = [cache for cache in node.get("caches", []) if "i" not in str(cache["level"])]
    if not levels:
        return ""
    last = max(levels, key=lambda cache: str(cache["level"]))
    each = int(last["bytes_each"])
    walked = replicates[-1].n * ELEMENT_BYTES
    if walked > each:
        return ""
    return (
        f" One of this node's last-level caches, of {words.amount(each)}, can hold the "
        f"whole chain, {words.amount(walked)}: then these are its times, and not the memory's."
    )


def step_ns(replicate: Generation, role: str) -> float | None:
    """Nanoseconds per step in a role's best repetition; None where nobody has counted steps."""
    steps = replicate.loads_in_chain
    return best_s(replicate, role) / steps * 1e9 if steps else None


def _steps(replicates: Sequence[Generation]) -> str:
    """What a step takes, as a clause; empty where it is not known."""
    found = []
    for role in (SUBMISSION, SOLUTION):
        each = [ns for g in replicates if (ns := step_ns(g, role)) is not None]
        if not each:
            return ""
        found.append(f"{words.short(statistics.median(each))} ns")
    return f"{found[0]} per step, the kit's {found[1]}: "


def measured(
    value: float,
    held: str,
    criterion: Criterion,
    state: TimingState,
    replicates: Sequence[Generation],
) -> tuple[str, str]:
    """What was measured, and what is asked for, as clauses. value: the median ratio of times; held:
    by what interval."""
    is_mostly_cut = sum(state.cut) > len(replicates) / 2
    steps, least = ("", "at least ") if is_mostly_cut else (_steps(replicates), "")
    taken = f"{steps}{least}{words.ratio(value)} times the kit's time (median{held})"
    inside = sum(
        not slow and not fast for slow, fast in zip(state.missed, _floor_missed(state), strict=True)
    )
    return taken, (
        f"{band(criterion)} times is asked for, and reached in {inside} of "
        f"{words.count(len(state.missed), 'generation')}"
    )


def _floor_missed(state: TimingState) -> Sequence[bool]:
    assert state.floor is not None
    return state.floor.missed


def why_failed(state: TimingState) -> str:
    """A sentence on what it comes from."""
    return f" {WHY_TOO_FAST if state.is_too_fast else WHY_TOO_SLOW}"
