"""A student's page: every lab with its grade, what passed, why not, and what to do next. Pure:
records in, text out.

The pictures are in the page that was drawn when it was graded, which this one links to: drawing
them takes a second or two per grading, and a class has thousands.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from jinja2 import Template

from numalab import words
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import grade_words, notices, parts_words, share_words
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.open_points import earnable_points
from numalab.course.gradebook.standing import StandingRow
from numalab.course.records import Attempt, Json, Student
from numalab.evidence.record import Build
from numalab.judging.verdict import Verdict, read_verdict
from numalab.labs import declaration
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.reports import verdict_words
from numalab.reports.html_page import STATUS_WORDS, Row, environment, rows_of, ungraded_steps


def attempt_name(attempt: Attempt) -> str:
    """Unlike that of any other attempt of the student, and fit for a file's."""
    item = attempt.item
    return f"{item.lab}-{item.key.rpartition('/')[2]}-{attempt.number}"


def moment(at: str) -> str:
    """A time of ISO 8601 to the minute, in its own zone."""
    return datetime.fromisoformat(at).strftime("%Y-%m-%d %H:%M %Z")


def lab_title(lab: str, labs: Mapping[str, Lab]) -> str:
    """As 01 First touch; the folder's name where the kit has no such lab."""
    return f"{labs[lab].number} {labs[lab].title}" if lab in labs else lab


@functools.cache
def _template() -> Template:
    return environment().get_template("student.html")


# ---- what the template shows -----------------------------------------------------------


@dataclass(frozen=True)
class _Result:
    """Of one language. compiler: what it said, may be empty, as may be the explanation."""

    title: str
    caption: str
    status: str
    words: str
    points: str
    rows: Sequence[Row]
    steps: Sequence[str]
    compiler_title: str
    compiler: str
    explanation: str


@dataclass(frozen=True)
class _Try:
    """An attempt. page: a link, empty where there is none."""

    when: str
    status: str
    words: str
    points: str
    node: str
    page: str


@dataclass(frozen=True)
class _LabPart:
    """A row of the standing. notices: what the grade rests on beside the criteria; counting:
    the attempt that counts."""

    anchor: str
    title: str
    status: str
    words: str
    grade: str
    marks: list[str]
    notices: Sequence[str]
    counting: _Try | None
    results: Sequence[_Result]
    others: Sequence[_Try]


def steps(lab: Lab | None, verdict: Verdict, build: Build | None) -> Iterator[str]:
    """What to do next."""
    file = KERNEL_FILES[verdict.language]
    if build is not None and build.status != "ok":
        yield f"Fix {file} so that it can be built, then hand it in again."
        return
    if verdict.failed() and lab is not None:
        yield from verdict_words.to_fix(lab, verdict).splitlines()
    elif verdict.status == "pass":
        yield "Nothing: all that the node can show is done."
    yield from ungraded_steps(verdict)


def _result(lab: Lab | None, title: str, result: Json, counts: bool | None) -> _Result:
    """counts: whether it is the one that does; None: there is no other."""
    verdict = read_verdict(result)
    build = Build(**result["build"]) if "build" in result else None
    language = declaration.LANGUAGE_NAMES[verdict.language]
    which = {True: " (counts)", False: " (does not count)", None: ""}[counts]
    return _Result(
        title=f"{language}{which}",
        caption=f"Criteria of {title} in {language}",
        status=verdict.status,
        words=STATUS_WORDS[verdict.status],
        points=share_words(result),
        rows=list(rows_of(verdict)),
        steps=list(steps(lab, verdict, build)),
        compiler_title=verdict_words.compiler_title(build) if build is not None else "",
        compiler=build.output if build is not None else "",
        explanation=str(result.get("explanation", "")),
    )


def _try(attempt: Attempt, pages: Collection[str]) -> _Try:
    node = attempt.node.get("name") or ""
    name = attempt_name(attempt)
    if attempt.state != "graded" or not attempt.results:
        words = STATE_WORDS.get(attempt.state, "nothing was graded")
        status, points = "error", attempt.why
    else:
        best = max(attempt.results, key=lambda one: float(one["points"]))
        status, words = best["status"], STATUS_WORDS[best["status"]]
        points = "; ".join(
            f"{declaration.LANGUAGE_NAMES[result['language']]}: {result['points']} of "
            f"{earnable_points(result)} points"
            for result in attempt.results
        )
    kind = node_type(attempt.node)
    return _Try(
        when=moment(attempt.ended_at),
        status=status,
        words=words,
        points=points,
        node=": ".join(filter(None, (node, kind))),
        page=f"{quote(name)}.html" if name in pages else "",
    )


def _marks(row: StandingRow) -> Iterator[str]:
    """What holds of a grade, in words; the notices have the sentences."""
    if row.late_s > 0:
        yield "late"
    if row.override_reason:
        yield "set by hand"


def _lab_part(row: StandingRow, labs: Mapping[str, Lab], pages: Collection[str]) -> _LabPart:
    lab, title, counting = labs.get(row.lab), lab_title(row.lab, labs), row.result
    results = []
    if row.attempt is not None:
        graded = row.attempt.results
        ordered = sorted(graded, key=lambda one: one is not counting)  # the one that counts first
        for result in ordered:
            counts = result is counting if graded[1:] else None
            results.append(_result(lab, title, result, counts))
    status = counting["status"] if counting is not None else "inconclusive"
    if counting is not None:
        words = STATUS_WORDS[status]
    else:
        words = "not graded yet" if row.is_handed_in else "not handed in"
    return _LabPart(
        anchor=f"lab-{row.lab}",
        title=title,
        status=status,
        words=words,
        grade=grade_words(row),
        marks=list(_marks(row)),
        notices=[*([f"{parts_words(row)}."] if row.parts else []), *notices(row)],
        counting=_try(row.attempt, pages) if row.attempt is not None else None,
        results=results,
        others=[_try(other, pages) for other in reversed(row.others)],
    )


def sum_words(rows: Sequence[StandingRow]) -> str:
    """Over the labs that have a grade."""
    own = [row for row in rows if not row.is_part]
    graded = [(row.points, row.max_points) for row in own if row.points is not None]
    if not graded:
        return "No lab has a grade yet."
    points, most = (round(sum(column), 2) for column in zip(*graded, strict=True))
    of_labs = f"{len(graded)} of {words.count(len(own), 'lab')}"
    return f"{points:g} of {most:g} points, with {of_labs} graded."


def student_page(
    student: Student,
    rows: Sequence[StandingRow],
    labs: Mapping[str, Lab],
    course_title: str,
    pages: Collection[str],
) -> str:
    """rows: the student's, by lab; pages: names of attempts whose page lies beside it. Whatever
    comes from a student is text in it, never markup."""
    parts = [_lab_part(row, labs, pages) for row in rows]
    return _template().render(
        title=f"{course_title or 'numalab'}: {student.name}",
        student=student,
        parts=parts,
        total=sum_words(rows),
    )
