"""What course.toml says, at its limits, and what of it has no effect."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from support.counted import DAY_S, DUE, rules
from support.courses import ADA, BOB, LAB, OTHER_LAB, VARIANT, attempt, result
from support.golden_texts import check_text, raises_text
from support.invented_class import row

from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.rule_warnings import check_rules
from numalab.course.gradebook.rules import (
    Extension,
    LabRules,
    LateRules,
    Override,
    Rules,
    VivaMark,
    parse_rules,
)
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Student
from numalab.errors import UserError


def test_all_of_course_toml_is_read() -> None:
    found = rules(
        f"""
        title = "HPC"
        counts = "best"
        provisional_below = 0.5
        languages = ["fortran"]
        allow_quick = true
        starting_code = "counts"
        timezone = "Europe/Vienna"
        kept_until = 2028-01-31
        contact = "me"
        [late]
        per_day = 0.1
        most = 0.4
        grace_minutes = 5
        cut_off_days = 2
        [parts]
        kernel = 4
        viva = 1
        [labs.{LAB}]
        deadline = 2027-01-01T12:00:00
        points = 30
        parts = ["kernel"]
        [[extension]]
        student = "ada"
        lab = "{LAB}"
        deadline = 2027-07-01T12:00:00
        [[override]]
        student = "ada"
        lab = "{LAB}"
        points = 29.5
        reason = "why"
        by = "me"
        at = 2027-01-02
        [[viva]]
        student = "ada"
        points = 9
        [[viva]]
        student = "bob"
        lab = "{LAB}"
        share = 0.25
        by = "me"
        at = "then"
        note = "so"
        """
    )
    winter, summer = timedelta(hours=1), timedelta(hours=2)
    assert {mark.utcoffset() for mark in (found.labs[LAB].deadline,) if mark} == {winter}
    assert found.extensions[0].deadline.utcoffset() == summer
    assert found == Rules(
        title="HPC",
        counts="best",
        min_gradable_share=0.5,
        languages=("fortran",),
        allow_quick=True,
        starting_code_counts=True,
        late=LateRules(daily_share=0.1, max_share=0.4, grace_s=300, cut_off_s=2 * DAY_S),
        labs={LAB: LabRules(datetime(2027, 1, 1, 11, tzinfo=UTC), 30, ("kernel",))},
        overrides=(Override("ada", LAB, 29.5, "why", "me", "2027-01-02"),),
        extensions=(Extension("ada", LAB, datetime(2027, 7, 1, 10, tzinfo=UTC), ""),),
        parts={"kernel": 4, "variant": 0, "prediction": 0, "diagnose": 0, "viva": 1},
        vivas=(
            VivaMark("ada", "", 0.9, "", "", ""),
            VivaMark("bob", LAB, 0.25, "me", "then", "so"),
        ),
        labs_by_part={"variant": frozenset({LAB}), "prediction": frozenset({LAB})},
        kept_until=date(2028, 1, 31).isoformat(),
        contact="me",
        timezone="Europe/Vienna",
    )


def test_what_course_toml_leaves_out_has_its_default() -> None:
    assert parse_rules("", "course.toml") == Rules()
    text = f"[late]\n[labs.{LAB}]"
    assert parse_rules(text, "course.toml") == Rules(labs={LAB: LabRules(None, 10.0, None)})
    (mark,) = rules('[[viva]]\nstudent = "a"\nshare = 0.5').vivas
    assert mark == VivaMark("a", "", 0.5, "", "", "")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2027-05-12", "2027-05-12"), ('"May"', "May"), ("12:30:00", "12:30:00"),
        ("2027-05-12T12:30:00+02:00", "2027-05-12T12:30:00+02:00"),
    ],
)  # fmt: skip
def test_when_something_was_marked_is_kept_as_it_is_written(written: str, read: str) -> None:
    (mark,) = rules(f'[[viva]]\nstudent = "a"\nshare = 0.5\nat = {written}').vivas
    assert mark.date == read


@pytest.mark.parametrize(
    "text",
    [
        f'[[override]]\nstudent = "a"\nlab = "{LAB}"\nreason = "r"\npoints = 10',
        f'[[override]]\nstudent = "a"\nlab = "{LAB}"\nreason = "r"\npoints = 0',
        '[[viva]]\nstudent = "a"\npoints = 10',
        '[[viva]]\nstudent = "a"\nshare = 0',
        "[late]\nper_day = 1\nmost = 0\ngrace_minutes = 0\ncut_off_days = 0",
        "provisional_below = 1",
        f"[labs.{LAB}]\npoints = 0",
    ],
)
def test_ends_of_what_may_be_written_are_read(text: str) -> None:
    assert rules(text) != rules("provisional_below = 0")


@pytest.mark.parametrize(
    "text",
    [
        "[late]\nper_day = -0.1", "[late]\nper_day = 1.5", "[late]\nmost = 1.5",
        "[late]\nmost = -1", "[late]\ngrace_minutes = -1", "[late]\ncut_off_days = -1",
        "provisional_below = 1.5", "provisional_below = -1", f"[labs.{LAB}]\npoints = -1",
        '[[viva]]\nstudent = "a"\npoints = -1', '[[viva]]\nstudent = "a"\nshare = 1.1',
        f'[[override]]\nstudent = "a"\nlab = "{LAB}"\nreason = "r"\npoints = -1',
        f'[[extension]]\nstudent = "a"\nlab = "{LAB}"\ndeadline = 2027-07-01T12:00:00',
        'timezone = "Europe/Nowhere"', "[[viva]]\nshare = 1", f'[[extension]]\nlab = "{LAB}"',
    ],
)  # fmt: skip
def test_what_is_beyond_the_ends_is_refused(text: str) -> None:
    with raises_text(UserError):
        rules(text)


def test_the_last_of_several_holds() -> None:
    def override(lab: str, points: float) -> Override:
        return Override("ada", lab, points, "", "", "")

    def extension(day: int) -> Extension:
        return Extension("ada", LAB, DUE + timedelta(days=day), "")

    found = Rules(
        overrides=(override(LAB, 1), override(LAB, 2), override(OTHER_LAB, 3)),
        extensions=(extension(1), extension(2)),
        labs={LAB: LabRules(DUE)},
    )
    assert found.override("ada", LAB) == override(LAB, 2)
    assert found.override("bob", LAB) is None
    assert found.deadline("ada", LAB) == DUE + timedelta(days=2)
    assert found.deadline("bob", LAB) == DUE
    assert found.deadline("bob", VARIANT) is None
    weighing = replace(found, parts={"kernel": 1.0})
    assert weighing.deadline("ada", VARIANT) == DUE + timedelta(days=2)
    assert weighing.deadline("ada", OTHER_LAB) is None


def test_a_lab_has_the_parts_that_the_kit_has_for_it_unless_it_says_others() -> None:
    found = Rules(
        parts={"kernel": 4, "variant": 3, "prediction": 2, "diagnose": 1, "viva": 0},
        labs_by_part={"variant": {LAB}, "prediction": {LAB}, "diagnose": {OTHER_LAB}},
        labs={"03_x": LabRules(parts=("variant", "viva"))},
    )
    assert found.weights(LAB) == {"kernel": 4, "variant": 3, "prediction": 2}
    assert found.weights(OTHER_LAB) == {"kernel": 4, "diagnose": 1}
    assert found.weights("03_x") == {"variant": 3}
    assert replace(found, labs_by_part={}).weights("04_y") == {
        "kernel": 4, "variant": 3, "prediction": 2, "diagnose": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("late_s", "penalty"),
    [
        (0, 0), (60, 0), (61, 0.25), (DAY_S, 0.25), (DAY_S + 1, 0.5), (2 * DAY_S, 0.5),
        (2 * DAY_S + 1, 0.6), (4 * DAY_S, 0.6), (4 * DAY_S + 1, 1),
    ],
)  # fmt: skip
def test_what_a_day_costs(late_s: float, penalty: float) -> None:
    assert LateRules(0.25, 0.6, 60, 4 * DAY_S).penalty(late_s) == penalty


# ---- what has no effect --------------------------------------------------------------


def told(of: Rules, *rows: StandingRow) -> list[str]:
    ids = {row.student.id for row in rows}
    return [problem.why for problem in check_rules(of, ids, rows)]


def test_what_has_no_effect_is_told_once() -> None:
    of = Rules(
        overrides=tuple(Override("eve", lab, 1, "r", "", "") for lab in (LAB, OTHER_LAB)),
        extensions=(Extension("ada", LAB, DUE, ""), Extension("eve", LAB, DUE, "")),
        vivas=(VivaMark("ada", "", 1, "", "", ""), VivaMark("mia", "", 1, "", "", "")),
    )
    nothing = row(ADA, LAB, None)
    check_text([line.partition(",")[0] for line in told(of, nothing)])
    with_weight = replace(of, parts={"viva": 1.0}, overrides=(), extensions=())
    assert len(told(with_weight, nothing)) == 1
    assert told(Rules(), nothing) == []


def in_parts(student: Student, lab: str = LAB, **states: Any) -> StandingRow:
    parts = tuple(
        GradePart(name, state, weight=1.0, max_points=1.0, points=0.0)  # type: ignore[arg-type]
        for name, state in states.items()
    )
    return row(student, lab, None, points=1.0, parts=parts)


def test_parts_that_nobody_has_are_told_by_lab() -> None:
    of = Rules(parts={"kernel": 1, "variant": 1, "prediction": 1, "diagnose": 1, "viva": 1})
    ada = in_parts(
        ADA, kernel="graded", variant="missing", prediction="not taken", diagnose="left out",
        viva="open",
    )  # fmt: skip
    (said,) = told(of, ada)
    check_text(said)
    assert f'[labs.{LAB}] parts = ["kernel", "diagnose", "viva"]' in said
    bob = in_parts(BOB, kernel="missing", variant="graded", prediction="waiting")
    assert told(of, ada, bob) == []
    assert len(told(of, ada, replace(bob, lab=OTHER_LAB))) == 2
    assert told(of, replace(ada, points=None)) == []
    assert told(Rules(parts={"kernel": 1, "viva": 1}), ada) == []


def test_hand_ins_with_quick_alone_are_counted() -> None:
    refused = attempt(ADA, result(10), effort="quick")
    quick = row(ADA, LAB, None, others=(refused,))
    careful = row(ADA, LAB, attempt(ADA, result(10)), others=(refused,))
    (said,) = told(Rules(), quick, replace(quick, student=BOB), careful)
    check_text(said)
    assert told(Rules(), careful) == told(Rules(allow_quick=True), quick) == []
    as_variant = replace(quick, others=(), variant=quick)
    check_text(told(Rules(), as_variant)[0])
