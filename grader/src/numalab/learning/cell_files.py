"""Write the text of a notebook's cell to a file in the student's folder.

Unless the student has the file replaced, a cell replaces only starting code and what cells of its
notebook, or of this process, wrote last. A cell with starting code replaces only starting code and
what this process wrote, so that a notebook that is run as it was given, or opened again without
having been saved, does not destroy a solved kernel. A notebook whose name is not known counts as
any of its folder. cells.json in the same folder has digests of what cells wrote last.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import read_json, write_json, write_whole
from numalab.labs.starting_code import digest_of

FILE = "cells.json"
_GIVEN = ""  # key, in place of a notebook's, of starting code that was put where no file was
_UNNAMED = "?"  # stands for the name of a notebook that is not known

_notebooks: list[Notebook] = []  # the notebook of this process, once it is known
_written: dict[Path, str] = {}  # digests of what cells of this process wrote last


@dataclass(frozen=True)
class Notebook:
    """The notebook whose cells this process runs. folder: the working directory when know_notebook
    was called; name: the name of its file, empty where it is not known."""

    folder: Path
    name: str = ""

    def key(self, folder: Path) -> str:
        """Return the notebook's key in cells.json of a folder: its path relative to that folder,
        with "?" for a name that is not known."""
        own = Path(os.path.relpath(self.folder.resolve(), folder.resolve()))
        return (own / (self.name or _UNNAMED)).as_posix()


def know_notebook(file: object = None) -> None:
    """Keep which notebook this process runs, with the present working directory as its folder.
    file: the notebook's file, if it is a string; otherwise the variable JPY_SESSION_NAME names
    it."""
    told = file if isinstance(file, str) else os.environ.get("JPY_SESSION_NAME", "")
    _notebooks[:] = [Notebook(Path.cwd(), Path(told).name)]


def this_notebook() -> Notebook:
    """Return the notebook whose cells this process runs."""
    if not _notebooks:
        know_notebook()
    return _notebooks[0]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class CellFile:
    """A student's file that a cell writes. given: its text as starting code, None: it has none;
    again: what a refusal tells the student to run in order to replace the file."""

    path: Path
    notebook: Notebook
    given: str | None
    again: str

    def begin(self) -> None:
        """Write the starting code, if there is any, where there is no file. Raises NumalabError if
        that fails."""
        if self.given is not None and not self.path.exists():
            self._put(self.given, _GIVEN)

    def write(self, text: str, *, replace: bool = False) -> Path | None:
        """Write a cell's text to the file, and return the copy that keeps what was in it; None: no
        copy.

        A file whose text differs at most in line ends and white space at its end stays as it is.
        replace: whether to replace the file whatever is in it. Raises UserError where the cell may
        not replace the file, which then stays, and NumalabError where a file can't be read or
        written.
        """
        try:
            old = self.path.read_bytes() if self.path.exists() else None
        except OSError as error:
            raise NumalabError(f"{self.path} can't be read: {reason_of(error)}") from error
        if old is not None and _is_same(old, text.encode()):
            self._note(sha256(old), suppressing=True)
            return None
        copy = None
        if old is not None:
            why = self._why_not(old, text.encode())
            if why and not replace:
                raise UserError(self._refusal(why, old))
            if why or not self._is_surely_own(old):
                copy = keep_copy(self.path, old)
        self._put(text, self.notebook.key(self.path.parent))
        return copy

    # ---- what may be replaced

    def _is_given(self, old: bytes, known: Mapping[str, str]) -> bool:
        """Tell whether a content is the starting code, what begin() wrote last, or what a writer
        wrote last and has the digest_of starting code. known: digests by writer, as _read returns
        them."""
        is_now = self.given is not None and _is_same(old, self.given.encode())
        by_cell = sha256(old) in known.values() and self._is_starting_code(old)
        return is_now or by_cell or known.get(_GIVEN) == sha256(old)

    def _is_starting_code(self, content: bytes) -> bool:
        name, given = self.path.name, self.given
        return given is not None and digest_of(name, content) == digest_of(name, given.encode())

    def _is_surely_own(self, old: bytes) -> bool:
        """Tell whether a cell of this process, or one of this notebook by its name, wrote a content
        last, or it is starting code."""
        known = _read(self.path)
        own = known.get(self.notebook.key(self.path.parent)) if self.notebook.name else None
        digest = sha256(old)
        return digest in (_written.get(self.path), own) or self._is_given(old, known)

    def _why_not(self, old: bytes, new: bytes) -> str:
        """Return why a cell's text does not replace a file's content, as a clause, else ""."""
        digest, known = sha256(old), _read(self.path)
        if self._is_given(old, known) or _written.get(self.path) == digest:
            return ""
        if self._is_starting_code(new) and not self._is_starting_code(old):
            return (
                "this cell has the starting code, and the file has code that was written elsewhere "
                "or in an earlier session"
            )
        key = self.notebook.key(self.path.parent)
        if any(
            kept == digest and _may_be_of_same_notebook(writer, key)
            for writer, kept in known.items()
        ):
            return ""
        if digest in known.values():
            return "another notebook's cell wrote it"
        return "it is not what this cell wrote last: it was changed in an editor or by a program"

    def _refusal(self, why: str, old: bytes) -> str:
        copy = ""
        with suppress(NumalabError):  # the file itself stays
            copy = f" A copy of the file is kept in {keep_copy(self.path, old).name} beside it."
        return (
            f"{self.path} stays as it is, and nothing was run: {why}. To go on with the file's "
            f"text, put it into the cell (%load {self.path} in an empty cell shows it). To go on "
            f"with the cell's text, run it once as {self.again}.{copy}"
        )

    # ---- what is written

    def _put(self, text: str, writer: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, text)
        except OSError as error:
            raise NumalabError(f"{self.path} can't be written: {reason_of(error)}") from error
        self._note(sha256(text.encode()), writer)

    def _note(self, digest: str, writer: str | None = None, *, suppressing: bool = False) -> None:
        """Store the digest of what was written last. writer: the key of its notebook, or _GIVEN;
        None: this notebook. suppressing: whether a failure to store it is ignored."""
        key = self.notebook.key(self.path.parent) if writer is None else writer
        if key != _GIVEN:
            _written[self.path] = digest
        store = self.path.with_name(FILE)
        data = read_json(store)
        kept = data if isinstance(data, dict) else {}
        known = _read(self.path)
        if known.get(key) == digest:
            return
        try:
            write_json(store, {**kept, self.path.name: {**known, key: digest}})
        except OSError as error:
            if not suppressing:
                raise NumalabError(f"{store} can't be written: {reason_of(error)}") from error


def keep_copy(path: Path, content: bytes) -> Path:
    """Return a file beside another one with a content, such as kernel.c.kept-1. It is written if
    there is none. Raises NumalabError where it can't be."""
    try:
        number = 1
        while True:
            copy = path.with_name(f"{path.name}.kept-{number}")
            if copy.is_file() and copy.read_bytes() == content:
                return copy
            with suppress(FileExistsError):
                _write_new(copy, content)
                return copy
            number += 1
    except OSError as error:
        raise NumalabError(f"no copy of {path} can be kept: {reason_of(error)}") from error


def _read(path: Path) -> dict[str, str]:
    """Return digests of what was written to a file last, by writer.
    Empty where cells.json is missing or has another form."""
    data = read_json(path.with_name(FILE))
    of_file = data.get(path.name) if isinstance(data, dict) else None
    known = of_file.items() if isinstance(of_file, dict) else ()
    return {writer: digest for writer, digest in known if isinstance(digest, str)}


def _may_be_of_same_notebook(first: str, second: str) -> bool:
    """Tell whether two keys have the same folder, and the same name or one that is not known."""
    names = {PurePath(key).name for key in (first, second)}
    is_beside = PurePath(first).parent == PurePath(second).parent
    return _GIVEN not in names and is_beside and (len(names) == 1 or _UNNAMED in names)


def _is_same(first: bytes, second: bytes) -> bool:
    """Tell whether two texts are equal but for line ends and white space at the end."""
    return first.replace(b"\r\n", b"\n").rstrip() == second.replace(b"\r\n", b"\n").rstrip()


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that does not exist yet; raise FileExistsError if it does. After another OSError
    no part of it is left."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise
