"""What happens when the kit itself is changed: on a copy, with a build of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from pathlib import Path

import pytest
from support.commands import environment, grade_json, numalab_command, statuses
from support.commands import without_times as no_times
from support.no_locks import no_locks

from numalab.harness.build import configure
from numalab.installation import Installation

pytestmark = pytest.mark.builds

LAB = "01_first_touch"
SERIAL = "    for (size_t i = 0; i < n; i++) {\n        a[i] = 0"
NEVER_TIMED = 'kind = "timing"\npoints = 1\nneeds_numa_nodes = 2\n'
PARALLEL = "#pragma omp parallel for schedule(static)\n" + SERIAL


# In a shell, a URL, a format and C each of these means something.
ODD = "Übung 1, (b) & 'c' %d"
LONG = 180  # characters of its path


@pytest.fixture(scope="module")
def copy(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """In a folder with an odd path, reached by a link, and with the build that was copied along."""
    above = tmp_path_factory.mktemp("kit")
    root = above / ODD / ("x" * max(1, LONG - len(str(above / ODD)) - 1))
    root.mkdir(parents=True)
    for name in ("common", "grader", "labs", "solutions"):
        shutil.copytree(
            installation.root / name,
            root / name,
            ignore=shutil.ignore_patterns("__pycache__", "tests")
            if name == "grader"
            else shutil.ignore_patterns("__pycache__"),
        )
    for name in ("CMakeLists.txt", "CMakePresets.json", "numalab"):
        shutil.copy(installation.root / name, root)
    (root / ".venv").symlink_to(installation.root / ".venv")
    copied = Installation(root, installation.preset).build
    copied.mkdir(parents=True)
    for name in ("CMakeCache.txt", "build.ninja", ".ninja_log", "build.json"):
        shutil.copy(installation.build / name, copied)
    link = tmp_path_factory.mktemp("linked") / "kit"
    link.symlink_to(root)
    made = Installation(link, installation.preset)
    said = io.StringIO()
    with redirect_stderr(said):
        configure(made)
    assert f"was built from {installation.root.resolve()}" in " ".join(said.getvalue().split())
    return made


@pytest.fixture
def hand_in(copy: Installation, tmp_path: Path) -> Path:
    """Of right kernels in both languages, in a folder of no less odd a name."""
    folder = tmp_path / ODD
    shutil.copytree(copy.solution_folder(LAB), folder / LAB)
    return folder


def test_a_copy_grades_what_is_handed_in_to_it_wherever_it_lies(
    copy: Installation, hand_in: Path, tmp_path: Path
) -> None:
    """By its own build, of no other folder; where no file can be executed, and where none can be
    locked."""
    for path in (copy.root / "common" / "cmake").iterdir():
        path.chmod(0o644)
    done, result = grade_json(
        copy, tmp_path, "01", "--quick", "--submission", str(hand_in), **no_times(tmp_path)
    )
    assert done.code == 0, done.out + done.err
    assert len(result["results"]) == 2
    for verdict in result["results"]:
        assert statuses(verdict)["touched_where_used"] == "pass", verdict
    cache = (copy.build / "CMakeCache.txt").read_text()
    assert f"CMAKE_HOME_DIRECTORY:INTERNAL={copy.root.resolve()}\n" in cache
    (hand_in / LAB / "kernel.c").write_text(copy.lab_folder(LAB).joinpath("kernel.c").read_text())
    done, result = grade_json(
        copy, tmp_path, "01", "--quick", "--lang", "c", "--submission", str(hand_in),
        **no_times(tmp_path), **no_locks(tmp_path),
    )  # fmt: skip
    assert statuses(result["results"][0])["touched_where_used"] == "fail"
    assert "has no file locks" in done.said


@pytest.mark.parametrize(
    "text",
    [None, *(pytest.param(text, marks=pytest.mark.slow)
             for text in ("exit 1\n", "if (\n", "exec /nowhere/compiler\n"))],
)  # fmt: skip
def test_what_fails_before_a_compiler_runs_is_no_kernels_fault(
    copy: Installation, hand_in: Path, tmp_path: Path, text: str | None
) -> None:
    launcher = copy.compile_apart
    before = launcher.read_text()
    (hand_in / LAB / "kernel.c").open("a").write(f"/* {text} */\n")
    try:
        launcher.unlink() if text is None else launcher.write_text(text)
        done = numalab_command(
            copy, "grade", "01", "--quick", "--here-only", "--lang", "c",
            "--submission", str(hand_in), **no_times(tmp_path),
        )  # fmt: skip
    finally:
        launcher.write_text(before)
    assert done.code == 3 and "does not compile" not in done.out
    assert "the fault is not the kernel's" in done.said


@pytest.mark.slow
@pytest.mark.parametrize(
    "character", [*" '(),&%`!^*?{}~@=+", "\t", "é", os.fsdecode(b"\xdc")],
)  # fmt: skip
def test_a_copy_grades_in_a_folder_with_each_odd_character(
    copy: Installation, hand_in: Path, tmp_path: Path, character: str
) -> None:
    root = tmp_path / f"a{character}b"
    shutil.copytree(copy.root, root, symlinks=True, ignore=shutil.ignore_patterns("build"))
    _, result = grade_json(
        Installation(root, copy.preset), tmp_path, "01", "--quick", "--submission", str(hand_in),
        **no_times(tmp_path),
    )  # fmt: skip
    for verdict in result["results"]:
        assert statuses(verdict)["touched_where_used"] == "pass", verdict


@contextmanager
def changed(path: Path, old: str, new: str) -> Iterator[None]:
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    try:
        yield
    finally:
        path.write_text(before)


@pytest.fixture
def without_times(copy: Installation) -> Iterator[Installation]:
    """No criterion is about times on a node with one NUMA node."""
    declared = copy.root / "labs" / LAB / "grading/lab.toml"
    with changed(declared, 'kind = "timing"\npoints = 1\n', NEVER_TIMED):
        yield copy


@pytest.mark.slow
def test_audit_passes(without_times: Installation, tmp_path: Path) -> None:
    """On a machine that the lab does not name."""
    path = tmp_path / "audit.json"
    done = numalab_command(
        without_times, "audit", "01", "--lang", "c", "--on", "tioga", "--json", str(path)
    )
    assert done.code == 0, done.out
    assert "2 of 2 as declared" in " ".join(done.out.split())
    for verdict in json.loads(path.read_text())["results"]:
        places = {c["name"]: c["where"] for c in verdict["criteria"] if c["where"] != "here"}
        assert places["local_pages"] == "tioga", verdict


def test_an_audit_here_alone_is_on_no_machine(without_times: Installation) -> None:
    done = numalab_command(without_times, "audit", "01", "--on", "tioga", "--here-only")
    assert done.code == 2 and "exclude each other" in done.err


_SOLUTION, _HANDOUT = f"solutions/{LAB}/kernel.c", f"labs/{LAB}/kernel.c"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([(_SOLUTION, PARALLEL, SERIAL, "touched_where_used is 'fail'")],
                     id="serial_solution", marks=pytest.mark.slow),
        pytest.param([(_SOLUTION, "i % 7", "i % 8", "correct is 'fail'")],
                     id="wrong_solution", marks=pytest.mark.slow),
        pytest.param([
            (_SOLUTION, "a[i] = 0.0f;", "a[i] = 0.0f", "does not compile"),
            (_HANDOUT, SERIAL, PARALLEL, "touched_where_used is 'pass', lab.toml says 'fail'"),
        ], id="broken_solution_and_repaired_handout"),
    ],
)  # fmt: skip
def test_audit_fails(without_times: Installation, changes: list[tuple[str, str, str, str]]) -> None:
    with ExitStack() as stack:
        for file, old, new, _ in changes:
            stack.enter_context(changed(without_times.root / file, old, new))
        done = numalab_command(without_times, "audit", "01", "--lang", "c", "--here-only")
    assert done.code == 1
    for *_, says in changes:
        assert says in " ".join(done.out.split())


def build(copy: Installation, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["cmake", *arguments], cwd=copy.root, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"add_lab({LAB} CONTRACTS first_touch.h LANGUAGES C)", "unknown arguments: CONTRACTS"),
        (f"add_lab({LAB} CONTRACT first_touch.h)", "are both needed"),
        (f"add_lab({LAB} CONTRACT first_touch.h LANGUAGES C Cobol)", "unknown language: Cobol"),
    ],
)
def test_a_misspelt_keyword_stops_configuration(copy: Installation, line: str, says: str) -> None:
    path = copy.root / "labs" / LAB / "grading/CMakeLists.txt"
    with changed(path, path.read_text(), line):
        done = build(copy, "--preset", copy.preset)
    assert done.returncode != 0
    assert says in " ".join(done.stderr.split())
    assert build(copy, "--preset", copy.preset).returncode == 0


def test_a_kernel_that_does_not_compile_leaves_the_build_green(copy: Installation) -> None:
    staged = copy.staged_folder(LAB) / "kernel.c"
    staged.parent.mkdir(parents=True, exist_ok=True)
    staged.write_text("this is not C\n")
    (copy.root / "labs" / LAB / "kernel.c.kept").write_text("")
    with changed(copy.root / "labs" / LAB / "kernel.c", "void initialize", "void void initialize"):
        done = build(copy, "--build", "--preset", copy.preset, "--target", f"labs/{LAB}/all")
    assert done.returncode == 0, done.stdout


def test_both_languages_run_on_the_chosen_openmp_runtime(copy: Installation) -> None:
    """Linking OpenMP to one language alone would build the other silently serial."""
    for language in ("c", "fortran"):
        program = copy.worker(LAB, language, "solution")
        assert (
            build(copy, "--build", "--preset", copy.preset, "--target", program.name).returncode
            == 0
        )
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        assert "libomp" in linked, language
        assert "libgomp" not in linked, language
        undefined = subprocess.run(
            ["nm", "-D", "--undefined-only", program], capture_output=True, text=True, check=True
        ).stdout
        assert "GOMP_parallel" in undefined or "__kmpc_fork_call" in undefined, language


def test_times_are_compared_with_the_handout_that_was_given_out(copy: Installation) -> None:
    kept = copy.pristine_folder(LAB) / "kernel.c"
    given = kept.read_text()
    with changed(copy.root / "labs" / LAB / "kernel.c", "i % 7", "i % 9"):
        assert build(copy, "--preset", copy.preset).returncode == 0
        assert kept.read_text() == given
        assert "i % 7" in given


def test_only_the_edited_kernel_is_graded_unless_asked(without_times: Installation) -> None:
    copy = without_times
    with changed(copy.root / "labs" / LAB / "kernel.c", SERIAL, PARALLEL):
        done = numalab_command(copy, "grade", "01", "--quick", "--here-only")
        assert done.code == 0
        assert "Fortran: still the handout, not graded" in done.err
        assert f"{LAB}  C  your kernel" in done.out
        assert f"{LAB}  Fortran" not in done.out
        assert "Right as far as was looked at, on this node." in done.out
        both = numalab_command(copy, "grade", "01", "--quick", "--lang", "all", "--here-only")
    assert both.code == 1
    assert f"{LAB}  Fortran" in both.out


def test_missing_packages_are_listed_and_nothing_is_done(
    copy: Installation, tmp_path: Path
) -> None:
    """Without root, sudo and apt: a command that knows too little stops, and says why."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "sh",
        "dirname",
        "date",
        "sed",
        "mktemp",
        "tail",
        "cmp",
        "cat",
        "gcc",
        "cmake",
        "uname",
    ):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    (tools / "id").write_text("#!/bin/sh\necho 1000\n")
    (tools / "id").chmod(0o755)
    done = subprocess.run(
        [str(copy.root / "numalab"), "grade"], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env={"PATH": str(tools), "HOME": os.environ.get("HOME", "/")},
    )  # fmt: skip
    assert done.returncode == 3
    for name in ("gfortran", "ninja-build", "binutils", "pkg-config", "numactl", "hwloc-nox"):
        assert f" {name}" in done.stderr, name
    assert "an administrator installs that with:" in done.stderr
    missing = done.stderr.split("missing, and nothing works without:")[1].split("numalab:")[0]
    assert "gfortran" in missing and "CMake" not in missing


def test_a_build_folder_that_cannot_be_written_is_named(copy: Installation, tmp_path: Path) -> None:
    """As any user but root meets it; root may write everywhere, so a file is in the way."""
    other = tmp_path / "kit"
    shutil.copytree(copy.root, other, symlinks=True, ignore=shutil.ignore_patterns("build"))
    (other / "build").write_text("in the way\n")
    done = subprocess.run(
        [str(other / "numalab"), "grade", "--quick"], capture_output=True, text=True,
        check=False, env=environment(copy),
    )  # fmt: skip
    assert done.returncode == 2
    assert f"can't write to {other / 'build'}" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("points = 1", "points = true", "lab.toml:42: 'points' is true; write a whole number"),
        ("points = 1", 'points = "one"', "lab.toml:42: 'points' is 'one'; write a whole number"),
        ('kind = "timing"', 'kind = "time"', "'kind' is 'time'. Did you mean 'timing'?"),
        ("at_most = 0\n", "at_moist = 0\n", "unknown key 'at_moist'"),
        ("minutes = 60\n", "", "the file has no key 'minutes'; add it"),
        ("minutes = 60", "minutes = = 60", "lab.toml"),
    ],
)
def test_a_broken_lab_toml_is_named_with_its_place(
    copy: Installation, old: str, new: str, says: str
) -> None:
    with changed(copy.root / "labs" / LAB / "grading/lab.toml", old, new):
        done = numalab_command(copy, "hint", "01")
    assert done.code == 3
    assert says in done.said
    assert "lab.toml" in done.err
