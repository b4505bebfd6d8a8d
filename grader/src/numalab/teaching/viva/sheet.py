"""A sheet for the examiner, with the questions for one student: as text for a terminal and as an
HTML page to print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from numalab import words
from numalab.course.gradebook.undecided_points import earnable_points
from numalab.course.records import Student
from numalab.labs.declaration import LANGUAGE_NAMES
from numalab.reports.html_page import environment
from numalab.teaching.viva.story import KIND_WORDS, LabQuestion, LabStory, Stage
from numalab.terminal import WIDTH

NOTE = (
    "For the examiner: expected answers stand beside the questions. Attempts are the student's "
    "hand-ins that were graded, counted for each lab from the first one."
)
_INDENT = "   "


@dataclass(frozen=True)
class Sheet:
    """The sheet of one oral exam.

    Attributes:
        title: the course's title; may be empty.
        stories: the student's, one for each lab.
        questions: the chosen ones, in order.
    """

    student: Student
    title: str
    stories: Sequence[LabStory]
    questions: Sequence[LabQuestion]

    @property
    def heading(self) -> str:
        return f"Oral exam: {self.student.name} ({self.student.id})"

    def topic(self, question: LabQuestion) -> str:
        """Return the lab of a question and what it is about, in words."""
        title = next(story.title for story in self.stories if story.lab.name == question.lab)
        return f"{title}: {KIND_WORDS[question.kind]}"

    @property
    def attempts(self) -> list[str]:
        """A line on the attempts of each story."""
        return [_attempts(story) for story in self.stories]


def _stage_words(stage: Stage) -> str:
    day = datetime.fromisoformat(stage.graded_at).strftime("%Y-%m-%d")
    points = f"{stage.verdict.points} of {earnable_points(stage.result)}"
    same_as = f" (as {stage.same_as.partition(':')[0]})" if stage.same_as else ""
    return f"{stage.number}: {points} points, {day}{same_as}"


def _attempts(story: LabStory) -> str:
    language = LANGUAGE_NAMES[story.language]
    return f"{story.title} in {language}: attempt {'; '.join(map(_stage_words, story.stages))}."


def _paragraph(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _question_lines(sheet: Sheet, number: int, question: LabQuestion) -> Iterator[str]:
    yield from _paragraph(f"{number}. {sheet.topic(question)}", "", _INDENT)
    yield from _paragraph(question.text, _INDENT, _INDENT)
    yield ""
    if question.answer:
        yield f"{_INDENT}Expected"
        for part in question.answer:
            yield from _paragraph(part, f"{_INDENT}- ", f"{_INDENT}  ")
    if question.listing.lines:
        yield from _paragraph(question.listing.title, _INDENT, _INDENT)
        yield from (f"{_INDENT}  {line}"[:WIDTH].rstrip() for line in question.listing.lines)
    if question.evidence:
        yield f"{_INDENT}Evidence"
        for line in question.evidence:
            yield from _paragraph(line, f"{_INDENT}- ", f"{_INDENT}  ")
    if question.follow_up:
        yield from _paragraph(f"Then: {question.follow_up}", _INDENT, f"{_INDENT}  ")


def sheet_lines(sheet: Sheet) -> Iterator[str]:
    """Yield the lines of a sheet for a terminal."""
    title = f", {sheet.title}" if sheet.title else ""
    yield from _paragraph(f"{sheet.heading}{title}", "", "  ")
    yield from _paragraph(
        f"{words.count(len(sheet.questions), 'question')} for five minutes. {NOTE}", "", ""
    )
    for number, question in enumerate(sheet.questions, 1):
        yield ""
        yield from _question_lines(sheet, number, question)
    yield ""
    for line in sheet.attempts:
        yield from _paragraph(line, "", "  ")


def sheet_page(sheet: Sheet) -> str:
    """Return a sheet as an HTML page."""
    return environment().get_template("viva.html").render(sheet=sheet, note=NOTE)
