"""Kernels made up, as distributions have them."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

from numalab.virtual import kernel

ALL = (*kernel.MODULES, *kernel.NETWORK_MODULES)

XEN = (18, b"Xen\0", b"\0\0\0\1\0\0\0\0")


def big_image(
    content: bytes, release: str = "6.1.0-9-amd64 (debian) #1", sectors: int = 4
) -> bytes:
    """A bzImage as boot.rst has it: the kernel is 16 bytes behind the set-up's sectors."""
    image = bytearray((sectors + 1) * 512)
    image[0x1F1] = sectors
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x20E, 0x100)
    text = release.encode() + b"\0"
    image[0x300 : 0x300 + len(text)] = text
    struct.pack_into("<II", image, 0x248, 16, len(content))
    return bytes(image) + b"-" * 16 + content + b"the rest"


def elf(*notes: tuple[int, bytes, bytes], kind: int = 4, before: int = 0) -> bytes:
    """A 64-bit ELF file whose last program header, after some of another kind, is of notes (type,
    name, value)."""
    body = b""
    for number, name, value in notes:
        body += struct.pack("<III", len(name), len(value), number)
        body += name + bytes(-len(name) % 4) + value + bytes(-len(value) % 4)
    at = 64 + 56 * (before + 1)
    head = bytearray(64)
    head[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", head, 0x20, 64)
    struct.pack_into("<HH", head, 0x36, 56, before + 1)
    other = struct.pack("<IIQQQQ16x", 1, 5, 0, 0, 0, 0)
    return (
        bytes(head)
        + other * before
        + struct.pack("<IIQQQQ16x", kind, 4, at, 0, 0, len(body))
        + (body)
    )


def module(*needs: str) -> bytes:
    return b"ELF\0depends=" + ",".join(needs).encode() + b"\0"


def install(root: Path, version: str, content: bytes = b"", *lacking: str) -> Path:
    """A vmlinuz below root/boot, with its modules in root/lib/modules."""
    image = root / "boot" / f"vmlinuz-{version}"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(big_image(gzip.compress(content or elf(XEN)), f"{version} (me)"))
    folder = root / "lib/modules" / version
    (folder / "kernel").mkdir(parents=True)
    for name in set(ALL) - {*lacking, "9p", "af_packet"}:
        (folder / "kernel" / f"{name}.ko").write_bytes(module())
    (folder / "kernel/9p.ko.gz").write_bytes(gzip.compress(module("9pnet-virtio")))
    (folder / "modules.builtin").write_text("kernel/net/af_packet.ko\nkernel/drivers/other.ko\n")
    return image
