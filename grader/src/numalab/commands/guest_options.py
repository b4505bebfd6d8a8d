"""What all commands that boot virtual nodes and run something on them share: options, building what
these need, and what is told of a machine that is shown smaller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from numalab.installation import Installation
from numalab.virtual import plan
from numalab.virtual.guest_plan import GuestPlan

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

RESULTS: Decorator = click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder that the command may write to, made if it is not there; inside it is at "
    "the same path, and in $NUMALAB_RESULTS.",
)
SHARE: Decorator = click.option(
    "--share",
    "more",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="One more folder of this host that the command may read; may be repeated.",
)
CORES: Decorator = click.option(
    "--cores",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most N cores per NUMA node. Left out: what this host can carry.",
)
NODE_MEMORY: Decorator = click.option(
    "--node-memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Memory of each NUMA node. Left out: 256.",
)
GUEST_KERNEL: Decorator = click.option(
    "--guest-kernel",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Boot this Linux kernel (vmlinuz) instead of one of the distribution.",
)
NO_SNAPSHOT: Decorator = click.option(
    "--no-snapshot", is_flag=True, help="Boot; neither use nor keep a snapshot."
)


def boot_limit(are_up: str) -> Decorator:
    """are_up: such as "it is up"."""
    return click.option(
        "--boot-limit",
        type=click.FloatRange(min=1),
        metavar="SECONDS",
        help=f"Give up if {are_up} by then. Left out: 60, and 2 for each PU.",
    )


def build_what_is_needed(
    installation: Installation, progress: Callable[[str], None], is_cluster: bool = False
) -> None:
    """Raises NumalabError, and LockedError where another command holds the build folder."""
    if plan.programs_are_built(installation, is_cluster):
        return
    relay = ", and the relay between them" if is_cluster else ""
    progress(f"building the first process of virtual nodes{relay}")
    with installation.lock():
        plan.build_programs(installation, is_cluster)


def tell_of_scaling(ready: GuestPlan) -> None:
    machine = ready.machine
    if machine.scaled_from is not None or any(node.memory_mb == 0 for node in machine.numa_nodes):
        note = f"({plan.scaling_note(machine, ready.node_memory_mib)})"
        click.echo(click.wrap_text(note, 78), err=True)
