"""The model against published runs, and beside it the rule that bandwidth is as many times one
controller's as controllers are in use: the table of common/modelling/README.md.

    cd grader && PYTHONPATH=src ../.venv/bin/python bench/model_validation.py ..

common/modelling/runs.toml has the placements and which two runs are compared, published.toml beside
it the ratios that were measured; common/modelling/README.md says what each key is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from numalab.errors import UserError
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine
from numalab.modelling.times import Modelled, modelled, why_not
from numalab.modelling.traffic import MemoryTraffic, node_of_core, summed
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
        table.refuse("name", "take small letters, digits and '-'")
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
        table.refuse("bytes", "write a number above 0")
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
            table.refuse("value", "write a number above 0")
        outcomes[name] = Outcome(value, table.text("source"), table.text("where"))
    return outcomes


# ---- predictions -------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """modelled, rule: how many times as much the fast run is to move in a second. published: None
    as long as it is not on file."""

    ratio: Ratio
    modelled: float
    rule: float
    published: Outcome | None

    @property
    def error(self) -> float | None:
        """Of the model, as a share of the published value."""
        return None if self.published is None else abs(self.modelled / self.published.value - 1)

    @property
    def error_of_rule(self) -> float | None:
        return None if self.published is None else abs(self.rule / self.published.value - 1)


def traffic_of(machine: Machine, run: PublishedRun) -> MemoryTraffic:
    """Raises UserError for a PU or NUMA node that the machine has not."""
    nodes = node_of_core(machine)
    numbers = tuple(node.number for node in machine.numa_nodes)
    parts = []
    for share in run.traffic:
        for pu in share.pus:
            if pu >= machine.pus:
                raise UserError(f"{run.name}: {machine.name} has no PU {pu}; name others")
            core = machine.pu_table[pu].core
            homes = share.pages_on
            if homes == "own":
                homes = (nodes[core],)
            elif homes == "all":
                homes = numbers
            assert not isinstance(homes, str)
            for home in homes:
                if home not in numbers:
                    raise UserError(
                        f"{run.name}: {machine.name} has no NUMA node {home}; name others"
                    )
                parts.append(((core, home), share.bytes / len(homes)))
    return summed(parts, sum(len(share.pus) for share in run.traffic))


def controllers_in_use(traffic: MemoryTraffic) -> int:
    return len({home for _, home in traffic.bytes})


def predicted(machine: Machine, ratio: Ratio, published: Outcome | None) -> Prediction:
    """Raises UserError where the machine's rates don't suffice."""
    slow, fast = (traffic_of(machine, run) for run in (ratio.slow, ratio.fast))
    both = [_needed(machine, traffic, ratio) for traffic in (slow, fast)]
    return Prediction(
        ratio=ratio,
        modelled=both[0].s_per_gb / both[1].s_per_gb,
        rule=controllers_in_use(fast) / controllers_in_use(slow),
        published=published,
    )


def _needed(machine: Machine, traffic: MemoryTraffic, ratio: Ratio) -> Modelled:
    found = modelled(machine, traffic)
    if found is None:
        why = why_not(machine, traffic) or "nothing is moved."
        raise UserError(f"'{ratio.name}' can't be predicted: {why}")
    return found


def predictions(folder: Path, machine_of: Callable[[str], Machine]) -> tuple[Prediction, ...]:
    """Of all ratios on file in a folder. Raises UserError."""
    ratios = read_ratios(folder)
    outcomes = read_outcomes(folder, ratios)
    return tuple(
        predicted(machine_of(ratio.slow.machine), ratio, outcomes.get(ratio.name))
        for ratio in ratios
    )


def medians(found: Sequence[Prediction]) -> tuple[float, float] | None:
    """Of the model's errors and of the rule's, over what is published; None: nothing is."""
    both = [
        (one.error, one.error_of_rule)
        for one in found
        if one.error is not None and one.error_of_rule is not None
    ]
    if not both:
        return None
    return median(error for error, _ in both), median(error for _, error in both)


def table(found: Sequence[Prediction]) -> str:
    """In Markdown, a row for each ratio and the medians below; ends with a newline."""
    rows = [
        "| machine | what is compared | modelled | by controllers | published | error "
        "| error by controllers | source |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        outcome = one.published
        published = "-" if outcome is None else f"{outcome.value:.2f}"
        source = "-" if outcome is None else outcome.source
        rows.append(
            f"| {one.ratio.slow.machine} | {one.ratio.name} | {one.modelled:.2f} | {one.rule:.2f} "
            f"| {published} | {_percent(one.error)} | {_percent(one.error_of_rule)} | {source} |"
        )
    middle = medians(found)
    if middle is not None:
        rows.append(f"| | median | | | | {_percent(middle[0])} | {_percent(middle[1])} | |")
    return "\n".join(rows) + "\n"


def _percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.0f} %"


def main(root: Path) -> str:
    """The table of the kit below root. Raises UserError."""
    machines = root / "common" / "machines"
    return table(
        predictions(
            root / "common" / "modelling", lambda name: load_machine(machines / f"{name}.toml")
        )
    )


if __name__ == "__main__":
    try:
        sys.stdout.write(main(Path(sys.argv[1] if len(sys.argv) > 1 else "..")))
    except UserError as error:
        sys.exit(f"numalab: {error}")
