"""Two to four virtual machines with a network between them: the nodes of a cluster.

    options = ClusterOptions(nodes=2)
    with boot_cluster(installation, machine, [], options, GuestOptions(), print) as cluster:
        for guest in cluster.guests:
            guest.hold({"/numalab/ring": installation.build / "ring"})
        before = cluster.counts()
        ended = cluster.run(1, ["mpiexec", "-n", "2", "-ppn", "1", "/numalab/ring"],
                            "/", environment, out.extend, err.extend, limit_s=60.0)
        crossed = cluster.counts().subtract(before)
        crossed.nodes[0].sent.tcp_payload_bytes

network.py has the names and addresses of the nodes. What mpiexec sends to start ranks on other
nodes crosses the links, too.
"""

from __future__ import annotations

import contextlib
import os
import selectors
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.errors import UserError
from numalab.installation import Installation
from numalab.machines.machine import Machine
from numalab.virtual.booting import boot_all
from numalab.virtual.channel import Channel
from numalab.virtual.guest import ClusterMember, Ended, Guest, Input
from numalab.virtual.guest_plan import Share
from numalab.virtual.link import Counts, Relay, capture_files
from numalab.virtual.network import all_nodes, mpi_environment
from numalab.virtual.plan import GuestOptions, make_plan
from numalab.virtual.qemu import Card
from numalab.words import StepReport

LEAST_NODES, MOST_NODES = 2, 4
LEAST_RATE_MBIT_S, MOST_RATE_MBIT_S = 0.1, 50.0


@dataclass(frozen=True)
class ClusterOptions:
    """A user's options for a cluster.

    Attributes:
        nodes: LEAST_NODES to MOST_NODES.
        rate_mbit_s: of each direction of each node's link, in 10^6 bits per second,
            LEAST_RATE_MBIT_S to MOST_RATE_MBIT_S.
        card: of the nodes.
        capture: folder for captures of the nodes' links, node1.pcap and so on; None: nothing is
            captured.
    """

    nodes: int = 2
    rate_mbit_s: float = MOST_RATE_MBIT_S
    card: Card = "virtio-net"
    capture: Path | None = None


class Cluster(contextlib.AbstractContextManager["Cluster"]):
    """A running cluster, which is closed at the end of a `with` block."""

    def __init__(self, guests: Sequence[Guest], relay: Relay) -> None:
        self.guests = tuple(guests)  # node1 first
        self._relay = relay
        # Readable once QEMU has ended. Linux before 5.3 has none, and an end goes unnoticed there.
        self._ends: dict[int, Guest] = {}
        for guest in guests:
            with contextlib.suppress(OSError):
                self._ends[os.pidfd_open(guest.process.pid)] = guest

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all nodes and the relay."""
        for guest in self.guests:
            guest.close()
        self._relay.close()
        for end in self._ends:
            os.close(end)
        self._ends = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes: node1, node2 and so on."""
        return tuple(guest.name for guest in self.guests)

    def run(
        self,
        node: int,
        arguments: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        write_output: Callable[[bytes], None],
        write_errors: Callable[[bytes], None],
        source: Input | None = None,
        window: tuple[int, int] = (0, 0),
        limit_s: float | None = None,
    ) -> Ended | None:
        """Run a command on a node (1 is node1) as Guest.run does, with mpi_environment added.

        Raises GuestFailed, also where the relay ends meanwhile or, from Linux 5.3 on, another node.
        """
        guest = self.guests[node - 1]
        others = {end: one for end, one in self._ends.items() if one is not guest}
        watch = _Watch(source or Input(), others, self._relay)
        variables = dict(environment) | mpi_environment()
        return guest.run(
            arguments, folder, variables, write_output, write_errors, watch, window, limit_s
        )

    def counts(self) -> Counts:
        """Return what has crossed each node's link since the relay was started, after waiting until
        the links are quiet (Relay.counts). Raises GuestFailed where the relay fails."""
        return self._relay.counts()


class _Watch(Input):
    """An input that also watches the relay and the other nodes, since a command would wait for a
    node that is gone. handle() raises GuestFailed where one has ended."""

    def __init__(self, source: Input, others: Mapping[int, Guest], relay: Relay) -> None:
        self._source, self._others, self._relay = source, others, relay

    def readers(self) -> Sequence[Any]:
        return [*self._source.readers(), self._relay, *self._others]

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        if self._relay in ready:
            raise self._relay.failure()
        for end, guest in self._others.items():
            if end in ready:
                raise guest.lost()
        self._source.handle(ready, selector, channel)

    def consumed(self) -> None:
        self._source.consumed()


def boot_cluster(
    installation: Installation,
    machine: Machine,
    shares: Sequence[Share],
    options: ClusterOptions,
    guest_options: GuestOptions,
    progress: StepReport,
    system: Sequence[Path] | None = None,
) -> Cluster:
    """Boot a cluster and return it once its nodes are set up; the caller closes it.

    Its programs have to be built (plan.build_programs with is_cluster). shares, system: as for
    plan.make_plan. Raises UserError for options that are out of range or that this machine can't
    meet, and NumalabError where the cluster can't be started.
    """
    check_options(options)
    plan, store = make_plan(
        installation, machine, shares, guest_options, progress, system, options.nodes, options.card
    )
    nodes = all_nodes(options.nodes)
    captures = [] if options.capture is None else capture_files(options.capture, nodes)
    rate_bytes_per_s = round(options.rate_mbit_s * 1e6 / 8)
    relay = Relay(installation.relay, nodes, rate_bytes_per_s, captures)
    try:
        finalize = installation.guest_finalize.read_bytes()
        members = [
            ClusterMember(node, link, finalize)
            for node, link in zip(nodes, relay.links, strict=True)
        ]
        guests = boot_all(plan, store, progress, members)
        relay.close_links()
    except BaseException:
        relay.close()
        raise
    return Cluster(guests, relay)


def check_options(options: ClusterOptions) -> None:
    """Raise UserError where the number of nodes or the rate is out of range."""
    if not LEAST_NODES <= options.nodes <= MOST_NODES:
        raise UserError(
            f"x{options.nodes}: a cluster has x{LEAST_NODES} to x{MOST_NODES} nodes; name one of "
            "these numbers"
        )
    if not LEAST_RATE_MBIT_S <= options.rate_mbit_s <= MOST_RATE_MBIT_S:
        raise UserError(
            f"--rate {options.rate_mbit_s:g}: a link carries {LEAST_RATE_MBIT_S:g} to "
            f"{MOST_RATE_MBIT_S:g} Mbit/s; emulated nodes send hardly more"
        )
