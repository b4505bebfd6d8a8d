"""What is kept of a class, and how it counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.courses import (
    ADA,
    BOB,
    LAB,
    ONE_NUMA_NODE,
    OTHER_LAB,
    TWO_NUMA_NODES,
    ZOE,
    attempt,
    criterion,
    intake,
    result,
    submission,
)
from support.golden_texts import check_text, raises_text

from numalab.course import records
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.feedback import feedback_lines
from numalab.course.gradebook.gradebook import rebuild, use_gradebook
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.rules import TEMPLATE, Rules, parse_rules, read_rules
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.gradebook.undecided_points import earnable_points, undecided_points
from numalab.course.jobs.progress import class_text
from numalab.course.records import Attempt, Intake, Problem
from numalab.errors import LockedError, NumalabError, UserError
from numalab.files import write_json

DEADLINE = f"[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00+02:00\n"
IN_TIME, A_DAY_LATE, A_WEEK_LATE = (
    "2027-05-03T20:00:00+02:00", "2027-05-04T20:00:00+02:00", "2027-05-10T20:00:00+02:00"
)  # fmt: skip

OVERRIDE = f'[[override]]\nstudent = "ada"\nlab = "{LAB}"'


def rules(text: str = "") -> Rules:
    return parse_rules(text, "course.toml")


def standing(
    folder: Path, intakes: list[Intake], attempts: list[Attempt], text: str = ""
) -> Standing:
    with use_gradebook(CourseFolder(folder)) as book:
        for one in intakes:
            book.add_submissions(one)
        book.add_attempts(attempts)
        return book.standing(rules(text))


def only_row(folder: Path, *arguments: Any) -> StandingRow:
    (row,) = standing(folder, *arguments).rows
    return row


# ---- course.toml ---------------------------------------------------------------------


def test_the_template_is_the_defaults() -> None:
    assert rules(TEMPLATE) == Rules()


def test_the_templates_examples_are_understood() -> None:
    """What is commented out in it, taken in."""
    begun = TEMPLATE.split("# cut_off_days", 1)
    text = begun[0] + "\n".join(
        line.removeprefix("# ") for line in f"# cut_off_days{begun[1]}".splitlines()
    )
    found = rules(text)
    assert found.late.cut_off_s == 7 * 86400
    assert found.override("ada", LAB) is not None
    deadline = found.deadline("ada", LAB)
    assert deadline is not None
    assert deadline.isoformat() == "2027-05-10T23:59:00+02:00"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('tilte = "x"', (":1: ", "'tilte'", "Did you mean 'title'?", "provisional_below")),
        ("title = 3", ("'title'", "a text")),
        ('counts = "first"', ("'counts'", "best_before_deadline")),
        ("provisional_below = 80", ("'provisional_below'", "0 to 1")),
        ("[labs.01_first_touch]\npoints = inf", ("'points'",)),
        ("provisional_below = true", ("'provisional_below'", "a number")),
        ("allow_quick = 1", ("'allow_quick'", "true or false")),
        ('languages = ["rust"]', ("'languages'", "fortran")),
        ("[late]\nper_week = 1", (":2: ", "[late]", "'per_week'", "per_day")),
        (f"[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00", (":2: ", "'deadline'", "zone")),
        (f'[labs.{LAB}]\ndeadline = "soon"', ("'deadline'", "without quotes")),
        ("[labs]\n01_first_tuoch = {}", ("01_first_tuoch", f"Did you mean {LAB}")),
        (f"{OVERRIDE}\npoints = 5", (":1: [[override]] has no key 'reason'",)),
        (f'{OVERRIDE}\npoints = 11\nreason = "x"', ("0 to 10",)),
        (f'[override]\nstudent = "ada"\nlab = "{LAB}"', ("[[override]]",)),
        ("title = x", (":1: ", "not TOML")),
        ('[late]\nmost = 1\ncounts = "best"', (":3: ", "'counts'", "above the first [late]")),
    ],
)  # fmt: skip
def test_a_slip_in_course_toml_is_named(tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as raised:
        read_rules(path, [LAB, OTHER_LAB])
    for words in (str(path), *said):
        assert words in str(raised.value)


def test_no_course_toml_means_the_defaults(tmp_path: Path) -> None:
    assert read_rules(tmp_path / "course.toml") == Rules()


# ---- which counts --------------------------------------------------------------------


def test_points_are_over_what_could_be_graded(tmp_path: Path) -> None:
    row = only_row(tmp_path, [intake(submission(ADA))], [attempt(ADA, result(6, 2, 2))])
    assert (row.points, row.max_points, row.gradable_points) == (7.5, 10, 8)
    assert not row.is_preliminary


def test_below_the_share_a_grade_is_provisional(tmp_path: Path) -> None:
    given = [intake(submission(ADA))], [attempt(ADA, result(6, 1, 3))]
    assert only_row(tmp_path, *given).is_preliminary
    assert not only_row(tmp_path, *given, "provisional_below = 0.7").is_preliminary


def test_a_lab_is_scaled_to_the_courses_points(tmp_path: Path) -> None:
    row = only_row(
        tmp_path, [intake(submission(ADA))], [attempt(ADA, result(6, 2, 2))],
        f"[labs.{LAB}]\npoints = 30",
    )  # fmt: skip
    assert (row.points, row.max_points, row.gradable_points) == (22.5, 30, 24)


def test_the_better_language_counts(tmp_path: Path) -> None:
    both = attempt(ADA, result(4, 6), result(9, 1, language="fortran"))
    row = only_row(tmp_path, [intake(submission(ADA))], [both])
    assert (row.points, row.language) == (9, "fortran")
    row = only_row(tmp_path, [], [], 'languages = ["c"]')
    assert (row.points, row.language) == (4, "c")


def test_infrastructure_failures_are_not_zero(tmp_path: Path) -> None:
    lost = attempt(ADA, state="node_failed", why="n3 went away")
    row = only_row(tmp_path, [intake(submission(ADA))], [lost])
    assert (row.points, row.attempt) == (None, None)
    assert row.others == (lost,)
    check_text(row.notes[0])
    again = attempt(ADA, result(10), number=2, at="2027-05-05T10:00:00+00:00")
    row = only_row(tmp_path, [], [again])
    assert row.points == 10
    assert [a.number for a in row.others] == [1]


TWICE = (
    [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", A_DAY_LATE))],
    [
        attempt(ADA, result(9, 1), digest="first", at="2027-05-06T10:00:00+00:00"),
        attempt(ADA, result(4, 6), digest="second", at="2027-05-05T10:00:00+00:00"),
    ],
)


@pytest.mark.parametrize(
    ("text", "points", "penalty"),
    [
        ("", 4, 0),
        ('counts = "best"\n', 9, 0),
        ('counts = "best_before_deadline"\n', 9, 0),
        ("[late]\nper_day = 0.25\n", 3, 0.25),
        ('counts = "best"\n[late]\nper_day = 0.25\n', 9, 0),
        ("[late]\nper_day = 0.25\ngrace_minutes = 1440\n", 4, 0),
        # What comes after the cut-off does not take the place of what came in time.
        ("[late]\ncut_off_days = 0\n", 9, 0),
    ],
)
def test_which_of_two_counts(tmp_path: Path, text: str, points: float, penalty: float) -> None:
    row = only_row(tmp_path, *TWICE, text + DEADLINE)
    assert (row.points, row.penalty) == (points, penalty)
    assert len(row.others) == 1


@pytest.mark.parametrize(
    ("late", "points", "penalty"),
    [
        ("per_day = 0.1", 2.4, 0.7),  # the seventh day has begun
        ("per_day = 0.1\nmost = 0.5", 4, 0.5),
        ("per_day = 0.1\nmost = 0.5\ncut_off_days = 6", 0, 1),
        ("per_day = 0.1\nmost = 0.5\ncut_off_days = 7", 4, 0.5),
    ],
)
def test_what_being_late_costs(tmp_path: Path, late: str, points: float, penalty: float) -> None:
    given = [intake(submission(ADA, at=A_WEEK_LATE))], [attempt(ADA, result(8, 2))]
    row = only_row(tmp_path, *given, f"[late]\n{late}\n{DEADLINE}")
    assert (row.points, pytest.approx(row.penalty)) == (points, penalty)
    assert row.late_s == pytest.approx(7 * 86400 - 3 * 3600 - 59 * 60)


@pytest.mark.parametrize(("grace_minutes", "late_s"), [(1202, 0), (1201, 0), (1200, 72060)])
def test_the_end_of_the_grace_is_in_time(tmp_path: Path, grace_minutes: int, late_s: float) -> None:
    """Handed in 1,201 minutes after the deadline."""
    given = [intake(submission(ADA, at=A_DAY_LATE))], [attempt(ADA, result(8, 2))]
    text = f"[late]\nper_day = 0.5\ngrace_minutes = {grace_minutes}\n{DEADLINE}"
    row = only_row(tmp_path, *given, text)
    assert (row.late_s, row.points) == (late_s, 4 if late_s else 8)


def test_the_best_late_one_counts_where_none_is_in_time(tmp_path: Path) -> None:
    given = [intake(submission(ADA, at=A_DAY_LATE))], [attempt(ADA, result(8, 2))]
    text = f'counts = "best_before_deadline"\n[late]\nper_day = 0.5\n{DEADLINE}'
    assert only_row(tmp_path, *given, text).points == 4


def test_the_best_is_the_best_after_the_penalty(tmp_path: Path) -> None:
    given = (
        [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", A_DAY_LATE))],
        [attempt(ADA, result(6, 4), digest="first"), attempt(ADA, result(10), digest="second")],
    )
    row = only_row(tmp_path, *given, f'counts = "best"\n[late]\nper_day = 0.5\n{DEADLINE}')
    assert row.points == 6


def test_the_same_files_once_more_are_not_late(tmp_path: Path) -> None:
    given = (
        [intake(submission(ADA, at=IN_TIME)), intake(submission(ADA, at=A_DAY_LATE))],
        [attempt(ADA, result(8, 2))],
    )
    row = only_row(tmp_path, *given, f"[late]\nper_day = 0.5\n{DEADLINE}")
    assert (row.points, row.late_s) == (8, 0)


def test_going_back_to_the_first_files_makes_them_the_last(tmp_path: Path) -> None:
    handed_in = [
        intake(submission(ADA, "first", "2027-05-01T10:00:00+02:00")),
        intake(submission(ADA, "second", "2027-05-02T10:00:00+02:00")),
    ]
    graded = [
        attempt(ADA, result(9, 1), digest="first"),
        attempt(ADA, result(4, 6), digest="second"),
    ]
    assert only_row(tmp_path, handed_in, graded).points == 4
    back = [intake(submission(ADA, "first", "2027-05-03T10:00:00+02:00"))]
    assert only_row(tmp_path, back, []).points == 9


def test_a_last_hand_in_that_is_not_graded_yet_has_no_grade(tmp_path: Path) -> None:
    row = only_row(
        tmp_path,
        [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", A_DAY_LATE))],
        [attempt(ADA, result(9, 1), digest="first")],
    )
    assert (row.attempt, row.points) == (None, None)
    check_text(row.notes[0])
    assert "9 of 10" in row.notes[1]


def test_a_regrading_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    first = attempt(ADA, result(5, 5))
    second = attempt(ADA, result(7, 3), installation="k2", at="2027-05-09T10:00:00+00:00")
    row = only_row(tmp_path, [intake(submission(ADA))], [second, first])
    assert row.points == 7
    assert row.others[0].target.numalab_digest.startswith("k1")


def test_an_extension_moves_one_students_deadline(tmp_path: Path) -> None:
    text = f"""{DEADLINE}
        [late]
        per_day = 0.5
        [[extension]]
        student = "ada"
        lab = "{LAB}"
        deadline = 2027-05-05T00:00:00+02:00
        reason = "ill"
        """
    made = standing(
        tmp_path,
        [intake(submission(ADA, at=A_DAY_LATE), submission(BOB, at=A_DAY_LATE))],
        [attempt(ADA, result(8, 2)), attempt(BOB, result(8, 2))],
        text,
    )
    assert [(row.student.id, row.points) for row in made.rows] == [("ada", 8), ("bob", 4)]


def test_an_override_needs_no_grading_and_pays_no_penalty(tmp_path: Path) -> None:
    text = f"""{DEADLINE}
        [late]
        per_day = 0.5
        [[override]]
        student = "ada"
        lab = "{LAB}"
        points = 7.5
        reason = "shown at the board"
        [[override]]
        student = "eve"
        lab = "{LAB}"
        points = 1
        reason = "?"
        """
    made = standing(tmp_path, [intake(submission(ADA, at=A_DAY_LATE))], [], text)
    (row,) = made.rows
    assert (row.points, row.penalty, row.override_reason) == (7.5, 0, "shown at the board")
    assert not row.is_preliminary
    (problem,) = made.problems
    assert "'eve'" in problem.why


def test_a_change_of_node_is_told(tmp_path: Path) -> None:
    row = only_row(
        tmp_path,
        [intake(submission(ADA))],
        [
            attempt(ADA, result(5, 5)),
            attempt(ADA, result(7, 3), number=2, node=ONE_NUMA_NODE | {"name": "n9"}),
        ],
    )
    assert row.notes == ()
    row = only_row(tmp_path, [], [attempt(ADA, result(7, 3), number=3, node=TWO_NUMA_NODES)])
    check_text(row.notes[0])


def test_who_handed_in_nothing_has_a_row_and_no_points(tmp_path: Path) -> None:
    made = standing(
        tmp_path,
        [
            intake(
                submission(ADA, notes="notes.txt was left out."),
                problems=[Problem("zoe.zip", "The archive is broken.", ZOE), Problem("x", "y")],
            )
        ],
        [attempt(ADA, result(10))],
        f"[labs.{OTHER_LAB}]",
    )
    assert [(row.student.id, row.lab, row.points) for row in made.rows] == [
        ("ada", LAB, 10), ("ada", OTHER_LAB, None), ("zoe", LAB, None), ("zoe", OTHER_LAB, None),
    ]  # fmt: skip
    check_text(made.rows[0].notes)
    assert [row.is_handed_in for row in made.rows] == [True, False, False, False]
    check_text(made.rows[2].notes)
    assert len(made.problems) == 2


# ---- what is open ----------------------------------------------------------------------

FAILED, OPEN = result(8, failed=2), result(8, still_open=2)


def test_open_points_are_not_earned_and_the_grade_is_provisional(tmp_path: Path) -> None:
    """Whatever the share of what could be graded: 8 of 10 is the course's, and 10 were here."""
    given = [intake(submission(ADA))], [attempt(ADA, OPEN)]
    row = only_row(tmp_path, *given, "provisional_below = 0.8")
    assert (row.points, row.gradable_points, row.undecided_points) == (8, 10, 2)
    assert row.is_preliminary
    assert [(each.criterion, each.points) for each in row.undecided] == [("efficiency", 2)]


def test_points_that_the_kit_has_spoilt_are_not_earned_either(tmp_path: Path) -> None:
    """A kernel that takes too much memory on a virtual node ends as an error, too."""
    spoilt = attempt(ADA, result(6, failed=2, spoilt=2))
    row = only_row(tmp_path, [intake(submission(ADA))], [spoilt])
    assert (row.points, row.undecided_points, row.is_preliminary) == (6, 2, True)
    assert row.undecided[0].is_internal_error


def test_of_several_places_a_failure_decides_and_one_open_place_leaves_it_open() -> None:
    def of(*statuses: str) -> Any:
        return result(8) | {
            "max_points": 10, "criteria": [criterion("a", status, 2) for status in statuses],
        }  # fmt: skip

    assert undecided_points(of("pass", "inconclusive"))[0].points == 2
    assert not undecided_points(of("fail", "inconclusive")) and not undecided_points(
        of("pass", "fail")
    )
    assert earnable_points(of("not_gradable", "not_gradable")) == 8
    assert earnable_points(of("not_gradable", "inconclusive")) == 10


@pytest.mark.parametrize("counts", ["last", "best", "best_before_deadline"])
def test_what_is_open_never_beats_what_failed(tmp_path: Path, counts: str) -> None:
    """In whatever order they came."""
    text = f'counts = "{counts}"\n{DEADLINE}'
    for number, (first, second) in enumerate(((FAILED, OPEN), (OPEN, FAILED))):
        row = only_row(
            tmp_path / str(number),
            [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", IN_TIME))],
            [attempt(ADA, first, digest="first"), attempt(ADA, second, digest="second")],
            text,
        )
        assert row.points == 8
        assert row.is_preliminary == (counts == "last" and second is OPEN)


@pytest.mark.parametrize("counts", ["best", "best_before_deadline"])
def test_more_than_the_decided_one_counts_even_where_some_is_open(
    tmp_path: Path, counts: str
) -> None:
    row = only_row(
        tmp_path,
        [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", IN_TIME))],
        [
            attempt(ADA, result(7, failed=3), digest="first"),
            attempt(ADA, OPEN, digest="second"),
        ],
        f'counts = "{counts}"\n{DEADLINE}',
    )
    assert (row.points, row.is_preliminary) == (8, True)


def test_what_is_open_competes_after_the_penalty(tmp_path: Path) -> None:
    given = (
        [intake(submission(ADA, "first", IN_TIME)), intake(submission(ADA, "second", A_DAY_LATE))],
        [attempt(ADA, FAILED, digest="first"), attempt(ADA, OPEN, digest="second")],
    )
    late = f"[late]\nper_day = 0.5\n{DEADLINE}"
    row = only_row(tmp_path, *given, late)
    assert (row.points, row.penalty, row.is_preliminary) == (4, 0.5, True)
    row = only_row(tmp_path, [], [], f'counts = "best"\n{late}')
    assert (row.points, row.is_preliminary) == (8, False)


def test_the_language_of_which_less_is_open_counts_where_both_earn_the_same(
    tmp_path: Path,
) -> None:
    for number, (c, fortran) in enumerate(((FAILED, OPEN), (OPEN, FAILED))):
        both = attempt(ADA, c, fortran | {"language": "fortran"})
        row = only_row(tmp_path / str(number), [intake(submission(ADA))], [both])
        assert (row.points, row.language) == (8, "c" if c is FAILED else "fortran")
        assert not row.is_preliminary and not row.undecided


def test_nothing_is_open_of_points_that_were_set_by_hand(tmp_path: Path) -> None:
    text = f'{OVERRIDE}\npoints = 9\nreason = "saw it run"'
    row = only_row(tmp_path, [intake(submission(ADA))], [attempt(ADA, OPEN)], text)
    assert (row.points, row.is_preliminary, row.undecided, row.undecided_points) == (
        9,
        False,
        (),
        0,
    )


def test_what_was_graded_on_takes_the_open_ones_place_even_if_it_failed(tmp_path: Path) -> None:
    went_on = replace(
        attempt(ADA, result(7, failed=3), number=2, at="2027-05-05T10:00:00+00:00"), replaces=1
    )
    for counts in ("last", "best", "best_before_deadline"):
        row = only_row(
            tmp_path / counts, [intake(submission(ADA))], [attempt(ADA, OPEN), went_on],
            f'counts = "{counts}"',
        )  # fmt: skip
        assert (row.points, row.is_preliminary) == (7, False)


def test_student_and_instructor_are_told_what_is_open(tmp_path: Path) -> None:
    made = standing(
        tmp_path,
        [intake(submission(ADA), submission(BOB))],
        [
            attempt(
                ADA,
                result(7, still_open=1, spoilt=2)
                | {"earlier_times": [{"started_at": IN_TIME, "generations": 24}]},
            ),
            attempt(BOB, FAILED),
        ],
    )
    ada, bob = made.rows
    lines = feedback_lines(ada)
    check_text(lines[0])
    check_text(lines[1])
    check_text(lines[2])
    assert not [line for line in feedback_lines(bob) if "open" in line]
    shown = " ".join(" ".join(table_lines(made)).split())
    check_text(shown)
    assert max(map(len, table_lines(made))) <= 80
    with use_gradebook(CourseFolder(tmp_path), read_only=True) as book:
        (account,) = book.grade_traces(rules(), "ada")
        assert [item.student_id for item, _ in book.undecided_attempts()] == ["ada"]
        assert [a.target.student_id for a in book.undecided_hand_ins()] == ["ada"]
    told = "\n".join(explanation(account, rules()))
    check_text(told)


def test_a_hand_in_is_open_no_more_once_it_was_decided_or_changed(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    standing(tmp_path, [intake(submission(ADA))], [attempt(ADA, OPEN), attempt(BOB, OPEN)])
    again = attempt(ADA, FAILED, number=2, at="2027-05-05T10:00:00+00:00")
    told = "The class: 1 of 1 hand-ins graded; points open in 1 hand-in"
    assert class_text(course) == told
    with use_gradebook(course) as book:
        assert [a.target.student_id for a in book.undecided_hand_ins()] == ["ada"]
        book.add_attempts([again])
        assert book.undecided_hand_ins() == []
        assert (again.target, 1) in book.undecided_attempts(), "that one was, and is"
    check_text(class_text(course))


def test_starting_code_is_told_where_it_earns_nothing(tmp_path: Path) -> None:
    untouched = result(4, 6) | {"unchanged": True, "points": 0, "points_if_changed": 4}
    said = "This is still the starting code, which earns no points."
    given = [intake(submission(ADA))], [attempt(ADA, untouched)]
    for text, points in (("", 0), ('starting_code = "counts"', 4)):
        row = only_row(tmp_path, *given, text)
        assert row.points == points
        assert (said in feedback_lines(row)) is (points == 0)


# ---- with --quick ------------------------------------------------------------------------


def test_quick_gradings_count_where_the_course_lets_them_and_say_their_risk(
    tmp_path: Path,
) -> None:
    timed = criterion("efficiency", "pass", 2, kind="timing")
    quick = result(8) | {"points": 10, "max_points": 10}
    quick["criteria"] = [*quick["criteria"], timed]
    given = [intake(submission(ADA))], [attempt(ADA, quick, effort="quick")]
    made = standing(tmp_path, *given)
    (row,) = made.rows
    assert (row.points, row.attempt, row.is_handed_in) == (None, None, True)
    check_text(row.notes[0])
    (problem,) = made.problems
    assert "allow_quick" in problem.why
    check_text(problem.why)
    with use_gradebook(CourseFolder(tmp_path), read_only=True) as book:
        (account,) = book.grade_traces(rules(), "ada")
    check_text("\n".join(explanation(account, rules())))

    made = standing(tmp_path, [], [], "allow_quick = true")
    (row,) = made.rows
    assert (row.points, made.problems) == (10, ())
    told = [line for line in feedback_lines(row) if "1 in 20" in line]
    check_text(told)
    assert " ".join(table_lines(made)).count("1 in 20") == 1


def test_a_careful_grading_counts_beside_a_quick_one_that_does_not(tmp_path: Path) -> None:
    for counts in ("last", "best"):
        made = standing(
            tmp_path / counts,
            [intake(submission(ADA))],
            [
                attempt(ADA, result(6, 4)),
                attempt(ADA, result(10), effort="quick", at="2027-05-09T10:00:00+00:00"),
            ],
            f'counts = "{counts}"',
        )
        assert [row.points for row in made.rows] == [6] and made.problems == ()
        assert not made.rows[0].is_quick


# ---- what is kept --------------------------------------------------------------------


def fill(course: CourseFolder) -> None:
    """As a head leaves a course: attempts in their folders and in the gradebook."""
    graded = [*TWICE[1], attempt(BOB, state="preempted", why="a bigger job")]
    for one in graded:
        folder = course.attempt(one.target, one.number)
        folder.mkdir(parents=True)
        write_json(folder / "attempt.json", records.attempt_json(one))
    half = course.attempts(graded[0].target) / ".partial-2"
    half.mkdir()
    (half / "attempt.json").write_text("{")
    with use_gradebook(course) as book:
        for delivery in TWICE[0]:
            book.add_submissions(delivery)
        book.add_submissions(intake(submission(BOB), problems=[Problem("zoe.zip", "Broken.", ZOE)]))
        assert book.add_attempts(graded) == 3


def without_time(found: Standing) -> tuple[Any, ...]:
    return found.rows, found.problems, found.title


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    with use_gradebook(course) as book:
        before = book.standing(rules())
        assert book.add_attempts(TWICE[1]) == 0
        book.add_submissions(intake(submission(BOB), problems=[Problem("zoe.zip", "Broken.", ZOE)]))
        assert without_time(book.standing(rules())) == without_time(before)
    assert len(list(course.collection_records.iterdir())) == 3


def test_a_rebuild_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    before = course.gradebook.read_bytes()
    spoilt = course.attempt(TWICE[1][0].target, 1) / "attempt.json"
    spoilt.write_text("{}")
    with pytest.raises(NumalabError, match=str(spoilt)):
        rebuild(course, lambda step: None)
    assert course.gradebook.read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


@pytest.mark.parametrize("damage", ["gone", "empty", "spoilt"])
def test_it_is_made_again_from_the_files(tmp_path: Path, damage: str) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    with use_gradebook(course, read_only=True) as book:
        before = book.standing(rules())
    if damage == "spoilt":
        course.gradebook.write_bytes(b"no database at all, only text" * 100)
        with raises_text(UserError), use_gradebook(course):
            pass
    else:
        course.gradebook.unlink()
        if damage == "empty":
            course.gradebook.touch()
    rebuild(course, lambda step: None)
    with use_gradebook(course, read_only=True) as book:
        assert without_time(book.standing(rules())) == without_time(before)


def test_what_takes_room_is_left_in_the_attempts_folder(tmp_path: Path) -> None:
    row = only_row(tmp_path, [intake(submission(ADA))], [attempt(ADA, result(6, 2, 2))])
    assert row.attempt is not None
    (kept,) = row.attempt.results
    assert [one["name"] for one in kept["criteria"]] == ["correct", "local_pages", "speedup"]
    assert not any("timing" in one for one in kept["criteria"])
    assert "load_1min" not in row.attempt.node


def test_one_process_writes(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    with use_gradebook(course):
        with pytest.raises(LockedError, match=f"process {os.getpid()}"), use_gradebook(course):
            pass
        with use_gradebook(course, read_only=True) as book:
            assert book.standing(rules()).rows == ()


def test_reading_makes_nothing(tmp_path: Path) -> None:
    with (
        raises_text(UserError),
        use_gradebook(CourseFolder(tmp_path / "x"), read_only=True),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from support.courses import *
from numalab.course.gradebook import gradebook
from numalab.course.course_folder import CourseFolder
def attempts():
    for number in range(1, 400):
        yield attempt(ADA, result(1, 9), number=number)
    os.kill(os.getpid(), signal.SIGKILL)
with gradebook.use_gradebook(CourseFolder(Path({course!r}))) as book:
    book._database.execute("PRAGMA cache_size = 5")  # so that pages are written before the end
    book.add_attempts(attempts())
"""


def test_a_killed_writer_leaves_what_was_there_before(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    with use_gradebook(course, read_only=True) as book:
        before = book.standing(rules())
    program = _KILLED.format(tests=str(Path(__file__).parents[1]), course=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "gradebook.sqlite-journal").stat().st_size > 0
    for read_only in (True, False):
        with use_gradebook(course, read_only=read_only) as book:
            assert without_time(book.standing(rules())) == without_time(before)


def test_a_delivery_that_was_kept_before_a_kill_is_taken_in(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    late = records.intake_json(intake(submission(ZOE)))
    write_json(course.collection_record(4), {"taken_in_at": "2027-05-05T00:00:00+00:00"} | late)
    with use_gradebook(course) as book:
        ids = {row.student.id for row in book.standing(rules()).rows}
    assert "zoe" in ids


def test_an_account_tells_of_everything_that_was_weighed(tmp_path: Path) -> None:
    course = CourseFolder(tmp_path)
    fill(course)
    with use_gradebook(course, read_only=True) as book:
        (found,) = book.grade_traces(rules(DEADLINE), "ada")
        with raises_text(UserError):
            book.grade_traces(rules(), "lovelace")
    assert [one.unpenalized_points for one in found.scored] == [9, 4]
    assert [one.late_s > 0 for one in found.scored] == [False, True]
    assert len(found.hand_ins) == 2
