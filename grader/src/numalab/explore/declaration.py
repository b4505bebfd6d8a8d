"""Read a lab's explore.toml, which declares its exploration at a default and a quick size."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from numalab.errors import NumalabError, UserError
from numalab.explore.experiment import Exploration, experiment_kinds
from numalab.installation import GRADING
from numalab.toml_files.tables import read_table

FILE = "explore.toml"
SIZES = ("default", "quick")


def load_exploration(folder: Path, quick: bool = False) -> Exploration:
    """Return the exploration of a lab's folder at its default or its quick size.
    Raises NumalabError where explore.toml is missing or malformed."""
    top = read_table(folder / GRADING / FILE, NumalabError, None)
    kinds = experiment_kinds()
    experiment = kinds[top.choice("kind", kinds)]
    top.check_keys(("kind", "title", *experiment.KEYS, *SIZES))
    top.need("title", *SIZES)
    made = {size: experiment.read(top, size) for size in SIZES}
    return Exploration(folder.name, top.text("title"), made["quick" if quick else "default"])


def find_exploration(root: Path, name: str) -> Path:
    """Return the folder of a lab by its name (02_affinity, affinity) or number (2, 02).
    root: the folder that holds labs/. Raises UserError for no such lab, or one without an
    exploration."""
    name = Path(name.rstrip("/")).name
    labs = sorted(
        path for path in (root / "labs").iterdir()
        if any((path / GRADING / name).is_file() for name in ("lab.toml", FILE))
    )  # fmt: skip
    able = [path.name for path in labs if (path / GRADING / FILE).is_file()]
    with_one = f"Labs with an exploration: {', '.join(able) or 'none'}"
    for path in labs:
        number, _, word = path.name.partition("_")
        if name in (path.name, word) or name.zfill(2) == number:
            if path.name not in able:
                raise UserError(f"lab {path.name} has no exploration. {with_one}")
            return path
    near = difflib.get_close_matches(name, [path.name for path in labs], n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lab '{name}'.{hint} {with_one}")


def resized(exploration: Exploration, rounds: int | None, n: int | None) -> Exploration:
    """Return the exploration with another number of rounds or another n; None keeps either.
    n: as for Experiment.resize. Raises UserError for an n that the experiment can't have."""
    what = exploration.what if n is None else exploration.what.resize(n)
    if rounds is not None:
        what = what.repeat(rounds)
    return replace(exploration, what=what)
