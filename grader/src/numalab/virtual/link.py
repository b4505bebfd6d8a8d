"""The network between the nodes of a cluster: the relay (common/relay) and what it has counted.

The relay is a process of this machine that carries the nodes' Ethernet frames and counts them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, UserError, reason_of
from numalab.evidence.record import Json
from numalab.processes import shell_variables, starting
from numalab.virtual.network import Node
from numalab.virtual.qemu_process import GuestFailed, memory_file

ANSWER_LIMIT_S = 30.0
QUIET_MS = 100  # after so long without a frame all counts as crossed
QUIET_LIMIT_S = 10.0
# For frames that a card has sent and the relay has not read yet, or the other way round: some ten,
# so that few wait where they are not counted.
SEND_BUFFER_BYTES = 32 * 1024


@dataclass(frozen=True)
class LinkTraffic:
    """What has crossed one direction of a node's link, since the relay was started or between two
    counts (subtract).

    Attributes:
        bytes: of whole Ethernet frames with their header of 14 bytes, without what a wire adds
            (preamble, check sum and gap: 24 bytes per frame).
        tcp_frames: frames that carry a payload of TCP over IPv4.
        tcp_payload_bytes: that payload, without headers of IP and TCP; what is sent twice counts
            twice.
        largest_frame_bytes, most_bytes_in_100_ms: since the relay was started, also after subtract.
    """

    frames: int
    bytes: int
    tcp_frames: int
    tcp_payload_bytes: int
    largest_frame_bytes: int
    most_bytes_in_100_ms: int

    @property
    def peak_mbit_s(self) -> float:
        """The highest rate in one of the successive tenths of a second, in 10^6 bits per second."""
        return self.most_bytes_in_100_ms * 8 / 0.1 / 1e6

    def subtract(self, earlier: LinkTraffic) -> LinkTraffic:
        """Return what has crossed since an earlier count; the largest frame and the peak stay those
        since the relay was started."""
        return replace(
            self,
            frames=self.frames - earlier.frames,
            bytes=self.bytes - earlier.bytes,
            tcp_frames=self.tcp_frames - earlier.tcp_frames,
            tcp_payload_bytes=self.tcp_payload_bytes - earlier.tcp_payload_bytes,
        )


@dataclass(frozen=True)
class NodeCounts:
    """What a node's network card has sent and received. dropped_frames: those that it sent and the
    relay did not pass on."""

    sent: LinkTraffic
    received: LinkTraffic
    dropped_frames: int


@dataclass(frozen=True)
class Counts:
    """The counts of a cluster's nodes, node1 first."""

    nodes: tuple[NodeCounts, ...]

    def subtract(self, earlier: Counts) -> Counts:
        """Return what has crossed since an earlier count."""
        return Counts(tuple(
            NodeCounts(
                now.sent.subtract(then.sent),
                now.received.subtract(then.received),
                now.dropped_frames - then.dropped_frames,
            )
            for now, then in zip(self.nodes, earlier.nodes, strict=True)
        ))  # fmt: skip


# ---- the relay's process -----------------------------------------------------------------------


def capture_files(folder: Path, nodes: Sequence[Node]) -> list[Path]:
    """Make or empty a file for each node in a folder, which is made if need be, and return them in
    the nodes' order. Raises UserError where that can't be done."""
    files = [folder / f"{node.name}.pcap" for node in nodes]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            file.write_bytes(b"")
    except OSError as error:
        raise UserError(f"--capture {folder}: {reason_of(error)}") from error
    return files


class Relay:
    """The running relay, which close() ends. links: QEMU's ends, one per node, to be closed by
    close_links() once QEMU has inherited them."""

    def __init__(
        self, program: Path, nodes: Sequence[Node], rate_bytes_per_s: int, captures: Sequence[Path]
    ) -> None:
        """Start the relay. rate_bytes_per_s: of each direction of each link; captures: one file per
        node, or none. Raises NumalabError where it can't be started."""
        self.links: list[socket.socket] = []
        inherited: list[int] = []
        command = [str(program), "--parent", str(os.getpid()), "--rate", str(rate_bytes_per_s)]
        try:
            with contextlib.ExitStack() as kept, contextlib.ExitStack() as opened:
                kept.callback(self.close_links)
                self._errors = kept.enter_context(memory_file("relay"))
                for number in range(len(nodes)):
                    link, port = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                    self.links.append(link)
                    opened.enter_context(port)
                    for end in (link, port):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
                    command += ["--port", str(port.fileno())]
                    inherited.append(port.fileno())
                    if captures:
                        file = opened.enter_context(captures[number].open("wb"))
                        command += ["--capture", str(file.fileno())]
                        inherited.append(file.fileno())
                # In a session of its own, so that the terminal's Ctrl-C passes it by.
                self._process = starting.start(
                    command, shell_variables.observer_environment(), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=self._errors,
                    pass_fds=inherited, start_new_session=True, cwd="/",
                )  # fmt: skip
                kept.pop_all()
        except OSError as error:
            raise NumalabError(f"the relay can't be started: {reason_of(error)}") from error

    def close_links(self) -> None:
        for link in self.links:
            link.close()

    def close(self) -> None:
        self.close_links()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def fileno(self) -> int:
        """Return the descriptor of the relay's output, which is readable while it answers ask() and
        once the relay has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def failure(self) -> GuestFailed:
        size = os.fstat(self._errors.fileno()).st_size
        said = os.pread(self._errors.fileno(), size, 0).decode(errors="replace").strip()
        return GuestFailed(
            f"the relay between the nodes has ended ({said or 'it said nothing'}). Try again."
        )

    def ask(self) -> Any:
        """Return the relay's counts, as it prints them (common/relay/relay.h). Raises GuestFailed
        where it has ended, does not answer within ANSWER_LIMIT_S, or can't write a capture."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self.failure() from error
        text = bytearray()
        while not text.endswith(b"\n"):
            if not select.select([self.fileno()], [], [], ANSWER_LIMIT_S)[0]:
                raise GuestFailed(f"the relay does not answer within {ANSWER_LIMIT_S:g} s.")
            piece = os.read(self.fileno(), 1 << 16)
            if not piece:
                raise self.failure()
            text += piece
        answer = json.loads(text)
        if answer["capture_errno"]:
            reason = os.strerror(answer["capture_errno"])
            raise GuestFailed(f"the captures can't be written: {reason}. Free space, then again.")
        return answer

    def counts(self) -> Counts:
        """Return the counts once nothing has crossed for QUIET_MS and no frame waits, else those
        after QUIET_LIMIT_S. Raises GuestFailed as ask()."""
        deadline = time.monotonic() + QUIET_LIMIT_S
        while True:
            answer = self.ask()
            is_quiet = answer["quiet_ms"] >= QUIET_MS and answer["waiting_frames"] == 0
            if is_quiet or time.monotonic() > deadline:
                return counts_of(answer)
            time.sleep(max(0.005, (QUIET_MS - answer["quiet_ms"]) / 1000))


def counts_of(answer: Json) -> Counts:
    """Return the counts in an answer of the relay."""
    return Counts(tuple(
        NodeCounts(LinkTraffic(**one["sent"]), LinkTraffic(**one["received"]),
        one["dropped_frames"]) for one in answer["nodes"]
    ))  # fmt: skip
