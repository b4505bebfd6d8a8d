"""Readers of untrusted files, in processes of their own with limits.

    with ReaderPool("archives") as readers, readers.read(file, options, limits) as reading:
        for part in reading.answer():
            ...

Python's library reads archives, TOML and XML without bounds: a few bytes can cost it hours, or all
memory. A reader's CPU time is limited, and time by the clock generously (_WALL_LIMIT_S), so that a
machine that pauses does not make files unreadable.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from numalab.processes import shell_variables, starting
from numalab.untrusted import reader_server
from numalab.untrusted.reader_server import FRAME, PART, REFUSED, REQUEST, STARTED, Unreadable
from numalab.untrusted.visible import visible
from numalab.words import bytes_allowed

_SERVER = Path(reader_server.__file__)
# By the clock, for each piece of an answer: against waits without CPU time, as for a disk that is
# gone.
_WALL_LIMIT_S = 900.0


@dataclass(frozen=True)
class Limits:
    """Limits of one reader."""

    computing_s: int  # CPU time
    memory_bytes: int  # address space
    file_bytes: int = 0  # size of each file that it writes


class Reading(AbstractContextManager["Reading"]):
    """The client's end of the connection to a reader of one file; for a `with` statement."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self._pid = 0
        connection.settimeout(_WALL_LIMIT_S)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, without waiting for the reader's end."""
        self._connection.close()  # its reader ends, unless it is stuck, and then at its limit

    def ask(self, first: int, second: int) -> None:
        """Send a request of two numbers, whose meaning is the reader's own."""
        with suppress(OSError):  # the reader is gone, which answer() reports
            self._connection.sendall(REQUEST.pack(first, second))

    def answer(self) -> Iterator[bytes]:
        """Yield the parts of an answer, to its end. Raises Unreadable, with the reader's reason, or
        with its limits where it ended early or hung."""
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
                f"can't be read within {limits.computing_s} s of computing and "
                f"{bytes_allowed(limits.memory_bytes)} of memory"
            )
        return bytes(got)


class ReaderPool(AbstractContextManager["ReaderPool"]):
    """Starter of readers of one kind, as forks of one process; for a `with` statement.

    Args:
        module: name of the module of this package whose read() each reader runs.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._channel.close()
            self._process.wait()

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = starting.start(
                [sys.executable, "-I", "-S", str(_SERVER), str(theirs.fileno()), self._module],
                shell_variables.observer_environment(),
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def read(self, file: IO[bytes], options: Mapping[str, Any], limits: Limits) -> Reading:
        """Start a reader of a file, from its beginning; the caller closes what is returned.
        options: passed to the module's read(), as JSON. Raises OSError, such as where no process
        can be started."""
        file.flush()
        file.seek(0)
        request = {"options": options, "limits": asdict(limits)}
        try:
            if self._process is None:
                self._start()
            ours, theirs = socket.socketpair()
            with theirs:
                descriptors = [file.fileno(), theirs.fileno()]
                socket.send_fds(self._channel, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            # A plain OSError: a FileNotFoundError and its like would be taken for the file's.
            raise OSError(f"no process can be started to read a file: {error}") from error
        return Reading(ours, limits)


def try_to_read(module: str, content: bytes, limits: Limits) -> None:
    """Have a module's reader come to its end with a content; what it sends is dropped. Raises
    Unreadable where it refuses the content, reaches a limit or ends early, and OSError as
    ReaderPool.read, or where no temporary file can be written."""
    with ReaderPool(module) as readers, tempfile.TemporaryFile() as file:
        file.write(content)
        with readers.read(file, {}, limits) as reading:
            deque(reading.answer(), maxlen=0)
