"""./numalab setup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from numalab.commands.reporter import note
from numalab.commands.shared import (
    prepare_virtual_nodes,
    progress_line,
    virtual_places,
)
from numalab.errors import UserError, wrapped
from numalab.grading.own_files import keep_starting_code, provide
from numalab.grading.request import (
    labs_with_mpi,
)
from numalab.grading.trial import grade_on_trial
from numalab.harness.build import build_targets, configure
from numalab.installation import Installation
from numalab.judging.rules import load_labs

if TYPE_CHECKING:  # their modules are imported when a command needs them
    pass


@click.command()
@click.option("--yes", is_flag=True, help="Install system packages without asking.")
@click.option(
    "--packages", metavar="[SYSTEM]",
    help="Only print the system packages that the kit uses, in one line, by the names of SYSTEM: "
    "apt, dnf (Fedora), el (RHEL and its relatives), zypper, pacman, conda or spack; without it by "
    "this system's.",
)  # fmt: skip
@click.option("--packages-only", is_flag=True, help="Install system packages, and nothing else.")
@click.option("--without-virtual-nodes", is_flag=True, help="No QEMU, and no kernel for it.")
@click.option("--notebooks", is_flag=True, help="Install JupyterLab too, 100 MB.")
@click.pass_obj
def setup(
    installation: Installation,
    yes: bool,
    packages: str | None,
    packages_only: bool,
    without_virtual_nodes: bool,
    notebooks: bool,
) -> None:
    """Install what is missing and build the kit; safe to repeat.

    System packages are installed with apt, as root or through sudo. Elsewhere set-up names what is
    missing, what works without it, and how it is had: by the administrator, or without root from
    modules, conda or Spack.

    \b
    Examples:
      ./numalab setup
      ./numalab setup --yes                    without asking
      ./numalab --preset llvm setup            with clang instead of gcc
      sudo ./numalab setup --packages-only     as root, for users who have none
      ./numalab setup --notebooks              and what ./numalab notebook needs
      ./numalab setup --packages el            what Rocky Linux calls them
    """
    if packages is not None:
        raise UserError("--packages comes right after setup: ./numalab setup --packages el")
    # The launcher has acted on these before this program could start.
    del yes, packages_only, notebooks
    labs = list(load_labs(installation.root).values())
    provide(installation, labs, note)
    with installation.lock(), progress_line("setup") as progress:
        progress("configuring")
        configure(installation)
        keep_starting_code(installation, labs)
        progress("building")
        workers = [
            installation.worker(lab.name, language, "solution").name
            for lab in labs_with_mpi(installation, labs, False, note)
            for language in lab.languages
        ]
        build_targets(installation, ["all", *workers])
        with virtual_places(installation) as places:
            grade_on_trial(installation, labs, places, progress)
        unable = None if without_virtual_nodes else prepare_virtual_nodes(installation, progress)
    if unable:
        click.echo(wrapped(f"numalab: no virtual nodes here: {unable}"), err=True)
    click.echo(wrapped(f"numalab is ready ({installation.build}). Next: ./numalab doctor"))
