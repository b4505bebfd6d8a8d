"""Files that a notebook's cells write into the learner's folder.

A cell replaces what a cell of its notebook wrote there last, and starting code as it was given. All
else stays as it is, since it was written elsewhere: in an editor, by another notebook, by a copy
of the notebook as it was given. A cell with starting code replaces only what this process wrote: a
notebook that somebody runs as it was given, or opens again without having saved it, is no reason to
give up a solved kernel. What was written last is told by digests in cells.json beside the files.
Where that can't be read, or is gone, files stay: so nothing is lost by it.
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
_GIVEN = ""  # who puts starting code where there was no file
_UNNAMED = "?"

_notebooks: list[Notebook] = []  # of this process: one, once it is known
_written: dict[Path, str] = {}  # digests of what this process wrote last


@dataclass(frozen=True)
class Notebook:
    """Whose cells write. folder: in which its kernel was started, which is the notebook's own;
    name: of its file, empty where nothing tells it, as under nbconvert."""

    folder: Path
    name: str = ""

    def key(self, folder: Path) -> str:
        """Return how it is called in cells.json of a folder, which may be moved with it."""
        own = Path(os.path.relpath(self.folder.resolve(), folder.resolve()))
        return (own / (self.name or _UNNAMED)).as_posix()


def know_notebook(file: object = None) -> None:
    """Keep whose cells this process runs, before one of them changes its folder. file: where the
    editor tells the notebook's file; else Jupyter's server does."""
    told = file if isinstance(file, str) else os.environ.get("JPY_SESSION_NAME", "")
    _notebooks[:] = [Notebook(Path.cwd(), Path(told).name)]


def this_notebook() -> Notebook:
    """Return whose cells this process runs."""
    if not _notebooks:
        know_notebook()
    return _notebooks[0]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class CellFile:
    """A file of the learner's that a cell writes. given: its text as starting code, None: it has
    none; again: what to write to have the cell's text in the file, whatever is there."""

    path: Path
    notebook: Notebook
    given: str | None
    again: str

    def begin(self) -> None:
        """Put the starting code where there is no file. Raises NumalabError."""
        if self.given is not None and not self.path.exists():
            self._put(self.given, _GIVEN)

    def write(self, text: str, *, replace: bool = False) -> Path | None:
        """Write a cell's text. replace: whatever is there. Returns the copy of what was there, None
        where nothing would be lost. Raises UserError where the file was written elsewhere; it
        stays, and there is a copy of it all the same; and NumalabError."""
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
                copy = self._copy(old)
        self._put(text, self.notebook.key(self.path.parent))
        return copy

    # ---- what may be replaced

    def _is_given(self, old: bytes, known: Mapping[str, str]) -> bool:
        """Whether a text is starting code as kit or notebook give it, whose comments may differ."""
        is_now = self.given is not None and _is_same(old, self.given.encode())
        by_cell = sha256(old) in known.values() and self._is_starting_code(old)
        return is_now or by_cell or known.get(_GIVEN) == sha256(old)

    def _is_starting_code(self, content: bytes) -> bool:
        name, given = self.path.name, self.given
        return given is not None and digest_of(name, content) == digest_of(name, given.encode())

    def _is_surely_own(self, old: bytes) -> bool:
        """Whether a cell of the same notebook wrote it, or it is starting code."""
        known = _read(self.path)
        own = known.get(self.notebook.key(self.path.parent)) if self.notebook.name else None
        digest = sha256(old)
        return digest in (_written.get(self.path), own) or self._is_given(old, known)

    def _why_not(self, old: bytes, new: bytes) -> str:
        """Why a file's content is not replaced by a cell's; empty: it may be."""
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
            copy = f" A copy of the file is kept in {self._copy(old).name} beside it."
        return (
            f"{self.path} stays as it is, and nothing was run: {why}. To go on with the file's "
            f"text, put it into the cell (%load {self.path} in an empty cell shows it). To go on "
            f"with the cell's text, run it once as {self.again}.{copy}"
        )

    # ---- what is written

    def _copy(self, content: bytes) -> Path:
        """Return a file beside it with the same content, kernel.c.kept-1, made if there is none.
        Raises NumalabError."""
        try:
            number = 1
            while True:
                copy = self.path.with_name(f"{self.path.name}.kept-{number}")
                if copy.is_file() and copy.read_bytes() == content:
                    return copy
                with suppress(FileExistsError):
                    _write_new(copy, content)
                    return copy
                number += 1
        except OSError as error:
            raise NumalabError(f"no copy of {self.path} can be kept: {reason_of(error)}") from error

    def _put(self, text: str, writer: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, text)
        except OSError as error:
            raise NumalabError(f"{self.path} can't be written: {reason_of(error)}") from error
        self._note(sha256(text.encode()), writer)

    def _note(self, digest: str, writer: str | None = None, *, suppressing: bool = False) -> None:
        """Keep that a text is a cell's. writer: key of its notebook, this one if left out;
        suppressing: it is no matter if that can't be kept. Raises NumalabError."""
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


def _read(path: Path) -> dict[str, str]:
    """Return digests of what was written last as this file, by whom; nothing where the store is
    missing or not ours."""
    data = read_json(path.with_name(FILE))
    of_file = data.get(path.name) if isinstance(data, dict) else None
    known = of_file.items() if isinstance(of_file, dict) else ()
    return {writer: digest for writer, digest in known if isinstance(digest, str)}


def _may_be_of_same_notebook(first: str, second: str) -> bool:
    """Whether two keys may be of one notebook. Of one without a name its folder is known."""
    names = {PurePath(key).name for key in (first, second)}
    is_beside = PurePath(first).parent == PurePath(second).parent
    return _GIVEN not in names and is_beside and (len(names) == 1 or _UNNAMED in names)


def _is_same(first: bytes, second: bytes) -> bool:
    """Whether two texts differ in their line ends at most, and in blanks at the end, which cells
    and editors change by themselves."""
    return first.replace(b"\r\n", b"\n").rstrip() == second.replace(b"\r\n", b"\n").rstrip()


def _write_new(path: Path, content: bytes) -> None:
    """Raises FileExistsError, and OSError; then there is no part of it left."""
    with path.open("xb") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise
