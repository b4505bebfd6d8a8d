"""What an exploration found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalab.explore.declaration import Schedules
from numalab.explore.samples import Found
from numalab.explore.schedule_report import schedule_sentences, schedule_tables
from numalab.explore.table_report import mode_sentence, table_sentences, table_tables
from numalab.explore.wording import interval_note
from numalab.words import count

if TYPE_CHECKING:
    from rich.console import Console


def heading(found: Found) -> list[str]:
    what, build = found.exploration.what, found.build
    size = (
        f"n = {what.n}, {found.build['openmp_runtime']}"
        if isinstance(what, Schedules)
        else f"{what.updates:,} updates a sample, one thread"
    )
    return [
        f"{found.exploration.lab}  {found.exploration.title}",
        f"{found.node['name']}: {count(found.node['cores'], 'core')}; {size}; "
        f"{build['c_compiler']} {build['flags']}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


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
        tables = table_tables(found, what)
        notes = ["Nanoseconds an update. " + (
            "Ratio: small over huge pages in one round, interval of its median; * survives "
            "repetition: 1 is outside. ? too few rounds for 95 %."
            if mode_sentence(found.node["huge_page_mode"]) is None else ""
        )]  # fmt: skip
    for table, note in zip(tables, notes, strict=True):
        console.print()
        console.print(table)
        if note:
            console.print(Text(note.strip(), "dim"))
    console.print(Text(interval_note(found.samples_each), "dim"))
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))
