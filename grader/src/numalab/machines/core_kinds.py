"""Which cores of a machine are unlike, from what hwloc tells of kinds of cores.

hwloc makes a kind of all cores with the same facts. Cores that differ in their highest frequency
by less than a quarter, as those do that a processor favours, are not unlike here. What tells most
comes first: Intel's names of cores, Linux's capacities, highest frequencies, and hwloc's own ranks
where there is none of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from numalab.machines.hwloc_export import CoreKind
from numalab.machines.machine_file import LONGEST_KIND
from numalab.strangers.visible import shown

APART = 1.25  # the least quotient of capacities or highest frequencies of unlike cores
_TYPES = {"IntelCore": "performance", "IntelAtom": "efficiency"}
_POWERS = ("LinuxCapacity", "FrequencyMaxMHz")
_RANKS = {2: ("efficiency", "performance"), 3: ("efficiency", "middle", "performance")}


def kinds_of_pus(kinds: Sequence[CoreKind]) -> Mapping[int, str]:
    """The name of the kind of each PU's core; nothing where all are alike or nothing is told."""
    names = _names(kinds)
    if len(set(names)) < 2:
        return {}
    return {pu: name for kind, name in zip(kinds, names, strict=True) for pu in kind.pus}


def _names(kinds: Sequence[CoreKind]) -> Sequence[str]:
    """One for each kind."""
    types = [kind.infos.get("CoreType", "") for kind in kinds]
    if len(set(types)) > 1:
        return [_TYPES.get(one, shown(one)[:LONGEST_KIND]) for one in types]
    for key in _POWERS:
        texts = [kind.infos.get(key, "") for kind in kinds]
        if all(text.isdecimal() and len(text) < 10 for text in texts):
            return _by_rank(_classes([int(text) for text in texts]))
    ranks = [kind.efficiency for kind in kinds]
    order = sorted(set(ranks))
    return [] if -1 in ranks else _by_rank([order.index(rank) for rank in ranks])


def _classes(values: Sequence[int]) -> list[int]:
    """The lowest is 0; of two neighbours that are far apart the higher one is one more."""
    order = sorted(set(values))
    found = {order[0]: 0} if order else {}
    for lower, higher in pairwise(order):
        found[higher] = found[lower] + (higher >= APART * lower)
    return [found[value] for value in values]


def _by_rank(classes: Sequence[int]) -> list[str]:
    count = len(set(classes))
    names = _RANKS.get(count, tuple(f"kind {number}" for number in range(count)))
    return [names[number] for number in classes]
