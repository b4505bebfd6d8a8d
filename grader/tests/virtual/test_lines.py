"""Lines between processes: to a guest, to QEMU, to the relay; and clusters, which hang on them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.qemu_peers import plan_of

from numalab.errors import KitError, UserError
from numalab.kit import Kit
from numalab.processes import starting
from numalab.virtual import channel, cluster, qemu_process
from numalab.virtual import link as links
from numalab.virtual.channel import Channel, ChannelClosed, Frame, run_payload
from numalab.virtual.cluster import Cluster, ClusterOptions, boot_cluster
from numalab.virtual.guest import Ended, Input, Member
from numalab.virtual.link import Counts, NodeCounts, Relay, Traffic
from numalab.virtual.network import Node, all_nodes, hosts_text, mpi_environment
from numalab.virtual.plan import GuestOptions
from numalab.virtual.qemu_process import GuestFailed

# ---- to a guest ------------------------------------------------------------------------------


@pytest.fixture
def line() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(20)
    with theirs:
        end = Channel(ours)
        yield end, theirs
        end.close()


def test_a_frame_is_its_letter_its_size_and_its_content(
    line: tuple[Channel, socket.socket],
) -> None:
    end, theirs = line
    end.send(ord("X"), b"ab")
    end.send(ord("Y"))
    end.send_strings(ord("Z"), "a\udcff", b"b\xff", "")
    assert theirs.recv(100) == b"X\2\0\0\0abY\0\0\0\0Z\7\0\0\0a\xff\0b\xff\0\0"
    assert end._line.gettimeout() is None


def test_what_is_left_of_a_read_is_the_next_frames(line: tuple[Channel, socket.socket]) -> None:
    end, theirs = line
    theirs.sendall(b"A\0\0\0\0B\1\0\0\0bC\2\0\0\0c")
    assert end.receive_ready() == [Frame(ord("A"), b""), Frame(ord("B"), b"b")]
    theirs.sendall(b"cD\0\0\0")
    assert end.receive_ready() == [Frame(ord("C"), b"cc")]
    theirs.sendall(b"\0E\0\0\0\0F\0\0\0\0")
    assert end.wait_for(ord("E"), 20) == Frame(ord("E"), b"")
    assert end.wait_for(ord("F"), 20) == Frame(ord("F"), b""), "it is there already"
    assert end._line.gettimeout() is None


def test_a_wait_ends_with_its_time(
    line: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    end, theirs = line
    theirs.sendall(b"A\0\0\0\0")
    assert end.wait_for(ord("A"), 0) is None, "nothing is read"
    assert end.wait_for(ord("B"), 0.001) is None
    theirs.close()
    with pytest.raises(ChannelClosed):
        end.wait_for(ord("A"), 20)


def test_a_guest_that_takes_nothing_is_gone(
    line: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SEND_LIMIT_S", 0.001)
    with pytest.raises(ChannelClosed):
        line[0].send(ord("X"), bytes(10_000_000))


def test_a_command_is_sent_with_all_that_it_needs() -> None:
    sent = run_payload("/w", ["a", ""], {"X": "1", "Y": "\udcff", "Z": ""}, (24, 80))
    assert sent == struct.pack("<HHHH", 24, 80, 2, 3) + b"/w\0a\0\0X=1\0Y=\xff\0Z=\0"


# ---- QEMU ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "says"),
    [({"setpriv"}, "need QEMU, which is not installed"),
     ({"qemu-system-x86_64"}, "need setpriv .the package util-linux")],
)  # fmt: skip
def test_what_a_guest_is_started_with_is_there(
    monkeypatch: pytest.MonkeyPatch, there: set[str], says: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in there else None)
    with pytest.raises(UserError, match=f"^virtual nodes {says}"):
        qemu_process.find_qemu()
    there |= {"setpriv", "qemu-system-x86_64"}
    assert qemu_process.find_qemu() == "/bin/qemu-system-x86_64"


def test_qemu_is_asked_whether_it_can_be_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")

    answers: list[int | None] = [None, 1, 0]

    def run(command: Sequence[str], environment: object, limit_s: float) -> Any:
        assert command == ["/q", *words, "-version"] and limit_s == 60.0
        code = answers.pop(0)
        if code is None:
            raise subprocess.TimeoutExpired(command, limit_s)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(starting, "run", run)
    for wanted in ((), (), words):
        qemu_process.confining_words.cache_clear()
        assert qemu_process.confining_words("/q") == wanted
    qemu_process.confining_words.cache_clear()


def test_qemu_ends_with_this_process_and_not_by_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(qemu_process, "confining_words", lambda program: ("-s", "on"))
    program = tmp_path / "qemu"
    program.write_text(
        '#!/bin/sh\necho "$@" "$(pwd)" "$(cut -d" " -f6 /proc/$$/stat)" $$\n'
        'echo bad >&2; cat; cat "/proc/self/fd/$4"\n'
    )
    program.chmod(0o755)
    memory = qemu_process.memory_file
    with memory("console") as console, memory("inherited", b"inherited\n") as file:
        number = str(file.fileno())
        command = [str(program), "-a", number]
        process = qemu_process.start_qemu(command, console, [file.fileno()])
        assert process.wait(20) == 0
        words, *rest = os.pread(console.fileno(), 1000, 0).decode().splitlines()
    *start, session, pid = words.split()
    assert start == ["-s", "on", "-a", number, "/"] and session == pid
    assert rest == ["bad", "inherited"]


def test_a_file_in_memory_is_read_from_its_start() -> None:
    with qemu_process.memory_file("x", b"content") as file:
        assert (file.tell(), file.read()) == (0, b"content")


# ---- the relay -------------------------------------------------------------------------------


def relay_program(tmp_path: Path, text: str) -> Path:
    program = tmp_path / "relay"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys\n{text}")
    program.chmod(0o755)
    return program


TELLS_ARGUMENTS = """
for line in sys.stdin:
    told = {"capture_errno": 0, "arguments": sys.argv[1:], "cwd": os.getcwd(),
            "is_leader": os.getsid(0) == os.getpid()}
    print(json.dumps(told), flush=True)
"""


def test_a_relay_is_told_its_rate_and_its_ends(tmp_path: Path) -> None:
    files = links.capture_files(tmp_path / "a/b", all_nodes(2))
    assert [file.read_bytes() for file in files] == [b"", b""]
    program = relay_program(tmp_path, TELLS_ARGUMENTS)
    with Relay(program, all_nodes(2), 1250, files) as relay:
        told = relay.ask()
        words = told["arguments"]
        assert words[:4] == ["--parent", str(os.getpid()), "--rate", "1250"]
        assert words[4::2] == ["--port", "--capture", "--port", "--capture"]
        assert len(set(words[5::2])) == 4
        assert (told["cwd"], told["is_leader"], len(relay.links)) == ("/", True, 2)
        for end in relay.links:
            assert end.type == socket.SOCK_DGRAM
            # Linux doubles it.
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * 32 * 1024
    assert [end.fileno() for end in relay.links] == [-1, -1]
    assert relay._process.returncode == -9 and relay._errors.closed


def test_a_relay_that_ends_silently_is_told(tmp_path: Path) -> None:
    with Relay(relay_program(tmp_path, "sys.stdin.readline()"), all_nodes(2), 1, []) as relay:
        with pytest.raises(GuestFailed, match=r"has ended \(it said nothing\)\. Try again\.$"):
            relay.ask()
        relay._process.wait(20)
        with pytest.raises(GuestFailed, match="it said nothing"):
            relay.ask()


def test_a_relay_that_does_not_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "ANSWER_LIMIT_S", 0.01)
    program = relay_program(tmp_path, "while True: sys.stdin.readline()")
    with (
        Relay(program, all_nodes(2), 1, []) as relay,
        pytest.raises(GuestFailed, match=r"^the relay does not answer within 0\.01 s\.$"),
    ):
        relay.ask()


ONE = {
    "frames": 1, "bytes": 2, "tcp_frames": 3, "tcp_payload_bytes": 4, "largest_frame_bytes": 5,
    "most_bytes_in_100_ms": 6,
}  # fmt: skip
NONE = dict.fromkeys(ONE, 0)


@pytest.mark.parametrize(
    ("states", "limit_s", "waits"),
    [
        ([(100, 0)], 10.0, []),
        ([(99, 0), (100, 1), (150, 0)], 10.0, [0.005, 0.005]),
        ([(0, 0), (40, 0), (100, 0)], 10.0, [0.1, 0.06]),
        ([(0, 0), (0, 9)], 0.05, [0.1]),
    ],
)
def test_what_has_crossed_is_told_when_all_is_quiet(
    monkeypatch: pytest.MonkeyPatch, states: list[tuple[int, int]], limit_s: float,
    waits: list[float],
) -> None:  # fmt: skip
    relay = object.__new__(Relay)
    told = [{"quiet_ms": quiet, "waiting_frames": waiting, "nodes": [
        {"sent": ONE, "received": NONE, "dropped_frames": number}
    ]} for number, (quiet, waiting) in enumerate(states)]  # fmt: skip
    last, clock, slept = len(told) - 1, [100.0], []

    def sleep(duration_s: float) -> None:
        slept.append(duration_s)
        clock[0] += duration_s

    monkeypatch.setattr(relay, "ask", lambda: told.pop(0))
    monkeypatch.setattr(links, "QUIET_LIMIT_S", limit_s)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", sleep)
    assert relay.counts() == Counts(
        (NodeCounts(Traffic(1, 2, 3, 4, 5, 6), Traffic(0, 0, 0, 0, 0, 0), last),)
    )
    assert slept == pytest.approx(waits)


def test_a_difference_keeps_what_is_of_all_the_time() -> None:
    then = Traffic(1, 10, 100, 1000, 60, 500)
    now = Traffic(3, 50, 700, 9000, 1514, 800)
    assert now.since(then) == Traffic(2, 40, 600, 8000, 1514, 800)
    assert now.peak_mbit_s == pytest.approx(0.064)


def test_a_capture_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "node1.pcap").mkdir()
    with pytest.raises(UserError, match=r"^--capture .*: Is a directory"):
        links.capture_files(tmp_path, all_nodes(2))


# ---- clusters --------------------------------------------------------------------------------


def test_mpi_starts_ranks_by_the_kits_means() -> None:
    assert mpi_environment() == {
        "HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": "/numalab-remote",
        "HYDRA_HOST_FILE": "/etc/numalab-nodes", "UCX_NET_DEVICES": "eth0",
        "UCX_TLS": "tcp,self,sysv", "LD_PRELOAD": "/numalab-finalize.so",
    }  # fmt: skip
    assert all_nodes(2) == [Node(1, 2), Node(2, 2)]
    assert hosts_text(Node(1, 1)) == "127.0.0.1 localhost\n10.0.0.1 node1\n"


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

    def pause(self) -> None:
        self.done.append("paused")

    def resume(self) -> None:
        self.done.append("resumed")

    def hold(self, programs: Any) -> None:
        self.done.append(programs)

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
    made.hold({})
    made.pause()
    made.resume()
    descriptors = list(made._ends)
    assert len(descriptors) == 3
    made.close()
    assert [guest.done for guest in guests] == [[{}, "paused", "resumed", "closed"]] * 3
    assert relay.done == ["closed"] and made._ends == {}
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert made.names == ("node1", "node2", "node3")


def on_output(data: bytes) -> None:
    pass


def on_errors(data: bytes) -> None:
    pass


def test_a_command_on_a_node_has_mpis_variables(three: Three) -> None:
    made, guests, _ = three
    assert made.run(2, ["x"], "/w", {"A": "1", "UCX_TLS": "all"}, on_output, on_errors) == Ended(3)
    variables = {"A": "1", **mpi_environment()}
    assert made.mpi_environment == mpi_environment()
    assert guests[1].done == [(["x"], "/w", variables, on_output, on_errors, (0, 0), None)]
    assert made.on(3)(["y"], "/", {}, on_output, on_errors, None, (2, 3), 4.0) == Ended(3)
    assert guests[2].done == [(["y"], "/", mpi_environment(), on_output, on_errors, (2, 3), 4.0)]
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
    made.run(2, ["x"], "/", {}, on_output, on_errors, source)
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
    kit = Kit(tmp_path, builds=tmp_path / "build")
    kit.relay.parent.mkdir(parents=True)
    kit.guest_finalize.write_bytes(b"finalize")
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
            raise KitError("no")
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
    with contextlib.nullcontext() if works else pytest.raises(KitError):
        boot_cluster(kit, machine, [], options, own, print, [Path("/usr")])
    nodes, finalize = all_nodes(2), b"finalize"
    files = [folder / "node1.pcap", folder / "node2.pcap"] if folder else []
    member: Any = Member  # of words in the place of sockets
    members = [member(nodes[0], "link1", finalize), member(nodes[1], "link2", finalize)]
    assert done == [
        (kit, machine, [], own, print, [Path("/usr")], 2, "e1000"),
        (kit.relay, nodes, 12_500, files),
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
