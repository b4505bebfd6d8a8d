"""Submissions that try to earn points without the work, each with the verdict that it deserves,
outside a sandbox and inside. README.md beside it says how they are kept."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import assert_all_gone, assert_goes_away

from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.vm_gradings import grade_on_vms
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.harness.sandbox import NoSandbox, Sandbox, find_sandbox
from numalab.installation import Installation, find_installation
from numalab.judging.effort import Effort, effort_for
from numalab.judging.verdict import CAUSES, CriterionVerdict, Verdict
from numalab.labs.declaration import KERNEL_FILES, Lab, load_labs
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots]

Json = dict[str, Any]
HERE = Path(__file__).parent
LABS = load_labs(find_installation("gnu").root)
MODES = ("direct", "sandbox")
# What works comes to its end on a busy node, too; times stay those of a quick grading.
EFFORT = replace(effort_for("default", True), check_limit_s=20.0)
TRIES = 3  # of what other load may have kept from showing


@dataclass(frozen=True)
class Attack:
    """An entry of hostile.toml. fails: criteria that have to; never_passes: fail, or are not
    graded; passes: are not spoilt for it; causes: of the verdicts, by criterion; timed: times
    are taken; waits: it never returns, so that the first try's limits are short; alone: other load
    would keep open what it passes."""

    name: str
    folder: Path  # of its class
    lab: str
    languages: tuple[str, ...]
    tries: str
    modes: tuple[str, ...]
    machines: tuple[str, ...]
    fails: tuple[str, ...]
    never_passes: tuple[str, ...]
    passes: tuple[str, ...]
    causes: dict[str, str]
    timed: bool
    waits: bool
    alone: bool

    @classmethod
    def read(cls, entry: Json, folder: Path) -> Attack:
        left = dict(entry)
        found = cls(
            left.pop("name"), folder, left.pop("lab"), tuple(left.pop("languages")),
            left.pop("tries"), tuple(left.pop("modes", MODES)), tuple(left.pop("on", ())),
            tuple(left.pop("fails", ())), tuple(left.pop("never_passes", ())),
            tuple(left.pop("passes", ())), left.pop("causes", {}), left.pop("time", False),
            left.pop("waits", False), left.pop("alone", False),
        )  # fmt: skip
        assert not left, f"{folder.name}/{found.name}: unknown keys {sorted(left)}"
        return found

    @property
    def told_of(self) -> set[str]:
        return {*self.fails, *self.never_passes, *self.passes}

    def is_by_time(self, lab: Lab) -> bool:
        """Whether something that it is told of rests on times."""
        return self.timed and any(
            c.kind == "timing" and c.name in self.told_of for c in lab.criteria
        )

    def runs_alone(self, lab: Lab) -> bool:
        return self.alone or self.is_by_time(lab)

    def graded(self, lab: Lab) -> Lab:
        """The lab with the criteria that the entry speaks of, the one that all rest on, and what
        makes a lab whole: something of each part, the files that it compares, and where times are
        taken, something that is timed."""
        wanted = self.told_of | {"correct"}
        kept = [c for c in lab.criteria if c.name in wanted]
        cheapest = sorted(lab.criteria, key=lambda c: (c.kind == "timing") == self.timed)
        for part in {c.part for c in lab.criteria if c.part is not None}:
            if part not in {c.part for c in kept}:
                kept.append(next(c for c in cheapest if c.part == part))
        if self.timed and not any(c.kind == "timing" for c in kept):
            times = (c for c in lab.criteria if c.kind == "timing")
            kept.append(min(times, key=lambda c: c.needs_numa_nodes))
        if any(c.slow for c in kept):
            kept += [c for c in lab.criteria if c.file and c not in kept]
        criteria = tuple(c for c in lab.criteria if c in kept)
        return replace(lab, criteria=criteria, machines=self.machines)

    def fails_in(self, lab: Lab) -> list[str]:
        """Without what is not timed."""
        times = {c.name for c in lab.criteria if c.kind == "timing"}
        return [name for name in self.fails if self.timed or name not in times]

    def hand_in(self, installation: Installation, lab: Lab, language: str, folder: Path) -> None:
        """Its files, and the solution's where it has none."""
        solution, file = installation.solution_folder(lab.name), KERNEL_FILES[language]
        sources = {name: solution / name for name in (file, *(wanted.name for wanted in lab.files))}
        own = self.folder / self.name
        if own.is_dir():
            sources |= {path.name: path for path in own.iterdir()}
        else:
            sources[file] = own.with_name(own.name + Path(file).suffix)
        for name, source in sources.items():
            shutil.copyfile(source, folder / name)


def attacks() -> list[Attack]:
    return [
        Attack.read(entry, table.parent)
        for table in sorted(HERE.glob("*/hostile.toml"))
        for entry in tomllib.loads(table.read_text())["submission"]
    ]


ATTACKS = attacks()


def cases() -> list[Any]:
    """Each attack in each of its languages and modes. For every change one of them, in turns, of
    every sixth attack, and of what runs alone, of every twenty-fourth."""
    found = []
    for number, attack in enumerate(ATTACKS):
        variants = [(language, mode) for language in attack.languages for mode in attack.modes]
        is_usual = number % (24 if attack.runs_alone(LABS[attack.lab]) else 6) == 0
        usual = variants[number // 3 % len(variants)] if is_usual else None
        for language, mode in variants:
            name = f"{attack.folder.name}-{attack.name}-{language}-{mode}"
            marks = [pytest.mark.timed] if attack.runs_alone(LABS[attack.lab]) else []
            marks += [] if (language, mode) == usual else [pytest.mark.slow]
            found.append(pytest.param(attack, language, mode, id=name, marks=marks))
    return found


@pytest.fixture(scope="module")
def node(installation: Installation) -> Json:
    return describe_node(installation)


@pytest.fixture(scope="module")
def sandbox(installation: Installation) -> Sandbox | NoSandbox:
    return find_sandbox(installation)


@pytest.fixture(scope="module")
def places(installation: Installation) -> Iterator[VirtualPlaces]:
    with VirtualPlaces(installation, GuestOptions()) as found:
        yield found


@pytest.fixture(scope="module")
def controls() -> dict[str, list[Json]]:
    """What the kit's own kernels do here, looked at once."""
    return {}


@pytest.fixture(autouse=True)
def nothing_is_left(installation: Installation) -> Iterator[None]:
    def ours() -> set[Path]:
        found = {
            *Path("/tmp").glob("numalab-*"), *Path("/dev/shm").glob("*"),
            *Path("/tmp").glob("hostile-*"),
        }  # fmt: skip
        if "PYTEST_XDIST_WORKER" not in os.environ:
            return found
        # In these LLVM's runtime registers itself; they stay where a test beside kills a monitor.
        # An audit of variants beside takes minutes.
        others = ("__KMP_REGISTERED_LIB_", "numalab-audit-")
        return {path for path in found if not path.name.startswith(others)}

    before = ours()
    yield
    assert_all_gone(installation)
    assert_goes_away(lambda: ours() - before, set())


def reasons(criteria: list[CriterionVerdict]) -> str:
    """As text, which pytest prints whole."""
    return "\n" + "\n".join(f"{c.where} {c.name}: {c.status}, {c.cause}: {c.why}" for c in criteria)


def has_shown(attack: Attack, lab: Lab, verdict: Verdict) -> bool:
    """Whether everything is as deserved, or other load may have hidden it."""
    by_name = {c.name: c.status for c in verdict.criteria}
    return all(by_name[name] == "fail" for name in attack.fails_in(lab)) and all(
        by_name[name] == "pass" for name in attack.passes
    )


@pytest.mark.parametrize(("attack", "language", "mode"), cases())
def test_hostile_submission(
    installation: Installation,
    node: Json,
    sandbox: Sandbox | NoSandbox,
    places: VirtualPlaces,
    controls: dict[str, list[Json]],
    tmp_path: Path,
    attack: Attack,
    language: str,
    mode: str,
) -> None:
    whole = LABS[attack.lab]
    if whole.calls_mpi and not json.loads((installation.build / "build.json").read_text())["mpi"]:
        pytest.skip("this build of the kit has no MPI")
    if mode == "sandbox" and isinstance(sandbox, NoSandbox):
        pytest.skip(f"{sandbox.why}; {sandbox.remedy}")
    kept_in = sandbox if mode == "sandbox" and isinstance(sandbox, Sandbox) else None
    lab = attack.graded(whole)
    attack.hand_in(installation, whole, language, tmp_path)
    brief = replace(EFFORT, check_limit_s=1.5)

    def graded(effort: Effort) -> tuple[Grading, Verdict]:
        session = Grading(
            installation, lab, language, "submission", tmp_path, effort, node, lambda step: None,
            sandbox=kept_in, timing_refused=None if attack.timed else "Not timed.",
            controls=controls, afresh=True,
        )  # fmt: skip
        verdict = grade(session)
        session.keep(verdict)
        return session, verdict

    with installation.lock():
        build_targets(installation, [installation.monitor(lab.name).name])
        for number in range(TRIES):
            session, verdict = graded(brief if attack.waits and number == 0 else EFFORT)
            if has_shown(attack, lab, verdict) or attack.machines:
                break
            controls.clear()  # they may have been disturbed, too
        if attack.machines:
            machines = [find_machine(installation, name) for name in attack.machines]
            verdict, _ = grade_on_vms(session, machines, places)
    found = list(verdict.criteria)
    status = {name: {c.status for c in found if c.name == name} for name in attack.told_of}
    assert all(status.values()), (attack.told_of, reasons(found))
    assert not [c for c in found if c.status == "error"], reasons(found)
    for name in attack.fails_in(lab):
        assert "fail" in status[name], reasons(found)
    for name in attack.never_passes:
        assert status[name] <= {"fail", "not_gradable", "inconclusive"}, reasons(found)
    for name in attack.passes:
        assert "pass" in status[name] and "fail" not in status[name], reasons(found)
    for name, cause in attack.causes.items():
        assert cause in {c.cause for c in found if c.name == name}, reasons(found)


def test_the_corpus_is_what_its_readme_says() -> None:
    assert len({(attack.lab, language) for attack in ATTACKS for language in attack.languages}) >= 8
    assert len(ATTACKS) >= 80
    for attack in ATTACKS:
        assert attack.tries.endswith("."), attack.name
        assert attack.fails or attack.never_passes or attack.passes, attack.name
        assert set(attack.modes) <= set(MODES) and attack.modes, attack.name
        names = {c.name for c in LABS[attack.lab].criteria}
        assert attack.told_of | set(attack.causes) <= names, attack.name
        assert all("fail" in CAUSES[cause].statuses or name in attack.passes
                   for name, cause in attack.causes.items()), attack.name  # fmt: skip


@pytest.mark.parametrize("folder", sorted(path.parent for path in HERE.glob("*/hostile.toml")))
def test_every_source_is_named(folder: Path) -> None:
    others = ("hostile.toml", "README.md", "__pycache__", "test_deliveries.py")
    kept = {path.stem for path in folder.iterdir() if path.name not in others}
    assert kept == {attack.name for attack in ATTACKS if attack.folder == folder}
