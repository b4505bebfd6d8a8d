"""This machine's end of the line to a guest's first process; common/guest/protocol.h has the
format and the meaning of the frames."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

WRITE, PROGRAM, DROP, NOISE, LINK, MOUNT, NETWORK, CLOCK, PING = b"WBDNLMATP"
RUN, INPUT, SIGNAL, WINDOW = b"RISV"
READY, PONG, OUTPUT, ERRORS, CONSUMED, REFUSED, ENDED = b"HPOECFX"
RECEIVE_BYTES = 1 << 18
SEND_LIMIT_S = 60.0  # a guest that hangs reads nothing


class ChannelClosed(Exception):
    """A failure to send or receive, as where QEMU has ended, or takes longer than SEND_LIMIT_S to
    read a frame."""


@dataclass(frozen=True)
class Frame:
    """A frame from the guest. type: such as READY."""

    type: int
    payload: bytes


class Channel:
    """Frames over a connected stream socket, which close() closes. Methods that send or receive
    raise ChannelClosed where that fails."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._received = bytearray()

    def fileno(self) -> int:
        return self._line.fileno()

    def close(self) -> None:
        self._line.close()

    def send(self, kind: int, payload: bytes = b"") -> None:
        self._line.settimeout(SEND_LIMIT_S)
        try:
            self._line.sendall(struct.pack("<BI", kind, len(payload)) + payload)
        except OSError as error:
            raise ChannelClosed from error
        finally:
            self._line.settimeout(None)

    def send_strings(self, kind: int, *strings: str | bytes) -> None:
        """Send strings, each with a zero byte at its end."""
        encoded = (s if isinstance(s, bytes) else s.encode(errors="surrogateescape")
                   for s in strings)  # fmt: skip
        self.send(kind, b"".join(s + b"\0" for s in encoded))

    def _next(self) -> Frame | None:
        if len(self._received) < 5:
            return None
        kind, length = struct.unpack_from("<BI", self._received)
        if len(self._received) < 5 + length:
            return None
        frame = Frame(kind, bytes(self._received[5 : 5 + length]))
        del self._received[: 5 + length]
        return frame

    def _read(self) -> None:
        """Read once, waiting if nothing has arrived."""
        data = self._line.recv(RECEIVE_BYTES)
        if not data:
            raise ChannelClosed
        self._received += data

    def receive_ready(self) -> list[Frame]:
        """Read once, waiting if nothing has arrived, and return the frames that are complete now,
        in their order; often none."""
        try:
            self._read()
        except OSError as error:
            raise ChannelClosed from error
        return list(iter(self._next, None))

    def wait_for(self, kind: int, limit_s: float) -> Frame | None:
        """Return the next frame of a type, and drop those before it; None where none comes in
        limit_s seconds."""
        deadline = time.monotonic() + limit_s
        try:
            while (left_s := deadline - time.monotonic()) > 0:
                frame = self._next()
                if frame is None:
                    self._line.settimeout(left_s)
                    self._read()
                elif frame.type == kind:
                    return frame
        except TimeoutError:
            return None
        except OSError as error:
            raise ChannelClosed from error
        finally:
            self._line.settimeout(None)
        return None


def run_payload(
    folder: str, arguments: Sequence[str], environment: dict[str, str], window: tuple[int, int]
) -> bytes:
    """Return the payload of RUN. window: rows and columns of the terminal; zeros for none."""
    strings = [folder, *arguments, *(f"{k}={v}" for k, v in environment.items())]
    encoded = b"".join(s.encode(errors="surrogateescape") + b"\0" for s in strings)
    return struct.pack("<HHHH", *window, len(arguments), len(environment)) + encoded
