"""What the parts of a lab's grade give: kernel, variant, prediction, diagnose, viva."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import numalab_command
from support.courses import (
    ADA,
    BOB,
    LAB,
    OTHER_LAB,
    VARIANT,
    ZOE,
    attempt,
    intake,
    result,
    submission,
)
from support.golden_texts import check_text

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.explanation import explanation
from numalab.course.gradebook.feedback import feedback_lines
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.overview import table_lines
from numalab.course.gradebook.parts import PART_NAMES, PartName, PartScore, score_parts, sum_points
from numalab.course.gradebook.rules import Rules, parse_rules
from numalab.course.gradebook.standing import Standing, StandingRow
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page
from numalab.course.pages.student_page import student_page, sum_words
from numalab.course.records import Attempt, Problem, Student
from numalab.errors import UserError
from numalab.installation import Installation

PARTS = "[parts]\nkernel = 40\nvariant = 30\nprediction = 10\ndiagnose = 10\nviva = 10\n"
NAMES = (LAB, VARIANT, OTHER_LAB)
Json = dict[str, Any]


def rules(text: str = PARTS) -> Rules:
    return parse_rules(text, "course.toml", NAMES)


def viva(student: str, marked: str, lab: str = "") -> str:
    return f'[[viva]]\nstudent = "{student}"\n{marked}\n' + (f'lab = "{lab}"\n' if lab else "")


def kernel(student: Student, one: Json, diagnosed: float | None = None, **more: Any) -> Attempt:
    diagnosis = {} if diagnosed is None else {"diagnosis": {"score": diagnosed}}
    return attempt(student, one | diagnosis, **more)


def variant(student: Student, one: Json, predicted: float | None = None, **more: Any) -> Attempt:
    prediction = {} if predicted is None else {"prediction": {"score": predicted}}
    return attempt(
        student, one | {"lab": VARIANT} | prediction, lab=VARIANT, digest="d2", **more
    )  # fmt: skip


def handed_in(*students: Student, at: str | None = None, variant_at: str | None = None) -> Any:
    return [
        one
        for student in students
        for one in (
            submission(student, at=at),
            submission(student, "d2", at=variant_at or at, lab=VARIANT),
        )
    ]


def standing(
    folder: Path, submissions: Any, attempts: list[Attempt], text: str = PARTS, problems: Any = ()
) -> Standing:
    with use_gradebook(CourseFolder(folder)) as book:
        book.add_submissions(intake(*submissions, problems=problems))
        book.add_attempts(attempts)
        return book.standing(rules(text))


def only_row(*arguments: Any, **more: Any) -> StandingRow:
    (row,) = standing(*arguments, **more).rows
    return row


def points(row: StandingRow) -> dict[str, float]:
    return {part.name: part.points for part in row.parts}


def explained(folder: Path, text: str = PARTS, student: str = "ada") -> str:
    with use_gradebook(CourseFolder(folder), read_only=True) as book:
        (account,) = book.grade_traces(rules(text), student)
    return "\n".join(explanation(account, rules(text)))


# ---- sums ----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(40, 30, 10, 10, 10), (1, 1, 1), (1, 2, 4), (7, 0.1), (3,)])
@pytest.mark.parametrize("worth", [10.0, 7.5, 1.0, 33.0])
def test_all_of_every_part_is_all_of_the_lab(weights: tuple[float, ...], worth: float) -> None:
    named = dict(zip(PART_NAMES, weights, strict=False))
    parts = score_parts([PartScore(name, "graded", 1.0) for name in named], named, worth)
    assert sum_points(parts) == worth
    assert [part.points for part in parts] == [part.max_points for part in parts]
    assert all(part.max_points == pytest.approx(worth * named[part.name] / sum(weights), abs=0.03)
               for part in parts)  # fmt: skip


def test_what_a_node_cannot_show_is_left_out_of_the_mean() -> None:
    shown = [
        PartScore("kernel", "left out"),
        PartScore("variant", "graded", 0.5),
        PartScore("viva", "missing"),
    ]
    parts = score_parts(shown, {"kernel": 40, "variant": 30, "viva": 10}, 10)
    assert [part.max_points for part in parts] == [0, 7.5, 2.5]
    assert sum_points(parts) == 3.75


def test_nothing_that_can_be_shown_is_no_grade() -> None:
    assert sum_points(score_parts([PartScore("kernel", "left out")], {"kernel": 40}, 10)) is None
    assert sum_points(score_parts([], {}, 10)) is None


def test_points_are_what_the_parts_give_together(tmp_path: Path) -> None:
    """Own work: most of the kernel, half of the variant, and so on."""
    row = only_row(
        tmp_path, handed_in(ADA),
        [kernel(ADA, result(6, 2, 2), 0.5), variant(ADA, result(5, 5), 0.8)],
        PARTS + viva("ada", "points = 9"),
    )  # fmt: skip
    assert points(row) == {
        "kernel": 3.0, "variant": 1.5, "prediction": 0.8, "diagnose": 0.5, "viva": 0.9
    }  # fmt: skip
    assert row.points == 6.7
    assert row.max_points == 10
    assert not row.is_preliminary
    assert row.gradable_points == 9.2  # of the kernel's 4 the node shows 8 of 10


def test_a_copied_solution_earns_its_kernel_alone(tmp_path: Path) -> None:
    """It fails as the variant, nothing was predicted or diagnosed, and the viva was sad."""
    row = only_row(
        tmp_path, handed_in(ADA), [kernel(ADA, result(10)), variant(ADA, result(0, 10))],
        PARTS + viva("ada", "share = 0"),
    )  # fmt: skip
    assert points(row) == {
        "kernel": 4.0, "variant": 0.0, "prediction": 0.0, "diagnose": 0.0, "viva": 0.0
    }  # fmt: skip
    assert row.points == 4.0


def test_what_was_not_handed_in_earns_nothing(tmp_path: Path) -> None:
    row = only_row(
        tmp_path, [submission(ADA)], [kernel(ADA, result(10))], PARTS + viva("ada", "points = 10")
    )
    assert {part.name: part.state for part in row.parts} == {
        "kernel": "graded", "variant": "missing", "prediction": "missing",
        "diagnose": "missing", "viva": "graded",
    }  # fmt: skip
    assert row.points == 5.0
    alone = only_row(
        tmp_path / "variant", [submission(ADA, "d2", lab=VARIANT)], [variant(ADA, result(10))]
    )
    assert points(alone)["variant"] == 3.0
    assert (alone.lab, alone.points, alone.is_handed_in) == (LAB, 3.0, True)


def test_who_hands_in_nothing_has_no_grade_whatever_the_viva(tmp_path: Path) -> None:
    found = standing(
        tmp_path, [*handed_in(ADA)], [kernel(ADA, result(10)), variant(ADA, result(10))],
        PARTS + viva("bob", "points = 5"), [Problem("class.csv", "Nothing was handed in.", BOB)],
    )  # fmt: skip
    (bob,) = (row for row in found.rows if row.student.id == "bob")
    assert (bob.points, bob.is_handed_in) == (None, False)
    marked = standing(tmp_path, handed_in(ADA), [], PARTS + viva("bob", "points = 5", LAB))
    (bob,) = (row for row in marked.rows if row.student.id == "bob")
    assert bob.points == 0.5


def test_what_waits_to_be_graded_is_never_a_zero(tmp_path: Path) -> None:
    row = only_row(
        tmp_path, handed_in(ADA),
        [kernel(ADA, result(10)), variant(ADA, result(0), state="node_failed")],
    )  # fmt: skip
    assert row.points is None
    assert row.is_handed_in
    check_text(" ".join(row.notes))


def test_a_viva_without_a_mark_is_open(tmp_path: Path) -> None:
    graded = [kernel(ADA, result(10), 1.0), variant(ADA, result(10), 1.0)]
    row = only_row(tmp_path, handed_in(ADA), graded)
    assert (row.points, row.is_preliminary) == (9.0, True)
    assert any("the viva has no mark yet" in line for line in feedback_lines(row))
    row = only_row(tmp_path, handed_in(ADA), graded, PARTS + viva("ada", "points = 10"))
    assert (row.points, row.is_preliminary) == (10.0, False)


def test_a_mark_of_a_lab_comes_before_the_one_for_all() -> None:
    found = rules(
        PARTS + viva("ada", "points = 9", LAB) + viva("ada", "points = 4") + viva("ada", "share=1")
    )
    mark, other = found.viva("ada", LAB), found.viva("ada", OTHER_LAB)
    assert mark is not None
    assert other is not None
    assert (mark.share, other.share) == (0.9, 1.0)
    assert found.viva("bob", LAB) is None


def test_being_late_costs_the_parts_that_were(tmp_path: Path) -> None:
    text = (
        f"[late]\nper_day = 0.1\n{PARTS}[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00+02:00\n"
        + viva("ada", "points = 10")
    )
    in_time, late = "2027-05-03T20:00:00+02:00", "2027-05-04T20:00:00+02:00"
    row = only_row(
        tmp_path, handed_in(ADA, at=in_time, variant_at=late),
        [kernel(ADA, result(10), 1.0), variant(ADA, result(10), 1.0)], text,
    )  # fmt: skip
    assert points(row) == {
        "kernel": 4.0, "variant": 2.7, "prediction": 0.9, "diagnose": 1.0, "viva": 1.0
    }  # fmt: skip
    check_text(explained(tmp_path, text))
    assert any("The variant was handed in 20 hours after" in line for line in feedback_lines(row))
    own = f"{text}[labs.{VARIANT}]\ndeadline = 2027-05-05T23:59:00+02:00\n"
    assert only_row(tmp_path, handed_in(ADA), [], own).points == 10.0


def test_what_was_said_first_counts(tmp_path: Path) -> None:
    """Also where a later hand-in counts for its code, is said to be older, or the first one is
    handed in again behind it; and one that says nothing is no first one."""

    def said(digest: str, day: int, points_: float, score: float | None) -> list[Attempt]:
        at = f"2027-05-{day:02}T10:00:00+00:00"
        more = {} if score is None else {"score": score}
        diagnosis = {"diagnosis": more} if more else {}
        prediction = {"prediction": more} if more else {}
        one = result(points_, 10 - points_)
        return [
            attempt(ADA, one | diagnosis, digest=f"k{digest}", at=at),
            attempt(ADA, one | {"lab": VARIANT} | prediction, digest=digest, lab=VARIANT, at=at),
        ]

    def handed(digest: str, at: str | None = None) -> list[Any]:
        return [
            submission(ADA, f"k{digest}", at=at),
            submission(ADA, digest, at=at, lab=VARIANT),
        ]

    attempts = [*said("d1", 3, 2, None), *said("d2", 4, 5, 0.2), *said("d3", 5, 10, 1.0)]
    deliveries = [*handed("d1"), *handed("d2"), *handed("d3", at="2027-05-01T10:00:00+00:00")]
    row = only_row(tmp_path / "a", deliveries, attempts)
    assert (points(row)["prediction"], points(row)["diagnose"]) == (0.2, 0.2)
    assert (points(row)["kernel"], points(row)["variant"]) == (4.0, 3.0)
    row = only_row(tmp_path / "b", [*deliveries, *handed("d2")], attempts)
    assert (points(row)["prediction"], points(row)["diagnose"]) == (0.2, 0.2)
    again = [replace(one, number=2) for one in said("d2", 9, 5, 0.4)]
    row = only_row(tmp_path / "c", deliveries, [*attempts, *again])
    assert points(row)["prediction"] == 0.4  # the same files, graded once more


def test_what_was_said_first_stays_so_when_it_is_graded_again(tmp_path: Path) -> None:
    def graded(digest: str, day: int, score: float, number: int = 1) -> Attempt:
        at = f"2027-05-{day:02}T10:00:00+00:00"
        return kernel(ADA, result(5, 5), score, digest=digest, at=at, number=number)

    row = only_row(
        tmp_path / "course" / "2027",
        [submission(ADA, "d1"), submission(ADA, "d2")],
        [graded("d1", 3, 0.2), graded("d1", 9, 0.2, number=2), graded("d2", 5, 1.0)],
    )
    assert points(row)["diagnose"] == 0.2


@pytest.mark.parametrize(("counts", "score"), [("best", 0.2), ("last", 0.4)])
def test_of_one_hand_in_the_score_is_of_the_grading_that_counts(
    tmp_path: Path, counts: str, score: float
) -> None:
    at = "2027-05-09T10:00:00+00:00"
    graded = [kernel(ADA, result(8, 2), 0.2), kernel(ADA, result(5, 5), 0.4, number=2, at=at)]
    row = only_row(tmp_path, [submission(ADA)], graded, f'counts = "{counts}"\n{PARTS}')
    assert points(row)["diagnose"] == score


def test_without_parts_a_variant_is_a_lab_of_its_own(tmp_path: Path) -> None:
    rows = standing(
        tmp_path, handed_in(ADA),
        [kernel(ADA, result(6, 4), 1.0), variant(ADA, result(10), 1.0)], "",
    ).rows  # fmt: skip
    assert [(row.lab, row.points, row.parts) for row in rows] == [
        (LAB, 6.0, ()), (VARIANT, 10.0, ())
    ]  # fmt: skip


def test_a_lab_without_variants_is_not_asked_for_one(tmp_path: Path) -> None:
    row = only_row(
        tmp_path, [submission(ADA, lab=OTHER_LAB)],
        [kernel(ADA, result(10), 1.0, lab=OTHER_LAB)], PARTS + viva("ada", "points = 10"),
    )  # fmt: skip
    assert points(row) == {"kernel": 6.66, "diagnose": 1.67, "viva": 1.67}
    assert row.points == 10.0


def test_course_toml_says_which_parts_a_lab_has(tmp_path: Path) -> None:
    text = f'{PARTS}[labs.{LAB}]\nparts = ["kernel", "viva"]\n'
    row = only_row(tmp_path, handed_in(ADA), [kernel(ADA, result(10))], text)
    assert points(row) == {"kernel": 8.0, "viva": 0.0}
    assert row.variant is None


def test_points_set_by_hand_are_the_labs_or_the_variants(tmp_path: Path) -> None:
    graded = [kernel(ADA, result(10), 1.0), variant(ADA, result(0, 10), 1.0)]
    by_hand = PARTS + viva("ada", "share = 1")
    by_hand += '[[override]]\nstudent = "ada"\nreason = "told me"\n'
    row = only_row(tmp_path, handed_in(ADA), graded, f'{by_hand}lab = "{LAB}"\npoints = 2\n')
    assert (row.points, row.override_reason) == (2.0, "told me")
    assert points(row)["kernel"] == 4.0
    row = only_row(tmp_path, handed_in(ADA), graded, f'{by_hand}lab = "{VARIANT}"\npoints = 5\n')
    assert points(row)["variant"] == 1.5
    assert (row.points, row.override_reason) == (8.5, "")


def test_nothing_is_taken_off_what_was_set_by_hand(tmp_path: Path) -> None:
    """Of a lab as a whole, whichever of its parts was late."""
    text = (
        f"[late]\nper_day = 0.1\n{PARTS}[labs.{LAB}]\ndeadline = 2027-05-03T23:59:00+02:00\n"
        f'[[override]]\nstudent = "ada"\nreason = "x"\nlab = "{LAB}"\npoints = 2\n'
    )
    row = only_row(
        tmp_path, handed_in(ADA, at="2027-05-04T20:00:00+02:00"),
        [kernel(ADA, result(10)), variant(ADA, result(10))], text,
    )  # fmt: skip
    assert row.variant is not None
    assert row.points == 2.0 and row.late_s > 0 and row.variant.late_s > 0
    assert (row.penalty, row.variant.penalty) == (0, 0)


def test_open_points_of_both_are_told(tmp_path: Path) -> None:
    row = only_row(
        tmp_path, handed_in(ADA),
        [kernel(ADA, result(8, still_open=2)), variant(ADA, result(5, still_open=5))],
        PARTS + viva("ada", "points = 10"),
    )  # fmt: skip
    assert [(one.criterion, one.points) for one in row.undecided] == [
        ("efficiency", 2), ("variant:efficiency", 5)
    ]  # fmt: skip
    assert row.undecided_points == pytest.approx(0.8 + 1.5)
    assert row.is_preliminary


def test_why_a_variant_was_not_taken_is_told(tmp_path: Path) -> None:
    why = f"{VARIANT}: this is the variant of 'bob', and not yours."
    row = only_row(
        tmp_path, [submission(ADA)], [kernel(ADA, result(10))], PARTS,
        [Problem("ada.zip", why, ADA)],
    )  # fmt: skip
    assert why in feedback_lines(row)


@pytest.mark.parametrize("taken", [LAB, VARIANT])
def test_why_one_of_the_two_was_not_taken_is_told_beside_the_other(
    tmp_path: Path, taken: str
) -> None:
    other = VARIANT if taken == LAB else LAB
    graded = kernel(ADA, result(10)) if taken == LAB else variant(ADA, result(10))
    digest = graded.target.digest
    for number, why in enumerate((f"{other}: refused", "ada.rar: refused")):
        found = standing(
            tmp_path / str(number), [submission(ADA, digest, lab=taken), *handed_in(BOB)], [graded],
            PARTS, [Problem("ada.zip", why, ADA)],
        )  # fmt: skip
        (row,) = (row for row in found.rows if row.student.id == "ada")
        assert row.notes == (why,)
        assert [part.state for part in row.parts].count("not taken") == 2


# ---- course.toml ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[parts]\nkernels = 40", (":2: ", "'kernels'", "Did you mean 'kernel'?")),
        ("[parts]\nkernel = -1", ("'kernel'", "0 or more")),
        ("[parts]\nkernel = true", ("'kernel'", "a number")),
        ("[parts]\nkernel = 0", ("no weight above 0",)),
        ("[parts]", ("no weight above 0",)),
        ("[[viva]]\npoints = 3", ("[[viva]] has no key 'student'",)),
        (viva("ada", ""), ("either points, of 10, or share",)),
        (viva("ada", "points = 3\nshare = 0.3"), ("either points, of 10, or share",)),
        (viva("ada", "points = 11"), ("'points'", "0 to 10")),
        (viva("ada", "share = 3"), ("'share'", "0 to 1")),
        (viva("ada", "mark = 3"), (":3: ", "'mark'", "share")),
        (viva("ada", "share = 1", "01_first_tuoch"), ("01_first_tuoch", f"Did you mean {LAB}")),
        (viva("ada", "share = 1", VARIANT), ("a lab and all of it", LAB)),
        (f'[labs.{LAB}]\nparts = ["kernel"]', ("needs the weights of [parts]",)),
        (f'{PARTS}[labs.{LAB}]\nparts = ["kernal"]', ("kernal", "Did you mean 'kernel'?")),
        (f'{PARTS}[labs.{VARIANT}]\nparts = ["kernel"]', ("is a part and has none",)),
        (f'[parts]\nkernel = 1\n[labs.{LAB}]\nparts = ["viva"]', ("none of its parts",)),
        ("kept_until = 3", ("'kept_until'", "a date")),
    ],
)  # fmt: skip
def test_a_slip_is_named(text: str, said: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as raised:
        rules(text)
    for words in ("course.toml", *said):
        assert words in str(raised.value)


def test_marks_that_nobody_gets_are_told(tmp_path: Path) -> None:
    text = viva("adda", "points = 3")
    told = " ".join(p.why for p in standing(tmp_path, handed_in(ADA), [], text).problems)
    check_text(told)


def test_a_part_that_nobody_of_the_class_has_is_told(tmp_path: Path) -> None:
    graded = [kernel(ADA, result(10)), variant(ADA, result(10), 0.5)]
    (problem,) = standing(tmp_path, handed_in(ADA), graded).problems
    check_text(problem.why)
    assert f'[labs.{LAB}] parts = ["kernel", "variant", "prediction", "viva"]' in problem.why


# ---- told ----------------------------------------------------------------------------


def test_explain_shows_how_the_points_add_up(tmp_path: Path) -> None:
    text = PARTS + viva("ada", 'points = 9\nby = "me"\nat = 2027-05-14')
    standing(
        tmp_path, handed_in(ADA),
        [kernel(ADA, result(6, 2, 2), 0.5), variant(ADA, result(5, 5))], text,
    )  # fmt: skip
    said = explained(tmp_path, text)
    for words in (
        "(kernel 40, variant 30, prediction 10, diagnose 10, viva 10)",
        "  kernel 3 of 4: 6 of 8 points in C",
        "  variant 1.5 of 3: 5 of 10 points in C",
        "  prediction 0 of 1 (not handed in)",
        "  diagnose 0.5 of 1: a score of 0.5",
        "  viva 0.9 of 1: a mark of 9 of 10 by me, 2027-05-14",
        "  together 5.9 of 10",
        "a share of 0.75",
        f"{VARIANT}:",
    ):
        assert words in said
    assert said.count("  counts  ") == 2


def test_the_table_has_a_column_for_each_part(tmp_path: Path) -> None:
    long = Student("z" * 30, "Zoë Ångström of the very long name", {})
    found = standing(
        tmp_path, [*handed_in(ADA, BOB, long), submission(ZOE)],
        [
            kernel(ADA, result(10), 1.0), variant(ADA, result(5, 5), 0.25),
            kernel(BOB, result(0, 0, 10)), variant(BOB, result(0, 0, 10)),
            kernel(long, result(10)), variant(long, result(0), state="lost"),
            kernel(ZOE, result(5, 5)),
        ],
        PARTS + viva("ada", "points = 9"),
    )  # fmt: skip
    lines = list(table_lines(found))
    assert all(len(line) <= 80 for line in lines)
    heads = next(line for line in lines if "kernel" in line)
    assert heads.split() == ["student", "kernel", "variant", "predict.", "diagnose", "viva"]
    start = lines.index(heads) + 1
    below = {line.split()[0]: line.split()[-5:] for line in lines[start : start + 4]}
    assert below["Ada"] == ["4", "1.5", "0.25", "1", "0.9"]
    assert below["Bob"] == ["x", "x", ".", ".", "0?"]
    by_hand_in = sorted(line[35:].split() for line in lines[start : start + 4])
    assert ["2", ".", ".", ".", "0?"] in by_hand_in
    assert ["4", "0?", "0?", ".", "0?"] in by_hand_in


def test_pages_show_the_parts_and_count_them_once(tmp_path: Path) -> None:
    found = standing(
        tmp_path, handed_in(ADA), [kernel(ADA, result(10), 1.0), variant(ADA, result(5, 5), 0.5)]
    )  # fmt: skip
    rows = list(found.rows_with_variants)
    assert [(row.lab, row.points, row.max_points) for row in rows] == [
        (LAB, 7.0, 10.0), (VARIANT, 1.5, 3.0)
    ]  # fmt: skip
    check_text(sum_words(rows))
    page = student_page(ADA, rows, {}, "HPC", ())
    assert "1.5 of 3" in page
    assert "0.5 of 1" in page
    facts = class_facts(found, {})
    assert [lab.name for lab in facts.labs] == [LAB, VARIANT]
    assert ">7<" in "".join(class_page(found, facts, {}).split())


def test_the_commands_know_parts(installation: Installation, tmp_path: Path) -> None:
    standing(
        tmp_path, handed_in(ADA, BOB),
        [kernel(ADA, result(10), 1.0), variant(ADA, result(5, 5), 0.5)],
    )  # fmt: skip
    weights = "[parts]\nkernel = 40\nvariant = 30\nprediction = 10\ndiagnose = 10\nviva = 10\n"
    (tmp_path / "course.toml").write_text(weights + viva("ada", "points = 8"))
    shown = numalab_command(installation, "gradebook", "show", str(tmp_path), "--lab", VARIANT)
    assert shown.code == 0
    assert "predict." in shown.out
    assert "7.8" in shown.out
    said = numalab_command(installation, "gradebook", "explain", str(tmp_path), "ada", VARIANT)
    check_text(said.out)
    assert max(map(len, said.out.splitlines())) <= 80
    out = tmp_path / "grades.csv"
    made = numalab_command(
        installation, "gradebook", "export", str(tmp_path), "--format", "csv", "--out", str(out)
    )
    assert made.code == 0
    assert "variant_points" in out.read_text(encoding="utf-8")


def test_a_lab_has_the_parts_that_there_are() -> None:
    """What no variant asks for, and what no case is of, is nobody's fault."""
    asking: dict[PartName, Sequence[str]] = {"prediction": [OTHER_LAB], "diagnose": [LAB]}
    found = parse_rules(PARTS, "course.toml", NAMES, asking)
    assert list(found.weights(LAB)) == ["kernel", "variant", "diagnose", "viva"]
    assert list(found.weights(OTHER_LAB)) == ["kernel", "viva"]  # it has no variant to predict in
    named = f'{PARTS}[labs.{LAB}]\nparts = ["kernel", "prediction"]\n'
    assert list(parse_rules(named, "course.toml", NAMES, asking).weights(LAB)) == [
        "kernel", "prediction"
    ]  # fmt: skip
