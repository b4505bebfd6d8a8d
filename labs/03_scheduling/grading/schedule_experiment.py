"""Schedules and chunks over threads, for ./numalab explore 03: matrix products whose rows OpenMP
distributes, with tables, sentences and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Self

from numalab.errors import UserError
from numalab.evidence.record import Json
from numalab.explore.differences import Difference, survivors
from numalab.explore.experiment import (
    Configuration,
    Experiment,
    Measurements,
    register,
    thread_counts,
)
from numalab.explore.explore_plot import SIDESTEP, STYLES, draw_bars
from numalab.explore.intervals import MedianInterval, compare, median_interval
from numalab.explore.wording import comparison_words, disturbance, interval_note, interval_words
from numalab.palette import GREY
from numalab.terminal import plain_table
from numalab.toml_files.tables import Table as TomlTable
from numalab.words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

MAX_ROWS = 2**20  # of a matrix, by --n


@register("schedules")
@dataclass(frozen=True)
class Schedules(Experiment):
    """An experiment: matrix products with each schedule, chunk and number of threads.

    Attributes:
        schedules: the schedules' names in OMP_SCHEDULE.
        chunks: the chunks, in rows; 0: none is given.
        environment: environment variables of all programs.
        n: the number of rows of the matrices.
        rounds: how often everything is run.
    """

    KEYS: ClassVar = ("schedules", "chunks", "environment")
    MEMORY: ClassVar = "matrices"
    HAS_OWN_PROGRAM: ClassVar = True
    LOAD_EFFECT: ClassVar = ", and a schedule that hands out work late evades a busy core"

    schedules: tuple[str, ...]
    chunks: tuple[int, ...]
    environment: dict[str, str]
    n: int
    rounds: int

    @classmethod
    def read(cls, top: TomlTable, size: str) -> Self:
        sized = top.table(size, ("n", "rounds"))
        return cls(
            schedules=top.texts("schedules"),
            chunks=top.wholes("chunks", 0),
            environment=top.table("environment", None).text_values(),
            n=sized.whole("n", 1),
            rounds=sized.whole("rounds", 1),
        )

    def resize(self, n: int) -> Self:
        if n > MAX_ROWS:
            raise UserError(f"--n {n}: a matrix may have {MAX_ROWS} rows at most")
        return replace(self, n=n)

    @property
    def needed_bytes(self) -> int:
        return 3 * 8 * self.n**2

    def configurations(self, node: Json) -> list[Configuration]:
        return schedule_configurations(self, node["cores"])

    def size_text(self, measurements: Measurements) -> str:
        return f"n = {self.n}, {measurements.build['openmp_runtime']}"

    def title_text(self, measurements: Measurements) -> str:
        del measurements
        return f", n = {self.n}"

    def sentences(self, measurements: Measurements) -> list[str]:
        return schedule_sentences(measurements, self, measurements.node["cores"])

    def show(self, measurements: Measurements, console: Console) -> None:
        from rich.text import Text

        times, ratios = schedule_tables(measurements, self, measurements.node["cores"])
        console.print()
        console.print(times)
        console.print()
        console.print(ratios)
        console.print(Text(_RATIO_NOTE, "dim"))
        console.print(Text(interval_note(measurements.runs_each), "dim"))

    def draw(self, figure: Figure, measurements: Measurements) -> None:
        draw_schedules(figure, measurements, self)


_RATIO_NOTE = (
    "Ratio of times in one round: interval of its median. * survives repetition: 1 is "
    "outside. ? too few rounds for 95 %."
)


def schedule_configurations(what: Schedules, cores: int) -> list[Configuration]:
    """Return all configurations, except those with a chunk so large that some thread would get no
    row. cores: the machine's."""
    made = []
    for threads in thread_counts(cores):
        for schedule in what.schedules:
            for chunk in what.chunks:
                if chunk * (threads - 1) >= what.n:
                    continue
                environment = what.environment | {
                    "OMP_NUM_THREADS": str(threads),
                    "OMP_DYNAMIC": "false",
                    "OMP_SCHEDULE": f"{schedule},{chunk}" if chunk else schedule,
                }
                key: dict[str, int | str] = {
                    "threads": threads, "schedule": schedule, "chunk": chunk
                }  # fmt: skip
                made.append(Configuration(key, (str(what.n),), environment))
    return made


def chunk_words(chunk: int) -> str:
    return str(chunk) if chunk else "default"


# ---- sentences -------------------------------------------------------------------------


def schedule_differences(
    measurements: Measurements, what: Schedules, cores: int
) -> Iterator[Difference]:
    """Yield the difference of each pair of schedules at the same chunk and number of threads."""
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
    """Tell whether two chunks mean the same: dynamic and guided take 1 where none (0) is given."""
    return schedule in ("dynamic", "guided") and {first, second} == {0, 1}


def chunk_differences(
    measurements: Measurements, what: Schedules, cores: int, control: bool
) -> Iterator[Difference]:
    """Yield the difference of each pair of chunks of a schedule at the same number of threads.

    Args:
        control: yield pairs that mean the same (same_thing); else the others.
    """
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
    """Return a sentence on SVP-BLOG's claim that dynamic beats static for few threads; None where
    there are no two threads, both schedules or enough rounds to compare."""
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


# ---- picture ---------------------------------------------------------------------------


def draw_schedules(figure: Figure, measurements: Measurements, what: Schedules) -> None:
    """Draw a column per chunk: times, and below them their ratio to those of the first schedule."""
    counts = thread_counts(measurements.node["cores"])
    grid = figure.subplots(2, len(what.chunks), sharex=True, sharey="row", squeeze=False)
    for column, chunk in enumerate(what.chunks):
        times, ratios = grid[0][column], grid[1][column]
        for index, schedule in enumerate(what.schedules):
            colour, marker = STYLES[index % len(STYLES)]
            step = SIDESTEP * (index - (len(what.schedules) - 1) / 2)
            style = {"color": colour, "marker": marker, "label": schedule, "linestyle": "none"}
            xs: list[float] = []
            ms: list[MedianInterval] = []
            ratio_xs: list[float] = []
            ratio: list[MedianInterval] = []
            for place, threads in enumerate(counts):
                key = {"threads": threads, "chunk": chunk}
                times_s = measurements.times_s(schedule=schedule, **key)
                if times_s:
                    xs.append(place + step)
                    ms.append(median_interval([1e3 * s for s in times_s.values()]))
                against = compare(times_s, measurements.times_s(schedule=what.schedules[0], **key))
                if against and index:
                    ratio_xs.append(place + step)
                    ratio.append(against.ratio)
            draw_bars(times, xs, ms, **style)
            draw_bars(ratios, ratio_xs, ratio, **style)
        times.set_title("no chunk given" if chunk == 0 else f"chunk {chunk_words(chunk)}")
        ratios.axhline(1, color=GREY, linewidth=1.5, linestyle="--")
        ratios.set_xticks(range(len(counts)), [str(threads) for threads in counts])
        ratios.set_xlim(-0.5, len(counts) - 0.5)
        ratios.set_xlabel("threads")
    grid[0][0].set_ylabel("time [ms]")
    if len(counts) > 2:
        grid[0][0].set_yscale("log")
    else:
        grid[0][0].set_ylim(bottom=0)
    grid[1][0].set_ylabel(f"over {what.schedules[0]},\nsame round")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
