"""Compare modelled with measured bandwidths on a machine with several NUMA nodes.

The rates of cores, a controller and links are measured, the bandwidths of other placements
predicted from them (modelling.times), and measured, too, with triad of common/probe. A prediction
is made of one round's rates, and compared with the measurement of the same round. The comparison
shows how far the model's assumption holds on this machine: that all parts work at once and the
slowest limits all.

It could be faked by arrays that fit into caches (so three are about TIMES_CACHES times as large as
the caches of the last level, or more), by pages on another NUMA node than requested (an error ends
the measurement where they are reported to be many), and by rates that change within a round
(intervals are over rounds).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from numalab.errors import Interrupted, UserError
from numalab.evidence.numa_nodes import not_counted, usable_numa_nodes
from numalab.evidence.record import Json
from numalab.explore.experiment import TRIAD, Configuration, ProgramRun
from numalab.explore.explore import orders, run_rounds
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.installation import Installation
from numalab.machines.machine import LOCAL_DISTANCE, REMOTE_DISTANCE, Core, Machine, NumaNode
from numalab.machines.rates import PublishedRate, Resource
from numalab.machines.topology import topology_of_node, units_of
from numalab.modelling.times import modelled
from numalab.modelling.traffic import MemoryTraffic, node_of_core, summed

MIB = 2**20
TIMES_CACHES = 4  # the least size of the three arrays together, over that of the last-level caches
# The least bytes of an array, and the divisor that gives the most bytes from the free memory.
LEAST_ARRAY, ARRAY_SHARE = 64 * MIB, 16
REPETITIONS = 5
LEAST_PLACED = 0.95  # the least share of pages on the requested NUMA node
ROUNDS, QUICK_ROUNDS = 9, 6  # 6 are the fewest that give an interval of 95 %
SOURCE, HOW = "measured", "triad on this node, in the same round"

SINGLE_NUMA_NODE = (
    "explore model holds modelled bandwidths against measured ones, and this computer has one "
    "NUMA node with cores: there is no placement to model. Run it on one with two or more, in a "
    "job that has it whole (srun --exclusive -N1 ./numalab explore model). What a placement would "
    "cost on other machines stands in gradings: ./numalab grade 01 --on hydra --on nebula"
)


@dataclass(frozen=True)
class RatedRun:
    """A configuration whose measured bandwidth is one of the model's rates.
    distance: between the NUMA nodes of cores and memory, None for a controller; configuration: its
    index in the plan."""

    resource: Resource
    distance: int | None
    configuration: int


@dataclass(frozen=True)
class PredictedRun:
    """A configuration whose bandwidth is predicted.
    what: its placement, as a text for tables; configuration: its index in the plan."""

    what: str
    traffic: MemoryTraffic
    configuration: int


@dataclass(frozen=True)
class ModelPlan:
    """What is run in each round.

    Attributes:
        machine: this machine without rates, its cores and NUMA nodes numbered from 0 without gaps.
        configurations: of the rated and the predicted runs, which refer to them by index.
        array_bytes: the size of each of three arrays.
    """

    machine: Machine
    configurations: tuple[Configuration, ...]
    rated: tuple[RatedRun, ...]
    predicted: tuple[PredictedRun, ...]
    array_bytes: int


@dataclass(frozen=True)
class _Node:
    """The NUMA nodes with cores, in ascending order of Linux's numbers.

    Attributes:
        cores: for each NUMA node the first PU of each core that this process may use.
        numbers: Linux's numbers of the NUMA nodes.
        distances: of each NUMA node to each.
    """

    cores: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    distances: tuple[tuple[int, ...], ...]

    @cached_property
    def machine(self) -> Machine:
        """The machine for the model: each core has one PU, numbered from 0 over the NUMA nodes.
        Several L3 caches of a NUMA node, which may be a limit, are left out."""
        first, nodes = 0, []
        for number, cores in enumerate(self.cores):
            numbered = tuple(Core((first + index,)) for index in range(len(cores)))
            nodes.append(NumaNode(number, number, None, (numbered,)))
            first += len(cores)
        return Machine(
            name="this node", title="", source="", notes=(), numa_nodes=tuple(nodes),
            distances=self.distances, caches=(), bandwidths=(), latencies=(), processor=None,
            text="",
        )  # fmt: skip

    def core_numbers(self, node: int) -> list[int]:
        """Return the numbers of a NUMA node's cores in `machine`. node: its index."""
        first = sum(len(cores) for cores in self.cores[:node])
        return list(range(first, first + len(self.cores[node])))


def _described(node: Json) -> _Node:
    topology = topology_of_node(node)
    by_node: dict[int, list[int]] = {}
    for core in units_of(topology, "core"):
        by_node.setdefault(topology.numa_node[core[0]], []).append(core[0])
    numbers = tuple(sorted(by_node))
    told, all_numbers = node.get("distances"), [one["numa_node"] for one in node["numa_node_list"]]

    def distance(one: int, other: int) -> int:
        if told:
            return int(told[all_numbers.index(one)][all_numbers.index(other)])
        return LOCAL_DISTANCE if one == other else REMOTE_DISTANCE

    distances = tuple(tuple(distance(a, b) for b in numbers) for a in numbers)
    return _Node(tuple(tuple(by_node[n]) for n in numbers), numbers, distances)


def model_plan(node: Json, available_bytes: int) -> ModelPlan:
    """Return what is run on this machine. node: as describe_node describes it.
    available_bytes: its free memory. Raises UserError where fewer than two NUMA nodes are usable
    (usable_numa_nodes), or where memory is too small for arrays that don't fit into the caches."""
    if usable_numa_nodes(node) < 2:
        others = "; ".join(not_counted(node))
        raise UserError(f"{SINGLE_NUMA_NODE}{f' ({others})' if others else ''}")
    described = _described(node)
    least_bytes = max(LEAST_ARRAY, TIMES_CACHES * int(node["last_level_cache_bytes"] or 0) // 3)
    array_bytes = least_bytes // MIB * MIB
    if array_bytes > available_bytes // ARRAY_SHARE:
        raise UserError(
            f"three arrays of {array_bytes // MIB} MiB, four times what the caches hold, are more "
            f"than a fair part of the {available_bytes // MIB} MiB that are free; end what else "
            "takes memory, or ask for a larger job"
        )
    configurations: list[Configuration] = []

    def add(cores: Sequence[int], home: int | None) -> int:
        """Add a configuration, and return its index."""
        configurations.append(_configuration(described, array_bytes, cores, home))
        return len(configurations) - 1

    rated = [
        RatedRun(resource, distance, add(cores, home))
        for resource, distance, cores, home in _rated_runs(described)
    ]
    predicted = [
        PredictedRun(what, _traffic(described.machine, cores, home), add(cores, home))
        for what, cores, home in _predicted_runs(described)
    ]
    return ModelPlan(
        described.machine, tuple(configurations), tuple(rated), tuple(predicted), array_bytes
    )


# Below, cores and NUMA nodes have the numbers of _Node.machine.


def _configuration(
    node: _Node, array_bytes: int, cores: Sequence[int], home: int | None
) -> Configuration:
    """Return a configuration with a thread on each core.
    home: the NUMA node of all pages; None: each thread's pages are on its own NUMA node."""
    first_pus = [pu for pus in node.cores for pu in pus]
    arguments = [
        TRIAD, "pages=small", f"bytes={array_bytes}", f"repetitions={REPETITIONS}",
        "first_touch=all", f"pus={','.join(str(first_pus[core]) for core in cores)}",
    ]  # fmt: skip
    key: dict[str, int | str] = {"threads": len(cores)}
    if home is not None:
        key["memory_node"] = node.numbers[home]
        arguments.append(f"memory_node={node.numbers[home]}")
    environment = {"OMP_NUM_THREADS": str(len(cores)), "OMP_DYNAMIC": "false"}
    return Configuration(key, tuple(arguments), environment)


def _rated_runs(node: _Node) -> Iterator[tuple[Resource, int | None, Sequence[int], int]]:
    """Yield for each distance between NUMA nodes a core's rate, and the controller's or the link's:
    the kind of part, the distance as in RatedRun, the cores with a thread, and the NUMA node of all
    pages."""
    pairs: dict[int, tuple[int, int]] = {}  # the first pair (user, home), also with user = home
    for user, row in enumerate(node.distances):
        for home, distance in enumerate(row):
            pairs.setdefault(distance, (user, home))
    for distance, (user, home) in sorted(pairs.items()):
        cores = node.core_numbers(user)
        yield "core", distance, cores[:1], home
        if distance == LOCAL_DISTANCE:
            yield "controller", None, cores, home
        else:
            yield "link", distance, cores, home


def _predicted_runs(node: _Node) -> Iterator[tuple[str, Sequence[int], int | None]]:
    """Yield the placements whose bandwidth is predicted: the words on it, the cores with a thread,
    and the NUMA node of all pages, as for _configuration."""
    nodes = range(len(node.numbers))
    fewest = min(map(len, node.cores))
    every = [core for number in nodes for core in node.core_numbers(number)]
    in_turn = [node.core_numbers(number)[i] for i in range(fewest) for number in nodes]
    yield "a thread on each core, own pages", every, None
    yield "a thread on each core, all pages on the first NUMA node", every, 0
    if fewest > 1:
        what = "as many threads as a NUMA node has cores, over all of them, own pages"
        yield what, in_turn[:fewest], None
    if fewest > 2:
        half = node.core_numbers(0)[: (fewest + 1) // 2]
        yield "half the cores of a NUMA node, own pages", half, 0
    yield "a core of each NUMA node, all pages on the first", in_turn[: len(nodes)], 0


def _traffic(machine: Machine, cores: Sequence[int], home: int | None) -> MemoryTraffic:
    nodes = node_of_core(machine)
    parts = (((core, nodes[core] if home is None else home), 1.0) for core in cores)
    return summed(parts, len(cores))


# ---- modelled and measured -------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Modelled and measured bandwidth of a placement, in 10^9 bytes per second.

    Attributes:
        what, threads: the placement, as a text, and its number of threads.
        measured_over_modelled: the ratio, taken round by round.
        bottleneck: the kinds of parts that limit it, by the model of the first whole round.
    """

    what: str
    threads: int
    modelled_gb_s: MedianInterval
    measured_gb_s: MedianInterval
    measured_over_modelled: MedianInterval
    bottleneck: tuple[Resource, ...]


@dataclass(frozen=True)
class ModelComparison:
    """The runs of a plan, and the rates and predictions that follow from whole rounds.

    Attributes:
        runs: the processes that ended, also those of a round that was interrupted.
        node: this machine, as describe_node describes it.
        interrupted: whether Ctrl-C ended the measurement early.
    """

    plan: ModelPlan
    runs: tuple[ProgramRun, ...]
    node: Json
    interrupted: bool

    @property
    def _round_rates(self) -> Mapping[int, Mapping[int, float]]:
        """The rates in GB/s by round and configuration, of rounds in which all of them ran."""
        by_round: dict[int, dict[int, float]] = {}
        for sample in self.runs:
            by_round.setdefault(sample.round, {})[sample.configuration] = sample.rate_gb_s(TRIAD)
        whole = len(self.plan.configurations)
        return {number: one for number, one in by_round.items() if len(one) == whole}

    @property
    def rounds(self) -> int:
        """The number of whole rounds."""
        return len(self._round_rates)

    def rates(self) -> list[tuple[RatedRun, MedianInterval]]:
        """Return the measured rates in GB/s, in the plan's order; none where no round is whole."""
        rounds = self._round_rates.values()
        return [
            (one, median_interval([round_gb_s[one.configuration] for round_gb_s in rounds]))
            for one in self.plan.rated
            if rounds
        ]

    def compared(self) -> list[Compared]:
        """Return the comparison for each predicted placement; none where no round is whole."""
        rounds = list(self._round_rates.values())
        return [self._compared(one, rounds) for one in self.plan.predicted if rounds]

    def _compared(self, predicted: PredictedRun, rounds: Sequence[Mapping[int, float]]) -> Compared:
        models = [modelled(self._rated(round_gb_s), predicted.traffic) for round_gb_s in rounds]
        expected = [model.gb_s for model in models if model is not None]
        measured = [round_gb_s[predicted.configuration] for round_gb_s in rounds]
        first = models[0]
        return Compared(
            predicted.what,
            predicted.traffic.threads,
            median_interval(expected),
            median_interval(measured),
            median_interval([m / e for m, e in zip(measured, expected, strict=True)]),
            () if first is None else tuple(dict.fromkeys(d.resource for d in first.bottleneck)),
        )

    def _rated(self, round_gb_s: Mapping[int, float]) -> Machine:
        rates = tuple(
            PublishedRate(one.resource, round_gb_s[one.configuration], SOURCE, HOW, one.distance)
            for one in self.plan.rated
        )
        return replace(self.plan.machine, rates=rates)

    def json_data(self) -> Json:
        """Return the runs, rates and comparisons as values that JSON has."""
        return {
            "kind": "model",
            "interrupted": self.interrupted,
            "node": self.node,
            "array_bytes": self.plan.array_bytes,
            "rates": [
                {"of": one.resource, "distance": one.distance, "gb_s": interval.median}
                for one, interval in self.rates()
            ],
            "compared": [
                {
                    "what": one.what,
                    "threads": one.threads,
                    "modelled_gb_s": one.modelled_gb_s.median,
                    "measured_gb_s": one.measured_gb_s.median,
                    "measured_over_modelled": [
                        one.measured_over_modelled.low,
                        one.measured_over_modelled.median,
                        one.measured_over_modelled.high,
                    ],
                    "bottleneck": list(one.bottleneck),
                }
                for one in self.compared()
            ],
            "configurations": [list(one.arguments) for one in self.plan.configurations],
            "samples": [
                {"configuration": s.configuration, "round": s.round, "record": s.record}
                for s in self.runs
            ],
        }


def check_pages(record: Json) -> None:
    """Raise UserError if less than LEAST_PLACED of a process's pages are where they should be.
    That is the requested NUMA node, else those of the threads that use them. A share that Linux
    does not report passes."""
    key = "local_share" if record.get("memory_node") is None else "memory_node_share"
    share = record.get(key)
    if share is not None and share < LEAST_PLACED:
        where = "where they are used"
        if record.get("memory_node") is not None:
            where = f"on NUMA node {record['memory_node']}"
        raise UserError(
            f"only {share:.0%} of the pages live {where}: the NUMA node has too little memory "
            "free, or the job may not use it. End what else takes memory there, or ask for a whole "
            "node"
        )


def measure(
    installation: Installation,
    plan: ModelPlan,
    node: Json,
    rounds: int,
    progress: Callable[[str], None],
) -> ModelComparison:
    """Run a plan with common/probe, which must have been built.
    node: this machine, as describe_node describes it. After Ctrl-C the runs so far are returned,
    marked as interrupted. Raises UserError where memory is short, a process is killed, or for pages
    as check_pages does, and NumalabError where a process fails."""
    order = orders(len(plan.configurations), rounds, random.SystemRandom().randrange(2**32))
    runs: list[ProgramRun] = []
    interrupted = False
    try:
        for sample in run_rounds(installation.probe, plan.configurations, order, progress):
            check_pages(sample.record)
            runs.append(sample)
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return ModelComparison(plan, tuple(runs), node, interrupted)
