"""Automatic NUMA balancing heals a program: one thread has written what a thread of another NUMA
node uses half of. Physical quantity: the share of pages on the NUMA node of their user, by
numa_maps, over seconds. What could fake it: pages that lie there anyway (all begin on the writer's
node), somebody else who moves them (the same run without balancing stays as it is), and who asks
(move_pages does not find pages that balancing has taken away for a moment)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from numalab.evidence.record import Json
from numalab.explore.explore import run_program
from numalab.processes import shell_variables
from numalab.virtual.place import VirtualPlace

BYTES = 48 * 2**20
SECONDS = 6.0
# Linux's own are 1,000, 60,000 and 1,000 ms; shorter, so that it takes seconds.
SCAN_MS = {"scan_min_ms": 100, "scan_max_ms": 200, "scan_delay_ms": 100}
HEALED, FLAT = 0.95, 0.02


@dataclass(frozen=True)
class Run:
    """is_on: with balancing; seconds, local: when it was looked, and the share of pages that were
    on the NUMA node of the thread that uses them."""

    is_on: bool
    scan_ms: dict[str, int]
    seconds: tuple[float, ...]
    local: tuple[float, ...]

    @property
    def is_healed(self) -> bool:
        return self.local[-1] >= HEALED

    @property
    def is_flat(self) -> bool:
        return max(self.local) - self.local[0] <= FLAT

    @property
    def healed_after_s(self) -> float | None:
        """When it was first seen to be."""
        pairs = zip(self.seconds, self.local, strict=True)
        return next((at for at, share in pairs if share >= HEALED), None)


@dataclass(frozen=True)
class Healing:
    machine: str
    with_balancing: Run
    without: Run

    @property
    def is_as_expected(self) -> bool:
        return self.with_balancing.is_healed and self.without.is_flat

    def to_json(self) -> Json:
        return asdict(self)


def read_run(record: Json) -> Run:
    """Half of the pages are used on the node where all of them are at first. Of some that are on
    their way numa_maps tells nothing."""
    half = record["pages"] / 2
    return Run(
        is_on=record["is_on"],
        scan_ms={name: record[name] for name in SCAN_MS},
        seconds=tuple(at for at, _, _ in record["samples"]),
        local=tuple(
            (min(first, half) + min(second, half)) / record["pages"]
            for _, first, second in record["samples"]
        ),
    )


def heal(
    program: Path, place: VirtualPlace, progress: Callable[[str], None], seconds: float = SECONDS
) -> Healing:
    """Raises KitError, UserError and Interrupted."""
    runs = {}
    for word in ("on", "off"):
        progress(f"{seconds:g} s with balancing {word}")
        periods = [f"{name}={value}" for name, value in SCAN_MS.items()]
        arguments = [word, f"seconds={seconds:g}", f"bytes={BYTES}", *periods]
        runs[word] = read_run(
            json.loads(run_program(program, arguments, shell_variables.for_observers(), place))
        )
    return Healing(place.name, runs["on"], runs["off"])
