"""Archives that numalab does not read, and the commands that unpack them.

Python's library has no reader for 7z and RAR, and a program for them would run as the instructor,
on untrusted input. So archives of 7z, RAR and Zstandard are recognized by their first bytes, which
a false suffix does not hide, and the message about one has the commands that unpack it. (First
bytes: 7zFormat.txt of the LZMA SDK, "Signature"; RAR 5.0 archive format, rarlab.com, "RAR 5.0
signature" and "RAR 4.x signature"; RFC 8878, 3.1.1, of Zstandard.)
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from numalab.untrusted.visible import shown

HEAD_BYTES = 8
HAND_IN_INSTEAD = "hand in a .zip or a .tar.gz"


@dataclass(frozen=True)
class ForeignKind:
    """A kind of archive that is not read.

    Attributes:
        called: its name in sentences, with an article.
        commands: commands that unpack {file} into the folder {folder}, or next to the file if it is
            a single compressed one; the best first, each with its Debian package.
    """

    called: str
    commands: Mapping[str, str]


_BSDTAR = {"mkdir -p {folder} && bsdtar -xf {file} -C {folder}": "libarchive-tools"}
_SEVEN_ZIP = ForeignKind("a 7z archive", {"7z x -o{folder} {file}": "p7zip-full", **_BSDTAR})
_RAR = ForeignKind("a RAR archive", {"unar -D -o {folder} {file}": "unar", **_BSDTAR})
_ZSTANDARD_TAR = ForeignKind(
    "an archive in Zstandard",
    {"mkdir -p {folder} && tar --zstd -xf {file} -C {folder}": "zstd", **_BSDTAR},
)
_SINGLE_FILE = "a single compressed file"
_HEAD_KINDS = {
    b"7z\xbc\xaf\x27\x1c": _SEVEN_ZIP,
    b"Rar!\x1a\x07": _RAR,
    b"\x28\xb5\x2f\xfd": _ZSTANDARD_TAR,
}
SUFFIX_KINDS = {
    ".7z": _SEVEN_ZIP,
    ".rar": _RAR,
    ".tar.zst": _ZSTANDARD_TAR,
    ".gz": ForeignKind(_SINGLE_FILE, {"gunzip {file}": "gzip"}),
    ".xz": ForeignKind(_SINGLE_FILE, {"unxz {file}": "xz-utils"}),
    ".bz2": ForeignKind(_SINGLE_FILE, {"bunzip2 {file}": "bzip2"}),
    ".zst": ForeignKind(_SINGLE_FILE, {"unzstd --rm {file}": "zstd"}),
}


def kind_by_head(head: bytes) -> ForeignKind | None:
    """Return the kind of a file by its first HEAD_BYTES bytes; None if they show none."""
    return next((kind for start, kind in _HEAD_KINDS.items() if head.startswith(start)), None)


def _argument(name: str) -> str:
    """Quote a name for a shell; return FILE for one that has unprintable characters or begins with
    a hyphen."""
    return shlex.quote(name) if name.isprintable() and not name.startswith("-") else "FILE"


def commands_for(kind: ForeignKind, file: str, folder: str) -> dict[str, str]:
    """Return the commands that unpack a file, an archive into a folder, the best first, each with
    its Debian package. In them FILE stands for a name that is no plain word."""
    name, into = _argument(file), _argument(folder)
    return {
        command.format(file=name, folder=into): package
        for command, package in kind.commands.items()
    }


def explain_kind(kind: ForeignKind, name: str, folder: str) -> str:
    """Return two sentences, the last without a full stop, for the student and the instructor, on a
    file that is not read. name: the file's; folder: where the instructor may unpack it."""
    found = commands_for(kind, name, folder)
    commands = " or ".join(f"`{command}` (package {found[command]})" for command in found)
    after = "" if kind.called == _SINGLE_FILE else f", and then `rm {_argument(name)}`"
    return (
        f"{shown(name)} is {kind.called}, which is not read here; {HAND_IN_INSTEAD}. Whoever "
        f"grades can unpack it where it lies: {commands}{after}"
    )
