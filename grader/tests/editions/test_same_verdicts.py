"""An edition's verdicts are the kit's, at each x86-64 level: of handouts, of solutions and of a
hundred wrong submissions."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalab.editions.objects import LEVELS
from numalab.editions.write import write_edition
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import build_targets, configure
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import KERNEL_FILES, Lab, Language, load_labs

pytestmark = [pytest.mark.builds, pytest.mark.slow]

ROOT = find_installation("gnu").root
LABS = load_labs(ROOT)
MOST_WRONG = 100
TRIES = 8  # of what other load left open: mostly who works at what time
OPEN = "inconclusive"
Case = tuple[str, Language, str]  # lab; language; handout, solution, or a wrong submission's name


def wrong_cases() -> Iterator[Case]:
    """Of all labs in turns, the first ones of each; none that takes long, or that only a machine
    shows each time."""
    ladders = []
    for name, lab in LABS.items():
        path = ROOT / "solutions" / name / "wrong" / "wrong.toml"
        entries = tomllib.loads(path.read_text())["submission"]
        languages = [(language, e) for e in entries for language in lab.languages]
        ladders.append(
            [
                (name, language, entry["name"])
                for language, entry in languages
                if language in entry["languages"] and not {"waits", "takes_long", "on"} & {*entry}
            ]
        )
    for turn in range(max(map(len, ladders))):
        yield from (ladder[turn] for ladder in ladders if turn < len(ladder))


def all_cases() -> list[Case]:
    given = [
        (name, language, what)
        for what in ("handout", "solution")
        for name, lab in LABS.items()
        for language in lab.languages
    ]
    return [*given, *list(wrong_cases())[:MOST_WRONG]]


def handed_in(case: Case, folder: Path) -> Path:
    """A folder with what is graded."""
    name, language, what = case
    lab = LABS[name]
    source = ROOT / ("labs" if what == "handout" else "solutions") / name
    file = KERNEL_FILES[language]
    for each in (file, *(handed.name for handed in lab.files)):
        shutil.copy(source / each, folder / each)
    wrong = ROOT / "solutions" / name / "wrong"
    kernel = wrong / f"{what}{Path(file).suffix}"
    if kernel.is_file():
        shutil.copy(kernel, folder / file)
    for path in (wrong / what).glob("*"):
        shutil.copy(path, folder / path.name)
    return folder


def statuses(installation: Installation, case: Case, folder: Path) -> dict[str, str]:
    """By criterion, without times, which are open on any node."""
    lab = LABS[case[0]]
    session = Grading(
        installation, load_labs(installation.root)[lab.name], case[1], "submission", folder,
        effort_for("default", True), describe_node(installation), lambda step: None, no_vms=True,
    )  # fmt: skip
    verdict = grade(session, takes_times=False)
    return {c.name: c.status for c in verdict.criteria if c.kind != "timing"}


def set_up(installation: Installation, level: str) -> Installation:
    configure(installation, f"NUMALAB_KERNEL_ARCHITECTURE={level}")
    build_targets(installation, ["all"])
    return installation


@pytest.fixture(scope="module")
def edition(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all labs."""
    target = tmp_path_factory.mktemp("edition") / "students"
    write_edition(installation, list(LABS.values()), target, lambda step: None)
    return target


@pytest.fixture(scope="module", params=LEVELS)
def both(
    request: pytest.FixtureRequest, edition: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Installation, Installation]:
    """The kit and the edition, built for a level. Skipped where its code does not run."""
    level = request.param
    flags = Path("/proc/cpuinfo").read_text()
    if level == "x86-64-v3" and not all(f" {flag} " in flags for flag in ("avx2", "fma", "bmi2")):
        pytest.skip("this processor does not have the instructions of x86-64-v3")
    folder = tmp_path_factory.mktemp(level)
    return (
        set_up(Installation(ROOT, "gnu", folder / "kit"), level),
        set_up(Installation(edition, "gnu", folder / "edition"), level),
    )


@pytest.mark.parametrize("case", all_cases(), ids="-".join)
def test_the_verdict_is_the_kits(
    both: tuple[Installation, Installation], case: Case, tmp_path: Path
) -> None:
    folder = handed_in(case, tmp_path)
    kits: dict[str, str] = {}
    editions: dict[str, str] = {}
    for _ in range(TRIES):
        for found, installation in zip((kits, editions), both, strict=True):
            shown = statuses(installation, case, folder)
            found |= {name: shown[name] for name in shown if found.get(name, OPEN) == OPEN}
        if OPEN not in {*kits.values(), *editions.values()}:
            break
    assert editions == kits


def test_the_edition_grades_without_the_solutions(both: tuple[Installation, Installation]) -> None:
    """So that what is compared are not two kits."""
    installation, edition = both
    assert edition.is_edition and not installation.is_edition
    for name, lab in LABS.items():
        files = {path.suffix for path in edition.solution_folder(name).rglob("*.*")}
        assert files == {".o", ".coded"}
        assert isinstance(lab, Lab)
