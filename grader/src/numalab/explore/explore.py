"""Explorations: a lab's own small measurement, repeated until it can be believed.

labs/NN_name/explore.toml says what is measured, labs/NN_name/explore.c is the program. One
process is one sample. A round runs every configuration once, in an order of its own: what
disturbs the node for a while hits all of them alike, and samples of one round can be
compared. Processes are fresh because where a process's pages lie, and so how they share the
caches, differs from start to start: repetitions within one would all agree about it.
"""

from __future__ import annotations

import difflib
import json
import random
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numalab.errors import Interrupted, KitError, UserError
from numalab.evidence.record import Json
from numalab.harness.monitor import HERE, Place, clean_environment
from numalab.kit import Kit

MIB = 2**20
SMALLEST_ELEMENTS = 8192  # of a table: 64 KiB
LARGEST_N = 2**20  # of a matrix
MEMORY_SHARE = 0.8  # of what is free may be taken
EXIT_NO_MEMORY = 3  # of the programs
KILLED, INTERRUPTED = -9, -2


# ---- what is declared --------------------------------------------------------------


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
    """Random updates: table sizes x kinds of pages."""

    smallest_bytes: int
    largest_bytes: int
    growth: int
    updates: int
    rounds: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """From the smallest to the largest, which is always among them."""
        sizes = [self.smallest_bytes]
        while sizes[-1] * self.growth < self.largest_bytes:
            sizes.append(sizes[-1] * self.growth)
        return (*sizes, self.largest_bytes) if sizes[-1] < self.largest_bytes else tuple(sizes)


@dataclass(frozen=True)
class Exploration:
    """lab: the folder's name."""

    lab: str
    title: str
    what: Schedules | TableSizes


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise KitError(f"{path} can't be read: {error}") from error


def load_exploration(folder: Path, quick: bool = False) -> Exploration:
    """What explore.toml declares, at its default or its quick size. Raises KitError."""
    path = folder / "explore.toml"
    data = _read_toml(path)
    try:
        title, kind = str(data.pop("title")), data.pop("kind")
        sizes = {"default": data.pop("default"), "quick": data.pop("quick")}
        values = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        } | sizes["quick" if quick else "default"]
        kinds = {"schedules": Schedules, "table_sizes": TableSizes}
        if kind not in kinds:
            raise KitError(f"{path}: kind is {kind!r}; it can be {' or '.join(kinds)}")
        return Exploration(folder.name, title, kinds[kind](**values))
    except (KeyError, TypeError) as error:
        raise KitError(f"{path}: a key is missing or not known: {error}") from error


def find_exploration(root: Path, name: str) -> Path:
    """The lab folder that a name or number means. Raises UserError."""
    name = Path(name.rstrip("/")).name
    labs = sorted(
        path for path in (root / "labs").iterdir()
        if (path / "lab.toml").is_file() or (path / "explore.toml").is_file()
    )  # fmt: skip
    able = [path.name for path in labs if (path / "explore.toml").is_file()]
    with_one = f"Labs with an exploration: {', '.join(able) or 'none'}"
    for path in labs:
        number, _, word = path.name.partition("_")
        if name in (path.name, word) or (name.isdigit() and name.zfill(2) == number):
            if path.name not in able:
                raise UserError(f"lab {path.name} has no exploration. {with_one}")
            return path
    near = difflib.get_close_matches(name, [path.name for path in labs], n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lab '{name}'.{hint} {with_one}")


def resized(exploration: Exploration, rounds: int | None, n: int | None) -> Exploration:
    """With another number of rounds, or another n: rows of the matrices, 8-byte elements
    of the largest table. Raises UserError."""
    what = exploration.what
    rounds = what.rounds if rounds is None else rounds
    if isinstance(what, Schedules):
        n = what.n if n is None else n
        if n > LARGEST_N:
            raise UserError(f"--n {n}: a matrix may have {LARGEST_N} rows at most")
        return replace(exploration, what=replace(what, rounds=rounds, n=n))
    largest_bytes = what.largest_bytes if n is None else 8 * n
    if n is not None and (n < SMALLEST_ELEMENTS or n & (n - 1)):
        raise UserError(
            f"--n {n}: the largest table's 8-byte elements are a power of two, "
            f"{SMALLEST_ELEMENTS} (64 KiB) or more; 1 GiB is 134217728"
        )
    return replace(exploration, what=replace(what, rounds=rounds, largest_bytes=largest_bytes))


# ---- what is run -----------------------------------------------------------------------


@dataclass(frozen=True)
class Configuration:
    """One thing that is timed. key: what the record has to say of it."""

    key: dict[str, int | str]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def thread_counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    counts = [1]
    while counts[-1] * 2 < cores:
        counts.append(counts[-1] * 2)
    return sorted({*counts, cores})


def schedule_configurations(what: Schedules, cores: int) -> list[Configuration]:
    """Chunks with which some thread would get no row are left out."""
    made = []
    for threads in thread_counts(cores):
        for schedule in what.schedules:
            for chunk in what.chunks:
                if chunk * (threads - 1) >= what.n:
                    continue
                environment = what.environment | {
                    "OMP_NUM_THREADS": str(threads),
                    "OMP_DYNAMIC": "false",
                    "OMP_SCHEDULE": f"{schedule},{chunk}" if chunk else schedule,
                }
                key: dict[str, int | str] = {
                    "threads": threads, "schedule": schedule, "chunk": chunk
                }  # fmt: skip
                made.append(Configuration(key, (str(what.n),), environment))
    return made


def table_configurations(what: TableSizes, huge: bool) -> list[Configuration]:
    """huge: on huge pages too."""
    return [
        Configuration({"table_bytes": size, "pages": pages}, (pages, str(size), str(what.updates)))
        for size in what.sizes
        for pages in (("small", "huge") if huge else ("small",))
    ]


def configurations(
    exploration: Exploration, cores: int, huge_page_mode: str | None
) -> list[Configuration]:
    what = exploration.what
    if isinstance(what, Schedules):
        return schedule_configurations(what, cores)
    return table_configurations(what, huge_page_mode not in (None, "never"))


def needed_bytes(exploration: Exploration) -> int:
    """Memory that the largest configuration takes."""
    what = exploration.what
    if isinstance(what, Schedules):
        return 3 * 8 * what.n**2
    return what.largest_bytes + 4 * MIB


def available_bytes(meminfo: str, limit_bytes: int | None) -> int:
    """What can be had without swapping, from /proc/meminfo's text and a group's limit."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
            return free if limit_bytes is None else min(free, limit_bytes)
    raise KitError("/proc/meminfo has no MemAvailable; the kit needs Linux 3.14 or newer")


def check_memory(exploration: Exploration, available: int) -> None:
    """Raises UserError where the largest configuration does not fit."""
    needed = needed_bytes(exploration)
    if needed <= MEMORY_SHARE * available:
        return
    thing = "matrices" if isinstance(exploration.what, Schedules) else "largest table"
    raise UserError(
        f"the {thing} would take {needed // MIB} MiB, and {available // MIB} MiB are free "
        f"(at most {MEMORY_SHARE:.0%} of it is taken). Use --quick or a smaller --n, or end "
        "what else takes memory."
    )


@dataclass(frozen=True)
class Sample:
    """One process. order: its place in the round; record: the program's own words."""

    configuration: int
    round: int
    order: int
    started_s: float
    record: Json

    @property
    def elapsed_s(self) -> float:
        return float(self.record["elapsed_s"])


@dataclass(frozen=True)
class Found:
    """All that was measured, and what a reader has to know of it. about: what the program
    says of the node; build: of compiler and runtime."""

    exploration: Exploration
    configurations: tuple[Configuration, ...]
    samples: tuple[Sample, ...]
    node: Json
    about: Json
    build: Json
    seed: int
    interrupted: bool

    def times_s(self, **key: int | str) -> dict[int, float]:
        """Seconds by round of the one configuration with this key; empty if there is none."""
        return {
            sample.round: sample.elapsed_s
            for sample in self.samples
            if self.configurations[sample.configuration].key == key
        }

    def records(self, **key: int | str) -> list[Json]:
        return [s.record for s in self.samples if self.configurations[s.configuration].key == key]

    def to_json(self) -> Json:
        what = self.exploration.what
        return {
            "schema": 1,
            "lab": self.exploration.lab,
            "title": self.exploration.title,
            "interrupted": self.interrupted,
            "node": {key: value for key, value in self.node.items() if key != "pu_list"},
            "about": self.about,
            "build": self.build,
            "rounds": what.rounds,
            "seed": self.seed,
            "configurations": [
                {**c.key, "arguments": list(c.arguments), "environment": c.environment}
                for c in self.configurations
            ],
            "samples": [
                {
                    "configuration": s.configuration, "round": s.round, "order": s.order,
                    "started_s": s.started_s, **s.record,
                }
                for s in self.samples
            ],
        }  # fmt: skip


def read_found(data: Json) -> Found:
    """From what to_json made of it; only the node's PUs are lost. Raises KitError."""
    try:
        if data["schema"] != 1:
            raise KitError(f"the exploration has schema version {data['schema']}, not 1")
        beside = ("arguments", "environment")
        made = tuple(
            Configuration(
                {key: value for key, value in entry.items() if key not in beside},
                tuple(entry["arguments"]),
                entry["environment"],
            )
            for entry in data["configurations"]
        )
        ours = ("configuration", "round", "order", "started_s")
        samples = tuple(
            Sample(
                configuration=entry["configuration"],
                round=entry["round"],
                order=entry["order"],
                started_s=entry["started_s"],
                record={key: value for key, value in entry.items() if key not in ours},
            )
            for entry in data["samples"]
        )
        return Found(
            exploration=Exploration(data["lab"], data["title"], _explored(made, data["rounds"])),
            configurations=made,
            samples=samples,
            node=data["node"],
            about=data["about"],
            build=data["build"],
            seed=data["seed"],
            interrupted=data["interrupted"],
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise KitError(f"not what ./numalab explore --json writes: {error!r}") from error


def _explored(made: Sequence[Configuration], rounds: int) -> Schedules | TableSizes:
    """What was run, from the configurations that it became."""
    first = made[0]
    if "table_bytes" in first.key:
        sizes = sorted({int(one.key["table_bytes"]) for one in made})
        growth = sizes[1] // sizes[0] if len(sizes) > 1 else 2
        return TableSizes(sizes[0], sizes[-1], growth, int(first.arguments[2]), rounds)
    return Schedules(
        schedules=tuple(dict.fromkeys(str(one.key["schedule"]) for one in made)),
        chunks=tuple(dict.fromkeys(int(one.key["chunk"]) for one in made)),
        environment={},
        n=int(first.arguments[0]),
        rounds=rounds,
    )


def orders(configurations: int, rounds: int, seed: int) -> list[list[int]]:
    """For each round the configurations in its random order."""
    generator = random.Random(seed)
    return [generator.sample(range(configurations), configurations) for _ in range(rounds)]


def parse_record(output: str, key: Mapping[str, int | str]) -> Json:
    """A program's record, once it is seen to be of the configuration that was asked for: a
    runtime that gives other threads or another schedule would spoil it. Raises KitError."""
    try:
        record = json.loads(output)
        elapsed_s = float(record["elapsed_s"])
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise KitError(f"the program gave no record, but: {output.strip()[:200]!r}") from error
    if not elapsed_s > 0:
        raise KitError(f"the program gave a time of {elapsed_s} s; the clock can't be trusted")
    for name, asked in key.items():
        if name == "chunk" and asked == 0:
            continue  # the runtime's own word for it differs
        if record.get(name) != asked:
            raise KitError(f"asked for {name} {asked}, the program ran with {record.get(name)}")
    return dict(record)


def run_program(
    program: Path, arguments: Sequence[str], environment: Mapping[str, str], place: Place = HERE
) -> str:
    """What it wrote. Raises Interrupted, UserError where memory was short, KitError."""
    done = place.execute([str(program), *arguments], environment)
    said = done.complaint.strip()
    if done.code == 0:
        return done.output
    if done.code == INTERRUPTED:
        raise Interrupted
    if done.code == KILLED:
        raise UserError(
            f"{program.name} was killed, most likely for lack of memory. Use --quick or a "
            "smaller --n."
        )
    if done.code == EXIT_NO_MEMORY:
        raise UserError(f"too little memory: {said}. Use --quick or a smaller --n.")
    raise KitError(
        f"{program.name} {' '.join(arguments)} failed (exit code {done.code}): "
        f"{said or 'it said nothing'}"
    )


def rounds_of_samples(
    program: Path,
    configurations: Sequence[Configuration],
    order: Sequence[Sequence[int]],
    progress: Callable[[str], None],
) -> Iterator[Sample]:
    """Measures, sample by sample."""
    surroundings = clean_environment()
    started = time.monotonic()
    for number, this_round in enumerate(order):
        left = ""
        if number:
            left_s = (time.monotonic() - started) / number * (len(order) - number)
            left = f", about {left_s:.0f} s left"
        progress(f"measuring, round {number + 1} of {len(order)}{left}")
        for place_in_round, index in enumerate(this_round):
            one = configurations[index]
            began_s = time.monotonic() - started
            output = run_program(program, one.arguments, surroundings | one.environment)
            yield Sample(
                index, number, place_in_round, round(began_s, 6), parse_record(output, one.key)
            )


def explore(
    kit: Kit, exploration: Exploration, node: Json, progress: Callable[[str], None]
) -> Found:
    """Measures all of it. After Ctrl-C: what there is by then, marked interrupted.

    The program has been built. Raises UserError where memory is short, and KitError."""
    meminfo = Path("/proc/meminfo").read_text(encoding="utf-8")
    check_memory(exploration, available_bytes(meminfo, node["cgroup_memory_max_bytes"]))
    what = exploration.what
    program = kit.exploration(exploration.lab)
    chosen = configurations(exploration, node["cores"], node["huge_page_mode"])
    seed = random.SystemRandom().randrange(2**32)
    about: Json = {}
    build = read_build(kit)
    samples: list[Sample] = []
    interrupted = False
    try:
        if isinstance(what, TableSizes):
            about = json.loads(run_program(program, ["describe"], clean_environment()))
        order = orders(len(chosen), what.rounds, seed)
        for sample in rounds_of_samples(program, chosen, order, progress):
            samples.append(sample)
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    return Found(exploration, tuple(chosen), tuple(samples), node, about, build, seed, interrupted)


def read_build(kit: Kit) -> Json:
    """Compiler, flags and runtime of the programs. Raises KitError."""
    path = kit.build / "exploration.json"
    try:
        build: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise KitError(f"{path} can't be read; run ./numalab setup") from error
    return build


# ---- the TLB ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """Entries of the last-level data TLB for one size of pages."""

    page_bytes: int
    entries: int

    @property
    def reach_bytes(self) -> int:
        return self.page_bytes * self.entries


# cpuid leaf 0x18 (Intel's manual, "Deterministic Address Translation Parameters"): bit of
# register b, and the page size it stands for.
_INTEL_PAGE_BITS = {4096: 0, 2 * MIB: 1}
_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE = 1, 3, 4, 5
# cpuid 0x80000006 (AMD's manual): register b holds 4 KiB pages, a holds 2 MiB pages; the
# entries of the second-level data TLB are bits 16 to 27, bits 28 to 31 are 0 without one.
_AMD_REGISTER = {4096: 1, 2 * MIB: 0}


def tlb_reach(about: Json, page_bytes: int) -> Reach | None:
    """From what cpuid said; None where it said nothing, as under many hypervisors."""
    if page_bytes not in _INTEL_PAGE_BITS:
        return None
    best: tuple[int, int] | None = None  # level, entries
    for _a, b, c, d in about.get("cpuid_18", []):
        kind, level = d & 0x1F, d >> 5 & 0x7
        if kind not in (_INTEL_DATA, _INTEL_UNIFIED, _INTEL_LOAD, _INTEL_STORE):
            continue
        if b >> _INTEL_PAGE_BITS[page_bytes] & 1:
            found = (level, (b >> 16) * c)
            best = found if best is None else max(best, found)
    if best is not None and best[1] > 0:
        return Reach(page_bytes, best[1])
    registers = about.get("cpuid_80000006", [])
    if registers:
        register = registers[_AMD_REGISTER[page_bytes]]
        entries = register >> 16 & 0xFFF
        if register >> 28 and entries:
            return Reach(page_bytes, entries)
    return None
