"""The initramfs of a virtual machine, an archive with the first process and modules of Linux, and
the ACPI tables of processors and NUMA nodes that precede it, which make Linux number them as the
machine does. Pure functions."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

NOBODY = 0xFF  # an APIC id that no processor has, since it means all of them

_FILE, _FOLDER, _CHARACTER_DEVICE = 0o100000, 0o040000, 0o020000


def _entry(name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> bytes:
    """Return a member of a cpio archive in the format newc (Linux:
    early-userspace/buffer-format.rst)."""
    encoded = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    head += b"\0" * (-len(head) % 4)
    return head + content + b"\0" * (-len(content) % 4)


def archive(members: Iterable[bytes]) -> bytes:
    """Return a cpio archive of members."""
    return b"".join(members) + _entry("TRAILER!!!", 0)


def initramfs(init: bytes, modules: Mapping[str, bytes]) -> bytes:
    """Return the guest's first file system. init: the first process's program; modules: contents by
    name, in the order in which they are loaded."""
    folders = ("dev", "proc", "sys", "tmp", "run", "root", "modules")
    members = [_entry(name, _FOLDER | 0o755) for name in folders]
    members.append(_entry("dev/console", _CHARACTER_DEVICE | 0o600, device=(5, 1)))
    members.append(_entry("init", _FILE | 0o755, init))
    order = "".join(f"{name}.ko\n" for name in modules)
    members.append(_entry("modules/order", _FILE | 0o644, order.encode()))
    members += [_entry(f"modules/{name}.ko", _FILE | 0o644, data) for name, data in modules.items()]
    return archive(members)


# ---- tables of processors and NUMA nodes ------------------------------------------------------


def processor_table(apic_ids: Sequence[int], numbers: Sequence[int]) -> bytes:
    """Return an ACPI MADT that lists processors in Linux's order of PU numbers.

    Args:
        apic_ids: of each PU in order.
        numbers: the ACPI number of each PU, by which other tables refer to it.

    The rest is what QEMU's q35 machine has: one I/O APIC, the usual interrupt overrides. Source:
    ACPI specification, section 5.2.12.
    """
    body = struct.pack("<II", 0xFEE00000, 1)
    for apic_id, number in zip(apic_ids, numbers, strict=True):
        body += struct.pack("<BBBBI", 0, 8, number, apic_id, 1)
    body += struct.pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0)
    for source, target, flags in ((0, 2, 0), (5, 5, 13), (9, 9, 13), (10, 10, 13), (11, 11, 13)):
        body += struct.pack("<BBBBIH", 2, 10, 0, source, target, flags)
    body += struct.pack("<BBBHB", 4, 6, 0xFF, 0, 1)
    return _acpi_table(b"APIC", 3, body)


def _acpi_table(signature: bytes, revision: int, body: bytes) -> bytes:
    """Return a table whose header has QEMU's names and a higher OEM revision than QEMU's, which is
    1, so that Linux takes it for a newer version of QEMU's table."""
    table = signature + struct.pack("<IBB", 36 + len(body), revision, 0) + b"BOCHS BXPC    "
    table += struct.pack("<I", 2) + b"NUMA" + struct.pack("<I", 1) + body
    checksum = -sum(table) & 0xFF
    return table[:9] + bytes([checksum]) + table[10:]


def affinity_table(apic_ids: Sequence[Sequence[int]], node_bytes: Sequence[int]) -> bytes:
    """Return an ACPI SRAT that lists NUMA nodes in the order of their numbers.

    Args:
        apic_ids: of each NUMA node's processors; empty for one with memory only.
        node_bytes: memory of each NUMA node.

    Linux numbers NUMA nodes as they appear, those of processors first (drivers/acpi/numa/srat.c),
    and QEMU lists them by package. One with memory only gets its number by a processor that does
    not exist (NOBODY). The memory is laid out as in QEMU's q35 machine, one NUMA node after the
    other: where there are 2.75 GiB or more, what exceeds 2 GiB is above 4 GiB. Source: ACPI
    specification, section 5.2.16.
    """
    body = struct.pack("<IQ", 1, 0)
    for node, ids in enumerate(apic_ids):
        for apic_id in ids or (NOBODY,):
            body += struct.pack("<BBBBIB3sI", 0, 16, node, apic_id, 1, 0, bytes(3), 0)
    total = sum(node_bytes)
    low = 0x80000000 if total >= 0xB0000000 else total
    end = 0
    for node, size in enumerate(node_bytes):
        start, end = end, end + size
        for base, length in (
            (start, min(end, low) - start),
            (max(start, low) + (1 << 32) - low, end - max(start, low)),
        ):
            if length > 0:
                body += struct.pack("<BBIHQQIIQ", 1, 40, node, 0, base, length, 0, 1, 0)
    return _acpi_table(b"SRAT", 3, body)


def acpi_archive(tables: Mapping[str, bytes]) -> bytes:
    """Return an archive of tables, by name, with which Linux replaces those of the firmware. It
    belongs before the initramfs, uncompressed (Linux: admin-guide/acpi/initrd_table_override.rst).
    """
    folders = ("kernel", "kernel/firmware", "kernel/firmware/acpi")
    members = [_entry(name, _FOLDER | 0o755) for name in folders]
    for name, table in tables.items():
        members.append(_entry(f"kernel/firmware/acpi/{name}.aml", _FILE | 0o644, table))
    return archive(members)
