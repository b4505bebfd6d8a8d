"""How well the sources are kept, in figures (bench/house.py), which may only get better."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from numalab.installation import find_installation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import house

ROOT = find_installation("gnu").root
# Whoever betters one writes the smaller number. The others have tests of their own: literals
# judging/test_registry.py, names and twins test_python_names.py and test_c_names.py.
MOST: dict[Callable[[Path], int], int] = {
    house.count_lab_lines: 276,
    house.count_formats: 2,
    house.count_parsed_keys: 16,
    house.count_reached_keys: 0,
    house.count_packages: 31,
    house.count_arrows: 250,
    house.count_code_lines: 52_879,  # docstrings are wanted, so lines with them may grow
}


@pytest.mark.parametrize(
    ("figure", "most"), [pytest.param(*row, id=row[0].__name__) for row in MOST.items()]
)
def test_a_figure_only_gets_better(figure: Callable[[Path], int], most: int) -> None:
    assert figure(ROOT) <= most


def test_modules_of_one_lab_have_moved_into_its_folder_or_are_counted() -> None:
    """What one renames here is counted by its new name."""
    package = ROOT / house.PACKAGE
    left = {pattern for pattern in house.OF_ONE_LAB if any(package.glob(pattern))}
    assert left == {"grading/link_runs.py", "learning/crossing.py"}


FILES = {
    "labs/01_one/grading/lab.toml": '[[criterion]]\nname = "near"\n'
    '[[criterion]]\nname = "quick"\nrule = "speedup"\n',
    "labs/01_one/grading/place_rules.py": 'PLACE = "near"\nclass Twin: ...\n',
    "labs/01_one/grading/driver.c": "int told; /* found */\n",
    "grader/tests/test_it.py": 'assert "near"\n',
    f"{house.PACKAGE}/__init__.py": "",
    f"{house.PACKAGE}/words.py": '"""near by"""\nfrom numalab import evidence\n',
    f"{house.PACKAGE}/evidence/__init__.py": "",
    f"{house.PACKAGE}/evidence/read.py": 'def f(told: dict): return told["a"] + told[0]\n',
    f"{house.PACKAGE}/grading/__init__.py": "",
    f"{house.PACKAGE}/grading/link_runs.py": "from numalab.evidence.read import f\n"
    "from numalab.grading.other import g\nimport numalab.words\n\n"
    'def run(kept): return kept.data["runs"], kept.more["runs"]\n',
    f"{house.PACKAGE}/grading/other.py": 'class Twin:\n    name = ("near", "speedup")\n',
}


def test_each_figure_counts(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [*house.figures(tmp_path).values()] == [1, 4, 3, 1, 1, 1, 1, 1, 3, 3, 10, 8, 2, 1, 1]
    (tmp_path / house.PACKAGE / "evidence/format.py").write_text(
        "import msgspec\n\nmsgspec.json.schema(int)\n"
    )
    assert house.count_formats(tmp_path) == 2
