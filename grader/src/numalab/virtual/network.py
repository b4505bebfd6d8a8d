"""Names and addresses of the nodes of a cluster. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

INTERFACE = "eth0"
NODE_NAMES_FILE = "/etc/numalab-nodes"  # of the nodes' names, as MPI's launchers read it
REMOTE = "/numalab-remote"  # common/guest/remote.h
REMOTE_APART = "/numalab/apart"  # the same
FINALIZE = "/numalab-finalize.so"  # common/guest/finalize.c


@dataclass(frozen=True)
class Node:
    """A node of a cluster, numbered from 1; nodes: how many there are."""

    number: int
    nodes: int

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def ip(self) -> str:
        return f"10.0.0.{self.number}"

    @property
    def ethernet(self) -> str:
        """The address by which the relay knows it (common/relay/frame.h)."""
        return f"52:54:00:6e:6c:{self.number:02x}"

    @property
    def others(self) -> list[Node]:
        return [node for node in all_nodes(self.nodes) if node != self]


def all_nodes(nodes: int) -> list[Node]:
    return [Node(number, nodes) for number in range(1, nodes + 1)]


def address_table(node: Node) -> str:
    """Return /etc/hosts of a node: under its own name it is known by its address on the link, since
    an MPI launcher tells that name to the others."""
    lines = ["127.0.0.1 localhost", *(f"{one.ip} {one.name}" for one in all_nodes(node.nodes))]
    return "\n".join(lines) + "\n"


def mpi_environment() -> dict[str, str]:
    """Return variables by which Hydra starts ranks on all nodes, and MPICH's UCX uses the link: TCP
    on the card, memory within a node. Left to itself UCX takes the loopback device for one that
    leads to the others."""
    return {
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": REMOTE,
        "HYDRA_HOST_FILE": NODE_NAMES_FILE,
        "UCX_NET_DEVICES": INTERFACE,
        "UCX_TLS": "tcp,self,sysv",
        "LD_PRELOAD": FINALIZE,
    }
