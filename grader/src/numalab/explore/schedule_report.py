"""What an exploration of schedules found, as tables of 80 columns and a few sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from numalab.explore.declaration import Schedules
from numalab.explore.differences import Difference, survivors
from numalab.explore.intervals import compare, median_interval
from numalab.explore.measurements import Measurements, thread_counts
from numalab.explore.wording import (
    chunk_words,
    comparison_words,
    disturbance,
    interval_words,
)
from numalab.words import count

if TYPE_CHECKING:
    from rich.table import Table


def schedule_differences(
    measurements: Measurements, what: Schedules, cores: int
) -> Iterator[Difference]:
    """Every pair of schedules at the same chunk and number of threads."""
    for threads in thread_counts(cores):
        for chunk in what.chunks:
            for first, second in combinations(what.schedules, 2):
                comparison = compare(
                    measurements.times_s(threads=threads, schedule=first, chunk=chunk),
                    measurements.times_s(threads=threads, schedule=second, chunk=chunk),
                )
                if comparison:
                    where = f"{count(threads, 'thread')}, chunk {chunk_words(chunk)}"
                    yield Difference(first, second, where, comparison)


def same_thing(schedule: str, first: int, second: int) -> bool:
    """Whether two chunks are the same: where none is given, dynamic and guided take 1."""
    return schedule in ("dynamic", "guided") and {first, second} == {0, 1}


def chunk_differences(
    measurements: Measurements, what: Schedules, cores: int, control: bool
) -> Iterator[Difference]:
    """Every pair of chunks of a schedule at the same number of threads; control: those that
    are the same thing under two names, otherwise the others."""
    for threads in thread_counts(cores):
        for schedule in what.schedules:
            for first, second in combinations(what.chunks, 2):
                if same_thing(schedule, first, second) != control:
                    continue
                comparison = compare(
                    measurements.times_s(threads=threads, schedule=schedule, chunk=first),
                    measurements.times_s(threads=threads, schedule=schedule, chunk=second),
                )
                if comparison:
                    one, other = (f"chunk {chunk_words(chunk)}" for chunk in (first, second))
                    where = f"{count(threads, 'thread')}, {schedule}"
                    yield Difference(one, other, where, comparison)


def published(measurements: Measurements, what: Schedules, cores: int) -> str | None:
    """What became of SVP-BLOG's "dynamic beats static for few threads"; None where that
    can't be asked."""
    few = [threads for threads in thread_counts(cores) if threads > 1]
    if not few or not {"static", "dynamic"} <= set(what.schedules):
        return None
    compared = [
        comparison
        for chunk in what.chunks
        if (
            comparison := compare(
                measurements.times_s(threads=few[0], schedule="static", chunk=chunk),
                measurements.times_s(threads=few[0], schedule="dynamic", chunk=chunk),
            )
        )
    ]
    decided = [c for c in compared if c.survives != "too_few_rounds"]
    if not decided:
        return None
    faster = sum(c.ratio.low > 1 for c in decided)
    slower = sum(c.ratio.high < 1 for c in decided)
    return (
        f"SVP-BLOG's single runs show dynamic beating static for few threads. Here, with {few[0]} "
        f"threads, it does so beyond the noise at {faster} of {count(len(decided), 'chunk')}, "
        f"and is beaten at {slower}."
    )


def schedule_sentences(measurements: Measurements, what: Schedules, cores: int) -> list[str]:
    sentences = disturbance(measurements)
    sentences.append(survivors(list(schedule_differences(measurements, what, cores)), "schedules"))
    chunks = list(chunk_differences(measurements, what, cores, control=False))
    sentences.append(survivors(chunks, "chunks of one schedule"))
    control = list(chunk_differences(measurements, what, cores, control=True))
    decided = [d for d in control if d.comparison.survives != "too_few_rounds"]
    if decided:
        widest = max(d.size for d in decided)
        sentences.append(
            f"The control: for dynamic and guided, chunk 1 is the default; "
            f"{sum(d.survives for d in decided)} of these {len(decided)} differences "
            f"between equals survive{'s' if sum(d.survives for d in decided) == 1 else ''}, and "
            f"their medians differ by up to {100 * (widest - 1):.1f} %. Believe nothing smaller."
        )
    said = published(measurements, what, cores)
    return [*sentences, said] if said else sentences


def schedule_tables(measurements: Measurements, what: Schedules, cores: int) -> list[Table]:
    from rich.markup import escape

    from numalab.terminal import plain_table

    times = plain_table()
    times.add_column("threads", justify="right")
    times.add_column("chunk", justify="right")
    for schedule in what.schedules:
        times.add_column(escape(f"{schedule} [ms]"), no_wrap=True)
    ratios = plain_table()
    ratios.add_column("threads", justify="right")
    ratios.add_column("ratio", no_wrap=True)
    for chunk in what.chunks:
        ratios.add_column(f"chunk {chunk}" if chunk else "default", no_wrap=True)

    for threads in thread_counts(cores):
        for chunk in what.chunks:
            cells = []
            for schedule in what.schedules:
                measured = measurements.times_s(threads=threads, schedule=schedule, chunk=chunk)
                ms = [1e3 * s for s in measured.values()]
                cells.append(interval_words(median_interval(ms)) if ms else "")
            if any(cells):
                times.add_row(str(threads), chunk_words(chunk), *cells)
        for first, second in combinations(what.schedules, 2):
            cells = [
                comparison_words(
                    compare(
                        measurements.times_s(threads=threads, schedule=first, chunk=chunk),
                        measurements.times_s(threads=threads, schedule=second, chunk=chunk),
                    )
                )
                for chunk in what.chunks
            ]
            if any(cells):
                ratios.add_row(str(threads), f"{first} / {second}", *cells)
    return [times, ratios]
