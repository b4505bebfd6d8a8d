"""Untrusted archives, read and never unpacked.

A process of its own reads them (untrusted/archives.py), since Python's library can be led to take
hours or all memory. Limits are counted on what has been read: at most so many members, so many
bytes in all, and so many times as many as the archive has. Links, devices, absolute paths, paths
that climb out and encrypted members are refused one by one, and a damaged archive as a whole.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO

from numalab.course.intake import foreign_archives
from numalab.course.intake.foreign_archives import HEAD_BYTES, ForeignKind, kind_by_head
from numalab.course.intake.trees import (
    Entry,
    Opener,
    Readable,
    Refused,
    is_ignored,
    last_part,
    safe_path,
)
from numalab.files import MIB
from numalab.untrusted import reader_pool
from numalab.untrusted.archives import CLOSE, RATIO_FROM_BYTES, Member
from numalab.untrusted.reader_pool import ReaderPool, Reading
from numalab.untrusted.reader_server import Unreadable
from numalab.untrusted.visible import shown
from numalab.words import bytes_allowed

READER = "archives"  # of untrusted/
SUFFIXES = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar", ".zip")
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class ArchiveLimits:
    """Attributes:
    archive_bytes: size of the archive as it was handed in.
    members: number of members in it.
    expanded_bytes: of everything that is read of it.
    ratio: bytes read over the bytes that they take in the archive.
    reader: limits of the process that reads it.
    """

    archive_bytes: int
    members: int
    expanded_bytes: int
    ratio: int
    reader: reader_pool.Limits


# A student's hand-in is a few text files, perhaps the whole kit with a report and a picture: that
# takes a tenth of a second.
STUDENT_LIMITS = ArchiveLimits(
    archive_bytes=32 * MIB, members=5_000, expanded_bytes=64 * MIB, ratio=100,
    reader=reader_pool.Limits(computing_s=10, memory_bytes=512 * MIB, file_bytes=64 * MIB),
)  # fmt: skip
# A class's, which the course's system has packed: thousands of students' archives.
COLLECTION_LIMITS = ArchiveLimits(
    archive_bytes=1 << 40, members=500_000, expanded_bytes=1 << 33, ratio=100,
    reader=reader_pool.Limits(computing_s=3_600, memory_bytes=4 << 30, file_bytes=1 << 33),
)  # fmt: skip


def archive_suffix(name: str) -> str:
    """Return ".tar.gz" for "x.tar.gz"; empty if the name is not an archive's."""
    lowered = name.casefold()
    return next((s for s in (*SUFFIXES, *foreign_archives.SUFFIXES) if lowered.endswith(s)), "")


def strip_suffix(name: str) -> str:
    return name[: len(name) - len(archive_suffix(name))]


@dataclass
class _Archive:
    """An archive that is being read; read_bytes counts all its members so far."""

    reading: Reading
    name: str
    limits: ArchiveLimits
    read_bytes: int = 0


class _Stream:
    """A member whose bytes are counted as they are read; raises Refused when a limit is passed."""

    def __init__(self, archive: _Archive, index: int, member: Member) -> None:
        self._archive, self._index, self._name = archive, index, shown(member.name)
        self._most = max(RATIO_FROM_BYTES, member.packed_bytes * archive.limits.ratio)
        self._read = 0
        self._request(0)

    def _request(self, count: int) -> bytes:
        self._archive.reading.ask(self._index, count)
        try:
            return b"".join(self._archive.reading.answer())
        except Unreadable as error:
            raise Refused(f"{self._name} {error}") from error

    def read(self, most: int = -1) -> bytes:
        """Return at most so many bytes; none at the end."""
        data = self._request(min(most, _CHUNK_BYTES) if most > 0 else _CHUNK_BYTES)
        self._read += len(data)
        self._archive.read_bytes += len(data)
        limits = self._archive.limits
        if self._read > self._most:
            raise Refused(f"{self._name} expands to more than {limits.ratio} times its size")
        if self._archive.read_bytes > limits.expanded_bytes:
            raise Refused(
                f"more than {bytes_allowed(limits.expanded_bytes)} would have to be read of "
                f"{shown(self._archive.name)}"
            )
        return data

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(Unreadable):  # its reader is gone: who reads on is told
            self._archive.reading.ask(self._index, CLOSE)
            for _ in self._archive.reading.answer():
                pass


class ForeignArchive(Refused):
    """An archive of a kind that is not read here, whatever its name ends in."""

    def __init__(self, name: str, kind: ForeignKind) -> None:
        super().__init__(foreign_archives.explain_kind(kind, name, strip_suffix(name) or name))
        self.kind = kind


def copy_to_file(source: Readable, most_bytes: int, name: str, stack: ExitStack) -> IO[bytes]:
    """Copy a stream to a file without a name, which goes away with the stack. Raises Refused."""
    file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    for chunk in iter(lambda: source.read(_CHUNK_BYTES), b""):
        if file.tell() + len(chunk) > most_bytes:
            raise Refused(f"{shown(name)} is larger than {bytes_allowed(most_bytes)}")
        file.write(chunk)
    return file


def read_archive(
    file: IO[bytes], name: str, limits: ArchiveLimits, readers: ReaderPool, stack: ExitStack
) -> tuple[Entry, ...]:
    """Return the entries of an archive, whose kind its first bytes tell.

    Args:
        file: seekable; the entries can be read as long as the stack is open.

    Raises:
        ForeignArchive: its kind is not read here.
        Refused: it passes a limit, is empty or damaged.
    """
    size = file.seek(0, 2)
    if size > limits.archive_bytes:
        raise Refused(f"{shown(name)} is larger than {bytes_allowed(limits.archive_bytes)}")
    if size == 0:
        raise Refused(f"{shown(name)} is empty, no byte long")
    file.seek(0)
    kind = kind_by_head(file.read(HEAD_BYTES))
    if kind is not None:
        raise ForeignArchive(name, kind)
    options = {
        "members": limits.members, "expanded_bytes": limits.expanded_bytes, "ratio": limits.ratio
    }  # fmt: skip
    reading = stack.enter_context(readers.read(file, options, limits.reader))
    archive = _Archive(reading, name, limits)
    try:
        entries = tuple(_entries(archive))
    except Unreadable as error:
        raise Refused(f"{shown(name)} {error}") from error
    return tuple(entry for entry in entries if not is_ignored(entry.path))


def _entries(archive: _Archive) -> Iterator[Entry]:
    index = 0
    for part in archive.reading.answer():
        for told in json.loads(part):
            member = Member(*told)
            yield _entry(member, partial(_Stream, archive, index, member))
            index += 1


def _entry(member: Member, opener: Opener) -> Entry:
    """Return a member as an entry. One whose path is refused keeps the last part of it, so that
    a student who expects that file learns why it was not taken."""
    try:
        path = safe_path(member.name)
    except Refused as error:
        return Entry((last_part(member.name),), "special", str(error))
    refused = {"link": "is a link", "special": "is no plain file"}.get(member.kind, member.refused)
    return Entry(path, member.kind, refused, None if refused else opener)  # type: ignore[arg-type]
