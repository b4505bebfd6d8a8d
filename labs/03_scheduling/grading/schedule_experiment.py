"""Schedules and chunks over threads, for ./numalab explore 03: matrix products whose rows OpenMP
distributes, with tables, sentences and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from numalab.explore.explore_plot import SIDESTEP, STYLES, draw_bars, draw_legend
from numalab.explore.intervals import (
    MedianInterval,
    PairedComparison,
    compare,
    median_interval,
)
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
_RATIO_NOTE = (
    "Ratio of times in one round: interval of its median. * survives repetition: 1 is "
    "outside. ? too few rounds for 95 %."
)


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
        """Return a configuration for each number of threads, schedule and chunk, except where the
        chunk is so large that some thread would get no row."""
        made = []
        for threads in thread_counts(node["cores"]):
            for schedule in self.schedules:
                for chunk in self.chunks:
                    if chunk * (threads - 1) >= self.n:
                        continue
                    environment = self.environment | {
                        "OMP_NUM_THREADS": str(threads),
                        "OMP_DYNAMIC": "false",
                        "OMP_SCHEDULE": f"{schedule},{chunk}" if chunk else schedule,
                    }
                    key: dict[str, int | str] = {
                        "threads": threads, "schedule": schedule, "chunk": chunk
                    }  # fmt: skip
                    made.append(Configuration(key, (str(self.n),), environment))
        return made

    def size_text(self, measurements: Measurements) -> str:
        return f"n = {self.n}, {measurements.build['openmp_runtime']}"

    def title_text(self, measurements: Measurements) -> str:
        return f", n = {self.n}"

    # ---- sentences

    def schedule_differences(self, measurements: Measurements) -> Iterator[Difference]:
        """Yield the difference of each pair of schedules at the same chunk and number of threads
        that ran in one round."""
        for threads in thread_counts(measurements.node["cores"]):
            for chunk in self.chunks:
                for first, second in combinations(self.schedules, 2):
                    comparison = _compared(measurements, threads, (first, chunk), (second, chunk))
                    if comparison:
                        where = f"{count(threads, 'thread')}, chunk {chunk_words(chunk)}"
                        yield Difference(first, second, where, comparison)

    def chunk_differences(self, measurements: Measurements, control: bool) -> Iterator[Difference]:
        """Yield the difference of each pair of chunks of a schedule at the same number of threads
        that ran in one round.

        Args:
            control: yield pairs that mean the same (same_thing); else the others.
        """
        for threads in thread_counts(measurements.node["cores"]):
            for schedule in self.schedules:
                for pair in combinations(self.chunks, 2):
                    if same_thing(schedule, *pair) != control:
                        continue
                    first, second = ((schedule, chunk) for chunk in pair)
                    comparison = _compared(measurements, threads, first, second)
                    if comparison:
                        one, other = (f"chunk {chunk_words(chunk)}" for chunk in pair)
                        where = f"{count(threads, 'thread')}, {schedule}"
                        yield Difference(one, other, where, comparison)

    def published(self, measurements: Measurements) -> str | None:
        """Return a sentence on SVP-BLOG's claim that dynamic beats static for few threads, with the
        least number above 1; None where there is no such number, not both schedules, or where
        rounds are too few to compare."""
        few = [threads for threads in thread_counts(measurements.node["cores"]) if threads > 1]
        if not few or not {"static", "dynamic"} <= set(self.schedules):
            return None
        compared = (
            _compared(measurements, few[0], ("static", chunk), ("dynamic", chunk))
            for chunk in self.chunks
        )
        decided = [c for c in compared if c and c.survives != "too_few_rounds"]
        if not decided:
            return None
        faster = sum(c.ratio.low > 1 for c in decided)
        slower = sum(c.ratio.high < 1 for c in decided)
        return (
            "SVP-BLOG's single runs show dynamic beating static for few threads. Here, with "
            f"{few[0]} threads, it does so beyond the noise at {faster} of "
            f"{count(len(decided), 'chunk')}, and is beaten at {slower}."
        )

    def sentences(self, measurements: Measurements) -> list[str]:
        schedules = list(self.schedule_differences(measurements))
        chunks = list(self.chunk_differences(measurements, control=False))
        sentences = [
            *disturbance(measurements),
            survivors(schedules, "schedules"),
            survivors(chunks, "chunks of one schedule"),
        ]
        control = self.chunk_differences(measurements, control=True)
        decided = [d for d in control if d.comparison.survives != "too_few_rounds"]
        if decided:
            survived = sum(d.survives for d in decided)
            widest = max(d.size for d in decided)
            sentences.append(
                "The control: for dynamic and guided, chunk 1 is the default; "
                f"{survived} of these {len(decided)} differences "
                f"between equals survive{'s' if survived == 1 else ''}, and "
                f"their medians differ by up to {100 * (widest - 1):.1f} %. Believe nothing "
                "smaller."
            )
        said = self.published(measurements)
        return [*sentences, said] if said else sentences

    # ---- tables

    def show(self, measurements: Measurements, console: Console) -> None:
        from rich.text import Text

        console.print()
        console.print(self.time_table(measurements))
        console.print()
        console.print(self.ratio_table(measurements))
        console.print(Text(_RATIO_NOTE, "dim"))
        console.print(Text(interval_note(measurements.runs_each), "dim"))

    def time_table(self, measurements: Measurements) -> Table:
        from rich.markup import escape

        table = plain_table()
        table.add_column("threads", justify="right")
        table.add_column("chunk", justify="right")
        for schedule in self.schedules:
            table.add_column(escape(f"{schedule} [ms]"), no_wrap=True)
        for threads in thread_counts(measurements.node["cores"]):
            for chunk in self.chunks:
                cells = []
                for schedule in self.schedules:
                    measured = _times_s(measurements, threads, schedule, chunk).values()
                    cells.append(interval_words(_median_ms(measured)) if measured else "")
                if any(cells):
                    table.add_row(str(threads), chunk_words(chunk), *cells)
        return table

    def ratio_table(self, measurements: Measurements) -> Table:
        table = plain_table()
        table.add_column("threads", justify="right")
        table.add_column("ratio", no_wrap=True)
        for chunk in self.chunks:
            table.add_column(f"chunk {chunk}" if chunk else "default", no_wrap=True)
        for threads in thread_counts(measurements.node["cores"]):
            for first, second in combinations(self.schedules, 2):
                cells = [
                    comparison_words(
                        _compared(measurements, threads, (first, chunk), (second, chunk))
                    )
                    for chunk in self.chunks
                ]
                if any(cells):
                    table.add_row(str(threads), f"{first} / {second}", *cells)
        return table

    # ---- picture

    def draw(self, figure: Figure, measurements: Measurements) -> None:
        """Draw a column per chunk: times, and below them their ratio to those of the first
        schedule."""
        counts = thread_counts(measurements.node["cores"])
        grid = figure.subplots(2, len(self.chunks), sharex=True, sharey="row", squeeze=False)
        for column, chunk in enumerate(self.chunks):
            times, ratios = grid[0][column], grid[1][column]
            for index, schedule in enumerate(self.schedules):
                colour, marker = STYLES[index % len(STYLES)]
                step = SIDESTEP * (index - (len(self.schedules) - 1) / 2)
                style = {"color": colour, "marker": marker, "label": schedule, "linestyle": "none"}
                ms: dict[float, MedianInterval] = {}
                ratio: dict[float, MedianInterval] = {}
                for place, threads in enumerate(counts):
                    measured = _times_s(measurements, threads, schedule, chunk)
                    if measured:
                        ms[place + step] = _median_ms(measured.values())
                    over = _compared(
                        measurements, threads, (schedule, chunk), (self.schedules[0], chunk)
                    )
                    if over and index:
                        ratio[place + step] = over.ratio
                draw_bars(times, ms, **style)
                draw_bars(ratios, ratio, **style)
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
        grid[1][0].set_ylabel(f"over {self.schedules[0]},\nsame round")
        draw_legend(figure, grid[0][0])


def _times_s(
    measurements: Measurements, threads: int, schedule: str, chunk: int
) -> dict[int, float]:
    return measurements.times_s(threads=threads, schedule=schedule, chunk=chunk)


def _median_ms(times_s: Iterable[float]) -> MedianInterval:
    return median_interval([1e3 * s for s in times_s])


def _compared(
    measurements: Measurements, threads: int, first: tuple[str, int], second: tuple[str, int]
) -> PairedComparison | None:
    """Compare the times of two pairs of schedule and chunk, first over second, by round; None where
    no round has both."""
    return compare(*(_times_s(measurements, threads, *pair) for pair in (first, second)))


def chunk_words(chunk: int) -> str:
    return str(chunk) if chunk else "default"


def same_thing(schedule: str, first: int, second: int) -> bool:
    """Tell whether two chunks mean the same: dynamic and guided take 1 where none (0) is given."""
    return schedule in ("dynamic", "guided") and {first, second} == {0, 1}
