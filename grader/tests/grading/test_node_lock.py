"""Gradings that share a node. Each locks the file as a process of its own would."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from numalab.errors import UserError
from numalab.grading.node_lock import DISABLED, VARIABLE, NodeLock, share_node

SOON_S, LATE_S = 0.2, 120  # that something does not happen, and that it does


def tell(step: str) -> None:
    del step


class Grading(threading.Thread):
    """begun: it shares the node; alone: it takes times; it goes on when told to."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.begun, self.exclusive, self.over = (threading.Event() for _ in range(3))
        self.take_times, self.times_taken, self.end = (threading.Event() for _ in range(3))
        self.start()

    def run(self) -> None:
        with share_node() as node_lock:
            self.begun.set()
            self.take_times.wait(LATE_S)
            with node_lock.exclusive(tell):
                self.exclusive.set()
                self.times_taken.wait(LATE_S)
            self.end.wait(LATE_S)
        self.over.set()


@pytest.fixture(autouse=True)
def node_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "turns"))
    monkeypatch.setattr("numalab.grading.node_lock.NODE", tmp_path / "node")
    return tmp_path / "turns"


def somebody_waits(node_lock: Path) -> bool:
    """To be alone: whoever does holds the second file."""
    with node_lock.with_name(f"{node_lock.name}.next").open("a") as turnstile:
        try:
            fcntl.flock(turnstile, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_times_are_taken_alone_and_the_rest_side_by_side() -> None:
    first, second = Grading(), Grading()
    assert first.begun.wait(LATE_S) and second.begun.wait(LATE_S)
    first.take_times.set()
    assert not first.exclusive.wait(SOON_S)  # the second is at work
    second.take_times.set()
    while not (first.exclusive.is_set() or second.exclusive.is_set()):
        time.sleep(0.01)
    one, other = (first, second) if first.exclusive.is_set() else (second, first)
    assert not other.exclusive.wait(SOON_S)
    one.times_taken.set()
    assert other.exclusive.wait(LATE_S)  # before the one goes on
    other.times_taken.set()
    for grading in (first, second):
        grading.end.set()
        assert grading.over.wait(LATE_S)


def test_who_waits_to_be_alone_is_not_overtaken(node_lock: Path) -> None:
    first, second = Grading(), Grading()
    assert first.begun.wait(LATE_S) and second.begun.wait(LATE_S)
    first.take_times.set()
    deadline = time.monotonic() + LATE_S
    while not somebody_waits(node_lock) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not first.exclusive.wait(SOON_S)
    third = Grading()
    assert not third.begun.wait(SOON_S)
    for one in (second, third):
        one.times_taken.set()
        one.end.set()
    second.take_times.set()
    assert first.exclusive.wait(LATE_S)
    first.times_taken.set()
    third.take_times.set()
    first.end.set()
    assert all(one.over.wait(LATE_S) for one in (first, second, third))


def test_a_grading_that_is_stopped_waits_for_nobody() -> None:
    first = Grading()
    assert first.begun.wait(LATE_S)
    begins = threading.Timer(SOON_S, first.take_times.set)
    with pytest.raises(KeyboardInterrupt), share_node() as node_lock:
        begins.start()
        with node_lock.exclusive(tell):  # once the first makes room
            raise KeyboardInterrupt
    assert first.exclusive.wait(LATE_S)
    first.times_taken.set()
    first.end.set()
    assert first.over.wait(LATE_S)


def test_a_file_that_can_not_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/proc/no/turns")
    with pytest.raises(UserError, match="/proc/no/turns"), share_node():
        pass


# ---- all users of a node ---------------------------------------------------------------


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they meet, with no other file."""
    monkeypatch.delenv(VARIABLE)
    return tmp_path / "node"


def test_users_meet_without_having_agreed_on_a_file(node: Path) -> None:
    first = Grading()
    assert first.begun.wait(LATE_S)
    first.take_times.set()
    assert first.exclusive.wait(LATE_S)
    assert stat.S_IMODE(node.stat().st_mode) == 0o444 and node.stat().st_size == 0
    second = Grading()
    assert second.begun.wait(LATE_S)  # until it takes times itself it waits for nobody
    second.take_times.set()
    assert not second.exclusive.wait(SOON_S)
    first.times_taken.set()
    assert second.exclusive.wait(LATE_S)
    for one in (first, second):
        one.times_taken.set()
        one.end.set()
        assert one.over.wait(LATE_S)


def test_what_takes_no_times_waits_for_no_user(node: Path) -> None:
    told: list[str] = []
    with share_node(exclusive=True), share_node(told.append):
        pass
    assert told == []


def test_no_times_are_taken_beside_who_found_the_node_free(node: Path) -> None:
    first = Grading()
    assert first.begun.wait(LATE_S)
    second = Grading()
    second.take_times.set()
    assert not second.exclusive.wait(SOON_S)
    first.end.set()
    first.take_times.set()
    first.times_taken.set()
    assert second.exclusive.wait(LATE_S)
    second.times_taken.set()
    second.end.set()
    assert all(one.over.wait(LATE_S) for one in (first, second))


def test_the_suite_turns_it_off(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, DISABLED)
    with share_node() as node_lock, node_lock.exclusive(tell):
        assert not node.exists()


def test_a_wait_is_told_once(node: Path) -> None:
    told: list[str] = []
    with share_node(exclusive=True):
        second = threading.Thread(target=lambda: _begin(told), daemon=True)
        second.start()
        time.sleep(SOON_S * 3)
    second.join(LATE_S)
    assert told == ["waiting until the others' gradings make room for its times"]


def _begin(told: list[str]) -> None:
    with share_node(told.append) as node_lock, node_lock.exclusive(told.append):
        pass


def _a_link(node: Path) -> None:
    node.with_name("precious").write_text("mine\n")
    node.symlink_to(node.with_name("precious"))


def _a_pipe(node: Path) -> None:
    os.mkfifo(node)


def _a_folder(node: Path) -> None:
    node.mkdir()


@pytest.mark.parametrize("make", [_a_link, _a_pipe, _a_folder])
def test_what_another_user_has_put_there_harms_nobody(
    node: Path, make: Callable[[Path], None]
) -> None:
    make(node)
    told: list[str] = []
    with share_node(told.append) as node_lock, node_lock.exclusive(told.append):
        pass
    assert len(told) == 1
    assert "can't take turns with other users" in told[0]
    if node.is_symlink():
        assert node.with_name("precious").read_text() == "mine\n"


def test_nobody_holds_the_node_for_ever(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numalab.grading.node_lock.NODE_LIMIT_S", SOON_S)
    told: list[str] = []
    with (
        share_node(exclusive=True),
        share_node(told.append) as node_lock,
        node_lock.exclusive(told.append),
    ):
        pass
    assert told[0] == "waiting until the others' gradings make room for its times"
    assert len(told) == 2 and "going on beside them" in told[1]


def test_nobody_holds_the_node_again_and_again(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time for less than one may wait."""
    monkeypatch.setattr("numalab.grading.node_lock.NODE_LIMIT_S", 3 * SOON_S)
    told: list[str] = []
    waits_s = []
    with share_node(told.append) as node_lock:
        for _ in range(4):
            node_lock.leave()
            other = os.open(node, os.O_RDONLY)
            fcntl.flock(other, fcntl.LOCK_EX)
            gives_way = threading.Timer(2 * SOON_S, os.close, (other,))
            gives_way.start()
            began_s = time.monotonic()
            node_lock.take(fcntl.LOCK_EX, told.append)
            waits_s.append(time.monotonic() - began_s)
            gives_way.join()
    assert sum("going on beside them" in text for text in told) == 1
    assert waits_s[0] >= SOON_S  # which the first of them has to
    assert node_lock.locks == []


def test_a_file_that_was_removed_parts_gradings_for_one_turn_only(node: Path) -> None:
    with share_node() as node_lock:
        node.unlink()
        second = Grading()
        assert second.begun.wait(LATE_S)
        began = threading.Event()
        waits = threading.Thread(target=lambda: _be_alone(node_lock, began), daemon=True)
        waits.start()
        assert not began.wait(SOON_S)  # for the second, which has another file
        for event in (second.take_times, second.times_taken, second.end):
            event.set()
        assert began.wait(LATE_S)
        waits.join(LATE_S)


def _be_alone(node_lock: NodeLock, began: threading.Event) -> None:
    with node_lock.exclusive(tell):
        began.set()


def test_a_batch_and_other_users_wait_for_no_end(
    node_lock: Path, node: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of a batch and one of somebody else, all of which take times at once."""
    monkeypatch.setenv(VARIABLE, str(node_lock))
    batch = [Grading(), Grading()]
    assert all(one.begun.wait(LATE_S) for one in batch)
    monkeypatch.delenv(VARIABLE)
    other = Grading()
    assert other.begun.wait(LATE_S)
    for one in (*batch, other):
        one.take_times.set()
        one.times_taken.set()
        one.end.set()
    assert all(one.over.wait(LATE_S) for one in (*batch, other))
