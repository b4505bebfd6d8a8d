"""Time lab 06's ping-pong across a link between two virtual machines, in Python."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from numalab.errors import NothingToDraw, NumalabError, UserError
from numalab.grading.node_lock import share_node
from numalab.harness.build import MPI_REMEDY
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES
from numalab.learning.basis import Based, captioned
from numalab.machines.gallery import find_machine
from numalab.processes import shell_variables, starting
from numalab.virtual import cluster_commands, guest_commands, plan
from numalab.virtual.cluster import ClusterOptions, boot_cluster, check_options
from numalab.virtual.link import Counts
from numalab.virtual.network import all_nodes
from numalab.virtual.qemu_process import GuestFailed
from numalab.words import StepReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCE = "across.c"
MACHINE = "hydra"
LIMIT_S = 180.0  # for a run that takes 10 to 20 s, and several times as long on a loaded machine
_ROW = re.compile(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+ %", re.MULTILINE)


@dataclass(frozen=True)
class Crossing(Based):
    """A ping-pong across a link between two virtual machines. print() shows its output and what
    crossed the link, or the complaint.

    Attributes:
        rate_mbit_s: what the link carries each way, in 10^6 bits per second.
        output: what the program printed.
        crossed: what each machine sent and received on the link, as lines of text.
        complaint: why there is no curve; empty if there is one.
    """

    rate_mbit_s: float
    output: str = field(default="", repr=False)
    crossed: str = field(default="", repr=False)
    complaint: str = ""

    @property
    def one_way_us(self) -> dict[int, float]:
        """Return one-way times in microseconds by message size in bytes."""
        return {int(size): float(us) for size, us in _ROW.findall(self.output)}

    @captioned
    def figure(self) -> Figure:
        """Draw one-way times over message sizes. Raises NothingToDraw where there is no curve."""
        from numalab.reports.figures import crossing_figure

        if self.complaint:
            raise NothingToDraw(self.complaint)
        return crossing_figure(self.one_way_us, self.rate_mbit_s)

    def __str__(self) -> str:
        return self.noted(self.complaint or f"{self.output}{self.crossed}")


class _NoCurve(Exception):
    """There is no curve; the text says why."""


def crossing(
    installation: Installation,
    lab_name: str,
    folder: Path,
    language: str,
    rate_mbit_s: float,
    progress: StepReport,
) -> Crossing:
    """Build and run the ping-pong of lab 06. folder: holds the kernel. Where MPI is missing, the
    kernel does not compile or does not come to its end, or no cluster can be booted, the result has
    a complaint. Raises UserError for a rate that no link has and for a missing kernel."""
    options = ClusterOptions(2, rate_mbit_s)
    check_options(options)
    kernel = folder / KERNEL_FILES[language]
    if not kernel.is_file():
        raise UserError(f"there is no {kernel}; write the kernel first")
    try:
        with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
            progress("building")
            _build(installation.lab_folder(lab_name), kernel, language, Path(scratch))
            if not plan.programs_are_built(installation, is_cluster=True):
                with installation.lock(progress):
                    plan.build_programs(installation, is_cluster=True)
            with share_node(progress):
                output, counts = _run(installation, Path(scratch), options, progress)
    except (_NoCurve, GuestFailed, UserError, NumalabError, OSError) as error:
        return Crossing(rate_mbit_s, complaint=str(error))
    names = [node.name for node in all_nodes(options.nodes)]
    return Crossing(rate_mbit_s, output, cluster_commands.counts_text(names, counts, rate_mbit_s))


def _build(lab: Path, kernel: Path, language: str, scratch: Path) -> None:
    """Build the program `across` in scratch."""
    linker = "mpicc" if language == "c" else "mpifort"
    include = f"-I{lab}"
    for command in (
        ["mpicc", "-O2", include, "-c", str(lab / SOURCE), "-o", "across.o"],
        [linker, "-O2", include, "across.o", str(kernel), "-o", "across"],
    ):
        if shutil.which(command[0]) is None:
            raise _NoCurve(f"there is no {command[0]} here; {MPI_REMEDY}")
        done = starting.run(command, shell_variables.builder_environment(), cwd=scratch)
        if done.returncode != 0:
            output = done.stderr.rstrip()
            raise _NoCurve(f"{kernel.name} does not compile with {SOURCE}:\n{output}")


def _run(
    installation: Installation, scratch: Path, options: ClusterOptions, progress: StepReport
) -> tuple[str, Counts]:
    """Run the program on two virtual machines, and return its output and what crossed the link."""
    out, err = bytearray(), bytearray()
    command = ["mpiexec", "-n", "2", "-ppn", "1", "./across", f"{options.rate_mbit_s:g}"]
    machine, shares = (
        find_machine(installation, MACHINE),
        guest_commands.shares_for(scratch, None, ()),
    )
    environment = guest_commands.guest_environment(
        shell_variables.observer_environment(), MACHINE, None
    )
    with boot_cluster(
        installation, machine, shares, options, plan.GuestOptions(), progress
    ) as booted:
        progress(f"messages cross a link of {options.rate_mbit_s:g} Mbit/s")
        ended = booted.run(
            1, command, str(scratch), environment, out.extend, err.extend, limit_s=LIMIT_S
        )
        if ended is None:
            raise _NoCurve(
                f"ping_pong did not come to its end in {LIMIT_S:g} s: does each rank wait for the "
                "other one?"
            )
        if ended.code or ended.signal:
            raise _NoCurve(err.decode(errors="replace").rstrip() or "the program was ended")
        return out.decode(errors="replace"), booted.counts()
