"""What is said of grades: a comment, an explanation and the table of a class, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from support.courses import ADA, BOB, LAB, OTHER_LAB, TWO_NUMA_NODES, VARIANT, ZOE, attempt, result
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
from numalab.course.gradebook.parts import GradePart, PartScore
from numalab.course.gradebook.rules import Extension, LabRules, LateRules, Override, Rules, VivaMark
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import LATE_BY_CANVAS, Attempt, Student

HERE = timezone(timedelta(hours=2), "CEST")
DUE = datetime(2027, 5, 3, 22, tzinfo=HERE)
NODE = "n1, 1 package, 1 NUMA node, 4 cores (Laptop)"
FILES = "d1".ljust(12, "0")


def part(name: Any, state: Any, most: float, points: float, why: str = "") -> GradePart:
    return GradePart(PartScore(name, state, points / most if most else 0.0, why), 1.0, most, points)


def of(student: Student, *results: Any, **more: Any) -> StandingRow:
    return row(student, LAB, attempt(student, *results), **more)


# ---- a comment -----------------------------------------------------------------------


def test_a_grade_in_words() -> None:
    graded = of(ADA, result(6, 2, 2))
    assert grade_words(graded) == "7.5 of 10 points"
    assert grade_words(replace(graded, is_preliminary=True)) == "7.5 of 10 points, provisional"
    assert grade_words(replace(graded, points=None)) == "No grade"
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
    assert part_line(one) == said
    assert part_words(one) == said.partition(":")[0]


def test_a_comment_as_a_whole() -> None:
    found = of(
        ADA, result(5, 1, 2, still_open=2), points=6.25, gradable_points=8.0, is_preliminary=True,
        late_s=7200.0, notes=("A note.",),
    )  # fmt: skip
    first, is_open, late, *rest = feedback_lines(found)
    assert first == (
        "6.25 of 10 points, provisional: 5 of 8 points in C (2 open, 2 not gradable here)."
    )
    assert is_open.startswith("2 points are still open: efficiency.")
    assert late == "Handed in 2 hours after the deadline: nothing taken off."
    assert rest == [
        "A note.",
        "pass: correct 5/5",
        "FAIL: local_pages 0/1. 0.50, asked for: 0.95 or more. 50 % of the pages live elsewhere.",
        "n/a: speedup -/2. This machine has 1 NUMA node.",
        "open: efficiency -/2. That could be chance.",
    ]
    there = result(5, 1)
    there["criteria"][1]["where"] = "hydra"
    assert feedback_lines(of(ADA, there))[-1].startswith("FAIL: local_pages 0/1. on hydra: 0.50,")


def test_what_is_noticed_of_a_grade() -> None:
    plain = of(ADA, result(5, 5))
    assert list(notices(plain)) == []
    untouched = of(ADA, result(5, 5) | {"unchanged": True}, points=0.0)
    assert len(list(notices(untouched))) == 1
    assert list(notices(replace(untouched, points=2.0))) == []
    by_hand = replace(untouched, override_reason="oral.")
    assert list(notices(by_hand)) == ["Set by hand: oral."]
    provisional = replace(plain, is_preliminary=True, gradable_points=6.5)
    assert list(notices(provisional)) == ["Provisional: the node could show 6.5 of the 10 points."]
    assert list(notices(replace(provisional, gradable_points=None))) == []
    marked = replace(provisional, parts=(part("viva", "open", 1, 0),))
    (said,) = notices(marked)
    assert said.startswith("Provisional: the viva has no mark yet")
    assert list(notices(replace(marked, is_preliminary=False))) == []
    just = replace(plain, late_s=0.5, variant=replace(plain, late_s=0.5))
    assert [line.partition(" after")[0] for line in notices(just)] == [
        "Handed in 1 minute", "The variant was handed in 1 minute"
    ]  # fmt: skip
    late = replace(plain, late_s=60.0, penalty=0.25, variant=replace(plain, late_s=172_800.0))
    assert list(notices(late)) == [
        "Handed in 1 minute after the deadline: 25 % taken off.",
        "The variant was handed in 2 days after the deadline: nothing taken off.",
    ]


def in_parts(**more: Any) -> StandingRow:
    made = of(
        ADA, result(4, 6), points=3.1,
        parts=(part("kernel", "graded", 4, 1.6), part("variant", "graded", 3, 1.5)),
        variant=row(ADA, VARIANT, attempt(ADA, result(5, 5), lab=VARIANT), is_part=True),
    )  # fmt: skip
    return replace(made, **more)


def test_a_comment_on_parts() -> None:
    lines = feedback_lines(in_parts())
    assert lines[:3] == [
        "3.1 of 10 points: kernel 1.6 of 4, variant 1.5 of 3.",
        "Kernel: 4 of 10 points in C.",
        "Variant: 5 of 10 points in C.",
    ]
    assert [line.partition(" ")[0] for line in lines[3:]] == [
        "pass:",
        "FAIL:",
        "Variant,",
        "Variant,",
    ]
    assert lines[5] == "Variant, pass: correct 5/5"
    absent = in_parts(is_handed_in=False, points=None, attempt=None, variant=None)
    assert summary_lines(absent) == ["No grade."]
    by_hand = of(ADA, result(4, 6), points=9.0, override_reason="oral")
    assert summary_lines(by_hand) == ["9 of 10 points.", "Set by hand: oral."]


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
    assert explained(hand_ins, attempts, rules) == [
        f"Ada Lovelace (ada), {LAB}: No grade",
        'What counts: the last grading of what was handed in last (counts = "last").',
        "Deadline: 2027-05-03 22:00 (CEST).",
        f"Handed in 2027-05-03 21:00 (files {FILES}):",
        f"  2027-05-04 12:00  graded on {NODE}: 10 of 10 gradable points in C",
        "  2027-05-04 13:00  not graded, the job left no result: Gone",
        "  2027-05-04 14:00  not graded, the job had to make room for another",
        f"Handed in 2027-05-04 01:00, 3 hours late (files {FILES.replace('1', '2')}):",
        f"  2027-05-04 12:00  graded on {NODE}: 4 of 8 gradable points in C, open: efficiency (2 "
        "points); which is 5 of 10, less 25 %: 3.75; 7 generations of earlier gradings of the same "
        "program",
        f"Handed in at a time that is not known (files {FILES.replace('1', '3')}):",
        f"  2027-05-10 00:00  graded with --quick on {NODE}, which does not count (allow_quick = "
        "false)",
        "  2027-05-10 01:00  graded, in no language that counts here",
    ]


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
    assert lines[1:] == [
        'What counts: the grading with most points, after what being late costs (counts = "best").',
        "Deadline: 2027-05-03 22:00 (CEST, an extension).",
        f"Handed in 2027-05-03 22:00 (files {FILES}):",
        "  2027-05-04 12:00  graded; judged again or graded on since, which counts in its place",
        f"  counts  2027-05-04 12:00  graded with --quick on {NODE}: 6 of 10 gradable points in C, "
        "which is 4.8 of 8; judged again 2027-06-01 12:00, from what was measured then",
    ]
    lines = explained([handed("d1", timedelta(0))], [first, again], rules_by_hand)
    assert lines[:2] == [
        f"Ada Lovelace (ada), {LAB}: 3 of 8 points",
        "Set by hand by me, then: why",
    ]
    assert not [line for line in lines if line.startswith("  counts")]
    nobody = replace(rules, overrides=(Override("ada", LAB, 3, "why", "", ""),), extensions=())
    lines = explained([handed("d1", timedelta(0))], [], nobody)
    assert lines[1] == "Set by hand: why"
    assert lines[3] == "Deadline: 2027-05-03 22:00 (CEST)."
    assert lines[-1] == "  not graded yet"


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
    assert [line.partition(",")[0] for line in lines[1:]] == [
        "What counts: the last grading of what was handed in last (counts = \"last\").",
        "Late by Canvas",
        "Handed in at a time that is not known (files d10000000000):",
        "  not graded yet",
    ]  # fmt: skip


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
    assert lines[:10] == [
        f"Ada Lovelace (ada), {LAB}: 1 of 10 points, provisional",
        "Parts: the 10 points are shared out by weight (kernel 4, variant 4, viva 2), without what "
        "a node can't show; each part gives its share of them.",
        "  kernel 1 of 4: 4 of 8 points in C, less 50 % for being late",
        "  variant 0 of 4 (not handed in)",
        "  viva 0 of 2 (no mark yet)",
        "  together 1 of 10",
        'What counts: the last grading of what was handed in last (counts = "last").',
        "Deadline: 2027-05-03 22:00 (CEST, an extension).",
        f"Handed in 2027-05-04 01:00, 3 hours late (files {FILES}):",
        f"  counts  2027-05-04 12:00  graded on {NODE}: 4 of 8 gradable points in C, a share of "
        "0.5, less 50 %: 0.25",
    ]
    assert lines[10:14] == [
        f"{VARIANT}:", "Deadline: 2027-05-03 22:00 (CEST, an extension).", "  not handed in",
        "What the student is told:",
    ]  # fmt: skip
    assert all(line.startswith("  ") for line in lines[14:])
    absent = derive_grade(ADA, LAB, [], [], "", rules)
    lines = list(explanation(combine_parts(absent, of_variant, rules), rules))
    assert not [line for line in lines if line.startswith("Parts")]
    lost = attempt(ADA, state="lost", lab=VARIANT)
    waits = derive_grade(ADA, VARIANT, [handed("d1", timedelta(0))], [lost], "", rules)
    lines = list(explanation(combine_parts(of_kernel, waits, rules), rules))
    assert "  together 1 of 10, once all is graded" in lines
    assert "  not handed in" not in lines
    by_hand = replace(rules, overrides=(Override("ada", LAB, 3, "why", "", ""),),
                      vivas=(VivaMark("ada", LAB, 1.0, "", "", ""),))  # fmt: skip
    lines = list(explanation(combine_parts(of_kernel, waits, by_hand), by_hand))
    assert "  together 3 of 10, and the points were set by hand" in lines


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
    assert list(table_lines(standing(rows))) == [
        "HPC",
        "",
        "student                    01     02",
        "Ada Lovelace (ada)       10*-      ?",
        "Bob <b>Bold</b> (bob)      4~      .",
        "Zoë Ångström (zoe)         4!      #",
        "",
        "3 students, 2 labs, 3 grades.",
        "* provisional; ! set by hand; - late; ~ late by Canvas, hours unknown, nothing taken off; "
        "? handed in, no grade yet; # handed in, can't be taken; . not handed in",
        "",
        "1 hand-in that can't be taken; why is told below or by gradebook explain:",
        "  Zoë Ångström (zoe) 02",
        "",
        "1 hand-in late by Canvas, hours unknown, nothing taken off. A column",
        "handed_in_at in --students FILE tells when it was:",
        "  Bob <b>Bold</b> (bob) 01",
    ]


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
    assert lines[at + 1 : at + 6] == [
        "student                  kernel predict.     viva",
        "Ada Lovelace (ada)         1.26        x     0.5?",
        "Bob <b>Bold</b> (bob)         .        .        .",
        "Zoë Ångström (zoe)            #        .        .",
        "? not graded or marked yet, 0 until then; # handed in, can't be taken; . not handed in; x "
        "not gradable",
    ]
    lines = list(table_lines(replace(standing([ada, other]), parts=names)))
    at = lines.index("Points by part, over all labs:")
    assert lines[at + 2].split() == ["Ada", "Lovelace", "(ada)", "2.26?", "x", "0.5?"]


def test_a_table_of_nobody_has_its_heads() -> None:
    names: Any = ("kernel",)
    lines = list(table_lines(replace(standing([], title=""), parts=names)))
    assert lines == [
        "", "0 students, 0 labs, 0 grades.", "", "Points by part, over all labs:",
        "student    kernel",
    ]  # fmt: skip


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
    assert lines[3].startswith("Handed in 2027-05-03 22:00 (files")
    assert lines[4] == (
        "  counts  2027-05-04 12:00  graded, 2 packages, 2 NUMA nodes, 32 cores (Server): 10 of 10 "
        "gradable points in C"
    )
