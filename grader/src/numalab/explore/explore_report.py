"""What an exploration found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalab.explore.declaration import Schedules, Streams
from numalab.explore.measurements import Measurements
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


def heading(measurements: Measurements) -> list[str]:
    what, build = measurements.exploration.what, measurements.build
    if isinstance(what, Schedules):
        size = f"n = {what.n}, {measurements.build['openmp_runtime']}"
    elif isinstance(what, Streams):
        size = (
            f"{count(measurements.node['pus'], 'PU')}, "
            f"{count(measurements.node['numa_nodes'], 'NUMA node')}; "
            f"{measurements.build['openmp_runtime']}; three arrays of "
            f"{bytes_words(what.array_bytes)} on "
            f"small pages, best of {what.repetitions} repetitions"
        )
    else:
        size = f"one thread; best of {what.repetitions} repetitions, {what.steps:,} steps at once"
    return [
        f"{measurements.exploration.lab}  {measurements.exploration.title}",
        f"{measurements.node['name']}: {count(measurements.node['cores'], 'core')}; {size}; "
        f"{build['c_compiler']} {_flags(measurements)}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


def _flags(measurements: Measurements) -> str:
    """Of the program that was timed."""
    is_own = isinstance(measurements.exploration.what, Schedules)
    return str(measurements.build["flags" if is_own else "probe_flags"])


def sentences(measurements: Measurements) -> list[str]:
    what = measurements.exploration.what
    if isinstance(what, Schedules):
        return schedule_sentences(measurements, what, measurements.node["cores"])
    if isinstance(what, Streams):
        return stream_sentences(measurements, what)
    return table_sentences(measurements, what)


def show(measurements: Measurements, console: Console) -> None:
    from rich.text import Text

    first, *rest = heading(measurements)
    console.print(Text(first, "bold"))
    for line in rest:
        console.print(Text(line))
    _show_measured(measurements, console)
    console.print()
    for sentence in sentences(measurements):
        console.print(Text(sentence))


def _show_measured(measurements: Measurements, console: Console) -> None:
    """Tables, and pictures where there are any."""
    from rich.text import Text

    what = measurements.exploration.what
    if isinstance(what, Streams):
        show_streams(measurements, what, console)
        return
    if isinstance(what, Schedules):
        tables = schedule_tables(measurements, what, measurements.node["cores"])
        notes = [
            "",
            "Ratio of times in one round: interval of its median. * survives repetition: 1 is "
            "outside. ? too few rounds for 95 %.",
        ]
    else:
        tables, notes = table_tables(measurements, what), table_notes(measurements)
    for table, note in zip(tables, notes, strict=True):
        console.print()
        console.print(table)
        if note:
            console.print(Text(note.strip(), "dim"))
    console.print(Text(interval_note(measurements.runs_each), "dim"))
    if not isinstance(what, Schedules):
        console.print()
        for line in table_picture(measurements, what):
            console.print(Text(line))
