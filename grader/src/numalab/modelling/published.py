"""Published runs: where their threads and pages were, and what came out.

common/modelling/runs.toml has the placements and which two runs are compared, published.toml beside
it the ratios that were measured; common/modelling/README.md says what each key is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numalab.errors import UserError
from numalab.pu_lists import parse_pus
from numalab.toml_files.tables import Table, read_table

RUNS, PUBLISHED = "runs.toml", "published.toml"
MOST_NODES = 256
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")

Home = Literal["own", "all"]
WORDS: dict[str, Home] = {"own": "own", "all": "all"}


@dataclass(frozen=True)
class Share:
    """Some threads of a run, each on a PU of its own, and what each of them moves, in any unit.
    pages_on: on the NUMA node of the PU, on all or on these, evenly."""

    pus: tuple[int, ...]
    pages_on: Home | tuple[int, ...]
    bytes: float


@dataclass(frozen=True)
class PublishedRun:
    name: str
    machine: str
    what: str
    source: str
    traffic: tuple[Share, ...]


@dataclass(frozen=True)
class Ratio:
    """Of bandwidths, of two runs that move equally much: how many times as much the fast one
    moves in a second."""

    name: str
    slow: PublishedRun
    fast: PublishedRun


@dataclass(frozen=True)
class Outcome:
    """What was measured of a ratio. where: in its source."""

    value: float
    source: str
    where: str


def read_ratios(folder: Path) -> tuple[Ratio, ...]:
    """All ratios of runs.toml, in order. Raises UserError with the place of a mistake."""
    top = read_table(folder / RUNS, UserError, ("run", "ratio"))
    runs: dict[str, PublishedRun] = {}
    for table in top.tables("run", ("name", "machine", "what", "source", "traffic")):
        run = _run(table)
        if run.name in runs:
            table.fail(f"there are two runs '{run.name}'; give each a name of its own", "name")
        runs[run.name] = run
    ratios: dict[str, Ratio] = {}
    for table in top.tables("ratio", ("name", "slow", "fast")):
        ratio = _ratio(table, runs)
        if ratio.name in ratios:
            table.fail(f"there are two ratios '{ratio.name}'; keep one", "name")
        ratios[ratio.name] = ratio
    return tuple(ratios.values())


def _run(table: Table) -> PublishedRun:
    table.need("name", "machine", "what", "source", "traffic")
    name = table.text("name")
    if NAME.fullmatch(name) is None:
        table.wrong("name", "take small letters, digits and '-'")
    shares = [_share(share) for share in table.tables("traffic", ("pus", "pages_on", "bytes"))]
    if not shares:
        table.fail("a run moves something: write a [[run.traffic]]", "traffic")
    return PublishedRun(
        name, table.text("machine"), table.text("what"), table.text("source"), tuple(shares)
    )


def _share(table: Table) -> Share:
    table.need("pus", "pages_on")
    text = table.text("pages_on")
    pages_on: Home | tuple[int, ...]
    pages_on = WORDS[text] if text in WORDS else _numbers(table, "pages_on")
    moved = table.number("bytes", default=1.0)
    if not moved > 0:
        table.wrong("bytes", "write a number above 0")
    return Share(_numbers(table, "pus"), pages_on, moved)


def _numbers(table: Table, key: str) -> tuple[int, ...]:
    try:
        return tuple(parse_pus(table.text(key), MOST_NODES))
    except ValueError as error:
        table.fail(str(error), key)


def _ratio(table: Table, runs: dict[str, PublishedRun]) -> Ratio:
    slow, fast = (runs[table.choice(key, runs)] for key in ("slow", "fast"))
    if slow.machine != fast.machine:
        table.fail(f"the runs are of {slow.machine} and {fast.machine}; a ratio is of one machine")
    moved = [_total(run.traffic) for run in (slow, fast)]
    if abs(moved[0] - moved[1]) > 1e-6 * max(moved):
        table.fail(
            f"the slow run moves {moved[0]:g} and the fast one {moved[1]:g}; let both move equally "
            "much, so that their times compare as their bandwidths do"
        )
    return Ratio(table.text("name"), slow, fast)


def _total(shares: Iterable[Share]) -> float:
    return sum(share.bytes * len(share.pus) for share in shares)


def read_outcomes(folder: Path, ratios: Iterable[Ratio]) -> dict[str, Outcome]:
    """By the name of the ratio; of those that published.toml has. Raises UserError."""
    path = folder / PUBLISHED
    if not path.is_file():
        return {}
    names = [ratio.name for ratio in ratios]
    outcomes: dict[str, Outcome] = {}
    top = read_table(path, UserError, ("published",))
    for table in top.tables("published", ("ratio", "value", "source", "where")):
        name = table.choice("ratio", names)
        if name in outcomes:
            table.fail(f"'{name}' has two values; keep one", "ratio")
        value = table.number("value")
        if not value > 0:
            table.wrong("value", "write a number above 0")
        outcomes[name] = Outcome(value, table.text("source"), table.text("where"))
    return outcomes
