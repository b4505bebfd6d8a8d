"""Machines made from a seed: NUMA machines without a published description, so that questions about
them are answered by observing them. Pure functions.

A seed makes the same machine again: each property is drawn by its own name (draws.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from numalab import draws
from numalab.errors import UserError
from numalab.machines.machine import LOCAL_DISTANCE, Core, Machine, Matrix, NumaNode

PREFIX = "seeded-"
SEEDS = range(1, 2**32)
MOST_PUS = 24  # so that it boots fast under emulation
LEAST_PUS = 8
MOST_NODES = 8

_NAME = re.compile(rf"{PREFIX}([1-9][0-9]{{0,9}})", re.ASCII)
_PACKAGES = range(1, 5)
_NODES = range(1, 5)  # of a package
_CORES = range(2, 9)  # of a NUMA node
# Packages, NUMA nodes of a package and cores of a NUMA node of machines in the gallery, which has
# them with one hardware thread and with two: nehalem-ep and nhm, westmere-ep and janus.
_PUBLISHED = frozenset({(2, 1, 4), (2, 1, 6)})

# Memory of NUMA nodes; of one of them it is in the second range. The difference is larger than what
# Linux takes of a NUMA node for itself.
_SIZES_MIB = (160, 192, 224, 256)
_LARGEST_MIB = (352, 384)

_T = TypeVar("_T")


class Shape(NamedTuple):
    """How many units of each level a machine has. nodes: NUMA nodes of a package; cores, groups:
    cores and L3s of a NUMA node; threads: of a core."""

    packages: int
    nodes: int
    cores: int
    threads: int
    groups: int


class _Slot(NamedTuple):
    """The position of a NUMA node. place: among those of its package, from 0 on."""

    package: int
    place: int


# ---- names and draws ---------------------------------------------------------------------------


def is_seeded(name: str) -> bool:
    """Tell whether a name is reserved for machines made from a seed."""
    return name.startswith(PREFIX)


def seed_in(name: str) -> int:
    """Return the seed in a machine's name. Raises UserError where it has none of SEEDS."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) not in SEEDS:
        raise UserError(
            f"there is no machine '{name}': {PREFIX}N is made from the whole number N, 1 to "
            f"{SEEDS[-1]}, such as {PREFIX}1234"
        )
    return int(match[1])


def draw(seed: int, what: str, choices: int) -> int:
    """Return a number from 0 to choices - 1, which depends on the seed and on what is drawn."""
    return draws.draw(f"numalab machine {seed}: {what}", choices)


def pick(seed: int, what: str, choices: Sequence[_T]) -> _T:
    return choices[draw(seed, what, len(choices))]


# ---- shape -------------------------------------------------------------------------------------


def _shapes() -> Iterator[Shape]:
    for packages in _PACKAGES:
        for nodes in _NODES:
            for cores in _CORES:
                for threads in (1, 2):
                    pus = packages * nodes * cores * threads
                    is_fit = 2 <= packages * nodes <= MOST_NODES and LEAST_PUS <= pus <= MOST_PUS
                    if not is_fit or (packages, nodes, cores) in _PUBLISHED:
                        continue
                    for groups in (1, 2, 3):
                        # With one core in each L3 there would be nothing to ask about L3s.
                        if cores % groups == 0 and cores // groups > 1:
                            yield Shape(packages, nodes, cores, threads, groups)


_SHAPES = tuple(_shapes())


def _weight(shape: Shape) -> int:
    """Return how often a shape is among those to draw from: more often with two hardware threads,
    several NUMA nodes in a package, or several packages."""
    return shape.threads * (2 if shape.nodes > 1 else 1) * (2 if shape.packages > 1 else 1)


_DRAWN = tuple(shape for shape in _SHAPES for _ in range(_weight(shape)))


# ---- numbers -----------------------------------------------------------------------------------


def _slots(shape: Shape) -> list[_Slot]:
    return [_Slot(p, place) for p in range(shape.packages) for place in range(shape.nodes)]


def _node_numbers(seed: int, shape: Shape) -> dict[_Slot, int]:
    """Return the number of each NUMA node: counted package by package, packages in turn, or mixed.
    The first of package 0 is 0, since QEMU starts a machine with its PU 0."""
    slots = _slots(shape)
    way = pick(seed, "numbers of NUMA nodes", ("by package", "in turn", "mixed"))
    if way == "in turn":
        slots.sort(key=lambda slot: (slot.place, slot.package))
    elif way == "mixed":
        mixed = draws.shuffled(f"numalab machine {seed}: number of NUMA node", slots[1:])
        slots = [slots[0], *mixed]
    return {slot: number for number, slot in enumerate(slots)}


# The position of a core: its NUMA node, its L3 in that, and its number in the L3.
_Place = tuple[_Slot, int, int]


def _alternate(lists: Sequence[Sequence[_T]]) -> list[_T]:
    """Return the first element of each list, then the second of each and so on. lists: equally
    long."""
    return [each for together in zip(*lists, strict=True) for each in together]


def _cores_in_order(seed: int, shape: Shape) -> tuple[list[_Place], bool]:
    """Return the cores in the order of their PU numbers, and whether that order was drawn as
    blocks, in which those of each NUMA node are contiguous."""
    groups, each = range(shape.groups), range(shape.cores // shape.groups)
    l3s_in_turn = draw(seed, "order in a NUMA node", 2) == 1

    def of_node(slot: _Slot) -> list[_Place]:
        by_l3 = [[(slot, group, number) for number in each] for group in groups]
        return _alternate(by_l3) if l3s_in_turn else [core for l3 in by_l3 for core in l3]

    of_nodes = [of_node(slot) for slot in _slots(shape)]
    of_packages = [
        [core for cores in of_nodes[first : first + shape.nodes] for core in cores]
        for first in range(0, len(of_nodes), shape.nodes)
    ]
    way = pick(seed, "order of cores", ("blocks", "packages in turn", "NUMA nodes in turn"))
    if way == "packages in turn":
        return _alternate(of_packages), False
    if way == "NUMA nodes in turn":
        return _alternate(of_nodes), False
    return [core for cores in of_packages for core in cores], True


def _pu_numbers(seed: int, shape: Shape) -> dict[_Place, tuple[int, ...]]:
    """Return the PUs of each core: second threads after all first ones, next to their first thread,
    or after the first threads of their NUMA node."""
    cores, are_blocks = _cores_in_order(seed, shape)
    ways = ["last", "beside", "last"] + (["last of the NUMA node"] if are_blocks else [])
    way = pick(seed, "order of hardware threads", ways)
    block = {"last": len(cores), "beside": 1, "last of the NUMA node": shape.cores}[way]
    return {
        core: tuple(
            index // block * block * shape.threads + thread * block + index % block
            for thread in range(shape.threads)
        )
        for index, core in enumerate(cores)
    }


# ---- distances and memory ----------------------------------------------------------------------


def _hops(way: str, count: int, a: int, b: int) -> int:
    """Return how many links are between numbers a and b of count that are linked all to all, in a
    line or in a ring."""
    apart = abs(a - b)
    return {"all": min(apart, 1), "line": apart, "ring": min(apart, count - apart)}[way]


def _distances(seed: int, shape: Shape, numbers: dict[_Slot, int]) -> Matrix:
    """Return the distances in the order of the NUMA nodes: 10 to itself, less in a package than
    between packages, more for each further link. Where partners, NUMA nodes at the same place of
    two packages, are linked, they are nearer than others of these packages."""
    near = pick(seed, "distance in a package", (11, 12, 13, 14))
    near_step = pick(seed, "further link in a package", (2, 3))
    far = pick(seed, "distance between packages", (21, 22, 24, 28, 32))
    far_step = pick(seed, "further link between packages", (5, 8, 10))
    partners = pick(seed, "partners", (0, 2)) if shape.nodes > 1 else 0
    inside = pick(seed, "links in a package", ("all", "ring"))
    outside = pick(seed, "links between packages", ("all", "line", "ring"))

    def between(a: _Slot, b: _Slot) -> int:
        if a == b:
            return LOCAL_DISTANCE
        if a.package == b.package:
            return near + near_step * (_hops(inside, shape.nodes, a.place, b.place) - 1)
        hops = _hops(outside, shape.packages, a.package, b.package)
        return far + far_step * (hops - 1) - (partners if a.place == b.place else 0)

    slots = sorted(numbers, key=lambda slot: numbers[slot])
    return tuple(tuple(between(a, b) for b in slots) for a in slots)


def _sizes_mib(seed: int, count: int) -> list[int]:
    """Return the memory of each NUMA node; one has more than any other."""
    sizes = [pick(seed, f"memory of NUMA node {number}", _SIZES_MIB) for number in range(count)]
    sizes[draw(seed, "largest NUMA node", count)] = pick(seed, "largest memory", _LARGEST_MIB)
    return sizes


# ---- the machine -------------------------------------------------------------------------------


def seeded_machine(seed: int) -> Machine:
    """Return the machine of a seed. Raises ValueError where it is none of SEEDS."""
    if seed not in SEEDS:
        raise ValueError(f"no seed: {seed}")
    shape = pick(seed, "shape", _DRAWN)
    numbers, pus = _node_numbers(seed, shape), _pu_numbers(seed, shape)
    sizes = _sizes_mib(seed, len(numbers))
    each = range(shape.cores // shape.groups)
    nodes = tuple(
        NumaNode(
            number,
            slot.package,
            sizes[number],
            tuple(
                tuple(Core(pus[slot, group, index]) for index in each)
                for group in range(shape.groups)
            ),
        )
        for slot, number in sorted(numbers.items(), key=lambda item: item[1])
    )
    return Machine(
        name=f"{PREFIX}{seed}",
        title=f"made from the seed {seed}",
        source="none: the kit made it",
        notes=(),
        numa_nodes=nodes,
        distances=_distances(seed, shape, numbers),
        caches=(),
        bandwidths=(),
        latencies=(),
        processor=None,
        text=f"seed = {seed}\n",
        seed=seed,
    )
