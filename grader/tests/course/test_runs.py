"""Runs: their folders, their limits, and what is said of how far they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.courses import ADA, BOB, attempt, intake, result, submission
from support.golden_texts import check_text, raises_text

from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs import progress, runs
from numalab.course.jobs.dispatcher import (
    BatchStatus,
    PollRate,
    RequestedGrading,
    requested_gradings,
)
from numalab.course.jobs.engine import ChunkState
from numalab.course.jobs.progress import RunStatus, class_text, status_of, text_of
from numalab.course.jobs.runs import (
    BatchRun,
    GradingOptions,
    GradingTask,
    SlurmOptions,
    split_tasks,
)
from numalab.course.records import Attempt, AttemptState, GradingTarget
from numalab.errors import NumalabError

AT = "2026-11-22T08:00:00+00:00"
RUN = BatchRun("20261122T080000-abcdef", "local", AT, GradingOptions("quick"), SlurmOptions(), ())


def task(student: str, *languages: str, number: int = 1) -> GradingTask:
    return GradingTask(
        GradingTarget(student, "01_first_touch", "d" * 64, "k" * 64, "quick"), number, languages
    )


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


# ---- how much of what ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grading", "languages", "limit_s"),
    [
        (GradingOptions("quick"), ("c",), 15 * 60),
        (GradingOptions("quick"), (), 15 * 60),
        (GradingOptions("default"), ("c", "fortran"), 2 * 45 * 60),
        (GradingOptions("default", limit_s=7), ("c", "fortran"), 14),
        (GradingOptions("quick", limit_s=7), (), 7),
    ],
)
def test_a_grading_has_its_limit_for_each_language(
    grading: GradingOptions, languages: tuple[str, ...], limit_s: int
) -> None:
    assert grading.limit_of(task("ada", *languages)) == limit_s


@pytest.mark.parametrize(
    ("count", "per_job", "nodes", "sizes"),
    [
        (10, 5, 2, [5, 5]),  # all begin at once
        (6, 4, 1, [3, 3]),  # no shorter than half of what they may have
        (6, 6, 7, [3, 3]),  # five or more, but of the last ones
        (5, 9, 7, [5]),
        (16, 20, 3, [5, 5, 6]),
        (7, 2, 1, [2, 2, 2, 1]),
    ],
)
def test_jobs_of_small_classes(count: int, per_job: int, nodes: int, sizes: list[int]) -> None:
    made = split_tasks([task(f"s{n}") for n in range(count)], per_job, nodes)
    assert [len(chunk) for chunk in made] == sizes


@pytest.mark.parametrize(
    ("count", "nodes", "effort", "languages", "most"),
    [
        (60 * 4, 4, "quick", 1, 20), (60 * 4 + 1, 4, "quick", 1, 21), (1, 1, "quick", 1, 20),
        (9000, 1, "quick", 0, 115), (9000, 1, "default", 1, 46), (9000, 1, "quick", 2, 57),
        (9000, 1, "quick", 200, 1),
    ],
)  # fmt: skip
def test_jobs_of_a_node_are_three_or_four_hours_long(
    count: int, nodes: int, effort: str, languages: int, most: int
) -> None:
    assert runs.usual_job_size(count, nodes, effort, languages) == most


def test_files_are_looked_at_more_often_than_others_are_asked() -> None:
    assert (PollRate(4).ask_s, PollRate(4).end_s) == (20, 0.5)
    assert PollRate().grace_s > 60  # acdirmax of nfs(5)


def test_what_is_wanted_of_hand_ins() -> None:
    found = requested_gradings(
        [submission(ADA), submission(BOB, "d2")], {"01_first_touch": "k"}.__getitem__, "quick"
    )
    items = [GradingTarget(name, "01_first_touch", digest.ljust(64, "0"), "k", "quick")
             for name, digest in (("ada", "d1"), ("bob", "d2"))]  # fmt: skip
    assert found == tuple(RequestedGrading(item, ("c",)) for item in items)


# ---- their folders ---------------------------------------------------------------------------


def test_a_run_is_kept_as_it_is_and_once(course: CourseFolder) -> None:
    run = replace(RUN, chunks=((task("ada", "c"),),))
    folder = runs.write_run(course, run)
    text = (folder / "run.json").read_text()
    assert "\n" not in text.strip() and (folder / "logs").is_dir()
    assert json.loads(text) == {
        "schema": 1, "id": RUN.id, "engine": "local", "made_at": AT,
        "grading": {"effort": "quick", "command": [], "options": [], "limit_s": 0},
        "slurm": {"partition": "", "account": "", "constraint": "", "time": "", "at_once": 0,
                  "exclusive": True, "extra": []},
        "chunks": [[{"item": {"student_id": "ada", "lab": "01_first_touch", "digest": "d" * 64,
                              "kit_digest": "k" * 64, "effort": "quick"},
                     "number": 1, "languages": ["c"], "tries": 0}]],
    }  # fmt: skip
    assert runs.read_run(course, run.id) == run
    with pytest.raises(FileExistsError):
        runs.write_run(course, run)


def test_what_is_no_run_is_told(course: CourseFolder) -> None:
    folder = runs.write_run(course, RUN)
    for text in ("", "[]", "{}"):
        (folder / "run.json").write_text(text)
        with raises_text(NumalabError):
            runs.read_run(course, RUN.id)
    whole = runs.run_json(RUN)
    for odd in ({"grading": "x"}, {"grading": [1]}, {"chunks": [["x"]]}, {"slurm": None}):
        (folder / "run.json").write_text(json.dumps(whole | odd))
        with pytest.raises(NumalabError, match=r"run\.json"):
            runs.read_run(course, RUN.id)


def test_runs_are_open_until_they_are_over_and_unclean_until_they_are_clean(
    course: CourseFolder,
) -> None:
    assert runs.active_runs(course) == runs.unclean_runs(course) == runs.last_run(course) == []
    first, second, third = (replace(RUN, id=f"2026112{n}T080000-a") for n in (1, 2, 3))
    for run in (third, first, second):
        runs.write_run(course, run)
    (course.run("20261124T080000-a")).mkdir()  # promises nothing yet
    (course.run("20261125T080000-a")).mkdir()
    (course.run("20261125T080000-a") / "over.json").touch()
    assert runs.active_runs(course) == [first, second, third]
    assert runs.last_run(course) == [third]
    runs.end(course, third, "done")
    runs.end(course, first, "cancelled")
    assert runs.active_runs(course) == [second]
    assert runs.unclean_runs(course) == [first, third]
    runs.mark_clean(course, first)
    assert runs.unclean_runs(course) == [third]
    assert runs.last_run(course) == [third]


def test_why_a_run_has_ended_stays(course: CourseFolder) -> None:
    folder = runs.write_run(course, RUN)
    for why in ("cancelled", "done"):
        runs.end(course, RUN, why)
    assert json.loads((folder / "over.json").read_text())["why"] == "cancelled"
    assert not runs.is_cancelled(course, RUN)
    runs.mark_cancelled(course, RUN)
    assert runs.is_cancelled(course, RUN)


@pytest.mark.parametrize(
    ("text", "job"),
    [('{"job": 7}', "7"), ('{"job": "process 3"}', "process 3"), ("{}", None), ("[]", None),
     ('["job"]', None), ("", None)],
)  # fmt: skip
def test_the_job_of_a_run(course: CourseFolder, text: str, job: str | None) -> None:
    folder = runs.write_run(course, RUN)
    assert runs.noted_job(course, RUN) is None
    (folder / "job.json").write_text(text)
    assert runs.noted_job(course, RUN) == job
    runs.note_job(course, RUN, "8")
    assert runs.noted_job(course, RUN) == "8"


def test_ids_of_runs_are_in_their_order() -> None:
    made = [runs.new_id() for _ in range(50)]
    assert made == sorted(made) and len(set(made)) == 50
    assert all(re.fullmatch(r"\d{8}T\d{12}-[0-9a-f]{4}", one) for one in made)


# ---- how far they are ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "count",
    [
        BatchStatus(3, 1, 0, 0, 0, 0),
        BatchStatus(3, 1, 1, 2, 0, 0),
        BatchStatus(3, 1, 0, 0, 2, 0),
        BatchStatus(3, 1, 0, 0, 0, 1, "Priority"),
        BatchStatus(3, 1, 0, 0, 0, 0, "no answer"),
    ],
)  # fmt: skip
def test_a_count_in_words(count: BatchStatus) -> None:
    check_text(count.text)


def status(ended: Mapping[str, int], left: int, jobs: Mapping[str, int], *notes: str,
           is_over: bool = False) -> RunStatus:  # fmt: skip
    return RunStatus(RUN, "7", ended, left, jobs, notes, is_over)


@pytest.mark.parametrize(
    "found",
    [
        status({}, 2, {}),
        status({"graded": 2}, 0, {}, is_over=True),
        status({"lost": 1, "kit_error": 2, "graded": 3}, 1, {"waiting": 1, "running": 2}),
        status({}, 1, {"waiting": 1}, "Priority", "Resources"),
        status({"graded": 1}, 1, {}, "Priority", is_over=True),
        status({"graded": 1}, 1, {"over": 1}),
    ],
)  # fmt: skip
def test_a_status_in_words(found: RunStatus) -> None:
    check_text(text_of(found))


def kept(course: CourseFolder, of: GradingTask, state: AttemptState) -> None:
    partial = attempts.partial_folder(course, of.target, of.number, "run", "me")
    partial.mkdir(parents=True)
    made = Attempt(of.target, of.number, state, AT, AT, (), {}, "none")
    assert attempts.publish(course, partial, made)


def waits(why: str) -> ChunkState:
    return ChunkState("waiting", why=why)


def test_the_status_of_a_run(course: CourseFolder) -> None:
    six = [task(name) for name in ("ada", "bob", "eve", "kim", "mia", "zoe")]
    run = replace(RUN, chunks=((six[0], six[1]), (six[2],), *((one,) for one in six[3:])))
    runs.write_run(course, run)
    kept(course, six[0], "graded")
    kept(course, six[2], "lost")
    known = {(six[3].target, 1): "graded", (six[4].target, 2): "graded"}
    seen = {0: ChunkState("running", why="x"), 1: ChunkState("running"), 3: waits("Priority"),
            4: waits("")}  # fmt: skip
    found = status_of(course, run, seen, known)  # type: ignore[arg-type]
    assert found == RunStatus(
        run, "", {"graded": 2, "lost": 1}, 3, {"running": 1, "waiting": 2}, ["Priority"], False
    )
    runs.note_job(course, run, "7")
    runs.end(course, run, "done")
    found = status_of(course, run, None)
    assert found == RunStatus(run, "7", {"graded": 1, "lost": 1}, 4, {}, [], True)


def test_of_what_jobs_wait_for_the_two_that_most_do_are_told(course: CourseFolder) -> None:
    why = ["Resources", "Priority", "Dependency", "Priority", "Dependency", "Priority"]
    run = replace(RUN, chunks=tuple((task(f"s{n}"),) for n in range(len(why))))
    found = status_of(course, run, {n: waits(one) for n, one in enumerate(why)})
    assert found.notes == ["Priority", "Dependency"] and found.jobs == {"waiting": 6}


def test_open_points_of_a_class_are_told(course: CourseFolder) -> None:
    course.root.mkdir()
    assert progress.known_states(course) == {} and not course.gradebook.exists()
    with use_gradebook(course) as book:
        book.add_submissions(intake(submission(ADA), submission(BOB, "d2")))
        book.add_attempts([attempt(ADA, result(5, still_open=2))])
        check_text(class_text(course))
        assert [*progress.known_states(course).values()] == ["graded"]
