"""What a job does on its node, without a grading."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.courses import result
from support.golden_texts import check_text, raises_text

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import node, runs, work
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.jobs.work import GradingExit
from numalab.course.records import Attempt, AttemptState, GradingTarget
from numalab.errors import NumalabError, UserError
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_NUMALAB, EXIT_PASSED
from numalab.grading.node_lock import NODE_LIMIT_S
from numalab.installation import Installation

LAB = "01_first_touch"
AT = "2026-11-22T08:00:00+00:00"
NOW = "2026-11-22T09:00:00+00:00"
ADA = GradingTarget("ada", LAB, "d" * 64, "k" * 64, "quick")
TASK = GradingTask(ADA, 2, ("c",))


def run_of(*chunks: Sequence[GradingTask], **changes: Any) -> BatchRun:
    made = tuple(tuple(chunk) for chunk in chunks)
    run = BatchRun(
        "20261122T080000-abcdef", "local", AT, GradingOptions("quick"), SlurmOptions(), made
    )
    return replace(run, **changes)


def kept(course: CourseFolder, number: int, state: AttemptState, *results: Any) -> None:
    partial = attempts.partial_folder(course, ADA, number, "run", "me")
    partial.mkdir(parents=True)
    made = Attempt(ADA, number, state, AT, AT, results, {}, "none")
    assert attempts.publish(course, partial, made)


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


@pytest.fixture(autouse=True)
def at_nine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "now", lambda: NOW)


# ---- what is asked for, and what came of it --------------------------------------------------


def test_the_arguments_of_a_grading() -> None:
    into, submission = Path("/in to"), Path("/s")
    asked = work.grade_arguments(
        TASK, GradingOptions("quick", options=("--x", "1")), submission, into
    )
    assert asked == [
        LAB, "--lang", "c", "--submission", "/s", "--json", "/in to/result.json",
        "--html", "/in to/report.html", "--quick", "--x", "1",
    ]  # fmt: skip
    both = replace(TASK, languages=("c", "fortran"), target=replace(ADA, effort="default"))
    asked = work.grade_arguments(
        both, GradingOptions("default"), submission, into, [Path("/a"), into]
    )
    assert asked == [
        LAB, "--lang", "all", "--submission", "/s", "--json", "/in to/result.json",
        "--html", "/in to/report.html", "--earlier", "/a", "--earlier", "/in to",
    ]  # fmt: skip


def test_the_command_of_a_grading(installation: Installation) -> None:
    assert work.grade_command(installation, GradingOptions("quick", command=("x", "y"))) == [
        "x",
        "y",
    ]
    assert work.grade_command(installation, GradingOptions("quick")) == [
        sys.executable, "-m", "numalab", "--preset", installation.preset, "grade", "--again",
        work.UNDECIDED_TIMES,
    ]  # fmt: skip


def told(*statuses: str) -> dict[str, Any]:
    return {"criteria": [{"name": f"c{n}", "status": s, "why": s} for n, s in enumerate(statuses)]}


WHOLE = {"results": [told("pass")]}


@pytest.mark.parametrize(
    "outcome",
    [
        GradingExit(0, WHOLE, "x"),
        GradingExit(1, WHOLE | {"interrupted": False}, "x"),
        GradingExit(0, WHOLE | {"interrupted": True}, "x"),
        GradingExit(0, {"results": []}, "x"),
        GradingExit(0, {"results": {}}, "x"),
        GradingExit(1, {}, ""),
        GradingExit(0, [], "bye"),
        GradingExit(None, WHOLE, "x"),
        GradingExit(-9, WHOLE, ""),
        GradingExit(-1, None, "bye"),
        GradingExit(2, None, "bye"),
        GradingExit(2, WHOLE, ""),
        GradingExit(3, {}, ""),
        GradingExit(3, {"results": [{}, told("pass"), told("fail", "error")]}, "x"),
    ],
)
def test_why_a_grading_says_nothing_of_the_student(outcome: GradingExit) -> None:
    check_text(work.why_not_graded(outcome, 60))


@pytest.mark.parametrize(
    ("told", "level"),
    [({"sandbox": "bubblewrap"}, "bubblewrap"), ({"sandbox": "none"}, "none"),
     ({"sandbox": "other"}, "none"), ({}, "none"), (None, "none"), (["sandbox"], "none")],
)  # fmt: skip
def test_how_a_student_was_kept_apart(told: object, level: str) -> None:
    assert work.sandbox_level(told) == level


def test_an_attempt_of_a_grading() -> None:
    graded = WHOLE | {"node": {"name": "n1"}, "sandbox": "bubblewrap"}
    made = work.attempt_of(TASK, GradingExit(1, graded, "x"), 60, AT, "7_0", "rules", 1)
    assert made == Attempt(
        ADA, 2, "graded", AT, NOW, (told("pass"),), {"name": "n1"}, "bubblewrap", "", "7_0",
        "rules", 1,
    )  # fmt: skip
    assert work.attempt_of(TASK, GradingExit(1, graded, "x"), 60, AT, "7_0", "rules").replaces == 0
    # What has no result goes on from nothing.
    made = work.attempt_of(TASK, GradingExit(2, None, "bye"), 60, AT, "", "rules", 1)
    why = "The grading ended with code 2. bye"
    here = {"name": os.uname().nodename}
    assert made == Attempt(ADA, 2, "kit_error", AT, NOW, (), here, "none", why, "", "rules", 0)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", ""), ("one\ntwo \n\n", "two"),
        ("numalab: a\nmore\nnumalab: b,\n  and more\n", "numalab: b, and more"),
        ("numalab: b\n\x1b[0m\n", r"numalab: b \x1b[0m"),
        ("x" * 301, "x" * 299 + "…"), ("x" * 300, "x" * 300),
        ("numalab: " + "y\n" * 1000, "y"),  # whose beginning is too far up
        ("numalab: z\n" + "y" * 1989, f"numalab: z {'y' * 288}…"),
        ("numalab: z\n" + "y" * 1990, "y" * 299 + "…"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_grading(tmp_path: Path, said: str, words: str) -> None:
    path = tmp_path / "output.txt"
    path.write_text(said)
    assert work._last_words(path) == words


@pytest.mark.parametrize(
    ("said", "kept"),
    [(b"", b""), (b"x" * 8, b"x" * 8), (b"x" * 9, b"x" * 8 + b"\n(the rest is not kept)\n"),
     (b"x" * 200_000, b"x" * 8 + b"\n(the rest is not kept)\n")],
)  # fmt: skip
def test_the_beginning_of_what_is_said_is_kept(
    tmp_path: Path, said: bytes, kept: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "LARGEST_OUTPUT_BYTES", 8)
    with (tmp_path / "output").open("wb") as target:
        work._keep_output(io.BytesIO(said), target)
        assert target.closed
    assert (tmp_path / "output").read_bytes() == kept


def test_what_is_left_out_is_told_wherever_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LARGEST_OUTPUT_BYTES", 8)

    class Blocks(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(4)

    class Kept(io.BytesIO):
        def close(self) -> None:
            pass

    for said, told in ((b"x" * 8, b""), (b"x" * 20, b"\n(the rest is not kept)\n")):
        kept = Kept()
        work._keep_output(Blocks(said), kept)
        assert kept.getvalue() == b"x" * 8 + told


def test_a_grading_that_ends_is_told_by_its_code_and_result(tmp_path: Path) -> None:
    script = "echo ends; cat; echo '{\"a\": 1}' >result.json; exit 3"
    env = {"PATH": "/usr/bin:/bin"}
    done = work.run_grading(["sh", "-c", script], tmp_path, env, tmp_path, 60)
    assert done == GradingExit(3, {"a": 1}, "ends")
    assert (tmp_path / "output.txt").read_text() == "ends\n"


# ---- a job ----------------------------------------------------------------------------------


class Graded:
    """Stands for run_grading: writes what a grading of the kit leaves."""

    def __init__(self, installation: Installation, *names: str) -> None:
        self.installation, self.names, self.calls = installation, names, 0

    def __call__(
        self, command: Sequence[str], cwd: Path, env: dict[str, str], into: Path, limit_s: int
    ) -> GradingExit:
        self.command, self.cwd, self.env, self.limit_s = list(command), cwd, env, limit_s
        self.calls += 1
        for language in self.names:
            folder = self.installation.results_folder(LAB, language, "submission")
            (folder / "on").mkdir(parents=True)
            (folder / "on" / "x.json").touch()
        return GradingExit(0, WHOLE, "")


@pytest.fixture
def own_kit(installation: Installation, tmp_path: Path) -> Installation:
    return Installation(installation.root, installation.preset, tmp_path / "build")


def bench_of(
    course: CourseFolder, run: BatchRun, folder: Path, installation: Installation
) -> work.NodeWorkspace:
    return work.NodeWorkspace(course, run, folder, installation, "7_0")


def test_a_job_grades_what_was_handed_in(
    course: CourseFolder, tmp_path: Path, own_kit: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded = Graded(own_kit, "c", "fortran")
    monkeypatch.setattr(work, "run_grading", graded)
    run = run_of([TASK])
    runs.write_run(course, run)
    kept(course, 1, "graded", result(5, still_open=2))
    left = own_kit.results_folder(LAB, "c", "submission")
    left.mkdir(parents=True)
    (left / "of_another.json").touch()
    own_kit.staged_folder(LAB).mkdir(parents=True)
    worker = own_kit.worker(LAB, "fortran", "submission")
    worker.parent.mkdir(parents=True)
    worker.touch()
    made = bench_of(course, run, tmp_path, own_kit).grade(TASK)
    assert made is not None and (made.state, made.replaces, made.job) == ("graded", 1, "7_0")
    assert made == attempts.read_attempt(course.attempt(ADA, 2))
    submission = str(course.submission("ada", LAB, ADA.digest))
    assert graded.command[:8] == work.grade_command(own_kit, run.grading)
    assert graded.command[8:13] == [LAB, "--lang", "c", "--submission", submission]
    assert graded.command[-1] == "--quick"  # the attempt before has no records
    wanted = {"NUMALAB_BUILD": str(own_kit.build_root), "TMPDIR": str(tmp_path), "COLUMNS": "80",
              "NUMALAB_ROOT": str(own_kit.root), "PYTHONDONTWRITEBYTECODE": ""}  # fmt: skip
    assert wanted.items() <= graded.env.items() and graded.cwd == tmp_path
    assert graded.limit_s == 900 + NODE_LIMIT_S
    files = course.attempt(ADA, 2).rglob("*")
    assert sorted(str(p.relative_to(course.attempt(ADA, 2))) for p in files if p.is_file()) == [
        "attempt.json", "evidence/c/on/x.json", "evidence/fortran/on/x.json"
    ]  # fmt: skip
    assert not worker.exists() and not own_kit.staged_folder(LAB).exists()


@pytest.mark.parametrize(
    ("changes", "limit_s"),
    [
        ({"grading": GradingOptions("quick", limit_s=5)}, 5),
        ({"grading": GradingOptions("quick", limit_s=5),
          "slurm": SlurmOptions(max_concurrent=3)}, 15),
        ({"grading": GradingOptions("quick", limit_s=5), "slurm": SlurmOptions(max_concurrent=3),
          "engine": "slurm"}, 5),
        ({"slurm": SlurmOptions(max_concurrent=2)}, 1800 + int(NODE_LIMIT_S)),
    ],
)  # fmt: skip
def test_a_grading_that_waits_for_others_has_their_time_too(
    course: CourseFolder,
    tmp_path: Path,
    own_kit: Installation,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    limit_s: int,
) -> None:
    graded = Graded(own_kit)
    monkeypatch.setattr(work, "run_grading", graded)
    run = run_of([TASK], **changes)
    runs.write_run(course, run)
    made = bench_of(course, run, tmp_path, own_kit).grade(TASK)
    assert made is not None and made.replaces == 0 and graded.limit_s == limit_s
    # Another one's attempt is in its place.
    assert bench_of(course, run, tmp_path, own_kit).grade(TASK) is None


@pytest.mark.parametrize("is_taken_away", [True, False])
def test_a_job_that_was_thought_dead_makes_no_attempt(
    course: CourseFolder,
    tmp_path: Path,
    own_kit: Installation,
    monkeypatch: pytest.MonkeyPatch,
    is_taken_away: bool,
) -> None:
    """What is missing else is an error."""

    def grading(
        _command: object, _cwd: object, _env: object, into: Path, _limit_s: int
    ) -> GradingExit:
        if is_taken_away:
            into.rmdir()
        raise FileNotFoundError

    monkeypatch.setattr(work, "run_grading", grading)
    run = run_of([TASK])
    runs.write_run(course, run)
    bench = bench_of(course, run, tmp_path, own_kit)
    if is_taken_away:
        assert bench.grade(TASK) is None
    else:
        with pytest.raises(FileNotFoundError):
            bench.grade(TASK)
    runs.end(course, run, "done")
    assert bench.grade(TASK) is None
    assert not list(course.root.rglob(f"{attempts.PARTIAL}*"))


def test_of_what_was_graded_the_last_one_before_is_gone_on_with_if_it_is_open(
    course: CourseFolder,
) -> None:
    def goes_on() -> int | None:
        found = work._undecided_attempt(course, replace(TASK, number=4))
        return found and found.number

    course.root.mkdir()
    assert goes_on() is None
    kept(course, 1, "graded", result(5), result(1, still_open=2))
    assert goes_on() == 1
    kept(course, 2, "kit_error")
    assert goes_on() == 1
    kept(course, 4, "graded", result(5, still_open=2))
    assert goes_on() == 1
    kept(course, 3, "graded", result(5))
    assert goes_on() is None


def test_records_of_what_is_no_attempt_are_not_gone_on_with(course: CourseFolder) -> None:
    kept(course, 1, "graded")
    for number in (1, 2):
        (course.attempt(ADA, number) / "evidence").mkdir(parents=True)
    assert work.earlier_records(course, ADA) == [course.attempt(ADA, 1) / "evidence"]
    path = course.attempt(ADA, 1) / "attempt.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ended_at": "noon"}))
    with pytest.raises(NumalabError, match=r"attempt\.json"):
        work.earlier_records(course, ADA)


@pytest.mark.parametrize(
    ("variables", "job"),
    [({}, ""), ({"SLURM_JOB_ID": "7"}, "7"),
     ({"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "2"}, "5_2"),
     ({"SLURM_ARRAY_JOB_ID": "5"}, "5_")],
)  # fmt: skip
def test_the_scheduler_tells_the_job(
    variables: dict[str, str], job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert work.job_id() == job


def test_a_job_makes_what_is_missing_until_nobody_waits(
    course: CourseFolder, own_kit: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, eve, zoe = (
        GradingTask(replace(ADA, student_id=name), 1, ("c",)) for name in ("bob", "eve", "zoe")
    )
    run = run_of([], [TASK, bob, eve, zoe])
    runs.write_run(course, run)
    kept(course, 2, "lost")
    asked: list[tuple[str, Path, bool]] = []

    def grade(bench: work.NodeWorkspace, task: GradingTask) -> Attempt | None:
        asked.append((task.target.student_id, bench.installation.build_root, bench.folder.is_dir()))
        if task == eve:
            runs.end(course, run, "done")
            return None
        return Attempt(task.target, 1, "graded", AT, AT, (), {}, "none")

    said: list[str] = []
    monkeypatch.setattr(work.NodeWorkspace, "grade", grade)
    work.grade_chunk(course, run, 1, own_kit, said.append)
    check_text(said)
    assert [(who, there) for who, _, there in asked] == [("bob", True), ("eve", True)]
    (build,) = {build for _, build, _ in asked}
    assert build.name == "build" and not build.parent.exists()


# ---- its command line ------------------------------------------------------------------------


@pytest.fixture
def ignored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, object]]:
    """What is to become of signals, in order; nothing becomes of this process's."""
    found: list[tuple[int, object]] = []
    monkeypatch.setattr(node.signal, "signal", lambda *given: found.append(given))
    return found


def ends(error: BaseException | None) -> Callable[..., None]:
    def work(*_: object) -> None:
        if error is not None:
            raise error

    return work


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, EXIT_PASSED),
        (KeyboardInterrupt(), EXIT_INTERRUPTED),
        (UserError("a reason"), EXIT_NUMALAB),
        (OSError(28, "No space left"), EXIT_NUMALAB),
    ],
)
def test_how_a_job_ends(
    course: CourseFolder,
    ignored: list[tuple[int, object]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException | None,
    code: int,
) -> None:
    run = run_of([TASK])
    runs.write_run(course, run)
    monkeypatch.setattr(node, "grade_chunk", ends(error))
    assert node.main(["gnu", str(course.root), run.id, "0"]) == code
    captured = capsys.readouterr()
    check_text(captured.out + captured.err)
    ending = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    assert ignored == [(number, node._stop) for number in ending]
    ignored.clear()
    with pytest.raises(KeyboardInterrupt):
        node._stop(signal.SIGTERM, None)
    assert ignored == [(number, signal.SIG_IGN) for number in ending]


def test_a_step_is_in_the_log_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Log(io.StringIO):
        def flush(self) -> None:
            self.flushed = self.getvalue()

    log = Log()
    monkeypatch.setattr(node.sys, "stdout", log)
    node._say("ada: grading")
    check_text(log.flushed)


@pytest.mark.parametrize(("chunk", "is_there"), [(-1, False), (0, True), (1, True), (2, False)])
@pytest.mark.parametrize("engine", ["local", "slurm"])
def test_a_job_has_one_of_the_chunks(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch, chunk: int, is_there: bool, engine: str
) -> None:
    run = run_of([TASK], [TASK], engine=engine)
    runs.write_run(course, run)
    worked: list[tuple[int, str]] = []
    monkeypatch.setattr(
        node,
        "grade_chunk",
        lambda _c, _r, n, installation, _s: worked.append((n, installation.preset)),
    )
    if is_there:
        node.run_chunk("gnu", course, run.id, chunk)
        assert worked == [(chunk, "gnu")]
        assert (course.run(run.id) / "working").exists() == (engine == "local")
    else:
        with raises_text(UserError):
            node.run_chunk("gnu", course, run.id, chunk)
