"""Archives of strangers, read and never unpacked.

Limits are counted on what has been read, since headers can say anything: at most so many
members, so many bytes in all, and so many times as many as the archive has. A member is a stream;
links, devices, absolute paths, paths that climb out and encrypted members are refused one by one,
and a damaged archive as a whole.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO

from numalab.course.intake.trees import (
    MIB,
    Entry,
    EntryKind,
    Opener,
    Readable,
    Refused,
    bytes_shown,
    is_ignored,
    safe_path,
    shown,
)

SUFFIXES = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar", ".zip")
# Known, so that the message can say what to do.
OTHER_SUFFIXES = (".tar.zst", ".7z", ".rar", ".gz", ".xz", ".bz2", ".zst")
_CHUNK_BYTES = 1 << 16
_IN_MEMORY_BYTES = 4 * MIB
# The least a zip's directory takes for a member, and what long names and fields may add.
_DIRECTORY_ENTRY_BYTES = 46 + 512
_XZ_MEMORY_BYTES = 128 * MIB


@dataclass(frozen=True)
class Limits:
    """archive_bytes: as it was handed in; members: in it; expanded_bytes: of all that is read of
    it; ratio: of what has been read to what that took in the archive."""

    archive_bytes: int
    members: int
    expanded_bytes: int
    ratio: int


# A student's hand-in is a few text files, perhaps the whole kit with a report and a picture.
STUDENT = Limits(archive_bytes=32 * MIB, members=5_000, expanded_bytes=64 * MIB, ratio=100)
# A class's, which the course's system has packed: thousands of students' archives.
DELIVERY = Limits(archive_bytes=1 << 40, members=500_000, expanded_bytes=1 << 33, ratio=100)
# Of each, a ratio is no sign of anything: a few lines of equal text.
_RATIO_FROM_BYTES = MIB

_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, struct.error,
    NotImplementedError, RuntimeError, ValueError, OverflowError, gzip.BadGzipFile,
)  # fmt: skip


def archive_suffix(name: str) -> str:
    """ ".tar.gz" of "x.tar.gz"; empty: the name is not an archive's."""
    lowered = name.casefold()
    return next((s for s in (*SUFFIXES, *OTHER_SUFFIXES) if lowered.endswith(s)), "")


def without_suffix(name: str) -> str:
    return name[: len(name) - len(archive_suffix(name))]


class _Metered:
    """Counts what is read of a member, and raises Refused when that can't be honest."""

    def __init__(self, file: IO[bytes], name: str, packed_bytes: int, limits: Limits) -> None:
        self._file, self._name, self._limits = file, name, limits
        self._most = max(_RATIO_FROM_BYTES, packed_bytes * limits.ratio)
        self._read = 0

    def read(self, most: int = -1) -> bytes:
        try:
            data = self._file.read(most)
        except (*_DAMAGED, OSError) as error:
            raise Refused(f"{shown(self._name)} is damaged: {_said(error)}") from error
        self._read += len(data)
        if self._read > self._most:
            raise Refused(
                f"{shown(self._name)} expands to more than {self._limits.ratio} times its size"
            )
        return data

    def __enter__(self) -> _Metered:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _said(error: BaseException) -> str:
    return shown(str(error)) or type(error).__name__


def _chunks_of(source: Readable) -> Iterator[bytes]:
    return iter(lambda: source.read(_CHUNK_BYTES), b"")


def _spooled(
    chunks: Iterator[bytes], most_bytes: int, too_large: str, stack: ExitStack
) -> IO[bytes]:
    """A stream as a file without a name, which goes away with the stack. Raises Refused."""
    file: IO[bytes] = stack.enter_context(
        tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115
    )
    for chunk in chunks:
        if file.tell() + len(chunk) > most_bytes:
            raise Refused(too_large)
        file.write(chunk)
    file.seek(0)
    return file


def copied(source: Readable, most_bytes: int, name: str, stack: ExitStack) -> IO[bytes]:
    """A stream, as a file that can be sought in; it goes away with the stack. Raises Refused."""
    too_large = f"{shown(name)} is larger than {bytes_shown(most_bytes)}"
    return _spooled(_chunks_of(source), most_bytes, too_large, stack)


def open_archive(file: IO[bytes], name: str, limits: Limits, stack: ExitStack) -> tuple[Entry, ...]:
    """The entries of an archive, whose kind its first bytes tell. file: can be sought in; the
    entries can be read as long as the stack is open. Raises Refused."""
    size = file.seek(0, 2)
    file.seek(0)
    if size > limits.archive_bytes:
        raise Refused(f"{shown(name)} is larger than {bytes_shown(limits.archive_bytes)}")
    if size == 0:
        raise Refused(f"{shown(name)} is empty, no byte long")
    start = file.read(512)
    file.seek(0)
    try:
        if start.startswith((b"PK\3\4", b"PK\5\6")):
            entries = tuple(_zip_entries(file, name, limits, stack))
        else:
            tar = _plain_tar(file, start, name, size, limits, stack)
            entries = tuple(_tar_entries(tar, name, limits))
    except (*_DAMAGED, OSError) as error:
        raise Refused(f"{shown(name)} is damaged: {_said(error)}") from error
    return tuple(entry for entry in entries if not is_ignored(entry.path))


# ---- zip -----------------------------------------------------------------------------------


def _check_directory(file: IO[bytes], name: str, limits: Limits) -> None:
    """Python reads a zip's whole directory at once: none that is larger than its members can
    need. Raises Refused. (Sizes: APPNOTE.TXT of PKWARE, 4.3.14 to 4.3.16.)"""
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
    if directory_bytes > limits.members * _DIRECTORY_ENTRY_BYTES:
        raise Refused(f"{shown(name)} has more than {limits.members} members")


def _zip_name(info: zipfile.ZipInfo) -> str:
    """A member's name. Without the flag for UTF-8 it is in code page 437 by the standard, and in
    UTF-8 by the habit of macOS and others."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _zip_kind(info: zipfile.ZipInfo) -> EntryKind:
    # The upper half holds the mode where a Unix has packed it; the type's bits are 0 elsewhere.
    file_type = (info.external_attr >> 16) & 0o170000
    if file_type == 0o120000:
        return "link"
    if info.is_dir() or file_type == 0o040000:
        return "folder"
    return "file" if file_type in (0, 0o100000) else "special"


def _zip_entries(file: IO[bytes], name: str, limits: Limits, stack: ExitStack) -> Iterator[Entry]:
    _check_directory(file, name, limits)
    archive = stack.enter_context(zipfile.ZipFile(file))
    infos = archive.infolist()
    if len(infos) > limits.members:
        raise Refused(f"{shown(name)} has more than {limits.members} members")
    for info in infos:
        is_encrypted = bool(info.flag_bits & 0x1)

        def opener(info: zipfile.ZipInfo = info) -> _Metered:
            try:
                member = archive.open(info)
            except (*_DAMAGED, OSError) as error:
                raise Refused(f"{shown(info.filename)} is damaged: {_said(error)}") from error
            return _Metered(member, info.filename, info.compress_size, limits)

        yield _entry(
            _zip_name(info), _zip_kind(info), "is encrypted" if is_encrypted else "", opener
        )


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
    if start.startswith(b"\x1f\x8b"):
        return _chunks_of(gzip.GzipFile(fileobj=file, mode="rb"))
    if start.startswith(b"BZh"):
        return _chunks_of(bz2.BZ2File(file))
    return _xz_chunks(file) if start.startswith(b"\xfd7zXZ\0") else None


def _plain_tar(
    file: IO[bytes], start: bytes, name: str, size: int, limits: Limits, stack: ExitStack
) -> tarfile.TarFile:
    """Decompressed once, into a file without a name. Raises Refused."""
    chunks = _chunks(file, start)
    if chunks is None and start[257:262] != b"ustar":
        raise Refused(
            f"{shown(name)} is not a zip or tar archive, whatever its name says; "
            "hand in a .zip or a .tar.gz"
        )
    if chunks is not None:
        most = min(limits.expanded_bytes, max(_RATIO_FROM_BYTES, size * limits.ratio))
        too_large = f"{shown(name)} expands to more than {bytes_shown(most)}"
        file = _spooled(chunks, most, too_large, stack)
    return stack.enter_context(tarfile.TarFile(fileobj=file, mode="r"))


def _tar_kind(info: tarfile.TarInfo) -> EntryKind:
    if info.issym() or info.islnk():
        return "link"
    if info.isdir():
        return "folder"
    return "file" if info.isreg() and not info.issparse() else "special"


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo, limits: Limits) -> _Metered:
    member = archive.extractfile(info)
    assert member is not None  # it is of a regular member only
    return _Metered(member, info.name, info.size, limits)


def _tar_entries(archive: tarfile.TarFile, name: str, limits: Limits) -> Iterator[Entry]:
    for count, info in enumerate(archive, start=1):
        if count > limits.members:
            raise Refused(f"{shown(name)} has more than {limits.members} members")
        written = info.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        yield _entry(written, _tar_kind(info), "", partial(_tar_member, archive, info, limits))


def _entry(name: str, kind: EntryKind, refused: str, opener: Opener) -> Entry:
    """Of a member. One with a path that is refused keeps the last part of it, so that whoever
    looks for that file is told."""
    try:
        path = safe_path(name)
    except Refused as error:
        last = name.replace("\\", "/").rstrip("/").rpartition("/")[2] or "?"
        return Entry((last,), "special", str(error))
    if kind in ("link", "special"):
        refused = "is a link" if kind == "link" else "is no plain file"
    return Entry(path, kind, refused, None if refused else opener)
