"""What was predicted beside what was measured: of the starting code, if the prediction is about
that, and of the learner's own as it is now."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from numalab.judging.timing_claims import SPEEDUP
from numalab.learning.predictions import PredictedOn, Prediction, Published, Value, shown, words
from numalab.learning.run import Run
from numalab.learning.starting_runs import Found

WIDTH = 78
FIRST = "predict it first"
UNCHANGED = "change the starting code first"

# A criterion by its name, or what makes a value of a run.
Asked = str | Callable[[Run], Value | None]
# A value, or what is asked of a run and of that of the starting code.
Measured = Value | None | tuple[Run, Asked]
Starting = Callable[[Run, PredictedOn | None], Found]


@dataclass(frozen=True)
class Row:
    """A prediction's line. starting: None where it is not about the starting code; note: what is
    to be said of it below the table, may be empty."""

    name: str
    said: str
    measured: str
    starting: str | None = None
    note: str = ""


def _value(run: Run, asked: Asked) -> Value | None:
    return run.value(asked) if isinstance(asked, str) else asked(run)


def _of_run(name: str, said: Prediction, run: Run, asked: Asked, starting: Starting) -> Row:
    """A speed over the starting code's is of the learner's own alone, once that is another."""
    speedups = [one.name for one in run.lab.criteria if SPEEDUP.judges(one)]
    if asked in speedups:
        is_of_itself = run.is_of_starting_code(str(asked))
        return Row(name, said.said, UNCHANGED if is_of_itself else shown(_value(run, asked)))
    found = starting(run, said.on)
    before = None if found.run is None else _value(found.run, asked)
    now = None if run.is_recorded else _value(run, asked)
    return Row(name, said.said, shown(now), shown(before), found.note)


def rows(
    kept: Mapping[str, Prediction],
    measured: Mapping[str, Measured],
    published: Mapping[str, Published],
    starting: Starting,
) -> Iterator[Row]:
    """One for each; what is not predicted is neither shown nor measured. starting: finds the
    starting code's run that stands for a run, and may take a while."""
    for name, given in measured.items():
        said = kept.get(name)
        if said is None:
            yield Row(name, "-", FIRST)
        elif isinstance(given, tuple):
            yield _of_run(name, said, *given, starting)
        else:
            yield Row(name, said.said, shown(given))
    for name, figure in published.items():
        said = kept.get(name)
        if said is None:
            yield Row(name, "-", FIRST)
        else:
            told = f"{shown(figure.value)}, published"
            yield Row(name, said.said, told, note=figure.says)


def table(found: list[Row]) -> str:
    """Return a line for each row, and below them their notes."""
    is_about_starting = any(row.starting is not None for row in found)
    cells = [
        (words(row.name), row.said, *((row.starting or "",) if is_about_starting else ()),
         row.measured)
        for row in found
    ]  # fmt: skip
    heading: tuple[str, ...] = ("predicted", "measured")
    if is_about_starting:
        heading = ("predicted", "starting code", "measured now")
    cells.insert(0, ("", *heading))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    for row in found:
        if row.note:
            is_of_row = row.starting is not None
            note = f"{words(row.name)}: {row.note}." if is_of_row else row.note
            lines += ["", *textwrap.wrap(note, WIDTH)]
    return "\n".join(lines)
