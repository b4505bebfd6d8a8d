"""Modelled time: the time that the slowest of a machine's parts needs for its bytes.

Cores, L3 caches, memory controllers and links work at the same time, each at its published rate.
So the modelled time is that of the part that needs longest, the bottleneck. A core moves its bytes
one after another: its times for near and far memory add up. A link has a direction: it connects the
threads of one NUMA node with the memory of another one, as benchmarks measure it with bound threads
and memory. common/modelling/README.md says what the model leaves out. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from numalab.evidence.record import Json
from numalab.machines.machine import Machine
from numalab.machines.rates import DISTANCE_RESOURCES, PublishedRate, Resource, known_rate
from numalab.modelling.traffic import MemoryTraffic, node_of_core

# Parts whose times are at most this share below the longest are the bottleneck together.
SAME_TIME = 0.02


@dataclass(frozen=True)
class Demand:
    """The bytes that one part of a machine has to move.

    Attributes:
        resource: the kind of part.
        numbers: the part's number. For an L3 the number of its NUMA node and its own, counted over
            the machine; for a controller that of its NUMA node; for a link those of the threads'
            and of the memory's NUMA node.
        share: the share of all bytes (0 to 1).
        s_per_gb: the seconds that the part needs for its share of 1 GB moved in all.
        distance: a link's distance between NUMA nodes; None for other parts.
    """

    resource: Resource
    numbers: tuple[int, ...]
    share: float
    s_per_gb: float
    distance: int | None = None


class Missing(NamedTuple):
    """An unknown rate: that of a core or link at one distance; where distance is None, that of a
    kind of part at any distance."""

    resource: Resource
    distance: int | None = None


@dataclass(frozen=True)
class Flow:
    """The share of all bytes (0 to 1) that the threads of one NUMA node (user) move to and from the
    memory of the same or another one (home), at this distance."""

    user: int
    home: int
    share: float
    distance: int


@dataclass(frozen=True)
class Modelled:
    """A modelled time.

    Attributes:
        s_per_gb: seconds for 1 GB that is moved in all.
        bottleneck: the demand that needs longest, and those within SAME_TIME of it.
        demands: those on the parts with a known rate.
        missing: the unknown rates. Such parts are left out; but a core uses far memory at its known
            rate for the farthest memory that is nearer.
        threads: the number of threads that move the bytes.
        flows: the shares of pairs of NUMA nodes, whether or not a rate is known.
    """

    s_per_gb: float
    bottleneck: tuple[Demand, ...]
    demands: tuple[Demand, ...]
    missing: tuple[Missing, ...]
    threads: int
    flows: tuple[Flow, ...]

    @property
    def gb_s(self) -> float:
        return 1 / self.s_per_gb

    def json_data(self) -> Json:
        return {
            "s_per_gb": self.s_per_gb,
            "threads": self.threads,
            "bottleneck": [[demand.resource, *demand.numbers] for demand in self.bottleneck],
            "without": [{"of": m.resource, "distance": m.distance} for m in self.missing],
            "flows": [asdict(flow) for flow in self.flows],
            "demands": [
                {
                    "of": d.resource,
                    "numbers": list(d.numbers),
                    "share": d.share,
                    "s_per_gb": d.s_per_gb,
                }
                for d in self.demands
            ],
        }

    def demands_on(self, resource: Resource) -> tuple[Demand, ...]:
        """Return the demands on one kind of part, in the order of their numbers."""
        return tuple(demand for demand in self.demands if demand.resource == resource)


def why_not(machine: Machine, traffic: MemoryTraffic | None = None) -> str | None:
    """Return which missing rate prevents a modelled time on a machine, or for one traffic there, as
    a sentence; None where none does.

    A controller without a known rate can't be left out as a link can: the less the others had to
    do, the faster the whole would seem.
    """
    kinds = {node.memory_kind for node in machine.nodes_with_cores}
    if any(_controller_rate(machine, kind) is None for kind in kinds):
        return (
            f"No time is modelled on {machine.name}: no published rate of one of its memory "
            "controllers is known."
        )
    for home in sorted({home for _, home in traffic.bytes} if traffic is not None else ()):
        kind = machine.numa_nodes[home].memory_kind
        if _controller_rate(machine, kind) is None:
            where = f"NUMA node {home} ({kind})" if kind else f"NUMA node {home}"
            return (
                f"No time is modelled on {machine.name}: pages live on {where}, and no published "
                "rate of its controller is known."
            )
    return None


def modelled(machine: Machine, traffic: MemoryTraffic) -> Modelled | None:
    """Return the modelled time of traffic on a machine; None where why_not returns a reason, or
    nothing is moved. The machine must not be scaled down."""
    if why_not(machine, traffic) is not None or not traffic.total > 0:
        return None
    moved = traffic.normalized()
    demands = _controllers(machine, moved)
    missing: dict[Missing, None] = {}
    for demands_of in (_cores, _l3s, _links):
        known, unknown = demands_of(machine, moved)
        demands += known
        missing |= dict.fromkeys(unknown)
    longest = max(demand.s_per_gb for demand in demands)
    return Modelled(
        s_per_gb=longest,
        bottleneck=tuple(d for d in demands if d.s_per_gb >= (1 - SAME_TIME) * longest),
        demands=tuple(demands),
        missing=tuple(missing),
        threads=traffic.threads,
        flows=_flows(machine, moved),
    )


Demands = tuple[list[Demand], list[Missing]]  # of parts with a known rate, and the unknown rates


def _cores(machine: Machine, traffic: MemoryTraffic) -> Demands:
    nodes, distances = node_of_core(machine), machine.guest_distances()
    share: dict[int, float] = {}
    time_s: dict[int, float] = {}
    unrated: set[int] = set()
    unknown: set[int] = set()
    for (core, home), moved in traffic.bytes.items():
        distance = distances[nodes[core]][home]
        rate = known_rate(machine.rates, "core", distance)
        if rate is None:
            unknown.add(distance)
            rate = _nearer_rate(machine.rates, distance)
        share[core] = share.get(core, 0.0) + moved
        if rate is None:
            unrated.add(core)
        else:
            time_s[core] = time_s.get(core, 0.0) + moved / rate
    known = [
        Demand("core", (core,), share[core], time_s[core])
        for core in sorted(share)
        if core not in unrated
    ]
    return known, _missing_rates(machine.rates, "core", unknown)


def _nearer_rate(rates: Sequence[PublishedRate], distance: int) -> float | None:
    """Return a core's rate in GB/s for the farthest memory that is nearer than a distance; None
    where none is known."""
    nearer = {
        rate.distance: rate.gb_s
        for rate in rates
        if rate.resource == "core" and rate.distance is not None and rate.distance < distance
    }
    return nearer[max(nearer)] if nearer else None


def _l3s(machine: Machine, traffic: MemoryTraffic) -> Demands:
    """Return the demands on L3 caches, where a NUMA node has several of them. With one in each the
    cores that share it meet at the controller anyway."""
    if machine.groups_per_node.most < 2:
        return [], []
    group_of: list[int] = []
    node_of: list[int] = []
    for node in machine.numa_nodes:
        for group in node.core_groups:
            number = 1 + max(group_of, default=-1)
            group_of += [number] * len(group)
            node_of += [node.number] * len(group)
    share: dict[tuple[int, ...], float] = {}
    for (core, _), moved in traffic.bytes.items():
        key = (node_of[core], group_of[core])
        share[key] = share.get(key, 0.0) + moved
    rate = known_rate(machine.rates, "l3")
    if rate is None:
        return [], _missing_rates(machine.rates, "l3", set())
    return [Demand("l3", key, share[key], share[key] / rate) for key in sorted(share)], []


def _controllers(machine: Machine, traffic: MemoryTraffic) -> list[Demand]:
    """Return the demands on memory controllers, whose rates have to be known."""
    share: dict[int, float] = {}
    for (_, home), moved in traffic.bytes.items():
        share[home] = share.get(home, 0.0) + moved
    demands: list[Demand] = []
    for number in sorted(share):
        rate = _controller_rate(machine, machine.numa_nodes[number].memory_kind)
        assert rate is not None
        demands.append(Demand("controller", (number,), share[number], share[number] / rate))
    return demands


def _controller_rate(machine: Machine, memory_kind: str) -> float | None:
    return known_rate(machine.rates, "controller", memory_kind=memory_kind)


def _flows(machine: Machine, traffic: MemoryTraffic) -> tuple[Flow, ...]:
    nodes, distances = node_of_core(machine), machine.guest_distances()
    share: dict[tuple[int, int], float] = {}
    for (core, home), moved in traffic.bytes.items():
        key = (nodes[core], home)
        share[key] = share.get(key, 0.0) + moved
    return tuple(
        Flow(user, home, share[user, home], distances[user][home]) for user, home in sorted(share)
    )


def _links(machine: Machine, traffic: MemoryTraffic) -> Demands:
    demands, unknown = [], set()
    for flow in _flows(machine, traffic):
        if flow.user == flow.home:
            continue
        rate = known_rate(machine.rates, "link", flow.distance)
        if rate is None:
            unknown.add(flow.distance)
        else:
            numbers = (flow.user, flow.home)
            demands.append(Demand("link", numbers, flow.share, flow.share / rate, flow.distance))
    return demands, _missing_rates(machine.rates, "link", unknown)


def _missing_rates(
    rates: Sequence[PublishedRate], resource: Resource, distances: set[int]
) -> list[Missing]:
    """Return the unknown rates of one kind of part. distances: those that are used and have no
    rate."""
    if resource in DISTANCE_RESOURCES and any(rate.resource == resource for rate in rates):
        return [Missing(resource, distance) for distance in sorted(distances)]
    return [Missing(resource)] if distances or resource not in DISTANCE_RESOURCES else []
