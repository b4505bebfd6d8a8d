"""The slides' figures, by name. Each is drawn by a function of one of these modules, from
published figures or from records; none is kept as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import diagrams, machines, recorded, yardstick
from figures.common import Draw, Sources, save, style
from numalab.errors import UserError

FIGURES: dict[str, Draw] = (
    diagrams.FIGURES | machines.FIGURES | recorded.FIGURES | yardstick.FIGURES
)


def draw(names: Sequence[str], folder: Path, results: Path | None) -> Iterator[str]:
    """Writes NAME.svg for each. results: an instructor's own records, as build/gnu/results, or
    None; then yields what of them was used. Raises UserError, NumalabError, OSError."""
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        raise UserError(f"no script in slides/figures draws {', '.join(unknown)}")
    if results is not None and not results.is_dir():
        raise UserError(f"there are no results in {results}; grade first, as slides/README.md says")
    folder.mkdir(parents=True, exist_ok=True)
    sources = Sources(results)
    with style():
        for name in names:
            save(name, FIGURES[name](sources), folder / f"{name}.svg")
    if results is not None:
        for path, is_own in sources.used.items():
            yield f"{path}: {'your own' if is_own else 'not there; the record of the kit'}"
