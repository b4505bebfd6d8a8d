"""What control groups leave two programs of numalab's own, a job and one that requests everything:
observed from outside, on a virtual machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.run_formats import GroupProgram, GroupRefusal, Outcome

JOB, OTHERS = "job", "others"


@dataclass(frozen=True)
class GroupedProgram:
    """A program in its control group.

    Attributes:
        ran_on: PUs that its threads were observed on.
        pages_at_first: pages by NUMA node that it wrote before there were groups, -1 for absent
            ones; None, as for the next two: it did not come to that, or the system does not tell.
        pages_later: the same pages in the end.
        pages_new: pages that it wrote later.
        partition: cpuset.cpus.partition of the group in the end; None: it can't be read.
    """

    group: str
    threads: int
    allowed_pus: frozenset[int]
    allowed_nodes: frozenset[int]
    ran_on: frozenset[int]
    pages_at_first: Mapping[int, int] | None
    pages_later: Mapping[int, int] | None
    pages_new: Mapping[int, int] | None
    partition: str | None

    @property
    def pages(self) -> dict[int, int] | None:
        """Return all pages by NUMA node in the end; None: they are not known."""
        if self.pages_later is None or self.pages_new is None:
            return None
        nodes = self.pages_later.keys() | self.pages_new.keys()
        return {
            node: self.pages_later.get(node, 0) + self.pages_new.get(node, 0)
            for node in sorted(nodes)
        }


@dataclass(frozen=True)
class Cpusets:
    """A run of both programs. file: name of the file that sets up the groups; programs: by their
    groups."""

    part: str | None
    outcome: Outcome
    file: str
    refusals: tuple[GroupRefusal, ...]
    programs: Mapping[str, GroupedProgram]

    @property
    def job(self) -> GroupedProgram:
        return self.programs[JOB]

    @property
    def others(self) -> GroupedProgram:
        return self.programs[OTHERS]


def share_on(pages: Mapping[int, int], nodes: Iterable[int]) -> float:
    """Return the share of pages that are on some NUMA nodes; 0 if there are no pages."""
    return sum(pages.get(node, 0) for node in nodes) / max(1, sum(pages.values()))


def _pages(entries: Sequence[tuple[int, int]] | None) -> dict[int, int] | None:
    return None if entries is None else dict(entries)


def read_program(program: GroupProgram) -> GroupedProgram:
    return GroupedProgram(
        group=program.group,
        threads=program.threads,
        allowed_pus=frozenset(program.allowed_pus),
        allowed_nodes=frozenset(program.allowed_numa_nodes),
        ran_on=frozenset(program.ran_on_pus),
        pages_at_first=_pages(program.pages_at_first),
        pages_later=_pages(program.pages_of_first_half),
        pages_new=_pages(program.pages_of_second_half),
        partition=program.partition,
    )
