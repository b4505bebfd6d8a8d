"""Criteria that pass with a part of their points: sums, exports and progress."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.courses import ADA, attempt, criterion, intake, result, submission
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.exports import gradescope, junit
from numalab.course.gradebook.feedback import feedback_lines
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import Rules
from numalab.course.gradebook.standing import StandingRow
from numalab.course.rejudging import compare_results
from numalab.judging.verdict import (
    CriterionVerdict,
    Verdict,
    read_verdict,
    rounded_points,
    verdict_on,
)
from numalab.labs.declaration import Lab
from numalab.learning.progress import LearnerProgress, load_progress, result_of, save_progress
from numalab.reports.verdict_words import criterion_rows

AT = datetime(2026, 1, 2, 12, tzinfo=UTC)


def scored(lab: Lab, score: float) -> Verdict:
    """All pass, and of the first the score."""
    first, *others = lab.criteria
    return Verdict(
        lab.name, "c", "submission",
        (
            verdict_on(first, "pass", "reached", "Nearly.", score=score),
            *(verdict_on(other, "pass", "reached", "") for other in others),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("points", "shown"), [(1 / 3, "0.33"), (2.0, "2"), (0.999, "1"), (0.0, "0"), (0.4, "0.4")]
)
def test_points_have_two_digits_at_most(points: float, shown: str) -> None:
    assert str(rounded_points(points)) == shown


def test_a_score_earns_a_share_and_survives_the_record(first_touch: Lab) -> None:
    verdict = scored(first_touch, 0.25)
    first = first_touch.criteria[0]
    assert verdict.points == first_touch.max_points - 0.75 * first.points
    assert verdict.status == "pass" and verdict.earnable_points == first_touch.max_points
    assert read_verdict(verdict.json_data()) == verdict
    rows = list(criterion_rows(verdict.criteria))
    assert rows[0].points == f"{rounded_points(0.25 * first.points)}/{first.points}"


def test_a_score_earns_nothing_where_it_does_not_pass(first_touch: Lab) -> None:
    found = verdict_on(first_touch.criteria[0], "fail", "wrong_result", "", score=0.9)
    assert (found.points, found.is_partial) == (0, False)


def test_whole_points_stay_whole_numbers(first_touch: Lab) -> None:
    verdict = scored(first_touch, 1.0)
    assert isinstance(verdict.json_data()["points"], int)
    assert not any(c.is_partial for c in verdict.criteria)


def test_progress_keeps_a_part(first_touch: Lab, tmp_path: Path) -> None:
    def of(score: float) -> LearnerProgress:
        found = result_of(first_touch, scored(first_touch, score), AT, False, False, None)
        return LearnerProgress().add_result(first_touch.name, "c", found, True)

    save_progress(tmp_path / "progress.json", of(0.25))
    kept = load_progress(tmp_path / "progress.json")
    assert kept == of(0.25)
    (better,) = of(0.5).best[first_touch.name].values()
    (worse,) = kept.best[first_touch.name].values()
    assert better.is_better_than(worse) and not worse.is_better_than(better)


@pytest.fixture
def row(tmp_path: Path) -> StandingRow:
    part = criterion("predicted", "pass", 1, "A factor of 1.5.", "timing") | {"points": 0.42}
    whole = result(8, 1)
    whole |= {"points": 8.42, "max_points": 10, "criteria": [*whole["criteria"], part]}
    with use_gradebook(CourseFolder(tmp_path)) as book:
        book.add_submissions(intake(submission(ADA)))
        book.add_attempts([attempt(ADA, whole)])
        (found,) = book.standing(Rules()).rows
    return found


def test_a_part_is_in_the_grade(row: StandingRow) -> None:
    assert (row.points, row.max_points) == (8.42, 10)
    lines = feedback_lines(row)
    check_text(lines[0])
    assert any(line.startswith("pass: predicted 0.42/1. A factor of 1.5.") for line in lines)


def test_a_part_is_in_what_other_systems_take(row: StandingRow) -> None:
    tests = {test["name"]: test for test in gradescope.results([row])["tests"]}
    assert (tests["predicted"]["score"], tests["predicted"]["max_score"]) == (0.42, 1)
    root = ElementTree.fromstring(junit.report([row], []))
    (case,) = [case for case in root.iter("testcase") if case.get("name") == "predicted"]
    assert case.find("failure") is None
    check_text(case.findtext("system-out"))


def test_a_rejudging_tells_another_part(first_touch: Lab) -> None:
    old, new = scored(first_touch, 0.5).json_data(), scored(first_touch, 0.25).json_data()
    (change,) = compare_results(old, new)
    assert (change.old, change.new) == ("pass", "pass")
    assert change.old_points == 2 * change.new_points > 0


def test_the_most_of_several_places_counts_once(first_touch: Lab) -> None:
    verdict = scored(first_touch, 0.5)
    again: CriterionVerdict = replace(verdict.criteria[0], where="hydra")
    assert replace(verdict, criteria=(*verdict.criteria, again)).points == verdict.points
