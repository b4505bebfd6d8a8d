"""Find out whether a file system has room left, since a program that fails on a full one need not
say so.

A file of the needed size is made in a folder and removed again, which also fails where a quota or
the inodes are used up.
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
    bytes: int  # how much is needed
    name: str  # what messages call the folder
    remedy: str  # what to do where there is too little, as sentences


def temporary_place() -> RoomNeeded:
    """Return the room needed for temporary files in TMPDIR, or in /tmp where that is not set."""
    named = os.environ.get("TMPDIR")
    remedy = "Remove what is not needed there, or set TMPDIR to a folder with room."
    folder = Path(named or "/tmp")
    return RoomNeeded(folder, 16 * MIB, f"TMPDIR ({folder})" if named else str(folder), remedy)


def shared_memory_place(needed_bytes: int = MIB) -> RoomNeeded:
    """Return the room needed in /dev/shm, where libraries of OpenMP and MPI may map files."""
    return RoomNeeded(
        Path("/dev/shm"), needed_bytes, "/dev/shm, the memory that programs share",
        "Programs that are over may have left files there: remove them. In a container, --shm-size "
        "gives it more.",
    )  # fmt: skip


def build_place(folder: Path) -> RoomNeeded:
    """Return the room needed in a folder for builds."""
    remedy = "Make room there, or set NUMALAB_BUILD to another folder."
    return RoomNeeded(folder, 8 * MIB, str(folder), remedy)


def cache_place(folder: Path) -> RoomNeeded:
    """Return the room needed in a folder to fetch and unpack a Linux kernel for virtual
    machines."""
    remedy = "Make room there, or set XDG_CACHE_HOME to another folder."
    return RoomNeeded(folder, 300 * MIB, str(folder), remedy)


def own_places() -> list[RoomNeeded]:
    """Return 64 MiB as the room needed in each of these: the working directory, the folders that
    NUMALAB_BUILD and NUMALAB_ROOT name, and the user's cache and state folders (XDG). For use after
    something has failed on a full disk."""
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
    """Tell whether a folder lacks the room; False where a file of that size can't be made for
    another reason."""
    try:
        with tempfile.TemporaryFile(dir=place.folder) as file:
            os.posix_fallocate(file.fileno(), 0, place.bytes)
    except OSError as error:
        return error.errno in NO_ROOM
    return False


def shortage(*more: RoomNeeded) -> str:
    """Return sentences on the first folder that lacks room and what to do; empty where none is
    known to lack it. more: is checked before temporary files and shared memory."""
    for place in (*more, temporary_place(), shared_memory_place()):
        if is_full(place):
            needed = bytes_allowed(place.bytes)
            return f"no space left in {place.name}: {needed} are needed there. {place.remedy}"
    return ""
