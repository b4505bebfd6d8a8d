"""Rows of a standing: what parts of a grade give, and what of it is open or decided quickly."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.counted import DUE, counted, handed
from support.courses import (
    ADA,
    LAB,
    VARIANT,
    attempt,
    criterion,
    result,
)
from support.golden_texts import check_text

from numalab.course.gradebook.counting import (
    GradeTrace,
    derive_grade,
)
from numalab.course.gradebook.lab_grade import combine_parts
from numalab.course.gradebook.parts import (
    GradePart,
    PartScore,
    round_points,
    score_parts,
    sum_points,
)
from numalab.course.gradebook.rules import (
    LabRules,
    LateRules,
    Override,
    Rules,
    VivaMark,
)
from numalab.course.gradebook.undecided_points import (
    UndecidedPoints,
)
from numalab.course.records import Attempt

Json = dict[str, Any]


# ---- parts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "shown"), [(0.005, 0.01), (0.0049, 0.0), (2.675, 2.68), (1 / 3, 0.33)]
)
def test_points_are_rounded_up_from_the_half(points: float, shown: float) -> None:
    assert round_points(points) == shown


def test_what_rounding_leaves_goes_to_the_heaviest() -> None:
    shown = [PartScore(name, "graded", 0.5) for name in ("kernel", "variant", "viva")]
    parts = score_parts(shown, {"kernel": 1, "variant": 4, "viva": 1}, 10)
    assert [part.max_points for part in parts] == [1.67, 6.66, 1.67]
    assert [part.points for part in parts] == [0.84, 3.33, 0.84]
    assert [part.weight for part in parts] == [1, 4, 1]
    assert sum_points(parts) == 5.01


def test_a_part_that_the_lab_has_not_is_left_away_and_one_that_waits_makes_no_grade() -> None:
    shown = [
        PartScore("kernel", "graded", 1.0),
        PartScore("viva", "waiting"),
        PartScore("variant", "graded"),
    ]
    parts = score_parts(shown, {"kernel": 1, "viva": 1}, 4)
    assert [(part.name, part.max_points, part.points) for part in parts] == [
        ("kernel", 2, 2), ("viva", 2, 0)
    ]  # fmt: skip
    assert sum_points(parts) is None
    assert sum_points(parts[:1]) == 2
    assert sum_points(score_parts([PartScore("kernel", "graded", 1.0)], {"kernel": 1}, 0)) is None


PARTS = {"kernel": 40.0, "variant": 30.0, "prediction": 10.0, "diagnose": 10.0, "viva": 10.0}


def in_parts(
    kernel: Attempt | None, variant: Attempt | None, of: Rules, late: timedelta = timedelta(0)
) -> GradeTrace:
    """Each handed in where it is graded."""
    accounts = [
        derive_grade(ADA, lab, [handed("d1", late)] if one else [], [one] if one else [], "", of)
        for lab, one in ((LAB, kernel), (VARIANT, variant))
    ]
    return combine_parts(accounts[0], accounts[1], of)


def test_parts_say_what_they_follow_from() -> None:
    of = Rules(
        parts=PARTS,  # type: ignore[arg-type]
        vivas=(VivaMark("ada", "", 0.75, "me", "today", ""),),
        labs={LAB: LabRules(DUE), VARIANT: LabRules(DUE + timedelta(days=9))},
        late=LateRules(0.5),
    )
    kernel = attempt(ADA, result(6, 2, 2) | {"diagnosis": {"score": 1.4}})
    variant = attempt(
        ADA, result(10, lab=VARIANT) | {"prediction": {"score": -1}}, lab=VARIANT
    )  # fmt: skip
    row = in_parts(kernel, variant, of, timedelta(hours=1)).row
    assert [(part.name, part.max_points, part.points, part.why) for part in row.parts] == [
        ("kernel", 4, 1.5, "6 of 8 points in C, less 50 % for being late"),
        ("variant", 3, 3, "10 of 10 points in C"),
        ("prediction", 1, 0, "a score of 0"),
        ("diagnose", 1, 0.5, "a score of 1, less 50 % for being late"),
        ("viva", 1, 0.75, "a mark of 7.5 of 10 by me, today"),
    ]
    assert row.points == 5.75
    assert row.gradable_points == 9.2
    assert not row.is_preliminary
    variant_row = row.variant
    assert variant_row is not None and variant_row.is_part
    assert (variant_row.points, variant_row.max_points, variant_row.gradable_points) == (3, 3, 3)
    assert (row.kernel_points, variant_row.kernel_points) == (4, 3)


def test_parts_that_were_not_handed_in_or_cannot_be_shown() -> None:
    of = Rules(parts=PARTS)  # type: ignore[arg-type]
    unseen = attempt(ADA, result(0, 0, 10) | {"diagnosis": {"score": None}})
    row = in_parts(unseen, None, of).row
    assert [(part.name, part.state, part.max_points) for part in row.parts] == [
        ("kernel", "left out", 0), ("variant", "missing", 6), ("prediction", "missing", 2),
        ("diagnose", "left out", 0), ("viva", "open", 2),
    ]  # fmt: skip
    assert (row.points, row.gradable_points, row.is_preliminary) == (0, 10, True)
    row = in_parts(None, None, of).row
    assert {part.state for part in row.parts} == {"missing", "open"}
    assert (row.points, row.gradable_points) == (None, None)
    assert not row.is_handed_in and not row.is_preliminary


def test_notes_of_a_variant_say_whose_they_are() -> None:
    of = Rules(parts=PARTS)  # type: ignore[arg-type]
    lost = attempt(ADA, state="lost", lab=VARIANT)
    row = in_parts(attempt(ADA, result(10)), lost, of).row
    (note,) = row.notes
    check_text(note)
    row = in_parts(None, attempt(ADA, result(10, lab=VARIANT), lab=VARIANT), of).row
    assert row.notes == ()
    assert row.points == 3


# ---- a row ---------------------------------------------------------------------------


def test_open_points_are_on_the_scale_of_the_course() -> None:
    row = counted(
        [handed()], [attempt(ADA, result(5, 0, 2, still_open=3))],
        Rules(labs={LAB: LabRules(points=16)}),
    ).row  # fmt: skip
    assert row.undecided_points == 6
    assert row.undecided == (UndecidedPoints("efficiency", 3, False),)
    by_hand = replace(row, override_reason="x")
    assert (by_hand.undecided, by_hand.undecided_points) == ((), 0)


def test_the_language_that_counts_has_the_result() -> None:
    both = attempt(ADA, result(4, 6), result(3, 0, 7, language="fortran"))
    row = counted([handed()], [both]).row
    assert row.language == "fortran"
    assert row.result is both.results[1]
    assert replace(row, language="").result is both.results[1]
    assert replace(row, language="c").result is both.results[0]
    assert replace(row, attempt=None).result is None


@pytest.mark.parametrize(
    ("status", "kind", "effort", "quick"),
    [
        ("pass", "timing", "quick", True), ("fail", "timing", "quick", True),
        ("inconclusive", "timing", "quick", False), ("pass", "evidence", "quick", False),
        ("pass", "timing", "default", False),
    ],
)  # fmt: skip
def test_a_grade_is_quick_where_a_time_was_decided_so(
    status: str, kind: str, effort: str, quick: bool
) -> None:
    one = result(8) | {"max_points": 10}
    one["criteria"] = [*one["criteria"], criterion("efficiency", status, 2, kind=kind)]
    row = counted([handed()], [attempt(ADA, one, effort=effort)], Rules(allow_quick=True)).row
    assert row.is_quick is quick
    assert not replace(row, override_reason="x").is_quick
    careful = counted([handed()], [attempt(ADA, result(8))]).row
    assert replace(careful, variant=row).is_quick is quick
    assert not replace(careful, variant=row, override_reason="x").is_quick


def test_a_lab_that_is_worth_nothing_is_counted() -> None:
    untouched = attempt(ADA, result(5, 5) | {"unchanged": True, "points_if_changed": 5})
    of = Rules(parts=PARTS, labs={LAB: LabRules(points=0)})  # type: ignore[arg-type]
    row = in_parts(untouched, untouched, of).row
    assert (row.points, row.gradable_points, {part.max_points for part in row.parts}) == (
        None,
        0,
        {0},
    )
    by_hand = replace(of, overrides=(Override("ada", VARIANT, 0, "oral", "", ""),),
                      labs={LAB: LabRules(points=0), VARIANT: LabRules(points=0)})  # fmt: skip
    assert in_parts(untouched, None, by_hand).row.points is None


def test_a_variant_set_by_hand_needs_no_hand_in() -> None:
    of = Rules(
        parts=PARTS,  # type: ignore[arg-type]
        overrides=(Override("ada", VARIANT, 5, "oral.", "", ""),),
    )
    row = in_parts(None, None, of).row
    assert row.is_handed_in and row.points == 1.5
    assert row.part("variant") == GradePart(
        "variant", "graded", 0.5, "set by hand, oral", weight=30, max_points=3, points=1.5
    )
    check_text(row.notes)


def test_what_was_not_taken_is_told_where_nothing_is_there() -> None:
    of = Rules(parts=PARTS)  # type: ignore[arg-type]
    torn = derive_grade(ADA, LAB, [], [], "Torn.", of)
    absent = derive_grade(ADA, VARIANT, [], [], "", of)
    there = derive_grade(ADA, VARIANT, [handed()], [attempt(ADA, result(10, lab=VARIANT))], "", of)
    row = combine_parts(torn, absent, of).row
    assert (row.is_not_taken, row.is_handed_in, row.points) == (True, False, None)
    check_text(row.notes)
    assert [part.state for part in row.parts][:2] == ["not taken", "missing"]
    row = combine_parts(torn, there, of).row
    assert (row.is_not_taken, row.is_handed_in, row.points) == (False, True, 3)
    torn_variant = derive_grade(ADA, VARIANT, [], [], f"{VARIANT}: torn.", of)
    kernel = derive_grade(ADA, LAB, [handed()], [attempt(ADA, result(10))], "", of)
    assert combine_parts(kernel, torn_variant, of).row.notes == (f"{VARIANT}: torn.",)


def test_a_prediction_without_the_variant_counts() -> None:
    of = Rules(parts={"prediction": 1.0, "viva": 1.0})
    variant = attempt(ADA, result(10, lab=VARIANT) | {"prediction": {"score": 0.5}}, lab=VARIANT)
    row = in_parts(attempt(ADA, result(8, still_open=2)), variant, of).row
    assert [(part.name, part.points) for part in row.parts] == [("prediction", 2.5), ("viva", 0)]
    assert row.variant is not None
    assert (row.variant.points, row.variant.max_points, row.variant.gradable_points) == (None, 0, 0)
    assert (row.kernel_points, row.undecided, row.undecided_points) == (0, (), 0)


def test_a_provisional_code_makes_a_grade_provisional() -> None:
    of = Rules(parts={"kernel": 1.0, "variant": 1.0})
    narrow, wide = attempt(ADA, result(5, 0, 5)), attempt(ADA, result(10))
    for kernel, variant, provisional in ((narrow, wide, True), (wide, narrow, True),
                                         (wide, wide, False)):  # fmt: skip
        row = in_parts(
            kernel, replace(variant, target=replace(variant.target, lab=VARIANT)), of
        ).row
        assert row.is_preliminary is provisional
        assert row.gradable_points == (7.5 if provisional else 10)
    by_hand = replace(of, overrides=(Override("ada", LAB, 3, "oral", "", ""),))
    row = in_parts(narrow, narrow, by_hand).row
    assert (row.points, row.is_preliminary, row.override_reason) == (3, False, "oral")


def test_nothing_that_can_be_shown_has_nothing_open() -> None:
    row = counted([handed()], [attempt(ADA, result(0, 0, 10))]).row
    assert (row.undecided, row.undecided_points, row.kernel_points) == ((), 0, 10)
