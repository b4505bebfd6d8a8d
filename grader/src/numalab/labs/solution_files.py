"""Files of a solution, read from its folder or from one compressed file there.

The compressed file keeps them from being found by browsing or searching. That is no encryption, and
none would be safe, since the program that reads the file is in the same copy.
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
    """The content of the compressed file."""

    texts: dict[str, str]  # files' texts by name
    answers: dict[str, Any]  # the lab's sealed answers, by question


def write_coded(folder: Path, coded: Coded) -> None:
    """Write the compressed file into a solution's folder."""
    text = json.dumps({"texts": coded.texts, "answers": coded.answers})
    (folder / CODED_FILE).write_bytes(zlib.compress(text.encode(), 9))


def read_coded(folder: Path) -> Coded:
    """Return the content of the compressed file in a solution's folder; empty where there is none.
    Raises NumalabError where it can't be read."""
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
    """Return the text of a solution's file, from its folder or else the compressed file there;
    None: neither has it. Raises NumalabError where the compressed file can't be read."""
    try:
        return (folder / name).read_text("utf-8")
    except FileNotFoundError:
        return read_coded(folder).texts.get(name)


def need_solution_text(folder: Path, name: str) -> str:
    """Return the text of a file that a solution must have. Raises NumalabError where it is missing
    or can't be read."""
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
