"""A student's page: what was reached and the next step, then every lab with its grade, and what
passed or why not. Pure functions from records to text.

It links to the pages of gradings and shows a few of their pictures: drawing these anew would take
too long for a class.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from jinja2 import Template

from numalab import words
from numalab.course.gradebook.counting import STATE_WORDS
from numalab.course.gradebook.feedback import grade_words, notices, share_words
from numalab.course.gradebook.node_types import node_type
from numalab.course.gradebook.parts import NOTHING_OF_IT, PART_NAMES
from numalab.course.gradebook.standing import StandingRow
from numalab.course.gradebook.undecided_points import earnable_points
from numalab.course.pages.graded_pictures import Picture
from numalab.course.pages.part_tables import added_up, part_sum, part_sums
from numalab.course.records import Attempt, Json, Student
from numalab.evidence.format import Build
from numalab.judging.verdict import Verdict, read_verdict
from numalab.labs import declaration
from numalab.labs.declaration import KERNEL_FILES, VARIANT_ENDING, Lab
from numalab.reports import verdict_words
from numalab.reports.html_page import STATUS_WORDS, Row, environment, rows_of, ungraded_steps


def attempt_name(attempt: Attempt) -> str:
    """Return a name for an attempt, fit for a file: its lab, the end of its key, and its number."""
    item = attempt.target
    return f"{item.lab}-{item.key.rpartition('/')[2]}-{attempt.number}"


def moment(time: str) -> str:
    """Return a time of ISO 8601 for people, to the minute and in its own zone."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M %Z")


def lab_title(lab: str, labs: Mapping[str, Lab]) -> str:
    """Return a lab's title, such as "01 First touch" or "01 First touch, variant"; its name if
    numalab does not have it."""
    if lab in labs:
        return f"{labs[lab].number} {labs[lab].title}"
    of = labs.get(lab.removesuffix(VARIANT_ENDING))
    return f"{of.number} {of.title}, variant" if of is not None else lab


def criterion_anchor(lab: str, criterion: str) -> str:
    """Return the anchor of a lab's criterion on a student's page."""
    return f"{lab}-{criterion}"


@functools.cache
def _template() -> Template:
    return environment().get_template("student.html")


# ---- what the template shows -----------------------------------------------------------


@dataclass(frozen=True)
class _NextStep:
    """The next step. anchor: where the page says more of it; steps: sentences."""

    title: str
    anchor: str
    steps: Sequence[str]


def steps(lab: Lab | None, verdict: Verdict, build: Build | None) -> Iterator[str]:
    """Yield sentences on what to do next. lab: None if numalab does not have it; build: None if
    nothing was built."""
    file = KERNEL_FILES[verdict.language]
    if build is not None and build.status != "ok":
        yield f"Fix {file} so that it can be built, then hand it in again."
        return
    if verdict.failed():
        if lab is not None:
            yield from verdict_words.to_fix(lab, verdict).splitlines()
        else:
            yield f"Next: fix {verdict_words.first_failed(verdict)}."
    elif verdict.status == "pass":
        yield "Nothing: all that the node can show is done."
    yield from ungraded_steps(verdict)


def _anchors(lab: str, verdict: Verdict, rows: Sequence[Row]) -> Iterator[str]:
    """Yield an anchor for each row. Of a criterion's rows the first one with the status that it has
    over all machines gets one; for the others the text is empty."""
    left = dict(verdict.statuses)
    for row in rows:
        if left.get(row.name) == row.status:
            del left[row.name]
            yield criterion_anchor(lab, row.name)
        else:
            yield ""


def _result(lab: Lab | None, name: str, title: str, result: Json, counts: bool | None) -> Json:
    """Return a language's result, with an anchor for each row, empty if the row is not linked to.
    name: the lab's; title: its title; counts: whether it is the result that counts, None: it is the
    only one."""
    verdict = read_verdict(result)
    rows = list(rows_of(verdict))
    build = Build(**result["build"]) if "build" in result else None
    language = declaration.LANGUAGE_NAMES[verdict.language]
    which = {True: " (counts)", False: " (does not count)", None: ""}[counts]
    return {
        "title": f"{language}{which}",
        "caption": f"Criteria of {title} in {language}",
        "status": verdict.status,
        "words": STATUS_WORDS[verdict.status],
        "points": share_words(result),
        "rows": rows,
        "anchors": list(_anchors(name, verdict, rows)) if counts is not False else [""] * len(rows),
        "steps": list(steps(lab, verdict, build)),
        "compiler_title": verdict_words.compiler_title(build) if build is not None else "",
        "compiler": build.output if build is not None else "",
        "explanation": str(result.get("explanation", "")),
    }


def _try(attempt: Attempt, pages: Collection[str]) -> Json:
    """Return an attempt, with the points of each language, or why there are none, and a link to its
    page, empty if there is none."""
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
    return {
        "when": moment(attempt.ended_at),
        "status": status,
        "words": words,
        "points": points,
        "node": ": ".join(filter(None, (node, kind))),
        "page": f"{quote(name)}.html" if name in pages else "",
    }


def _marks(row: StandingRow) -> Iterator[str]:
    """Yield remarks on a grade in a few words."""
    if row.late_s > 0:
        yield "late"
    if row.is_late_unknown:
        yield "late by Canvas"
    if row.override_reason:
        yield "set by hand"


def _bar(row: StandingRow) -> tuple[float, float] | None:
    """Return the points that are reached, and those that are not; None without a grade or points to
    give."""
    if row.points is None or not row.max_points:
        return None
    return row.points, max(0.0, round(row.max_points - row.points, 6))


def _has_kernel(row: StandingRow) -> bool:
    """Tell whether a kernel is handed in; if grades have parts, other parts alone may be."""
    kernel = row.part("kernel")
    return row.is_handed_in and (kernel is None or kernel.state not in NOTHING_OF_IT)


def _signs(lab: str, counting: Json | None) -> Iterator[Json]:
    """Yield the criteria in the summary, each with the anchor of its row below."""
    for name, status in read_verdict(counting).statuses.items() if counting is not None else ():
        anchor = criterion_anchor(lab, name)
        yield {"name": name, "status": status, "words": STATUS_WORDS[status], "anchor": anchor}


def _lab_part(row: StandingRow, labs: Mapping[str, Lab], pages: Collection[str]) -> Json:
    """Return a row of the standing: the attempt that counts ("counting"; None if none does) and the
    others as _try returns them, the criteria of the result that counts as _signs yields them, the
    results of the languages as _result returns them, and the parts of the grade, which are empty if
    grades have none, or nothing is handed in."""
    lab, title, counting = labs.get(row.lab), lab_title(row.lab, labs), row.result
    results = []
    if row.attempt is not None:
        graded = row.attempt.results
        ordered = sorted(graded, key=lambda one: one is not counting)  # the one that counts first
        for result in ordered:
            counts = result is counting if graded[1:] else None
            results.append(_result(lab, row.lab, title, result, counts))
    status = counting["status"] if counting is not None else "inconclusive"
    if counting is not None:
        words = STATUS_WORDS[status]
    else:
        words = "not graded yet" if _has_kernel(row) else "not handed in"
        if row.is_not_taken:
            words = "handed in, and can't be taken"
    if row.parts and row.is_handed_in:
        words = f"kernel: {words}"
    return {
        "anchor": f"lab-{row.lab}",
        "title": title,
        "status": status,
        "words": words,
        "grade": grade_words(row),
        "marks": list(_marks(row)),
        "notices": list(notices(row)),
        "counting": _try(row.attempt, pages) if row.attempt is not None else None,
        "signs": list(_signs(row.lab, counting)),
        "results": results,
        "others": [_try(other, pages) for other in reversed(row.others)],
        "parts": [part_sum([part]) for part in row.parts] if row.is_handed_in else (),
        "bar": _bar(row),
        "is_part": row.is_part,
    }


def _fails(row: StandingRow) -> bool:
    return row.result is not None and row.result["status"] == "fail"


def pictured_row(rows: Iterable[StandingRow]) -> StandingRow | None:
    """Return the row of which pictures are shown: the first one in which something fails, or else
    the one that was graded last. None if no row has a result."""
    graded = [row for row in rows if row.result is not None]
    last = max(graded, key=lambda row: row.attempt.ended_at if row.attempt else "", default=None)
    return next(filter(_fails, graded), last)


def _next_step(
    rows: Sequence[StandingRow], parts: Sequence[Json], labs: Mapping[str, Lab]
) -> _NextStep | None:
    """Return the next step, which is in the first lab, or variant, in which something fails, or
    else to hand in the first lab or parts that are missing. None if there is none."""
    for row, part in zip(rows, parts, strict=True):
        if not _fails(row):
            continue
        assert row.result is not None
        verdict = read_verdict(row.result)
        first = verdict_words.first_failed(verdict)
        first = verdict.explained_by.get(first, first)
        language = declaration.LANGUAGE_NAMES[verdict.language]
        title, anchor = f"{part['title']} in {language}", criterion_anchor(row.lab, first)
        return _NextStep(title, anchor, part["results"][0]["steps"])
    for row, part in zip(rows, parts, strict=True):
        title, anchor = part["title"], part["anchor"]
        if not row.is_handed_in and not row.is_part:
            text = f" The text: labs/{row.lab}/README.md" if row.lab in labs else ""
            if row.is_not_taken:
                return _NextStep(title, anchor, [*row.notes, "Hand it in once more."])
            return _NextStep(title, anchor, [f"Nothing is handed in yet.{text}"])
        left = [one for one in row.parts if one.state in NOTHING_OF_IT and one.max_points]
        if left and not row.override_reason:
            worth = round(sum(one.max_points for one in left), 2)
            named = words.listed([one.name for one in left])
            step = f"Not handed in yet: {named}. Worth {worth:g} of {row.max_points:g} points."
            return _NextStep(title, anchor, [step])
    return None


def sum_words(rows: Sequence[StandingRow]) -> str:
    """Return a sentence with the sum over the labs that have a grade."""
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
    pictures: Sequence[Picture] = (),
) -> str:
    """Return a student's page.

    Args:
        rows: the student's rows, those of variants included, by lab.
        labs: those that numalab has; rows may be of others.
        course_title: may be empty.
        pages: names (attempt_name) of attempts whose page lies next to this one.
        pictures: pictures of the row that pictured_row returns.
    """
    row = pictured_row(rows) if pictures else None
    parts = [_lab_part(row, labs, pages) for row in rows]
    has = {part.name for row in rows for part in row.parts}
    sums = part_sums(added_up(rows), [name for name in PART_NAMES if name in has])
    return _template().render(
        title=f"{course_title or 'numalab'}: {student.name}",
        student=student,
        parts=parts,
        total=sum_words(rows),
        next_step=_next_step(rows, parts, labs),
        seen=pictures,
        seen_of=lab_title(row.lab, labs) if row is not None else "",
        is_waiting=any(row.undecided or row.points is None for row in rows),
        part_sums=[one for one in sums if one is not None],
    )
