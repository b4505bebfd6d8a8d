"""./numalab machine import."""

from __future__ import annotations

import re
from pathlib import Path

import click

from numalab.commands.shared import progress_line, write_named
from numalab.errors import UserError
from numalab.harness.topology_reader import (
    build_reader,
    export_in,
    export_of_synthetic,
    is_probably_synthetic,
)
from numalab.installation import Installation
from numalab.machines.gallery import machine_names
from numalab.machines.hwloc_import import machine_text
from numalab.machines.machine_file import parse_machine
from numalab.machines.own import own_file, own_folder
from numalab.machines.picture import summary
from numalab.untrusted.visible import shown


@click.command(name="import", short_help="Describe a machine of your own, by hwloc.")
@click.argument("source", metavar="FILE|SYNTHETIC")
@click.option("--name", help="The machine's name. Left out: the file's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write here instead of NAME.toml in your own folder.",
)
@click.option("--force", is_flag=True, help="Overwrite a description that is there already.")
@click.pass_obj
def import_command(
    installation: Installation, source: str, name: str | None, output: Path | None, force: bool
) -> None:
    """Describe a machine from FILE, which hwloc wrote on it (lstopo node.xml), or from hwloc's
    SYNTHETIC description of one that there need not be.

    It is kept in ~/.local/share/numalab/machines, or where XDG_DATA_HOME or NUMALAB_MACHINES says,
    and found by its name from then on, as those of the kit are.

    \b
    Examples:
      ./numalab machine import node.xml --name ournode
      ./numalab machine import node.xml --output ~/ournode.toml
      ./numalab machine import "pack:2 numa:4 l3:2 core:8 pu:2" --name big
    """
    path = Path(source)
    is_synthetic = is_probably_synthetic(source) and not path.exists()
    if output is not None and output.suffix != ".toml":
        raise UserError(f"--output {output}: a machine's file ends in .toml; add that")
    if name is None:
        name = output.stem if output is not None else _name_of(path, is_synthetic)
    elif output is not None and output.stem != name:
        raise UserError(
            f"--output {output} and --name {name} don't fit: a machine is called as its file; "
            f"give one of them, or --output {output.with_name(f'{name}.toml')}"
        )
    if output is None and name in machine_names(installation):
        raise UserError(
            f"the kit has a machine '{name}' itself; take another name with --name, or write to "
            "another place with --output"
        )
    target = output or own_file(name)
    text = _described(installation, source, name, is_synthetic)
    if target.exists() and not force:
        raise UserError(f"{target} exists; --force overwrites it, --name takes another name")
    if output is None:
        _make_own_folder()
    write_named(target, text, "--output")
    machine = parse_machine(text, target)
    click.echo(f"{target}: {summary(machine)}")
    for note in machine.notes:
        click.echo(f"Note: {note}")
    click.echo(f"Next: ./numalab machine show {name if output is None else target}")


def _name_of(path: Path, is_synthetic: bool) -> str:
    if is_synthetic:
        raise UserError("a synthetic description has no name; give one, such as --name big")
    return re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._") or "machine"


def _described(installation: Installation, source: str, name: str, is_synthetic: bool) -> str:
    """The description's text. Raises UserError and NumalabError."""
    if not installation.describe_topology.is_file():
        with installation.lock(), progress_line("numalab") as progress:
            progress("building what reads exports of hwloc")
            build_reader(installation)
    path = Path(source)
    if is_synthetic:
        click.echo(f"No file is called '{source}': it is read as a synthetic description")
        export = export_of_synthetic(installation, source)
        return machine_text(export, name, f"hwloc synthetic {source}", f"'{source}'")
    if is_probably_synthetic(source):
        click.echo(f"A file is called '{source}': it is read, and the name is not")
    return machine_text(
        export_in(installation, path), name, f"hwloc export {shown(path.name)}", str(path)
    )


def _make_own_folder() -> None:
    folder = own_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: can't make the folder for machines of your own: {error.strerror}; name "
            "another one in NUMALAB_MACHINES, or a file with --output"
        ) from error
