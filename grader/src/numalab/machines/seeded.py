"""Machines made from a seed: NUMA machines that nobody has published, so that what is asked about
them can only be found by looking. Pure functions.

A seed makes the same machine for ever. Each thing that is drawn is drawn by its own name
(draws.py); tests/machines/test_seeded.py holds what some seeds make.
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
MOST_PUS = 24  # so that it boots in a few seconds under emulation, whatever the host
LEAST_PUS = 8
MOST_NODES = 8

_NAME = re.compile(rf"{PREFIX}([1-9][0-9]{{0,9}})", re.ASCII)
_PACKAGES = range(1, 5)
_NODES = range(1, 5)  # of a package
_CORES = range(2, 9)  # of a NUMA node
# Packages, NUMA nodes of each and cores of each of machines that the gallery has, with one hardware
# thread or two: nehalem-ep and nhm, westmere-ep and janus.
_PUBLISHED = frozenset({(2, 1, 4), (2, 1, 6)})

# In MiB. What Linux takes of a node for itself is less than what the largest is ahead.
_SIZES_MIB = (160, 192, 224, 256)
_LARGEST_MIB = (352, 384)

_T = TypeVar("_T")


class Shape(NamedTuple):
    """nodes: NUMA nodes of a package; cores, groups: cores and L3s of a NUMA node; threads: of a
    core."""

    packages: int
    nodes: int
    cores: int
    threads: int
    groups: int


class _Slot(NamedTuple):
    """A NUMA node by where it is: its place among those of its package, from 0 on."""

    package: int
    place: int


# ---- names and draws ---------------------------------------------------------------------------


def is_seeded(name: str) -> bool:
    """Whether a name is kept for such machines."""
    return name.startswith(PREFIX)


def seed_in(name: str) -> int:
    """Of a machine's name that is_seeded. Raises UserError."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) not in SEEDS:
        raise UserError(
            f"there is no machine '{name}': {PREFIX}N is made from the whole number N, 1 to "
            f"{SEEDS[-1]}, such as {PREFIX}1234"
        )
    return int(match[1])


def draw(seed: int, what: str, choices: int) -> int:
    """A number from 0 to choices - 1, for ever the same."""
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
                        # An L3 is of more than one core, which would be no question.
                        if cores % groups == 0 and cores // groups > 1:
                            yield Shape(packages, nodes, cores, threads, groups)


_SHAPES = tuple(_shapes())


def _weight(shape: Shape) -> int:
    """How often it is drawn: what has siblings, packages of several NUMA nodes and several packages
    can be mistaken in more ways."""
    return shape.threads * (2 if shape.nodes > 1 else 1) * (2 if shape.packages > 1 else 1)


_DRAWN = tuple(shape for shape in _SHAPES for _ in range(_weight(shape)))


# ---- numbers -----------------------------------------------------------------------------------


def _slots(shape: Shape) -> list[_Slot]:
    return [_Slot(p, place) for p in range(shape.packages) for place in range(shape.nodes)]


def _node_numbers(seed: int, shape: Shape) -> dict[_Slot, int]:
    """Package by package, packages in turn, or mixed. The first of package 0 is 0, since QEMU
    starts a machine with its PU 0."""
    slots = _slots(shape)
    way = pick(seed, "numbers of NUMA nodes", ("by package", "in turn", "mixed"))
    if way == "in turn":
        slots.sort(key=lambda slot: (slot.place, slot.package))
    elif way == "mixed":
        mixed = draws.shuffled(f"numalab machine {seed}: number of NUMA node", slots[1:])
        slots = [slots[0], *mixed]
    return {slot: number for number, slot in enumerate(slots)}


# A core by where it is: L3 of its NUMA node, and number there.
_Place = tuple[_Slot, int, int]


def _alternate(lists: Sequence[Sequence[_T]]) -> list[_T]:
    """The first of each list, then the second of each; lists: equally long."""
    return [each for together in zip(*lists, strict=True) for each in together]


def _cores_in_order(seed: int, shape: Shape) -> tuple[list[_Place], bool]:
    """As their PUs are numbered, and whether each NUMA node's come together."""
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
    """Of each core: siblings last, beside one another, or after each NUMA node's first threads."""
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
    """Between two of count that are linked so."""
    apart = abs(a - b)
    return {"all": min(apart, 1), "line": apart, "ring": min(apart, count - apart)}[way]


def _distances(seed: int, shape: Shape, numbers: dict[_Slot, int]) -> Matrix:
    """As firmware gives them: 10 for the node itself, less in a package than between packages, more
    for each further link. Where packages are linked node by node, partners are nearer."""
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
    """Of the memory of each NUMA node; one is far ahead of all others."""
    sizes = [pick(seed, f"memory of NUMA node {number}", _SIZES_MIB) for number in range(count)]
    sizes[draw(seed, "largest NUMA node", count)] = pick(seed, "largest memory", _LARGEST_MIB)
    return sizes


# ---- the machine -------------------------------------------------------------------------------


def seeded_machine(seed: int) -> Machine:
    """seed: one of SEEDS."""
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
