"""What the house style asks for and a tool can see."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import numalab
from numalab.installation import find_installation
from numalab.labs.declaration import KERNEL_FILES, load_labs

ROOT = find_installation("gnu").root
KERNELS = [
    pytest.param(path, id=f"{path.parent.parent.name}-{path.name}")
    for folder in ("labs", "solutions")
    for path in sorted((ROOT / folder).glob("*/kernel.*"))
]


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


ON_PYTHON = [
    ("ruff", "check", ".", "../slides"),
    ("ruff", "format", "--check", ".", "../slides"),
    ("mypy",),
    ("lint-imports", "--no-cache"),
]
ON_C = ("clang-format", "--dry-run", "-Werror")
C_FILES = ("common/*.c", "common/*.h", "labs/*/grading/driver.c")  # to git, '*' is folders, too


@pytest.mark.parametrize("command", ON_PYTHON, ids=" ".join)
def test_python(command: tuple[str, ...]) -> None:
    program = Path(sys.executable).parent / command[0]
    done = run(program, *command[1:], cwd=ROOT / "grader")
    assert done.returncode == 0, done.stdout + done.stderr


def test_c_code_is_laid_out_as_agreed() -> None:
    """The harness and the labs' drivers. Kernels and what students read beside them are laid out
    by hand, in 80 columns."""
    listed = run("git", "ls-files", *C_FILES).stdout.split()
    files = [file for file in listed if (ROOT / file).is_file()]
    assert len(files) >= 90
    done = run(Path(sys.executable).parent / ON_C[0], *ON_C[1:], *files)
    assert done.returncode == 0, done.stderr


def test_hooks_before_a_commit_are_these_tests() -> None:
    """By .venv's programs. (No reader of YAML is installed for this.)"""
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert re.findall(r"^ *entry: (.+)$", text, re.MULTILINE) == [
        *(f"sh -c 'cd grader && ../.venv/bin/{' '.join(command)}'" for command in ON_PYTHON),
        f".venv/bin/{' '.join(ON_C)}",
    ]
    assert re.findall(r"repo: (\S+)|(rev:)", text) == [("local", "")]
    *on_python, on_c = re.findall(r"^ *files: '(.+)'$", text, re.MULTILINE)
    assert len(on_python) == len(ON_PYTHON)
    tracked = run("git", "ls-files").stdout.splitlines()
    listed = run("git", "ls-files", *C_FILES).stdout.splitlines()
    assert [file for file in tracked if re.search(on_c, file)] == listed
    for pattern in on_python:
        for file in (
            "grader/src/numalab/installation.py",
            "slides/deck.py",
            "grader/pyproject.toml",
        ):
            assert re.search(pattern, file)


def test_the_driver_that_contributing_shows_is_compiled() -> None:
    shown = (ROOT / "CONTRIBUTING.md").read_text().split("```c\n")[1].split("\n```")[0]
    source = (ROOT / "common/tests/minimal_driver.c").read_text()
    assert source.split("*/\n", 1)[1].strip() == shown


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("evidence/record.py", "from numalab.commands import root",
         ("numalab.evidence is not allowed to import numalab.commands",
          "numalab.evidence.record -> numalab.commands.root")),
        ("harness/monitor.py", "from numalab.judging import judge",
         ("numalab.harness is not allowed to import numalab.judging",)),
        ("evidence/record.py", "if TYPE_CHECKING:\n    from numalab.evidence import read_record",
         ("No cycles are allowed in numalab.evidence",)),
        ("stray/__init__.py", "", ("numalab.stray",)),
    ],
    ids=["upward", "sideways", "circle_of_types", "package_without_a_floor"],
)  # fmt: skip
def test_imports_that_go_wrong_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, line: str, says: tuple[str, ...]
) -> None:
    shutil.copytree(ROOT / "grader/src", tmp_path / "src")
    shutil.copy(ROOT / "grader/pyproject.toml", tmp_path)
    changed = tmp_path / "src" / "numalab" / file
    changed.parent.mkdir(exist_ok=True)
    with changed.open("a") as opened:
        opened.write(f"{line}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
    done = run(Path(sys.executable).parent / "lint-imports", "--no-cache", cwd=tmp_path)
    assert done.returncode == 1
    for words in says:
        assert words in done.stdout


@pytest.mark.builds
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_compile_without_a_warning(kernel: Path, tmp_path: Path) -> None:
    lab = kernel.parent.name
    mpi = load_labs(ROOT)[lab].calls_mpi
    if mpi and shutil.which("mpicc") is None:
        pytest.skip("no MPI")
    command: list[str | Path]
    if kernel.suffix == ".c":
        command = ["mpicc", "-cc=gcc"] if mpi else ["gcc"]
        command += ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-I", ROOT / "labs" / lab]
    else:
        command = ["mpifort", "-fc=gfortran"] if mpi else ["gfortran"]
        command += ["-std=f2018", "-Wall", "-Wno-maybe-uninitialized", "-J", tmp_path]
    done = run(*command, "-Werror", "-fopenmp", "-O2", "-c", kernel, "-o", tmp_path / "kernel.o")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.builds
def test_the_harness_is_clean_under_the_sanitizers(tmp_path: Path) -> None:
    """The unit tests once more, in a build with address and undefined-behaviour checks; and for a
    moment what workers say is invented, where libFuzzer is."""
    build = tmp_path / "build"
    has_fuzzer = shutil.which("clang-19") is not None
    fuzzer = (build / "common/tests/fuzz_exchange", "-max_total_time=5", "-max_len=4096",
              f"-artifact_prefix={tmp_path}/")  # fmt: skip
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("cmake", "--preset", "fuzz" if has_fuzzer else "sanitize", "-B", build),
        ("cmake", "--build", build),
        # Most of them wait for workers that hang: more than the cores have room for.
        ("ctest", "--test-dir", build, "-L", "unit", "--parallel", "4", "--output-on-failure"),
        *([fuzzer] if has_fuzzer else []),
    )
    for step in steps:
        done = run(*step)
        assert done.returncode == 0, done.stdout + done.stderr


def test_launcher_is_posix_shell() -> None:
    for script in (ROOT / "numalab", *(ROOT / "common/setup").glob("*.sh")):
        assert run("sh", "-n", script).returncode == 0
    assert run("sh", "-n", ROOT / ".ci/run").returncode == 0


RELEASES = re.findall(
    r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$",
    (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE,
)  # fmt: skip
# Where earlier releases are spoken of, and pins of what others release.
OF_EARLIER = (
    "CHANGELOG.md", "grader/tests/", "grader/requirements", "slides/package",
    "grader/src/numalab/virtual/snapshots.py",
)  # fmt: skip


def test_the_version_stands_in_one_place() -> None:
    """In the package; setup's pip reads it there (PEP 621), and nothing is built by it."""
    pyproject = tomllib.loads((ROOT / "grader/pyproject.toml").read_text())
    assert pyproject["project"]["dynamic"] == ["version"] and "version" not in pyproject["project"]
    assert not re.search(r"project\([^)]*VERSION", (ROOT / "CMakeLists.txt").read_text())


# Who shows the version, names what is made by it, or keeps it in a record that nobody compares.
SHOW_THE_VERSION = {
    "commands/explore.py", "commands/explore_memory.py", "commands/explore_model.py",
    "commands/install.py", "commands/progress.py", "commands/reporter.py", "commands/root.py",
    "installing/image.py", "editions/release.py", "editions/write.py", "grading/kernel_grading.py",
    "installing/install.py", "portrait/measure.py", "reports/html_page.py",
}  # fmt: skip


def test_nothing_is_done_again_because_the_version_changed() -> None:
    """What is measured, built, booted or drawn depends on what it is made of, by a digest."""
    package = ROOT / "grader/src/numalab"
    reading = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\b__version__\b", path.read_text("utf-8"))
    }
    assert reading - {"__init__.py"} == SHOW_THE_VERSION


def test_texts_and_recipes_name_the_release_that_this_is() -> None:
    """In commands that a reader copies, names of files and addresses."""
    (version, day), *earlier = RELEASES
    assert version == numalab.__version__
    assert f"date-released: {day}" in (ROOT / "CITATION.cff").read_text().splitlines()
    assert [day, *(of for _, of in earlier)] == sorted([day, *(of for _, of in earlier)])[::-1]
    named = 0
    for name in run("git", "ls-files").stdout.splitlines():
        path = ROOT / name
        if name.startswith(OF_EARLIER) or not path.is_file():
            continue
        text = f"{name}\n{path.read_bytes().decode('utf-8', 'ignore')}"
        text = re.sub(r'"kit_version": "[^"]*"', "", text)  # of records: by which they were taken
        named += len(re.findall(rf"(?<![\w.]){re.escape(f'numalab-{version}')}", text))
        for other, _ in earlier:
            assert not re.search(rf"(?<![\d.]){re.escape(other)}(?!\.?\d)", text), (
                f"{name} names release {other}; this is {version}"
            )
    assert named >= 8


def test_labs_are_whole() -> None:
    for lab in load_labs(ROOT).values():
        folder, solution = ROOT / "labs" / lab.name, ROOT / "solutions" / lab.name
        of_grading = (f"grading/{file}" for file in ("CMakeLists.txt", "driver.c", "phases.c"))
        for file in ("README.md", lab.contract, *of_grading):
            assert (folder / file).is_file(), file
        kernels = [KERNEL_FILES[language] for language in lab.languages]
        assert sorted(path.name for path in folder.glob("kernel.*")) == kernels, lab.name
        for file in ("README.md", *kernels):
            assert (solution / file).is_file(), file
        assert lab.max_points == 10
        text = (folder / "README.md").read_text()
        for criterion in lab.criteria:
            points = re.search(rf"^\| `{criterion.name}` \| (\d+) \|", text, re.MULTILINE)
            assert points, criterion.name
            assert int(points[1]) == criterion.points
        for word in ("You will be able to", "*Needs:*", "*Takes:*", "*Expected effect:*",
                     "Predict", "\n## The same without numalab\n", "Sources"):  # fmt: skip
            assert word in text, word
        assert f"{lab.minutes} minutes" in text


def test_what_students_read_fits_80_columns() -> None:
    """In a terminal. A row of a table is one line in Markdown, and may have 120."""
    wide = []
    files = [f for name in ("README.md", "kernel.*", "*.env", "*.toml")
             for f in sorted(ROOT.glob(f"labs/*/{name}"))]  # fmt: skip
    assert len(files) >= 6 * 5
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            is_row = file.suffix == ".md" and line.startswith("|")
            if len(line) > (120 if is_row else 80):
                wide.append(f"{file.relative_to(ROOT)}:{number}: {len(line)} columns")
    assert not wide, "\n".join(wide)


TEXTS = {".c", ".cff", ".cmake", ".css", ".f90", ".h", ".html", ".ipynb", ".json", ".md", ".py",
         ".toml", ".txt", ".yml"}  # fmt: skip


def test_files_are_as_editors_are_told_to_keep_them() -> None:
    """In .editorconfig: UTF-8, Unix line ends, one at the end, none after blanks."""
    folders = ("common", "grader", "labs", "slides", "solutions")
    made = {"node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints"}
    files = [path for path in ROOT.iterdir() if path.suffix in TEXTS or path.name == "numalab"]
    for folder in folders:
        found = (ROOT / folder).rglob("*")
        files += [path for path in found if path.suffix in TEXTS and not made & {*path.parts}]
    assert len(files) >= 500
    for path in files:
        text = path.read_bytes().decode("utf-8")
        assert "\r" not in text, path
        assert not re.search(r"[ \t]\n", text), path
        assert not text or text.endswith("\n"), path


def test_versions_in_the_citation_agree() -> None:
    cited = dict(
        line.split(": ", 1)
        for line in (ROOT / "CITATION.cff").read_text().splitlines()
        if re.match(r"[a-z-]+: \S", line)
    )
    assert cited["version"] == numalab.__version__
    assert cited["cff-version"] == "1.2.0"
    assert cited["title"] and cited["message"]


def headings(text: Path) -> set[str]:
    """Of a text in Markdown, as links name them."""
    titles = re.findall(r"^#+ +(.+)$", text.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_links_in_texts_lead_somewhere() -> None:
    # Not looked into: others of the suite make and remove folders there meanwhile.
    folders = [path for path in ROOT.iterdir() if path.name not in ("build", ".venv", "notebooks")]
    texts = [*ROOT.glob("*.md"), *(text for path in folders for text in path.rglob("README.md"))]
    texts += [ROOT / "common/docs/glossary.md"]
    assert ROOT / "CONTRIBUTING.md" in texts
    assert len(texts) >= 10
    for text in texts:
        for target, heading in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text.read_text("utf-8")):
            if target.startswith("http"):
                continue
            file = text.parent / target if target else text
            assert file.exists(), f"{text}: {target}"
            assert not heading or heading in headings(file), f"{text}: {target}#{heading}"


PACKAGE = ROOT / "grader/src/numalab"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MOST_NAMED = 5  # of the packages that import one; one that more import is of use to most


def imported_names(text: str) -> Iterator[str]:
    """What a source imports of numalab, with dots."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numalab"):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@cache
def imports() -> dict[tuple[str, ...], list[str]]:
    """Of each module and package what it imports of numalab."""
    found = {}
    for path in SOURCES:
        parts = ("numalab", *path.relative_to(PACKAGE).with_suffix("").parts)
        module = parts[:-1] if parts[-1] == "__init__" else parts
        found[module] = list(imported_names(path.read_text("utf-8")))
    return found


def importers_of(package: str) -> set[str]:
    """Modules and packages beside it or above that import it, by the first name that differs."""
    parts = tuple(package.split("."))
    found = set()
    for own, names in imports().items():
        if own[: len(parts)] != parts and any(f"{n}.".startswith(f"{package}.") for n in names):
            differs = next((at for at, part in enumerate(parts) if own[at : at + 1] != (part,)), 0)
            found.add(own[min(differs, len(own) - 1)])
    return found


@pytest.mark.parametrize(
    "package",
    [
        ".".join(("numalab", *path.parent.relative_to(PACKAGE).parts))
        for path in SOURCES
        if path.name == "__init__.py" and path.parent != PACKAGE
    ],
)
def test_a_package_says_who_imports_it_and_why(package: str) -> None:
    """In its docstring; one that only one module needs is better a module beside that."""
    path = PACKAGE.joinpath(*package.split(".")[1:], "__init__.py")
    said = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("Imported by")[2]
    importers = importers_of(package)
    assert importers, "nobody imports it"
    if len(importers) > MOST_NAMED:
        assert "most packages" in said
    else:
        assert set(re.findall(r"`(\w+)`", said)) == importers


MOST_LINES, MOST_OF_A_FUNCTION, MOST_ON_THE_GROUND, MOST_PARAMETERS = 1000, 80, 11, 8


def test_functions_of_the_grader_can_be_read_in_one_go() -> None:
    """What is divided for its length is a function: a file is divided at a seam, if it has one."""
    long = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[ast.get_docstring(node) is not None :]
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > MOST_OF_A_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)} {node.name}: {lines}")
    assert not long, ", ".join(long)


def test_files_of_the_grader_are_of_one_concept() -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert len(lines) > 100
    long = [f"{path.relative_to(ROOT)}: {n}" for path, n in lines.items() if n > MOST_LINES]
    assert not long, "it is about more than one thing: " + ", ".join(long)
    ground = [path for path in SOURCES if path.parent.name == "numalab"]
    assert len(ground) <= MOST_ON_THE_GROUND, "what is not for everybody goes into a package"


def test_commands_take_few_parameters() -> None:
    """More options become one record at the edge (commands/shared.taking_one)."""
    many = [
        f"{path.name} {node.name}: {len(node.args.args)}"
        for path in SOURCES
        if path.parent.name == "commands"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_PARAMETERS
    ]
    assert not many, ", ".join(many)
