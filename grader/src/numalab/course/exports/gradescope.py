"""Grades of one submission as Gradescope's results.json
(https://gradescope-autograders.readthedocs.io/en/latest/specs/).

If a lab that is handed in has no grade, neither the submission nor a test has a score: Gradescope
then shows that the autograder has failed, instead of a zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalab.course.exports.exports import submission_tests
from numalab.course.gradebook.feedback import explain_criterion, part_line, summary_lines
from numalab.course.gradebook.parts import GradePart, round_points
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Json, Problem
from numalab.reports.verdict_words import STATUS_STYLE, CriterionRow

_STATUS = {"pass": "passed", "fail": "failed"}


def _criterion_test(name: str, shown: CriterionRow, scale: float) -> Json:
    """Return the test of a row of a criterion, on the scale of the lab's points. It has no score if
    the points are undecided or not gradable, if the lab's kernel can give none, or if another row
    of the criterion has the score."""
    criterion = shown.criterion
    test: Json = {"name": name, "output": explain_criterion(shown), "visibility": "visible"}
    if criterion.points_status in _STATUS:
        test["status"] = _STATUS[criterion.status]
        if shown.points and scale:
            test["score"] = round_points(criterion.points * scale)
            test["max_score"] = round_points(criterion.max_points * scale)
    else:
        words = STATUS_STYLE[criterion.points_status][0]
        test["output"] = f"Not graded ({words}): {test['output']}"
    return test


def _part_test(name: str, part: GradePart) -> Json:
    test: Json = {"name": name, "output": part_line(part), "visibility": "visible"}
    if part.state not in ("open", "waiting"):
        test["status"] = "passed" if part.points >= part.max_points else "failed"
        test["score"], test["max_score"] = part.points, part.max_points
    return test


def _part_json(part: GradePart) -> Json:
    share = None if part.state == "left out" else round(part.share, 4)
    return {
        "state": part.state, "weight": part.weight, "share": share,
        "points": part.points, "max_points": part.max_points,
    }  # fmt: skip


def results(rows: Sequence[StandingRow], problems: Sequence[Problem] = ()) -> Json:
    """Return the results.json of one student's submission. It has no scores if a lab that is handed
    in has no grade.

    Args:
        rows: the student's rows of the labs that the assignment is about; may be empty.
        problems: problems with what the student handed in.
    """
    several = len(rows) > 1
    tests: list[Json] = []
    output = []
    for row in rows:
        prefix = f"{row.lab}: " if several else ""
        tests += submission_tests(row, prefix, _criterion_test, _part_test)
        output.append("\n".join([*([row.lab] if several else []), *summary_lines(row)]))
    output += [problem.why for problem in problems]
    counting = [one.attempt for row in rows for one in row.row_and_variant]
    took_s = (max(0.0, attempt.took_s) for attempt in counting if attempt is not None)
    data: Json = {
        "execution_time": round(sum(took_s), 1),
        "output": "\n\n".join(output),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            row.lab: {
                "points": row.points,
                "max_points": row.max_points,
                "gradable_points": row.gradable_points,
                "open_points": round_points(row.undecided_points),
                "provisional": row.is_preliminary,
                "late_s": row.late_s,
                "late_unknown": row.is_late_unknown,
                "not_taken": row.is_not_taken,
                "penalty": row.penalty,
            }
            | ({"parts": {part.name: _part_json(part) for part in row.parts}} if row.parts else {})
            for row in rows
        },
    }
    if any(row.points is None and row.is_handed_in for row in rows):
        data["tests"] = [
            {key: value for key, value in test.items() if key not in ("score", "max_score")}
            for test in tests
        ]
    else:
        data["score"] = round_points(sum(row.points or 0.0 for row in rows))
    return data
