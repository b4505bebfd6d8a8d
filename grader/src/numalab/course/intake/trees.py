"""What a delivery holds, as entries that can be read: folders here, archives in archives.py.

Everything comes from strangers: links are never followed, special files never opened, and a
path that climbs out of its tree is refused. Nothing is unpacked; who wants a file reads it, with
a limit that is counted while reading.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal, Protocol

from numalab.errors import reason_of

MIB = 1 << 20
# Deeper than any hand-in; a folder below it is not looked into.
MAX_DEPTH = 16
# Left by systems and editors; nobody means to hand these in.
IGNORED_FOLDERS = frozenset({"__macosx", "__pycache__", ".ipynb_checkpoints"})
# Made by tools, in a student's copy of the kit among others, and too large to be looked through.
MADE_FOLDERS = frozenset({"build", ".venv", "node_modules"})
IGNORED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
GIT = ".git"


class Refused(Exception):
    """Something of a delivery that is not taken; the message says why, to the student."""


EntryKind = Literal["file", "folder", "link", "special"]


class Readable(Protocol):
    def read(self, most: int = -1, /) -> bytes: ...


Opener = Callable[[], AbstractContextManager[Readable]]


@dataclass(frozen=True)
class Entry:
    """path: its parts below the tree's root, in Unicode's composed form (NFC), in which the
    same name is the same on every system; refused: why it must not be read, as what follows its
    name in a sentence, empty: it may be; folder: of a folder on disk, where it is."""

    path: tuple[str, ...]
    kind: EntryKind
    refused: str = ""
    open: Opener | None = None
    folder: Path | None = None

    @property
    def name(self) -> str:
        return self.path[-1]


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """The same for names that a person or a file system without case takes for the same."""
    return nfc(" ".join(nfc(text).split()).casefold())


def shown(name: str | tuple[str, ...], most: int = 80) -> str:
    """A stranger's name in a message: on one line, with nothing that steers a terminal or turns
    the writing direction round, and not without end."""
    text = name if isinstance(name, str) else "/".join(name)
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def is_ignored(path: tuple[str, ...]) -> bool:
    """Whether it is what nobody has meant to hand in: macOS's resource forks ("._x" and
    __MACOSX), what file managers and editors leave, a repository's inside."""
    *folders, name = path
    return (
        name.startswith("._")
        or name.casefold() in IGNORED_FILES
        or name.casefold() in IGNORED_FOLDERS
        or any(part.casefold() in IGNORED_FOLDERS or part == GIT for part in folders)
    )


def safe_path(name: str) -> tuple[str, ...]:
    """The parts of a path of an archive, which Windows may have written. Raises Refused, whose
    message goes on from the name."""
    text = nfc(name.replace("\\", "/"))
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if text.startswith("/") or (parts and len(parts[0]) == 2 and parts[0][1] == ":"):
        raise Refused("has an absolute path")
    if ".." in parts:
        raise Refused("climbs out of the archive")
    if not parts or len(parts) > MAX_DEPTH:
        raise Refused("lies too deep")
    return parts


def read_limited(file: Readable, most_bytes: int, name: str) -> bytes:
    """The rest of a file. Raises Refused where there is more than that."""
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Refused(f"{shown(name)} is larger than {bytes_shown(most_bytes)}")
    return data


def bytes_shown(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count // 1024} KiB"


def open_plainly(path: Path) -> IO[bytes]:
    """A regular file, and nothing else that has its name by now. Raises Refused."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"{shown(path.name)} can't be read: {reason_of(error)}") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise Refused(f"{shown(path.name)} is not a plain file")
    return os.fdopen(number, "rb")


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"


def walk_folder(root: Path, above: tuple[str, ...] = ()) -> Iterator[Entry]:
    """All entries of a folder in order of their names, folders before what is in them. Raises
    OSError."""
    with os.scandir(root) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        # A name that is not UTF-8 has surrogates in it, which nothing could print.
        name = nfc(os.fsencode(entry.name).decode("utf-8", "replace"))
        path = (*above, name)
        if is_ignored(path):
            continue
        kind = _kind(entry)
        place = root / entry.name
        if kind == "file":
            yield Entry(path, kind, open=partial(open_plainly, place))
        elif kind == "folder":
            yield Entry(path, kind, folder=place)
            is_made = bool(above) and name.casefold() in MADE_FOLDERS
            if name != GIT and not is_made and len(path) < MAX_DEPTH:
                yield from walk_folder(place, path)
        else:
            yield Entry(path, kind, refused="is a link" if kind == "link" else "is no plain file")
