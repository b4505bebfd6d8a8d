"""Pictures of where threads and ranks sit under the files that were handed in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from numalab import explain, launch_goals, placement
from numalab.lab import HandedFile, Lab
from numalab.record import Evidence, Thread
from numalab.thread_map import Style, thread_map

Seen = Sequence[tuple[str, Evidence]]  # places and their evidence


@dataclass(frozen=True)
class _Sight:
    """What a file led to at a place. drawn: threads, or ranks, each for all of its threads."""

    where: str
    evidence: Evidence
    what: str  # file and runtime
    drawn: Sequence[Thread]
    misplaced: int


def _sights(lab: Lab, wanted: HandedFile, seen: Seen) -> Iterator[_Sight]:
    needed = min(c.needs_numa_nodes for c in lab.criteria if c.file == wanted)
    for where, evidence in seen:
        node = evidence.node
        for run in evidence.bindings:
            if run.file == wanted.name and run.outcome.ok:
                found = placement.reached(wanted.goal, run.threads, run.team, node)
                what = f"{wanted.name} on {_place(where)}, {run.runtime}"
                yield _Sight(where, evidence, what, run.threads, found.misplaced)
        for job in evidence.launches:
            if evidence.numa_nodes < needed:
                continue  # near and far are the same there
            if job.file == wanted.name and job.outcome.ok and job.refused is None:
                found = launch_goals.reached(wanted.goal, job.ranks, job.team, node)
                drawn = [
                    Thread(rank.number, thread.allowed_pus, -1, -1, -1)
                    for rank in job.ranks
                    for thread in rank.threads[: job.team]
                ]
                what = f"{wanted.name} on {_place(where)}"
                yield _Sight(where, evidence, what, drawn, found.misplaced)


def _place(where: str) -> str:
    return "this node" if where == "here" else where


def placement_pictures(
    lab: Lab, seen: Seen, columns: int, style: Style
) -> Iterator[tuple[str, bool, list[Text]]]:
    """For each file where it led on the first place at which it misses its goal, or else on
    the first: what is drawn, whether the goal is reached, and the lines."""
    for wanted in lab.files:
        found = list(_sights(lab, wanted, seen))
        shown = [one for one in found if one.where != "here"] or found
        worst = max(shown, key=lambda one: one.misplaced > 0, default=None)
        if worst is None:
            continue
        named = explain.ranks if wanted.kind == "launch" else explain.threads
        lines = thread_map(worst.evidence.node, worst.drawn, columns, style, named)
        yield worst.what, worst.misplaced == 0, lines


def legend(lab: Lab) -> str:
    """What the characters of the pictures mean."""
    what = "rank" if lab.mpi else "thread"
    same = "the same" if lab.mpi else "the thread before"
    return f"[ ] a core, a character a PU: {what}; . nobody; - {same}; + several"
