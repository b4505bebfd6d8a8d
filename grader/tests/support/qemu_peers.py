"""What stands in for QEMU and for a guest's first process: what a guest is to get is written down,
and what it is to hear is told before it asks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import pytest

from numalab.evidence.record import Json
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine
from numalab.virtual import guest as guests
from numalab.virtual.guest import ClusterMember, Guest
from numalab.virtual.guest_plan import GuestPlan, Share
from numalab.virtual.kernel import GuestKernel

TWO_NODES = """\
name = "pair"
title = "Pair"
source = "me"
[[numa_node]]
package = 0
pus = ["0-1"]
[[numa_node]]
package = 1
pus = ["2-3"]
"""


def machine_of(text: str = TWO_NODES) -> Machine:
    return parse_machine(text, Path("pair.toml"))


def plan_of(*shares: Share, machine: Machine | None = None, mib: int = 256) -> GuestPlan:
    """kernel: none that is there."""
    kernel = GuestKernel("6.1", Path("/kernels/6.1-a/image"), True, ())
    return GuestPlan(machine or machine_of(), mib, "tcg", kernel, b"init", 2_000_000, shares, 60.0)


class Process:
    """A process that ends when it is told. returncode: None while it runs."""

    def __init__(self) -> None:
        self.returncode: int | None = None
        self.done: list[object] = []
        self.pid = os.getpid()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self.done.append(("wait", timeout))
        if self.returncode is None:
            raise subprocess.TimeoutExpired("qemu", timeout or 0)
        return self.returncode

    def kill(self) -> None:
        self.done.append("kill")
        self.returncode = -9

    def send_signal(self, number: int) -> None:
        self.done.append(int(number))


class Peer:
    """QEMU's ends of a guest's lines. command, inherited: by which it was started."""

    def __init__(self, command: list[str], console: BinaryIO, inherited: Sequence[int]) -> None:
        self.command, self.console, self.inherited = command, console, list(inherited)
        self.initrd = os.pread(inherited[0], 1 << 20, 0)
        self.process = Process()
        self.line, self.monitor = (socket.socket(fileno=os.dup(fd)) for fd in inherited[1:3])
        for end in (self.line, self.monitor):
            end.settimeout(20)

    def tell(self, kind: int, payload: bytes = b"") -> None:
        self.line.sendall(struct.pack("<BI", kind, len(payload)) + payload)

    def heard(self) -> list[tuple[str, bytes]]:
        """Letter and content of all frames that have come."""
        data = bytearray()
        self.line.setblocking(False)
        try:
            while piece := self.line.recv(1 << 20):
                data += piece
        except BlockingIOError:
            pass
        found = []
        while data:
            kind, size = struct.unpack_from("<BI", data)
            found.append((chr(kind), bytes(data[5 : 5 + size])))
            assert len(data) >= 5 + size
            del data[: 5 + size]
        return found

    def answer(self, *answers: Json) -> None:
        """By the monitor: a greeting, that it is ready, and these."""
        lines = [{"QMP": {}}, {"return": {}}, *answers]
        self.monitor.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())

    def asked(self) -> list[tuple[str, Json]]:
        """Commands and arguments that the monitor was given."""
        return self.asked_with_files()[0]

    def asked_with_files(self) -> tuple[list[tuple[str, Json]], list[int]]:
        """And the descriptors that came with them."""
        text, files = "", []
        self.monitor.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:  # a read ends where descriptors come
                data, given, _, _ = socket.recv_fds(self.monitor, 1 << 16, 4)
                text += data.decode()
                files += given
        decoder, found = json.JSONDecoder(), []
        while text:
            told, end = decoder.raw_decode(text)
            found.append((told["execute"], told["arguments"]))
            text = text[end:]
        return found, files

    def end(self, code: int | None = 0) -> None:
        """The process is gone, and its ends of the lines with it."""
        self.process.returncode = code
        self.line.close()
        self.monitor.close()


def guest_with_peer(
    monkeypatch: pytest.MonkeyPatch,
    plan: GuestPlan | None = None,
    snapshot: int | None = None,
    member: ClusterMember | None = None,
) -> tuple[Guest, Peer]:
    peers: list[Peer] = []

    def start(command: list[str], console: BinaryIO, inherited: Sequence[int]) -> Process:
        peers.append(Peer(command, console, inherited))
        return peers[0].process

    monkeypatch.setattr(guests, "start_qemu", start)
    made = Guest(plan or plan_of(), "/bin/qemu", b"initrd", snapshot, member)
    return made, peers[0]
