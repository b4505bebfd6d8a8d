"""Commands in a guest, with somebody else at the other end of its line."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.qemu_peers import Peer, guest_with_peer

from numalab.virtual import channel, guest
from numalab.virtual.channel import Channel
from numalab.virtual.guest import Ended, Guest, Input, NoInput
from numalab.virtual.qemu_process import GuestFailed

Pair = tuple[Guest, Peer]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    made, peer = guest_with_peer(monkeypatch)
    with made:
        yield made, peer
    peer.end()


def run(made: Guest, **more: Any) -> tuple[Ended | None, bytes, bytes]:
    out, err = bytearray(), bytearray()
    command, variables = ["sh", "-c", ""], {"A": "1", "B": "x=y"}
    ended = made.run(command, "/w", variables, out.extend, err.extend, **more)
    return ended, bytes(out), bytes(err)


STRINGS = b"/w\0sh\0-c\0\0A=1\0B=x=y\0"


def test_a_command_is_run_to_its_end(pair: Pair) -> None:
    made, peer = pair
    for kind, text in ((channel.OUTPUT, b"o"), (channel.CONSUMED, b""), (channel.ERRORS, b"e"),
                       (channel.PONG, b""), (channel.OUTPUT, b"ut")):  # fmt: skip
        peer.tell(kind, text)
    peer.tell(channel.ENDED, struct.pack("<II", 7, 0))
    assert run(made) == (Ended(7), b"out", b"e")
    assert peer.heard() == [("R", struct.pack("<HHHH", 0, 0, 3, 2) + STRINGS)]
    peer.tell(channel.ENDED, struct.pack("<II", 0, 11))
    assert run(made, window=(24, 80))[0] == Ended(0, 11, 0)
    assert peer.heard() == [("R", struct.pack("<HHHH", 24, 80, 3, 2) + STRINGS)]
    peer.tell(channel.REFUSED, struct.pack("<I", 2))
    assert run(made)[0] == Ended(127, 0, 2)


def test_without_input_its_end_is_told_once(pair: Pair) -> None:
    made, peer = pair

    class Script(NoInput):
        """The guest ends the command once it has been told of the end twice, or had time for it."""

        def handle(self, ready: set[Any], selector: Any, channel_: Channel) -> None:
            super().handle(ready, selector, channel_)
            super().handle(ready, selector, channel_)
            peer.tell(channel.ENDED, struct.pack("<II", 0, 0))

    assert run(made, source=Script())[0] == Ended(0)
    assert [frame for frame in peer.heard() if frame[0] != "R"] == [("I", b"")]


def test_an_answer_that_a_command_no_longer_waits_for_is_not_the_next_pings(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, tmp_path: Path
) -> None:
    """The command ends while a ping is under way; what then goes wrong is told all the same."""
    made, peer = pair
    monkeypatch.setattr(guest._Heart, "is_due", lambda heart, now_s: True)
    peer.tell(channel.ENDED, struct.pack("<II", 0, 0))
    assert run(made)[0] == Ended(0)
    assert [kind for kind, _ in peer.heard()] == ["R", "P"]
    peer.tell(channel.PONG)
    peer.tell(channel.PONG, b"full")
    program = tmp_path / "program"
    program.touch()
    with pytest.raises(GuestFailed, match="full"):
        made.hold({"/numalab/a": program})


class Clock:
    """time.monotonic(), which goes on by what is waited for, and how long each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.waits: list[float | None] = []
        clock = self

        class Selector(selectors.PollSelector):
            def select(self, timeout: float | None = None) -> Any:
                found = super().select(0)
                clock.waits.append(timeout)
                clock.now_s += 0 if found else timeout or 0
                return found

        monkeypatch.setattr(selectors, "PollSelector", Selector)
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


def test_a_command_that_takes_too_long_is_killed(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    made, peer = pair
    clock = Clock(monkeypatch)

    class Script(Input):
        """The guest tells the end once it has been told to bring it about."""

        def handle(self, ready: set[Any], selector: Any, channel_: Channel) -> None:
            if len(clock.waits) == 3:
                peer.tell(channel.ENDED, struct.pack("<II", 0, 9))

    assert run(made, limit_s=12.0, source=Script())[0] is None
    assert clock.waits == [5.0, 5.0, 2.0, 5.0]
    assert [frame for frame in peer.heard() if frame[0] != "R"] == [
        ("P", b""), ("S", struct.pack("<I", 9))
    ]  # fmt: skip


def test_a_command_that_nothing_ends_is_told(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    made, _ = pair
    clock = Clock(monkeypatch)
    monkeypatch.setattr(guest, "SILENCE_LIMIT_S", 1000.0)
    with pytest.raises(GuestFailed, match=r"^pair does not end a command"):
        run(made, limit_s=1.0)
    assert (clock.now_s, clock.waits[0]) == (161.0, 1.0)


def test_a_guest_that_says_nothing_hangs(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    made, peer = pair
    clock = Clock(monkeypatch)
    with pytest.raises(GuestFailed, match=r"^pair hangs"):
        run(made)
    # Asked after 5 s, it has 90.
    assert clock.now_s == 200.0 and set(clock.waits) == {5.0}
    assert [kind for kind, _ in peer.heard()] == ["R", "P"]


def test_any_word_is_a_sign_of_life(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    made, peer = pair
    clock = Clock(monkeypatch)

    class Script(Input):
        def handle(self, ready: set[Any], selector: Any, channel_: Channel) -> None:
            if len(clock.waits) == 10:
                peer.tell(channel.OUTPUT, b"busy")
            if clock.now_s >= 205:
                peer.tell(channel.ENDED, struct.pack("<II", 0, 0))

    assert run(made, source=Script()) == (Ended(0), b"busy", b"")
    assert [kind for kind, _ in peer.heard()] == ["R", "P", "P"]


def test_an_input_hears_of_its_readers_and_of_what_was_taken(pair: Pair) -> None:
    made, peer = pair
    reader, writer = socket.socketpair()
    seen: list[object] = []

    class Script(Input):
        def readers(self) -> list[Any]:
            return [reader]

        def handle(self, ready: set[Any], selector: Any, channel_: Channel) -> None:
            seen.append((reader in ready, channel_ is made.channel))
            if reader in ready:
                reader.recv(1)
                peer.tell(channel.CONSUMED)
                peer.tell(channel.ENDED, struct.pack("<II", 3, 0))

        def consumed(self) -> None:
            seen.append("consumed")

    with reader, writer:
        writer.send(b"x")
        assert run(made, source=Script())[0] == Ended(3)
    assert seen == [(False, True), (True, True), "consumed"]
