"""./numalab hint: the next hint on a task of a lab."""

from __future__ import annotations

import click

from numalab.commands.completing import complete_lab, complete_topic
from numalab.commands.which_lab import named_lab, variant_option
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.labs.hints import (
    find_ladder,
    ladder_for,
    next_level,
    read_levels,
    remember,
    topics_of,
)
from numalab.learning.progress import load_progress


@click.command()
@click.argument("name", metavar="LAB", shell_complete=complete_lab)
@click.argument("topic", metavar="[TOPIC]", required=False, shell_complete=complete_topic)
@click.option("--level", type=click.IntRange(min=1), help="Show this hint; 1 is the weakest.")
@variant_option("Of your variant of the lab.")
@click.pass_obj
def hint(
    installation: Installation, name: str, topic: str | None, level: int | None, is_variant: bool
) -> None:
    """Show the next hint of a lab, a stronger one each time.

    In a lab of several tasks TOPIC says which: a function to write or a file beside the
    kernel. Left out, it is what failed first when the lab was last graded.

    \b
    Examples:
      ./numalab hint 01
      ./numalab hint 06 near          the next hint on near.toml
      ./numalab hint 01 --level 1     the first one again
    """
    installation, lab = named_lab(installation, name, is_variant)
    progress = load_progress(installation.progress_file)
    began_in = progress.began_in.get(lab.name, {})
    levels_seen = read_levels(installation.hints_file).get(lab.name, {})
    if topic is None:
        failed = progress.failed.get(lab.name, ())
        ladders = (ladder_for(lab, name, began_in.get(name, ""), levels_seen) for name in failed)
        ladder = next(filter(None, ladders), None) or ladder_for(lab, None)
    else:
        ladder = find_ladder(lab, topic, began_in, levels_seen)
    if ladder is None:
        raise UserError(f"lab {lab.name} has no hints")
    there_are = len(ladder.levels)
    if level is not None and level > there_are:
        raise UserError(f"lab {lab.name} has {there_are} hints, there is no number {level}")
    shown = level or next_level(ladder, levels_seen)
    installation.make_folders()
    remember(installation.hints_file, lab, ladder, shown)
    what = f"{lab.name}, {ladder.topic}" if ladder.topic else lab.name
    click.echo(f"Hint {shown} of {there_are} for {what}:\n")
    click.echo(click.wrap_text(ladder.levels[shown - 1], 78, preserve_paragraphs=True))
    if shown < there_are:
        words = [lab.called if lab.is_variant else name, ladder.topic]
        again = " ".join(["./numalab hint", *filter(None, words)])
        click.echo(f"\n{there_are - shown} stronger left: {again} again.")
    else:
        where = f" The solution is in solutions/{lab.name}/." if lab.shows_solution else ""
        click.echo(f"\nThat was the strongest.{where}")
    others = [topic for topic in topics_of(lab) if topic != ladder.topic]
    if others:
        click.echo(click.wrap_text(f"Hints on the rest: {', '.join(others)}.", 78))
