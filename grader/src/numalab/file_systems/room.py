"""Room for files: where a file system has none left, programs fail in ways that don't say so.

A compiler's messages get lost, a library that maps a file into memory ends by SIGBUS. So the
folders that all of numalab's programs write to are tried, by asking for a little room there: that
meets quotas, too, and a disk without inodes.
"""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from numalab.words import bytes_allowed

MIB = 1 << 20
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class Place:
    """A folder that is written to, what is asked for there, and what to do where there is none."""

    folder: Path
    bytes: int
    name: str
    remedy: str


def temporary_place() -> Place:
    """Of temporary files, where programs look for it themselves. Compilers and ThreadSanitizer
    take less than that there."""
    named = os.environ.get("TMPDIR")
    remedy = "Remove what is not needed there, or set TMPDIR to a folder with room."
    folder = Path(named or "/tmp")
    return Place(folder, 16 * MIB, f"TMPDIR ({folder})" if named else str(folder), remedy)


def shared_memory_place(wanted_bytes: int = MIB) -> Place:
    """OpenMP's library maps a page of it in each program, MPI's maps more."""
    return Place(
        Path("/dev/shm"), wanted_bytes, "/dev/shm, the memory that programs share",
        "Programs that are over may have left files there: remove them. In a container, --shm-size "
        "gives it more.",
    )  # fmt: skip


def build_place(folder: Path) -> Place:
    """Of builds."""
    remedy = "Make room there, or set NUMALAB_BUILD to another folder."
    return Place(folder, 8 * MIB, str(folder), remedy)


def cache_place(folder: Path) -> Place:
    """Of what virtual nodes boot: a package is fetched there and unpacked."""
    remedy = "Make room there, or set XDG_CACHE_HOME to another folder."
    return Place(folder, 300 * MIB, str(folder), remedy)


def own_places() -> list[Place]:
    """Folders of this user's that numalab writes to, and the one that the command was called in.
    For what has met a full disk: more is asked for than it may have needed."""
    home = os.environ.get("HOME", "/")
    named = (
        (".", ""), (os.environ.get("NUMALAB_BUILD"), "NUMALAB_BUILD"),
        (os.environ.get("NUMALAB_ROOT"), "NUMALAB_BUILD"),
        (os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache", "XDG_CACHE_HOME"),
        (os.environ.get("XDG_STATE_HOME") or f"{home}/.local/state", "XDG_STATE_HOME"),
    )  # fmt: skip
    return [
        Place(
            Path(folder), 64 * MIB, str(Path(folder).absolute()),
            "Make room there" + (f", or set {variable} to another folder." if variable else "."),
        )
        for folder, variable in named
        if folder
    ]  # fmt: skip


def is_full(place: Place) -> bool:
    """Whether it has not the room that is asked for. False where anything else is wrong with it."""
    try:
        with tempfile.TemporaryFile(dir=place.folder) as file:
            os.posix_fallocate(file.fileno(), 0, place.bytes)
    except OSError as error:
        return error.errno in NO_ROOM
    return False


def shortage(*more: Place) -> str:
    """Return which folder has no room and what to do, in sentences; empty where all have it. more:
    places to look at beside those of every program."""
    for place in (*more, temporary_place(), shared_memory_place()):
        if is_full(place):
            needed = bytes_allowed(place.bytes)
            return f"no space left in {place.name}: {needed} are needed there. {place.remedy}"
    return ""
