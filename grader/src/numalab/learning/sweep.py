"""Measure a kernel's rate over the number of threads, by placement."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from numalab.errors import Interrupted, NothingToDraw, UserError
from numalab.evidence import read_record
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import SUBMISSION, Evidence
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.explore.wording import interval_note, interval_words
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import repeating
from numalab.harness import monitor
from numalab.judging import explain
from numalab.labs.declaration import Lab
from numalab.learning.basis import Based, captioned
from numalab.words import columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS = 6  # the fewest whose smallest and largest value hold the median at 95 %
MOST_SETTINGS = 64
NOTE = 78  # columns of the note below the table
LABS_OWN = "as the lab places them"


class _Ended(Exception):
    """The kernel did not finish; the text says why."""


@dataclass(frozen=True)
class Setting:
    """A number of threads and their placement.
    file: a placement file that is handed in; None: the lab's own placement."""

    threads: int
    file: str | None

    @property
    def curve(self) -> str:
        """The name of the placement's curve."""
        return self.file or LABS_OWN


@dataclass(frozen=True)
class Sweep(Based):
    """Rates of a kernel over the number of threads. print() shows medians, or the complaint.

    Attributes:
        part: the kernel that was timed; None if the lab has only one.
        rates_gb_s: rates of each setting in the order of the rounds, in 10^9 bytes per second, by
            the bytes that the lab's driver counts for a call.
        evidence: the record, with the machine it was measured on.
        is_whole: False if it was interrupted.
        complaint: why the kernel can't be measured, or did not finish; else empty.
    """

    lab: Lab = field(repr=False)
    part: str | None
    rates_gb_s: dict[Setting, tuple[float, ...]]
    evidence: Evidence = field(repr=False)
    is_whole: bool = True
    complaint: str = ""

    @property
    def curves(self) -> dict[str, dict[int, MedianInterval]]:
        """Return the median rate and its interval, by placement and ascending number of threads.
        Settings without a rate are left out."""
        found: dict[str, dict[int, MedianInterval]] = {}
        for setting, rates in self.rates_gb_s.items():
            if rates:
                found.setdefault(setting.curve, {})[setting.threads] = median_interval(rates)
        return {curve: dict(sorted(of_curve.items())) for curve, of_curve in found.items()}

    @property
    def title(self) -> str:
        """Return the title of the figure."""
        what = self.part or self.lab.functions[-1]
        return f"{what} over threads, node {self.evidence.node['name']}"

    @captioned
    def figure(self) -> Figure:
        """Draw the rates over the number of threads, a curve for each placement. Raises
        NothingToDraw where there is a complaint."""
        from numalab.reports.figures import rates_figure

        if self.complaint:
            raise NothingToDraw(self.complaint)
        return rates_figure(self.curves, self.title)

    def __str__(self) -> str:
        return self.noted(self.complaint or self._table())

    def _table(self) -> str:
        curves = self.curves
        threads = sorted({setting.threads for setting in self.rates_gb_s})
        rows = [("GB/s", *(f"{n} thread{'s' if n > 1 else ''}" for n in threads))]
        for name, curve in curves.items():
            rates = (interval_words(curve[n]) if n in curve else "-" for n in threads)
            rows.append((name, *rates))
        # As columns, since threads may be many and placements are few.
        lines = columns(list(zip(*rows, strict=True)))
        rounds = [len(rates) for rates in self.rates_gb_s.values() if rates]
        if rounds:
            lines += ["", *textwrap.wrap(interval_note(rounds), NOTE)]
        if not self.is_whole:
            lines.append("Interrupted: this is what was measured until then.")
        return "\n".join(lines)


def thread_counts(cores: int) -> tuple[int, ...]:
    """Return the numbers of threads to measure: each one up to `cores`; of more than 8 cores the
    powers of two below `cores`, and `cores`."""
    if cores <= 8:
        return tuple(range(1, cores + 1))
    return (*(1 << power for power in range(cores.bit_length()) if 1 << power < cores), cores)


def settings_of(
    grading: Grading, threads: Sequence[int] | None, files: Sequence[str]
) -> list[Setting]:
    """Return the settings to measure, by placement and ascending number of threads. threads: None:
    as thread_counts gives them; files: placement files, none: the lab's own placement. Raises
    UserError for what is no whole number from 1 to the number of this machine's cores, for a file
    with a complaint, and for too many settings or none."""
    chosen = tuple(threads) if threads is not None else thread_counts(grading.threads)
    for number in chosen:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise UserError(f"threads = {number!r}: write whole numbers from 1 on, such as [1, 2]")
        if number > grading.threads:
            raise UserError(
                f"{number} threads are more than the {grading.threads} cores of this node; what "
                "takes turns on a core measures the turns"
            )
    known = {handed.file: handed.complaint for handed in grading.record.handed_in}
    for file in files:
        if known.get(file):
            raise UserError(f"{file} can't be used: {known[file]}")
    found = [Setting(number, file) for file in (files or (None,)) for number in sorted({*chosen})]
    if not found or len(found) > MOST_SETTINGS:
        raise UserError(
            f"{len(found)} settings are to be measured; name 1 to {MOST_SETTINGS} of them"
        )
    return found


def measure(grading: Grading, part: str | None, settings: Sequence[Setting], rounds: int) -> Sweep:
    """Measure the rates of a kernel that has been built, until it does not finish once; each round
    takes the settings in random order. grading: has read the handed-in files; the caller holds the
    locks. After Ctrl-C the rates so far are returned. Raises UserError where the driver counts no
    bytes for the kernel, NumalabError where a run can't be made, and Interrupted or
    KeyboardInterrupt where nothing was measured yet."""
    rates: dict[Setting, list[float]] = {setting: [] for setting in settings}
    is_whole, complaint = True, ""
    try:
        for number in range(1, rounds + 1):
            for setting in random.sample(list(settings), len(settings)):
                who = f"{setting.curve}, {setting.threads} threads"
                grading.progress(f"round {number} of {rounds}: {who}")
                rates[setting] += _rates(grading, part, setting)
    except _Ended as ended:
        complaint = str(ended)
    except (KeyboardInterrupt, Interrupted):
        is_whole = False
        if not any(rates.values()):
            raise
    kept = {setting: tuple(of_setting) for setting, of_setting in rates.items()}
    return Sweep(grading.lab, part, kept, grading.evidence, is_whole, complaint)


def _rates(grading: Grading, part: str | None, setting: Setting) -> Iterator[float]:
    """Yield the rate of one process in GB/s, by its shortest repetition; nothing where the run is
    left out."""
    variables = None if setting.file is None else grading.handed(setting.file).variables
    environment = monitor.worker_environment(grading.lab, setting.threads, placement=variables)
    worker = monitor.worker_option(SUBMISSION, grading.program(SUBMISSION))
    grading.run(
        TIMED_ROUND, [*worker, *repeating(grading.effort, part, setting.threads)], environment
    )
    newest = read_record.evidence_of(replace(grading.record, runs=grading.record.runs[-1:]))
    for generation in newest.runs_of(TIMED_ROUND):
        if not generation.ok:
            ended = generation.roles[SUBMISSION].outcome
            why = explain.outcome(ended, grading.language) or "The kernel did not finish."
            raise _Ended(f"{why} So no rate can be measured.")
        if not generation.bytes_moved:
            raise UserError(
                f"no bytes are counted of {part or grading.lab.name}, since a rate would say "
                "nothing of memory; sweep another part"
            )
        best_s = min(generation.elapsed_s[SUBMISSION])
        yield generation.bytes_moved / best_s / 1e9
