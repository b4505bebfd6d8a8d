"""What of the kit evidence depends on, what only its verdict, and what neither."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from numalab.grading import code_forms, numalab_digests
from numalab.grading.code_forms import Form, form_of
from numalab.grading.numalab_digests import MODULES, counts_for, judged_by, measured_by
from numalab.installation import Installation

LAB, OTHER = "01_first_touch", "02_affinity"
PACKAGE = "grader/src/numalab"
# Imported by what counts, and yet nothing that a run or a verdict depends on.
SHOWN_ONLY = {
    ("labs/declaration.py", "labs/hint_ladders.py"),
    ("grading/request.py", "labs/hints.py"),
    ("grading/handed_files.py", "grading/explanation.py"),
    ("grading/request.py", "grading/explanation.py"),
    ("grading/request.py", "grading/graded.py"),
    ("grading/request.py", "grading/own_files.py"),
    ("grading/stored_gradings.py", "grading/explanation.py"),
    ("grading/stored_gradings.py", "grading/graded.py"),
    ("grading/request.py", "grading/modelled.py"),
    ("grading/stored_gradings.py", "grading/modelled.py"),
    ("grading/timing_reuse.py", "grading/numalab_digests.py"),
}


@pytest.fixture
def copied(installation: Installation, tmp_path: Path) -> Installation:
    """A kit of its own: what the digests are made of."""
    for name in (PACKAGE, "common", f"labs/{LAB}", f"labs/{OTHER}", f"solutions/{LAB}",
                 f"solutions/{OTHER}"):  # fmt: skip
        shutil.copytree(
            installation.root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(installation.root / name, tmp_path / name)
    return Installation(tmp_path)


def digests(installation: Installation) -> dict[str, str]:
    return {
        f"{what} {lab}": digest(installation, lab)
        for what, digest in (("measured", measured_by), ("judged", judged_by))
        for lab in (LAB, OTHER)
    }


def changed(
    installation: Installation, name: str, old: str = "", new: str = "\nchanged = 1\n"
) -> set[str]:
    """What changes with a file of the kit, in which old becomes new, or which new ends."""
    before = digests(installation)
    path = installation.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.is_file() else ""
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text + new)
    after = digests(installation)
    return {key for key in before if before[key] != after[key]}


@pytest.mark.parametrize(
    "name",
    [
        f"labs/{LAB}/README.md", f"labs/{LAB}/grading/hints.md", f"labs/{LAB}/explore.ipynb",
        f"labs/{LAB}/grading/questions.toml", f"labs/{LAB}/grading/recorded/mine.json",
        f"solutions/{LAB}/README.md", f"solutions/{LAB}/wrong/new.c",
        f"solutions/{LAB}/answers.toml", "common/README.md", "common/machines/README.md",
        "common/tests/test_job.c", "common/schema/evidence.schema.json",
        f"{PACKAGE}/reports/html_page.py", f"{PACKAGE}/reports/templates/report.html",
        f"{PACKAGE}/commands/grade.py", f"{PACKAGE}/course/rejudging.py",
        f"{PACKAGE}/learning/api.py", f"{PACKAGE}/doctor/doctor.py", f"{PACKAGE}/__init__.py",
        f"labs/{LAB}/grading/starting_code/kernel.c",
        f"{PACKAGE}/explore/explore.py", f"{PACKAGE}/__pycache__/kit.cpython-311.pyc",
        f"labs/{LAB}/picture.png", f"labs/{LAB}/picture.svg", f"labs/{LAB}/grading/notes.md",
        "common/monitor/README.md", "README.md", "slides/new.md",
    ],
)  # fmt: skip
def test_prose_pages_and_commands_regrade_nobody(copied: Installation, name: str) -> None:
    assert changed(copied, name) == set()


@pytest.mark.parametrize(
    "name",
    [
        "common/monitor/generation.c", "common/worker/main.c", "common/include/numalab/driver.h",
        "common/cmake/AddLab.cmake", "common/confine/main.c", "common/guest/init.c",
        "CMakeLists.txt", f"{PACKAGE}/harness/monitor.py", f"{PACKAGE}/virtual/plan.py",
        f"{PACKAGE}/grading/timing.py", f"{PACKAGE}/judging/effort.py",
        f"{PACKAGE}/judging/planner.py", f"{PACKAGE}/labs/launch.py",
        f"{PACKAGE}/unheard_of/new.py", "common/cmake/isolate",
    ],
)  # fmt: skip
def test_what_measures_has_every_lab_measured_anew(copied: Installation, name: str) -> None:
    """And judged again where verdicts import it."""
    assert changed(copied, name) >= {f"measured {LAB}", f"measured {OTHER}"}


@pytest.mark.parametrize(
    "name",
    [
        f"labs/{LAB}/grading/driver.c", f"labs/{LAB}/grading/phases.c", f"labs/{LAB}/kernel.f90",
        f"labs/{LAB}/CMakeLists.txt", f"labs/{LAB}/first_touch.h", f"labs/{LAB}/new.env",
        f"solutions/{LAB}/kernel.c", f"labs/{LAB}/grading/own_program.c",
    ],
)  # fmt: skip
def test_a_labs_own_programs_have_it_measured_anew_and_no_other(
    copied: Installation, name: str
) -> None:
    assert changed(copied, name) == {f"measured {LAB}"}


@pytest.mark.parametrize(
    "name", ["judging/timing_rules.py", "judging/places.py", "evidence/touch.py", "words.py"]
)
def test_rules_have_every_lab_judged_again(copied: Installation, name: str) -> None:
    assert changed(copied, f"{PACKAGE}/{name}") == {f"judged {LAB}", f"judged {OTHER}"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("at_least = 0.95", "at_least = 0.9"),
        ("points = 2", "points = 3"),
        ("needs_numa_nodes = 2", "needs_numa_nodes = 4"),
        ('title = "First touch"', 'title = "Touch"'),
        ('"kernel.c" = [', '"kernel.c" = ["9fa15f9e5be941dbfdf61aa171aadcb1",'),
        ("", '\n[[criterion]]\nname = "balanced"\nkind = "evidence"\npoints = 1\n'),
    ],
)
def test_a_criterion_is_judged_again_and_not_measured(
    copied: Installation, old: str, new: str
) -> None:
    assert changed(copied, f"labs/{LAB}/grading/lab.toml", old, new) == {f"judged {LAB}"}


@pytest.mark.parametrize(
    ("lab", "old", "new"),
    [
        (LAB, 'OMP_PLACES = "cores"', 'OMP_PLACES = "threads"'),
        (LAB, 'languages = ["c", "fortran"]', 'languages = ["c"]'),
        (LAB, "minutes = 60", 'minutes = 60\nmachines = ["nebula"]'),
        (OTHER, 'goal = "spread"', 'goal = "close"'),
        (OTHER, 'runtimes = ["libomp"]', 'runtimes = ["libgomp"]'),
        (OTHER, 'placements]\nfile = "omp_spread.env"', 'placements]\nfile = "omp_full.env"'),
        (OTHER, "minutes = 90", "minutes = 90\nnobody_knows = 1"),
    ],
)
def test_of_lab_toml_what_decides_what_is_run_is_measured(
    copied: Installation, lab: str, old: str, new: str
) -> None:
    found = changed(copied, f"labs/{lab}/grading/lab.toml", old, new)
    assert found == {f"measured {lab}", f"judged {lab}"}


def test_a_machines_prose_and_published_figures_measure_nothing_anew(copied: Installation) -> None:
    name = "common/machines/hydra.toml"
    assert changed(copied, name, "notes = [", 'notes = [\n    "And another thing.",') == set()
    assert changed(copied, name, 'unit = "us"', 'unit = "ms"') == set()
    assert changed(copied, name, "package = 1", "package = 2") == {
        f"measured {LAB}", f"measured {OTHER}",
    }  # fmt: skip


def test_a_labs_own_rules_have_it_judged_again_and_no_other(copied: Installation) -> None:
    name = f"labs/{LAB}/grading/own_rules.py"
    assert changed(copied, name, new="AT_LEAST = 1\n") == {f"judged {LAB}"}
    assert changed(copied, name, new="# A remark.\n") == set()
    assert changed(copied, name, "1", "2") == {f"judged {LAB}"}
    of_variants = f"labs/{LAB}/grading/variant/own_rules.py"
    assert changed(copied, of_variants, new="AT_LEAST = 1\n") == set(), "no lab depends on it"


# File, what stands there, and what is put in its place; empty: at the end.
PROSE = [
    (f"{PACKAGE}/harness/monitor.py", "", "\n# A remark.\n"),
    (f"{PACKAGE}/harness/monitor.py", '"""', '"""Another sentence. '),
    (f"{PACKAGE}/judging/places.py", '"""', '"""Another sentence. '),
    (f"{PACKAGE}/judging/places.py", "", '\n"""A remark."""\n'),
    (f"labs/{LAB}/grading/driver.c", "", "\n/* A remark. */ // and another\n"),
    (f"labs/{LAB}/grading/driver.c", " = ", "   =\n\t"),
    (f"labs/{LAB}/first_touch.h", "", "\n/* A remark */\n"),
    (f"labs/{LAB}/kernel.f90", "", "\n! A remark: it's one\n"),
    (f"labs/{LAB}/kernel.f90", "subroutine", "SUBROUTINE  "),
    (f"labs/{LAB}/grading/lab.toml", "", "\n# A remark.\n"),
    (f"labs/{LAB}/grading/CMakeLists.txt", "", "\n# A remark.\n#[[ And\nanother. ]]\n"),
    (f"labs/{OTHER}/omp_full.env", "", "\n# A remark.\n"),
    ("common/cmake/AddLab.cmake", "", "\n  # A remark.\n"),
    ("common/cmake/isolate", "", "\n# It's a remark.\n\n"),
    ("common/monitor/main.c", "", "\n/* A remark */\n"),
    ("CMakePresets.json", "{", "\n{ "),
]


def test_comments_docstrings_and_layout_regrade_nobody(copied: Installation) -> None:
    for name, old, new in PROSE:
        assert changed(copied, name, old, new) == set(), (name, new)


# File, what stands there, and what is put in its place; empty: at the end.
CODE = [
    (f"{PACKAGE}/harness/monitor.py", "", '\nREMARK = """A remark."""\n'),
    (f"{PACKAGE}/harness/monitor.py", "from pathlib import Path", "from os import PathLike"),
    ("common/monitor/main.c", "", '\n#include "numalab/driver.h"\n'),
    ("common/monitor/main.c", "", "\n#define F (x)\n"),
    ("common/cmake/AddLab.cmake", "-O3", "-O2"),
    ("common/cmake/AddLab.cmake", "STREQUAL", "MATCHES"),
    ("common/cmake/isolate", "'.gnu.lto_*'", "'.gnu.lto_* '"),
]


def test_code_has_every_lab_measured_anew(copied: Installation) -> None:
    for name, old, new in CODE:
        found = changed(copied, name, old, new)
        assert found >= {f"measured {LAB}", f"measured {OTHER}"}, (name, new)


# ---- where files lie -----------------------------------------------------------------------


def renamed(
    installation: Installation, old: str, new: str, mention: str = "", instead: str = ""
) -> set[str]:
    """What changes with a file that is moved, and with what names it in other files."""
    before = digests(installation)
    (installation.root / new).parent.mkdir(parents=True, exist_ok=True)
    (installation.root / old).rename(installation.root / new)
    files = [path for path in installation.root.rglob("*") if mention and path.is_file()]
    naming = [path for path in files if mention.encode() in path.read_bytes()]
    assert naming or not mention
    for path in naming:
        path.write_bytes(path.read_bytes().replace(mention.encode(), instead.encode()))
    after = digests(installation)
    return {key for key in before if before[key] != after[key]}


def test_a_file_that_is_moved_or_renamed_regrades_nobody(copied: Installation) -> None:
    """With it the lists that name it, put in order again."""
    for name in ("driver.c", "phases.c", "lab.toml", "CMakeLists.txt"):
        (lies,) = (
            path.relative_to(copied.root).as_posix()
            for path in copied.lab_folder(LAB).rglob(name)
            if "variant" not in path.parts
        )
        assert renamed(copied, lies, f"labs/{LAB}/elsewhere/{name}") == set()
    new = "common/wire/another_name"
    assert not renamed(
        copied, "common/message.h", f"{new}.h", '"message.h"', '"wire/another_name.h"'
    )
    first, then = "message.c numbers.c", "numbers.c wire/another_name.c"
    assert not renamed(copied, "common/message.c", f"{new}.c", first, then)
    old, new = f"{PACKAGE}/evidence/repeats.py", f"{PACKAGE}/evidence/again/repetitions.py"
    imports = ("numalab.evidence.repeats import", "numalab.evidence.again.repetitions import")
    assert not renamed(copied, old, new, *imports)


def test_another_module_of_the_same_name_is_other_code(copied: Installation) -> None:
    """Also one that evidence depends on, which the verdict imports."""
    for module in ("one", "other"):
        path = copied.root / PACKAGE / f"files_{module}.py"
        path.write_text(f"def least(): return {len(module)}\n")
    rule = f"{PACKAGE}/judging/new_rule.py"
    changed(copied, rule, new="from numalab.files_one import least\n")
    judged = {f"judged {LAB}", f"judged {OTHER}"}
    assert changed(copied, rule, "files_one", "files_other") == judged
    both = judged | {f"measured {LAB}", f"measured {OTHER}"}
    assert changed(copied, f"{PACKAGE}/files_other.py", "least", "most") == both


def test_two_files_that_are_exchanged_are_other_code(copied: Installation) -> None:
    kernels = [copied.root / above / LAB / "kernel.c" for above in ("labs", "solutions")]
    before, contents = digests(copied), [path.read_bytes() for path in kernels]
    for path, content in zip(kernels, reversed(contents), strict=True):
        path.write_bytes(content)
    after = digests(copied)
    assert {key for key in before if before[key] != after[key]} == {f"measured {LAB}"}


# ---- forms that are kept --------------------------------------------------------------------


def test_forms_are_made_once_and_by_content(
    copied: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(name: str, content: bytes) -> Form:
        made.append(name)
        return form_of(name, content)

    def forget() -> None:
        monkeypatch.setattr(code_forms, "_known", {})
        monkeypatch.setattr(code_forms, "_stored", {})

    copied.build_root.mkdir()
    before = digests(copied)
    forget()
    counted.__name__ = form_of.__name__
    monkeypatch.setattr(numalab_digests, "form_of", counted)
    assert digests(copied) == before and made == []
    path = copied.root / "common/message.c"
    stat, text = path.stat(), path.read_text()
    path.write_text(text.replace("return", "RETURN", 1))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    assert digests(copied) != before and set(made) == {"common/message.c"}
    path.write_text(text)
    forget()
    (copied.build_root / code_forms.FILE).write_text('{"half')
    assert digests(copied) == before and len(made) > 100


def test_nothing_that_counts_reads_docstrings(installation: Installation) -> None:
    """They would be code then."""
    for name, path in modules(installation.root):
        if counts_for(f"{PACKAGE}/{name}") != "neither":
            assert not {"__doc__", "getdoc"} & set(re.findall(r"\w+", path.read_text())), name


# ---- that nothing is left out ------------------------------------------------------------


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted((root / PACKAGE).rglob("*.py")):
        yield path.relative_to(root / PACKAGE).as_posix(), path


def test_every_package_and_file_of_the_ground_floor_is_classified(
    installation: Installation,
) -> None:
    """Who adds one says in the table what it counts for, and why."""
    top = {name.split("/")[0] for name, _ in modules(installation.root)}
    assert top - MODULES.keys() == set()
    gone = {name for name in MODULES if not (installation.root / PACKAGE / name).exists()}
    assert gone == set()
    assert all(why for _, why in MODULES.values())


def imported(path: Path, known: set[str]) -> Iterator[str]:
    """The files of the package that one imports when it runs."""
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            left += node.orelse
            continue
        left += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numalab."):
            folder = (node.module or "").removeprefix("numalab.").replace(".", "/")
            for alias in node.names:
                for name in (f"{folder}/{alias.name}.py", f"{folder}.py"):
                    if name in known:
                        yield name
                        break


def test_what_counts_imports_nothing_that_does_not(installation: Installation) -> None:
    """So a package that a measurement comes to need can't be forgotten."""
    known = {name for name, _ in modules(installation.root)}
    found = set()
    count = 0
    for name, path in modules(installation.root):
        if counts_for(f"{PACKAGE}/{name}") == "neither":
            continue
        for other in imported(path, known):
            count += 1
            if counts_for(f"{PACKAGE}/{other}") == "neither":
                found.add((name, other))
    assert count > 100
    assert found == SHOWN_ONLY


def test_every_source_that_the_build_reads_for_a_lab_is_measured(
    installation: Installation,
) -> None:
    """As ninja knows it: what is compiled and linked, and the headers that compilers have seen."""
    targets = [f"{LAB}-monitor", f"{LAB}-c-solution", f"{LAB}-fortran-solution", "describe_node"]
    read = set()
    for tool in (["inputs", *targets], ["deps"]):
        done = subprocess.run(
            ["ninja", "-C", str(installation.build), "-t", *tool],
            capture_output=True,
            text=True,
            check=True,
        )
        read |= {line.strip() for line in done.stdout.splitlines()}
    own = [Path(name) for name in read if Path(name).is_relative_to(installation.root)]
    names = {path.relative_to(installation.root).as_posix() for path in own if path.is_file()}
    others = ("build/", "common/tests/", "common/probe/", "common/monitor/describe_topology.c")
    names = {name for name in names if not name.startswith(others)}
    of_lab = {
        name
        for name in names
        if name.split("/")[0] == "common" or name.split("/")[:2][-1] == LAB
        if not name.endswith(("test_driver.c", "explore.c"))
    }
    assert {f"labs/{LAB}/grading/driver.c", "common/monitor/main.c", "common/protocol.h"} <= of_lab
    assert {name for name in of_lab if counts_for(name) != "evidence"} == set()


def test_every_file_that_is_staged_or_named_by_a_lab_is_measured(
    installation: Installation,
) -> None:
    for folder in ("labs", "solutions"):
        for path in (installation.root / folder).glob("*/**/*"):
            name = path.relative_to(installation.root).as_posix()
            if path.suffix in (".env", ".h") or path.name in ("launch.toml", "near.toml"):
                expected = "neither" if "/wrong/" in name else "evidence"
                assert counts_for(name) == expected, name
