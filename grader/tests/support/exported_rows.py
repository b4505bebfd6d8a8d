"""Rows of a small class, of every kind that an export tells apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalab.course.gradebook.parts import GradePart
from support.courses import ADA, BOB, LAB, OTHER_LAB, ZOE, attempt, result
from support.invented_class import row

VARIANT = f"{LAB}_variant"


def part(name: Any, state: Any, most: float, points: float, why: str = "") -> GradePart:
    share = points / most if most else 0.0
    return GradePart(name, state, share, why, weight=1.0, max_points=most, points=points)


GRADED = row(
    ADA, LAB, replace(attempt(ADA, result(5, 1, 2, still_open=2)), ended_at="2027-05-04T10:01:30Z"),
    points=6.25, gradable_points=8.0, is_preliminary=True, late_s=5400.4, penalty=0.25,
    language="c", notes=("A note.",), is_late_unknown=True,
)  # fmt: skip
FAILED = row(
    BOB, LAB, None, notes=("Not graded.",),
    others=(attempt(BOB, state="lost"), attempt(BOB, state="preempted", number=2),
            attempt(BOB, result(10), effort="quick", number=3)),
)  # fmt: skip
MISSING = row(ZOE, LAB, None, is_handed_in=False, notes=("Nothing was handed in.",))
NOT_TAKEN = replace(MISSING, student=BOB, lab=OTHER_LAB, is_not_taken=True, notes=("Broken.",))
BY_HAND = row(
    ZOE, OTHER_LAB, attempt(ZOE, result(10), lab=OTHER_LAB), points=3.456, override_reason="=oral"
)
IN_PARTS = replace(
    row(ADA, LAB, attempt(ADA, result(4, 6)), points=5.5),
    parts=(
        part("kernel", "graded", 4, 1.6), part("variant", "graded", 3, 1.5),
        part("prediction", "left out", 0, 0), part("diagnose", "missing", 1.5, 0),
        part("viva", "open", 1.5, 0),
    ),
    variant=row(
        ADA, VARIANT, replace(attempt(ADA, result(5, 5), lab=VARIANT),
                              started_at="2027-05-04T09:59:57.7+00:00"),
        points=1.5, max_points=3.0, is_part=True,
    ),
)  # fmt: skip
