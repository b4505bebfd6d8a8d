"""Batches on a Slurm of this machine's own, and on this machine: a stand-in grades, and once the
kit itself."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.commands import COMMAND_LIMIT_S, Done, environment, without_times

from numalab.course import attempts
from numalab.course.attempts import all_attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.installation import Installation
from numalab.virtual.local_machine import cache_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import own_slurm
from own_slurm import NoSlurm, OwnSlurm, fetched

pytestmark = pytest.mark.builds

LAB = "01_first_touch"
STAND_IN = Path(own_slurm.__file__).parent / "stand_in_grade.sh"
QUICK_LOOKS = ("--poll", "0.1", "--grace", "2")
LIMIT_S = 300  # of a command, and of what is waited for: Slurm takes its time on a busy node


@contextmanager
def administered(own: OwnSlurm) -> Iterator[None]:
    """Nodes that a busy machine kept from answering are put into service again, in the midst of a
    test, too: jobs would wait for them without end."""
    is_over = threading.Event()

    def administer() -> None:
        while not is_over.wait(5):
            with suppress(subprocess.TimeoutExpired):
                own.resume_drained()

    administrator = threading.Thread(target=administer, daemon=True)
    administrator.start()
    try:
        yield
    finally:
        is_over.set()
        administrator.join()


@pytest.fixture(scope="module")
def slurm() -> Iterator[OwnSlurm]:
    # Short, since a socket's path has little room.
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        try:
            own = OwnSlurm(Path(folder), fetched(cache_folder()), ("n1", "n2"))
        except NoSlurm as error:
            pytest.skip(f"no Slurm of this machine's own: {error}")
        try:
            own.start()
            with administered(own):
                yield own
        finally:
            own.stop()
        assert own.left_over() == []


def class_of(folder: Path, words: Mapping[str, str]) -> Path:
    """A delivery: students, each with what the stand-in is to make of the kernel."""
    for student, word in words.items():
        kernel = folder / student / LAB / "kernel.c"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(f"/* {student} stand-in: {word} */\n")
    return folder


def arguments(delivery: Path, course: Path, *more: str) -> list[str]:
    return [
        "batch", "grade", str(delivery), "--out", str(course), "--grading-command",
        str(STAND_IN), *QUICK_LOOKS, *more,
    ]  # fmt: skip


def lets_quick_count(course: Path) -> None:
    course.mkdir()
    (course / "course.toml").write_text("allow_quick = true\n")


def held_up(words: list[str], folder: Path, first: str) -> list[str]:
    """The same, with what the shell is to do before each grading. folder: for a script."""
    stand_in = folder / "stand_in.sh"
    stand_in.write_text(f'#!/bin/sh\n{first}\nexec {STAND_IN} "$@"\n')
    stand_in.chmod(0o755)
    return [str(stand_in) if word == str(STAND_IN) else word for word in words]


@pytest.fixture
def own(installation: Installation, slurm: OwnSlurm) -> dict[str, str]:
    """What commands are started with."""
    slurm.until_idle()
    return environment(installation) | slurm.environment | {"NUMALAB_STAND_IN_S": "0.2"}


def run(
    installation: Installation, words: list[str], env: dict[str, str], limit_s: float = LIMIT_S
) -> Done:
    done = subprocess.run(
        [str(installation.root / "numalab"), *words], env=env, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=limit_s, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr).no_traceback()


def started(
    installation: Installation, words: list[str], env: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(installation.root / "numalab"), *words], env=env, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, f"{what}: not within {LIMIT_S} s"
        time.sleep(0.05)


def under_way(course: Path) -> int:
    """Gradings. Not by rglob, which looks into folders that may just have got their names."""
    return len(list((course / "attempts").glob("*/*/*/.partial-*")))


def booked(course: Path) -> list[tuple[str, int, str]]:
    with sqlite3.connect(course / "gradebook.sqlite") as database:
        return sorted(database.execute("SELECT student, number, state FROM attempts"))


def graded(course: Path) -> Counter[str]:
    return Counter(
        one.target.student_id for one in all_attempts(CourseFolder(course)) if one.state == "graded"
    )


def assert_whole(course: Path, students: Mapping[str, str]) -> None:
    """Everybody is graded once, in the files and in the gradebook, and nothing is left over."""
    assert graded(course) == Counter(dict.fromkeys(students, 1))
    assert Counter(s for s, _, state in booked(course) if state == "graded") == graded(course)
    assert runs.active_runs(CourseFolder(course)) == []
    assert not list(course.rglob(".partial-*"))


def test_a_class_on_slurm(installation: Installation, own: dict[str, str], tmp_path: Path) -> None:
    students = {"ada": "right", "bob": "wrong", "eve": "right", "kim": "kit-error"}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "a course"
    done = run(installation, arguments(delivery, course, "--per-job", "2", "--requeues", "1"), own)
    assert done.code == 1, done.err
    said = " ".join(done.out.split())
    assert "kim 01_first_touch: kit error" in said and "the kit is broken" in said
    assert booked(course) == [
        ("ada", 1, "graded"), ("bob", 1, "graded"), ("eve", 1, "graded"),
        ("kim", 1, "kit_error"), ("kim", 2, "kit_error"),
    ]  # fmt: skip
    kept = {one.target.student_id: one for one in all_attempts(CourseFolder(course))}
    assert kept["ada"].results[0]["status"] == "pass" and kept["ada"].job.endswith("_0")
    assert kept["bob"].results[0]["status"] == "fail"
    folder = CourseFolder(course).attempt(kept["ada"].target, 1)
    assert sorted(path.name for path in folder.iterdir()) == [
        "attempt.json", "output.txt", "report.html", "result.json",
    ]  # fmt: skip
    first = min(path for path in (course / "runs").iterdir())
    assert "#SBATCH --array=0-1\n" in (first / "job.sh").read_text()
    # Once more: nothing but kim, and of the changed one a new attempt.
    (delivery / "kim" / LAB / "kernel.c").write_text("fixed")
    before = set((course / "runs").iterdir())
    done = run(installation, arguments(delivery, course), own)
    assert done.code == 0, done.out
    after = set((course / "runs").iterdir())
    new = [runs.read_run(CourseFolder(course), path.name) for path in after - before]
    assert {task.target.student_id for one in new for task in one.tasks} == {"kim"}
    done = run(installation, arguments(delivery, course), own)
    assert done.code == 0 and set((course / "runs").iterdir()) == after
    assert graded(course) == Counter(dict.fromkeys(students, 1))
    done = run(installation, arguments(delivery, course, "--student", "ada", "--regrade"), own)
    assert done.code == 0 and graded(course)["ada"] == 2 and graded(course)["bob"] == 1
    status = run(installation, ["batch", "status", str(course)], own)
    assert "1 of 1 graded" in status.out and "over" in status.out


def test_what_slurm_refuses_is_told(
    installation: Installation, own: dict[str, str], tmp_path: Path
) -> None:
    delivery = class_of(tmp_path / "in", {"ada": "right"})
    done = run(installation, arguments(delivery, tmp_path / "course", "-p", "nosuch"), own)
    assert done.code == 2 and "Invalid partition name specified" in done.said
    # Nothing of it is in the way of the right command.
    assert run(installation, arguments(delivery, tmp_path / "course"), own).code == 0


def test_nothing_is_timed_on_a_login_node(
    installation: Installation, own: dict[str, str], tmp_path: Path
) -> None:
    """Which the cluster's sinfo lists as none of its nodes."""
    delivery = class_of(tmp_path / "in", {"ada": "right"})
    path = f"{without_times(tmp_path)['PATH'].partition(':')[0]}:{own['PATH']}"
    words = ["batch", "grade", str(delivery), "--out", str(tmp_path / "c"), "--local"]
    done = run(installation, words, own | {"PATH": path})
    assert done.code == 2 and "login node" in done.said


def test_jobs_go_on_without_the_command(
    installation: Installation, own: dict[str, str], tmp_path: Path
) -> None:
    students = {"ada": "right", "bob": "right"}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "course"
    done = run(installation, arguments(delivery, course, "--no-wait"), own)
    assert done.code == 0 and "Jobs go on without this command" in done.out
    process = started(installation, arguments(delivery, course), own)
    mine = f"process {process.pid} "
    until(lambda: (course / "lock").read_text().startswith(mine), "the head's lock")
    process.send_signal(signal.SIGINT)
    said = " ".join(process.communicate(timeout=LIMIT_S)[0].split())
    # Too late only if all was done by then. Python itself ends by the signal where that came in
    # the midst of a text that is executed, as a dataclass's; a shell calls both 130.
    ends = (130, -signal.SIGINT)
    assert process.returncode in ends or graded(course) == Counter(students.keys())
    assert "Traceback" not in said
    assert run(installation, arguments(delivery, course), own).code == 0
    assert_whole(course, students)
    assert len(list((course / "runs").iterdir())) == 1


def test_cancelling(
    installation: Installation, own: dict[str, str], slurm: OwnSlurm, tmp_path: Path
) -> None:
    students = {"ada": "right", "bob": "stuck"}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "course"
    process = started(installation, arguments(delivery, course), own)
    until(lambda: bool(graded(course)), "ada's grade")
    until(lambda: bool(under_way(course)), "bob's beginning")
    assert run(installation, ["batch", "cancel", str(course)], own).code == 0
    assert process.wait(LIMIT_S) == 1
    slurm.until_idle()
    assert booked(course) == [("ada", 1, "graded")]
    assert runs.active_runs(CourseFolder(course)) == []
    (delivery / "bob" / LAB / "kernel.c").write_text("fixed")
    assert run(installation, arguments(delivery, course), own).code == 0
    assert_whole(course, students)


def test_preempted_jobs_are_begun_again(
    installation: Installation, own: dict[str, str], slurm: OwnSlurm, tmp_path: Path
) -> None:
    students = {"ada": "right", "bob": "right"}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "course"
    # The first gradings last until they are ended; those after them find the file.
    words = held_up(
        arguments(delivery, course, "--per-job", "1", "-p", "main"), tmp_path,
        f'[ -e "{tmp_path}/go" ] || {{ : >"{tmp_path}/held-$$"; sleep 600; }}',
    )  # fmt: skip
    process = started(installation, words, own)
    # Not `under_way`: a grading is that before its shell looks for the file.
    until(lambda: len(list(tmp_path.glob("held-*"))) == 2, "both gradings")
    (tmp_path / "go").touch()
    urgent = ["--partition=urgent", "--nodes=2", "--exclusive", f"--output={tmp_path}/urgent"]
    done = slurm.command("sbatch", *urgent, "--wrap=sleep 1")
    assert done.returncode == 0, done.stderr
    assert process.wait(LIMIT_S) == 0
    assert_whole(course, students)
    assert len(list((course / "runs").iterdir())) > 1


def kill_head(process: subprocess.Popen[str], slurm: OwnSlurm) -> None:
    del slurm
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_controller(process: subprocess.Popen[str], slurm: OwnSlurm) -> None:
    del process
    slurm.kill("slurmctld")
    time.sleep(1)
    slurm.start_controller(first_job=1000)


def kill_node(process: subprocess.Popen[str], slurm: OwnSlurm) -> None:
    del process
    slurm.kill("n1")
    time.sleep(1)
    slurm.start_node("n1")


# grader/bench/batch_kills.py does it at random moments, and more often.
@pytest.mark.parametrize(
    ("kill", "moment"),
    [(kill_head, "before any grading"), (kill_controller, "while grading"),
     (kill_node, "while grading")],
)  # fmt: skip
def test_whatever_is_killed_nothing_is_lost_or_graded_twice(
    installation: Installation,
    own: dict[str, str],
    slurm: OwnSlurm,
    tmp_path: Path,
    kill: Callable[[subprocess.Popen[str], OwnSlurm], None],
    moment: str,
) -> None:
    students = {f"s{n}": "right" for n in range(6)}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "course"
    words = arguments(delivery, course, "--per-job", "3")
    process = started(installation, words, own)
    if moment == "before any grading":
        until(lambda: bool(list(course.glob("runs/*/run.json"))), "a run")
    else:
        until(lambda: bool(graded(course)), "the first grade")
    kill(process, slurm)
    if process.poll() is None:
        process.wait(LIMIT_S)
    done = run(installation, words, own)
    assert done.code == 0, done.out + done.err
    assert_whole(course, students)


# ---- on this machine ---------------------------------------------------------------------


@pytest.fixture
def here(installation: Installation) -> dict[str, str]:
    return environment(installation) | {"NUMALAB_STAND_IN_S": "0.2"}


def test_a_class_here_goes_on_after_kill(
    installation: Installation, here: dict[str, str], tmp_path: Path
) -> None:
    students = {f"s{n}": "right" for n in range(5)}
    delivery, course = class_of(tmp_path / "in", students), tmp_path / "course"
    # Each command makes one grade, and is at the next until it is ended; the last makes all.
    one, rest = tmp_path / "one", tmp_path / "rest"
    words = held_up(
        arguments(delivery, course, "--local"), tmp_path,
        f'until [ -e "{rest}" ] || rm "{one}" 2>/dev/null; do sleep 0.05; done',
    )  # fmt: skip
    for number, stop in enumerate((signal.SIGINT, signal.SIGKILL)):
        one.touch()
        process = started(installation, words, here)
        until(lambda number=number: sum(graded(course).values()) > number, "a grade")  # type: ignore[misc]
        process.send_signal(stop)
        assert process.wait(LIMIT_S) in (130, -signal.SIGKILL)
        assert sum(graded(course).values()) == number + 1
    rest.touch()
    assert run(installation, words, here).code == 0
    assert_whole(course, students)


def test_what_is_open_is_graded_on_and_so_is_what_only_its_comments_tell_apart(
    installation: Installation, here: dict[str, str], tmp_path: Path
) -> None:
    """By the same command, with the records of all that the student has handed in."""
    delivery, course = class_of(tmp_path / "in", {"ada": "open", "bob": "right"}), tmp_path / "c"
    words = arguments(delivery, course, "--local")
    for number in (1, 2):
        done = run(installation, words, here)
        said = " ".join(done.out.split())
        assert done.code == 0 and "1 grading with open points" in said
        assert booked(course) == [
            *(("ada", n, "graded") for n in range(1, number + 1)), ("bob", 1, "graded"),
        ]  # fmt: skip
    (delivery / "ada" / LAB / "kernel.c").write_text("/* ada again, stand-in: open */\n")
    done = run(installation, words, here)
    assert done.code == 0 and "open points" not in done.out
    found = [a for a in all_attempts(CourseFolder(course)) if a.target.student_id == "ada"]
    before = next(a.target.digest for a in found if a.number == 2)
    assert {
        (a.target.digest == before, a.number): (a.replaces, a.results[0]["points"]) for a in found
    } == {(True, 1): (0, 0), (True, 2): (1, 0), (False, 1): (0, 2)}


def test_a_stuck_grading_is_the_kits_and_ends(
    installation: Installation, here: dict[str, str], tmp_path: Path
) -> None:
    delivery = class_of(tmp_path / "in", {"ada": "stuck", "bob": "right"})
    more = ("--local", "--limit", "5", "--requeues", "0")  # bob takes 0.2 s, on a quiet node
    done = run(installation, arguments(delivery, tmp_path / "course", *more), here)
    assert done.code == 1 and "did not end within 5 s" in " ".join(done.out.split())
    assert booked(tmp_path / "course") == [("ada", 1, "kit_error"), ("bob", 1, "graded")]


@pytest.mark.slow
def test_two_at_a_time_take_times_in_turns(installation: Installation, tmp_path: Path) -> None:
    delivery, course = tmp_path / "in", tmp_path / "course"
    for student in ("ada", "bob"):
        (delivery / student / LAB).mkdir(parents=True)
        source = (installation.pristine_folder(LAB) / "kernel.c").read_text()
        assert "i % 7" in source  # wrong, so that its times do not take long
        source = f"/* {student} */\n{source.replace('i % 7', 'i % 8')}"
        (delivery / student / LAB / "kernel.c").write_text(source)
    lets_quick_count(course)
    words = ["batch", "grade", str(delivery), "--out", str(course), "--quick", "--local"]
    env = {k: v for k, v in environment(installation).items() if k != "NUMALAB_BUILD"}
    done = run(installation, [*words, "--jobs", "2", *QUICK_LOOKS], env, COMMAND_LIMIT_S)
    assert done.code == 0, done.err
    for one in all_attempts(CourseFolder(course)):
        assert one.state == "graded" and one.results[0]["status"] == "fail"
        said = (CourseFolder(course).attempt(one.target, one.number) / "output.txt").read_text()
        assert "waiting until the others' gradings make room for its times" in " ".join(
            said.split()
        )
    assert booked(course) == [("ada", 1, "graded"), ("bob", 1, "graded")]


@pytest.mark.timed
def test_the_kit_grades_a_class(
    installation: Installation, own: dict[str, str], tmp_path: Path
) -> None:
    delivery, course = tmp_path / "in", tmp_path / "course"
    sources = {
        "ada": (installation.solution_folder(LAB) / "kernel.c").read_text(),
        "bob": "int not_a_kernel;\n",
    }
    for student, text in sources.items():
        (delivery / student / LAB).mkdir(parents=True)
        (delivery / student / LAB / "kernel.c").write_text(text)
    lets_quick_count(course)
    words = ["batch", "grade", str(delivery), "--out", str(course), "--quick", *QUICK_LOOKS]
    env = {k: v for k, v in own.items() if k != "NUMALAB_BUILD"}
    done = subprocess.run(
        [str(installation.root / "numalab"), *words], env=env, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=COMMAND_LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one.target.student_id: one for one in all_attempts(CourseFolder(course))}
    assert {name: one.state for name, one in found.items()} == {"ada": "graded", "bob": "graded"}
    ada, bob = found["ada"].results[0], found["bob"].results[0]
    status = {one["name"]: one["status"] for one in ada["criteria"]}
    assert status["correct"] == "pass" and "fail" not in status.values()
    assert bob["status"] == "fail" and bob["points"] == 0
    folder = CourseFolder(course).attempt(found["ada"].target, 1)
    assert (folder / "evidence" / "c" / "evidence.json").is_file()
    # A student reads it elsewhere.
    assert str(tmp_path) not in (folder / "report.html").read_text()
    assert attempts.attempt_numbers(CourseFolder(course), found["ada"].target) == [1]
