"""The reach of the TLB, as cpuid tells it."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.record import Json

MIB = 2**20


@dataclass(frozen=True)
class Reach:
    """Entries of the last-level data TLB for one size of pages."""

    page_bytes: int
    entries: int

    @property
    def reach_bytes(self) -> int:
        return self.page_bytes * self.entries


# cpuid leaf 0x18 (Intel's manual, "Deterministic Address Translation Parameters"): bit of
# register b, and the page size it stands for.
_INTEL_PAGE_BITS = {4096: 0, 2 * MIB: 1}
_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE = 1, 3, 4, 5
# cpuid 0x80000006 (AMD's manual): register b holds 4 KiB pages, a holds 2 MiB pages; the
# entries of the second-level data TLB are bits 16 to 27, bits 28 to 31 are 0 without one.
_AMD_REGISTER = {4096: 1, 2 * MIB: 0}


def tlb_reach(about: Json, page_bytes: int) -> Reach | None:
    """From what cpuid said; None where it said nothing, as under many hypervisors."""
    if page_bytes not in _INTEL_PAGE_BITS:
        return None
    best: tuple[int, int] | None = None  # level, entries
    for _a, b, c, d in about.get("cpuid_18", []):
        kind, level = d & 0x1F, d >> 5 & 0x7
        if kind not in (_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE):
            continue
        if b >> _INTEL_PAGE_BITS[page_bytes] & 1:
            entry = (level, (b >> 16) * c)
            best = entry if best is None else max(best, entry)
    if best is not None and best[1] > 0:
        return Reach(page_bytes, best[1])
    registers = about.get("cpuid_80000006", [])
    if registers:
        register = registers[_AMD_REGISTER[page_bytes]]
        entries = register >> 16 & 0xFFF
        if register >> 28 and entries:
            return Reach(page_bytes, entries)
    return None
