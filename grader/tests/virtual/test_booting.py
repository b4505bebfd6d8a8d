"""Which guests boot, which are woken, and what is done where one does not come up."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.qemu_peers import Process, plan_of

from numalab.errors import NumalabError
from numalab.virtual import booting
from numalab.virtual.guest import ClusterMember
from numalab.virtual.network import Node
from numalab.virtual.qemu_process import GuestFailed
from numalab.virtual.snapshots import Store


class Host:
    """Makes guests that do as they are told, and writes down what each does. hangs, broken: the
    numbers of those that do not come up, and that fail to wake."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.guests: list[FakeGuest] = []
        self.hangs: set[int] = set()
        self.broken: set[int] = set()
        self.saves: Callable[[int], object] = lambda file: os.write(file, b"state")
        self.limits_s: list[float] = []


class FakeGuest(contextlib.AbstractContextManager["FakeGuest"]):
    def __init__(self, host: Host, snapshot: int | None, member: ClusterMember | None) -> None:
        self.number, self.host = len(host.guests), host
        self.process = Process()
        host.guests.append(self)
        self._did("woken" if snapshot is not None else "started", member and member.node.number)
        self.state = None if snapshot is None else os.read(snapshot, 100)

    def _did(self, *what: Any) -> None:
        self.host.done.append((self.number, *what))

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._did("closed")

    def wake(self) -> None:
        self._did("goes on")
        if self.number in self.host.broken:
            raise GuestFailed("it is broken")

    def set_up(self) -> None:
        self._did("set up")

    def is_up_within(self, limit_s: float) -> bool:
        self.host.limits_s.append(limit_s)
        return self.number not in self.host.hangs

    def failure(self, what: str) -> GuestFailed:
        return GuestFailed(f"{what} Its console.")

    def save(self, file: int) -> None:
        self._did("kept")
        self.host.saves(file)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    made = Host()
    monkeypatch.setattr(booting, "find_qemu", lambda: "/bin/sh")
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(
        booting, "Guest",
        lambda plan, program, initrd, snapshot, member: FakeGuest(made, snapshot, member),
    )  # fmt: skip
    yield made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def members(count: int) -> list[ClusterMember]:
    return [ClusterMember(node, None, b"") for node in (Node(n + 1, count) for n in range(count))]  # type: ignore[arg-type]


def boot(store: Store | None, those: Sequence[ClusterMember | None] = (None,)) -> list[str]:
    """Returns what was reported."""
    steps: list[str] = []
    booting.boot_all(plan_of(), store, steps.append, those)
    return steps


def test_a_guest_boots_once_and_is_woken_then(host: Host, store: Store) -> None:
    assert boot(store) == ["booting pair"]
    assert host.done == [(0, "started", None), (0, "kept"), (0, "set up")]
    assert host.limits_s == [30.0], "half of 60 s"
    assert boot(store) == ["waking pair"]
    assert host.done[3:] == [(1, "woken", None), (1, "goes on"), (1, "set up")]
    assert host.guests[1].state == b"state"
    assert boot(None) == ["booting pair"]
    assert host.done[6:] == [(2, "started", None), (2, "set up")]


def test_of_a_cluster_the_first_one_boots_and_the_others_are_woken(
    host: Host, store: Store
) -> None:
    assert boot(store, members(3)) == ["booting node1 (pair)", "waking node2, node3 (pair)"]
    assert host.done == [
        (0, "started", 1), (0, "kept"), (0, "set up"), (1, "woken", 2), (2, "woken", 3),
        (1, "goes on"), (2, "goes on"), (1, "set up"), (2, "set up"),
    ]  # fmt: skip
    assert boot(store, members(2)) == ["waking node1, node2 (pair)"]
    assert [guest.state for guest in host.guests] == [None, *[b"state"] * 4]
    assert boot(None, members(2)) == ["booting node1, node2 (pair)"]


def test_a_state_that_does_not_work_is_dropped(host: Host, store: Store) -> None:
    boot(store)
    host.broken = {1}
    assert boot(store) == ["waking pair", "booting pair"]
    assert host.done[3:] == [
        (1, "woken", None), (1, "goes on"), (1, "closed"),
        (2, "started", None), (2, "kept"), (2, "set up"),
    ]  # fmt: skip
    assert boot(store) == ["waking pair"], "the new one works"
    host.broken = {5}
    assert boot(store, members(2))[:2] == ["waking node1, node2 (pair)", "booting node1 (pair)"]
    assert [did for did in host.done if did[0] in (4, 5) and did[1] == "closed"] == [
        (5, "closed"), (4, "closed")
    ]  # fmt: skip


def test_others_boot_too_where_no_state_can_be_kept(host: Host, store: Store) -> None:
    host.saves = lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    assert boot(store, members(2)) == [
        "booting node1 (pair)", f"pair is up; its state can't be kept in {store.folder}",
        "booting node2 (pair)",
    ]  # fmt: skip
    store.folder.rmdir()
    store.folder.write_text("no folder")
    assert boot(store) == ["booting pair"], "nothing was tried"


def fails(file: int) -> None:
    raise GuestFailed("it is gone")


def test_a_guest_that_ends_while_its_state_is_written_has_failed(host: Host, store: Store) -> None:
    host.saves = fails
    assert len(boot(store)) == 2

    def ends(file: int) -> None:
        host.guests[1].process.returncode = 1
        raise GuestFailed("it is gone")

    host.saves = ends
    with pytest.raises(NumalabError, match=r"^it is gone$"):
        boot(store)
    assert host.done[-1] == (1, "closed")


def test_a_guest_that_hangs_boots_once_more(host: Host) -> None:
    host.hangs = {1}
    assert boot(None, members(2)) == [
        "booting node1, node2 (pair)", "booting node2 (pair) once more, since it hangs"
    ]  # fmt: skip
    assert host.done == [
        (0, "started", 1), (1, "started", 2), (1, "closed"), (2, "started", 2),
        (0, "set up"), (2, "set up"),
    ]  # fmt: skip
    assert host.limits_s == [30.0, 30.0, 60.0]


def test_a_guest_that_hangs_twice_is_told(host: Host) -> None:
    host.hangs = {0, 1}
    with pytest.raises(NumalabError, match=r"^pair did not come up within 60 s\. Its console\.$"):
        boot(None)
    assert host.done.count((0, "closed")) == 2 and host.done.count((1, "closed")) == 1


def test_what_the_system_refuses_is_told(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(booting, "Guest", refuse)
    with pytest.raises(NumalabError, match=r"^pair can't be started: Cannot allocate memory$"):
        boot(None)


def test_one_guest_is_the_first_of_all(host: Host) -> None:
    found = booting.boot(plan_of(), None, print)
    assert found is host.guests[0]  # type: ignore[comparison-overlap]
