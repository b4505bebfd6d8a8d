"""Stops of its own thread that a kernel detected, and those that numalab made."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.results import KernelRun
from numalab.evidence.run_formats import StopsRun


@dataclass(frozen=True)
class ReportedStops:
    """Stops as the kernel reported them: how many, and how long all together."""

    count: int
    stopped_s: float


@dataclass(frozen=True)
class LiveStops(KernelRun):
    """A kernel that detects stops of its own thread, which the monitor makes.

    Attributes:
        gap_s: longest time between two readings of the clock by the monitor, before the watch.
        least_s: duration from which on an interruption counts as a stop.
        watch_s, elapsed_s: how long the kernel was to watch, and how long it did.
        stops: (least, most) duration in seconds of each stop, by the monitor's clock and by what
            the thread's went ahead of it.
        runqueue_wait_s: how long the thread waited for a core meanwhile.
        steal_s: steal time of the thread's core meanwhile.
        reported: what the kernel reported; None: it did not come to that.
        ahead_s: the part of watch_s and of the stops that only the thread's clock advanced,
            without time passing.
        too_short: as stops, of interruptions that were made to be too short to count.
        arguable: further stops that the thread's waits for a core may be, and how long these waits
            took in seconds; None: they were not examined one by one.
    """

    gap_s: float
    least_s: float
    watch_s: float
    elapsed_s: float
    stops: tuple[tuple[float, float], ...]
    runqueue_wait_s: float
    steal_s: float
    reported: ReportedStops | None
    ahead_s: float = 0.0
    too_short: tuple[tuple[float, float], ...] = ()
    arguable: tuple[int, float] | None = None

    @property
    def stopped_s(self) -> tuple[float, float]:
        """Return the (least, most) duration of all stops together."""
        return sum(least for least, _ in self.stops), sum(most for _, most in self.stops)

    @property
    def lost_s(self) -> float:
        """Return how long the machine kept the thread from its core, as far as it may count."""
        return (self.runqueue_wait_s if self.arguable is None else self.arguable[1]) + self.steal_s

    @property
    def more_stops(self) -> float:
        """Return how many further stops the kernel may have detected while the machine kept its
        thread from its core."""
        if self.arguable is None:
            return self.lost_s / self.least_s
        return self.arguable[0] + self.steal_s / self.least_s


def read_stops(run: StopsRun) -> LiveStops:
    figures = ("gap_s", "least_s", "watch_s", "elapsed_s", "ahead_s")
    arguable = None
    if run.arguable_stops is not None and run.arguable_s is not None:
        arguable = (run.arguable_stops, run.arguable_s)
    return LiveStops(
        part=run.part,
        outcome=run.outcome,
        stops=tuple(run.stops),
        runqueue_wait_s=run.runqueue_wait_s,
        steal_s=run.taken_s,
        too_short=run.too_short,
        arguable=arguable,
        reported=None
        if run.reported is None
        else ReportedStops(run.reported[0], 1e-9 * run.reported[1]),
        **{name: getattr(run, name) for name in figures},
    )
