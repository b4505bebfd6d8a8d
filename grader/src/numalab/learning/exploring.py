"""A lab's exploration in Python: ./numalab explore, with its tables and its picture as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numalab.errors import Interrupted, NothingToDraw, NumalabError, UserError, reason_of
from numalab.explore import explore, explore_report
from numalab.explore.declaration import find_exploration, load_exploration, resized
from numalab.explore.experiment import (
    Experiment,
    Exploration,
    Measurements,
    VirtualMachine,
    VirtualPages,
)
from numalab.explore.explore_plot import exploration_figure, pages_figure
from numalab.files import write_json
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.harness import monitor
from numalab.harness.build import build_explorations
from numalab.installation import Installation
from numalab.learning.basis import Based, captioned
from numalab.learning.run import printed
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Explored(Based):
    """What an exploration of a lab measured on this machine. print() shows report.

    Attributes:
        measurements: all runs, and what a reader has to know of them.
    """

    measurements: Measurements = field(repr=False)

    @captioned
    def figure(self) -> Figure:
        return exploration_figure(self.measurements)

    @captioned
    def pages_figure(self) -> Figure:
        """Of streams: where pages lived on a virtual machine. Raises NothingToDraw."""
        drawn = pages_figure(self.measurements)
        if drawn is None:
            trouble = self.measurements.virtual.trouble if self.measurements.virtual else None
            raise NothingToDraw(
                trouble
                or "no virtual machine was looked at; this node's own pages, if it has "
                "several NUMA nodes, stand below the rates"
            )
        return drawn

    @property
    def parting_bytes(self) -> int | None:
        """Of tables: the smallest from which on dependent loads take longer on small pages; None
        where they do not, or where something else was explored."""
        return self.measurements.exploration.what.divergence_bytes(self.measurements)

    @property
    def report(self) -> str:
        """The tables and sentences of ./numalab explore."""
        return printed(lambda console: explore_report.show(self.measurements, console))

    def save(self, path: str | Path) -> Path:
        """Writes all samples, as ./numalab explore --json does. Raises UserError."""
        path = Path(path)
        try:
            write_json(path, self.measurements.json_data())
        except OSError as error:
            raise UserError(f"{path} can't be written: {reason_of(error)}") from error
        return path

    def __str__(self) -> str:
        return self.noted(self.report)


def measure(
    installation: Installation, chosen: Exploration, progress: Callable[[str], None]
) -> Measurements:
    """Builds what is measured, and measures it; the caller holds the build folder's lock. Streams
    of a node with one NUMA node are looked at on a virtual machine, too. Raises UserError,
    NumalabError, and Interrupted where not even one sample was taken."""
    progress("building")
    build_explorations(installation, [installation.exploration(chosen.lab).name])
    measurements = explore.explore(
        installation, chosen, monitor.describe_node(installation), progress
    )
    if not measurements.runs:
        raise Interrupted
    what = chosen.what
    machine = what.virtual_machine()
    if machine and measurements.node["numa_nodes"] == 1 and not measurements.interrupted:
        measurements = _add_pages(installation, what, machine, measurements, progress)
    return measurements


def _add_pages(
    installation: Installation,
    experiment: Experiment,
    virtual: VirtualMachine,
    measurements: Measurements,
    progress: Callable[[str], None],
) -> Measurements:
    """Return it with what a virtual machine shows, or why it does not."""
    options = GuestOptions(cores_per_node=virtual.cores_per_numa_node)
    try:
        machine = find_machine(installation, virtual.name)
        with VirtualPlaces(installation, options) as places:
            place = places.get(machine, [installation.probe], progress)
            seen, interrupted = explore.observe_pages(installation, experiment, place, progress)
    except (KeyboardInterrupt, Interrupted):
        return replace(measurements, interrupted=True)
    except (UserError, NumalabError) as error:
        return replace(
            measurements, virtual=VirtualPages({"name": virtual.name}, {}, trouble=str(error))
        )
    return replace(measurements, virtual=seen, interrupted=interrupted)


def explored(
    installation: Installation,
    name: str,
    quick: bool,
    rounds: int | None,
    progress: Callable[[str], None],
) -> Explored:
    """Measures, under the build folder's lock. Raises UserError where the lab has none or nothing
    may be timed here, NumalabError, and Interrupted where not even one sample was taken."""
    folder = find_exploration(installation.root, name)
    chosen = resized(load_exploration(folder, quick), rounds, None)
    if is_login_node():
        raise UserError(refusal(f"explore {chosen.lab}"))
    with installation.lock(progress), share_node(progress, exclusive=True):
        return Explored(measure(installation, chosen, progress))
