"""./numalab edition: a copy of the kit for students, without solutions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.shared import progress_line, shown_path
from numalab.errors import wrapped
from numalab.files import expand_home
from numalab.grading.own_files import keep_starting_code
from numalab.harness.build import configure
from numalab.installation import Installation
from numalab.installing.copying import check_handouts
from numalab.judging.rules import load_labs
from numalab.labs.declaration import choose_labs
from numalab.words import count


@click.command(short_help="Write a copy of the kit for students, without solutions.")
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("names", metavar="[LAB]...", nargs=-1, shell_complete=complete_lab)
@click.option("--labs", "listed", metavar="LAB,LAB", default="", help="Of these labs alone.")
@click.pass_obj
def edition(installation: Installation, out: Path, names: Sequence[str], listed: str) -> None:
    """Write what students get: the kit without the text of any solution, of answers and of
    wrong submissions. They grade, watch, read hints, open notebooks and see their progress
    there as in the kit, and verdicts are the same.

    Where a solution has to run beside a student's kernel it is there as an object, for
    x86-64 and x86-64-v3. Before the command says that it is done it has searched all files
    for lines of solutions. OUT is a new folder or an empty one.

    \b
    Examples:
      ./numalab edition ~/numalab-students
      ./numalab edition ~/numalab-students 01 03
      ./numalab edition ~/numalab-students --labs 01,02
    """
    from numalab.editions.write import check_target, write_edition

    installation.need_solutions("./numalab edition")
    target = expand_home(out).absolute()
    check_target(target)
    asked = [*names, *filter(None, listed.split(","))]
    labs = sorted(choose_labs(load_labs(installation.root), asked), key=lambda lab: lab.name)
    with installation.lock(), progress_line("edition") as progress:
        configure(installation)  # by which handouts are known
        keep_starting_code(installation, labs)
        check_handouts(installation, labs)
        files = write_edition(installation, labs, target, progress)
    click.echo(
        wrapped(
            f"{shown_path(target)}: {count(len(labs), 'lab')}, {count(files, 'file')}, "
            "and no line of a solution among them."
        )
    )
    click.echo("Next: pack it (tar czf numalab.tar.gz -C ... .), and give it to students.")
