"""A cluster and what its nodes and its relay do together, without any of them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.qemu_peers import plan_of

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation
from numalab.virtual import cluster
from numalab.virtual.cluster import Cluster, ClusterOptions, boot_cluster
from numalab.virtual.guest import ClusterMember, Ended, Input
from numalab.virtual.network import Node, address_table, all_nodes, mpi_environment
from numalab.virtual.plan import GuestOptions
from numalab.virtual.qemu_process import GuestFailed


def test_mpi_starts_ranks_by_the_kits_means() -> None:
    assert mpi_environment() == {
        "HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": "/numalab-remote",
        "HYDRA_HOST_FILE": "/etc/numalab-nodes", "UCX_NET_DEVICES": "eth0",
        "UCX_TLS": "tcp,self,sysv", "LD_PRELOAD": "/numalab-finalize.so",
    }  # fmt: skip
    assert all_nodes(2) == [Node(1, 2), Node(2, 2)]
    assert address_table(Node(1, 1)) == "127.0.0.1 localhost\n10.0.0.1 node1\n"


class FakeGuest:
    """A process of its own, that ends when it is told."""

    def __init__(self, number: int) -> None:
        self.name, self.done = f"node{number}", list[Any]()
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.source: Any = None

    def close(self) -> None:
        self.done.append("closed")
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()

    def lost(self) -> GuestFailed:
        return GuestFailed(f"{self.name} is lost")

    def run(self, *how: Any) -> Ended:
        *told, self.source, window, limit_s = how
        self.done.append((*told, window, limit_s))
        return Ended(3)


class FakeRelay:
    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.done: list[str] = []

    def fileno(self) -> int:
        return self.ours.fileno()

    def failure(self) -> GuestFailed:
        return GuestFailed("the relay is lost")

    def counts(self) -> str:
        return "counts"

    def close(self) -> None:
        self.done.append("closed")
        self.ours.close()
        self.theirs.close()


@pytest.fixture
def three() -> Iterator[tuple[Cluster, list[FakeGuest], FakeRelay]]:
    guests, relay = [FakeGuest(number) for number in (1, 2, 3)], FakeRelay()
    with Cluster(guests, relay) as made:  # type: ignore[arg-type]
        yield made, guests, relay


Three = tuple[Cluster, list[FakeGuest], FakeRelay]


def test_what_a_cluster_does_all_its_nodes_do(three: Three) -> None:
    made, guests, relay = three
    descriptors = list(made._ends)
    assert len(descriptors) == 3
    made.close()
    assert [guest.done for guest in guests] == [["closed"]] * 3
    assert relay.done == ["closed"] and made._ends == {}
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert made.names == ("node1", "node2", "node3")


def write_output(data: bytes) -> None:
    pass


def write_errors(data: bytes) -> None:
    pass


def test_a_command_on_a_node_has_mpis_variables(three: Three) -> None:
    made, guests, relay = three
    assert made.run(
        2, ["x"], "/w", {"A": "1", "UCX_TLS": "all"}, write_output, write_errors
    ) == Ended(3)
    variables = {"A": "1", **mpi_environment()}
    assert guests[1].done == [(["x"], "/w", variables, write_output, write_errors, (0, 0), None)]
    assert made.run(3, ["y"], "/", {}, write_output, write_errors, None, (2, 3), 4.0) == Ended(3)
    assert guests[2].done == [
        (["y"], "/", mpi_environment(), write_output, write_errors, (2, 3), 4.0)
    ]
    assert guests[2].source.readers()[0] is relay
    guests[2].source.handle(set(), None, None)
    guests[2].source.consumed()
    assert guests[0].done == [] and made.counts() == "counts"  # type: ignore[comparison-overlap]


class Source(Input):
    def __init__(self, *readers: Any) -> None:
        self._readers, self.seen = readers, list[Any]()

    def readers(self) -> Sequence[Any]:
        return self._readers

    def handle(self, ready: set[Any], selector: Any, channel: Any) -> None:
        self.seen.append((ready, selector, channel))

    def consumed(self) -> None:
        self.seen.append("consumed")


def ready(source: Input) -> set[Any]:
    with selectors.PollSelector() as selector:
        for reader in source.readers():
            selector.register(reader, selectors.EVENT_READ)
        return {key.fileobj for key, _ in selector.select(0)}


def test_a_command_ends_with_what_it_depends_on(three: Three) -> None:
    made, guests, relay = three
    source = Source(relay.theirs)
    made.run(2, ["x"], "/", {}, write_output, write_errors, source)
    watch, selector, line = guests[1].source, object(), object()
    assert len(watch.readers()) == 4 and watch.readers()[:2] == [relay.theirs, relay]
    assert ready(watch) == set()
    watch.handle(set(), selector, line)
    watch.consumed()
    assert source.seen == [(set(), selector, line), "consumed"]
    guests[1].close()  # its own line tells that
    assert ready(watch) == set()
    guests[2].close()
    with pytest.raises(GuestFailed, match=r"^node3 is lost$"):
        watch.handle(ready(watch), selector, line)
    relay.theirs.close()
    with pytest.raises(GuestFailed, match=r"^the relay is lost$"):
        watch.handle({relay}, selector, line)
    assert len(source.seen) == 2


def test_before_linux_5_3_nobody_hears_of_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    guest, relay = FakeGuest(1), FakeRelay()
    with Cluster([guest], relay) as made:  # type: ignore[list-item, arg-type]
        assert made._ends == {}


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("works", [True, False])
def test_a_cluster_is_its_nodes_on_a_relay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool, capture: bool
) -> None:
    installation = Installation(tmp_path, builds=tmp_path / "build")
    installation.relay.parent.mkdir(parents=True)
    installation.guest_finalize.write_bytes(b"finalize")
    done: list[Any] = []

    class MadeRelay:
        def __init__(self, *how: Any) -> None:
            done.append(how)
            self.links = ["link1", "link2"]

        def close_links(self) -> None:
            done.append("links closed")

        def close(self) -> None:
            done.append("closed")

    def boot_all(plan: Any, store: Any, progress: Any, members: Any) -> list[Any]:
        done.append((plan, store, progress, members))
        if not works:
            raise NumalabError("no")
        return []

    def make_plan(*how: Any) -> tuple[str, str]:
        done.append(how)
        return "plan", "store"

    monkeypatch.setattr(cluster, "make_plan", make_plan)
    monkeypatch.setattr(cluster, "Relay", MadeRelay)
    monkeypatch.setattr(cluster, "boot_all", boot_all)
    folder = tmp_path / "captures" if capture else None
    options, own = ClusterOptions(2, 0.1, "e1000", folder), GuestOptions(full=True)
    machine = plan_of().machine
    with contextlib.nullcontext() if works else pytest.raises(NumalabError):
        boot_cluster(installation, machine, [], options, own, print, [Path("/usr")])
    nodes, finalize = all_nodes(2), b"finalize"
    files = [folder / "node1.pcap", folder / "node2.pcap"] if folder else []
    member: Any = ClusterMember  # of words in the place of sockets
    members = [member(nodes[0], "link1", finalize), member(nodes[1], "link2", finalize)]
    assert done == [
        (installation, machine, [], own, print, [Path("/usr")], 2, "e1000"),
        (installation.relay, nodes, 12_500, files),
        ("plan", "store", print, members),
        "links closed" if works else "closed",
    ]
    assert [path.name for path in files] == [path.name for path in files if path.exists()]


def test_what_a_cluster_has_where_nothing_is_said() -> None:
    assert ClusterOptions() == ClusterOptions(2, 50.0, "virtio-net", None)
    for options in (ClusterOptions(2, 50.0), ClusterOptions(4, 0.1), ClusterOptions(3, 1.0)):
        cluster.check_options(options)
    for options in (ClusterOptions(2, 0.09), ClusterOptions(2, 50.1), ClusterOptions(5)):
        with pytest.raises(UserError):
            cluster.check_options(options)
    assert json.dumps(Ended(1).__dict__) == '{"code": 1, "signal": 0, "refused": 0}'
