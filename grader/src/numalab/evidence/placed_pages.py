"""Where memory is that a kernel has placed, or a program's policy: pages by NUMA node, seen from
outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.read_parts import expand, read_outcome, read_results
from numalab.evidence.results import ComparedRun
from numalab.evidence.run_formats import ELEMENT_BYTES, FilledNode, PlacingRun


@dataclass(frozen=True)
class Fill:
    """A matrix that is handed to a NUMA node with too little room. free_bytes: of the node, before;
    pages: of the matrix by NUMA node, -1 for absent ones; None: the kernel did not come to its end,
    or the system does not tell."""

    numa_node: int
    free_bytes: int
    pages: Mapping[int, int] | None


@dataclass(frozen=True)
class Placing(ComparedRun):
    """n: elements of each array; thread_nodes: NUMA node that each thread of the team ran on when
    nothing was placed yet, empty: it did not come to that; bound_nodes: that each thread of the
    process may run on in the end, -1: several. policies_before, policies_after: of each thread, for
    an array that nobody places; homes: NUMA node of each page of these arrays, -1: absent; None:
    the system does not tell. fill: None where no node was filled. fastest_node: with the most
    bandwidth for the first thread, None: nobody tells. refused_nodes: of a policy file, which the
    machine lacks; file: which it was."""

    n: int
    page_bytes: int
    thread_nodes: tuple[int, ...]
    bound_nodes: tuple[int, ...]
    policies_before: tuple[str | None, ...]
    policies_after: tuple[str | None, ...]
    homes: Mapping[str, tuple[int, ...]] | None
    fill: Fill | None
    fastest_node: int | None
    refused_nodes: str
    file: str

    @property
    def nodes(self) -> tuple[int, ...]:
        """That the team runs on, in order."""
        return tuple(sorted(set(self.thread_nodes)))

    def thread_of_page(self, page: int, pages: int) -> int | None:
        """Whose part of an array a page is, where a loop over it is shared out in equal parts; None
        of one that two share. Arrays end with a page."""
        threads, of_page = len(self.thread_nodes), self.page_bytes // ELEMENT_BYTES
        before = pages * of_page - self.n
        first = max(0, page * of_page - before)
        last = (page + 1) * of_page - before - 1
        owners = {owner_of(element, self.n, threads) for element in (first, last)}
        return owners.pop() if len(owners) == 1 else None

    def local_shares(
        self, array: str, owner: Callable[[int, int], int] = lambda part, _: part
    ) -> dict[int, float]:
        """Of each part of an array the pages on its thread's NUMA node; owner: the thread of a
        part, of so many."""
        assert self.homes is not None
        homes = self.homes[array]
        local: dict[int, list[bool]] = {}
        for page, home in enumerate(homes):
            part = self.thread_of_page(page, len(homes))
            if part is not None:
                thread = owner(part, len(self.thread_nodes))
                local.setdefault(part, []).append(home == self.thread_nodes[thread])
        return {part: sum(found) / len(found) for part, found in local.items()}


def owner_of(element: int, n: int, threads: int) -> int:
    """By schedule(static): the first n mod threads of them have one more."""
    each, more = divmod(n, threads)
    if element < more * (each + 1):
        return element // (each + 1)
    return more + (element - more * (each + 1)) // each


def homes_of_runs(homes: Sequence[int], pages: int) -> list[int]:
    """Of each whole run of so many pages, the first of which begins with the array, where it lives;
    -1 where that is not one place."""
    starts = range(0, len(homes) - pages + 1, pages)
    return [homes[at] if homes[at : at + pages].count(homes[at]) == pages else -1 for at in starts]


def in_turn_share(homes: Sequence[int], nodes: Sequence[int]) -> float:
    """Of all stretches of as many pages as there are nodes, those with a page on each of them."""
    length, wanted = len(nodes), frozenset(nodes)
    stretches = len(homes) - length + 1
    if stretches < 1:
        return 0.0
    good = sum(wanted == frozenset(homes[at : at + length]) for at in range(stretches))
    return good / stretches


def read_placing(run: PlacingRun) -> Placing:
    homes = {entry.array: expand(entry.numa_node) for entry in run.residency or ()}
    return Placing(
        part=run.part,
        outcome=read_outcome(run.outcome),
        results=read_results(run.results),
        n=run.n,
        page_bytes=run.page_bytes,
        thread_nodes=tuple(run.thread_nodes or ()),
        bound_nodes=tuple(thread.numa_node for thread in run.threads),
        policies_before=tuple(run.policies_before or ()),
        policies_after=tuple(run.policies_after or ()),
        homes=None if run.residency is None else homes,
        fill=None if run.fill is None else _fill(run.fill),
        fastest_node=run.fastest_node,
        refused_nodes=run.refused_nodes or "",
        file=run.file,
    )


def _fill(record: FilledNode) -> Fill:
    pages = None if record.pages is None else dict(record.pages)
    return Fill(record.numa_node, record.free_bytes, pages)
