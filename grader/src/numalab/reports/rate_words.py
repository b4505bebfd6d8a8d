"""Times and rates of what was timed, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalab import words
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Evidence
from numalab.judging.rates import MAX_SHARE, Middle, ReferenceShare, TimedRates
from numalab.judging.timing_account import TimingAccount
from numalab.labs.declaration import Lab

_GRADED = {
    "submission": "yours",
    "handout": "the handout, graded",
    "solution": "the solution, graded",
}


def duration(seconds: float) -> str:
    """In the unit that reads best, with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{words.short(seconds / scale)} {unit}"
    return f"{words.short(seconds / 1e-6)} us"


@dataclass(frozen=True)
class RateTable:
    """rows: whose, time and rate, as heads say, the first of which is empty; notes: sentences
    below."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def role_name(role: str, rates: TimedRates, evidence: Evidence) -> str:
    """Whose a process is, in tables and pictures."""
    if role == SUBMISSION:
        return _GRADED[evidence.variant]
    if role == HANDOUT:
        return rates.slow or "the handout"
    if role == PROBE:
        return "lightspeed: the probe"
    assert role == SOLUTION
    return "the kit's launch" if rates.slow else "the solution"


def _ends(middle: Middle | ReferenceShare, worded: Sequence[str]) -> str:
    """The interval behind its median: [1.2, 1.4]; an end that is not known is left open."""
    low, high = worded
    if middle.low is None and middle.high is None:
        return ""
    return f" [{low if middle.low is not None else ''}..{high if middle.high is not None else ''}]"


def time_words(middle: Middle) -> str:
    """12.3 ms [12.1..12.6 ms]"""
    ends = [duration(end) if end is not None else "" for end in (middle.low, middle.high)]
    return duration(middle.median) + _ends(middle, ends)


def rate_words(middle: Middle) -> str:
    """21.8 [21.3..22.2]"""
    ends = [three_digits(end) if end is not None else "" for end in (middle.low, middle.high)]
    return three_digits(middle.median) + _ends(middle, ends)


def percent_words(found: ReferenceShare) -> str:
    """96 % [95..98], or that it is not known."""
    if found.median is None:
        return "not known"
    ends = [f"{100 * end:.0f}" if end is not None else "" for end in (found.low, found.high)]
    return f"{100 * found.median:.0f} %{_ends(found, ends)}"


def lightspeed_words(rates: TimedRates) -> str:
    """What lightspeed is, and where a share is not known, why; empty where there is none."""
    shares = [rate.reference_share for rate in rates.roles if rate.reference_share]
    if not shares:
        return ""
    text = (
        "Lightspeed: what the probe reached in the same generations, the kit's own loop with the "
        "same reads and writes by as many threads, each thread's share in the memory of its NUMA "
        "node."
    )
    if shares[0].replicates < rates.replicates:
        text += f" {shares[0].replicates} of {rates.replicates} generations had one."
    if not all(share.is_known for share in shares):
        text += (
            f" Above {100 * MAX_SHARE:.0f} % it is not known: what is so much faster than the "
            "probe moves fewer bytes than are counted, or shows that more is possible."
        )
    return text


def three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else words.short(value)


def byte_words(rates: TimedRates) -> str:
    """Which bytes the rates count."""
    moved = f"{words.amount(rates.bytes_moved)} per repetition"
    if not rates.bytes_allocated:
        return f"GB/s of 10^9 bytes: {moved}; every line that is written is read, too."
    return (
        f"GB/s of 10^9 bytes: {moved}, of which {words.amount(rates.bytes_allocated)} are read "
        "only because a store fetches its cache line first (write-allocate); by STREAM's count it "
        f"is {rates.counted_share:.2f} times as much."
    )


def rate_table(lab: Lab, rates: TimedRates, evidence: Evidence) -> RateTable:
    rows: list[tuple[str, ...]] = []
    for rate in rates.roles:
        row: tuple[str, ...] = (role_name(rate.role, rates, evidence), time_words(rate.elapsed_s))
        if rates.has_rates:
            row += (rate_words(rate.gb_per_s) if rate.gb_per_s else "",)
        if rates.has_reference_shares:
            row += (percent_words(rate.reference_share) if rate.reference_share else "",)
        rows.append(row)
    heads: tuple[str, ...] = ("", "time", "GB/s") if rates.has_rates else ("", "time")
    if rates.has_reference_shares:
        heads += ("of lightspeed",)
    notes = [
        f"Best repetition of each of {words.count(rates.replicates, 'generation')}, n = "
        f"{rates.n:,}: median, in brackets what holds it with {100 * rates.confidence:.0f} %."
    ]
    if rates.has_rates:
        notes.append(byte_words(rates))
        if rates.fits_caches:
            notes.append(
                "All of it is less than this node's last-level caches hold: a rate of caches, too."
            )
    declared = lab.reference_loop_of(rates.part)
    if rates.has_reference_shares:
        notes.append(lightspeed_words(rates))
    elif declared is not None and declared.none:
        notes.append(f"No percent of lightspeed, and no roofline: {declared.none}.")
    what = f"{rates.part}: {lab.repetition}" if rates.part else words.first_upper(lab.repetition)
    return RateTable(f"{what} takes", heads, tuple(rows), tuple(notes))


def chosen_rates(accounts: Sequence[TimingAccount]) -> list[TimedRates]:
    """Of what was timed; of criteria that rest on the same processes those with most of them."""
    chosen: dict[tuple[str | None, str | None], TimedRates] = {}
    for account in accounts:
        rates = account.rates
        if rates is None:
            continue
        key = (rates.part, rates.slow)
        if key not in chosen or len(rates.roles) > len(chosen[key].roles):
            chosen[key] = rates
    return list(chosen.values())


def rate_tables(lab: Lab, accounts: Sequence[TimingAccount], evidence: Evidence) -> list[RateTable]:
    """Of what was timed."""
    return [rate_table(lab, rates, evidence) for rates in chosen_rates(accounts)]


def rate_lines(found: RateTable) -> list[Table | Padding]:
    """For a terminal."""
    table = Table.grid(padding=(0, 3))
    heads = (Text(head, style="bold") for head in found.heads[1:])
    table.add_row(Text(found.title, style="bold"), *heads)
    for name, *cells in found.rows:
        table.add_row(f"  {name}", *cells)
    notes = (Padding(Text(note, style="dim"), (0, 0, 0, 2)) for note in found.notes)
    return [table, *notes]
