"""Two to four virtual nodes with a network between them.

    with boot_cluster(kit, machine, shares, ClusterOptions(nodes=2), plan_options, print) as cluster:
        cluster.hold({"/numalab/ring": kit.build / "ring"})     # on all nodes
        before = cluster.counts()
        ended = cluster.run(1, ["mpiexec", "-n", "2", "-ppn", "1", "/numalab/ring"],
                            "/", environment, out.extend, err.extend, limit_s=60.0)
        crossed = cluster.counts().since(before)
        crossed.nodes[0].sent.tcp_payload_bytes

Nodes are named node1, node2 and so on; their addresses are 10.0.0.1 and so on, on eth0. They know
each other's Ethernet addresses and speak no IPv6, so nothing crosses that nobody sent: no ARP, no
neighbour discovery. MPI programs are started by mpiexec on node1 over the link itself
(`mpi_environment`); what that takes crosses it, too: some kilobytes (README.md has the figures).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numalab.kit import Kit
from numalab.machines.machine import Machine
from numalab.virtual.guest import Ended, Guest, Input
from numalab.virtual.guest_plan import Share
from numalab.virtual.link import Counts
from numalab.virtual.plan import GuestOptions
from numalab.words import StepReport

Card = Literal["virtio-net", "e1000"]
LEAST_NODES, MOST_NODES = 2, 4
MOST_RATE_MBIT_S = 50.0


@dataclass(frozen=True)
class ClusterOptions:
    """rate_mbit_s: of each direction of each node's link, at most MOST_RATE_MBIT_S. card: with
    e1000 the nodes' Linux leaves it to the card to cut TCP segments (a capture inside shows some
    that are larger than the MTU; on the link none is). capture: a folder for node1.pcap and so on,
    all frames of each node's link in both directions, as they crossed it."""

    nodes: int = 2
    rate_mbit_s: float = MOST_RATE_MBIT_S
    card: Card = "virtio-net"
    capture: Path | None = None


class Cluster(contextlib.AbstractContextManager["Cluster"]):
    """Use boot_cluster(). As a context manager it ends all nodes and the relay."""

    guests: tuple[Guest, ...]  # node1 first

    @property
    def names(self) -> tuple[str, ...]:
        """node1, node2, ..."""
        raise NotImplementedError

    @property
    def mpi_environment(self) -> dict[str, str]:
        """By which mpiexec starts ranks on all nodes, in the order of their names, and MPICH talks
        over the link. To be added to a command's environment."""
        raise NotImplementedError

    def hold(self, programs: Mapping[str, Path]) -> None:
        """Keeps these files of the host's in the memory of every node, by their paths there, and
        none that they held before. Raises GuestFailed."""
        raise NotImplementedError

    def run(
        self,
        node: int,
        arguments: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        on_output: Callable[[bytes], None],
        on_errors: Callable[[bytes], None],
        source: Input | None = None,
        window: tuple[int, int] = (0, 0),
        limit_s: float | None = None,
    ) -> Ended | None:
        """Runs one command on a node (1 is node1) with mpi_environment, to its end; None when
        limit_s is over, with the command killed. What it has started on other nodes ends with it.
        One command per node at a time. Raises GuestFailed."""
        raise NotImplementedError

    def counts(self) -> Counts:
        """What has crossed each node's link since the cluster was booted, once nothing has crossed
        any for a moment. Raises GuestFailed."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stops all nodes, so that they take nothing of the host's cores."""

    def resume(self) -> None:
        """Lets them go on."""

    def close(self) -> None:
        """Ends all nodes and the relay."""


def boot_cluster(
    kit: Kit,
    machine: Machine,
    shares: Sequence[Share],
    options: ClusterOptions,
    guest_options: GuestOptions,
    progress: StepReport,
    system: Sequence[Path] | None = None,
) -> Cluster:
    """Nodes that are up and reach each other. The kit's programs for them are built (plan.
    build_programs, build_relay). system: as for plan.make_plan. Raises UserError where the host
    carries no such cluster, and KitError with what a node's console said last."""
    raise NotImplementedError
