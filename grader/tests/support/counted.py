"""Hand-ins of a lab that is due at DUE, and what counts of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from numalab.course.gradebook.counting import GradeTrace, HandIn, derive_grade
from numalab.course.gradebook.rules import Rules, parse_rules
from numalab.course.records import Attempt
from support.courses import ADA, LAB, OTHER_LAB, VARIANT

DAY_S = 86_400
DUE = datetime(2027, 5, 3, 22, tzinfo=UTC)
DIGEST = "d1".ljust(64, "0")


def rules(text: str = "") -> Rules:
    return parse_rules(text, "course.toml", (LAB, VARIANT, OTHER_LAB))


def handed(digest: str = "d1", after: timedelta = timedelta(0), *notes: str) -> HandIn:
    return HandIn(digest.ljust(64, "0"), DUE + after, DUE + after, notes)


def counted(
    hand_ins: Sequence[HandIn],
    attempts: Sequence[Attempt],
    of: Rules | None = None,
    not_taken: str = "",
) -> GradeTrace:
    return derive_grade(ADA, LAB, hand_ins, attempts, not_taken, of or Rules())
