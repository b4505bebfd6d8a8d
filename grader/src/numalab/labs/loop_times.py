"""Predict the time of a loop whose arrays come from memory, from rates of other loops.

There is a rate for each kind of array: only read, only written, read and written. The rates follow
from the times of three loops that mix these kinds, so that a loop with only one kind has a mix that
was not timed. The time of a loop is modelled as the sum of the times of its arrays.

Pure functions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from numalab.evidence.run_formats import Mix
from numalab.labs.formula import Language

# The loops that are timed for the rates. None has one kind of array only, and the equations for the
# rates subtract little.
READS_TO_WRITES = Mix(1, 2, 0)
READS_TO_UPDATES = Mix(1, 0, 2)
MOSTLY_READS = Mix(3, 0, 1)
MEASURED = (READS_TO_WRITES, READS_TO_UPDATES, MOSTLY_READS)

# One loop of each row is predicted. Rows with one kind of array only show mistakes such as no
# write-allocate, half of an update, or one rate for all loops. The last row shows a model that
# takes the slowest kind for all arrays, which is correct for loops of only one kind.
UNSEEN = (
    (Mix(1, 0, 0), Mix(2, 0, 0)),
    (Mix(0, 2, 0),),
    (Mix(0, 0, 2),),
    (Mix(2, 0, 1),),
)

RATES = ("read_gb_s", "write_gb_s", "update_gb_s")
COUNTS = ("loads", "stores", "updates")
LANGUAGE = Language((*COUNTS, *RATES, "cores"), ("min", "max"))

READ_BYTES, WRITTEN_BYTES, UPDATED_BYTES = (
    Mix(*kind).bytes_moved for kind in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
)


@dataclass(frozen=True)
class Rates:
    """Rates of arrays of each kind, in 10^9 bytes per second that move between cores and memory.
    Lines that stores fetch before they write count, too."""

    read_gb_s: float
    write_gb_s: float
    update_gb_s: float


def draw_unseen(seed: str) -> tuple[Mix, ...]:
    """Return the loops that are predicted: one of each row of UNSEEN, drawn by a seed."""
    generator = random.Random(seed)
    return tuple(generator.choice(row) for row in UNSEEN)


def all_unseen() -> tuple[Mix, ...]:
    """Return the loops that draw_unseen may draw."""
    return tuple(mix for row in UNSEEN for mix in row)


def rates_of(times_ns: Mapping[Mix, float]) -> Rates | None:
    """Return the rates that follow from the times of the MEASURED loops; None: by these times a
    kind of array would take no time, or less. times_ns: per iteration."""
    writes, updates, reads = (times_ns[mix] for mix in MEASURED)
    # 1 read + 2 updated = updates; 3 read + 1 updated = reads.
    update_ns = (3 * updates - reads) / 5
    read_ns = (2 * reads - updates) / 5
    write_ns = (writes - read_ns) / 2
    if not min(update_ns, read_ns, write_ns) > 0:
        return None
    return Rates(READ_BYTES / read_ns, WRITTEN_BYTES / write_ns, UPDATED_BYTES / update_ns)


def values_for(mix: Mix, rates: Rates, cores: int) -> dict[str, float]:
    """Return the values of LANGUAGE's names for a loop. cores: number of cores that run it."""
    counts = {name: float(getattr(mix, name)) for name in COUNTS}
    return {**counts, **asdict(rates), "cores": float(cores)}


def time_ns(mix: Mix, rates: Rates) -> float:
    """Return numalab's own prediction of a loop's time per iteration, in ns: the sum over its
    arrays of bytes divided by the rate."""
    return (
        READ_BYTES * mix.loads / rates.read_gb_s
        + WRITTEN_BYTES * mix.stores / rates.write_gb_s
        + UPDATED_BYTES * mix.updates / rates.update_gb_s
    )


def factor_off(predicted: float, measured: float) -> float:
    """Return by what factor (1 or more) a prediction is off, either way; infinite for a prediction
    that is not above 0. measured: above 0."""
    if not predicted > 0:
        return math.inf
    return max(predicted / measured, measured / predicted)
