"""The report of an exploration: a heading, tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numalab.explore.experiment import Measurements
from numalab.words import count

if TYPE_CHECKING:
    from rich.console import Console


def heading(measurements: Measurements) -> list[str]:
    """Return the title, and a paragraph on the machine, the sizes and the build."""
    exploration, build, node = measurements.exploration, measurements.build, measurements.node
    what = exploration.what
    flags = build["flags" if what.HAS_OWN_PROGRAM else "probe_flags"]
    return [
        f"{exploration.lab}  {exploration.title}",
        f"{node['name']}: {count(node['cores'], 'core')}; {what.size_text(measurements)}; "
        f"{build['c_compiler']} {flags}. Each sample is a process of its own, whose "
        "result is verified; each round runs every configuration once, in random order.",
    ]


def sentences(measurements: Measurements) -> list[str]:
    """Return sentences on the measurements, as on which differences survive repetition."""
    return measurements.exploration.what.sentences(measurements)


def show(measurements: Measurements, console: Console) -> None:
    """Print the report."""
    from rich.text import Text

    first, *rest = heading(measurements)
    console.print(Text(first, "bold"))
    for line in rest:
        console.print(Text(line))
    measurements.exploration.what.show(measurements, console)
    console.print()
    for sentence in sentences(measurements):
        console.print(Text(sentence))
