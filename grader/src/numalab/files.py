"""Files that appear whole or not at all, such as may not be there, and such as others have
made."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
from pathlib import Path
from typing import IO, Any

from numalab.words import bytes_allowed

MIB = 1 << 20


class NotPlain(Exception):
    """What has a file's name is not read. The message goes on from the name: "is a link"."""


def plain_file(path: Path, *, follow_links: bool = False) -> IO[bytes]:
    """Open a regular file and nothing else that has its name by now, so that a pipe or a device
    with a kernel's name makes nobody wait. follow_links: in the last part of the path, for files of
    our own. Raises NotPlain, and FileNotFoundError where nothing has the name."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        number = os.open(path, flags if follow_links else flags | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
    except OSError as error:
        reasons = {errno.ELOOP: "is a link", errno.ENXIO: "is no plain file"}
        raise NotPlain(reasons.get(error.errno or 0, f"can't be read: {error.strerror}")) from error
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        raise NotPlain("is a folder" if stat.S_ISDIR(mode) else "is no plain file")
    return os.fdopen(number, "rb")


def read_plain(path: Path, most_bytes: int, *, follow_links: bool = False) -> bytes:
    """Return the content of an untrusted file of at most `most_bytes`. Raises as plain_file."""
    with plain_file(path, follow_links=follow_links) as file:
        try:
            # By its size first: one with nothing in it can be as large as it likes.
            is_large = os.fstat(file.fileno()).st_size > most_bytes
            content = b"" if is_large else file.read(most_bytes + 1)
        except OSError as error:
            raise NotPlain(f"can't be read: {error.strerror}") from error
    if is_large or len(content) > most_bytes:
        raise NotPlain(f"is larger than {bytes_allowed(most_bytes)}")
    return content


def read_plain_text(path: Path, most_bytes: int, *, follow_links: bool = False) -> str:
    """Return a text in UTF-8 as read_plain does, without byte order mark and with Unix line ends.
    Raises UnicodeDecodeError, too."""
    text = read_plain(path, most_bytes, follow_links=follow_links).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str | None:
    """Return a file's text without white space around it; None where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_json(path: Path) -> Any:
    """Return a file's JSON; None where there is no such file, or no JSON in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def partial_path(path: Path) -> Path:
    """Return the path where a file is written before it is renamed into place."""
    return path.with_name(f".{path.name}.partial")


# Of this process, on whatever node of a cluster: with its number, since its children have others.
_MINE = os.urandom(4).hex()


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: after an OSError it is as it was, and no other is left. Of
    two processes that write the same file at once the later one's stays."""
    partial = partial_path(path.with_name(f"{path.name}.{os.getpid()}-{_MINE}"))
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # one that is full has none
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Any, indent: int | None = 2) -> None:
    """Write a value as JSON, whole or not at all. Raises OSError."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    write_whole(path, text + "\n")


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file at a second place as a link, or a copy where the file system has no links; for
    files that are never changed. Raises FileNotFoundError where there is no source, FileExistsError
    where there is a target, and OSError; then there is nothing at the target."""
    try:
        os.link(source, target)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        partial = partial_path(target)
        try:
            shutil.copyfile(source, partial)
            partial.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
