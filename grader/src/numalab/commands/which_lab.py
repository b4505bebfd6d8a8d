"""Which lab a command is about, and the kit that has it: this one, or that of a variant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from numalab.grading.variant_kits import lab_of_named_variant, open_variant
from numalab.kit import Kit
from numalab.labs.declaration import Lab, choose_labs, load_labs
from numalab.labs.variants import is_variant_name


def variant_option(help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--variant, which named_lab reads as is_variant."""
    return click.option("--variant", "is_variant", is_flag=True, help=help_)


def named_lab(kit: Kit, name: str, is_variant: bool, above: Path | None = None) -> tuple[Kit, Lab]:
    """A lab by its name or number, or with is_variant, or by a variant's name, the variant of it
    that lies in above, else among the user's own. Raises UserError and KitError."""
    name = name.rstrip("/")
    if not is_variant and not is_variant_name(name):
        (lab,) = choose_labs(load_labs(kit.root), [name])
        return kit, lab
    return open_variant(kit, lab_of_named_variant(kit, name), above)
