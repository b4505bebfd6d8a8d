"""Which labs numalab publishes: those with a row in README.md's table of labs.

Another lab has nothing outside its two folders (CONTRIBUTING.md, "Add a lab"), so tests that hold
it want only what its lab.toml declares. What stands elsewhere is wanted of published ones; there a
test that fails says with `row_of` which row is missing, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[3]
_ROW = re.compile(r"^\| \[[^\]]+\]\(labs/(\w+)/README\.md\) \| \S", re.MULTILINE)

Of = TypeVar("Of")


def published_names() -> list[str]:
    """Return the names of published labs, in the table's order."""
    return _ROW.findall((ROOT / "README.md").read_text("utf-8"))


def published(labs: Mapping[str, Of]) -> dict[str, Of]:
    """Return the published ones of labs, by name, in their own order."""
    names = {*published_names()}
    return {name: lab for name, lab in labs.items() if name in names}


def is_published(name: str) -> bool:
    return name in published_names()


def row_of(name: str, row: str, file: str) -> str:
    """Return what is to be done where a published lab's row is missing. file: from numalab's
    root."""
    return (
        f"{name} has a row in README.md, so it is published: add {row} to {file}, or take it out "
        "of README.md"
    )
