"""The command that writes what a frequency governor has left behind, and asks about it; or tells
what this node's have."""

from __future__ import annotations

from pathlib import Path

import click

from numalab.doctor.frequency_policies import read_policies
from numalab.doctor.frequency_report import report
from numalab.errors import UserError, reason_of
from numalab.files import write_whole
from numalab.installation import Installation
from numalab.labs import lab_modules
from numalab.labs.seeded_answers import SEED
from numalab.machines.seeded import SEEDS

ROOT = Path("/")


@click.command(short_help="A recording of a frequency governor, or this node's own.")
@click.argument("seed", type=click.IntRange(SEEDS[0], SEEDS[-1]), required=False)
@click.option(
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the recording there, as /sys has it; a new folder, or an empty one.",
)
@click.option(
    "--here",
    is_flag=True,
    help="No recording: what /sys tells of this node's own clock, and what that means for times.",
)
@click.pass_obj
def governor(installation: Installation, seed: int | None, folder: Path | None, here: bool) -> None:
    """Write what the governor `ondemand` has left in /sys on a node, and print the questions
    about it, with the keys of their answers in governor.toml.

    SEED is any whole number of your own; each makes another recording. With --here in its place:
    the governors of this node, where its kernel has any.

    \b
    Examples:
      ./numalab governor 1234
      ./numalab governor 1234 --output recording
      ./numalab governor --here
    """
    if here:
        if seed is not None or folder is not None:
            raise click.UsageError("--here goes alone: it is about this node, and no recording.")
        click.echo("\n".join(report(read_policies(ROOT))))
        return
    if seed is None:
        raise click.UsageError("Name a number of your own, such as 1234, or --here.")
    del installation
    lab_modules.need_module("governor_answers", "08_quiet_node")
    from governor_answers import KEYS, QUESTIONS
    from governor_tree import make_recording, tree

    if folder is not None:
        _write(tree(make_recording(seed)), folder)
        click.echo(f"The recording is in {folder / 'sys/devices/system/cpu'}")
    click.echo("In governor.toml:")
    width = max(map(len, KEYS))
    click.echo(f"  {SEED:{width}} = {seed}")
    for question in QUESTIONS:
        head = f"  {question.key:{width}}   "
        click.echo(click.wrap_text(question.text, 79, head, " " * len(head)))
    if folder is None:
        click.echo(f"Next: ./numalab governor {seed} --output FOLDER")


def _write(files: dict[str, str], folder: Path) -> None:
    """Raises UserError."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"--output {folder}: something is there; name a new folder")
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
    except OSError as error:
        raise UserError(f"--output {folder}: {reason_of(error)}") from error
