"""What of a solution is no kernel and is needed where the solution itself is not: the files that
placements are held against, published figures, sealed answers.

In the kit they lie in solutions/NN_name/ as they are; in a student's edition in one file there,
coded: compressed, so that nobody meets them by looking around or searching. That is no
encryption, and none would hold, since what reads it is beside it.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, reason_of

CODED_FILE = "solution.coded"


@dataclass(frozen=True)
class Coded:
    """texts: of files, by name; answers: of the lab's questions, sealed."""

    texts: dict[str, str]
    answers: dict[str, Any]


def write_coded(folder: Path, coded: Coded) -> None:
    """Raises OSError."""
    text = json.dumps({"texts": coded.texts, "answers": coded.answers})
    (folder / CODED_FILE).write_bytes(zlib.compress(text.encode(), 9))


def read_coded(folder: Path) -> Coded:
    """folder: of a solution. Empty where there is none. Raises NumalabError."""
    path = folder / CODED_FILE
    try:
        data = json.loads(zlib.decompress(path.read_bytes()))
        return Coded(data["texts"], data["answers"])
    except FileNotFoundError:
        return Coded({}, {})
    except (OSError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise NumalabError(
            f"the kit's own {path} can't be read: {error}. Unpack this copy of the kit again."
        ) from error


def solution_text(folder: Path, name: str) -> str | None:
    """Of a file of a solution; None: it has none of that name. Raises OSError and NumalabError."""
    try:
        return (folder / name).read_text("utf-8")
    except FileNotFoundError:
        return read_coded(folder).texts.get(name)


def need_solution_text(folder: Path, name: str) -> str:
    """As solution_text, of a file that has to be there. Raises NumalabError."""
    try:
        text = solution_text(folder, name)
    except OSError as error:
        raise NumalabError(
            f"the kit's own {folder / name} can't be read: {reason_of(error)}"
        ) from error
    if text is None:
        raise NumalabError(
            f"the kit's own {folder / name} is missing; get this copy of the kit again"
        )
    return text
