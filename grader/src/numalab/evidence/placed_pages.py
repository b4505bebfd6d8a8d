"""Pages by NUMA node of memory that a kernel or a program's policy has placed, as observed from
outside the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.read_parts import expand
from numalab.evidence.run_formats import (
    ELEMENT_BYTES,
    FilledNode,
    Outcome,
    PlacingRun,
    ResultsRecord,
)


@dataclass(frozen=True)
class Fill:
    """A matrix that a kernel has to place on a NUMA node with too little free memory.

    Attributes:
        free_bytes: free memory of the NUMA node before.
        pages: pages of the matrix by NUMA node, -1 for absent ones; None: the kernel did not come
            to its end, or the system does not tell.
    """

    numa_node: int
    free_bytes: int
    pages: Mapping[int, int] | None


@dataclass(frozen=True)
class Placing:
    """A run that observes where memory was placed.

    Attributes:
        n: elements of each array.
        thread_nodes: NUMA node on which each thread of the team ran before anything was placed;
            empty: it did not come to that.
        bound_nodes: NUMA node that each thread of the process may run on, as observed last; -1:
            several, or unknown.
        policies_before, policies_after: memory policy of each thread, for an array that nobody
            places.
        homes: by array, the NUMA node of each page, -1 for an absent one; None: it did not come to
            that, or the system does not tell.
        fill: None where no NUMA node was filled.
        fastest_node: NUMA node with the most bandwidth for the first thread; None: unknown.
        refused_nodes: NUMA nodes of a policy file that the machine lacks; empty: none.
        file: the policy file; empty: the kernel places its memory itself.
    """

    part: str | None
    outcome: Outcome
    results: ResultsRecord
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
        """Return the NUMA nodes that the team runs on, in order."""
        return tuple(sorted(set(self.thread_nodes)))

    def thread_of_page(self, page: int, pages: int) -> int | None:
        """Return the thread whose part of an array a page is, where a loop over the array is
        divided into equal parts; None: several threads share the page. Arrays end with a page."""
        threads, of_page = len(self.thread_nodes), self.page_bytes // ELEMENT_BYTES
        before = pages * of_page - self.n
        first = max(0, page * of_page - before)
        last = (page + 1) * of_page - before - 1
        owners = {owner_of(element, self.n, threads) for element in (first, last)}
        return owners.pop() if len(owners) == 1 else None

    def local_shares(
        self, array: str, owner: Callable[[int, int], int] = lambda part, _: part
    ) -> dict[int, float]:
        """Return, by part of an array, the share of the pages it shares with no other part that are
        on its thread's NUMA node. A part without such pages is left out.

        Args:
            owner: maps (part, number of parts) to the part's thread.
        """
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
    """Return the thread that an element belongs to under schedule(static): the first n mod threads
    threads have one element more."""
    each, more = divmod(n, threads)
    if element < more * (each + 1):
        return element // (each + 1)
    return more + (element - more * (each + 1)) // each


def homes_of_runs(homes: Sequence[int], pages: int) -> list[int]:
    """Return the NUMA node of each whole run of `pages` pages, the first of which begins with the
    array; -1 where its pages are on several, or absent."""
    starts = range(0, len(homes) - pages + 1, pages)
    return [homes[at] if homes[at : at + pages].count(homes[at]) == pages else -1 for at in starts]


def alternating_share(homes: Sequence[int], nodes: Sequence[int]) -> float:
    """Return the share of stretches, as many pages long as there are nodes, with a page on each; 0
    where there are fewer pages."""
    length, all_nodes = len(nodes), frozenset(nodes)
    stretches = len(homes) - length + 1
    if stretches < 1:
        return 0.0
    good = sum(all_nodes == frozenset(homes[at : at + length]) for at in range(stretches))
    return good / stretches


def read_placing(run: PlacingRun) -> Placing:
    homes = {entry.array: expand(entry.numa_node) for entry in run.residency or ()}
    return Placing(
        part=run.part,
        outcome=run.outcome,
        results=run.results,
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
