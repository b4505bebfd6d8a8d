"""The commands about described machines: ./numalab machine ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numalab.commands import guest_options
from numalab.commands.completing import complete_machine
from numalab.commands.machine_import import import_command
from numalab.commands.machine_page import show_machine
from numalab.commands.shared import progress_line, taking_one, write_named
from numalab.errors import NumalabError, UserError, wrapped
from numalab.installation import Installation
from numalab.labs import lab_modules
from numalab.machines.gallery import find_machine, gallery_folder, load_gallery
from numalab.machines.own import load_own, own_folder
from numalab.machines.picture import description, heading
from numalab.machines.seeded import PREFIX
from numalab.palette import keep_matplotlib_in
from numalab.terminal import make_console, plain_table, stripped
from numalab.virtual import booting, guest_commands, plan

if TYPE_CHECKING:
    from rich.console import Console

    from numalab.machines.machine import Machine


@click.group(short_help="NUMA machines of the literature: show, boot, import.")
def machine() -> None:
    """NUMA machines: what they look like, how their PUs are numbered, and virtual nodes
    that show both to programs, with a Linux kernel of their own.

    \b
    Examples:
      ./numalab machine list
      ./numalab machine show nebula
      ./numalab machine run nebula -- numactl -H
      ./numalab machine questions seeded-1234
      ./numalab machine import node.xml      made by: lstopo node.xml
    """


# ---- list ------------------------------------------------------------------------


@machine.command(name="list", short_help="All described machines.")
@click.pass_obj
def list_command(installation: Installation) -> None:
    """List all described machines, one per line: the kit's, and then those of your own folder.

    \b
    Example:
      ./numalab machine list
    """
    machines = load_gallery(gallery_folder(installation))
    if not machines:
        raise UserError(f"{gallery_folder(installation)} has no machine; restore the kit's files")
    own, mistakes = load_own(machines)
    console = make_console()
    _list(machines, console)
    if own:
        click.echo(f"Yours, in {own_folder()}:")
        _list(own, console)
    for mistake in mistakes:
        click.echo(wrapped(f"Not read: {mistake}"), err=True)
    click.echo("Shape: packages x NUMA nodes x cores x threads of a core")
    click.echo(f"And {PREFIX}N, such as {PREFIX}1234, made from the number N: published nowhere")
    if not own:
        click.echo("Your own: ./numalab machine import node.xml, made there by: lstopo node.xml")
    click.echo("Next: ./numalab machine show NAME")


def _list(machines: Mapping[str, Machine], console: Console) -> None:
    from rich.text import Text

    table = plain_table(gap=1)
    table.add_column("machine", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    table.add_column("PUs", justify="right", no_wrap=True)
    table.add_column("what it is", ratio=1)
    for name, one in machines.items():
        shape = one.shape.replace(" ", "")
        table.add_row(name, shape, str(one.pus), Text(one.title))
    with stripped(console):
        console.print(table)


# ---- show ------------------------------------------------------------------------


@machine.command(short_help="Picture, distances and figures of one machine.")
@click.argument("name", shell_complete=complete_machine)
@click.option(
    "--svg",
    "svg_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the picture as SVG too.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show it with at most N cores per NUMA node, PUs renumbered.",
)
@click.option(
    "--published",
    "with_published",
    is_flag=True,
    help="Show its published bandwidths, latencies and rates too, which labs let you predict.",
)
@click.option(
    "--answers",
    "with_answers",
    is_flag=True,
    help="Show one that is made from a seed, too: all that it is there to be asked about.",
)
@click.pass_obj
def show(
    installation: Installation,
    name: str,
    svg_path: Path | None,
    cores: int | None,
    with_published: bool,
    with_answers: bool,
) -> None:
    """Show a machine: picture, distances, and what is inferred.

    NAME is one of `./numalab machine list`, or the path of your own file. One that is made from
    a seed is there to be looked at from inside; its picture is for course staff. Nothing keeps
    anybody from it: the kit's sources are public.

    \b
    Examples:
      ./numalab machine show nebula
      ./numalab machine show nebula --published
      ./numalab machine show hydra --cores 4
      ./numalab machine show ./mine.toml --svg mine.svg
    """
    described = find_machine(installation, name)
    if described.seed is not None and not with_answers:
        if svg_path is not None:
            raise UserError(f"--svg: the picture of {name} shows its answers; add --answers")
        click.echo(_NOT_SHOWN.format(name=name))
        return
    if cores is not None:
        described = described.scaled(cores)
    show_machine(described, make_console(), with_published)
    if svg_path is not None:
        write_named(svg_path, _svg(installation, described), "--svg")
        click.echo(f"The picture is in {svg_path}")


_NOT_SHOWN = """\
{name} is a machine that nobody has published, there to be looked at from inside:
  ./numalab machine run {name} -- lstopo-no-graphics --no-io
  ./numalab machine run {name} -- numactl -H
  ./numalab machine run {name} -- lscpu -e
  ./numalab machine run {name} -- bash
Next: ./numalab machine questions {name}"""


@machine.command(short_help="What is asked about a machine made from a seed.")
@click.argument("name", shell_complete=complete_machine)
@click.pass_obj
def questions(installation: Installation, name: str) -> None:
    """Print the questions about a machine made from a seed, with the keys of their answers in
    node.toml.

    \b
    Example:
      ./numalab machine questions seeded-1234
    """
    seed = find_machine(installation, name).seed
    if seed is None:
        raise UserError(
            f"{name} is described in a file, and nothing is asked about it; take one "
            f"that is made from a number, such as {PREFIX}1234"
        )
    lab_modules.need_module("node_questions", "00_know_your_node")
    from node_questions import KEYS, QUESTIONS, draw_units, text_of

    asked = draw_units(seed)
    width = max(map(len, KEYS))
    click.echo(f"Of {name}, by Linux's numbers (P#, not hwloc's L#), in node.toml:")
    click.echo(f"  {'seed':{width}} = {seed}")
    for question in QUESTIONS:
        click.echo(f"  {question.key:{width}}   {text_of(question, asked)}")
    click.echo('Write a number, a list such as [0, 4], or "0-3,8".')
    click.echo(f"Look: ./numalab machine run {name} -- lstopo-no-graphics --no-io")


def _svg(installation: Installation, one: Machine) -> str:
    """The machine's picture, as a file. Raises NumalabError."""
    try:
        keep_matplotlib_in(installation.build / "matplotlib")
        from numalab.reports.figures import topology_figure
        from numalab.reports.inline_svg import svg_file
    except (ImportError, OSError) as error:
        raise NumalabError(f"the picture can't be drawn: {error}") from error
    return svg_file(topology_figure(one), heading(one), description(one))


# ---- run -------------------------------------------------------------------------


@dataclass(frozen=True)
class RunOptions:
    """As the command's help says. cores, node_memory, guest_kernel, boot_limit: None where they
    were left out."""

    name: str
    command: Sequence[str]
    results: Path | None
    more: Sequence[Path]
    cores: int | None
    full: bool
    node_memory: int | None
    guest_kernel: Path | None
    no_snapshot: bool
    boot_limit: float | None


@machine.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Run a command on a virtual node.",
)
@click.argument("name", shell_complete=complete_machine)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@guest_options.RESULTS
@guest_options.SHARE
@guest_options.CORES
@click.option("--full", is_flag=True, help="All cores of the machine, however long it takes.")
@guest_options.NODE_MEMORY
@guest_options.GUEST_KERNEL
@guest_options.NO_SNAPSHOT
@guest_options.boot_limit("it is not up")
@click.pass_obj
@taking_one(RunOptions)
def run(installation: Installation, asked: RunOptions) -> int:
    """Boot the machine NAME as a virtual node, run COMMAND there, and end it.

    The command sees this host's programs and libraries and the current folder, all
    read-only and at the same paths, but not your home folder; /tmp is its own. Its exit
    code, output and Ctrl-C are passed through. At a terminal it gets one (Ctrl-] ends the
    node).

    \b
    Examples:
      ./numalab machine run hydra -- numactl -H
      ./numalab machine run nebula -- lstopo-no-graphics --no-io
      ./numalab machine run hydra -- env OMP_PROC_BIND=close ./a.out
      ./numalab machine run hydra --results out -- sh -c './a.out > out/log'
      ./numalab machine run hydra -- mpiexec -bind-to socket -n 2 ./hello
      ./numalab machine run hydra -- bash
    """
    if asked.full and asked.cores is not None:
        raise UserError("--full and --cores exclude each other")
    described = find_machine(installation, asked.name)
    folder = Path.cwd()
    written = None if asked.results is None else guest_commands.results_folder(asked.results)
    shares = guest_commands.shares_for(folder, written, asked.more)
    options = plan.GuestOptions(
        asked.cores,
        asked.full,
        asked.node_memory,
        asked.guest_kernel,
        asked.boot_limit,
        not asked.no_snapshot,
    )
    with progress_line(described.name) as progress:
        guest_options.build_what_is_needed(installation, progress)
        ready, store = plan.make_plan(installation, described, shares, options, progress)
        node = booting.boot(ready, store, progress)
    with node:
        guest_options.tell_of_scaling(ready)
        return guest_commands.run_command(node, asked.command, folder, written)


machine.add_command(import_command)
