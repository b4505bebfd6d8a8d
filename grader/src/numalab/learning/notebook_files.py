"""Notebooks as files: students' copies, and the form in which numalab keeps its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import MIB, NotPlain, read_plain_text, write_whole
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.labs.kernel_names import NOTEBOOK

NAME = NOTEBOOK
_MOST_BYTES = 64 * MIB  # with the pictures of many runs
METADATA = {
    "kernelspec": {"display_name": "numalab", "language": "python", "name": "numalab"},
    "language_info": {"name": "python"},
}
# Text of the first cell: in another Jupyter kernel numalab can't be imported.
WHICH_KERNEL = (
    "This notebook needs the Jupyter kernel *numalab* (menu Kernel, Change Kernel); `./numalab "
    "notebook`, in a terminal in numalab's folder, starts a JupyterLab that has it."
)
_CELL_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_KERNEL_CELL = re.compile(r"%%kernel \S+ (c|fortran)(?:\n|$)")
_ABSOLUTE_PATH = re.compile(r"(?<![\w.~)])/(?:home|root|tmp|usr|opt|mnt|Users|var)/")

Notebook = dict[str, Any]
Handout = Callable[[str], str]  # returns the starting code in a language


def _text(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def complaints(notebook: Notebook, handout: Handout) -> Iterator[str]:
    """Yield sentences on deviations from the form in which numalab keeps its notebooks: format 4.5,
    no outputs, cells with names, the necessary metadata alone, no absolute paths such as those
    below /home, the starting code in kernel cells, and WHICH_KERNEL in the first cell."""
    if (notebook.get("nbformat"), notebook.get("nbformat_minor")) != (4, 5):
        yield "its format is not 4.5"
    if notebook.get("metadata") != METADATA:
        yield f"its metadata is {notebook.get('metadata')}"
    if WHICH_KERNEL not in _text(notebook["cells"][0]):
        yield f"its first cell does not say: {WHICH_KERNEL}"
    names: set[str] = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        name = str(cell.get("id", ""))
        where = f"cell {number} ({name or 'no id'})"
        if not _CELL_ID.fullmatch(name) or name in names:
            yield f"{where}: the id is missing, ill-formed or there twice"
        names.add(name)
        if cell.get("metadata") != {}:
            yield f"{where}: it has metadata"
        if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"]):
            yield f"{where}: it has outputs"
        text = _text(cell)
        if _ABSOLUTE_PATH.search(text):
            yield f"{where}: it has an absolute path"
        kernel = _KERNEL_CELL.match(text)
        if kernel and text[kernel.end() :] != handout(kernel[1]).rstrip("\n"):
            yield f"{where}: its kernel is not the handout, {KERNEL_FILES[kernel[1]]}"


def tidied(notebook: Notebook, handout: Handout) -> str:
    """Return the text of a notebook with what numalab's form has of format, metadata, ids, outputs
    and kernel cells. A cell whose id is no name of its own is numbered."""
    cells = []
    used: set[str] = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        text = _text(cell)
        kernel = _KERNEL_CELL.match(text)
        if kernel:
            text = kernel[0].rstrip("\n") + "\n" + handout(kernel[1]).rstrip("\n")
        name = str(cell.get("id", ""))
        if not _CELL_ID.fullmatch(name) or re.fullmatch(r"[0-9a-f-]{8,}", name) or name in used:
            name = f"cell-{number}"
        used.add(name)
        kept: dict[str, Any] = {"cell_type": cell["cell_type"], "id": name, "metadata": {}}
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append(kept | {"source": text.splitlines(keepends=True)})
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def read_notebook(path: Path) -> Notebook:
    """Read a notebook's file. Raises UserError where it can't be read or is no notebook."""
    try:
        text = read_plain_text(path, _MOST_BYTES, follow_links=True)
        notebook: Notebook = json.loads(text)
        if not _has_cells(notebook):
            raise ValueError("it has no cells")
    except FileNotFoundError as error:
        raise UserError(f"{path} can't be read: there is no such file") from error
    except NotPlain as error:
        raise UserError(f"{path} {error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is no notebook ({error}). Move it away, and the next ./numalab notebook "
            "makes a new copy."
        ) from error
    return notebook


def _has_cells(notebook: object) -> bool:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    return isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells)


def explanation_prompt(notebook: Notebook) -> str:
    """Return the question that a notebook's cell "explain-text" asks; empty where it has none."""
    texts = (_text(cell) for cell in notebook["cells"] if cell.get("id") == "explain-text")
    asked = re.search(r": ([^:?]+\?)", next(texts, ""))
    return asked[1][:1].upper() + asked[1][1:] if asked else ""


def given_notebook(installation: Installation, lab: str) -> Path:
    """Return the path of a lab's notebook as it is given; there may be no such file."""
    return installation.given_folder(lab) / NAME


def labs_with_notebook(installation: Installation, labs: dict[str, Lab]) -> list[str]:
    """Return the names of the labs that have a notebook."""
    return [name for name in labs if given_notebook(installation, name).is_file()]


def working_copy(installation: Installation, lab: str) -> tuple[Path, bool]:
    """Return the student's copy of a lab's notebook, and whether it was made now. An existing one
    stays as it is. Raises UserError for a lab that has no notebook, and NumalabError where it can't
    be copied."""
    source = given_notebook(installation, lab)
    if not source.is_file():
        raise UserError(
            f"{lab} has no notebook. Work with it as labs/{lab}/README.md says: ./numalab grade "
            f"{lab.split('_')[0]}"
        )
    copy = installation.notebooks / lab / NAME
    if copy.exists():
        return copy, False
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_whole(copy, source.read_text(encoding="utf-8"))
    except OSError as error:
        raise NumalabError(f"no copy of the notebook can be made: {reason_of(error)}") from error
    return copy, True
