"""Times of the probe's loops (common/probe/mixes.c), which predictions are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numalab.evidence.run_formats import (
    ELEMENT_BYTES,
    Mix,
    Outcome,
    ProbedLoop,
    ProbedProcess,
    ReferenceRatesRun,
    SaturationRun,
)


@dataclass(frozen=True)
class UnseenLoops:
    """Times of loops, for some of which a model knows rates while it predicts the others.

    Attributes:
        pool_bytes: size of all arrays that the loops use in turns.
        unseen: loops that the model predicts.
        times_ns: for each process, the best time of each loop in nanoseconds per iteration.
    """

    part: str | None
    outcome: Outcome
    team: int
    pool_bytes: int
    unseen: tuple[Mix, ...]
    times_ns: tuple[Mapping[Mix, float], ...]


@dataclass(frozen=True)
class ThreadRates:
    """Rates of one loop over numbers of threads on cores of one NUMA node, in 10^9 bytes between
    cores and memory per second.

    Attributes:
        pool_bytes: size of all arrays that the loop uses in turns.
        pus: one PU of each core.
        curve: rate by number of threads, from which `drawn` was chosen.
        drawn: numbers of threads that are predicted.
        rates_gb_s: for each round, the rate by number of threads: the drawn ones, 1 and all cores,
            each in a process of its own.
    """

    part: str | None
    outcome: Outcome
    team: int
    pool_bytes: int
    pus: tuple[int, ...]
    curve: Mapping[int, float]
    drawn: tuple[int, ...]
    rates_gb_s: tuple[Mapping[int, float], ...]


def _mix(loop: ProbedLoop) -> Mix:
    return Mix(loop.loads, loop.stores, loop.updates)


def _best_ns(loop: ProbedLoop, array_bytes: int) -> float:
    """Return the best time of an iteration in nanoseconds: other load only ever adds time."""
    return 1e9 * min(loop.elapsed_s) / (array_bytes // ELEMENT_BYTES)


def read_unseen_loops(run: ReferenceRatesRun) -> UnseenLoops:
    return UnseenLoops(
        part=run.part,
        outcome=run.outcome,
        team=run.team,
        pool_bytes=run.array_bytes * run.arrays,
        unseen=tuple(run.unseen),
        times_ns=tuple(
            {_mix(loop): _best_ns(loop, run.array_bytes) for loop in process.loops}
            for process in run.generations
        ),
    )


def read_thread_rates(run: SaturationRun) -> ThreadRates:
    def rates(processes: Sequence[ProbedProcess]) -> dict[int, float]:
        return {process.threads: rate(process) for process in processes}

    def rate(process: ProbedProcess) -> float:
        (loop,) = process.loops
        return _mix(loop).bytes_moved / _best_ns(loop, run.array_bytes)

    return ThreadRates(
        part=run.part,
        outcome=run.outcome,
        team=run.team,
        pool_bytes=run.array_bytes * run.arrays,
        pus=tuple(run.pus),
        curve=rates(run.curve),
        drawn=tuple(run.drawn),
        rates_gb_s=tuple(rates(each.processes) for each in run.generations),
    )
