"""./numalab variant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.shared import progress_line, shown_path, taking_one
from numalab.commands.whose import seed_of_options, whose_options
from numalab.errors import wrapped
from numalab.exit_codes import EXIT_PASSED
from numalab.grading.variant_installations import make_variant, pack_path, the_lab, write_own_files
from numalab.installation import Installation
from numalab.labs.variants import lab_with_variants


@dataclass(frozen=True)
class _Options:
    """As they stand on the command line; see the help of each."""

    name: str
    owner: str | None
    code: str | None
    course: Path | None
    seed: str | None
    out: Path | None
    is_packed: bool


@click.command(short_help="Write your own variant of a lab, with another right answer.")
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@whose_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write DIR/NN_name_variant/ instead of the folder variants/ of this copy.",
)
@click.option(
    "--pack",
    "is_packed",
    is_flag=True,
    help="Staff: write DIR/NN_name_variant.pack, too, with which a student's edition grades it.",
)
@click.pass_obj
@taking_one(_Options)
def variant(installation: Installation, options: _Options) -> int:
    """Write a variant of a lab: the same criteria, and another right answer than the lab's.

    Which one is drawn from your code. The files go to variants/NN_name_variant/; edit the
    kernels there, grade them by `./numalab grade NN --variant`, and hand in that folder. Files
    that are there already are left as they are.

    \b
    Examples:
      ./numalab variant 01 --for ada --code 7KX-0QM-2F9
      ./numalab variant 01 --seed today            to study alone
      ./numalab grade 01 --variant --quick
      ./numalab variant 01 --for ada --course course --out hand-out/ada     staff
      ./numalab variant 01 --for ada --course course --out hand-out/ada --pack
    """
    installation.need_solutions("./numalab variant")
    lab = lab_with_variants(installation.root, options.name)
    whose = seed_of_options(options.owner, options.code, options.course, options.seed)
    out = options.out
    target = installation if out is None else replace(installation, variants=out.absolute())
    made, files, own_kit = make_variant(target, lab, whose)
    declared = the_lab(own_kit, made)
    folder = write_own_files(target, declared, files, whose)
    if options.is_packed:
        from numalab.editions.write import pack_variant

        path = pack_path(folder)
        with installation.lock(), progress_line(made.name) as progress:
            pack_variant(own_kit, declared, path, progress)
        click.echo(
            wrapped(
                f"{shown_path(folder)} and {shown_path(path)} are the variant of {whose.owner}: "
                "both go into the folder variants/ of that student's edition."
            )
        )
        return EXIT_PASSED
    click.echo(
        wrapped(
            f"Your variant of {lab} is in {shown_path(folder)}: begin with its README.md. Grade "
            f"it: ./numalab grade {declared.called} --quick"
        )
    )
    return EXIT_PASSED
