"""Pictures of where threads and ranks sit under the files that were handed in, and of where a
kernel said that its threads were."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from numalab import words
from numalab.evidence.record import Seen
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.reports.comparison import SeatSight, seat_sights, told_sights
from numalab.reports.thread_map import Style, thread_map, thread_maps


def _lines(lab: Lab, sight: SeatSight, columns: int, style: Style) -> list[Text]:
    named = words.ranks if lab.mpi else words.threads
    node = sight.evidence.node
    if sight.compared is None:
        return thread_map(node, sight.drawn, columns, style, named)
    teams = list(zip(sight.heads, (sight.drawn, sight.compared), strict=True))
    return thread_maps(node, teams, columns, style, named)


def placement_pictures(
    lab: Lab, verdict: Verdict, seen: Seen, columns: int, style: Style
) -> Iterator[tuple[str, bool, list[Text]]]:
    """What is drawn, whether the goal is reached, and the lines."""
    for sight in (*told_sights(lab, verdict, seen), *seat_sights(lab, seen)):
        yield sight.title, sight.misplaced == 0, _lines(lab, sight, columns, style)


def legend(lab: Lab) -> str:
    """What the characters of the pictures mean."""
    what = "rank" if lab.mpi else "thread"
    return f"[ ] a core, a character a PU: {what}; . nobody; + several; - as to its left"
