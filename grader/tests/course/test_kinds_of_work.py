"""What each way of working earns under the weights of course.toml: own work, the public solution,
what another has done, and kernels that are right and not understood. Every grade is worked out
beside it, by hand."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from support.courses import attempt, intake, submission
from support.invented_class import lab_result
from support.pages import all_of, assert_sound, rows_of, words

from numalab.course.course_folder import CourseFolder
from numalab.course.exports.exports import export_csv
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import parse_rules
from numalab.course.gradebook.standing import Standing
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page
from numalab.course.pages.student_page import student_page
from numalab.course.records import Attempt, Student
from numalab.installation import Installation
from numalab.judging.verdict import Status
from numalab.labs.declaration import Lab
from numalab.labs.variants import labs_and_variants

WITH_VARIANT, WITHOUT = "01_first_touch", "05_memory_policy"
VARIANT = f"{WITH_VARIANT}_variant"


class Work(NamedTuple):
    """name: of who works so; kernel, variant, other: what fails of a lab's kernel, of its variant
    and of the other lab's kernel; predicted: a score; diagnosed: one in both labs; viva: points of
    10; None: handed in nothing."""

    name: str
    kernel: tuple[str, ...]
    variant: tuple[str, ...]
    predicted: float | None
    other: tuple[str, ...]
    diagnosed: float | None
    viva: int


WORK: Mapping[str, Work] = {
    "ada": Work(
        "Ada's own work", ("efficiency",), (), 0.8, ("contained", "over_default"), 0.9, 8
    ),
    # It places pages as the lab asks, and not as the variant does.
    "bob": Work(
        "Bob's public solution", (), ("touched_where_used", "local_pages"), None, (), None, 1
    ),
    # What is right of Ada's variant is half right of Cem's.
    "cem": Work(
        "Cem with Ada's work", ("efficiency",), ("touched_where_used",), 0.2,
        ("contained", "over_default"), 0.3, 2,
    ),
    "dee": Work("Dee, who can't explain it", (), (), 0.1, (), 0.0, 0),
}  # fmt: skip
STUDENTS = {id_: Student(id_, work.name, {}) for id_, work in WORK.items()}
# Of 10 points each: kernel 9, 10, 9, 10; variant 10, 2, 5, 10; the other kernel 8, 10, 8, 10.

USUAL = "kernel = 40\nvariant = 30\nprediction = 10\ndiagnose = 10\nviva = 10\n"
# A lab of 10 points: 4, 3, 1, 1, 1. Without a variant 40, 10 and 10 of 60: 6.66, 1.67, 1.67.
EXPECTED_OF_USUAL = {
    "ada": (3.6 + 3.0 + 0.8 + 0.9 + 0.8, 5.33 + 1.5 + 1.34),
    "bob": (4.0 + 0.6 + 0.0 + 0.0 + 0.1, 6.66 + 0.0 + 0.17),
    "cem": (3.6 + 1.5 + 0.2 + 0.3 + 0.2, 5.33 + 0.5 + 0.33),
    "dee": (4.0 + 3.0 + 0.1 + 0.0 + 0.0, 6.66 + 0.0 + 0.0),
}
EVEN = "kernel = 1\nvariant = 1\nprediction = 1\ndiagnose = 1\nviva = 1\n"
# 2 points each; without a variant 3.34, 3.33, 3.33.
EXPECTED_OF_EVEN = {
    "ada": (1.8 + 2.0 + 1.6 + 1.8 + 1.6, 2.67 + 3.0 + 2.66),
    "bob": (2.0 + 0.4 + 0.0 + 0.0 + 0.2, 3.34 + 0.0 + 0.33),
    "cem": (1.8 + 1.0 + 0.4 + 0.6 + 0.4, 2.67 + 1.0 + 0.67),
    "dee": (2.0 + 2.0 + 0.2 + 0.0 + 0.0, 3.34 + 0.0 + 0.0),
}
UNDERSTOOD = "prediction = 2\ndiagnose = 1\nviva = 1\n"
# 5, 2.5, 2.5; without a variant 5 and 5.
EXPECTED_OF_UNDERSTOOD = {
    "ada": (4.0 + 2.25 + 2.0, 4.5 + 4.0),
    "bob": (0.0 + 0.0 + 0.25, 0.0 + 0.5),
    "cem": (1.0 + 0.75 + 0.5, 1.5 + 1.0),
    "dee": (0.5 + 0.0 + 0.0, 0.0 + 0.0),
}


@pytest.fixture(scope="module")
def labs(installation: Installation) -> dict[str, Lab]:
    return labs_and_variants(installation.root)


def graded(id_: str, lab: Lab, failed: tuple[str, ...], **scores: float | None) -> Attempt:
    statuses: dict[str, Status] = dict.fromkeys(failed, "fail")
    assert statuses.keys() <= {one.name for one in lab.criteria}
    more = {key: {"score": score} for key, score in scores.items() if score is not None}
    return attempt(STUDENTS[id_], lab_result(lab, statuses) | more, lab=lab.name)


def standing(folder: Path, labs: Mapping[str, Lab], weights: str) -> Standing:
    every = [
        one
        for id_, work in WORK.items()
        for one in (
            graded(id_, labs[WITH_VARIANT], work.kernel, diagnosis=work.diagnosed),
            graded(id_, labs[VARIANT], work.variant, prediction=work.predicted),
            graded(id_, labs[WITHOUT], work.other, diagnosis=work.diagnosed),
        )
    ]
    vivas = "".join(
        f'[[viva]]\nstudent = "{id_}"\npoints = {work.viva}\n' for id_, work in WORK.items()
    )
    without = f'[labs.{WITHOUT}]\nparts = ["kernel", "diagnose", "viva"]\n'
    rules = parse_rules(f"[parts]\n{weights}{without}{vivas}", "course.toml", labs)
    with use_gradebook(CourseFolder(folder)) as book:
        book.add_submissions(
            intake(
                *(submission(STUDENTS[one.target.student_id], lab=one.target.lab) for one in every)
            )
        )
        book.add_attempts(every)
        return book.standing(rules)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (USUAL, EXPECTED_OF_USUAL),
        (EVEN, EXPECTED_OF_EVEN),
        (UNDERSTOOD, EXPECTED_OF_UNDERSTOOD),
    ],
    ids=["usual", "even", "understood"],
)
def test_each_way_of_working_earns_what_the_weights_say(
    tmp_path: Path, labs: dict[str, Lab], weights: str, expected: dict[str, tuple[float, float]]
) -> None:
    """In the gradebook, on all pages and in an export."""
    found = standing(tmp_path, labs, weights)
    points = {(row.student.id, row.lab): row.points for row in found.rows}
    by_hand = {
        (student, lab): round(value, 2)
        for student, values in expected.items()
        for lab, value in zip((WITH_VARIANT, WITHOUT), values, strict=True)
    }
    assert points == by_hand
    assert not any(row.is_preliminary for row in found.rows)
    exported = csv.DictReader(io.StringIO(export_csv(found).text.lstrip("\ufeff")))
    assert {(one["student"], one["lab"]): float(one["points"]) for one in exported} == by_hand
    sums = {student: f"{round(sum(values), 2):g}" for student, values in expected.items()}
    text = class_page(found, class_facts(found, labs), labs)
    page = assert_sound(re.sub(r'href="[^#"][^"]*"', 'href="#main"', text))
    for caption in ("Points of each student by lab", "What the grades of each student are made of"):
        assert [line[1] for line in rows_of(page, caption)[1:]] == list(sums.values())
    for student in STUDENTS.values():
        rows = [row for row in found.rows_with_variants if row.student == student]
        root = assert_sound(student_page(student, rows, labs, "", ()))
        assert f"{sums[student.id]} of 20 points" in words(next(all_of(root, "header")))
        parts = rows_of(root, "What parts of the grades give over all labs")[1:]
        gives = sum(float(line[1].split()[0]) for line in parts)
        assert f"{round(gives, 2):g}" == sums[student.id]
