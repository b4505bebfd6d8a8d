"""Find out whether a file system has room left: programs that meet a full one don't say so.

A compiler's messages get lost, and a library that maps a file into memory ends by SIGBUS. So a
little room is asked for in each folder that numalab's programs write to. That meets quotas, too,
and a disk without inodes.
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
class RoomNeeded:
    """Room that is needed in a folder."""

    folder: Path  # where it is needed
    bytes: int  # how much is asked for
    name: str  # what messages call the folder
    remedy: str  # what to do where there is too little, as sentences


def temporary_place() -> RoomNeeded:
    """Return the room for temporary files, in the folder that programs use by themselves. Compilers
    and ThreadSanitizer take less."""
    named = os.environ.get("TMPDIR")
    remedy = "Remove what is not needed there, or set TMPDIR to a folder with room."
    folder = Path(named or "/tmp")
    return RoomNeeded(folder, 16 * MIB, f"TMPDIR ({folder})" if named else str(folder), remedy)


def shared_memory_place(needed_bytes: int = MIB) -> RoomNeeded:
    """Return the room in /dev/shm: OpenMP's library maps a page of it in each program, MPI's maps
    more."""
    return RoomNeeded(
        Path("/dev/shm"), needed_bytes, "/dev/shm, the memory that programs share",
        "Programs that are over may have left files there: remove them. In a container, --shm-size "
        "gives it more.",
    )  # fmt: skip


def build_place(folder: Path) -> RoomNeeded:
    """Return the room for builds."""
    remedy = "Make room there, or set NUMALAB_BUILD to another folder."
    return RoomNeeded(folder, 8 * MIB, str(folder), remedy)


def cache_place(folder: Path) -> RoomNeeded:
    """Return the room for what virtual machines boot: a package is fetched there and unpacked."""
    remedy = "Make room there, or set XDG_CACHE_HOME to another folder."
    return RoomNeeded(folder, 300 * MIB, str(folder), remedy)


def own_places() -> list[RoomNeeded]:
    """Return the room in this user's folders that numalab writes to, and in the working directory.
    Used after a program met a full disk, so more is asked for than that program may have needed."""
    home = os.environ.get("HOME", "/")
    named = (
        (".", ""), (os.environ.get("NUMALAB_BUILD"), "NUMALAB_BUILD"),
        (os.environ.get("NUMALAB_ROOT"), "NUMALAB_BUILD"),
        (os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache", "XDG_CACHE_HOME"),
        (os.environ.get("XDG_STATE_HOME") or f"{home}/.local/state", "XDG_STATE_HOME"),
    )  # fmt: skip
    return [
        RoomNeeded(
            Path(folder), 64 * MIB, str(Path(folder).absolute()),
            "Make room there" + (f", or set {variable} to another folder." if variable else "."),
        )
        for folder, variable in named
        if folder
    ]  # fmt: skip


def is_full(place: RoomNeeded) -> bool:
    """Tell whether the folder lacks the room; False where anything else is wrong with it."""
    try:
        with tempfile.TemporaryFile(dir=place.folder) as file:
            os.posix_fallocate(file.fileno(), 0, place.bytes)
    except OSError as error:
        return error.errno in NO_ROOM
    return False


def shortage(*more: RoomNeeded) -> str:
    """Return which folder has no room and what to do, in sentences; empty where all have it. more:
    what is checked besides the folders that each program needs."""
    for place in (*more, temporary_place(), shared_memory_place()):
        if is_full(place):
            needed = bytes_allowed(place.bytes)
            return f"no space left in {place.name}: {needed} are needed there. {place.remedy}"
    return ""
