"""What a loop takes whose arrays come from memory, from rates of other loops.

The rates are of three kinds of array: one that is only read, one that is only written, one that is
read and written. Each is worked out of three loops that mix them; so a loop of one kind only is of
another mix than any that was timed. What a loop takes is then taken to be the sum of what its
arrays take: true where memory's bandwidth is the limit and bytes are what counts, and where few
cores have only so many cache lines under way and lines are. common/probe/README.md has how well.

Pure functions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from numalab.evidence.run_formats import Mix
from numalab.labs.formula import Language

# Timed for the rates. No kind stands alone, and each rate rests on little that is subtracted.
READS_TO_WRITES = Mix(1, 2, 0)
READS_TO_UPDATES = Mix(1, 0, 2)
MOSTLY_READS = Mix(3, 0, 1)
MEASURED = (READS_TO_WRITES, READS_TO_UPDATES, MOSTLY_READS)

# Of each row one is predicted. Rows of one kind only tell who leaves out write-allocate or a half
# of an update, or that loops differ; the last one who takes the slowest kind for all, which is
# right for loops of one kind only.
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
    """Of arrays of each kind, in 10^9 bytes that cross between cores and memory per second: the
    lines that stores fetch first count."""

    read_gb_s: float
    write_gb_s: float
    update_gb_s: float


def draw_unseen(seed: str) -> tuple[Mix, ...]:
    """The loops that are predicted, one of each row."""
    generator = random.Random(seed)
    return tuple(generator.choice(row) for row in UNSEEN)


def all_unseen() -> tuple[Mix, ...]:
    """Any of which may be drawn."""
    return tuple(mix for row in UNSEEN for mix in row)


def rates_of(times_ns: Mapping[Mix, float]) -> Rates | None:
    """times_ns: of the three that are measured, per iteration. None where they don't fit together:
    one kind of array would take no time."""
    writes, updates, reads = (times_ns[mix] for mix in MEASURED)
    # 1 read + 2 updated = updates; 3 read + 1 updated = reads.
    update_ns = (3 * updates - reads) / 5
    read_ns = (2 * reads - updates) / 5
    write_ns = (writes - read_ns) / 2
    if not min(update_ns, read_ns, write_ns) > 0:
        return None
    return Rates(READ_BYTES / read_ns, WRITTEN_BYTES / write_ns, UPDATED_BYTES / update_ns)


def values_for(mix: Mix, rates: Rates, cores: int) -> dict[str, float]:
    """What a formula's names are for a loop."""
    return {
        "loads": float(mix.loads),
        "stores": float(mix.stores),
        "updates": float(mix.updates),
        "read_gb_s": rates.read_gb_s,
        "write_gb_s": rates.write_gb_s,
        "update_gb_s": rates.update_gb_s,
        "cores": float(cores),
    }


def time_ns(mix: Mix, rates: Rates) -> float:
    """The kit's own prediction, per iteration."""
    return (
        READ_BYTES * mix.loads / rates.read_gb_s
        + WRITTEN_BYTES * mix.stores / rates.write_gb_s
        + UPDATED_BYTES * mix.updates / rates.update_gb_s
    )


def factor_off(predicted: float, measured: float) -> float:
    """By which a prediction is off, 1 or more; infinite where it is none."""
    if not predicted > 0:
        return math.inf
    return max(predicted / measured, measured / predicted)
