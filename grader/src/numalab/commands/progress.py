"""./numalab progress: what a learner has done, and what comes next."""

from __future__ import annotations

from pathlib import Path

import click

import numalab
from numalab.commands import shared
from numalab.errors import wrapped
from numalab.files import write_json
from numalab.installation import Installation
from numalab.labs.hints import read_levels
from numalab.labs.variants import labs_and_variants
from numalab.learning import progress_report
from numalab.learning.initial_answers import read_initial_answers
from numalab.learning.progress import aside_path, is_damaged, load_progress
from numalab.terminal import make_console, stripped


@click.command(short_help="What you have done, and what comes next.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write it as JSON too.",
)
@click.pass_obj
def progress(installation: Installation, json_path: Path | None) -> None:
    """What you have done, and what comes next: of each lab your best result in each
    language, of what you wrote into labs/. `grade` and `watch` keep it in this copy of the
    kit; nothing is sent anywhere.

    A lab is done when nothing fails or is open in one of the languages. What this node
    can't show does not count, and neither does a handout as it was given to you. A lab
    is begun with the first grading of your own files, interrupted or not, or a hint.
    What you predicted and answered first, in its notebook or in a variant's
    predictions.toml, is told, too, and in the JSON with its time.

    \b
    Examples:
      ./numalab progress
      ./numalab progress --json progress.json
    """
    shared.check_json_target(json_path)
    labs = [
        lab
        for lab in labs_and_variants(installation.root).values()
        if not lab.is_variant or (installation.variants_root / lab.name).is_dir()
    ]
    reached, hints = load_progress(installation.progress_file), read_levels(installation.hints_file)
    said = {
        lab.name: read_initial_answers(
            (installation.variants_root if lab.is_variant else installation.notebooks) / lab.name
        )
        for lab in labs
    }
    if is_damaged(installation.progress_file):
        told = (
            f"{installation.progress_file} can't be read, so what it held is not shown. The next "
            "grading "
            f"begins a new one and keeps this one as {aside_path(installation.progress_file).name}."
        )
        click.echo(wrapped(f"numalab: {told}"), err=True)
    console = make_console()
    with stripped(console):
        progress_report.show_progress(console, labs, reached, hints, said)
    if json_path is not None:
        data = progress_report.progress_json(labs, reached, hints, said)
        write_json(json_path, {"kit_version": numalab.__version__, **data})
