"""A lab's exploration in Python: what ./numalab explore measures, with its report and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numalab.errors import Interrupted, NothingToDraw, NumalabError, UserError
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
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.harness import monitor
from numalab.harness.build import build_explorations
from numalab.installation import Installation
from numalab.learning.basis import Based, captioned
from numalab.learning.run import printed, save_json
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Explored(Based):
    """What the exploration of a lab measured on this machine, and where pages were on its virtual
    machine, if one was needed. print() shows `report` and the notes.

    Attributes:
        measurements: the runs, and how they were made.
    """

    measurements: Measurements = field(repr=False)

    @captioned
    def figure(self) -> Figure:
        """Draw the picture of ./numalab explore."""
        return exploration_figure(self.measurements)

    @captioned
    def pages_figure(self) -> Figure:
        """Draw where pages were on a virtual machine. Raises NothingToDraw where none were
        observed."""
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
        """Return the table size in bytes from which on dependent loads are slower on small pages.
        None where they are not, or where the lab explores no tables."""
        return self.measurements.exploration.what.divergence_bytes(self.measurements)

    @property
    def report(self) -> str:
        """Return the tables and sentences of ./numalab explore."""
        return printed(lambda console: explore_report.show(self.measurements, console))

    def save(self, path: str | Path) -> Path:
        """Write the measurements to a JSON file, and return its path. Raises UserError if it can't
        be written."""
        return save_json(path, self.measurements.json_data(), indent=2)

    def __str__(self) -> str:
        return self.noted(self.report)


def measure(
    installation: Installation, chosen: Exploration, progress: Callable[[str], None]
) -> Measurements:
    """Build an exploration's program and measure; the caller holds the build folder's lock. If this
    machine has one NUMA node, pages are also observed on the experiment's virtual machine, if it
    has one; why they can't be is in the measurements. After Ctrl-C while programs run the
    measurements so far are returned, marked as interrupted. Raises Interrupted where no run had
    ended, UserError where memory is short or a program is killed, and NumalabError where something
    can't be built, described or run."""
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
    """Return the measurements with pages on the virtual machine, or with why there are none."""
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
    """Build and measure a lab's exploration under the locks of the build folder and the machine.
    name: the lab's name or number; rounds: None: the exploration's own number. Raises UserError on
    a login node and for a lab without an exploration, and Interrupted as measure()."""
    folder = find_exploration(installation.root, name)
    chosen = resized(load_exploration(folder, quick), rounds, None)
    if is_login_node():
        raise UserError(refusal(f"explore {chosen.lab}"))
    with installation.lock(progress), share_node(progress, exclusive=True):
        return Explored(measure(installation, chosen, progress))
