"""Notebooks as files: learners' copies of them, and the form in which the kit keeps its own.
Pure but for working_copy; needs neither IPython nor JupyterLab."""

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
_MOST_BYTES = 64 * MIB  # with the pictures of a long session
METADATA = {
    "kernelspec": {"display_name": "numalab", "language": "python", "name": "numalab"},
    "language_info": {"name": "python"},
}
# Of the first cell, so that nobody looks for it: another kernel has no numalab.
WHICH_KERNEL = (
    "This notebook needs the Jupyter kernel *numalab* (menu Kernel, Change Kernel); `./numalab "
    "notebook`, in a terminal in numalab's folder, starts a JupyterLab that has it."
)
_CELL_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_KERNEL_CELL = re.compile(r"%%kernel \S+ (c|fortran)(?:\n|$)")
_ABSOLUTE_PATH = re.compile(r"(?<![\w.~)])/(?:home|root|tmp|usr|opt|mnt|Users|var)/")

Notebook = dict[str, Any]
Handout = Callable[[str], str]  # of a language, the handout kernel


def _text(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def complaints(notebook: Notebook, handout: Handout) -> Iterator[str]:
    """What is not as the kit keeps its notebooks: no outputs, named cells, no more metadata than
    is needed, no paths of one computer, the handout's kernels in kernel cells, and in the first
    cell which Jupyter kernel to choose."""
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
    """The text of the notebook as the kit keeps it. Cells without a readable id are numbered."""
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
    """Raises UserError."""
    try:
        text = read_plain_text(path, _MOST_BYTES, follow_links=True)
        notebook: Notebook = json.loads(text)
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


def explanation_prompt(notebook: Notebook) -> str:
    """What a notebook of the kit asks to be explained, from its cell "explain-text": the sentence
    with a question; empty where there is none."""
    texts = (_text(cell) for cell in notebook["cells"] if cell.get("id") == "explain-text")
    asked = re.search(r": ([^:?]+\?)", next(texts, ""))
    return asked[1][:1].upper() + asked[1][1:] if asked else ""


def given_notebook(installation: Installation, lab: str) -> Path:
    return installation.given_folder(lab) / NAME


def labs_with_notebook(installation: Installation, labs: dict[str, Lab]) -> list[str]:
    """Names of the labs that have one."""
    return [name for name in labs if given_notebook(installation, name).is_file()]


def working_copy(installation: Installation, lab: str) -> tuple[Path, bool]:
    """The learner's copy, made if there is none and never overwritten; and whether it was made.
    Raises UserError for a lab that has no notebook, and NumalabError."""
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
