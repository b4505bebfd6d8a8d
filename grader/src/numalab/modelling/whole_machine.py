"""Traffic that was seen on a machine with fewer cores, as it would be on all of it. Pure functions.

A virtual node often has fewer cores on a NUMA node than its machine. Where every one of them works,
a team with a thread on each core of the machine would deal out the same loop in the same order:
neighbours in the small team are neighbours in the large one, and a core stands for as many of the
machine's as it takes to fill the NUMA node, in their order. Where some rest, what keeps them from
working (a number of threads in the kernel, a placement of few threads) would keep the machine's,
so that each core stands for one.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalab.machines.machine import Machine
from numalab.modelling.traffic import Bytes, Traffic, summed

Shares = Mapping[int, Mapping[int, float]]  # of each small core its share of the machine's cores


def fills(small: Machine, traffic: Traffic) -> bool:
    """Whether every core works."""
    return len(traffic.cores) == small.cores


def on_whole(small: Machine, traffic: Traffic, is_filled: bool) -> Traffic:
    """small: the machine that it was seen on; is_filled: whether cores stand for several. On a
    machine that was not scaled down the traffic itself."""
    whole = small.scaled_from
    if whole is None:
        return traffic
    shares = _shares(small, whole, is_filled)
    threads = traffic.threads
    if is_filled:
        threads = round(threads * whole.cores / small.cores)
    return summed(_moved(traffic.bytes, shares), threads)


def _moved(seen: Bytes, shares: Shares) -> list[tuple[tuple[int, int], float]]:
    return [
        ((core, home), moved * share)
        for (small, home), moved in seen.items()
        for core, share in shares[small].items()
    ]


def _shares(small: Machine, whole: Machine, is_filled: bool) -> Shares:
    shares: dict[int, Mapping[int, float]] = {}
    first_small = first_whole = 0
    for few, many in zip(small.numa_nodes, whole.numa_nodes, strict=True):
        ratio = len(many.cores) / len(few.cores) if few.cores else 1.0
        for index in range(len(few.cores)):
            begin, end = index * ratio, (index + 1) * ratio
            shares[first_small + index] = (
                _overlaps(first_whole, begin, end) if is_filled else {first_whole + int(begin): 1.0}
            )
        first_small += len(few.cores)
        first_whole += len(many.cores)
    return shares


def _overlaps(first: int, begin: float, end: float) -> dict[int, float]:
    """Of each core from number first on, one wide, its part of what lies between begin and end."""
    found = {}
    core = int(begin)
    while core < end:
        part = min(end, core + 1) - max(begin, core)
        if part > 1e-9:
            found[first + core] = part / (end - begin)
        core += 1
    return found
