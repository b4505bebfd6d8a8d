"""What is said of grades: a comment, an explanation and the table of a class, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from support.courses import ADA, BOB, LAB, OTHER_LAB, TWO_NUMA_NODES, VARIANT, ZOE, attempt, result
from support.golden_texts import check_text
from support.invented_class import row, standing

from numalab.course.gradebook.counting import HandIn, derive_grade
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.feedback import (
    feedback_lines,
    grade_words,
    notices,
    part_line,
    part_words,
    summary_lines,
)
from numalab.course.gradebook.lab_grade import combine_parts
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.rules import Extension, LabRules, LateRules, Override, Rules, VivaMark
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import LATE_BY_CANVAS, Attempt, Student

HERE = timezone(timedelta(hours=2), "CEST")
DUE = datetime(2027, 5, 3, 22, tzinfo=HERE)
NODE = "n1, 1 package, 1 NUMA node, 4 cores (Laptop)"
FILES = "d1".ljust(12, "0")


def part(name: Any, state: Any, most: float, points: float, why: str = "") -> GradePart:
    return GradePart(
        name, state, points / most if most else 0.0, why, weight=1.0, max_points=most, points=points
    )


def of(student: Student, *results: Any, **more: Any) -> StandingRow:
    return row(student, LAB, attempt(student, *results), **more)


# ---- a comment -----------------------------------------------------------------------


def test_a_grade_in_words() -> None:
    graded = of(ADA, result(6, 2, 2))
    assert grade_words(graded) == "7.5 of 10 points"
    check_text(grade_words(replace(graded, is_preliminary=True)))
    check_text(grade_words(replace(graded, points=None)))
    assert grade_words(replace(graded, points=0.0, max_points=2.5)) == "0 of 2.5 points"


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (part("kernel", "graded", 4, 3.2, "so"), "kernel 3.2 of 4: so"),
        (part("viva", "open", 1, 0), "viva 0 of 1 (no mark yet)"),
        (part("viva", "missing", 1, 0), "viva 0 of 1 (not handed in)"),
        (part("variant", "waiting", 1, 0), "variant 0 of 1 (not graded yet)"),
        (part("variant", "left out", 0, 0),
         "variant left out, as that node can show nothing of it"),
    ],
)  # fmt: skip
def test_a_part_in_words(one: GradePart, said: str) -> None:
    check_text(part_line(one))
    assert part_words(one) == said.partition(":")[0]


def test_a_comment_as_a_whole() -> None:
    found = of(
        ADA, result(5, 1, 2, still_open=2), points=6.25, gradable_points=8.0, is_preliminary=True,
        late_s=7200.0, notes=("A note.",),
    )  # fmt: skip
    first, is_open, late, *rest = feedback_lines(found)
    check_text(first)
    check_text(is_open)
    check_text(late)
    check_text(rest)
    there = result(5, 1)
    there["criteria"][1]["where"] = "hydra"
    check_text(feedback_lines(of(ADA, there))[-1])


def test_what_is_noticed_of_a_grade() -> None:
    plain = of(ADA, result(5, 5))
    assert list(notices(plain)) == []
    untouched = of(ADA, result(5, 5) | {"unchanged": True}, points=0.0)
    assert len(list(notices(untouched))) == 1
    assert list(notices(replace(untouched, points=2.0))) == []
    by_hand = replace(untouched, override_reason="oral.")
    check_text(list(notices(by_hand)))
    provisional = replace(plain, is_preliminary=True, gradable_points=6.5)
    check_text(list(notices(provisional)))
    assert list(notices(replace(provisional, gradable_points=None))) == []
    marked = replace(provisional, parts=(part("viva", "open", 1, 0),))
    (said,) = notices(marked)
    check_text(said)
    assert list(notices(replace(marked, is_preliminary=False))) == []
    just = replace(plain, late_s=0.5, variant=replace(plain, late_s=0.5))
    check_text([line.partition(" after")[0] for line in notices(just)])
    late = replace(plain, late_s=60.0, penalty=0.25, variant=replace(plain, late_s=172_800.0))
    check_text(list(notices(late)))


def in_parts(**more: Any) -> StandingRow:
    made = of(
        ADA, result(4, 6), points=3.1,
        parts=(part("kernel", "graded", 4, 1.6), part("variant", "graded", 3, 1.5)),
        variant=row(ADA, VARIANT, attempt(ADA, result(5, 5), lab=VARIANT), is_part=True),
    )  # fmt: skip
    return replace(made, **more)


def test_a_comment_on_parts() -> None:
    lines = feedback_lines(in_parts())
    check_text(lines[:3])
    assert [line.partition(" ")[0] for line in lines[3:]] == [
        "pass:",
        "FAIL:",
        "Variant,",
        "Variant,",
    ]
    check_text(lines[5])
    absent = in_parts(is_handed_in=False, points=None, attempt=None, variant=None)
    assert summary_lines(absent) == ["No grade."]
    by_hand = of(ADA, result(4, 6), points=9.0, override_reason="oral")
    check_text(summary_lines(by_hand))


# ---- an explanation ------------------------------------------------------------------


def explained(
    hand_ins: Sequence[HandIn], attempts: Sequence[Attempt], rules: Rules, lab: str = LAB
) -> list[str]:
    lines = list(explanation(derive_grade(ADA, lab, hand_ins, attempts, "", rules), rules))
    return lines[: lines.index("What the student is told:")]


def handed(digest: str, after: timedelta, *notes: str) -> HandIn:
    return HandIn(digest.ljust(64, "0"), DUE + after, DUE + after, notes)


def test_an_explanation_as_a_whole() -> None:
    rules = Rules(
        labs={LAB: LabRules(DUE)},
        late=LateRules(0.25),
        languages=("c",),
    )
    hand_ins = [
        handed("d1", -timedelta(hours=1)), handed("d2", timedelta(hours=3)),
        HandIn("d3".ljust(64, "0"), None, DUE + timedelta(days=3)),
    ]  # fmt: skip
    open_one = attempt(ADA, result(4, 2, 2, still_open=2), digest="d2")
    open_one.results[0]["earlier_times"] = [{"generations": 3}, {"generations": 4}]
    attempts = [
        attempt(ADA, result(10), at="2027-05-04T10:00:00+00:00"),
        attempt(ADA, state="lost", number=2, why="Gone.", at="2027-05-04T11:00:00+00:00"),
        attempt(ADA, state="preempted", number=3, at="2027-05-04T12:00:00+00:00"),
        open_one,
        attempt(ADA, result(10), digest="d3", effort="quick", at="2027-05-09T22:00:00+00:00"),
        attempt(ADA, result(10, language="fortran"), digest="d3", node={},
                at="2027-05-09T23:00:00+00:00"),
    ]  # fmt: skip
    check_text(explained(hand_ins, attempts, rules))


def test_an_explanation_marks_what_counts_and_what_was_judged_again() -> None:
    rules = Rules(
        counts="best", allow_quick=True, labs={LAB: LabRules(DUE, points=8)},
        extensions=(Extension("ada", LAB, DUE, ""),),
    )  # fmt: skip
    first = attempt(ADA, result(5, 5), effort="quick")
    again = replace(
        attempt(ADA, result(6, 4), effort="quick", number=2), replaces=1,
        rejudged_at="2027-06-01T10:00:00+00:00",
    )  # fmt: skip
    rules_by_hand = replace(rules, overrides=(Override("ada", LAB, 3, "why", "me", "then"),))
    lines = explained([handed("d1", timedelta(0))], [first, again], rules)
    check_text(lines[1:])
    lines = explained([handed("d1", timedelta(0))], [first, again], rules_by_hand)
    check_text(lines[:2])
    assert not [line for line in lines if line.startswith("  counts")]
    nobody = replace(rules, overrides=(Override("ada", LAB, 3, "why", "", ""),), extensions=())
    lines = explained([handed("d1", timedelta(0))], [], nobody)
    check_text(lines[1])
    assert lines[3] == "Deadline: 2027-05-03 22:00 (CEST)."
    check_text(lines[-1])


def test_gradings_of_a_hand_in_are_in_order_of_their_ends() -> None:
    some = [
        attempt(ADA, result(points, 10 - points), number=number, at=f"2027-05-0{day}T10:00:00Z")
        for points, number, day in ((1, 1, 9), (2, 3, 8), (3, 2, 8))
    ]
    lines = explained([handed("d1", timedelta(0))], some, Rules())
    assert [re.findall(r"(\d) of 10 grad", line) for line in lines[3:]] == [["3"], ["2"], ["1"]]


def test_an_explanation_says_that_lateness_is_not_known() -> None:
    unknown = HandIn("d1".ljust(64, "0"), None, DUE, (LATE_BY_CANVAS,))
    lines = explained([unknown], [], Rules())
    check_text([line.partition(",")[0] for line in lines[1:]])


def test_an_explanation_of_parts() -> None:
    weights: Any = {"kernel": 4.0, "variant": 4.0, "viva": 2.0}
    rules = Rules(
        parts=weights, labs={LAB: LabRules(DUE)}, late=LateRules(0.5),
        extensions=(Extension("ada", LAB, DUE, ""),),
    )  # fmt: skip
    of_kernel = derive_grade(
        ADA, LAB, [handed("d1", timedelta(hours=3))], [attempt(ADA, result(4, 4, 2))], "", rules
    )
    of_variant = derive_grade(ADA, VARIANT, [], [], "", rules)
    found = combine_parts(of_kernel, of_variant, rules)
    lines = list(explanation(found, rules))
    check_text(lines[:10])
    check_text(lines[10:14])
    assert all(line.startswith("  ") for line in lines[14:])
    absent = derive_grade(ADA, LAB, [], [], "", rules)
    lines = list(explanation(combine_parts(absent, of_variant, rules), rules))
    assert not [line for line in lines if line.startswith("Parts")]
    lost = attempt(ADA, state="lost", lab=VARIANT)
    waits = derive_grade(ADA, VARIANT, [handed("d1", timedelta(0))], [lost], "", rules)
    lines = list(explanation(combine_parts(of_kernel, waits, rules), rules))
    check_text(lines)
    by_hand = replace(rules, overrides=(Override("ada", LAB, 3, "why", "", ""),),
                      vivas=(VivaMark("ada", LAB, 1.0, "", "", ""),))  # fmt: skip
    lines = list(explanation(combine_parts(of_kernel, waits, by_hand), by_hand))
    check_text(lines)


# ---- the table -----------------------------------------------------------------------


def test_the_table_as_a_whole() -> None:
    rows = [
        of(ADA, result(10), is_preliminary=True, late_s=5.0),
        row(ADA, OTHER_LAB, None),
        of(BOB, result(4, 6), is_late_unknown=True),
        row(BOB, OTHER_LAB, None, is_handed_in=False),
        of(ZOE, result(4, 6), override_reason="oral", late_s=5.0),
        row(ZOE, OTHER_LAB, None, is_handed_in=False, is_not_taken=True),
    ]
    check_text(list(table_lines(standing(rows))))


def test_many_labs_are_in_several_tables_of_80_columns() -> None:
    labs = [f"{number:02}_x" for number in range(1, 12)]
    rows = [row(ADA, lab, None, points=1.0) for lab in labs]
    lines = list(table_lines(standing(rows, title="")))
    assert [line.split() for line in lines[:5]] == [
        ["student", *(lab[:2] for lab in labs[:8])], ["Ada", "Lovelace", "(ada)", *"1" * 8],
        [], ["student", "09", "10", "11"], ["Ada", "Lovelace", "(ada)", "1", "1", "1"],
    ]  # fmt: skip
    assert len(lines[0]) == 19 + 8 * 7 == 75
    assert lines[6] == "1 student, 11 labs, 11 grades."
    assert len(lines) == 7
    (head, line, *_) = table_lines(standing([row(Student("x", "N" * 50, {}), LAB, None)], title=""))
    assert (len(head), len(line), line[:36]) == (44, 44, "N" * 36)
    assert list(table_lines(standing([], title="")))[-1] == "0 students, 0 labs, 0 grades."


def test_points_of_parts_over_all_labs() -> None:
    names: Any = ("kernel", "prediction", "viva")
    parts = (part("kernel", "graded", 4, 1.26), part("prediction", "left out", 0, 0),
             part("viva", "open", 1, 0.5))  # fmt: skip
    ada = replace(row(ADA, LAB, None, points=1.8), parts=parts)
    other = replace(ada, lab=OTHER_LAB, parts=(part("kernel", "waiting", 4, 1.0),))
    bob = row(BOB, LAB, None, is_handed_in=False, parts=parts)
    zoe = row(ZOE, LAB, None, is_handed_in=False, is_not_taken=True,
              parts=(part("kernel", "not taken", 4, 0), part("viva", "missing", 1, 0)))  # fmt: skip
    lines = list(table_lines(replace(standing([ada, bob, zoe]), parts=names)))
    at = lines.index("Points by part:")
    check_text(lines[at + 1 : at + 6])
    lines = list(table_lines(replace(standing([ada, other]), parts=names)))
    at = lines.index("Points by part, over all labs:")
    assert lines[at + 2].split() == ["Ada", "Lovelace", "(ada)", "2.26?", "x", "0.5?"]


def test_a_table_of_nobody_has_its_heads() -> None:
    names: Any = ("kernel",)
    lines = list(table_lines(replace(standing([], title=""), parts=names)))
    check_text(lines)


def test_names_leave_room_for_parts() -> None:
    names: Any = ("kernel", "variant", "prediction", "diagnose", "viva")
    long = row(Student("x", "N" * 50, {}), LAB, None)
    for number, width in ((5, 35), (1, 37)):
        lines = list(table_lines(replace(standing([long]), parts=names[:number])))
        at = lines.index("Points by part:")
        assert [len(line) for line in lines[at + 1 : at + 3]] == [width + 9 * number] * 2
        assert lines[at + 2].startswith("N" * width) and lines[at + 2][width] == " "


def test_a_lab_that_a_student_has_not_is_not_handed_in() -> None:
    rows = [of(ADA, result(10)), row(BOB, OTHER_LAB, None)]
    lines = list(table_lines(standing(rows, title="")))
    assert [line.split()[-2:] for line in lines[1:3]] == [["10", "."], [".", "?"]]


def test_long_names_are_whole_below_the_table() -> None:
    long = Student("x", "N" * 90, {})
    lines = list(table_lines(standing([of(long, result(7, still_open=3))])))
    assert f"  {'N' * 90}" in lines


def test_a_variant_of_its_own_has_a_letter() -> None:
    lines = list(table_lines(standing([row(ADA, VARIANT, None, points=1.0)], title="")))
    assert lines[0].split() == ["student", "01v"]
    assert lines[-1].startswith("v: ")


def test_open_points_are_listed_below_the_table() -> None:
    rows = [of(one, result(7, still_open=1, spoilt=2)) for one in (ADA, BOB)]
    lines = list(table_lines(standing([*rows, of(ZOE, result(10))])))
    at = next(n for n, line in enumerate(lines) if line.startswith("2 grades with open points"))
    assert lines[at - 1] == ""
    assert lines[at + 2 :] == [
        f"  {name} 01: efficiency (1 point) and balanced (2 points)"
        for name in ("Ada Lovelace (ada)", "Bob <b>Bold</b> (bob)")
    ]


def test_times_of_another_zone_are_in_the_deadlines() -> None:
    at = HandIn("d1".ljust(64, "0"), datetime(2027, 5, 3, 20, tzinfo=UTC), DUE)
    node = TWO_NUMA_NODES | {"name": ""}
    lines = explained([at], [attempt(ADA, result(10), node=node)], Rules(labs={LAB: LabRules(DUE)}))
    check_text(lines[3])
    check_text(lines[4])
