"""Whether a file that was handed in is the starting code, whatever comments and blanks it has."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from numalab.course.intake.taking import IsStarting
from numalab.kit import Kit
from numalab.labs.declaration import KERNEL_FILES, Lab

# What is not closed ends with the text or the line, so that no end is looked for twice.
_C = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*|(\"(?:\\.|[^\"\\\n])*\"?)", re.S)
_FORTRAN = re.compile(r"!(?!\$)[^\n]*|(\"[^\"\n]*\"?|'[^'\n]*'?)")
_LINES = re.compile(r"#[^\n]*")
_LANGUAGE = {file: language for language, file in KERNEL_FILES.items()}


def _code(name: str, content: bytes) -> str:
    """Without comments and blanks."""
    text = content.decode("utf-8", "replace")
    language = _LANGUAGE.get(name)
    if language == "c":
        text = _C.sub(lambda found: found[1] or " ", text)
    elif language == "fortran":
        text = _FORTRAN.sub(lambda found: found[1] or " ", text).lower()
    else:
        text = _LINES.sub(" ", text)
    return "".join(text.split())


def starting_code(kit: Kit) -> IsStarting:
    """A function that tells the starting code of the kit's labs. Of a variant, which each student
    has another one of, nothing is."""

    @functools.cache
    def given(folder: Path, name: str) -> str | None:
        try:
            return _code(name, (folder / name).read_bytes())
        except OSError:
            return None

    def is_starting(lab: Lab, name: str, content: bytes) -> bool:
        if lab.is_variant:
            return False
        pristine = kit.pristine_folder(lab.name)  # whatever somebody has made of labs/
        folder = pristine if pristine.is_dir() else kit.lab_folder(lab.name)
        return given(folder, name) == _code(name, content)

    return is_starting
