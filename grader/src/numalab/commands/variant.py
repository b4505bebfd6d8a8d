"""./numalab variant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from numalab.commands.completing import complete_lab
from numalab.commands.shared import shown_path
from numalab.commands.whose import seed_of_options, whose_options
from numalab.errors import wrapped
from numalab.exit_codes import EXIT_PASSED
from numalab.grading.variant_kits import make_variant, the_lab, write_own_files
from numalab.kit import Kit
from numalab.labs.variants import lab_with_variants


@click.command(short_help="Write your own variant of a lab, with another right answer.")
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@whose_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write DIR/NN_name_variant/ instead of the folder variants/ of this copy.",
)
@click.pass_obj
def variant(
    kit: Kit,
    name: str,
    owner: str | None,
    code: str | None,
    course: Path | None,
    seed: str | None,
    out: Path | None,
) -> int:
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
    """
    kit.need_solutions("./numalab variant")
    lab = lab_with_variants(kit.root, name)
    whose = seed_of_options(owner, code, course, seed)
    target = kit if out is None else replace(kit, variants=out.absolute())
    made, files, own_kit = make_variant(target, lab, whose)
    declared = the_lab(own_kit, made)
    folder = write_own_files(target, declared, files, whose)
    click.echo(
        wrapped(
            f"Your variant of {lab} is in {shown_path(folder)}: begin with its README.md. Grade "
            f"it: ./numalab grade {declared.called} --quick"
        )
    )
    return EXIT_PASSED
