"""The command that asks what links carry: ./numalab rates ..."""

from __future__ import annotations

import click

from numalab.labs import lab_modules
from numalab.labs.seeds import SEEDS


@click.command(short_help="What is asked about links, by a seed of your own.")
@click.argument("seed", type=click.IntRange(SEEDS[0], SEEDS[-1]))
def rates(seed: int) -> None:
    """Print the questions of lab 09 that SEED draws, with the keys of their answers in
    rates.toml.

    \b
    Example:
      ./numalab rates 1234
    """
    lab_modules.need_module("link_questions", "09_interconnect")
    from link_questions import KEYS, QUESTIONS, draw_links

    asked, width = draw_links(seed), max(map(len, KEYS))
    click.echo(f"In rates.toml, with seed = {seed}:")
    for question in QUESTIONS:
        key = f"  {question.key:{width}}   "
        click.echo(click.wrap_text(question.text(asked), 80, key, " " * len(key)))
    click.echo("Three digits are enough. 1 GB = 10^9 bytes, 1 MB = 10^6, 1 MiB = 2^20.")
