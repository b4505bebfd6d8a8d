"""Tables of NUMA nodes that a guest's kernel reads: which memory is whose."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from numalab.virtual.initramfs import (
    NOBODY,
    acpi_archive,
    affinity_table,
    initramfs,
    processor_table,
)

GIB, MIB = 2**30, 2**20


def entries(table: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Return the node and APIC id of each processor; node, first byte and length of each range of
    memory."""
    assert table[:4] == b"SRAT" and struct.unpack_from("<I", table, 4)[0] == len(table)
    assert sum(table) % 256 == 0
    processors, memory, at = [], [], 36 + 12
    while at < len(table):
        kind, length = table[at], table[at + 1]
        if kind == 0:
            assert struct.unpack_from("<I", table, at + 4)[0] == 1, "enabled"
            processors.append((table[at + 2], table[at + 3]))
        else:
            node, _, base, size, _, flags = struct.unpack_from("<IHQQII", table, at + 2)
            assert (kind, flags) == (1, 1)
            memory.append((node, base, size))
        at += length
    assert at == len(table)
    return processors, memory


@pytest.mark.parametrize(
    ("node_bytes", "memory"),
    [
        ([GIB, GIB], [(0, 0, GIB), (1, GIB, GIB)]),
        ([2752 * MIB], [(0, 0, 2752 * MIB)]),
        # From 2.75 GiB in all on 2 GiB are below the hole, and the rest is above 4 GiB.
        ([2816 * MIB], [(0, 0, 2 * GIB), (0, 4 * GIB, 768 * MIB)]),
        ([3 * GIB, GIB], [(0, 0, 2 * GIB), (0, 4 * GIB, GIB), (1, 5 * GIB, GIB)]),
        ([2 * GIB, 0, GIB], [(0, 0, 2 * GIB), (2, 4 * GIB, GIB)]),
    ],
)
def test_memory_of_numa_nodes_is_where_the_machine_has_it(
    node_bytes: Sequence[int], memory: list[tuple[int, int, int]]
) -> None:
    assert entries(affinity_table([[0]] * len(node_bytes), node_bytes))[1] == memory


def test_a_numa_node_without_processors_has_one_that_nobody_is() -> None:
    processors, _ = entries(affinity_table([[4, 5], [], [0]], [GIB, GIB, GIB]))
    assert processors == [(0, 4), (0, 5), (1, NOBODY), (2, 0)]


def test_the_rest_of_the_table_of_processors_is_what_the_machine_has() -> None:
    """Its I/O APIC, the overrides of interrupts, the non-maskable one."""
    table = processor_table([3], [7])
    assert struct.unpack_from("<II", table, 36) == (0xFEE00000, 1)
    assert struct.unpack_from("<BBBBI", table, 44) == (0, 8, 7, 3, 1)
    assert struct.unpack_from("<BBBBII", table, 52) == (1, 12, 0, 0, 0xFEC00000, 0)
    overrides = [struct.unpack_from("<BBBBIH", table, at) for at in range(64, 114, 10)]
    assert overrides[0] == (2, 10, 0, 0, 2, 0), "the timer"
    assert overrides[1:] == [(2, 10, 0, source, source, 13) for source in (5, 9, 10, 11)]
    assert struct.unpack_from("<BBBHB", table, 114) == (4, 6, 0xFF, 0, 1)
    assert len(table) == 120


def header(table: bytes, signature: bytes) -> None:
    """ACPI's, with a revision that replaces QEMU's own table."""
    size = struct.pack("<I", len(table))
    assert table[:9] == signature + size + b"\3"
    assert table[10:36] == b"BOCHS BXPC    \2\0\0\0NUMA\1\0\0\0"
    assert sum(table) % 256 == 0


def test_a_table_of_numa_nodes_is_as_acpi_has_it() -> None:
    table = affinity_table([[5], []], [MIB, 2 * MIB])
    header(table, b"SRAT")
    header(processor_table([0], [0]), b"APIC")
    assert table[36:] == bytes.fromhex(
        "01000000 0000000000000000"
        "00 10 00 05 01000000 00 000000 00000000"
        "00 10 01 ff 01000000 00 000000 00000000"
        "01 28 00000000 0000 0000000000000000 0000100000000000 00000000 01000000 0000000000000000"
        "01 28 01000000 0000 0000100000000000 0000200000000000 00000000 01000000 0000000000000000"
    )


def newc(
    mode: str, content: bytes, name: str, size: int, name_size: int, device: str = ""
) -> bytes:
    """A member as buffer-format.rst has it: 13 numbers of 8 digits after the magic one; name and
    content end at multiples of 4 bytes."""
    numbers = "00000000" + f"{mode:0>8}" + "00000000" * 2 + "00000001" + "00000000"
    numbers += f"{size:08X}" + "00000000" * 2 + (device or "00000000" * 2)
    head = f"070701{numbers}{name_size:08X}00000000{name}".encode()
    head += bytes(1 + -(len(head) + 1) % 4)
    return head + content + bytes(-len(content) % 4)


def test_archives_are_as_linux_reads_them() -> None:
    folder, file, end = "41ED", "81A4", newc("0", b"", "TRAILER!!!", 0, 11)
    assert acpi_archive({"madt": b"12345"}) == (
        newc(folder, b"", "kernel", 0, 7)
        + newc(folder, b"", "kernel/firmware", 0, 16)
        + newc(folder, b"", "kernel/firmware/acpi", 0, 21)
        + newc(file, b"12345", "kernel/firmware/acpi/madt.aml", 5, 30)
        + end
    )
    names = ("dev", "proc", "sys", "tmp", "run", "root", "modules")
    assert initramfs(b"i" * 27, {"b": b"B", "a": b"AA"}) == (
        b"".join(newc(folder, b"", name, 0, len(name) + 1) for name in names)
        + newc("2180", b"", "dev/console", 0, 12, "00000005" + "00000001")
        + newc("81ED", b"i" * 27, "init", 27, 5)
        + newc(file, b"b.ko\na.ko\n", "modules/order", 10, 14)
        + newc(file, b"B", "modules/b.ko", 1, 13)
        + newc(file, b"AA", "modules/a.ko", 2, 13)
        + end
    )
