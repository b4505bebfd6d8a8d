"""The model against published runs, and beside it the rule that bandwidth is as many times one
controller's as controllers are in use. Pure functions, and the table of
common/modelling/README.md:

    cd grader && PYTHONPATH=src ../.venv/bin/python -m numalab.modelling.validation ..
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from numalab.errors import UserError
from numalab.machines.machine import Machine
from numalab.machines.machine_file import load_machine
from numalab.modelling.published import (
    Outcome,
    PublishedRun,
    Ratio,
    read_outcomes,
    read_ratios,
)
from numalab.modelling.times import Modelled, modelled, why_not
from numalab.modelling.traffic import Traffic, node_of_core, summed


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


def traffic_of(machine: Machine, run: PublishedRun) -> Traffic:
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


def controllers_in_use(traffic: Traffic) -> int:
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


def _needed(machine: Machine, traffic: Traffic, ratio: Ratio) -> Modelled:
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
