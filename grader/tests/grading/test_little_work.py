"""What little work earns: starting code, an empty kernel, a right one without threads. The table is
in grader/README.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.commands import Json, grade_json, without_times
from support.published_labs import published, row_of

from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab, load_labs

# Of all of a lab's points, those of criteria that this node can't show included.
MOST = 0.2
ROOT = Path(__file__).parents[3]
LABS = published(load_labs(ROOT))
THREADS = {
    "c": re.compile(r"^\s*#pragma omp .*\n", re.M),
    "fortran": re.compile(r"^\s*!\$omp.*\n", re.M),
}
QUICK = ("01_first_touch", "10_false_sharing")  # in the usual suite


ROW = re.compile(r"^\| (\d\d) \| (\d+) \| (\d+) \| (\d+|-) \|", re.M)
EARNED = {
    number: (int(given), int(empty), None if serial == "-" else int(serial))
    for number, given, empty, serial in ROW.findall((ROOT / "grader/README.md").read_text())
}


def text_of(lab: Lab, language: str) -> str:
    return (ROOT / "solutions" / lab.name / KERNEL_FILES[language]).read_text()


def serial(lab: Lab, language: str) -> str:
    """The solution's text without its OpenMP."""
    return THREADS[language].sub("", text_of(lab, language))


def empty(lab: Lab) -> str:
    """Functions of the contract that do nothing."""
    header = (ROOT / "labs" / lab.name / lab.contract).read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    bodies = []
    for name in lab.functions:
        found = re.search(rf"^([\w ]+\*?)\s*\b{name}(\((?:[^()]|\([^()]*\))*\));", header, re.M)
        assert found is not None, name
        bodies.append(
            f"{found[1]} {name}{found[2]} {{ {'' if found[1].strip() == 'void' else 'return 0;'} }}"
        )
    return "\n".join([f'#include "{lab.contract}"', *bodies, ""])


def graded(installation: Installation, folder: Path, lab: Lab, language: str, text: str) -> Json:
    (folder / lab.name).mkdir()
    (folder / lab.name / KERNEL_FILES[language]).write_text(text)
    for file in lab.files:
        given = installation.root / "labs" / lab.name / file.name
        if given.is_file():
            (folder / lab.name / file.name).write_bytes(given.read_bytes())
    _, data = grade_json(
        installation, folder, lab.name, "--lang", language, "--quick", "--submission", str(folder),
        **without_times(folder),
    )  # fmt: skip
    (result,) = data["results"]
    assert isinstance(result, dict)
    return result


WITHOUT_THREADS = [
    pytest.param(lab, language, marks=() if name in QUICK and language == "c" else pytest.mark.slow)
    for name, lab in LABS.items()
    for language in lab.languages
    if THREADS[language].search(text_of(lab, language))
]
EMPTY = [
    pytest.param(lab, marks=() if name in QUICK else pytest.mark.slow)
    for name, lab in LABS.items()
    if "c" in lab.languages
]


@pytest.mark.builds
@pytest.mark.parametrize(("lab", "language"), WITHOUT_THREADS)
def test_a_right_kernel_without_threads(
    installation: Installation, tmp_path: Path, lab: Lab, language: str
) -> None:
    found = graded(installation, tmp_path, lab, language, serial(lab, language))
    assert found["points"] <= MOST * found["max_points"], found
    most = EARNED[lab.number][2]
    assert most is not None and found["points"] <= most, found
    assert "unchanged" not in found


@pytest.mark.builds
@pytest.mark.parametrize("lab", EMPTY)
def test_an_empty_kernel(installation: Installation, tmp_path: Path, lab: Lab) -> None:
    found = graded(installation, tmp_path, lab, "c", empty(lab))
    assert found["points"] <= EARNED[lab.number][1], found


@pytest.mark.builds
def test_starting_code_earns_nothing(installation: Installation, tmp_path: Path) -> None:
    """Whatever is said beside it."""
    lab = LABS["01_first_touch"]
    given = (installation.root / "labs" / lab.name / "kernel.c").read_text()
    found = graded(installation, tmp_path, lab, "c", f"// Ada, 12345\n\n{given}")
    assert found["unchanged"] and found["points"] == 0
    assert found["status"] == "fail", "statuses are those of its criteria"
    passed = [c for c in found["criteria"] if c["status"] == "pass"]
    assert passed and all(c["points"] == 0 and c["withheld"] == "unchanged" for c in passed)


def test_the_table_has_every_lab_and_nothing_above_the_limit() -> None:
    threads = {lab.number for param in WITHOUT_THREADS for lab in param.values[:1]}
    for lab in LABS.values():
        row = "a row to the table of what little work earns"
        assert lab.number in EARNED, row_of(lab.name, row, "grader/README.md")
    assert set(EARNED) == {lab.number for lab in LABS.values()}
    for number, (given, nothing, serial) in EARNED.items():
        assert given == 0 and nothing <= MOST * 10, number
        assert (serial is not None) is (number in threads), number
        assert serial is None or serial <= MOST * 10, number
