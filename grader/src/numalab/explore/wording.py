"""Format sizes, intervals and comparisons of an exploration as text."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.evidence.load import is_loaded
from numalab.explore.experiment import Measurements
from numalab.explore.intervals import MedianInterval, PairedComparison, median_interval
from numalab.words import count, short


def bytes_words(size_bytes: int) -> str:
    """Format a size: 512 bytes, 64 KiB, 2 MiB, 1 GiB."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{short(size_bytes / scale, 4)} {unit}"
    return f"{size_bytes} bytes"


def short_bytes(size_bytes: int) -> str:
    """Format a size for axes: 64K, 2M, 1G."""
    return bytes_words(size_bytes).replace(" ", "").removesuffix("iB")


def three_digits(value: float) -> str:
    """Format a value of 0 or more: 1.23, 12.3, 123; with two decimals at most, and all digits
    before the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.{1 if value >= 9.995 else 2}f}"


def interval_words(interval: MedianInterval) -> str:
    """Format an interval: 12.3 [12.1, 12.6]; the median alone where it is of one value."""
    if interval.coverage == 0:
        return three_digits(interval.median)
    low, high = three_digits(interval.low), three_digits(interval.high)
    return f"{three_digits(interval.median)} [{low}, {high}]"


def ratio_words(ratio: float) -> str:
    """Format a ratio with two decimals, or with three where two would show 1.00 for another."""
    return f"{ratio:.3f}" if ratio != 1 and f"{ratio:.2f}" == "1.00" else f"{ratio:.2f}"


def comparison_words(comparison: PairedComparison | None) -> str:
    """Format a comparison as its interval: 0.95-1.02, with a star where the difference survives.
    The median with a question mark where rounds are too few; empty for None."""
    if comparison is None:
        return ""
    if comparison.survives == "too_few_rounds":
        return f"{comparison.ratio.median:.2f}?"
    star = "*" if comparison.survives == "yes" else " "
    return f"{ratio_words(comparison.ratio.low)}-{ratio_words(comparison.ratio.high)}{star}"


def interval_note(rounds: Sequence[int]) -> str:
    """Return a sentence on what the intervals in a table hold.
    rounds: the number of runs of each configuration; one number or more."""
    fewest, most = min(rounds), max(rounds)
    coverage = median_interval([0.0] * fewest).coverage
    spread = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    samples = count(fewest, "sample") if fewest == most else f"{spread} samples"
    if fewest == 1:
        return f"From {samples} each: where there is one, there is no interval."
    words = f"Median of {samples} each, in brackets"
    if coverage < 0.95:
        return (
            f"{words} the smallest and the largest: they hold the true median between them "
            f"with {short(100 * coverage)} %, no more (6 rounds reach 95 %)."
        )
    return f"{words} a {short(100 * coverage)} % interval for it (order statistics)."


def disturbance(measurements: Measurements) -> list[str]:
    """Return a sentence on high load before the start, in a list; empty where it was not high."""
    if not is_loaded(measurements.node):
        return []
    return [
        f"This node was not quiet (load {measurements.node['load_1min']:.1f} before the start): "
        "the intervals are wider than they need be"
        f"{measurements.exploration.what.LOAD_EFFECT}."
    ]
