"""What is asked about a machine made from a seed, what is right, and how a wrong answer came about.
Pure functions.

Which NUMA nodes and PUs are asked about is drawn from the seed, too, and preferred where an answer
that rests on a mistake is another one: what hwloc numbers otherwise than Linux, say. Right is what
hwloc saw on the machine as it was booted (machines/structure.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from numalab.machines.machine import LOCAL_DISTANCE
from numalab.machines.seeded import PREFIX, pick, seeded_machine
from numalab.machines.structure import Structure, structure_of_machine

Answer = frozenset[int]  # a number of something is the set of it alone


class Asked(NamedTuple):
    """What is drawn, by Linux's numbers."""

    pus_of_node: int
    core_of_pu: int
    l3_of_pu: int
    nearest_to_node: int


@dataclass(frozen=True)
class Question:
    """text: names what is drawn in braces. right: the answer. mistakes: wrong answers with the
    sentence that each deserves, without what is right; of those that are alike, the first counts.
    look: the command that shows it, without ./numalab machine run."""

    key: str
    text: str
    right: Callable[[Structure, Asked], Answer]
    mistakes: Callable[[Structure, Asked], Iterator[tuple[Answer, str]]]
    look: str


@lru_cache(maxsize=256)
def asked_about(seed: int) -> Asked:
    """By the machine as it is made."""
    made = structure_of_machine(seeded_machine(seed))
    # The first ones are numbered alike by everybody.
    nodes = [number for number in sorted(made.numa_nodes) if number]
    pus = [pu.number for pu in made.pus if pu.number not in made.pu(0).core]
    pus.sort()

    def drawn(what: str, numbers: Sequence[int], is_good: Callable[[int], bool]) -> int:
        return pick(seed, what, [number for number in numbers if is_good(number)] or numbers)

    def logical_differ(pu: int) -> bool:
        return made.logical_pus([pu]) != {pu}

    def has_far(node: int) -> bool:
        return len(_nearest(made, node)) < len(made.numa_nodes) - 1

    return Asked(
        pus_of_node=drawn("asked: PUs of", nodes, lambda n: made.logical_nodes([n]) != {n}),
        core_of_pu=drawn("asked: core of", pus, logical_differ),
        l3_of_pu=drawn("asked: L3 of", pus, logical_differ),
        nearest_to_node=drawn("asked: nearest to", sorted(made.numa_nodes), has_far),
    )


def text_of(question: Question, asked: Asked) -> str:
    return question.text.format(**asked._asdict())


def mistake_in(question: Question, given: Answer, seen: Structure, asked: Asked) -> str | None:
    """What a wrong answer rests on, where it is one of those that are known. Not told where it
    would be no other than the right one."""
    right = question.right(seen, asked)
    for wrong, sentence in question.mistakes(seen, asked):
        if wrong == given and wrong != right:
            return sentence
    return None


def look_at(question: Question, seed: int, asked: Asked) -> str:
    """The command by which one looks."""
    command = question.look.format(**asked._asdict())
    return f"./numalab machine run {PREFIX}{seed} -- {command}"


# ---- numbers of units --------------------------------------------------------------------------


def _one(number: int) -> Answer:
    return frozenset({number})


_NODES_FOR_PACKAGES = "that is the number of NUMA nodes; a package may have several"
_PACKAGES_FOR_NODES = "that is the number of packages; one may have several NUMA nodes"
_PUS_FOR_CORES = "that is the number of PUs; with SMT a core has more than one"
_CORES_FOR_PUS = "that is the number of cores; with SMT each has more than one PU"


def _packages(seen: Structure, asked: Asked) -> Answer:
    return _one(len(seen.packages))


def _package_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    yield _one(len(seen.numa_nodes)), _NODES_FOR_PACKAGES
    yield _one(len(seen.l3s)), "that is the number of L3s; a package may have several"


def _numa_nodes(seen: Structure, asked: Asked) -> Answer:
    return _one(len(seen.numa_nodes))


def _node_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    yield _one(len(seen.packages)), _PACKAGES_FOR_NODES
    yield _one(len(seen.l3s)), "that is the number of L3s; a NUMA node may have several"


def _cores(seen: Structure, asked: Asked) -> Answer:
    return _one(len(seen.cores))


def _core_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    yield _one(len(seen.pus)), _PUS_FOR_CORES
    yield _one(len(seen.cores) // len(seen.packages)), "that is one package's; asked is all"
    yield _one(len(seen.cores) // len(seen.numa_nodes)), "that is one NUMA node's; asked is all"


def _pus(seen: Structure, asked: Asked) -> Answer:
    return _one(len(seen.pus))


def _pu_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    yield _one(len(seen.cores)), _CORES_FOR_PUS
    yield _one(len(seen.pus) // len(seen.numa_nodes)), "that is one NUMA node's; asked is all"
    yield _one(max(pu.number for pu in seen.pus)), "that is the last one's number; they begin at 0"


# ---- PUs ---------------------------------------------------------------------------------------

_LOGICAL = "these are hwloc's own numbers (L#); asked are Linux's (P#)"
_NO_SIBLINGS = "siblings are missing: with SMT a core has more than one PU"


def _first_threads(seen: Structure, pus: Answer) -> Answer:
    return frozenset(min(pu.core) for pu in seen.pus if pu.number in pus)


def _node_pus(seen: Structure, asked: Asked) -> Answer:
    return seen.pus_of(asked.pus_of_node)


def _node_pus_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    right = _node_pus(seen, asked)
    yield seen.logical_pus(right), _LOGICAL
    by_logical = seen.numa_nodes[asked.pus_of_node]
    its = f"these are of the NUMA node that hwloc calls L#{asked.pus_of_node}; asked is P#"
    yield seen.pus_of(by_logical), its
    # Also what one gets who takes PUs to be numbered NUMA node by NUMA node.
    yield seen.logical_pus(seen.pus_of(by_logical)), _LOGICAL
    yield _first_threads(seen, right), _NO_SIBLINGS
    package = next(pu.package for pu in seen.pus if pu.number in right)
    yield package, "these are the whole package's; it has several NUMA nodes"


def _core_pus(seen: Structure, asked: Asked) -> Answer:
    return seen.pu(asked.core_of_pu).core


def _core_pus_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    pu, right = asked.core_of_pu, _core_pus(seen, asked)
    yield frozenset({pu}), _NO_SIBLINGS
    yield right - {pu}, f"PU {pu} is one of them itself"
    if len(right) > 1:
        nobody = "siblings are not numbered one after the other there"
        yield frozenset({pu, pu + 1}), nobody
        yield frozenset({pu - pu % 2, pu - pu % 2 + 1}), nobody
    else:
        no_smt = "are those hardware threads of one core, or two cores?"
        yield frozenset({pu, pu + 1}), no_smt
        yield frozenset({pu - pu % 2, pu - pu % 2 + 1}), no_smt
        half = len(seen.pus) // 2
        yield frozenset({pu, (pu + half) % len(seen.pus)}), no_smt
    yield seen.logical_pus(right), _LOGICAL
    by_logical = seen.pus[pu].core
    yield by_logical, f"that is the core of what hwloc calls PU L#{pu}; asked is P#"
    yield seen.logical_pus(by_logical), _LOGICAL


def _l3_pus(seen: Structure, asked: Asked) -> Answer:
    return seen.pu(asked.l3_of_pu).l3


def _l3_pus_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    pu, right = asked.l3_of_pu, _l3_pus(seen, asked)
    there = seen.pu(pu)
    yield right - {pu}, f"PU {pu} is one of them itself"
    yield there.core, "these share a core, with its L1 and L2; more of them share the L3"
    yield _first_threads(seen, right), _NO_SIBLINGS
    yield seen.pus_of(there.numa_node), "these are the whole NUMA node's; it has several L3s"
    yield there.package, "these are the whole package's; it has several L3s"
    yield seen.logical_pus(right), _LOGICAL
    by_logical = seen.pus[pu].l3
    yield by_logical, f"these share the L3 of what hwloc calls PU L#{pu}; asked is P#"
    yield seen.logical_pus(by_logical), _LOGICAL


# ---- NUMA nodes --------------------------------------------------------------------------------


def _nearest(seen: Structure, node: int) -> Answer:
    others = {other: seen.distances[node, other] for other in seen.numa_nodes if other != node}
    least = min(others.values(), default=LOCAL_DISTANCE)
    return frozenset(other for other, distance in others.items() if distance == least)


def _nearest_nodes(seen: Structure, asked: Asked) -> Answer:
    return _nearest(seen, asked.nearest_to_node)


def _nearest_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    node, right = asked.nearest_to_node, _nearest_nodes(seen, asked)
    itself = f"NUMA node {node} itself, at distance {LOCAL_DISTANCE}, is none of the others"
    yield _one(node), itself
    yield right | {node}, itself
    yield frozenset(seen.numa_nodes) - {node}, "not all of them are equally near"
    yield seen.logical_nodes(right), _LOGICAL
    by_logical = seen.numa_nodes[node]
    near_it = _nearest(seen, by_logical)
    its = f"these are near to the NUMA node that hwloc calls L#{node}; asked is P#"
    yield near_it, its
    yield seen.logical_nodes(near_it), _LOGICAL
    farthest = max(seen.distances[node, other] for other in seen.numa_nodes)
    yield (
        frozenset(other for other in seen.numa_nodes if seen.distances[node, other] == farthest),
        "these are the farthest: a larger number is a longer way",
    )


def _largest_node(seen: Structure, asked: Asked) -> Answer:
    return seen.largest


def _largest_mistakes(seen: Structure, asked: Asked) -> Iterator[tuple[Answer, str]]:
    yield seen.logical_nodes(seen.largest), "this is hwloc's own number (L#); asked is Linux's (P#)"


_CACHES = "cat /sys/devices/system/cpu/cpu{l3_of_pu}/cache/index3/shared_cpu_list"
_SIBLINGS = "cat /sys/devices/system/cpu/cpu{core_of_pu}/topology/thread_siblings_list"

QUESTIONS: tuple[Question, ...] = (
    Question("packages", "How many packages are there?", _packages, _package_mistakes, "lscpu"),
    Question("numa_nodes", "How many NUMA nodes?", _numa_nodes, _node_mistakes, "lscpu"),
    Question("cores", "How many cores, all together?", _cores, _core_mistakes, "lscpu"),
    Question("pus", "How many PUs (hardware threads), all together?", _pus, _pu_mistakes, "lscpu"),
    Question(
        "node_pus", "Which PUs does NUMA node {pus_of_node} have?",
        _node_pus, _node_pus_mistakes, "numactl -H",
    ),
    Question(
        "core_pus", "Which PUs are of the same core as PU {core_of_pu}, itself included?",
        _core_pus, _core_pus_mistakes, _SIBLINGS,
    ),
    Question(
        "l3_pus", "Which PUs share the L3 of PU {l3_of_pu}, itself included?",
        _l3_pus, _l3_pus_mistakes, _CACHES,
    ),
    Question(
        "nearest_nodes", "Which others are the nearest to NUMA node {nearest_to_node}?",
        _nearest_nodes, _nearest_mistakes, "numactl -H",
    ),
    Question(
        "largest_node", "Which NUMA node has the most memory?",
        _largest_node, _largest_mistakes, "numactl -H",
    ),
)  # fmt: skip
KEYS = tuple(question.key for question in QUESTIONS)
