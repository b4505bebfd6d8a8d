"""Grading for real, as the command line does it on this node."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import (
    SOON_LIMIT_S,
    assert_all_gone,
    command_under_way,
    environment,
    grade_json,
    numalab_command,
    processes_of,
    statuses,
    wait_for,
    wait_for_workers,
    without_times,
    worker_processes,
)  # fmt: skip
from support.steering import STEERING

from numalab.errors import Interrupted
from numalab.evidence.kinds import CHECK, PLACEMENT, TIMED_ROUND, TRACE
from numalab.evidence.page_mode import mode_of_workers
from numalab.evidence.read_record import load
from numalab.evidence.record import Evidence
from numalab.grading.file_choice import is_pristine, unchanged_files
from numalab.harness.monitor import THIS_MACHINE
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import KERNEL_FILES, Lab

pytestmark = pytest.mark.builds

Json = dict[str, Any]
LANGUAGES = ("c", "fortran")


@pytest.fixture(scope="module")
def solutions(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, Json]:
    folder = tmp_path_factory.mktemp("out")
    done, data = grade_json(
        installation, folder, "--solutions", "--quick", "--lang", "c", "--afresh"
    )
    return done.code, data


@pytest.fixture(scope="module")
def in_fortran(
    installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, Json]:
    """The solutions. Times are compared in the same way in both languages, so C's are enough. The
    shell has all set that would steer what is seen: the results are the same, or tests fail. TMPDIR
    is longer than the name of a socket may be."""
    folder = tmp_path_factory.mktemp("out")
    temporary = folder / ("x" * 120)
    temporary.mkdir()
    env = STEERING | without_times(folder) | {"TMPDIR": str(temporary)}
    done, data = grade_json(
        installation, folder, "--solutions", "--quick", "--lang", "fortran", **env
    )
    assert not list(temporary.iterdir())
    return done.code, data


@pytest.fixture(scope="module", params=["c", pytest.param("fortran", marks=pytest.mark.slow)])
def handouts(
    installation: Installation,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> tuple[int, Json]:
    """Without times, which cost most of it all: wrong submissions are timed. TMPDIR is gone."""
    folder = tmp_path_factory.mktemp("out")
    asked = ("--handouts", "--quick", "--lang", request.param)
    env = without_times(folder) | {"TMPDIR": "/nowhere"}
    done, data = grade_json(installation, folder, *asked, **env)
    return done.code, data


FIRST_TOUCH = 1  # the lab's place among all


def as_declared(labs: dict[str, Lab], data: Json) -> None:
    """Each criterion as lab.toml has it for the variant; times may stay open on a busy node."""
    for result in data["results"]:
        for criterion in result["criteria"]:
            declared = next(c for c in labs[result["lab"]].criteria if c.name == criterion["name"])
            fails_from = declared.handout_fails_from
            must_fail = (
                result["variant"] == "handout"
                and fails_from is not None
                and data["node"]["numa_nodes"] >= fails_from
            )
            allowed = {"fail" if must_fail else "pass", "not_gradable"}
            if declared.kind == "timing" or declared.rule == "balanced":
                allowed.add("inconclusive")
            if declared.needs_huge_page_mode and mode_of_workers(data["node"]) == "always":
                allowed.add("pass")
            assert criterion["status"] in allowed, (result["lab"], result["language"], criterion)


@pytest.mark.timed
def test_solutions_pass_what_the_node_can_show(
    labs: dict[str, Lab], solutions: tuple[int, Json]
) -> None:
    assert_solutions_pass(labs, "c", *solutions)


def test_solutions_in_fortran_pass(labs: dict[str, Lab], in_fortran: tuple[int, Json]) -> None:
    assert_solutions_pass(labs, "fortran", *in_fortran)


def assert_solutions_pass(labs: dict[str, Lab], language: str, code: int, data: Json) -> None:
    assert code == 0
    graded = [(name, language) for name, lab in labs.items() if language in lab.languages]
    assert [(r["lab"], r["language"]) for r in data["results"]] == graded
    as_declared(labs, data)
    found = statuses(data["results"][FIRST_TOUCH])
    assert found["correct"] == found["shared_out"] == found["touched_where_used"] == "pass"
    if data["node"]["numa_nodes"] == 1:
        assert found["local_pages"] == found["speedup"] == "not_gradable"
    else:
        assert found["local_pages"] == "pass"


def test_handouts_fail_what_they_are_meant_to_fail(
    labs: dict[str, Lab], handouts: tuple[int, Json]
) -> None:
    code, data = handouts
    assert code == 1
    language = data["results"][0]["language"]
    graded = [name for name, lab in labs.items() if language in lab.languages]
    assert [result["lab"] for result in data["results"]] == graded
    as_declared(labs, data)
    threads = data["node"]["cores"] if data["node"]["numa_nodes"] == 1 else None
    found = {c["name"]: c for c in data["results"][FIRST_TOUCH]["criteria"]}
    assert found["correct"]["status"] == found["shared_out"]["status"] == "pass"
    if threads:
        assert found["touched_where_used"]["value"] == pytest.approx(1 / threads, abs=0.02)
        assert "first written by thread 0" in found["touched_where_used"]["why"]


@pytest.mark.timed
def test_json_keeps_the_contract(solutions: tuple[int, Json]) -> None:
    _, data = solutions
    assert data["schema"] == 1
    assert {"name", "numa_nodes"} <= data["node"].keys()
    for result in data["results"]:
        assert result.keys() >= {
            "lab", "language", "variant", "status", "points", "max_points", "ungraded_points",
            "earnable_points", "criteria",
        }  # fmt: skip
        assert result["variant"] == "solution"
        assert result["max_points"] == sum(c["max_points"] for c in result["criteria"]) == 10, (
            result
        )
        assert result["points"] == sum(c["points"] for c in result["criteria"])
        for criterion in result["criteria"]:
            assert criterion.keys() >= {
                "name", "kind", "status", "value", "unit", "points", "max_points", "where", "why",
            }  # fmt: skip
            assert criterion["where"] == "here"
            if criterion["status"] != "pass":
                assert criterion["points"] == 0


def orders_of_rounds(installation: Installation) -> set[tuple[str, ...]]:
    """In which orders the roles ran in the rounds of all generations."""
    folder = installation.results_folder("01_first_touch", "c", "solution")
    data = json.loads((folder / "evidence.json").read_text())
    orders = set()
    for run in data["runs"]:
        rounds: dict[int, list[str]] = {}
        for sample in sorted(run.get("samples", []), key=lambda sample: sample["order"]):
            rounds.setdefault(sample["repetition"], []).append(sample["role"])
        orders |= {tuple(roles) for roles in rounds.values()}
    return orders


@pytest.mark.timed
def test_kept_evidence_follows_the_schema(
    installation: Installation, solutions: tuple[int, Json]
) -> None:
    evidence = kept_evidence(installation, "c")
    assert evidence.runs_of(TIMED_ROUND)
    for generation in evidence.runs_of(TIMED_ROUND):
        repetitions = {len(times) for times in generation.elapsed_s.values()}
        assert len(repetitions) == 1
        assert 1 <= repetitions.pop() <= effort_for("quick", True).most_repetitions
        assert generation.roles["submission"].results.checked >= 3 * generation.n
    assert len(orders_of_rounds(installation)) > 1


def test_kept_evidence_of_fortran_follows_the_schema(
    installation: Installation, in_fortran: tuple[int, Json]
) -> None:
    assert not kept_evidence(installation, "fortran").runs_of(TIMED_ROUND)


def kept_evidence(installation: Installation, language: str) -> Evidence:
    """Of the first lab's solution, looked through."""
    evidence = load(
        installation.results_folder("01_first_touch", language, "solution") / "evidence.json"
    )
    sizes = [one.n for one in evidence.runs_of(CHECK)[0].checks]
    assert sizes[:5] == [1, 7, 1000, 4099, 100003]
    assert {n % 64 for n in sizes[5:]} == set(range(64))  # whatever the width of a vector
    for number, one in enumerate(evidence.runs_of(CHECK)[0].checks):
        comparisons = 4 if number < 5 else 2  # once initialised, computed three times, or once
        assert one.results.checked % (3 * comparisons) == 0  # three arrays
    # Every run has compared every element of its three arrays.
    for run in (*evidence.runs_of(TRACE), *evidence.runs_of(PLACEMENT)):
        assert run.results.checked > 0
        assert run.results.checked % 3 == 0
    for trace in evidence.runs_of(TRACE):
        pages = trace.arrays[0].checked_pages.pages
        assert trace.n == pages * evidence.node["page_bytes"] // 4 >= 1 << 21
        assert trace.results.checked == 3 * pages * evidence.node["page_bytes"] // 4
    assert len(evidence.runs_of(TRACE)) == 3
    assert {trace.order for trace in evidence.runs_of(TRACE)} == {
        "natural",
        "ascending",
        "descending",
    }
    (placement,) = evidence.runs_of(PLACEMENT)
    assert len(placement.cpu_time) >= evidence.node["cores"]
    # The team shares the work evenly, however long others kept it from its cores.
    at_work_s = [one.cpu_s for one in placement.cpu_time[: evidence.node["cores"]]]
    assert min(at_work_s) > 0.1 * max(at_work_s)
    assert placement.residency is not None
    assert placement.residency.keys() == {"a", "b", "c"}
    # Each thread of the team is kept on a core of its own.
    team = placement.threads[: evidence.node["cores"]]
    assert len({thread.core for thread in team}) == len(team)
    return evidence


@pytest.mark.timed
def test_every_part_of_a_grading_is_accounted_for(solutions: tuple[int, Json]) -> None:
    _, data = solutions
    for result in data["results"]:
        assert result["build"]["status"] == "ok"
        spent = result["spent_s"].keys()
        assert {"set-up check", "build", "evidence", "judging"} <= spent
        assert spent <= {"set-up check", "build", "evidence", "judging", "timing", "data races"}
        kinds = {c["kind"] for c in result["criteria"] if c["status"] != "not_gradable"}
        assert ("timing" in spent) == ("timing" in kinds)
        assert all(seconds >= 0 for seconds in result["spent_s"].values())


def test_submission_folder_and_report(installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "01_first_touch"
    folder.mkdir(parents=True)
    shutil.copy(installation.pristine_folder("01_first_touch") / "kernel.c", folder)
    done = numalab_command(
        installation, "grade", "01", "--quick", "--here-only", "--submission", str(folder.parent),
        **without_times(tmp_path),
    )  # fmt: skip
    assert done.code == 1
    # 80 columns, no colour codes into a pipe
    assert max(len(line) for line in done.out.splitlines()) <= 80
    assert "\033" not in done.out
    assert "FAIL  touched_where_used  0/2" in done.out
    assert "first written by 0000" in done.out
    assert "used by          0000" in done.out
    assert "still the starting code" in done.out
    # Fortran was not handed in, and this is said with the place
    assert f"thereisno{folder / 'kernel.f90'}" in "".join(done.out.split())


def test_which_files_are_still_the_handouts(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    lab, builds = labs["07_hybrid"], tmp_path / "build"
    of_test = replace(installation, builds=builds)
    pristine, folder = of_test.pristine_folder(lab.name), tmp_path / lab.name
    for one in (pristine, folder):
        one.mkdir(parents=True)
        for name in ("kernel.c", "kernel.f90", "launch.toml"):
            shutil.copyfile(installation.lab_folder(lab.name) / name, one / name)
    assert unchanged_files(of_test, lab, "c", folder) == ["kernel.c", "launch.toml"]
    assert is_pristine(of_test, lab, "c", folder, includes_files=True)
    (folder / "launch.toml").write_text("edited")
    assert unchanged_files(of_test, lab, "fortran", folder) == ["kernel.f90"]
    assert is_pristine(of_test, lab, "c", folder)
    assert not is_pristine(of_test, lab, "c", folder, includes_files=True)
    (folder / "kernel.c").unlink()
    assert unchanged_files(of_test, lab, "c", folder) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["grade", "01_first_tuch"], "Did you mean 01_first_touch?"),
        (["grade", "--solutions", "--handouts"], "exclude each other"),
        (["grade", "--quick", "--size", "published"], "exclude each other"),
        (["grade", "--submission", "/no/such/folder"], "there is no such folder"),
        (["grade", "--submission", "/etc/passwd"], "is a file; name the folder above"),
        (["grade", "--submission", "solutions/01_first_touch"], "Did you mean --submission"),
        (["grade", "--json", "/no/such/folder/out.json"], "there is no folder /no/such/folder"),
        (["grade", "--json", "/"], "that is a folder"),
        (["grade", "--lang", "cobol"], "'cobol' is not one of"),
        (["grade", "--json", "/proc/out.json"], "not writable"),
        (["hint"], "Missing argument"),
        (["hint", "01", "--level", "9"], "has 3 hints"),
        (["nonsense"], "No such command"),
    ],
)
def test_misuse_gets_exit_code_2_and_a_sentence(
    installation: Installation, arguments: list[str], says: str
) -> None:
    done = numalab_command(installation, *arguments)
    assert done.code == 2
    assert says in done.said


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["tracing", "timing"])
def test_an_interrupt_keeps_what_was_found_and_leaves_nothing_running(
    installation: Installation, tmp_path: Path, sent: signal.Signals, moment: str
) -> None:
    path = tmp_path / "out.json"
    arguments = ("01", "--solutions", "--lang", "c", "--afresh", "--json", str(path))
    with command_under_way(installation, "grade", *arguments) as process:
        wait_for(moment, process)
        wait_for_workers(installation)
        process.send_signal(sent)
        out, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert worker_processes(installation) == []
    assert "pass  correct" in out
    data = json.loads(path.read_text())
    assert data["interrupted"] is True
    found = statuses(data["results"][0])
    assert found["correct"] == "pass"
    assert found["efficiency"] == "inconclusive"
    assert "open  efficiency" in out and "Interrupted before it was" in out


class Hasty(subprocess.Popen[str]):
    """Ctrl-C comes when it runs, and before its caller knows it."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        started.append(self)
        signal.raise_signal(signal.SIGINT)


started: list[Hasty] = []


def test_an_interrupt_finds_what_is_just_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Hasty)
    with pytest.raises(Interrupted):
        THIS_MACHINE.execute(["sleep", "600"], os.environ)
    (process,) = started
    assert process.returncode == -signal.SIGTERM


@contextmanager
def grading_in_the_middle(installation: Installation) -> Iterator[subprocess.Popen[str]]:
    """A command that is timing right now."""
    with command_under_way(
        installation, "grade", "01", "--solutions", "--lang", "c", "--afresh"
    ) as process:
        wait_for("timing", process)
        wait_for_workers(installation)
        yield process


def test_nothing_survives_a_killed_command(installation: Installation) -> None:
    with grading_in_the_middle(installation) as process:
        process.kill()
        process.communicate(timeout=SOON_LIMIT_S)
    assert_all_gone(installation)


def test_nothing_survives_a_killed_monitor(installation: Installation) -> None:
    """One that was at its end already leaves its record; then it is the next one."""
    deadline = time.monotonic() + SOON_LIMIT_S
    with grading_in_the_middle(installation) as process:
        while process.poll() is None:
            assert time.monotonic() < deadline
            for pid in processes_of(installation.monitor("01_first_touch")):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        _, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 3
    assert "the monitor gave no record" in err
    assert_all_gone(installation)


def test_no_times_on_a_login_node(installation: Installation, tmp_path: Path) -> None:
    _, data = grade_json(
        installation,
        tmp_path,
        "01",
        "--quick",
        "--solutions",
        "--lang",
        "c",
        **without_times(tmp_path),
    )
    found = {c["name"]: c for c in data["results"][0]["criteria"]}
    assert found["touched_where_used"]["status"] == "pass"
    assert found["efficiency"]["status"] == "not_gradable"
    assert "login node" in found["efficiency"]["why"]


def test_results_that_cannot_be_kept_do_not_cost_the_report(
    installation: Installation, tmp_path: Path
) -> None:
    folder = installation.results_folder("01_first_touch", "c", "solution").parent
    aside = folder.with_name("c-aside")
    folder.mkdir(parents=True, exist_ok=True)
    folder.rename(aside)
    folder.write_text("in the way\n")
    try:
        done, data = grade_json(
            installation,
            tmp_path,
            "01",
            "--quick",
            "--solutions",
            "--lang",
            "c",
            **without_times(tmp_path),
        )
    finally:
        folder.unlink()
        aside.rename(folder)
    assert "the results can't be kept in" in done.said
    assert "pass  correct" in done.out
    assert statuses(data["results"][0])["correct"] == "pass"


def test_two_at_once_are_refused(installation: Installation) -> None:
    with installation.lock():
        done = numalab_command(installation, "grade", "01", "--quick")
    assert done.code == 2
    assert "another numalab command" in done.said


def test_doctor_tells_what_the_node_can_show(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    done = numalab_command(installation, "doctor", "--json", str(path))
    assert done.code == 0
    assert max(len(line) for line in done.out.splitlines()) <= 80
    data = json.loads(path.read_text())
    topics = {finding["topic"]: finding for finding in data["findings"]}
    assert {"NUMA nodes", "userfaultfd", "process_vm_readv", "move_pages"} <= topics.keys()
    assert topics["process_vm_readv"]["level"] == "good"
    lab = data["labs"]["01_first_touch"]
    assert "correct" in lab["gradable"]
    assert ("local_pages" in lab["gradable"]) == (data["node"]["numa_nodes"] > 1)


@pytest.mark.slow
def test_ctest_agrees(installation: Installation, tmp_path: Path) -> None:
    """The CTest way, on the solution: passed, or skipped where not gradable."""
    report = tmp_path / "ctest.xml"
    done = subprocess.run(
        [
            "ctest",
            "--test-dir",
            str(installation.build),
            "-L",
            "01_first_touch",
            "-L",
            "fortran",
            "--output-junit",
            str(report),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment(
            installation, NUMALAB_SUBMISSION=str(installation.root / "solutions"), NUMALAB_QUICK="1"
        ),
    )
    assert done.returncode == 0, done.stdout
    assert "01_first_touch-fortran-measure" in done.stdout
    for name in ("correct", "shared_out", "touched_where_used", "efficiency"):
        assert f"01_first_touch-fortran-{name} " in done.stdout
    assert "out of 7" in done.stdout
    verdict = json.loads(
        (
            installation.results_folder("01_first_touch", "fortran", "submission") / "verdict.json"
        ).read_text()
    )
    for name, status in statuses(verdict).items():
        line = next(
            line
            for line in done.stdout.splitlines()
            if f"01_first_touch-fortran-{name} " in line and "#" in line
        )
        assert ("Skipped" in line) == (status in ("not_gradable", "inconclusive")), line


def test_ctest_fails_what_the_verdict_fails(installation: Installation, tmp_path: Path) -> None:
    done = subprocess.run(
        ["ctest", "--test-dir", str(installation.build), "-L", "01_first_touch", "-L", "^c$"],
        capture_output=True, text=True, check=False,
        env=environment(installation, NUMALAB_SUBMISSION=str(installation.build / "handouts"),
                        NUMALAB_QUICK="1", **without_times(tmp_path)),
    )  # fmt: skip
    assert done.returncode != 0
    assert "01_first_touch-c-touched_where_used (Failed)" in done.stdout
    assert "01_first_touch-c-correct (Failed)" not in done.stdout


def test_in_process_tracing_gives_the_same_shares(
    installation: Installation, tmp_path: Path
) -> None:
    """Where userfaultfd is refused; asked for here."""
    program = installation.worker("01_first_touch", "c", "handout")
    subprocess.run(
        ["ninja", "-C", str(installation.build), program.name], check=True, capture_output=True
    )
    done = subprocess.run(
        [str(installation.monitor("01_first_touch")), "trace", "--worker", f"submission={program}",
         "--size", "quick", "--touch-map", "in_process", "--threads", "2"],
        capture_output=True, text=True, check=True,
        env=os.environ | {"OMP_NUM_THREADS": "2", "OMP_PLACES": "cores", "OMP_PROC_BIND": "true"},
    )  # fmt: skip
    touch_map = json.loads(done.stdout)["touch_map"]
    assert touch_map["method"] == "in_process"
    for array in touch_map["arrays"]:
        traced = sum(count for _, count in array["blocks"])
        assert 600 <= traced <= 682 < 2048 <= array["pages"]
        assert array["first_writer"] == [[0, traced]]
        assert array["users"] == [[[0], traced // 2], [[1], traced // 2]]


def graded_kernel(installation: Installation, folder: Path, language: str, source: str) -> str:
    (folder / "01_first_touch").mkdir(exist_ok=True)
    (folder / "01_first_touch" / KERNEL_FILES[language]).write_text(source)
    done = numalab_command(
        installation,
        "grade",
        "01",
        "--quick",
        "--here-only",
        "--lang",
        language,
        "--submission",
        str(folder),
        **without_times(folder),
    )
    return done.out


def test_what_a_linker_says_names_the_students_file(
    installation: Installation, tmp_path: Path
) -> None:
    """And no file of the build, which fill a line of a terminal."""
    source = (installation.solution_folder("01_first_touch") / "kernel.c").read_text()
    name = "in_no_library_that_is_linked_with_kernels_of_this_or_of_another_lab"
    report = graded_kernel(
        installation,
        tmp_path,
        "c",
        f"void {name}(void);\n" + source.replace("{\n", f"{{\n    {name}();\n", 1),
    )
    said = report.partition("The compiler says:")[2].partition("Next:")[0]
    assert f"undefined reference to `{name}'" in " ".join(said.split())
    assert "kernel.c: in function `initialize'" in " ".join(said.split())
    assert "submission" not in said
    assert max(map(len, report.splitlines())) <= 80


def test_a_misspelt_directive_is_shown_each_time(
    installation: Installation, tmp_path: Path
) -> None:
    solution = (installation.solution_folder("01_first_touch") / "kernel.c").read_text()
    source = solution.replace("omp parallel for", "omp paralel for", 1)
    for _ in range(2):
        report = graded_kernel(installation, tmp_path, "c", source)
        assert "Warnings:" in report
        assert "paralel" in report
        assert "A hint: ./numalab hint 01" in report
    assert "Warnings:" not in graded_kernel(installation, tmp_path, "c", solution)

    fortran = (installation.solution_folder("01_first_touch") / "kernel.f90").read_text()
    report = graded_kernel(
        installation, tmp_path, "fortran", fortran.replace("!$omp par", "!omp par", 1)
    )
    assert "is a comment; an OpenMP line begins with !$omp" in " ".join(report.split())


def test_what_a_kernel_prints_is_mentioned(installation: Installation, tmp_path: Path) -> None:
    solution = (installation.solution_folder("01_first_touch") / "kernel.c").read_text()
    assert BODY_OF_COMPUTE in solution
    source = "#include <stdio.h>\n" + solution.replace(
        BODY_OF_COMPUTE, f'{BODY_OF_COMPUTE}    puts("here I am");\n'
    )
    assert "Your kernel prints. The first line: here I am" in graded_kernel(
        installation, tmp_path, "c", source
    )


def test_a_main_program_in_the_kernel_is_named(installation: Installation, tmp_path: Path) -> None:
    solution = (installation.solution_folder("01_first_touch") / "kernel.c").read_text()
    report = graded_kernel(installation, tmp_path, "c", solution + "int main(void) { return 0; }\n")
    assert "kernel.c defines a main program; the kit has its own." in " ".join(report.split())


# ---- kernels that are right only where it is easy --------------------------------------

BODY_OF_COMPUTE = "const float *restrict c)\n{\n"  # of lab 01's solution in C


@pytest.mark.parametrize(
    ("compute", "says"),
    [
        ("static int calls; if (++calls % 4 == 3) return;", "after call 3 of compute"),
        ("if (n > 200000) return;", "wrong elements"),
        # the products of the first call, where no small size shows it
        ("static float *kept; static size_t size; if (n > 200000) { if (size != n) {"
         " kept = malloc(4 * n); size = n; for (size_t i = 0; i < n; i++) kept[i] = b[i] * c[i]; }"
         " for (size_t i = 0; i < n; i++) a[i] += kept[i]; return; }", "wrong element"),
        ("if (n < 4) return;", "with n = 1"),
    ],
    ids=["third_call", "large_only", "cached_if_large", "small_only"],
)  # fmt: skip
def test_a_kernel_that_is_wrong_somewhere_is_found(
    installation: Installation, tmp_path: Path, compute: str, says: str
) -> None:
    folder = tmp_path / "01_first_touch"
    folder.mkdir()
    solution = (installation.solution_folder("01_first_touch") / "kernel.c").read_text()
    assert solution.count(BODY_OF_COMPUTE) == 1
    body = solution.replace(BODY_OF_COMPUTE, f"{BODY_OF_COMPUTE}{compute}\n")
    (folder / "kernel.c").write_text("#include <stdlib.h>\n" + body)
    _, data = grade_json(
        installation, tmp_path, "01", "--quick", "--lang", "c", "--submission", str(tmp_path)
    )
    correct = data["results"][0]["criteria"][0]
    assert correct["status"] == "fail"
    assert says in correct["why"]


# ---- kernels that fight back ---------------------------------------------------------

HARMLESS = """
void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) { a[i] = 0; b[i] = (float)(i % 7); c[i] = 1; }
    static int calls;
    if (n > 100 && calls++ == 0) { EXTRA }
}
void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
"""


@pytest.mark.parametrize(
    ("extra", "status", "says"),
    [
        # children in groups of their own, which outlive their parents
        ('if (system("timeout 90 sleep 85.TAG & setsid sleep 86.TAG &")) return;', "fail",
         "has started a process of its own"),
        # a child that wakes its parent whenever it is stopped
        ("pid_t parent = getpid(); if (fork() == 0) for (;;) kill(parent, SIGCONT);",
         "fail", "kept the process from being stopped|something woke it"),
        ("munmap((void *)((unsigned long)b & ~4095ul), 4096);", "fail", "no longer where it was"),
        ("for (int i = 0; i < 40; i++) if (fork() == 0) for (;;) pause();", "fail",
         "has started a process of its own"),
        ("shutdown(3, SHUT_WR);", "fail", "closed descriptor 3"),
        ("for (int i = 0; i < 1000; i++) write(3, extra, 8);", "fail", "descriptor 3"),
        ("_mm_store_ps(a + 1, _mm_load_ps(b + 1));", "fail", "not aligned for it"),
    ],
    ids=["orphans", "keeps_waking", "unmaps", "children", "shuts_down", "floods", "misaligned"],
)  # fmt: skip
def test_a_kernel_that_fights_back_gets_a_verdict_and_leaves_nothing(
    installation: Installation, tmp_path: Path, extra: str, status: str, says: str
) -> None:
    folder = tmp_path / "01_first_touch"
    folder.mkdir()
    headers = ("immintrin.h", "signal.h", "stdlib.h", "sys/mman.h", "sys/socket.h", "unistd.h")
    source = "#define _GNU_SOURCE\n" + "".join(f"#include <{h}>\n" for h in headers)
    source += '#include "first_touch.h"\nstatic char extra[600];\n'
    tag = f"{os.getpid():07d}"  # of this process of pytest: another suite may be under way
    extra = extra.replace("TAG", tag)
    (folder / "kernel.c").write_text(source + HARMLESS.replace("EXTRA", "(void)extra; " + extra))
    _, data = grade_json(
        installation, tmp_path, "01", "--quick", "--lang", "c", "--submission", str(tmp_path)
    )
    (result,) = data["results"]
    correct = result["criteria"][0]
    assert correct["status"] == status, correct
    assert any(words in correct["why"] for words in says.split("|")), correct["why"]
    assert_all_gone(installation)
    # What was killed is gone when its turn comes; by itself it would end much later.
    orphans = ["pgrep", "-f", f"^sleep 8[56].{tag}$"]
    deadline = time.monotonic() + 20
    while subprocess.run(orphans, stdout=subprocess.DEVNULL).returncode == 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
