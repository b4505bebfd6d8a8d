"""Which grading counts and what it is worth: limits, ties and sums, each by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.counted import DAY_S, DIGEST, DUE, counted, handed
from support.courses import (
    ADA,
    LAB,
    ONE_NUMA_NODE,
    TWO_NUMA_NODES,
    attempt,
    criterion,
    result,
)
from support.golden_texts import check_text

from numalab.course.gradebook.counting import (
    LATE_UNKNOWN,
    HandIn,
    format_duration,
    lateness_s,
    replaced_attempts,
    score_attempt,
)
from numalab.course.gradebook.node_types import node_type, node_types, stored_facts
from numalab.course.gradebook.rules import (
    LabRules,
    LateRules,
    Rules,
)
from numalab.course.gradebook.undecided_points import (
    UndecidedPoints,
    criteria_text,
    is_worth_regrading,
    student_sentences,
    total_points,
)
from numalab.course.records import LATE_BY_CANVAS, Attempt

Json = dict[str, Any]


# ---- being late ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("late_s", "said"),
    [
        (1, "1 minute"), (89, "1 minute"), (91, "2 minutes"), (3599, "60 minutes"),
        (3600, "1 hour"), (5401, "2 hours"), (2 * DAY_S - 1, "48 hours"), (2 * DAY_S, "2 days"),
        (2.6 * DAY_S, "3 days"),
    ],
)  # fmt: skip
def test_how_late_in_words(late_s: float, said: str) -> None:
    assert format_duration(late_s) == said


def test_lateness_is_known_only_where_both_times_are() -> None:
    late = DUE + timedelta(seconds=90)
    assert lateness_s(late, DUE, Rules()) == 90
    assert lateness_s(None, DUE, Rules()) == lateness_s(late, None, Rules()) == 0
    assert lateness_s(DUE, late, Rules()) == 0
    assert lateness_s(late, DUE, Rules(late=LateRules(grace_s=90))) == 0
    assert lateness_s(late, DUE, Rules(late=LateRules(grace_s=89))) == 90


def test_late_by_canvas_costs_nothing_and_is_said_in_place_of_its_note() -> None:
    unknown = HandIn(DIGEST, None, DUE, ("first", LATE_BY_CANVAS, "last"))
    of = Rules(labs={LAB: LabRules(DUE - timedelta(days=9))}, late=LateRules(0.5, 0.5))
    row = counted([unknown], [attempt(ADA, result(10))], of).row
    assert (row.points, row.late_s, row.is_late_unknown) == (10, 0, True)
    assert row.notes == ("first", LATE_UNKNOWN, "last")
    told = replace(unknown, first_at=DUE)
    row = counted([told], [attempt(ADA, result(10))], of).row
    assert (row.points, row.is_late_unknown) == (5, False)
    assert row.notes == told.notes


# ---- weighing ------------------------------------------------------------------------


def test_a_grading_is_weighed_on_the_scale_of_the_course() -> None:
    one = attempt(ADA, result(4, 2, 2, still_open=1, spoilt=1))
    of = Rules(labs={LAB: LabRules(points=16)}, late=LateRules(0.25))
    found = score_attempt(one, 1, LAB, of)
    assert found is not None
    assert (found.earned, found.gradable, found.max_points) == (4, 8, 10)
    assert (found.unpenalized_points, found.penalty, found.points) == (8, 0.25, 6)
    assert (found.language, found.late_s, found.gradable_share) == ("c", 1, 0.8)
    assert found.undecided == (
        UndecidedPoints("efficiency", 1, False),
        UndecidedPoints("balanced", 1, True),
    )


def test_starting_code_earns_what_the_course_says() -> None:
    untouched = attempt(ADA, result(6, 4) | {"points": 0, "points_if_changed": 6})
    for counts, points in ((False, 0), (True, 6)):
        found = score_attempt(untouched, 0, LAB, Rules(starting_code_counts=counts))
        assert found is not None and found.points == points
    found = score_attempt(attempt(ADA, result(7, 3)), 0, LAB, Rules(starting_code_counts=True))
    assert found is not None and found.points == 7


def test_what_counts_in_no_way_is_not_weighed() -> None:
    quick = attempt(ADA, result(10), effort="quick")
    assert score_attempt(quick, 0, LAB, Rules()) is None
    assert score_attempt(quick, 0, LAB, Rules(allow_quick=True)) is not None
    assert score_attempt(attempt(ADA, result(10)), 0, LAB, Rules(languages=("fortran",))) is None
    assert score_attempt(attempt(ADA, result(10), state="lost"), 0, LAB, Rules()) is None


def test_nothing_gradable_is_no_points_and_behind_whatever_has_some() -> None:
    nothing = result(0, 0, 10)
    found = score_attempt(attempt(ADA, nothing), 0, LAB, Rules())
    assert found is not None
    assert (found.unpenalized_points, found.points, found.gradable_share) == (None, None, 0)
    both = attempt(ADA, nothing, result(0, 10, language="fortran"))
    found = score_attempt(both, 0, LAB, Rules())
    assert found is not None and found.language == "fortran"
    row = counted([handed()], [attempt(ADA, nothing)]).row
    assert (row.points, row.gradable_points, row.is_preliminary) == (None, 0, True)
    check_text(row.notes)


@pytest.mark.parametrize(
    ("first", "second", "better"),
    [
        (result(5, 5), result(6, 4), 2),
        (result(6, 4), result(5, 5), 1),
        (result(5, 5), result(5, 5), 2),  # the newer one
        (result(5, 3, still_open=2), result(5, 5), 2),  # less of it is open
        (result(5, 5), result(5, 3, still_open=2), 1),
        (result(4, 4, 2), result(5, 5), 2),  # more of it was graded
        (result(5, 5), result(4, 4, 2), 1),
    ],
)
def test_which_of_two_is_the_best(first: Json, second: Json, better: int) -> None:
    attempts = [
        attempt(ADA, one, number=number, at=f"2027-05-0{number}T10:00:00+00:00")
        for number, one in enumerate((first, second), start=1)
    ]
    row = counted([handed()], attempts, Rules(counts="best")).row
    assert row.attempt is attempts[better - 1]
    assert row.others == (attempts[2 - better],)


def test_of_two_that_earn_nothing_the_better_one_is_shown() -> None:
    """Both are as late as nothing can earn any more."""
    of = Rules(counts="best", labs={LAB: LabRules(DUE)}, late=LateRules(cut_off_s=0))
    hand_ins = [handed("d1", timedelta(days=1)), handed("d2", timedelta(days=2))]
    attempts = [attempt(ADA, result(9, 1)), attempt(ADA, result(2, 8), digest="d2")]
    row = counted(hand_ins, attempts, of).row
    assert (row.points, row.penalty) == (0, 1)
    assert row.attempt is attempts[0]


@pytest.mark.parametrize("counts", ["best", "best_before_deadline"])
def test_what_is_too_late_takes_the_place_of_nothing(counts: Any) -> None:
    of = Rules(counts=counts, labs={LAB: LabRules(DUE)}, late=LateRules(cut_off_s=0))
    hand_ins = [handed("d1"), handed("d2", timedelta(days=2))]
    attempts = [attempt(ADA, result(0, 10)), attempt(ADA, result(9, 1), digest="d2")]
    row = counted(hand_ins, attempts, of).row
    assert (row.points, row.penalty, row.late_s) == (0, 0, 0)
    assert row.attempt is attempts[0]


def test_a_share_of_exactly_the_courses_is_not_provisional() -> None:
    for ungraded, provisional in ((2, False), (3, True)):
        row = counted([handed()], [attempt(ADA, result(10 - ungraded, 0, ungraded))]).row
        assert (row.gradable_points, row.is_preliminary) == (10 - ungraded, provisional)


def test_only_what_ended_well_takes_anothers_place() -> None:
    first = attempt(ADA, result(5, 5))
    again = replace(attempt(ADA, result(6, 4), number=2), replaces=1)
    lost = replace(attempt(ADA, number=3, state="lost"), replaces=2)
    assert replaced_attempts([first, again, lost]) == {(first.target, 1)}
    found = counted([handed()], [first, again, lost])
    assert found.row.attempt is again
    assert (found.replaced, found.row.others) == ((first,), (lost,))


def test_a_grading_without_a_delivery_makes_its_hand_in_up() -> None:
    one = attempt(ADA, result(5, 5), digest="d9", at="2027-05-09T10:00:00+00:00")
    found = counted([handed("d1", timedelta(days=-1))], [one])
    assert [hand_in.digest[:2] for hand_in in found.hand_ins] == ["d1", "d9"]
    assert found.hand_ins[1].first_at is None
    assert found.hand_ins[1].last_at == datetime(2027, 5, 9, 10, tzinfo=UTC)
    assert found.row.attempt is one


def test_a_hand_in_that_is_made_up_is_as_old_as_its_first_grading() -> None:
    first = attempt(ADA, result(5, 5), number=2, at="2027-05-03T10:00:00+00:00")
    second = attempt(ADA, result(6, 4), installation="k2", at="2027-05-09T10:00:00+00:00")
    found = counted([], [second, first])
    assert [hand_in.last_at.day for hand_in in found.hand_ins] == [3]
    assert found.row.attempt is second
    assert found.row.others == (first,)


def test_of_one_hand_in_the_grading_that_ended_last_counts() -> None:
    at = "2027-05-09T10:00:00+00:00"
    some = [
        attempt(ADA, result(1, 9), number=3),
        attempt(ADA, result(2, 8), number=1, at=at),
        attempt(ADA, result(3, 7), number=2, at=at),
    ]
    found = counted([handed()], some[::-1])
    assert [one.attempt.number for one in found.scored] == [3, 1, 2]
    assert found.row.points == 3


def test_of_two_that_are_as_good_the_later_hand_in_counts_whenever_it_was_graded() -> None:
    some = [
        attempt(ADA, result(5, 5), at="2027-05-09T10:00:00+00:00"),
        attempt(ADA, result(5, 5), digest="d2", at="2027-05-05T10:00:00+00:00"),
    ]
    found = counted([handed(), handed("d2", timedelta(1))], some, Rules(counts="best"))
    assert found.row.attempt is some[1]
    assert [one.attempt for one in found.scored] == some


# ---- why there is no grade -----------------------------------------------------------


@pytest.mark.parametrize(
    ("hand_ins", "attempts", "of", "not_taken", "said"),
    [
        ([], [], Rules(), "", ["Nothing was handed in."]),
        ([], [], Rules(), "Broken.",
         ["Nothing was handed in that can be graded.", "Broken."]),
        ([handed()], [], Rules(), "Broken.", ["Handed in, and not graded yet."]),
        ([handed()], [attempt(ADA, result(1, 9))], Rules(languages=("fortran",)), "",
         ["Graded in c, and in this course fortran counts."]),
        ([handed()], [attempt(ADA)], Rules(), "",
         ["Graded in no language, and in this course c and fortran counts."]),
        ([handed()], [attempt(ADA, state="lost")], Rules(), "",
         ["Not graded: the job left no result. That says nothing about your code; it is to be "
          "graded again."]),
        ([handed()], [attempt(ADA, state="lost", effort="quick")], Rules(), "",
         ["Not graded: the job left no result. That says nothing about your code; it is to be "
          "graded again."]),
        ([handed()], [attempt(ADA, state="kit_error", why="Oh.")], Rules(), "",
         ["Not graded: the grader itself failed (Oh). That says nothing about your code; it is to "
          "be graded again."]),
        ([handed(), handed("d2", timedelta(1))],
         [attempt(ADA, result(3, 7)), attempt(ADA, result(4, 6), number=2)], Rules(), "",
         ["Handed in, and not graded yet.",
          "What was handed in before it was graded with 4 of 10 points."]),
    ],
)  # fmt: skip
def test_why_there_is_no_grade(
    hand_ins: list[HandIn], attempts: list[Attempt], of: Rules, not_taken: str, said: list[str]
) -> None:
    row = counted(hand_ins, attempts, of, not_taken).row
    assert list(row.notes) == said
    assert (row.points, row.attempt, row.gradable_points) == (None, None, None)
    assert (row.is_handed_in, row.is_not_taken) == (
        bool(hand_ins),
        not hand_ins and not_taken != "",
    )
    assert not row.is_preliminary and row.language == ""
    assert row.others == tuple(attempts)


def test_a_late_one_that_waits_says_how_late_it_is() -> None:
    of = Rules(labs={LAB: LabRules(DUE)}, late=LateRules(0.25))
    row = counted([handed("d1", timedelta(seconds=30))], [], of).row
    assert (row.points, row.late_s, row.penalty) == (None, 30, 0.25)


# ---- nodes ---------------------------------------------------------------------------


def test_types_of_nodes() -> None:
    check_text(node_type(ONE_NUMA_NODE))
    assert node_type({"numa_nodes": 2, "cpu_model": None}) == "2 NUMA nodes"
    assert node_type({"packages": 2, "cpu_model": "x"}) == ""
    assert stored_facts(ONE_NUMA_NODE | {"uptime_s": 1}) == {
        key: value for key, value in ONE_NUMA_NODE.items() if key != "load_1min"
    }
    two = attempt(ADA, result(1), node=TWO_NUMA_NODES)
    lost = replace(two, state="lost", node={"numa_nodes": 8})
    some = [two, attempt(ADA, result(1)), two, lost, attempt(ADA, result(1), node={})]
    assert node_types(some) == (node_type(TWO_NUMA_NODES), node_type(ONE_NUMA_NODE))


def test_a_change_of_node_is_said_last() -> None:
    hand_in = handed("d1", timedelta(0), "A note.")
    some = [
        attempt(ADA, result(5, 5)),
        attempt(ADA, result(6, 4), number=2, node=TWO_NUMA_NODES),
    ]
    assert counted([hand_in], some[:1]).row.notes == ("A note.",)
    first, second = counted([hand_in], some).row.notes
    assert first == "A note."
    check_text(second)


# ---- what is open --------------------------------------------------------------------


def test_open_points_in_words() -> None:
    left = [
        UndecidedPoints("a", 1, False),
        UndecidedPoints("b", 2, True),
        UndecidedPoints("c", 2, False),
    ]
    assert total_points(left) == 5
    check_text(criteria_text(left))
    first, second = student_sentences(left)
    check_text(first)
    check_text(second)
    (one,) = student_sentences(left[:1])
    check_text(one)
    assert student_sentences([]) == []


@pytest.mark.parametrize(
    ("criteria", "again"),
    [
        ([criterion("a", "inconclusive", 2)], True),
        ([criterion("a", "error", 2)], True),
        ([criterion("a", "inconclusive", 2, cause="implausible")], False),
        ([criterion("a", "inconclusive", 2, cause="implausible"),
          criterion("b", "inconclusive", 1)], True),
        ([criterion("a", "inconclusive", 2), criterion("a", "fail", 2, where="hydra")], False),
        ([criterion("a", "pass", 2, withheld_status="inconclusive")], False),
        ([criterion("a", "fail", 2), criterion("b", "not_gradable", 2)], False),
    ],
)  # fmt: skip
def test_what_grading_again_could_decide(criteria: list[Json], again: bool) -> None:
    assert is_worth_regrading({"criteria": criteria}) is again
