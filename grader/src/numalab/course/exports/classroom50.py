"""Grades of one submission as the result.json of Classroom 50's autograders
(foundation50/classroom50, wiki page Advanced Autograding and schemas/result-v1.schema.json, as of
August 2026).

Points are whole numbers there, so they are given in hundredths of the course's points: 7.5 of 10 is
750 of 1000. The scale is the same for the whole class, whatever is gradable on a machine.

A submission without a score can't be expressed: a result that says 0 of 0 counts as submitted and
graded. So if a lab that is handed in has no grade there is no result. The test of an undecided
criterion has no points, and its name says that it is open: grading again may still give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from numalab.course.exports.exports import submission_tests
from numalab.course.gradebook.feedback import explain_criterion, part_line
from numalab.course.gradebook.parts import GradePart
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Json, Problem
from numalab.errors import NumalabError, UserError
from numalab.reports.verdict_words import CriterionRow

SCHEMA = "classroom50/result/v1"
_HUNDREDTHS = 100


# Environment variables by which Classroom 50's runner says which submission is graded. The runner
# overwrites owner, type and time of the result.
_NEEDED = (
    "CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "OWNER", "ASSIGNMENT_TYPE", "COMMIT_URL",
    "RELEASE_URL",
)  # fmt: skip
_REVIEW = "REVIEW_URL"  # the address of the whole change; it may be missing or empty


def read_runner_context(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the runner's environment variables say. Raises UserError if one that is needed is
    missing."""
    found = {name: environment.get(name, "") for name in (*_NEEDED, _REVIEW)}
    missing = [name for name in _NEEDED if not found[name]]
    if missing:
        raise UserError(
            "--format classroom50 is for Classroom 50's runner, which says what it grades in "
            f"environment variables; there is no {', '.join(missing)}. For grades of a class use "
            "--format csv."
        )
    return found


def _hundredths(points: float) -> int:
    return round(points * _HUNDREDTHS)


def _test(name: str, has_passed: bool, score: int, most: int, output: str) -> Json:
    return {
        "test-name": name,
        "passed": has_passed,
        "score": score,
        "max-score": most,
        "output": output,
    }


def _criterion_test(name: str, shown: CriterionRow, scale: float) -> Json | None:
    """Return the test of a criterion whose points are gradable on the machine."""
    criterion = shown.criterion
    if not shown.points or criterion.points_status == "not_gradable":
        return None
    is_decided = criterion.points_status in ("pass", "fail")
    most = _hundredths(criterion.max_points * scale)
    return _test(
        name + ("" if is_decided else " (open, not decided yet)"),
        criterion.status == "pass",
        min(most, _hundredths(criterion.points * scale)) if is_decided else 0,
        most,
        explain_criterion(shown),
    )


def _part_test(name: str, part: GradePart) -> Json:
    return _test(
        name + (" (open, no mark yet)" if part.state == "open" else ""),
        part.points >= part.max_points,
        _hundredths(part.points),
        _hundredths(part.max_points),
        part_line(part),
    )


def _nothing(row: StandingRow, problems: Sequence[Problem]) -> Json:
    """Return the test of a lab for which nothing is handed in, or nothing could be taken."""
    why = " ".join([*row.notes, *(problem.why for problem in problems)])
    most = _hundredths(row.max_points)
    return _test(f"{row.lab}: handed in", False, 0, most, why or "Nothing was handed in.")


def result(
    rows: Sequence[StandingRow],
    problems: Sequence[Problem],
    run: Mapping[str, str],
    graded_at: datetime,
) -> Json:
    """Return the result.json of one student's submission.

    Args:
        rows: the student's rows of the labs that the assignment is about.
        problems: problems with what the student handed in.
        run: what read_runner_context returned.

    Raises:
        NumalabError: a lab that is handed in has no grade, or there are neither rows nor problems.
    """
    spoilt = [row for row in rows if row.points is None and row.is_handed_in]
    if spoilt or not (rows or problems):
        why = "; ".join(f"{row.lab}: {' '.join(row.notes)}" for row in spoilt)
        raise NumalabError(
            f"no result.json is written, since not everything was graded ({why or 'nothing was'}). "
            "Classroom 50 then shows an error and no score; grade it again there (Regrade)."
        )
    several = len(rows) > 1
    tests: list[Json] = []
    for row in rows:
        prefix = f"{row.lab}: " if several else ""
        tests += submission_tests(row, prefix, _criterion_test, _part_test)
        if not row.is_handed_in and row.result is None and not row.points:
            tests.append(_nothing(row, problems))
    if not rows:  # nothing that was handed in could be taken for a lab
        why = " ".join(problem.why for problem in problems)
        tests.append(_test("handed in", False, 0, 0, why))
    most = sum(_hundredths(row.max_points) for row in rows)
    at = graded_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "schema": SCHEMA,
        "classroom": run["CLASSROOM"],
        "assignment": run["ASSIGNMENT"],
        "assignment_type": run["ASSIGNMENT_TYPE"],
        "owner": run["OWNER"],
        "submission": run["SUBMISSION_TAG"],
        "commit": run["COMMIT_URL"],
        "release": run["RELEASE_URL"],
        "review": run[_REVIEW] or run["COMMIT_URL"],
        # The runner replaces it by the commit's time.
        "datetime": at,
        "graded_at": at,
        "score": min(most, sum(_hundredths(row.points or 0.0) for row in rows)),
        "max-score": most,
        "tests": tests,
    }
