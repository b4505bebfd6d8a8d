"""Read untrusted archives, without unpacking them into a folder.

A process of its own reads them (untrusted/archives.py), since Python's library can be made to take
hours or all memory. There are limits on the number of members, on the bytes in all, and on the
ratio of bytes to those in the archive. Links, devices, absolute paths, paths that climb out and
encrypted members are refused one by one, and an archive whose members can't be listed as a whole.
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

READER = "archives"  # the reader's module in untrusted/
SUFFIXES = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar", ".zip")
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of an archive.

    Attributes:
        archive_bytes: size of the archive as it was handed in.
        members: number of its members.
        expanded_bytes: bytes of everything that is read of it.
        ratio: bytes read of a member over the bytes that it takes in the archive; it holds from
            RATIO_FROM_BYTES on.
        reader: limits of the process that reads it.
    """

    archive_bytes: int
    members: int
    expanded_bytes: int
    ratio: int
    reader: reader_pool.Limits


# A student's hand-in is a few text files, perhaps a whole copy of numalab with a report and a
# picture, which takes a tenth of a second.
STUDENT_LIMITS = ArchiveLimits(
    archive_bytes=32 * MIB, members=5_000, expanded_bytes=64 * MIB, ratio=100,
    reader=reader_pool.Limits(computing_s=10, memory_bytes=512 * MIB, file_bytes=64 * MIB),
)  # fmt: skip
# A class's collection, packed by the course's system, has thousands of students' archives.
COLLECTION_LIMITS = ArchiveLimits(
    archive_bytes=1 << 40, members=500_000, expanded_bytes=1 << 33, ratio=100,
    reader=reader_pool.Limits(computing_s=3_600, memory_bytes=4 << 30, file_bytes=1 << 33),
)  # fmt: skip


def archive_suffix(name: str) -> str:
    """Return the suffix of an archive's name, such as ".tar.gz", of those that are not read, too;
    empty if the name is not an archive's."""
    lowered = name.casefold()
    return next((s for s in (*SUFFIXES, *foreign_archives.SUFFIX_KINDS) if lowered.endswith(s)), "")


def strip_suffix(name: str) -> str:
    return name[: len(name) - len(archive_suffix(name))]


@dataclass
class _Archive:
    """An archive that is being read. read_bytes: bytes read so far of all its members."""

    reading: Reading
    name: str
    limits: ArchiveLimits
    read_bytes: int = 0


class _Stream:
    """A member that is read, with limits, while the archive's reader is alive. Making one and
    reading raise Refused if it can't be read or passes a limit."""

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
        """Return at most `most` bytes, and at most 64 KiB, none at the end; `most` of 0 or less: up
        to 64 KiB."""
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
        with suppress(Unreadable):  # the reader is gone, which the next read reports
            self._archive.reading.ask(self._index, CLOSE)
            for _ in self._archive.reading.answer():
                pass


class ForeignArchive(Refused):
    """An archive is of a kind that is not read."""

    def __init__(self, name: str, kind: ForeignKind) -> None:
        super().__init__(foreign_archives.explain_kind(kind, name, strip_suffix(name) or name))
        self.kind = kind


def copy_to_file(source: Readable, most_bytes: int, name: str, stack: ExitStack) -> IO[bytes]:
    """Copy a stream to a nameless file, which the stack closes. Raises Refused if it is larger than
    most_bytes or can't be read."""
    file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    for chunk in iter(lambda: source.read(_CHUNK_BYTES), b""):
        if file.tell() + len(chunk) > most_bytes:
            raise Refused(f"{shown(name)} is larger than {bytes_allowed(most_bytes)}")
        file.write(chunk)
    return file


def read_archive(
    file: IO[bytes], name: str, limits: ArchiveLimits, readers: ReaderPool, stack: ExitStack
) -> tuple[Entry, ...]:
    """Return the entries of an archive, without ignored ones.

    Args:
        file: a seekable file; the entries can be read until the stack is closed.
        name: the archive's name, for messages.

    Raises:
        ForeignArchive: archives of its kind are not read.
        Refused: it passes a limit, has no byte, is damaged, or is no zip or tar.
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
    """Return a member as an entry. One with a path that is refused keeps the last part of it, so
    that a student who expects the file learns why it was not taken."""
    try:
        path = safe_path(member.name)
    except Refused as error:
        return Entry((last_part(member.name),), "special", str(error))
    refused = {"link": "is a link", "special": "is no plain file"}.get(member.kind, member.refused)
    return Entry(path, member.kind, refused, None if refused else opener)  # type: ignore[arg-type]
