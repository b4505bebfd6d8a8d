"""What is shown of a case: the evidence as numbers and pictures, without the verdicts and sentences
that would name the mistake; then the questions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from numalab.diagnosing.case import Case, Question
from numalab.diagnosing.case_run import CaseRun
from numalab.diagnosing.handed_in import Answer
from numalab.errors import UserError
from numalab.evidence.kinds import PLACEMENT
from numalab.judging.work_rules import balanced, judge_placements
from numalab.labs.declaration import LANGUAGE_NAMES
from numalab.reports.comparison import WorkView
from numalab.reports.touch_map import touch_map_picture
from numalab.reports.work_picture import work_picture

LETTERS = "abcd"


def report_lines(case: Case, looked: CaseRun, columns: int) -> Iterator[Text]:
    """Of what the kernel did."""
    node = looked.evidence.node
    what = f"{node['cores']} cores, {node['numa_nodes']} NUMA node"
    what += "s" if node["numa_nodes"] > 1 else ""
    place = "this node" if looked.where == "here" else f"the virtual node {looked.where}"
    language = LANGUAGE_NAMES[case.language]
    title = f"A kernel of {case.lab.name} in {language}, on {place} ({what})"
    yield from _wrapped(title, columns, "bold")
    for found in looked.verdict.criteria:
        if found.kind == "correctness":
            yield Text()
            yield from _wrapped(f"{found.name}: {found.why}", columns)
    for part in case.lab.kernel_parts:
        own = looked.evidence.of_parts(part)
        picture = touch_map_picture(own, columns, looked.where, with_homes=looked.where != "here")
        if picture:
            yield Text()
            yield from picture
        yield from _work(case, looked, part, columns)


def _work(case: Case, looked: CaseRun, part: str | None, columns: int) -> Iterator[Text]:
    """How a team shares the work, where the lab asks for it."""
    own = looked.evidence.of_parts(part)
    criterion = next((c for c in case.lab.criteria if balanced.judges(c) and c.part == part), None)
    if criterion is None or not any(run.cpu_time for run in own.of(PLACEMENT)):
        return
    looks = judge_placements(criterion, own)
    yield Text()
    yield from work_picture(
        WorkView(looked.where, part, looks.look, None, criterion.at_least or 0.0, looks.says),
        columns,
    )


def chosen_by_letters(case: Case, answers: str) -> dict[str, str]:
    """answers: a letter for each question, between commas. Raises UserError."""
    letters = [letter.strip().lower().removesuffix(")") for letter in answers.split(",")]
    if len(letters) != len(case.questions) or not set(letters) <= set(LETTERS):
        raise UserError(
            f"the answers '{answers}': write one letter from a to d for each of the "
            f"{len(case.questions)} questions, such as {some_letters(case)}"
        )
    return {
        question.name: question.choices[LETTERS.index(letter)]
        for question, letter in zip(case.questions, letters, strict=True)
    }


def some_letters(case: Case) -> str:
    """How answers are written."""
    return ",".join("bac"[: len(case.questions)])


def graded_lines(case: Case, answers: Sequence[Answer], columns: int) -> list[str]:
    """What was right, the lines that were wrong in the kernel, and the score."""
    lines = []
    for question, answer in zip(case.questions, answers, strict=True):
        said = "right." if answer.right else f"no. Right is: {question.right}"
        lines += textwrap.wrap(f"{question.name}: {said}", columns)
    code = case.questions[0].lines.get(case.questions[0].right, ())
    if code:
        lines.append("In the kernel:")
        lines += [f"  {_cut(line, columns - 2)}" for line in code]
    right = sum(answer.right for answer in answers)
    return [*lines, f"{right} of {len(answers)} right."]


def _cut(line: str, columns: int) -> str:
    return line if len(line) <= columns else f"{line[: columns - 3]}..."


def question_lines(question: Question, columns: int) -> list[str]:
    """With its choices, a to d, and the lines of code below them."""
    lines = textwrap.wrap(question.text, columns)
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        lines += textwrap.wrap(
            choice, columns, initial_indent=f"  {letter}  ", subsequent_indent="     "
        )
        for line in question.lines.get(choice, ()):
            lines.append(f"         {_cut(line, columns - 9)}")
    return lines


def _wrapped(text: str, columns: int, style: str = "") -> list[Text]:
    return [Text(line, style=style) for line in textwrap.wrap(text, columns)]
