"""Times and rates of the probe's loops (common/probe/mixes.c)."""

from __future__ import annotations

from collections.abc import Sequence

from numalab.evidence.run_formats import (
    ELEMENT_BYTES,
    Mix,
    ProbedLoop,
    ProbedProcess,
    ReferenceRatesRun,
    SaturationRun,
)


def _mix(loop: ProbedLoop) -> Mix:
    return Mix(loop.loads, loop.stores, loop.updates)


def _best_ns(loop: ProbedLoop, array_bytes: int) -> float:
    return 1e9 * min(loop.elapsed_s) / (array_bytes // ELEMENT_BYTES)


def times_ns(run: ReferenceRatesRun) -> tuple[dict[Mix, float], ...]:
    """Return for each process the best time of each loop in nanoseconds per iteration."""
    return tuple(
        {_mix(loop): _best_ns(loop, run.array_bytes) for loop in process.loops}
        for process in run.generations
    )


def rates_gb_s(run: SaturationRun, processes: Sequence[ProbedProcess]) -> dict[int, float]:
    """Return the rate of the run's loop by number of threads, in 10^9 bytes between cores and
    memory per second. processes: those of the curve, or of a round."""
    rates = {}
    for process in processes:
        (loop,) = process.loops
        rates[process.threads] = _mix(loop).bytes_moved / _best_ns(loop, run.array_bytes)
    return rates
