"""Modelled beside measured, on a node with several NUMA nodes: rates of one core, one controller
and one link are measured, other placements predicted from them as modelling/ does, and these run.

All of it is one loop (the probe's triad), in fresh processes, each configuration once in a round: a
prediction is held against a measurement of the same round, whose rates it is made of. It fits
nothing to what it predicts. What it shows is how far the model's assumption holds on this node,
that all parts work at once and the slowest limits all. What could fake that: arrays that caches
hold (so they are four times as large), pages elsewhere than asked for (each process reports its
pages, and a run of which they are is refused), rates that change between two processes of a round
(the intervals are over rounds). Pure functions but for `measure`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
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
TIMES_CACHES = 4  # so large are the arrays together
LEAST_ARRAY, ARRAY_SHARE = 64 * MIB, 16  # of free memory, one part in so many
REPETITIONS = 5
LEAST_PLACED = 0.95  # of the pages
ROUNDS, QUICK_ROUNDS = 9, 6  # 6 are the fewest with an interval of 95 %
SOURCE, HOW = "measured", "triad on this node, in the same round"

SINGLE_NUMA_NODE = (
    "explore model holds modelled bandwidths against measured ones, and this computer has one "
    "NUMA node with cores: there is no placement to model. Run it on one with two or more, in a "
    "job that has it whole (srun --exclusive -N1 ./numalab explore model). What a placement would "
    "cost on other machines stands in gradings: ./numalab grade 01 --on hydra --on nebula"
)


@dataclass(frozen=True)
class RatedRun:
    """A configuration whose measured bandwidth is a rate of the model. resource: that it is of;
    distance: between cores and memory; configuration: its index in the plan."""

    resource: Resource
    distance: int | None
    configuration: int


@dataclass(frozen=True)
class PredictedRun:
    """A configuration whose bandwidth is predicted. what: its placement, as a text; configuration:
    its index in the plan."""

    what: str
    traffic: MemoryTraffic
    configuration: int


@dataclass(frozen=True)
class ModelPlan:
    """What is run. machine: this one, its PUs and NUMA nodes numbered from 0 without gaps."""

    machine: Machine
    configurations: tuple[Configuration, ...]
    rated: tuple[RatedRun, ...]
    predicted: tuple[PredictedRun, ...]
    array_bytes: int


@dataclass(frozen=True)
class _Node:
    """cores: the first PU of each core that this process may use, by NUMA node in the order of
    the numbers; numbers: Linux's; distances: between these, in the same order."""

    cores: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    distances: tuple[tuple[int, ...], ...]

    @cached_property
    def machine(self) -> Machine:
        """The machine as the model has it: cores numbered over the NUMA nodes, a PU each. That
        several L3s of a NUMA node may be a limit is left out."""
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
        """Return the numbers of a NUMA node's cores."""
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
    """Return what is run on a machine. Raises UserError where it has one NUMA node with cores, or
    too little memory for arrays that caches don't hold."""
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
    made = _Made(described, array_bytes)
    made.add_rates()
    made.add_predictions()
    return ModelPlan(
        described.machine, tuple(made.configurations), tuple(made.rated), tuple(made.predicted),
        array_bytes,
    )  # fmt: skip


class _Made:
    """Builds a plan. Cores are numbered over the NUMA nodes."""

    def __init__(self, node: _Node, array_bytes: int) -> None:
        self.node, self.array_bytes = node, array_bytes
        self.configurations: list[Configuration] = []
        self.rated: list[RatedRun] = []
        self.predicted: list[PredictedRun] = []
        self.pus = [pu for cores in node.cores for pu in cores]

    def _configuration(self, cores: Sequence[int], home: int | None) -> int:
        """Add a configuration and return its index. home: the NUMA node of all pages; None: each
        thread's are on its own."""
        pus = ",".join(str(self.pus[core]) for core in cores)
        arguments = [
            TRIAD, "pages=small", f"bytes={self.array_bytes}", f"repetitions={REPETITIONS}",
            "first_touch=all", f"pus={pus}",
        ]  # fmt: skip
        key: dict[str, int | str] = {"threads": len(cores)}
        if home is not None:
            key["memory_node"] = self.node.numbers[home]
            arguments.append(f"memory_node={self.node.numbers[home]}")
        self.configurations.append(
            Configuration(
                key,
                tuple(arguments),
                {"OMP_NUM_THREADS": str(len(cores)), "OMP_DYNAMIC": "false"},
            )
        )
        return len(self.configurations) - 1

    def _pairs(self) -> dict[int, tuple[int, int]]:
        """Return the first pair of NUMA nodes (user, home) at each distance, 10 too."""
        pairs: dict[int, tuple[int, int]] = {}
        for user, row in enumerate(self.node.distances):
            for home, distance in enumerate(row):
                pairs.setdefault(distance, (user, home))
        return pairs

    def add_rates(self) -> None:
        for distance, (user, home) in sorted(self._pairs().items()):
            cores = self.node.core_numbers(user)
            self.rated.append(RatedRun("core", distance, self._configuration(cores[:1], home)))
            whole = self._configuration(cores, home)
            if distance == LOCAL_DISTANCE:
                self.rated.append(RatedRun("controller", None, whole))
            else:
                self.rated.append(RatedRun("link", distance, whole))

    def _predict(self, what: str, cores: Sequence[int], home: int | None) -> None:
        nodes = node_of_core(self.node.machine)
        traffic = summed(
            (((core, nodes[core] if home is None else home), 1.0) for core in cores), len(cores)
        )
        self.predicted.append(PredictedRun(what, traffic, self._configuration(cores, home)))

    def add_predictions(self) -> None:
        """Add placements none of which gives a rate."""
        nodes = range(len(self.node.numbers))
        every = [core for node in nodes for core in self.node.core_numbers(node)]
        fewest = min(map(len, self.node.cores))
        in_turn = [self.node.core_numbers(node)[i] for i in range(fewest) for node in nodes]
        self._predict("a thread on each core, own pages", every, None)
        self._predict("a thread on each core, all pages on the first NUMA node", every, 0)
        if fewest > 1:
            first = self.node.core_numbers(0)
            self._predict(
                "as many threads as a NUMA node has cores, over all of them, own pages",
                in_turn[:fewest], None,
            )  # fmt: skip
            if fewest > 2:
                half = first[: (fewest + 1) // 2]
                self._predict("half the cores of a NUMA node, own pages", half, 0)
        self._predict("a core of each NUMA node, all pages on the first", in_turn[: len(nodes)], 0)


# ---- modelled beside measured ----------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Modelled and measured bandwidth of a placement, in 10^9 bytes per second.

    measured_over_modelled: compared round by round; bottleneck: the resources that limit it.
    """

    what: str
    threads: int
    modelled_gb_s: MedianInterval
    measured_gb_s: MedianInterval
    measured_over_modelled: MedianInterval
    bottleneck: tuple[Resource, ...]


@dataclass(frozen=True)
class ModelComparison:
    """All runs of a plan, and what follows from those of whole rounds. node: this machine, as
    describe_node has it."""

    plan: ModelPlan
    runs: tuple[ProgramRun, ...]
    node: Json
    interrupted: bool

    @property
    def _round_rates(self) -> Mapping[int, Mapping[int, float]]:
        """GB/s of each configuration by round, of rounds in which all of them ran."""
        by_round: dict[int, dict[int, float]] = {}
        for sample in self.runs:
            by_round.setdefault(sample.round, {})[sample.configuration] = sample.rate_gb_s(TRIAD)
        whole = len(self.plan.configurations)
        return {number: one for number, one in by_round.items() if len(one) == whole}

    @property
    def rounds(self) -> int:
        return len(self._round_rates)

    def rates(self) -> list[tuple[RatedRun, MedianInterval]]:
        """Return the measured rates in GB/s; none where no round is whole."""
        rounds = self._round_rates.values()
        return [
            (one, median_interval([round_gb_s[one.configuration] for round_gb_s in rounds]))
            for one in self.plan.rated
            if rounds
        ]

    def compared(self) -> list[Compared]:
        """Return the predicted placements; none where no round is whole."""
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
        """Return all runs, and what follows from them."""
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
    """Raise UserError where pages of a process are not on the requested NUMA node."""
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
    """Run the plan with the probe, which has been built; after Ctrl-C return what there is by then,
    marked so. Raises UserError where memory is short, NumalabError."""
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
