"""Saturation: the share of a NUMA node's rate that some of its cores reach.

By the model, each core adds as much as the first one, until the memory is the limit. Which numbers
of threads distinguish that model from others depends on the machine. So the numbers of threads to
predict are drawn from a measured curve of rates.

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

# A number of threads may be drawn if the model's share is off by at most the former, and those of
# other models by at least the latter. A prediction may be off by 0.1, so noise of half of that
# changes no verdict.
MAX_MODEL_ERROR, MIN_OTHER_ERROR = 0.05, 0.15


def cores_of_a_numa_node(node: Json) -> tuple[int, ...]:
    """Return the first PU of each core in the largest group of cores that are of one kind and on
    one NUMA node, in order. node: the machine's description."""
    kinds = core_kinds(node) or ()
    groups: dict[tuple[int, int | None], dict[int, int]] = {}
    for pu in sorted(node["pu_list"], key=lambda pu: int(pu["pu"])):
        kind = next((i for i, kind in enumerate(kinds) if pu["pu"] in kind.pus), None)
        cores = groups.setdefault((int(pu["numa_node"]), kind), {})
        cores.setdefault(int(pu["core"]), int(pu["pu"]))
    largest = max(groups.values(), key=len, default={})
    return tuple(sorted(largest.values()))


def curve_counts(cores: int) -> tuple[int, ...]:
    """Return the numbers of threads of the curve, in order: powers of two, numbers halfway between
    two of them, and all cores. cores: of the NUMA node."""
    powers = [2**power for power in range(cores.bit_length())]
    counts = {*powers, *(power * 3 // 2 for power in powers), cores}
    return tuple(sorted(count for count in counts if count <= cores))


def modelled_share(threads: int, core_gb_s: float, all_gb_s: float) -> float:
    """Return numalab's own prediction of the share (0 to 1) of the rate of all cores, all_gb_s. It
    is proportional to the threads until the memory is the limit. core_gb_s: rate of one core."""
    return min(1.0, threads * core_gb_s / all_gb_s)


def values_for(threads: int, cores: int, core_gb_s: float, all_gb_s: float) -> dict[str, float]:
    """Return the values of LANGUAGE's names."""
    return {
        "threads": float(threads),
        "cores": float(cores),
        CORE_GB_S: core_gb_s,
        ALL_GB_S: all_gb_s,
    }


def telling_counts(curve: Mapping[int, float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers of threads that distinguish numalab's model from others, those below
    saturation and those at it.

    For all of them numalab's model is near the measured share of the rate of all cores, and threads
    over cores is not. Below saturation, neither is the whole rate; at saturation, neither is the
    rate of one core times threads. curve: rates by number of threads, with 1 and all cores.
    """
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
    """Return the two numbers of threads that are predicted, one below saturation and one at it;
    empty where no numbers distinguish the models. Where no smaller number is at saturation, the
    latter is all cores, if a rate that grows with each core would be clearly above theirs. curve:
    as for telling_counts; seed: draws the numbers."""
    below, at_it = telling_counts(curve)
    cores = max(curve)
    if not at_it and cores * curve[1] / curve[cores] >= 1 + MIN_OTHER_ERROR:
        at_it = (cores,)
    if not below or not at_it:
        return ()
    generator = random.Random(seed)
    return tuple(generator.choice(some) for some in (below, at_it))
