"""Who looks at the machine that a file of answers is about, and when nobody does. No machine is
booted: what it would say is a recorded guest's."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from support import invented
from support.published_labs import published

from numalab.errors import NumalabError, UserError
from numalab.evidence.format import HandedText
from numalab.evidence.record import Json
from numalab.grading import vm_gradings
from numalab.grading.kernel_grading import Grading
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.seeded_answers import answer_files
from numalab.machines.machine import Machine
from numalab.machines.seeded import seeded_machine
from numalab.virtual import node_cache
from numalab.virtual.place import PlaceLost
from numalab.virtual.plan import GuestOptions

RECORDED: Json = json.loads(
    (Path(__file__).parents[1] / "machines" / "seen_on_seeded.json").read_text("utf-8")
)
ANSWERED = "seed = 489\ncores = 12\n"


@dataclass
class Pretended:
    """As much of a session as the look needs."""

    installation: Installation
    lab: Lab
    text: str = ANSWERED
    complaint: str | None = None
    machine: Json | None = None
    no_vms: bool = False
    record: Any = field(default_factory=SimpleNamespace)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = [file.name for file in self.lab.files]
        self.texts = {name: HandedText(name, self.complaint, {}, self.text) for name in names}

    def handed(self, name: str) -> HandedText:
        return self.texts[name]

    def progress(self, step: str) -> None:
        self.said.append(step)

    @contextlib.contextmanager
    def spending(self, on: str) -> Iterator[None]:
        self.said.append(f"spent on {on}")
        yield


@pytest.fixture
def lab(labs: dict[str, Lab]) -> Lab:
    return labs["00_know_your_node"]


def looked(monkeypatch: pytest.MonkeyPatch, session: Pretended, *answers: Any) -> Json | None:
    """What the record has afterwards. answers: of a machine that is booted, one each; all have to
    be asked for."""
    left = list(answers)

    def described(installation: Installation, machine: Machine, progress: Any) -> Json:
        assert machine == seeded_machine(489)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast(Json, answer)

    monkeypatch.setattr(vm_gradings, "described_node", described)
    vm_gradings.observe_seeded_node(cast(Grading, session))
    assert not left
    found = getattr(session.record, "seeded_node", None)
    return None if found is None else cast(Json, msgspec.to_builtins(found))


def test_what_the_machine_says_is_kept(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab
) -> None:
    session = Pretended(installation, lab)
    whole = invented.ONE_NODE.describe() | RECORDED["489"]
    node = whole | {"evidence": {"userfaultfd": {"available": True}}}
    assert looked(monkeypatch, session, node) == {"seed": 489, "node": whole, "error": None}
    assert session.said == ["looking at seeded-489", "spent on evidence on seeded-489"]


@pytest.mark.parametrize("trouble", [UserError("QEMU is not installed"), NumalabError("it hangs")])
def test_why_nobody_could_look_is_kept(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab, trouble: Exception
) -> None:
    found = looked(monkeypatch, Pretended(installation, lab), trouble)
    assert found == {"seed": 489, "node": None, "error": str(trouble)}


def test_a_full_disk_is_why_nobody_could_look(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab
) -> None:
    trouble = OSError(errno.EACCES, "Permission denied", "/cache/x")
    found = looked(monkeypatch, Pretended(installation, lab), trouble)
    assert found == {"seed": 489, "node": None, "error": "Permission denied (/cache/x)"}


def test_a_machine_that_says_too_little_is_none(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab
) -> None:
    node = RECORDED["489"] | {"distances": None}
    found = looked(monkeypatch, Pretended(installation, lab), node)
    assert found == {"seed": 489, "node": None, "error": "seeded-489 does not tell its distances"}


@pytest.mark.parametrize(
    "more",
    [
        {"text": "seed = 489\n"},
        {"text": "seed = -1\n", "complaint": "line 1: it must be 1 or more"},
        {"machine": invented.MACHINE},
    ],
    ids=["unanswered", "unreadable", "on a virtual node"],
)
def test_where_nothing_is_to_be_seen_nothing_is_booted(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab, more: dict[str, Any]
) -> None:
    assert looked(monkeypatch, Pretended(installation, lab, **more)) is None


def test_here_only_boots_nothing(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, lab: Lab
) -> None:
    found = looked(monkeypatch, Pretended(installation, lab, no_vms=True))
    assert found is not None and "--here-only" in found["error"]


def test_other_labs_have_no_such_file(
    monkeypatch: pytest.MonkeyPatch, installation: Installation, labs: dict[str, Lab]
) -> None:
    on_machines = {goal for goal, of in answer_files().items() if of.machine is not None}
    having = {name for name, lab in labs.items() if any(f.goal in on_machines for f in lab.files)}
    assert [*published(dict.fromkeys(having))] == ["00_know_your_node"]
    for name in labs.keys() - having:
        assert looked(monkeypatch, Pretended(installation, labs[name])) is None


# ---- kept for who asks again ---------------------------------------------------------------------


@pytest.mark.builds
def test_a_machine_is_booted_once(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted: list[str] = []
    lost: list[Exception] = [PlaceLost("seeded-489 hangs")]

    def boot(plan: Any, store: Any, progress: Any) -> Any:
        booted.append(f"{plan.machine.name} {'fresh' if store is None else 'kept'}")
        return contextlib.nullcontext()

    @dataclass
    class Place:
        installation: Installation
        machine: Machine
        guest: Any
        options: GuestOptions

        @property
        def node(self) -> Json:
            if lost:
                raise lost.pop()
            return {"of": self.machine.name}

    monkeypatch.setattr(node_cache, "boot", boot)
    monkeypatch.setattr(node_cache, "VirtualPlace", Place)
    monkeypatch.setattr(node_cache, "kept_folder", lambda: tmp_path / "seen")
    made = seeded_machine(489)
    with installation.lock():
        for _ in range(2):
            assert node_cache.described_node(installation, made, print) == {"of": "seeded-489"}
        assert len(booted) == 2 and booted[1] == "seeded-489 fresh"  # the first was lost
        # Another machine of the same name is another one, and a damaged file is none.
        other = replace(made, distances=seeded_machine(27).distances)
        assert node_cache.described_node(installation, other, print) == {"of": "seeded-489"}
        assert len(booted) == 3
        for path in (tmp_path / "seen").iterdir():
            path.write_text("{")
        node_cache.described_node(installation, made, print)
    assert len(booted) == 4


def test_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_cache, "MOST_KEPT", 2)
    for age, name in enumerate("abc"):
        (tmp_path / f"{name}.json").write_text("{}")
        os.utime(tmp_path / f"{name}.json", (1_000_000 - age, 1_000_000 - age))
    node_cache._tidy(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "b"]
