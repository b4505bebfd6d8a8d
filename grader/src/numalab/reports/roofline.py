"""Rooflines: what a loop of so many flops per byte could do at most by what memory gives, which
the probe has shown in the same generations, and what handout, solution and submission did.

There is one roof, the slope. The flat part, at what the cores can compute, is not drawn: nothing
here measures it, and the loops that have a probe lie far to the left of it.

Williams, S., Waterman, A. and Patterson, D., "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Evidence
from numalab.judging.rates import MAX_SHARE, Middle, ReferenceShare, TimedRates
from numalab.judging.timing_account import TimingAccount
from numalab.labs.declaration import Lab
from numalab.reports.rate_words import chosen_rates, percent_words, role_name, three_digits
from numalab.words import short

_DRAWN = (HANDOUT, SOLUTION, SUBMISSION)


@dataclass(frozen=True)
class RoofPoint:
    """What a process did. name: whose it is."""

    role: str
    name: str
    gflop_per_s: Middle
    share: ReferenceShare


@dataclass(frozen=True)
class Roof:
    """Of one timed kernel. flops_per_byte: of the loop, by the driver's count of bytes; gb_per_s:
    the probe's rate, the slope; points: of what was timed beside it."""

    name: str
    flops_per_byte: float
    gb_per_s: Middle
    points: tuple[RoofPoint, ...]

    @property
    def top_gflop_per_s(self) -> Middle:
        """Of the roof at the loop's flops per byte."""
        return _scaled(self.gb_per_s, self.flops_per_byte)


def _scaled(middle: Middle, factor: float) -> Middle:
    low, high = middle.low, middle.high
    return Middle(
        middle.median * factor,
        None if low is None else low * factor,
        None if high is None else high * factor,
    )


def _roof(lab: Lab, rates: TimedRates, evidence: Evidence) -> Roof | None:
    declared, probe = lab.reference_loop_of(rates.part), rates.rate_of(PROBE)
    if declared is None or declared.flops_per_element is None:
        return None
    if probe is None or probe.gb_per_s is None:
        return None
    flops_per_byte = declared.flops_per_element * rates.n / rates.bytes_moved
    found = (rates.rate_of(role) for role in _DRAWN)
    points = tuple(
        RoofPoint(
            rate.role,
            role_name(rate.role, rates, evidence),
            _scaled(rate.gb_per_s, flops_per_byte),
            rate.reference_share,
        )
        for rate in found
        if rate is not None and rate.gb_per_s is not None and rate.reference_share is not None
    )
    return Roof(rates.part or lab.functions[-1], flops_per_byte, probe.gb_per_s, points)


def roofs(lab: Lab, accounts: Sequence[TimingAccount], evidence: Evidence) -> list[Roof]:
    """Of all that was timed beside a probe; evidence: of the place where that was."""
    found = (_roof(lab, rates, evidence) for rates in chosen_rates(accounts))
    return [roof for roof in found if roof is not None]


def roof_title(roof: Roof) -> str:
    return f"Roofline of {roof.name}: {short(roof.flops_per_byte)} flop per byte"


def roof_words(roof: Roof) -> str:
    """All that the picture shows."""
    top = roof.top_gflop_per_s
    did = (
        f"{point.name} {three_digits(point.gflop_per_s.median)} ({percent_words(point.share)})"
        for point in roof.points
    )
    return (
        f"At {short(roof.flops_per_byte)} flop per byte the probe's "
        f"{three_digits(roof.gb_per_s.median)} GB/s are {three_digits(top.median)} GFLOP/s. "
        f"In GFLOP/s: {', '.join(did)}."
    )


def roof_lines(roof: Roof, columns: int) -> Iterator[Text]:
    """For a terminal: bars up to the roof."""
    yield Text(roof_title(roof), style="bold")
    names = max((len(point.name) for point in roof.points), default=0)
    width = max(16, min(50, columns - names - 36))
    most = MAX_SHARE
    for point in roof.points:
        bar = _bar(point, width, most)
        speed = f"{three_digits(point.gflop_per_s.median)} GFLOP/s"
        yield Text(f"  {point.name:<{names}} {bar} {speed}, {percent_words(point.share)}")
    mark = round(width / most)
    top = three_digits(roof.top_gflop_per_s.median)
    yield Text(f"  {'':<{names}} {'0':<{mark - 1}}| roof: {top} GFLOP/s")


def _bar(point: RoofPoint, width: int, most: float) -> str:
    """Filled up to the median; what is not known reaches beyond the roof."""
    if point.share.median is None:
        return "=" * (width - 1) + ">"
    filled = max(1, round(width * point.share.median / most))
    return ("=" * filled)[:width].ljust(width)
