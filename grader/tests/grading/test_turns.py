"""Gradings that share a node. Each locks the file as a process of its own would."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path

import pytest

from numalab.errors import UserError
from numalab.grading.turns import VARIABLE, shared_node

SOON_S, LATE_S = 0.2, 120  # that something does not happen, and that it does


def tell(step: str) -> None:
    del step


class Grading(threading.Thread):
    """begun: it shares the node; alone: it takes times; it goes on when told to."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.begun, self.alone, self.over = (threading.Event() for _ in range(3))
        self.take_times, self.times_taken, self.end = (threading.Event() for _ in range(3))
        self.start()

    def run(self) -> None:
        with shared_node() as turns:
            self.begun.set()
            self.take_times.wait(LATE_S)
            with turns.alone(tell):
                self.alone.set()
                self.times_taken.wait(LATE_S)
            self.end.wait(LATE_S)
        self.over.set()


@pytest.fixture(autouse=True)
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "turns"))
    monkeypatch.setattr("numalab.grading.turns.NODE", tmp_path / "node")
    return tmp_path / "turns"


def somebody_waits(turns: Path) -> bool:
    """To be alone: whoever does holds the second file."""
    with turns.with_name(f"{turns.name}.next").open("a") as turnstile:
        try:
            fcntl.flock(turnstile, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_times_are_taken_alone_and_the_rest_side_by_side() -> None:
    first, second = Grading(), Grading()
    assert first.begun.wait(LATE_S) and second.begun.wait(LATE_S)
    first.take_times.set()
    assert not first.alone.wait(SOON_S)  # the second is at work
    second.take_times.set()
    while not (first.alone.is_set() or second.alone.is_set()):
        time.sleep(0.01)
    one, other = (first, second) if first.alone.is_set() else (second, first)
    assert not other.alone.wait(SOON_S)
    one.times_taken.set()
    assert other.alone.wait(LATE_S)  # before the one goes on
    other.times_taken.set()
    for grading in (first, second):
        grading.end.set()
        assert grading.over.wait(LATE_S)


def test_who_waits_to_be_alone_is_not_overtaken(turns: Path) -> None:
    first, second = Grading(), Grading()
    assert first.begun.wait(LATE_S) and second.begun.wait(LATE_S)
    first.take_times.set()
    deadline = time.monotonic() + LATE_S
    while not somebody_waits(turns) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not first.alone.wait(SOON_S)
    third = Grading()
    assert not third.begun.wait(SOON_S)
    for one in (second, third):
        one.times_taken.set()
        one.end.set()
    second.take_times.set()
    assert first.alone.wait(LATE_S)
    first.times_taken.set()
    third.take_times.set()
    first.end.set()
    assert all(one.over.wait(LATE_S) for one in (first, second, third))


def test_a_grading_that_is_stopped_waits_for_nobody() -> None:
    first = Grading()
    assert first.begun.wait(LATE_S)
    begins = threading.Timer(SOON_S, first.take_times.set)
    with pytest.raises(KeyboardInterrupt), shared_node() as turns:
        begins.start()
        with turns.alone(tell):  # once the first makes room
            raise KeyboardInterrupt
    assert first.alone.wait(LATE_S)
    first.times_taken.set()
    first.end.set()
    assert first.over.wait(LATE_S)


def test_a_file_that_can_not_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/proc/no/turns")
    with pytest.raises(UserError, match="/proc/no/turns"), shared_node():
        pass
