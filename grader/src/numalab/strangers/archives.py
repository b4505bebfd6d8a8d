"""Reads archives, in a process of its own: zip, and tar as it is or compressed.

Limits are counted on what has been read, since headers can say anything. A member is a stream;
what is no plain file, or encrypted, is told and never opened.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple

from numalab.strangers.server import Talk, Unreadable
from numalab.words import bytes_allowed

_CHUNK_BYTES = 1 << 16
# Of each, a ratio is no sign of anything: a few lines of equal text.
RATIO_FROM_BYTES = 1 << 20
# The least a zip's directory takes for a member, and what long names and fields may add.
_DIRECTORY_ENTRY_BYTES = 46 + 512
_XZ_MEMORY_BYTES = 128 << 20
_MOST_NAME = 5_000  # characters that are passed on; far shorter ones are refused as too long
_AT_ONCE = 1_000  # members that are told in one part
CLOSE = 0xFFFFFFFF  # asked for in the place of a number of bytes; 0: open it

_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, struct.error,
    NotImplementedError, RuntimeError, ValueError, OverflowError, gzip.BadGzipFile, OSError,
)  # fmt: skip


class Member(NamedTuple):
    """kind: file, folder, link or special; refused: why it must not be read, as what follows its
    name in a sentence; packed_bytes: what it takes in the archive."""

    name: str
    kind: str
    refused: str
    packed_bytes: int


_Opened = tuple[Member, Callable[[], IO[bytes] | None]]


def read(file: IO[bytes], options: dict[str, Any], talk: Talk) -> None:
    """options: members and expanded_bytes, of the archive at most; ratio, of what is read to what
    that took. Tells the members as lists of Member in JSON, and then of each as many bytes as are
    asked for (member's number, number of bytes)."""
    openers: list[Callable[[], IO[bytes] | None]] = []
    told: list[Member] = []
    try:
        for member, opener in _members(file, options):
            openers.append(opener)
            told.append(member._replace(name=member.name[:_MOST_NAME]))
            if len(openers) > options["members"]:
                raise Unreadable(f"has more than {options['members']} members")
            if len(told) == _AT_ONCE:
                talk.part(json.dumps(told).encode())
                told = []
    except _DAMAGED as error:
        raise Unreadable(f"is damaged: {_said(error)}") from error
    if told:
        talk.part(json.dumps(told).encode())
    talk.end()
    opened: dict[int, IO[bytes]] = {}
    while (asked := talk.request()) is not None:
        try:
            _answer(*asked, openers, opened, talk)
        except _DAMAGED as error:
            talk.refuse(f"is damaged: {_said(error)}")
        except MemoryError:
            talk.refuse("needs too much memory to be read")


def _answer(
    index: int,
    count: int,
    openers: list[Callable[[], IO[bytes] | None]],
    opened: dict[int, IO[bytes]],
    talk: Talk,
) -> None:
    if count in (0, CLOSE):
        if index in opened:
            opened.pop(index).close()
        member = openers[index]() if count == 0 else None
        if member is not None:
            opened[index] = member
    else:
        talk.part(opened[index].read(min(count, _CHUNK_BYTES)))
    talk.end()


def _said(error: BaseException) -> str:
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
    """Python reads a zip's whole directory at once: none that is larger than its members can
    need. (Sizes: APPNOTE.TXT of PKWARE, 4.3.14 to 4.3.16.)"""
    size = file.seek(0, 2)
    file.seek(max(0, size - (1 << 16) - 22 - 20 - 56))  # a comment, and the three last records
    tail = file.read()
    file.seek(0)
    end = tail.rfind(b"PK\5\6")
    if end < 0 or len(tail) - end < 22:
        return  # no zip, as will be told
    directory_bytes = struct.unpack_from("<L", tail, end + 12)[0]
    if end >= 76 and tail[end - 20 :].startswith(b"PK\6\7"):  # the size is in a longer record
        directory_bytes = struct.unpack_from("<Q", tail, end - 76 + 40)[0]
    if directory_bytes > members * _DIRECTORY_ENTRY_BYTES:
        raise Unreadable(f"has more than {members} members")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """A member's name. Without the flag for UTF-8 it is in code page 437 by the standard, and in
    UTF-8 by the habit of macOS and others."""
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
    """With a limit on memory, which lzma.open has not: a header can ask for gigabytes."""
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
    """Of what is compressed; None: it is not, or not in a way that is known."""
    source: IO[bytes]
    if start.startswith(b"\x1f\x8b"):
        source = gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[assignment]
    elif start.startswith(b"BZh"):
        source = bz2.BZ2File(file)
    else:
        return _xz_chunks(file) if start.startswith(b"\xfd7zXZ\0") else None
    return iter(lambda: source.read(_CHUNK_BYTES), b"")


def _plain_tar(
    file: IO[bytes], start: bytes, size: int, options: dict[str, Any]
) -> tarfile.TarFile:
    """Decompressed once, into a file without a name."""
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
