"""./numalab install."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from numalab import __version__
from numalab.commands.shared import progress_line
from numalab.errors import wrapped
from numalab.grading.own_files import keep_starting_code
from numalab.harness.build import configure
from numalab.installation import Installation
from numalab.installing.copying import check_handouts
from numalab.installing.install import KINDS, Installed, Wish, check_needs
from numalab.installing.install import install as install_kit
from numalab.installing.prefix import chosen_prefix
from numalab.judging.rules import load_labs


@click.command(short_help="Install the kit for everybody on this system.")
@click.option(
    "--prefix",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Into this folder: DIR/bin/numalab, DIR/share/numalab, DIR/share/modulefiles.",
)
@click.option(
    "--needs",
    multiple=True,
    metavar="MODULE",
    help="The modulefiles load this module too, such as a compiler's; may be repeated.",
)
@click.option("--without-notebooks", is_flag=True, help="Leave out JupyterLab, 100 MB.")
@click.pass_obj
def install(
    installation: Installation, prefix: Path, needs: Sequence[str], without_notebooks: bool
) -> None:
    """Install the kit in a folder that all users read and nobody writes to.

    Each of them works in a folder of her own, ~/numalab, which the first command makes; her
    builds, results and progress are in her home folder too, and closed to others. It takes a
    minute or two, most of it for Python packages; interrupted, the same command goes on.

    Load the modules with compilers before it, where there are such, and name them with
    --needs.

    \b
    Examples:
      ./numalab install --prefix /opt/numalab/0.2.0
      module use /opt/numalab/0.2.0/share/modulefiles/lmod     Lmod
      module use /opt/numalab/0.2.0/share/modulefiles/tcl      Environment Modules
      ./numalab install --prefix ~/class --without-notebooks
      ./numalab install --prefix /sw/numalab --needs GCC/14.3.0
    """
    check_needs(needs)
    chosen = chosen_prefix(prefix, installation.root, __version__)
    with installation.lock(), progress_line("install") as progress:
        labs = list(load_labs(installation.root).values())
        configure(installation)  # by which handouts are known
        keep_starting_code(installation, labs)
        check_handouts(installation, labs)
        done = install_kit(installation, Wish(chosen, not without_notebooks, needs), progress)
    _tell(done)


def _tell(done: Installed) -> None:
    prefix = done.prefix
    if done.no_kernel:
        told = f"each user has to find a kernel of virtual nodes for herself: {done.no_kernel}"
        click.echo(wrapped(f"numalab: {told}"), err=True)
    if not done.is_for_all:
        told = f"not every user of this system can reach {prefix.root}; see the modes above it"
        click.echo(wrapped(f"numalab: {told}"), err=True)
    click.echo(f"numalab {__version__} is installed in {prefix.path}. For users:")
    for kind, tool in zip(KINDS, ("Lmod", "Environment Modules"), strict=True):
        use = f"module use {prefix.modules / kind} && module load numalab"
        click.echo(f"  {use}    ({tool})")
    click.echo(f"or PATH={prefix.command.parent}:$PATH. Then: numalab setup")
