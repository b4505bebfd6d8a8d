"""Lines between processes: to a guest, to QEMU, to the relay."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from numalab.errors import NumalabError, UserError
from numalab.processes import starting
from numalab.virtual import channel, qemu, qemu_process
from numalab.virtual import link as links
from numalab.virtual.channel import Channel, ChannelClosed, Frame, run_payload
from numalab.virtual.link import Counts, LinkTraffic, NodeCounts, Relay
from numalab.virtual.network import all_nodes
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
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: 100.0)
        assert end.wait_for(ord("A"), 0) is None, "nothing is read"
        assert end.wait_for(ord("A"), 0.5) is not None
    assert end.wait_for(ord("B"), 0.001) is None
    theirs.close()
    with pytest.raises(ChannelClosed):
        end.wait_for(ord("A"), 20)


def test_a_read_takes_256_kib_at_most() -> None:
    """So that others have their turn."""
    sizes: list[int] = []

    class Line:
        def settimeout(self, limit_s: float | None) -> None:
            pass

        def recv(self, size: int) -> bytes:
            sizes.append(size)
            return b"A\0\0\0\0"

    line: Any = Line()
    end = Channel(line)
    assert len(end.receive_ready()) == 1 and end.wait_for(ord("A"), 20) is not None
    assert sizes == [256 * 1024] * 2


def test_a_guest_that_takes_nothing_is_gone(
    line: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SEND_LIMIT_S", 0.001)
    with pytest.raises(ChannelClosed):
        line[0].send(ord("X"), bytes(10_000_000))


def test_a_command_is_sent_with_all_that_it_needs() -> None:
    sent = run_payload("/w", ["a", ""], {"X": "1", "Y": "\udcff", "Z": ""}, (24, 80))
    assert sent == struct.pack("<HHHH", 24, 80, 2, 3) + b"/w\0a\0\0X=1\0Y=\xff\0Z=\0"


def test_frames_arrive_whole_however_they_are_cut() -> None:
    ours, theirs = socket.socketpair()
    end = channel.Channel(ours)
    whole = struct.pack("<BI", channel.OUTPUT, 5) + b"hello" + struct.pack("<BI", channel.PONG, 0)
    theirs.sendall(whole[:7])
    assert end.receive_ready() == []
    theirs.sendall(whole[7:])
    assert end.receive_ready() == [
        channel.Frame(channel.OUTPUT, b"hello"), channel.Frame(channel.PONG, b"")
    ]  # fmt: skip
    theirs.sendall(whole)
    pong = end.wait_for(channel.PONG, 5)
    assert pong == channel.Frame(channel.PONG, b"")
    assert end.wait_for(channel.PONG, 0.01) is None
    theirs.close()
    with pytest.raises(channel.ChannelClosed):
        end.wait_for(channel.PONG, 5)
    with pytest.raises(channel.ChannelClosed):
        end.receive_ready()
    end.close()


def test_both_ends_of_the_line_use_the_same_letters(kit_root: Path) -> None:
    header = (kit_root / "common/guest/protocol.h").read_text()
    for name in ("WRITE", "PROGRAM", "DROP", "NOISE", "LINK", "MOUNT", "NETWORK", "CLOCK",
                 "PING", "RUN", "INPUT", "SIGNAL", "WINDOW", "READY", "PONG", "OUTPUT", "ERRORS",
                 "CONSUMED", "REFUSED", "ENDED"):  # fmt: skip
        assert f"NUMALAB_GUEST_{name} '{chr(getattr(channel, name))}'" in " ".join(header.split())
    assert f'NUMALAB_GUEST_PORT "{qemu.PORT}"' in header


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


@pytest.mark.parametrize("code", [0, 1])
def test_qemu_is_confined_where_it_can_be(tmp_path: Path, code: int) -> None:
    program = tmp_path / "qemu"
    program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\nexit {code}\n')
    program.chmod(0o755)
    words = qemu_process.confining_words(str(program))
    assert (words[:1] == ("-sandbox",)) is (code == 0)
    assert (tmp_path / "asked").read_text().startswith("-sandbox on,")
    assert qemu_process.confining_words(str(tmp_path / "none")) == ()


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
    with closing(Relay(program, all_nodes(2), 1250, files)) as relay:
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


@pytest.mark.parametrize("is_memory", [True, False])
def test_a_relay_that_can_not_be_started_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_memory: bool
) -> None:
    def full(name: str) -> object:
        raise OSError(errno.EMFILE, "Too many open files")

    if is_memory:
        monkeypatch.setattr(links, "memory_file", full)
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(NumalabError, match="relay"):
        Relay(tmp_path / "missing", all_nodes(2), 1, [])
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_relay_that_ends_silently_is_told(tmp_path: Path) -> None:
    program = relay_program(tmp_path, "sys.stdin.readline()")
    with closing(Relay(program, all_nodes(2), 1, [])) as relay:
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
        closing(Relay(program, all_nodes(2), 1, [])) as relay,
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
        ([(0, 0), (0, 9), (100, 0)], 0.1, [0.1, 0.1]),
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
        (NodeCounts(LinkTraffic(1, 2, 3, 4, 5, 6), LinkTraffic(0, 0, 0, 0, 0, 0), last),)
    )
    assert slept == pytest.approx(waits)


def test_a_difference_keeps_what_is_of_all_the_time() -> None:
    then = LinkTraffic(1, 10, 100, 1000, 60, 500)
    now = LinkTraffic(3, 50, 700, 9000, 1514, 800)
    assert now.subtract(then) == LinkTraffic(2, 40, 600, 8000, 1514, 800)
    assert now.peak_mbit_s == pytest.approx(0.064)


def test_a_capture_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "node1.pcap").mkdir()
    with pytest.raises(UserError, match=r"^--capture .*: Is a directory"):
        links.capture_files(tmp_path, all_nodes(2))
