"""The process that readers are forks of: apart.py starts it, with nothing but Python's own library.

It is told on a socket what is to be read, gets the file and the other end of a connection with it,
and forks. The fork sets its limits before it looks at a byte; what becomes of it is nobody else's
trouble.
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

FRAME = struct.Struct("!cI")  # kind and length of what follows
REQUEST = struct.Struct("!II")
STARTED, PART, END, REFUSED = b"S", b"P", b".", b"R"
MOST_ASKED_BYTES = 1 << 16  # of what is to be read, and how


class Unreadable(Exception):
    """What was given can't be read; the message goes on from its name."""


class Talk:
    """A reader's side of the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def _say(self, kind: bytes, content: bytes = b"") -> None:
        self._connection.sendall(FRAME.pack(kind, len(content)) + content)

    def start(self) -> None:
        self._say(STARTED, str(os.getpid()).encode())

    def part(self, content: bytes) -> None:
        self._say(PART, content)

    def end(self) -> None:
        """Of what was asked for."""
        self._say(END)

    def refuse(self, why: str) -> None:
        self._say(REFUSED, why.encode(errors="replace"))

    def request(self) -> tuple[int, int] | None:
        """What is asked for next, None: nothing any more."""
        asked = b""
        while len(asked) < REQUEST.size:
            more = self._connection.recv(REQUEST.size - len(asked))
            if not more:
                return None
            asked += more
        first, second = REQUEST.unpack(asked)
        return first, second


def _limit(limits: dict[str, int]) -> None:
    """limits: of processor time in s, memory and files in bytes."""
    for what, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
    ):
        _, most = resource.getrlimit(what)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(what, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then says why it can't


def _serve(module: Any, asked: dict[str, Any], descriptors: list[int]) -> None:
    _limit(asked["limits"])
    connection = socket.socket(fileno=descriptors[1])
    talk = Talk(connection)
    talk.start()
    why = ""
    try:
        with os.fdopen(descriptors[0], "rb") as file:
            module.read(file, asked["options"], talk)
    except Unreadable as error:
        why = str(error)
    except MemoryError:
        why = "needs too much memory to be read"
    except Exception as error:  # of a library that the bytes have led astray
        why = f"is damaged: {str(error)[:200] or type(error).__name__}"
    if why:
        talk.refuse(why)


def main() -> None:
    """Arguments: the number of the socket, and the reader's module in this package."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    module = importlib.import_module(f"numalab.strangers.{sys.argv[2]}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # none of them is waited for
    while True:
        asked, descriptors, _, _ = socket.recv_fds(channel, MOST_ASKED_BYTES, 2)
        if not asked:
            os.killpg(0, signal.SIGKILL)  # with all readers that are stuck: they are its group
        if os.fork() == 0:
            try:
                channel.close()
                _serve(module, json.loads(asked), descriptors)
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    # Not the one of this name, whose Unreadable readers don't know.
    importlib.import_module("numalab.strangers.server").main()
