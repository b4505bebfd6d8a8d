"""The benchmark of the tests: which places of a source it changes, and that a change that no test
sees is told from one that a test sees."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import mutants


@pytest.mark.parametrize(
    ("line", "operator", "changed"),
    [
        ("a < b", "boundary", ["a <= b"]),
        ("0 <= a < b", "boundary", ["0 < a < b", "0 <= a <= b"]),
        ("(a or b) is not c", "negated condition", ["(a or b) is c"]),
        ("(a) not in (b)", "negated condition", ["(a) in (b)"]),
        ("a in b", "negated condition", ["a not in b"]),
        ("c if not a else d", "negated condition", ["c if (a) else d"]),
        ("c if a > b else d", "negated condition", ["c if (not (a > b)) else d"]),
        ("a and b and c", "dropped condition", ["((b) and (c))", "((a) and (c))", "((a) and (b))"]),
        ("a.get(b, 'é')", "removed default", ["a.get(b)"]),
        ("(a or b).get(c, 1)", "removed default", ["(a or b).get(c)"]),
        ("min(a, default=None)", "removed default", []),
        ("sorted(a, key=lambda b: (b.c, -b.d))", "swapped keys",
         ["sorted(a, key=lambda b: (-b.d, b.c))"]),
        ("all(a)", "swapped extremes", ["any(a)"]),
        ("(a + 1) // b", "arithmetic", ["(a - 1) // b", "(a + 1) % b"]),
        ("a + 'b'", "arithmetic", []),
        ("'é', a[1:]", "off by one", ["'é', a[2:]"]),
        ("f(a, b=True)", "true and false", ["f(a, b=False)"]),
        ("zip(a, strict=True)", "true and false", []),
        ("f'{a < 1}'", "boundary", []),
    ],
)  # fmt: skip
def test_places_that_are_changed(line: str, operator: str, changed: list[str]) -> None:
    text = f"x: Literal[1] = {line}\n".encode()
    found = [mutant for mutant in mutants.mutants_of("x.py", text) if mutant.operator == operator]
    made = [mutants.mutated(text, mutant).decode() for mutant in found]
    assert sorted(made) == sorted(f"x: Literal[1] = {one}\n" for one in changed)


def test_a_seed_draws_the_same_of_each_package_alike(tmp_path: Path) -> None:
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "x.py").write_text("x = a < 1 and b[2] >= min(c)\n" * 5)
    drawn = mutants.draw(tmp_path, 7, 20, ("one", "two"))
    assert drawn == mutants.draw(tmp_path, 7, 20, ("one", "two"))
    assert drawn != mutants.draw(tmp_path, 8, 20, ("one", "two"))
    assert len(set(drawn)) == 20
    assert sum(mutant.file.startswith("one/") for mutant in drawn) == 10


def test_tests_that_run_a_line_are_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "coverage"
    with sqlite3.connect(path) as data:
        data.execute("create table context (id, context)")
        data.execute("create table file (id, path)")
        data.execute("create table line_bits (file_id, context_id, numbits)")
        contexts = [(1, ""), (2, "tests/z/test_z.py::z|run"), (3, "tests/one/test_y.py::y|run")]
        data.executemany("insert into context values (?, ?)", contexts)
        data.execute("insert into file values (1, '/kit/grader/src/numalab/one/x.py')")
        bits = [(1, 1, b"\2"), (1, 2, b"\0\2"), (1, 3, b"\0\6")]  # lines 1; 9; 9 and 10
        data.executemany("insert into line_bits values (?, ?, ?)", bits)
    coverage = mutants.Coverage(path)

    def of(line: int, last: int) -> list[str]:
        return coverage.of(mutants.Mutant("boundary", "one/x.py", line, last, 0, 0, "", ""))

    both = ["tests/one/test_y.py::y", "tests/z/test_z.py::z"]
    assert (of(9, 9), of(10, 12), of(1, 1)) == (both, both[:1], both)


def test_a_change_is_undone_and_told_by_the_test_that_fails(tmp_path: Path) -> None:
    copy = tmp_path / "kit"
    source = copy / "grader/src/numalab/one.py"
    source.parent.mkdir(parents=True)
    source.write_text("def f(a):\n    return a < 1\n")
    (copy / ".venv/bin").mkdir(parents=True)
    (copy / ".venv/bin/python").symlink_to(sys.executable)
    (copy / "grader/tests").mkdir()
    (copy / "grader/conftest.py").write_text(
        "import sys\nsys.path.insert(0, 'src/numalab')\n"
        "def pytest_addoption(parser): parser.addoption('--one-build', action='store_true')\n"
    )
    test = copy / "grader/tests/test_one.py"
    (mutant,) = mutants.mutants_of("one.py", source.read_bytes())[:1]
    for edge, by in (("not f(1)", "FAILED tests/test_one.py::test_edge"), ("True", "")):
        lines = [
            "from one import f",
            "def test_low(): assert f(0)",
            f"def test_edge(): assert {edge}",
        ]
        test.write_text("\n".join(lines))
        assert mutants.run(copy, mutant, ["tests/test_one.py"]) == by
        assert source.read_text() == "def f(a):\n    return a < 1\n"
