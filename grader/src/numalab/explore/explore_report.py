"""What an exploration found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalab.explore.declaration import Schedules, TableSizes
from numalab.explore.samples import Found
from numalab.explore.schedule_report import schedule_sentences, schedule_tables
from numalab.explore.table_report import (
    table_notes,
    table_picture,
    table_sentences,
    table_tables,
)
from numalab.explore.wording import interval_note
from numalab.words import count

if TYPE_CHECKING:
    from rich.console import Console


def heading(found: Found) -> list[str]:
    what, build = found.exploration.what, found.build
    size = (
        f"n = {what.n}, {found.build['openmp_runtime']}"
        if isinstance(what, Schedules)
        else f"one thread; best of {what.repetitions} repetitions, {what.steps:,} steps at once"
    )
    return [
        f"{found.exploration.lab}  {found.exploration.title}",
        f"{found.node['name']}: {count(found.node['cores'], 'core')}; {size}; "
        f"{build['c_compiler']} {_flags(found)}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


def _flags(found: Found) -> str:
    """Of the program that was timed."""
    is_probe = isinstance(found.exploration.what, TableSizes)
    return str(found.build["probe_flags" if is_probe else "flags"])


def sentences(found: Found) -> list[str]:
    what = found.exploration.what
    if isinstance(what, Schedules):
        return schedule_sentences(found, what, found.node["cores"])
    return table_sentences(found, what)


def show(found: Found, console: Console) -> None:
    from rich.text import Text

    what = found.exploration.what
    first, *rest = heading(found)
    console.print(Text(first, "bold"))
    for line in rest:
        console.print(Text(line))
    if isinstance(what, Schedules):
        tables = schedule_tables(found, what, found.node["cores"])
        notes = [
            "",
            "Ratio of times in one round: interval of its median. * survives repetition: 1 is "
            "outside. ? too few rounds for 95 %.",
        ]
    else:
        tables, notes = table_tables(found, what), table_notes(found)
    for table, note in zip(tables, notes, strict=True):
        console.print()
        console.print(table)
        if note:
            console.print(Text(note.strip(), "dim"))
    console.print(Text(interval_note(found.samples_each), "dim"))
    if isinstance(what, TableSizes):
        console.print()
        for line in table_picture(found, what):
            console.print(Text(line))
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))
