"""What a repetition takes under the launches that a lab compares, as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.record import HANDOUT, SOLUTION, SUBMISSION, Evidence, Generation
from numalab.judging.timing_state import best_s, complete
from numalab.labs.declaration import Lab

_ROLES = (HANDOUT, SUBMISSION, SOLUTION)
_WHOSE = {"submission": "yours", "handout": "the handout's", "solution": "the solution's"}


def duration(seconds: float) -> str:
    """In the unit that reads best, with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def _median_s(generations: Iterable[Generation], role: str) -> str:
    """Of those that were cut, what they took at least."""
    taken = list(generations)
    is_cut = sum(role in generation.cut for generation in taken) > len(taken) / 2
    middle = duration(statistics.median(best_s(generation, role) for generation in taken))
    return f"over {middle}" if is_cut else middle


@dataclass(frozen=True)
class LaunchTimes:
    """rows: a launch and what it took, as heads say; note: what the times are medians of."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def times_of_launches(lab: Lab, evidence: Evidence) -> LaunchTimes | None:
    """A row for each of the kit's slow launches that was timed."""
    timed = complete(evidence, _ROLES)
    slow = [name for name in dict.fromkeys(g.slow for g in timed) if name is not None]
    if not slow:
        return None
    rows = []
    for name in slow:
        of_launch = [generation for generation in timed if generation.slow == name]
        rows.append((name, *(_median_s(of_launch, role) for role in _ROLES)))
    return LaunchTimes(
        f"{words.first_upper(lab.repetition)} takes, median",
        ("this launch", _WHOSE[evidence.variant], "the kit's"),
        tuple(rows),
        f"{words.count(len(timed), 'generation')}, n = {timed[0].n:,}",
    )


def launch_times(lab: Lab, evidence: Evidence) -> Table | None:
    """The same for a terminal."""
    found = times_of_launches(lab, evidence)
    if found is None:
        return None
    table = Table.grid(padding=(0, 3))
    heads = (Text(name, style="bold", justify="right") for name in found.heads)
    table.add_row(Text(found.title, style="bold"), *heads)
    for name, *times in found.rows:
        table.add_row(f"  {name}", *(Text(time, justify="right") for time in times))
    table.add_row(Text(f"  ({found.note})", style="dim"))
    return table
