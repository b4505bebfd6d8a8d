"""Which of the kit's files are in an edition, and in which form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from numalab.editions.search import Exception_, Secret, leaks_in
from numalab.installing.copying import kit_files

# Beside what no installation has (installing/copying.py), such as the suite: what is made for
# those who teach.
_FOR_STAFF = (
    "solutions/*", "labs/*/variant/*", "slides/*", ".devcontainer/*",
    "grader/src/numalab/editions/exceptions.toml",
)  # fmt: skip
_LADDER = re.compile(r"^(?=# )", re.MULTILINE)
_HINT = re.compile(r"^---\s*\n", re.MULTILINE)


def edition_files(root: Path, labs: Collection[str]) -> Iterator[Path]:
    """Paths from the kit's root of all that an edition of these labs has as the kit has it, or,
    of hints, shortened. What it has of solutions is made: objects.py, labs/solution_files.py."""
    for path in kit_files(root):
        is_of_lab = path.parts[0] == "labs" and len(path.parts) > 2
        if is_of_lab and path.parts[1] not in labs:
            continue
        if not any(fnmatch(path.as_posix(), pattern) for pattern in _FOR_STAFF):
            yield path


def hints_without(text: str, file: str, secret: Secret, exceptions: Sequence[Exception_]) -> str:
    """hints.md, of each ladder what comes before the first hint with a line of the solution. The
    weakest hint stays in any case; the search tells of it."""

    def is_open(hint: str) -> bool:
        return any(leaks_in(hint.encode(), file, (secret,), exceptions))

    ladders = []
    for ladder in _LADDER.split(text):
        hints = _HINT.split(ladder)
        kept = next((i for i, hint in enumerate(hints) if i and is_open(hint)), len(hints))
        ladders.append("---\n".join(hints[:kept]).rstrip("\n") + "\n")
    return "\n".join(ladders) if len(ladders) > 1 else ladders[0]
