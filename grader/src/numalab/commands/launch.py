"""./numalab launch: runs an MPI program as a policy says."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from numalab.commands.completing import complete_machine
from numalab.errors import NumalabError, UserError
from numalab.files import NotPlain, read_plain_text
from numalab.harness.build import build_targets, configure
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.labs import launch as policies
from numalab.labs.declaration import FILE_BYTES
from numalab.labs.launch_commands import LAUNCHERS, Launcher
from numalab.machines.gallery import find_machine
from numalab.machines.topology import topology_of_machine, topology_of_node
from numalab.processes import shell_variables, starting

if TYPE_CHECKING:
    from numalab.labs.launch_commands import Command
    from numalab.machines.topology import Topology

VERSION_LIMIT_S = 20.0


@click.command(short_help="Run an MPI program as a policy over the topology says.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument(
    "program", metavar="-- PROGRAM [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED
)
@click.option("--print", "only_print", is_flag=True, help="Print the command line, don't run it.")
@click.option(
    "--with",
    "launcher",
    type=click.Choice(list(LAUNCHERS)),
    default="mpiexec",
    show_default=True,
    help="MPICH's mpiexec; Open MPI's mpirun; Intel MPI's mpiexec; Slurm's srun in a job that has "
    "the whole node.",
)
@click.option(
    "--machine",
    "machine_name",
    metavar="NAME",
    shell_complete=complete_machine,
    help="Print what the policy means on a machine of `./numalab machine list`.",
)
@click.pass_obj
def launch(
    installation: Installation,
    file: Path,
    program: Sequence[str],
    only_print: bool,
    launcher: str,
    machine_name: str | None,
) -> None:
    """Run PROGRAM with MPI as FILE says: how many ranks, how many threads each, bound to
    what. FILE is a policy over the topology, so it holds on any node:

    \b
      ranks = { one_per = "numa_node" }  machine, package, numa_node, core or pu;
                                         or a number
      threads = { one_per = "core" }     core or pu of what a rank is bound to;
                                         or a number; left out: 1; "default":
                                         as OpenMP does, one per PU in every rank
      bind_to = "numa_node"              none, package, numa_node, core or pu;
                                         left out: as ranks, with a number none
      map_by = "numa_node"               the next rank goes to the next of these;
                                         left out: as bind_to

    The command line is shown, and the program's exit code is passed on.

    \b
    Examples:
      ./numalab launch launch.toml -- ./jacobi 1000
      ./numalab launch launch.toml --print --with srun -- ./jacobi 1000
      ./numalab launch launch.toml --machine nebula -- ./jacobi 1000
      ./numalab launch launch.toml --machine nebula --with openmpi -- ./jacobi
    """
    policy = policies.parse_policy(_read(file), str(file))
    topology = _topology(installation, machine_name)
    plan = policies.plan(policy, topology)
    command = LAUNCHERS[launcher].render(plan, program)
    left_out = shell_variables.launcher_exclusions()
    unset = [name for name in left_out if name not in command.environment]
    is_run = not only_print and machine_name is None
    if is_run:
        _check_programs(LAUNCHERS[launcher], program[0])
    for line in policies.summary(plan):
        click.echo(click.wrap_text(line, 78, subsequent_indent="    "), err=True)
    if launcher == "srun" and plan.is_bound:
        click.echo("srun takes masks only in a job that has the whole node: --exclusive", err=True)
    click.echo(command.shell_line(unset), err=is_run)
    if is_run:
        _become(command)


def _read(file: Path) -> str:
    try:
        return read_plain_text(file, FILE_BYTES, follow_links=True)
    except FileNotFoundError as error:
        raise UserError(f"{file}: can't read it: {error.strerror}") from error
    except NotPlain as error:
        raise UserError(f"{file}: it {error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: this is no text in UTF-8; save it as UTF-8") from error


def _topology(installation: Installation, machine_name: str | None) -> Topology:
    if machine_name is not None:
        return topology_of_machine(find_machine(installation, machine_name))
    if not installation.describe_node.is_file():
        from numalab.commands.shared import progress_line

        with installation.lock(), progress_line("numalab") as progress:
            progress("building the kit, for the first time")
            configure(installation)
            build_targets(installation, ["describe_node"])
    return topology_of_node(describe_node(installation))


def _check_programs(launcher: Launcher, program: str) -> None:
    """Launchers say little that helps where a program is not there, and take some of each other's
    words for their own."""
    if shutil.which(launcher.program) is None:
        raise UserError(
            f"there is no {launcher.program} here; it is {launcher.package}. --print shows the "
            "command line without running it."
        )
    environment = shell_variables.launcher_environment()
    if launcher.says and launcher.says not in starting.version_text(
        launcher.program, environment, VERSION_LIMIT_S
    ):
        raise UserError(
            f"the {launcher.program} that is found first here is not {launcher.package}; load its "
            "module, or choose another launcher by --with. --print shows the command line without "
            "running it."
        )
    if shutil.which(program) is not None:
        return
    if Path(program).is_file():
        hint = (
            f"one in the current folder is named ./{program}"
            if "/" not in program and os.access(program, os.X_OK)
            else f"it may not be executed: chmod +x {program}"
        )
        raise UserError(f"can't run {program}: {hint}")
    raise UserError(f"there is no program {program}; build it first, or correct its name")


def _become(command: Command) -> NoReturn:
    """Turns this process into the launcher: signals reach it, and its exit code is ours."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that is inherited
    try:
        environment = shell_variables.launcher_environment() | dict(command.environment)
        starting.become(command.arguments, environment)
    except OSError as error:
        raise NumalabError(f"can't run {command.arguments[0]}: {error.strerror}") from error
