"""The reach of the TLB, as cpuid reports it, and the bytes that page walks read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from numalab.evidence.record import Json

MIB = 2**20
ENTRY_BYTES = 8  # of an entry of a page table, on x86-64 and AArch64


@dataclass(frozen=True)
class Reach:
    """The data TLB of one level, counted from 1, for one size of pages."""

    page_bytes: int
    entries: int
    level: int

    @property
    def reach_bytes(self) -> int:
        """The bytes that its entries translate."""
        return self.page_bytes * self.entries


# cpuid leaf 0x18 (Intel's manual, "Deterministic Address Translation Parameters"): bit of
# register b, and the page size it stands for.
_INTEL_PAGE_BITS = {4096: 0, 2 * MIB: 1}
_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE = 1, 3, 4, 5
# AMD's manual: register b holds 4 KiB pages, a holds 2 MiB pages. cpuid 0x80000005 has the first
# level of the data TLB: entries in bits 16 to 23, ways in 24 to 31. 0x80000006 the second: entries
# in bits 16 to 27, and bits 28 to 31 are 0 without one.
_AMD_REGISTER = {4096: 1, 2 * MIB: 0}


def tlb_reaches(description: Json, page_bytes: int) -> list[Reach]:
    """Return the TLB's levels for one size of pages, in ascending order.
    description: what common/probe prints for `describe`. Empty where cpuid reports nothing, or
    where pages are neither of 4 KiB nor of 2 MiB."""
    if page_bytes not in _INTEL_PAGE_BITS:
        return []
    entries = _intels(description, page_bytes) or _amds(description, page_bytes)
    return [Reach(page_bytes, entries[level], level) for level in sorted(entries)]


def tlb_reach(description: Json, page_bytes: int) -> Reach | None:
    """Return the reach of the last level that tlb_reaches returns; None where that is empty."""
    reaches = tlb_reaches(description, page_bytes)
    return reaches[-1] if reaches else None


def _intels(description: Json, page_bytes: int) -> Mapping[int, int]:
    """Return the number of entries by level, as Intel's cpuid reports it.
    Of several TLBs of one level, such as for loads and for stores, the largest counts."""
    entries: dict[int, int] = {}
    for _a, b, c, d in description.get("cpuid_18", []):
        kind, level = d & 0x1F, d >> 5 & 0x7
        if kind not in (_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE):
            continue
        if b >> _INTEL_PAGE_BITS[page_bytes] & 1 and (b >> 16) * c:
            entries[level] = max(entries.get(level, 0), (b >> 16) * c)
    return entries


def _amds(description: Json, page_bytes: int) -> Mapping[int, int]:
    entries: dict[int, int] = {}
    first, second = description.get("cpuid_80000005"), description.get("cpuid_80000006")
    if first and first[_AMD_REGISTER[page_bytes]] >> 16 & 0xFF:
        entries[1] = first[_AMD_REGISTER[page_bytes]] >> 16 & 0xFF
    if second:
        register = second[_AMD_REGISTER[page_bytes]]
        if register >> 28 and register >> 16 & 0xFFF:
            entries[2] = register >> 16 & 0xFFF
    return entries


def walked_bytes(table_bytes: int, page_bytes: int) -> int:
    """Return the bytes that the last steps of page walks may read: one entry per page of the
    table."""
    return -(-table_bytes // page_bytes) * ENTRY_BYTES
