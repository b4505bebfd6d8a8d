"""What control groups left two programs: a table with a column for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from numalab import words
from numalab.evidence.cpusets import JOB, OTHERS, Cpusets, GroupedProgram
from numalab.pu_lists import kernel_list
from numalab.reports.comparison import GroupView, place_words

LABEL_COLUMNS, CELL_COLUMNS = 26, 24
GROUPS = (JOB, OTHERS)


def _list(numbers: Iterable[int]) -> str:
    return kernel_list(numbers) or "none"


def _pages(pages: Mapping[int, int] | None) -> str:
    if pages is None:
        return "not known"
    total = sum(pages.values())
    told = [f"{node}: {words.percent(count / total)}" for node, count in sorted(pages.items())]
    return words.some(told) if told else "none"


def _cells(program: GroupedProgram) -> Iterator[tuple[str, str]]:
    yield "PUs allowed", _list(program.allowed_pus)
    yield "seen on PUs", _list(program.ran_on)
    yield "NUMA nodes allowed", _list(program.allowed_nodes)
    yield "pages brought along, then", _pages(program.pages_at_first)
    yield "the same pages, now", _pages(program.pages_later)
    yield "pages written since", _pages(program.pages_new)
    yield "partition", program.partition or "not known"


def group_rows(run: Cpusets) -> list[tuple[str, str, str]]:
    """What it is, of the job, of the other program."""
    job, others = (list(_cells(run.programs[group])) for group in GROUPS)
    return [(label, of_job, cell) for (label, of_job), (_, cell) in zip(job, others, strict=True)]


def group_title(sight: GroupView) -> str:
    place = "" if sight.where == "here" else f" on {place_words(sight.where)}"
    return f"Control groups{place}"


def group_picture(sight: GroupView) -> list[Text]:
    lines = [Text(group_title(sight), style="bold")]
    lines.append(Text(f"{'':<{LABEL_COLUMNS}}{JOB:<{CELL_COLUMNS}}{OTHERS}"))
    for label, of_job, of_others in group_rows(sight.yours):
        # What is too long for its cell pushes the next one aside.
        lines.append(Text(f"{label:<{LABEL_COLUMNS}}{of_job:<{CELL_COLUMNS - 1}} {of_others}"))
    return lines


def group_words(run: Cpusets) -> str:
    """The same, for those who hear a page."""
    said = [f"{label}: {JOB} {job}, {OTHERS} {others}" for label, job, others in group_rows(run)]
    return f"{'; '.join(said)}."
