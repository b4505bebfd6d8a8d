"""What of this process's input, Ctrl-C and window reaches a command in a guest."""

from __future__ import annotations

import io
import os
import pty
import selectors
import signal
import socket
import struct
import sys
import termios
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from numalab.virtual import guest_commands
from numalab.virtual.channel import Channel
from numalab.virtual.guest_commands import ForwardedInput


@dataclass
class Ends:
    """keyboard: where somebody types; guest: where the guest hears of it."""

    keyboard: int
    guest: socket.socket
    channel: Channel
    selector: selectors.BaseSelector

    def heard(self) -> list[tuple[str, bytes]]:
        data = bytearray()
        try:
            data += self.guest.recv(1 << 20)
        except BlockingIOError:
            return []
        found = []
        while data:
            kind, size = struct.unpack_from("<BI", data)
            found.append((chr(kind), bytes(data[5 : 5 + size])))
            del data[: 5 + size]
        return found


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ends]:
    """This process's input is a pipe."""
    reader, writer = os.pipe()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with os.fdopen(reader) as stdin, theirs, selectors.PollSelector() as selector:
        monkeypatch.setattr(sys, "stdin", stdin)
        channel = Channel(ours)
        yield Ends(writer, theirs, channel, selector)
        channel.close()


def turn(source: ForwardedInput, ends: Ends) -> list[tuple[str, bytes]]:
    """One turn of Guest.run()."""
    known = {key.fileobj for key in ends.selector.get_map().values()}
    ready: set[Any] = {key.fileobj for key, _ in ends.selector.select(0)} if known else set()
    source.handle(ready, ends.selector, ends.channel)
    return ends.heard()


def watch(source: ForwardedInput, ends: Ends) -> None:
    for reader in source.readers():
        ends.selector.register(reader, selectors.EVENT_READ)


def is_listened_to(ends: Ends, source: ForwardedInput) -> bool:
    return source._stdin in ends.selector.get_map()


def test_a_file_is_read_when_the_guest_has_taken_what_came_before(ends: Ends) -> None:
    source = ForwardedInput(False)
    watch(source, ends)
    assert turn(source, ends) == [] and is_listened_to(ends, source)
    os.write(ends.keyboard, b"x" * (16 * 1024 + 1))
    assert turn(source, ends) == [("I", b"x" * 16 * 1024)]
    assert not is_listened_to(ends, source)
    assert turn(source, ends) == [], "it waits"
    source.consumed()
    assert turn(source, ends) == [] and is_listened_to(ends, source)
    assert turn(source, ends) == [("I", b"x")]
    os.close(ends.keyboard)
    source.consumed()
    turn(source, ends)
    assert turn(source, ends) == [("I", b"")], "the end"
    assert not is_listened_to(ends, source)
    source.consumed()
    assert turn(source, ends) == [], "which is told once"
    assert not is_listened_to(ends, source)


def test_a_terminal_is_always_listened_to(ends: Ends) -> None:
    """For the way out, Ctrl-] alone."""
    source = ForwardedInput(True)
    watch(source, ends)
    os.write(ends.keyboard, b"a\x1d")
    assert turn(source, ends) == [("I", b"a\x1d")] and is_listened_to(ends, source)
    os.write(ends.keyboard, b"b")
    assert turn(source, ends) == []
    os.write(ends.keyboard, b"c")
    assert turn(source, ends) == []
    source.consumed()
    assert turn(source, ends) == [("I", b"bc")]
    os.write(ends.keyboard, b"\x1d")
    with pytest.raises(KeyboardInterrupt):
        turn(source, ends)
    os.close(ends.keyboard)


def test_in_a_file_the_way_out_is_a_letter(ends: Ends) -> None:
    source = ForwardedInput(False)
    watch(source, ends)
    os.write(ends.keyboard, b"\x1d")
    assert turn(source, ends) == [("I", b"\x1d")]
    os.close(ends.keyboard)


def test_without_input_the_guest_is_told_its_end(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.close(ends.keyboard)
    closed = io.StringIO()
    closed.close()
    for stdin in (None, closed):
        monkeypatch.setattr(sys, "stdin", stdin)
        source = ForwardedInput(False)
        assert source.readers() == [source._signals]
        assert turn(source, ends) == [("I", b"")]
        assert turn(source, ends) == []


def test_input_that_can_not_be_read_is_none(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(ends.keyboard, "w") as write_only:
        monkeypatch.setattr(sys, "stdin", write_only)
        assert guest_commands._stdin() is None


@pytest.mark.parametrize(
    ("is_terminal", "group", "is_read"), [(True, 1, False), (True, 0, True), (False, 1, True)]
)
def test_in_the_background_a_terminal_is_not_read(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, group: int, is_read: bool
) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: is_terminal)
    monkeypatch.setattr(os, "tcgetpgrp", lambda descriptor: os.getpgrp() + group)
    assert (guest_commands._stdin() is not None) is is_read
    os.close(ends.keyboard)


class Stream(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize("without", ["", "stdin", "stdout", "stderr"])
def test_a_command_has_a_terminal_where_all_three_are_one(
    monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, Stream(name != without))
    monkeypatch.setattr(guest_commands, "_stdin", lambda: 0)
    assert guest_commands.is_interactive() is (not without)
    monkeypatch.setattr(guest_commands, "_stdin", lambda: None)
    assert not guest_commands.is_interactive()
    monkeypatch.setattr(guest_commands, "_stdin", lambda: 0)
    monkeypatch.setattr(sys, "stderr", None)
    assert not guest_commands.is_interactive()


@pytest.mark.parametrize(("lines", "rows"), [(24, 24), (1, 1), (0, 1)])
def test_a_window_has_a_row_at_least(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, lines: int, rows: int
) -> None:
    os.close(ends.keyboard)
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((80, lines)))
    assert guest_commands.window_size() == (rows, 80)


def send(*numbers: int) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("stdin", ["pipe", "none"])
def test_ctrl_c_reaches_the_command_and_then_ends_it(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, stdin: str
) -> None:
    os.close(ends.keyboard)
    if stdin == "none":
        monkeypatch.setattr(sys, "stdin", None)
    before, winch = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGWINCH)
    source = ForwardedInput(False)
    with source.attached() as attached:
        assert attached is source
        ends.selector.register(source._signals, selectors.EVENT_READ)
        assert signal.getsignal(signal.SIGINT) is not before
        assert signal.getsignal(signal.SIGWINCH) is winch
        heard = []
        for _ in range(2):
            send(signal.SIGINT)
            heard += [frame for frame in turn(source, ends) if frame[0] != "I"]
        assert heard == [("S", struct.pack("<I", 2)), ("S", struct.pack("<I", 9))]
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            turn(source, ends)
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1, "as it was"
    assert source._signals.fileno() == source._wakeup.fileno() == -1


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Somebody's end, and this process's input."""
    somebody, ours = pty.openpty()
    monkeypatch.setattr(sys, "stdin", stdin := os.fdopen(ours))
    monkeypatch.setattr(guest_commands, "_stdin", lambda: ours)
    yield somebody, ours
    stdin.close()
    os.close(somebody)


def is_raw(descriptor: int) -> bool:
    return not termios.tcgetattr(descriptor)[3] & (termios.ICANON | termios.ECHO)


def test_a_terminal_is_raw_for_a_while_and_its_window_is_told(
    ends: Ends, at_terminal: tuple[int, int]
) -> None:
    os.close(ends.keyboard)
    _, ours = at_terminal
    modes, winch = termios.tcgetattr(ours), signal.getsignal(signal.SIGWINCH)
    termios.tcsetwinsize(ours, (30, 100))
    source = ForwardedInput(True)
    with source.attached():
        watch(source, ends)
        assert is_raw(ours)
        send(signal.SIGWINCH)
        assert turn(source, ends) == [("V", struct.pack("<HH", 30, 100))]
    assert termios.tcgetattr(ours) == modes
    assert signal.getsignal(signal.SIGWINCH) is winch


def test_what_is_no_terminal_for_the_command_stays_as_it_is(at_terminal: tuple[int, int]) -> None:
    source = ForwardedInput(False)
    with source.attached():
        assert not is_raw(at_terminal[1])


def test_a_terminal_may_be_gone_meanwhile(
    at_terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_commands, "_stdin", lambda: None)
    with ForwardedInput(True).attached() as source:
        assert source.readers() == [source._signals]


def test_the_terminals_modes_come_back_whatever_happens(at_terminal: tuple[int, int]) -> None:
    modes = termios.tcgetattr(at_terminal[1])
    with pytest.raises(RuntimeError), ForwardedInput(True).attached():
        raise RuntimeError
    assert termios.tcgetattr(at_terminal[1]) == modes


def test_descriptor_0_may_be_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[object, ...]] = []
    monkeypatch.setattr(guest_commands, "_stdin", lambda: 0)
    monkeypatch.setattr(termios, "tcgetattr", lambda descriptor: [descriptor])
    monkeypatch.setattr(tty, "setraw", lambda descriptor: done.append((descriptor,)))
    monkeypatch.setattr(termios, "tcsetattr", lambda *how: done.append(how))
    with ForwardedInput(True).attached():
        pass
    assert done == [(0,), (0, termios.TCSANOW, [0])]

    def gone(*how: object) -> None:
        raise termios.error(5, "Input/output error")

    monkeypatch.setattr(termios, "tcsetattr", gone)
    with ForwardedInput(True).attached():
        pass


def test_many_signals_keep_nobody_waiting(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they told of at the terminal, where there is no room for one more."""
    os.close(ends.keyboard)
    source = ForwardedInput(False)
    told: list[Any] = []

    def set_wakeup_fd(descriptor: int, **how: bool) -> int:
        told.append((descriptor, how))
        return -1

    monkeypatch.setattr(signal, "set_wakeup_fd", set_wakeup_fd)
    ends_up = source._wakeup.fileno()
    with source.attached():
        assert told == [(ends_up, {"warn_on_full_buffer": False})]
    source = ForwardedInput(False)
    assert not source._signals.getblocking() and not source._wakeup.getblocking()
