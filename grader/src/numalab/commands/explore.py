"""./numalab explore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

import numalab
from numalab.commands import explore_memory, explore_model
from numalab.commands.completing import complete_lab, complete_machine
from numalab.commands.reporter import waits
from numalab.commands.shared import (
    check_json_target,
    progress_line,
    shown_path,
    taking_one,
)
from numalab.errors import Interrupted, UserError
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_PASSED
from numalab.explore.declaration import find_exploration, load_exploration, resized
from numalab.files import write_json
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.installation import Installation
from numalab.terminal import make_console, stripped


@dataclass(frozen=True)
class Asked:
    """As the command's help says; None where an option was left out."""

    name: str
    quick: bool
    rounds: int | None
    n: int | None
    plot_path: Path | None
    json_path: Path | None
    force: bool
    on: str | None
    balancing: bool


@click.command(name="explore", short_help="Measure what a lab is about, with intervals.")
@click.argument("name", metavar="LAB|model", shell_complete=complete_lab)
@click.option("--quick", is_flag=True, help="Smaller and fewer runs: a minute or two.")
@click.option("--rounds", type=click.IntRange(1, 10_000), help="How often everything is run.")
@click.option(
    "--n",
    "n",
    type=click.IntRange(min=1),
    help="8-byte elements of each array (02), rows of the matrices (03), or 8-byte elements of "
    "the largest table (04).",
)
@click.option(
    "--plot",
    "plot_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw to this file (.png, .svg, .pdf). Left out: build/.../explore/NN_name.png.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    help="Write all samples.",
    metavar="FILE",
)
@click.option("--force", is_flag=True, help="Take times on a login node too.")
@click.option(
    "--on",
    metavar="MACHINE",
    shell_complete=complete_machine,
    help="05: look at a virtual node, where pages are and what is modelled.",
)
@click.option(
    "--balancing",
    is_flag=True,
    help="05: watch automatic NUMA balancing move pages, on a virtual node (hydra).",
)
@click.pass_obj
@taking_one(Asked)
def explore_command(installation: Installation, asked: Asked) -> int:
    """Measure what a lab is about on this node, repeated often enough to be believed: a
    table, a plot, and what of it survives repetition. One to three minutes with few cores; 02 takes
    some minutes more with many, and with a larger --n.

    Each round runs every configuration once, in random order, each as a process of its
    own. Ctrl-C ends it and shows what there is by then.

    `model` in the place of a lab measures what a core, a controller and a link of this node
    carry, predicts other placements from that, and runs these; it needs two NUMA nodes.

    02 takes longer the more PUs a node has. Where it has one NUMA node, local pages are
    looked at on a virtual machine, and drawn beside the plot (..._local_pages).

    \b
    Examples:
      ./numalab explore 02                        threads, placement, first touch
      ./numalab explore 03                        schedule and chunk over threads
      ./numalab explore 04 --quick                latency and the TLB
      ./numalab explore 03 --n 1000 --rounds 11   larger matrices
      ./numalab explore 04 --json all.json --plot tlb.svg
      ./numalab explore 05                        near and far memory
      ./numalab explore 05 --balancing            Linux moves pages by itself
      ./numalab explore model                     modelled beside measured rates
    """
    if asked.name == explore_model.NAME:
        if asked.n is not None or asked.plot_path is not None:
            raise UserError("explore model has no --n and no --plot; leave them out")
        return explore_model.explore_model(
            installation, asked.quick, asked.rounds, asked.json_path, asked.force
        )
    if explore_memory.is_meant(asked.name):
        if asked.n is not None or asked.plot_path is not None:
            raise UserError("explore 05 has no --n and no --plot; leave them out")
        of_memory = explore_memory.Asked(
            asked.quick, asked.rounds, asked.json_path, asked.force, asked.on, asked.balancing
        )
        return explore_memory.explore_memory(installation, of_memory)
    if asked.on is not None or asked.balancing:
        raise UserError("--on and --balancing are for explore 05; leave them out")
    from numalab.explore import explore_plot, explore_report
    from numalab.learning.exploring import measure

    folder = find_exploration(installation.root, asked.name)
    chosen = resized(load_exploration(folder, asked.quick), asked.rounds, asked.n)
    check_json_target(asked.json_path)
    if asked.plot_path is not None:
        explore_plot.check_target(asked.plot_path)
    if is_login_node() and not asked.force:
        raise UserError(refusal(f"explore {chosen.lab}"))
    with installation.lock(), share_node(waits, exclusive=True):
        with progress_line(chosen.lab) as progress:
            try:
                exploration = measure(installation, chosen, progress)
            except (KeyboardInterrupt, Interrupted):
                click.echo("numalab: interrupted before anything was measured", err=True)
                return EXIT_INTERRUPTED
        console = make_console()
        with stripped(console):
            explore_report.show(exploration, console)
        if asked.json_path is not None:
            found = {"kit_version": numalab.__version__, **exploration.json_data()}
            write_json(asked.json_path, found)
        plot_path = asked.plot_path
        if plot_path is None:
            plot_path = installation.build / "explore" / f"{chosen.lab}.png"
            plot_path.parent.mkdir(parents=True, exist_ok=True)
        scratch = installation.build / "explore" / "matplotlib"
        written = explore_plot.draw(exploration, plot_path, scratch)
    plots = ", ".join(str(shown_path(path)) for path in written)
    click.echo(f"\nPlot{'s' if written[1:] else ''}: {plots}")
    if exploration.interrupted:
        click.echo("numalab: interrupted; what was measured so far is above", err=True)
    return EXIT_INTERRUPTED if exploration.interrupted else EXIT_PASSED
