"""A lab's exploration in Python: ./numalab explore, with its tables and its picture as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from numalab.errors import Interrupted, UserError, reason_of
from numalab.explore import explore, explore_report
from numalab.explore.declaration import (
    TableSizes,
    find_exploration,
    load_exploration,
    resized,
)
from numalab.explore.explore_plot import exploration_figure
from numalab.explore.samples import CHASE, Found
from numalab.explore.table_report import parting_bytes, sizes_found
from numalab.files import write_json
from numalab.grading.login_node import on_login_node, refusal
from numalab.harness import monitor
from numalab.harness.build import build_explorations
from numalab.kit import Kit
from numalab.learning.run import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Explored:
    """What was found. found: all samples, and what a reader has to know of them."""

    found: Found = field(repr=False)

    def figure(self) -> Figure:
        return exploration_figure(self.found)

    @property
    def parting_bytes(self) -> int | None:
        """Of tables: the smallest from which on dependent loads take longer on small pages; None
        where they do not, or where something else was explored."""
        what = self.found.exploration.what
        if not isinstance(what, TableSizes):
            return None
        return parting_bytes(sizes_found(self.found, what, CHASE))

    @property
    def report(self) -> str:
        """The tables and sentences of ./numalab explore."""
        return printed(lambda console: explore_report.show(self.found, console))

    def save(self, path: str | Path) -> Path:
        """Writes all samples, as ./numalab explore --json does. Raises UserError."""
        path = Path(path)
        try:
            write_json(path, self.found.to_json())
        except OSError as error:
            raise UserError(f"{path} can't be written: {reason_of(error)}") from error
        return path

    def __str__(self) -> str:
        return self.report

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """How a cell shows it."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]


def explored(
    kit: Kit, name: str, quick: bool, rounds: int | None, progress: Callable[[str], None]
) -> Explored:
    """Measures, under the build folder's lock. Raises UserError where the lab has none or nothing
    may be timed here, KitError, and Interrupted where not even one sample was taken."""
    folder = find_exploration(kit.root, name)
    chosen = resized(load_exploration(folder, quick), rounds, None)
    if on_login_node():
        raise UserError(refusal(f"explore {chosen.lab}"))
    with kit.lock():
        progress("building")
        build_explorations(kit, [kit.exploration(chosen.lab).name])
        found = explore.explore(kit, chosen, monitor.describe_node(kit), progress)
    if not found.samples:
        raise Interrupted
    return Explored(found)
