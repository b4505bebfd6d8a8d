"""What the probe's loops of a given mix took (common/probe/mixes.c), in runs that predictions are
held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numalab.evidence.results import Outcome

_ELEMENT_BYTES = 8  # doubles


@dataclass(frozen=True, order=True)
class Mix:
    """How many arrays of doubles a loop only reads, only writes, and reads and writes."""

    loads: int
    stores: int
    updates: int

    @property
    def bytes_moved(self) -> int:
        """By an iteration between cores and memory, with ordinary stores, which fetch their line
        first, where the arrays fill no cache."""
        return _ELEMENT_BYTES * (self.loads + 2 * self.stores + 2 * self.updates)

    @property
    def as_argument(self) -> str:
        """As the probe reads it."""
        return f"{self.loads}+{self.stores}+{self.updates}"


@dataclass(frozen=True)
class UnseenLoops:
    """Times of loops, some of which a model knows rates of and some of which it predicts. unseen:
    the latter; times_ns: of each generation, a process of its own, the best repetition of each loop
    in nanoseconds per iteration; pool_bytes: of all arrays that the loops take turns on."""

    part: str | None
    outcome: Outcome
    team: int
    pool_bytes: int
    unseen: tuple[Mix, ...]
    times_ns: tuple[Mapping[Mix, float], ...]


@dataclass(frozen=True)
class ThreadRates:
    """Rates of one loop over numbers of threads on cores of one NUMA node, in 10^9 bytes that cross
    between cores and memory per second. pool_bytes: of all arrays that the loop takes turns on;
    pus: a core's each; curve: of each number, before any was
    chosen; drawn: the numbers that are predicted; rates_gb_s: of each generation, a process for
    each number, with 1 and all cores."""

    part: str | None
    outcome: Outcome
    team: int
    pool_bytes: int
    pus: tuple[int, ...]
    curve: Mapping[int, float]
    drawn: tuple[int, ...]
    rates_gb_s: tuple[Mapping[int, float], ...]


def _outcome(data: dict[str, Any]) -> Outcome:
    return Outcome(data["status"], {key: value for key, value in data.items() if key != "status"})


def _mix(data: dict[str, Any]) -> Mix:
    return Mix(data["loads"], data["stores"], data["updates"])


def _best_ns(loop: dict[str, Any], array_bytes: int) -> float:
    """What else runs only ever adds time."""
    return float(1e9 * min(loop["elapsed_s"]) / (array_bytes // _ELEMENT_BYTES))


def unseen_loops(data: dict[str, Any]) -> UnseenLoops:
    """From a run's record."""
    return UnseenLoops(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        team=data["team"],
        pool_bytes=data["array_bytes"] * data["arrays"],
        unseen=tuple(map(_mix, data["unseen"])),
        times_ns=tuple(
            {_mix(loop): _best_ns(loop, data["array_bytes"]) for loop in generation["loops"]}
            for generation in data["generations"]
        ),
    )


def thread_rates(data: dict[str, Any]) -> ThreadRates:
    """From a run's record."""

    def rate(process: dict[str, Any]) -> float:
        (loop,) = process["loops"]
        return _mix(loop).bytes_moved / _best_ns(loop, data["array_bytes"])

    return ThreadRates(
        part=data["part"],
        outcome=_outcome(data["outcome"]),
        team=data["team"],
        pool_bytes=data["array_bytes"] * data["arrays"],
        pus=tuple(data["pus"]),
        curve={process["threads"]: rate(process) for process in data["curve"]},
        drawn=tuple(data["drawn"]),
        rates_gb_s=tuple(
            {process["threads"]: rate(process) for process in generation["processes"]}
            for generation in data["generations"]
        ),
    )
