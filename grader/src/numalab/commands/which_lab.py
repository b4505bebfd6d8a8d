"""Which lab a command is about, and the kit that has it: this one, or that of a variant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from numalab.grading.variant_installations import lab_of_named_variant, load_variant
from numalab.installation import Installation
from numalab.labs.declaration import Lab, choose_labs, load_labs
from numalab.labs.variants import is_variant_name


def variant_option(help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--variant, which named_lab reads as is_variant."""
    return click.option("--variant", "is_variant", is_flag=True, help=help_)


def named_lab(
    installation: Installation, name: str, is_variant: bool, above: Path | None = None
) -> tuple[Installation, Lab]:
    """A lab by its name or number, or with is_variant, or by a variant's name, the variant of it
    that lies in above, else among the user's own. Raises UserError and NumalabError."""
    name = name.rstrip("/")
    if not is_variant and not is_variant_name(name):
        (lab,) = choose_labs(load_labs(installation.root), [name])
        return installation, lab
    return load_variant(installation, lab_of_named_variant(installation, name), above)
