"""Read zip and tar archives for a reader process; a tar may be compressed by gzip, bzip2 or xz.

Most limits are on what has been read, since headers can claim anything.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple

from numalab.untrusted.reader_server import Connection, Unreadable
from numalab.words import bytes_allowed

_CHUNK_BYTES = 1 << 16
# An archive that expands to less may have any ratio: a few equal lines can be packed very well.
RATIO_FROM_BYTES = 1 << 20
# The least that a zip's directory takes for a member, and what long names and fields may add.
_DIRECTORY_ENTRY_BYTES = 46 + 512
_XZ_MEMORY_BYTES = 128 << 20
_MOST_NAME = 5_000  # characters that are passed on; far shorter names are refused as too long
MEMBERS_PER_PART = 1_000  # of an answer
# Requested in place of a number of bytes, it closes the member; 0 opens it, and begins anew.
CLOSE = 0xFFFFFFFF

_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, struct.error,
    NotImplementedError, RuntimeError, ValueError, OverflowError, gzip.BadGzipFile, OSError,
)  # fmt: skip


class Member(NamedTuple):
    """A member of an archive."""

    name: str  # its path in the archive
    kind: str  # "file", "folder", "link" or "special"
    refused: str  # why a file must not be read, in words that follow its name; empty: it may be
    packed_bytes: int  # its size in the archive, by its header: in a zip compressed, in a tar not


_Opened = tuple[Member, Callable[[], IO[bytes] | None]]


def read(file: IO[bytes], options: dict[str, Any], connection: Connection) -> None:
    """Send lists of the archive's members in JSON, then answer requests until the client closes.

    A request is a member's index, and 0 (open it anew), CLOSE, or a number of bytes to read next,
    of which an answer has at most 64 KiB. Raises Unreadable for an archive that is damaged, of
    another kind, or larger or of more members than the options allow.

    options: `members`, the most that the archive may have; of a compressed tar `expanded_bytes`,
    its largest size, and `ratio`, the most that it may be over its own from RATIO_FROM_BYTES on.
    """
    openers: list[Callable[[], IO[bytes] | None]] = []
    listed: list[Member] = []
    try:
        for member, opener in _members(file, options):
            openers.append(opener)
            listed.append(member._replace(name=member.name[:_MOST_NAME]))
            if len(openers) > options["members"]:
                raise Unreadable(f"has more than {options['members']} members")
            if len(listed) == MEMBERS_PER_PART:
                connection.send_part(json.dumps(listed).encode())
                listed = []
    except _DAMAGED as error:
        raise Unreadable(f"is damaged: {_error_text(error)}") from error
    if listed:
        connection.send_part(json.dumps(listed).encode())
    connection.send_end()
    opened: dict[int, IO[bytes]] = {}
    while (request := connection.next_request()) is not None:
        try:
            _answer(*request, openers, opened, connection)
        except _DAMAGED as error:
            connection.refuse(f"is damaged: {_error_text(error)}")
        except MemoryError:
            connection.refuse("needs too much memory to be read")


def _answer(
    index: int,
    count: int,
    openers: list[Callable[[], IO[bytes] | None]],
    opened: dict[int, IO[bytes]],
    connection: Connection,
) -> None:
    if count in (0, CLOSE):
        if index in opened:
            opened.pop(index).close()
        member = openers[index]() if count == 0 else None
        if member is not None:
            opened[index] = member
    else:
        connection.send_part(opened[index].read(min(count, _CHUNK_BYTES)))
    connection.send_end()


def _error_text(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__


def _members(file: IO[bytes], options: dict[str, Any]) -> Iterator[_Opened]:
    size = file.seek(0, 2)
    file.seek(0)
    start = file.read(512)
    file.seek(0)
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        yield from _zip_members(file, options["members"])
    else:
        yield from _tar_members(_plain_tar(file, start, size, options))


# ---- zip -----------------------------------------------------------------------------------


def _check_directory(file: IO[bytes], members: int) -> None:
    """Raise Unreadable for a zip whose last record claims a directory too large for `members`
    members, since Python reads all of it at once. (Records: APPNOTE.TXT of PKWARE, 4.3.14 to
    4.3.16.)"""
    size = file.seek(0, 2)
    file.seek(max(0, size - (1 << 16) - 22 - 20 - 56))  # a comment, and the three last records
    tail = file.read()
    file.seek(0)
    end = tail.rfind(b"PK\5\6")
    if end < 0 or len(tail) - end < 22:
        return  # no zip, as the library will say
    directory_bytes = struct.unpack_from("<L", tail, end + 12)[0]
    if end >= 76 and tail[end - 20 :].startswith(b"PK\6\7"):  # the size is in a longer record
        directory_bytes = struct.unpack_from("<Q", tail, end - 76 + 40)[0]
    if directory_bytes > members * _DIRECTORY_ENTRY_BYTES:
        raise Unreadable(f"has more than {members} members")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return a member's name, in UTF-8 where its bytes are that: archives from macOS and others
    lack the flag for it, without which the standard has code page 437."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _zip_kind(info: zipfile.ZipInfo) -> str:
    # The upper half holds the mode where a Unix has packed it; the type's bits are 0 elsewhere.
    file_type = (info.external_attr >> 16) & 0o170000
    if file_type == 0o120000:
        return "link"
    if info.filename.endswith("/") or file_type == 0o040000:  # is_dir fails for an empty name
        return "folder"
    return "file" if file_type in (0, 0o100000) else "special"


def _zip_members(file: IO[bytes], members: int) -> Iterator[_Opened]:
    _check_directory(file, members)
    archive = zipfile.ZipFile(file)
    for info in archive.infolist():
        refused = "is encrypted" if info.flag_bits & 0x1 else ""
        member = Member(_zip_name(info), _zip_kind(info), refused, info.compress_size)
        yield member, partial(archive.open, info)


# ---- tar -----------------------------------------------------------------------------------


def _xz_chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what an xz file expands to, in chunks, with a limit on memory: a header can ask for
    gigabytes."""
    data = file.read(_CHUNK_BYTES)
    while data:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
        while not decoder.eof:
            if decoder.needs_input and not data:
                data = file.read(_CHUNK_BYTES)
                if not data:
                    raise EOFError("it ends too early")
            yield decoder.decompress(data, max_length=_CHUNK_BYTES)
            data = b""
        data = decoder.unused_data.lstrip(b"\0") or file.read(_CHUNK_BYTES).lstrip(b"\0")


def _chunks(file: IO[bytes], start: bytes) -> Iterator[bytes] | None:
    """Return an iterator over what a gzip, bzip2 or xz file expands to, in chunks; None for another
    file. start: the file's first bytes."""
    source: IO[bytes]
    if start.startswith(b"\x1f\x8b"):
        source = gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[assignment]
    elif re.match(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", start):  # or a plain tar of a file "BZh..."
        source = bz2.BZ2File(file)
    else:
        return _xz_chunks(file) if start.startswith(b"\xfd7zXZ\0") else None
    return iter(lambda: source.read(_CHUNK_BYTES), b"")


def _plain_tar(
    file: IO[bytes], start: bytes, size: int, options: dict[str, Any]
) -> tarfile.TarFile:
    chunks = _chunks(file, start)
    if chunks is None:
        if start[257:262] != b"ustar":
            raise Unreadable(
                "is not a zip or tar archive, whatever its name says; hand in a .zip or a .tar.gz"
            )
        return tarfile.TarFile(fileobj=file, mode="r")
    most = min(options["expanded_bytes"], max(RATIO_FROM_BYTES, size * options["ratio"]))
    plain: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    for chunk in chunks:
        if plain.tell() + len(chunk) > most:
            raise Unreadable(f"expands to more than {bytes_allowed(most)}")
        plain.write(chunk)
    plain.seek(0)
    return tarfile.TarFile(fileobj=plain, mode="r")


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.issym() or info.islnk():
        return "link"
    if info.isdir():
        return "folder"
    return "file" if info.isreg() and not info.issparse() else "special"


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Opened]:
    for info in archive:
        written = info.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        member = Member(written, _tar_kind(info), "", info.size)
        yield member, partial(archive.extractfile, info)
