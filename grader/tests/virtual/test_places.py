"""Virtual nodes as places of a grading, and what is kept of what one says of itself; no guest is
booted."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.qemu_peers import TWO_NODES, machine_of, plan_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.installation import Installation
from numalab.machines.machine import Machine
from numalab.virtual import guest_sandbox, local_machine, node_cache, place
from numalab.virtual.cluster import ClusterOptions
from numalab.virtual.guest import Ended
from numalab.virtual.guest_plan import GuestPlan, Share
from numalab.virtual.place import NodeEnded, PlaceLost, VirtualPlace, VirtualPlaces
from numalab.virtual.plan import GuestOptions
from numalab.virtual.qemu_process import GuestEnded, GuestFailed
from numalab.virtual.snapshots import Store

NODE = {"numa_nodes": 2}
OPTIONS = GuestOptions(cores_per_node=1)


class FakeGuest(contextlib.AbstractContextManager["FakeGuest"]):
    """answers: what its commands end with, the last one again and again."""

    def __init__(self, plan: GuestPlan, *answers: Ended | BaseException | None) -> None:
        self.plan, self.answers = plan, list(answers)
        self.done: list[Any] = []

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.done.append("closed")

    def pause(self) -> None:
        self.done.append("paused")

    def resume(self) -> None:
        self.done.append("resumed")

    def hold(self, programs: Mapping[str, Path]) -> None:
        self.done.append(dict(programs))

    def run(
        self, arguments: Sequence[str], folder: str, environment: Mapping[str, str],
        write_output: Any, write_errors: Any, limit_s: float,
    ) -> Ended | None:  # fmt: skip
        self.done.append((tuple(arguments), folder, dict(environment), limit_s))
        write_output(json.dumps(NODE).encode())
        write_errors(b"\xffbad")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    installation = Installation(tmp_path / "kit", builds=tmp_path / "kit/build")
    for program in (installation.describe_node, installation.guest_confine):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(program.name)
    return installation


SHARES = (Share(Path("/usr")), Share(Path("/opt/mpi")))


def scaled() -> Machine:
    return machine_of(TWO_NODES).scaled(1)


def place_of(
    installation: Installation, *answers: Ended | BaseException | None
) -> tuple[VirtualPlace, FakeGuest]:
    guest = FakeGuest(plan_of(*SHARES, machine=scaled()), Ended(0), *answers)
    made = VirtualPlace(installation, machine_of(TWO_NODES), guest, OPTIONS)  # type: ignore[arg-type]
    guest.done.clear()
    return made, guest


def test_a_place_says_what_it_is(installation: Installation) -> None:
    made, guest = place_of(installation, Ended(0))
    assert msgspec.to_builtins(made.machine) == {
        "name": "pair", "source": "me", "accelerator": "tcg", "guest_kernel": "6.1",
        "cores_per_numa_node": 1, "cores_per_numa_node_of_machine": 2,
        "numa_node_memory_bytes": 256 << 20,
        "architecture": "x86_64",
    }  # fmt: skip
    assert (made.name, made.slowness, made.node) == ("pair", 8.0, NODE)
    assert "1 of 2 cores per NUMA node (2 PUs), 256 MiB" in made.note
    sight = guest_sandbox.GuestView([Path("/usr"), Path("/opt/mpi")], made._hidden, 2, 512 << 20)
    assert made._sight == sight
    assert made.monitor_options == guest_sandbox.monitor_options(installation.guest_confine, sight)
    assert made.job_words("/results") == guest_sandbox.job_words(sight, "/results")
    made.close()
    assert guest.done == ["closed"]


def test_a_command_gets_its_programs_and_no_time_when_it_is_done(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/home/u/bin:/usr/bin")
    made, guest = place_of(installation, Ended(7))
    assert made.environment["PATH"] == "/usr/bin"
    given = {"OMP_PLACES": "cores", "TOKEN": "secret"}
    done = made.execute([str(installation.describe_node), "x"], given)
    assert (done.code, done.output, done.complaint.strip()) == (7, json.dumps(NODE), "\ufffdbad")
    variables = {"OMP_PLACES": "cores", "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp"}
    assert guest.done == [
        "resumed", {"/numalab/describe_node": installation.describe_node},
        (("/numalab/describe_node", "x"), "/", variables, 1800.0), "paused",
    ]  # fmt: skip


@pytest.mark.parametrize("trouble", [OSError(errno.EIO, "Input/output error"), ValueError("no")])
def test_a_program_that_can_not_be_read_leaves_the_guest_paused(
    installation: Installation, trouble: Exception
) -> None:
    made, guest = place_of(installation, trouble)
    with pytest.raises(NumalabError, match="pair"):
        made.execute([str(installation.describe_node)], {})
    assert guest.done[0] == "resumed" and guest.done[-1] == "paused"


@pytest.mark.parametrize(
    ("ended", "code"), [(Ended(0), 0), (Ended(3), 3), (Ended(0, 11), -11)]
)  # fmt: skip
def test_how_a_command_ends_is_told_as_of_a_process(
    installation: Installation, ended: Ended, code: int
) -> None:
    made, _ = place_of(installation, ended)
    assert made.execute(["true"], {}).code == code


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (None, NumalabError, "true did not end on pair in 1800 s"),
        (Ended(127, 0, 13), NumalabError, "true can't run on pair: Permission denied"),
        (KeyboardInterrupt(), Interrupted, ""),
        (GuestEnded("it ended"), NodeEnded, "it ended"),
        (GuestFailed("it hangs"), PlaceLost, "it hangs"),
    ],
)
def test_what_goes_wrong_is_told(
    installation: Installation,
    answer: Ended | BaseException | None,
    kind: type[Exception],
    says: str,
) -> None:
    made, guest = place_of(installation, answer)
    with pytest.raises(kind) as told:
        made.execute(["true"], {})
    assert type(told.value) is kind and str(told.value) == says
    assert (guest.done[-1] == "paused") is (kind is NumalabError)
    if isinstance(told.value, NodeEnded):
        assert told.value.command == ("true",)


@pytest.mark.parametrize("are_built", [True, False])
def test_two_nodes_like_a_place_see_what_it_sees(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, are_built: bool
) -> None:
    done: list[Any] = []
    made, _ = place_of(installation)

    def programs_are_built(installation: Installation, is_cluster: bool) -> bool:
        done.append(is_cluster)
        return are_built

    monkeypatch.setattr(place, "programs_are_built", programs_are_built)
    monkeypatch.setattr(
        place, "build_programs", lambda installation, is_cluster: done.append(is_cluster)
    )
    monkeypatch.setattr(place, "boot_cluster", lambda *how: how)
    how: Any = made.boot_cluster(print)
    assert how == (
        installation, machine_of(TWO_NODES), [], ClusterOptions(), OPTIONS, print,
        [Path("/usr"), Path("/opt/mpi")],
    )  # fmt: skip
    assert done == [True] * (1 if are_built else 2)


# ---- several places --------------------------------------------------------------------------


class Booted:
    """What was booted, with which store; trouble: what is raised instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Any) -> None:
        self.stores: list[Store | None] = []
        self.guests: list[FakeGuest] = []
        self.planned: list[Any] = []
        self.answers: tuple[Ended | BaseException | None, ...] = (Ended(0),)
        self.trouble: BaseException | None = None
        monkeypatch.setattr(where, "find_qemu", lambda: "/bin/sh")
        monkeypatch.setattr(where, "build_programs", lambda installation: None)
        monkeypatch.setattr(where, "make_plan", self.plan)
        monkeypatch.setattr(where, "boot", self.boot)
        monkeypatch.setattr(guest_sandbox, "folders_for", lambda programs, hidden: [*programs])

    def plan(
        self, installation: Installation, machine: Machine, *more: Any
    ) -> tuple[GuestPlan, Store]:
        self.planned.append(more)
        return plan_of(*SHARES, machine=machine), Store(Path("/store"))

    def boot(self, plan: GuestPlan, store: Store | None, progress: Any) -> FakeGuest:
        if self.trouble is not None:
            raise self.trouble
        self.stores.append(store)
        self.guests.append(FakeGuest(plan, *self.answers))
        self.answers = self.answers[1:] or self.answers
        return self.guests[-1]


def test_each_machine_is_booted_once(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted, machine = Booted(monkeypatch, place), machine_of()
    other = replace(machine, name="other")
    with VirtualPlaces(installation, OPTIONS) as places:
        first = places.get(machine, [Path("/p")], print)
        assert places.get(machine, [], print) is first
        assert places.get(other, [], print) is not first
        assert booted.planned[0] == ([], OPTIONS, print, [Path("/p")])
        assert places.numa_nodes() == {"pair": 2, "other": 2}
        assert places.note("pair") == first.note
    assert booted.stores == [Store(Path("/store"))] * 2
    assert [guest.done[-1] for guest in booted.guests] == ["closed", "closed"]


def test_a_place_that_is_dropped_boots_anew_without_its_state(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted, machine = Booted(monkeypatch, place), machine_of()
    places = VirtualPlaces(installation, OPTIONS)
    places.drop("pair")  # it need not be there
    places = VirtualPlaces(installation, OPTIONS)
    first = places.get(machine, [], print)
    places.drop("pair")
    assert booted.guests[0].done[-1] == "closed"
    assert places.get(machine, [], print) is not first
    assert booted.stores == [Store(Path("/store")), None]


@pytest.mark.parametrize(
    ("trouble", "kind", "says"),
    [
        (UserError("no QEMU"), UserError, "no QEMU"),
        (NumalabError("no console"), NumalabError, "no console"),
        (OSError(30, "Read-only file system", "/c"), NumalabError,
         "pair can't be booted: Read-only file system (/c)"),
    ],
)  # fmt: skip
def test_trouble_is_told_again_until_it_is_dropped(
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Exception,
    kind: type[Exception],
    says: str,
) -> None:
    booted, machine = Booted(monkeypatch, place), machine_of()
    places = VirtualPlaces(installation, OPTIONS)
    booted.trouble = trouble
    for _ in range(2):
        with pytest.raises(kind) as told:
            places.get(machine, [], print)
        assert str(told.value) == says
        booted.trouble = None  # it is not tried again
    assert booted.stores == []
    places.drop("pair")
    assert places.get(machine, [], print).name == "pair"


def test_a_guest_that_says_nothing_of_itself_is_ended(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted = Booted(monkeypatch, place)
    booted.answers = (GuestFailed("it hangs"),)
    with pytest.raises(PlaceLost):
        VirtualPlaces(installation, OPTIONS).get(machine_of(), [], print)
    assert booted.guests[0].done[-1] == "closed"


# ---- what a node says, kept ------------------------------------------------------------------


@pytest.fixture
def cache(installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(local_machine, "cache_folder", lambda: tmp_path)
    return tmp_path / "seen"


def test_a_node_is_asked_once(
    installation: Installation, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted, machine = Booted(monkeypatch, node_cache), machine_of()
    assert node_cache.described_node(installation, machine, print) == NODE
    assert booted.planned[0] == ([], GuestOptions(full=True), print, [installation.describe_node])
    assert [json.loads(path.read_text()) for path in cache.iterdir()] == [NODE]
    assert booted.guests[0].done[-1] == "closed"
    node_cache.described_node(installation, machine, print)
    assert len(booted.guests) == 1
    installation.describe_node.write_text("another")
    node_cache.described_node(installation, machine, print)
    assert len(booted.guests) == 2 == len(list(cache.iterdir()))
    for path in cache.iterdir():
        path.write_text("[]")
    node_cache.described_node(installation, machine, print)
    assert len(booted.guests) == 3


def test_a_node_that_is_lost_boots_once_more(
    installation: Installation, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted = Booted(monkeypatch, node_cache)
    booted.answers = (GuestFailed("it hangs"), Ended(0))
    cache.write_text("no folder")  # nothing can be kept
    assert node_cache.described_node(installation, machine_of(), print) == NODE
    assert booted.stores == [Store(Path("/store")), None]
    assert [guest.done[-1] for guest in booted.guests] == ["closed", "closed"]
    booted.answers = (GuestFailed("it hangs"),)
    with pytest.raises(PlaceLost):
        node_cache.described_node(installation, machine_of(), print)
    installation.describe_node.unlink()
    with pytest.raises(NumalabError, match=r"^pair can't be booted: No such file or directory \("):
        node_cache.described_node(installation, machine_of(), print)


def test_the_newest_descriptions_are_kept(
    installation: Installation, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Booted(monkeypatch, node_cache)
    cache.mkdir()
    for number in range(1001):
        (cache / f"{number}.json").write_text("")
        os.utime(cache / f"{number}.json", (0, time.time() - 2000 + number))
    (cache / "other").write_text("")
    node_cache.described_node(installation, machine_of(), print)
    left = {path.name for path in cache.iterdir()}
    assert len(left) == 1001 and "other" in left
    assert {f"{number}.json" for number in range(1001)} - left == {"0.json", "1.json"}
