"""The report of a case: pictures of its evidence and sentences on correctness, without those that
would name the mistake; then the questions, and the answers' score."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.text import Text

from numalab.diagnosing.case import Case, CaseQuestion
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


def report_lines(case: Case, case_run: CaseRun, columns: int) -> Iterator[Text]:
    """Yield the lines of the report on what the kernel did, for `columns` columns. Of the verdict
    they have the sentences on correctness only."""
    node = case_run.evidence.node
    what = f"{node['cores']} cores, {node['numa_nodes']} NUMA node"
    what += "s" if node["numa_nodes"] > 1 else ""
    place = "this node" if case_run.where == "here" else f"the virtual node {case_run.where}"
    language = LANGUAGE_NAMES[case.language]
    title = f"A kernel of {case.lab.name} in {language}, on {place} ({what})"
    yield from _wrapped(title, columns, "bold")
    for found in case_run.verdict.criteria:
        if found.kind == "correctness":
            yield Text()
            yield from _wrapped(f"{found.name}: {found.why}", columns)
    for part in case.lab.kernel_parts:
        own = case_run.evidence.select_parts(part)
        picture = touch_map_picture(
            own, columns, case_run.where, with_homes=case_run.where != "here"
        )
        if picture:
            yield Text()
            yield from picture
        yield from _work(case, case_run, part, columns)


def _work(case: Case, case_run: CaseRun, part: str | None, columns: int) -> Iterator[Text]:
    """Yield the picture of how a team shares its work, if there are a criterion and CPU times."""
    own = case_run.evidence.select_parts(part)
    criterion = next((c for c in case.lab.criteria if balanced.judges(c) and c.part == part), None)
    if criterion is None or not any(run.cpu_time for run in own.runs_of(PLACEMENT)):
        return
    looks = judge_placements(criterion, own)
    yield Text()
    yield from work_picture(
        WorkView(case_run.where, part, looks.typical, None, criterion.at_least or 0.0, looks.says),
        columns,
    )


def chosen_by_letters(case: Case, answers: str) -> dict[str, str]:
    """Return the choices in words, by question. answers: a letter for each question, separated by
    commas. Raises UserError where they are not."""
    letters = [letter.strip().lower().removesuffix(")") for letter in answers.split(",")]
    if len(letters) != len(case.questions) or not set(letters) <= set(LETTERS):
        raise UserError(
            f"the answers '{answers}': write one letter from a to d for each of the "
            f"{len(case.questions)} questions, such as {some_letters(case)}"
        )
    for question, letter in zip(case.questions, letters, strict=True):
        if LETTERS.index(letter) >= len(question.choices):
            raise UserError(
                f"the answers '{answers}': question {question.name} has no choice {letter}; its "
                f"last is {LETTERS[len(question.choices) - 1]}"
            )
    return {
        question.name: question.choices[LETTERS.index(letter)]
        for question, letter in zip(case.questions, letters, strict=True)
    }


def some_letters(case: Case) -> str:
    """Return an example of answers for a case, as letters."""
    return ",".join("bac"[: len(case.questions)])


def graded_lines(case: Case, answers: Sequence[Answer], columns: int) -> list[str]:
    """Return which answers are correct, the kernel's wrong lines where they are known, and the
    score, as lines."""
    lines = []
    for question, answer in zip(case.questions, answers, strict=True):
        said = "right." if answer.is_correct else f"no. Right is: {question.answer}"
        lines += textwrap.wrap(f"{question.name}: {said}", columns)
    code = case.questions[0].lines.get(case.questions[0].answer, ())
    if code:
        lines.append("In the kernel:")
        lines += [f"  {_cut(line, columns - 2)}" for line in code]
    right = sum(answer.is_correct for answer in answers)
    return [*lines, f"{right} of {len(answers)} right."]


def _cut(line: str, columns: int) -> str:
    return line if len(line) <= columns else f"{line[: columns - 3]}..."


def question_lines(question: CaseQuestion, columns: int) -> list[str]:
    """Return a question with its lettered choices, and the lines of code below each, as lines."""
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
