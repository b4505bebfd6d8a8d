"""Make the notebook of a variant from its text and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numalab.errors import NumalabError, reason_of
from numalab.files import write_whole
from numalab.grading.variant_installations import TICKET
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.learning.notebook_files import NAME, WHICH_KERNEL, tidied

Cell = dict[str, Any]


def variant_copy(installation: Installation, lab: Lab) -> tuple[Path, bool]:
    """Return the notebook of a student's variant, and whether it was made now. The variant's ticket
    is then copied to the same folder. An existing notebook stays as it is. Raises NumalabError
    where it can't be written."""
    folder, of_lab = installation.notebooks / lab.name, installation.lab_folder(lab.name)
    copy = folder / NAME
    if copy.exists():
        return copy, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = {path.name: path.read_text(encoding="utf-8") for path in of_lab.glob("*.*")}
        write_whole(
            folder / TICKET, (installation.own_folder(lab.name) / TICKET).read_text("utf-8")
        )
        write_whole(copy, variant_notebook(lab, files))
    except OSError as error:
        raise NumalabError(f"no notebook of the variant can be made: {reason_of(error)}") from error
    return copy, True


def variant_notebook(lab: Lab, files: Mapping[str, str]) -> str:
    """Return the text of a variant's notebook.
    files: texts of the variant's files by name: README.md, kernels, and all that is handed in."""
    notebook = {"cells": list(_cells(lab, files))}
    return tidied(notebook, lambda language: files[KERNEL_FILES[language]])


def _words(name: str, text: str) -> Cell:
    return {"id": name, "cell_type": "markdown", "source": text}


def _code(name: str, text: str) -> Cell:
    return {"id": name, "cell_type": "code", "source": text}


def _cells(lab: Lab, files: Mapping[str, str]) -> Iterator[Cell]:
    title, _, text = files["README.md"].rstrip("\n").partition("\n")
    chosen, *more = lab.languages
    others = "".join(f'  # or "{language}"' for language in more)
    of_yours, left_out = "", ""
    if more:
        of_yours, left_out = " of your language", " The other cell leaves itself out."
    yield _words("text", f"{title}\n\n{WHICH_KERNEL}\n{text}")
    setup = f'%load_ext numalab\nlab = open_notebook("{lab.name}")\nlanguage = "{chosen}"{others}'
    yield _code("setup", setup)
    yield _words(
        "kernel-text",
        f"## The kernel\n\nEdit the cell{of_yours} and run it: it is built, run and "
        f"looked at, at once.{left_out}",
    )
    for language in lab.languages:
        yield _code(f"kernel-{language}", f"%%kernel {lab.name} {language}")
    for file in lab.files:
        name = re.sub(r"[^a-z0-9]+", "-", file.name.lower())
        yield _code(f"file-{name}", f"%%labfile {lab.name} {file.name}\n{files[file.name]}")
    if not lab.mpi:
        yield _words("look-text", "## Look\n\nWho writes which page first, and who uses it.")
        yield _code("touch-map", "lab.show(run.touch_map)")
    yield _words("grade-text", "## Grade")
    yield _code("grade", "graded = lab.grade(language)\nprint(graded)")
    yield _words(
        "explain-text",
        "## Explain\n\nIn three sentences: why is the lab's own answer wrong here, what did "
        "you change, and what in the report shows that it helped?",
    )
    yield _code("explain", 'lab.explain("""\n\n""")')
    yield _words(
        "end",
        f"## And now\n\nHand in what lies in `notebooks/{lab.name}/`, the files and "
        f"`variant.toml`, or copy it to `{lab.own_place}/`.",
    )
