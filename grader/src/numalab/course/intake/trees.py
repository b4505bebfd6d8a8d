"""Entries of a collection, and how folders are read; archives.py reads archives.

All of it is untrusted: links and special files are listed as refused, a path that climbs out of its
tree is refused, and sizes are checked while a file is read.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal, Protocol

from numalab import files
from numalab.files import NotPlain
from numalab.untrusted.visible import shown
from numalab.words import bytes_allowed

# Deeper than any hand-in; a folder at this depth is not read.
MAX_DEPTH = 16
# Below one folder at the top of a collection, a student's. A clone with its tools has a thousand.
MOST_ENTRIES = 20_000
# In bytes of UTF-8, as file systems limit them (NAME_MAX, PATH_MAX).
_MOST_NAME, _MOST_PATH = 255, 4096
# Left by systems and editors; nobody means to hand these in.
IGNORED_FOLDERS = frozenset({"__macosx", "__pycache__", ".ipynb_checkpoints"})
# Made by tools, as in a student's copy of numalab, and too large to be read.
MADE_FOLDERS = frozenset({"build", ".venv", "node_modules"})
IGNORED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
GIT = ".git"


class Refused(Exception):
    """Something in a collection is not taken. The message tells the student why."""


EntryKind = Literal["file", "folder", "link", "special"]


class Readable(Protocol):
    def read(self, most: int = -1, /) -> bytes: ...


Opener = Callable[[], AbstractContextManager[Readable]]


@dataclass(frozen=True)
class Entry:
    """A file, folder or other entry of a folder or an archive.

    Attributes:
        path: the parts of its path below the tree's root, in Unicode's composed form (NFC).
        refused: why it is not read, as words that follow its name in a sentence; empty: it may be
            read.
        opener: opens a file for reading, and may raise Refused; None: it can't be opened.
        folder: path of a folder on disk; None for other entries.
    """

    path: tuple[str, ...]
    kind: EntryKind
    refused: str = ""
    opener: Opener | None = None
    folder: Path | None = None

    @property
    def name(self) -> str:
        return self.path[-1]


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Return a name without case, in NFC and with single plain blanks, for comparing names."""
    return nfc(" ".join(nfc(text).split()).casefold())


def letters(text: str) -> str:
    """Return a text's letters and digits without case."""
    return re.sub(r"[\W_]", "", text.casefold())


def is_ignored(path: tuple[str, ...]) -> bool:
    """Tell whether an entry is not meant to be handed in: macOS's resource forks ("._x" and
    __MACOSX), what file managers and other programs leave, or the inside of a repository."""
    *folders, name = path
    return (
        name.startswith("._")
        or name.casefold() in IGNORED_FILES
        or name.casefold() in IGNORED_FOLDERS
        or any(part.casefold() in IGNORED_FOLDERS or part == GIT for part in folders)
    )


def safe_path(name: str) -> tuple[str, ...]:
    """Return the parts of a path in an archive, which Windows may have written. Raises Refused,
    whose message is to follow the name in a sentence."""
    if len(name.encode(errors="replace")) > _MOST_PATH:
        raise Refused("has a name that is too long")
    text = nfc(name.replace("\\", "/"))
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if text.startswith("/") or (parts and len(parts[0]) == 2 and parts[0][1] == ":"):
        raise Refused("has an absolute path")
    if ".." in parts:
        raise Refused("climbs out of the archive")
    if not parts or len(parts) > MAX_DEPTH:
        raise Refused("lies too deep")
    if any(len(part.encode(errors="replace")) > _MOST_NAME for part in parts):
        raise Refused("has a name that is too long")
    return parts


def last_part(name: str) -> str:
    """Return the last part of a path with / or \\ between its parts, at most 255 characters of it;
    "?" if there is none."""
    return name[-_MOST_PATH:].replace("\\", "/").rstrip("/").rpartition("/")[2][:_MOST_NAME] or "?"


def read_limited(file: Readable, most_bytes: int, name: str) -> bytes:
    """Return the rest of a file. Raises Refused if it is longer than most_bytes. name: for the
    message."""
    data = bytearray()
    while len(data) <= most_bytes:
        part = file.read(most_bytes + 1 - len(data))
        if not part:
            return bytes(data)
        data += part
    raise Refused(f"{shown(name)} is larger than {bytes_allowed(most_bytes)}")


def plain_file(path: Path) -> IO[bytes]:
    """Open a regular file that is no link, as files.plain_file does. Raises Refused if it is gone
    or is none."""
    try:
        return files.plain_file(path)
    except FileNotFoundError as error:
        raise Refused(f"{shown(path.name)} is not there any more") from error
    except NotPlain as error:
        raise Refused(f"{shown(path.name)} {error}") from error


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"


def walk_folder(root: Path, most: int = MOST_ENTRIES) -> Iterator[Entry]:
    """Yield the entries of a folder, without ignored ones, in order of their names, folders before
    what is in them; .git, MADE_FOLDERS below the top and folders at MAX_DEPTH are not entered. A
    folder that can't be read gets a refused entry, and so does the rest of a folder at the top with
    more than `most` entries."""
    for top in _listed(root, ()):
        yield top
        for number, entry in enumerate(_walk_below(top)):
            if number == most:
                why = f"lies behind {most:,} entries, and no more are read"
                yield Entry((top.name, "…"), "special", why)
                break
            yield entry


def _listed(folder: Path, folders: tuple[str, ...]) -> list[Entry]:
    """Return the entries directly in a folder, without ignored ones. folders: its path in the
    tree."""
    with os.scandir(folder) as scanned:
        listed = sorted(scanned, key=lambda entry: entry.name)
    entries = []
    for found in listed:
        # A name that is not UTF-8 has surrogates in it, which nothing could print.
        name = nfc(os.fsencode(found.name).decode("utf-8", "replace"))
        path = (*folders, name)
        if is_ignored(path):
            continue
        kind = _kind(found)
        place = folder / found.name
        refused = {"link": "is a link", "special": "is no plain file"}.get(kind, "")
        entries.append(
            Entry(
                path, kind, refused,
                partial(plain_file, place) if kind == "file" else None,
                place if kind == "folder" else None,
            )
        )  # fmt: skip
    return entries


def _walk_below(folder: Entry) -> Iterator[Entry]:
    path = folder.path
    is_made = len(path) > 1 and folder.name.casefold() in MADE_FOLDERS
    if folder.folder is None or folder.name == GIT or is_made or len(path) >= MAX_DEPTH:
        return
    try:
        entries = _listed(folder.folder, path)
    except OSError as error:
        yield Entry((*path, "…"), "special", f"can't be read: {error.strerror}")
        return
    for entry in entries:
        yield entry
        yield from _walk_below(entry)
