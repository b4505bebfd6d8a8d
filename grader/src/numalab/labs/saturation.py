"""Saturation: the share of a NUMA node's rate that some of its cores reach.

A core alone has only so many cache lines under way, so its rate is far below the memory's; each
further core adds as much, until the memory is the limit. Which numbers of threads tell that model
from others depends on the node: a curve over them is measured first, and what is asked for is drawn
among those where the model holds and the others miss.

Pure functions."""

from __future__ import annotations

import random
from collections.abc import Mapping

from numalab.evidence.core_kinds import core_kinds
from numalab.evidence.record import Json
from numalab.labs.formula import Language

LEAST_CORES = 8  # of one NUMA node: with fewer the curve has no room to bend
CORE_GB_S, ALL_GB_S = "one_gb_s", "all_gb_s"
LANGUAGE = Language(("threads", "cores", CORE_GB_S, ALL_GB_S), ("min", "max"))

# Of a number that may be drawn, in shares: how near the model is, and how far others are. A
# prediction may be off by 0.1: noise of half of that turns nothing round.
MAX_MODEL_ERROR, MIN_OTHER_ERROR = 0.05, 0.15


def cores_of_a_numa_node(node: Json) -> tuple[int, ...]:
    """A PU of each core of one NUMA node, cores that are alike: of the node with most of them."""
    kinds = core_kinds(node) or ()
    groups: dict[tuple[int, int | None], dict[int, int]] = {}
    for pu in sorted(node["pu_list"], key=lambda pu: int(pu["pu"])):
        kind = next((i for i, kind in enumerate(kinds) if pu["pu"] in kind.pus), None)
        cores = groups.setdefault((int(pu["numa_node"]), kind), {})
        cores.setdefault(int(pu["core"]), int(pu["pu"]))
    largest = max(groups.values(), key=len, default={})
    return tuple(sorted(largest.values()))


def curve_counts(cores: int) -> tuple[int, ...]:
    """The numbers of threads of the curve: powers of two, halfway between, and all cores."""
    powers = [2**power for power in range(cores.bit_length())]
    wanted = {*powers, *(power * 3 // 2 for power in powers), cores}
    return tuple(sorted(number for number in wanted if number <= cores))


def modelled_share(threads: int, core_gb_s: float, all_gb_s: float) -> float:
    """The kit's own prediction: in proportion, until the memory is the limit."""
    return min(1.0, threads * core_gb_s / all_gb_s)


def values_for(threads: int, cores: int, core_gb_s: float, all_gb_s: float) -> dict[str, float]:
    """What a formula's names are for a number of threads."""
    return {
        "threads": float(threads),
        "cores": float(cores),
        CORE_GB_S: core_gb_s,
        ALL_GB_S: all_gb_s,
    }


def telling_counts(curve: Mapping[int, float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of threads that tell models apart, below saturation and at it. curve: rates by
    number, with 1 and all cores. Below: neither 1 nor the share of the cores is near. At it: nor is
    the proportion that goes on."""
    cores = max(curve)
    one, whole = curve[1], curve[cores]
    below, at_it = [], []
    for threads, rate in sorted(curve.items()):
        share = rate / whole
        model = modelled_share(threads, one, whole)
        is_told = (
            abs(model - share) <= MAX_MODEL_ERROR
            and abs(threads / cores - share) >= MIN_OTHER_ERROR
        )
        if is_told and share <= 1 - MIN_OTHER_ERROR and threads > 1:
            below.append(threads)
        elif is_told and threads * one / whole >= share + MIN_OTHER_ERROR:
            at_it.append(threads)
    return tuple(below), tuple(at_it)


def draw_counts(curve: Mapping[int, float], seed: str) -> tuple[int, ...]:
    """The numbers that are predicted: one below saturation, and one at it. Where no smaller one can
    be told from a rate that grows with each core, all cores are it: their share is 1, and that
    model says more. Empty where no number tells the models apart."""
    below, at_it = telling_counts(curve)
    cores = max(curve)
    if not at_it and cores * curve[1] / curve[cores] >= 1 + MIN_OTHER_ERROR:
        at_it = (cores,)
    if not below or not at_it:
        return ()
    generator = random.Random(seed)
    return tuple(generator.choice(some) for some in (below, at_it))
