"""What an exploration found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalab.explore.declaration import Schedules, Streams
from numalab.explore.samples import Found
from numalab.explore.schedule_report import schedule_sentences, schedule_tables
from numalab.explore.stream_report import show_streams, stream_sentences
from numalab.explore.table_report import (
    table_notes,
    table_picture,
    table_sentences,
    table_tables,
)
from numalab.explore.wording import bytes_words, interval_note
from numalab.words import count

if TYPE_CHECKING:
    from rich.console import Console


def heading(found: Found) -> list[str]:
    what, build = found.exploration.what, found.build
    if isinstance(what, Schedules):
        size = f"n = {what.n}, {found.build['openmp_runtime']}"
    elif isinstance(what, Streams):
        size = (
            f"{count(found.node['pus'], 'PU')}, {count(found.node['numa_nodes'], 'NUMA node')}; "
            f"{found.build['openmp_runtime']}; three arrays of {bytes_words(what.array_bytes)} on "
            f"small pages, best of {what.repetitions} repetitions"
        )
    else:
        size = f"one thread; best of {what.repetitions} repetitions, {what.steps:,} steps at once"
    return [
        f"{found.exploration.lab}  {found.exploration.title}",
        f"{found.node['name']}: {count(found.node['cores'], 'core')}; {size}; "
        f"{build['c_compiler']} {_flags(found)}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


def _flags(found: Found) -> str:
    """Of the program that was timed."""
    is_own = isinstance(found.exploration.what, Schedules)
    return str(found.build["flags" if is_own else "probe_flags"])


def sentences(found: Found) -> list[str]:
    what = found.exploration.what
    if isinstance(what, Schedules):
        return schedule_sentences(found, what, found.node["cores"])
    if isinstance(what, Streams):
        return stream_sentences(found, what)
    return table_sentences(found, what)


def show(found: Found, console: Console) -> None:
    from rich.text import Text

    first, *rest = heading(found)
    console.print(Text(first, "bold"))
    for line in rest:
        console.print(Text(line))
    _show_measured(found, console)
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))


def _show_measured(found: Found, console: Console) -> None:
    """Tables, and pictures where there are any."""
    from rich.text import Text

    what = found.exploration.what
    if isinstance(what, Streams):
        show_streams(found, what, console)
        return
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
    if not isinstance(what, Schedules):
        console.print()
        for line in table_picture(found, what):
            console.print(Text(line))
