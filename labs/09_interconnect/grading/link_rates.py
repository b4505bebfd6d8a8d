"""The rates of InfiniBand links and PCIe slots: lanes times signalling rate times the share that
their code leaves to data. Exact; pure functions.

Sources. SDR, QDR, FDR's code, and the widths 1X, 4X and 12X: S. Pachghare's blog of 2012
(SVP-BLOG). DDR, FDR's rate, EDR, HDR, NDR and the width 2X: the InfiniBand Trade Association's
roadmap, which gives data rates of lanes, and vendors' tables of signalling rates. The share of HDR
and NDR follows from those two, 50 of 53.125 Gbit/s; it is what IEEE 802.3 leaves of such lanes, too
(blocks of 256 bits in 257, Reed-Solomon code (544,514)). PCIe: PCI Express Base Specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

EIGHT_IN_TEN = Fraction(8, 10)
SIXTYFOUR_IN_66 = Fraction(64, 66)
REED_SOLOMON = Fraction(514, 544) * Fraction(256, 257)
SLOT_128_IN_130 = Fraction(128, 130)


@dataclass(frozen=True)
class Lane:
    """A lane of one generation.

    Attributes:
        name: the generation's name.
        signal_gbit_s: the bits on the wire each way, in Gbit/s.
        efficiency: the share of these bits that are data (0 to 1).
    """

    name: str
    signal_gbit_s: Fraction
    efficiency: Fraction


@dataclass(frozen=True)
class Link:
    """An InfiniBand link, or the lanes of a PCIe slot; rates are one way. width: the number of
    lanes."""

    lane: Lane
    width: int

    @property
    def name(self) -> str:
        return f"{self.width}X {self.lane.name}"

    @property
    def signal_gbit_s(self) -> Fraction:
        return self.width * self.lane.signal_gbit_s

    @property
    def data_gbit_s(self) -> Fraction:
        return self.signal_gbit_s * self.lane.efficiency


WIDTHS = (1, 2, 4, 12)
OLD_LANES = (
    Lane("SDR", Fraction("2.5"), EIGHT_IN_TEN),
    Lane("DDR", Fraction(5), EIGHT_IN_TEN),
    Lane("QDR", Fraction(10), EIGHT_IN_TEN),
)
NEWER_LANES = (
    Lane("FDR", Fraction("14.0625"), SIXTYFOUR_IN_66),
    Lane("EDR", Fraction("25.78125"), SIXTYFOUR_IN_66),
)
PAM4_LANES = (
    Lane("HDR", Fraction("53.125"), REED_SOLOMON),
    Lane("NDR", Fraction("106.25"), REED_SOLOMON),
)
LANES = (*OLD_LANES, *NEWER_LANES, *PAM4_LANES)

SLOT_LANES = (
    Lane("Gen1", Fraction("2.5"), EIGHT_IN_TEN),
    Lane("Gen2", Fraction(5), EIGHT_IN_TEN),
    Lane("Gen3", Fraction(8), SLOT_128_IN_130),
    Lane("Gen4", Fraction(16), SLOT_128_IN_130),
)
SLOT_WIDTHS = (4, 8, 16)
