"""Standard input, Ctrl-C and the window of this process, for a command in a guest."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import struct
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from numalab.virtual import channel as line
from numalab.virtual.channel import Channel
from numalab.virtual.guest import Input

INPUT_BYTES = 16 * 1024
LEAVE = b"\x1d"  # Ctrl-], alone: for a guest that does not answer any more
INTERRUPTS_BEFORE_KILL = 2


def is_interactive() -> bool:
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def window_size() -> tuple[int, int]:
    """Rows and columns of the terminal."""
    size = os.get_terminal_size(sys.stdin.fileno())
    return max(1, size.lines), size.columns


class HostInput(Input):
    """Passes on what this process gets while a command runs; see attached()."""

    def __init__(self, interactive: bool) -> None:
        self.interactive = interactive
        self._stdin = sys.stdin.fileno()
        self._waiting = False  # for the guest to take what it was sent
        self._at_end = False
        self._interrupts = 0
        self._signals, self._wakeup = socket.socketpair()
        self._signals.setblocking(False)
        self._wakeup.setblocking(False)

    @contextlib.contextmanager
    def attached(self) -> Iterator[HostInput]:
        """Takes over the signals and the terminal, and gives them back."""

        def ignore(number: int, frame: FrameType | None) -> None:
            del number, frame  # the wakeup descriptor tells

        old_wakeup = signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        watched = [signal.SIGINT, *([signal.SIGWINCH] if self.interactive else [])]
        old = {number: signal.signal(number, ignore) for number in watched}
        modes = termios.tcgetattr(self._stdin) if self.interactive else None
        try:
            if modes is not None:
                tty.setraw(self._stdin)
            yield self
        finally:
            if modes is not None:
                termios.tcsetattr(self._stdin, termios.TCSADRAIN, modes)
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            self._signals.close()
            self._wakeup.close()

    def readers(self) -> Sequence[Any]:
        return [self._signals, self._stdin]

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        if self._signals in ready:
            for number in self._signals.recv(256):
                self._signal(number, channel)
        if self._stdin in ready and not self._waiting:
            data = os.read(self._stdin, INPUT_BYTES)
            if self.interactive and data == LEAVE:
                raise KeyboardInterrupt
            channel.send(line.INPUT, data)
            self._waiting = bool(data)
            self._at_end = not data
            selector.unregister(self._stdin)
        elif not self._waiting and not self._at_end and self._stdin not in selector.get_map():
            selector.register(self._stdin, selectors.EVENT_READ)

    def _signal(self, number: int, channel: Channel) -> None:
        if number == signal.SIGWINCH:
            channel.send(line.WINDOW, struct.pack("<HH", *window_size()))
        elif number == signal.SIGINT:
            self._interrupts += 1
            if self._interrupts > INTERRUPTS_BEFORE_KILL:
                raise KeyboardInterrupt
            last = self._interrupts == INTERRUPTS_BEFORE_KILL
            wanted = signal.SIGKILL if last else signal.SIGINT
            channel.send(line.SIGNAL, struct.pack("<I", wanted))

    def consumed(self) -> None:
        self._waiting = False
