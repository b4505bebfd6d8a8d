"""A matrix product of OpenBLAS whose matrices one thread has written, under the default policy and
interleaved over all NUMA nodes: fresh processes, in turns."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from numalab.errors import Interrupted, KitError
from numalab.evidence.record import Json
from numalab.explore.intervals import Interval, median_interval
from numalab.harness.monitor import HERE
from numalab.processes import shell_variables

DEFAULT, INTERLEAVE = "default", "interleave"
POLICIES = (DEFAULT, INTERLEAVE)
EXIT_REFUSED, EXIT_NO_BLAS = 4, 5  # of the program
NO_BLAS = (
    "The matrix product is left out: OpenBLAS (libopenblas.so.0) is not there. On Debian and "
    "Ubuntu: sudo apt install libopenblas0-pthread"
)
REFUSED = "The matrix product is left out: this system refuses set_mempolicy, as containers may."


@dataclass(frozen=True)
class Products:
    """gflops: of each policy, the best of each process, in the order of the rounds."""

    n: int
    threads: int
    gflops: dict[str, tuple[float, ...]]

    @property
    def rounds(self) -> int:
        return min(map(len, self.gflops.values()))

    @property
    def ratio(self) -> Interval:
        """How many times as fast interleaved, over rounds."""
        pairs = zip(self.gflops[INTERLEAVE], self.gflops[DEFAULT], strict=False)
        return median_interval([interleaved / default for interleaved, default in pairs])

    def to_json(self) -> Json:
        return {**asdict(self), "ratio": asdict(self.ratio)}


def multiply(program: Path, n: int, rounds: int, progress: Callable[[str], None]) -> Products | str:
    """Or why there is none, as a sentence. Raises KitError, and Interrupted."""
    gflops: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    threads = 0
    for number in range(rounds):
        progress(f"matrix product, round {number + 1} of {rounds}")
        for policy in random.sample(POLICIES, len(POLICIES)):
            arguments = [f"policy={policy}", f"n={n}", "repetitions=3"]
            done = HERE.execute([str(program), *arguments], shell_variables.for_observers())
            if done.code in (EXIT_NO_BLAS, EXIT_REFUSED):
                return NO_BLAS if done.code == EXIT_NO_BLAS else REFUSED
            if done.code < 0:
                raise Interrupted
            if done.code:
                raise KitError(f"the matrix product failed: {done.complaint.strip() or done.code}")
            record = json.loads(done.output)
            threads = record["threads"]
            gflops[policy].append(2e-9 * n**3 / min(record["elapsed_s"]))
    return Products(n, threads, {policy: tuple(rates) for policy, rates in gflops.items()})
