"""Where a kernel, or a policy that is handed in, is to place memory. In lab 05 a table is in turn
on all NUMA nodes that threads run on, and a part of the blocks with the thread of its number. A
variant's table goes to some of these nodes, in runs of pages, its blocks to other threads, and the
table of a program that is not changed to nodes by their numbers. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# Of the NUMA nodes that threads run on, in order.
NODES: Mapping[str, Callable[[Sequence[int]], Sequence[int]]] = {
    "all": lambda nodes: nodes,
    "upper_half": lambda nodes: nodes[len(nodes) - len(nodes) // 2 :],
    "but_lowest": lambda nodes: nodes[1:],
    "every_second": lambda nodes: nodes[1::2],
}

# The thread that a part of an array belongs to, of as many threads as there are parts.
OWNERS: Mapping[str, Callable[[int, int], int]] = {
    "same": lambda part, parts: part,
    "reversed": lambda part, parts: parts - 1 - part,
    "next": lambda part, parts: (part + 1) % parts,
    "previous": lambda part, parts: (part - 1) % parts,
    "half_on": lambda part, parts: (part + parts // 2) % parts,
}

# NUMA nodes that a policy file's table is to be in turn on, by its goal; None: all with processors,
# and of the others those that it names.
POLICY_NODES: Mapping[str, tuple[int, ...] | None] = {
    "interleaved": None,
    "interleaved_on_0_and_1": (0, 1),
    "on_node_1": (1,),
}


@dataclass(frozen=True)
class PlacingGoal:
    """nodes: of NODES, that the table goes to; run_pages: of it that lie together on each; owner:
    of OWNERS, whose each part of the blocks is."""

    nodes: str = "all"
    run_pages: int = 1
    owner: str = "same"

    def nodes_of(self, team: Sequence[int]) -> tuple[int, ...]:
        """team: the NUMA nodes that threads run on, in order."""
        return tuple(NODES[self.nodes](team))


LAB_PLACING = PlacingGoal()
