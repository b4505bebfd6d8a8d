"""What an exploration runs, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from numalab.errors import KitError
from numalab.evidence.record import Json
from numalab.explore.declaration import Exploration, Schedules, TableSizes

CHASE, UPDATE = "chase", "update"  # kernels of common/probe
TABLE_KERNELS = (UPDATE, CHASE)


@dataclass(frozen=True)
class Configuration:
    """One thing that is timed. key: what the record has to say of it. is_seeded: the program draws
    something, anew in each round, and in it the same for all."""

    key: dict[str, int | str]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    is_seeded: bool = False

    def arguments_in(self, number: int) -> tuple[str, ...]:
        """Of a round, from 0."""
        return (*self.arguments, f"seed={number}") if self.is_seeded else self.arguments


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
    """huge: on huge pages too. One process runs both kernels, on the same pages."""
    return [
        Configuration(
            {"bytes": size, "pages": pages},
            (
                ",".join(TABLE_KERNELS), f"pages={pages}", f"bytes={size}", f"steps={what.steps}",
                f"repetitions={what.repetitions}",
            ),
            is_seeded=True,
        )
        for size in what.sizes
        for pages in (("small", "huge") if huge else ("small",))
    ]  # fmt: skip


def configurations(
    exploration: Exploration, cores: int, huge_page_mode: str | None
) -> list[Configuration]:
    what = exploration.what
    if isinstance(what, Schedules):
        return schedule_configurations(what, cores)
    return table_configurations(what, huge_page_mode not in (None, "never"))


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

    def step_ns(self, kernel: str) -> float:
        """Of the kernel's best repetition: what else runs only adds time."""
        for times in self.record["times"]:
            if times["kernel"] == kernel:
                return 1e9 * min(map(float, times["elapsed_s"])) / int(times["steps"])
        raise KitError(f"the record has no times of {kernel}")


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

    def steps_ns(self, kernel: str, **key: int | str) -> dict[int, float]:
        """Nanoseconds per step by round; empty if there is no configuration with this key."""
        return {
            sample.round: sample.step_ns(kernel)
            for sample in self.samples
            if self.configurations[sample.configuration].key == key
        }

    def records(self, **key: int | str) -> list[Json]:
        return [s.record for s in self.samples if self.configurations[s.configuration].key == key]

    @property
    def samples_each(self) -> list[int]:
        """How many samples each configuration has that has any."""
        each = [0] * len(self.configurations)
        for sample in self.samples:
            each[sample.configuration] += 1
        return [number for number in each if number]

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
    first, keys = made[0], [configuration.key for configuration in made]
    if "table_bytes" in first.key:
        raise KitError(
            "an earlier version of the kit made this exploration of tables, which timed updates "
            "only. Run ./numalab explore 04 --json again"
        )
    if "bytes" in first.key:
        sizes = sorted({int(key["bytes"]) for key in keys})
        growth = sizes[1] // sizes[0] if len(sizes) > 1 else 2
        said = dict(argument.split("=") for argument in first.arguments[1:])
        steps, repetitions = int(said["steps"]), int(said["repetitions"])
        return TableSizes(sizes[0], sizes[-1], growth, steps, repetitions, rounds)
    return Schedules(
        schedules=tuple(dict.fromkeys(str(key["schedule"]) for key in keys)),
        chunks=tuple(dict.fromkeys(int(key["chunk"]) for key in keys)),
        environment={},
        n=int(first.arguments[0]),
        rounds=rounds,
    )
