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


def _stdin() -> int | None:
    """Its descriptor, where it can be read: not closed, not nohup's."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    descriptor = sys.stdin.fileno()
    try:
        os.read(descriptor, 0)
        in_background = os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp()
    except OSError:
        return None
    return None if in_background else descriptor


def is_interactive() -> bool:
    return _stdin() is not None and all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
    )


def window_size() -> tuple[int, int]:
    """Rows and columns of the terminal."""
    size = os.get_terminal_size(sys.stdin.fileno())
    return max(1, size.lines), size.columns


class HostInput(Input):
    """Passes on what this process gets while a command runs; see attached()."""

    def __init__(self, interactive: bool) -> None:
        self.interactive = interactive
        self._stdin = _stdin()
        self._queue = bytearray()  # typed, and not yet sent
        self._is_waiting = False  # for the guest to take what it was sent
        self._has_ended = self._stdin is None
        self._has_told_end = False
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
        terminal = self._stdin if self.interactive else None
        modes = [] if terminal is None else termios.tcgetattr(terminal)
        try:
            if terminal is not None:
                tty.setraw(terminal)
            yield self
        finally:
            if terminal is not None:
                with contextlib.suppress(termios.error):  # it may be gone
                    termios.tcsetattr(terminal, termios.TCSANOW, modes)
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            self._signals.close()
            self._wakeup.close()

    def readers(self) -> Sequence[Any]:
        return [self._signals, *([] if self._stdin is None else [self._stdin])]

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        if self._signals in ready:
            for number in self._signals.recv(256):
                self._signal(number, channel)
        if self._stdin in ready:
            self._read(selector)
        if self._is_waiting:
            return
        if self._queue:
            channel.send(line.INPUT, bytes(self._queue))
            self._queue.clear()
            self._is_waiting = True
        elif self._has_ended and not self._has_told_end:
            channel.send(line.INPUT)
            self._has_told_end = True
        elif not self._has_ended and self._stdin not in selector.get_map():
            assert self._stdin is not None
            selector.register(self._stdin, selectors.EVENT_READ)

    def _read(self, selector: selectors.BaseSelector) -> None:
        assert self._stdin is not None
        try:
            data = os.read(self._stdin, INPUT_BYTES)
        except OSError:
            data = b""
        if self.interactive and data == LEAVE:
            raise KeyboardInterrupt
        self._queue += data
        self._has_ended = not data
        # A terminal is always listened to, for the way out; a file when there is room.
        if not data or not self.interactive:
            selector.unregister(self._stdin)

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
        self._is_waiting = False
