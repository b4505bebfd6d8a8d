"""What a shell may offer for an argument. Quick: no lab is parsed but the one that is named, and
nothing is built. Where the kit can't be read there is nothing to offer."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import choose_labs, lab_names, load_labs


def _installation() -> Installation | None:
    try:
        return find_installation("gnu")
    except (NumalabError, UserError):
        return None


def _starting(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_lab(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of labs, those without that are given already; 3 and 03 stand for 03_scheduling."""
    installation = _installation()
    names = [] if installation is None else lab_names(installation.root)
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

    installation, name = _installation(), context.params.get("name")
    if installation is None or name is None:
        return []
    try:
        (lab,) = choose_labs(load_labs(installation.root), [name])
    except (NumalabError, UserError):
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
    installation = _installation()
    return [] if installation is None else _starting(known_names(installation), incomplete)
