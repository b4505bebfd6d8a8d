"""Write files whole or not at all, and read files that may be missing or untrusted."""

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
    """A file is not read. The message says why, continuing a sentence that begins with the file's
    name: "is a link"."""


def plain_file(path: Path, *, follow_links: bool = False) -> IO[bytes]:
    """Open a regular file for reading. Anything else with its name, such as a pipe, is refused
    without waiting for it. follow_links: also where the last part of the path is a link, for files
    that are trusted. Raises NotPlain, and FileNotFoundError where there is no such path."""
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
    """Return the content of an untrusted file. Raises as plain_file, and NotPlain also where the
    file is larger than `most_bytes` or can't be read to its end."""
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
    """Return the text of an untrusted file in UTF-8, without byte order mark and with Unix line
    ends. Raises as read_plain, and UnicodeDecodeError."""
    text = read_plain(path, most_bytes, follow_links=follow_links).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str | None:
    """Return a file's text without white space around it; None where it can't be read. Bytes that
    are not UTF-8 are replaced."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_json(path: Path) -> Any:
    """Return the value of a JSON file; None where it can't be read or is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def expand_home(path: str | Path) -> Path:
    """Return a path with "~" or "~USER" at its beginning replaced by the home folder; one of a user
    that does not exist stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, since Path's raises RuntimeError there


def partial_path(path: Path) -> Path:
    """Return the path where a file is written before it is renamed into place."""
    return path.with_name(f".{path.name}.partial")


# Names this process among those of all cluster nodes, together with its process id, in which its
# children differ.
_MINE = os.urandom(4).hex()


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all. Raises OSError, and UnicodeEncodeError for half
    of a surrogate pair; the file then is as it was."""
    partial = partial_path(path.with_name(f"{path.name}.{os.getpid()}-{_MINE}"))
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except BaseException as error:
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)  # one that is full has none
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Any, indent: int | None = 2) -> None:
    """Write a value as JSON, whole or not at all. Raises OSError, and ValueError for a number that
    is not finite."""
    text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
    write_whole(path, text + "\n")


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file that is never changed at a second place: as a hard link, or as a copy where no
    link can be made. Raises FileExistsError where there is a target, and OSError."""
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
