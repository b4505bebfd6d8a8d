"""Files that are made to hang, fill or mislead who reads them."""

from __future__ import annotations

import io
import os
import socket
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from support.deliveries import zip_bytes

KERNEL = b"void initialize(void) {}\n"


def tar_with(header_type: bytes, content: bytes, times: int = 1) -> bytes:
    """A tar whose first members are headers of this type, with that in them, before a kernel."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for _ in range(times):
            header = tarfile.TarInfo("header")
            header.type, header.size = header_type, len(content)
            archive.addfile(header, io.BytesIO(content))
        kernel = tarfile.TarInfo("kernel.c")
        kernel.size = len(KERNEL)
        archive.addfile(kernel, io.BytesIO(KERNEL))
    return packed.getvalue()


def pax_of_digits() -> bytes:
    """tarfile looks for a character set with a pattern that takes the square of the digits
    (CVE-2024-6232)."""
    return tar_with(tarfile.XHDTYPE, b"1" * (4 << 20))


def pax_of_a_gibibyte() -> bytes:
    """A record that says it is as long as it likes."""
    return tar_with(tarfile.XHDTYPE, b"1073741824 path=x\n")


def pax_in_pax() -> bytes:
    """Each header is read by a call within the call for the one before."""
    return tar_with(tarfile.XHDTYPE, b"9 path=x\n", times=4_000)


def sparse_map() -> bytes:
    """GNU's sparse files of old: a map that goes on and on."""
    header = tarfile.TarInfo("kernel.c")
    header.type, header.size = tarfile.GNUTYPE_SPARSE, 1 << 20
    packed = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    packed[482] = 1  # more of the map follows
    packed[148:156] = b" " * 8
    packed[148:156] = b"%06o\0 " % sum(packed)
    block = (b"%011o\0" % 1) * 42
    return bytes(packed) + (block[:504] + b"\1" + bytes(7)) * 2_000


def negative_size() -> bytes:
    header = tarfile.TarInfo("kernel.c")
    packed = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    packed[124:136] = b"\xff" * 12
    packed[148:156] = b" " * 8
    packed[148:156] = b"%06o\0 " % sum(packed)
    return bytes(packed) + bytes(1024)


def zip_of(names: list[str], content: bytes = KERNEL) -> bytes:
    """Members by these names, which may be alike."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = name  # ZipInfo itself would cut it at a NUL
            archive.writestr(info, content)
    return packed.getvalue()


def overlapping(members: int = 4_000) -> bytes:
    """One member's bytes under thousands of entries of the directory: 4 GB to read."""
    whole = zip_bytes({"kernel.c": bytes(1 << 20)})
    at, end = whole.index(b"PK\1\2"), whole.index(b"PK\5\6")
    directory = whole[at:end] * members
    last = struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, members & 0xFFFF, members & 0xFFFF, len(directory), at, 0
    )
    return whole[:at] + directory + last


def lzma_of_4_gib() -> bytes:
    """A member whose compression asks for a dictionary of 4 GiB."""
    packed = bytearray(zip_bytes({"kernel.c": KERNEL * 50}, compression=zipfile.ZIP_LZMA))
    at = packed.index(b"kernel.c") + len("kernel.c")
    assert packed[at + 2 : at + 4] == b"\5\0"  # after the version: five bytes of properties
    struct.pack_into("<L", packed, at + 5, 0xFFFFFFFF)
    return bytes(packed)


def bz2_bomb() -> bytes:
    return zip_bytes({"kernel.c": bytes(16 << 20)}, compression=zipfile.ZIP_BZIP2)


def zip64_that_lies() -> bytes:
    """An extra field says that the member lies beyond the end, and has an exbibyte."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("kernel.c")
        info.extra = struct.pack("<HHQQQ", 1, 24, 1 << 60, 1 << 60, 1 << 59)
        archive.writestr(info, KERNEL)
    whole = bytearray(packed.getvalue())
    at = whole.rindex(b"PK\1\2")
    whole[at + 20 : at + 28] = b"\xff" * 8
    whole[at + 42 : at + 46] = b"\xff" * 4
    return bytes(whole)


ARCHIVES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "pax_of_digits": (".tar", pax_of_digits),
    "pax_of_a_gibibyte": (".tar", pax_of_a_gibibyte),
    "pax_in_pax": (".tar", pax_in_pax),
    "sparse_map": (".tar", sparse_map),
    "negative_size": (".tar", negative_size),
    "long_name": (".tar", lambda: tar_with(tarfile.GNUTYPE_LONGNAME, b"a/" * (1 << 20))),
    "overlapping": (".zip", overlapping),
    "same_name": (".zip", lambda: zip_of(["kernel.c"] * 4_000)),
    "many_members": (".zip", lambda: zip_of([f"{n}" for n in range(20_000)], b"")),
    "lzma_of_4_gib": (".zip", lzma_of_4_gib),
    "bz2_bomb": (".zip", bz2_bomb),
    "zip64_that_lies": (".zip", zip64_that_lies),
    "names": (
        ".zip",
        lambda: zip_of(
            ["a\nb.c", "../kernel.c", "x/" * 30 + "kernel.c", "y" * 60_000, "\x1b]52;c;eA==\x07.c",
             "\u202ec.lenrek", "kernel.c\0.txt", "", "/", "CON", "a//b"]
        ),
    ),
    "many_folders": (".zip", lambda: zip_of([f"{n}/kernel.c" for n in range(4_900)])),
    "many_archives": (".zip", lambda: zip_of([f"{n}.zip" for n in range(4_000)], b"PK\3\4")),
    "rar": (".zip", lambda: b"Rar!\x1a\x07\x01\x00" + bytes(100)),
    "seven_zip": (".tar.gz", lambda: b"7z\xbc\xaf\x27\x1c" + bytes(100)),
}  # fmt: skip


def put_no_files(folder: Path, name: str) -> dict[str, Path]:
    """In a folder for each kind of thing that is no file, one called so."""
    made = {}
    for kind in ("fifo", "folder", "socket", "link", "dangling", "loop", "endless", "sparse"):
        path = folder / kind / name
        path.parent.mkdir(parents=True)
        made[kind] = path
        match kind:
            case "fifo":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "socket":
                here = Path.cwd()
                os.chdir(path.parent)  # its path may have 107 bytes
                try:
                    with socket.socket(socket.AF_UNIX) as made_socket:
                        made_socket.bind(name)
                finally:
                    os.chdir(here)
            case "link":
                path.symlink_to("/etc/passwd")
            case "dangling":
                path.symlink_to("/nowhere/at/all")
            case "loop":
                path.symlink_to(path)
            case "endless":
                path.symlink_to("/dev/zero")
            case "sparse":
                with path.open("wb") as file:
                    file.truncate(1 << 40)
    return made
