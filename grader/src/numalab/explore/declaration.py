"""An exploration as a lab's explore.toml declares it, at its default or its quick size."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.errors import NumalabError, UserError
from numalab.installation import GRADING
from numalab.toml_files.tables import Table, read_table

FILE = "explore.toml"
SMALLEST_ELEMENTS = 8192  # of a table or an array: 64 KiB
LARGEST_N = 2**20  # of a matrix

SCHEDULE_KEYS = ("kind", "title", "schedules", "chunks", "environment", "default", "quick")
TABLE_KEYS = ("kind", "title", "smallest_bytes", "default", "quick")
STREAM_KEYS = ("kind", "title", "virtual", "default", "quick")
SIZES = ("default", "quick")


@dataclass(frozen=True)
class Schedules:
    """Matrix multiplication: schedules x chunks x threads. A chunk of 0 is none given."""

    schedules: tuple[str, ...]
    chunks: tuple[int, ...]
    environment: dict[str, str]
    n: int
    rounds: int


@dataclass(frozen=True)
class TableSizes:
    """Two kernels of the probe, the dependent one and the independent one: table sizes x kinds of
    pages. steps: of a stretch, at least."""

    smallest_bytes: int
    largest_bytes: int
    growth: int
    steps: int
    repetitions: int
    rounds: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """From the smallest to the largest, which is always among them."""
        sizes = [self.smallest_bytes]
        while sizes[-1] < self.largest_bytes:
            sizes.append(min(sizes[-1] * self.growth, self.largest_bytes))
        return tuple(sizes)


@dataclass(frozen=True)
class VirtualMachine:
    """Where pages are looked at if this node has one NUMA node. rounds: there, where what one round
    shows the next one shows again, but for threads that nothing binds."""

    name: str
    cores_per_numa_node: int
    array_bytes: int
    rounds: int


@dataclass(frozen=True)
class Streams:
    """Copy and triad of the probe: threads x placements x who writes the arrays first. array_bytes:
    of each of three. virtual: None in what was read back."""

    array_bytes: int
    repetitions: int
    rounds: int
    virtual: VirtualMachine | None


Explorable = Schedules | TableSizes | Streams


@dataclass(frozen=True)
class Exploration:
    """lab: the folder's name."""

    lab: str
    title: str
    what: Explorable


def load_exploration(folder: Path, quick: bool = False) -> Exploration:
    """What explore.toml declares, at its default or its quick size. Raises NumalabError."""
    top = read_table(folder / GRADING / FILE, NumalabError, None)
    kinds: dict[str, tuple[tuple[str, ...], Callable[[Table, str], Explorable]]] = {
        "schedules": (SCHEDULE_KEYS, _schedules),
        "table_sizes": (TABLE_KEYS, _table_sizes),
        "streams": (STREAM_KEYS, _streams),
    }
    keys, read = kinds[top.choice("kind", kinds)]
    top.check_keys(keys)
    top.need("title", *SIZES)
    made = {size: read(top, size) for size in SIZES}
    return Exploration(folder.name, top.text("title"), made["quick" if quick else "default"])


def _schedules(top: Table, size: str) -> Schedules:
    sized = top.table(size, ("n", "rounds"))
    return Schedules(
        schedules=top.texts("schedules"),
        chunks=top.wholes("chunks", 0),
        environment=top.table("environment", None).text_values(),
        n=sized.whole("n", 1),
        rounds=sized.whole("rounds", 1),
    )


def _table_sizes(top: Table, size: str) -> TableSizes:
    sized = top.table(size, ("largest_bytes", "growth", "steps", "repetitions", "rounds"))
    return TableSizes(
        smallest_bytes=top.whole("smallest_bytes", 8),
        largest_bytes=sized.whole("largest_bytes", 8),
        growth=sized.whole("growth", 2),
        steps=sized.whole("steps", 1),
        repetitions=sized.whole("repetitions", 1),
        rounds=sized.whole("rounds", 1),
    )


def _streams(top: Table, size: str) -> Streams:
    sized = top.table(size, ("array_bytes", "repetitions", "rounds", "virtual_rounds"))
    virtual = top.table("virtual", ("machine", "cores_per_numa_node", "array_bytes"))
    return Streams(
        array_bytes=sized.whole("array_bytes", 8 * SMALLEST_ELEMENTS),
        repetitions=sized.whole("repetitions", 1),
        rounds=sized.whole("rounds", 1),
        virtual=VirtualMachine(
            name=virtual.text("machine"),
            cores_per_numa_node=virtual.whole("cores_per_numa_node", 1),
            array_bytes=virtual.whole("array_bytes", 8 * SMALLEST_ELEMENTS),
            rounds=sized.whole("virtual_rounds", 1),
        ),
    )


def find_exploration(root: Path, name: str) -> Path:
    """The lab folder that a name or number means. Raises UserError."""
    name = Path(name.rstrip("/")).name
    labs = sorted(
        path for path in (root / "labs").iterdir()
        if any((path / GRADING / name).is_file() for name in ("lab.toml", FILE))
    )  # fmt: skip
    able = [path.name for path in labs if (path / GRADING / FILE).is_file()]
    with_one = f"Labs with an exploration: {', '.join(able) or 'none'}"
    for path in labs:
        number, _, word = path.name.partition("_")
        if name in (path.name, word) or name.zfill(2) == number:
            if path.name not in able:
                raise UserError(f"lab {path.name} has no exploration. {with_one}")
            return path
    near = difflib.get_close_matches(name, [path.name for path in labs], n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lab '{name}'.{hint} {with_one}")


def resized(exploration: Exploration, rounds: int | None, n: int | None) -> Exploration:
    """With another number of rounds, or another n: rows of the matrices, 8-byte elements
    of the largest table or of each array. Raises UserError."""
    what = exploration.what
    rounds = what.rounds if rounds is None else rounds
    if isinstance(what, Schedules):
        n = what.n if n is None else n
        if n > LARGEST_N:
            raise UserError(f"--n {n}: a matrix may have {LARGEST_N} rows at most")
        return replace(exploration, what=replace(what, rounds=rounds, n=n))
    if isinstance(what, Streams):
        if n is not None and n < SMALLEST_ELEMENTS:
            raise UserError(
                f"--n {n}: an array has {SMALLEST_ELEMENTS} 8-byte elements (64 KiB) or more; "
                "64 MiB is 8388608"
            )
        array_bytes = what.array_bytes if n is None else 8 * n
        return replace(exploration, what=replace(what, rounds=rounds, array_bytes=array_bytes))
    largest_bytes = what.largest_bytes if n is None else 8 * n
    if n is not None and (n < SMALLEST_ELEMENTS or n & (n - 1)):
        raise UserError(
            f"--n {n}: the largest table's 8-byte elements are a power of two, "
            f"{SMALLEST_ELEMENTS} (64 KiB) or more; 1 GiB is 134217728"
        )
    return replace(exploration, what=replace(what, rounds=rounds, largest_bytes=largest_bytes))
