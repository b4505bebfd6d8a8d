"""Grades as a JUnit report, which GitLab shows next to a pipeline and other systems read, too.

There is no schema that all follow; this has what GitLab reads (its documentation, Unit test
reports, "JUnit XML report format"): a suite for each student and lab, in it a test case for each
row of a criterion, with failure, skipped or error unless it passes. What fails by the
infrastructure's fault is an error, and what is undecided or not gradable is skipped: neither is a
failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from numalab.course.gradebook.feedback import criterion_label, part_line, summary_lines
from numalab.course.gradebook.parts import NOTHING_OF_IT
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Json, Problem
from numalab.judging.verdict import read_verdict
from numalab.reports import verdict_words
from numalab.untrusted.visible import visible, visible_lines

_KINDS = {"fail": "failure", "error": "error"}


def _case(suite: Element, name: str) -> Element:
    return SubElement(
        suite, "testcase", classname=suite.attrib["name"], name=visible(name), time="0"
    )


def _add_result(case: Element, kind: str, why: str) -> None:
    lines = visible_lines(why)
    SubElement(case, kind, message=lines.partition("\n")[0]).text = lines


def _counted(suite: Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(kind) is not None for case in cases)))


def _criteria(suite: Element, result: Json, prefix: str) -> None:
    for shown in verdict_words.criterion_rows(read_verdict(result).criteria):
        criterion = shown.criterion
        case = _case(suite, f"{prefix}{criterion_label(criterion)}")
        if criterion.is_partial:  # the format has no part of a pass
            said = f"{shown.points} points. {criterion.why}"
            SubElement(case, "system-out").text = visible_lines(said)
        if criterion.status != "pass":
            words = verdict_words.STATUS_STYLE[criterion.status][0]
            kind = _KINDS.get(criterion.status, "skipped")
            open_words = "" if kind == "failure" else f"Not graded ({words}): "
            _add_result(case, kind, f"{open_words}{criterion.why}{shown.where_too}")


def _properties(suite: Element, row: StandingRow) -> None:
    properties = SubElement(suite, "properties")
    for part in row.parts:
        value = f"{part.points:g} of {part.max_points:g}" if part.max_points else part.state
        SubElement(properties, "property", name=part.name, value=value)


def _suite(root: Element, row: StandingRow) -> None:
    suite = SubElement(root, "testsuite", name=visible(f"{row.student.id} {row.lab}"))
    if row.parts and row.is_handed_in:
        _properties(suite, row)
    of_variant = row.variant.result if row.variant is not None else None
    is_spoilt = row.points is None and row.is_handed_in
    if (row.result is None and of_variant is None) or (row.parts and is_spoilt):
        case = _case(suite, "graded")
        why = "\n".join(summary_lines(row))
        if is_spoilt or not row.points:
            _add_result(case, "error" if is_spoilt else "failure", why)
    for part in row.parts if row.is_handed_in else ():
        if part.state in NOTHING_OF_IT:
            _add_result(_case(suite, part.name), "failure", part_line(part))
    if row.result is not None:
        _criteria(suite, row.result, "")
    if of_variant is not None:
        _criteria(suite, of_variant, "variant: ")
    if row.result is not None or of_variant is not None:
        SubElement(suite, "system-out").text = visible_lines("\n".join(summary_lines(row)))
    _counted(suite)


def report(rows: Sequence[StandingRow], problems: Sequence[Problem]) -> str:
    """Return the report as XML. Each problem is a failure in a suite "hand-in"."""
    root = Element("testsuites", name="numalab")
    for row in rows:
        _suite(root, row)
    if problems:
        suite = SubElement(root, "testsuite", name="hand-in")
        for problem in problems:
            _add_result(_case(suite, problem.source), "failure", problem.why)
        _counted(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"
