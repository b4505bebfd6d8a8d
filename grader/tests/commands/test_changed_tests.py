"""./numalab test --changed: what a change reaches, in an invented tree, and in numalab's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from numalab.commands.changed_tests import Graph, changed_files, pick_tests
from numalab.commands.changed_units import read_dependencies
from numalab.errors import UserError

TREE = {
    "src/numalab/__init__.py": "__version__ = 1\ndef lab():\n    from numalab.deep import open_lab",
    "src/numalab/__main__.py": "from numalab.commands import table",
    "src/numalab/commands/__init__.py": "",
    "src/numalab/commands/table.py": 'import_module(f"numalab.commands.{name}")',
    "src/numalab/commands/grade.py": "import numalab.low",
    "src/numalab/low.py": "",
    "src/numalab/deep.py": "",
    "src/numalab/lazy.py": "def f():\n    from numalab.low import x",
    "src/numalab/typed.py": "if TYPE_CHECKING:\n    from numalab.low import x",
    "src/numalab/page.py": 'TEMPLATE = "page.html"',
    "tests/conftest.py": """
from numalab.deep import taken
def pytest_configure(): taken()
def kit(): return find_installation()
def kit_root(kit): return kit.root
def labs(kit): return load_labs(kit)
""",
    "tests/support/__init__.py": "",
    "tests/support/run.py": 'LIMIT = 1\ndef command(kit): run(kit.root / "numalab")',
    "tests/test_style.py": "def test(kit_root): kit_root.rglob('*')",
    "tests/a/test_low.py": "from numalab import __version__, low",
    "tests/a/test_lazy.py": "from numalab.lazy import f",
    "tests/a/test_typed.py": "from numalab.typed import f",
    "tests/a/test_deep.py": "import numalab\ndef test(): numalab.lab()",
    "tests/a/test_cli.py": "from support.run import command\ndef test(kit): command(kit)",
    "tests/a/test_limit.py": "from support.run import LIMIT\ndef test(x): x.glob('*')",
    "tests/a/test_page.py": "from numalab.page import TEMPLATE",
    "tests/a/test_labs.py": "def test(labs): pass",
    "tests/a/test_lab_01.py": 'def test(kit): kit.root / "labs" / "01_first"',
    "tests/a/test_lab_02.py": 'def test(kit): run(kit, "02")',
    "tests/a/test_readme.py": 'def test(kit): kit.root / "common" / "README.md"',
    "tests/a/golden_texts/test_low.txt": "",
    "tests/a/data/case.json": "",
}  # fmt: skip
ALWAYS = {"style"}
ALL = {Path(file).stem.removeprefix("test_") for file in TREE if "/test_" in file} - {"low.txt"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for file, code in TREE.items():
        path = tmp_path / "grader" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("grader/src/numalab/low.py", {"low", "lazy", "cli"}),
        ("grader/src/numalab/commands/grade.py", {"cli"}),
        ("grader/src/numalab/typed.py", {"typed"}),
        # Through the function of a package, which only its importers call; a hook of conftest.py
        # that fails does so in every test.
        ("grader/src/numalab/deep.py", {"deep"}),
        ("grader/src/numalab/gone.py", set()),
        ("grader/src/numalab/page.html", {"page"}),
        ("grader/tests/support/run.py", {"cli", "limit"}),
        ("grader/tests/a/test_low.py", {"low"}),
        ("grader/tests/a/test_gone.py", set()),
        ("grader/tests/a/golden_texts/test_low.txt", {"low"}),
        ("labs/01_first/kernel.c", {"labs", "lab_01", "cli", "readme", "style"}),
        ("solutions/02_other/kernel.c", {"labs", "lab_02", "cli", "readme", "style"}),
        ("common/README.md", {"readme"}),
        ("labs/README.md", set()),
        ("numalab", {"cli"}),
        ("grader/tests/conftest.py", ALL),
        ("grader/tests/a/data/case.json", ALL - {"style"}),
        ("grader/src/numalab/table.dat", ALL),
        ("grader/pyproject.toml", ALL),
        ("strange", ALL),
    ],
)
def test_what_a_change_reaches(tree: Path, changed: str, reached: set[str]) -> None:
    picked = pick_tests(tree, [changed])
    names = {Path(module).stem.removeprefix("test_") for module in picked.modules}
    assert names == reached | ALWAYS
    assert picked.of == len(ALL)
    assert (picked.unplaced == changed) == (reached == ALL)


def test_a_module_that_is_gone_reaches_who_still_imports_it(tree: Path) -> None:
    (tree / "grader/src/numalab/low.py").unlink()
    picked = pick_tests(tree, ["grader/src/numalab/low.py"])
    assert "grader/tests/a/test_lazy.py" in picked.modules
    assert "grader/tests/a/test_typed.py" not in picked.modules


def test_no_change_reaches_nothing(tree: Path) -> None:
    assert pick_tests(tree, []).modules == frozenset()


def test_each_module_of_numalab_is_reached(kit_root: Path) -> None:
    """By some test, and what everything uses by most."""
    graph = Graph(kit_root)
    reached = {file for reach in graph.reach.values() for file in reach.files}
    sources = {file for file in graph.modules if file.startswith("grader/src/")}
    assert sources - reached == set()
    judge = "grader/src/numalab/judging/judge.py"
    assert judge in graph.reach["grader/tests/judging/test_judge.py"].files
    assert judge not in graph.reach["grader/tests/judging/test_sequential.py"].files


def test_files_that_differ_and_new_ones_have_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments],
                       cwd=tmp_path, check=True, capture_output=True)  # fmt: skip

    git("init", "-b", "main")
    for name in ("kept", "old", "changed", ".gitignore"):
        (tmp_path / name).write_text("made\n" if name == ".gitignore" else name)
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "branch")
    git("mv", "old", "new")
    git("commit", "-m", "second")
    assert changed_files(tmp_path, "HEAD") == []
    git("checkout", "main")
    (tmp_path / "kept").write_text("of main only")
    git("commit", "-am", "third")
    git("checkout", "branch")
    (tmp_path / "changed").write_text("otherwise")
    (tmp_path / "a b\n").write_text("untracked")
    (tmp_path / "made").write_text("ignored")
    assert changed_files(tmp_path, "HEAD") == ["a b\n", "changed"]
    assert changed_files(tmp_path, "main") == ["a b\n", "changed", "new", "old"]
    with pytest.raises(UserError):
        changed_files(tmp_path, "nowhere")
    with pytest.raises(UserError):
        changed_files(tmp_path, "--all")


def test_headers_of_objects_are_read(tmp_path: Path) -> None:
    text = (
        "a.o: #deps 2, deps mtime 1 (VALID)\n    /kit/a.c\n    made/x.h\n\nb.o: #deps 1\n    /b.c\n"
    )
    assert read_dependencies(text, tmp_path) == {
        "a.o": {"/kit/a.c", str(tmp_path / "made/x.h")},
        "b.o": {"/b.c"},
    }
