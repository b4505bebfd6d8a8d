"""Files of a solution that are needed without its kernels: those that placements are compared with,
published figures, sealed answers.

They are in solutions/NN_name/; in a student copy in one file there, which is compressed, so that
students don't come across them by browsing or searching. That is no encryption, and none would
hold, since the program that reads the file is next to it.
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
    """The content of the compressed file: texts of files by name, and the lab's sealed answers."""

    texts: dict[str, str]
    answers: dict[str, Any]


def write_coded(folder: Path, coded: Coded) -> None:
    """Write the compressed file of a solution's folder. Raises OSError."""
    text = json.dumps({"texts": coded.texts, "answers": coded.answers})
    (folder / CODED_FILE).write_bytes(zlib.compress(text.encode(), 9))


def read_coded(folder: Path) -> Coded:
    """Read the compressed file of a solution's folder; empty where there is none. Raises
    NumalabError."""
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
    """Return the text of a solution's file; None: it has none of that name. Raises OSError and
    NumalabError."""
    try:
        return (folder / name).read_text("utf-8")
    except FileNotFoundError:
        return read_coded(folder).texts.get(name)


def need_solution_text(folder: Path, name: str) -> str:
    """Return the text of a file that a solution must have. Raises NumalabError."""
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
