"""What a shell may offer for an argument. Quick: no lab is parsed but the one that is named, and
nothing is built. Where the kit can't be read there is nothing to offer."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from numalab.errors import KitError, UserError
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import choose_labs, lab_names, load_labs


def _kit() -> Kit | None:
    try:
        return find_kit("gnu")
    except KitError:
        return None


def _starting(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_lab(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of labs, those without that are given already; 3 and 03 stand for 03_scheduling."""
    kit = _kit()
    names = [] if kit is None else lab_names(kit.root)
    given = context.params.get(parameter.name or "") or ()
    left = [name for name in names if name not in given]
    if incomplete.isdigit() and len(incomplete) == 1 and incomplete != "0":
        incomplete = incomplete.zfill(2)
    return _starting(left, incomplete)


def complete_topic(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What the named lab has hints on."""
    del parameter
    from numalab.labs.hints import topics_of

    kit, name = _kit(), context.params.get("name")
    if kit is None or name is None:
        return []
    try:
        (lab,) = choose_labs(load_labs(kit.root), [name])
    except (KitError, UserError):
        return []
    return _starting(list(topics_of(lab)), incomplete)


def complete_machine(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of described machines, or files where a path is begun."""
    del context, parameter
    from numalab.machines.gallery import known_names

    if "/" in incomplete or incomplete.startswith((".", "~")):
        return [CompletionItem(incomplete, type="file")]
    kit = _kit()
    return [] if kit is None else _starting(known_names(kit), incomplete)
