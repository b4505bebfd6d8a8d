"""What of a course is to be judged again, what changes by it, and where it is put."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.courses import criterion, result
from support.golden_texts import raises_text

from numalab.course import attempts, rejudging
from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.course.jobs.runs import BatchRun, GradingOptions, GradingTask, SlurmOptions
from numalab.course.records import Attempt, AttemptState, GradingTarget
from numalab.course.rejudging import (
    CriterionChange,
    Digests,
    Pending,
    Rejudged,
    compare_results,
    find_pending,
)
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.judging.verdict import read_verdict

LAB, AT = "01_first_touch", "2026-11-22T08:00:00+00:00"
DIGESTS = Digests({LAB: ["k"]}, {LAB: "new"})


def attempt(
    student: str = "ada", number: int = 1, judged_by: str = "old", replaces: int = 0,
    state: AttemptState = "graded", results: tuple[Any, ...] = (), **item: str,
) -> Attempt:  # fmt: skip
    of = replace(GradingTarget(student, LAB, "d", "k", "default"), **item)
    return Attempt(of, number, state, AT, AT, results, {}, "none", judged_by=judged_by,
                   replaces=replaces)  # fmt: skip


@pytest.fixture
def course(tmp_path: Path) -> CourseFolder:
    return CourseFolder(tmp_path / "course")


def kept(course: CourseFolder, made: Attempt, files: Mapping[str, str]) -> Attempt:
    partial = attempts.partial_folder(course, made.target, made.number, "run", "me")
    for name, text in files.items():
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).write_text(text)
    partial.mkdir(parents=True, exist_ok=True)
    assert attempts.publish(course, partial, made)
    return made


# ---- what is to be judged --------------------------------------------------------------------

OLD = attempt()
OTHER_KIT = attempt("bob", numalab_digest="x")


@pytest.mark.parametrize(
    ("given", "judged", "otherwise"),
    [
        ([], [], 0), ([OLD], [0], 0), ([attempt(judged_by="new")], [], 0),
        ([attempt(state="lost"), OLD], [1], 0),
        ([OLD, attempt(number=2, replaces=1)], [1], 0),
        ([OLD, attempt(number=2, replaces=1, judged_by="new")], [], 0),
        ([OLD, attempt(number=2, replaces=1, state="lost")], [0], 0),
        ([OLD, attempt(number=2)], [0, 1], 0),
        ([OTHER_KIT], [], 1), ([OTHER_KIT, replace(OTHER_KIT, number=2)], [], 1),
        ([OTHER_KIT, attempt("bob")], [1], 0),
        ([OTHER_KIT, attempt("bob", digest="e")], [1], 1),
        ([attempt("bob", lab="99_gone"), OLD], [1], 1),
    ],
)  # fmt: skip
def test_what_is_judged_again(given: list[Attempt], judged: list[int], otherwise: int) -> None:
    found = tuple(given[at] for at in judged)
    assert find_pending(given, DIGESTS) == Pending(found, otherwise)


def test_what_jobs_are_at(course: CourseFolder) -> None:
    done, at_work, other = (attempt(name) for name in ("ada", "bob", "eve"))
    chunks = tuple((GradingTask(one.target, 1, ("c",)),) for one in (done, at_work))
    run = BatchRun("1", "local", AT, GradingOptions("quick"), SlurmOptions(), chunks)
    over = replace(run, id="2", chunks=((GradingTask(other.target, 1, ("c",)),),))
    for one in (run, over):
        runs.write_run(course, one)
    runs.end(course, over, "done")
    kept(course, done, {})
    assert rejudging.running_targets(course) == {at_work.target}


# ---- what changes ----------------------------------------------------------------------------


def told(*found: dict[str, Any]) -> dict[str, Any]:
    return result(1) | {"criteria": list(found)}


def test_what_becomes_of_each_criterion() -> None:
    old = told(
        criterion("same", "pass", 2), criterion("lost", "pass", 2), criterion("gone", "pass", 1),
        criterion("never", "fail", 1), criterion("partly", "pass", 2),
    )  # fmt: skip
    new = told(
        criterion("made", "inconclusive", 3), criterion("lost", "fail", 2),
        criterion("same", "pass", 2), criterion("partly", "pass", 2) | {"points": 0.5},
        criterion("never", "fail", 1),
    )  # fmt: skip
    assert list(compare_results(old, new)) == [
        CriterionChange("c", "made", None, "inconclusive", 0, 0),
        CriterionChange("c", "lost", "pass", "fail", 2, 0),
        CriterionChange("c", "partly", "pass", "pass", 2, 0.5),
        CriterionChange("c", "gone", "pass", None, 1, 0),
    ]
    assert list(compare_results(old, old)) == []


def test_what_is_open_by_the_new_rules() -> None:
    """What was open before stays so where a change of rules had opened it."""
    opened = told(
        *(criterion(name, "inconclusive", 1) for name in "abc"), criterion("d", "fail", 1)
    )
    changed = [
        CriterionChange("c", name, before, after, 1, 0)
        for name, before, after in (
            ("a", "pass", "inconclusive"), ("b", "fail", "fail"), ("d", "pass", "fail")
        )
    ]  # fmt: skip
    before = replace(OLD, reopened=("c c", "c d", "fortran b"))
    assert list(rejudging._reopened(before, [opened], changed)) == ["c a", "c c"]


# ---- judging one ------------------------------------------------------------------------------


def judged_as(
    monkeypatch: pytest.MonkeyPatch, course: CourseFolder, new: dict[str, Any], **is_of: str
) -> None:
    """Whatever the records are, the verdict on them is this one."""

    def read(path: Path, labs: object) -> Any:
        assert path == course.attempt(OLD.target, 2) / "evidence" / "c"
        lab, language = is_of.get("lab", LAB), is_of.get("language", "c")
        here, of = SimpleNamespace(language=language), SimpleNamespace(name=lab)
        return SimpleNamespace(path=path, lab=of, local=here, vms={})

    monkeypatch.setattr(rejudging, "read_grading", read)
    verdict = SimpleNamespace(json_data=lambda: new)
    monkeypatch.setattr(rejudging, "judge_again", lambda installation, grading: verdict)


def test_an_attempt_becomes_a_new_one(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what no rule judges as it was."""
    before = told(criterion("a", "pass", 2)) | {"diagnosis": 7, "spent_s": {"timing": 3}}
    after = told(criterion("a", "inconclusive", 2))
    kept(course, OLD, {})
    old = kept(course, attempt(number=2, results=(before,)), {})
    kept(course, attempt(number=9), {})
    judged_as(monkeypatch, course, after)
    made = rejudging.judge_attempt(course, installation, {}, replace(old, results=()), "new", AT)
    result = after | {"diagnosis": 7, "spent_s": {"timing": 3}}
    assert made.old == old and made.new == replace(
        old, number=10, results=(result,), judged_by="new", replaces=2, rejudged_at=AT,
        reopened=("c a",),
    )  # fmt: skip
    assert made.changes == (CriterionChange("c", "a", "pass", "inconclusive", 2, 0),)
    assert len(made.kernels) == 1 and not made.is_same
    judged_as(monkeypatch, course, before)
    assert rejudging.judge_attempt(course, installation, {}, old, "new", AT).is_same
    for is_of in ({"lab": "02_affinity"}, {"language": "fortran"}):
        judged_as(monkeypatch, course, after, **is_of)
        with raises_text(UserError):
            rejudging.judge_attempt(course, installation, {}, old, "new", AT)


def test_verdicts_lie_beside_the_records_of_each_place(
    course: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the verdict alone knows: which points starting code would earn otherwise."""

    def verdict(*said: Any) -> Any:
        return SimpleNamespace(json_data=lambda: list(said))

    monkeypatch.setattr(rejudging, "judge", lambda lab, evidence: (lab, evidence))
    monkeypatch.setattr(rejudging, "tag_machine", verdict)
    records = {f"evidence/c/{place}evidence.json": "{}" for place in ("", "on_hydra/")}
    kept(course, OLD, records)
    passed, failed = criterion("a", "pass", 2), criterion("b", "fail", 2)
    read = read_verdict(told(passed, failed))
    whole_verdict = replace(read, earns_with={"a": "b"}, unchanged=True)
    places = [("here", "what is here"), ("hydra", "what it shows")]
    graded: Any = SimpleNamespace(lab="the lab", verdict=whole_verdict, evidence_by_place=places)
    new = replace(OLD, number=2, results=(told(),))
    assert rejudging.publish(course, Rejudged(OLD, new, (graded,), (), True))
    folder = course.attempt(OLD.target, 2) / "evidence" / "c"
    written = json.loads((folder / "verdict.json").read_text())
    assert written == whole_verdict.json_data()
    assert written["points_if_changed"] == 0
    there = json.loads((folder / "on_hydra" / "verdict.json").read_text())
    assert there == [["the lab", "what it shows"], "hydra"]
    whole = json.loads((course.attempt(OLD.target, 2) / "result.json").read_text())
    assert whole == {"results": [told()]}


# ---- judging all -----------------------------------------------------------------------------


def test_each_attempt_gets_a_number_of_its_own(
    course: CourseFolder, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(
        _course: CourseFolder,
        _installation: Installation,
        _labs: object,
        one: Attempt,
        rules: str,
        at: str,
    ) -> Rejudged:
        if one.target.student_id == "bob":
            raise UserError("spoilt")
        assert (rules, at) == ("new", runs.now())
        return Rejudged(one, replace(one, number=4), (), (), True)

    monkeypatch.setattr(rejudging, "judge_attempt", judge)
    monkeypatch.setattr(runs, "now", lambda: AT)
    found = [attempt(), attempt(number=2), attempt("bob"), attempt(number=3)]
    found += [attempt(f"s{n}") for n in range(23)]
    steps: list[str] = []
    outcome = rejudging.judge_all(course, installation, {}, found, DIGESTS, steps.append)
    assert steps == ["judging, 0 of 27", "judging, 25 of 27"]
    assert outcome.failed == ((found[2], "spoilt"),)
    assert [one.new.number for one in outcome.rejudged] == [4, 5, 6] + [4] * 23
    assert [one.old for one in outcome.rejudged] == [*found[:2], *found[3:]]


# ---- writing ---------------------------------------------------------------------------------

FILES = {
    "evidence/c/evidence.json": "{}", "evidence/c/verdict.json": "old", "report.html": "page",
    "output.txt": "said", "result.json": '{"node": 7, "results": []}',
}  # fmt: skip


@pytest.mark.parametrize("is_same", [True, False])
def test_a_new_attempt_has_the_files_of_the_old_one(course: CourseFolder, is_same: bool) -> None:
    """But for what says how it was judged, and a page that shows something else."""
    old = kept(course, OLD, FILES)
    new = replace(old, number=2, replaces=1, rejudged_at=AT)
    left = attempts.partial_folder(course, old.target, 2, "rejudged", "head") / "evidence"
    left.mkdir(parents=True)
    (left / "of_a_killed_one").touch()
    made = Rejudged(old, new, (), (), is_same)
    assert rejudging.publish(course, made)
    folder = course.attempt(old.target, 2)
    names = ["attempt.json", "evidence", "evidence/c", "evidence/c/evidence.json", "output.txt"]
    names += ["report.html"] * is_same
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*")) == [*names, "result.json"]
    assert attempts.read_attempt(folder) == new
    assert json.loads((folder / "result.json").read_text()) == {"node": 7, "results": []}
    assert not rejudging.publish(course, made)
    assert attempts.attempt_numbers(course, old.target) == [1, 2]


@pytest.mark.parametrize("text", [None, "[]", "x"])
def test_without_a_result_the_new_one_has_its_own(course: CourseFolder, text: str | None) -> None:
    kept(course, OLD, {"output.txt": ""} | ({} if text is None else {"result.json": text}))
    assert rejudging.publish(course, Rejudged(OLD, replace(OLD, number=2), (), (), False))
    made = course.attempt(OLD.target, 2) / "result.json"
    assert json.loads(made.read_text()) == {"results": []}


def test_an_attempt_that_is_gone_is_told(course: CourseFolder, installation: Installation) -> None:
    with raises_text(UserError):
        rejudging.judge_attempt(course, installation, {}, OLD, "new", AT)
