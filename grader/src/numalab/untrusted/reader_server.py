"""The process that readers are forked from.

A request comes as one message on a socket, with the file to read and one end of a connection passed
along as descriptors. The server forks; the fork sets its limits before it reads the file, and
answers on that connection.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

FRAME = struct.Struct("!cI")  # kind and length of the content that follows
REQUEST = struct.Struct("!II")  # two numbers, whose meaning is the reader's own
STARTED, PART, END, REFUSED = b"S", b"P", b".", b"R"
MAX_REQUEST_BYTES = 1 << 16  # of options and limits, as JSON


class Unreadable(Exception):
    """A file can't be read; the message mostly continues a sentence that begins with its name."""


class Connection:
    """The reader's end of the connection. It sends frames: a kind, a length and content."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def _send(self, kind: bytes, content: bytes = b"") -> None:
        self._connection.sendall(FRAME.pack(kind, len(content)) + content)

    def send_start(self) -> None:
        """Send this process's id."""
        self._send(STARTED, str(os.getpid()).encode())

    def send_part(self, content: bytes) -> None:
        self._send(PART, content)

    def send_end(self) -> None:
        self._send(END)

    def refuse(self, why: str) -> None:
        """Send why there is no answer, in words that follow the file's name."""
        self._send(REFUSED, why.encode(errors="replace"))

    def next_request(self) -> tuple[int, int] | None:
        """Return the two numbers of the next request; None: the client has closed."""
        received = b""
        while len(received) < REQUEST.size:
            more = self._connection.recv(REQUEST.size - len(received))
            if not more:
                return None
            received += more
        first, second = REQUEST.unpack(received)
        return first, second


def _limit(limits: dict[str, int]) -> None:
    for what, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits["computing_s"]),
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
    ):
        _, most = resource.getrlimit(what)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(what, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then says why it can't


def _serve(module: Any, request: dict[str, Any], descriptors: list[int]) -> None:
    _limit(request["limits"])
    connection = Connection(socket.socket(fileno=descriptors[1]))
    connection.send_start()
    why = ""
    try:
        with os.fdopen(descriptors[0], "rb") as file:
            module.read(file, request["options"], connection)
    except Unreadable as error:
        why = str(error)
    except MemoryError:
        why = "needs too much memory to be read"
    except Exception as error:  # any: which ones a library raises for damaged bytes is not known
        why = f"is damaged: {str(error)[:200] or type(error).__name__}"
    if why:
        connection.refuse(why)


def main() -> None:
    """Serve requests until the client closes its socket, then kill this process and its group.

    Command-line arguments: the descriptor of the socket, and the reader's module in this package.
    """
    channel = socket.socket(fileno=int(sys.argv[1]))
    module = importlib.import_module(f"numalab.untrusted.{sys.argv[2]}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none of them is waited for
    while True:
        request, descriptors, _, _ = socket.recv_fds(channel, MAX_REQUEST_BYTES, 2)
        if not request:
            os.killpg(0, signal.SIGKILL)  # with all readers that are stuck: they are its group
        if os.fork() == 0:
            try:
                channel.close()
                _serve(module, json.loads(request), descriptors)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    # Run as a module: __main__ has another Unreadable than the one that readers import.
    importlib.import_module("numalab.untrusted.reader_server").main()
