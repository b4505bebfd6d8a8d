"""Layers of an image: tars that come out the same for the same files, compressed, with both of
their digests."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from pathlib import Path
from typing import IO, cast

from numalab.container.oci import Layer

PIECE_BYTES = 1 << 20
COMPRESSION = 6


class _Digesting:
    """A file that is written, and the SHA-256 and size of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        self.size_bytes += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def compress(tar: Path, target: Path, by: str) -> Layer:
    """Compresses a tar to a layer at target. by: what made it. Raises OSError."""
    content = hashlib.sha256()
    with tar.open("rb") as source, target.open("wb") as file:
        written = _Digesting(file)
        # Without a name and a time, which would be another each time.
        with gzip.GzipFile(
            "", "wb", COMPRESSION, cast("IO[bytes]", written), mtime=0
        ) as compressed:
            while piece := source.read(PIECE_BYTES):
                content.update(piece)
                compressed.write(piece)
    return Layer(target, written.size_bytes, written.sha256, content.hexdigest(), by)


def decompress(layer: Path, target: Path) -> None:
    """The tar of a layer. Raises OSError."""
    with gzip.open(layer, "rb") as source, target.open("wb") as file:
        while piece := source.read(PIECE_BYTES):
            file.write(piece)


def put_in_order(source: Path, target: Path, inside: str, latest_s: int) -> None:
    """Writes the members of the tar source to target: sorted by name, below the folder inside, no
    time later than latest_s (seconds since 1970). Raises OSError and tarfile.TarError."""
    with (
        tarfile.open(source) as unsorted,
        tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as ordered,
    ):
        for member in sorted(unsorted.getmembers(), key=_place):
            content = unsorted.extractfile(member) if member.isreg() else None
            member.name = _below(inside, member.name)
            if member.islnk():
                member.linkname = _below(inside, member.linkname)
            member.mtime = min(int(member.mtime), latest_s)
            member.pax_headers = {}
            ordered.addfile(member, content)


def _below(inside: str, name: str) -> str:
    return f"{inside}/{name.removeprefix('./')}".removesuffix("/.").rstrip("/")


def _place(member: tarfile.TarInfo) -> tuple[bool, str]:
    """By name; hard links come last, behind what they link to."""
    return member.islnk(), member.name
