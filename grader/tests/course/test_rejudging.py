"""A course is judged again from its records: by whom it changes, and that nothing is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text
from support.invented import FAST, SLOW, TWO_NODES
from support.stored_courses import Graded, kit_without_build, stored_course

from numalab.commands.batch_rejudge import change_lines
from numalab.course import attempts, rejudging
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook import gradebook
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import Rules
from numalab.course.jobs import work
from numalab.course.jobs.dispatcher import (
    Dispatcher,
    PollRate,
    RequestedGrading,
    RunPlan,
    missing_tasks,
)
from numalab.course.jobs.runs import GradingOptions, GradingTask, SlurmOptions
from numalab.course.pages.reports import write_reports
from numalab.course.records import Attempt
from numalab.course.rejudging import current_digests, find_pending, judge_all, publish
from numalab.errors import UserError
from numalab.evidence.read_record import record_of
from numalab.grading import timing_reuse
from numalab.grading.numalab_digests import judged_by, measured_by
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import load_labs

LAB = "01_first_touch"
STUDENTS = 40
GENEROUS_S = 60.0  # that a busy node takes for what is a matter of seconds


@pytest.fixture(scope="module")
def bare(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return kit_without_build(installation, tmp_path_factory.mktemp("kit"))


@pytest.fixture
def own(bare: Installation) -> Iterator[Installation]:
    """A kit whose rules a test may change."""
    path = bare.grading_folder(LAB) / "lab.toml"
    before = path.read_text()
    yield bare
    path.write_text(before)


def change_rules(installation: Installation, old: str, new: str) -> None:
    path = installation.grading_folder(LAB) / "lab.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def ask_more_of_pages(installation: Installation) -> None:
    """Of pages that live with their users: all."""
    change_rules(
        installation,
        "at_least = 0.95\nneeds_numa_nodes = 2",
        "at_least = 0.99\nneeds_numa_nodes = 2",
    )


def right(**more: Any) -> dict[str, Any]:
    return invented.evidence(TWO_NODES, times=invented.steady(13, **FAST), **more)


def nearly(**more: Any) -> dict[str, Any]:
    """One page in forty lives elsewhere: 0.975 are local."""
    return right(
        home=lambda owner, page: (
            TWO_NODES.node_of_thread(owner) ^ (page % invented.PAGES_PER_THREAD == 0)
        ),
        **more,
    )


def handout() -> dict[str, Any]:
    return invented.evidence(
        TWO_NODES, writer=invented.master_writes, times=invented.steady(13, **SLOW)
    )


def causes(attempt: Attempt) -> dict[str, str]:
    return {c["name"]: c["cause"] for c in attempt.results[0]["criteria"]}


def class_of(count: int) -> list[Graded]:
    """Every fourth is nearly right, every tenth the handout."""
    made = []
    for number in range(count):
        record = handout() if number % 10 == 9 else nearly() if number % 4 == 0 else right()
        made.append(Graded(f"s{number:02}", record))
    return made


def command(installation: Installation, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Where there is no compiler, no monitor and no virtual node."""
    return subprocess.run(
        [sys.executable, "-m", "numalab", *arguments],
        env={"PATH": "/nowhere", "HOME": os.environ["HOME"], "NUMALAB_ROOT": str(installation.root),
             "PYTHONPATH": str(installation.root / "grader" / "src")},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def kept(course: CourseFolder) -> list[Attempt]:
    return list(attempts.all_attempts(course))


def files_of(course: CourseFolder) -> dict[Path, bytes]:
    """All but the database and what says who holds a lock."""
    paths = [path for path in course.root.rglob("*") if path.is_file()]
    return {p: p.read_bytes() for p in paths if not p.name.startswith(("gradebook", "lock"))}


def statuses(attempt: Attempt) -> dict[str, str]:
    return {c["name"]: c["status"] for c in attempt.results[0]["criteria"]}


def rejudge(installation: Installation, course: CourseFolder) -> rejudging.RejudgedCourse:
    """Judges all that is to be judged, and writes it."""
    labs = load_labs(installation.root)
    digests = current_digests(installation, labs)
    found = find_pending(kept(course), digests).attempts
    outcome = judge_all(course, installation, labs, found, digests, lambda step: None)
    with use_gradebook(course) as book:
        for each in outcome.rejudged:
            assert publish(course, each)
            book.add_attempts([each.new])
    return outcome


# ---- a class ------------------------------------------------------------------------------


def test_a_class_of_forty_is_judged_again_in_seconds_and_nothing_is_measured(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", class_of(STUDENTS))
    ask_more_of_pages(own)
    before = files_of(course)

    shown = command(own, "batch", "rejudge", str(course.root), "--dry-run")
    assert shown.returncode == 0, shown.stderr
    changed = {f"s{number:02}" for number in range(0, STUDENTS, 4)}
    rows = [line.split() for line in shown.stdout.splitlines()[1:11]]
    assert {row[0] for row in rows} == changed
    assert {tuple(row[1:]) for row in rows} == {
        ("01", "C", "local_pages", "pass", "->", "FAIL", "2", "->", "0")
    }
    assert max(map(len, shown.stdout.splitlines())) <= 80
    check_text(" ".join(shown.stdout.split()))
    check_text(shown.stdout)
    unasked = command(own, "batch", "rejudge", str(course.root))
    assert unasked.returncode == 2
    check_text(unasked.stderr)
    assert files_of(course) == before

    start = time.monotonic()
    done = command(own, "batch", "rejudge", str(course.root), "--yes")
    took_s = time.monotonic() - start
    print(f"\n{STUDENTS} submissions judged again in {took_s:.1f} s")
    assert done.returncode == 0, done.stderr
    assert took_s < GENEROUS_S
    assert not own.build_root.exists(), "nothing was built"
    assert before.items() <= files_of(course).items(), "what was graded stays as it was"
    again = command(own, "batch", "rejudge", str(course.root), "--yes")
    assert again.returncode == 0
    check_text(again.stdout)
    new = [attempt for attempt in kept(course) if attempt.rejudged_at]
    assert len(new) == STUDENTS and len(kept(course)) == 2 * STUDENTS
    assert {a.target.student_id for a in new if statuses(a)["local_pages"] == "fail"} >= changed
    assert all(a.judged_by == judged_by(own, LAB) and a.replaces == 1 for a in new)
    for attempt in new:
        folder = course.attempt(attempt.target, 2)
        old = course.attempt(attempt.target, 1)
        assert (folder / "evidence/c/evidence.json").samefile(old / "evidence/c/evidence.json")
        verdict = json.loads((folder / "evidence/c/verdict.json").read_text())
        assert verdict["points"] == attempt.results[0]["points"]
        told = json.loads((folder / "result.json").read_text())
        assert told["results"] == list(attempt.results) and told["node"]
        assert attempt.results[0]["spent_s"] == {"timing": 1.5}


def test_what_changes_no_rule_leaves_nothing_to_judge(own: Installation, tmp_path: Path) -> None:
    course = stored_course(own, tmp_path / "course", class_of(2))
    path = own.lab_folder(LAB) / "README.md"
    path.write_text(path.read_text() + "\nAnother sentence.\n")
    found = find_pending(kept(course), current_digests(own, [LAB]))
    assert found == rejudging.Pending((), 0)


def test_what_was_measured_by_another_kit_is_not_judged_again(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", class_of(3))
    driver = own.grading_folder(LAB) / "driver.c"
    before = driver.read_text()
    try:
        driver.write_text(before + "/* a remark */\n")
        assert find_pending(kept(course), current_digests(own, [LAB])) == rejudging.Pending((), 0)
        driver.write_text(before + "extern int numalab_changed;\n")
        found = find_pending(kept(course), current_digests(own, [LAB]))
        assert found == rejudging.Pending((), 3)
        done = command(own, "batch", "rejudge", str(course.root), "--yes")
        check_text(" ".join(done.stdout.split()))
    finally:
        driver.write_text(before)


def test_a_student_whose_records_are_damaged_is_told_and_the_rest_is_judged(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", class_of(3))
    (spoilt, foreign, whole) = kept(course)
    folder = course.attempt(spoilt.target, 1) / "evidence" / "c"
    (folder / "evidence.json").write_text("{")
    path = course.attempt(foreign.target, 1) / "evidence" / "c" / "evidence.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"language": "fortran"}))
    ask_more_of_pages(own)
    done = command(own, "batch", "rejudge", str(course.root), "--yes")
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stderr.split())
    assert "s00 01_first_touch can't be judged again" in said and "no JSON" in said
    assert "s01 01_first_touch can't be judged again" in said and "another submission" in said
    assert "Traceback" not in said
    assert [a.target for a in kept(course) if a.rejudged_at] == [whole.target]


def test_a_command_that_was_stopped_goes_on_and_loses_nothing(
    own: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it writes the second, and before the gradebook hears of the first."""
    course = stored_course(own, tmp_path / "course", class_of(4))
    ask_more_of_pages(own)
    labs, digests = load_labs(own.root), current_digests(own, [LAB])
    outcome = judge_all(
        course, own, labs, find_pending(kept(course), digests).attempts, digests, lambda step: None
    )
    assert publish(course, outcome.rejudged[0])

    def killed(*arguments: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(attempts, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            publish(course, outcome.rejudged[1])
    assert sum(bool(a.rejudged_at) for a in kept(course)) == 1
    assert list(course.root.rglob(".partial-*"))

    done = command(own, "batch", "rejudge", str(course.root), "--yes")
    assert done.returncode == 0, done.stderr
    assert not list(course.root.rglob(".partial-*"))
    assert sorted((a.target.student_id, a.number) for a in kept(course)) == [
        (f"s{student:02}", number) for student in range(4) for number in (1, 2)
    ]
    with use_gradebook(course, read_only=True) as book:
        assert len(book.states()) == 8, "the one that it had not heard of, too"


def test_what_jobs_are_at_is_left_to_them(own: Installation, tmp_path: Path) -> None:
    course = stored_course(own, tmp_path / "course", class_of(2))
    (first, _) = kept(course)
    run = rejudging.runs.BatchRun(
        "20270505T000000000000-abcd", "slurm", "2027-05-05T00:00:00+00:00",
        GradingOptions("default"), SlurmOptions(), ((GradingTask(first.target, 2, ("c",)),),),
    )  # fmt: skip
    rejudging.runs.write_run(course, run)
    ask_more_of_pages(own)
    done = command(own, "batch", "rejudge", str(course.root), "--yes")
    check_text(" ".join(done.stdout.split()))
    assert [a.target.student_id for a in kept(course) if a.rejudged_at] == ["s01"]


# ---- what counts ----------------------------------------------------------------------------


@pytest.mark.parametrize("counts", ["last", "best", "best_before_deadline"])
def test_the_new_verdict_counts_in_the_old_ones_place(
    own: Installation, tmp_path: Path, counts: Any
) -> None:
    """Also where the old one is the better one."""
    course = stored_course(own, tmp_path / "course", [Graded("ada", nearly())])
    rules = replace(Rules(), counts=counts)

    def points() -> float | None:
        with use_gradebook(course, read_only=True) as book:
            (row,) = [row for row in book.standing(rules).rows if row.lab == LAB]
        return row.points

    assert points() == 10
    ask_more_of_pages(own)
    rejudge(own, course)
    assert points() == 8
    gradebook.rebuild(course, lambda step: None)
    assert points() == 8
    with use_gradebook(course, read_only=True) as book:
        (account,) = [a for a in book.grade_traces(rules, "ada") if a.row.lab == LAB]
    assert account.row.others == () and len(account.replaced) == 1
    told = "\n".join(explanation(account, rules))
    assert "judged again or graded on since" in told
    assert "from what was measured then" in told


def test_rules_that_go_and_come_back_are_judged_by_each_time(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", [Graded("ada", nearly())])
    before = (own.grading_folder(LAB) / "lab.toml").read_text()
    ask_more_of_pages(own)
    rejudge(own, course)
    (own.grading_folder(LAB) / "lab.toml").write_text(before)
    rejudge(own, course)
    first, second, third = kept(course)
    assert [a.replaces for a in (first, second, third)] == [0, 1, 2]
    assert statuses(third) == statuses(first) != statuses(second)


def test_pages_follow_and_are_drawn_once(
    installation: Installation, own: Installation, tmp_path: Path
) -> None:
    """Whose verdict is the same to the letter keeps the page that was drawn when it was graded."""
    course = stored_course(own, tmp_path / "course", [Graded("ada", nearly())])
    ask_more_of_pages(own)
    rejudge(own, course)
    drawing = replace(own, builds=tmp_path / "build")
    with use_gradebook(course, read_only=True) as book:
        standing = book.standing(Rules())
    write_reports(course, drawing, standing, lambda step: None)
    folder = course.student_report("ada")
    (page,) = [path for path in folder.glob("*.html") if path.name != "index.html"]
    text = page.read_text()
    assert page.stem.endswith("-2") and "judged again" in text and "0.98" in text
    assert f'href="{page.name}"' in (folder / "index.html").read_text()


# ---- what the records don't tell ---------------------------------------------------------------


def head_of(course: CourseFolder, book: Any, wanted: RequestedGrading) -> Dispatcher:
    plan = RunPlan(GradingOptions("default"), SlurmOptions(), 0, 20, 1)
    head = Dispatcher(
        course, None, book, plan, PollRate(), frozenset({wanted.target}), lambda count: None  # type: ignore[arg-type]
    )  # fmt: skip
    head.note_earlier()
    return head


def test_a_rule_whose_evidence_was_never_taken_is_open_and_graded_on(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", [Graded("ada", right())])
    (old,) = kept(course)
    path = own.grading_folder(LAB) / "lab.toml"
    path.write_text(
        f'{path.read_text()}\n[[criterion]]\nname = "released"\nkind = "evidence"\npoints = 1\n'
        "at_most = 0\n"
    )
    assert measured_by(own, LAB) == old.target.numalab_digest
    wanted = RequestedGrading(old.target, ("c",))
    with use_gradebook(course) as book:
        assert head_of(course, book, wanted).graded == {old.target}
    outcome = rejudge(own, course)
    (new,) = [attempt for attempt in kept(course) if attempt.rejudged_at]
    assert statuses(new)["released"] == "inconclusive"
    assert causes(new)["released"] == "not_measured"
    assert new.reopened == ("c released",)
    assert statuses(new) | {"released": ""} == statuses(old) | {"released": ""}
    (line,) = [text for text in change_lines(outcome.rejudged) if "released" in text]
    assert "- -> open" in line
    with use_gradebook(course) as book:
        head = head_of(course, book, wanted)
        assert head.graded == set(), "it is to be graded on"
        (task,) = missing_tasks(course, [wanted], head.graded)
    assert task.number == 3
    # What came of that counts, and it is not begun again.
    graded = replace(new, number=3, replaces=2, rejudged_at="", reopened=(), results=old.results)
    partial = attempts.partial_folder(course, new.target, 3, "r", "n1")
    partial.mkdir(parents=True)
    assert attempts.publish(course, partial, graded)
    with use_gradebook(course) as book:
        assert head_of(course, book, wanted).graded == {old.target}


def test_a_time_that_becomes_open_is_never_guessed_and_its_generations_go_on(
    own: Installation, tmp_path: Path
) -> None:
    """0.97 of the solution's speed, give or take: enough for 0.8, and for 0.97 a coin toss. No
    control has joined that could tell whose fault it is."""
    alone = {role: seconds for role, seconds in FAST.items() if role != "control"}
    times = [alone | {"submission": 0.23 / (0.99 if g % 2 else 0.95)} for g in range(13)]
    record = invented.evidence(TWO_NODES, times=times) | {"fingerprint": "f"}
    course = stored_course(own, tmp_path / "course", [Graded("ada", record)])
    change_rules(own, "at_least = 0.8", "at_least = 0.97")
    rejudge(own, course)
    old, new = kept(course)
    assert statuses(old)["efficiency"] == "pass"
    assert statuses(new)["efficiency"] == "inconclusive"
    assert new.reopened == ("c efficiency",)
    assert new.results[0]["points"] == old.results[0]["points"] - 1

    with use_gradebook(course, read_only=True) as book:
        (row,) = book.standing(Rules()).rows
    assert (row.points, row.is_preliminary) == (9, True)
    assert [each.criterion for each in row.undecided] == ["efficiency"]

    # What a job on a node does before it grades the next attempt.
    task = GradingTask(new.target, 3, ("c",))
    found = work._undecided_attempt(course, task)
    assert found == attempts.read_attempt(course.attempt(new.target, 2))
    folders = [folder / "c" for folder in work.earlier_records(course, new.target)]
    assert [folder.parent.parent.name for folder in folders] == ["2", "1"]
    assert len(timing_reuse.earlier_times(folders, "f").runs) == 13
    assert timing_reuse.earlier_times(folders, "another").runs == ()
    outcome = work.GradingExit(0, {"results": [{"criteria": []}]}, "")
    made = work.attempt_of(task, outcome, 9, "", "", "r", new.number)
    assert made.replaces == 2 and made.reopened == ()
    failed = work.attempt_of(task, replace(outcome, code=None), 9, "", "", "r", new.number)
    assert failed.replaces == 0, "the kit's failure takes nobody's place"


def test_an_attempt_that_is_decided_is_no_start_of_the_next(
    own: Installation, tmp_path: Path
) -> None:
    course = stored_course(own, tmp_path / "course", [Graded("ada", right())])
    (old,) = kept(course)
    assert work._undecided_attempt(course, GradingTask(old.target, 2, ("c",))) is None


def test_what_was_cut_off_decides_nothing_beyond_the_cut(own: Installation, tmp_path: Path) -> None:
    """Ten times slower than the solution, and stopped there: too slow for 0.8, and for 0.05 nobody
    knows."""
    times = [FAST | {"submission": 2.3} for _ in range(13)]
    record = invented.evidence(TWO_NODES, times=times)
    for run in record["runs"]:
        for sample in run.get("samples", ()):
            if sample["role"] == "submission":
                sample |= {"cut": True, "elapsed_s": 2.3}
    course = stored_course(own, tmp_path / "course", [Graded("ada", record)])
    change_rules(own, "at_least = 0.8", "at_least = 0.05")
    rejudge(own, course)
    old, new = kept(course)
    assert statuses(old)["efficiency"] == "fail"
    assert statuses(new)["efficiency"] == "inconclusive"
    assert causes(new)["efficiency"] == "cut_too_early"
    assert new.reopened == ("c efficiency",)
    change_rules(own, "at_least = 0.05", "at_least = 0.2")
    rejudge(own, course)
    third = kept(course)[-1]
    assert statuses(third)["efficiency"] == "fail", "2.3 s or more is too much for it"
    assert third.reopened == ()


def test_what_was_open_for_noise_is_not_graded_on_by_itself(
    own: Installation, tmp_path: Path
) -> None:
    times = [FAST | {"submission": 0.2 if g % 2 else 0.4, "control": 0.4} for g in range(12)]
    record = invented.evidence(TWO_NODES, times=times)
    course = stored_course(own, tmp_path / "course", [Graded("ada", record)])
    assert "inconclusive" in statuses(kept(course)[0]).values()
    change_rules(own, 'title = "First touch"', 'title = "Touch first"')
    rejudge(own, course)
    assert kept(course)[1].reopened == ()


def test_the_fingerprint_stays_when_rules_change_and_a_job_builds_elsewhere(
    installation: Installation, own: Installation, tmp_path: Path
) -> None:
    lab = load_labs(own.root)[LAB]
    node = {"name": "n1", "cpu_model": "x", "packages": 2, "numa_nodes": 2, "cores": 4, "pus": 8}
    record = record_of(invented.evidence(invented.ONE_NODE) | {"sandbox": "none"})
    record.build.c_compiler = "GNU 13"

    def built(name: str, text: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "kernel.c").write_text(text)
        subprocess.run(
            ["gcc", "-g", "-shared", "-fPIC", "-o", "worker", "kernel.c"], cwd=folder, check=True
        )
        return folder / "worker"

    def of(program: Path, **changes: Any) -> str:
        return timing_reuse.fingerprints(
            own, lab, program, node | changes, effort_for("default", True), 4, record
        )[0]

    first = built("job-a", "int f(void) { return 1; }\n")
    second = built("job-bb", "/* the same */\n\nint f(void) { return 1; }\n")
    assert first.read_bytes() != second.read_bytes()
    now = of(first)
    assert of(second) == now, "where it was built, and comments, change no code"
    assert of(first, name="n2") == now, "nodes of a kind are alike"
    ask_more_of_pages(own)
    assert of(first) == now
    assert of(built("job-c", "int f(void) { return 2; }\n")) != now
    assert of(first, cores=8) != now
    change_rules(own, 'OMP_PLACES = "cores"', 'OMP_PLACES = "threads"')
    assert of(first) != now


def test_no_course_is_told_in_a_sentence(own: Installation, tmp_path: Path) -> None:
    done = command(own, "batch", "rejudge", str(tmp_path))
    assert done.returncode == 2
    check_text(" ".join(done.stderr.split()))
    with pytest.raises(UserError):
        rejudging.read_grading(tmp_path, load_labs(own.root))


def test_scores_of_what_was_handed_in_beside_stay(own: Installation, tmp_path: Path) -> None:
    """Rules judge evidence, and no answers."""
    course = stored_course(own, tmp_path / "course", [Graded("ada", nearly())])
    (before,) = kept(course)
    path = course.attempt(before.target, before.number) / attempts.FILE
    data = json.loads(path.read_text())
    data["results"][0] |= {"diagnosis": {"score": 0.5}, "prediction": {"score": 0.25}}
    path.write_text(json.dumps(data))
    ask_more_of_pages(own)
    (one,) = rejudge(own, course).rejudged
    assert one.new.replaces == before.number
    for results in (one.new.results, kept(course)[-1].results):
        assert results[0]["diagnosis"] == {"score": 0.5}
        assert results[0]["prediction"] == {"score": 0.25}
