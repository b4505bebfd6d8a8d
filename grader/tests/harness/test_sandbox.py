"""Hostile kernels (tests/hostile) get nothing but a verdict of their own, and the solutions pass in
the sandbox as they do outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.commands import (
    assert_all_gone,
    assert_goes_away,
    grade_json,
    numalab_command,
    without_bubblewrap,
)
from support.run_values import kept_runs

from numalab.doctor.doctor import sandbox_finding
from numalab.evidence.read_record import record_json
from numalab.grading.collect_evidence import gather_evidence
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import build_targets, configure
from numalab.harness.compile_apart import Apart, bound_files, read_step, take
from numalab.harness.compile_apart import run as run_apart
from numalab.harness.monitor import describe_node
from numalab.harness.sandbox import (
    LOAD_PROFILE,
    NoSandbox,
    Sandbox,
    find_sandbox,
    hidden_folders,
    no_user_namespaces,
    other_roots,
)
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Lab

pytestmark = pytest.mark.builds

Json = dict[str, Any]
HOSTILE = Path(__file__).parent / "hostile"
# Every attack comes to its end, if only late on a busy node.
EFFORT = replace(effort_for("default", True), check_limit_s=60.0)


@pytest.fixture(scope="module")
def sandbox(installation: Installation) -> Sandbox:
    found = find_sandbox(installation)
    if isinstance(found, NoSandbox):
        pytest.skip(f"{found.why}; {found.remedy}")
    configure(installation)
    build_targets(installation, [found.confine.name, "describe_node"])
    return found


@pytest.fixture(scope="module")
def node(installation: Installation, sandbox: Sandbox) -> Json:
    return describe_node(installation)


@pytest.fixture(autouse=True)
def nothing_is_left(installation: Installation) -> Iterator[None]:
    def ours() -> set[Path]:
        return {*Path("/tmp").glob("numalab-job-*"), *Path("/tmp").glob("numalab-compile-*")}

    before = ours()
    yield
    assert_all_gone(installation)
    assert_goes_away(ours, before)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    yield process
    process.kill()
    process.wait()


class Grader:
    """Grades kernels of a lab without times, in the sandbox."""

    def __init__(
        self, installation: Installation, lab: Lab, node: Json, sandbox: Sandbox, folder: Path
    ) -> None:
        self.installation, self.lab, self.node, self.sandbox = installation, lab, node, sandbox
        self.folder = folder

    def grade(self, text: str, language: str = "c") -> tuple[Verdict, Json]:
        file = self.folder / {"c": "kernel.c", "fortran": "kernel.f90"}[language]
        file.write_text(text)
        session = Grading(
            self.installation, self.lab, language, "submission", self.folder, EFFORT, self.node,
            lambda step: None, sandbox=self.sandbox,
        )  # fmt: skip
        with self.installation.lock():
            build_targets(self.installation, [self.installation.monitor(self.lab.name).name])
            if session.build():
                gather_evidence(session)
        return session.verdict(), record_json(session.record)

    def attack(self, name: str, **defined: str) -> tuple[Verdict, Json]:
        """Grades an attack and makes sure that it found nothing open."""
        verdict, data = self.grade(attack_of(name, **defined))
        assert data["sandbox"] == "bubblewrap"
        assert data["build"]["kernel"]["status"] == "ok", data["build"]
        for run in data["runs"]:
            assert "OPEN" not in run["outcome"].get("printed", ""), run["outcome"]
        seen = {one.status for one in verdict.criteria if one.kind != "timing"}
        assert "error" not in seen
        return verdict, data


def attack_of(name: str, **defined: str) -> str:
    defines = "".join(
        f"#define {key} {value}\n" for key, value in ({"_GNU_SOURCE": ""} | defined).items()
    )
    return defines + (HOSTILE / f"{name}.c").read_text() + (HOSTILE / "honest.c").read_text()


def quoted(paths: list[Path]) -> str:
    return ", ".join(json.dumps(str(path)) for path in paths)


@pytest.fixture
def grader(
    installation: Installation, first_touch: Lab, node: Json, sandbox: Sandbox, tmp_path: Path
) -> Grader:
    folder = tmp_path / "handed in" / first_touch.name
    folder.mkdir(parents=True)
    return Grader(installation, first_touch, node, sandbox, folder)


def correct(verdict: Verdict) -> CriterionVerdict:
    return next(c for c in verdict.criteria if c.name == "correct")


# ---- attacks while it runs --------------------------------------------------------------


def test_a_kernel_that_forks(grader: Grader) -> None:
    verdict, data = grader.attack("forks")
    assert correct(verdict).status == "fail"
    told = correct(verdict).why
    assert "tried to start a process" in told and "kernel.c" in told, told
    assert data["runs"][0]["outcome"]["system_call"] in ("fork", "clone")


@pytest.mark.parametrize("name", ["runs_shell", "forks_early"])
def test_nor_by_a_library_or_before_main(grader: Grader, name: str) -> None:
    """Where no handler of ours can tell more."""
    verdict, _ = grader.attack(name)
    assert correct(verdict).status == "fail"
    assert "most likely to start a process" in correct(verdict).why


def test_threads_without_end(grader: Grader) -> None:
    verdict, _ = grader.attack("many_threads")
    assert correct(verdict).status == "fail"
    assert "are allowed; it was stopped. Leave the number of threads" in correct(verdict).why


def test_a_rank_that_forks(
    installation: Installation, labs: dict[str, Lab], node: Json, sandbox: Sandbox, tmp_path: Path
) -> None:
    """The launcher may, and its ranks may not."""
    if not json.loads((installation.build / "build.json").read_text())["mpi"]:
        pytest.skip("this build of the kit has no MPI")
    lab = labs["06_message_latency"]
    solution = (installation.solution_folder(lab.name) / "kernel.c").read_text()
    includes = "#define _GNU_SOURCE\n#include <unistd.h>\n"
    found = re.subn(r"(?m)^void ping_pong\([^{;]*\{", r"\g<0> fork();", solution)
    assert found[1] == 1
    grader = Grader(installation, lab, node, sandbox, tmp_path)
    verdict, data = grader.grade(includes + found[0])
    assert data["build"]["kernel"]["status"] == "ok", data["build"]
    why = correct(verdict).why
    assert "tried to start a process" in why and why.startswith("Rank"), why


def test_output_without_end(grader: Grader) -> None:
    verdict, _ = grader.attack("prints_endlessly")
    assert correct(verdict).status == "fail" and "printed more than" in correct(verdict).why


def test_no_network(grader: Grader) -> None:
    name = f"numalab-test-{os.getpid()}"
    with ExitStack() as stack:
        far = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        near = stack.enter_context(socket.socket(socket.AF_UNIX))
        near.bind(f"\0{name}")
        near.listen()
        port = far.getsockname()[1]
        verdict, _ = grader.attack("network", PORT=str(port), SOCKET=json.dumps(name))
        for listener in (far, near):
            listener.settimeout(0.2)
            with pytest.raises(TimeoutError):
                listener.accept()
    assert correct(verdict).status == "pass"


def test_nothing_of_others_can_be_read(
    grader: Grader, installation: Installation, tmp_path: Path
) -> None:
    other = tmp_path / "somebody else" / "kernel.c"
    other.parent.mkdir()
    other.write_text("int secret;\n")
    places = [
        other,
        other.parent,
        grader.folder,
        installation.root,
        installation.root / "solutions",
        installation.build,
        installation.solution_folder("01_first_touch") / "kernel.c",
        installation.lab_folder("01_first_touch"),
        installation.staged_folder("01_first_touch") / "kernel.c",
        installation.worker("01_first_touch", "c", "solution"),
        Path.home(),
        Path("/etc/passwd"),
        Path("/etc/hosts"),
        Path("/home"),
        Path("/var"),
        Path(f"/proc/{os.getpid()}/cmdline"),
    ]
    # What holds the worker's own program is there, and holds nothing else.
    inside = [place for place in places if not installation.build.is_relative_to(place)]
    verdict, _ = grader.attack("reads_files", PLACES=quoted(inside))
    assert correct(verdict).status == "pass"


def test_nothing_is_written_for_the_next(grader: Grader, installation: Installation) -> None:
    lab = grader.lab.name
    mark = f"numalab-poison-{os.getpid()}"
    places = [
        installation.staged_folder(lab) / "kernel.c",
        installation.worker(lab, "c", "submission"),
        installation.build / mark,
        installation.worker(lab, "c", "solution"),
        installation.root / mark,
        Path.home() / ".cache" / mark,
        Path("/var/tmp") / mark,
        Path("/tmp") / mark,
        Path("/dev") / mark,
        Path("/") / mark,
    ]
    verdict, _ = grader.attack("writes_files", PLACES=quoted(places))
    assert correct(verdict).status == "pass"
    assert not any(place.exists() for place in places if place.name == mark)


def test_disk_and_memory_folders_are_small(grader: Grader) -> None:
    shared = set(Path("/dev/shm").iterdir())
    grader.attack("fills_disk")
    assert not [p for p in set(Path("/dev/shm").iterdir()) - shared if "filler" in p.name]
    assert not Path("/tmp/numalab-filler").exists()


def test_nobody_is_killed(grader: Grader, victim: subprocess.Popen[bytes]) -> None:
    grader.attack("kills", VICTIM=str(victim.pid))
    assert victim.poll() is None


def test_nobody_elses_memory_is_read(grader: Grader, victim: subprocess.Popen[bytes]) -> None:
    verdict, _ = grader.attack("reaches", VICTIM=str(victim.pid))
    assert "reach into another process (process_vm_readv)" in correct(verdict).why


def test_the_environment_tells_nothing(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_GRADER", "shown")
    verdict, _ = grader.attack("environment")
    assert correct(verdict).status == "pass"


# ---- attacks while it is compiled ---------------------------------------------------------


def honest() -> str:
    return "static void attack(void) {}\n" + (HOSTILE / "honest.c").read_text()


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        '#include "{solution}"',
        '#include "../../../../solutions/01_first_touch/kernel.c"',
        '__asm__(".incbin \\"{solution}\\"");',
        '__asm__(".incbin \\"/etc/passwd\\"");',
        '#include "{other}"',
    ],
)
def test_a_compiler_reads_nothing_of_others(
    grader: Grader, installation: Installation, tmp_path: Path, line: str
) -> None:
    other = tmp_path / "other.c"
    other.write_text("int secret = 4711;\n")
    solution = installation.solution_folder(grader.lab.name) / "kernel.c"
    filled = line.replace("{solution}", str(solution)).replace("{other}", str(other))
    verdict, data = grader.grade(f"{filled}\n{honest()}")
    assert data["build"]["kernel"]["status"] == "does_not_compile"
    said = data["build"]["kernel"]["output"]
    assert "o such file" in said or "not found" in said, said
    assert "root:" not in said and "4711" not in said
    assert correct(verdict).status == "fail"


@pytest.mark.parametrize("line", ["include '{file}'", '#include "{file}"'])
def test_nor_does_a_fortran_compiler(grader: Grader, installation: Installation, line: str) -> None:
    solution = installation.solution_folder(grader.lab.name) / "kernel.f90"
    _, data = grader.grade(line.replace("{file}", str(solution)) + "\n", "fortran")
    assert data["build"]["kernel"]["status"] == "does_not_compile"
    said = data["build"]["kernel"]["output"]
    assert "o such file" in said or "Cannot open included file" in said


def test_modules_of_an_earlier_kernel_are_gone(grader: Grader, installation: Installation) -> None:
    solution = (installation.solution_folder(grader.lab.name) / "kernel.f90").read_text()
    left = "module left_behind\n  integer :: answer = 42\nend module\n"
    _, data = grader.grade(left + solution, "fortran")
    assert data["build"]["kernel"]["status"] == "ok", data["build"]
    use = "subroutine uses_it()\n  use left_behind\n  answer = 1\nend subroutine\n"
    _, data = grader.grade(use + solution, "fortran")
    assert data["build"]["kernel"]["status"] == "does_not_compile"
    assert "left_behind" in data["build"]["kernel"]["output"]


def test_what_a_compiler_may_use_up(grader: Grader) -> None:
    """An object of 200 MB, from one line."""
    _, data = grader.grade(f'__asm__(".data\\n.fill 200000000\\n.text");\n{honest()}')
    assert data["build"]["kernel"]["status"] == "does_not_compile"


def test_a_kernel_is_compiled_anew_where_the_level_changes(
    grader: Grader, installation: Installation, tmp_path: Path
) -> None:
    other = tmp_path / "other.h"
    other.write_text("/* nothing */\n")
    text = f'#include "{other}"\n{honest()}'
    outside = Grader(installation, grader.lab, grader.node, grader.sandbox, grader.folder)
    outside.sandbox = None  # type: ignore[assignment]
    _, data = outside.grade(text)
    assert data["build"]["kernel"]["status"] == "ok" and data["sandbox"] == "none"
    _, data = grader.grade(text)
    assert data["build"]["kernel"]["status"] == "does_not_compile"


def test_a_compilers_command_line(tmp_path: Path) -> None:
    kernel, contract = tmp_path / "kernel.c", tmp_path / "lab" / "contract.h"
    contract.parent.mkdir()
    (contract.parent / "driver.c").write_text("")
    for path in (kernel, contract):
        path.write_text("")
    step = read_step(
        ["-Ilab", "-O3", "-include", str(contract), "-MD", "-MT", "out/k.o", "-MF", "out/k.o.d",
         "-Jmodules", "-o", "out/k.o", "-c", str(kernel), "/usr/lib/os-release"],
        tmp_path,
    )  # fmt: skip
    assert step.outputs == (tmp_path / "out/k.o.d", tmp_path / "out/k.o")
    assert step.folders == [tmp_path / "modules", tmp_path / "out"]
    assert bound_files(step, ["/usr"]) == [contract, kernel]


def test_bubblewrap_gets_nothing_else_of_the_graders_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its process is one that a compiler might look at."""
    monkeypatch.setenv("SECRET_OF_THE_GRADER", "shown")
    monkeypatch.setenv("CPATH", "/some/headers")
    made = Sandbox("bwrap", tmp_path / "confine", tmp_path / "compile_apart")
    described = json.loads(made.compiler_environment()["NUMALAB_COMPILE_APART"])
    assert not {"--proc", "/sys", "/proc/self"} & set(described["words"])
    in_its_place = Apart(("sh", "-c", "env"), described["environment"], ())
    assert run_apart(in_its_place, ["gcc"], tmp_path) == 0
    said = set(capfd.readouterr().out.splitlines())
    assert "CPATH=/some/headers" in said and "LC_ALL=C" in said
    assert not any("SECRET" in line or line.startswith("HOME=") for line in said), said


@pytest.fixture
def site() -> Iterator[Path]:
    """A site's folder of programs, with a copy of numalab in it. The sandbox has its own /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="numalab-test-") as folder:
        for name, text in {
            "share/site.h": "#define SITE 1\n",
            "numalab/solutions/kernel.c": "int solved;\n",
            "numalab/build/confine": "",
            "numalab/common/contract.h": "#define CONTRACT 1\n",
            "numalab/labs/kernel.c": '#include "contract.h"\n#include <site.h>\nint own;\n',
            "numalab/labs/thief.c": f'#include "{folder}/numalab/solutions/kernel.c"\n',
            "numalab/labs/link.c": f'#include "{folder}/link/solutions/kernel.c"\n',
        }.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (Path(folder) / "link").symlink_to("numalab")
        yield Path(folder)


def test_numalabs_own_folders_are_covered_where_the_system_is_seen(
    sandbox: Sandbox, site: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As of a copy below /usr. What is put into them by name is seen all the same."""
    own = site / "numalab"
    made = replace(sandbox, roots=(str(site),), hidden=(own, own / "build", tmp_path / "none"))
    described = json.loads(made.compiler_environment()["NUMALAB_COMPILE_APART"])
    apart = Apart(**described)

    def compiled(name: str) -> int:
        source, built = own / "labs" / name, own / "build" / "objects" / f"{name}.o"
        headers = [f"-I{own / 'common'}", f"-I{site / 'share'}"]
        built.parent.mkdir(exist_ok=True)
        return run_apart(apart, ["gcc", "-c", str(source), *headers, "-o", str(built)], own)

    assert compiled("kernel.c") == 0, capfd.readouterr().err
    assert (own / "build" / "objects" / "kernel.c.o").stat().st_size > 0
    for name in ("thief.c", "link.c"):
        assert compiled(name) != 0
        assert "No such file" in capfd.readouterr().err
    looking = ["/bin/sh", "-c", f"ls -R {own} {site}/share"]
    done = subprocess.run(
        made.tool_command(looking, [own / "build" / "confine"]),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {"confine", "site.h"} <= set(done.stdout.split())
    assert not {"kernel.c", "contract.h", "solutions"} & set(done.stdout.split())


def test_folders_of_a_kit_that_are_hidden(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("builds", "work", "state", "origin", "variants")}
    installation = Installation(tmp_path / "kit", "gnu", **folders)
    hidden = hidden_folders(installation)
    assert hidden[0] == installation.root and set(folders.values()) < set(hidden)
    # The system is never covered, whatever somebody names as a folder for work.
    made = Sandbox(
        "bwrap", installation.confine, installation.compile_apart, (), (Path("/usr"), Path("/"))
    )
    command = made.tool_command(["true"], [])
    assert "/usr" not in [b for a, b in pairwise(command) if a == "--tmpfs"]


def test_only_plain_files_are_taken(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_text("object")
    for name in ("link", "pipe", "plain", "missing"):
        take(tmp_path / name, tmp_path / "taken" / name)
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["plain"]


# ---- honest kernels -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("01_first_touch", "fortran"), ("04_huge_pages", "c"), ("07_hybrid", "fortran"),
        *(
            pytest.param(lab, "c", marks=pytest.mark.slow)
            for lab in ("01_first_touch", "02_affinity", "03_scheduling", "06_message_latency")
        ),
    ],
)  # fmt: skip
def test_solutions_pass_in_the_sandbox(
    installation: Installation,
    labs: dict[str, Lab],
    node: Json,
    sandbox: Sandbox,
    schema: Path,
    name: str,
    language: str,
) -> None:
    """As submissions, so that they are compiled in it, too; without times. What depends on other
    load is tried again."""
    lab = labs[name]
    if lab.calls_mpi and not json.loads((installation.build / "build.json").read_text())["mpi"]:
        pytest.skip("this build of the kit has no MPI")
    grader = Grader(installation, lab, node, sandbox, installation.solution_folder(name))
    for _ in range(3):
        session = Grading(
            installation,
            lab,
            language,
            "submission",
            grader.folder,
            EFFORT,
            node,
            lambda step: None,
            sandbox=sandbox,
            timing_refused="Not timed here.",
        )
        with installation.lock():
            build_targets(installation, [installation.monitor(name).name])
            assert session.build(), session.record.build
            gather_evidence(session)
        jsonschema.validate(record_json(session.record), json.loads(schema.read_text()))
        kinds = {c.name: c for c in session.verdict().criteria if c.kind != "timing"}
        wanted = [c for c in lab.criteria if c.kind != "timing" and not c.file]
        bad = {
            c.name: kinds[c.name].why
            for c in wanted
            if kinds[c.name].status not in ("pass", "not_gradable", "inconclusive")
        }
        if not bad:
            break
    assert not bad
    assert {run["outcome"]["status"] for run in kept_runs(session)} == {"ok"}


# ---- the command ----------------------------------------------------------------------------


def test_where_it_is_missing_grading_says_so_or_refuses(
    installation: Installation, sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    path = without_bubblewrap(tmp_path / "bin")
    handed_in = tmp_path / "ada" / "01_first_touch"
    handed_in.mkdir(parents=True)
    (handed_in / "kernel.c").write_text("wrong\n")
    arguments = ["01", "--lang", "c", "--quick", "--submission", str(handed_in.parent)]
    refused = numalab_command(installation, "grade", *arguments, "--require-sandbox", PATH=path)
    assert refused.code == 3 and "bubblewrap (bwrap) is not installed" in refused.said
    assert "nothing was graded" in refused.said and not refused.out
    done, data = grade_json(installation, tmp_path, *arguments, "--sandbox", PATH=path)
    assert done.code == 1 and data["sandbox"] == "none"
    assert "sandbox: none" in done.said and "install the package bubblewrap" in done.said
    done, data = grade_json(installation, tmp_path, *arguments, "--require-sandbox")
    assert done.code == 1 and data["sandbox"] == "bubblewrap"
    assert "sandbox: bubblewrap" in done.said


def test_a_sandbox_that_can_not_be_made_is_told(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = tmp_path / "bwrap"
    refuses.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    refuses.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find_sandbox(installation)
    assert isinstance(found, NoSandbox) and "No permissions to create new namespace" in found.why
    finding = sandbox_finding(found)
    assert finding.level == "note" and "administrator" in finding.remedy


@pytest.mark.parametrize(
    ("setting", "value", "words", "command"),
    [
        ("user/max_user_namespaces", "0", "let users",
         "sudo sysctl user.max_user_namespaces=10000"),
        ("kernel/unprivileged_userns_clone", "0", "let users",
         "sudo sysctl kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor-profiles", LOAD_PROFILE),
        ("kernel/apparmor_restrict_unprivileged_userns", "0", "A container", ""),
        ("kernel/osrelease", "6.8.0", "A container", ""),
    ],
)  # fmt: skip
def test_what_lets_a_sandbox_be_made_depends_on_who_refuses(
    tmp_path: Path, setting: str, value: str, words: str, command: str
) -> None:
    file = tmp_path / "proc/sys" / setting
    file.parent.mkdir(parents=True)
    file.write_text(f"{value}\n")
    found = no_user_namespaces("why", tmp_path)
    assert words in found.remedy and (found.why, found.command) == ("why", command)
    assert found.remedy.endswith(":") == bool(command)
    assert found.advice.endswith(command or ".")


def test_roots_of_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert other_roots([], {"CONDA_PREFIX": str(tmp_path)}, Path("/opt/kit")) == [str(tmp_path)]


def test_roots_never_show_the_kit_or_a_home(tmp_path: Path) -> None:
    installation, site = tmp_path / "kit", tmp_path / "site"
    for folder in (installation / "bin", site / "bin", site / "lib"):
        folder.mkdir(parents=True)
    for folder in (installation, site):
        shutil.copy("/bin/true", folder / "bin" / "gcc")
    paths = f"{installation}/lib:{site}/lib:{tmp_path}:/:/usr/lib:{Path.home()}:relative"
    programs = [str(installation / "bin" / "gcc"), str(site / "bin" / "gcc")]
    found = other_roots(programs, {"LD_LIBRARY_PATH": paths}, installation)
    assert found == [str(site), str(site / "lib")]
    # conda's and Spack's name what is above their folders.
    conda = {"CONDA_PREFIX": str(site), "CMAKE_PREFIX_PATH": f"{tmp_path}:{installation}"}
    assert other_roots([], conda, installation) == [str(site)]
