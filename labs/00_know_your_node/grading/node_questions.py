"""Questions about a machine made from a seed: the correct answers, and the mistakes that lead to
wrong ones. Pure functions.

The seed also draws the NUMA nodes and PUs that questions are about, preferably those for which a
mistake leads to another answer, such as PUs that hwloc numbers differently from Linux.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from numalab.machines.machine import LOCAL_DISTANCE
from numalab.machines.seeded import PREFIX, pick, seeded_machine
from numalab.machines.structure import Structure, structure_of_machine

Answer = frozenset[int]  # numbers of units; a count is the set of that number alone


class DrawnUnits(NamedTuple):
    """The units that a seed's questions are about, by Linux's numbers: a NUMA node, a PU, a PU and
    a NUMA node. The two of a kind may be the same one."""

    pus_of_node: int
    core_of_pu: int
    l3_of_pu: int
    nearest_to_node: int


@dataclass(frozen=True)
class MachineQuestion:
    """A question about a machine.

    Attributes:
        key: its key in the file of answers.
        text: the question, with names of DrawnUnits in braces.
        answer: returns the correct answer.
        mistakes: yields the answers that mistakes lead to, each with words on the mistake.
        command: the command that shows the answer, without ./numalab machine run; with names of
            DrawnUnits in braces.
    """

    key: str
    text: str
    answer: Callable[[Structure, DrawnUnits], Answer]
    mistakes: Callable[[Structure, DrawnUnits], Iterator[tuple[Answer, str]]]
    command: str


@lru_cache(maxsize=256)
def draw_units(seed: int) -> DrawnUnits:
    """Return the units that the questions of a seed are about."""
    made = structure_of_machine(seeded_machine(seed))
    # Linux and hwloc number the first ones alike.
    nodes = [number for number in sorted(made.numa_nodes) if number]
    pus = [pu.number for pu in made.pus if pu.number not in made.pu(0).core]
    pus.sort()

    def draw_unit(what: str, numbers: Sequence[int], is_good: Callable[[int], bool]) -> int:
        return pick(seed, what, [number for number in numbers if is_good(number)] or numbers)

    def logical_differ(pu: int) -> bool:
        return made.logical_pus([pu]) != {pu}

    def has_far(node: int) -> bool:
        return len(_nearest(made, node)) < len(made.numa_nodes) - 1

    return DrawnUnits(
        pus_of_node=draw_unit("asked: PUs of", nodes, lambda n: made.logical_nodes([n]) != {n}),
        core_of_pu=draw_unit("asked: core of", pus, logical_differ),
        l3_of_pu=draw_unit("asked: L3 of", pus, logical_differ),
        nearest_to_node=draw_unit("asked: nearest to", sorted(made.numa_nodes), has_far),
    )


def text_of(question: MachineQuestion, drawn: DrawnUnits) -> str:
    return question.text.format(**drawn._asdict())


def mistake_in(
    question: MachineQuestion, given: Answer, machine: Structure, drawn: DrawnUnits
) -> str | None:
    """Return the words on the first known mistake that leads to the given answer and not to the
    correct one; None: there is none."""
    correct = question.answer(machine, drawn)
    for mistaken, sentence in question.mistakes(machine, drawn):
        if mistaken == given and mistaken != correct:
            return sentence
    return None


def command_for(question: MachineQuestion, seed: int, drawn: DrawnUnits) -> str:
    """Return the whole command that shows the answer to a question."""
    command = question.command.format(**drawn._asdict())
    return f"./numalab machine run {PREFIX}{seed} -- {command}"


# ---- numbers of units --------------------------------------------------------------------------


def _number(number: int) -> Answer:
    return frozenset({number})


_NODES_FOR_PACKAGES = "that is the number of NUMA nodes; a package may have several"
_PACKAGES_FOR_NODES = "that is the number of packages; one may have several NUMA nodes"
_PUS_FOR_CORES = "that is the number of PUs; with SMT a core has more than one"
_SINGLE_NODE = "that is one NUMA node's; asked is all"
_CORES_FOR_PUS = "that is the number of cores; with SMT each has more than one PU"


def _package_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    yield _number(len(machine.numa_nodes)), _NODES_FOR_PACKAGES
    yield _number(len(machine.l3s)), "that is the number of L3s; a package may have several"


def _node_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    yield _number(len(machine.packages)), _PACKAGES_FOR_NODES
    yield _number(len(machine.l3s)), "that is the number of L3s; a NUMA node may have several"


def _core_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    cores = len(machine.cores)
    yield _number(len(machine.pus)), _PUS_FOR_CORES
    yield _number(cores // len(machine.packages)), "that is one package's; asked is all"
    yield _number(cores // len(machine.numa_nodes)), _SINGLE_NODE


def _pu_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    yield _number(len(machine.cores)), _CORES_FOR_PUS
    yield _number(len(machine.pus) // len(machine.numa_nodes)), _SINGLE_NODE
    last = max(pu.number for pu in machine.pus)
    yield _number(last), "that is the last one's number; they begin at 0"


# ---- PUs ---------------------------------------------------------------------------------------

_LOGICAL_NUMBER = "this is hwloc's own number (L#); asked is Linux's (P#)"
_LOGICAL = "these are hwloc's own numbers (L#); asked are Linux's (P#)"
_MISSING_PUS = "siblings are missing: with SMT a core has more than one PU"


def _first_threads(machine: Structure, pus: Answer) -> Answer:
    return frozenset(min(pu.core) for pu in machine.pus if pu.number in pus)


def _node_pus(machine: Structure, drawn: DrawnUnits) -> Answer:
    return machine.pus_of(drawn.pus_of_node)


def _node_pus_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    correct = _node_pus(machine, drawn)
    yield machine.logical_pus(correct), _LOGICAL
    by_logical = machine.numa_nodes[drawn.pus_of_node]
    its = f"these are of the NUMA node that hwloc calls L#{drawn.pus_of_node}; asked is P#"
    yield machine.pus_of(by_logical), its
    # These are also the answer if PUs are taken to be numbered NUMA node by NUMA node.
    yield machine.logical_pus(machine.pus_of(by_logical)), _LOGICAL
    yield _first_threads(machine, correct), _MISSING_PUS
    package = next(pu.package for pu in machine.pus if pu.number in correct)
    yield package, "these are the whole package's; it has several NUMA nodes"


def _core_pus(machine: Structure, drawn: DrawnUnits) -> Answer:
    return machine.pu(drawn.core_of_pu).core


def _core_pus_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    pu, correct = drawn.core_of_pu, _core_pus(machine, drawn)
    yield frozenset({pu}), _MISSING_PUS
    yield correct - {pu}, f"PU {pu} is one of them itself"
    has_smt = len(correct) > 1
    no_smt = "are those hardware threads of one core, or two cores?"
    said = "siblings are not numbered one after the other there" if has_smt else no_smt
    yield frozenset({pu, pu + 1}), said
    yield frozenset({pu - pu % 2, pu - pu % 2 + 1}), said
    if not has_smt:
        half = len(machine.pus) // 2
        yield frozenset({pu, (pu + half) % len(machine.pus)}), no_smt
    yield machine.logical_pus(correct), _LOGICAL
    by_logical = machine.pus[pu].core
    yield by_logical, f"that is the core of what hwloc calls PU L#{pu}; asked is P#"
    yield machine.logical_pus(by_logical), _LOGICAL


def _l3_pus(machine: Structure, drawn: DrawnUnits) -> Answer:
    return machine.pu(drawn.l3_of_pu).l3


def _l3_pus_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    pu, correct = drawn.l3_of_pu, _l3_pus(machine, drawn)
    unit = machine.pu(pu)
    yield correct - {pu}, f"PU {pu} is one of them itself"
    yield unit.core, "these share a core, with its L1 and L2; more of them share the L3"
    yield _first_threads(machine, correct), _MISSING_PUS
    yield machine.pus_of(unit.numa_node), "these are the whole NUMA node's; it has several L3s"
    yield unit.package, "these are the whole package's; it has several L3s"
    yield machine.logical_pus(correct), _LOGICAL
    by_logical = machine.pus[pu].l3
    yield by_logical, f"these share the L3 of what hwloc calls PU L#{pu}; asked is P#"
    yield machine.logical_pus(by_logical), _LOGICAL


# ---- NUMA nodes --------------------------------------------------------------------------------


def _nearest(machine: Structure, node: int) -> Answer:
    others = {
        other: machine.distances[node, other] for other in machine.numa_nodes if other != node
    }
    least = min(others.values(), default=LOCAL_DISTANCE)
    return frozenset(other for other, distance in others.items() if distance == least)


def _nearest_nodes(machine: Structure, drawn: DrawnUnits) -> Answer:
    return _nearest(machine, drawn.nearest_to_node)


def _nearest_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    node, correct = drawn.nearest_to_node, _nearest_nodes(machine, drawn)
    itself = f"NUMA node {node} itself, at distance {LOCAL_DISTANCE}, is none of the others"
    yield _number(node), itself
    yield correct | {node}, itself
    yield frozenset(machine.numa_nodes) - {node}, "not all of them are equally near"
    yield machine.logical_nodes(correct), _LOGICAL
    by_logical = machine.numa_nodes[node]
    near_it = _nearest(machine, by_logical)
    its = f"these are near to the NUMA node that hwloc calls L#{node}; asked is P#"
    yield near_it, its
    yield machine.logical_nodes(near_it), _LOGICAL
    distances = {other: machine.distances[node, other] for other in machine.numa_nodes}
    most = max(distances.values())
    farthest = frozenset(other for other, distance in distances.items() if distance == most)
    yield farthest, "these are the farthest: a larger number is a longer way"


def _largest_mistakes(machine: Structure, drawn: DrawnUnits) -> Iterator[tuple[Answer, str]]:
    yield machine.logical_nodes(machine.largest), _LOGICAL_NUMBER


_CACHES = "cat /sys/devices/system/cpu/cpu{l3_of_pu}/cache/index3/shared_cpu_list"
_PUS_OF_CORE = "cat /sys/devices/system/cpu/cpu{core_of_pu}/topology/thread_siblings_list"

QUESTIONS: tuple[MachineQuestion, ...] = (
    MachineQuestion(
        "packages", "How many packages are there?",
        lambda machine, _: _number(len(machine.packages)), _package_mistakes, "lscpu",
    ),
    MachineQuestion(
        "numa_nodes", "How many NUMA nodes?",
        lambda machine, _: _number(len(machine.numa_nodes)), _node_mistakes, "lscpu",
    ),
    MachineQuestion(
        "cores", "How many cores, all together?",
        lambda machine, _: _number(len(machine.cores)), _core_mistakes, "lscpu",
    ),
    MachineQuestion(
        "pus", "How many PUs (hardware threads), all together?",
        lambda machine, _: _number(len(machine.pus)), _pu_mistakes, "lscpu",
    ),
    MachineQuestion(
        "node_pus", "Which PUs does NUMA node {pus_of_node} have?",
        _node_pus, _node_pus_mistakes, "numactl -H",
    ),
    MachineQuestion(
        "core_pus", "Which PUs are of the same core as PU {core_of_pu}, itself included?",
        _core_pus, _core_pus_mistakes, _PUS_OF_CORE,
    ),
    MachineQuestion(
        "l3_pus", "Which PUs share the L3 of PU {l3_of_pu}, itself included?",
        _l3_pus, _l3_pus_mistakes, _CACHES,
    ),
    MachineQuestion(
        "nearest_nodes", "Which others are the nearest to NUMA node {nearest_to_node}?",
        _nearest_nodes, _nearest_mistakes, "numactl -H",
    ),
    MachineQuestion(
        "largest_node", "Which NUMA node has the most memory?",
        lambda machine, _: machine.largest, _largest_mistakes, "numactl -H",
    ),
)  # fmt: skip
KEYS = tuple(question.key for question in QUESTIONS)
