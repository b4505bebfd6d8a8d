"""Findings, which `doctor` reports, and the criteria that each concerns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from numalab.evidence.kinds import PLACING
from numalab.judging.page_rules import local_pages
from numalab.judging.rules import reads
from numalab.labs.declaration import Criterion, Lab

FindingLevel = Literal["good", "note", "bad", "unknown"]
# Names of criteria by lab.
Concerns = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Finding:
    """What was observed on a topic, and what it means.

    Attributes:
        level: "unknown" where nothing is known.
        means: what it means for the labs.
        remedy: what changes it, in words; may be empty.
        command: a command that changes it; may be empty.
        concerns: names of criteria by lab.
    """

    topic: str
    level: FindingLevel
    observed: str
    means: str
    remedy: str = ""
    command: str = ""
    concerns: Concerns = field(default_factory=dict)

    def json_data(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "level": self.level,
            "found": self.observed,
            "means": self.means,
            "remedy": self.remedy,
            "command": self.command,
            "concerns": {lab: list(names) for lab, names in self.concerns.items()},
        }


def concerned(labs: Iterable[Lab], is_meant: Callable[[Lab, Criterion], bool]) -> Concerns:
    """Return the names of the criteria of each lab that are meant; labs without any are left
    out."""
    found = {lab.name: tuple(c.name for c in lab.criteria if is_meant(lab, c)) for lab in labs}
    return {lab: names for lab, names in found.items() if names}


def timing_concerns(labs: Iterable[Lab]) -> Concerns:
    """Return the criteria of time."""
    return concerned(labs, lambda lab, c: c.kind == "timing")


def _shows_place_of_pages(criterion: Criterion) -> bool:
    return reads(criterion, PLACING) or local_pages.judges(criterion)


def placement_concerns(labs: Iterable[Lab]) -> Concerns:
    """Return the criteria that depend on the NUMA node that pages are on, by residency or, where
    they need several NUMA nodes, by time."""
    return concerned(
        labs,
        lambda lab, c: _shows_place_of_pages(c) or (c.kind == "timing" and c.needs_numa_nodes > 1),
    )


def huge_page_concerns(labs: Iterable[Lab]) -> Concerns:
    return concerned(labs, lambda lab, c: bool(c.needs_huge_page_mode))


def is_timed_on_cores(lab: Lab, criterion: Criterion) -> bool:
    """Tell whether a criterion is of time, in a lab whose environment has OMP_PLACES=cores."""
    return criterion.kind == "timing" and lab.environment.get("OMP_PLACES") == "cores"


def core_concerns(labs: Iterable[Lab]) -> Concerns:
    return concerned(labs, is_timed_on_cores)


def concern_words(concerns: Concerns, labs: Iterable[Lab]) -> str:
    """Return criteria by the number of their lab, as in "01 speedup, efficiency; 04 speedup", or in
    a few words where they are those of time or all of the labs; empty where there are none."""
    labs = list(labs)
    if not concerns:
        return ""
    if concerns == timing_concerns(labs):
        return "all that is graded by time"
    if concerns == concerned(labs, lambda lab, c: True):
        return "all labs"
    return "; ".join(f"{lab.split('_')[0]} {', '.join(names)}" for lab, names in concerns.items())
