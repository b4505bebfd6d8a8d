"""What a repetition takes under the launches that a lab compares, as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from numalab import explain
from numalab.lab import Lab
from numalab.record import HANDOUT, SOLUTION, SUBMISSION, Evidence, Generation
from numalab.timing_rules import best_s, complete

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
    found = list(generations)
    is_cut = sum(role in one.cut for one in found) > len(found) / 2
    middle = duration(statistics.median(best_s(one, role) for one in found))
    return f"over {middle}" if is_cut else middle


def launch_times(lab: Lab, evidence: Evidence) -> Table | None:
    """A line for each of the kit's slow launches that was timed."""
    timed = complete(evidence, _ROLES)
    slow = [one for one in dict.fromkeys(g.slow for g in timed) if one is not None]
    if not slow:
        return None
    table = Table.grid(padding=(0, 3))
    count = explain.count(len(timed), "generation")
    table.add_row(
        Text(f"{explain.first_upper(lab.repetition)} takes, median", style="bold"),
        *(
            Text(name, style="bold", justify="right")
            for name in ("this launch", _WHOSE[evidence.variant], "the kit's")
        ),
    )
    for name in slow:
        of_launch = [one for one in timed if one.slow == name]
        table.add_row(
            f"  {name}",
            *(Text(_median_s(of_launch, role), justify="right") for role in _ROLES),
        )
    table.add_row(Text(f"  ({count}, n = {timed[0].n:,})", style="dim"))
    return table
