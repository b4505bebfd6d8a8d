"""Names and addresses of the nodes of a cluster. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

INTERFACE = "eth0"
# Paths in a node: of the nodes' names, as MPI's launchers read them; of the program that starts a
# command on another node and the words by which such commands are isolated (guest/remote.h); and of
# the library that MPI programs need (guest/finalize.c).
NODE_NAMES_FILE = "/etc/numalab-nodes"
REMOTE = "/numalab-remote"
REMOTE_APART = "/numalab/apart"
FINALIZE = "/numalab-finalize.so"


@dataclass(frozen=True)
class Node:
    """A node of a cluster. number: from 1 on; nodes: how many the cluster has."""

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
        """The Ethernet address of its network card."""
        return f"52:54:00:6e:6c:{self.number:02x}"

    @property
    def others(self) -> list[Node]:
        return [node for node in all_nodes(self.nodes) if node != self]


def all_nodes(nodes: int) -> list[Node]:
    return [Node(number, nodes) for number in range(1, nodes + 1)]


def address_table(node: Node) -> str:
    """Return the content of /etc/hosts of a node. Its own name has its address on the link, too,
    since an MPI launcher passes that name to the other nodes."""
    lines = ["127.0.0.1 localhost", *(f"{one.ip} {one.name}" for one in all_nodes(node.nodes))]
    return "\n".join(lines) + "\n"


def mpi_environment() -> dict[str, str]:
    """Return variables by which Hydra starts ranks on other nodes (REMOTE), MPICH's UCX uses the
    network card and shared memory, and FINALIZE is preloaded. By default UCX would take the
    loopback device for a way to other nodes."""
    return {
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": REMOTE,
        "HYDRA_HOST_FILE": NODE_NAMES_FILE,
        "UCX_NET_DEVICES": INTERFACE,
        "UCX_TLS": "tcp,self,sysv",
        "LD_PRELOAD": FINALIZE,
    }
