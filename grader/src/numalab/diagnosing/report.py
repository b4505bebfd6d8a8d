"""What is shown of a case: the evidence as numbers and pictures, without the verdicts and sentences
that would name the mistake; then the questions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.text import Text

from numalab.diagnosing.case import Case, Question
from numalab.diagnosing.looking import Looked
from numalab.evidence.kinds import PLACEMENT
from numalab.judging.work_rules import looks_at
from numalab.labs.declaration import LANGUAGE_NAMES
from numalab.reports.comparison import WorkView
from numalab.reports.touch_map import touch_map_picture
from numalab.reports.work_picture import work_picture

LETTERS = "abcd"


def report_lines(case: Case, looked: Looked, columns: int) -> Iterator[Text]:
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


def _work(case: Case, looked: Looked, part: str | None, columns: int) -> Iterator[Text]:
    """How a team shares the work, where the lab asks for it."""
    own = looked.evidence.of_parts(part)
    criterion = next(
        (c for c in case.lab.criteria if c.rule == "balanced" and c.part == part), None
    )
    if criterion is None or not any(run.cpu_time for run in own.of(PLACEMENT)):
        return
    looks = looks_at(criterion, own)
    yield Text()
    yield from work_picture(
        WorkView(looked.where, part, looks.look, None, criterion.at_least or 0.0, looks.says),
        columns,
    )


def question_lines(question: Question, columns: int) -> list[str]:
    """With its choices, a to d, and the lines of code below them."""
    lines = textwrap.wrap(question.text, columns)
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        lines += textwrap.wrap(
            choice, columns, initial_indent=f"  {letter}  ", subsequent_indent="     "
        )
        for line in question.lines.get(choice, ()):
            code = line if len(line) <= columns - 9 else f"{line[: columns - 12]}..."
            lines.append(f"         {code}")
    return lines


def _wrapped(text: str, columns: int, style: str = "") -> list[Text]:
    return [Text(line, style=style) for line in textwrap.wrap(text, columns)]
