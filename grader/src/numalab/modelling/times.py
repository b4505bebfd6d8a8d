"""Modelled time: what the slowest of a machine's parts needs for the bytes that go through it.

All parts work at once, and each at its published rate: the time of the whole is that of the part
that needs longest, the bottleneck. A core moves its bytes one after another, so that its times for
near and far memory add up. A link is one way: what threads of one NUMA node move to and from the
memory of another one, as it is measured with threads bound here and memory there; the opposite way
is another link. common/modelling/README.md says what the model leaves out. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numalab.evidence.record import Json
from numalab.machines.machine import Machine
from numalab.machines.rates import DISTANCE_RESOURCES, PublishedRate, Resource, known_rate
from numalab.modelling.traffic import Traffic, node_of_core

ALIKE = 0.02  # parts whose times differ by less are a bottleneck together


@dataclass(frozen=True)
class Demand:
    """On one part. numbers: the core; NUMA node and, counted over the machine, L3; NUMA node; of a
    link that of the threads, and that of the memory. share: of all bytes; s_per_gb: that it takes
    for its share of 1 GB that is moved in all, each byte that crosses counted. distance: of a
    link."""

    of: Resource
    numbers: tuple[int, ...]
    share: float
    s_per_gb: float
    distance: int | None = None


class Missing(NamedTuple):
    """A rate that is not known. distance: None: at none, or of a part that has none."""

    of: Resource
    distance: int | None = None


@dataclass(frozen=True)
class Flow:
    """What threads of one NUMA node move to and from the memory of another one, or of their own;
    share: of all bytes."""

    user: int
    home: int
    share: float
    distance: int


@dataclass(frozen=True)
class Modelled:
    """flows: all, with a rate or without; demands: those whose rate is known; bottleneck: those of
    them that need longest, alike; without: what has no rate, and so was left out, or counted as
    nearer memory. threads: that move the bytes."""

    s_per_gb: float
    bottleneck: tuple[Demand, ...]
    demands: tuple[Demand, ...]
    without: tuple[Missing, ...]
    threads: int
    flows: tuple[Flow, ...]

    @property
    def gb_s(self) -> float:
        return 1 / self.s_per_gb

    def json_data(self) -> Json:
        return {
            "s_per_gb": self.s_per_gb,
            "threads": self.threads,
            "bottleneck": [[demand.of, *demand.numbers] for demand in self.bottleneck],
            "without": [missing._asdict() for missing in self.without],
            "flows": [
                {"user": f.user, "home": f.home, "share": f.share, "distance": f.distance}
                for f in self.flows
            ],
            "demands": [
                {"of": d.of, "numbers": list(d.numbers), "share": d.share, "s_per_gb": d.s_per_gb}
                for d in self.demands
            ],
        }

    def of(self, resource: Resource) -> tuple[Demand, ...]:
        """In the order of their numbers."""
        return tuple(demand for demand in self.demands if demand.of == resource)


def why_not(machine: Machine, traffic: Traffic | None = None) -> str | None:
    """Why no time can be modelled on a machine, or of one traffic there, as a sentence; None: it
    can. What goes through a controller of no known rate can't be left out as a link's share can:
    the less the controllers with a rate had to do, the faster the whole would seem."""
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


def modelled(machine: Machine, traffic: Traffic) -> Modelled | None:
    """machine: the whole one. None where why_not says so, or nothing is moved."""
    if why_not(machine, traffic) is not None or not traffic.total > 0:
        return None
    moved = traffic.normalized()
    demands = _controllers(machine, moved)
    without: dict[Missing, None] = {}
    for found in (_cores, _l3s, _links):
        known, unknown = found(machine, moved)
        demands += known
        without |= dict.fromkeys(unknown)
    longest = max(demand.s_per_gb for demand in demands)
    return Modelled(
        s_per_gb=longest,
        bottleneck=tuple(d for d in demands if d.s_per_gb >= (1 - ALIKE) * longest),
        demands=tuple(demands),
        without=tuple(without),
        threads=traffic.threads,
        flows=_flows(machine, moved),
    )


Demands = tuple[list[Demand], list[Missing]]  # what has a rate, and what has none


def _cores(machine: Machine, traffic: Traffic) -> Demands:
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
    """Of a core, with the farthest memory nearer than that: it is not faster with farther one."""
    nearer = {
        rate.distance: rate.gb_s
        for rate in rates
        if rate.resource == "core" and rate.distance is not None and rate.distance < distance
    }
    return nearer[max(nearer)] if nearer else None


def _l3s(machine: Machine, traffic: Traffic) -> Demands:
    """Only where NUMA nodes have several: else their cores meet at the controller anyway."""
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


def _controllers(machine: Machine, traffic: Traffic) -> list[Demand]:
    """All have a rate: see why_not."""
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


def _flows(machine: Machine, traffic: Traffic) -> tuple[Flow, ...]:
    nodes, distances = node_of_core(machine), machine.guest_distances()
    share: dict[tuple[int, int], float] = {}
    for (core, home), moved in traffic.bytes.items():
        key = (nodes[core], home)
        share[key] = share.get(key, 0.0) + moved
    return tuple(
        Flow(user, home, share[user, home], distances[user][home]) for user, home in sorted(share)
    )


def _links(machine: Machine, traffic: Traffic) -> Demands:
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
    rates: Sequence[PublishedRate], of: Resource, distances: set[int]
) -> list[Missing]:
    """distances: that are in use and have no rate, of cores and links."""
    if of in DISTANCE_RESOURCES and any(rate.resource == of for rate in rates):
        return [Missing(of, distance) for distance in sorted(distances)]
    return [Missing(of)] if distances or of not in DISTANCE_RESOURCES else []
