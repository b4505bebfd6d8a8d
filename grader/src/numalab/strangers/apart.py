"""Has a file of a stranger read by a process of its own, with limits.

    with Readers("archives") as readers:
        reading = readers.read(file, options, limits)
        for part in reading.answer():
            ...

Python's library reads archives, TOML and XML by code that nobody has bounded: a header of a few
bytes can cost it hours, or all memory. In a process with limits that costs one refusal. What a
reader takes is counted as processor time, so that a node that pauses refuses nobody.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from numalab.processes import shell_variables, starting
from numalab.strangers import server
from numalab.strangers.server import FRAME, PART, REFUSED, REQUEST, STARTED, Unreadable
from numalab.strangers.visible import visible
from numalab.words import bytes_allowed

_SERVER = Path(server.__file__)
# Of one answer, by the clock: only for what takes no processor time, such as a disk that is gone.
_WALL_LIMIT_S = 900.0


@dataclass(frozen=True)
class Limits:
    """Of one reader: processor time, memory in all, and the size of a file that it writes."""

    cpu_s: int
    memory_bytes: int
    file_bytes: int = 0


class Reading:
    """One file that is being read."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self._pid = 0
        connection.settimeout(_WALL_LIMIT_S)

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()  # its reader ends, unless it is stuck, and then at its limit

    def ask(self, first: int, second: int) -> None:
        """Two numbers, of which the reader makes what it likes; then look at answer."""
        with suppress(OSError):  # it is gone: the answer tells
            self._connection.sendall(REQUEST.pack(first, second))

    def answer(self) -> Iterator[bytes]:
        """In parts, to its end. Raises Unreadable, also where the reader met its limits."""
        while True:
            kind, length = FRAME.unpack(self._received(FRAME.size))
            content = self._received(length)
            if kind == PART:
                yield content
            elif kind == STARTED:
                self._pid = int(content)
            elif kind == REFUSED:
                raise Unreadable(visible(content.decode(errors="replace")))
            else:
                return

    def _received(self, count: int) -> bytes:
        got = bytearray()
        try:
            while len(got) < count:
                more = self._connection.recv(min(count - len(got), 1 << 20))
                if not more:
                    break
                got += more
        except TimeoutError:
            if self._pid:
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
        except OSError:
            got.clear()
        if len(got) < count:
            limits = self._limits
            raise Unreadable(
                f"can't be read within {limits.cpu_s} s of computing and "
                f"{bytes_allowed(limits.memory_bytes)} of memory"
            )
        return bytes(got)


class Readers:
    """Readers of one kind, by the module of this package that they run."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._channel.close()
            self._process.wait()

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = starting.start(
                [sys.executable, "-I", "-S", str(_SERVER), str(theirs.fileno()), self._module],
                shell_variables.for_observers(),
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def read(self, file: IO[bytes], options: Mapping[str, Any], limits: Limits) -> Reading:
        """Begins to read a file from its start. Raises OSError where no process can be had."""
        file.flush()
        file.seek(0)
        asked = {"options": options, "limits": asdict(limits)}
        try:
            if self._process is None:
                self._start()
            ours, theirs = socket.socketpair()
            with theirs:
                descriptors = [file.fileno(), theirs.fileno()]
                socket.send_fds(self._channel, [json.dumps(asked).encode()], descriptors)
        except OSError as error:
            # Not of a kind that says something of a file.
            raise OSError(f"no process can be started to read a file: {error}") from error
        return Reading(ours, limits)
