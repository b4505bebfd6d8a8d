"""What a kernel has found of stops of its own thread, beside those that the kit has made."""

from __future__ import annotations

from dataclasses import dataclass

from numalab.evidence.read_parts import read_outcome
from numalab.evidence.results import KernelRun
from numalab.evidence.run_formats import StopsRun


@dataclass(frozen=True)
class FoundStops:
    """What the kernel has told."""

    count: int
    stolen_s: float


@dataclass(frozen=True)
class LiveStops(KernelRun):
    """gap_s: the longest time for which the monitor was kept from its core before; least_s: of what
    counts as a stop; watch_s, elapsed_s: for how long it was to watch, and did; stops: of each how
    long it was at least and at most, by the monitor's clock; waiting_s, taken_s: for which the node
    kept the thread from its core meanwhile, and for which the host of a virtual machine took the
    core; found: None where it did not come to that; ahead_s: of watch_s and the stops, what the
    thread's clock made alone, without that time passed; too_short: as stops, of interruptions that
    were meant not to count; arguable: stops that the thread's waits for a core may be, beside all
    those, and what these waits took; None: nobody looked at one by one."""

    gap_s: float
    least_s: float
    watch_s: float
    elapsed_s: float
    stops: tuple[tuple[float, float], ...]
    waiting_s: float
    taken_s: float
    found: FoundStops | None
    ahead_s: float = 0.0
    too_short: tuple[tuple[float, float], ...] = ()
    arguable: tuple[int, float] | None = None

    @property
    def stopped_s(self) -> tuple[float, float]:
        """All together, at least and at most."""
        return sum(least for least, _ in self.stops), sum(most for _, most in self.stops)

    @property
    def lost_s(self) -> float:
        """What the node itself has kept the thread from its core for, as far as it may count."""
        return (self.waiting_s if self.arguable is None else self.arguable[1]) + self.taken_s

    @property
    def more_stops(self) -> float:
        """That may have been found in what the node took."""
        if self.arguable is None:
            return self.lost_s / self.least_s
        return self.arguable[0] + self.taken_s / self.least_s


def read_stops(run: StopsRun) -> LiveStops:
    figures = ("gap_s", "least_s", "watch_s", "elapsed_s", "waiting_s", "taken_s", "ahead_s")
    arguable = None
    if run.arguable_stops is not None and run.arguable_s is not None:
        arguable = (run.arguable_stops, run.arguable_s)
    return LiveStops(
        part=run.part,
        outcome=read_outcome(run.outcome),
        stops=tuple(run.stops),
        too_short=run.too_short,
        arguable=arguable,
        found=None if run.told is None else FoundStops(run.told[0], 1e-9 * run.told[1]),
        **{name: getattr(run, name) for name in figures},
    )
